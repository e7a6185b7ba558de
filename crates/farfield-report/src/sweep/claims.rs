//! Claims in words: what was found, and whether the claim holds.

use super::names::ShortNames;
use super::{change_in_words, changes_in_words, in_words};
use farfield_experiment::sweep::{ClaimReport, Setting, Side, SweepReport, Verdict};

/// A verdict, in a word.
pub(super) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "HOLDS",
        Verdict::Fails => "FAILS",
        Verdict::Undecided => "UNDECIDED",
    }
}

/// The finding: `rate -48.2% (-51.0% to -45.1%) at rtt=60ms, claimed below -50.0%, 6 blocks`.
pub(super) fn finding(report: &SweepReport, judged: &ClaimReport) -> String {
    let claim = &judged.claim;
    let blocks = if judged.blocks == 1 { "block" } else { "blocks" };
    let side = match claim.side {
        Side::Above => "above ",
        Side::Below => "below ",
        Side::Within => "within ±",
    };
    let limit = number(report, judged, claim.limit);
    let limit = if claim.side == Side::Within { limit.trim_start_matches('+') } else { &limit };
    format!("{} {}, claimed {side}{limit}, {} {blocks}", claim.metric, seen(report, judged), judged.blocks)
}

/// The number or the change with its interval, and the value of a key at which it decides.
pub(super) fn seen(report: &SweepReport, judged: &ClaimReport) -> String {
    let names = ShortNames::of_sweep(report);
    let at = judged.decided_at.as_ref();
    let at = at.map(|Setting { key, value }| format!(" at {}={value}", names.key(key)));
    let at = at.unwrap_or_default();
    match (judged.found, judged.interval) {
        (Some(found), Some([low, high])) => {
            let [found, low, high] = numbers(report, judged, [found, low, high]);
            format!("{found} ({low} to {high}){at}")
        }
        _ => format!("unknown{at}"),
    }
}

fn number(report: &SweepReport, judged: &ClaimReport, number: f64) -> String {
    let unit = report.unit(&judged.claim.metric);
    match judged.claim.against {
        Some(_) => change_in_words((unit, judged.scale), number),
        None => in_words(unit, number),
    }
}

/// A number and the ends of its interval.
fn numbers(report: &SweepReport, judged: &ClaimReport, numbers: [f64; 3]) -> [String; 3] {
    let unit = report.unit(&judged.claim.metric);
    match judged.claim.against {
        Some(_) => changes_in_words((unit, judged.scale), numbers),
        None => numbers.map(|number| in_words(unit, number)),
    }
}

/// A verdict as pages in Markdown have it.
pub(super) fn word_on_page(judged: &ClaimReport) -> &'static str {
    match judged.verdict {
        Verdict::Holds => "holds",
        Verdict::Fails => "**does not hold**",
        Verdict::Undecided if judged.interval.is_none() => "**not judged**",
        Verdict::Undecided => "**undecided**",
    }
}
