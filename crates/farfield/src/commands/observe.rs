//! The summary of a run as an experiment reads it: whether the run counts, and what its goals came to.

use farfield_base::Duration;
use farfield_experiment::{GoalReading, Observed, TRIALS_OF_SEARCH, Validity};
use farfield_measure::bottleneck::BottleneckCause;
use farfield_measure::verdict::Check;
use farfield_measure::{Quantile, Summary, Threshold};
use std::path::Path;

/// Checks that fail because of a server that does not cope, or of what is between it and users. Where goals
/// are broken as well, that is the answer.
const OF_THE_SERVER: [&str; 8] = [
    "server-ended",
    "server-silent",
    "server-failing",
    "server-receive",
    "dropped-arrivals",
    "unfinished",
    "something-succeeded",
    "response-time-law",
];

/// The check that fails where requests are sent late, whose number is by how much.
const SEND_LATENESS: &str = "send-lateness";
/// Half of the requests are beyond a limit whatever was sent late if they are so by this many times that.
const LATE_BEYOND: f64 = 10.0;
const HALF: f64 = 0.49;

/// The check that fails where no request was due.
const NOTHING_DUE: &str = "something-measured";

/// Checks that fail where the generator has no more to give; others of its own are disturbances.
const OF_A_FULL_GENERATOR: [&str; 5] =
    ["worker-cpu", "generator-lacked", "achieved-rate", "gateway-overruns", "samples-lost"];

/// The check on the parts of a run, each of which was judged by itself.
const PARTS: &str = "parts";

/// The result of a run, whose directory this is and that took so many seconds.
pub fn observed(summary: &Summary, goals: &[String], directory: &Path, took_s: f64) -> Observed {
    let of_goal = |goal: &String| {
        let result = summary.thresholds.iter().find(|result| result.text == *goal);
        result.map_or_else(|| absent(goal), GoalReading::of)
    };
    let goals: Vec<GoalReading> = goals.iter().map(of_goal).collect();
    let rates = summary.steady.rates;
    let estimate = summary.steady.times.response.as_ref();
    let quantile_ns = |of| estimate.and_then(|times| times.quantile_ns(of)).map(|ns| ns as f64);
    let bottleneck = summary.bottleneck.as_ref().filter(|found| found.first.is_some());
    Observed {
        validity: too_short(summary, &goals).unwrap_or_else(|| validity(summary, &goals)),
        requests: summary.steady.requests,
        offered_per_s: rates.map_or(0.0, |rates| rates.offered_per_s),
        achieved_per_s: rates.map_or(0.0, |rates| rates.succeeded_per_s),
        body_bytes_per_s: rates.map_or(0.0, |rates| rates.body_bytes_per_s),
        median_ns: quantile_ns(Quantile::P50),
        p99_ns: quantile_ns(Quantile::P99),
        error_share: summary.steady.error_share,
        backlog_share: 0.0,
        goals,
        gave_out: bottleneck.and_then(|found| found.first.map(gave_out)).map(str::to_owned),
        warm_up_ns: summary.phases.warm_up_ns,
        settled_ns: summary.settling.and_then(|settling| settling.settled_ns),
        end_ns: summary.settling.map_or(0, |settling| settling.end_ns),
        halves_ratio: summary.settling.and_then(|settling| settling.halves_ratio()),
        directory: directory.to_owned(),
        took_s,
    }
}

/// The share of requests due by which those without an answer became more in the measured part, of a load
/// whose requests do not wait for replies.
pub fn backlog_share(summary: &Summary) -> f64 {
    let steady = &summary.steady;
    let Some(rates) = steady.rates.filter(|rates| rates.offered_per_s > 0.0) else { return 0.0 };
    let due = steady.requests as f64;
    let failed = due * steady.error_share.unwrap_or(0.0);
    let left = due - failed - due * rates.succeeded_per_s / rates.offered_per_s;
    let fastest_s = steady.times.response.as_ref().map_or(0.0, |times| times.min_ns as f64 / 1e9);
    grown(left, due, rates.offered_per_s, fastest_s, summary.phases.warm_up_ns as f64 / 1e9)
}

