//! Peers that a recording has to bear: replies without an end, bombs, bodies beyond its bounds, servers that
//! are not to be read, requests that are for nobody.

use super::desk::{BOMB_BYTES, Desk};
use super::{Authority, VALID, entries, find, is_private, recording, says};
use crate::common::{Ended, Place, Running, Signal, poll};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// Memory of a recorder at most while a reply of any length passes, in KiB.
const MEMORY_MOST_KIB: u64 = 100 << 10;
/// Bytes of an endless reply that pass.
const PASSED: u64 = 256 << 20;

/// A connection to a recorder on which a request in these words was sent.
fn asked(address: SocketAddr, words: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(address).expect("the recorder");
    stream.write_all(words.as_bytes()).expect("the recorder reads");
    BufReader::new(stream)
}

/// Status and body of the reply.
fn reply(stream: &mut BufReader<TcpStream>) -> (u16, String) {
    let (mut status, mut length) = (0, 0);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).expect("a reply");
        match line.trim_end().to_ascii_lowercase() {
            end if end.is_empty() => break,
            first if first.starts_with("http/1.1 ") => status = first[9..12].parse().expect("a status"),
            field => {
                if let Some(own) = field.strip_prefix("content-length:") {
                    length = own.trim().parse().expect("a length");
                }
            }
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).expect("a body");
    (status, String::from_utf8_lossy(&body).into_owned())
}

/// A GET of `path` at the desk, through the recorder.
fn get(desk: &Desk, path: &str) -> String {
    let host = desk.address;
    format!("GET http://{host}{path} HTTP/1.1\r\nHost: {host}\r\n\r\n")
}

fn stopped(running: Running) -> Ended {
    running.signal(Signal::INT);
    running.ended()
}

/// Ctrl-C in the middle of a reply that has no end: what came is not kept, however much it was, and the
/// request is.
#[test]
fn a_reply_without_an_end_passes_and_takes_no_memory() {
    let (place, desk) = (Place::new(), Desk::open());
    let (running, address) = recording(&place, &format!("http://{}/", desk.address));
    let mut stream = asked(address, &get(&desk, "/endless"));
    let passed = std::io::copy(&mut stream.by_ref().take(PASSED), &mut std::io::sink()).expect("a reply");
    assert_eq!(passed, PASSED);
    let most = running.memory_most_kib();
    println!("{most} KiB at most after {} MiB", PASSED >> 20);
    assert!(most > 0 && most < MEMORY_MOST_KIB, "{most} KiB");
    let ended = stopped(running).exits(0);
    says(&ended, &["1 of 1 entry taken", "contents of replies that are larger than there was room for: 1 "]);
    let archive = fs::metadata(place.path("recorded.har")).expect("an archive").len();
    assert!(archive < 10_000, "{archive} bytes");
    is_private(&place.path("recorded.har"));
}

/// A reply that has begun reaches its client, and a recording that ends then has no half of it.
#[test]
fn a_client_has_the_beginning_of_a_reply_before_its_end() {
    let (place, desk) = (Place::new(), Desk::open());
    let (running, address) = recording(&place, &format!("http://{}/", desk.address));
    let mut stream = asked(address, &get(&desk, "/halves"));
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\nfirst") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("the first half");
        head.push(byte[0]);
    }
    let ended = stopped(running).exits(0);
    says(&ended, &["contents of replies that did not come to their end: 1 (first: GET /halves)"]);
    assert!(!fs::read_to_string(place.path("recorded.har")).expect("an archive").contains("first\""));
    desk.books().uploaded.push(0);
}

