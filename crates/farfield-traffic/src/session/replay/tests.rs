//! Recordings of each format, read.

use super::*;
use std::path::Path;

fn replay(name: &str, text: &str, more: &str) -> Result<Replay, String> {
    replay_for(None, name, text, more)
}

fn replay_for(target: Option<&str>, name: &str, text: &str, more: &str) -> Result<Replay, String> {
    let spec: ReplaySpec =
        toml::from_str(&format!("file = '{name}'\n{more}")).map_err(|error| error.to_string())?;
    let mut load = |path: &Path| {
        assert_eq!(path, Path::new(name));
        Ok(text.as_bytes().to_vec())
    };
    spec.resolve(&mut load, target, &[]).map_err(|error| error.to_string())
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
    assert_eq!((replay.reading.entries(), replay.reading.taken), (4, 3));
    assert_eq!(
        replay.reading.warnings(),
        ["1 of 4 entries are left out: 1 of another server (first: entry 3, https://other/b.png)"]
    );
    assert_eq!(replay.requests.requests()[0].headers.len(), 1);
}

/// An archive of these requests, tenths of a second apart, each as the rest of its entry and of its request.
fn archive(entries: &[(&str, &str, &str)]) -> String {
    let entries = entries.iter().enumerate().map(|(place, (url, of_request, of_entry))| {
        format!(
            r#"{{"startedDateTime": "2026-11-26T10:00:0{}.{}00Z", "time": 5{of_entry}, "request":
               {{"method": "GET", "url": "{url}", "headersSize": -1{of_request}}}, "cache": {{}}, "timings": {{}}}}"#,
            place / 10,
            place % 10
        )
    });
    format!(r#"{{"log": {{"version": "1.2", "entries": [{}]}}}}"#, entries.collect::<Vec<_>>().join(","))
}

fn paths(replay: &Replay) -> Vec<&str> {
    replay.requests.requests().iter().map(|request| request.path.as_str()).collect()
}

#[test]
fn the_target_or_the_server_of_most_entries_is_asked() {
    let text = archive(&[
        ("http://cdn.example/x.js", "", ""),
        ("http://cdn.example/y.js", "", ""),
        ("http://127.0.0.1:9101/a", "", ""),
        ("https://Shop.example:443/b", "", ""),
        ("https://shop.example/c", "", ""),
        ("https://shop.example/d", "", ""),
        ("http://shop.example:80/e", "", ""),
    ]);
    let asked = |target| replay_for(target, "s.har", &text, "").expect("a session");
    assert_eq!(paths(&asked(Some("127.0.0.1:9101"))), ["/a"]);
    for target in ["shop.example", "SHOP.example:443", "staging.example"] {
        assert_eq!(paths(&asked(Some(target))), ["/b", "/c", "/d"], "{target}");
    }
    assert_eq!(paths(&asked(None)), ["/b", "/c", "/d"]);
    // Of as many, the first.
    let even = archive(&[("http://b/1", "", ""), ("http://a/2", "", "")]);
    assert_eq!(paths(&replay("s.har", &even, "").expect("a session")), ["/1"]);
}