/// The share of `due` requests by which a load grew that left so many without an answer; zero within three
/// standard deviations of their number. A path or a server may be slow and yet keep up: of its first replies
/// those that came later than the warm-up are missing, if any came in the measured part.
fn grown(left: f64, due: f64, per_s: f64, fastest_s: f64, warm_up_s: f64) -> f64 {
    let is_answered = fastest_s * per_s < due;
    let late = if is_answered { (fastest_s - warm_up_s).max(0.0) * per_s } else { 0.0 };
    if left > 3.0 * due.sqrt() + late { (left / due).min(1.0) } else { 0.0 }
}

/// The largest share of a load of sessions that may be missing in a trial.
const MISSING_MAX: f64 = 0.05;
/// A warm-up of so many lengths of a session leaves no more than that missing.
const WARM_UP_LENGTHS: f64 = 3.0;
/// The largest share of a trial's sessions that may be open at its end for these to show how long they last.
const OPEN_MAX: f64 = 0.8;

/// The shortage of a valid run that kept its goals while its sessions, which arrive by themselves, became
/// more: in the long run the load is higher.
pub fn still_rising(summary: &Summary, goals: &[GoalReading]) -> Option<Validity> {
    let sessions = summary.sessions.as_ref().filter(|sessions| sessions.begun > 0)?;
    let counts = validity(summary, goals) == Validity::Valid && goals.iter().all(|goal| goal.kept);
    let seconds = |ns: u64| Duration::from_ns(ns).as_secs_f64();
    let (warm_up_s, measured_s) = (seconds(summary.phases.warm_up_ns), seconds(summary.phases.steady_ns));
    let open = sessions.unfinished as f64 / sessions.begun as f64;
    let cause = if open > OPEN_MAX {
        let more = in_seconds(2.0 * measured_s);
        format!(
            "{:.0} % of their sessions were open at the end, so that these last more than {more}; --duration is their length",
            open * 100.0
        )
    } else {
        let completed = sessions.duration.as_ref().map_or(0.0, |times| seconds(times.mean_ns));
        let mean_s = (length_by_open(open) * measured_s).max(completed);
        let waited_s = WARM_UP_LENGTHS * mean_s;
        if missing(mean_s, warm_up_s, measured_s) <= MISSING_MAX {
            return None;
        }
        let (lasts, waits) = (in_seconds(mean_s), in_seconds(waited_s.ceil()));
        let budget = in_seconds((TRIALS_OF_SEARCH as f64 * (waited_s + measured_s)).ceil());
        format!(
            "sessions last {lasts} on average, and became more while they were measured; --warm-up {waits} --budget {budget} waits for that"
        )
    };
    counts.then_some(Validity::StillRising { cause })
}

/// The mean length, in units of a measured part, of sessions that arrive evenly in it and of which this
/// share is open at its end, where lengths are exponential: of equal lengths it is less. Completed ones
/// alone are the short ones.
fn length_by_open(open: f64) -> f64 {
    let share = |length: f64| length * (1.0 - (-1.0 / length).exp());
    let (mut low, mut high) = (1e-6, 1e3);
    for _ in 0..60 {
        let middle = f64::sqrt(low * high);
        if share(middle) < open { low = middle } else { high = middle }
    }
    low
}

/// The mean share of sessions that are yet to come in a measured part, of those that are open at once in the
/// long run, where lengths are exponential: of equal lengths fewer are missing.
fn missing(mean_s: f64, warm_up_s: f64, measured_s: f64) -> f64 {
    let left = |after_s: f64| (-after_s / mean_s).exp();
    mean_s / measured_s * (left(warm_up_s) - left(warm_up_s + measured_s))
}

fn in_seconds(seconds: f64) -> String {
    if seconds < 10.0 { format!("{seconds:.1}s") } else { format!("{seconds:.0}s") }
}

