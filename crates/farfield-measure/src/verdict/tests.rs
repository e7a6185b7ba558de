//! Each check against runs in which it should and should not fail.

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
    fn judge(self, fold: &Fold, stats: &EngineStats, until: Instant) -> Verdict {
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
        ("samples-lost", |stats| stats.samples_lost = 1),
        ("departure-lateness", |stats| {
            add(&mut network(stats).departure_lateness, 2, Duration::from_us(1_002));
        }),
        ("delivery-lateness", |stats| {
            add(&mut network(stats).delivery_lateness, 2, Duration::from_us(1_002));
            let machine = MachineStats { processors: 2, others: 0.3, server: 0.1, ..MachineStats::default() };
            (stats.machine, stats.server_time) = (Some(machine), Some(ServerTime::default()));
        }),
        ("pickup-lateness", |stats| add(&mut network(stats).pickup_lateness, 2, Duration::from_us(1_002))),
        ("arrival-lateness", |stats| add(&mut network(stats).arrival_lateness, 2, Duration::from_us(1_002))),
        ("crossing-lateness", |stats| {
            add(&mut network(stats).crossing_lateness, 2, Duration::from_us(1_002))
        }),
        ("gateway-overruns", |stats| network(stats).overruns = 1),
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

/// What the scenario says of errors outranks the check.
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

/// A worker that other work kept from its processor, and that was late with everything: one cause is
/// reported, with the machine's numbers, and the other failures as its consequences.
#[test]
fn a_busy_machine_is_the_first_cause() {
    let (fold, mut stats) = good_run();
    stats.machine =
        Some(MachineStats { processors: 2, load: Some(7.04), others: 0.83, ..MachineStats::default() });
    stats.workers[0].waited = Some(Duration::from_ms(650));
    stats.workers[0].slept = Duration::from_ms(50);
    stats.workers[0].stall = Some(Duration::from_ms(150));
    add(&mut stats.lateness, 50, Duration::from_ms(9));
    add(&mut stats.loop_lag, 50, Duration::from_ms(9));
    let verdict = judge(&fold, &stats);
    let causes: Vec<_> =
        verdict.failed().map(|check| (check.name.as_str(), check.follows_from.as_deref())).collect();
    let follows = Some("machine-busy");
    assert_eq!(
        causes,
        [
            ("machine-busy", None),
            ("worker-cpu", follows),
            ("longest-stall", follows),
            ("loop-lag", follows),
            ("send-lateness", follows)
        ]
    );
    let busy = verdict.first_cause().expect("a cause");
    assert_eq!(busy.note.as_deref(), Some("load 7.0 on 2 processors, other processes took 83 % of them"));
    assert!(busy.advice.as_ref().expect("advice").starts_with("stop other work"), "{busy:?}");
    // A worker that was on time all the same, on the same machine.
    let (fold, mut punctual) = good_run();
    punctual.machine = stats.machine;
    punctual.workers[0].waited = stats.workers[0].waited;
    let verdict = judge(&fold, &punctual);
    assert!(verdict.valid);
    assert_eq!(check(&verdict, "machine-busy").state, CheckState::Skipped);
}

/// The host of a virtual machine took 50 ms of a second from the worker's processor: the cause where no
/// more was late than that can make late, but not where the worker had more to do than it could, and none
/// where all was on time.
#[test]
fn time_that_the_host_took_is_the_first_cause() {
    let (fold, mut stats) = good_run();
    let steal =
        |share| move |machine: MachineStats| MachineStats { stolen_from_workers: Some(share), ..machine };
    stats.machine = stats.machine.map(steal(0.05));
    let punctual = judge(&fold, &stats);
    assert!(punctual.valid);
    assert_eq!(check(&punctual, "host-steal").state, CheckState::Skipped);
    add(&mut stats.lateness, 8, Duration::from_ms(9));
    let late = judge(&fold, &stats);
    assert_eq!(failed(&late), ["host-steal", "send-lateness"]);
    let cause = late.first_cause().expect("a cause");
    let note = "taken by the virtual machine's host";
    assert_eq!((cause.name.as_str(), cause.note.as_deref()), ("host-steal", Some(note)));
    assert!(
        cause.advice.as_ref().expect("advice").starts_with("measure when the host is quiet"),
        "{cause:?}"
    );
    assert_eq!(check(&late, "send-lateness").follows_from.as_deref(), Some("host-steal"));
    // Of a stall of 150 ms, 50 ms are a third.
    stats.workers[0].stall = Some(Duration::from_ms(150));
    let stalled = judge(&fold, &stats);
    assert_eq!(check(&stalled, "longest-stall").follows_from, None);
    stats.workers[0].slept = Duration::from_ms(40);
    let full = judge(&fold, &stats);
    assert_eq!(full.first_cause().map(|cause| cause.name.as_str()), Some("worker-cpu"));
    assert_eq!(check(&full, "host-steal").state, CheckState::Passed);
    // A tick of the kernel's is no cause, nor is more of them where ten times as much was late.
    let (_, mut stats) = good_run();
    add(&mut stats.lateness, 8, Duration::from_ms(9));
    stats.machine = stats.machine.map(steal(0.01));
    let tick = judge(&fold, &stats);
    assert_eq!(failed(&tick), ["send-lateness"]);
    let advice = tick.first_cause().and_then(|cause| cause.advice.as_deref()).expect("advice");
    assert!(advice.starts_with("none of what was measured explains it: "), "{advice}");
    add(&mut stats.lateness, 80, Duration::from_ms(9));
    stats.machine = stats.machine.map(steal(0.05));
    let little = judge(&fold, &stats);
    assert_eq!(failed(&little), ["send-lateness"]);
    let advice = little.first_cause().and_then(|cause| cause.advice.as_deref()).expect("advice");
    assert!(advice.starts_with("none of what was measured explains it (host-steal "), "{advice}");
}

/// A quota that was used up for 400 ms of a second, in which the worker waited for it, is the first cause
/// where something was late, and none where all was on time.
#[test]
fn a_quota_that_is_used_up_is_the_first_cause() {
    let (fold, mut stats) = good_run();
    let quota = Some(0.5);
    let throttled = Some(Duration::from_ms(400));
    stats.machine = stats.machine.map(|machine| MachineStats { quota, throttled, others: 0.5, ..machine });
    let punctual = judge(&fold, &stats);
    assert!(punctual.valid);
    assert_eq!(check(&punctual, "throttled").state, CheckState::Skipped);
    add(&mut stats.lateness, 50, Duration::from_ms(9));
    stats.workers[0].slept = Duration::ZERO;
    stats.workers[0].waited = Some(Duration::from_ms(400));
    let late = judge(&fold, &stats);
    assert_eq!(failed(&late), ["throttled", "worker-cpu", "send-lateness"]);
    let cause = late.first_cause().expect("a cause");
    assert_eq!((cause.name.as_str(), cause.measured), ("throttled", Some(0.4)));
    let note = "the quota of 0.50 processors of farfield's control group was used up, and it waited for 0.40 s in all";
    assert_eq!(cause.note.as_deref(), Some(note));
    assert!(cause.advice.as_ref().expect("advice").contains("`cpu.max`"), "{cause:?}");
    assert!(
        late.failed()
            .all(|check| check.name == "throttled" || check.follows_from.as_deref() == Some("throttled"))
    );
    // Users who come back at once are late for nothing, and slower.
    let (fold, mut closed) = good_run();
    (closed.machine, closed.arrivals, closed.network) = (stats.machine, None, None);
    closed.lateness = Histogram::new();
    assert_eq!(failed(&judge(&fold, &closed)), ["throttled"]);
    // Without a quota nothing is said of it.
    stats.machine = stats.machine.map(|machine| MachineStats { quota: None, throttled: None, ..machine });
    assert_eq!(check(&judge(&fold, &stats), "throttled").state, CheckState::Skipped);
}

/// A rate of a thousand times what the workers begin is the cause of all that they lack and of all that is
/// late; one that they just miss is not.
#[test]
fn a_rate_that_no_share_of_the_machine_could_begin_is_the_first_cause() {
    let far = |scheduled| {
        let (_, mut stats) = good_run();
        let samples: Vec<Sample> =
            (0..200).map(|n| Sample { outcome: Outcome::NoDescriptor, ..sample(n, n + 500) }).collect();
        stats.workers[0].slept = Duration::ZERO;
        stats.arrivals = Some(Arrivals { expected: None, scheduled, begun: 200, dropped: 0 });
        stats.samples_lost = scheduled - 200;
        stats.memory_short = Some("after 0.4 s 1 MiB of memory were left".to_owned());
        add(&mut stats.lateness, 50, Duration::from_secs(1));
        let asking = Asking { load: LoadKind::Open, ..Asking::default() };
        asking.judge(&fold(window(0, 1000), &samples), &stats, END)
    };
    let verdict = far(200_000);
    let cause = verdict.first_cause().expect("a cause");
    assert_eq!(cause.name, "achieved-rate");
    let note = "200,000/s were offered, more than this machine can begin: 200 of 200000 arrivals were begun";
    assert_eq!(cause.note.as_deref(), Some(note));
    assert!(cause.advice.as_deref().expect("advice").starts_with("offer a rate that fits this machine"));
    let follow =
        verdict.failed().filter(|check| check.follows_from.as_deref() == Some("achieved-rate")).count();
    assert_eq!(follow + 1, verdict.failed().count(), "{:?}", verdict.failed().collect::<Vec<_>>());
    assert!(follow >= 4);
    // Nine of ten were begun: descriptors are the cause.
    assert_eq!(far(222).first_cause().map(|check| check.name.as_str()), Some("generator-lacked"));
}

/// Other work that had the processor for 100 ms of it explains no stall of 400 ms: that is a cause of its
/// own, and the only one where nothing else was late.
#[test]
fn a_stall_that_other_work_does_not_explain_is_a_cause() {
    let (fold, mut stats) = good_run();
    stats.machine =
        Some(MachineStats { processors: 2, load: Some(7.0), others: 0.8, ..MachineStats::default() });
    stats.workers[0].waited = Some(Duration::from_ms(600));
    stats.workers[0].slept = Duration::from_ms(200);
    stats.workers[0].stall = Some(Duration::from_ms(400));
    (stats.workers[0].stalled, stats.workers[0].stopped) = (Duration::from_ms(400), Duration::from_ms(300));
    stats.workers[0].stall_waited = Some(Duration::from_ms(100));
    let verdict = judge(&fold, &stats);
    assert_eq!(failed(&verdict), ["longest-stall"]);
    assert_eq!(check(&verdict, "machine-busy").state, CheckState::Skipped);
    add(&mut stats.lateness, 50, Duration::from_ms(9));
    let verdict = judge(&fold, &stats);
    assert_eq!(failed(&verdict), ["machine-busy", "longest-stall", "send-lateness"]);
    assert_eq!(check(&verdict, "longest-stall").follows_from, None);
    assert_eq!(check(&verdict, "send-lateness").follows_from.as_deref(), Some("machine-busy"));
}

/// A stall of a long run moves its maximum and no percentile up to the p99, which is said; many of them do,
/// and so does one of a shorter run, or what a threshold is about.
#[test]
fn a_stall_in_a_long_run_is_no_failure_if_all_are_little_together() {
    let (_, mut stats) = good_run();
    let mut stalled = |minutes: u64, all_ms: u64, threshold: Option<&'static str>| {
        stats.workers[0].stall = Some(Duration::from_ms(145));
        stats.workers[0].stalled = Duration::from_ms(all_ms);
        let fold = fold(window(0, minutes * 60_000), &[]);
        let until = Instant::ZERO + Duration::from_secs(minutes * 60);
        let verdict = Asking { threshold, ..Asking::default() }.judge(&fold, &stats, until);
        let moved = verdict.disturbed.as_ref().expect("a long stall").moved.join(", ");
        (check(&verdict, "longest-stall").clone(), moved)
    };
    let (long, moved) = stalled(25, 145, None);
    assert_eq!(long.state, CheckState::Skipped);
    let note = "a worker was away from its events for 145 ms; 0.14 s of stalls in 1500 s made at most 0.02 % of the \
                requests late: percentiles up to the p99.9 hold, the p99.99 and the maximum may be farfield's own time";
    assert_eq!((long.note.as_deref(), moved.as_str()), (Some(note), "p99.99, max"));
    let (more, moved) = stalled(25, 1_000, None);
    assert_eq!((more.state, moved.as_str()), (CheckState::Skipped, "p99.9, p99.99, max"));
    assert_eq!(stalled(25, 2_000, None).0.state, CheckState::Failed, "many");
    assert_eq!(stalled(2, 145, None).0.state, CheckState::Failed, "shorter");
    // A worker of another version did not add them up.
    assert_eq!(stalled(2, 0, None).0.state, CheckState::Failed);
    // A claim of what it can have moved.
    for (threshold, state) in [
        ("p99<1s", CheckState::Skipped),
        ("p99.99<1s", CheckState::Failed),
        ("max<1s", CheckState::Failed),
        ("errors<1%", CheckState::Skipped),
    ] {
        assert_eq!(stalled(25, 145, Some(threshold)).0.state, state, "{threshold}");
    }
}

