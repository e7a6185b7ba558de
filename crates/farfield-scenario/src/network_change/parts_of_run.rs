//! The parts of a run between changes, which results count apart.

use super::End;
use farfield_base::{Instant, StageSpan};
use std::collections::{BTreeMap, BTreeSet};

/// Parts from the begin of the measured part on that are counted apart; the last of them lasts to its end.
const PARTS_MOST: usize = 20;

/// A run as changes of its network part it.
#[derive(Debug, Clone, Default)]
pub(crate) struct PartsOfRun {
    /// The parts between changes.
    pub conditions: Vec<StageSpan>,
    /// Times in which nothing comes through.
    pub outages: Vec<(Instant, Instant)>,
}

/// The parts of a run between the instants of `marks`, each with what begins there; the last has no end. Of
/// those before the measured part as many are kept as of those in it, the latest.
pub(super) fn conditions(
    marks: &BTreeMap<Instant, Vec<String>>,
    measured_from: Instant,
    end: End,
) -> Vec<StageSpan> {
    if marks.is_empty() {
        return Vec::new();
    }
    let mut begins: Vec<(Instant, String)> = Vec::new();
    if !marks.contains_key(&Instant::ZERO) {
        begins.push((Instant::ZERO, "as at first".to_owned()));
    }
    let mark = |(at, words): (&Instant, &Vec<String>)| {
        let distinct: BTreeSet<&str> = words.iter().map(String::as_str).collect();
        (*at, distinct.into_iter().collect::<Vec<_>>().join("; "))
    };
    let within = |at: &Instant| match end {
        End::At(end) => *at < end,
        End::Unknown => true,
    };
    begins.extend(marks.iter().filter(|(at, _)| within(at)).map(mark));
    // The first that has a part in the measured part.
    let first = begins.partition_point(|(at, _)| *at <= measured_from).saturating_sub(1);
    if let Some(left_out) = (begins.len() - first).checked_sub(PARTS_MOST).filter(|count| *count > 0) {
        begins.truncate(first + PARTS_MOST);
        if let Some((_, words)) = begins.last_mut() {
            *words = format!("… and {} more changes", left_out + 1);
        }
    }
    let ends: Vec<Instant> = begins.iter().skip(1).map(|(at, _)| *at).chain([Instant::MAX]).collect();
    let part = |(nth, ((from, course), to))| StageSpan { name: format!("{}", nth + 1), course, from, to };
    let parts = begins.into_iter().zip(ends).enumerate().map(part);
    parts.skip(first.saturating_sub(PARTS_MOST)).collect()
}
