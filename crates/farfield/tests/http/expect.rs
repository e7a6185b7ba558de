//! `Expect: 100-continue` (RFC 9110 section 10.1.1): content waits for the server's word, goes without it
//! after a time, and does not go where the server has answered already.

use crate::common::secure::{Authority, VALID};
use crate::common::{Ended, Place, count};
use farfield_base::{Duration, Outcome};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

const CONTENT: &str = "the content of a request";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// A server's word when it has read a head.
#[derive(Clone, Copy)]
enum Says {
    /// This, and a final reply behind the content.
    Before(&'static [u8]),
    /// This, and nothing more: what comes then is counted until the client closes.
    Instead(&'static [u8]),
}

/// Counts of what a server saw.
#[derive(Default)]
struct Seen {
    connections: AtomicU32,
    heads: AtomicU32,
    /// Heads behind which something came before the server had said a word.
    unasked: AtomicU32,
    /// Content as it came.
    contents: AtomicU32,
    /// Bytes that came behind a final reply in place of the content.
    behind_reply: AtomicU32,
    heads_seen: Mutex<Vec<String>>,
}

impl Seen {
    fn of(counter: &AtomicU32) -> u32 {
        counter.load(Ordering::Relaxed)
    }
}

fn add(counter: &AtomicU32) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Serves one connection; it may be gone at any time. `is_quiet` says whether nothing more has come.
fn serve<S: Read + Write>(
    mut stream: S,
    says: Says,
    seen: &Seen,
    is_quiet: impl Fn(&mut S) -> bool,
) -> Option<()> {
    let mut is_new = true;
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            (stream.read(&mut byte).ok()? == 1).then_some(())?;
            head.push(byte[0]);
        }
        if std::mem::take(&mut is_new) {
            add(&seen.connections);
        }
        add(&seen.heads);
        seen.heads_seen.lock().expect("no server panics").push(String::from_utf8(head).expect("text"));
        if !is_quiet(&mut stream) {
            add(&seen.unasked);
        }
        match says {
            Says::Before(word) => {
                stream.write_all(word).ok()?;
                let mut content = [0; CONTENT.len()];
                stream.read_exact(&mut content).ok()?;
                if content == CONTENT.as_bytes() {
                    add(&seen.contents);
                }
                stream.write_all(OK).ok()?;
            }
            Says::Instead(reply) => {
                stream.write_all(reply).ok()?;
                while stream.read(&mut [0]).ok()? == 1 {
                    add(&seen.behind_reply);
                }
                return None;
            }
        }
    }
}

/// A server, which ends with the process of the tests.
fn server(says: Says) -> (SocketAddr, Arc<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let seen = Arc::new(Seen::default());
    let shared = Arc::clone(&seen);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = Arc::clone(&shared);
            thread::spawn(move || serve(stream, says, &seen, is_quiet));
        }
    });
    (address, seen)
}

/// True if nothing lies in the socket.
fn is_quiet(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).expect("a socket");
    let found = stream.peek(&mut [0]);
    stream.set_nonblocking(false).expect("a socket");
    found.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

/// A run of requests with content that wait for the server's word; `more` may set how long.
fn run(place: &Place, url: &str, more: &str) -> Ended {
    place.write("content", CONTENT);
    let fixed = ["run", url, "-X", "POST", "-H", "Expect: 100-continue", "--body", "@content", "-q", "-o"];
    let directory = format!("run-{}", std::fs::read_dir(place.path("")).expect("own folder").count());
    let all = format!("{directory} -t 1 {more} {}", crate::common::CALM);
    let words: Vec<&str> = fixed.into_iter().chain(all.split_whitespace()).collect();
    let ended = place.farfield_with(&words);
    Ended { directory: place.path(&directory), ..ended }
}

#[test]
fn content_waits_for_the_servers_word() {
    let place = Place::new();
    let patient = "--set connections.expect-timeout=2m";
    for policy in ["persistent", "one-request", "pipelined"] {
        // Other interim heads are no word, and neither is one in two halves until it is whole.
        let (address, seen) = server(Says::Before(
            b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n",
        ));
        let url = format!("http://{address}/");
        let ended = run(&place, &url, &format!("-n 40 -c 2 --policy {policy} {patient}")).exits(0);
        let all = [&seen.heads, &seen.contents, &seen.unasked].map(Seen::of);
        assert_eq!(all, [40, 40, 0], "{policy}");
        assert!(ended.samples().iter().all(|sample| (sample.status, sample.outcome) == (200, Outcome::Ok)));
        let connections = Seen::of(&seen.connections);
        assert_eq!(connections, if policy == "one-request" { 40 } else { 2 }, "{policy}");
        assert_eq!(ended.summary().warnings.iter().filter(|own| own.contains("Expect")).count(), 0);
    }
}

