//! The keep-alive advice against the simulated server: m processes, each of which holds one connection while
//! its user thinks (Liu et al. 1999, section 5.2).
//!
//! While users wait for a process, all m are held, so that what a click or a session holds one for in the
//! mean says how many of them a second there are: m over that.

use crate::scene::{Scene, count, ms, ok};
use farfield_base::{Duration, Instant};
use farfield_emulator::simulation::{Tap, simulate_with};
use farfield_emulator::{ClientId, Packet, PacketPayload, ServerPlan, Simulated};
use farfield_fit::keepalive::KeepAlive;
use farfield_fit::{Component, Family, Model};
use std::sync::{Arc, Mutex};

/// m, and the seconds that a request is served for.
const WORKERS: u32 = 10;
const SERVICE_S: f64 = 0.05;
const RTT_S: f64 = 0.002;

/// Users who think for a lognormal time of median 1 s, mean 1.65 s.
const THINK: &str = "{ distribution = 'lognormal', mu = 0.0, sigma = 1.0 }";

fn advice(clicks_mean: f64) -> KeepAlive {
    let think = Component::new(Family::Lognormal, [0.0, 1.0]).expect("good parameters");
    KeepAlive {
        think: Model::single(think),
        clicks_mean,
        // The request of whoever waited is there when the process takes the connection.
        new_page_s: SERVICE_S,
        kept_page_s: SERVICE_S,
        leavers_close: true,
    }
}

/// The work that one more click makes, in seconds.
fn work_of_a_click(timeout_s: f64) -> f64 {
    advice(2.0).work_s(timeout_s) - advice(1.0).work_s(timeout_s)
}

/// That figure by the equation that is printed above theorem 1.
fn printed_work_of_a_click(timeout_s: f64) -> f64 {
    advice(1e6).printed_work_s(timeout_s) / 1e6
}

/// A crowd behind m processes with this timeout.
fn scene(load: &str, timeout_s: f64, length_s: u64) -> Scene {
    let mut scene = Scene::crowd(600, ms(2)).policy("request-timeout = '1h'");
    scene.load = load.to_owned();
    scene.length = Duration::from_secs(length_s);
    scene.drain = ms(1);
    scene.server = ServerPlan {
        service: ms(50).into(),
        keep_alive: Some(Duration::from_secs_f64(timeout_s)),
        accept_queue: 4_000,
        ..ServerPlan::processes(count(WORKERS))
    };
    scene
}

fn crowd() -> String {
    format!("{{ model = 'closed', users = 600, think = {THINK} }}")
}

/// Replies a second.
fn rate(played: &Simulated, length_s: u64) -> f64 {
    played.server.replies as f64 / length_s as f64
}

/// Sees when the server sent data and FINs.
#[derive(Debug, Clone, Default)]
struct Watch(Arc<Mutex<Vec<(Instant, bool)>>>);

impl Tap for Watch {
    fn see(&mut self, at: Instant, inbound: bool, _client: ClientId, packet: &Packet) {
        let PacketPayload::Tcp(tcp) = &packet.carried else { return };
        let fin = tcp.segment.flags.fin;
        if !inbound && (fin || tcp.segment.payload_len > 0) {
            self.0.lock().expect("one thread").push((at, fin));
        }
    }
}

/// A connection whose wait has no end outlives all of its user's pauses, the first request's limit too.
#[test]
fn a_connection_without_a_timeout_is_not_closed() {
    let connections = |keep_alive| {
        let mut scene = Scene::crowd(3, ms(20));
        scene.load = "{ model = 'closed', users = 3, think = '100s' }".into();
        scene.length = Duration::from_secs(1_000);
        scene.server.keep_alive = Some(keep_alive);
        let played = scene.play();
        (played.server.replies, played.connects, played.server.idle_closes)
    };
    assert_eq!(connections(Duration::MAX), (30, 3, 0));
    assert_eq!(connections(Duration::from_secs(75)), (30, 30, 30), "each pause is longer");
}

