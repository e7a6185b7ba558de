//! Outages that answer: what stands before a server goes on to accept connections when the server behind it
//! is gone, and resets them, sends garbage, breaks replies off or answers with 502. Each is judged as the
//! dead server is, with the instant from which everything failed; one that ends again is reported with its
//! seconds.

use crate::common::nginx::Nginx;
use crate::common::secure::{Authority, SecureNginx, VALID};
use crate::common::wan::{DebianServer, Wan, find};
use crate::common::{Ended, Place, Running, Signal};
use farfield_base::{Instant, Outcome, Sample};
use farfield_measure::verdict::{Check, CheckState};
use farfield_testkit::floods::{self, FloodServer};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::{self, JoinHandle};

/// The broken door for a test that serves; see [`stands_where_it_is_asked_to`].
const ASKED: &str = "FARFIELD_TEST_DOOR";

/// A front door's treatment of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    /// Passes all on.
    Open,
    /// Accepts connections and resets them.
    Reset,
    /// Resets a connection in the middle of a reply.
    ResetMidBody,
    /// Sends bytes that are no reply.
    Garbage,
    /// Closes a connection in the middle of a reply.
    Cut,
    /// Resets every second connection, and passes the others on.
    HalfReset,
    Closing,
}

const BROKEN: [Door; 4] = [Door::Reset, Door::ResetMidBody, Door::Garbage, Door::Cut];

/// Bytes of a reply that pass before it breaks off: fewer than a head of HTTP/1, a flight of TLS or a frame
/// has.
const PASSED: usize = 40;

/// A listener that passes bytes on to a server, as long as it is open.
struct FrontDoor {
    address: SocketAddr,
    door: Arc<AtomicU8>,
    listener: Option<JoinHandle<()>>,
}

impl FrontDoor {
    fn before(server: SocketAddr) -> FrontDoor {
        FrontDoor::at("127.0.0.1:0", server)
    }

    fn at(address: &str, server: SocketAddr) -> FrontDoor {
        let listener = TcpListener::bind(address).expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let door = Arc::new(AtomicU8::new(Door::Open as u8));
        let state = Arc::clone(&door);
        let accept = move || {
            let mut passing = Vec::new();
            for (number, client) in listener.incoming().enumerate() {
                let client = client.expect("a connection");
                match read(&state) {
                    Door::Closing => break,
                    Door::Reset => reset(&client),
                    Door::HalfReset if number % 2 == 1 => reset(&client),
                    _ => passing.extend(pass_on(client, server, &state)),
                }
            }
            passing.into_iter().for_each(|half: JoinHandle<()>| half.join().expect("a half does not panic"));
        };
        FrontDoor { address, door, listener: Some(thread::spawn(accept)) }
    }

    fn turn(&self, to: Door) {
        self.door.store(to as u8, Ordering::Relaxed);
    }
}

impl Drop for FrontDoor {
    fn drop(&mut self) {
        self.turn(Door::Closing);
        // The listener looks at the door when somebody comes.
        drop(TcpStream::connect(self.address));
        if let Some(listener) = self.listener.take() {
            listener.join().expect("a listener does not panic");
        }
    }
}

fn read(door: &AtomicU8) -> Door {
    let all = BROKEN.into_iter().chain([Door::Open, Door::HalfReset]);
    all.into_iter().find(|state| *state as u8 == door.load(Ordering::Relaxed)).unwrap_or(Door::Closing)
}

/// Resets the connection, also where others hold it (`connect` to no address, tcp(7)).
fn reset(stream: &TcpStream) {
    // It may be closed already.
    let _ = rustix::net::connect_unspec(stream);
}

