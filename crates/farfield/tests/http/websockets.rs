//! WebSockets before real servers, in Python (wsproto) and in Node (ws): what users get is what the servers
//! wrote, and what the packets show.

use crate::common::wan::{Wan, find, may_build};
use crate::common::{Ended, Place, Process, poll};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use farfield_base::{Outcome, Sample};
use farfield_http::websocket::Key;
use farfield_testkit::skip;
use farfield_verify::matching::SampleCause;
use farfield_verify::{TimeKind, Verification};
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{self, JoinHandle};

/// The Python that has wsproto, or a line that `test` is skipped.
fn python(test: &str) -> Option<PathBuf> {
    let program = std::env::var_os("FARFIELD_PYTHON").unwrap_or_else(|| "python3".into());
    let found = Command::new(&program).args(["-c", "import wsproto"]).output();
    if found.is_ok_and(|output| output.status.success()) {
        return Some(program.into());
    }
    skip(test, "Python has no wsproto");
    None
}

/// A program of these tests that serves WebSockets.
struct Sockets {
    process: Process,
    port: u16,
    log: PathBuf,
}

impl Sockets {
    fn start(place: &Place, program: &Path, name: &str, more: &[&Path]) -> Sockets {
        let script = match name {
            "server.py" => include_str!("websockets/server.py"),
            _ => include_str!("websockets/server.js"),
        };
        let script = place.write(name, script);
        let log = place.path(&format!("{name}.log"));
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|free| free.local_addr());
        let port = free.expect("a free port").port();
        let mut command = Command::new(program);
        command.env("NODE_PATH", "/usr/share/nodejs").arg(script).arg(port.to_string()).arg(&log).args(more);
        let process = Process::start(&mut command, place);
        poll("the server", || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok());
        Sockets { process, port, log }
    }

    /// The lines of its log, as many as are expected, in words.
    fn lines(&self, expected: usize) -> Vec<Vec<String>> {
        let text = || fs::read_to_string(&self.log).unwrap_or_default();
        poll("the server's log", || (text().lines().count() >= expected).then_some(()));
        text().lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
    }

    fn end(mut self) {
        self.process.signal(rustix::process::Signal::KILL);
        self.process.wait();
    }
}

/// The samples of a state.
fn of_state(samples: &[Sample], state: u32) -> Vec<&Sample> {
    samples.iter().filter(|own| own.request == state).collect()
}

/// The run's check against its packets, which agree.
fn agreement(place: &Place, ended: &Ended) -> Verification {
    let verified = place.farfield(&format!("verify {}", ended.directory.display()));
    let text = fs::read_to_string(ended.directory.join("verify.json")).expect("a result");
    let found: Verification = serde_json::from_str(&text).expect("a result");
    assert!(found.agrees, "{}", verified.stdout);
    found
}

/// Users who log in, say something three times, shout to all and hear of it.
const CHAT: &str = r#"
seed = 3
load = { model = "closed", users = 5, think = "30ms" }
run = { warm-up = "0s", sessions = 20 }
[[session.state]]
name = "open"
path = "/chat?as=${user}"
websocket = "open"
[[session.state]]
name = "login"
websocket = "ask"
body = '{"type":"login","user":"u${session}"}'
check.json = { "/type" = "welcome" }
extract.token = { json = "/token" }
[[session.state]]
name = "roster"
websocket = "await"
check.contains = "roster"
[[session.state]]
name = "say"
websocket = "ask"
body = '{"type":"say","token":"${token}","text":"hello ${click}"}'
check.contains = "hello ${click}"
repeat = 3
[[session.state]]
name = "shout"
websocket = "send"
body = '{"type":"all"}'
[[session.state]]
name = "news"
websocket = "await"
check.contains = "u${session}"
[[session.state]]
name = "bye"
websocket = "close"
"#;