/// An idle connection is closed the timeout after its reply, to the nanosecond: neither the reply's ACK nor a
/// timer that has outlived its purpose makes the wait any longer.
#[test]
fn an_idle_connection_is_closed_when_its_time_is_over() {
    for timeout in [ms(10), ms(30), ms(150), ms(199), ms(500), Duration::from_secs(5)] {
        let mut scene = Scene::at(ms(20));
        scene.load = "{ model = 'closed', users = 1, think = '1h' }".into();
        scene.server.keep_alive = Some(timeout);
        let watch = Watch::default();
        let played = simulate_with(&scene.simulation(), watch.clone()).expect("a network");
        assert_eq!((played.server.replies, played.server.idle_closes), (1, 1), "{timeout}");
        let seen = watch.0.lock().expect("one thread");
        let [(replied, false), (closed, true)] = seen[..] else { panic!("a reply and a FIN: {seen:?}") };
        // The handshake and the request's way.
        assert_eq!((replied, closed), (Instant::ZERO + ms(30), replied + timeout));
    }
}

#[test]
fn a_click_holds_a_process_as_long_as_the_model_says() {
    const LENGTH_S: u64 = 100;
    let mut before = f64::INFINITY;
    for timeout_s in [0.2, 0.5, 1.0, 2.0, 5.0] {
        let found = rate(&scene(&crowd(), timeout_s, LENGTH_S).play(), LENGTH_S);
        let expected = f64::from(WORKERS) / work_of_a_click(timeout_s);
        // The clicks' work varies by less than its mean: an error of 1/√n at most, n clicks.
        let error = 3.0 / (expected * LENGTH_S as f64).sqrt() + 4.0 * RTT_S / work_of_a_click(timeout_s);
        assert!((found / expected - 1.0).abs() < error, "{found} of {expected} a second at {timeout_s} s");
        assert!(found < before, "the longer the timeout, the fewer: {found} at {timeout_s} s");
        before = found;
    }
}

/// The printed equation has ∫F where the time that processes are held for is ∫(1 − F): too little for short
/// timeouts and too much for long ones.
#[test]
fn the_printed_equation_is_not_what_a_server_does() {
    const LENGTH_S: u64 = 100;
    for (timeout_s, ratio) in [(0.5, 5.15), (5.0, 0.425)] {
        let found = rate(&scene(&crowd(), timeout_s, LENGTH_S).play(), LENGTH_S);
        let held = f64::from(WORKERS) / found;
        let of_printed = held / printed_work_of_a_click(timeout_s);
        assert!((of_printed / ratio - 1.0).abs() < 0.1, "{held} s held, {of_printed} times what is printed");
    }
}

/// Early Close: a process is held for its request and a round trip, until the client's FIN is there.
#[test]
fn early_close_is_the_best_timeout() {
    const LENGTH_S: u64 = 40;
    let scene = scene(&crowd(), 15.0, LENGTH_S).policy("policy = 'early-close'\nrequest-timeout = '1h'");
    let found = rate(&scene.play(), LENGTH_S);
    let expected = f64::from(WORKERS) / (SERVICE_S + RTT_S);
    assert!((found / expected - 1.0).abs() < 0.03, "{found} of {expected} a second");
    let users = advice(1e3);
    let optimum = users.optimum();
    assert_eq!((optimum.timeout_s, optimum.work_s), (0.0, users.early_close_work_s()));
    assert!(found > 4.0 * f64::from(WORKERS) / work_of_a_click(0.2), "four times the shortest timeout tried");
}

/// λ E[W] < m is where sessions stop queueing without end (the paper's conjecture).
#[test]
fn sessions_queue_without_end_beyond_the_capacity() {
    const LENGTH_S: u64 = 400;
    const CLICKS: f64 = 4.0;
    let timeout_s = 1.0;
    let capacity = KeepAlive::capacity(advice(CLICKS).work_s(timeout_s), WORKERS);
    let waited = |share: f64| {
        let arrivals = share * capacity;
        let load = format!(
            "{{ model = 'hybrid', arrivals = '{arrivals}/s', requests = {{ distribution = 'geometric', mean = {CLICKS} }}, think = {THINK} }}"
        );
        let played = scene(&load, timeout_s, LENGTH_S).play();
        let late = (LENGTH_S - 100) * 1_000_000_000;
        let times: Vec<f64> = ok(&played)
            .filter(|sample| sample.done.as_ns() > late)
            .map(|sample| sample.response_time().as_secs_f64())
            .collect();
        times.iter().sum::<f64>() / times.len() as f64
    };
    let (below, beyond) = (waited(0.8), waited(1.3));
    assert!(below < 1.5, "{below} s for a page at 0.8 of the capacity");
    // A third more than can be served: after 300 s, those served now came long ago.
    assert!(beyond > 20.0, "{beyond} s for a page at 1.3 of the capacity");
}