/// Passes bytes both ways, on a thread each.
fn pass_on(client: TcpStream, server: SocketAddr, door: &Arc<AtomicU8>) -> Vec<JoinHandle<()>> {
    let Ok(server) = TcpStream::connect(server) else { return Vec::new() };
    let twins = || (client.try_clone().expect("a descriptor"), server.try_clone().expect("a descriptor"));
    let ((from_client, to_server), (to_client, from_server)) = (twins(), twins());
    let (up, down) = (Arc::clone(door), Arc::clone(door));
    vec![
        thread::spawn(move || pass(from_client, to_server, &up, Direction::Up)),
        thread::spawn(move || pass(from_server, to_client, &down, Direction::Down)),
    ]
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

fn pass(mut from: TcpStream, mut to: TcpStream, door: &AtomicU8, direction: Direction) {
    let mut bytes = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let passed = match (read(door), direction) {
            (Door::Open | Door::HalfReset | Door::Closing, _) => to.write_all(&bytes[..count]),
            (Door::Reset, Direction::Up) => {
                reset(&from);
                break;
            }
            (Door::Reset, Direction::Down) => break,
            (_, Direction::Up) => to.write_all(&bytes[..count]),
            (Door::Garbage, Direction::Down) => {
                let _ = to.write_all(&[0x5a; 100]);
                break;
            }
            (Door::Cut, Direction::Down) => {
                let _ = to.write_all(&bytes[..count.min(PASSED)]);
                break;
            }
            (Door::ResetMidBody, Direction::Down) => {
                let _ = to.write_all(&bytes[..count.min(PASSED)]);
                reset(&to);
                break;
            }
        };
        if passed.is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

fn address_of(url: &str) -> SocketAddr {
    url.split_once("//").and_then(|(_, rest)| rest.parse().ok()).unwrap_or_else(|| panic!("{url}"))
}

#[track_caller]
fn check(ended: &Ended, name: &str) -> Check {
    let checks = ended.summary().verdict.checks;
    checks.into_iter().find(|check| check.name == name).expect("a check of that name")
}

/// The second, or another number, that a sentence names after these words.
#[track_caller]
fn number_after(words: &str, text: &str) -> f64 {
    let (_, rest) = text.split_once(words).unwrap_or_else(|| panic!("`{words}` is not in `{text}`"));
    rest.split(' ').next().and_then(|second| second.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

fn end_s(sample: &Sample) -> f64 {
    sample.done.since(Instant::ZERO).as_secs_f64()
}

/// The first and the last end of a request with such an outcome, in seconds.
fn ends_of(ended: &Ended, which: fn(Outcome) -> bool) -> (f64, f64) {
    let samples = ended.samples();
    let ends = || samples.iter().filter(|sample| which(sample.outcome)).map(end_s);
    (ends().fold(f64::MAX, f64::min), ends().fold(0.0, f64::max))
}

/// By the samples, the ends of the last success and of the first failure in a later tenth of a second.
fn edge(ended: &Ended) -> (f64, f64) {
    let (_, last_success) = ends_of(ended, |outcome| outcome == Outcome::Ok);
    let samples = ended.samples();
    let failures = samples.iter().filter(|sample| sample.outcome != Outcome::Ok).map(end_s);
    let tenth = |end: f64| (end * 10.0) as u64;
    let later = failures.filter(|end| tenth(*end) > tenth(last_success));
    (last_success, later.fold(f64::MAX, f64::min))
}

/// The run is invalid since from some instant on everything failed, and says from which tenth of a second on:
/// in the terminal and in the summary, as the samples have it.
#[track_caller]
fn is_judged(ended: &Ended, case: &str) {
    assert_eq!(ended.code, Some(3), "{case}: {}", ended.stdout);
    let verdict = ended.summary().verdict;
    let cause = verdict.first_cause().expect("a cause");
    assert_eq!(cause.name, "server-failing", "{case}: {}", ended.stdout);
    let note = cause.note.as_deref().expect("a note");
    assert!(note.starts_with("every request failed from second "), "{case}: {note}");
    let shown = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let begins = note.split(" on (").next().expect("words");
    assert!(shown.contains(begins), "{case}: {}", ended.stdout);
    let (last_success, first_failure) = edge(ended);
    let second = number_after("from second ", note);
    assert!(
        last_success - 0.1 <= second && second <= first_failure.max(last_success + 0.1),
        "{case}: {note}, and by the samples {last_success} to {first_failure}"
    );
}

/// So few requests in so long a time that a busy machine answers them as well, and a pause of its own is no
/// silence.
const OPEN: &str = "-R 25 -d 4s --set run.drain=1s --set verdict.server-silent=1s";

/// As many of users who wait for their replies.
const CLOSED: &str = "-c 5 --think 200ms -d 4s --set run.drain=1s --set verdict.server-silent=1s";

/// Lets a run come to its first checkpoint.
fn begin(place: &Place, url: &str, words: &str) -> Running {
    let run = place.begin_run(&format!("{url} {words}"));
    run.await_checkpoint();
    run
}

/// Each of `ways`, beside the others.
fn each_at_once<T: Copy + Send>(ways: &[T], judge: impl Fn(T) + Sync) {
    thread::scope(|scope| {
        let judge = &judge;
        let runs: Vec<_> = ways.iter().copied().map(|way| scope.spawn(move || judge(way))).collect();
        runs.into_iter().for_each(|run| run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    });
}

/// Every way in which a front door breaks.
fn break_in_each_way(serve: &str, scheme: &str, words: &str) {
    let place = Place::new();
    let server = place.serve(serve);
    each_at_once(&BROKEN, |broken: Door| {
        let (place, door) = (Place::new(), FrontDoor::before(address_of(&server.url)));
        let run = begin(&place, &format!("{scheme}://{}/bytes/5000", door.address), words);
        door.turn(broken);
        is_judged(&run.ended(), &format!("{broken:?}, {scheme} {words}"));
    });
}

#[test]
fn a_front_door_that_breaks_is_judged_over_http_1() {
    break_in_each_way("", "http", OPEN);
}

#[test]
fn a_front_door_that_breaks_is_judged_over_tls() {
    break_in_each_way("--tls", "https", &format!("{OPEN} --insecure --http 1.1"));
}

#[test]
fn a_front_door_that_breaks_is_judged_over_http_2() {
    break_in_each_way("--tls", "https", &format!("{OPEN} --insecure --http 2"));
}

/// Users who wait for their replies come back to the same failure.
#[test]
fn a_front_door_that_breaks_is_judged_in_a_closed_load() {
    break_in_each_way("", "http", CLOSED);
}

/// Over HTTP/3 a server resets streams, sends what is no reply, or ends connections, by QUIC's word or by
/// HTTP's.
#[test]
fn a_server_that_breaks_is_judged_over_http_3() {
    let ways = [
        (floods::FloodKind::Resets, "stream-reset"),
        (floods::FloodKind::WrongFrame, "bad-frame"),
        (floods::FloodKind::Closes, "gone-away"),
        (floods::FloodKind::ClosesQuic, "gone-away"),
    ];
    each_at_once(&ways, |(broken, outcome)| {
        let (place, server) =
            (Place::new(), FloodServer::start("calm-http3", "127.0.0.1:0").expect("a free port"));
        let run = begin(&place, &server.url(), &format!("{OPEN} --insecure --http 3"));
        server.turn(broken);
        let ended = run.ended();
        is_judged(&ended, &format!("{broken:?}, HTTP/3"));
        let note = check(&ended, "server-failing").note.expect("a note");
        assert!(note.ends_with(&format!(" on ({outcome})")), "{broken:?}: {note}");
    });
}

/// A door that is broken for a second and passes on again: the run is valid, and the outage is reported with
/// its seconds.
#[test]
fn an_outage_that_ends_is_a_warning() {
    let place = Place::new();
    let server = place.serve("");
    let door = FrontDoor::before(address_of(&server.url));
    let load = "-R 50 -d 9s --set verdict.server-silent=1s";
    let run = place.begin_run(&format!("http://{}/bytes/5000 {load}", door.address));
    run.await_checkpoint();
    door.turn(Door::Reset);
    let _ = crate::common::try_poll::<()>(std::time::Duration::from_millis(1_500), || None);
    door.turn(Door::Open);
    let ended = run.ended().exits(0);
    assert_eq!(check(&ended, "server-failing").state, CheckState::Passed);
    let warnings = ended.summary().warnings;
    let begins = "every request failed between second ";
    let warning = warnings.iter().find(|warning| warning.starts_with(begins));
    let warning = warning.unwrap_or_else(|| panic!("{warnings:?}"));
    assert!(warning.contains("reset): "), "{warning}");
    let (from, to) = (number_after(begins, warning), number_after(" and ", warning));
    // A cell with both is of neither.
    let (first, last) = ends_of(&ended, |outcome| outcome != Outcome::Ok);
    assert!((from - first).abs() <= 0.2 && (to - last).abs() <= 0.2, "{warning}; {first} to {last}");
    let shown = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(begins), "{shown}");
}

/// A share of the requests that fails from some instant on is no outage: a warning with both shares.
#[test]
fn a_share_that_fails_from_an_instant_on_is_a_warning() {
    let place = Place::new();
    let server = place.serve("");
    let door = FrontDoor::before(address_of(&server.url));
    let load = "-R 100 -d 5s --set connections.policy=one-request";
    let run = place.begin_run(&format!("http://{}/bytes/100 {load}", door.address));
    run.await_checkpoint();
    door.turn(Door::HalfReset);
    let ended = run.ended().exits(0);
    let warnings = ended.summary().warnings;
    let warning = warnings.iter().find(|warning| warning.starts_with("errors rose from "));
    let warning = warning.unwrap_or_else(|| panic!("{warnings:?}"));
    assert!(warning.contains("reset): "), "{warning}");
    // The first of them may count as an odd one before the change.
    let (before, after) = (number_after("rose from ", warning), number_after(" % to ", warning));
    assert!(before < 5.0 && (30.0..=70.0).contains(&after), "{warning}");
    let (first_reset, _) = ends_of(&ended, |outcome| outcome == Outcome::Reset);
    assert!((number_after(" at second ", warning) - first_reset).abs() <= 0.2, "{warning}; {first_reset}");
}

/// A proxy whose server is killed answers with 502 from then on.
#[test]
fn a_proxy_before_a_dead_server_is_judged() {
    let test = "a_proxy_before_a_dead_server_is_judged";
    let Some(program) = find(test, "nginx") else { return };
    let place = Place::new();
    let server = place.serve("");
    let pass = format!("location / {{ proxy_pass {}; }}", server.url);
    let nginx = Nginx::start(&program, &place, "access_log off;", &pass);
    let secure_place = Place::new();
    Authority::new(&secure_place).certify(&secure_place, "shop.test", VALID);
    let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
    let directives = format!("listen {free} ssl http2; {pass}");
    let secure =
        SecureNginx::start_with(test, &secure_place, "shop.test", &directives).expect("nginx is here");
    let load = "-R 25 -d 4s --set verdict.server-silent=1s";
    let plain = place.begin_run(&format!("http://{}/bytes/100 {load}", nginx.address));
    let [tls, http2] = [("--http 1.1", secure.address), ("--http 2", free)].map(|(http, address)| {
        secure_place.begin_run(&format!("https://{address}/bytes/100 --insecure {http} {load}"))
    });
    [&plain, &tls, &http2].into_iter().for_each(Running::await_checkpoint);
    server.end(Signal::KILL);
    for (run, case) in [(plain, "HTTP/1"), (tls, "TLS"), (http2, "HTTP/2")] {
        let ended = run.ended();
        is_judged(&ended, case);
        let note = check(&ended, "server-failing").note.expect("a note");
        assert!(note.ends_with(" on (status-5xx)"), "{case}: {note}");
    }
    nginx.end();
}

/// A proxy across the emulated network: it is the server that the run started, and goes on.
#[test]
fn a_proxy_in_an_emulated_network_is_judged() {
    let test = "a_proxy_in_an_emulated_network_is_judged";
    let proxied = |config: String| {
        let root = config.rsplit_once("root ").map(|(front, _)| front.to_owned()).expect("the site's root");
        format!("{root} location / {{ proxy_pass http://127.0.0.1:8080; }} }} }}")
    };
    let Some(wan) = Wan::configured(test, DebianServer::Nginx, proxied) else { return };
    let farfield = env!("CARGO_BIN_EXE_farfield");
    let wan = wan.beside(&format!("({farfield} serve 127.0.0.1:8080 & sleep 3; kill -9 $!)"));
    let scenario = "load = { model = 'open', arrivals = '50/s' }\nnetwork = { clients = 20, rtt = '10ms' }\n\
                    requests = { request = [{ path = '/bytes/100' }] }\nrun = { warm-up = '1s', duration = '6s', drain = '500ms' }";
    is_judged(&wan.run(scenario, ""), "emulated");
}

/// Where this program is a server of a run's, it is a door that breaks two and a half seconds after the first
/// connection; else there is nothing to do.
#[test]
fn stands_where_it_is_asked_to() {
    let Ok(name) = std::env::var(ASKED) else { return };
    let broken = BROKEN.into_iter().find(|door| format!("{door:?}") == name).expect("a way to break");
    let server = "127.0.0.1:8080".parse().expect("an address");
    let connects = || TcpStream::connect(server).ok();
    crate::common::poll("the server behind the door", connects);
    let door = FrontDoor::at("0.0.0.0:80", server);
    let _ = crate::common::try_poll::<()>(std::time::Duration::from_millis(2_500), || None);
    door.turn(broken);
    loop {
        thread::park();
    }
}

/// Front doors before emulated clients: what resets, cuts and lies crosses the emulated TCP of
/// clients, in an open load and in a closed one.
#[test]
fn front_doors_that_break_in_an_emulated_network_are_judged() {
    let test = "front_doors_that_break_in_an_emulated_network_are_judged";
    let program = std::env::current_exe().expect("this program").display().to_string();
    let farfield = env!("CARGO_BIN_EXE_farfield");
    let open = "load = { model = 'open', arrivals = '50/s' }";
    let closed = "load = { model = 'closed', users = 10, think = '200ms' }";
    let ways = [(Door::Reset, open), (Door::Garbage, open), (Door::Cut, open), (Door::Reset, closed)];
    each_at_once(&ways, |(broken, load)| {
        let own = format!("env {ASKED}={broken:?} {program} --exact outages::stands_where_it_is_asked_to");
        let command = own.split(' ').map(str::to_owned).collect();
        let Some(wan) = Wan::of(test, command) else { return };
        let wan = wan.beside(&format!("{farfield} serve 127.0.0.1:8080"));
        let scenario = format!(
            "{load}\nnetwork = {{ clients = 20, rtt = '10ms' }}\nrequests = {{ request = [{{ path = '/bytes/5000' }}] }}\n\
             run = {{ warm-up = '500ms', duration = '6s', drain = '500ms' }}"
        );
        is_judged(&wan.run(&scenario, ""), &format!("{broken:?}, emulated, {load}"));
    });
}

/// A site that answers everything with 404 by design, when that is what its users expect, and a server that
/// sheds most of an overload: neither is a front door before nothing.
#[test]
fn failures_by_design_are_no_outage() {
    let place = Place::new();
    let server = place.serve("");
    let asked = format!("{}/status/404 -R 100 -d 1s --threshold status-4xx>=1", server.url);
    let ended = place.run(&asked).exits(0);
    assert_eq!(check(&ended, "server-failing").state, CheckState::Passed);
    assert!(!ended.summary().warnings.iter().any(|warning| warning.contains("failed")), "{ended:?}");
    let shedding = place.serve("--error-rate 60%");
    for seed in 1..=3 {
        let ended = place.run(&format!("{}/bytes/100 -R 200 -d 2s --seed {seed}", shedding.url)).exits(0);
        let warnings = ended.summary().warnings;
        let is_of_errors =
            |warning: &&String| warning.contains("request failed") || warning.starts_with("errors ");
        assert_eq!(warnings.iter().find(is_of_errors), None, "seed {seed}");
    }
}
