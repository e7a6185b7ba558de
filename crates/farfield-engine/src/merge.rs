//! The run that several parts are together: their figures added up, their samples in one file.
//!
//! Reads the run directories of the parts and nothing else. Samples are merged in the order in which requests
//! ended, a row group of each part at a time, so that memory does not grow with the run.

use crate::collector::{HISTOGRAMS, SERIES};
use crate::run_directory::{RunDirectory, RunDirectoryError};
use farfield_base::{Bytes, Duration, Instant, Part, Sample};
use farfield_files::open_regular;
use farfield_measure::events::{self, EVENTS_FILE, EventsWriter};
use farfield_measure::parts::{JudgedPart, PART_FILE, PartError, PartResult, PartsError, PartsSum};
use farfield_measure::samples::{Keep, RunLabel, SamplesFile, SamplesWriter};
use farfield_measure::{Summary, hlog, series};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};

/// Samples that are merged before they are written.
const PIECE: usize = 4_096;
/// Events of streams that are merged: they are in memory at once, some 60 bytes each.
const EVENTS_MAX: u64 = 20_000_000;
const SAMPLES: &str = "samples.parquet";
/// Bytes of a summary at most.
const SUMMARY_MAX: Bytes = Bytes(64 << 20);
/// Bytes of a description of a machine, or of inputs, at most.
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
        /// The part's directory.
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
    /// The counts of a part are not those of the others.
    #[error("the counts of the parts do not add up: a part.json.zst was damaged, or changed by hand")]
    Damaged,
    /// The parts are not those of one run.
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
    /// Samples that each has.
    samples: Vec<Expected>,
    scenario: String,
    sum: PartsSum,
    /// More to be said of the run.
    warnings: Vec<String>,
}

/// Samples of a part, by its figures.
#[derive(Debug, Clone, Copy)]
struct Expected {
    count: u64,
    /// The part's disk took no more, as the part itself has said.
    refused: bool,
}

impl PartsOfRun {
    /// Reads the parts in `directories`.
    ///
    /// # Errors
    /// If one cannot be read, or they are not of one run.
    pub fn read(directories: &[PathBuf]) -> Result<PartsOfRun, MergeError> {
        let parts = directories.iter().map(|directory| part_in(directory));
        PartsOfRun::of(directories.to_vec(), parts.collect::<Result<_, _>>()?)
    }

    /// Reads the parts of a run that came back, and leaves out those whose files cannot be read or do not add
    /// up with those of most: each of these with a reason. What is left may not add up all the same.
    pub fn read_sound(returned: &[(Part, PathBuf)]) -> (Result<PartsOfRun, MergeError>, Vec<(Part, String)>) {
        let (mut sound, mut parts, mut unsound) = (Vec::new(), Vec::new(), Vec::new());
        for (part, directory) in returned {
            match quietly(|| sound_part(directory, *part)) {
                Some(Ok(read)) => {
                    sound.push((*part, directory.clone()));
                    parts.push(read);
                }
                Some(Err(why)) => unsound.push((*part, why)),
                None => unsound.push((*part, "its files are damaged".to_owned())),
            }
        }
        let paths =
            |sound: &[(Part, PathBuf)]| sound.iter().map(|(_, path)| path.clone()).collect::<Vec<_>>();
        let read = PartsOfRun::of(paths(&sound), parts);
        if !matches!(read, Err(MergeError::Damaged | MergeError::Parts(PartsError::Differ { .. }))) {
            return (read, unsound);
        }
        for ((part, _), agrees) in sound.iter().zip(agreeing(&paths(&sound))) {
            if !agrees {
                unsound.push((*part, "its figures do not add up with those of the others".to_owned()));
            }
        }
        sound.retain(|(part, _)| unsound.iter().all(|(other, _)| other != part));
        (PartsOfRun::read(&paths(&sound)), unsound)
    }

