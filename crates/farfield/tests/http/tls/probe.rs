//! The handshake before a run: who can never talk to the server learns it, with what would help, and no
//! request is sent.

use crate::common::Place;
use crate::common::secure::{Authority, BOTH, SecureNginx, VALID};
use farfield_base::Outcome;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// Refused within one handshake: exit code 1, one sentence, no directory.
#[track_caller]
fn refused(place: &Place, words: &str, parts: &[&str]) {
    place.farfield(&format!("run {words} -n 6 -q -o refused")).exits(1).says(parts);
    assert!(!place.path("refused").exists(), "a run that was not begun leaves nothing");
}

/// A server that says `answer` to whatever comes first; the number of connections on which anything came.
fn counting(answer: &'static [u8]) -> (SocketAddr, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let heard = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&heard);
    // Ends with the process of the tests.
    thread::spawn(move || {
        let mut open = Vec::new();
        for mut stream in listener.incoming().flatten() {
            if stream.read(&mut [0; 1 << 12]).is_ok_and(|count| count > 0) {
                counted.fetch_add(1, Ordering::Relaxed);
                let _ = stream.write_all(answer);
            }
            open.push(stream);
        }
    });
    (address, heard)
}

/// The cause is named and what helps against it, and nothing that was done already.
#[test]
fn the_cause_is_named_with_what_helps() {
    let test = "the_cause_is_named_with_what_helps";
    let (place, strangers, old, young) = (Place::new(), Place::new(), Place::new(), Place::new());
    let authority = Authority::new(&place);
    authority.certify(&place, "shop.test", VALID);
    Authority::new(&strangers).certify(&strangers, "stranger.test", VALID);
    let [namesake, stranger] =
        ["ca.pem", "stranger.test.pem"].map(|name| strangers.path(name).display().to_string());
    let Some(nginx) = SecureNginx::start(test, &place, "shop.test", BOTH) else { return };
    let url = nginx.url("shop.test");
    refused(&place, &url, &["leads to no trusted root", "`--cacert`", "`--insecure`"]);
    let own = format!("{url} --cacert {stranger}");
    refused(&place, &own, &["leads to no trusted root", &stranger, "none of its issuers"]);
    let own = format!("{url} --cacert {namesake}");
    refused(&place, &own, &["signature is wrong", &namesake, "with another key"]);
    let name = nginx.url("other.test");
    refused(&place, &format!("{name} --cacert ca.pem"), &["another name", "`other.test`", "tls.server-name"]);
    let pin = format!("{url} --set tls.pins=['sha256//{}=']", "A".repeat(43));
    refused(&place, &pin, &["none of `tls.pins`", "the pin of the server's key"]);
    let ca = std::fs::read(place.path("ca.pem")).expect("own file");
    for (place, years, parts) in [
        (&old, (2001, 2002), ["has expired", "renew it", "clock"]),
        (&young, (3000, 3001), ["not valid yet", "clock", "`--insecure`"]),
    ] {
        authority.certify(place, "shop.test", years);
        place.write("ca.pem", &ca);
        let Some(nginx) = SecureNginx::start(test, place, "shop.test", BOTH) else { return };
        refused(place, &format!("{} --cacert ca.pem", nginx.url("shop.test")), &parts);
    }
    let older = copy_of(&place);
    let Some(nginx) = SecureNginx::start(test, &older, "shop.test", "TLSv1.2") else { return };
    let url = format!("{} --cacert ca.pem", nginx.url("shop.test"));
    refused(&older, &format!("{url} --set tls.versions=['1.3']"), &["in common", "offer \"1.2\" as well"]);
    refused(&older, &format!("{url} --http 2"), &["refuses the version of HTTP", "`--http 1.1`"]);
    older.run(&format!("{url} -n 6")).exits(0);
}

/// Another place with the same certificates.
fn copy_of(place: &Place) -> Place {
    let other = Place::new();
    for name in ["ca.pem", "shop.test.pem", "shop.test.key"] {
        other.write(name, std::fs::read(place.path(name)).expect("own file"));
    }
    other
}

