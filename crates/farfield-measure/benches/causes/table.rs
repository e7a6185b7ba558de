//! The table of confusion: which first cause the verdict names for each planted fault, and for two at once.

use super::confusion::{named, names, planted};
use super::faults::{FAULTS, PAIRS, of_name};
use farfield_measure::Verdict;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::RangeInclusive;

/// Seeds of the runs of the table.
const SEEDS: RangeInclusive<u64> = 1..=10;

/// Both tables as Markdown, over all seeds.
pub fn tables() -> String {
    let mut text = String::new();
    let runs = SEEDS.count();
    let _ = writeln!(text, "| planted | its check | first cause, of {runs} runs |\n| --- | --- | --- |");
    let mut right = 0;
    for fault in &FAULTS {
        let found = counted(SEEDS.map(|seed| named(&planted(seed, &[fault])).to_owned()));
        right += usize::from(found.len() == 1 && found.contains_key(fault.cause));
        let _ = writeln!(text, "| {} | `{}` | {} |", fault.name, fault.cause, in_words(&found));
    }
    let _ = writeln!(text, "\n{right} of {} are named rightly in all runs.\n", FAULTS.len());
    let _ = writeln!(
        text,
        "| two at once | their checks | first cause, of {runs} runs | both fail in |\n| --- | --- | --- | --- |"
    );
    for pair in PAIRS {
        let faults = pair.map(of_name);
        let verdicts: Vec<Verdict> = SEEDS.map(|seed| planted(seed, &faults)).collect();
        let found = counted(verdicts.iter().map(|verdict| named(verdict).to_owned()));
        let both =
            verdicts.iter().filter(|verdict| faults.iter().all(|fault| names(verdict, fault.cause))).count();
        let [one, other] = faults.map(|fault| fault.cause);
        let _ =
            writeln!(text, "| {} | `{one}`, `{other}` | {} | {both} |", pair.join("; "), in_words(&found));
    }
    text
}

fn counted(causes: impl Iterator<Item = String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    causes.for_each(|cause| *counts.entry(cause).or_default() += 1);
    counts
}

/// The most frequent first.
fn in_words(counts: &BTreeMap<String, usize>) -> String {
    let mut counts: Vec<_> = counts.iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let words: Vec<String> = counts.iter().map(|(cause, count)| format!("`{cause}` {count}")).collect();
    words.join(", ")
}
