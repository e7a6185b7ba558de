//! The evidence of an experiment: `evidence.json` in its folder names the files of each run with their
//! digests, so that what follows from them can be computed again without a run, and changed files are
//! refused.

use super::document::Question;
use crate::commands::sweep::plan::{ATTEMPTS, RUNS_MAX};
use crate::problem::Problem;
use farfield_base::Bytes;
use farfield_experiment::report::Ended;
use farfield_experiment::sweep::{RunRecord, SweepReport};
use farfield_experiment::trial::{DESIGN_FILE, Design};
use farfield_files::input::DOCUMENT_MAX;
use farfield_report::sweep::story::Story;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

/// The list, in the folder of an experiment.
pub const EVIDENCE_FILE: &str = "evidence.json";
/// The question, as it was asked.
pub const QUESTION_FILE: &str = "question.toml";
/// Files of a run that are evidence where they are there; samples are if the question keeps them.
const FILES: [&str; 9] = [
    "summary.json",
    DESIGN_FILE,
    "scenario.toml",
    "environment.json",
    "series.parquet",
    "monitors.parquet",
    "histograms.hlog",
    "samples.parquet",
    "events.parquet",
];
/// The version of the list.
const VERSION: u32 = 1;
/// Bytes of the list at most: some two hundred for each file of each run that a sweep can have, with
/// attempts.
const LIST_MAX: Bytes = Bytes(1 << 29);
/// The table of points, where the question has one beside it.
pub const POINTS_FILE: &str = "points.csv";

/// `evidence.json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    version: u32,
    /// The version of farfield that made the runs.
    farfield: String,
    /// True if all runs are in virtual time.
    is_simulated: bool,
    /// The command that asks the question again.
    command: String,
    /// The way in which the runs ended.
    pub ended: Ended,
    question: FileDigest,
    /// The table of points; null if the question has none beside it.
    points: Option<FileDigest>,
    pub runs: Vec<RunEvidence>,
}

/// A run with its files.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunEvidence {
    /// The number of its point, from 0.
    pub point: usize,
    /// Number of attempts before, which were disturbed.
    pub attempt: u32,
    /// The run's place in the experiment.
    pub design: Design,
    /// The run directory, from the folder of the experiment.
    pub directory: PathBuf,
    /// Seconds that it took.
    pub took_s: f64,
    files: Vec<FileDigest>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileDigest {
    name: String,
    bytes: u64,
    sha256: String,
}

impl Evidence {
    /// The evidence of an experiment, whose files are yet to be looked at.
    ///
    /// # Errors
    /// If the table of points is not there any more.
    pub fn of(report: &SweepReport, question: &Question, is_simulated: bool) -> Result<Evidence, Problem> {
        let points = question.points()?;
        Ok(Evidence {
            version: VERSION,
            farfield: env!("CARGO_PKG_VERSION").to_owned(),
            is_simulated,
            command: question.story.command.clone(),
            ended: report.ended.clone(),
            question: FileDigest::of(QUESTION_FILE, question.text.as_bytes()),
            points: points.map(|text| FileDigest::of(POINTS_FILE, text.as_bytes())),
            runs: report.runs.iter().map(RunEvidence::of).collect(),
        })
    }

    /// Writes the question and the list into the folder of the experiment.
    pub fn keep(&self, folder: &Path, question: &Question) -> Result<(), Problem> {
        let unwritten = |name: &str, why: &dyn std::fmt::Display| {
            Problem::failed(format!("cannot write {}: {why}", folder.join(name).display()))
        };
        let mut list = serde_json::to_value(self).expect("names are strings and numbers are finite");
        for (run, entry) in self.runs.iter().zip(list["runs"].as_array_mut().into_iter().flatten()) {
            let files = run.digests(folder).map_err(|error| unwritten(EVIDENCE_FILE, &error))?;
            entry["files"] = serde_json::to_value(files).expect("names are strings");
        }
        let list = serde_json::to_string_pretty(&list).expect("it is JSON") + "\n";
        let points = question.points()?;
        let files = [(QUESTION_FILE, question.text.as_str()), (EVIDENCE_FILE, &list)];
        for (name, text) in files.into_iter().chain(points.as_deref().map(|text| (POINTS_FILE, text))) {
            let put = farfield_files::output::put(&folder.join(name), text.as_bytes());
            put.map_err(|error| unwritten(name, &error))?;
        }
        Ok(())
    }

