//! Each check against runs in which it should and should not fail.

use super::scene::{END, good_run};
use super::*;
use crate::facts::NetworkFacts;
use crate::fold::scene::{fold, sample, window};
use crate::summary::{Heading, LoadKind};
use crate::threshold::Threshold;
use farfield_base::{Outcome, Sample};

fn judge(fold: &Fold, facts: &EngineFacts) -> Verdict {
    judge_at(fold, facts, END)
}

fn judge_at(fold: &Fold, facts: &EngineFacts, until: Instant) -> Verdict {
    Asking::default().judge(fold, facts, until)
}

/// What is asked of a run.
#[derive(Clone, Copy)]
struct Asking {
    load: LoadKind,
    succeeded: f64,
    threshold: Option<&'static str>,
}

impl Default for Asking {
    fn default() -> Asking {
        Asking { load: LoadKind::Closed, succeeded: 0.01, threshold: None }
    }
}

impl Asking {
    fn judge(self, fold: &Fold, facts: &EngineFacts, until: Instant) -> Verdict {
        let heading = Heading {
            farfield: String::new(),
            scenario: String::new(),
            target: String::new(),
            seed: 1,
            load: self.load,
            load_words: String::new(),
            started_at: String::new(),
        };
        let succeeded = Share::new(self.succeeded).expect("a share");
        let limits = VerdictLimits { succeeded, ..VerdictLimits::default() };
        let thresholds: Vec<Threshold> =
            self.threshold.iter().map(|text| text.parse().expect("a threshold")).collect();
        let asked = Asked { heading: &heading, limits: &limits, thresholds: &thresholds, series_file: None };
        Verdict::judge(asked, fold, facts, until)
    }
}

/// A run of a second in which so many requests ended in each of these ways, and its check of what succeeded.
#[track_caller]
fn succeeded(asking: Asking, outcomes: &[(Outcome, u64)]) -> Check {
    let ends = outcomes.iter().flat_map(|(outcome, count)| std::iter::repeat_n(*outcome, *count as usize));
    let samples: Vec<Sample> =
        (0..).zip(ends).map(|(n, outcome)| Sample { outcome, ..sample(n * 1000, n * 1000 + 500) }).collect();
    let verdict = asking.judge(&fold(window(0, 1000), &samples), &good_run().1, END);
    verdict.checks.into_iter().find(|check| check.name == "something-succeeded").expect("the check")
}

fn network(facts: &mut EngineFacts) -> &mut NetworkFacts {
    facts.network.as_mut().expect("a network")
}

fn failed(verdict: &Verdict) -> Vec<&str> {
    verdict.failed().map(|check| check.name.as_str()).collect()
}

#[test]
fn a_good_run_is_valid_with_every_check_passed() {
    let (fold, facts) = good_run();
    let verdict = judge(&fold, &facts);
    assert!(verdict.valid);
    assert!(verdict.checks.iter().all(|check| check.state == CheckState::Passed), "{verdict:?}");
    assert_eq!(verdict.checks.len(), 16);
}

/// Breaks one thing of a good run at a time: that check fails, and no other.
#[test]
fn each_check_catches_its_own() {
    type Break = fn(&mut EngineFacts);
    let breaks: [(&str, Break); 12] = [
        ("completed", |facts| facts.interrupted = Some("Ctrl-C".to_owned())),
        ("send-lateness", |facts| facts.lateness.record(Duration::from_us(1_002))),
        ("loop-lag", |facts| facts.loop_lag.record(Duration::from_ms(6))),
        ("worker-cpu", |facts| facts.workers[0].slept = Duration::from_ms(99)),
        ("achieved-rate", |facts| facts.arrivals.as_mut().expect("open").begun = 197),
        ("dropped-arrivals", |facts| facts.arrivals.as_mut().expect("open").dropped = 1),
        ("littles-law", |facts| facts.in_system_ns = 189_000_000),
        ("samples-lost", |facts| facts.samples_lost = 1),
        ("departure-lateness", |facts| network(facts).departure_lateness.record(Duration::from_us(1_002))),
        ("arrival-lateness", |facts| network(facts).arrival_lateness.record(Duration::from_us(1_002))),
        ("crossing-lateness", |facts| network(facts).crossing_lateness.record(Duration::from_us(1_002))),
        ("gateway-overruns", |facts| network(facts).overruns = 1),
    ];
    for (name, damage) in breaks {
        let (fold, mut facts) = good_run();
        damage(&mut facts);
        let verdict = judge(&fold, &facts);
        assert_eq!(failed(&verdict), [name]);
        assert!(!verdict.valid);
    }
}

#[test]
fn at_its_limit_a_check_passes() {
    let (fold, mut facts) = good_run();
    facts.workers[0].slept = Duration::from_ms(100);
    facts.arrivals.as_mut().expect("open").begun = 198; // 1 % of 200
    assert_eq!(failed(&judge(&fold, &facts)), [""; 0]);
}

#[test]
fn a_closed_loop_skips_what_it_cannot_miss_and_says_so() {
    let (fold, mut facts) = good_run();
    facts.arrivals = None;
    facts.lateness = Histogram::new();
    let verdict = judge(&fold, &facts);
    let skipped: Vec<_> = verdict.checks.iter().filter(|c| c.state == CheckState::Skipped).collect();
    let names: Vec<_> = skipped.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names, ["send-lateness", "achieved-rate", "dropped-arrivals"]);
    facts.network = None;
    let verdict = judge(&fold, &facts);
    let skipped: Vec<_> = verdict.checks.iter().filter(|c| c.state == CheckState::Skipped).collect();
    assert_eq!(skipped.len(), 7, "without a network its checks do not apply");
    assert!(skipped.iter().all(|check| check.note.is_some() && check.measured.is_none()));
    assert!(verdict.valid);
}

