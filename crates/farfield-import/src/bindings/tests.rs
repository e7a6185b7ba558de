//! Recordings in which values of replies come again.

use crate::tests::of;
use crate::{DocumentKind, Imported, Wishes};
use serde_json::{Value, json};

fn entry(second: u8, request: (&str, &str, &str), fields: &[(&str, &str)], reply: Value) -> Value {
    let (method, path, body) = request;
    let mut headers: Vec<Value> =
        fields.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
    if !body.is_empty() {
        headers.push(json!({ "name": "Content-Type", "value": "application/x-www-form-urlencoded" }));
    }
    let mut asked = json!({ "method": method, "url": format!("http://h{path}"), "headers": headers });
    if !body.is_empty() {
        asked["postData"] = json!({ "mimeType": "application/x-www-form-urlencoded", "text": body });
    }
    json!({
        "startedDateTime": format!("2026-11-26T10:00:{second:02}.000Z"), "time": 5,
        "pageref": format!("p{second}"), "request": asked, "response": reply,
    })
}

fn replied(text: &str, set_cookie: &str) -> Value {
    let headers = match set_cookie {
        "" => json!([]),
        set => json!([{ "name": "Set-Cookie", "value": set }]),
    };
    json!({ "status": 200, "headers": headers, "content": { "text": text } })
}

fn imported(entries: &[Value]) -> Imported {
    with(entries, &Wishes { binds: true, ..Wishes::default() })
}

fn with(entries: &[Value], wishes: &Wishes) -> Imported {
    let text = json!({ "log": { "version": "1.2", "entries": entries } }).to_string();
    of(DocumentKind::Har, &text, wishes).expect("a session")
}

/// An import in which nothing is bound.
fn assert_unbound(entries: &[Value]) {
    let scenario = imported(entries).scenario;
    assert!(!scenario.contains("extract") && !scenario.contains("${"), "{scenario}");
}

/// A login with a token in its form, an API with a token in JSON, and cookies that the server sets.
#[test]
fn values_that_a_reply_contains_are_taken_from_it() {
    let form = "<FORM><input type=hidden name='csrf' value=\"a&amp;b\"><input name=user value=''></FORM>";
    let session = [
        entry(0, ("GET", "/login", ""), &[], replied(form, "sid=1; Path=/\nlang=en")),
        entry(
            1,
            ("POST", "/login", "user=ann&csrf=a%26b"),
            &[("Cookie", "sid=1; lang=en")],
            replied("{\"auth\": [{\"token\": \"tok-12345678\"}]}", ""),
        ),
        entry(
            2,
            ("POST", "/api?t=tok-12345678", "x=tok-12345678x&y=short"),
            &[("Authorization", "Bearer tok-12345678"), ("Cookie", "other=2")],
            replied("", ""),
        ),
    ];
    let found = imported(&session);
    for part in [
        "extract.csrf = { css = 'input[name=\"csrf\"]', attribute = \"value\" }",
        "body = \"user=ann&csrf=${csrf|form}\"",
        "extract.token = { json = \"/auth/0/token\" }",
        "path = \"/api?t=${token|form}\"",
        "headers.authorization = \"Bearer ${token}\"",
        "x=tok-12345678x&y=short",
        "headers.cookie = \"other=2\"",
    ] {
        assert!(found.scenario.contains(part), "{part}: {}", found.scenario);
    }
    assert!(!found.scenario.contains("sid=1"), "{}", found.scenario);
    let notes = found.notes.join("\n");
    assert!(
        notes.contains("2 values are taken from replies, which the recording had: `csrf`, `token`"),
        "{notes}"
    );
    assert!(notes.contains("cookies that a reply before sets are those of each user"), "{notes}");

    // By default they are named, and nothing else changes.
    let named = with(&session, &Wishes::default());
    assert!(!named.scenario.contains("extract") && !named.scenario.contains("${"), "{}", named.scenario);
    assert!(named.scenario.contains("sid=1; lang=en"), "{}", named.scenario);
    let notes = named.notes.join("\n");
    assert!(notes.contains("2 values of requests stand in replies before them; `--bind` takes"), "{notes}");
    assert!(notes.contains("recorded cookies are sent that a reply before sets"), "{notes}");
}

