//! Files of a run directory that came from elsewhere: the properties of the fuzz targets `run_directory`,
//! `run_summary`, `run_samples`, `run_series` and `run_histograms`.
//!
//! The properties: no panic; what is read of a file is no more than it can hold; what is shown has no control
//! characters, whatever names the file has.

use bytes::Bytes;
use farfield_measure::samples::{SamplesFile, read_samples};
use farfield_measure::{Summary, hlog, monitor, series};
use farfield_report::comparison::{self, metric::Metric, scoped::ScopedMetric};
use farfield_report::export::{self, RowFormat, percentiles};
use farfield_report::{Look, RunDirectory, page, render};
use std::fs;
use std::path::Path;

/// Begins a file of [`of_directory`]'s input, with its name behind, up to the end of the line.
const FILE: &[u8] = b"\n====== ";

/// Names of files that are written; others are passed over.
const NAMES: [&str; 8] = [
    "summary.json",
    "samples.parquet",
    "series.parquet",
    "monitors.parquet",
    "histograms.hlog",
    "environment.json",
    "verification.json",
    "scenario.toml",
];

/// A summary alone: what is shown of it.
pub fn of_summary(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(summary) = Summary::from_json(text) else { return };
    is_shown_plainly(&summary);
    let again = Summary::from_json(&summary.to_json()).expect("what is written can be read");
    assert_eq!(again.to_json(), summary.to_json());
}

fn is_shown_plainly(summary: &Summary) {
    for text in [render(summary, Look::default()), export::markdown::render(summary)] {
        has_no_control(&text);
    }
    has_no_control(&export::junit::render(summary));
}

fn has_no_control(text: &str) {
    let control = text.chars().find(|&char| char.is_control() && char != '\n');
    assert_eq!(control, None, "a control character is shown");
}

/// Samples, as Parquet in memory.
pub fn of_samples(bytes: &[u8]) {
    let _ = read_samples(bytes);
    let Ok(file) = SamplesFile::open(Bytes::copy_from_slice(bytes)) else { return };
    assert!(file.intact().0 <= bytes.len() as u64);
    let rows = file.samples().take_while(Result::is_ok).count() as u64;
    assert!(rows <= file.kept(), "{rows} of {} samples", file.kept());
}

/// The series of seconds and what was monitored, as Parquet in memory.
pub fn of_series(bytes: &[u8]) {
    let source = Bytes::copy_from_slice(bytes);
    let _ = series::read_parquet(source.clone());
    let _ = monitor::read_parquet(source, &[("process", "cpu_seconds"), ("machine", "cpu_busy")]);
}

/// A log of histograms.
pub fn of_histograms(bytes: &[u8]) {
    for interval in hlog::read(bytes).unwrap_or_default() {
        percentiles::render(&interval);
    }
}

/// A directory: its files one behind the other, each behind a line with its name.
pub fn of_directory(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    write_files(path, bytes);
    for layout in [RowFormat::Csv, RowFormat::JsonLines] {
        let phases = RunDirectory::open(path).ok().map(|run| run.summary().phases);
        let _ = export::samples(path, layout, phases, &[], &mut Vec::new());
    }
    let _ = export::interval_log(path, &mut Vec::new());
    let _ = export::percentiles(path, "steady.response", &mut Vec::new());
    export::readable(path);
    let Ok(run) = RunDirectory::open(path) else { return };
    is_shown_plainly(run.summary());
    has_no_control(&page::render(&run));
    if let Ok(sides) = comparison::open(&[path.to_owned()]) {
        let compared = comparison::compare(&sides[0], &sides, &Metric::DEFAULT.map(ScopedMetric::from));
        has_no_control(&comparison::text::render(&compared, &[], Look::default()));
    }
}

fn write_files(folder: &Path, bytes: &[u8]) {
    let mut rest = bytes;
    while let Some(at) = find(rest, FILE) {
        rest = &rest[at + FILE.len()..];
        let name_len = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        let (name, after) = rest.split_at(name_len);
        let content = after.get(1..).unwrap_or_default();
        let content = &content[..find(content, FILE).unwrap_or(content.len())];
        if let Some(name) = NAMES.iter().find(|known| known.as_bytes() == name) {
            fs::write(folder.join(name), content).expect("room for a file");
        }
        rest = after;
    }
}

fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    bytes.windows(pattern.len()).position(|window| window == pattern)
}
