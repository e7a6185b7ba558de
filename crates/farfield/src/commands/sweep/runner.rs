//! The runs of a sweep, each in a folder of its point: `point-02/repeat-1`.

use crate::commands::child::{ChildResult, ChildRun, ChildRuns, in_ns};
use crate::commands::observe::validity;
use crate::commands::question::curves::{self, Curve};
use crate::output;
use farfield_base::{Duration, printable};
use farfield_experiment::Stop;
use farfield_experiment::sweep::{Course, PlannedRun, PointRun, PointRunner, RunLength, Setting};
use farfield_measure::verdict::{Check, CheckState};
use farfield_report::sweep::column::{Column, readings};
use farfield_report::sweep::text;
use std::path::{Path, PathBuf};

/// Makes the runs by child processes.
pub struct SweepRunner {
    /// Makes them.
    pub runs: ChildRuns,
    /// Columns that are read of each run.
    pub columns: Vec<Column>,
    /// Time limit of requests, which does not follow the length of longer runs.
    pub request_timeout: Option<Duration>,
    /// The curves that their names stand for.
    pub curves: Vec<Curve>,
    /// Checks that may fail.
    pub relaxed: Vec<String>,
    /// The folder of the sweep.
    pub folder: PathBuf,
    /// True if no progress is printed.
    pub quiet: bool,
}

impl PointRunner for SweepRunner {
    fn run(&self, run: &PlannedRun) -> Result<PointRun, Stop> {
        let set = |Setting { key, value }: &Setting| (key.clone(), value.clone());
        let seed = ("seed".to_owned(), run.design.seed.to_string());
        let settings = curves::resolved(&run.settings, &self.curves);
        let sets = run.length.iter().flat_map(|length| self.of_length(length));
        let sets = sets.chain(settings.iter().map(set)).chain([seed]);
        let length = run.length.map_or(String::new(), |RunLength { measured, warm_up }| {
            format!("-of-{measured}-after-{warm_up}")
        });
        let again = match run.attempt {
            0 => String::new(),
            again => format!("-again-{again}"),
        };
        let name = format!("repeat-{}{length}{again}", run.design.repeat);
        let made = self.runs.run(&ChildRun {
            design: &run.design,
            point: &run.design.point,
            sets: sets.collect(),
            directory: self.folder.join(format!("point-{:02}", run.point + 1)).join(name),
        })?;
        let came_to = came_to(&made, &self.columns, &self.relaxed, &self.folder);
        if !self.quiet && !made.read_back {
            let line = text::progress(run, &came_to);
            output::put_progress(&printable(&line, &[]), false);
        }
        Ok(came_to)
    }
}

impl SweepRunner {
    /// The keys of a run that is not as long as its scenario says.
    fn of_length(&self, length: &RunLength) -> Vec<(String, String)> {
        let own = |key: &str, time: Duration| (key.to_owned(), in_ns(time));
        let timeout = self.request_timeout.map(|limit| own("connections.request-timeout", limit));
        let both = [own("run.duration", length.measured), own("run.warm-up", length.warm_up)];
        timeout.into_iter().chain(both).collect()
    }
}

/// The result of a run in `folder`, for these columns; the checks of these names may fail.
pub fn came_to(made: &ChildResult, columns: &[Column], relaxed: &[String], folder: &Path) -> PointRun {
    let summary = made.run.summary();
    let fails = |check: &&Check| check.state == CheckState::Failed && relaxed.contains(&check.name);
    let without: Vec<String> =
        summary.verdict.checks.iter().filter(fails).map(|check| check.name.clone()).collect();
    let validity = match without.is_empty() {
        true => validity(summary, &[]),
        false => {
            let mut others = summary.clone();
            others.verdict.checks.retain(|check| !relaxed.contains(&check.name));
            validity(&others, &[])
        }
    };
    let missed = summary.thresholds.iter().filter(|threshold| !threshold.passed);
    PointRun {
        validity,
        readings: readings(columns, &made.run),
        course: summary.settling.map(|settling| Course {
            settled_ns: settling.settled_ns,
            halves_ratio: settling.halves_ratio(),
            end_ns: settling.end_ns,
        }),
        missed: missed.map(|threshold| threshold.text.clone()).collect(),
        relaxed: without,
        warnings: u32::try_from(summary.warnings.len()).unwrap_or(u32::MAX),
        directory: made.run.path().strip_prefix(folder).unwrap_or(made.run.path()).to_owned(),
        took_s: made.took_s,
    }
}
