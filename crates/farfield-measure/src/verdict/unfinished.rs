//! Could the requests that were still open at the end of the run change what it reports?
//!
//! Their times are known from below alone. A quantile of the response time is known all the same where even the worst
//! case, that all of them take for ever, moves it by no more than chance leaves open: its rank then still lies within
//! the quantile's 95 % confidence interval, and a finished request has that rank. The check counts the quantiles of the summary
//! for which this does not hold, of those that the run had enough requests to tell at all. What the client gave up
//! (timed out) is no open question here: that a request takes longer than the scenario waits is an answer.

use super::{Check, CheckState, Unit};
use crate::fold::{Fold, PhaseStats};
use crate::quantile::Quantile;
use crate::summary::QUANTILES;
use farfield_base::Outcome;

const NAME: &str = "unfinished";

pub fn unfinished(fold: &Fold) -> Check {
    let what =
        "Requests that were open at the end of the run cannot change a percentile of the response time.";
    let part = fold.steady();
    let open = part.count(Outcome::Unfinished);
    let skip = |why| Check::skipped(NAME, what, 0.0, Unit::Count, why);
    if part.ignores_unfinished() {
        return skip("the scenario says to ignore unfinished requests");
    }
    let known = part.times.response.count();
    if open > 0 && QUANTILES.iter().all(|quantile| quantile.interval_ranks(known + open).is_none()) {
        return skip("there are too few requests for any percentile");
    }
    let unknown: Vec<Quantile> =
        QUANTILES.into_iter().filter(|quantile| !is_known(*quantile, known, open)).collect();
    let check = Check::at_most(NAME, what, unknown.len() as f64, 0.0, Unit::Count);
    let note = (check.state == CheckState::Failed).then(|| note(part, open, &unknown));
    check
        .noted(note)
        .advised(|| "see that the server answers, wait longer with `run.drain`, or ask for less".to_owned())
}

/// Whether a quantile stays what it is, however long `open` requests take, beside `known` ones. One that so many requests
/// cannot tell anyway is no matter.
fn is_known(quantile: Quantile, known: u64, open: u64) -> bool {
    let Some((_, latest)) = quantile.interval_ranks(known + open) else { return true };
    if open == 0 {
        return true;
    }
    // Ranks among the finished: as it is reported of these alone, and if all others take longer.
    let reported = quantile.rank(known).unwrap_or(0);
    let worst = quantile.rank(known + open).expect("there are requests");
    // How far chance may be off, in ranks.
    let slack = latest - worst;
    worst <= known && worst - reported <= slack
}

/// What was open for how long, and what that leaves unknown: one sentence.
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

    fn fold(done: u64, open: u64) -> Fold {
        let mut fold = Fold::new(window(0, 1000));
        (0..done).for_each(|n| fold.record(&sample(n % 1000 * MS, (n % 1000 + 5) * MS)));
        let open_one = Sample { outcome: Outcome::Unfinished, ..sample(0, 3000 * MS) };
        (0..open).for_each(|_| fold.record(&open_one));
        fold
    }

    #[test]
    fn a_run_that_ends_all_it_began_is_known() {
        let check = unfinished(&fold(1000, 0));
        assert_eq!((check.state, check.measured), (CheckState::Passed, Some(0.0)));
    }

    /// A server that hangs in the middle: what was not answered decides every percentile.
    #[test]
    fn a_server_that_hangs_leaves_nothing_known() {
        let check = unfinished(&fold(91, 136));
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
            let unknown = QUANTILES.into_iter().filter(|quantile| !is_known(*quantile, done, open));
            unknown.map(|quantile| quantile.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names(5_000, 10), ["p99.9"]);
        assert_eq!(names(60_000, 10), ["p99.99"]);
        assert_eq!(names(1_000_000, 10), [""; 0]);
        assert_eq!(names(5_000, 1), [""; 0], "one of five thousand is within what chance leaves open");
        assert_eq!(names(5_000, 400), ["p50", "p90", "p95", "p99", "p99.9"]);
    }

    #[test]
    fn too_few_requests_and_a_scenario_that_ignores_them_are_skipped() {
        let check = unfinished(&fold(2, 1));
        assert_eq!(check.state, CheckState::Skipped);
        let mut ignoring = Fold::new(window(0, 1000)).ignoring_unfinished(true);
        ignoring.record(&Sample { outcome: Outcome::Unfinished, ..sample(0, MS) });
        assert_eq!(unfinished(&ignoring).state, CheckState::Skipped);
    }
}
