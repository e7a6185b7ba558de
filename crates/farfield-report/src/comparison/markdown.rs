//! A comparison as Markdown, for a pull request.

use super::cells::Cells;
use super::fail_if::{FailIf, Judgement};
use super::text::{evidence, unknown_by_reason, verdict};
use super::{Against, Comparison};
use crate::markdown::{code, plain};
use std::fmt::Write;

/// The comparison as Markdown.
pub fn render(comparison: &Comparison, judged: &[(FailIf, Vec<Judgement>)]) -> String {
    let mut text = String::new();
    for (at, against) in comparison.others.iter().enumerate() {
        let _ = writeln!(
            text,
            "### {} against {}: {}\n",
            code(&against.side.name),
            code(&comparison.base.name),
            verdict(against).to_lowercase()
        );
        let _ = writeln!(
            text,
            "{} and {} valid runs, {}.\n",
            comparison.base.runs,
            against.side.runs,
            evidence(against)
        );
        table(&mut text, against);
        for (condition, judgements) in judged {
            let word = match judgements[at] {
                Judgement::Kept => "kept",
                Judgement::Exceeded => "**exceeded**",
                Judgement::Undecided => "**undecided**: more repeats would decide",
            };
            let _ = writeln!(text, "- {}: {word}", code(&condition.to_string()));
        }
        for change in &against.inputs {
            let value = |value: &Option<String>| value.as_deref().map_or_else(|| "absent".to_owned(), code);
            let _ =
                writeln!(text, "- {}: {} → {}", code(&change.key), value(&change.base), value(&change.other));
        }
        for side in [&comparison.base, &against.side] {
            for left_out in &side.left_out {
                let _ =
                    writeln!(text, "- {} does not count: {}", code(&left_out.run), plain(&left_out.reason));
            }
        }
        for (reason, metrics) in unknown_by_reason(against) {
            let _ = writeln!(text, "- {} unknown: {}", plain(&metrics), plain(reason));
        }
        for note in &against.notes {
            let _ = writeln!(text, "- {}", plain(note));
        }
        text.push('\n');
    }
    text
}

fn table(text: &mut String, against: &Against) {
    text.push_str(
        "| | base | against it | change | 95 % interval | |\n| --- | ---: | ---: | ---: | --- | --- |\n",
    );
    for row in &against.rows {
        let Cells { metric, base, other, change, interval, found } = Cells::of(row);
        let metric = plain(&metric);
        let _ = writeln!(text, "| {metric} | {base} | {other} | {change} | {interval} | {found} |");
    }
    text.push('\n');
}
