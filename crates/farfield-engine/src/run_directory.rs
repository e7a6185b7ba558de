//! The run directory: the interface to everything that comes after a run.
//!
//! Only its owner can read the directory (0700), since a scenario may hold passwords and a server's log
//! anything. Whole files are replaced in one step, so that a reader never sees half of one;
//! `samples.parquet` grows in place and is whole at any time. A killed run leaves its last checkpoint. Disk
//! space for the result is [reserved](Reserve), for a disk that samples fill. A run locks its directory
//! (flock(2)) while it lives, so that no other run begins in it before this one has written its first file.

use farfield_measure::Fold;
use farfield_measure::failures::FAILURES_FILE;
use farfield_measure::samples::SampleFile;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A run directory being written.
#[derive(Debug, Clone)]
pub struct RunDirectory {
    path: PathBuf,
    /// The lock, if the file system has locks.
    _locked: Arc<File>,
}

/// The error of writing a file of the run directory.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}; choose another place with --out", path.display())]
pub struct RunDirectoryError {
    path: PathBuf,
    source: io::Error,
}

impl RunDirectoryError {
    /// Whether the file or directory exists already.
    pub fn is_taken(&self) -> bool {
        self.source.kind() == io::ErrorKind::AlreadyExists
    }
}

impl RunDirectory {
    /// Creates the directory, or uses an existing one without a run. A directory that holds a run, or in
    /// which one begins, is an error, so that results are never mixed.
    pub fn create(path: &Path) -> Result<RunDirectory, RunDirectoryError> {
        match RunDirectory::create_new(path) {
            Err(error) if error.is_taken() && path.is_dir() => RunDirectory::lock(path),
            made => made,
        }
    }

    /// Creates the directory; an existing one is an error.
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
        // Any other error means a file system without locks.
        if let Err(Errno::WOULDBLOCK) = flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            return Err(taken("another run is being written into it"));
        }
        // Checked with the lock held: its previous owner may have left a run.
        if path.join("summary.json").exists() || path.join("scenario.toml").exists() {
            return Err(taken("it holds a run already"));
        }
        Ok(RunDirectory { path: path.to_owned(), _locked: Arc::new(directory) })
    }

    /// The directory's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the file `name` with `content`, in one step.
    pub fn replace(&self, name: &str, content: &[u8]) -> Result<(), RunDirectoryError> {
        let path = self.path.join(name);
        let draft = self.path.join(format!(".{name}.draft"));
        let open = create_private(&draft);
        let written =
            open.and_then(|mut file| file.write_all(content)).and_then(|()| fs::rename(&draft, &path));
        written.map_err(|source| {
            // Half of a file is useless, and removing it frees space on a full disk.
            let _ = fs::remove_file(&draft);
            RunDirectoryError { path, source }
        })
    }

    /// Writes the file at `path` below the directory, and creates its folders. An existing file is an error,
    /// since it may be anybody's.
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

    /// Reserves disk space. A disk without it is too full for a run.
    pub fn reserve(&self) -> Result<Reserve, RunDirectoryError> {
        let path = self.path.join(".reserve");
        let held = create_private(&path).and_then(|file| {
            // An unlinked file is freed with its process, however that ends.
            fs::remove_file(&path)?;
            let filled = (0..RESERVE / ZEROS.len()).try_for_each(|_| (&file).write_all(&ZEROS));
            match filled {
                Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Ok(file),
                filled => filled.map(|()| file),
            }
        });
        held.map(|file| Reserve(Some(file))).map_err(|source| RunDirectoryError { path, source })
    }

    /// Begins the file `name`, which grows while the run goes on.
    pub(crate) fn begin(&self, name: &str) -> Result<File, RunDirectoryError> {
        let path = self.path.join(name);
        create_private(&path).map_err(|source| RunDirectoryError { path, source })
    }

    /// Begins the samples file.
    pub fn samples(&self) -> Result<DiskSamples, RunDirectoryError> {
        self.begin("samples.parquet").map(DiskSamples)
    }
}

/// Creates or empties the file at `path`, which its owner alone may read: the directory may be one that
/// others made or may read. A symbolic link is refused, since it may lead to any file of whoever runs
/// farfield.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    let nofollow = OFlags::NOFOLLOW.bits() as i32;
    let options = &mut fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).custom_flags(nofollow).open(path)
}

/// Bytes reserved: more than the result of a run of an hour takes.
const RESERVE: usize = 1 << 20;
static ZEROS: [u8; 1 << 14] = [0; 1 << 14];

/// Disk space that is reserved until it is released.
#[derive(Debug)]
pub struct Reserve(Option<File>);

impl Reserve {
    /// Frees the reserved space.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// In a directory that everybody may read, made by somebody else.
    #[test]
    fn files_are_their_owners_alone_and_follow_no_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = folder.path().join("open");
        fs::create_dir(&open).expect("a folder");
        fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).expect("its mode");
        let directory = RunDirectory::create(&open).expect("a directory");
        directory.samples().expect("a file");
        directory.replace("summary.json", b"{}").expect("a file");
        for name in ["samples.parquet", "summary.json"] {
            let mode = fs::metadata(open.join(name)).expect(name).permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        let other = folder.path().join("other");
        fs::write(&other, "kept").expect("a file");
        fs::remove_file(open.join("samples.parquet")).expect("it was there");
        std::os::unix::fs::symlink(&other, open.join("samples.parquet")).expect("a link");
        let refused = directory.samples().expect_err("a link leads elsewhere");
        assert!(refused.to_string().contains("samples.parquet"), "{refused}");
        assert_eq!(fs::read(&other).expect("a file"), b"kept");
    }
}
