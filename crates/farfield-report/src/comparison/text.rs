//! A comparison as terminal text.

use super::cells::Cells;
use super::fail_if::{FailIf, Judgement};
use super::inputs::InputChange;
use super::{Against, Comparison, IntervalBasis, SideSummary};
use crate::terminal::{COLUMNS, GREEN, LABEL, Look, RED, YELLOW, indented, labelled, paint, wrapped};

/// Meaning of the words in a table.
pub(super) const EXPLANATION: &str = "An interval contains the true change with 95 %. \"better\" and \"worse\" hold for all lines together: of two equal \
     servers at most one comparison in twenty says so. With \"?\" they hold for a line by itself. \"not shown\": the \
     interval contains 0, which is no change.";

/// Runs that were left out and keys that differ, shown of each side; a line counts the others.
const SHOWN: usize = 8;

/// The comparison as text, with a line for each condition; lines of at most 80 columns.
pub fn render(comparison: &Comparison, judged: &[(FailIf, Vec<Judgement>)], look: Look<'_>) -> String {
    let mut lines = side("base", &comparison.base);
    for (at, against) in comparison.others.iter().enumerate() {
        lines.push(String::new());
        lines.extend(side("against it", &against.side));
        lines.push(headline(against, look));
        lines.extend(table(against));
        lines.extend(inputs(&against.inputs));
        let conditions = judged.iter().map(|(condition, judgements)| (condition, judgements[at]));
        lines.extend(conditions.map(|(condition, judgement)| judgement_line(condition, judgement, look)));
        for note in &against.notes {
            lines.extend(indented("  - ", note));
        }
    }
    lines.push(String::new());
    lines.extend(wrapped(EXPLANATION, COLUMNS));
    let mut text = lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n");
    text.push('\n');
    text
}

/// The words at the top of a comparison.
pub(super) fn verdict(against: &Against) -> &'static str {
    match (against.differs(), against.is_known()) {
        (true, _) => "DIFFERENT",
        (false, true) => "NO DIFFERENCE SHOWN",
        (false, false) => "UNKNOWN",
    }
}

/// The basis of the intervals, in words.
pub(super) fn evidence(against: &Against) -> &'static str {
    match against.evidence {
        IntervalBasis::Repeats => "by the spread of repeats (Student's t, Welch)",
        IntervalBasis::Pairs => "by pairs of runs with one seed (Student's t)",
        IntervalBasis::OneAgainstRepeats => "one run against repeats",
        IntervalBasis::WithinRuns => "one run against one, by the intervals of each",
    }
}

fn headline(against: &Against, look: Look<'_>) -> String {
    let word = verdict(against);
    let colour = match word {
        "DIFFERENT" => YELLOW,
        "UNKNOWN" => RED,
        _ => GREEN,
    };
    let pad = " ".repeat((LABEL).saturating_sub(word.len()).max(2));
    paint(word, colour, &format!("{word}{pad}{}", evidence(against)), look)
}

fn side(label: &str, side: &SideSummary) -> Vec<String> {
    let plural = if side.runs == 1 { "run" } else { "runs" };
    let mut lines =
        vec![labelled(label, &format!("{} · {} valid {plural} · {}", side.name, side.runs, side.load))];
    for left_out in side.left_out.iter().take(SHOWN) {
        lines.extend(indented("  - ", &format!("{} does not count: {}", left_out.run, left_out.reason)));
    }
    lines.extend(others(side.left_out.len()));
    lines
}

fn table(against: &Against) -> Vec<String> {
    let row = |cells: [&str; 6]| {
        format!(
            "  {:<16}{:>11}{:>11}{:>9}  {:<18} {}",
            cells[0], cells[1], cells[2], cells[3], cells[4], cells[5]
        )
    };
    let head = row(["", "base", "against it", "change", "95 % interval", ""]);
    let rows = against.rows.iter().map(Cells::of);
    let rows = rows.map(|of| row([&of.metric, &of.base, &of.other, &of.change, &of.interval, of.found]));
    std::iter::once(head).chain(rows).chain(unknown(against)).collect()
}

/// The reasons why changes are unknown, each with the metrics that have it.
fn unknown(against: &Against) -> Vec<String> {
    unknown_by_reason(against)
        .into_iter()
        .flat_map(|(reason, metrics)| indented("  - ", &format!("{metrics} unknown: {reason}")))
        .collect()
}

pub(super) fn unknown_by_reason(against: &Against) -> Vec<(&'static str, String)> {
    let mut reasons: Vec<(&'static str, String)> = Vec::new();
    for row in &against.rows {
        let Some(reason) = row.unknown else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, metrics)) => metrics.push_str(&format!(", {}", row.metric)),
            None => reasons.push((reason, row.metric.to_string())),
        }
    }
    reasons
}

fn inputs(changes: &[InputChange]) -> Vec<String> {
    let mut lines = Vec::new();
    for change in changes.iter().take(SHOWN) {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "(absent)".to_owned());
        lines.extend(indented(
            "  ",
            &format!("{}: {} → {}", change.key, value(&change.base), value(&change.other)),
        ));
    }
    lines.extend(others(changes.len()));
    if !lines.is_empty() {
        lines.insert(0, "asked for differently, or on another machine:".to_owned());
    }
    lines
}

fn others(count: usize) -> Option<String> {
    (count > SHOWN).then(|| format!("  … and {} more", count - SHOWN))
}

fn judgement_line(condition: &FailIf, judgement: Judgement, look: Look<'_>) -> String {
    let (word, colour, says) = match judgement {
        Judgement::Kept => ("KEPT", GREEN, "the whole interval lies within"),
        Judgement::Exceeded => ("EXCEEDED", RED, "the whole interval lies beyond"),
        Judgement::Undecided => {
            ("UNDECIDED", YELLOW, "the interval contains the limit; more repeats would decide")
        }
    };
    paint(word, colour, &format!("{word:<LABEL$}{condition}: {says}"), look)
}
