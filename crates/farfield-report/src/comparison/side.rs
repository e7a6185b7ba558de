//! One side of a comparison: a run, or a folder of repeats.

use super::SideSummary;
use crate::directory::{ReportError, RunDirectory, is_run};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The valid runs of one side, and those that do not count.
#[derive(Debug)]
pub struct ComparisonSide {
    name: String,
    runs: Vec<RunDirectory>,
    /// Runs that were measured and do not count: they are shown among the others, and compared with none.
    doubtful: Vec<RunDirectory>,
    left_out: Vec<LeftOut>,
}

/// A run that does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The name of its directory.
    pub run: String,
    /// The reason.
    pub reason: String,
}

/// The error of opening a side.
#[derive(Debug, thiserror::Error)]
pub enum SideError {
    /// The folder cannot be read.
    #[error("the folder `{path}` cannot be read: {source}")]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The path is neither a run directory nor a folder of some.
    #[error(
        "`{0}` is no run directory, and has none in it; name what `farfield run` printed, or the folder of several"
    )]
    NoRuns(PathBuf),
    /// The run directory cannot be read.
    #[error(transparent)]
    Run(#[from] ReportError),
    /// Two sides are one directory.
    #[error("`{0}` is named twice; a side compared with itself shows nothing")]
    Twice(PathBuf),
    /// No run counts.
    #[error("`{path}` has no valid run to compare: {reasons}")]
    NoneValid {
        /// The side.
        path: PathBuf,
        /// The reasons, one for each run that was left out.
        reasons: String,
    },
}

impl ComparisonSide {
    /// Opens the run directory at `path`, or all those in the folder `path`, in the order of their names.
    pub fn open(path: &Path) -> Result<ComparisonSide, SideError> {
        let mut side = ComparisonSide {
            name: path.display().to_string(),
            runs: Vec::new(),
            doubtful: Vec::new(),
            left_out: Vec::new(),
        };
        let directories =
            if is_run(path) || !path.is_dir() { vec![path.to_owned()] } else { run_directories(path)? };
        if directories.is_empty() {
            return Err(SideError::NoRuns(path.to_owned()));
        }
        for directory in &directories {
            match RunDirectory::open(directory) {
                Ok(run) => side.admit(run),
                Err(error) if directories.len() == 1 => return Err(error.into()),
                Err(error) => side.leave_out(directory, error.to_string()),
            }
        }
        side.leave_out_copies();
        if side.runs.is_empty() {
            let reasons: Vec<String> = side
                .left_out
                .iter()
                .map(|left_out| format!("{}: {}", left_out.run, left_out.reason))
                .collect();
            return Err(SideError::NoneValid { path: path.to_owned(), reasons: reasons.join("; ") });
        }
        Ok(side)
    }

    /// The path by which it was named.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The runs that count, at least one.
    pub fn runs(&self) -> &[RunDirectory] {
        &self.runs
    }

    /// The runs that were measured and do not count.
    pub fn doubtful(&self) -> &[RunDirectory] {
        &self.doubtful
    }

    /// The side in a few words.
    pub fn summary(&self) -> SideSummary {
        SideSummary {
            name: self.name.clone(),
            runs: self.runs.len(),
            left_out: self.left_out.clone(),
            load: self.runs[0].summary().heading.load_words.clone(),
        }
    }

    fn admit(&mut self, run: RunDirectory) {
        let summary = run.summary();
        if !summary.complete {
            self.leave_out(run.path(), "it is incomplete".to_owned());
            self.doubtful.push(run);
        } else if !summary.verdict.valid {
            let failed: Vec<&str> = summary.verdict.failed().map(|check| check.name.as_str()).collect();
            let reason = format!("it is invalid ({})", failed.join(", "));
            self.leave_out(run.path(), reason);
            self.doubtful.push(run);
        } else {
            self.runs.push(run);
        }
    }

    fn leave_out(&mut self, path: &Path, reason: String) {
        let run = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        self.left_out.push(LeftOut { run, reason });
    }

    /// In virtual time the same seed gives the same run: a copy would count as a repeat that agrees
    /// perfectly.
    fn leave_out_copies(&mut self) {
        let mut first_of: BTreeMap<u64, PathBuf> = BTreeMap::new();
        let (mut kept, mut copies) = (Vec::new(), Vec::new());
        for run in std::mem::take(&mut self.runs) {
            let seed = run.summary().heading.seed;
            let in_virtual_time = run.summary().generator.plane == "simulated";
            match first_of.get(&seed) {
                Some(first) if in_virtual_time => copies.push((run.path().to_owned(), first.clone(), seed)),
                _ => {
                    first_of.insert(seed, run.path().to_owned());
                    kept.push(run);
                }
            }
        }
        self.runs = kept;
        for (copy, first, seed) in copies {
            let first = first.file_name().unwrap_or(first.as_os_str()).to_string_lossy().into_owned();
            self.leave_out(
                &copy,
                format!("it has the seed {seed} of {first}, and so is that run again in virtual time"),
            );
        }
    }
}

/// The directories in `folder` that hold a run's summary, by their names.
pub fn run_directories(folder: &Path) -> Result<Vec<PathBuf>, SideError> {
    let unreadable = |source| SideError::Unreadable { path: folder.to_owned(), source };
    let mut directories = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if is_run(&path) {
            directories.push(path);
        }
    }
    directories.sort();
    Ok(directories)
}