/// A selector finds the first element of a name, a failed reply has nothing extracted from it, and of
/// fewer replies than requests it is not known whose they are.
#[test]
fn what_a_run_could_not_find_again_is_not_bound() {
    let token = "<input name=t value=tok-12345678>";
    let post = || entry(5, ("POST", "/b", "t=tok-12345678"), &[], replied("", ""));
    let two = replied(&format!("<input name=t value=tok-87654321>{token}"), "");
    assert_unbound(&[entry(0, ("GET", "/a", ""), &[], two), post()]);
    for hidden in ["<!-- # -->", "<script>'#'</script>"] {
        let reply = replied(&hidden.replace('#', token), "");
        assert_unbound(&[entry(0, ("GET", "/a", ""), &[], reply), post()]);
    }
    let mut failed = replied(token, "");
    failed["status"] = json!(403);
    assert_unbound(&[entry(0, ("GET", "/a", ""), &[], failed), post()]);
    let ask = |second, reply| entry(second, ("GET", "/a", ""), &[], reply);
    let both = imported(&[ask(0, replied("", "")), ask(1, replied(token, "")), post()]);
    assert!(both.scenario.contains("${t|form}"), "{}", both.scenario);
}

/// Cookies of another value, and those that the run may not send back, stay.
#[test]
fn cookies_that_a_user_would_not_have_stay() {
    for set in ["sid=2", "sid=1; Secure", "sid=1; Domain=h", "lang=1"] {
        let session = [
            entry(0, ("GET", "/a", ""), &[], replied("", set)),
            entry(1, ("GET", "/b", ""), &[("Cookie", "sid=1")], replied("", "")),
        ];
        let scenario = imported(&session).scenario;
        assert!(scenario.contains("sid=1"), "{set}: {scenario}");
    }
}

/// A token that no reply has is one for all users, which is said.
#[test]
fn a_recorded_authorization_is_said_to_be_one_for_all() {
    let is_said = |token: &str| {
        let value = format!("Bearer {token}");
        let session = [
            entry(0, ("GET", "/a", ""), &[], replied("{\"token\": \"tok-12345678\"}", "")),
            entry(1, ("GET", "/b", ""), &[("Authorization", value.as_str())], replied("", "")),
        ];
        imported(&session).notes.iter().any(|note| note.contains("fields `Authorization`"))
    };
    assert!(is_said("tok-87654321"));
    assert!(!is_said("tok-12345678"), "it is each user's own");
}

/// Cookies that a server gets back over https alone, or that are of its domain, are each user's own as well.
#[test]
fn cookies_of_https_and_of_a_domain_are_each_users_own() {
    for (server, set, is_bound) in [
        ("https://shop.example", "sid=1; Path=/; Secure; HttpOnly; SameSite=Lax", true),
        ("https://www.shop.example", "sid=1; Domain=.Shop.Example; secure", true),
        ("http://shop.example", "sid=1; domain = shop.example", true),
        ("http://localhost:8080", "sid=1; Secure", true),
        ("http://127.0.0.1:8080", "sid=1; Secure", true),
        ("http://[::1]:8080", "sid=1; Secure", true),
        ("http://shop.example", "sid=1; Secure", false),
        ("https://www.shop.example", "sid=1; Domain=other.example", false),
        ("https://workshop.example", "sid=1; Domain=shop.example", false),
        ("https://shop.example", "sid=1; Domain=example", false),
    ] {
        let at = |mut entry: Value| {
            let url = entry["request"]["url"].as_str().expect("a URL").replace("http://h", server);
            entry["request"]["url"] = json!(url);
            entry
        };
        let session = [
            at(entry(0, ("GET", "/a", ""), &[], replied("", set))),
            at(entry(1, ("GET", "/b", ""), &[("Cookie", "sid=1")], replied("", ""))),
        ];
        let scenario = imported(&session).scenario;
        assert_eq!(!scenario.contains("sid=1"), is_bound, "{server}, {set}: {scenario}");
    }
}

