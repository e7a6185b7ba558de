//! Findings about the summary: numbers that the samples do not have.

use super::{Finding, Judged};
use crate::recount::{Difference, Evidence, Recounted, recount};

/// Differences that are named one by one.
const NAMED: usize = 6;

/// The summary counted again. Where samples are left out, nothing can be counted.
pub(super) fn recounted(judged: Judged<'_>) -> Vec<Finding> {
    let sides = judged.sides;
    let Some(summary) = sides.run.summary.as_ref().filter(|_| sides.run.all_kept) else { return Vec::new() };
    let limits = &sides.capture.limits;
    let file = sides.run.capture_file.as_deref().filter(|_| limits.cut_short.is_none());
    let evidence = Evidence {
        samples: sides.samples,
        events: sides.run.events.as_deref(),
        asked: judged.asked,
        capture: file.map(|file| (file, limits.packets)),
    };
    let Some(Recounted { differences, unread }) = recount(summary, evidence) else { return Vec::new() };
    let mut findings = Vec::new();
    if !differences.is_empty() {
        let words = |own: &Difference| format!("{} {} for {}", own.path, own.said, own.expected);
        let named: Vec<String> = differences.iter().take(NAMED).map(words).collect();
        let more = if differences.len() > NAMED { ", …" } else { "" };
        findings.push(Finding::disagreement(
            "summary-wrong",
            format!(
                "{} of the summary's values are not those of its samples: {}{more}",
                differences.len(),
                named.join(", ")
            ),
            "compute the summary from the samples; believe these, where they agree with the packets",
        ));
    }
    if !unread.is_empty() {
        findings.push(Finding::limit(
            "summary-unread",
            format!("nothing counts these numbers of the summary again: {}", unread.join(", ")),
            "believe them as they are; what a later farfield has added is counted again by that one",
        ));
    }
    findings
}
