//! The known cause of a failure comes to whoever looks: in the printed result, in summary.json, in
//! failures.txt, in the page, in Markdown, in the advice and in `farfield try`. Servers are played by hand.

use crate::common::relay::words_closing_first;
use crate::common::secure::Authority;
use crate::common::wan::{CALM_PACKETS, may_build};
use crate::common::{Ended, Place};
use farfield_measure::summary::FailureSummary;
use farfield_testkit::floods::{FAREWELL, FAULTS, FloodServer};
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

/// A server that answers each connection, once something has come on it, with `says`, and then waits for the
/// client to close; or closes itself if it `closes`.
fn server(says: Vec<u8>, closes: bool) -> SocketAddr {
    server_at("127.0.0.1:0", says, closes)
}

/// One at this address.
fn server_at(address: &str, says: Vec<u8>, closes: bool) -> SocketAddr {
    let listener = TcpListener::bind(address).expect("a free port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let says = says.clone();
            thread::spawn(move || answer(stream, &says, closes));
        }
    });
    address
}

/// A connection may be gone at any time.
fn answer(mut stream: TcpStream, says: &[u8], closes: bool) -> Option<()> {
    let mut buffer = [0; 4096];
    // A client of HTTP/2 may send its preface and its request apart; both fit into less than the buffer.
    if stream.read(&mut buffer).ok()? == 0 {
        return None;
    }
    stream.write_all(says).ok()?;
    if closes {
        stream.shutdown(Shutdown::Write).ok()?;
    }
    while stream.read(&mut buffer).ok()? > 0 {}
    Some(())
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn settings(payload: &[u8]) -> Vec<u8> {
    frame(4, 0, 0, payload)
}

const SOON: &str = "-n 3 -c 1 -d 20s --policy one-request --set connections.pause-after-failure=10ms";

/// The one kind of failure of a run.
#[track_caller]
fn only_failure(ended: &Ended) -> FailureSummary {
    let summary = ended.summary();
    let [failure] = &summary.failures[..] else { panic!("{:?} {}", summary.failures, ended.stdout) };
    assert_eq!((failure.count, summary.steady.requests), (3, 3), "{failure:?}");
    let (first, last) = (failure.first_ns.expect("an instant"), failure.last_ns.expect("an instant"));
    assert!(first < last, "{failure:?}");
    failure.clone()
}

/// All on one line, as it was before it was wrapped.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[expect(clippy::too_many_lines, reason = "a table of cases")]
#[test]
fn each_output_has_the_cause() {
    let place = Place::new();
    let goaway = [&[0, 0, 0, 1, 0, 0, 0, 11][..], b"too_many_pings\x1b[2J"].concat();
    for (says, closes, version, outcome, cause, came) in [
        (
            settings(&[0, 2, 0, 0, 0, 2]),
            false,
            "2",
            "bad-frame",
            "a setting has a value that it cannot have (RFC 9113 §6.5.2)",
            Some("SETTINGS_ENABLE_PUSH was 2"),
        ),
        (
            [settings(&[]), frame(7, 0, 0, &goaway)].concat(),
            true,
            "2",
            "gone-away",
            "GOAWAY with ENHANCE_YOUR_CALM (0xb), sent by the server",
            Some("too_many_pings\\u001B[2J"),
        ),
        (
            [settings(&[]), frame(3, 0, 1, &[0, 0, 0, 2])].concat(),
            false,
            "2",
            "stream-reset",
            "RST_STREAM with INTERNAL_ERROR (0x2), sent by the server",
            None,
        ),
        (
            b"HTTP/1.1 2x0 OK\r\n\r\n".to_vec(),
            false,
            "1.1",
            "bad-head",
            "the status is not three digits, from 100 (RFC 9112 §4)",
            Some("HTTP/1.1 2x"),
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_vec(),
            false,
            "1.1",
            "bad-chunk",
            "a chunk's size is no hexadecimal number of 64 bits (RFC 9112 §7.1)",
            None,
        ),
    ] {
        let address = server(says, closes);
        let ended = place.run(&format!("http://{address}/ --http {version} {SOON}")).exits(3);
        let failure = only_failure(&ended);
        assert_eq!((failure.outcome.as_str(), failure.cause.as_deref()), (outcome, Some(cause)));
        assert_eq!(failure.instead.as_deref(), came);
        let came = came.unwrap_or_default();
        let printed = unwrapped(&ended.stdout);
        assert!(printed.contains(&format!("3x {outcome}: {cause}")), "{}", ended.stdout);
        let kept = fs::read_to_string(ended.directory.join("failures.txt")).expect("the first failures");
        assert!(
            kept.contains(&format!(": {outcome}\n")) && kept.contains(&format!("cause: {cause}\n")),
            "{kept}"
        );
        assert!(kept.contains(came), "{kept}");
        let summary = ended.summary();
        let checks = summary.verdict.checks.iter().filter(|check| check.name == "something-succeeded");
        let advice: String = checks.filter_map(|check| check.advice.clone()).collect();
        assert!(advice.contains(cause.split(" (RFC").next().expect("words")), "{advice}");
        assert!(advice.contains(came), "{advice}");
        let directory = ended.directory.display();
        place.farfield(&format!("report {directory} --format markdown --out result.md")).exits(3);
        let markdown = fs::read_to_string(place.path("result.md")).expect("Markdown");
        // Signs that Markdown would take for its own stand behind a backslash.
        let plain = markdown.replace('\\', "");
        assert!(plain.contains(&cause.replace('\\', "")), "{markdown}");
        place.farfield(&format!("report {directory} --format html --out result.html")).exits(3);
        let page = fs::read_to_string(place.path("result.html")).expect("a page");
        assert!(page.contains(&cause.replace('\'', "&#39;")) || page.contains(cause), "{cause}");
        let all = [&printed, &kept, &markdown, &page, &ended.stderr];
        assert!(all.iter().all(|text| !text.contains('\x1b')), "nothing acts on a terminal");
    }
}

/// A server's words, and lines of its that are broken, repeat the credentials that it was sent: they are not
/// in the files and outputs that quote them.
#[test]
fn a_servers_words_repeat_no_credentials() {
    let place = Place::new();
    let goaway = |words: &str| {
        let payload = [&[0, 0, 0, 1, 0, 0, 0, 11][..], words.as_bytes()].concat();
        [settings(&[]), frame(7, 0, 0, &payload)].concat()
    };
    for (says, version, left) in [
        (goaway("refused Bearer SECRET1, sorry"), "2", "refused Bearer (not shown)"),
        (goaway("no such Authorization: SECRET1"), "2", "no such Authorization: (not shown)"),
        (goaway("{\"access_token\":\"SECRET1\"}"), "2", "access_token\": (not shown)"),
        (goaway("cookie a is known, Cookie: a=SECRET1"), "2", "Cookie: (not shown)"),
        (b"Set-Cookie: a=SECRET1\r\n\r\n".to_vec(), "1.1", "Set-Cookie: (not shown)"),
        (b"HTTP/1.1 200 OK\r\nAuthorization: Bearer SECRET1\x01\r\n\r\n".to_vec(), "1.1", "Authorization"),
        (b"authorization: SECRET1\r\n\r\n".to_vec(), "2", "authorization: (not shown)"),
    ] {
        let address = server(says, true);
        let ended = place.run(&format!("http://{address}/ --http {version} {SOON}")).exits(3);
        let found = only_failure(&ended).instead.unwrap_or_default();
        assert!(found.contains(left), "`{left}` is not in: {found}");
        let report = place.farfield(&format!("report {} --format html", ended.directory.display()));
        let mut texts = vec![ended.stdout, ended.stderr, report.stdout];
        for name in ["summary.json", "failures.txt"] {
            texts.push(fs::read_to_string(ended.directory.join(name)).expect(name));
        }
        assert!(texts.iter().all(|text| !text.contains("SECRET")), "{texts:?}");
    }
}

#[test]
fn a_session_that_is_tried_says_the_cause() {
    let place = Place::new();
    let try_at = |address: SocketAddr, scheme: &str, version: &str| {
        let verify = if scheme == "https" { "tls.verify = false\n" } else { "" };
        let session = format!("{verify}[[session.state]]\nname = 'home'\npath = '/'\n");
        place.write("visit.toml", format!("target = '{scheme}://{address}/'\nhttp = '{version}'\n{session}"));
        place.farfield("try visit.toml").exits(99).stdout
    };
    for (says, scheme, version, cause) in [
        (
            [settings(&[]), frame(6, 0, 0, &[0; 7])].concat(),
            "http",
            "2",
            "bad-frame: a frame does not have its kind's size (RFC 9113 §6): PING of 7 bytes with flags 0x0 on stream 0",
        ),
        (
            b"HTTP/1.1 2x0 OK\r\n\r\n".to_vec(),
            "http",
            "1.1",
            "bad-head: the status is not three digits, from 100 (RFC 9112 §4): HTTP/1.1 2x",
        ),
        (
            vec![21, 3, 3, 0, 2, 2, 80],
            "https",
            "1.1",
            "tls-alert: alert 80 (internal_error), sent by the server",
        ),
    ] {
        let shown = try_at(server(says, true), scheme, version);
        assert!(shown.contains(&format!("no reply: {cause}")), "{shown}");
    }
    for (name, outcome, cause) in OF_HTTP3 {
        let server = FloodServer::start(name, "127.0.0.1:0").expect("a free port");
        let shown = try_at(address_of(&server), "https", "3");
        assert!(shown.contains(&format!("no reply: {outcome}: {cause}")), "{shown}");
    }
}

/// Faults that end requests of HTTP/3, by the server's word or by a rule: the name, the outcome, and the
/// cause with the words that came.
const OF_HTTP3: [(&str, &str, &str); 4] = [
    (
        "closes-http3",
        "gone-away",
        "CONNECTION_CLOSE of HTTP/3 with H3_INTERNAL_ERROR (0x102), sent by the server: out of memory",
    ),
    (
        "closes-quic",
        "gone-away",
        "CONNECTION_CLOSE of QUIC with INTERNAL_ERROR (0x1), sent by the server: out of memory",
    ),
    ("resets-http3", "stream-reset", "RESET_STREAM with H3_INTERNAL_ERROR (0x102), sent by the server"),
    ("wrong-frame-http3", "bad-frame", "a frame is where or when its kind cannot be (RFC 9114 §7.2)"),
];

fn address_of(server: &FloodServer) -> SocketAddr {
    let url = server.url();
    url.trim_start_matches("https://").trim_end_matches('/').parse().expect("an address")
}

/// The one kind of failure of the run is of this outcome and has this cause, with the words that came, in the
/// summary, the printed result and failures.txt.
#[track_caller]
fn names(ended: &Ended, outcome: &str, cause: &str) {
    let failure = only_failure(ended);
    let came = failure.instead.map(|came| format!(": {came}")).unwrap_or_default();
    let shown = failure.cause.unwrap_or_default() + &came;
    assert_eq!((failure.outcome.as_str(), shown.as_str()), (outcome, cause));
    let kept = fs::read_to_string(ended.directory.join("failures.txt")).expect("the first failures");
    for text in [&unwrapped(&ended.stdout), &kept] {
        let named = cause.split(": ").all(|part| text.contains(part));
        assert!(named && text.contains(outcome), "{text}");
    }
}

#[test]
fn failures_of_http3_and_quic_have_causes() {
    assert_eq!(OF_HTTP3.len(), FAULTS.len());
    assert!(OF_HTTP3[..2].iter().all(|(.., cause)| cause.ends_with(FAREWELL)));
    let place = Place::new();
    for (name, outcome, cause) in OF_HTTP3 {
        let server = FloodServer::start(name, "127.0.0.1:0").expect("a free port");
        let ended = place.run(&format!("{} --insecure --http 3 {SOON}", server.url())).exits(3);
        names(&ended, outcome, cause);
    }
}

/// The server for a test that serves; see [`answers_where_it_is_asked_to`].
const ASKED: &str = "FARFIELD_TEST_CAUSE";

/// Faults of servers of emulated clients, over HTTP/1, HTTP/2 and HTTP/3.
const EMULATED: [(&str, &str, &str, &str); 3] = [
    ("bad-head", "1.1", "bad-head", "the status is not three digits, from 100 (RFC 9112 §4): HTTP/1.1 2x"),
    ("goaway", "2", "gone-away", "GOAWAY with ENHANCE_YOUR_CALM (0xb), sent by the server: too_many_pings"),
    (OF_HTTP3[0].0, "3", OF_HTTP3[0].1, OF_HTTP3[0].2),
];

/// Where this program is a server of a run's, it serves until it is ended; else there is nothing to do.
#[test]
fn answers_where_it_is_asked_to() {
    let Ok(name) = std::env::var(ASKED) else { return };
    let goaway = [&[0, 0, 0, 1, 0, 0, 0, 11][..], b"too_many_pings"].concat();
    let address = "0.0.0.0:8080";
    let _server = match name.as_str() {
        "bad-head" => {
            server_at(address, b"HTTP/1.1 2x0 OK\r\n\r\n".to_vec(), false);
            None
        }
        "goaway" => {
            server_at(address, [settings(&[]), frame(7, 0, 0, &goaway)].concat(), true);
            None
        }
        name => Some(FloodServer::start(name, address).expect("a place of its own")),
    };
    loop {
        thread::park();
    }
}

/// Emulated clients, whose TCP and QUIC are farfield's own, keep the causes as well.
#[test]
fn failures_of_emulated_clients_have_causes() {
    if !may_build("failures_of_emulated_clients_have_causes") {
        return;
    }
    let program = std::env::current_exe().expect("this program");
    let run = |(name, version, outcome, cause): (&str, &str, &str, &str)| {
        let place = Place::new();
        let (scheme, verify) = if version == "3" { ("https", "tls.verify = false\n") } else { ("http", "") };
        let scenario = format!(
            "plane = 'emulated'\ntarget = '{scheme}://server:8080/'\nhttp = '{version}'\n{verify}\
             server.command = ['env', '{ASKED}={name}', '{}', '--exact', 'causes::answers_where_it_is_asked_to']\n\
             server.ready = 'tcp:8080'\nnetwork.rtt = '10ms'\nnetwork.clients = 1\n",
            program.display()
        );
        let file = place.write("cause.toml", scenario);
        let ended = place.run(&format!("{} {CALM_PACKETS} {SOON}", file.display())).exits(3);
        names(&ended, outcome, cause);
    };
    thread::scope(|scope| {
        let run = &run;
        let runs: Vec<_> = EMULATED.into_iter().map(|one| scope.spawn(move || run(one))).collect();
        runs.into_iter().for_each(|run| run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    });
}

/// An alert by its number and name, whoever sends it, and the reason why a certificate does not verify.
#[test]
fn failures_of_tls_have_causes() {
    let place = Place::new();
    for (number, outcome, cause) in [
        (80, "tls-alert", "alert 80 (internal_error), sent by the server"),
        (40, "tls-incompatible", "alert 40 (handshake_failure), sent by the server"),
        (116, "tls-certificate-refused", "alert 116 (certificate_required), sent by the server"),
    ] {
        let address = server(vec![21, 3, 3, 0, 2, 2, number], true);
        let words = words_closing_first(&format!("https://{address}/ --insecure --http 1.1 {SOON}"));
        let ended = place.run(&words).exits(3);
        let failure = only_failure(&ended);
        assert_eq!((failure.outcome.as_str(), failure.cause.as_deref()), (outcome, Some(cause)));
    }
    let authority = Authority::new(&place);
    authority.certify(&place, "shop.test", (2001, 2002));
    let served = place.serve("--tls --cert shop.test.pem --key shop.test.key");
    let words = "/ --cacert ca.pem --set tls.server-name=shop.test --http 1.1";
    let words = words_closing_first(&format!("{}{words} {SOON}", served.url));
    let ended = place.run(&words).exits(3);
    let failure = only_failure(&ended);
    assert_eq!(failure.outcome, "tls-untrusted");
    assert_eq!(failure.cause.as_deref(), Some("the certificate has expired (RFC 5280 §4.1.2.5)"));
}