/// A goal that the run knows nothing of: nothing that could be shown is kept.
fn absent(goal: &str) -> GoalReading {
    GoalReading { goal: goal.to_owned(), requests_needed: 1, ..GoalReading::default() }
}

/// The shortage of a valid run in which too few requests were due for its goals; a goal that needs no more
/// and is broken is an answer all the same.
fn too_short(summary: &Summary, goals: &[GoalReading]) -> Option<Validity> {
    let requests_of = |goal: &GoalReading| goal.requests.unwrap_or(summary.steady.requests);
    let is_needy = |goal: &&GoalReading| goal.requests_needed > requests_of(goal);
    let needy = goals.iter().filter(is_needy).max_by_key(|goal| goal.requests_needed)?;
    let is_broken = goals.iter().any(|goal| !is_needy(&goal) && !goal.kept);
    let counts = validity(summary, goals) == Validity::Valid && !is_broken;
    let (goal, needed) = (&needy.goal, needy.requests_needed);
    let cause = match (summary.steady.requests, needy.requests) {
        (0, _) => "no request was due".to_owned(),
        (_, Some(requests)) => format!("{requests} requests were those of {goal}, which takes {needed}"),
        (1, None) => format!("1 request was due, and {goal} takes {needed}"),
        (requests, None) => format!("{requests} requests were due, and {goal} takes {needed}"),
    };
    counts.then_some(Validity::TooShort { cause })
}

/// The validity of a run; without goals it is the run alone that is asked about.
pub fn validity(summary: &Summary, goals: &[GoalReading]) -> Validity {
    let broken = goals.iter().any(|goal| !goal.kept);
    let Some(first) = summary.verdict.first_cause() else {
        // Valid, but what broke the goals is not shown to be the server.
        return if broken { bounded_by_generator(summary) } else { None }.unwrap_or(Validity::Valid);
    };
    let cause = cause_of(summary, first).to_owned();
    if cause == NOTHING_DUE {
        return Validity::TooShort { cause: "no request was due".to_owned() };
    }
    if OF_THE_SERVER.contains(&cause.as_str()) && (broken || goals.is_empty()) {
        return Validity::Overwhelmed { cause };
    }
    if goals.iter().any(|goal| !goal.kept && is_broken_however_late(summary, goal)) {
        return Validity::Overwhelmed { cause };
    }
    let is_full = OF_A_FULL_GENERATOR.contains(&cause.as_str());
    Validity::Invalid { cause, is_full }
}

/// The check that `first` stands for: itself; or, where some parts of a run were invalid by themselves and
/// none is missing, what made them so. A part that something disturbed counts ahead of one whose generator
/// was full, and the server last, since that is an answer only where nothing else was wrong.
fn cause_of<'a>(summary: &'a Summary, first: &'a Check) -> &'a str {
    let of_parts: Vec<&str> = summary.parts.iter().filter_map(|part| part.cause.as_deref()).collect();
    // What is missing counts as well, and has no cause. A server that does not cope is so for all parts, or
    // for their sum: for some it is their way to it, or another server.
    let is_all = of_parts.len() == summary.parts.len();
    let is_of_some = |cause: &&str| {
        OF_THE_SERVER.contains(cause)
            && !is_all
            && !summary.verdict.failed().any(|check| check.name == **cause)
    };
    if first.name != PARTS || first.measured != Some(of_parts.len() as f64) || of_parts.iter().any(is_of_some)
    {
        return &first.name;
    }
    let rank = |cause: &&str| match *cause {
        cause if OF_THE_SERVER.contains(&cause) => 0,
        cause if OF_A_FULL_GENERATOR.contains(&cause) => 1,
        _ => 2,
    };
    of_parts.into_iter().max_by_key(rank).unwrap_or(&first.name)
}