/// The target's replies are those of the server that is asked, which may not have most entries.
#[test]
fn replies_of_the_target_are_found_beside_a_host_of_more_entries() {
    let at = |host: &str, mut entry: Value| {
        let url = entry["request"]["url"].as_str().expect("a URL").replace("http://h/", host);
        entry["request"]["url"] = json!(url);
        entry
    };
    let token = replied("<input name=t value=tok-12345678>", "");
    let shop = "http://shop.example/";
    let mut session = vec![at(shop, entry(0, ("GET", "/a", ""), &[], token))];
    for second in 1..4 {
        let picture = entry(second, ("GET", "/p", ""), &[], replied("", ""));
        session.push(at("http://cdn.example/", picture));
    }
    session.push(at(shop, entry(5, ("POST", "/b", "t=tok-12345678"), &[], replied("", ""))));
    let hosts = vec!["http://cdn.example/".parse().expect("a URL")];
    let found = with(&session, &Wishes { binds: true, hosts, ..Wishes::default() });
    assert!(found.scenario.contains("${t|form}"), "{}", found.scenario);
    assert!(found.scenario.contains("http://shop.example/"), "{}", found.scenario);
}

/// Values that are equal by accident, that came later, or that another server's reply has, stay.
#[test]
fn values_that_no_reply_before_has_stay() {
    let session = [
        entry(
            0,
            ("GET", "/a", ""),
            &[("Accept", "application/json")],
            replied("{\"a\": \"application/json\", \"n\": \"7\"}", ""),
        ),
        entry(1, ("POST", "/b", "n=7&late=tok-12345678&word=application%2Fjson"), &[], replied("", "")),
        entry(2, ("GET", "/c", ""), &[], replied("{\"late\": \"tok-12345678\"}", "")),
    ];
    let found = imported(&session);
    assert!(!found.scenario.contains("extract") && !found.scenario.contains("${"), "{}", found.scenario);
}

/// An archive of somebody else: tags without end, and names that no selector can have.
#[test]
fn hostile_replies_take_no_time_and_change_nothing() {
    let name = "a]\u{1}\n*";
    let html = format!("{}<input name='{name}' value=tok-12345678>", "<input ".repeat(400_000));
    let session = [
        entry(0, ("GET", "/a", ""), &[], replied(&html, "")),
        entry(1, ("POST", "/b", "x=tok-12345678"), &[], replied("", "")),
    ];
    let found = imported(&session);
    assert_eq!(found.reading.taken, 2, "{}", found.scenario);
}

/// A scenario has room for so many; the account says that there are more.
#[test]
fn values_beyond_the_bound_are_counted() {
    let join = |numbers: std::ops::Range<u32>, of: &dyn Fn(u32) -> String, by: &str| {
        numbers.map(of).collect::<Vec<_>>().join(by)
    };
    let html = join(0..250, &|number| format!("<input name=n{number} value=tok-{number:08}>"), "");
    let body = join(0..250, &|number| format!("f{number}=tok-{number:08}"), "&");
    let session = [
        entry(0, ("GET", "/a", ""), &[], replied(&html, "")),
        entry(1, ("POST", "/b", &body), &[], replied("", "")),
    ];
    for binds in [true, false] {
        let found = with(&session, &Wishes { binds, ..Wishes::default() });
        let notes = found.notes.join("\n");
        assert!(notes.contains("200 values") && notes.contains("50 further values"), "{notes}");
        assert_eq!(found.scenario.matches("|form}").count(), if binds { 200 } else { 0 });
    }
}

#[test]
fn a_wish_that_a_kind_does_not_know_is_named() {
    let wishes = Wishes { binds: true, all_methods: true, ..Wishes::default() };
    let notes =
        of(DocumentKind::Curl, "curl http://127.0.0.1/", &wishes).expect("a command").notes.join("\n");
    for part in ["`--bind` does nothing here: it is for an HTTP Archive", "`--all-methods` does nothing here"]
    {
        assert!(notes.contains(part), "{notes}");
    }
    let session = [entry(0, ("GET", "/a", ""), &[], replied("", ""))];
    let notes = with(&session, &Wishes { all_methods: false, ..wishes }).notes.join("\n");
    assert!(!notes.contains("does nothing"), "{notes}");
}

