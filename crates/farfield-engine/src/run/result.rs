//! The end of a run: it is judged, and its files are written.

use crate::collector::{Collector, HISTOGRAMS, Progress, SERIES};
use crate::monitored::MONITORS;
use crate::run_directory::{RunDirectory, RunDirectoryError};
use farfield_base::{Duration, Instant};
use farfield_measure::parts::{PART_FILE, PartResult};
use farfield_measure::{Summary, connections, hlog, series};

/// Judges the run and writes its files. A run with missing files is invalid: a later reader of the directory
/// could not know that they are missing.
pub(crate) fn finish(
    mut collector: Collector<'_>,
    until: Instant,
    started: u64,
    mut on_progress: impl FnMut(&Progress<'_>),
) -> Summary {
    let summary = leave_result(&mut collector, until, started);
    on_progress(&collector.last_progress(until, &summary));
    summary
}

/// Writes the result into the run directory, if there is one, and returns it.
fn leave_result(collector: &mut Collector<'_>, until: Instant, started: u64) -> Summary {
    let directory = collector.finish_samples();
    let refused = collector.take_directory_refused();
    let mut summary = Summary::new(collector.context, &collector.fold, &collector.stats, until);
    let Some(directory) = directory else { return summary };
    match leave_files(&directory, collector, &summary, until, started) {
        Ok(()) => {}
        Err(error) => {
            let advice = "free the disk, or choose another place with `--out`, and let nobody remove the directory \
                          while the run goes on";
            summary.verdict.fail("results-written", RESULTS_WRITTEN, error.to_string(), advice);
        }
    }
    if let Some(error) = leave_monitors(&directory, collector).err() {
        summary.warnings.push(format!("monitors.parquet is older than the run's end: {error}"));
    }
    if let Some(error) = refused.filter(|_| summary.verdict.valid) {
        // The files are complete now all the same.
        summary.warnings.push(format!("while the run went on: {error}"));
    }
    summary
}

/// Writes what monitors read. It can be longer than the space that is reserved, and no result depends on it.
fn leave_monitors(directory: &RunDirectory, collector: &Collector<'_>) -> Result<(), RunDirectoryError> {
    let Some(log) = &collector.monitored else { return Ok(()) };
    let mut parquet = Vec::new();
    farfield_measure::monitor::write_parquet(&log.snapshot(), &mut parquet).expect("memory takes all");
    directory.replace(MONITORS, &parquet)
}

/// Writes what the run of several parts is made from, where this is one of them.
fn leave_part(
    directory: &RunDirectory,
    collector: &Collector<'_>,
    until: Instant,
) -> Result<(), RunDirectoryError> {
    let Some(label) = collector.part.clone() else { return Ok(()) };
    let counted = (&collector.fold, &collector.stats);
    let mut packed = Vec::new();
    PartResult::new(label, collector.context, counted, until)
        .write(&mut packed)
        .map_err(|error| directory.refused(PART_FILE, error))?;
    directory.replace(PART_FILE, &packed)
}

const RESULTS_WRITTEN: &str = "The result could be written into the run directory.";

fn leave_files(
    directory: &RunDirectory,
    collector: &Collector<'_>,
    summary: &Summary,
    until: Instant,
    started: u64,
) -> Result<(), RunDirectoryError> {
    directory.replace("summary.json", summary.to_json().as_bytes())?;
    directory.write_failures(&collector.fold)?;
    let rows = collector.fold.series().copy(&collector.stats.connections_open, &|| {});
    let mut parquet = Vec::new();
    series::write_parquet(rows.iter(), &mut parquet).expect("memory takes all");
    directory.replace(SERIES, &parquet)?;
    if let Some(opened) = &collector.opened {
        let mut parquet = Vec::new();
        connections::write_parquet(opened, &mut parquet).expect("memory takes all");
        directory.replace(connections::CONNECTIONS_FILE, &parquet)?;
    }
    let mut log = Vec::new();
    let started = Duration::from_secs(started);
    hlog::write(&collector.fold, &collector.stats, started, until, &mut log).expect("memory takes all");
    directory.replace(HISTOGRAMS, &log)?;
    // Last: a part that lacks a file is none that can be merged.
    leave_part(directory, collector, until)
}
