//! The run directory, as a reader sees it.
//!
//! A run writes `summary.json` from its first seconds on and again as it goes, marked as not complete
//! until it has ended. So a directory whose run was killed reads like any other, and says so.

use farfield_files::{NotRegular, input};
use farfield_measure::Summary;
use farfield_measure::summary::SCHEMA_VERSION;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The name of the summary in a run directory.
pub const SUMMARY_FILE: &str = "summary.json";

/// A run directory that was read.
#[derive(Debug, Clone)]
pub struct RunDirectory {
    path: PathBuf,
    json: String,
    summary: Summary,
}

/// Why a run directory could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// There is no such directory.
    #[error("there is no directory `{0}`; name the one that `farfield run` printed")]
    NoDirectory(PathBuf),
    /// The directory holds no summary.
    #[error(
        "`{0}` holds no summary.json: it is no run directory, or its run was stopped before it had measured anything"
    )]
    NoSummary(PathBuf),
    /// The summary cannot be read from the disk.
    #[error("`{path}` cannot be read: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The summary is a pipe, a device or a folder, which might never end.
    #[error(
        "`{0}` is no regular file, and a run's summary is one; name the directory that `farfield run` printed"
    )]
    NotAFile(PathBuf),
    /// The summary was written by a later version.
    #[error(
        "`{path}` has schema version {found}, and this farfield reads up to {SCHEMA_VERSION}; use a newer one"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The file's version.
        found: u64,
    },
    /// The summary is not one.
    #[error("`{path}` is no summary of a run: {source}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The place and the reason.
        source: serde_json::Error,
    },
}

impl RunDirectory {
    /// Reads the summary in `path`.
    pub fn open(path: impl AsRef<Path>) -> Result<RunDirectory, ReportError> {
        let path = path.as_ref().to_owned();
        if !path.is_dir() {
            return Err(ReportError::NoDirectory(path));
        }
        let json = farfield_files::read_text(&path.join(SUMMARY_FILE), input::DOCUMENT_MAX);
        RunDirectory::of(path, json)
    }

    /// Reads the summary of the run at `name` in `folder` or below it, which no link leads out of.
    pub fn open_below(folder: &Path, name: &Path) -> Result<RunDirectory, ReportError> {
        let bytes = farfield_files::read_below(folder, &name.join(SUMMARY_FILE), input::DOCUMENT_MAX);
        let text = |bytes| String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into());
        RunDirectory::of(folder.join(name), bytes.and_then(text))
    }

    fn of(path: PathBuf, json: io::Result<String>) -> Result<RunDirectory, ReportError> {
        let file = path.join(SUMMARY_FILE);
        let json = match json {
            Ok(json) => json,
            Err(error) if NotRegular::of(&error).is_some() => return Err(ReportError::NotAFile(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ReportError::NoSummary(path));
            }
            Err(source) => return Err(ReportError::Unreadable { path: file, source }),
        };
        let summary = parse(&file, &json)?;
        Ok(RunDirectory { path, json, summary })
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The summary.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The summary's document, as it stands on the disk.
    pub fn json(&self) -> &str {
        &self.json
    }
}

/// A regular file, open to be read; `None` if it is something else. Nothing is waited for: a FIFO without a
/// writer is opened like any.
pub(crate) fn open_regular(path: &Path) -> io::Result<Option<fs::File>> {
    match farfield_files::open_regular(path) {
        Err(error) if NotRegular::of(&error).is_some() => Ok(None),
        opened => opened.map(Some),
    }
}

/// A file of a run, open to be read.
///
/// # Errors
/// Those of the system, and that it is no regular file, which might never end.
pub fn open(path: &Path) -> io::Result<fs::File> {
    farfield_files::open_regular(path)
}

/// True if a directory is that of a run: it has something of the summary's name, if only a link that leads
/// nowhere.
pub fn is_run(path: &Path) -> bool {
    path.join(SUMMARY_FILE).symlink_metadata().is_ok()
}

/// The version is looked at first: a later schema must be named as such, not as a missing field.
fn parse(file: &Path, json: &str) -> Result<Summary, ReportError> {
    let malformed = |source| ReportError::Malformed { path: file.to_owned(), source };
    let document: serde_json::Value = serde_json::from_str(json).map_err(malformed)?;
    match document["schema_version"].as_u64() {
        Some(found) if found > u64::from(SCHEMA_VERSION) => {
            Err(ReportError::Newer { path: file.to_owned(), found })
        }
        _ => Summary::from_json(json).map_err(malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::scene::{Scene, killed};
    use rustix::fs::Mode;

    #[test]
    fn reads_a_killed_run_and_its_document_as_it_is() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path();
        let json = killed().to_json();
        fs::write(path.join(SUMMARY_FILE), &json).expect("written");
        let run = RunDirectory::open(path).expect("a run");
        assert!(!run.summary().complete);
        assert_eq!(run.json(), json);
    }

    #[test]
    fn says_what_is_wrong() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path();
        let check = |says: &str| {
            let error = RunDirectory::open(path).expect_err(says).to_string();
            assert!(error.contains(says), "{error}");
        };
        check("holds no summary.json");
        let file = path.join(SUMMARY_FILE);
        let newer =
            Scene::good().summary().to_json().replacen("\"schema_version\": 3", "\"schema_version\": 99", 1);
        for (text, says) in [
            ("{\"schema_version\": 1}", "missing field"),
            ("{\"schema_ver", "is no summary of a run"),
            (&newer, "schema version 99"),
        ] {
            fs::write(&file, text).expect("written");
            check(says);
        }
        fs::remove_file(&file).expect("removed");
        // Nobody writes into the FIFO: a reader that waits for it waits for ever.
        rustix::fs::mkfifoat(rustix::fs::CWD, &file, Mode::RUSR | Mode::WUSR).expect("a FIFO");
        check("is no regular file");
        fs::remove_file(&file).expect("removed");
        std::os::unix::fs::symlink("/dev/zero", &file).expect("a link");
        check("is no regular file");
        fs::remove_dir_all(path).expect("removed");
        check("there is no directory");
    }
}