#[test]
fn users_talk_to_a_server_in_python() {
    let test = "users_talk_to_a_server_in_python";
    let Some(python) = python(test) else { return };
    if !may_build(test) {
        return;
    }
    let place = Place::new();
    let server = Sockets::start(&place, &python, "server.py", &[]);
    place.write("chat.toml", CHAT);
    let url = format!("http://127.0.0.1:{}", server.port);
    let ended =
        place.run(&format!("chat.toml -d 1m --target {url} --capture --set capture.snap=65535")).exits(0);
    let samples = ended.samples();
    assert!(samples.iter().all(|own| own.outcome == Outcome::Ok), "{}", ended.stdout);
    let counts: Vec<usize> = (0..7).map(|state| of_state(&samples, state).len()).collect();
    assert_eq!(counts, [20, 20, 20, 60, 20, 20, 20]);
    // Each session logs in as itself, says three things with its token, shouts, and closes: nothing else
    // came.
    let lines = server.lines(20 * 6);
    assert_eq!(lines.len(), 20 * 6);
    for session in 0..20 {
        let user = format!("u{session}");
        let of = |part: &str| lines.iter().filter(|line| line[0] == user && line[1].contains(part)).count();
        assert_eq!([of(&format!("t-{user}")), of("all"), of("close:1000")], [3, 1, 1], "{user}");
    }
    let of_sockets = ended.summary().websockets.expect("WebSockets");
    assert_eq!((of_sockets.opened, of_sockets.sent, of_sockets.closed), (20, 100, 0));
    // A welcome, a roster and some noise at each login, three answers, and a user's own news at the least.
    assert!(of_sockets.received >= 20 * 7, "{of_sockets:?}");
    // What is sent and not answered has no time, and everything else has.
    let summary = ended.summary();
    let timed = summary.steady.times.response.expect("times").count;
    // The measured part is over when the last session has begun.
    let untimed = summary.steady.requests - timed;
    assert!(timed > 100 && (10..=20).contains(&untimed), "{timed} and {untimed}");
    assert_eq!(summary.steady.events, None, "a message is no stream");
    assert!(ended.stdout.contains("websockets  20 opened; 100 messages sent"), "{}", ended.stdout);
    let found = agreement(&place, &ended);
    assert_eq!(found.matched.samples_alone.keys().collect::<Vec<_>>(), [&SampleCause::CameBefore]);
    let service = found.times.iter().find(|errors| errors.time == TimeKind::Service).expect("times");
    assert!(service.pairs > 80, "questions, upgrades and ends: {}", service.pairs);
    server.end();
}

#[test]
fn node_answers_texts_late_and_bytes_in_fragments() {
    let test = "node_answers_texts_late_and_bytes_in_fragments";
    let Some(program) = find(test, "node") else { return };
    if !may_build(test) {
        return;
    }
    let place = Place::new();
    let server = Sockets::start(&place, &program, "server.js", &[]);
    let bytes: Vec<u8> = (0..200_000_u32).map(|byte| (byte % 251) as u8 | 0x80).collect();
    place.write("picture.bin", &bytes);
    place.write(
        "echo.toml",
        r#"
load = { model = "closed", users = 4, think = "0s" }
run = { warm-up = "0s", sessions = 8 }
[[session.state]]
name = "open"
path = "/"
websocket = "open"
[[session.state]]
name = "text"
websocket = "ask"
body = "${random(1,1000000)} of ${user}: grüße"
repeat = 20
[[session.state]]
name = "bytes"
websocket = "ask"
body = { file = "picture.bin" }
[[session.state]]
name = "bye"
websocket = "close"
"#,
    );
    let url = format!("http://127.0.0.1:{}", server.port);
    let ended =
        place.run(&format!("echo.toml -d 1m --target {url} --capture --set capture.snap=65535")).exits(0);
    let samples = ended.samples();
    assert!(samples.iter().all(|own| own.outcome == Outcome::Ok), "{}", ended.stdout);
    let texts = of_state(&samples, 1);
    assert_eq!(texts.len(), 160, "{}", ended.stdout);
    let lines = server.lines(168);
    let planted = lines.iter().filter(|line| line[2] == "400").count();
    let late = texts.iter().filter(|own| own.response_time().as_ns() >= 395_000_000).count();
    assert_eq!((planted, late), (16, 16));
    let of_bytes = of_state(&samples, 2);
    assert!(of_bytes.iter().all(|own| (own.body_bytes, own.status) == (200_000, 0)), "{of_bytes:?}");
    // Three fragments, with 10 bytes of head at most each.
    assert!(of_bytes.iter().all(|own| (200_006..=200_030).contains(&own.reply_bytes)), "{of_bytes:?}");
    let sizes: usize = lines.iter().filter(|line| line[1] == "200000").count();
    assert_eq!(sizes, 8);
    agreement(&place, &ended);
    server.end();
}

