//! Claims in words: what was found, and whether the claim holds.

use super::{change_in_words, in_words};
use farfield_experiment::sweep::{ClaimReport, Side, Verdict};

/// A verdict, in a word.
pub(super) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "HOLDS",
        Verdict::Fails => "FAILS",
        Verdict::Undecided => "UNDECIDED",
    }
}

/// What was found: `rate -48.2% (-51.0% to -45.1%), claimed below -50.0%, 6 blocks`.
pub(super) fn finding(report: &ClaimReport) -> String {
    let claim = &report.claim;
    let number = |number: f64| match claim.against {
        Some(_) => change_in_words(&claim.metric, number),
        None => in_words(&claim.metric, number),
    };
    let found = match (report.found, report.interval) {
        (Some(found), Some([low, high])) => {
            format!("{} {} ({} to {})", claim.metric, number(found), number(low), number(high))
        }
        _ => format!("{} unknown", claim.metric),
    };
    let side = match claim.side {
        Side::Above => "above",
        Side::Below => "below",
    };
    let blocks = if report.blocks == 1 { "block" } else { "blocks" };
    format!("{found}, claimed {side} {}, {} {blocks}", number(claim.limit), report.blocks)
}