/// A final status takes the place of the content: it is not sent, and neither is anything else on the
/// connection, whatever the server says about keeping it. 417 is a status as any other.
#[test]
fn a_final_status_takes_the_place_of_the_content() {
    let place = Place::new();
    for (reply, status, outcome, code) in [
        (&b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig"[..], 413, Outcome::Status4xx, 3),
        (b"HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n", 417, Outcome::Status4xx, 3),
        (b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, Outcome::Ok, 0),
        (b"HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 503, Outcome::Status5xx, 3),
    ] {
        for policy in ["persistent", "pipelined"] {
            let (address, seen) = server(Says::Instead(reply));
            let words = format!("-n 20 -c 2 --policy {policy} --set connections.expect-timeout=2m");
            let ended = run(&place, &format!("http://{address}/"), &words).exits(code);
            let samples = ended.samples();
            assert!(samples.iter().all(|own| (own.status, own.outcome) == (status, outcome)), "{samples:?}");
            assert_eq!(samples.len(), 20);
            let all = [&seen.heads, &seen.connections, &seen.unasked, &seen.behind_reply].map(Seen::of);
            assert_eq!(all, [20, 20, 0, 0], "{status} {policy}");
        }
    }
}

/// A server that says nothing gets the content after a while, and the wait is in the times, in a warning and
/// nowhere else. A reply whose head has come by then still takes its place.
#[test]
fn content_goes_without_a_word_after_a_time() {
    let place = Place::new();
    let (address, seen) = server(Says::Before(b""));
    let words = "-n 6 -c 2 --set connections.expect-timeout=150ms";
    let ended = run(&place, &format!("http://{address}/"), words).exits(0);
    assert_eq!([&seen.heads, &seen.contents, &seen.unasked].map(Seen::of), [6, 6, 0]);
    let waited = Duration::from_ms(150);
    assert!(ended.samples().iter().all(|own| own.done.since(own.due) >= waited), "{:?}", ended.samples());
    let warning = "6 requests with `Expect: 100-continue` sent their content without the server's word";
    assert!(
        ended.summary().warnings.iter().any(|own| own.contains(warning)),
        "{:?}",
        ended.summary().warnings
    );

    // The head of a reply has come; its content never does.
    let (address, seen) =
        server(Says::Instead(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 9\r\n\r\n"));
    let words = "-n 2 -c 1 --set connections.expect-timeout=150ms --set connections.request-timeout=500ms";
    let ended = run(&place, &format!("http://{address}/"), words).exits(3);
    assert_eq!(count(&ended.summary().steady, Outcome::TimedOut), 2, "{:?}", ended.summary().steady.outcomes);
    assert_eq!(Seen::of(&seen.behind_reply), 0, "no content behind a final status");
}

/// Interim heads without end, with the word among them or not, are bounded as any head is.
#[test]
fn floods_of_interim_heads_end() {
    let place = Place::new();
    for flood in [&b"HTTP/1.1 102 Processing\r\n\r\n"[..], CONTINUE] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let seen = Arc::new(AtomicU32::new(0));
        let contents = Arc::clone(&seen);
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let contents = Arc::clone(&contents);
                thread::spawn(move || {
                    let mut read = stream.try_clone().expect("a socket");
                    thread::spawn(move || {
                        let mut all = Vec::new();
                        let _ = read.read_to_end(&mut all);
                        let text = String::from_utf8_lossy(&all).into_owned();
                        contents.fetch_add(text.matches(CONTENT).count() as u32, Ordering::Relaxed);
                    });
                    let many = flood.repeat(1_000);
                    while stream.write_all(&many).is_ok() {}
                });
            }
        });
        let words = "-n 4 -c 1 --set connections.expect-timeout=2m";
        let ended = run(&place, &format!("http://{address}/"), words).exits(3);
        let all = ended.summary().steady.requests;
        assert_eq!(count(&ended.summary().steady, Outcome::HeadTooLarge), all, "{}", ended.stdout);
        let most = if flood == CONTINUE { 4 } else { 0 };
        assert!(seen.load(Ordering::Relaxed) <= most, "the content goes once at most");
    }
}

