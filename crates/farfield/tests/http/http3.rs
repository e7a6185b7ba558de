//! HTTP/3 as people run it: against Caddy and the built-in server on sockets, and against servers that speak
//! something else, nothing at all, or go away.

mod auto;
mod oracle;

use crate::common::caddy::{Caddy, free_on_both};
use crate::common::secure::{Authority, VALID};
use crate::common::{Ended, Place, Signal, count};
use crate::shop::{Shop, VISIT, users};
use farfield_base::{Outcome, Sample, TlsVersion};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const TRUSTING: &str = "--set tls.server-name=shop.test --cacert ca.pem --http 3";

fn serve(test: &str, place: &Place, directives: &str) -> Option<Caddy> {
    Authority::new(place).certify(place, "shop.test", VALID);
    Caddy::start(test, place, "shop.test", directives)
}

/// All was answered, and each connection has its handshake.
#[track_caller]
fn answered(ended: &Ended) -> Vec<Sample> {
    let samples = ended.samples();
    for sample in &samples {
        assert_eq!((sample.outcome, sample.status), (Outcome::Ok, 200), "{sample:?}");
        let tls = sample.tls.map(|tls| tls.version);
        assert_eq!(tls, (sample.number == 0).then_some(TlsVersion::Tls13), "{sample:?}");
        assert!(sample.is_ordered(), "{sample:?}");
    }
    samples
}

fn connections(samples: &[Sample]) -> usize {
    samples.iter().filter(|sample| sample.number == 0).count()
}

#[test]
fn each_request_is_in_caddys_log() {
    let place = Place::new();
    let Some(caddy) = serve("each_request_is_in_caddys_log", &place, "") else { return };
    let url = format!("https://{}/4k {TRUSTING}", caddy.address);
    let samples = answered(&place.run(&format!("{url} -n 400 -c 4")).exits(0));
    assert!(samples.iter().all(|sample| sample.body_bytes == 4096 && sample.reply_bytes > 4096));
    assert_eq!(connections(&samples), 4);
    let mut asked = samples.len();
    let logged = caddy.log(&place, asked);
    assert_eq!(logged.len(), asked);
    assert!(logged.iter().all(|line| *line == ("HTTP/3.0".to_owned(), "/4k".to_owned())), "{logged:?}");
    // Streams at once on one connection.
    let more = "--policy multiplexed --set connections.streams=20 -n 400 -c 1";
    let samples = answered(&place.run(&format!("{url} {more}")).exits(0));
    assert_eq!(connections(&samples), 1);
    asked += samples.len();
    // A connection for each request: all but each user's first resume its session.
    let samples = answered(&place.run(&format!("{url} -n 40 -c 4 --policy one-request")).exits(0));
    assert_eq!(connections(&samples), samples.len());
    // A reply may come before the tickets that its connection would give, and with it the connection ends.
    let full = samples.iter().filter(|own| own.tls.is_some_and(|tls| !tls.resumed)).count();
    assert!((4..samples.len() / 2).contains(&full), "{full} of {} full handshakes", samples.len());
    asked += samples.len();
    assert_eq!(caddy.log(&place, asked).len(), asked);
    caddy.end();
}

/// A page and its objects take one connection for each user, and leave together.
#[test]
fn pages_take_one_connection() {
    let place = Place::new();
    let Some(caddy) = serve("pages_take_one_connection", &place, "") else { return };
    for name in ["a", "b", "c"] {
        place.write(&format!("www/{name}"), vec![b'x'; 30_000]);
    }
    place.write(
        "page.toml",
        format!(
            "target = 'https://{}/'\nhttp = '3'\nload = {{ model = 'closed', users = 3 }}\n\
             tls = {{ server-name = 'shop.test', ca = 'ca.pem' }}\n\
             [[requests.request]]\npath = '/4k'\nembedded = ['/a', '/b', '/c']\n",
            caddy.address
        ),
    );
    let samples = answered(&place.run("page.toml -n 120").exits(0));
    assert_eq!((connections(&samples), samples.len() % 4), (3, 0));
    let objects: Vec<_> = samples
        .iter()
        .filter(|sample| sample.connection == samples[0].connection && (1..4).contains(&sample.number))
        .collect();
    assert!(objects.iter().all(|sample| sample.sent == objects[0].sent), "{objects:?}");
    assert_eq!(caddy.log(&place, samples.len()).len(), samples.len());
    caddy.end();
}