/// True if half of all requests took longer than the limit of a percentile by many times as much as the
/// generator was late, in a run of which nothing else is wrong: past a server's capacity each arrival opens a
/// connection, and is sent a millisecond late where it waits a second. All but one in a hundred were later by
/// no more than the lateness is.
fn is_broken_however_late(summary: &Summary, goal: &GoalReading) -> bool {
    let of_all = goal.allowed_share.is_some_and(|allowed| allowed < HALF);
    let limit: Option<Threshold> = goal.goal.parse().ok();
    let limit = limit.filter(|limit| of_all && limit.is_of_all_responses());
    let is_of_lateness = |check: &Check| {
        let mut causes = summary.parts.iter().filter_map(|part| part.cause.as_deref());
        check.name == SEND_LATENESS
            || (cause_of(summary, check) == SEND_LATENESS && causes.all(|own| own == SEND_LATENESS))
    };
    if !summary.verdict.failed().all(is_of_lateness) {
        return false;
    }
    let late = summary.verdict.failed().find(|check| check.name == SEND_LATENESS);
    let late_ns = late.and_then(|check| check.measured);
    let times = summary.steady.times.response.as_ref();
    let median_ns = times.and_then(|times| times.quantile_ns(Quantile::P50)).map(|ns| ns as f64);
    let beyond_ns = limit.zip(median_ns).map(|(limit, median_ns)| median_ns - limit.limit());
    beyond_ns.zip(late_ns).is_some_and(|(beyond_ns, late_ns)| beyond_ns > LATE_BEYOND * late_ns)
}

/// The validity of a run in which the generator gave out first: its throughput is none of the server's.
pub fn bounded_by_generator(summary: &Summary) -> Option<Validity> {
    let first = summary.bottleneck.as_ref().and_then(|found| found.first);
    let is_bounded = first == Some(BottleneckCause::Generator);
    is_bounded.then(|| Validity::Invalid { cause: "worker-cpu".to_owned(), is_full: true })
}

