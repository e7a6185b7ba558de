//! Files of a part as they arrive: written to disk piece by piece, by names from a list, no more of them
//! than announced and no more in all than the part may have.

use crate::run_directory::{RunDirectory, RunDirectoryError};
use farfield_measure::events::EVENTS_FILE;
use farfield_measure::failures::FAILURES_FILE;
use farfield_measure::parts::PART_FILE;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

/// The files of a part, in the order in which they are sent: what says that a part is there comes last.
pub(in super::super) const FILES: [&str; 10] = [
    "scenario.toml",
    "inputs.json",
    "environment.json",
    FAILURES_FILE,
    crate::collector::HISTOGRAMS,
    crate::collector::SERIES,
    EVENTS_FILE,
    "samples.parquet",
    "summary.json",
    PART_FILE,
];

/// The reason why files are not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum FilesError {
    #[error("it sent a file of a name that no part has")]
    Name,
    #[error("it sent {0} twice")]
    Twice(&'static str),
    #[error("its files are larger than {0} bytes together, which is the most that is taken")]
    TooLarge(u64),
    #[error("it sent more or less of a file than it had announced")]
    Length,
    #[error("it handed no files over")]
    Nothing,
    #[error("its files cannot be kept here: {0}")]
    Directory(#[from] RunDirectoryError),
}

/// The files of one part.
pub(super) struct PartFiles {
    path: PathBuf,
    directory: Option<RunDirectory>,
    bytes_left: u64,
    bytes_max: u64,
    taken: Vec<&'static str>,
    /// The file that is being written, and the bytes that it lacks.
    open: Option<(&'static str, File, u64)>,
}

impl PartFiles {
    pub(super) fn new(path: PathBuf, bytes_max: u64) -> PartFiles {
        PartFiles { path, directory: None, bytes_left: bytes_max, bytes_max, taken: Vec::new(), open: None }
    }

    /// True if files have come.
    pub(super) fn have_begun(&self) -> bool {
        !self.taken.is_empty()
    }

    /// The directory, if files have come.
    pub(super) fn directory(&self) -> Option<PathBuf> {
        self.directory.as_ref().map(|directory| directory.path().to_owned())
    }

    /// Begins a file of so many bytes.
    pub(super) fn begin(&mut self, name: &str, bytes: u64) -> Result<(), FilesError> {
        self.finish()?;
        let name = FILES.into_iter().find(|known| *known == name).ok_or(FilesError::Name)?;
        if self.taken.contains(&name) {
            return Err(FilesError::Twice(name));
        }
        self.bytes_left = self.bytes_left.checked_sub(bytes).ok_or(FilesError::TooLarge(self.bytes_max))?;
        let directory = match &self.directory {
            Some(directory) => directory,
            None => self.directory.insert(RunDirectory::create_new(&self.path)?),
        };
        self.taken.push(name);
        self.open = Some((name, directory.begin(name)?, bytes));
        Ok(())
    }

    /// Writes the next bytes of the file.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), FilesError> {
        let (name, file, left) = self.open.as_mut().ok_or(FilesError::Length)?;
        *left = left.checked_sub(bytes.len() as u64).ok_or(FilesError::Length)?;
        let written = file.write_all(bytes);
        let directory = self.directory.as_ref().expect("a file is in a directory");
        written.map_err(|error| directory.refused(name, error).into())
    }

    /// The end of all files.
    pub(super) fn end(&mut self) -> Result<(), FilesError> {
        self.finish()?;
        if self.have_begun() { Ok(()) } else { Err(FilesError::Nothing) }
    }

    /// The end of the file.
    fn finish(&mut self) -> Result<(), FilesError> {
        match self.open.take() {
            Some((_, _, left)) if left > 0 => Err(FilesError::Length),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn files(bytes_max: u64) -> (tempfile::TempDir, PartFiles) {
        let home = tempfile::tempdir().expect("a folder");
        let files = PartFiles::new(home.path().join("1-of-2"), bytes_max);
        (home, files)
    }

    #[test]
    fn files_are_written_as_they_come() {
        let (home, mut files) = files(100);
        assert_eq!(files.directory(), None);
        for (name, pieces) in [("summary.json", &["{", "}"][..]), ("part.json.zst", &[])] {
            files.begin(name, pieces.len() as u64).expect("a file");
            pieces.iter().for_each(|piece| files.write(piece.as_bytes()).expect("a piece"));
        }
        files.end().expect("whole files");
        let read = |name: &str| fs::read_to_string(home.path().join("1-of-2").join(name)).expect("a file");
        assert_eq!((read("summary.json"), read("part.json.zst")), ("{}".to_owned(), String::new()));
    }

    #[test]
    fn a_peer_names_no_other_file_and_sends_no_more_than_it_said() {
        let (home, mut files) = files(100);
        for name in ["../summary.json", "/etc/passwd", "inputs/x", "", "report.html", "summary.json\0"] {
            assert!(matches!(files.begin(name, 1), Err(FilesError::Name)), "{name}");
        }
        assert!(!home.path().join("1-of-2").exists(), "nothing is made for what is refused");
        assert!(matches!(files.write(b"x"), Err(FilesError::Length)));
        assert!(matches!(files.begin("samples.parquet", u64::MAX), Err(FilesError::TooLarge(100))));
        files.begin("summary.json", 2).expect("a file");
        assert!(matches!(files.write(b"xyz"), Err(FilesError::Length)));
        assert!(matches!(files.begin("part.json.zst", 1), Err(FilesError::Length)), "the first is not whole");
        assert!(matches!(files.begin("summary.json", 1), Err(FilesError::Twice("summary.json"))));
        assert!(matches!(files.begin("samples.parquet", 99), Err(FilesError::TooLarge(100))));
    }
}
