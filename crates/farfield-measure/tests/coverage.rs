//! Intervals contain the true number as often as they say, for processes whose truth is known.
//! docs/statistics.md has the table of more runs, by `cargo bench -p farfield-measure --bench coverage`.

#[path = "../benches/coverage/measured.rs"]
mod measured;
#[path = "../benches/coverage/processes.rs"]
mod processes;

use measured::Truth;
use processes::{Process, Tally};

const RUNS: u64 = 200;

/// The shares of runs whose intervals contain the truth, each within four standard deviations of a binomial
/// count about 95 %, of those which at least half of the runs have.
fn covers(process: Process, requests: usize, expected: &[&str]) {
    let truth = Truth::of(process, std::iter::empty());
    let mut tally = Tally::default();
    (0..RUNS).for_each(|seed| measured::count(&mut tally, &process.run(seed, requests), &truth));
    let deviation = (0.95 * 0.05 / RUNS as f64).sqrt();
    for name in expected {
        let count = tally.0[name];
        assert!(2 * count.given >= count.runs, "{name}: {} of {} have an interval", count.given, count.runs);
        let covered = f64::from(count.covered) / f64::from(count.given);
        assert!((covered - 0.95).abs() < 4.0 * deviation, "{name} of {process:?}: {covered}");
    }
}

#[test]
fn of_independent_requests() {
    covers(
        Process::Independent,
        3_000,
        &["p50", "p90", "p95", "p99", "mean", "rate", "offered", "errors", "one outcome"],
    );
}

#[test]
fn of_a_queue_at_half_load() {
    covers(
        Process::Queue { load: 0.5 },
        4_000,
        &["p50", "p90", "p95", "mean", "rate", "offered", "errors", "one outcome"],
    );
}

#[test]
fn of_a_queue_at_high_load() {
    covers(Process::Queue { load: 0.8 }, 8_000, &["p50", "p90", "rate", "errors"]);
}

#[test]
fn of_hybrid_sessions() {
    covers(Process::Sessions { load: 0.5, think: 20.0 }, 8_000, &["p50", "p90", "p95"]);
}

#[test]
fn of_a_closed_loop() {
    covers(
        Process::Closed { users: 80, think: 100.0 },
        4_000,
        &["p50", "rate", "offered", "errors", "one outcome"],
    );
}

/// Arrivals alone say nothing of the rate in a run: most runs have no interval of it.
#[test]
fn of_times_beside_self_similar_arrivals() {
    let process = Process::SelfSimilar { hurst: 0.8, load: 0.5, queue: false };
    covers(process, 4_000, &["p50", "p90", "mean"]);
    let truth = Truth::of(process, std::iter::empty());
    let mut tally = Tally::default();
    (0..100).for_each(|seed| measured::count(&mut tally, &process.run(seed, 8_000), &truth));
    assert!(tally.0["rate"].given <= 50, "{} of 100 have an interval", tally.0["rate"].given);
}

/// A run too short for its queue has no p99, and says how long it takes.
#[test]
fn a_short_run_of_a_long_queue_is_refused() {
    let process = Process::Queue { load: 0.95 };
    let truth = Truth::of(process, std::iter::empty());
    let mut tally = Tally::default();
    (0..50).for_each(|seed| measured::count(&mut tally, &process.run(seed, 8_000), &truth));
    for name in ["p95", "p99", "mean"] {
        assert!(tally.0[name].given <= 3, "{name}: {} of 50 have an interval", tally.0[name].given);
    }
}