/// A server that refuses, lies, breaks off, breaks the rules or says nothing: each is an outcome of its own.
#[test]
fn what_a_server_does_wrong_has_a_name() {
    let test = "what_a_server_does_wrong_has_a_name";
    let Some(python) = python(test) else { return };
    let place = Place::new();
    let server = Sockets::start(&place, &python, "server.py", &[]);
    for (path, state, outcome, says) in [
        ("/refuse", 0, Outcome::Status4xx, "status-4xx"),
        ("/plain", 0, Outcome::WebSocketRefused, "the server answers 200"),
        ("/liar", 0, Outcome::WebSocketRefused, "does not answer the request"),
        ("/closes", 2, Outcome::WebSocketClosed, "Close 1008 (policy violation)"),
        ("/masked", 1, Outcome::BadFrame, "a frame of the server's is masked"),
        ("/silent", 1, Outcome::TimedOut, "timed-out"),
    ] {
        place.write(
            "bad.toml",
            format!(
                "load = {{ model = 'closed', users = 1, think = '0s' }}\n\
                 connections.request-timeout = '400ms'\n\
                 [[session.state]]\nname = 'open'\npath = '{path}'\nwebsocket = 'open'\n\
                 [[session.state]]\nname = 'one'\nwebsocket = 'ask'\nbody = '{{\"type\":\"login\",\"user\":\"a\"}}'\n\
                 check.contains = 'welcome'\n\
                 [[session.state]]\nname = 'two'\nwebsocket = 'ask'\nbody = '{{\"type\":\"none\"}}'\n\
                 check.contains = 'never'\n"
            ),
        );
        let url = format!("http://127.0.0.1:{}", server.port);
        let words = format!("bad.toml --target {url} --sessions 3 --warm-up 0s");
        let ended = place.run(&words);
        let samples = ended.samples();
        let failed = of_state(&samples, state);
        assert!(!failed.is_empty() && failed.iter().all(|own| own.outcome == outcome), "{path}: {samples:?}");
        assert!(samples.iter().all(|own| own.request <= state), "{path}: the session ends there");
        let all =
            fs::read_to_string(ended.directory.join("failures.txt")).unwrap_or_default() + &ended.stdout;
        assert!(all.contains(says), "{path}: `{says}` is not in {all}");
    }
    // What a server closes while its user thinks is noticed when a message is to go over it.
    place.write(
        "gone.toml",
        "load = { model = 'closed', users = 1, think = '150ms' }\n\
         [[session.state]]\nname = 'open'\npath = '/closes'\nwebsocket = 'open'\n\
         [[session.state]]\nname = 'one'\nwebsocket = 'send'\nbody = '{\"type\":\"none\"}'\nthink = '0s'\n\
         [[session.state]]\nname = 'two'\nwebsocket = 'send'\nbody = '{\"type\":\"none\"}'\n\
         [[session.state]]\nname = 'late'\nwebsocket = 'await'\n",
    );
    let url = format!("http://127.0.0.1:{}", server.port);
    let ended = place.run(&format!("gone.toml --target {url} --sessions 2 --warm-up 0s"));
    let samples = ended.samples();
    let outcomes: Vec<Outcome> = of_state(&samples, 3).iter().map(|own| own.outcome).collect();
    assert_eq!(outcomes, [Outcome::WebSocketClosed; 2], "{samples:?}");
    assert_eq!(ended.summary().websockets.expect("WebSockets").closed, 2);
    // Pings are answered, and are no messages.
    place.write(
        "pings.toml",
        "load = { model = 'closed', users = 1, think = '0s' }\n\
         [[session.state]]\nname = 'open'\npath = '/pings'\nwebsocket = 'open'\n\
         [[session.state]]\nname = 'one'\nwebsocket = 'ask'\nbody = '{\"type\":\"login\",\"user\":\"p\"}'\n\
         check.contains = 'welcome'\n[[session.state]]\nname = 'bye'\nwebsocket = 'close'\n",
    );
    place.run(&format!("pings.toml --target {url} --sessions 4 --warm-up 0s"));
    poll("pongs", || {
        let text = fs::read_to_string(&server.log).unwrap_or_default();
        (text.lines().filter(|line| line.contains("pong:are_you_there")).count() == 4).then_some(())
    });
    server.end();
}

/// Beside requests over HTTP/2, a WebSocket is opened over HTTP/1.1, on a session of TLS that offers nothing
/// else.
#[test]
fn over_tls_the_upgrade_is_of_http1_whatever_else_is_spoken() {
    let test = "over_tls_the_upgrade_is_of_http1_whatever_else_is_spoken";
    let Some(python) = python(test) else { return };
    if !may_build(test) {
        return;
    }
    let place = Place::new();
    let line = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem \
                -out cert.pem -days 30 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1";
    crate::common::shell(&place, line).exits(0);
    let (certificate, key) = (place.path("cert.pem"), place.path("key.pem"));
    let server = Sockets::start(&place, &python, "server.py", &[&certificate, &key]);
    place.write("chat.toml", CHAT);
    let url = format!("https://127.0.0.1:{}", server.port);
    let words = format!(
        "chat.toml -d 1m --target {url} --cacert cert.pem --http auto --capture --set capture.snap=65535 \
         --set tls.key-log=true"
    );
    let ended = place.run(&words).exits(0);
    let samples = ended.samples();
    assert!(samples.iter().all(|own| own.outcome == Outcome::Ok), "{}", ended.stdout);
    assert_eq!(samples.len(), 180);
    agreement(&place, &ended);
    server.end();
}

