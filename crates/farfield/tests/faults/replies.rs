//! Servers that misbehave: what each does becomes an outcome with a name, the run goes on to its end, and
//! nothing is lost.

use crate::common::{Ended, Place, Signal, count};
use farfield_base::{Outcome, Sample};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A server that does one thing with every connection, on a thread each.
struct Bad {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

/// One side of a connection, as a misbehaving server sees it.
struct Peer(TcpStream);

impl Bad {
    fn server(act: fn(&mut Peer)) -> Bad {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let accept = move || {
            let mut connections = Vec::new();
            for stream in listener.incoming() {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                let mut peer = Peer(stream.expect("a connection"));
                connections.push(std::thread::spawn(move || act(&mut peer)));
            }
            // Each ends when its client has gone, which has happened when the run is over.
            connections
                .into_iter()
                .for_each(|connection| connection.join().expect("a server does not panic"));
        };
        Bad { address, stop, listener: Some(std::thread::spawn(accept)) }
    }

    fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

impl Drop for Bad {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // The listener looks at the flag when somebody comes.
        drop(TcpStream::connect(self.address));
        if let Some(listener) = self.listener.take() {
            listener.join().expect("a server does not panic");
        }
    }
}

impl Peer {
    /// Reads one request; false if the client has gone.
    fn request(&mut self) -> bool {
        let mut read = Vec::new();
        let mut byte = [0];
        while !read.ends_with(b"\r\n\r\n") {
            match self.0.read(&mut byte) {
                Ok(1) => read.push(byte[0]),
                _ => return false,
            }
        }
        true
    }

    /// Says it, as far as the client still listens.
    fn say(&mut self, text: &str) -> bool {
        self.0.write_all(text.as_bytes()).is_ok()
    }

    /// Waits until the client has gone.
    fn hold(&mut self) {
        self.0.set_read_timeout(None).expect("an open socket");
        while self.request() {}
    }

    /// Waits a while for a client that has nothing to say; false if it has gone.
    fn pause(&mut self, time: Duration) -> bool {
        self.0.set_read_timeout(Some(time)).expect("an open socket");
        match self.0.read(&mut [0]) {
            Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
            Ok(read) => read > 0,
        }
    }
}

/// Two users at a server that does this; each waits no longer than 300 ms for a reply.
fn visit(act: fn(&mut Peer)) -> (Ended, Vec<Sample>) {
    let (place, server) = (Place::new(), Bad::server(act));
    let words =
        format!("{} -c 2 -d 700ms --warm-up 0s --set connections.request-timeout=300ms", server.url());
    let ended = place.run(&words);
    let samples = ended.samples();
    let summary = ended.summary();
    assert!(summary.complete && samples.len() >= 2);
    is_called_by_its_name(&ended);
    assert_eq!(summary.steady.requests + summary.drained_requests, samples.len() as u64);
    for outcome in Outcome::ALL {
        let reported = samples.iter().filter(|sample| sample.outcome == outcome).count() as u64;
        // Requests due after the measured part are in the samples alone.
        assert!(reported - count(&summary.steady, outcome) <= summary.drained_requests, "{outcome:?}");
    }
    (ended, samples)
}

/// A run in which nothing succeeded is not valid, for this reason alone, and says what came instead.
#[track_caller]
fn is_called_by_its_name(ended: &Ended) {
    let summary = ended.summary();
    let failed: Vec<_> = summary.verdict.failed().map(|check| (check.name.as_str(), &check.note)).collect();
    if count(&summary.steady, Outcome::Ok) > 0 {
        assert_eq!((ended.code, failed), (Some(0), vec![]));
        return;
    }
    let [("something-succeeded", Some(note))] = failed[..] else { panic!("{failed:?}") };
    assert_eq!(ended.code, Some(3));
    let most = summary.steady.outcomes.iter().max_by_key(|outcome| outcome.count).expect("an outcome");
    let reported = format!("0 of {} requests succeeded and {} were ", summary.steady.requests, most.count);
    assert!(note.starts_with(&reported), "{note}");
}

/// All that is asked of such a server ends so.
#[track_caller]
fn check(expected: Outcome, act: fn(&mut Peer)) -> Vec<Sample> {
    let (_, samples) = visit(act);
    for sample in &samples {
        assert_eq!(sample.outcome, expected, "{sample:?}");
    }
    samples
}

#[test]
fn a_server_that_refuses_is_reported_before_the_run() {
    let (place, server) = (Place::new(), Bad::server(|_| ()));
    let (url, address) = (server.url(), server.address.to_string());
    drop(server);
    let ended = place.run(&url).exits(1);
    ended.says(&["nothing answers at", &address, "start the server"]);
    assert!(!ended.directory.exists(), "a run that never was leaves no directory");
}

#[test]
fn closed_instead_of_answered() {
    check(Outcome::ClosedUnanswered, |peer| {
        peer.request();
    });
}

/// A connection that is closed with a request unread is reset.
#[test]
fn closed_at_once() {
    let (_, samples) = visit(|_| ());
    for sample in &samples {
        assert!(matches!(sample.outcome, Outcome::ClosedUnanswered | Outcome::Reset), "{sample:?}");
    }
}

#[test]
fn another_protocol() {
    check(Outcome::BadHead, |peer| {
        peer.say("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n");
        peer.hold();
    });
}

#[test]
fn a_body_that_never_comes() {
    let samples = check(Outcome::TimedOut, |peer| {
        if peer.request() {
            peer.say("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nso far");
        }
        peer.hold();
    });
    for sample in samples {
        // From when it was due: on a busy machine it is sent later.
        assert!(sample.response_time().as_secs_f64() >= 0.299, "{sample:?}");
        // The part of the reply that came is counted.
        assert_eq!((sample.status, sample.body_bytes), (200, 6));
    }
}

/// The time limit is one on the whole reply, not on silence.
#[test]
fn a_body_that_never_ends() {
    check(Outcome::TimedOut, |peer| {
        if peer.request() && peer.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") {
            while peer.say("5\r\nmore \r\n") && peer.pause(Duration::from_millis(2)) {}
        }
    });
}

