//! Sessions with dependencies, in virtual time, against a server that answers by a script.

mod around;
mod choosing;
mod content;
mod fields;
mod links;
mod results;
use crate::scene::{Scene, Server, Stage, ms};
use farfield_base::{Duration, Outcome, PagePart, Sample};
use farfield_user::policy::Reuse;
use std::num::{NonZeroU16, NonZeroU32};

const ONE: &str = "{ model = 'closed', users = 1, think = '100ms' }";

/// A reply with these header lines and this body.
fn reply(status: u16, lines: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} X\r\n{lines}Content-Length: {}\r\n\r\n{body}", body.len())
}

/// The value of a header of a request.
fn header<'a>(request: &'a str, name: &str) -> Option<&'a str> {
    let head = request.split("\r\n\r\n").next()?;
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

fn line(request: &str) -> &str {
    request.lines().next().unwrap_or_default()
}

/// Request lines that were sent, in order.
fn lines(stage: &Stage) -> Vec<&str> {
    stage.sent.iter().map(|(_, _, request)| line(request)).collect()
}

fn scripted(load: &str, session: &str, script: fn(&str) -> String) -> Scene {
    let mut scene = Scene::of(load).session(session);
    scene.server = Server { script: Some(script), ..Server::default() };
    scene.length = Duration::from_secs(2);
    scene
}

/// The reply knows what was asked, so that a request can only be right if it has what the reply before gave.
const CHAIN: &str = r#"
clicks = 4
[[data]]
file = "users.csv"
[[state]]
name = "a"
path = "/a?u=${user}&s=${session}&c=${click}&n=${name}"
extract = { x = { regex = 'x=(\w+)' }, h = { header = "X-H" }, k = { cookie = "k" }, j = { regex = 'none', default = "d" } }
[[state]]
name = "b"
path = "/b/${x}"
headers = { x-h = "${h}", cookie = "own=${k}" }
body = "p=${pass|form}&q=${pass|json}&j=${j}&r=${random(7,7)}"
[[state]]
name = "c"
path = "${x}/../c d"
"#;

fn chain(request: &str) -> String {
    match line(request).split(['?', ' ']).nth(1) {
        Some("/a") => reply(200, "X-H: one\r\nx-h: two\r\nSet-Cookie: k=v1; Path=/\r\n", "so x=found1 it is"),
        _ => reply(200, "", ""),
    }
}

#[test]
fn values_are_taken_along() {
    let session = CHAIN.replace("path = \"${x}/../c d\"", "path = \"${x}/../c\"");
    let stage = scripted(ONE, &session, chain).play();
    assert_eq!(
        lines(&stage)[..4],
        [
            "GET /a?u=0&s=0&c=0&n=ann HTTP/1.1",
            "POST /b/found1 HTTP/1.1",
            "GET /b/c HTTP/1.1",
            "GET /a?u=0&s=1&c=0&n=bob HTTP/1.1",
        ]
    );
    let request = &stage.sent[1].2;
    assert_eq!((header(request, "x-h"), header(request, "cookie")), (Some("one"), Some("own=v1")));
    assert!(request.ends_with("\r\n\r\np=x+y&q=x y&j=d&r=7"), "{request}");
    assert_eq!(header(&stage.sent[2].2, "Cookie"), Some("k=v1"));
    assert_eq!(header(&stage.sent[3].2, "Cookie"), None, "a new session has no cookies");
    assert!(stage.samples.iter().all(|sample| sample.outcome == Outcome::Ok));
    assert_eq!(stage.samples[0].request, 0);
    assert_eq!(stage.samples[1].request, 1);
    assert_ne!(stage.sent[2].1, stage.sent[3].1, "a new session has new connections");
    assert_eq!(stage.sent[0].1, stage.sent[2].1, "a session keeps its own");
}

