//! Servers that flood: what each sends without end is named by the outcome of the requests that it met, the
//! run ends in its time, and its memory stays that of a run before a calm server.

use crate::common::wan::{CALM_PACKETS, SHORT, may_build};
use crate::common::{Ended, Place, Running, count, poll};
use farfield_base::Outcome;
use farfield_measure::verdict::{Check, CheckState};
use farfield_testkit::floods::{ALL, FloodKind, FloodServer, named};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Memory that a run before a flooding server may take beyond one before a calm server, in KiB.
const BEYOND_CALM_KIB: u64 = 64 << 10;

/// The name of the flood for a test that serves; see [`serves_where_it_is_asked_to`].
const ASKED: &str = "FARFIELD_TEST_FLOOD";

/// Users, time, and how long users wait for a reply: long enough for a busy machine to come to the end of an
/// allowance, or short where a flood goes on until then. A machine that is busy with the others' scenes is
/// no silence.
fn load(name: &str, on_sockets: bool) -> String {
    let (_, kind) = named(name).expect("a flood");
    let wait = if kind == FloodKind::Gzip { "800ms" } else { "6s" };
    // Where nothing is read, the kernel's buffer takes megabytes of answers before any wait.
    let is_unread = matches!(kind, FloodKind::PingAndBody | FloodKind::SettingsAndBody);
    let users = if is_unread && on_sockets { 3 } else { 8 };
    format!(
        "-c {users} -d 1s --warm-up 0s --set connections.request-timeout={wait} --set run.drain={wait} {SHORT} \
         --set verdict.server-silent=1m"
    )
}

/// A session of pages, which are decoded.
const PAGES: &str = "session.page-load = 'browser'\n[[session.state]]\nname = 'home'\npath = '/'\n";

/// A run to its end, and the most memory that it had, in KiB.
fn watched(running: Running) -> (Ended, u64) {
    let mut most = 0;
    poll("the run to end", || {
        most = most.max(running.memory_most_kib());
        running.is_gone().then_some(())
    });
    (running.ended(), most)
}

/// Runs before the server of this name, on sockets.
fn sockets(place: &Place, name: &str) -> (Ended, u64) {
    let server = FloodServer::start(name, "127.0.0.1:0").expect("a free port");
    let (url, version) = (server.url(), server.protocol().version());
    let insecure = if server.protocol().is_secure() { "--insecure" } else { "" };
    let target = match is_of_content(name) {
        false => url,
        true => place.write("pages.toml", format!("target = '{url}'\n{PAGES}")).display().to_string(),
    };
    let load = load(name, true);
    watched(place.begin_run(&format!("{target} {load} {insecure} --http {version}")))
}

/// Content is decoded where a page is looked at.
fn is_of_content(name: &str) -> bool {
    named(name).is_some_and(|(_, kind)| kind == FloodKind::Gzip)
}

/// Runs before it as emulated clients; it is this program, in a place of its own.
fn emulated(place: &Place, name: &str) -> (Ended, u64) {
    let (protocol, _) = named(name).expect("a flood");
    let program = std::env::current_exe().expect("this program");
    let scheme = if protocol.is_secure() { "https" } else { "http" };
    let scenario = format!(
        "plane = 'emulated'
        target = '{scheme}://server:8080/'
        http = '{}'
        server.command = ['env', '{ASKED}={name}', '{}', '--exact', 'floods::serves_where_it_is_asked_to']
        server.ready = 'tcp:8080'
        network.rtt = '10ms'
        network.clients = 8
        ",
        protocol.version(),
        program.display(),
    );
    let pages = if is_of_content(name) { PAGES } else { "" };
    let file = place.write(&format!("{name}.toml"), scenario + pages);
    let insecure = if protocol.is_secure() { "--insecure" } else { "" };
    let load = load(name, false);
    watched(place.begin_run(&format!("{} {CALM_PACKETS} {load} {insecure}", file.display())))
}

/// Where this program is a server of a run's, it serves until it is ended; else there is nothing to do.
#[test]
fn serves_where_it_is_asked_to() {
    let Ok(name) = std::env::var(ASKED) else { return };
    let _server = FloodServer::start(&name, "0.0.0.0:8080").expect("a place of its own");
    loop {
        thread::park();
    }
}

/// A flood, the outcome that docs/limits.md promises of it, and what it promises beside that.
type Flood = (&'static str, Outcome, &'static [Outcome]);

/// Outcomes, on a busy machine, of requests that were not flooded in time.
const LATE: [Outcome; 2] = [Outcome::TimedOut, Outcome::Unfinished];

/// Scenes at once: a run has its own time, and takes a processor for a part of it.
const AT_ONCE: usize = 3;