/// One handshake is all that a server sees of a run that cannot be: whatever the load would have been.
#[test]
fn a_refused_run_sends_nothing_more() {
    let place = Place::new();
    for (answer, parts) in [
        (&b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"[..], ["another protocol", "http://"]),
        (&[21, 3, 3, 0, 2, 2, 120], ["no_application_protocol", "`--http 2`"]),
        (&[21, 3, 3, 0, 2, 2, 70], ["protocol_version", "let the server have one"]),
        (&[21, 3, 3, 0, 2, 2, 40], ["handshake_failure", "let the server have one"]),
    ] {
        let (address, heard) = counting(answer);
        refused(&place, &format!("https://{address}/ -k -c 50"), &parts);
        assert_eq!(heard.load(Ordering::Relaxed), 1, "{parts:?}");
        // One visit is refused in the same words.
        place.write("visit.toml", "[[session.state]]\nname = 'a'\npath = '/'\n");
        let tried = place.farfield(&format!("try visit.toml --target https://{address}/ -k")).exits(1);
        assert!(parts.iter().all(|part| tried.stderr.contains(part)), "{}", tried.stderr);
        assert_eq!(heard.load(Ordering::Relaxed), 2, "{parts:?}");
    }
}

/// A failure that may be gone a moment later is left to the run, which shows it: the first handshake is
/// closed, left without an answer, ended for the server's own trouble, or flooded.
#[test]
fn what_may_pass_is_left_to_the_run() {
    let place = Place::new();
    let limits = "-k -n 4 -c 1 --set connections.request-timeout=500ms";
    for (answer, outcome) in [
        (&[21, 3, 3, 0, 2, 2, 80][..], Outcome::TlsAlert),
        (&[22, 3, 3, 0, 4, 9, 0, 0, 0], Outcome::BadRecord),
        (&[22, 3, 3, 0, 100, 2, 0, 0], Outcome::TimedOut),
        (&[], Outcome::TimedOut),
    ] {
        let (address, heard) = counting(answer);
        let ended = place.run(&format!("https://{address}/ {limits}")).exits(3);
        assert!(ended.stdout.contains(outcome.name()), "{}", ended.stdout);
        assert!(heard.load(Ordering::Relaxed) > 1, "the run began");
    }
}

/// A server that sends without end, a byte at a time or as fast as it can, delays a run by no more than the
/// time limit of a request.
#[test]
#[expect(clippy::disallowed_methods, reason = "a real server that is slow waits by the clock")]
fn a_server_that_never_ends_its_handshake_holds_nobody_up() {
    let place = Place::new();
    for pause in [0, 20] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                thread::spawn(move || {
                    // A ServerHello of 16 MiB that does not end.
                    let record = [&[22, 3, 3, 0, 4, 2, 0xff, 0xff, 0xff][..], &[22, 3, 3, 0, 1, 0]].concat();
                    let mut bytes = record.iter().chain(record[9..].iter().cycle()).copied();
                    let size = if pause == 0 { 6_000 } else { 1 };
                    let mut next = || bytes.by_ref().take(size).collect::<Vec<u8>>();
                    while stream.write_all(&next()).is_ok() {
                        thread::sleep(std::time::Duration::from_millis(pause));
                    }
                });
            }
        });
        let words = format!("https://{address}/ -k -n 2 -c 1 --set connections.request-timeout=1s");
        place.run(&words).exits(3);
    }
}

/// Each address that connections would go to is asked, all at once: silent ones take the time of one, and one
/// that is wrong is named.
#[test]
fn every_address_is_asked_at_once() {
    let place = Place::new();
    let address = |last: u8| format!("127.0.0.{last}");
    let silent = TcpListener::bind("127.0.0.2:0").expect("a free port");
    let port = silent.local_addr().expect("it is bound").port();
    let others = (3..=90).map(|last| TcpListener::bind((address(last).as_str(), port)).expect("a free port"));
    let _others: Vec<TcpListener> = others.collect();
    let wrong = TcpListener::bind((address(91).as_str(), port)).expect("a free port");
    thread::spawn(move || {
        let mut open = Vec::new();
        for mut stream in wrong.incoming().flatten() {
            if stream.read(&mut [0; 1 << 12]).is_ok_and(|count| count > 0) {
                let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            }
            open.push(stream);
        }
    });
    let listed: Vec<String> = (2..=91).map(address).collect();
    let words = format!(
        "https://shop.test:{port}/ -k --resolve shop.test:{port}:{} --addresses all",
        listed.join(",")
    );
    refused(&place, &words, &[&format!("127.0.0.91:{port}"), "another protocol"]);
    // One after the other, 89 times 5 s would be longer than anything here is waited for.
}