#[test]
fn bodies_beyond_the_bounds_pass_and_are_left_out() {
    let (place, desk) = (Place::new(), Desk::open());
    let (running, address) = recording(&place, &format!("http://{}/", desk.address));
    let (host, length) = (desk.address, 5 << 20);
    let head = format!(
        "POST http://{host}/upload HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n{}",
        "x".repeat(length)
    );
    assert_eq!(reply(&mut asked(address, &head)), (200, "taken".to_owned()));
    assert_eq!(desk.books().uploaded, [length]);
    assert_eq!(reply(&mut asked(address, &get(&desk, "/large"))).1.len(), length);
    let (status, bomb) = reply(&mut asked(address, &get(&desk, "/bomb")));
    assert!(status == 200 && !bomb.is_empty() && bomb.len() < BOMB_BYTES / 100, "{} bytes", bomb.len());
    let ended = stopped(running).exits(0);
    says(
        &ended,
        &[
            "bodies of requests that are larger than there was room for: 1 (first: POST /upload)",
            "contents of replies that are larger than there was room for: 2 (first: GET /large)",
            "2 of 3 entries taken",
            "1 whose body the archive does not have",
        ],
    );
    let archive = fs::metadata(place.path("recorded.har")).expect("an archive").len();
    assert!(archive < 10_000, "{archive} bytes");
}

/// Servers that are not named are asked and not read: the client gets the certificate of the server itself.
#[test]
fn other_servers_pass_unread() {
    let test = "other_servers_pass_unread";
    if find(test, "curl").is_none() {
        return;
    }
    let place = Place::new();
    Authority::new(&place).certify(&place, "127.0.0.1", VALID);
    let (desk, plain) = (Desk::open_secure(&place, "127.0.0.1"), Desk::open());
    let other = Desk::open_secure(&place, "127.0.0.1");
    let (running, address) = recording(&place, &format!("https://{}/ --cacert ca.pem", desk.address));
    let curl = |url: &str, trusted: &str| {
        let line = format!("curl -sS -x http://{address} --cacert {trusted} {url}");
        crate::common::shell(&place, &line)
    };
    let news = "{\"news\": []}";
    let own = format!("https://{}/news", desk.address);
    assert_eq!(curl(&own, "recorded-ca.pem").exits(0).stdout, news);
    let others = format!("https://{}/news", other.address);
    assert_eq!(curl(&others, "ca.pem").exits(0).stdout, news);
    // The recording's authority is none for others, and others' is none for the recorded server.
    assert_eq!(curl(&others, "recorded-ca.pem").code, Some(60));
    assert_eq!(curl(&own, "ca.pem").code, Some(60));
    assert_eq!(curl(&format!("http://{}/news", plain.address), "ca.pem").exits(0).stdout, news);
    let ended = stopped(running).exits(0);
    says(
        &ended,
        &[
            "1 of 1 entry taken",
            &format!("2 tunnels to other servers passed unread: {} (2)", other.address),
            &format!("1 request to other servers passed unrecorded: http://{} (1)", plain.address),
            "in 1 tunnel the client refused the certificate",
        ],
    );
    let archive = fs::read_to_string(place.path("recorded.har")).expect("an archive");
    assert!(!archive.contains(&other.address.to_string()), "{archive}");
}