/// However replies are cut into pieces, and on whatever connections requests go, the same is asked for.
#[test]
fn pieces_and_connections_change_nothing() {
    let session = CHAIN.replace("path = \"${x}/../c d\"", "path = \"${x}/../c\"");
    let whole = scripted(ONE, &session, chain).play();
    let mut cut = scripted(ONE, &session, chain);
    cut.server.pieces = Some(7);
    let cut = cut.play();
    let most = whole.sent.len().min(cut.sent.len());
    assert!(most > 9);
    assert_eq!(lines(&whole)[..most], lines(&cut)[..most]);
    let mut apart = scripted(ONE, &session, chain);
    apart.policy.policy = Reuse::OneRequest;
    let apart = apart.play();
    assert!(apart.sent.iter().all(|(_, _, request)| header(request, "Connection") == Some("close")));
    assert_eq!(lines(&whole)[..9], lines(&apart)[..9]);
    assert_eq!(apart.attempts.len(), apart.sent.len());
}

fn form(request: &str) -> String {
    let page = "<form action=/no></form><form id=f action='../do' method=post><input type=hidden name=t value='1&amp;2'>\
                <input name=user value=old></form>";
    match line(request) {
        "GET /in/form HTTP/1.1" => reply(200, "Content-Type: text/html\r\n", page),
        "POST /do HTTP/1.1" => reply(302, "Location: /done?x\r\nSet-Cookie: s=1\r\n", "go"),
        _ => reply(200, "", "well done"),
    }
}

fn upload(request: &str) -> String {
    let page = "<form action=/up method=post enctype=multipart/form-data><input type=hidden name=t value='1&#10;2'>\
                <input type=file name=list><input type=file name=none><textarea name=note></textarea></form>";
    match line(request) {
        "GET /form HTTP/1.1" => reply(200, "Content-Type: text/html\r\n", page),
        _ => reply(307, "Location: /there\r\n", ""),
    }
}

/// A file from the data and its name are in the form's own encoding, and go along where the reply leads.
#[test]
fn forms_with_files_are_sent_in_parts() {
    let session = "[[data]]\nfile = 'users.csv'\n[[state]]\nname = 'a'\npath = '/form'\n[[state]]\nname = 'b'\n\
        form.fields = { note = \"${name}\\n\" }\n\
        form.files = { list = { text = \"${pass}\\n\", name = '${name}.csv', type = 'text/csv' } }";
    let stage = scripted(ONE, session, upload).play();
    assert_eq!(lines(&stage)[..3], ["GET /form HTTP/1.1", "POST /up HTTP/1.1", "POST /there HTTP/1.1"]);
    let part = "------farfield-form-0\r\nContent-Disposition: form-data; name=";
    let body = format!(
        "{part}\"t\"\r\n\r\n1\r\n2\r\n{part}\"list\"; filename=\"ann.csv\"\r\nContent-Type: text/csv\r\n\r\nx y\n\r\n\
         {part}\"none\"; filename=\"\"\r\nContent-Type: application/octet-stream\r\n\r\n\r\n\
         {part}\"note\"\r\n\r\nann\r\n\r\n------farfield-form-0--\r\n"
    );
    for (_, _, request) in &stage.sent[1..3] {
        assert_eq!(
            header(request, "Content-Type"),
            Some("multipart/form-data; boundary=----farfield-form-0")
        );
        assert_eq!(header(request, "Content-Length"), Some(&*body.len().to_string()));
        assert_eq!(request.split_once("\r\n\r\n").map(|(_, body)| body), Some(&*body));
    }
}

#[test]
fn forms_are_filled_in_and_redirects_followed() {
    let session = "[[state]]\nname = 'a'\npath = '/in/form'\n[[state]]\nname = 'b'\n\
                   form = { select = '#f', fields = { user = '${user}', more = 'é' } }\ncheck.contains = 'well'";
    let stage = scripted(ONE, session, form).play();
    assert_eq!(lines(&stage)[..3], ["GET /in/form HTTP/1.1", "POST /do HTTP/1.1", "GET /done?x HTTP/1.1"]);
    let request = &stage.sent[1].2;
    assert!(request.ends_with("\r\n\r\nt=1%262&user=0&more=%C3%A9"), "{request}");
    assert_eq!(header(request, "Content-Type"), Some("application/x-www-form-urlencoded"));
    assert_eq!(header(&stage.sent[2].2, "Cookie"), Some("s=1"));
    let ended: Vec<_> = stage.samples[..3].iter().map(|s| (s.request, s.status, s.outcome)).collect();
    assert_eq!(ended, [(0, 200, Outcome::Ok), (1, 302, Outcome::Ok), (1, 200, Outcome::Ok)]);
    assert_eq!(stage.samples[2].due, stage.samples[1].done, "a redirect is followed at once");
}

