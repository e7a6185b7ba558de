//! HTTP Archives as scenarios that one can edit.

use super::{Run, says};

fn entry(at: &str, method: &str, path: &str, more: &str) -> String {
    format!(
        r#"{{"startedDateTime": "2026-11-26T10:00:{at}Z", "time": 5, "request": {{"method": "{method}", "url": "http://SERVER{path}"{more}}},
           "response": {{"status": 200, "content": {{"mimeType": "text/html"}}}}, "cache": {{}}, "timings": {{}}}}"#
    )
}

fn archive(entries: &[String]) -> String {
    format!(
        r#"{{"log": {{"version": "1.2", "creator": {{"name": "x"}}, "entries": [{}]}}}}"#,
        entries.join(",")
    )
}

#[test]
fn requests_of_a_browser_are_asked_for() {
    let run = Run::new();
    let json = r#", "headers": [{"name": "Content-Type", "value": "application/json"}, {"name": "Authorization", "value": "Bearer GEHEIM"}],
        "postData": {"mimeType": "application/json", "text": "{\"a\": \"$1\"}"}"#;
    let text = archive(&[
        entry("00.000", "GET", "/page", ""),
        entry("01.000", "POST", "/api", json),
        entry("02.000", "GET", "/a?q=ü", ""),
    ]);
    let (ended, lines) = run.lines("session.har", &text, &[]);
    let mut sorted = lines.clone();
    sorted.sort();
    assert_eq!(sorted, ["GET /a?q=%C3%BC", "GET /page", "POST /api {\"a\": \"$1\"}"], "{lines:?}");
    says(&ended, &["3 of 3 entries taken", "`authorization`"]);
    assert!(!ended.stderr.contains("GEHEIM"), "{}", ended.stderr);
}

#[test]
fn what_an_archive_lacks_is_said() {
    let run = Run::new();
    let own = [
        entry("00.000", "GET", "/a", ""),
        entry("01.000", "PUT", "/b", r#", "bodySize": 40"#),
        entry("02.000", "GET", "/x", "").replace("http://SERVER", "ws://SERVER"),
        entry("03.000", "GET", "/c", "").replace("SERVER", "cdn.example"),
        entry("04.000", "GET", "/d", ""),
    ];
    let (ended, lines) = run.lines("s.har", &archive(&own), &[]);
    assert_eq!(lines, ["GET /a", "GET /d"]);
    says(
        &ended,
        &[
            "2 of 5 entries taken",
            "3 of 5 entries are left out",
            "another server",
            "whose body the archive does not have",
        ],
    );
}

/// With `--bind` the server gets back its own token and cookie, and without it those of the recording.
#[test]
fn bound_values_are_those_of_the_servers_replies() {
    let replied = |at: &str, path: &str, fields: &str, text: &str| {
        let reply = format!(r#""status": 200, "headers": [{fields}], "content": {{"text": "{text}", "#);
        entry(at, "GET", path, "").replace(r#""status": 200, "content": {"#, &reply)
    };
    let order = r#", "headers": [{"name": "Content-Type", "value": "application/x-www-form-urlencoded"},
        {"name": "Authorization", "value": "Bearer rec-12345678"}, {"name": "Cookie", "value": "sid=9"}],
        "postData": {"mimeType": "application/x-www-form-urlencoded", "text": "a=1&csrf=old"}"#;
    let text = archive(&[
        replied("00.000", "/login", "", r#"{\"token\": \"rec-12345678\"}"#),
        replied("01.000", "/set", r#"{"name": "Set-Cookie", "value": "sid=9; Path=/"}"#, "ok"),
        replied("02.000", "/page", "", "<input name='csrf' value='old'>"),
        entry("03.000", "POST", "/order", order),
    ]);
    for (words, body, [token, cookie], said) in [
        (&["--bind"][..], "a=1&csrf=c0ffee", ["Bearer abc/1", "sid=1"], "are taken from replies"),
        (&[], "a=1&csrf=old", ["Bearer rec-12345678", "sid=9"], "`--bind` takes them"),
    ] {
        let run = Run::new();
        run.place.write("s.har", text.replace("SERVER", &run.server.address));
        let words: Vec<&str> = ["s.har"].iter().chain(words).copied().collect();
        says(&run.import(&words).exits(0), &["4 of 4 entries taken", said]);
        let arrived = run.run("--sessions 1 -c 1");
        let order = arrived.last().expect("four requests");
        assert_eq!((&*order.body, order.field("authorization")), (body, token), "{}", run.scenario());
        assert_eq!(order.field("cookie"), cookie, "{}", run.scenario());
    }
}