/// Each of `floods` ends in its outcome, and in no other failure but those beside it and [`LATE`]. The run
/// ends, takes no more than so much beyond what the calm server takes, is invalid where next to nothing
/// succeeded, and says what failed, in each case.
fn hold(run: fn(&Place, &str) -> (Ended, u64), calm: &str, floods: &[Flood]) {
    let names: Vec<&str> = [calm].into_iter().chain(floods.iter().map(|(name, ..)| *name)).collect();
    let (left, peaks) = (Mutex::new(names.into_iter()), Mutex::new(BTreeMap::new()));
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some(name) = next() {
            let place = Place::new();
            let (ended, kib) = run(&place, name);
            match floods.iter().find(|(flood, ..)| *flood == name) {
                Some(flood) => holds(flood, &ended),
                None => is_calm(ended),
            }
            peaks.lock().unwrap_or_else(PoisonError::into_inner).insert(name, kib);
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
    });
    let peaks = peaks.into_inner().expect("no panic");
    let calm_kib = peaks[calm];
    for (name, kib) in peaks {
        assert!(kib <= calm_kib + BEYOND_CALM_KIB, "{name}: {kib} KiB, and {calm_kib} before a calm server");
    }
}

fn is_calm(ended: Ended) {
    let summary = ended.exits(0).summary();
    assert!(count(&summary.steady, Outcome::Ok) > 0, "{:?}", summary.steady.outcomes);
    assert_eq!(summary.failures, [], "a calm server");
    assert!(!summary.warnings.iter().any(|warning| warning.contains("flooded")), "{:?}", summary.warnings);
}

/// Holds what a run before a flood came to against what is promised of it.
#[track_caller]
fn holds((name, outcome, beside): &Flood, ended: &Ended) {
    let summary = ended.summary();
    let (steady, shown) = (&summary.steady, &ended.stdout);
    assert!(summary.complete, "{name}: {}", ended.stderr);
    assert!(count(steady, *outcome) > 0, "{name}: {:?}", steady.outcomes);
    let allowed: BTreeSet<Outcome> =
        LATE.into_iter().chain(beside.iter().copied()).chain([*outcome]).collect();
    let of_these: u64 = allowed.iter().map(|own| count(steady, *own)).sum();
    assert_eq!(of_these, steady.requests, "{name}: {:?}", steady.outcomes);
    // Of what is over one request in a hundred must succeed. The run says the outcome, whatever the verdict.
    let over = steady.requests - count(steady, Outcome::Unfinished);
    let is_valid = 100 * count(steady, Outcome::Ok) >= over;
    assert_eq!(ended.code, Some(if is_valid { 0 } else { 3 }), "{name}: {shown}");
    let fails = |check: &Check| check.state == CheckState::Failed && check.name == "something-succeeded";
    let names_nothing = summary.verdict.checks.iter().any(fails);
    assert_eq!(names_nothing, !is_valid, "{name}: {shown}");
    let flooded = count(steady, Outcome::Flooded);
    assert!(shown.contains(outcome.name()), "{name}: {shown}");
    let says = summary.warnings.iter().any(|warning| warning.ends_with("they count as `flooded`."));
    assert_eq!(says, flooded > 0, "{name}: {:?}", summary.warnings);
    let causes = summary.failures.iter().filter(|own| own.outcome == "flooded" && own.cause.is_some());
    assert_eq!(causes.map(|own| own.count).sum::<u64>(), flooded, "{name}: {:?}", summary.failures);
}

const OF_HTTP1: &[Flood] = &[
    ("interim", Outcome::HeadTooLarge, &[]),
    ("head", Outcome::HeadTooLarge, &[]),
    ("trailers", Outcome::BadChunk, &[]),
    ("chunk-extension", Outcome::BadChunk, &[]),
    ("gzip", Outcome::TimedOut, &[]),
];
/// With a reply to every 9,000 frames: the first of a connection is within the allowance.
const OF_FRAMES: &[Flood] = &[
    ("ping", Outcome::Flooded, &[Outcome::Ok]),
    ("settings", Outcome::Flooded, &[Outcome::Ok]),
    ("window-update", Outcome::Flooded, &[Outcome::Ok]),
    ("rst-stream", Outcome::Flooded, &[Outcome::Ok]),
];
/// Frames after the end of a stream are counted as well.
const OF_REPLIES: &[Flood] = &[
    ("continuation", Outcome::Flooded, &[]),
    ("continuation-with-fields", Outcome::HeadTooLarge, &[Outcome::Flooded]),
    ("trailers-http2", Outcome::HeadTooLarge, &[Outcome::Flooded]),
    ("empty-data", Outcome::HeadTooLarge, &[Outcome::Flooded]),
    ("interim-http2", Outcome::HeadTooLarge, &[Outcome::Flooded]),
    ("gzip-http2", Outcome::TimedOut, &[]),
];
const UNREAD: &[Flood] =
    &[("ping-and-body", Outcome::Flooded, &[]), ("settings-and-body", Outcome::Flooded, &[])];
