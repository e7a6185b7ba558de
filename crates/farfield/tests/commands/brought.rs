//! Material that people bring, before a server that counts: recordings, logs, lists, names, certificates. The
//! server gets the requests that are in them, and what is not sent is said.

use crate::common::nginx::Nginx;
use crate::common::wan::find;
use crate::common::{CALM, Ended, Place, Process, poll, skip};
use crate::counting::Counting;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

/// An archive of entries a tenth of a second apart, each as URL, rest of the request, rest of the entry.
fn archive(entries: &[(&str, &str, &str)]) -> String {
    let entries = entries.iter().enumerate().map(|(place, (url, of_request, of_entry))| {
        format!(
            r#"{{"startedDateTime": "2026-11-26T10:00:00.{place}00Z", "time": 5, "request": {{"url": "{url}"{of_request}}},
               "response": {{"status": 200}}, "cache": {{}}, "timings": {{}}{of_entry}}}"#
        )
    });
    format!(r#"{{"log": {{"version": "1.2", "entries": [{}]}}}}"#, entries.collect::<Vec<_>>().join(","))
}

const GET: &str = r#", "method": "GET""#;

/// Replays a recording before the server.
fn replayed(place: &Place, server: &Counting, name: &str, text: &str, more: &str) -> Ended {
    place.write(name, text);
    let words = format!("{name} --target http://{}/ -d 3s -q {CALM} {more}", server.address);
    place.farfield(&format!("run {words} -o run"))
}

/// Runs the recording and says what the server got; `part` is in what the run says.
#[track_caller]
fn sent(name: &str, text: impl Fn(&str) -> String, more: &str, part: &str) -> Vec<String> {
    let (place, server) = (Place::new(), Counting::new());
    let ended = replayed(&place, &server, name, &text(&server.address), more);
    let summary = std::fs::read_to_string(place.path("run/summary.json")).unwrap_or_default();
    let said = format!("{}{}{summary}", ended.stdout, ended.stderr);
    assert!(said.contains(part), "`{part}` is not in: {said}");
    server.asked()
}

#[test]
fn forms_of_an_archive_are_sent_as_they_were() {
    let form = r#", "method": "POST", "bodySize": 13, "postData": {"mimeType": "application/x-www-form-urlencoded", "params":
        [{"name": "a b", "value": "1&2"}, {"name": "c", "value": "3"}]}"#;
    let base64 = r#", "method": "PUT", "postData": {"mimeType": "text/plain", "text": "aGVsbG8=", "encoding": "base64"}"#;
    let text = |at: &str| {
        archive(&[(&format!("http://{at}/form"), form, ""), (&format!("http://{at}/put"), base64, "")])
    };
    assert_eq!(sent("s.har", text, "", ""), ["POST /form a+b=1%262&c=3", "PUT /put hello"]);
}

#[test]
fn bodies_that_an_archive_lacks_are_said() {
    let upload = r#", "method": "POST", "bodySize": 312, "headers": [{"name": "Content-Type", "value": "multipart/form-data; boundary=B"}]"#;
    let text = |at: &str| {
        archive(&[(&format!("http://{at}/upload"), upload, ""), (&format!("http://{at}/a"), GET, "")])
    };
    let said = "1 of 2 entries are left out: 1 whose body the archive does not have (first: entry 1, ";
    assert_eq!(sent("s.har", text, "", said), ["GET /a"]);
    let asked = "--set session.replay.missing-bodies=send-empty";
    assert_eq!(
        sent("s.har", text, asked, "without the body that the archive does not have"),
        ["POST /upload", "GET /a"]
    );
}

