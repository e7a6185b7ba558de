//! What people bring, before a server that counts: recordings, logs, lists, names, certificates. What it was
//! sent is what is in them, and what is not sent is said.

use crate::common::wan::find;
use crate::common::{Ended, Place, Process, poll, skip};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

/// A server that answers all, and knows what it was asked: methods, targets, bytes of bodies.
struct Counting {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Counting {
    fn at(address: &str) -> Counting {
        let listener = TcpListener::bind(address).expect("an address of this machine");
        let address = listener.local_addr().expect("it is bound").to_string();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let known = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let known = Arc::clone(&known);
                thread::spawn(move || serve(&stream.expect("a client"), &known));
            }
        });
        Counting { address, asked }
    }

    fn new() -> Counting {
        Counting::at("127.0.0.1:0")
    }

    /// What it was asked, in order.
    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("nobody panicked").clone()
    }
}

/// Reads requests with their bodies until the client closes.
fn serve(stream: &TcpStream, known: &Mutex<Vec<String>>) {
    let (mut reader, mut writer) = (BufReader::new(stream), stream);
    loop {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            match reader.read_line(&mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if line == "\r\n" => break,
                Ok(_) => head.push(line.trim_end().to_owned()),
            }
        }
        let field = |name: &str| {
            head.iter().skip(1).find_map(|line| {
                let (own, value) = line.split_once(": ")?;
                own.eq_ignore_ascii_case(name).then(|| value.to_owned())
            })
        };
        let mut body = vec![0; field("content-length").map_or(0, |length| length.parse().expect("a number"))];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let mut words = head[0].split(' ');
        let (method, target) = (words.next().expect("a method"), words.next().expect("a target"));
        let cookie = field("cookie").map_or_else(String::new, |cookie| format!(" {cookie}"));
        let own = field("x-a").map_or_else(String::new, |value| format!(" x-a={value}"));
        let body = String::from_utf8_lossy(&body);
        let body = if body.is_empty() { String::new() } else { format!(" {body}") };
        known.lock().expect("nobody panicked").push(format!("{method} {target}{own}{cookie}{body}"));
        let set = if target == "/set" { "Set-Cookie: sid=1; Secure; Path=/\r\n" } else { "" };
        let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n{set}\r\nok");
        if writer.write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}

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
    let words =
        format!("{name} --target http://{}/ -d 3s -q --set verdict.lateness-p99=1m {more}", server.address);
    place.farfield(&format!("run {words} --set verdict.longest-stall=1m -o run"))
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
    let ended = place
        .farfield("run list.txt -n 3 -c 1 -q --set verdict.lateness-p99=1m --set verdict.longest-stall=1m");
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
    let names = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
    if !names.lines().any(|line| line.starts_with("::1") && line.contains("localhost")) {
        return skip(test, "no `localhost` at ::1 in /etc/hosts");
    }
    let server = Counting::at("[::1]:0");
    let port = server.address.rsplit(':').next().expect("a port").to_owned();
    let place = Place::new();
    let words = format!("run http://localhost:{port}/x -n 2 -c 1 -q --set verdict.lateness-p99=1m");
    place.farfield(&words).exits(0);
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
    let words = "-n 1 -c 1 -q --set verdict.lateness-p99=1m";
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
    let common = "-n 3 -c 1 -q --set verdict.lateness-p99=1m --set tls.server-name=shop.test";
    place.farfield(&format!("run {url}/ {common} --cacert cert.pem")).exits(0);
    let other =
        place.farfield(&format!("run {url}/ {common} --cacert cert.pem --set tls.server-name=other.test"));
    assert_ne!(other.code, Some(0), "{}", other.stdout);
}
