//! Check that the requests still open at the end of the run cannot change its results.
//!
//! Only a lower bound of their times is known. A quantile of the response time is known all the same if even
//! the worst case, that all of them never end, leaves its rank within the quantile's 95 % confidence
//! interval, and a finished request has that rank. That is the interval of the summary, by
//! [batches](crate::batches) of time; a quantile that has none there has the one of independent requests,
//! which is narrower wherever requests of one time are alike. The check counts the quantiles of the summary
//! for which this does not hold, of those for which the run had enough requests. Requests that the client
//! gave up (timed out) are not open: that they take longer than the scenario waits is a result.

use super::{Check, CheckState, LimitUnit};
use crate::fold::{Fold, PhaseStats};
use crate::quantile::Quantile;
use crate::summary::QUANTILES;
use crate::timing::Timing;
use farfield_base::{Instant, Outcome};

const NAME: &str = "unfinished";

pub fn unfinished(fold: &Fold, until: Instant) -> Check {
    let what =
        "Requests that were open at the end of the run cannot change a percentile of the response time.";
    let part = fold.steady();
    let open = part.count(Outcome::Unfinished);
    let skip = |why| Check::skipped(NAME, what, 0.0, LimitUnit::Count, why);
    if part.ignores_unfinished() {
        return skip("the scenario says to ignore unfinished requests");
    }
    let known = part.times.response.count();
    if open > 0 && QUANTILES.iter().all(|quantile| quantile.interval_ranks(known + open).is_none()) {
        return skip("there are too few requests for any percentile");
    }
    let batches = part.batches().filter(|_| open > 0);
    let intervals = batches.and_then(|batches| batches.times(Timing::Response, fold.measured(until)).ok());
    // Ranks from a quantile to the upper end of its interval.
    let ranks_above = |quantile: Quantile| {
        let [_, high] = intervals.as_ref()?.ranks(quantile).ok()?;
        Some(high.saturating_sub(quantile.rank(known)?))
    };
    let is_unknown = |quantile: &Quantile| !is_known(*quantile, known, open, ranks_above(*quantile));
    let unknown: Vec<Quantile> = QUANTILES.into_iter().filter(is_unknown).collect();
    let check = Check::at_most(NAME, what, unknown.len() as f64, 0.0, LimitUnit::Count);
    let note = (check.state == CheckState::Failed).then(|| note(part, open, &unknown));
    check
        .noted(note)
        .advised(|| "see that the server answers, wait longer with `run.drain`, or ask for less".to_owned())
}

/// True if a quantile stays the same, however long `open` requests take, beside `known` ones, if so many
/// ranks above it are within its confidence interval; by default as many as if requests were independent. A
/// quantile for which there are too few requests passes.
fn is_known(quantile: Quantile, known: u64, open: u64, ranks_above: Option<u64>) -> bool {
    let Some((_, latest)) = quantile.interval_ranks(known + open) else { return true };
    if open == 0 {
        return true;
    }
    // Ranks among the finished requests: as reported of these alone, and if all open ones take longer.
    let reported = quantile.rank(known).unwrap_or(0);
    let worst = quantile.rank(known + open).expect("there are requests");
    worst <= known && worst - reported <= ranks_above.unwrap_or(latest - worst)
}

/// A sentence about the open requests, their ages, and the percentiles that are unknown because of them.
fn note(part: &PhaseStats, open: u64, unknown: &[Quantile]) -> String {
    let names: Vec<String> = unknown.iter().map(Quantile::to_string).collect();
    let longest = part.unfinished.histogram().and_then(|ages| ages.max()).unwrap_or_default();
    format!(
        "{open} of {} requests were unfinished, for up to {:.1} s, so {} of the response time cannot be known",
        part.requests(),
        longest.as_secs_f64(),
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::scene::{sample, window};
    use farfield_base::Sample;

    const MS: u64 = 1_000_000;
    /// The end of these runs.
    const END: Instant = Instant::from_ns(1000 * MS);

    fn fold(done: u64, open: u64) -> Fold {
        let mut fold = Fold::new(window(0, 1000));
        (0..done).for_each(|n| fold.record(&sample(n % 1000 * MS, (n % 1000 + 5) * MS)));
        let open_one = Sample { outcome: Outcome::Unfinished, ..sample(0, 3000 * MS) };
        (0..open).for_each(|_| fold.record(&open_one));
        fold
    }

    #[test]
    fn a_run_that_ends_all_it_began_is_known() {
        let check = unfinished(&fold(1000, 0), END);
        assert_eq!((check.state, check.measured), (CheckState::Passed, Some(0.0)));
    }

    /// A server that hangs in the middle: what was not answered decides every percentile.
    #[test]
    fn a_server_that_hangs_leaves_nothing_known() {
        let check = unfinished(&fold(91, 136), END);
        assert_eq!((check.state, check.measured), (CheckState::Failed, Some(3.0)));
        let note = check.note.expect("a note");
        assert!(
            note.starts_with("136 of 227 requests were unfinished, for up to 3.0 s, so p50, p90, p95 of"),
            "{note}"
        );
    }

    /// Closed users who hang are few among many requests: only the percentiles that they reach are unknown.
    #[test]
    fn a_few_reach_only_the_tail() {
        let names = |done, open| {
            let unknown = QUANTILES.into_iter().filter(|quantile| !is_known(*quantile, done, open, None));
            unknown.map(|quantile| quantile.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names(5_000, 10), ["p99.9"]);
        assert_eq!(names(60_000, 10), ["p99.99"]);
        assert_eq!(names(1_000_000, 10), [""; 0]);
        assert_eq!(names(5_000, 1), [""; 0], "one of five thousand is within the confidence interval");
        assert_eq!(names(5_000, 400), ["p50", "p90", "p95", "p99", "p99.9"]);
    }

    /// 20,000 requests of 100 s, half of them slow, and 400 that are open move the median by 200 ranks. If
    /// requests are slow or not each by itself, that is more than it is uncertain by; if all of a second are,
    /// it is not.
    #[test]
    fn requests_that_are_alike_leave_more_room() {
        let mut state: u64 = 1;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut unknown = |alike: u64| {
            let mut fold = Fold::new(window(0, 100_000));
            let mut is_slow = false;
            for n in 0..20_000 {
                if n % alike == 0 {
                    is_slow = uniform() < 0.5;
                }
                let ns = (1.0 + uniform()) * if is_slow { 50e6 } else { 5e6 };
                fold.record(&sample(n * 5 * MS, n * 5 * MS + ns as u64));
            }
            let open = Sample { outcome: Outcome::Unfinished, ..sample(0, 100_000 * MS) };
            (0..400).for_each(|_| fold.record(&open));
            unfinished(&fold, Instant::from_ns(100_000 * MS)).note.expect("a note")
        };
        let (apart, alike) = (unknown(1), unknown(200));
        assert!(apart.contains("so p50, p90, "), "{apart}");
        assert!(alike.contains("so p90, "), "{alike}");
    }

    #[test]
    fn too_few_requests_and_a_scenario_that_ignores_them_are_skipped() {
        let check = unfinished(&fold(2, 1), END);
        assert_eq!(check.state, CheckState::Skipped);
        let mut ignoring = Fold::new(window(0, 1000)).ignoring_unfinished(true);
        ignoring.record(&Sample { outcome: Outcome::Unfinished, ..sample(0, MS) });
        assert_eq!(unfinished(&ignoring, END).state, CheckState::Skipped);
    }
}