/// Entries of hosts that are named stay, as URLs, and the rest is of one server.
#[test]
fn entries_of_named_hosts_are_asked_for_there() {
    let text = archive(&[
        ("https://cdn.example/x.js?a", "", ""),
        ("https://cdn.example/y.js", "", ""),
        ("http://cdn.example/z.js", "", ""),
        ("https://Shop.example:443/b", "", ""),
        ("http://api.example:8080/c", "", ""),
    ]);
    let spec: ReplaySpec = toml::from_str("file = 's.har'").expect("a spec");
    let asked = |target: Option<&str>, beside: &[&str]| {
        let beside: Vec<String> = beside.iter().map(|root| (*root).to_owned()).collect();
        let mut load = |_: &std::path::Path| Ok(text.clone().into_bytes());
        let replay = spec.resolve(&mut load, target, &beside).expect("a session");
        paths(&replay).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let of_cdn = ["https://cdn.example/x.js?a", "https://cdn.example/y.js"];
    assert_eq!(asked(Some("staging.example"), &["https://cdn.example/"]), [of_cdn[0], of_cdn[1], "/z.js"]);
    assert_eq!(
        asked(Some("shop.example"), &["https://cdn.example/", "http://api.example:8080/"]),
        [of_cdn[0], of_cdn[1], "/b", "http://api.example:8080/c"]
    );
    assert_eq!(asked(Some("shop.example"), &[]), ["/b"]);
}

/// The mark of UTF-8, fields that are missing or null, and targets as browsers write them.
#[test]
fn archives_are_read_as_tools_write_them() {
    let text = archive(&[
        ("http://a/x?q=ü", r#", "headers": null, "cookies": null, "postData": null, "bodySize": null"#, ""),
        ("http://a/y?x=a b#part", "", r#", "pageref": null, "response": null, "_fromCache": null"#),
        ("http://a", r#", "queryString": [{"name": "a b", "value": "1&2"}, {"name": "c"}]"#, ""),
        ("http://münchen.example/z", "", ""),
    ]);
    let found = replay("s.har", &format!("\u{feff}{text}"), "").expect("a session");
    assert_eq!(paths(&found), ["/x?q=%C3%BC", "/y?x=a%20b", "/?a+b=1%262&c="]);
    let of_name = replay_for(Some("xn--mnchen-3ya.example"), "s.har", &text, "").expect("a session");
    assert_eq!(paths(&of_name), ["/z"]);
}

#[test]
fn what_cannot_be_asked_for_again_is_left_out_by_reason() {
    let text = archive(&[
        ("http://a/1", "", r#", "response": {"status": -1}"#),
        ("http://a/2", "", r#", "response": {"status": 0}, "_error": "net::ERR_ABORTED""#),
        ("ws://a/3", "", ""),
        ("data:text/plain,4", "", ""),
        ("chrome-extension://abc/5.js", "", ""),
        ("http://a/6", "", r#", "response": {"status": 101}"#),
        ("http://a/7", "", r#", "response": {"status": 200}, "_fromCache": "memory""#),
        ("http://a/8", "", r#", "response": {"status": 200}, "_fetchType": "Disk Cache""#),
        ("http://a/9", r#", "bodySize": 312"#, ""),
        ("http://b/10", "", ""),
        ("/11", "", ""),
        ("http://a/12", "", r#", "response": {"status": 304}, "_fetchType": "Network Load""#),
        ("http://a/13", r#", "method": "CONNECT""#, ""),
    ]);
    // The last of two keys would be refused.
    let text = text.replace(r#""method": "GET", "url": "http://a/13""#, r#""url": "http://a/13""#);
    let found = replay_for(Some("a"), "s.har", &text, "").expect("a session");
    assert_eq!(paths(&found), ["/12"]);
    let counts: Vec<(&str, u64)> =
        found.reading.left_out.iter().map(|remark| (remark.what, remark.count)).collect();
    assert_eq!(
        counts,
        [
            ("of another scheme than HTTP", 3),
            ("whose URL cannot be read", 1),
            ("that the browser gave up", 2),
            ("that became a WebSocket", 1),
            ("that the browser answered from its cache", 2),
            ("whose body the archive does not have", 1),
            ("of another server", 1),
            ("whose method cannot be sent", 1),
        ]
    );
    assert_eq!(found.reading.entries(), 13);
    let sent = replay_for(Some("a"), "s.har", &text, "missing-bodies = 'send-empty'").expect("a session");
    assert_eq!(paths(&sent), ["/9", "/12"]);
    assert_eq!((sent.reading.differing[0].count, sent.reading.entries()), (1, 13));
    // All of them: the reason is in the message.
    let none = replay("s.har", &archive(&[("ws://a/1", "", "")]), "").expect_err("no session");
    assert!(none.ends_with("1 of another scheme than HTTP (first: entry 1, ws://a/1)"), "{none}");
}

#[test]
fn fields_and_cookies_are_sent_again() {
    let fields = r#", "headers": [{"name": ":authority", "value": "a"}, {"name": "X-Name", "value": "é"},
        {"name": "Content-Length", "value": "0"}, {"name": "bad name", "value": "1"},
        {"name": "Accept-Encoding", "value": "gzip, br"}, {"name": "Connection", "value": "keep-alive"}],
        "cookies": [{"name": "s", "value": "1"}, {"name": "t", "value": "2"}]"#;
    let found = replay("s.har", &archive(&[("http://a/", fields, "")]), "").expect("a session");
    let mut sent: Vec<(&str, &[u8])> = found.requests.requests()[0]
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_bytes()))
        .collect();
    sent.sort_unstable();
    let expected: [(&str, &[u8]); 3] =
        [("accept-encoding", b"gzip, br"), ("cookie", b"s=1; t=2"), ("x-name", "é".as_bytes())];
    assert_eq!(sent, expected);
    assert_eq!(found.reading.differing[0].what, "without a field that cannot be sent");
}

#[test]
fn requests_with_bodies_in_a_log_are_counted() {
    let line = |method: &str| format!("a - - [10/Oct/2000:13:55:36 -0700] \"{method} /x HTTP/1.0\" 200 10\n");
    let text = ["GET", "POST", "PUT", "DELETE"].map(line).concat();
    let log = replay("access.log", &text, "").expect("sessions");
    assert_eq!((log.reading.taken, log.reading.differing[0].count), (4, 2));
    assert!(log.reading.warnings()[0].ends_with("since a log has none (first: POST /x)"));
}

/// Lines of the target's virtual host, or of the one of most lines; and lines whose fields are named.
#[test]
fn lines_of_one_virtual_host_are_asked_for() {
    let line = |host: &str, path: &str| {
        format!("{host} 10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] \"GET {path} HTTP/1.0\" 200 10\n")
    };
    let text = [line("a.example:443", "/1"), line("b.example:80", "/2"), line("b.example:80", "/3")].concat();
    let of = |target| replay_for(target, "access.log", &text, "").expect("sessions");
    assert_eq!(paths(&of(Some("a.example"))), ["/1"]);
    let most = of(Some("staging.example:8080"));
    assert_eq!((paths(&most), most.reading.left_out[0].what), (vec!["/2", "/3"], "of another virtual host"));
    let json = "{\"t\": 1, \"c\": \"h\", \"u\": \"/x\"}\n";
    assert!(replay("a.log", json, "").expect_err("no layout").contains("caddy"));
    let named = replay("a.log", json, "fields = { time = 't', client = 'c', path = 'u' }").expect("sessions");
    assert_eq!(paths(&named), ["/x"]);
    let pattern = replay("a.log", "1.5 h /y\n", "layout = '$msec $remote_addr $uri'").expect("sessions");
    assert_eq!(paths(&pattern), ["/y"]);
    assert!(replay("a.log", json, "layout = 'nginx2'").expect_err("no layout").contains("`nginx2`"));
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
    assert_eq!((log.reading.left_out(), log.reading.entries()), (2, 10));
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

/// Pages are found by their name: as many as entries are read at once.
#[test]
fn an_archive_may_have_a_page_for_each_entry() {
    let entry = |at: u32| {
        format!(
            r#"{{"pageref": "page_{}", "request": {{"method": "GET", "url": "http://h/{}"}}}}"#,
            at % 40_000,
            at / 40_000
        )
    };
    let entries: Vec<String> = (0..80_000).map(entry).collect();
    let text = format!(r#"{{"log": {{"entries": [{}]}}}}"#, entries.join(","));
    let replay = replay("s.har", &text, "").expect("an archive");
    assert_eq!((replay.sessions[0].pages.len(), replay.requests.pages().len()), (40_000, 1));
    assert_eq!(replay.requests.pages()[0].embedded.len(), 1);
}