/// The cause in words, as a clause.
fn gave_out(cause: BottleneckCause) -> &'static str {
    match cause {
        BottleneckCause::Generator => "the generator gave out",
        BottleneckCause::Cpu => "the server's processor gave out",
        BottleneckCause::MachineCpu => "the machine's processors gave out",
        BottleneckCause::Memory => "memory gave out",
        BottleneckCause::Swap => "memory gave out (swapping)",
        BottleneckCause::Descriptors => "the server's descriptors gave out",
        BottleneckCause::Disk => "a disk gave out",
        BottleneckCause::Network => "the network gave out",
        BottleneckCause::Workers => "the server's workers gave out",
        BottleneckCause::AcceptQueue => "the server's accept queue gave out",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_measure::Bottleneck;
    use farfield_measure::parts::PartOfRun;
    use farfield_measure::summary::SessionsSummary;

    /// A run that is valid, as far as its verdict goes.
    fn valid() -> Summary {
        let text = include_str!("../../tests/old_runs/columns-6/summary.json");
        let mut summary = Summary::from_json(text).expect("a summary");
        summary.verdict.checks.clear();
        (summary.verdict.valid, summary.bottleneck) = (true, None);
        summary
    }

    fn failing(check: &str, kept: bool) -> Validity {
        let mut summary = valid();
        summary.verdict.fail(check, "A check.", "a reason".to_owned(), "an advice");
        validity(&summary, &[GoalReading { kept, ..absent("p99<1s") }])
    }

    /// A load of 260/s before a server of 100/s, at first and within reach of noise; a slow path, which keeps
    /// up.
    #[test]
    fn what_is_left_without_an_answer_has_grown() {
        assert!((0.5..0.7).contains(&grown(310.0, 520.0, 260.0, 0.8, 0.5)));
        assert_eq!(grown(60.0, 520.0, 260.0, 0.8, 0.5), 0.0);
        assert_eq!(grown(200.0, 1000.0, 100.0, 2.0, 0.0), 0.0);
        assert_eq!(grown(200.0, 1000.0, 100.0, 2.0, 2.0), 0.2);
        // The first reply came after the end.
        assert_eq!(grown(520.0, 520.0, 260.0, 3.0, 0.5), 1.0);
    }

    /// A percentile of a class takes requests of that class, however many requests there are of others.
    #[test]
    fn a_goal_of_a_part_takes_requests_of_that_part() {
        let summary = valid();
        let goal = |requests| {
            let kept = GoalReading { kept: true, requests_needed: 20, ..absent("p95{mobile}<1s") };
            too_short(&summary, &[GoalReading { requests, ..kept }])
        };
        assert!(summary.steady.requests >= 20, "{}", summary.steady.requests);
        assert_eq!((goal(None), goal(Some(20))), (None, None));
        let few = goal(Some(19)).as_ref().and_then(Validity::cause).map(str::to_owned).expect("a cause");
        assert_eq!(few, "19 requests were those of p95{mobile}<1s, which takes 20");
    }

    /// Sessions of 20 s in trials of 5 s, of half a second, and behind a warm-up of three lengths.
    #[test]
    fn sessions_that_outlast_a_trial_are_missing_in_it() {
        assert!((0.8..0.85).contains(&missing(20.0, 1.25, 5.0)));
        assert!(missing(0.5, 1.25, 5.0) < MISSING_MAX);
        assert!(missing(20.0, 60.0, 5.0) < MISSING_MAX);
        let kept = [GoalReading { kept: true, ..absent("p99<1s") }];
        let came_to = |unfinished, warm_up_s: u64, kept: &[GoalReading]| {
            let mut summary = valid();
            (summary.phases.warm_up_ns, summary.phases.steady_ns) =
                (warm_up_s * 1_000_000_000, 5_000_000_000);
            summary.sessions = Some(SessionsSummary {
                begun: 1000,
                completed: 1000 - unfinished,
                broken_off: 0,
                unfinished,
                broken_off_in: Vec::new(),
                duration: None,
                mean_length_ns: None,
            });
            still_rising(&summary, kept).as_ref().and_then(Validity::cause).map(str::to_owned)
        };
        // A tenth of them open are half a second of five.
        assert_eq!(came_to(100, 1, &kept), None);
        // Of lengths of 5 s 1 − 1/e are open; the warm-up that is named does.
        let cause = came_to(632, 1, &kept).expect("a cause");
        assert!(cause.contains("last 5.0s") && cause.contains("--warm-up 15s --budget 360s"), "{cause}");
        assert_eq!(came_to(632, 15, &kept), None);
        // Where nearly all are open they may last for ever, and no warm-up is enough.
        let cause = came_to(950, 100, &kept).expect("a cause");
        assert!(cause.contains("95 % of their sessions") && cause.contains("--duration"), "{cause}");
        assert_eq!(came_to(950, 1, &[absent("p99<1s")]), None);
    }

    #[test]
    fn what_the_server_did_counts_if_goals_are_broken() {
        let cause = "dropped-arrivals".to_owned();
        assert_eq!(failing("dropped-arrivals", false), Validity::Overwhelmed { cause: cause.clone() });
        assert_eq!(failing("dropped-arrivals", true), Validity::Invalid { cause, is_full: false });
    }

    /// Requests that were sent 2 ms late and of which half took a second are the server's doing, with a limit
    /// of 10 ms; where half took less than that and ten times 2 ms, they need not be, nor are any where
    /// something else is wrong too, or that are of some of the requests.
    #[test]
    fn what_is_sent_a_little_late_may_be_far_too_slow() {
        let of = |goal: &str, median_ms: u64, more: &[&str]| {
            let mut summary = valid();
            for check in ["send-lateness"].iter().chain(more) {
                summary.verdict.fail(check, "A check.", "a reason".to_owned(), "an advice");
            }
            summary.verdict.checks[0].measured = Some(2e6);
            let times = summary.steady.times.response.as_mut().expect("times");
            let median = times.quantiles.iter_mut().find(|held| held.name == "p50").expect("a median");
            median.value_ns = median_ms * 1_000_000;
            validity(&summary, &[GoalReading { allowed_share: Some(0.01), ..absent(goal) }])
        };
        let cause = "send-lateness".to_owned();
        let disturbed = Validity::Invalid { cause: cause.clone(), is_full: false };
        assert_eq!(of("p99<10ms", 1000, &[]), Validity::Overwhelmed { cause });
        assert_eq!(of("p99<10ms", 25, &[]), disturbed);
        assert_eq!(of("p99{mobile}<10ms", 1000, &[]), disturbed);
        assert_eq!(of("first-byte.p99<10ms", 1000, &[]), disturbed);
        assert!(matches!(of("p99<10ms", 1000, &["machine-busy"]), Validity::Invalid { .. }));
    }

    #[test]
    fn a_full_generator_is_distinguished_from_a_disturbed_one() {
        for (check, full) in [("worker-cpu", true), ("host-steal", false), ("machine-busy", false)] {
            let expected = Validity::Invalid { cause: check.to_owned(), is_full: full };
            assert_eq!(failing(check, false), expected);
        }
    }

    /// A run whose parts are all there is invalid by what some of them are; one that lacks a part was
    /// disturbed.
    #[test]
    fn a_run_of_parts_is_invalid_by_what_its_parts_are() {
        let of = |causes: &[Option<&str>], wrong: f64| {
            let mut summary = valid();
            summary.verdict.fail(PARTS, "A check.", "a reason".to_owned(), "an advice");
            summary.verdict.checks[0].measured = Some(wrong);
            summary.parts = causes
                .iter()
                .map(|cause| PartOfRun {
                    part: "1/2".to_owned(),
                    directory: "a".to_owned(),
                    valid: cause.is_none(),
                    cause: cause.map(str::to_owned),
                    requests: 1,
                    skew_ns: None,
                    clock_offset_ns: None,
                    clock_error_ns: None,
                })
                .collect();
            validity(&summary, &[absent("p99<1s")])
        };
        let invalid = |cause: &str, is_full| Validity::Invalid { cause: cause.to_owned(), is_full };
        assert_eq!(of(&[None, Some("worker-cpu")], 1.0), invalid("worker-cpu", true));
        assert_eq!(of(&[Some("machine-busy"), Some("worker-cpu")], 2.0), invalid("machine-busy", false));
        let cause = "unfinished".to_owned();
        assert_eq!(of(&[Some("unfinished"); 2], 2.0), Validity::Overwhelmed { cause });
        // The server coped with the others.
        assert_eq!(of(&[Some("unfinished"), None], 1.0), invalid(PARTS, false));
        assert_eq!(of(&[Some("unfinished"), Some("worker-cpu")], 2.0), invalid("worker-cpu", true));
        assert_eq!(of(&[None, Some("worker-cpu")], 2.0), invalid(PARTS, false));
        assert_eq!(of(&[None], 1.0), invalid(PARTS, false));
    }

    /// A valid run whose generator gave out first says nothing of a server that breaks goals.
    #[test]
    fn a_generator_that_gave_out_first_is_full() {
        let mut summary = valid();
        assert_eq!(validity(&summary, &[absent("p99<1s")]), Validity::Valid);
        summary.bottleneck = Some(Bottleneck {
            first: Some(BottleneckCause::Generator),
            exhausted: Vec::new(),
            in_words: String::new(),
            seconds: 1,
            notes: Vec::new(),
        });
        assert!(matches!(validity(&summary, &[absent("p99<1s")]), Validity::Invalid { is_full: true, .. }));
        let kept = GoalReading { kept: true, ..absent("p99<1s") };
        assert_eq!(validity(&summary, &[kept]), Validity::Valid);
        assert_eq!(bounded_by_generator(&valid()), None);
        assert!(matches!(bounded_by_generator(&summary), Some(Validity::Invalid { is_full: true, .. })));
    }
}
