//! Searches for capacity and sweeps in the folder of runs: folders with runs of their own, and at the end a
//! page. Until then the page is made of the runs that are there.

use super::files::is_plain_name;
use farfield_base::{Bytes, printable};
use farfield_files::{input, read_below};
use farfield_report::growing::{self, MadeRun};
use farfield_report::{RunDirectory, directory::SUMMARY_FILE};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// The pages that experiments leave at their end, and their kinds.
const PAGES: [(&str, &str); 2] = [("capacity.html", "search"), ("sweep.html", "sweep")];
/// The file that is written beside each run of an experiment once it is made.
const DESIGN_FILE: &str = "design.json";
/// Bytes of that file.
const DESIGN_MAX: Bytes = Bytes(1 << 20);
/// The first directories that searches make: the second where the run in the first was broken off.
const FIRST_TRIALS: [&str; 2] = ["0001", "0001-2"];
/// The first directory that sweeps make.
const FIRST_POINT: &str = "point-01";
/// Runs that the page of one that goes on has at most.
const RUNS_MAX: usize = 500;
/// Entries of a folder that are looked at, for that page.
const ENTRIES_MAX: usize = 10_000;
/// Entries of a sweep's first directory that are looked at, to list it.
const FIRST_ENTRIES_MAX: usize = 100;
/// Experiments that are listed.
const LISTED_MAX: usize = 200;

/// The experiments in a folder.
#[derive(Debug)]
pub struct Experiments {
    folder: PathBuf,
}

impl Experiments {
    pub fn of(folder: PathBuf) -> Experiments {
        Experiments { folder }
    }

    /// The experiments, the last by name first.
    pub fn json(&self) -> Value {
        let mut names: Vec<String> = names(&self.folder, usize::MAX).collect();
        names.sort();
        let line = |name: String| {
            let (kind, page) = self.kind(&name)?;
            Some(
                json!({ "shown": printable(&name, &[]), "kind": kind, "ended": page.is_some(), "name": name }),
            )
        };
        names.into_iter().rev().filter_map(line).take(LISTED_MAX).collect()
    }

    /// The page of an experiment: the one that it left, or one of the runs that it has made so far; and
    /// whether it has ended. An error is a sentence.
    pub fn page(&self, name: &str) -> Result<(String, bool), String> {
        let absent = || "there is no such search or sweep".to_owned();
        let (_, page) = self.kind(name).ok_or_else(absent)?;
        let Some(page) = page else {
            return Ok((growing::render(name, self.made(name)), false));
        };
        let bytes = read_below(&self.folder, &Path::new(name).join(page), input::DOCUMENT_MAX);
        let bytes = bytes.map_err(|error| format!("its page cannot be read: {error}"))?;
        String::from_utf8(bytes).map(|page| (page, true)).map_err(|_| "its page is no text".to_owned())
    }

    /// The kind of an experiment, and its page where it has ended; `None` if it is none.
    fn kind(&self, name: &str) -> Option<(&'static str, Option<&'static str>)> {
        let path = self.folder.join(name);
        let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
        if !is_plain_name(name) || !is_folder || path.join(SUMMARY_FILE).exists() {
            return None;
        }
        let ended = PAGES.iter().find(|(page, _)| path.join(page).is_file());
        match ended {
            Some((page, kind)) => Some((kind, Some(page))),
            None => begun(&path).map(|kind| (kind, None)),
        }
    }

    /// The directories of the runs that an experiment has made, below its own: the first ones by name.
    fn runs(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        let path = self.folder.join(name);
        let below = |path: &Path| {
            let mut below: Vec<PathBuf> = names(path, ENTRIES_MAX).map(|name| path.join(name)).collect();
            below.sort();
            below
        };
        let points = below(&path).into_iter().flat_map(move |point| {
            let repeats = if has_design(&point) { Vec::new() } else { below(&point) };
            std::iter::once(point).chain(repeats)
        });
        points.take(ENTRIES_MAX).filter(|path| has_design(path)).take(RUNS_MAX)
    }

    fn made(&self, name: &str) -> Vec<MadeRun> {
        let made = |path: PathBuf| {
            let name = path.strip_prefix(&self.folder).ok()?;
            let design = read_below(&self.folder, &name.join(DESIGN_FILE), DESIGN_MAX).ok()?;
            let design: Value = serde_json::from_slice(&design).ok()?;
            let summary = RunDirectory::open_below(&self.folder, name).ok()?.summary().clone();
            let point = design["point"].as_str().unwrap_or_default().to_owned();
            let number = design["number"].as_u64().unwrap_or_default();
            Some(MadeRun { number, point, load: design["load"].as_f64(), summary })
        };
        self.runs(name).filter_map(made).collect()
    }
}

/// The kind of an experiment that has not ended, by its first run alone: this is asked of each folder without
/// a summary whenever runs are listed, whatever is in it.
fn begun(path: &Path) -> Option<&'static str> {
    if FIRST_TRIALS.iter().any(|trial| has_design(&path.join(trial))) {
        return Some("search");
    }
    let point = path.join(FIRST_POINT);
    let is_folder = point.symlink_metadata().is_ok_and(|found| found.is_dir());
    let mut repeats = names(&point, FIRST_ENTRIES_MAX).map(|name| point.join(name));
    (is_folder && (has_design(&point) || repeats.any(|path| has_design(&path)))).then_some("sweep")
}

/// True if a directory, which is no link, has the file beside a run of an experiment.
fn has_design(path: &Path) -> bool {
    let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
    is_folder && path.join(DESIGN_FILE).symlink_metadata().is_ok_and(|found| found.is_file())
}

/// Names of the folders in a folder, which are no links, among its first `most` entries.
fn names(folder: &Path, most: usize) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(most);
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| is_plain_name(name))
}
