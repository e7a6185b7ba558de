//! Sessions, whatever a server sends to their users and whatever a template says: each request that is sent
//! is one whole request, every request ends as a sample, and the session comes to an end.

use bytes::Bytes;
use farfield_base::random::Seed;
use farfield_base::{Duration, HostNumber, Instant, Outcome, Sample, Window};
use farfield_traffic::session::data::DataSpec;
use farfield_traffic::session::template::Template;
use farfield_traffic::session::{Session, SessionSpec};
use farfield_traffic::{LoadSpec, RequestSetSpec};
use farfield_user::HttpVersion;
use farfield_user::{
    ConnectionKey, EventPolicy, Failure, Flow, Itinerary, Plan, Policy, Population, Target, Transport,
    UserSettings, Wake,
};
use std::collections::VecDeque;
use std::io;
use std::path::Path;

enum ReferenceEvent {
    Wake(Wake),
    Connected(ConnectionKey),
    Reply(ConnectionKey),
}

#[derive(Default)]
struct ReferenceStage {
    now: Instant,
    events: VecDeque<ReferenceEvent>,
    sent: Vec<Bytes>,
    samples: usize,
    first: Option<Sample>,
}

impl Transport for ReferenceStage {
    fn connect(&mut self, connection: ConnectionKey, _user: u32, _host: HostNumber) -> Instant {
        self.events.push_back(ReferenceEvent::Connected(connection));
        self.now
    }
    fn send(&mut self, connection: ConnectionKey, bytes: &Bytes) -> Instant {
        self.sent.push(bytes.clone());
        self.events.push_back(ReferenceEvent::Reply(connection));
        self.now
    }
    fn close(&mut self, _connection: ConnectionKey) {}
    fn abandon(&mut self, _connection: ConnectionKey) {}
    fn wake_at(&mut self, _at: Instant, wake: Wake) {
        if !matches!(wake, Wake::Deadline(_) | Wake::Unanswered(_)) {
            self.events.push_back(ReferenceEvent::Wake(wake));
        }
    }
    fn record(&mut self, sample: Sample) {
        assert!(sample.is_ordered(), "{sample:?}");
        self.samples += 1;
        self.first.get_or_insert(sample);
    }
}

/// Plays a few pages of the session against a server whose first replies are these bytes.
fn play(session: &str, replies: &[u8]) {
    let spec: SessionSpec = toml::from_str(session).expect("a session");
    if let Ok(session) = spec.resolve(&mut |_| unreachable!("no files"), Seed(1)) {
        play_resolved(session, replies);
    }
}

/// One worker's users on this load, for a few requests.
fn population(itinerary: Itinerary, load: &str) -> Population {
    #[derive(serde::Deserialize)]
    struct Document {
        load: LoadSpec,
    }
    let load: Document = toml::from_str(&format!("load = {load}")).expect("a load");
    Population::new(Plan {
        flows: Flow::only(load.load.resolve(&mut |_| unreachable!("no files")).expect("a load"), itinerary),
        users: UserSettings {
            policy: Policy::default(),
            events: EventPolicy::default(),
            seed: Seed(1),
            requests_max: Some(12),
            end: farfield_user::LoadEnd::default(),
        },
        tls: Vec::new(),
        worker: 0,
        workers: 1,
        window: Window { measure_from: Instant::ZERO, measure_to: Instant::MAX },
    })
}

/// Plays a few pages, and returns the requests that were sent.
fn play_resolved(session: Session, replies: &[u8]) -> Vec<Bytes> {
    let target = Target {
        host: "shop:80".into(),
        version: HttpVersion::Http11,
        authorization: None,
        secure: false,
        proxy: None,
    };
    let Ok(itinerary) = Itinerary::sessions(session, &[target]) else { return Vec::new() };
    let mut population = population(itinerary, "{ model = 'closed', users = 1 }");
    let mut stage = ReferenceStage::default();
    population.start(&mut stage);
    for turn in 0..400 {
        let now = Instant::ZERO + Duration::from_ms(turn);
        stage.now = now;
        match stage.events.pop_front() {
            None => break,
            Some(ReferenceEvent::Wake(wake)) => population.handle_wake(&mut stage, now, now, wake),
            Some(ReferenceEvent::Connected(key)) => population.handle_connected(&mut stage, now, key),
            Some(ReferenceEvent::Reply(key)) => {
                // Replies may only come where they are awaited; whatever is left of the bytes is then cut.
                population.handle_received(&mut stage, now, key, replies);
                population.handle_closed(&mut stage, now, key);
            }
        }
    }
    population.cut(&mut stage, Instant::from_ns(1 << 40));
    assert_eq!(population.in_system(), 0, "every request ends as a sample");
    assert!(stage.samples >= 1);
    stage.sent.iter().for_each(|request| assert_whole(request));
    stage.sent
}

