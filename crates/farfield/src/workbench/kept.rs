//! Changes to runs that are kept: another name, another note, and their removal.
//!
//! A run is changed or removed if it is directly in the folder of runs and no link, has a summary, is this
//! user's, and if nobody holds its lock: one that is under way is left alone. Of the result nothing but name
//! and note changes, and the scenario stays as it was run.

use super::files::is_plain_name;
use crate::commands::report::PAGE;
use crate::commands::run::SAMPLES_OF_PAGE;
use crate::commands::runs::held::{SkippedRun, hold};
use farfield_base::printable;
use farfield_files::Folder;
use farfield_report::directory::SUMMARY_FILE;
use farfield_report::{RunDirectory, page};
use farfield_scenario::Note;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Characters of a name at most.
const NAME_MAX: usize = 60;
/// Columns of the instant that names of directories begin with, and of the sign after it.
const INSTANT: &str = "0000-00-00T00-00-00Z-";
/// Numbers that are tried where a directory's name is taken.
const NUMBERS: u32 = 100;

/// A run that was given a name and a note.
#[derive(Debug)]
pub struct Described {
    /// The name of its directory, which has changed with that of the run.
    run: String,
    /// A sentence on the parts of it that could not be changed along.
    says: Option<String>,
}

impl Described {
    pub fn json(&self) -> Value {
        match &self.says {
            Some(says) => json!({ "run": self.run, "says": says }),
            None => json!({ "run": self.run }),
        }
    }
}

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

    /// Gives a run this name and note; an empty note is none. An error is a sentence, and then both are as
    /// they were.
    pub fn describe(&self, run: &str, name: &str, note: &str) -> Result<Described, String> {
        let name = printable(name.trim(), &[]);
        if name.is_empty() || name.chars().count() > NAME_MAX {
            return Err(format!("write a name of 1 to {NAME_MAX} characters"));
        }
        let note = match note.trim() {
            "" => None,
            note => Some(Note::try_from(note.to_owned()).map_err(|error| error.to_string())?),
        };
        let (folder, whole) = self.held(run)?;
        // What is read is what is held: ahead of each change the directory still has its place.
        let read =
            RunDirectory::open_below(&self.folder, Path::new(run)).map_err(|error| error.to_string())?;
        let mut summary = read.summary().clone();
        if summary.to_json() != read.json() {
            return Err(left("keeps its name and note", "its summary is of another version of farfield"));
        }
        let is_renamed = summary.heading.scenario != *name;
        summary.heading.scenario = name.into_owned();
        summary.heading.note = note.map(String::from);
        put(&whole, SUMMARY_FILE, &summary.to_json())
            .map_err(|error| format!("the run cannot be changed: {error}"))?;
        // From here on name and note are changed, whatever does not follow them.
        let page = new_page(&whole, read.path())
            .map_err(|why| format!("the report in its directory is the old one: {why}"));
        let directory = match is_renamed {
            true => renamed(&folder, &whole, run, &summary.heading.scenario)
                .map_err(|why| format!("the directory keeps its name: {why}")),
            false => Ok(run.to_owned()),
        };
        let left: Vec<String> =
            [page.err(), directory.as_ref().err().cloned()].into_iter().flatten().collect();
        let says = format!("name and note are changed; {}", left.join("; "));
        let says = (!left.is_empty()).then(|| printable(&says, &[]).into_owned());
        Ok(Described { run: directory.unwrap_or_else(|_| run.to_owned()), says })
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
        if self.folder.is_symlink() {
            let why = "the folder of runs is a link; start the workbench with the folder that it leads to";
            return Err(left("is left as it is", why));
        }
        if !folder.is_own().unwrap_or(false) {
            return Err(left("is left as it is", "the folder of runs belongs to another user"));
        }
        let complete = RunDirectory::open(&path).is_ok_and(|run| run.summary().complete);
        let whole = hold(&folder, OsStr::new(run), complete);
        Ok((folder, whole.map_err(|SkippedRun { why, .. }| left("is left as it is", &why))?))
    }
}

/// Puts a file into the directory of a run, and on the disk, if the directory still is where it was read.
fn put(whole: &Folder, file: &str, text: &str) -> io::Result<()> {
    if !whole.is_at_its_path() {
        return Err(io::Error::other("its directory was moved or replaced meanwhile"));
    }
    whole.replace(file, |to| {
        to.write_all(text.as_bytes())?;
        to.sync_all()
    })
}

/// Makes the page in a run's directory anew, if there is one.
fn new_page(whole: &Folder, path: &Path) -> Result<(), String> {
    if !path.join(PAGE).is_file() {
        return Ok(());
    }
    let read = RunDirectory::open(path).map_err(|error| error.to_string())?;
    put(whole, PAGE, &page::render_within(&read, SAMPLES_OF_PAGE)).map_err(|error| error.to_string())
}

/// Renames the directory of a run that is called `name` now; returns its name.
fn renamed(folder: &Folder, whole: &Folder, run: &str, name: &str) -> Result<String, String> {
    for directory in names(run, name) {
        // It has the name already, with a number perhaps.
        if directory == run {
            return Ok(directory);
        }
        match folder.rename_whole(run, whole, &directory) {
            Ok(()) => return Ok(directory),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Err("too many runs have this name".to_owned())
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
    use std::fs;
    use std::os::unix::fs::symlink;

    /// Another directory, or a link, may be put in a run's place by whoever can write the folder.
    #[test]
    fn what_was_moved_is_not_changed() {
        let home = farfield_files::temporary_folder("test-").expect("a folder");
        let at = |name: &str| home.path().join(name);
        fs::create_dir_all(at("runs/a")).expect("folders");
        fs::write(at("runs/a/summary.json"), "{}").expect("a file");
        let whole = Folder::open(&at("runs")).and_then(|runs| runs.open_below("a")).expect("a folder");
        put(&whole, "summary.json", "{ }").expect("it is there");
        fs::rename(at("runs/a"), at("moved")).expect("moved");
        assert!(put(&whole, "summary.json", "changed").is_err());
        fs::create_dir(at("runs/a")).expect("another");
        assert!(put(&whole, "summary.json", "changed").is_err());
        assert_eq!(fs::read_to_string(at("moved/summary.json")).expect("a file"), "{ }");
        assert_eq!(fs::read_dir(at("runs/a")).expect("a folder").count(), 0);
    }

    #[test]
    fn a_folder_of_runs_that_is_a_link_is_left_alone() {
        let home = farfield_files::temporary_folder("test-").expect("a folder");
        let at = |name: &str| home.path().join(name);
        fs::create_dir_all(at("runs/a")).expect("folders");
        fs::write(at("runs/a/summary.json"), "{}").expect("a file");
        symlink(at("runs"), at("link")).expect("a link");
        let by_link = KeptRuns::of(at("link"));
        let refusals = [by_link.remove("a"), by_link.describe("a", "b", "").map(|_| ())];
        for refused in refusals {
            let sentence = refused.expect_err("refused");
            assert!(sentence.contains("the folder of runs is a link"), "{sentence}");
        }
        let itself = KeptRuns::of(at("runs")).describe("a", "b", "").map(|_| ()).expect_err("no summary");
        assert!(!itself.contains("is a link"), "{itself}");
        assert_eq!(fs::read_to_string(at("runs/a/summary.json")).expect("a file"), "{}");
    }

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