/// Over TLS the same is sealed; over HTTP/1.0, HTTP/2 and HTTP/3 nothing waits.
#[test]
fn versions_differ_in_who_waits() {
    let place = Place::new();
    Authority::new(&place).certify(&place, "shop.test", VALID);
    let key = PrivateKeyDer::from_pem_file(place.path("shop.test.key")).expect("own file");
    let certificate = CertificateDer::from_pem_file(place.path("shop.test.pem")).expect("own file");
    let config = ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into())
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key);
    let config = Arc::new(config.expect("a certificate and its key"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let seen = Arc::new(Seen::default());
    let shared = Arc::clone(&seen);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (config, seen) = (Arc::clone(&config), Arc::clone(&shared));
            thread::spawn(move || {
                let session = ServerConnection::new(config).expect("a session");
                let quiet = |stream: &mut StreamOwned<ServerConnection, TcpStream>| {
                    let is_empty = stream.conn.reader().read(&mut [0]).is_err();
                    is_empty && is_quiet(&mut stream.sock)
                };
                serve(StreamOwned::new(session, stream), Says::Before(CONTINUE), &seen, quiet)
            });
        }
    });
    let words = "-n 20 -c 2 -k --set connections.expect-timeout=2m";
    run(&place, &format!("https://{address}/"), &format!("{words} --http 1.1")).exits(0);
    assert_eq!([&seen.heads, &seen.contents, &seen.unasked].map(Seen::of), [20, 20, 0]);

    // The built-in server takes it over every version.
    let served = place.serve("--tls");
    for version in ["1.0", "1.1", "2", "3"] {
        let url = format!("{}/echo-length", served.url);
        let ended = run(&place, &url, &format!("{words} --http {version}")).exits(0);
        let samples = ended.samples();
        assert!(samples.len() >= 20 && samples.iter().all(|own| own.outcome == Outcome::Ok), "{version}");
    }
    // In HTTP/1.0 the content is behind the head at once.
    let (address, seen) = server(Says::Before(b""));
    let words = "-n 4 -c 1 --http 1.0 --set connections.expect-timeout=2m";
    run(&place, &format!("http://{address}/"), words);
    assert_eq!(Seen::of(&seen.unasked), Seen::of(&seen.heads));
}

/// Requests of sessions wait as well, with their redirects; who has no content may not ask.
#[test]
fn sessions_wait_and_requests_without_content_are_refused() {
    let place = Place::new();
    let (address, seen) = server(Says::Before(CONTINUE));
    place.write(
        "visit.toml",
        format!(
            "target = 'http://{address}/'\nload = {{ model = 'closed', users = 2 }}\n[connections]\nexpect-timeout = '2m'\n\
             [[session.state]]\nname = 'a'\npath = '/a'\nmethod = 'POST'\nbody = '{CONTENT}'\n\
             headers = {{ Expect = '100-continue' }}\n"
        ),
    );
    place.run("visit.toml -n 20").exits(0);
    assert_eq!([&seen.contents, &seen.unasked].map(Seen::of), [Seen::of(&seen.heads), 0]);
    assert!(Seen::of(&seen.heads) >= 20);
    let heads = seen.heads_seen.lock().expect("no server panics");
    assert!(
        heads.iter().all(|head| head.to_lowercase().contains("\r\nexpect: 100-continue\r\n")),
        "{heads:?}"
    );

    let flags = ["run", "http://127.0.0.1:1/", "-H", "Expect: 100-continue"];
    place.farfield_with(&flags).exits(2).says(&["Expect: 100-continue", "body"]);
    place.write(
        "bare.toml",
        "target = 'http://127.0.0.1:1/'\nload = { model = 'closed' }\n[[session.state]]\nname = 'a'\npath = '/'\n\
         headers = { expect = '100-Continue' }\n",
    );
    place.farfield("run bare.toml").exits(2).says(&["Expect: 100-continue", "body"]);
}
