//! Header fields of a session's requests: the state's own, those that are written beside them, and what
//! redirects keep.

use super::{ONE, line, reply, scripted};

/// The values that a request has for a field, whatever the letters of its name.
fn values<'a>(request: &'a str, name: &str) -> Vec<&'a str> {
    let head = request.split("\r\n\r\n").next().unwrap_or_default();
    let fields = head.split("\r\n").skip(1).filter_map(|line| line.split_once(": "));
    fields.filter(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
}

/// Requests of the first session, by a user who has the target's credentials.
fn sent(session: &str, script: fn(&str) -> String) -> Vec<String> {
    let mut scene = scripted(ONE, session, script);
    scene.authorization = Some("Basic of-the-url".to_owned());
    scene.play().sent.into_iter().map(|(_, _, request)| request).collect()
}

const OWN: &str = "headers = { authorization = 'Bearer ${user}', accept = 'text/html', cookie = 'own=1', \
                   content-type = 'text/x', x-own = 'a' }\n";

fn answered(request: &str) -> String {
    match line(request).split(' ').nth(1) {
        Some("/form") => {
            let lines = "Set-Cookie: jar=1\r\n";
            reply(200, lines, "<form method=post action=/post><input name=a value=b></form>")
        }
        _ => reply(200, "", ""),
    }
}

/// A field that a state writes stands in place of the one that would be written otherwise, for forms too.
#[test]
fn a_field_of_the_state_is_the_only_one_of_its_name() {
    let first = "[[state]]\nname = 'page'\npath = '/form'\n";
    for second in ["path = '/plain'\nbody = 'x'\n", "form = {}\n", "path = '/there'\nform = {}\n"] {
        let all = sent(&format!("{first}[[state]]\nname = 'own'\n{second}{OWN}"), answered);
        assert_eq!(values(&all[0], "authorization"), ["Basic of-the-url"]);
        for (name, value) in [
            ("authorization", "Bearer 0"),
            ("accept", "text/html"),
            ("cookie", "own=1"),
            ("content-type", "text/x"),
            ("x-own", "a"),
            ("host", "server"),
            ("content-length", if second.contains("form") { "3" } else { "1" }),
        ] {
            assert_eq!(values(&all[1], name), [value], "{second}: {}", all[1]);
        }
    }
    let plain = sent(&format!("{first}[[state]]\nname = 'own'\nform = {{}}\n"), answered);
    for (name, value) in [
        ("authorization", "Basic of-the-url"),
        ("accept", "*/*"),
        ("cookie", "jar=1"),
        ("content-type", "application/x-www-form-urlencoded"),
    ] {
        assert_eq!(values(&plain[1], name), [value], "{}", plain[1]);
    }
}

fn led(request: &str) -> String {
    let (_, path) = line(request).trim_end_matches(" HTTP/1.1").split_once(' ').expect("a request line");
    match path.trim_start_matches('/').parse::<u16>() {
        Ok(status) => reply(status, "Location: /there\r\nSet-Cookie: jar=1\r\n", ""),
        Err(_) => reply(200, "", ""),
    }
}

/// Methods, bodies and the state's fields go along as the Fetch standard has it (section 4.5): what becomes a
/// GET has nothing left that was about its body.
#[test]
fn redirects_keep_what_browsers_keep() {
    let follow = |method: &str, status: u16| {
        let body = if ["GET", "HEAD"].contains(&method) { "" } else { "body = 'xyz'\n" };
        let own = "headers = { authorization = 'Bearer t', content-type = 'text/x', x-own = 'a' }\n";
        let state = format!("[[state]]\nname = 'a'\nmethod = '{method}'\npath = '/{status}'\n{body}{own}");
        let all = sent(&state, led);
        let next = all[1].clone();
        for (name, value) in
            [("authorization", "Bearer t"), ("x-own", "a"), ("host", "server"), ("cookie", "jar=1")]
        {
            assert_eq!(values(&next, name), [value], "{method} {status}: {next}");
        }
        let kept = next.starts_with(&format!("{method} /there "));
        assert!(kept || next.starts_with("GET /there "), "{next}");
        if !body.is_empty() {
            let (length, media): (&[&str], &[&str]) = if kept { (&["3"], &["text/x"]) } else { (&[], &[]) };
            assert_eq!(
                (&values(&next, "content-length")[..], &values(&next, "content-type")[..]),
                (length, media)
            );
            assert_eq!(next.ends_with("\r\n\r\nxyz"), kept, "{next}");
        }
        kept
    };
    let of = |method: &str| [301, 302, 303, 307, 308].map(|status| follow(method, status));
    assert_eq!(of("GET"), [true; 5]);
    assert_eq!(of("HEAD"), [true; 5]);
    assert_eq!(of("POST"), [false, false, false, true, true]);
    assert_eq!(of("PUT"), [true, true, false, true, true]);
}
