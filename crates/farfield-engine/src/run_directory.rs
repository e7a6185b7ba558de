//! The run directory: the interface to everything that comes after a run.
//!
//! Only its owner can read the directory (0700), since a scenario may hold passwords and a server's log
//! anything. Whole files are replaced in one step, so that a reader never sees half of one;
//! `samples.parquet` grows in place and is whole at any time. A killed run leaves its last checkpoint. Disk
//! space for the result is [reserved](Reserve), for a disk that samples fill. A run locks its directory
//! (flock(2)) while it lives, so that no other run begins in it before this one has written its first file.
//!
//! The directory stays open, and its files are made in it whatever becomes of its name: its parent may be
//! another user's, who can rename it and put a link in its place. A run whose directory has gone says so.

use farfield_files::Folder;
use farfield_measure::Fold;
use farfield_measure::failures::FAILURES_FILE;
use farfield_measure::samples::SampleFile;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};

/// A run directory being written.
#[derive(Debug, Clone)]
pub struct RunDirectory {
    /// The open directory, which has the lock if the file system has locks.
    folder: Folder,
}

/// The error of writing a file of the run directory.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}; choose another place with --out", path.display())]
pub struct RunDirectoryError {
    path: PathBuf,
    source: io::Error,
}

impl RunDirectoryError {
    /// True if the file or directory exists already.
    pub fn is_taken(&self) -> bool {
        self.source.kind() == io::ErrorKind::AlreadyExists
    }
}

impl RunDirectory {
    /// Creates the directory, or uses an existing one without a run. A directory that holds a run, or in
    /// which one begins, is an error, so that results are never mixed.
    pub fn create(path: &Path) -> Result<RunDirectory, RunDirectoryError> {
        match RunDirectory::create_new(path) {
            Err(error) if error.is_taken() && path.is_dir() => {
                let refuse = |source| RunDirectoryError { path: path.to_owned(), source };
                RunDirectory::lock(Folder::open(path).map_err(refuse)?)
            }
            Err(error) if error.is_taken() => {
                let why = "there is a file of this name, and a run needs a directory";
                Err(RunDirectoryError { source: io::Error::new(io::ErrorKind::AlreadyExists, why), ..error })
            }
            made => made,
        }
    }

    /// Creates the directory; an existing one is an error.
    pub fn create_new(path: &Path) -> Result<RunDirectory, RunDirectoryError> {
        let made = Folder::make_private(path);
        RunDirectory::lock(made.map_err(|source| RunDirectoryError { path: path.to_owned(), source })?)
    }