/// Sessions before a shop behind Caddy: it refuses users who do not bring what they were given.
#[test]
fn visits_of_a_shop_bring_what_they_were_given() {
    let (place, shop) = (Place::new(), Shop::open());
    let behind = format!("reverse_proxy {}", shop.address());
    let test = "visits_of_a_shop_bring_what_they_were_given";
    let Some(caddy) = serve(test, &place, &behind) else { return };
    place.write("users.csv", users(400));
    let visit = VISIT.replace("PAGE-LOAD", "browser");
    let load = "{ model = 'hybrid', arrivals = { process = 'constant', rate = '30/s' } }";
    let tls = "{ server-name = 'shop.test', ca = 'ca.pem' }";
    let target =
        format!("target = 'https://{}/'\nhttp = '3'\ntls = {tls}\nload = {load}\n{visit}", caddy.address);
    place.write("visit.toml", target);
    let samples = place.run("visit.toml --sessions 60 -d 60s").exits(0).samples();
    let bad: Vec<_> =
        samples.iter().filter(|s| !matches!(s.outcome, Outcome::Ok | Outcome::Unfinished)).collect();
    assert!(bad.is_empty(), "{bad:?} {:?}", shop.refusals());
    assert_eq!(shop.refusals(), Vec::<String>::new());
    assert!(shop.orders().len() >= 30, "{} orders", shop.orders().len());
    caddy.end();
}

/// The built-in server, as a run's own and by itself, counts what it answered.
#[test]
fn the_built_in_server_speaks_http3() {
    let place = Place::new();
    let own = "--set origin.tls=true --insecure --http 3";
    for words in ["", "--policy multiplexed --set connections.streams=4", "--policy one-request"] {
        let samples = answered(&place.run(&format!("{own} -n 40 -c 4 {words}")).exits(0));
        assert!(samples.len() >= 40, "{words}");
    }
    let served = place.serve("--tls");
    let samples =
        answered(&place.run(&format!("{}/bytes/100000 -k --http 3 -n 60 -c 3", served.url)).exits(0));
    assert!(samples.iter().all(|sample| sample.body_bytes == 100_000));
    let posted = place.run(&format!(
        "{}/echo-length -k --http 3 -X POST --body {} -n 30 -c 3",
        served.url,
        "x".repeat(500)
    ));
    let posted = answered(&posted.exits(0));
    assert!(posted.iter().all(|sample| sample.body_bytes == 4), "the length and a line end");
    let said = served.end(Signal::INT).stdout;
    // Each of the two runs begins with a handshake on a connection of its own.
    assert!(
        said.contains(&format!("served {} requests on 8 connections", samples.len() + posted.len())),
        "{said}"
    );
}

/// A server that ends connections after a number of requests, with GOAWAY, loses no request.
#[test]
fn connections_that_go_away_lose_nothing() {
    let place = Place::new();
    let words = "--set origin.tls=true --insecure --http 3 --set origin.keep-alive-requests=5 -n 200 -c 3";
    let samples = answered(&place.run(words).exits(0));
    assert!(connections(&samples) > 3, "{} connections", connections(&samples));
}

/// A server that is killed in the middle of a run is named, and the run ends.
#[test]
fn a_server_that_is_killed_is_named() {
    let place = Place::new();
    let served = place.serve("--tls");
    let limits = "--set connections.request-timeout=1s";
    let running = place.begin_run(&format!("{}/ -k --http 3 -c 4 -d 3s {limits}", served.url));
    running.await_checkpoint();
    served.end(Signal::KILL);
    let ended = running.ended();
    let failed: Vec<Outcome> = ended
        .samples()
        .iter()
        .map(|sample| sample.outcome)
        .filter(|outcome| *outcome != Outcome::Ok)
        .collect();
    assert!(failed.contains(&Outcome::ConnectRefused), "{failed:?}");
    let named = [Outcome::ConnectRefused, Outcome::TimedOut, Outcome::Unfinished];
    assert!(failed.iter().all(|outcome| named.contains(outcome)), "{failed:?}");
}

/// The answer to a datagram; none is sent if it is empty.
type Answer = fn(&[u8]) -> Vec<u8>;