/// A login that redirects, twice, to a page with a value: the session follows it, and the value is in the
/// reply of the login's state.
#[test]
fn a_redirect_takes_along_what_it_leads_to() {
    let to = |status: u16, location: &str| {
        let headers =
            json!([{ "name": "Location", "value": location }, { "name": "Set-Cookie", "value": "sid=1" }]);
        json!({ "status": status, "headers": headers, "content": { "text": "" } })
    };
    let session = [
        entry(0, ("POST", "/login", "user=ann"), &[], to(303, "/next?a=1#top")),
        entry(1, ("GET", "/next?a=1", ""), &[("Cookie", "sid=1")], to(302, "http://h/home")),
        entry(2, ("GET", "/home", ""), &[("Cookie", "sid=1")], replied("{\"id\": \"order-12345678\"}", "")),
        entry(3, ("GET", "/order?id=order-12345678", ""), &[("Cookie", "sid=1")], replied("", "")),
        // Of the user's own, after a redirect to elsewhere.
        entry(4, ("GET", "/old", ""), &[], to(302, "/other")),
        entry(5, ("GET", "/home", ""), &[], replied("", "")),
    ];
    let found = imported(&session);
    let names: Vec<&str> =
        found.scenario.lines().filter_map(|line| line.strip_prefix("name = ")).skip(1).collect();
    assert_eq!(names, ["\"post-login\"", "\"order\"", "\"old\"", "\"home\""], "{}", found.scenario);
    assert!(found.scenario.contains("extract.id = { json = \"/id\" }"), "{}", found.scenario);
    assert!(found.scenario.contains("path = \"/order?id=${id|form}\""), "{}", found.scenario);
    assert!(!found.scenario.contains("headers.cookie"), "{}", found.scenario);
    assert_eq!(found.reading.taken, 6);
    assert_eq!(found.reading.differing.iter().map(|remark| remark.count).sum::<u64>(), 2);
    // As recorded, each is a request of its own.
    let text = with(&session, &Wishes::default()).scenario;
    assert_eq!(text.matches("[[session.state]]").count(), 6, "{text}");
}

/// A POST that is led on by 307 is the same POST, and by 302 a GET.
#[test]
fn a_redirect_takes_along_no_other_request() {
    let to = |status: u16| {
        let headers = json!([{ "name": "Location", "value": "/b" }]);
        json!({ "status": status, "headers": headers, "content": { "text": "" } })
    };
    for (status, method, body, states) in [
        (307, "POST", "a=1", 1),
        (307, "POST", "a=2", 2),
        (307, "GET", "", 2),
        (302, "GET", "", 1),
        (302, "POST", "a=1", 2),
        (200, "GET", "", 2),
    ] {
        let session = [
            entry(0, ("POST", "/a", "a=1"), &[], to(status)),
            entry(1, (method, "/b", body), &[], replied("", "")),
        ];
        let scenario = imported(&session).scenario;
        let found = scenario.matches("[[session.state]]").count();
        assert_eq!(found, states, "{status} {method} {body}: {scenario}");
    }
}

/// A form that a browser sends in parts: its values are those of the form before, and a file stays.
#[test]
fn parts_of_a_form_are_taken_from_replies() {
    let form = "<input type=hidden name=token value=\"tok-12345678\"><input type=hidden name=rev value=42>";
    let part = |fields: &str, value: &str| {
        format!("--AaB\r\nContent-Disposition: form-data; {fields}\r\n\r\n{value}\r\n")
    };
    let body = [
        part("name=\"token\"", "tok-12345678"),
        part("name=\"rev\"", "42"),
        part("name=\"other\"", "42"),
        part("name=\"rev\"; filename=\"tok-12345678\"", "42"),
        "--AaB--\r\n".to_owned(),
    ];
    let kind = "multipart/form-data; boundary=\"AaB\"";
    let mut sent = entry(1, ("POST", "/save", ""), &[("Content-Type", kind)], replied("", ""));
    sent["request"]["postData"] = json!({ "mimeType": kind, "text": body.concat() });
    let scenario = imported(&[entry(0, ("GET", "/edit", ""), &[], replied(form, "")), sent]).scenario;
    let table: toml::Table = scenario.parse().expect("TOML");
    let states = table["session"]["state"].as_array().expect("states");
    let bound = body.concat().replacen("\r\ntok-12345678\r\n", "\r\n${token}\r\n", 1);
    let bound = bound.replacen("\r\n42\r\n", "\r\n${rev}\r\n", 1);
    assert_eq!(states[1]["body"].as_str(), Some(bound.as_str()), "{scenario}");
}
