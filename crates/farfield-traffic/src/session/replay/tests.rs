//! Recordings of each format, read.

use super::*;
use std::path::Path;

fn replay(name: &str, text: &str, more: &str) -> Result<Replay, String> {
    let spec: ReplaySpec =
        toml::from_str(&format!("file = '{name}'\n{more}")).map_err(|error| error.to_string())?;
    let mut load = |path: &Path| {
        assert_eq!(path, Path::new(name));
        Ok(text.as_bytes().to_vec())
    };
    spec.resolve(&mut load).map_err(|error| error.to_string())
}

/// Each session as `@start: path+embedded@at~think …`, times in milliseconds.
fn listed(replay: &Replay) -> Vec<String> {
    let ms = |time: Duration| time.as_ns() / 1_000_000;
    let request = |id: RequestId| {
        let request = replay.requests.request(id);
        format!("{} {}", request.method, request.path)
    };
    let page = |page: &ReplayedPage| {
        let Page { main, embedded } = &replay.requests.pages()[page.page as usize];
        let requests: Vec<String> = std::iter::once(main).chain(embedded).map(|id| request(*id)).collect();
        format!("{}@{}~{}", requests.join("+"), ms(page.at), ms(page.think))
    };
    let session = |session: &ReplayedSession| {
        let starts = session.starts.map_or("?".to_owned(), |at| ms(at.since(Instant::ZERO)).to_string());
        format!("{starts}: {}", session.pages.iter().map(page).collect::<Vec<_>>().join(", "))
    };
    replay.sessions.iter().map(session).collect()
}

const WSESSLOG: &str = "# session 1 (a comment)\n/foo.html think=2.0\n\t/pict1.gif\n    /pict2.gif\n\
    /foo2.html method=POST contents=\"Post \\\"data\\\"\"\n\n\n# session 2\n/foo.html think=0.5 size=100\n/foo.html\n";

#[test]
fn session_logs_of_httperf() {
    let replay = replay("s.wsesslog", WSESSLOG, "timing = 'gaps'\nspeed = 2").expect("sessions");
    assert_eq!(
        listed(&replay),
        [
            "?: GET /foo.html+GET /pict1.gif+GET /pict2.gif@0~1000, POST /foo2.html@0~0",
            "?: GET /foo.html@0~250, GET /foo.html@0~0"
        ]
    );
    assert_eq!(replay.requests.requests().len(), 4);
    assert_eq!(replay.requests.requests()[3].body, "Post \"data\"");
}

#[test]
fn archives_of_browsers() {
    let entry = |at: &str, took: u32, page: &str, url: &str| {
        format!(
            r#"{{"startedDateTime": "2024-05-01T12:00:{at}+02:00", "time": {took}, "pageref": "{page}", "request":
               {{"method": "GET", "url": "{url}", "headers": [{{"name": "Host", "value": "x"}}, {{"name": "accept", "value": "*/*"}}]}}}}"#
        )
    };
    let entries = [
        entry("00.000", 100, "p1", "https://shop/a?b#c"),
        entry("00.050", 400, "p1", "https://shop/a.png"),
        entry("00.060", 400, "p1", "https://other/b.png"),
        entry("02.450", 10, "p2", "https://shop/c"),
    ];
    let text = format!(r#"{{"log": {{"version": "1.2", "entries": [{}]}}}}"#, entries.join(","));
    let replay = replay("s.har", &text, "").expect("a session");
    assert_eq!(listed(&replay), ["0: GET /a?b+GET /a.png@0~2000, GET /c@2450~0"]);
    assert_eq!((replay.left_out, replay.requests.requests()[0].headers.len()), (1, 1));
}

#[test]
fn access_logs() {
    let line = |client: &str, at: &str, path: &str| {
        format!("{client} - - [10/Oct/2000:13:{at} -0700] \"GET {path} HTTP/1.0\" 200 10\n")
    };
    let text = [
        line("a", "55:36", "/x.html"),
        line("b", "55:36", "/x.html"),
        line("a", "55:37", "/i.png"),
        line("a", "55:46", "/y"),
        line("a", "55:47", "/z"),
        line("b", "55:48", "/i.png"),
        "broken\n".to_owned(),
        line("a", "59:00", "/not sendable"),
        line("b", "55:40", "/late"),
        line("a", "59:59", "/again"),
    ]
    .concat();
    let log = replay("access.log", &text, "").expect("sessions");
    let a = "GET /x.html+GET /i.png@0~10000, GET /y@10000~1000, GET /z@11000~252000, GET /again@263000~0";
    assert_eq!(
        listed(&log),
        [format!("0: {a}"), "0: GET /x.html@0~4000, GET /late@4000~8000, GET /i.png@12000~0".into()]
    );
    assert_eq!(log.left_out, 2);
    assert_eq!((log.requests.requests().len(), log.requests.pages().len()), (6, 7), "what is alike is one");
}

#[test]
fn invalid_values_are_refused() {
    let error_of = |name: &str, text: &str, more: &str| replay(name, text, more).expect_err(text);
    assert_eq!(
        error_of("s.wsesslog", WSESSLOG, ""),
        "s.wsesslog: has no instants; write `timing = \"gaps\"`"
    );
    assert!(
        error_of("s.wsesslog", "/a\n/b thnk=2", "").starts_with("s.wsesslog:2: there is no option `thnk`")
    );
    assert!(error_of("s.wsesslog", "  /a", "").starts_with("s.wsesslog:1: is indented"));
    assert!(error_of("s.wsesslog", "/a contents='x", "").starts_with("s.wsesslog:1: the quote"));
    assert!(error_of("s.wsesslog", "a b", "").starts_with("s.wsesslog:1: `a` is not a path"));
    assert!(error_of("s.wsesslog", "# none\n", "timing = 'gaps'").contains("has no session"));
    assert!(error_of("s.har", "{}", "").starts_with("s.har: is no HTTP Archive"));
    assert!(error_of("s.log", "hello\n", "").contains("is no access log"));
    assert!(error_of("s.log", "", "speed = 0").contains("`speed` is 0"));
}