#[test]
fn a_body_cut_short() {
    check(Outcome::Truncated, |peer| {
        if peer.request() {
            peer.say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour");
        }
    });
}

#[test]
fn a_head_without_end() {
    check(Outcome::HeadTooLarge, |peer| {
        if peer.request() {
            peer.say("HTTP/1.1 200 OK\r\n");
            while peer.say("X-More: and more and more and more and more\r\n") {}
        }
    });
}

#[test]
fn lengths_that_disagree() {
    check(Outcome::BadLength, |peer| {
        if peer.request() {
            peer.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok");
        }
        peer.hold();
    });
}

#[test]
fn a_chunk_of_no_size() {
    check(Outcome::BadChunk, |peer| {
        if peer.request() {
            peer.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nmany\r\n");
        }
        peer.hold();
    });
}

/// Bytes that come after a reply answer nothing: they must not be taken for the reply to what is asked next.
#[test]
fn more_than_was_asked_for() {
    let samples = check(Outcome::Unasked, |peer| {
        const TWICE: &str =
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        while peer.request() && peer.say(TWICE) {}
    });
    for sample in &samples {
        assert!(sample.first_byte.instant() >= sample.sent.instant(), "{sample:?}");
    }
}

/// A server that answers without having read the whole request and closes: the kernel resets the connection
/// behind the reply, which is whole all the same.
#[test]
fn a_whole_reply_with_a_reset_behind_it() {
    let samples = check(Outcome::Ok, |peer| {
        let mut byte = [0];
        if peer.0.read(&mut byte).is_ok_and(|read| read == 1) {
            peer.say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole");
        }
    });
    assert!(samples.iter().all(|sample| (sample.status, sample.body_bytes) == (200, 5)));
}

/// A refusal while the client is still sending: a body of 4 MiB that the server does not want.
#[test]
fn a_refusal_of_a_large_body() {
    let place = Place::new();
    let server = Bad::server(|peer| {
        if peer.request() {
            peer.say("HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nno\n");
        }
    });
    let body = "x".repeat(4 << 20);
    let request = format!("[[requests.request]]\nmethod = 'POST'\npath = '/'\nbody = '{body}'\n");
    let scenario =
        place.write("post.toml", format!("target = '{}'\nload.users = 2\n{request}", server.url()));
    let run = place.run(&format!("{} -d 700ms --threshold status-4xx>=1", scenario.display()));
    let samples = run.samples();
    assert!(samples.len() >= 2);
    for sample in samples {
        assert_eq!((sample.outcome, sample.status), (Outcome::Status4xx, 413), "{sample:?}");
    }
}

/// A head that is none cannot be read, even if it comes in pieces and the server then says nothing more.
#[test]
fn a_head_that_is_none_in_pieces_and_held_open() {
    check(Outcome::BadHead, |peer| {
        if peer.request() && peer.say("HTTP/1.") && peer.pause(Duration::from_millis(5)) {
            peer.say("1 2");
            peer.pause(Duration::from_millis(5));
            peer.say("x");
        }
        peer.hold();
    });
}

/// Pieces of a chunk each are read more slowly than they are written, so there is always more: neither the
/// time limit of that reply nor the other user waits for its end.
#[test]
fn an_endless_reply_that_comes_faster_than_it_is_read() {
    let place = Place::new();
    let server = Bad::server(|peer| {
        let chunks = "1\r\na\r\n".repeat(100_000);
        if peer.request() && peer.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") {
            // Over a gigabyte: minutes for who reads on, and an end for a client that does.
            for _ in 0..2000 {
                if !peer.say(&chunks) {
                    return;
                }
            }
        }
    });
    let words = "-c 2 -d 500ms --warm-up 0s --set connections.request-timeout=300ms --set run.drain=1s";
    let run = place.run(&format!("{} {words}", server.url()));
    let samples = run.samples();
    assert!(samples.len() >= 2);
    for sample in samples {
        assert!(matches!(sample.outcome, Outcome::TimedOut | Outcome::Unfinished), "{sample:?}");
        // Wide, for a machine that does other things; an unbounded turn lasts until the server stops.
        let waited = sample.service_time().map_or(0.0, |waited| waited.as_secs_f64());
        assert!(waited < 8.0, "waited {waited} s");
    }
}

