//! Seconds that are set aside by choice: those in which farfield itself was stopped, and never those of a
//! server that stands still. The summary of what is left is counted again from the samples.

use crate::common::{Ended, Place, Running, Signal, try_poll};
use farfield_measure::set_aside::SetAsideSummary;
use farfield_verify::recount::{Evidence, recount};
use std::time::Duration;

const LOAD: &str = "-R 100 -d 5s --set-aside --set run.drain=3s";

/// Lets this much time pass.
fn pass(time: Duration) {
    let _ = try_poll::<()>(time, || None);
}

fn aside(ended: &Ended) -> SetAsideSummary {
    ended.summary().set_aside.expect("asked for")
}

#[track_caller]
fn is_counted_again(ended: &Ended) {
    let (samples, said) =
        (ended.samples(), serde_json::to_value(ended.summary()).expect("names are strings"));
    let evidence = Evidence { samples: &samples, events: None, asked: None, capture: None };
    let found = recount(&said, evidence).expect("a run that has ended");
    assert_eq!((found.differences, found.unread), (Vec::new(), Vec::new()));
    // Without what is set aside nothing agrees.
    let mut other = said;
    if other["set_aside"]["seconds"].as_array().is_some_and(|seconds| !seconds.is_empty()) {
        other["set_aside"]["seconds"] = serde_json::json!([]);
        let found = recount(&other, evidence).expect("a run that has ended");
        assert!(found.differences.len() > 3, "{:?}", found.differences);
    }
}

fn begin(place: &Place, url: &str) -> Running {
    let running = place.begin_run(&format!("{url}/bytes/100 {LOAD}"));
    running.await_checkpoint();
    running
}

#[test]
fn a_second_in_which_farfield_was_stopped_is_set_aside_and_the_run_lasts_longer() {
    let place = Place::new();
    let server = place.serve("");
    let running = begin(&place, &server.url);
    running.signal(Signal::STOP);
    pass(Duration::from_millis(500));
    running.signal(Signal::CONT);
    let ended = running.ended();
    let (summary, aside) = (ended.summary(), aside(&ended));
    let stopped: Vec<_> =
        aside.seconds.iter().filter(|own| own.disturbances.iter().any(|name| name == "stopped")).collect();
    assert!(!stopped.is_empty(), "{aside:?}");
    assert!(aside.requests >= 20, "{aside:?}");
    // As much is left as was asked for, unless the machine is disturbed without end.
    let set_aside_ns: u64 = aside.seconds.iter().map(|own| own.to_ns - own.from_ns).sum();
    assert_eq!(summary.phases.steady_ns, aside.left_ns + set_aside_ns);
    assert!(summary.phases.steady_ns > 5_000_000_000, "{:?}", summary.phases);
    // All that waited for the stop was due in what is set aside.
    let waited = ended.samples();
    let is_aside = |ns: u64| aside.seconds.iter().any(|own| (own.from_ns..own.to_ns).contains(&ns));
    let late: Vec<_> = waited.iter().filter(|own| own.response_time().as_ns() > 300_000_000).collect();
    assert!(late.len() >= 5, "of {}", waited.len());
    // Beside other work the server itself may stand still for a moment.
    let outside = late.iter().filter(|own| !is_aside(own.due.as_ns())).count();
    assert!(outside * 4 <= late.len(), "{outside} of {}, {aside:?}", late.len());
    assert!(ended.stdout.contains("set aside"), "{}", ended.stdout);
    is_counted_again(&ended);
    let csv = place.farfield(&format!("report {} --format csv", ended.directory.display()));
    let marked = csv.stdout.lines().filter(|line| line.ends_with(",set-aside")).count();
    assert_eq!(marked as u64, aside.requests, "{}", csv.stderr);
}

#[test]
fn a_server_that_stands_still_has_all_its_seconds() {
    let place = Place::new();
    let server = place.serve("");
    let running = begin(&place, &server.url);
    server.signal(Signal::STOP);
    pass(Duration::from_millis(1_500));
    server.signal(Signal::CONT);
    let ended = running.ended();
    let aside = aside(&ended);
    let samples = ended.samples();
    let slow: Vec<_> = samples.iter().filter(|own| own.response_time().as_ns() > 300_000_000).collect();
    assert!(slow.len() >= 80, "{}", slow.len());
    // Beside other work farfield itself may have been stopped in one of these seconds.
    let is_aside = |ns: u64| aside.seconds.iter().any(|own| (own.from_ns..own.to_ns).contains(&ns));
    let left = slow.iter().filter(|own| !is_aside(own.due.as_ns())).count();
    assert!(2 * left > slow.len(), "{left} of {}, {aside:?}", slow.len());
    let longest = ended.summary().steady.times.response.as_ref().map_or(0, |own| own.max_ns);
    assert!(longest > 1_000_000_000, "{longest}, {aside:?}");
    assert!(aside.seconds.iter().all(|own| own.disturbances == ["stopped"]), "{aside:?}");
    is_counted_again(&ended);
}