    fn lock(folder: Folder) -> Result<RunDirectory, RunDirectoryError> {
        let path = folder.path();
        let refuse = |source| RunDirectoryError { path: path.to_owned(), source };
        let taken = |why| refuse(io::Error::new(io::ErrorKind::AlreadyExists, why));
        // Any other error means a file system without locks.
        if let Err(Errno::WOULDBLOCK) = flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            return Err(taken("another run is being written into it"));
        }
        // Checked with the lock held: its previous owner may have left a run.
        if path.join("summary.json").exists() || path.join("scenario.toml").exists() {
            return Err(taken("it holds a run already"));
        }
        Ok(RunDirectory { folder })
    }

    /// The directory's path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The error of writing the file `name`.
    pub fn refused(&self, name: &str, source: io::Error) -> RunDirectoryError {
        self.refuse(name)(source)
    }

    fn refuse(&self, name: impl AsRef<Path>) -> impl Fn(io::Error) -> RunDirectoryError {
        let path = self.path().join(name);
        move |source| RunDirectoryError { path: path.clone(), source }
    }

    /// Replaces the file `name` with `content`, in one step.
    pub fn replace(&self, name: &str, content: &[u8]) -> Result<(), RunDirectoryError> {
        if !self.folder.is_at_its_path() {
            let why = "the directory was removed or renamed meanwhile";
            return Err(self.refuse(name)(io::Error::new(io::ErrorKind::NotFound, why)));
        }
        self.folder.replace(name, |file| file.write_all(content)).map_err(self.refuse(name))
    }

    /// Writes the file at `path` below the directory, and creates its folders. An existing file is an error,
    /// since it may be anybody's.
    pub fn keep(&self, path: &Path, content: &[u8]) -> Result<(), RunDirectoryError> {
        let name = |component| match component {
            Component::Normal(name) => Ok(name),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        };
        let names: io::Result<Vec<&OsStr>> = path.components().map(name).collect();
        let made = names.and_then(|names| self.folder.create_below(&names));
        made.and_then(|mut file| file.write_all(content)).map_err(self.refuse(path))
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
        const NAME: &str = ".reserve";
        let held = self.folder.create_private(NAME).and_then(|file| {
            // An unlinked file is freed with its process, however that ends.
            self.folder.remove(NAME)?;
            let filled = (0..RESERVE / ZEROS.len()).try_for_each(|_| (&file).write_all(&ZEROS));
            match filled {
                Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Ok(file),
                filled => filled.map(|()| file),
            }
        });
        held.map(|file| Reserve(Some(file))).map_err(self.refuse(NAME))
    }

    /// Begins the file `name`, which grows while the run goes on.
    pub fn begin(&self, name: &str) -> Result<File, RunDirectoryError> {
        self.folder.create_private(name).map_err(self.refuse(name))
    }

    /// Removes the file `name`.
    pub fn remove(&self, name: &str) -> Result<(), RunDirectoryError> {
        self.folder.remove(name).map_err(self.refuse(name))
    }

    /// Begins the samples file.
    pub fn samples(&self) -> Result<DiskSamples, RunDirectoryError> {
        self.begin("samples.parquet").map(DiskSamples)
    }
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
    use std::fs;
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
        let in_its_place = RunDirectory::create(&other).expect_err("a file").to_string();
        assert!(
            in_its_place.contains("there is a file of this name, and a run needs a directory"),
            "{in_its_place}"
        );
    }

    /// Another user's parent folder: the directory is moved away, and a link put in its place.
    #[test]
    fn a_directory_that_was_moved_is_an_error_and_the_link_in_its_place_is_not_followed() {
        let home = tempfile::tempdir().expect("a folder");
        let at = |name: &str| home.path().join(name);
        let directory = RunDirectory::create(&at("run")).expect("a directory");
        fs::create_dir(at("victim")).expect("a folder");
        fs::rename(at("run"), at("moved")).expect("moved");
        std::os::unix::fs::symlink(at("victim"), at("run")).expect("a link");
        let refused = directory.replace("summary.json", b"{}").expect_err("it has gone").to_string();
        assert!(refused.contains("removed or renamed"), "{refused}");
        directory.samples().expect("a file");
        directory.keep(Path::new("inputs/urls"), b"/").expect("a file");
        assert_eq!(fs::read_dir(at("victim")).expect("a folder").count(), 0);
    }

    /// `inputs` of a directory that somebody else made may lead elsewhere, and a scenario names the file.
    #[test]
    fn copies_of_inputs_follow_no_link() {
        let home = tempfile::tempdir().expect("a folder");
        let at = |name: &str| home.path().join(name);
        for name in ["run", "victim"] {
            fs::create_dir(at(name)).expect("a folder");
        }
        std::os::unix::fs::symlink(at("victim"), at("run/inputs")).expect("a link");
        let directory = RunDirectory::create(&at("run")).expect("a directory");
        for path in ["inputs/urls", "inputs/2/urls", "../victim/urls", "/victim/urls"] {
            let refused = directory.keep(Path::new(path), b"* * * * *").expect_err("a link leads elsewhere");
            assert!(refused.to_string().contains("urls"), "{refused}");
        }
        assert_eq!(fs::read_dir(at("victim")).expect("a folder").count(), 0);
    }
}
