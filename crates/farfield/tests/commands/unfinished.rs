//! Servers that stop answering and never close: what is open at the end of the run is counted, breaks
//! thresholds, and makes a run invalid where it could change the answer.
//!
//! A machine that is busy makes these runs later, not other: the server is stopped after the first
//! checkpoint, a second into the run, and what was asked of it in the seconds that are left stays open.

use crate::common::{Ended, FarfieldServer, Place, Signal, count};
use farfield_base::{Outcome, Sample};
use farfield_measure::Quantile;
use farfield_measure::summary::{EstimatedTime, PartSummary};
use farfield_measure::verdict::CheckState;

/// A run on a server that is stopped after the first checkpoint, and never goes on. Where this process got no
/// processor until the load was over, the server was stopped too late, and the run is made again.
fn stopped_in_mid_run(place: &Place, words: &str) -> Ended {
    let hangs = |ended: &Ended| {
        let open = |sample: &Sample| matches!(sample.outcome, Outcome::TimedOut | Outcome::Unfinished);
        ended.samples().iter().any(open)
    };
    let mut runs = (0..3).map(|_| stopped_once(place, words));
    runs.find(hangs).expect("a server that was stopped while it was asked")
}

fn stopped_once(place: &Place, words: &str) -> Ended {
    let server: FarfieldServer = place.serve("");
    let run = place.begin_run(&format!("{}/bytes/100 {words}", server.url));
    run.await_checkpoint();
    server.signal(Signal::STOP);
    let ended = run.ended();
    // So that it can be ended.
    server.signal(Signal::CONT);
    ended
}

/// The state of the run's check `name`.
#[track_caller]
fn state(ended: &Ended, name: &str) -> CheckState {
    let verdict = ended.summary().verdict;
    verdict.checks.iter().find(|check| check.name == name).unwrap_or_else(|| panic!("no {name}")).state
}

/// Every request that was due in the measured part has an outcome and a row.
#[track_caller]
fn all_are_accounted_for(ended: &Ended) -> (PartSummary, Vec<Sample>) {
    let (summary, samples) = (ended.summary(), ended.samples());
    let from = summary.phases.warm_up_ns;
    let to = from + summary.phases.steady_ns;
    let rows = samples.iter().filter(|sample| (from..to).contains(&sample.due.as_ns())).count() as u64;
    let outcomes: u64 = summary.steady.outcomes.iter().map(|outcome| outcome.count).sum();
    assert_eq!((rows, outcomes), (summary.steady.requests, summary.steady.requests));
    if let Some(arrivals) = summary.generator.arrivals {
        assert_eq!(arrivals.scheduled, summary.steady.requests);
    }
    (summary.steady, samples)
}

/// By default a request has 5 s in a run of 4 s, and the drain takes as long: those that hang time out.
#[test]
fn an_open_load_on_a_server_that_hangs_breaks_its_thresholds() {
    let place = Place::new();
    let thresholds = "--threshold errors<0.1% --threshold p99<200ms";
    let ended = stopped_in_mid_run(&place, &format!("-R 50 -d 4s {thresholds}"));
    assert!(matches!(ended.code, Some(3 | 99)), "{ended:?}");
    let (steady, _) = all_are_accounted_for(&ended);
    let hung = count(&steady, Outcome::TimedOut) + count(&steady, Outcome::Unfinished);
    assert!(count(&steady, Outcome::TimedOut) > 0 && hung > 20, "{:?}", steady.outcomes);
    let results = ended.summary().thresholds;
    assert!(results.iter().all(|result| !result.passed), "{results:?}");
    let p99 = &results[1];
    assert!(p99.is_lower_bound && p99.measured > Some(4.9e9), "a request that timed out took 5 s: {p99:?}");
}

