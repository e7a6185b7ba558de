//! A run's files for other programs: samples as CSV and JSON lines, histograms as HdrHistogram's tools read
//! them, the verdict as JUnit's XML, the result as Markdown.
//!
//! Each opens only the file that it is made of. So samples and histograms can be had of a run whose summary
//! is damaged, and the summary of one whose samples are.

pub mod junit;
pub mod markdown;
pub mod percentiles;
pub mod rows;

pub use rows::RowFormat;

use crate::directory::open_regular;
use farfield_measure::hlog::{self, HlogError, Interval};
use farfield_measure::samples::{SamplesError, SamplesFile};
use farfield_measure::set_aside::SecondAside;
use farfield_measure::summary::Phases;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The name of the samples in a run directory.
pub const SAMPLES_FILE: &str = "samples.parquet";
/// The name of the histograms in a run directory.
pub const HISTOGRAMS_FILE: &str = "histograms.hlog";

/// No log is longer: a histogram takes some kilobytes, and there are five for each class.
const LOG_BYTES_MAX: u64 = 1 << 30;

/// Why a file of a run could not be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The file is not there.
    #[error(
        "`{0}` is missing: the run ended before it was written, or it was removed since; `farfield report` needs \
         summary.json alone"
    )]
    Absent(PathBuf),
    /// The file is a pipe, a device or a folder.
    #[error("`{0}` is no regular file; `farfield report` needs summary.json alone")]
    NotAFile(PathBuf),
    /// The disk does not give it.
    #[error("`{path}` cannot be read: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The samples are damaged, or of another version.
    #[error(
        "`{path}` cannot be read after {rows} samples: {source}; `farfield report` needs summary.json alone"
    )]
    Samples {
        /// The file.
        path: PathBuf,
        /// The samples before the damage, all of which were written.
        rows: u64,
        /// The damage.
        source: SamplesError,
    },
    /// The histograms are damaged.
    #[error("`{path}`: {source}; `farfield report` needs summary.json alone")]
    Histograms {
        /// The file.
        path: PathBuf,
        /// The damage.
        source: HlogError,
    },
    /// There is no such histogram.
    #[error("`{path}` has no histogram `{tag}`; it has {}", there.join(", "))]
    NoHistogram {
        /// The file.
        path: PathBuf,
        /// The tag that was asked for.
        tag: String,
        /// The tags that it has.
        there: Vec<String>,
    },
    /// The reader has gone, or the disk is full.
    #[error("the export cannot be written: {0}")]
    Write(#[from] io::Error),
}

impl ExportError {
    /// True if there is no file to be exported.
    pub fn is_absent(&self) -> bool {
        matches!(self, ExportError::Absent(_))
    }
}

/// The samples that were exported, and those that the file does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamplesExported {
    /// Rows written.
    pub rows: u64,
    /// Samples of the run that were not kept (`output.samples`, `output.disk-budget`, a full disk).
    pub left_out: u64,
    /// The file was written to the end of the run.
    pub complete: bool,
}

/// Writes the samples of the run in `directory`, a row each, in the order of the file. A row group is in
/// memory at a time. The column `part` is empty where the `phases` of the run are not known.
///
/// # Errors
/// If the file is absent or damaged; the rows before the damage are written.
pub fn samples(
    directory: &Path,
    layout: RowFormat,
    phases: Option<Phases>,
    aside: &[SecondAside],
    to: &mut dyn Write,
) -> Result<SamplesExported, ExportError> {
    let path = directory.join(SAMPLES_FILE);
    let damaged = |rows| {
        let path = path.clone();
        move |source| ExportError::Samples { path, rows, source }
    };
    let file = SamplesFile::open(opened(&path)?).map_err(damaged(0))?;
    let mut rows = 0;
    let mut writer = rows::Rows::begin(layout, phases, aside, to)?;
    for sample in file.samples() {
        writer.put(&sample.map_err(damaged(rows))?)?;
        rows += 1;
    }
    writer.end()?;
    Ok(SamplesExported { rows, left_out: file.left_out(), complete: file.is_complete() })
}

/// The files of the run in `directory` that can be exported, each with the format that does: samples with a
/// footer, and histograms that can be decoded.
pub fn readable(directory: &Path) -> Vec<(&'static str, &'static str)> {
    let samples = opened(&directory.join(SAMPLES_FILE)).is_ok_and(|file| SamplesFile::open(file).is_ok());
    let files = [
        (samples, SAMPLES_FILE, "--format csv"),
        (histograms(directory).is_ok(), HISTOGRAMS_FILE, "--format hdr"),
    ];
    files.into_iter().filter(|(is, ..)| *is).map(|(_, name, format)| (name, format)).collect()
}

/// Writes the histograms of the run in `directory` as they are, once each was decoded: HdrHistogram's
/// interval log, version 1.3, of histograms in the encoding V2.
///
/// # Errors
/// If the file is absent or damaged; nothing is written then.
pub fn interval_log(directory: &Path, to: &mut dyn Write) -> Result<(), ExportError> {
    let (log, _) = histograms(directory)?;
    Ok(to.write_all(&log)?)
}

/// Writes the percentiles of the histogram with this tag, such as `steady.response`, in milliseconds.
///
/// # Errors
/// If the file is absent or damaged, or has no such histogram.
pub fn percentiles(directory: &Path, tag: &str, to: &mut dyn Write) -> Result<(), ExportError> {
    let (_, intervals) = histograms(directory)?;
    let Some(found) = intervals.iter().find(|interval| interval.tag == tag) else {
        let path = directory.join(HISTOGRAMS_FILE);
        let there = intervals.into_iter().map(|interval| interval.tag).collect();
        return Err(ExportError::NoHistogram { path, tag: tag.to_owned(), there });
    };
    Ok(to.write_all(percentiles::render(found).as_bytes())?)
}

fn histograms(directory: &Path) -> Result<(Vec<u8>, Vec<Interval>), ExportError> {
    let path = directory.join(HISTOGRAMS_FILE);
    let mut log = Vec::new();
    let read = opened(&path)?.take(LOG_BYTES_MAX).read_to_end(&mut log);
    read.map_err(|source| ExportError::Unreadable { path: path.clone(), source })?;
    let intervals = hlog::read(&log).map_err(|source| ExportError::Histograms { path, source })?;
    Ok((log, intervals))
}

fn opened(path: &Path) -> Result<File, ExportError> {
    let path = path.to_owned();
    match open_regular(&path) {
        Ok(Some(file)) => Ok(file),
        Ok(None) => Err(ExportError::NotAFile(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(ExportError::Absent(path)),
        Err(source) => Err(ExportError::Unreadable { path, source }),
    }
}

#[cfg(test)]
mod tests;