/// A worker that has more to do than it can: the check says how much it can here. 200/s kept it busy for 95
/// %; for 60 % that would be 126/s.
#[test]
fn a_full_worker_says_how_much_it_can() {
    let (fold, mut stats) = good_run();
    stats.workers[0].slept = Duration::from_ms(40);
    add(&mut stats.lateness, 50, Duration::from_ms(9));
    let asking = Asking { load: LoadKind::Open, ..Asking::default() };
    let verdict = asking.judge(&fold, &stats, END);
    let full = verdict.first_cause().expect("a cause");
    assert_eq!(full.name, "worker-cpu");
    assert_eq!(full.advice.as_deref(), Some("offer at most about 120/s here, or `--workers 2`"));
    assert_eq!(check(&verdict, "send-lateness").follows_from.as_deref(), Some("worker-cpu"));
    stats.machine.as_mut().expect("a machine").processors = 1;
    let verdict = asking.judge(&fold, &stats, END);
    let advice = verdict.first_cause().and_then(|check| check.advice.as_deref());
    assert_eq!(advice, Some("offer at most about 120/s here"), "no processor is left for a second worker");
}

/// Arrivals that find no idle connection open one each: reported with their number and the key that bounds
/// them.
#[test]
fn a_storm_of_connections_is_reported() {
    let samples: Vec<_> = (0..1000)
        .map(|n: u32| Sample {
            connection: n,
            number: u32::from(n < 2),
            ..sample(u64::from(n) * 1_000_000, u64::from(n) * 1_000_000 + 500_000)
        })
        .collect();
    let (mut stats, asking) = (good_run().1, Asking { load: LoadKind::Open, ..Asking::default() });
    stats.workers[0].slept = Duration::from_ms(40);
    let verdict = asking.judge(&fold(window(0, 1000), &samples), &stats, END);
    let advice = check(&verdict, "worker-cpu").advice.clone().expect("advice");
    assert!(advice.starts_with("1,000/s connections were opened, since"), "{advice}");
    assert!(advice.contains("`load.users-max`; offer at most about 630/s here"), "{advice}");
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
    const MS: u64 = 1_000_000;
    let request = |n: u64| match n * 5 < silent_ms {
        true => sample(n * 5 * MS, n * 5 * MS + MS),
        false => Sample { outcome, ..sample(n * 5 * MS, 1_200 * MS) },
    };
    let fold = fold(window(0, 1000), &(0..200).map(request).collect::<Vec<_>>());
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

/// What this machine lacked is the run's fault, in the warm-up as well, and outranks that nothing succeeded.
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
