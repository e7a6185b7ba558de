//! The interactive response time law: do users who wait for answers wait as long as the mean says?
//!
//! N users who think for Z and wait for R complete X = N / (R + Z) a second (Denning and Buzen 1978, "The
//! operational analysis of queueing network models", section 4; Schroeder, Wierman and Harchol-Balter 2006
//! for closed loads). So R = N/X − Z, where N − XZ, the users who do not think, are the requests in the
//! system on average, L, which are counted while running and not from samples. The check holds L/X against
//! the mean of the requests due in the measured part, whatever became of them, unfinished ones with their
//! ages.
//!
//! [Little's law](super) over the same part cuts off what reaches in from either edge and so holds for any
//! load. This law does not: it fails where the requests whose times are reported are not those that users
//! wait for. So it is where the measured part is shorter than a cycle of the users: most wait all through it
//! for what they asked for before, and a mean of the quick ones is left. So it is where the server stops
//! answering in mid-run.
//!
//! At the edges of the part one generation of requests may be in or out. That is R in the length T of the
//! part, and is taken off what is found. If the machine stalls at an edge, so are the waits of all users: the
//! longest time for which a worker was away from its events, on each connection, is taken off as well, and
//! where that exceeds the limit the check does not apply. That the stall was not longer is for
//! [`longest_stall`](super::timing::longest_stall) to judge.

use super::{CLOSED_ONLY, Check, CheckState, LimitUnit, VerdictLimits};
use crate::engine_stats::EngineStats;
use crate::fold::Fold;
use crate::summary::SummaryContext;
use farfield_base::{Duration, Instant};

/// Fewer requests than this say nothing about a mean.
const REQUESTS_MIN: u64 = 100;
/// Mean response times that the measured part must be long.
const GENERATIONS_MIN: f64 = 5.0;

pub fn response_time_law(
    context: SummaryContext<'_>,
    fold: &Fold,
    stats: &EngineStats,
    until: Instant,
) -> Check {
    let name = "response-time-law";
    let what = "The mean response time is the one that the users' number and rate ask for: R = N/X - Z.";
    let limit = limit(context.limits);
    let skip = |why: &str| Check::skipped(name, what, limit, LimitUnit::Share, why);
    if !context.heading.load.is_closed() {
        return skip(CLOSED_ONLY);
    }
    let part = fold.steady();
    let lasted = fold.window().elapsed(until).as_secs_f64();
    let (due, ended) = (part.requests(), part.events.ended);
    if due.min(ended) < REQUESTS_MIN {
        return skip(&format!("fewer than {REQUESTS_MIN} requests were due and over in the measured part"));
    }
    if fold.lasted(until) < fold.window().elapsed(until) {
        return skip(
            "a part of what was due is set aside, but the requests in the system were counted all the time",
        );
    }
    if stats.in_system_ns == 0 {
        return skip("the requests in the system have not been counted yet");
    }
    let reported = part.waited_ns as f64 / 1e9 / due as f64;
    if lasted < GENERATIONS_MIN * reported {
        return skip("the measured part is not five mean response times long");
    }
    let stalled = stalled(stats);
    if stalled > limit {
        return skip("a worker was away from its events for too much of so short a part");
    }
    let asked_for = stats.in_system_ns as f64 / 1e9 / ended as f64;
    let residual = (asked_for - reported).abs() / asked_for;
    let beyond_the_edges = (residual - reported / lasted - stalled).max(0.0);
    let check = Check::at_most(name, what, beyond_the_edges, limit, LimitUnit::Share);
    let note = (check.state == CheckState::Failed).then(|| note(reported, asked_for));
    check.noted(note).advised(|| advice(reported, asked_for, lasted))
}

/// The share of all waiting that the longest stall of a worker may have been, if a request was open on each
/// connection.
fn stalled(stats: &EngineStats) -> f64 {
    let stall = stats.workers.iter().filter_map(|worker| worker.stall).max().unwrap_or(Duration::ZERO);
    let connections = stats.connections_open.iter().max().copied().unwrap_or(0);
    stall.as_ns() as f64 * connections as f64 / stats.in_system_ns as f64
}

fn limit(limits: &VerdictLimits) -> f64 {
    limits.response_time_law.as_f64()
}

/// The response time that was reported, beside the one that the law asks for.
fn note(reported: f64, asked_for: f64) -> String {
    let [reported_ms, asked_ms] = [reported, asked_for].map(|seconds| seconds * 1e3);
    format!(
        "the mean response time of what was due is {reported_ms:.1} ms, and {asked_ms:.1} ms by the users' number and rate"
    )
}