    fn of(mut directories: Vec<PathBuf>, parts: Vec<JudgedPart>) -> Result<PartsOfRun, MergeError> {
        check_inputs(&directories)?;
        let scenario = parts.first().map_or(String::new(), |first| first.result.scenario().to_owned());
        let first_unit = |place: &usize| parts[*place].result.part().own().start;
        let mut places: Vec<usize> = (0..parts.len()).collect();
        // As the sum has them in order.
        places.sort_by_key(first_unit);
        directories = places.iter().map(|place| directories[*place].clone()).collect();
        let samples = places.iter().map(|place| expected(&parts[*place].result)).collect();
        // Counts of other shapes than the first part's do not add up: a file was made by hand, or damaged.
        let sum = quietly(|| PartsSum::of(parts)).ok_or(MergeError::Damaged)??;
        Ok(PartsOfRun { directories, samples, scenario, sum, warnings: Vec::new() })
    }

    /// Adds a warning to the run's.
    pub fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    /// Writes the run into `output`, and returns its summary.
    ///
    /// # Errors
    /// If a file of a part cannot be read, or one of the run's cannot be written.
    pub fn write(&self, output: &RunDirectory) -> Result<Summary, MergeError> {
        // What cannot be read is found before anything is written.
        let samples = self.open_samples()?;
        let mut summary = self.sum.summary(Some(SERIES));
        summary.warnings.extend(self.warnings.iter().cloned());
        output.replace("scenario.toml", self.scenario.as_bytes())?;
        output.replace("environment.json", self.environments().as_bytes())?;
        match samples {
            SamplesOfParts::All(files) => merge_samples(&files, output, &summary)?,
            SamplesOfParts::Unasked => {}
            SamplesOfParts::Incomplete { warning } => summary.warnings.push(warning),
        }
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

    /// Opens the samples of all parts.
    fn open_samples(&self) -> Result<SamplesOfParts, MergeError> {
        let (mut files, mut partial, mut is_asked) = (Vec::new(), None, false);
        for (directory, expected) in self.directories.iter().zip(&self.samples) {
            let file = samples_in(directory, *expected)?;
            is_asked |= file.as_ref().is_none_or(|file| file.keep() != Keep::None);
            match file {
                Some(file) if file.keep() == Keep::All && file.left_out() == 0 => {
                    files.push(PartSamples { path: directory.join(SAMPLES), file });
                }
                _ => drop(partial.get_or_insert_with(|| directory.join(SAMPLES))),
            }
        }
        Ok(match partial {
            None => SamplesOfParts::All(files),
            Some(_) if !is_asked => SamplesOfParts::Unasked,
            Some(path) => {
                let part = path.display();
                let warning = format!(
                    "there is no samples.parquet of the whole: {part} has not all samples of its part; figures are of all"
                );
                SamplesOfParts::Incomplete { warning }
            }
        })
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

/// The result of `sum`; `None` if it panics, of which one sentence says enough.
fn quietly<T>(sum: impl FnOnce() -> T) -> Option<T> {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let summed = panic::catch_unwind(AssertUnwindSafe(sum));
    panic::set_hook(hook);
    summed.ok()
}

/// The samples of all parts.
enum SamplesOfParts {
    /// Each has all of its own.
    All(Vec<PartSamples>),
    /// None was to keep any.
    Unasked,
    /// Some were left out.
    Incomplete { warning: String },
}

/// The samples of a part.
struct PartSamples {
    path: PathBuf,
    file: SamplesFile<File>,
}

/// Writes the samples of all parts.
fn merge_samples(files: &[PartSamples], output: &RunDirectory, summary: &Summary) -> Result<(), MergeError> {
    let label = RunLabel { scenario: summary.heading.scenario.clone(), seed: summary.heading.seed };
    let mut writer = SamplesWriter::create(output.samples()?, label, Keep::All, None)?;
    let rows = files.iter().map(|PartSamples { path, file }| {
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
    Ok(())
}

/// Checks that the files that scenarios name are the same in all parts, by their digests.
fn check_inputs(directories: &[PathBuf]) -> Result<(), MergeError> {
    let files = |directory: &PathBuf| {
        let text = farfield_files::read_text(&directory.join("inputs.json"), ENVIRONMENT_MAX);
        let inputs: Value =
            text.ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Value::Null);
        inputs["files"].clone()
    };
    let Some((first, others)) = directories.split_first() else { return Ok(()) };
    let of_first = files(first);
    let differs = others.iter().find(|other| files(other) != of_first);
    differs.map_or(Ok(()), |other| {
        let what = "files that their scenarios name differ (inputs.json has the digests)".to_owned();
        let (first, other) = (first.display().to_string(), other.display().to_string());
        Err(PartsError::Differ { first, other, what }.into())
    })
}

/// Samples that the file of a part should have.
fn expected(result: &PartResult) -> Expected {
    Expected { count: result.samples(), refused: result.samples_refused().is_some() }
}

/// The samples of the part in `directory`; `None` if its disk did not take all of them, of which it has said
/// so.
fn samples_in(directory: &Path, expected: Expected) -> Result<Option<SamplesFile<File>>, MergeError> {
    let path = directory.join(SAMPLES);
    let opened = open_regular(&path).map_err(|error| error.to_string());
    let opened = opened.and_then(|file| SamplesFile::open(file).map_err(|error| error.to_string()));
    let whole = opened.and_then(|file| match file.kept() + file.left_out() {
        found if found == expected.count => Ok(file),
        found => Err(format!("it is of {found} samples, and the part's figures are of {}", expected.count)),
    });
    match whole {
        Err(_) if expected.refused => Ok(None),
        whole => whole.map(Some).map_err(|why| MergeError::Unreadable { path, why }),
    }
}

/// The part in `directory`, if all is there that it takes to be part `part`.
fn sound_part(directory: &Path, part: Part) -> Result<JudgedPart, String> {
    let read = part_in(directory).map_err(|error| error.to_string())?;
    if read.result.part() != part {
        return Err(format!("its files are of part {}", read.result.part()));
    }
    samples_in(directory, expected(&read.result)).map_err(|error| error.to_string())?;
    Ok(read)
}

/// True for each directory whose part adds up with the most of the others.
fn agreeing(directories: &[PathBuf]) -> Vec<bool> {
    /// Parts that all are compared with at most: a majority has one of them most likely.
    const TRIED: usize = 4;
    let with = |first: &PathBuf| {
        let agrees =
            |other: &PathBuf| other == first || PartsOfRun::read(&[first.clone(), other.clone()]).is_ok();
        directories.iter().map(agrees).collect::<Vec<bool>>()
    };
    let all = directories.iter().take(TRIED).map(with);
    all.max_by_key(|agree| agree.iter().filter(|agrees| **agrees).count()).unwrap_or_default()
}

/// The part in `directory`, with its verdict.
fn part_in(directory: &Path) -> Result<JudgedPart, MergeError> {
    let path = directory.join("summary.json");
    let directory = directory.to_owned();
    let result = match open_regular(&directory.join(PART_FILE)) {
        Ok(file) => PartResult::read(io::BufReader::new(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(MergeError::NoPart { directory });
        }
        Err(error) => Err(error.into()),
    };
    let name = directory.display().to_string();
    let result = result.map_err(|source| MergeError::Part { directory, source })?;
    let refuse = |why: String| MergeError::Unreadable { path: path.clone(), why };
    let text = farfield_files::read_text(&path, SUMMARY_MAX).map_err(|error| refuse(error.to_string()))?;
    let summary = Summary::from_json(&text).map_err(|error| refuse(error.to_string()))?;
    Ok(JudgedPart { directory: name, result, verdict: summary.verdict })
}

/// Samples of several parts in the order in which they ended; of those that ended at one instant, in that of
/// the parts.
struct InOrder<I> {
    parts: Vec<I>,
    next: BinaryHeap<Reverse<(Instant, usize)>>,
    /// The next sample of each part.
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