/// Bytes of a WebSocket pass; the scenario is without it, and that is said.
#[test]
fn a_websocket_passes_and_is_left_out() {
    let (place, desk) = (Place::new(), Desk::open());
    let (running, address) = recording(&place, &format!("http://{}/", desk.address));
    assert_eq!(reply(&mut asked(address, &get(&desk, "/news"))).0, 200);
    let upgrade =
        get(&desk, "/echo").replace("\r\n\r\n", "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    let mut stream = asked(address, &upgrade);
    assert_eq!(reply(&mut stream).0, 101);
    stream.get_mut().write_all(b"hello").expect("the socket");
    let mut echo = [0; 5];
    stream.read_exact(&mut echo).expect("an echo");
    assert_eq!(&echo, b"hello");
    says(&stopped(running).exits(0), &["1 of 2 entries taken", "1 that became a WebSocket"]);
}

#[test]
fn requests_for_nobody_are_answered_and_counted() {
    let (place, desk) = (Place::new(), Desk::open());
    let (running, address) = recording(&place, &format!("http://{}/", desk.address));
    let (status, text) = reply(&mut asked(address, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert!(status == 400 && text.contains("this is the proxy of `farfield record`"), "{status} {text}");
    for line in [format!("CONNECT {address}"), format!("GET http://{address}/")] {
        let (status, text) =
            reply(&mut asked(address, &format!("{line} HTTP/1.1\r\nHost: {address}\r\n\r\n")));
        assert!(status == 502 && text.contains("is the recorder itself"), "{status} {text}");
    }
    // A server that says nothing: what the browser would see is no reply of the server's.
    assert_eq!(reply(&mut asked(address, &get(&desk, "/gone"))).0, 502);
    let ended = stopped(running).exits(1);
    says(&ended, &["1 request was for no server", "replies that did not come: 1 (first: GET /gone: "]);
    assert_eq!(entries(&place, "recorded.har")[0]["response"]["status"], 0);

    // Nothing at all.
    let (running, _) = recording(&place, &format!("http://{}/ -o two.toml", desk.address));
    stopped(running).exits(1);
    assert!(!place.path("two.har").exists());
}

/// A page of elsewhere whose name leads to this machine gets nothing of the server (DNS rebinding).
#[test]
fn a_stand_in_is_asked_by_its_own_address() {
    let (place, desk) = (Place::new(), Desk::open());
    let running = place.begin(&format!("record http://{}/ --reverse", desk.address));
    let address: SocketAddr = poll("the recorder to say where it is", || {
        let said = running.said();
        let (rest, _) = said.split_once("/ stands in its place")?;
        rest.rsplit_once("http://")?.1.parse().ok()
    });
    let ask =
        |host: &str| reply(&mut asked(address, &format!("GET /news HTTP/1.1\r\nHost: {host}\r\n\r\n"))).0;
    let port = address.port();
    assert_eq!(ask(&address.to_string()), 200);
    assert_eq!(ask(&format!("localhost:{port}")), 200);
    assert_eq!(ask(&format!("evil.example:{port}")), 421);
    says(&stopped(running).exits(0), &["2 of 2 entries taken", "1 request was for no server"]);
}

/// The program that is recorded ends with the recording, and what it started too.
#[test]
fn a_program_ends_with_the_recording() {
    let (place, desk) = (Place::new(), Desk::open());
    let url = format!("http://{}/", desk.address);
    let line = "sleep 600 & echo $! > started; wait";
    let running = place.begin_with(&["record", &url, "--", "sh", "-c", line]);
    let started = poll("the program to start", || {
        fs::read_to_string(place.path("started")).ok().filter(|number| number.ends_with('\n'))
    });
    stopped(running).exits(1);
    let is_gone = || !std::path::Path::new(&format!("/proc/{}", started.trim())).exists();
    poll("what the program started to end", || is_gone().then_some(()));
    // By time as well.
    says(&place.farfield(&format!("record {url} -d 300ms -- sleep 600")).exits(1), &["nothing was recorded"]);
    let ended = place.farfield(&format!("record {url} -- no-such-program")).exits(1);
    says(&ended, &["cannot start no-such-program", "give its path"]);
}

#[test]
fn a_listener_for_others_is_asked_for_and_said() {
    let (place, desk) = (Place::new(), Desk::open());
    let words = format!("record http://{}/ -o a.toml", desk.address);
    let said = |more: &str| place.farfield(&format!("{words} {more} -- true")).exits(1).stderr;
    let own = said("");
    assert!(own.contains("through the proxy http://127.0.0.1:") && !own.contains("warning"), "{own}");
    let others = said("--listen 0.0.0.0:0");
    assert!(
        others.contains("warning: whoever reaches 0.0.0.0:") && others.contains("any server"),
        "{others}"
    );
    // A port that is taken is another one's, unless it was asked for.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    let ended = place.farfield(&format!("{words} --listen {address} -- true")).exits(1);
    ended.says(&["cannot listen on", "--listen"]);
}