/// A mark of UTF-8, a server of others first, letters beyond ASCII, what the browser gave up, a WebSocket;
/// and no warm-up that the one session would be over in.
#[test]
fn the_entries_of_the_target_are_asked_for_as_browsers_write_them() {
    let text = |at: &str| {
        let own = |path: &str| format!("http://{at}{path}");
        let given_up = r#", "response": {"status": -1}"#;
        let entries = archive(&[
            ("http://cdn.example/x.js", GET, ""),
            ("http://cdn.example/y.js", GET, ""),
            ("http://cdn.example/z.js", GET, ""),
            (&own("/a?q=ü"), GET, ""),
            (&own("/b?x=a b"), GET, ""),
            (&own("/slow").replace("/slow", "/slow?ms=3000"), GET, given_up),
            (&format!("ws://{at}/ws"), GET, ""),
            (&own("/c"), GET, ""),
        ]);
        // The second of two keys is the one that says so.
        let first = r#""response": {"status": 200}, "cache": {}, "timings": {}, "response": {"status": -1}"#;
        format!("\u{feff}{}", entries.replace(first, r#""response": {"status": -1}"#))
    };
    let got = sent("session.har", text, "", "5 of 8 entries are left out: 1 of another scheme than HTTP");
    assert_eq!(got, ["GET /a?q=%C3%BC", "GET /b?x=a%20b", "GET /c"]);
}

#[test]
fn a_log_is_replayed_with_a_word_on_bodies() {
    let line = |client: u8, method: &str, path: &str| {
        format!(
            "198.51.100.{client} - - [29/Mar/2026:00:30:0{client} +0000] \"{method} {path} HTTP/1.1\" 200 6 \"-\" \"M\"\n"
        )
    };
    let text = |_: &str| [line(1, "POST", "/p0"), line(2, "GET", "/p1"), line(3, "PUT", "/p2")].concat();
    let said = "2 without a body, since a log has none (first: POST /p0)";
    assert_eq!(
        sent("access.log", text, "--set session.replay.speed=10", said),
        ["POST /p0", "GET /p1", "PUT /p2"]
    );
    let caddy = |_: &str| {
        "{\"ts\":1774744200.5,\"request\":{\"remote_ip\":\"198.51.100.9\",\"method\":\"GET\",\"uri\":\"/x\"},\"status\":200}\n".to_owned()
    };
    assert_eq!(sent("caddy.log", caddy, "", ""), ["GET /x"]);
}

#[test]
fn lists_of_urls_are_taken_where_they_are_the_targets() {
    let place = Place::new();
    let server = Counting::new();
    place.write("body.json", "{}");
    place.write(
        "list.txt",
        format!("GET http://{0}/a\nX-A: 1\n\nPOST http://{0}/b\n@body.json\n/c\n", server.address),
    );
    let ended = place.farfield(&format!("run list.txt -n 3 -c 1 -q {CALM}"));
    ended.exits(0);
    assert_eq!(server.asked(), ["GET /a x-a=1", "POST /b {}", "GET /c"]);
    place.write("other.txt", "/a\nhttp://other.example/b\n");
    let words = format!("run other.txt --target http://{}/ -n 3 -q", server.address);
    place.farfield(&words).exits(2).says(&["other.txt:2: ", "another server"]);
}

/// Of what is none of these the message says what to write.
#[test]
fn files_of_other_programs_are_named() {
    let place = Place::new();
    for (name, text, part) in [
        ("plan.jmx", "<?xml version=\"1.0\"?><jmeterTestPlan/>", "JMeter"),
        ("script.js", "import http from 'k6/http';", "is a program"),
        ("postman.json", "{\"info\": {}}", "is JSON"),
    ] {
        place.write(name, text);
        place.farfield(&format!("run {name} -q")).exits(2).says(&[name, part]);
    }
    place.write("access.log", "::1 - - [29/Mar/2026:00:30:00 +0000] \"GET /p HTTP/1.1\" 200 1\n");
    place.farfield("run access.log -q").exits(2).says(&["access.log", "--target"]);
}

/// A server on ::1 alone is found by `localhost`, as development servers listen.
#[test]
fn localhost_may_be_version_six() {
    let test = "localhost_may_be_version_six";
    if TcpListener::bind("[::1]:0").is_err() {
        return skip(test, "no ::1");
    }
    let server = Counting::at("[::1]:0");
    let port = server.address.rsplit(':').next().expect("a port").to_owned();
    let place = Place::new();
    let words = format!("run http://localhost:{port}/x -n 2 -c 1 -q {CALM} -o run");
    let Some(mut command) = place.with_hosts("::1 localhost\n", &words) else {
        return skip(test, "no mount namespaces");
    };
    let ended = command.output().expect("util-linux");
    assert!(ended.status.success(), "{ended:?}");
    assert_eq!(server.asked(), ["GET /x", "GET /x"]);
}

/// A body that is no text goes as it is, placeholder or not.
#[test]
fn bodies_of_sessions_may_be_no_text() {
    let server = Counting::new();
    let place = Place::new();
    place.write("image.bin", b"\xff${x}\x00");
    let state =
        "[[session.state]]\nname = 'put'\nmethod = 'PUT'\npath = '/image'\nbody = { file = 'image.bin' }\n";
    place.write("s.toml", format!("target = 'http://{}/'\n{state}", server.address));
    place.farfield("try s.toml").exits(0);
    assert_eq!(server.asked(), ["PUT /image \u{fffd}${x}\0"]);
}

/// A name that nobody knows is asked at an address that is given, and stays the name.
#[test]
fn a_name_may_be_elsewhere() {
    let server = Counting::new();
    let place = Place::new();
    let words = format!("-n 1 -c 1 -q {CALM}");
    let to = format!("--connect-to shop.invalid:80:{}", server.address);
    place.farfield(&format!("run http://shop.invalid/a {to} {words}")).exits(0);
    let port = server.address.rsplit(':').next().expect("a port");
    let resolved = format!("--resolve shop.invalid:{port}:127.0.0.1");
    place.farfield(&format!("run http://shop.invalid:{port}/b {resolved} {words}")).exits(0);
    assert_eq!(server.asked(), ["GET /a", "GET /b"]);
    place.farfield("run http://shop.invalid/ --resolve shop.invalid -n 1 -q").exits(2);
}

/// A Secure cookie goes back to this machine over plain HTTP, as browsers and curl send it.
#[test]
fn a_secure_cookie_of_this_machine_is_kept() {
    let server = Counting::new();
    let place = Place::new();
    let port = server.address.rsplit(':').next().expect("a port");
    let states =
        "[[session.state]]\nname = 'set'\npath = '/set'\n[[session.state]]\nname = 'get'\npath = '/get'\n";
    place.write("s.toml", format!("target = 'http://127.0.0.1:{port}/'\n{states}"));
    place.farfield("try s.toml").exits(0);
    assert_eq!(server.asked(), ["GET /set", "GET /get sid=1"]);
}

/// One of another name, without TLS, is not kept, and `try` says why.
#[test]
fn a_secure_cookie_of_another_name_is_refused_aloud() {
    let (place, server) = (Place::new(), Counting::new());
    let states =
        "[[session.state]]\nname = 'set'\npath = '/set'\n[[session.state]]\nname = 'get'\npath = '/get'\n";
    let port = server.port();
    place.write("s.toml", format!("target = 'http://localhost:{port}/'\n{states}"));
    place.farfield("try s.toml").exits(0);
    assert_eq!(server.asked(), ["GET /set", "GET /get sid=1"]);
    let connect = format!("sockets.connect-to = ['shop.invalid:{port}:127.0.0.1:{port}']\n");
    place.write("s.toml", format!("target = 'http://shop.invalid:{port}/'\n{connect}{states}"));
    let said = place.farfield("try s.toml").exits(0).stdout;
    assert!(said.contains("it is Secure, and the server is asked over plain HTTP"), "{said}");
    assert_eq!(server.asked()[2..], ["GET /set", "GET /get"]);
}

/// A key and a certificate for `shop.test` and 127.0.0.1 that signs itself.
fn own_certificate(openssl: &Path, place: &Place, key: &[&str]) {
    let subject = ["-nodes", "-days", "2", "-subj", "/CN=shop.test", "-addext"];
    let names = "subjectAltName=DNS:shop.test,IP:127.0.0.1";
    let mut command = Command::new(openssl);
    command.args(["req", "-x509", "-newkey"]).args(key).args(subject).arg(names);
    let mut made = Process::start(command.args(["-keyout", "key.pem", "-out", "cert.pem"]), place);
    poll("openssl to end", || made.ended());
}

/// Requests that a server of another hand logged: names asked for in TLS, and targets.
fn logged(place: &Place) -> Vec<String> {
    let text = fs::read_to_string(place.path("access.log")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Keys of both kinds, before nginx, which counts: by its address, and by a name that is elsewhere, which is
/// then asked for in TLS and judged in the certificate.
#[test]
fn own_certificates_and_names_elsewhere_before_another_server() {
    let test = "own_certificates_and_names_elsewhere_before_another_server";
    let (Some(openssl), Some(nginx)) = (find(test, "openssl"), find(test, "nginx")) else { return };
    for key in [&["rsa:2048"][..], &["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]] {
        let place = Place::new();
        own_certificate(&openssl, &place, key);
        let log = "log_format own '$ssl_server_name $host $request_uri'; access_log HOME/access.log own;";
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("it is bound").port();
        drop(free);
        let tls = format!(
            "listen 127.0.0.1:{port} ssl; ssl_certificate HOME/cert.pem; ssl_certificate_key HOME/key.pem; \
             location / {{ return 200 'ok'; }}"
        );
        let server = Nginx::start(&nginx, &place, log, &tls);
        let words = format!("-n 3 -c 1 -q --cacert cert.pem {CALM}");
        place.farfield(&format!("run https://127.0.0.1:{port}/a {words}")).exits(0);
        let to = format!("--connect-to shop.test:443:127.0.0.1:{port}");
        place.farfield(&format!("run https://shop.test/b {to} {words}")).exits(0);
        let other = to.replace("shop.test", "other.test");
        let refused = place.farfield(&format!("run https://other.test/c {other} {words}"));
        assert_ne!(refused.code, Some(0), "{}", refused.stdout);
        let said = format!("{}{}", refused.stdout, refused.stderr);
        assert!(said.contains("other.test"), "{said}");
        // Where nobody names it: one handshake, whatever asks, and what would help.
        place.write("urls.txt", format!("https://127.0.0.1:{port}/d\n"));
        let state = "[[session.state]]\nname = 'a'\npath = '/d'\n";
        place.write("s.toml", format!("target = 'https://127.0.0.1:{port}/'\n{state}"));
        for words in [
            &format!("run https://127.0.0.1:{port}/d -n 3 -q -o none"),
            "run urls.txt -n 3 -q -o none",
            "try s.toml",
        ] {
            place.farfield(words).exits(1).says(&["that of a CA", "name it with `--cacert`"]);
        }
        assert!(!place.path("none").exists(), "a run that was not begun leaves nothing");
        server.end();
        let asked = logged(&place);
        let of = |line: &str| asked.iter().filter(|own| *own == line).count();
        assert_eq!((of("- 127.0.0.1 /a"), of("shop.test shop.test /b"), asked.len()), (3, 3, 6), "{asked:?}");
    }
}

/// A server at 127.0.0.1 alone is found by `localhost`, wherever that leads first.
#[test]
fn localhost_may_be_version_four() {
    let (place, server) = (Place::new(), Counting::new());
    place.farfield(&format!("run http://localhost:{}/x -n 2 -c 1 -q {CALM}", server.port())).exits(0);
    assert_eq!(server.asked(), ["GET /x", "GET /x"]);
}

/// Bytes that begin as text, and such as a compressed file has.
#[test]
fn bodies_may_be_files_of_any_kind() {
    for (name, bytes) in [("a.gz", &b"\x1f\x8b\x08\x00\x00"[..]), ("b.bin", b"plain \xc3\x28 ${y}")] {
        let (place, server) = (Place::new(), Counting::new());
        place.write(name, bytes);
        let state = format!(
            "[[session.state]]\nname = 'put'\nmethod = 'POST'\npath = '/file'\nbody = {{ file = '{name}' }}\n"
        );
        place.write("s.toml", format!("target = 'http://{}/'\n{state}", server.address));
        place.farfield("try s.toml").exits(0);
        assert_eq!(server.asked(), [format!("POST /file {}", String::from_utf8_lossy(bytes))]);
    }
}

/// An archive of which no entry is of the target: those of the server with most are asked for, and what is
/// no request of HTTP or had no reply from it is counted.
#[test]
fn the_entries_of_the_server_with_most_are_asked_for() {
    let entry = |second: u32, url: &str, status: u32, more: serde_json::Value| {
        let mut entry = serde_json::json!({
            "startedDateTime": format!("2026-11-26T10:00:0{second}.000+01:00"), "time": 5,
            "request": { "method": "GET", "url": url, "headers": [] }, "response": { "status": status },
        });
        let more = more.as_object().expect("an object").clone();
        entry.as_object_mut().expect("an object").extend(more);
        entry
    };
    let none = || serde_json::json!({});
    let entries = [
        entry(0, "https://cdn.example/lib.js", 200, none()),
        entry(0, "https://shop.example/\u{fc} ber/\"x\"?q=\u{1f600}", 200, none()),
        entry(1, "https://shop.example/blocked", 0, none()),
        entry(1, "https://shop.example/cached", 200, serde_json::json!({ "_fromCache": "disk" })),
        entry(1, "https://shop.example/socket", 101, none()),
        entry(1, "wss://shop.example/live", 101, none()),
        entry(1, "data:image/gif;base64,R0lGODlhAQABAAAAACw=", 200, none()),
        entry(2, "https://shop.example:443/last#part", 304, none()),
    ];
    let archive = serde_json::json!({ "log": { "version": "1.2", "entries": entries } }).to_string();
    let (place, server) = (Place::new(), Counting::new());
    let ended = replayed(&place, &server, "s.har", &archive, "");
    assert_eq!(server.asked(), ["GET /%C3%BC%20ber/%22x%22?q=%F0%9F%98%80", "GET /last"]);
    let summary = fs::read_to_string(place.path("run/summary.json")).expect("a summary");
    let summary: serde_json::Value = serde_json::from_str(&summary).expect("JSON");
    assert_eq!(summary["steady"]["requests"], 2, "a recording has no warm-up: {}", ended.stdout);
    let said = summary["warnings"].to_string();
    for part in [
        "6 of 8 entries are left out",
        "2 of another scheme than HTTP (first: entry 6, wss://shop.example/live)",
        "1 of another server (first: entry 1, https://cdn.example/lib.js)",
        "1 that the browser gave up",
        "1 that the browser answered from its cache",
        "1 that became a WebSocket",
    ] {
        assert!(said.contains(part), "`{part}` is not in: {said}");
    }
}

/// A form with a file, whose bytes no archive has, is left out; one with a part of its text, too.
#[test]
fn forms_with_files_are_left_out_aloud() {
    let file = r#", "method": "POST", "bodySize": 2048, "postData": {"mimeType": "multipart/form-data; boundary=X", "params":
        [{"name": "f", "fileName": "a.png", "contentType": "image/png"}]}"#;
    let large =
        r#", "method": "PUT", "bodySize": 5000000, "postData": {"mimeType": "application/octet-stream"}"#;
    let text = |at: &str| {
        let own = |path: &str| format!("http://{at}{path}");
        archive(&[(&own("/file"), file, ""), (&own("/large"), large, ""), (&own("/a"), GET, "")])
    };
    let said = "2 of 3 entries are left out: 2 whose body the archive does not have (first: entry 1, ";
    assert_eq!(sent("s.har", text, "", said), ["GET /a"]);
}

/// Lists as other programs have them: with a mark, comments, queries with URLs in them, upper case; and a
/// sitemap.
#[test]
fn lists_of_other_shapes_are_taken() {
    let (place, server) = (Place::new(), Counting::new());
    place.write("list.txt", "\u{feff}# mine\n/go?to=http://b.example/x\r\n\nHEAD /h # one\n");
    let words =
        |name: &str, n: u32| format!("run {name} --target http://{}/ -n {n} -c 1 -q {CALM}", server.address);
    let first = place.farfield(&words("list.txt", 2));
    let said = format!("{}{}", first.stdout, first.stderr);
    assert_eq!(server.asked(), ["GET /go?to=http://b.example/x", "HEAD /h"], "{said}");
    let url = |path: &str| format!("<url><loc> http://{}{path} </loc></url>", server.address);
    let urls = format!("{}{}", url("/s?a=1&amp;b=2"), url("/t"));
    place.write(
        "sitemap.xml",
        format!("<?xml version=\"1.0\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{urls}</urlset>"),
    );
    place.farfield(&words("sitemap.xml", 2)).exits(0);
    assert_eq!(server.asked()[2..], ["GET /s?a=1&b=2", "GET /t"]);
    place.write("hosts.txt", "/a\nlocalhost:8080/b\n");
    place.farfield(&words("hosts.txt", 2)).exits(2).says(&["hosts.txt:2: "]);
}

/// A certificate as `openssl req -x509` makes it is trusted where it is named.
#[test]
fn the_servers_own_certificate_may_be_named() {
    let test = "the_servers_own_certificate_may_be_named";
    let Some(openssl) = find(test, "openssl") else { return };
    let place = Place::new();
    let mut made = Process::start(
        Command::new(openssl).args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=shop.test",
            "-addext",
            "subjectAltName=DNS:shop.test",
            "-keyout",
            "key.pem",
            "-out",
            "cert.pem",
        ]),
        &place,
    );
    poll("openssl to end", || made.ended());
    let served = place.serve("--cert cert.pem --key key.pem");
    let url = &served.url;
    let common = format!("-n 3 -c 1 -q {CALM} --set tls.server-name=shop.test");
    place.farfield(&format!("run {url}/ {common} --cacert cert.pem")).exits(0);
    let other =
        place.farfield(&format!("run {url}/ {common} --cacert cert.pem --set tls.server-name=other.test"));
    assert_ne!(other.code, Some(0), "{}", other.stdout);
}
