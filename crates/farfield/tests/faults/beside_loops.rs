//! Runs beside other work that always has something to do, with the default limits or such as people set:
//! what it holds up is named.

use super::planted::{cause, check};
use crate::common::wan::Wan;
use crate::common::{Ended, Place, Process, Signal, alone, poll};
use farfield_measure::verdict::CheckState;
use std::process::Command;

const FARFIELD: &str = env!("CARGO_BIN_EXE_farfield");

/// Loops of this niceness, as many for each processor, that end with this.
struct Loops(Vec<Process>);

impl Loops {
    fn start(place: &Place, for_each: usize, niceness: u8) -> Loops {
        let processors = std::thread::available_parallelism().expect("processors").get();
        let line = format!("exec nice -n {niceness} sh -c 'while :; do :; done'");
        let start = |_| Process::start(Command::new("/bin/sh").args(["-c", &line]), place);
        Loops((0..processors * for_each).map(start).collect())
    }

    fn end(mut self) {
        self.0.iter_mut().for_each(|one| one.signal(Signal::KILL));
        poll("the loops to end", || self.0.iter_mut().all(|one| one.ended().is_some()).then_some(()));
    }
}

/// Other work on every processor, which an emulated run's shard outruns at a real-time priority: the server
/// cannot, and is slower than it is.
#[test]
fn a_server_that_others_hold_up_is_named() {
    let test = "a_server_that_others_hold_up_is_named";
    let _alone = alone();
    let command = vec![FARFIELD.to_owned(), "serve".into(), "0.0.0.0:80".into()];
    let Some(wan) = Wan::of(test, command) else { return };
    let others = Loops::start(&wan.place, 2, 0);
    let scenario = "load = { model = 'closed', users = 20 }\nnetwork = { clients = 20, rtt = '2ms' }\n\
                    requests.request = [{ path = '/bytes/20000' }]\nrun = { warm-up = '0s', duration = '2s' }";
    let words = "--set verdict.server-held-up=0.05 --set verdict.response-time-law=1";
    let ended = wan.run(scenario, words);
    others.end();
    let cause = cause(&ended);
    assert_eq!(cause.name, "server-held-up", "{cause:?}");
    let note = cause.note.expect("a note");
    // Other tests may have taken more than the loops.
    let (names, _) = note.split_once(" held its processors for ").expect("who, and for how long");
    assert!(names.ends_with(" %"), "{note}");
}

/// Other work, of the usual priority or below, that keeps the kernel's receive work from its processor, next
/// to a shard that outruns it, or a shard from what the server has sent: the time of a connection is that of
/// the path, or the verdict says that packets were kept waiting.
#[test]
fn packets_that_others_keep_at_the_gateway_are_late() {
    let test = "packets_that_others_keep_at_the_gateway_are_late";
    let _alone = alone();
    let command = vec![FARFIELD.to_owned(), "serve".into(), "0.0.0.0:80".into()];
    let Some(wan) = Wan::of(test, command) else { return };
    let scenario = "load = { model = 'closed', users = 4, think = '20ms' }\nconnections.policy = 'one-request'\n\
                    network = { clients = 4, rtt = '20ms' }\nrequests.request = [{ path = '/bytes/100' }]\n\
                    run = { warm-up = '0s', duration = '3s' }";
    let limits = ["departure", "delivery", "pickup", "arrival"]
        .map(|of| format!("--set verdict.{of}-lateness-p99=1ms"));
    // Where a shard does the receive work itself, nothing else is late than its own reads.
    let inline = "--set server.receive-processors=[] --set network.real-time=false";
    for (niceness, words) in [(0, ""), (19, ""), (0, inline)] {
        let others = Loops::start(&wan.place, 1, niceness);
        let ended = wan.run(scenario, &format!("{} {words}", limits.join(" ")));
        others.end();
        let summary = ended.summary();
        let network = summary.network.as_ref().expect("an emulated network");
        for times in [&network.lateness.delivery, &network.lateness.pickup] {
            let count = times.as_ref().map_or(0, |times| times.count);
            assert!(count > 50, "niceness {niceness}: {count} probes or reads");
        }
        let connect = summary.steady.times.connect.as_ref().expect("connections").quantiles[0].value_ns;
        let failed: Vec<&str> = summary.verdict.failed().map(|check| check.name.as_str()).collect();
        let beyond_us = connect.saturating_sub(20_000_000) / 1_000;
        eprintln!("niceness {niceness}: {beyond_us} µs beyond the path, failed: {failed:?}");
        // The receive thread is what the loops hold up beside a shard that goes before them; a shard that
        // does not is late by itself on either way.
        let first = summary.generator.placement.as_ref().is_some_and(|line| line.contains("real-time"));
        let may_name: &[&str] = match (words == inline, first) {
            (false, true) => &["delivery-lateness"],
            (false, false) => &["departure-lateness", "delivery-lateness", "pickup-lateness"],
            (true, _) => &["departure-lateness", "pickup-lateness"],
        };
        let named = failed.iter().any(|name| may_name.contains(name));
        assert!(beyond_us <= 100 || named, "niceness {niceness}: {beyond_us} µs beyond the path, {failed:?}");
    }
}

/// Other work on every processor: where the run is late for it, that is the first cause, and not the five
/// symptoms.
#[test]
fn a_busy_machine_is_named() {
    let _alone = alone();
    let place = Place::new();
    let server = place.serve("");
    // Twice as many as there are processors, each of which always has something to do.
    let others = Loops::start(&place, 2, 0);
    let words = format!("run {}/bytes/100 -R 2000 -d 2s --warm-up 500ms -t 1 -q -o run", server.url);
    let ended = Ended { directory: place.path("run"), ..place.farfield(&words) };
    others.end();
    let busy = check(&ended, "machine-busy");
    match busy.state {
        CheckState::Failed => {
            assert_eq!(cause(&ended).name, "machine-busy");
            assert!(busy.note.expect("a note").contains("load "), "{:?}", ended.stdout);
        }
        // A scheduler that lets the worker on at once keeps it punctual all the same.
        _ => assert_eq!(ended.code, Some(0), "{}", ended.stdout),
    }
}

/// Users who ask again as soon as they are answered, beside loops: no schedule shows what is late, and that
/// the worker waited for its processor is a failure by itself.
#[test]
fn a_closed_load_without_think_time_beside_loops_is_named() {
    let _alone = alone();
    let place = Place::new();
    let server = place.serve("");
    let others = Loops::start(&place, 2, 0);
    let words = format!("run {}/bytes/100 -c 4 -d 1s --warm-up 200ms -t 1 -q -o run", server.url);
    let ended = Ended { directory: place.path("run"), ..place.farfield(&words) };
    others.end();
    let cause = cause(&ended);
    assert_eq!(cause.name, "machine-busy", "{}", ended.stdout);
    assert!(cause.measured.is_some_and(|waited| waited > 0.1), "{cause:?}");
}