    /// The evidence in a folder, with the question, all of whose files are as they were.
    ///
    /// # Errors
    /// If a file is not there, is another, or lies elsewhere.
    pub fn read(folder: &Path) -> Result<(Evidence, String), Problem> {
        let refuse = |name: &Path, why: &dyn std::fmt::Display| {
            Problem::usage(format!("{}: {why}", folder.join(name).display()))
        };
        let name = Path::new(EVIDENCE_FILE);
        let text = farfield_files::input::read_below(folder, name, LIST_MAX);
        let text = text.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => refuse(name, &"it is not there; name the folder of an experiment"),
            _ => refuse(name, &error),
        })?;
        let evidence: Evidence = serde_json::from_slice(&text).map_err(|error| refuse(name, &error))?;
        if evidence.version > VERSION {
            return Err(refuse(name, &"it is of a newer farfield; use that one"));
        }
        if evidence.runs.len() > RUNS_MAX as usize * ATTEMPTS as usize {
            return Err(refuse(name, &"it names more runs than a sweep can have"));
        }
        let asked = Path::new(QUESTION_FILE);
        let question = farfield_files::input::read_below(folder, asked, DOCUMENT_MAX);
        let question = question.map_err(|error| refuse(asked, &error))?;
        if FileDigest::of(QUESTION_FILE, &question) != evidence.question {
            return Err(refuse(asked, &CHANGED));
        }
        if let Some(points) = &evidence.points {
            let name = Path::new(POINTS_FILE);
            let content = farfield_files::input::read_below(folder, name, DOCUMENT_MAX);
            let content = content.map_err(|error| refuse(name, &error))?;
            if FileDigest::of(POINTS_FILE, &content) != *points {
                return Err(refuse(name, &CHANGED));
            }
        }
        for run in &evidence.runs {
            run.check(folder).map_err(|(name, why)| refuse(&name, &why))?;
        }
        let question = String::from_utf8(question).map_err(|error| refuse(asked, &error))?;
        Ok((evidence, question))
    }

    /// The story of the question, with where its numbers come from.
    pub fn story(&self, question: &Question) -> Story {
        let origin = match self.is_simulated {
            true => {
                "Computed in virtual time, before a model of a server: the same seeds give the same numbers on any machine, however \
                 busy it is."
            }
            false => "Measured on one machine; the run directories say which.",
        };
        let origin = format!(
            "{origin} Made by farfield {}; the folder has a list of all files of all runs with their digests, from which `farfield experiment \
             --recompute FOLDER` makes this page again.",
            self.farfield
        );
        Story { command: self.command.clone(), origin, ..question.story.clone() }
    }
}

/// Why a file is refused.
const CHANGED: &str = "it is not the file that the page was made from: its SHA-256 differs from that in \
                       evidence.json; make the runs again in another folder";

impl RunEvidence {
    fn of(run: &RunRecord) -> RunEvidence {
        RunEvidence {
            point: run.point,
            attempt: run.attempt,
            design: run.design.clone(),
            directory: run.directory.clone(),
            took_s: run.took_s,
            files: Vec::new(),
        }
    }

    fn digests(&self, folder: &Path) -> io::Result<Vec<FileDigest>> {
        let directory = folder.join(&self.directory);
        let there = FILES.into_iter().filter(|name| directory.join(name).exists());
        there.map(|name| FileDigest::of_file(name, &directory.join(name))).collect()
    }

    /// Refuses files that are not those of the list, and a list that lacks what a page is computed from.
    fn check(&self, folder: &Path) -> Result<(), (PathBuf, String)> {
        let is_below = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_below(&self.directory) || self.directory == Path::new("") {
            return Err((self.directory.clone(), "it lies elsewhere than in the folder".to_owned()));
        }
        if !self.files.iter().any(|file| file.name == FILES[0]) {
            return Err((self.directory.clone(), format!("no {} of it is in evidence.json", FILES[0])));
        }
        for file in &self.files {
            let name = self.directory.join(&file.name);
            if !FILES.contains(&file.name.as_str()) {
                return Err((name, "it is no file of a run's evidence".to_owned()));
            }
            let failed = |error: io::Error| (name.clone(), error.to_string());
            let path = folder.join(&name).canonicalize().map_err(failed)?;
            if !path.starts_with(folder.canonicalize().map_err(failed)?) {
                return Err((name, "it lies elsewhere than in the folder".to_owned()));
            }
            if FileDigest::of_file(&file.name, &path).map_err(failed)? != *file {
                return Err((name, CHANGED.to_owned()));
            }
        }
        Ok(())
    }
}

impl FileDigest {
    fn of(name: &str, content: &[u8]) -> FileDigest {
        let sha256 = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
        FileDigest { name: name.to_owned(), bytes: content.len() as u64, sha256 }
    }

    /// The digest of the file at `path`, which may be larger than memory.
    fn of_file(name: &str, path: &Path) -> io::Result<FileDigest> {
        let mut file = farfield_files::open_regular(path)?;
        let (mut digest, mut bytes, mut part) = (Sha256::new(), 0, vec![0; 1 << 16]);
        loop {
            match file.read(&mut part)? {
                0 => break,
                count => {
                    digest.update(&part[..count]);
                    bytes += count as u64;
                }
            }
        }
        let sha256 = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(FileDigest { name: name.to_owned(), bytes, sha256 })
    }
}