#[test]
fn nothing_measured_is_not_valid() {
    let verdict = judge(&fold(window(0, 1000), &[]), &good_run().1);
    let failed = failed(&verdict);
    assert!(failed.contains(&"something-measured") && !failed.contains(&"something-succeeded"));
}

#[test]
fn a_run_that_is_not_over_is_not_complete() {
    let (fold, facts) = good_run();
    let verdict = judge_at(&fold, &facts, Instant::from_ns(999));
    assert_eq!(failed(&verdict), ["completed"]);
}

#[test]
fn a_load_that_ended_of_its_own_is_complete() {
    let (fold, mut facts) = good_run();
    facts.load_ended = true;
    assert!(judge_at(&fold, &facts, Instant::from_ns(999)).valid);
}

/// A queue that grows through the window and outlives it: the naive λW is off by far, the clipped one
/// is not.
#[test]
fn littles_law_holds_for_a_growing_queue() {
    const MS: u64 = 1_000_000;
    // Due every ms over 1 s, the n-th takes 2n + 1 ms: at the window's end half of them are still
    // there.
    let samples: Vec<_> = (0..1000).map(|n| sample(n * MS, (3 * n + 1) * MS)).collect();
    let fold = fold(window(0, 1000), &samples);
    // N(t), counted a millisecond at a time.
    let in_system =
        |t: u64| samples.iter().filter(|s| s.due.as_ns() <= t * MS && t * MS < s.done.as_ns()).count();
    let counted: usize = (0..1000).map(in_system).sum();
    let facts = EngineFacts { in_system_ns: counted as u64 * MS, ..good_run().1 };
    let check = littles_law(&fold, &facts, &VerdictLimits::default());
    assert_eq!((check.state, check.measured), (CheckState::Passed, Some(0.0)));
}

#[test]
fn nothing_but_errors_is_not_valid_and_says_what_to_do() {
    let check = succeeded(
        Asking::default(),
        &[(Outcome::Status4xx, 3), (Outcome::ConnectRefused, 190), (Outcome::Unfinished, 7)],
    );
    assert_eq!((check.state, check.measured, check.limit), (CheckState::Failed, Some(0.0), 0.01));
    let note =
        "0 of 200 requests succeeded and 190 were connect-refused: start the server, or mend the target";
    assert_eq!(check.note.as_deref(), Some(note));
    let check = succeeded(Asking::default(), &[(Outcome::Unfinished, 5)]);
    assert_eq!(check.state, CheckState::Failed, "users who were never answered measured nothing");
    assert!(check.note.expect("a note").ends_with("`run.drain`"));
}

/// The share is that of the requests whose end was seen, and may be just what it must be.
#[test]
fn a_server_that_fails_often_is_still_measured() {
    let of = |ok, failed, cut| {
        let asking = Asking::default();
        succeeded(asking, &[(Outcome::Ok, ok), (Outcome::Status5xx, failed), (Outcome::Unfinished, cut)])
            .state
    };
    assert_eq!(of(1, 99, 0), CheckState::Passed);
    assert_eq!(of(1, 100, 0), CheckState::Failed);
    assert_eq!(of(1, 99, 100), CheckState::Passed);
    assert_eq!(of(1, 0, 0), CheckState::Passed);
    let half = Asking { succeeded: 0.5, ..Asking::default() };
    let check = succeeded(half, &[(Outcome::Ok, 40), (Outcome::TimedOut, 60)]);
    assert_eq!((check.state, check.measured), (CheckState::Failed, Some(0.4)));
}

/// What the scenario says of errors outranks the check.
#[test]
fn a_scenario_that_says_what_may_fail_is_believed() {
    let refused = [(Outcome::ConnectRefused, 100)];
    let state =
        |threshold| succeeded(Asking { threshold: Some(threshold), ..Asking::default() }, &refused).state;
    for judges in ["errors<1%", "errors<=100%", "connect-refused>=100", "ok>0"] {
        assert_eq!(state(judges), CheckState::Skipped, "{judges}");
    }
    for other in ["p99<1s", "rate>10", "requests>10", "errors{dsl}<1%"] {
        assert_eq!(state(other), CheckState::Failed, "{other}");
    }
    let allowed = Asking { succeeded: 0.0, ..Asking::default() };
    assert_eq!(succeeded(allowed, &refused).state, CheckState::Skipped);
}

#[test]
fn of_an_overload_one_success_is_enough() {
    let overload = Asking { load: LoadKind::Overload, ..Asking::default() };
    let abandoned = (Outcome::ConnectAbandoned, 999);
    assert_eq!(succeeded(overload, &[(Outcome::Ok, 1), abandoned]).state, CheckState::Skipped);
    assert_eq!(succeeded(overload, &[abandoned]).state, CheckState::Failed);
    assert_eq!(succeeded(Asking::default(), &[(Outcome::Ok, 1), abandoned]).state, CheckState::Failed);
    // Before the measured part counts as well: a server may give way later.
    let before = [sample(1, 2), Sample { outcome: Outcome::Reset, ..sample(200_000_000, 200_000_001) }];
    let late = overload.judge(&fold(window(100, 1000), &before), &good_run().1, END);
    assert!(!failed(&late).contains(&"something-succeeded"));
}

#[test]
fn limits_are_read_by_name() {
    let limits: VerdictLimits =
        serde_json::from_str(r#"{"lateness-p99": "200us", "worker-busy": "80%"}"#).expect("limits");
    assert_eq!(limits.lateness_p99, Duration::from_us(200));
    assert_eq!(limits.loop_lag_p99, Duration::from_ms(5));
    assert!(serde_json::from_str::<VerdictLimits>(r#"{"lateness": "200us"}"#).is_err());
}
