//! Servers that flood: what each sends without end is named by the outcome of the requests that it met, the
//! run ends in its time, and its memory stays that of a run before a calm server.

mod common;

use common::wan::{CALM_PACKETS, may_build};
use common::{Ended, Place, Running, count, poll};
use farfield_base::Outcome;
use farfield_testkit::floods::{ALL, FloodServer, Kind, named};
use std::collections::BTreeSet;
use std::fs;

/// What a run before a flooding server may take beyond one before a calm server, in KiB.
const BEYOND_CALM_KIB: u64 = 64 << 10;

/// The name of the flood for a test that serves; see [`serves_where_it_is_asked_to`].
const ASKED: &str = "FARFIELD_TEST_FLOOD";

/// Users, time, and how long they wait for a reply.
const LOAD: &str = "-c 8 -d 2s --warm-up 0s --set connections.request-timeout=800ms --set run.drain=3s";

/// A session of pages, which are decoded.
const PAGES: &str = "session.page-load = 'browser'\n[[session.state]]\nname = 'home'\npath = '/'\n";

/// A run to its end, and the most memory that it had, in KiB.
fn watched(running: Running) -> (Ended, u64) {
    let mut most = 0;
    poll("the run to end", || {
        let status = fs::read_to_string(format!("/proc/{}/status", running.id())).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next());
        most = most.max(peak.and_then(|kib| kib.parse().ok()).unwrap_or(0));
        running.is_gone().then_some(())
    });
    (running.ended(), most)
}

/// Runs before the server of this name, on sockets.
fn sockets(place: &Place, name: &str) -> (Ended, u64) {
    let server = FloodServer::start(name, "127.0.0.1:0").expect("a free port");
    let (url, version) = (server.url(), server.protocol().version());
    if name != "gzip" {
        let insecure = if server.protocol().is_secure() { "--insecure" } else { "" };
        return watched(place.begin_run(&format!("{url} {LOAD} {insecure} --http {version}")));
    }
    // Content is decoded where a page is looked at.
    let file = place.write("pages.toml", format!("target = '{url}'\n{PAGES}"));
    watched(place.begin_run(&format!("{} {LOAD}", file.display())))
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
        server.command = ['env', '{ASKED}={name}', '{}', '--exact', 'serves_where_it_is_asked_to']
        server.ready = 'tcp:8080'
        network.rtt = '10ms'
        network.clients = 8
        ",
        protocol.version(),
        program.display(),
    );
    let pages = if name == "gzip" { PAGES } else { "" };
    let file = place.write(&format!("{name}.toml"), scenario + pages);
    let insecure = if protocol.is_secure() { "--insecure" } else { "" };
    watched(place.begin_run(&format!("{} {CALM_PACKETS} {LOAD} {insecure}", file.display())))
}

/// Where this program is a server of a run's, it serves until it is ended; else there is nothing to do.
#[test]
fn serves_where_it_is_asked_to() {
    let Ok(name) = std::env::var(ASKED) else { return };
    let _server = FloodServer::start(&name, "0.0.0.0:8080").expect("a place of its own");
    loop {
        std::thread::park();
    }
}

/// Each of `floods` ends in this outcome, and in no other failure; those that are counted against what they
/// bring (`flooded`) may not get to their end in the time limit of a request on a busy machine. It takes no
/// more than so much beyond what the calm server takes.
#[track_caller]
fn hold(run: fn(&Place, &str) -> (Ended, u64), calm: &str, floods: &[(&str, Outcome)]) {
    let place = Place::new();
    let (calm, calm_kib) = run(&place, calm);
    assert!(count(&calm.summary().steady, Outcome::Ok) > 0, "{}", calm.stderr);
    for (name, outcome) in floods {
        let (ended, kib) = run(&place, name);
        let summary = ended.summary();
        assert!(summary.complete, "{name}: {}", ended.stderr);
        let steady = &summary.steady;
        let late = if *outcome == Outcome::Flooded { count(steady, Outcome::TimedOut) } else { 0 };
        assert!(count(steady, *outcome) + late > 0, "{name}: {:?}", steady.outcomes);
        // What goes on behind the end of a stream is counted as well.
        let others = [Outcome::Ok, Outcome::TimedOut, Outcome::Unfinished, Outcome::Flooded];
        let expected = BTreeSet::from_iter(others.into_iter().chain([*outcome]));
        let of_these: u64 = expected.iter().map(|own| count(steady, *own)).sum();
        assert_eq!(of_these, steady.requests, "{name}: {:?}", steady.outcomes);
        assert!(kib <= calm_kib + BEYOND_CALM_KIB, "{name}: {kib} KiB, and {calm_kib} before a calm server");
    }
}

const OF_HTTP1: &[(&str, Outcome)] = &[
    ("interim", Outcome::HeadTooLarge),
    ("head", Outcome::HeadTooLarge),
    ("trailers", Outcome::BadChunk),
    ("chunk-extension", Outcome::BadChunk),
    ("gzip", Outcome::TimedOut),
];
const OF_FRAMES: &[(&str, Outcome)] = &[
    ("ping", Outcome::Flooded),
    ("settings", Outcome::Flooded),
    ("window-update", Outcome::Flooded),
    ("rst-stream", Outcome::Flooded),
];
const OF_REPLIES: &[(&str, Outcome)] = &[
    ("continuation", Outcome::Flooded),
    ("continuation-with-fields", Outcome::HeadTooLarge),
    ("empty-data", Outcome::HeadTooLarge),
    ("interim-http2", Outcome::HeadTooLarge),
];
const UNREAD: &[(&str, Outcome)] =
    &[("ping-and-body", Outcome::Flooded), ("settings-and-body", Outcome::Flooded)];
const OF_HTTP2_OVER_TLS: &[(&str, Outcome)] = &[("ping-and-body-tls", Outcome::Flooded)];
/// As many updates as the library allows for each byte of text: it goes on until the time limit.
const OF_HTTP1_OVER_TLS: &[(&str, Outcome)] = &[("key-update", Outcome::TimedOut)];
const OF_QUIC: &[(&str, Outcome)] = &[
    ("quic-ping", Outcome::Flooded),
    ("max-data", Outcome::Flooded),
    ("path-challenge", Outcome::Flooded),
    ("new-connection-id", Outcome::Flooded),
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

/// Every flood is in one of the lists, each of which has a test for either plane.
#[test]
fn no_flood_is_left_out() {
    let lists = [OF_HTTP1, OF_HTTP1_OVER_TLS, OF_FRAMES, OF_REPLIES, UNREAD, OF_HTTP2_OVER_TLS, OF_QUIC];
    let held: BTreeSet<_> = lists.concat().iter().map(|(name, _)| *name).collect();
    let is_flood = |kind: &Kind| *kind != Kind::Calm;
    let all = ALL.iter().filter(|(.., kind)| is_flood(kind)).map(|(name, ..)| *name).collect();
    assert_eq!(held, all);
}