/// Updates of keys as many as the library allows for each byte of text: they go on until the time limit, or
/// until answers have piled up.
const OF_HTTP2_OVER_TLS: &[Flood] = &[
    ("ping-and-body-tls", Outcome::Flooded, &[]),
    ("settings-tls", Outcome::Flooded, &[Outcome::Ok]),
    ("continuation-tls", Outcome::Flooded, &[]),
    ("key-update-http2", Outcome::Flooded, &[]),
];
const OF_HTTP1_OVER_TLS: &[Flood] = &[("key-update", Outcome::Flooded, &[])];
const OF_QUIC: &[Flood] = &[
    ("quic-ping", Outcome::Flooded, &[]),
    ("max-data", Outcome::Flooded, &[]),
    ("path-challenge", Outcome::Flooded, &[]),
    ("new-connection-id", Outcome::Flooded, &[]),
    ("handshake-done", Outcome::Flooded, &[]),
    ("retired-identifiers", Outcome::BadQuic, &[]),
];
const OF_HTTP3: &[Flood] = &[
    ("interim-http3", Outcome::HeadTooLarge, &[]),
    ("head-http3", Outcome::HeadTooLarge, &[]),
    ("trailers-http3", Outcome::HeadTooLarge, &[]),
    ("empty-data-http3", Outcome::Flooded, &[]),
    ("gzip-http3", Outcome::TimedOut, &[]),
];

#[test]
fn endless_heads_trailers_and_content_over_http1() {
    hold(sockets, "calm-http1", OF_HTTP1);
}

#[test]
fn endless_frames_with_replies_between_them() {
    hold(sockets, "calm-http2", OF_FRAMES);
}

#[test]
fn endless_replies_over_http2() {
    hold(sockets, "calm-http2", OF_REPLIES);
}

#[test]
fn answers_that_nobody_reads() {
    hold(sockets, "calm-http2", UNREAD);
}

#[test]
fn answers_that_nobody_reads_over_tls() {
    hold(sockets, "calm-https2", OF_HTTP2_OVER_TLS);
    hold(sockets, "calm-https1", OF_HTTP1_OVER_TLS);
}

#[test]
fn endless_frames_of_quic() {
    hold(sockets, "calm-http3", OF_QUIC);
}

#[test]
fn endless_replies_over_http3() {
    hold(sockets, "calm-http3", OF_HTTP3);
}

#[test]
fn floods_at_emulated_clients_over_http1() {
    if may_build("floods_at_emulated_clients_over_http1") {
        hold(emulated, "calm-http1", OF_HTTP1);
    }
}

#[test]
fn floods_of_frames_at_emulated_clients() {
    if may_build("floods_of_frames_at_emulated_clients") {
        hold(emulated, "calm-http2", &[OF_FRAMES, UNREAD].concat());
    }
}

#[test]
fn floods_of_replies_at_emulated_clients() {
    if may_build("floods_of_replies_at_emulated_clients") {
        hold(emulated, "calm-http2", OF_REPLIES);
    }
}

#[test]
fn floods_at_emulated_clients_over_tls() {
    if may_build("floods_at_emulated_clients_over_tls") {
        hold(emulated, "calm-https2", OF_HTTP2_OVER_TLS);
        hold(emulated, "calm-https1", OF_HTTP1_OVER_TLS);
    }
}

#[test]
fn floods_at_emulated_clients_over_quic() {
    if may_build("floods_at_emulated_clients_over_quic") {
        hold(emulated, "calm-http3", OF_QUIC);
    }
}

#[test]
fn floods_of_http3_replies_at_emulated_clients() {
    if may_build("floods_of_http3_replies_at_emulated_clients") {
        hold(emulated, "calm-http3", OF_HTTP3);
    }
}

/// Every flood is in one of the lists, each of which has a test for either plane.
#[test]
fn no_flood_is_left_out() {
    let lists =
        [OF_HTTP1, OF_HTTP1_OVER_TLS, OF_FRAMES, OF_REPLIES, UNREAD, OF_HTTP2_OVER_TLS, OF_QUIC, OF_HTTP3];
    let held: BTreeSet<_> = lists.concat().iter().map(|(name, ..)| *name).collect();
    let is_flood = |kind: &FloodKind| *kind != FloodKind::Calm;
    let all = ALL.iter().filter(|(.., kind)| is_flood(kind)).map(|(name, ..)| *name).collect();
    assert_eq!(held, all);
}