/// With less time to drain than a request has, those that hang are unfinished, and the verdict says what is
/// not known.
#[test]
fn what_is_open_after_the_drain_is_unfinished() {
    let place = Place::new();
    let thresholds = "--threshold errors<0.1% --threshold p99<200ms";
    let ended = stopped_in_mid_run(&place, &format!("-R 50 -d 4s --set run.drain=1s {thresholds}")).exits(3);
    let (steady, samples) = all_are_accounted_for(&ended);
    let unfinished = count(&steady, Outcome::Unfinished);
    assert!(unfinished > 20 && steady.error_share > Some(0.1), "{:?}", steady.outcomes);
    let ages = steady.unfinished.expect("ages");
    assert!(ages.count == unfinished && ages.min_ns >= 1_000_000_000, "{ages:?}");
    let of_rows: Vec<_> = samples.iter().filter(|sample| sample.outcome == Outcome::Unfinished).collect();
    assert!(of_rows.iter().all(|sample| sample.response_time().as_ns() >= 1_000_000_000));
    assert!(ended.summary().thresholds.iter().all(|threshold| !threshold.passed));
    assert_eq!(state(&ended, "unfinished"), CheckState::Failed);
    let estimate = steady.estimates.response.expect("an estimate");
    let p99 = estimate.quantile(Quantile::P99).expect("a p99");
    assert!(p99.is_lower_bound && p99.value_ns > 1_000_000_000, "{p99:?}");
    assert!(ended.stdout.contains("  estimate ") && ended.stdout.contains("unfinished "), "{}", ended.stdout);
}

/// Ten users who hang are few among all requests, but most of the time that was waited.
#[test]
fn a_closed_load_on_a_server_that_hangs_is_invalid() {
    let place = Place::new();
    let ended = stopped_in_mid_run(&place, "-c 10 -d 4s").exits(3);
    let (steady, _) = all_are_accounted_for(&ended);
    let hung = count(&steady, Outcome::TimedOut) + count(&steady, Outcome::Unfinished);
    assert_eq!(hung, 10, "{:?}", steady.outcomes);
    assert_eq!(state(&ended, "response-time-law"), CheckState::Failed);
}

/// A server that is slow and answers is as it was: a plain short run has nothing unfinished, since it drains.
#[test]
fn a_plain_run_has_nothing_unfinished() {
    let place = Place::new();
    let server = place.serve("");
    for load in ["-R 100", "-c 4", "-n 50 -c 2"] {
        let ended = place.run(&format!("{}/delay/50 {load}", server.url)).exits(0);
        let (steady, _) = all_are_accounted_for(&ended);
        assert_eq!(count(&steady, Outcome::Unfinished), 0, "{load}");
        assert_eq!((steady.unfinished, steady.estimates.response), (None, None), "{load}");
    }
}

/// The scenario's word on unfinished requests stands: here of a server whose answers take longer than the
/// drain.
#[test]
fn a_scenario_may_ignore_what_is_unfinished() {
    let place = Place::new();
    let server = place.serve("");
    let words = format!("{}/delay/300 -R 50 --set run.drain=0s --threshold errors<0.1%", server.url);
    place.run(&words).exits(3);
    let ended = place.run(&format!("{words} --set run.unfinished=ignore")).exits(0);
    let (steady, _) = all_are_accounted_for(&ended);
    assert!(count(&steady, Outcome::Unfinished) > 5 && steady.error_share == Some(0.0));
    assert!(steady.unfinished.is_some() && steady.estimates.response.is_none());
    assert_eq!(state(&ended, "unfinished"), CheckState::Skipped);
}

