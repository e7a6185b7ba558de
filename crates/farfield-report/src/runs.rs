//! The runs of a folder, a line each: when, whether they may be believed, their first figures, their size on
//! disk; and the note of those that have one.

use crate::comparison::side::{SideError, run_directories};
use crate::directory::{ReportError, RunDirectory};
use crate::figures::{bytes, percent, rate, time};
use crate::terminal::{GREEN, Look, RED, YELLOW, fit, paint};
use farfield_files::Folder;
use farfield_measure::{Quantile, Summary};
use std::path::{Path, PathBuf};

/// Columns of the words of a verdict.
const VERDICT: usize = 12;
/// The most columns of a run's name.
const NAME_MAX: usize = 40;

/// A run of a folder.
#[derive(Debug)]
pub struct ListedRun {
    /// The run's directory.
    pub path: PathBuf,
    /// The directory's name.
    pub name: String,
    /// The run's summary, or why it cannot be read.
    pub run: Result<RunDirectory, ReportError>,
    /// Bytes that the directory takes on disk; none where it is a link, or cannot be read.
    pub bytes: Option<u64>,
}

impl ListedRun {
    /// The instant of its start, as text; empty where that cannot be read.
    pub fn started_at(&self) -> &str {
        self.run.as_ref().map_or("", |run| run.summary().heading.started_at.as_str())
    }
}

/// The runs in `folder`, the newest first by their start, and those that cannot be read last.
///
/// # Errors
/// If the folder cannot be read.
pub fn list(folder: &Path) -> Result<Vec<ListedRun>, SideError> {
    let open = Folder::open(folder);
    let listed = |path: PathBuf| {
        let name = path.file_name().unwrap_or(path.as_os_str());
        let whole = open.as_ref().ok().and_then(|open| open.open_below(name).ok());
        let bytes = whole.and_then(|whole| whole.bytes_on_disk().ok());
        ListedRun { name: name.to_string_lossy().into_owned(), run: RunDirectory::open(&path), bytes, path }
    };
    let mut runs: Vec<ListedRun> = run_directories(folder)?.into_iter().rev().map(listed).collect();
    // Instants in UTC are in the order of their texts; of runs of one instant the last by name comes first.
    runs.sort_by(|a, b| b.started_at().cmp(a.started_at()));
    Ok(runs)
}

/// The runs in `folder` as text, the newest first by their start, and those that cannot be read last: lines
/// of at most `columns`.
///
/// # Errors
/// If the folder cannot be read, and if there are no runs in it.
pub fn render(folder: &Path, columns: usize, look: Look<'_>) -> Result<String, SideError> {
    let runs = list(folder)?;
    if runs.is_empty() {
        return Err(SideError::NoRuns(folder.to_owned()));
    }
    let width = runs.iter().map(|run| run.name.chars().count()).max().unwrap_or(0).min(NAME_MAX);
    let mut text = format!(
        "{:VERDICT$}{:<width$}{:>10}{:>9}{:>8}{:>9}  load\n",
        "", "run", "rate", "p99", "errors", "size"
    );
    for run in &runs {
        let (word, figures, note) = match &run.run {
            Ok(found) => {
                let summary = found.summary();
                (verdict(summary), figures(summary, run.bytes), summary.heading.note.as_deref())
            }
            Err(error) => ("UNREADABLE", format!("  {error}"), None),
        };
        let colour = match word {
            "VALID" => GREEN,
            "INVALID" | "UNREADABLE" => RED,
            _ => YELLOW,
        };
        let line = fit(&format!("{word:VERDICT$}{:<width$}{figures}", fit(&run.name, width)), columns);
        text.push_str(paint(word, colour, line.trim_end(), look).as_str());
        text.push('\n');
        if let Some(note) = note {
            text.push_str(&fit(&format!("{:VERDICT$}{note}", ""), columns));
            text.push('\n');
        }
    }
    Ok(text)
}

/// The verdict on a run, in a word.
fn verdict(summary: &Summary) -> &'static str {
    match (summary.complete, summary.verdict.valid) {
        (false, _) => "INCOMPLETE",
        (true, false) => "INVALID",
        (true, true) => "VALID",
    }
}

fn figures(summary: &Summary, size: Option<u64>) -> String {
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
    let size = size.map_or_else(dash, |size| bytes(size as f64));
    format!("{succeeded:>10}{p99:>9}{errors:>8}{size:>9}  {}", summary.heading.load_words)
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
        let mut noted = Scene::good().summary();
        noted.heading.note = Some("before the \u{1b} index".to_owned());
        keep("b-good", &begun(noted, "2026-11-27T10:00:00Z"));
        keep("a-worst", &begun(Scene::worst().summary(), "2026-11-27T09:59:59Z"));
        keep("c-killed", &begun(killed(), "2026-11-27T10:00:01Z"));
        keep("d-broken", "{");
        fs::create_dir(folder.path().join("no run")).expect("a folder");
        let text = render(folder.path(), 80, Look::default()).expect("runs");
        let words: Vec<&str> = text.lines().skip(1).map(|line| &line[..VERDICT + 3]).collect();
        let note = "            bef";
        assert_eq!(words, ["INCOMPLETE  c-k", "VALID       b-g", note, "INCOMPLETE  a-w", "UNREADABLE  d-b"]);
        let sizes: Vec<Option<u64>> =
            list(folder.path()).expect("runs").iter().map(|run| run.bytes).collect();
        assert!(sizes.iter().all(|size| size.is_some_and(|size| size > 0)), "{sizes:?}");
        assert!(
            text.contains("500/s") && text.contains("10.0ms") && text.contains("is no summary of"),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 80 && !line.contains('\u{1b}')), "{text}");
    }
}
