//! The run that several parts are together: their figures added up, their samples in one file.
//!
//! Reads the run directories of the parts and nothing else. Samples are merged in the order in which requests
//! ended, a row group of each part at a time, so that memory does not grow with the run.

use crate::collector::{HISTOGRAMS, SERIES};
use crate::run_directory::{RunDirectory, RunDirectoryError};
use farfield_base::{Bytes, Duration, Instant, Sample};
use farfield_files::open_regular;
use farfield_measure::events::{self, EVENTS_FILE, EventsWriter};
use farfield_measure::parts::{PART_FILE, PartError, PartResult, PartsError, PartsSum};
use farfield_measure::samples::{Keep, RunLabel, SamplesFile, SamplesWriter};
use farfield_measure::{Summary, hlog, series};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Samples that are merged before they are written.
const PIECE: usize = 4_096;
/// Events of streams that are merged: they are in memory at once, some 60 bytes each.
const EVENTS_MAX: u64 = 20_000_000;
/// Bytes of a description of a machine at most.
const ENVIRONMENT_MAX: Bytes = Bytes(1 << 20);

/// Why parts cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A directory holds no part.
    #[error(
        "`{}` holds no {PART_FILE}: its run has no `--part`, or was killed before its end; leave it out, and the run \
         says that it is missing", directory.display()
    )]
    NoPart {
        /// The directory.
        directory: PathBuf,
    },
    /// A part cannot be read.
    #[error("`{}`: {source}", directory.display())]
    Part {
        /// Its directory.
        directory: PathBuf,
        /// The reason.
        source: PartError,
    },
    /// A file of a part cannot be read.
    #[error("{} cannot be read: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// They are not the parts of one run.
    #[error(transparent)]
    Parts(#[from] PartsError),
    /// The run directory cannot be written.
    #[error(transparent)]
    Directory(#[from] RunDirectoryError),
    /// The samples cannot be written.
    #[error("samples.parquet cannot be written: {0}")]
    Samples(#[from] farfield_measure::samples::SamplesWriteError),
}

/// The parts of a run, read from their directories.
#[derive(Debug)]
pub struct PartsOfRun {
    /// In the order of their units.
    directories: Vec<PathBuf>,
    scenario: String,
    sum: PartsSum,
}

impl PartsOfRun {
    /// Reads the parts in `directories`.
    ///
    /// # Errors
    /// If one cannot be read, or they are not of one run.
    pub fn read(directories: &[PathBuf]) -> Result<PartsOfRun, MergeError> {
        let mut parts = Vec::with_capacity(directories.len());
        for directory in directories {
            parts.push((directory.display().to_string(), part_in(directory)?));
        }
        let scenario = parts.first().map_or(String::new(), |(_, first)| first.scenario().to_owned());
        let sum = PartsSum::of(parts)?;
        // As the sum has them in order.
        let directories = sum.parts.iter().map(|part| PathBuf::from(&part.directory)).collect();
        Ok(PartsOfRun { directories, scenario, sum })
    }

    /// Writes the run into `output`, and returns its summary.
    ///
    /// # Errors
    /// If a file of a part cannot be read, or one of the run's cannot be written.
    pub fn write(&self, output: &RunDirectory) -> Result<Summary, MergeError> {
        output.replace("scenario.toml", self.scenario.as_bytes())?;
        output.replace("environment.json", self.environments().as_bytes())?;
        let mut summary = self.sum.summary(Some(SERIES));
        summary.warnings.extend(self.merge_samples(output, &summary)?);
        summary.warnings.extend(self.merge_events(output)?);
        output.write_failures(&self.sum.fold)?;
        let rows = self.sum.fold.series().copy(&self.sum.stats.connections_open, &|| {});
        let mut parquet = Vec::new();
        series::write_parquet(rows.iter(), &mut parquet).expect("memory takes all");
        output.replace(SERIES, &parquet)?;
        let mut log = Vec::new();
        let started = Duration::from_secs(self.sum.started_unix_s());
        hlog::write(&self.sum.fold, &self.sum.stats, started, self.sum.until, &mut log)
            .expect("memory takes all");
        output.replace(HISTOGRAMS, &log)?;
        // Last, as what says that a run is there.
        output.replace("summary.json", summary.to_json().as_bytes())?;
        Ok(summary)
    }

    /// The machines of the parts, as these described them.
    fn environments(&self) -> String {
        let of_part = |(part, directory): (&str, &PathBuf)| {
            let text = farfield_files::read_text(&directory.join("environment.json"), ENVIRONMENT_MAX);
            let described: Value =
                text.ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Value::Null);
            json!({ "part": part, "environment": described })
        };
        let parts = self.sum.parts.iter().map(|part| part.part.as_str());
        let all: Vec<Value> = parts.zip(&self.directories).map(of_part).collect();
        serde_json::to_string_pretty(&json!({ "parts": all })).expect("plain data")
    }

    /// Writes the samples of all parts. Returns a warning where some were left out.
    fn merge_samples(&self, output: &RunDirectory, summary: &Summary) -> Result<Option<String>, MergeError> {
        let mut files = Vec::new();
        for directory in &self.directories {
            let path = directory.join("samples.parquet");
            let refuse = |why: String| MergeError::Unreadable { path: path.clone(), why };
            let file = open_regular(&path).map_err(|error| refuse(error.to_string()))?;
            files.push((path.clone(), SamplesFile::open(file).map_err(|error| refuse(error.to_string()))?));
        }
        if let Some((path, _)) =
            files.iter().find(|(_, file)| file.keep() != Keep::All || file.left_out() > 0)
        {
            let part = path.display();
            return Ok(Some(format!(
                "there is no samples.parquet of the whole: {part} has not all samples of its part; figures are of all"
            )));
        }
        let label = RunLabel { scenario: summary.heading.scenario.clone(), seed: summary.heading.seed };
        let mut writer = SamplesWriter::create(output.samples()?, label, Keep::All, None)?;
        let rows = files.iter().map(|(path, file)| {
            let refuse = move |why: String| MergeError::Unreadable { path: path.clone(), why };
            file.samples().map(move |sample| sample.map_err(|error| refuse(error.to_string())))
        });
        let mut piece = Vec::with_capacity(PIECE);
        for sample in InOrder::of(rows)? {
            piece.push(sample?);
            if piece.len() == PIECE {
                writer.write(&piece)?;
                piece.clear();
            }
        }
        writer.write(&piece)?;
        match summary.complete {
            true => writer.complete()?,
            false => writer.end_early()?,
        }
        Ok(None)
    }

    /// Writes the events of streams of all parts, if there are any. Returns a warning where these are too
    /// many.
    fn merge_events(&self, output: &RunDirectory) -> Result<Option<String>, MergeError> {
        let mut all = Vec::new();
        for path in self.directories.iter().map(|directory| directory.join(EVENTS_FILE)) {
            if !path.exists() {
                continue;
            }
            let refuse = |why: String| MergeError::Unreadable { path: path.clone(), why };
            let file: File = open_regular(&path).map_err(|error| refuse(error.to_string()))?;
            let left = EVENTS_MAX.saturating_sub(all.len() as u64);
            match events::read_parquet(file, left).map_err(|error| refuse(error.to_string()))? {
                Some(events) => all.extend(events),
                None => {
                    return Ok(Some(format!(
                        "there is no {EVENTS_FILE} of the whole: the parts have more than {EVENTS_MAX} events"
                    )));
                }
            }
        }
        if all.is_empty() {
            return Ok(None);
        }
        all.sort_by_key(|event| (event.at, event.user, event.connection, event.number));
        let refuse = |error: String| output.refused(EVENTS_FILE, io::Error::other(error));
        let mut writer =
            EventsWriter::begin(output.begin(EVENTS_FILE)?).map_err(|error| refuse(error.to_string()))?;
        for event in &all {
            writer.write(event).map_err(|error| refuse(error.to_string()))?;
        }
        writer.finish().map_err(|error| refuse(error.to_string()))?;
        Ok(None)
    }
}

/// The part in `directory`.
fn part_in(directory: &Path) -> Result<PartResult, MergeError> {
    let directory = directory.to_owned();
    match open_regular(&directory.join(PART_FILE)) {
        Ok(file) => PartResult::read(io::BufReader::new(file))
            .map_err(|source| MergeError::Part { directory, source }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(MergeError::NoPart { directory }),
        Err(error) => Err(MergeError::Part { directory, source: error.into() }),
    }
}

/// Samples of several parts in the order in which they ended; of those that ended at one instant, in that of
/// the parts.
struct InOrder<I> {
    parts: Vec<I>,
    next: BinaryHeap<Reverse<(Instant, usize)>>,
    /// Of each part, the sample that comes next.
    heads: Vec<Option<Sample>>,
}

impl<I: Iterator<Item = Result<Sample, MergeError>>> InOrder<I> {
    fn of(parts: impl Iterator<Item = I>) -> Result<InOrder<I>, MergeError> {
        let parts: Vec<I> = parts.collect();
        let heads = vec![None; parts.len()];
        let mut merged = InOrder { parts, next: BinaryHeap::new(), heads };
        for part in 0..merged.parts.len() {
            merged.go_on(part)?;
        }
        Ok(merged)
    }

    fn go_on(&mut self, part: usize) -> Result<(), MergeError> {
        self.heads[part] = self.parts[part].next().transpose()?;
        if let Some(sample) = &self.heads[part] {
            self.next.push(Reverse((sample.done, part)));
        }
        Ok(())
    }
}

impl<I: Iterator<Item = Result<Sample, MergeError>>> Iterator for InOrder<I> {
    type Item = Result<Sample, MergeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let Reverse((_, part)) = self.next.pop()?;
        let sample = self.heads[part].take()?;
        Some(self.go_on(part).map(|()| sample))
    }
}