/// Line ends behind a body belong to no reply, with and without a pause, and no instant of a sample is before
/// another.
#[test]
fn line_ends_behind_a_body() {
    let samples = check(Outcome::Ok, |peer| {
        let mut number = 0;
        while peer.request() && peer.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok\r\n") {
            number += 1;
            if number % 2 == 0 {
                peer.say("\r\n");
            }
        }
    });
    for sample in &samples {
        assert!(sample.is_ordered() && sample.first_byte.instant() > sample.sent.instant(), "{sample:?}");
    }
    // Nothing was closed for it: each user keeps its connection.
    let connections: std::collections::BTreeSet<_> = samples.iter().map(|sample| sample.connection).collect();
    assert_eq!(connections.len(), 2, "of {} requests", samples.len());
}

/// A reply that comes five bytes at a time is slow and whole.
#[test]
fn a_slow_drip() {
    const REPLY: &str = "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nHello, users";
    let samples = check(Outcome::Ok, |peer| {
        while peer.request() {
            for piece in REPLY.as_bytes().chunks(5) {
                let piece = std::str::from_utf8(piece).expect("ASCII");
                if !peer.say(piece) || !peer.pause(Duration::from_millis(1)) {
                    return;
                }
            }
            peer.0.set_read_timeout(None).expect("an open socket");
        }
    });
    for sample in samples {
        assert_eq!((sample.body_bytes, sample.reply_bytes), (12, REPLY.len() as u64));
        let transfer = sample.transfer_time().expect("it came");
        assert!(transfer.as_secs_f64() >= 0.005, "{transfer}");
    }
}

/// A user who asks for what is not there, and says nothing of errors, hears that nothing was measured; what
/// the scenario says of them stands.
#[test]
fn what_is_not_there() {
    let place = Place::new();
    let server = place.serve("");
    // A hundred requests: one that a busy machine held up across the beginning is much of their waiting.
    let load =
        format!("{}/status/404 -c 2 --think 5ms -d 300ms --set verdict.response-time-law=1", server.url);
    let run = place.run(&load).exits(3);
    is_called_by_its_name(&run);
    let reported = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        reported.contains("! something-succeeded 0%, limit 1%") && reported.contains("ask for what is there"),
        "{reported}"
    );
    place.run(&format!("{load} --threshold errors<1%")).exits(99);
    place.run(&format!("{load} --threshold status-4xx>=1")).exits(0);
    place.run(&format!("{load} --set verdict.succeeded=0%")).exits(0);
}

/// The server is killed in the middle: every arrival until the end is accounted for, by what became of it,
/// and the verdict says from when on there was no server.
#[test]
fn a_server_that_dies() {
    let place = Place::new();
    let server = place.serve("");
    let run = place.begin_run(&format!("{}/bytes/100 -R 200 -d 2s", server.url));
    run.await_checkpoint();
    server.end(Signal::KILL);
    let ended = run.ended().exits(3);
    let (summary, samples) = (ended.summary(), ended.samples());
    assert!(summary.complete);
    let cause = summary.verdict.first_cause().expect("a cause");
    let note = cause.note.as_deref().unwrap_or_default();
    assert_eq!((cause.name.as_str(), summary.verdict.failed().count()), ("server-silent", 1));
    assert!(note.starts_with("nothing came from the server after second "), "{note}");
    assert!(ended.stdout.contains(note), "{}", ended.stdout);
    let of = |outcome| count(&summary.steady, outcome);
    assert!(of(Outcome::Ok) > 50 && of(Outcome::ConnectRefused) > 50, "{:?}", summary.steady.outcomes);
    let arrivals = summary.generator.arrivals.expect("an open load");
    assert_eq!((arrivals.scheduled, arrivals.dropped), (summary.steady.requests, 0));
    let steady = samples.iter().filter(|sample| sample.due.as_secs_f64() >= 0.2).count() as u64;
    assert_eq!(steady, summary.steady.requests);
}

/// Users who come back pause when there is nobody, and go on when there is again.
#[test]
fn a_server_that_comes_back() {
    let place = Place::new();
    let server = place.serve("");
    let (url, address) = (server.url.clone(), server.url.trim_start_matches("http://").to_owned());
    let run = place.begin_run(&format!("{url}/bytes/100 -c 2 --think 5ms -d 3s --warm-up 0s"));
    run.await_checkpoint();
    server.end(Signal::TERM);
    let again = place.serve_at(&address);
    let samples = run.ended().exits(0).samples();
    drop(again);
    let failed = samples.iter().rposition(|sample| sample.outcome == Outcome::ConnectRefused);
    let ok_after = &samples[failed.map_or(0, |last| last + 1)..];
    assert!(ok_after.iter().filter(|sample| sample.outcome == Outcome::Ok).count() > 10);
}