/// Behind an emulated WAN a question takes a round trip of the path's, and packets say so.
#[test]
fn questions_from_far_take_a_round_trip() {
    let test = "questions_from_far_take_a_round_trip";
    let Some(python) = python(test) else { return };
    let place = Place::new();
    let script = place.write("server.py", include_str!("websockets/server.py"));
    let words = [python, script, "80".into(), place.path("far.log")];
    let command = words.map(|word| word.to_str().expect("a plain path").to_owned()).to_vec();
    let Some(wan) = Wan::of(test, command) else { return };
    let scenario = format!("{CHAT}\n[[network.class]]\nname = 'far'\nrtt = '60ms'\n");
    let scenario = scenario.replace("think = \"30ms\"", "think = \"5ms\"");
    // Whether it is valid on a busy machine is another matter.
    let ended = wan.run(&scenario, "--capture --set capture.snap=65535");
    let samples = ended.samples();
    assert!(samples.iter().all(|own| own.outcome == Outcome::Ok), "{}", ended.stdout);
    let said = of_state(&samples, 3);
    assert_eq!(said.len(), 60);
    assert!(said.iter().all(|own| own.response_time().as_ns() >= 59_900_000), "{said:?}");
    agreement(&wan.place, &ended);
}

/// The built-in server sends every message back in its service time, and messages at the instants of a plan.
#[test]
fn the_built_in_server_echoes_and_pushes() {
    let place = Place::new();
    let server = place.serve("--service-time 30ms");
    let states = |path: &str, more: &str| {
        format!(
            "load = {{ model = 'closed', users = 2, think = '0s' }}\n\
             [[session.state]]\nname = 'open'\npath = '{path}'\nwebsocket = 'open'\n{more}\
             [[session.state]]\nname = 'bye'\nwebsocket = 'close'\n"
        )
    };
    let echo = "[[session.state]]\nname = 'say'\nwebsocket = 'ask'\nbody = 'hello ${click}'\n\
                check.regex = '^hello ${click}$'\nrepeat = 4\n";
    place.write("echo.toml", states("/websocket", echo));
    let run = |file: &str| {
        let words = format!("{file} --target {} -d 1m --sessions 4 --warm-up 0s", server.url);
        let ended = place.run(&words);
        let samples = ended.samples();
        assert!(samples.iter().all(|own| own.outcome == Outcome::Ok), "{}", ended.stdout);
        samples
    };
    let said = run("echo.toml");
    let said = of_state(&said, 1);
    assert!(said.len() == 16 && said.iter().all(|own| own.response_time().as_ns() >= 30_000_000), "{said:?}");
    let awaits = |index: u32| {
        format!(
            "[[session.state]]\nname = 's{index}'\nwebsocket = 'await'\ncheck.json = {{ '/index' = '{index}' }}\n"
        )
    };
    place.write("push.toml", states("/websocket/20/10/300", &(awaits(9) + &awaits(10) + &awaits(19))));
    let pushed = run("push.toml");
    // Messages 9 and 10 are the pause and a gap apart.
    let paused = of_state(&pushed, 2);
    assert!(
        paused.len() == 4 && paused.iter().all(|own| own.response_time().as_ns() >= 250_000_000),
        "{paused:?}"
    );
    // Who does not ask for one as the RFC has it gets 426.
    let ended = place.run(&format!("{}/websocket -n 2 --warm-up 0s", server.url));
    assert!(ended.samples().iter().all(|own| own.status == 426));
}

/// The key of a request that opens a WebSocket; `None` of any other, and of a connection that ends.
fn key_of_request(stream: &mut TcpStream) -> Option<Key> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.extend(byte);
    }
    let head = String::from_utf8(head).ok()?;
    let key = head.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: "))?;
    let random: [u8; 16] = BASE64_STANDARD.decode(key).ok()?.try_into().ok()?;
    Some(Key::of(random))
}

/// A server that opens one WebSocket and reads all that comes on it, up to its end: the number of bytes.
fn reading_server() -> (SocketAddr, JoinHandle<usize>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let server = thread::spawn(move || {
        let mut streams = listener.incoming().flatten();
        let (mut stream, key) = streams
            .find_map(|mut stream| key_of_request(&mut stream).map(|key| (stream, key)))
            .expect("connections come without end");
        let accept = key.accept();
        let accept = std::str::from_utf8(&accept).expect("base64");
        let reply = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {accept}\r\n\r\n"
        );
        stream.write_all(reply.as_bytes()).expect("a client");
        let mut came = Vec::new();
        // A reset ends it as well.
        drop(stream.read_to_end(&mut came));
        came.len()
    });
    (address, server)
}