fn advice(reported: f64, asked_for: f64, lasted: f64) -> String {
    if asked_for <= reported {
        return "the load did not stay the same: see whether the server went on answering, or measure for longer"
            .to_owned();
    }
    format!(
        "most users waited for what they had asked for before the measured part: measure for at least {:.0} s, after a \
         warm-up of {:.0} s, or with fewer users",
        (10.0 * asked_for).max(2.0 * lasted).ceil(),
        (3.0 * asked_for).ceil()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine_stats::WorkerStats;
    use crate::fold::scene::{sample, window};
    use crate::summary::{Heading, LoadKind};
    use farfield_base::{Outcome, Sample, Window};

    const MS: u64 = 1_000_000;

    fn check(load: LoadKind, window: Window, samples: &[Sample]) -> Check {
        check_with_stall(load, window, samples, Duration::ZERO)
    }

    /// The check where a worker was away from its events for `stall`, and ten connections were open.
    fn check_with_stall(load: LoadKind, window: Window, samples: &[Sample], stall: Duration) -> Check {
        let mut fold = Fold::new(window);
        samples.iter().for_each(|sample| fold.record(sample));
        let in_system_ns = fold.residence().total_ns as u64;
        let workers = vec![WorkerStats { stall: Some(stall), ..WorkerStats::default() }];
        let stats =
            EngineStats { in_system_ns, workers, connections_open: vec![10], ..EngineStats::default() };
        let heading = Heading {
            farfield: String::new(),
            scenario: String::new(),
            note: None,
            path: None,
            target: String::new(),
            seed: 1,
            load,
            load_words: String::new(),
            started_at: String::new(),
        };
        let limits = VerdictLimits::default();
        let context =
            SummaryContext { heading: &heading, limits: &limits, thresholds: &[], series_file: None };
        response_time_law(context, &fold, &stats, window.measure_to)
    }

    /// Users who ask again as soon as they are answered, from 0 to the end of the load.
    fn users(count: u64, response_ms: impl Fn(u64, u64) -> u64, end_ms: u64) -> Vec<Sample> {
        let mut samples = Vec::new();
        for user in 0..count {
            let (mut at, mut turn) = (0, 0);
            while at < end_ms {
                let done = at + response_ms(user, turn);
                samples.push(sample(at * MS, done * MS));
                (at, turn) = (done, turn + 1);
            }
        }
        samples
    }

    #[test]
    fn it_holds_for_users_in_step_and_for_users_who_are_not() {
        for samples in
            [users(10, |_, _| 70, 11_000), users(10, |user, turn| 1 + (user * 37 + turn * 11) % 190, 11_000)]
        {
            let check = check(LoadKind::Closed, window(1000, 11_000), &samples);
            assert_eq!(check.state, CheckState::Passed, "{check:?}");
        }
    }

    /// As at a link far past its capacity: nine of ten users wait for 40 s, the others are served in 100 ms,
    /// and what is due in the 3 s that are measured is theirs alone.
    #[test]
    fn a_mean_of_the_quick_ones_fails() {
        let samples = users(1000, |user, _| if user % 10 == 0 { 100 } else { 40_000 }, 4000);
        let check = check(LoadKind::Closed, window(1000, 4000), &samples);
        assert_eq!(check.state, CheckState::Failed, "{check:?}");
        let note = check.note.expect("a note");
        assert!(note.contains("is 100.0 ms, and 1000.0 ms by"), "{note}");
    }

    /// Ten users are answered in a millisecond each until the server stops: their last requests are open to
    /// the end.
    #[test]
    fn a_server_that_stops_fails() {
        let mut samples = users(10, |_, _| 1, 6000);
        let open = Sample { outcome: Outcome::Unfinished, ..sample(6000 * MS, 16_000 * MS) };
        samples.extend([open; 10]);
        let check = check(LoadKind::Closed, window(1000, 11_000), &samples);
        assert_eq!(check.state, CheckState::Failed, "{check:?}");
        assert!(check.advice.expect("advice").contains("went on answering"));
    }

    /// Ten users, one of whom is in the system at a time, until the machine stands still for the last 300 ms
    /// of the measured 4 s: all wait through that. A stall that was too short for it explains nothing.
    #[test]
    fn a_stall_of_the_machine_is_no_fault_of_the_mean() {
        let mut samples = Vec::new();
        for turn in 0..500 {
            samples.push(sample(turn * 10 * MS, (turn + 1) * 10 * MS));
        }
        samples.extend((0..10).map(|_| sample(4990 * MS, 5300 * MS)));
        let check = |stall| {
            check_with_stall(LoadKind::Closed, window(1000, 5000), &samples, Duration::from_ms(stall)).state
        };
        assert_eq!([0, 10, 310].map(check), [CheckState::Failed, CheckState::Failed, CheckState::Skipped]);
    }

    #[test]
    fn it_does_not_apply_to_other_loads_or_short_runs() {
        let slow = users(200, |_, _| 300, 1000);
        assert_eq!(check(LoadKind::Open, window(0, 10_000), &slow).state, CheckState::Skipped);
        assert_eq!(check(LoadKind::Closed, window(0, 1000), &slow).state, CheckState::Skipped);
        assert_eq!(check(LoadKind::Closed, window(0, 1000), &slow[..90]).state, CheckState::Skipped);
    }
}