/// One request, no more and no less, in which nothing broke out of its place.
fn assert_whole(request: &[u8]) {
    let text = String::from_utf8_lossy(request).into_owned();
    let end =
        request.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or_else(|| panic!("no end: {text}"));
    let head = std::str::from_utf8(&request[..end]).unwrap_or_default();
    let mut lines = head.split("\r\n");
    let line: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let target_fits = |target: &str| {
        target.starts_with('/') && target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#')
    };
    assert!(line.len() == 3 && target_fits(line[1]) && line[2] == "HTTP/1.1" || head.is_empty(), "{text}");
    let mut length = 0;
    let mut hosts = 0;
    for field in request[..end].split(|byte| *byte == b'\n').skip(1) {
        let field = field.strip_suffix(b"\r").unwrap_or(field);
        let colon = field.iter().position(|byte| *byte == b':').unwrap_or_else(|| panic!("no field: {text}"));
        let (name, value) = (&field[..colon], field[colon + 1..].trim_ascii());
        assert!(!name.is_empty() && name.iter().all(u8::is_ascii_graphic), "{text}");
        assert!(!value.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t'), "{text}");
        hosts += usize::from(name.eq_ignore_ascii_case(b"host"));
        if name == b"Content-Length" {
            length = std::str::from_utf8(value).ok().and_then(|value| value.parse().ok()).expect("a number");
        }
    }
    assert_eq!((hosts, request.len() - end - 4), (1, length), "{text}");
}

/// Any bytes as what a server sends to a user who takes from it whatever can be taken.
pub fn of_reply(input: &[u8]) {
    let session = "page-load = 'browser'\ncache = true\nbody-limit = '4KiB'\nredirects = 2\non-failure = 'go-on'\n\
        [[state]]\nname = 'a'\npath = '/a'\n\
        extract = { r = { regex = 'x=(.*)' }, j = { json = '/x', default = '' }, c = { css = 'a', attribute = 'href', default = '' }, \
        t = { css = 'p', random = true }, h = { header = 'x' }, k = { cookie = 'k' } }\n\
        [[state]]\nname = 'b'\npath = '/${r}?${j|url}'\nbody = '${c|json}${t}'\nheaders = { x = '${h}${k}' }\n\
        [[state]]\nname = 'c'\npath = '${c}'\n\
        [[state]]\nname = 'd'\nform = { fields = { a = '${t}' } }\n";
    play(session, input);
}

/// Any bytes as a link and as the action of a form: what is asked for is the server's own, and is named by
/// the link.
pub fn of_link(input: &[u8]) {
    let bytes = input.iter().copied().filter(|byte| !matches!(byte, b'\r' | b'\n' | 0));
    let link: Vec<u8> = bytes.collect();
    let link = link.trim_ascii();
    let reply = [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: ", link, b"\r\n\r\n"].concat();
    let session = "[[state]]\nname = 'a'\npath = '/x/a?q'\nextract.h = { header = 'x', default = '' }\n\
                   [[state]]\nname = 'b'\npath = '${h}'\n";
    let spec: SessionSpec = toml::from_str(session).expect("a session");
    let session = spec.resolve(&mut |_| unreachable!("no files"), Seed(1)).expect("a session");
    let sent = play_resolved(session, &reply);
    let followed: Vec<&str> = sent
        .iter()
        .filter_map(|request| std::str::from_utf8(request).ok()?.split(' ').nth(1))
        .filter(|target| *target != "/x/a?q")
        .collect();
    // Judged by the link's own text, without resolving it: a link with another scheme leads nowhere here.
    let text = String::from_utf8_lossy(link).to_ascii_lowercase();
    for scheme in ["https:", "mailto:", "javascript:", "data:", "ftp:", "tel:"] {
        assert!(!text.starts_with(scheme) || followed.is_empty(), "{text} became {followed:?}");
    }
    // And what is all plain letters below the root is asked for as it is, without its fragment.
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'/');
    let (path, _) = text.split_once('#').unwrap_or((&text, ""));
    if text.starts_with('/') && !text.starts_with("//") && plain(path) {
        // The fragment, which is not sent, may be no text at all.
        let own = link.split(|byte| *byte == b'#').next().unwrap_or_default();
        let own = String::from_utf8_lossy(own).into_owned();
        assert!(followed.iter().all(|target| *target == own), "{own} became {followed:?}");
    }
}

/// Any bytes as a stream of replies, cut by the input's first byte, from a server that then closes, resets or
/// holds the connection open: whatever it does, samples are in order and each request ends, and the first
/// reply is recorded alike however the stream was cut.
pub fn of_stream(input: &[u8]) {
    let [how, stream @ ..] = input else { return };
    let end = match how % 3 {
        0 => StreamEnd::Closes,
        1 => StreamEnd::Resets,
        _ => StreamEnd::Holds,
    };
    let think = if how & 4 == 0 { "0s" } else { "5ms" };
    let whole = play_stream(stream, usize::MAX, end, think);
    for size in [1, usize::from(how >> 3) + 2] {
        assert_eq!(
            play_stream(stream, size, end, think),
            whole,
            "in pieces of {size}: {}",
            stream.escape_ascii()
        );
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamEnd {
    Closes,
    Resets,
    Holds,
}

/// The end of the first request: its outcome, status and bytes of body. Bytes behind a reply are seen
/// with it or later, which changes whether it is the last on its connection and not what it is.
fn play_stream(stream: &[u8], size: usize, end: StreamEnd, think: &str) -> Option<(Outcome, u16, u64)> {
    let requests: RequestSetSpec = toml::from_str("[[request]]\npath = '/'").expect("requests");
    let requests = requests.resolve(&mut |_| unreachable!("no files"), Seed(1)).expect("requests");
    let target = Target {
        host: "shop:80".into(),
        version: HttpVersion::Http11,
        authorization: None,
        secure: false,
        proxy: None,
    };
    let itinerary = Itinerary::pages(requests, &[target]).expect("requests that can be written");
    let mut population =
        population(itinerary, &format!("{{ model = 'closed', users = 1, think = '{think}' }}"));
    let mut stage = ReferenceStage::default();
    population.start(&mut stage);
    let mut answered = false;
    for turn in 0..60 {
        let now = Instant::ZERO + Duration::from_ms(turn * 10);
        stage.now = now;
        match stage.events.pop_front() {
            None => break,
            Some(ReferenceEvent::Wake(wake)) => population.handle_wake(&mut stage, now, now, wake),
            Some(ReferenceEvent::Connected(key)) => population.handle_connected(&mut stage, now, key),
            // Nothing but the first request is answered, and of that connection nothing more is heard.
            Some(ReferenceEvent::Reply(_)) if answered => {}
            Some(ReferenceEvent::Reply(key)) => {
                answered = true;
                for piece in stream.chunks(size.max(1)) {
                    population.handle_received(&mut stage, now, key, piece);
                }
                match end {
                    StreamEnd::Closes => population.handle_closed(&mut stage, now, key),
                    StreamEnd::Resets => population.handle_failed(&mut stage, now, key, Failure::Reset),
                    StreamEnd::Holds => {}
                }
            }
        }
    }
    population.cut(&mut stage, Instant::from_ns(1 << 40));
    assert_eq!(population.in_system(), 0, "every request ends as a sample");
    let first = stage.first?;
    let outcome = match first.outcome {
        Outcome::Unasked => Outcome::of_status(first.status),
        outcome => outcome,
    };
    Some((outcome, first.status, first.body_bytes))
}

/// Any bytes as a cookie that a server sets.
pub fn of_cookie(input: &[u8]) {
    let field: Vec<u8> = input.iter().copied().filter(|byte| !matches!(byte, b'\r' | b'\n' | 0)).collect();
    let reply = [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: ", &field[..], b"\r\n\r\n"].concat();
    play(
        "[[state]]\nname = 'a'\npath = '/x/a'\n[[state]]\nname = 'b'\npath = '/x/b?c'\nextract.k = { cookie = 'k' }\non-failure = 'go-on'",
        &reply,
    );
}

/// Any text as a template, in all places that templates have.
pub fn of_template(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(template) = Template::try_from(text.to_owned()) else { return };
    assert_eq!(template.as_str(), text);
    let quoted = toml::Value::String(text.to_owned()).to_string();
    let taken = "extract = { a = { regex = '[^b]*', default = '' }, b = { header = 'x', default = ' ' } }";
    let state = |path: &str, more: &str| {
        format!(
            "[[state]]\nname = 'one'\npath = '/'\n{taken}\n[[state]]\nname = 'two'\npath = {path}\n{more}"
        )
    };
    let reply = b"HTTP/1.1 200 OK\r\nX: \t\"\xe9 #\r\nContent-Length: 9\r\n\r\n \r\n\xff#%\\\"\x01";
    for session in [
        state(&quoted, ""),
        state("'/'", &format!("body = {quoted}")),
        state("'/'", &format!("headers = {{ x = {quoted} }}")),
        state("'/'", &format!("check.contains = {quoted}")),
    ] {
        play(&session, reply);
    }
}

/// Any bytes as a page with a form, which users fill in with texts and files in every place that a form has.
pub fn of_form(input: &[u8]) {
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n", input.len());
    let reply = [head.as_bytes(), input].concat();
    let session = "on-failure = 'go-on'\n[[state]]\nname = 'a'\npath = '/x/a'\n\
        extract = { t = { regex = '[^a]*', default = '' } }\n\
        [[state]]\nname = 'b'\nform = { fields = { a = \"${t}\\n--x\" }, submit = 'go' }\n\
        [[state]]\nname = 'c'\npath = '/c?d'\nform = { files = { f = { text = '${t}', name = '${t}' } } }\n";
    play(session, &reply);
}

/// Any bytes as rows of data, which sessions send in all places.
pub fn of_data(input: &[u8]) {
    for (file, columns) in [("it.csv", "columns = ['a', 'b']"), ("it.csv", ""), ("it.jsonl", "")] {
        let text = format!("file = '{file}'\norder = 'shuffled'\n{columns}");
        let spec: DataSpec = toml::from_str(&text).expect("a file of data");
        let data = match spec.resolve(&mut |_| Ok(input.to_vec()), Seed(1), 0) {
            Ok(data) => data,
            Err(error) => {
                assert!(error.to_string().starts_with(file), "{error}");
                continue;
            }
        };
        let Some(last) = data.columns().last() else { continue };
        let row = data.row(0, u64::MAX).expect("rows go round");
        let _ = data.value(row, data.columns().len() as u16 - 1);
        let session = format!(
            "[[data]]\n{text}\n[[state]]\nname = 'one'\npath = '/${{{last}}}?${{{last}|url}}'\n\
             headers = {{ x = '${{{last}}}' }}\nbody = '${{{last}|json}}'\n"
        );
        let spec: SessionSpec = toml::from_str(&session).expect("a session");
        // A column may be called as something else is.
        if let Ok(session) = spec.resolve(&mut |_| Ok(input.to_vec()), Seed(1)) {
            play_resolved(session, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
    }
}

/// Any text as what a scenario says of sessions.
pub fn of_document(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(spec) = toml::from_str::<SessionSpec>(text) else { return };
    let shown = toml::to_string(&spec).expect("a session is TOML");
    assert_eq!(toml::from_str::<SessionSpec>(&shown).as_ref(), Ok(&spec), "{shown}");
    let mut no_files = |_: &Path| Err(io::ErrorKind::NotFound.into());
    match spec.resolve(&mut no_files, Seed(1)) {
        Ok(session) => {
            play_resolved(session, b"HTTP/1.1 200 OK\r\nX: a\r\nContent-Length: 3\r\n\r\nx=1");
        }
        Err(error) => assert!(!error.key.is_empty() && !error.sentence.contains('\n'), "{error}"),
    }
}
