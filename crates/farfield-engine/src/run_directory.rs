//! Writes the run directory: the interface to everything that comes after a run.
//!
//! The directory is its owner's alone (0700), since a scenario may hold passwords and a server's log anything. Whole files
//! are replaced in one step, so that a reader never meets half of one; `samples.parquet` grows in
//! place and is whole at any time. A run that is killed leaves its last checkpoint. Room for the result is [held in
//! reserve](Reserve), for a disk that samples fill. A run has its directory locked (flock(2)) while it lives, so that no other
//! one begins in it before this one has left its first file there.

use farfield_measure::Fold;
use farfield_measure::failures::FAILURES_FILE;
use farfield_measure::samples::SampleFile;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A run directory that is being written.
#[derive(Debug, Clone)]
pub struct RunDirectory {
    path: PathBuf,
    /// Holds the lock, where the file system has locks.
    _locked: Arc<File>,
}

/// Why the run directory could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}; choose another place with --out", path.display())]
pub struct RunDirectoryError {
    path: PathBuf,
    source: io::Error,
}

impl RunDirectoryError {
    /// Whether somebody else has made what was to be made anew.
    pub fn is_taken(&self) -> bool {
        self.source.kind() == io::ErrorKind::AlreadyExists
    }
}

impl RunDirectory {
    /// Makes the directory, or takes one that is there and holds no run. One that holds a run already, or in which one
    /// begins, is refused, so that no result is ever mixed with another.
    pub fn create(path: &Path) -> Result<RunDirectory, RunDirectoryError> {
        match RunDirectory::create_new(path) {
            Err(error) if error.is_taken() && path.is_dir() => RunDirectory::lock(path),
            made => made,
        }
    }

    /// Makes the directory, which nobody has made before.
    pub fn create_new(path: &Path) -> Result<RunDirectory, RunDirectoryError> {
        let parents = path.parent().map_or(Ok(()), fs::create_dir_all);
        let made = parents.and_then(|()| fs::DirBuilder::new().mode(0o700).create(path));
        made.map_err(|source| RunDirectoryError { path: path.to_owned(), source })?;
        RunDirectory::lock(path)
    }

    fn lock(path: &Path) -> Result<RunDirectory, RunDirectoryError> {
        let refuse = |source| RunDirectoryError { path: path.to_owned(), source };
        let taken = |why| refuse(io::Error::new(io::ErrorKind::AlreadyExists, why));
        let directory = File::open(path).map_err(refuse)?;
        // Any other answer is that of a file system without locks.
        if let Err(Errno::WOULDBLOCK) = flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            return Err(taken("another run is being written into it"));
        }
        // Looked at with the lock held: whoever had it before may have left a run.
        if path.join("summary.json").exists() || path.join("scenario.toml").exists() {
            return Err(taken("it holds a run already"));
        }
        Ok(RunDirectory { path: path.to_owned(), _locked: Arc::new(directory) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the file `name` with `content`, in one step.
    pub fn replace(&self, name: &str, content: &[u8]) -> Result<(), RunDirectoryError> {
        let path = self.path.join(name);
        let draft = self.path.join(format!(".{name}.draft"));
        // What others may read of it, the directory decides; where somebody else made that, the owner alone.
        let open = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft);
        let written =
            open.and_then(|mut file| file.write_all(content)).and_then(|()| fs::rename(&draft, &path));
        written.map_err(|source| {
            // Half of a file is of use to nobody, and a full disk has room for other things.
            let _ = fs::remove_file(&draft);
            RunDirectoryError { path, source }
        })
    }

    /// Writes the file at `path`, in folders below the directory which are made. One that is there already is refused, since
    /// it may be anybody's.
    pub fn keep(&self, path: &Path, content: &[u8]) -> Result<(), RunDirectoryError> {
        let path = self.path.join(path);
        let folders = match path.parent() {
            Some(folder) => fs::DirBuilder::new().recursive(true).mode(0o700).create(folder),
            None => Ok(()),
        };
        let made = folders
            .and_then(|()| fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path));
        let written = made.and_then(|mut file| file.write_all(content));
        written.map_err(|source| RunDirectoryError { path, source })
    }

    /// Writes the first failures of sessions with their requests and replies, if there are any.
    pub fn write_failures(&self, fold: &Fold) -> Result<(), RunDirectoryError> {
        match fold.failures().document() {
            Some(document) => self.replace(FAILURES_FILE, document.as_bytes()),
            None => Ok(()),
        }
    }

    /// Sets room aside. A disk without it has none for a run.
    pub fn reserve(&self) -> Result<Reserve, RunDirectoryError> {
        let path = self.path.join(".reserve");
        let held = File::create(&path).and_then(|file| {
            // A file without a name is gone with its process, however that ends.
            fs::remove_file(&path)?;
            let filled = (0..RESERVE / ZEROS.len()).try_for_each(|_| (&file).write_all(&ZEROS));
            match filled {
                Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Ok(file),
                filled => filled.map(|()| file),
            }
        });
        held.map(|file| Reserve(Some(file))).map_err(|source| RunDirectoryError { path, source })
    }

    /// Begins the samples file.
    pub fn samples(&self) -> Result<DiskSamples, RunDirectoryError> {
        let path = self.path.join("samples.parquet");
        File::create(&path).map(DiskSamples).map_err(|source| RunDirectoryError { path, source })
    }
}

/// Bytes held in reserve: more than the result of a run of an hour takes.
const RESERVE: usize = 1 << 20;
static ZEROS: [u8; 1 << 14] = [0; 1 << 14];

/// Room on the disk that nobody else gets before it is released.
#[derive(Debug)]
pub struct Reserve(Option<File>);

impl Reserve {
    /// Gives the room back to the disk.
    pub fn release(&mut self) {
        self.0 = None;
    }
}

/// `samples.parquet` on disk.
#[derive(Debug)]
pub struct DiskSamples(File);

impl SampleFile for DiskSamples {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }
}