/// Pages of each state until 2 s, each taking 15 ms (25 the first) and 100 ms of thought: their samples and
/// the requests that were sent.
fn failing(on_failure: &str, check: &str) -> (Vec<Sample>, Vec<String>) {
    let session = format!(
        "on-failure = '{on_failure}'\n[[state]]\nname = 'a'\npath = '/a'\n{check}\n[[state]]\nname = 'b'\npath = '/b'"
    );
    let stage = scripted(ONE, &session, |_| reply(404, "", "nothing")).play();
    let asked = lines(&stage).iter().map(|line| line[4..6].to_owned()).collect();
    (stage.samples, asked)
}

#[test]
fn failures_do_as_configured() {
    let (samples, asked) = failing("end-session", "");
    assert!(asked.iter().all(|path| path == "/a") && samples.iter().all(|s| s.outcome == Outcome::Status4xx));
    assert_eq!(failing("go-on", "").1[..4], ["/a", "/b", "/a", "/b"]);
    assert_eq!(failing("retry 2", "").1[..6], ["/a"; 6]);
    let well = failing("end-session", "check.status = [200, '400-410']");
    assert_eq!((&well.1[..2], well.0[0].outcome), (&["/a".to_owned(), "/b".to_owned()][..], Outcome::Ok));
    for (check, outcome) in [
        ("check = { status = 404, contains = 'thing' }", Outcome::Ok),
        ("check = { status = 404, lacks = 'thing' }", Outcome::CheckFailed),
        ("check = { status = 404, regex = '^no.*g$' }", Outcome::Ok),
        ("check = { status = 404, regex = ['no', 'yes'] }", Outcome::CheckFailed),
        ("check = { status = 404, header = { content-length = '7' } }", Outcome::Ok),
        ("check = { status = 404, header = { content-length = '8' } }", Outcome::CheckFailed),
        ("check = { status = 404, header = { x-none = false } }", Outcome::Ok),
        ("check = { status = 404 }\nextract.x = { regex = 'x' }", Outcome::ExtractFailed),
        ("check = { status = 200 }", Outcome::Status4xx),
    ] {
        assert_eq!(failing("end-session", check).0[0].outcome, outcome, "{check}");
    }
}

#[test]
fn a_page_is_tried_again_after_the_pause() {
    let session =
        "on-failure = 'retry 1'\n[[state]]\nname = 'a'\npath = '/a'\n[[state]]\nname = 'b'\npath = '/b'";
    let load = "{ model = 'closed', users = 1 }";
    let mut scene = scripted(load, session, |_| reply(500, "", ""));
    scene.policy.pause_after_failure = ms(300);
    let stage = scene.play();
    assert_eq!(stage.samples[1].due, stage.samples[0].done + ms(300));
}

#[test]
fn what_cannot_be_sent_is_reported() {
    let session =
        "[[state]]\nname = 'a'\npath = '/a'\n[[state]]\nname = 'b'\nform = {}\non-failure = 'go-on'";
    let stage = scripted("{ model = 'closed', users = 1 }", session, |_| reply(200, "", "no form")).play();
    assert!(lines(&stage).iter().all(|line| line.starts_with("GET /a ")));
    let missing: Vec<_> = stage.samples.iter().filter(|s| s.outcome == Outcome::ExtractFailed).collect();
    assert!(
        missing.len() > 5 && missing.iter().all(|s| s.request == 1 && s.connection == Sample::NO_CONNECTION)
    );
    assert!(missing[1].due >= missing[0].due + ms(100), "no user storms on");
}