/// A message that is longer than what the kernel takes at once arrives whole, though its session is over as
/// soon as it is sent.
#[test]
fn a_message_that_nobody_answers_arrives_whole() {
    const BYTES: usize = 32 << 20;
    let (place, (address, server)) = (Place::new(), reading_server());
    place.write("big.bin", vec![0xff; BYTES]);
    place.write(
        "big.toml",
        "load = { model = 'closed', users = 1, think = '0s' }\n\
         [[session.state]]\nname = 'open'\npath = '/'\nwebsocket = 'open'\n\
         [[session.state]]\nname = 'push'\nwebsocket = 'send'\nbody = { file = 'big.bin' }\n",
    );
    let ended = place.run(&format!("big.toml --target http://{address} -d 1m --sessions 1 --warm-up 0s"));
    let samples = ended.samples();
    let outcomes: Vec<Outcome> = samples.iter().map(|own| own.outcome).collect();
    assert_eq!(outcomes, [Outcome::Ok; 2], "{}", ended.stdout);
    let came = server.join().expect("it has served");
    // The head of its frame has 14 bytes.
    assert!(came >= BYTES + 14, "{came} bytes of {BYTES}");
}

/// Feeds that begin before the user says anything, users in a hurry, pages over HTTP/2 and upgrades that are
/// refused beside them: samples stay in order, and packets agree.
#[test]
fn feeds_hurry_and_refusals_agree_with_the_packets() {
    if !may_build("feeds_hurry_and_refusals_agree_with_the_packets") {
        return;
    }
    let place = Place::new();
    let server = place.serve("");
    let state = |name: &str, keys: &str| format!("[[session.state]]\nname = '{name}'\n{keys}\n");
    let open = |path: &str| state("open", &format!("path = '{path}'\nwebsocket = 'open'"));
    let close = state("bye", "websocket = 'close'");
    let await_any = state("any", "websocket = 'await'\nrepeat = 5");
    let feed = open("/websocket/0/5") + &await_any + &close;
    let hurry = open("/websocket")
        + &state("send", "websocket = 'send'\nbody = 'now ${click}'\nrepeat = 5")
        + &state("got", "websocket = 'await'")
        + &close;
    // Its only question is answered by the message behind it, and not by one that was on its way.
    let asks = open("/websocket/0/1") + &state("ask", "websocket = 'ask'\nbody = 'x'\nrepeat = 20") + &close;
    let many = open("/websocket/0/1")
        + &state("go", "websocket = 'send'\nbody = 'x'")
        + &state("late", "websocket = 'await'\ncheck.json = { '/index' = '1500' }")
        + &close;
    let mixed = state("page", "path = '/bytes/100'")
        + &open("/websocket")
        + &state("say", "websocket = 'ask'\nbody = 'hello'\ncheck.contains = 'hello'")
        + &state("other", "path = '/bytes/200'");
    let refused = state("page", "path = '/bytes/100'")
        + &state("open", "path = '/bytes/10'\nwebsocket = 'open'\non-failure = 'go-on'")
        + &state("other", "path = '/bytes/200'");
    for (name, states, words) in [
        ("feed", feed, "-c 10 --sessions 20"),
        ("hurry", hurry, "-c 4 --sessions 20"),
        ("asks", asks, "-c 10 --sessions 20"),
        ("many", many, "-c 3 --sessions 3"),
        ("mixed", mixed, "-c 4 --http 2 --sessions 20"),
        ("refused", refused, "-c 4 --sessions 20"),
    ] {
        let file = format!("{name}.toml");
        place.write(&file, format!("load = {{ model = 'closed', users = 2, think = '0s' }}\n{states}"));
        let words = format!(
            "{file} --target {} {words} -d 1m --warm-up 0s --capture --set capture.snap=65535",
            server.url
        );
        let ended = place.run(&words);
        let samples = ended.samples();
        let expected = |own: &Sample| match (name, own.request) {
            ("refused", 1) => Outcome::WebSocketRefused,
            _ => Outcome::Ok,
        };
        assert!(samples.iter().all(|own| own.outcome == expected(own)), "{name}: {}", ended.stdout);
        assert!(samples.len() >= 9, "{name}: {}", samples.len());
        agreement(&place, &ended);
    }
}