/// Answers each datagram with what `answer` makes of it, until it is dropped.
struct Answering {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Answering {
    fn with(answer: Answer) -> Answering {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_read_timeout(Some(std::time::Duration::from_millis(20))).expect("a timeout");
        let (address, over) = (socket.local_addr().expect("it is bound"), Arc::new(AtomicBool::new(false)));
        let is_over = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            let mut datagram = [0; 2048];
            while !is_over.load(Ordering::Relaxed) {
                if let Ok((count, from)) = socket.recv_from(&mut datagram) {
                    let answer = answer(&datagram[..count]);
                    if !answer.is_empty() {
                        let _ = socket.send_to(&answer, from);
                    }
                }
            }
        });
        Answering { address, over, thread: Some(thread) }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(std::thread::JoinHandle::join);
    }
}

/// Version negotiation (RFC 9000 section 17.2.1) that names a version of its own alone.
fn other_version(packet: &[u8]) -> Vec<u8> {
    let own = packet.get(5).map_or(0, |length| usize::from(*length));
    let theirs = packet.get(6 + own).map_or(0, |length| usize::from(*length));
    let (Some(destination), Some(source)) = (packet.get(5..6 + own), packet.get(6 + own..7 + own + theirs))
    else {
        return Vec::new();
    };
    [&[0x80, 0, 0, 0, 0], source, destination, &[0x6b, 0x33, 0x43, 0xcf]].concat()
}

#[test]
fn servers_without_http3_are_named() {
    let place = Place::new();
    let limits = "--set connections.request-timeout=300ms -n 4 -c 2 -k --http 3";
    let server = Answering::with(other_version);
    let refused = place.run(&format!("https://{}/ {limits}", server.address)).exits(1);
    refused.says(&["no version of QUIC in common", "`--http 2`"]);
    let cases: [(Answer, Outcome); 2] = [
        (|_| Vec::new(), Outcome::TimedOut),
        (|_| b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), Outcome::TimedOut),
    ];
    for (answer, outcome) in cases {
        let server = Answering::with(answer);
        let ended = place.run(&format!("https://{}/ {limits}", server.address)).exits(3);
        let summary = ended.summary();
        let all = summary.steady.requests;
        assert_eq!(count(&summary.steady, outcome), all, "{outcome:?}: {:?}", summary.steady.outcomes);
        assert!(ended.stdout.contains(outcome.name()), "{}", ended.stdout);
    }
    // Nobody listens: said before the run.
    let free = free_on_both();
    place
        .farfield(&format!("run https://{free}/ {limits}"))
        .says(&["nothing answers at", "start the server"]);
}

#[test]
fn certificates_that_do_not_verify_are_named() {
    let place = Place::new();
    let served = place.serve("--tls");
    Authority::new(&place);
    let words = "--http 3 -n 4 -c 2 --cacert ca.pem";
    let ended = place.run(&format!("{}/ {words}", served.url)).exits(1);
    ended.says(&["does not verify", "leads to no trusted root", "ca.pem (`--cacert`, tls.ca)"]);
    served.end(Signal::INT);
}

/// Ctrl-C ends a run that waits for a silent server, and what was asked is accounted for.
#[test]
fn a_run_before_a_silent_server_can_be_ended() {
    let place = Place::new();
    let server = Answering::with(|_| Vec::new());
    let running = place.begin_run(&format!("https://{}/ -k --http 3 -c 3 -d 60s", server.address));
    running.await_checkpoint();
    running.signal(Signal::INT);
    let ended = running.ended();
    let samples = ended.samples();
    assert_eq!(samples.len(), 3, "{samples:?}");
    assert!(samples.iter().all(|sample| sample.outcome == Outcome::Unfinished), "{samples:?}");
}

#[test]
fn what_http3_cannot_be_is_refused() {
    let place = Place::new();
    for (words, parts) in [
        ("http://127.0.0.1:1/ --http 3", ["always over TLS", "https://"]),
        ("https://127.0.0.1:1/ --http 3 --set 'tls.versions=[\"1.2\"]'", ["TLS 1.3", "tls.versions"]),
        ("https://127.0.0.1:1/ --http 3 --policy pipelined", ["streams", "multiplexed"]),
        ("--plane simulated --http 3", ["always over TLS", "[simulated.tls]"]),
        (
            "--plane simulated --http 3 --set simulated.tls={} --set simulated.holding=connection",
            ["simulated.holding", "HTTP/3"],
        ),
    ] {
        let words = format!("run {words}");
        let words: Vec<&str> = words.split(' ').map(|word| word.trim_matches('\'')).collect();
        place.farfield_with(&words).exits(2).says(&parts);
    }
}