/// Without any pause, a session of nothing but a form that no page has goes on in time all the same.
#[test]
fn what_can_never_be_sent_does_not_hold_time_up() {
    let session = "[[state]]\nname = 'a'\nform = {}";
    let mut scene = scripted("{ model = 'closed', users = 1 }", session, |_| reply(200, "", ""));
    scene.policy.pause_after_failure = Duration::ZERO;
    scene.length = ms(1);
    let stage = scene.play();
    let ended: Vec<_> = stage.samples.iter().map(|sample| (sample.due, sample.outcome)).collect();
    assert!(ended.len() > 100 && ended.iter().all(|(_, outcome)| *outcome == Outcome::ExtractFailed));
    assert!(ended.is_sorted_by(|one, next| one.0 < next.0));
}

#[test]
fn sessions_of_a_hybrid_load_end_with_their_way() {
    let load = "{ model = 'hybrid', arrivals = { process = 'constant', rate = '10/s' } }";
    let session = "think = '50ms'\n[[state]]\nname = 'a'\npath = '/${session}/a'\n[[state]]\nname = 'b'\npath = '/b'\n\
                   think = '1s'\n[[state]]\nname = 'c'\npath = '/c'";
    let stage = scripted(load, session, |_| reply(200, "", "")).play();
    let of = |user: u32| stage.samples.iter().filter(|s| s.user == user).collect::<Vec<_>>();
    for user in 0..8 {
        let samples = of(user);
        assert_eq!(samples.iter().map(|s| s.request).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(samples[1].due, samples[0].done + ms(50));
        assert_eq!(samples[2].due, samples[1].done + ms(1000));
    }
    assert!(lines(&stage).contains(&"GET /7/a HTTP/1.1"));
}

#[test]
fn unique_rows_run_out() {
    let session =
        "data = [{ file = 'users.csv', order = 'unique' }]\n[[state]]\nname = 'a'\npath = '/${name}'";
    for load in ["{ model = 'closed', users = 2 }", "{ model = 'hybrid', arrivals = '100/s' }"] {
        let stage = scripted(load, session, |_| reply(200, "", "")).play();
        let mut asked = lines(&stage);
        asked.sort_unstable();
        assert_eq!(asked, ["GET /ann HTTP/1.1", "GET /bob HTTP/1.1", "GET /cat HTTP/1.1"], "{load}");
    }
}

/// Random streams belong to users: three workers together ask for what one does, request by request.
#[test]
fn three_workers_do_what_one_does() {
    let session = "think = { distribution = 'exponential', mean = '80ms' }\n\
        data = [{ file = 'users.csv', order = 'shuffled' }]\n\
        [transitions]\na = { b = 0.6, a = 0.2, end = 0.2 }\nb = { back = 0.5, a = 0.3, end = 0.2 }\n\
        [[state]]\nname = 'a'\npath = '/a?${name}${session}r${random(1,999)}'\n\
        extract.x = { regex = '[a-z]', random = true }\n\
        [[state]]\nname = 'b'\npath = '/b?${x}'";
    for load in ["{ model = 'closed', users = 7 }", "{ model = 'hybrid', arrivals = '40/s' }"] {
        let mut scene = scripted(load, session, |_| reply(200, "", "abcdefgh"));
        scene.policy.parallel = NonZeroU16::new(2).expect("two");
        scene.policy.requests_per_connection = NonZeroU32::new(5);
        let requests = |stages: &[Stage]| {
            let mut all: Vec<String> = stages
                .iter()
                .flat_map(|stage| {
                    stage.sent.iter().map(|(at, _, request)| format!("{at:?} {}", line(request)))
                })
                .chain(
                    stages
                        .iter()
                        .flat_map(|stage| &stage.samples)
                        .map(|s| format!("{:?} {} {} {:?}", s.due, s.user, s.request, s.done)),
                )
                .collect();
            all.sort_unstable();
            all
        };
        let one = requests(&[scene.play()]);
        let three = requests(&[0, 1, 2].map(|worker| scene.play_share(worker, 3)));
        assert!(one.len() > 100);
        assert_eq!(one, three, "{load}");
    }
}

/// A page of four pieces, a millisecond apart, that names an object in its second and one, twice, in its
/// third.
fn browsed(request: &str) -> String {
    let piece = |text: &str| format!("{text:<100}");
    let page = piece("<p>")
        + &piece("<img src=a.png><img src=//other/x>")
        + &piece("<link rel=icon href=/b.ico><img src='/b.ico#x'>");
    let tagged = |tag: &str, age: u32| format!("ETag: {tag}\r\nCache-Control: max-age={age}\r\n");
    match (line(request), header(request, "If-None-Match")) {
        ("GET /in/page HTTP/1.1", _) => {
            let head = "HTTP/1.1 200 X\r\nContent-Type: text/html; charset=utf-8\r\nX: ";
            let rest = format!("\r\nContent-Length: {}\r\n\r\n", page.len());
            format!("{head}{:x<1$}{rest}{page}", "", 100 - head.len() - rest.len())
        }
        ("GET /in/a.png HTTP/1.1", _) => reply(200, &tagged("a", 3600), "a"),
        ("GET /b.ico HTTP/1.1", Some("b")) => reply(304, &tagged("b", 0), ""),
        ("GET /b.ico HTTP/1.1", None) => reply(200, &tagged("b", 0), "b"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_browser_fetches_what_it_finds_as_it_finds_it() {
    let session = "page-load = 'browser'\n[[state]]\nname = 'a'\npath = '/in/page'\n[[state]]\nname = 'b'\npath = '/in/page'";
    let mut scene = scripted(ONE, session, browsed);
    scene.server.pieces = Some(100);
    scene.policy.parallel = NonZeroU16::new(3).expect("three");
    let stage = scene.play();
    let page = &stage.samples[..3];
    let (main, objects): (Vec<&Sample>, Vec<&Sample>) = page.iter().partition(|sample| sample.request == 0);
    assert_eq!(
        lines(&stage)[..3],
        ["GET /in/page HTTP/1.1", "GET /in/a.png HTTP/1.1", "GET /b.ico HTTP/1.1"]
    );
    let first = main[0].first_byte.instant().expect("a reply");
    let due: Vec<_> = objects.iter().map(|sample| sample.due).collect();
    assert_eq!(due, [first + ms(2), first + ms(3)], "in the pieces that name them");
    assert_eq!(main[0].done, first + ms(3));
    assert!(
        objects.iter().all(|sample| sample.request == 2 && sample.number == 0),
        "on connections of their own"
    );
    let parts: Vec<_> = page.iter().map(|sample| sample.page).collect();
    assert_eq!(parts, [PagePart::Begins, PagePart::Inside, PagePart::Ends]);
    assert_eq!(stage.samples[3].due, page[2].done + ms(100), "the user thinks once all of it is there");
}

#[test]
fn a_cache_asks_for_what_is_stale() {
    let session = "page-load = 'browser'\ncache = true\n[[state]]\nname = 'a'\npath = '/in/page'\n[[state]]\nname = 'b'\npath = '/in/page'";
    let stage = scripted(ONE, session, browsed).play();
    let asked: Vec<_> = stage.samples.iter().map(|s| (s.request, s.status, s.page)).collect();
    use PagePart::{Begins, Ends, Inside};
    assert_eq!(
        asked[..5],
        [(0, 200, Begins), (2, 200, Inside), (2, 200, Ends), (1, 200, Begins), (3, 304, Ends)]
    );
    assert_eq!(asked[5..8], asked[..3], "a new visitor has nothing yet");
}

/// The outcomes and requests of a session whose first state is answered by `script`.
fn led_by(session: &str, script: fn(&str) -> String) -> (Vec<Outcome>, Vec<String>) {
    let stage = scripted(ONE, session, script).play();
    let outcomes = stage.samples.iter().map(|sample| sample.outcome).collect();
    (outcomes, lines(&stage).into_iter().map(str::to_owned).collect())
}

/// A redirect that is not followed is no success: behind as many as are followed, to another server, to
/// another scheme.
#[test]
fn redirects_that_lead_nowhere_are_named() {
    const STATE: &str = "redirects = 3\non-failure = 'go-on'\n[[state]]\nname = 'a'\npath = '/a'\n";
    let (outcomes, asked) = led_by(STATE, |_| reply(302, "Location: /a\r\n", ""));
    assert_eq!(outcomes[..4], [Outcome::Ok, Outcome::Ok, Outcome::Ok, Outcome::RedirectLoop]);
    assert!(asked.iter().all(|line| line == "GET /a HTTP/1.1"));
    let elsewhere: [fn(&str) -> String; 4] = [
        |_| reply(301, "Location: https://server/a\r\n", ""),
        |_| reply(307, "Location: //other/a\r\n", ""),
        |_| reply(302, "Location: http://server:81/\r\n", ""),
        |_| reply(303, "Location: mailto:a@b\r\n", ""),
    ];
    for script in elsewhere {
        let (outcomes, asked) = led_by(STATE, script);
        assert!(outcomes.len() > 5 && asked.iter().all(|line| line == "GET /a HTTP/1.1"));
        assert!(outcomes[..5].iter().all(|outcome| *outcome == Outcome::RedirectElsewhere), "{outcomes:?}");
    }
    // Users who follow no redirect, or ask for the status, have the page that was asked for.
    for (session, to) in
        [("redirects = 0", "/a"), ("redirects = 0", "//other/"), ("check.status = 302", "//other/")]
    {
        let text = format!("[[state]]\nname = 'a'\npath = '/a'\n{}", session.replace("redirects = 0", ""));
        let top = if session.starts_with("redirects") { session } else { "" };
        let script: fn(&str) -> String = match to {
            "/a" => |_| reply(302, "Location: /a\r\n", ""),
            _ => |_| reply(302, "Location: //other/\r\n", ""),
        };
        let (outcomes, _) = led_by(&format!("{top}\n{text}"), script);
        assert_eq!(outcomes[..3], [Outcome::Ok; 3], "{session} {to}");
    }
}

/// Even where it leads to where it would be followed: the reply is what the check asked for.
#[test]
fn a_redirect_that_a_check_asks_for_is_not_followed() {
    let asked = |status: &str| {
        let text = format!("[[state]]\nname = 'a'\npath = '/a'\ncheck.status = {status}\n");
        let (outcomes, asked) = led_by(&text, |line| match line.contains("/a ") {
            true => reply(302, "Location: /b\r\n", ""),
            false => reply(200, "", ""),
        });
        assert_eq!(outcomes[..3], [Outcome::Ok; 3], "{status}");
        asked.iter().any(|line| line.contains("/b "))
    };
    assert_eq!(["200", "302", "[200, '3xx']"].map(asked), [true, false, false]);
}

/// A browser says what codings and languages it takes, and where it comes from; a state that says so itself
/// is not contradicted.
#[test]
fn a_browser_sends_what_browsers_send() {
    let session = "page-load = 'browser'\n[[state]]\nname = 'a'\npath = '/a'\n\
                   [[state]]\nname = 'b'\npath = '/b'\nheaders = { accept-encoding = 'br', referer = 'x' }\n";
    let stage = scripted(ONE, session, |request| match line(request).split(' ').nth(1) {
        Some("/a") => reply(302, "Location: /c?d\r\n", ""),
        _ => reply(200, "Content-Type: text/html\r\n", "<img src=/i>"),
    })
    .play();
    let sent: Vec<_> = stage.sent.iter().take(6).map(|(_, _, request)| request.as_str()).collect();
    let asked: Vec<_> =
        sent.iter().map(|request| line(request).split(' ').nth(1).expect("a target")).collect();
    assert_eq!(asked, ["/a", "/c?d", "/i", "/b", "/i", "/a"]);
    let referers: Vec<_> = sent.iter().map(|request| header(request, "Referer")).collect();
    let (page, other) = (Some("http://server/c?d"), Some("http://server/b"));
    assert_eq!(referers, [None, None, page, None, other, None]);
    let codings: Vec<_> = sent.iter().map(|request| header(request, "Accept-Encoding")).collect();
    let usual = Some("gzip, deflate");
    assert_eq!(codings, [usual, usual, usual, None, usual, usual]);
    assert!(sent[3].contains("accept-encoding: br\r\n") && sent[3].contains("referer: x\r\n"));
    assert!(sent.iter().all(|request| header(request, "Accept-Language").is_some()));
    // Users who do not load pages as a browser does say nothing of it.
    let plain = scripted(ONE, "[[state]]\nname = 'a'\npath = '/a'", |_| reply(200, "", "")).play();
    assert!(plain.sent.iter().all(|(_, _, request)| header(request, "Accept-Encoding").is_none()));
}
