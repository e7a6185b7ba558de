//! Each check against runs in which it should and should not fail.

mod causes;
mod closed;
mod failing;
mod refused;

use super::scene::{END, good_run};
use super::*;
use crate::engine_stats::{MachineStats, NetworkStats, ServerEnd, ServerTime};
use crate::fold::scene::{fold, sample, window};
use crate::histogram::Histogram;
use crate::summary::{Heading, LoadKind};
use crate::threshold::Threshold;
use farfield_base::{Duration, Outcome, Sample, Share};

fn judge(fold: &Fold, stats: &EngineStats) -> Verdict {
    judge_at(fold, stats, END)
}

fn judge_at(fold: &Fold, stats: &EngineStats, until: Instant) -> Verdict {
    Asking::default().judge(fold, stats, until)
}

/// The demands on a run.
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
    fn judge(self, fold: &Fold, stats: &EngineStats, until: Instant) -> Verdict {
        let heading = Heading {
            farfield: String::new(),
            scenario: String::new(),
            note: None,
            path: None,
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
        let context =
            SummaryContext { heading: &heading, limits: &limits, thresholds: &thresholds, series_file: None };
        Verdict::judge(context, fold, stats, until)
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

fn network(stats: &mut EngineStats) -> &mut NetworkStats {
    stats.network.as_mut().expect("a network")
}

fn add(times: &mut Histogram, count: u64, time: Duration) {
    (0..count).for_each(|_| times.record(time));
}

fn failed(verdict: &Verdict) -> Vec<&str> {
    verdict.failed().map(|check| check.name.as_str()).collect()
}

#[test]
fn a_good_run_is_valid_with_every_check_passed() {
    let (fold, stats) = good_run();
    let verdict = judge(&fold, &stats);
    assert!(verdict.valid);
    assert!(verdict.checks.iter().all(|check| check.state == CheckState::Passed), "{verdict:?}");
    assert_eq!((verdict.checks.len(), verdict.changed_limits.len()), (27, 0));
}

/// Breaks one thing of a good run at a time: that check fails, and no other.
#[test]
fn each_check_catches_its_own() {
    type Break = fn(&mut EngineStats);
    let breaks: [(&str, Break); 16] = [
        ("completed", |stats| stats.interrupted = Some("Ctrl-C".to_owned())),
        ("server-ended", |stats| stats.server.as_mut().expect("a server").ended = Some(ServerEnd::default())),
        ("send-lateness", |stats| add(&mut stats.lateness, 2, Duration::from_us(1_002))),
        ("loop-lag", |stats| add(&mut stats.loop_lag, 2, Duration::from_ms(6))),
        ("worker-cpu", |stats| stats.workers[0].slept = Duration::from_ms(99)),
        ("longest-stall", |stats| stats.workers[0].stall = Some(Duration::from_ms(101))),
        ("achieved-rate", |stats| stats.arrivals.as_mut().expect("open").begun = 197),
        ("dropped-arrivals", |stats| stats.arrivals.as_mut().expect("open").dropped = 1),
        ("littles-law", |stats| stats.in_system_ns = 189_000_000),
        ("samples-lost", |stats| stats.generator.samples_lost = 1),
        ("departure-lateness", |stats| {
            add(&mut network(stats).lateness.departure, 2, Duration::from_us(1_002));
        }),
        ("delivery-lateness", |stats| {
            add(&mut network(stats).lateness.delivery, 2, Duration::from_us(1_002));
            let machine = MachineStats { processors: 2, others: 0.3, server: 0.1, ..MachineStats::default() };
            (stats.machine, stats.server_time) = (Some(machine), Some(ServerTime::default()));
        }),
        ("pickup-lateness", |stats| add(&mut network(stats).lateness.pickup, 2, Duration::from_us(1_002))),
        ("arrival-lateness", |stats| add(&mut network(stats).lateness.arrival, 2, Duration::from_us(1_002))),
        ("crossing-lateness", |stats| {
            add(&mut network(stats).lateness.crossing, 2, Duration::from_us(1_002))
        }),
        ("gateway-overruns", |stats| network(stats).packets.overruns = 1),
    ];
    for (name, damage) in breaks {
        let (fold, mut stats) = good_run();
        damage(&mut stats);
        let verdict = judge(&fold, &stats);
        assert_eq!(failed(&verdict), [name]);
        assert!(!verdict.valid);
        assert_eq!(verdict.first_cause().map(|check| check.name.as_str()), Some(name));
        assert!(verdict.failed().all(|check| check.advice.is_some()), "{name} does not say what to do");
    }
}

#[test]
fn at_its_limit_a_check_passes() {
    let (fold, mut stats) = good_run();
    stats.workers[0].slept = Duration::from_ms(100);
    stats.workers[0].stall = Some(Duration::from_ms(100));
    stats.arrivals.as_mut().expect("open").begun = 198; // 1 % of 200
    assert_eq!(failed(&judge(&fold, &stats)), [""; 0]);
}

#[test]
fn a_closed_loop_skips_what_it_cannot_miss_and_says_so() {
    let (fold, mut stats) = good_run();
    stats.arrivals = None;
    stats.lateness = Histogram::new();
    let verdict = judge(&fold, &stats);
    let skipped: Vec<_> = verdict.checks.iter().filter(|c| c.state == CheckState::Skipped).collect();
    let names: Vec<_> = skipped.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names, ["send-lateness", "dropped-arrivals", "achieved-rate"]);
    stats.network = None;
    let verdict = judge(&fold, &stats);
    let skipped: Vec<_> = verdict.checks.iter().filter(|c| c.state == CheckState::Skipped).collect();
    assert_eq!(skipped.len(), 10, "without a network its checks do not apply");
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
    let (fold, stats) = good_run();
    let verdict = judge_at(&fold, &stats, Instant::from_ns(999));
    assert_eq!(failed(&verdict), ["completed"]);
}

#[test]
fn a_load_that_ended_of_its_own_is_complete() {
    let (fold, mut stats) = good_run();
    stats.load_ended = true;
    assert!(judge_at(&fold, &stats, Instant::from_ns(999)).valid);
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
    let stats = EngineStats { in_system_ns: counted as u64 * MS, ..good_run().1 };
    let check = littles_law(&fold, &stats, &VerdictLimits::default());
    assert_eq!((check.state, check.measured), (CheckState::Passed, Some(0.0)));
}

/// Before its workers have reported, nothing is held against a run but that it goes on.
#[test]
fn a_run_in_progress_fails_no_check_for_what_is_reported_at_its_end() {
    let (fold, _) = good_run();
    let interrupted = Some("the run had not ended when this was written".to_owned());
    let stats = EngineStats { interrupted, ..EngineStats::default() };
    let verdict = judge(&fold, &stats);
    let failed: Vec<&str> = verdict.failed().map(|check| check.name.as_str()).collect();
    assert_eq!(failed, ["completed"]);
}

#[test]
fn nothing_but_errors_is_not_valid_and_says_what_to_do() {
    let check = succeeded(
        Asking::default(),
        &[(Outcome::Status4xx, 3), (Outcome::ConnectRefused, 190), (Outcome::Unfinished, 7)],
    );
    assert_eq!((check.state, check.measured, check.limit), (CheckState::Failed, Some(0.0), 0.01));
    assert_eq!(check.note.as_deref(), Some("0 of 200 requests succeeded and 190 were connect-refused"));
    assert_eq!(check.advice.as_deref(), Some("start the server, or correct the target"));
    let check = succeeded(Asking::default(), &[(Outcome::Unfinished, 5)]);
    assert_eq!(check.state, CheckState::Failed, "users who were never answered measured nothing");
    assert!(check.advice.expect("advice").ends_with("`run.drain`"));
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

/// A threshold of the scenario on errors outranks the check.
#[test]
fn a_scenario_that_says_what_may_fail_is_believed() {
    let refused = [(Outcome::ConnectRefused, 100)];
    let state =
        |threshold| succeeded(Asking { threshold: Some(threshold), ..Asking::default() }, &refused).state;
    for judges in ["errors<1%", "errors<=100%", "connect-refused>=100", "ok>0", "status.503>=90%"] {
        assert_eq!(state(judges), CheckState::Skipped, "{judges}");
    }
    // A server that is down keeps the first two of these.
    for other in ["status.5xx==0", "status.404<1", "p99<1s", "rate>10", "requests>10", "errors{dsl}<1%"] {
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

fn check<'a>(verdict: &'a Verdict, name: &str) -> &'a Check {
    verdict.checks.iter().find(|check| check.name == name).expect("a check")
}

/// A percentile of a few values and a share of a moment say nothing.
#[test]
fn a_run_of_a_moment_is_not_judged_by_shares() {
    let (fold, mut stats) = good_run();
    stats.workers[0] = crate::engine_stats::WorkerStats {
        wall: Duration::from_us(700),
        stall: Some(Duration::from_us(300)),
        ..Default::default()
    };
    (stats.lateness, stats.loop_lag) = (Histogram::new(), Histogram::new());
    add(&mut stats.lateness, 9, Duration::from_ms(9));
    add(&mut stats.loop_lag, 9, Duration::from_ms(9));
    let verdict = judge(&fold, &stats);
    assert!(verdict.valid, "{:?}", failed(&verdict));
    for name in ["worker-cpu", "loop-lag", "send-lateness"] {
        assert_eq!(check(&verdict, name).state, CheckState::Skipped, "{name}");
    }
    // From ten on one may be late, as one of a hundred may, and two may not.
    add(&mut stats.lateness, 1, Duration::from_us(1));
    assert_eq!(failed(&judge(&fold, &stats)), ["send-lateness"]);
    stats.lateness = Histogram::new();
    add(&mut stats.lateness, 9, Duration::from_us(1));
    add(&mut stats.lateness, 1, Duration::from_ms(9));
    assert!(judge(&fold, &stats).valid);
    add(&mut stats.lateness, 1, Duration::from_ms(9));
    assert_eq!(failed(&judge(&fold, &stats)), ["send-lateness"]);
}

/// A request each 5 ms, answered in 1 ms until the server falls silent.
fn silent_from(silent_ms: u64, outcome: Outcome) -> Verdict {
    silent_from_with(silent_ms, outcome, &[])
}

fn silent_from_with(silent_ms: u64, outcome: Outcome, outages_ms: &[(u64, u64)]) -> Verdict {
    const MS: u64 = 1_000_000;
    let request = |n: u64| match n * 5 < silent_ms {
        true => sample(n * 5 * MS, n * 5 * MS + MS),
        false => Sample { outcome, ..sample(n * 5 * MS, 1_200 * MS) },
    };
    let at = |ms: u64| Instant::from_ns(ms * MS);
    let outages: Vec<_> = outages_ms.iter().map(|(from, to)| (at(*from), at(*to))).collect();
    let fold = fold(window(0, 1000), &(0..200).map(request).collect::<Vec<_>>()).with_outages(&outages);
    let (in_system_ns, last) = (fold.residence().total_ns as u64, Duration::from_ms(silent_ms - 4));
    let stats = EngineStats { in_system_ns, last_received: Some(last), ..good_run().1 };
    Asking { succeeded: 0.0, ..Asking::default() }.judge(&fold, &stats, END)
}

#[test]
fn a_server_that_falls_silent_is_named_with_the_second() {
    for outcome in [Outcome::Unfinished, Outcome::ConnectRefused, Outcome::TimedOut] {
        let verdict = silent_from(500, outcome);
        assert_eq!(
            verdict.first_cause().map(|check| check.name.as_str()),
            Some("server-silent"),
            "{outcome:?}"
        );
        let silent = check(&verdict, "server-silent");
        assert_eq!(silent.note.as_deref(), Some("nothing came from the server after second 0.5"));
        assert_eq!(silent.measured, Some(504e6));
    }
    // Errors that the server itself answers with are no silence, nor is a pause that a tenth of the run
    // covers.
    for outcome in [Outcome::Status5xx, Outcome::Reset, Outcome::NoDescriptor] {
        let verdict = silent_from(500, outcome);
        assert_eq!(check(&verdict, "server-silent").state, CheckState::Passed, "{outcome:?}");
    }
    assert_eq!(check(&silent_from(850, Outcome::Unfinished), "server-silent").state, CheckState::Passed);
}

/// An outage that was asked for explains the silence in it, and none before it.
#[test]
fn an_outage_is_not_the_servers_silence() {
    let silent = |from_ms: u64| {
        let verdict = silent_from_with(500, Outcome::TimedOut, &[(from_ms, 2000)]);
        let silent = check(&verdict, "server-silent");
        (silent.state, silent.measured)
    };
    assert_eq!(silent(490), (CheckState::Passed, Some(0.0)));
    assert_eq!(silent(600), (CheckState::Passed, Some(104e6)));
    assert_eq!(silent(900), (CheckState::Failed, Some(404e6)));
}

/// Three longest response times are no silence: a slow server's users wait.
#[test]
fn a_slow_server_is_not_silent() {
    const MS: u64 = 1_000_000;
    let slow: Vec<_> = (0..200).map(|n| sample(n * MS, n * MS + 300 * MS)).collect();
    let cut = (0..200).map(|n| Sample { outcome: Outcome::Unfinished, ..sample((520 + n) * MS, 1_300 * MS) });
    let fold = fold(window(0, 1000), &slow.into_iter().chain(cut).collect::<Vec<_>>());
    let stats = EngineStats {
        in_system_ns: fold.residence().total_ns as u64,
        last_received: Some(Duration::from_ms(499)),
        ..good_run().1
    };
    assert_eq!(failed(&judge(&fold, &stats)), ["unfinished"]);
}

/// A lack of this machine is the run's fault, in the warm-up as well, and outranks that nothing succeeded.
#[test]
fn what_the_generator_lacked_makes_a_run_invalid() {
    let lack = |outcome| {
        let samples = [
            Sample { outcome, ..sample(1, 2) },
            Sample { outcome, ..sample(200_000_000, 200_000_001) },
            Sample { outcome, ..sample(200_000_003, 200_000_004) },
        ];
        judge(&fold(window(100, 1000), &samples), &good_run().1)
    };
    let verdict = lack(Outcome::NoDescriptor);
    let lacked = verdict.first_cause().expect("a cause");
    assert_eq!((lacked.name.as_str(), lacked.measured), ("generator-lacked", Some(3.0)));
    assert_eq!(lacked.note.as_deref(), Some("3 requests found no descriptor"));
    assert!(lacked.advice.as_ref().expect("advice").contains("ulimit -n"), "{lacked:?}");
    let succeeded = check(&verdict, "something-succeeded");
    assert_eq!(succeeded.follows_from.as_deref(), Some("generator-lacked"));
    let verdict = lack(Outcome::NoAddress);
    let lacked = verdict.first_cause().expect("a cause");
    assert!(lacked.advice.as_ref().expect("advice").contains("sockets.sources"), "{lacked:?}");
}

/// A worker that shakes hands and does little else is distinguished from one that is busy with requests.
#[test]
fn handshakes_that_saturate_a_worker_are_named() {
    for (handshakes_ms, named) in [(0, false), (300, false), (700, true)] {
        let (fold, mut stats) = good_run();
        stats.workers[0].slept = Duration::from_ms(50);
        stats.workers[0].handshakes = Duration::from_ms(handshakes_ms);
        let verdict = judge(&fold, &stats);
        let advice = check(&verdict, "worker-cpu").advice.clone().expect("advice");
        let words = "handshakes of TLS took 70 % of the busiest worker's time";
        assert_eq!(advice.contains(words), named, "{advice}");
        assert!(named || !advice.contains("handshakes"), "{advice}");
        assert!(advice.contains("about 120/s at most here"), "{advice}");
    }
}
