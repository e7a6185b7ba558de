//! Writes the run directory: the interface to everything that comes after a run.
//!
//! The directory is its owner's alone (0700), since a scenario may hold passwords and a server's log anything. Whole files
//! are replaced in one step, so that a reader never meets half of one; `samples.parquet` grows in
//! place and is whole at any time. A run that is killed leaves its last checkpoint. Room for the result is [held in
//! reserve](Reserve), for a disk that samples fill.

use farfield_measure::samples::SampleFile;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A run directory that is being written.
#[derive(Debug, Clone)]
pub struct RunDirectory {
    path: PathBuf,
}

/// Why the run directory could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}; choose another place with --out", path.display())]
pub struct RunDirectoryError {
    path: PathBuf,
    source: io::Error,
}

impl RunDirectory {
    /// Makes the directory. One that holds a run already is refused, so that no result is ever mixed with another.
    pub fn create(path: &Path) -> Result<RunDirectory, RunDirectoryError> {
        let refuse = |source| RunDirectoryError { path: path.to_owned(), source };
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(refuse)?;
        }
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            made => made.map_err(refuse)?,
        }
        if path.join("summary.json").exists() || path.join("scenario.toml").exists() {
            return Err(refuse(io::Error::new(io::ErrorKind::AlreadyExists, "it holds a run already")));
        }
        Ok(RunDirectory { path: path.to_owned() })
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
        let written = open.and_then(|mut file| file.write_all(content)).and_then(|()| fs::rename(&draft, &path));
        written.map_err(|source| {
            // Half of a file is of use to nobody, and a full disk has room for other things.
            let _ = fs::remove_file(&draft);
            RunDirectoryError { path, source }
        })
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
