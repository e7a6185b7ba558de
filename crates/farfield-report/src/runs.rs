//! The runs of a folder, a line each: when, whether they may be believed, and their first figures.

use crate::comparison::side::{SideError, run_directories};
use crate::directory::RunDirectory;
use crate::figures::{percent, rate, time};
use crate::terminal::{GREEN, Look, RED, YELLOW, fit, paint};
use farfield_measure::{Quantile, Summary};
use std::path::Path;

/// Columns of the words of a verdict.
const VERDICT: usize = 12;
/// The most columns of a run's name.
const NAME_MAX: usize = 40;

/// The runs in `folder` as text, the newest first by their start, and those that cannot be read last: lines
/// of at most `columns`.
pub fn render(folder: &Path, columns: usize, look: Look<'_>) -> Result<String, SideError> {
    let directories = run_directories(folder)?;
    if directories.is_empty() {
        return Err(SideError::NoRuns(folder.to_owned()));
    }
    let names = directories.iter().map(|path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy());
    let width = names.clone().map(|name| name.chars().count()).max().unwrap_or(0).min(NAME_MAX);
    let mut text =
        format!("{:VERDICT$}{:<width$}{:>12}{:>10}{:>9}  load\n", "", "run", "rate", "p99", "errors");
    let row = |(directory, name)| match RunDirectory::open(directory) {
        Ok(run) => {
            let summary = run.summary();
            (summary.heading.started_at.clone(), verdict(summary), name, figures(summary))
        }
        Err(error) => (String::new(), "UNREADABLE", name, format!("  {error}")),
    };
    let mut rows: Vec<_> = directories.iter().zip(names).rev().map(row).collect();
    // Instants in UTC are in the order of their texts; of runs of one instant the last by name comes first.
    rows.sort_by(|a, b| b.0.cmp(&a.0));
    for (_, word, name, figures) in rows {
        let colour = match word {
            "VALID" => GREEN,
            "INVALID" | "UNREADABLE" => RED,
            _ => YELLOW,
        };
        let line = fit(&format!("{word:VERDICT$}{:<width$}{figures}", fit(&name, width)), columns);
        text.push_str(paint(word, colour, line.trim_end(), look).as_str());
        text.push('\n');
    }
    Ok(text)
}

/// Whether a run may be believed, in a word.
fn verdict(summary: &Summary) -> &'static str {
    match (summary.complete, summary.verdict.valid) {
        (false, _) => "INCOMPLETE",
        (true, false) => "INVALID",
        (true, true) => "VALID",
    }
}

fn figures(summary: &Summary) -> String {
    let dash = || "–".to_owned();
    let steady = &summary.steady;
    let succeeded = steady.rates.map_or_else(dash, |rates| rate(rates.succeeded_per_s));
    let p99 = match &steady.estimates.response {
        Some(estimate) => {
            estimate.quantile(Quantile::P99).map(|found| (found.value_ns, found.is_lower_bound))
        }
        None => {
            let times = steady.times.response.as_ref();
            times.and_then(|times| times.quantile_ns(Quantile::P99)).map(|ns| (ns, false))
        }
    };
    let p99 =
        p99.map_or_else(dash, |(ns, is_more)| format!("{}{}", if is_more { ">" } else { "" }, time(ns)));
    let errors = steady.error_share.map_or_else(dash, percent);
    format!("{succeeded:>12}{p99:>10}{errors:>9}  {}", summary.heading.load_words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::SUMMARY_FILE;
    use crate::terminal::scene::{Scene, killed};
    use std::fs;

    #[test]
    fn each_run_has_a_line_and_an_unreadable_one_says_why() {
        let folder = tempfile::tempdir().expect("a folder");
        let keep = |name: &str, text: &str| {
            fs::create_dir(folder.path().join(name)).expect("a folder");
            fs::write(folder.path().join(name).join(SUMMARY_FILE), text).expect("written");
        };
        assert!(matches!(render(folder.path(), 80, Look::default()), Err(SideError::NoRuns(_))));
        let begun = |mut summary: Summary, at: &str| {
            at.clone_into(&mut summary.heading.started_at);
            summary.to_json()
        };
        keep("b-good", &begun(Scene::good().summary(), "2026-11-27T10:00:00Z"));
        keep("a-worst", &begun(Scene::worst().summary(), "2026-11-27T09:59:59Z"));
        keep("c-killed", &begun(killed(), "2026-11-27T10:00:01Z"));
        keep("d-broken", "{");
        fs::create_dir(folder.path().join("no run")).expect("a folder");
        let text = render(folder.path(), 80, Look::default()).expect("runs");
        let words: Vec<&str> = text.lines().skip(1).map(|line| &line[..VERDICT + 3]).collect();
        assert_eq!(words, ["INCOMPLETE  c-k", "VALID       b-g", "INCOMPLETE  a-w", "UNREADABLE  d-b"]);
        assert!(
            text.contains("500/s") && text.contains("10.0ms") && text.contains("is no summary of"),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 80 && !line.contains('\u{1b}')), "{text}");
    }
}
