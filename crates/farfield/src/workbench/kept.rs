//! Changes to runs that are kept: another name, another note, and their removal.
//!
//! A run is changed or removed if it is directly in the folder of runs and no link, has a summary, is this
//! user's, and if nobody holds its lock: one that is under way is left alone. Of the result nothing but name
//! and note changes, and the scenario stays as it was run.

use super::files::is_plain_name;
use crate::commands::report::PAGE;
use crate::commands::run::SAMPLES_OF_PAGE;
use crate::commands::runs::held::{Left, hold};
use farfield_base::printable;
use farfield_files::Folder;
use farfield_report::directory::SUMMARY_FILE;
use farfield_report::{RunDirectory, page};
use farfield_scenario::Note;
use std::ffi::OsStr;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

/// Characters of a name at most.
const NAME_MAX: usize = 60;
/// Columns of the instant that names of directories begin with, and of the sign after it.
const INSTANT: &str = "0000-00-00T00-00-00Z-";
/// Numbers that are tried where a directory's name is taken.
const NUMBERS: u32 = 100;

/// The runs of a folder.
#[derive(Debug)]
pub struct KeptRuns {
    folder: PathBuf,
}

impl KeptRuns {
    pub fn of(folder: PathBuf) -> KeptRuns {
        KeptRuns { folder }
    }

    /// The directory of the run of this name, which need not be there.
    pub fn path(&self, run: &str) -> Result<PathBuf, String> {
        if is_plain_name(run) { Ok(self.folder.join(run)) } else { Err(no_such_run()) }
    }

    /// Removes a run with all of its files. An error is a sentence.
    pub fn remove(&self, run: &str) -> Result<(), String> {
        let (folder, whole) = self.held(run)?;
        let removed = folder.remove_whole(run, &whole, SUMMARY_FILE);
        removed.map_err(|error| left("is not deleted", &error.to_string()))
    }

    /// Gives a run this name and note; an empty note is none. Returns the name of its directory, which has
    /// changed with that of the run. An error is a sentence.
    pub fn describe(&self, run: &str, name: &str, note: &str) -> Result<String, String> {
        let name = printable(name.trim(), &[]);
        if name.is_empty() || name.chars().count() > NAME_MAX {
            return Err(format!("write a name of 1 to {NAME_MAX} characters"));
        }
        let note = match note.trim() {
            "" => None,
            note => Some(Note::try_from(note.to_owned()).map_err(|error| error.to_string())?),
        };
        let (folder, whole) = self.held(run)?;
        let read = RunDirectory::open(self.path(run)?).map_err(|error| error.to_string())?;
        let mut summary = read.summary().clone();
        if summary.to_json() != read.json() {
            return Err(left("keeps its name and note", "its summary is of another version of farfield"));
        }
        let is_renamed = summary.heading.scenario != *name;
        summary.heading.scenario = name.into_owned();
        summary.heading.note = note.map(String::from);
        let failed = |error: std::io::Error| format!("the run cannot be changed: {error}");
        let put = |file: &str, text: &str| whole.replace(file, |to| to.write_all(text.as_bytes()));
        put(SUMMARY_FILE, &summary.to_json()).map_err(failed)?;
        let has_page = read.path().join(PAGE).is_file();
        let read = RunDirectory::open(read.path()).map_err(|error| error.to_string())?;
        if has_page {
            put(PAGE, &page::render_within(&read, SAMPLES_OF_PAGE)).map_err(failed)?;
        }
        if !is_renamed {
            return Ok(run.to_owned());
        }
        for directory in names(run, &summary.heading.scenario) {
            match folder.rename_whole(run, &whole, &directory) {
                Ok(()) => return Ok(directory),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err("too many runs have this name: write another".to_owned())
    }

    /// The folder of runs and the directory of the run of this name, both open; the latter is not under way
    /// and this user's.
    fn held(&self, run: &str) -> Result<(Folder, Folder), String> {
        let path = self.path(run)?;
        let is_run = path.join(SUMMARY_FILE).symlink_metadata().is_ok_and(|found| found.is_file());
        let folder = Folder::open(&self.folder).map_err(|_| no_such_run())?;
        if !is_run {
            return Err(no_such_run());
        }
        if !folder.is_own().unwrap_or(false) {
            return Err(left("is left as it is", "the folder of runs belongs to another user"));
        }
        let complete = RunDirectory::open(&path).is_ok_and(|run| run.summary().complete);
        let whole = hold(&folder, OsStr::new(run), complete);
        Ok((folder, whole.map_err(|Left { why, .. }| left("is left as it is", &why))?))
    }
}

fn no_such_run() -> String {
    "there is no such run".to_owned()
}

fn left(how: &str, why: &str) -> String {
    format!("the run {how}: {}", printable(why, &[]))
}

/// Names for the directory of a run that is called `name` now: the instant at the beginning stays.
fn names(directory: &str, name: &str) -> impl Iterator<Item = String> {
    let instant = directory.get(..INSTANT.len()).filter(|begun| is_instant(begun)).unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let name: String = name.chars().map(plain).collect();
    // A command would take a name that begins with a hyphen for a flag.
    let name = Some(name.trim_matches('-')).filter(|name| !name.is_empty()).unwrap_or("run");
    let base = format!("{instant}{name}");
    std::iter::once(base.clone()).chain((2..NUMBERS).map(move |number| format!("{base}-{number}")))
}

fn is_instant(text: &str) -> bool {
    text.chars().zip(INSTANT.chars()).all(|(found, form)| match form {
        '0' => found.is_ascii_digit(),
        form => found == form,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instant_in_a_directory_s_name_stays() {
        let first = |directory: &str, name: &str| names(directory, name).next().expect("a name");
        assert_eq!(first("2026-01-31T12-00-00Z-run", "with index"), "2026-01-31T12-00-00Z-with-index");
        assert_eq!(first("before", "../<after>"), "after");
        assert_eq!((first("ä", "b"), first("a", "ä")), ("b".to_owned(), "run".to_owned()));
        let second = names("2026-01-31T12-00-00Z-run-2", "a").nth(1);
        assert_eq!(second.as_deref(), Some("2026-01-31T12-00-00Z-a-2"));
        assert!(names("x", "../../etc").chain(names(".", "..")).all(|name| is_plain_name(&name)));
    }
}