/// An open load on a server with room for all, whose service times are exponential with a mean of 500 ms, in
/// virtual time. The run is made twice with the same seed: once it waits for all replies, which is the exact
/// answer; once it ends with the load, when a quarter of all requests are open. The survivors' p90 and mean
/// are far too low; the estimate is not.
#[test]
fn in_virtual_time_the_estimate_meets_the_exact_answer() {
    let place = Place::new();
    let scenario = |drain: &str| {
        format!(
            "plane = 'simulated'\nrun = {{ duration = '2s', warm-up = '0s', drain = '{drain}' }}\n\
             load = {{ model = 'open', arrivals = {{ process = 'poisson', rate = '1000/s' }} }}\n\
             connections.request-timeout = '1h'\nnetwork = {{ clients = 64, rtt = '2ms' }}\n\
             simulated = {{ workers = 100000, service-time = {{ distribution = 'exponential', mean = '500ms' }} }}\n"
        )
    };
    let run = |name: &str, drain: &str, code| {
        place.write(&format!("{name}.toml"), scenario(drain));
        let ended = place.farfield(&format!("run {name}.toml -q -o {name}")).exits(code);
        Ended { directory: place.path(name), ..ended }
    };
    let (exact, cut) = (run("exact", "1h", 0), run("cut", "0s", 3));
    let (exact_part, _) = all_are_accounted_for(&exact);
    let (cut_part, _) = all_are_accounted_for(&cut);
    assert_eq!(exact_part.requests, cut_part.requests);
    let open = count(&cut_part, Outcome::Unfinished) as f64 / cut_part.requests as f64;
    assert!((0.2..0.3).contains(&open), "{open} are open");
    let truth = exact_part.times.response.expect("times");
    let survivors = cut_part.times.response.expect("times");
    let estimate = cut_part.estimates.response.expect("an estimate");
    let off = |found: u64, truth: u64| found as f64 / truth as f64 - 1.0;
    let of = |quantile: Quantile| {
        let exact = truth.quantile_ns(quantile).expect("a quantile");
        let EstimatedTime { value_ns, is_lower_bound } = estimate.quantile(quantile).expect("a quantile");
        assert!(!is_lower_bound, "{quantile}");
        (off(value_ns, exact), off(survivors.quantile_ns(quantile).expect("a quantile"), exact))
    };
    let offs = [Quantile::P50, Quantile::P90].map(of);
    eprintln!("off the exact answer, estimate and survivors: {offs:?}");
    for (estimated, seen) in offs {
        assert!(estimated.abs() < 0.06, "the estimate is off by {estimated}");
        assert!(seen < -0.15, "survivors alone are off by {seen}");
    }
    let (mean, mean_seen) =
        (off(estimate.mean.value_ns, truth.mean_ns), off(survivors.mean_ns, truth.mean_ns));
    // Of the mean, what lies beyond the largest age is missing: 2 s of an exponential's 500 ms, 2 %.
    assert!(mean.abs() < 0.06 && mean_seen < -0.2, "{mean} and {mean_seen}");
}

/// A closed load far past what a link carries, in virtual time: of 2,000 users some are served quickly all
/// the time, the others wait all through the measured part for what they asked for before, and what is due in
/// it are the quick ones' requests alone. None of these is unfinished after the drain; their mean is that of
/// the survivors, and the law says so.
#[test]
fn a_closed_load_far_past_capacity_does_not_report_the_quick_ones() {
    let place = Place::new();
    place.write(
        "far.toml",
        "plane = 'simulated'\nrun = { duration = '3s', warm-up = '2s' }\nload = { model = 'closed', users = 2000, ramp = '0s' }\n\
         connections = { requests-per-connection = 4, request-timeout = '1h' }\n\
         network = { clients = 2000, rtt = '4ms', shared = { down = { rate = '20Mbit/s', queue = '4KiB' }, up = {} } }\n\
         simulated = { workers = 2000, backlog = 10000, service-time = '1ms', reply-size = '10KiB' }\n",
    );
    let ended = place.farfield("run far.toml -q -o far").exits(3);
    let summary = Ended { directory: place.path("far"), ..ended }.summary();
    let failed: Vec<_> = summary.verdict.failed().collect();
    let [check] = failed[..] else { panic!("{failed:?}") };
    assert_eq!(check.name, "response-time-law");
    let rate = summary.steady.rates.expect("rates").succeeded_per_s;
    let (by_the_law, mean) =
        (2000.0 / rate, summary.steady.times.response.expect("times").mean_ns as f64 / 1e9);
    assert!(by_the_law > 10.0 * mean, "{by_the_law} s by the law, {mean} s reported");
    let note = check.note.as_deref().unwrap_or_default();
    let law_ms = format!("{:.1} ms by the users' number", by_the_law * 1e3);
    assert!(note.contains(&law_ms), "{law_ms} is not in: {note}");
}
