//! Files that a run makes. They hold what was sent and received, so that their owner alone may read them,
//! whatever the umask; and they are made in folders that may be others', where a name can lead anywhere.
//!
//! A file is always a new one (`O_EXCL`): it is not the file that somebody else has open. A regular file of
//! the same name is removed first; a link, a pipe or anything else in its place is refused. Folders are held
//! open, and names in them are single names, so that a folder that is renamed or replaced meanwhile changes
//! nothing about where a file is made.

mod whole;

pub use whole::Lock;

use crate::kind::{FileKind, NotRegular};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The mode of a private file.
const FILE: Mode = Mode::RUSR.union(Mode::WUSR);
/// Another process may plant a file between a removal and a creation; whoever does so twice means it.
const TRIES: usize = 3;

/// Creates the file at `path`, which its owner alone may read, in place of a regular file of that name.
///
/// # Errors
/// Those of the system, and [`NotRegular`] for a link, a pipe, a device or a folder in its place.
pub fn create_private(path: &Path) -> io::Result<File> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    Folder::open(path.parent().unwrap_or(Path::new("")))?.create_private(name)
}

/// A folder that is open.
#[derive(Debug, Clone)]
pub struct Folder {
    at: Arc<OwnedFd>,
    path: PathBuf,
}

impl Folder {
    /// Opens the folder at `path`, which may lead through links: it is the user's own word.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open(path: &Path) -> io::Result<Folder> {
        let named = if path == Path::new("") { Path::new(".") } else { path };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let at = rustix::fs::open(named, flags, Mode::empty())?;
        Ok(Folder { at: Arc::new(at), path: path.to_owned() })
    }

    /// Opens what `named`, a place that was opened by `path`, is, if it is a folder.
    pub(crate) fn open_at(named: &OwnedFd, path: &Path) -> io::Result<Folder> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let at = rustix::fs::openat(named, ".", flags, Mode::empty())?;
        Ok(Folder { at: Arc::new(at), path: path.to_owned() })
    }

    /// Makes a new folder at `path`, which its owner alone may read, and the folders above it, in which its
    /// owner alone may rename it.
    ///
    /// # Errors
    /// Those of the system; `AlreadyExists` for whatever is there.
    pub fn make_private(path: &Path) -> io::Result<Folder> {
        if let Some(above) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o755).create(above)?;
        }
        rustix::fs::mkdir(path, Mode::RWXU)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let at = rustix::fs::open(path, flags, Mode::empty())?;
        rustix::fs::fchmod(&at, Mode::RWXU)?;
        Ok(Folder { at: Arc::new(at), path: path.to_owned() })
    }

    /// The path by which it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True if its path still leads to it.
    pub fn is_at_its_path(&self) -> bool {
        let named = if self.path == Path::new("") { Path::new(".") } else { self.path.as_path() };
        match (rustix::fs::stat(named), rustix::fs::fstat(&*self.at)) {
            (Ok(there), Ok(own)) => (there.st_dev, there.st_ino) == (own.st_dev, own.st_ino),
            _ => false,
        }
    }

    /// Creates the file `name`, which its owner alone may read, in place of a regular file of that name.
    ///
    /// # Errors
    /// Those of the system, and [`NotRegular`] for a link, a pipe, a device or a folder in its place.
    pub fn create_private(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let name = name.as_ref();
        for _ in 0..TRIES {
            match new_file(&self.at, name, FILE) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.clear(name)?,
                made => return made,
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "another process makes it again and again"))
    }

    /// Creates the file that `names` lead to below the folder, and its folders, all for their owner alone.
    /// No link is followed, and nothing that is there is replaced.
    ///
    /// # Errors
    /// Those of the system; `AlreadyExists` for a file that is there.
    pub fn create_below(&self, names: &[impl AsRef<OsStr>]) -> io::Result<File> {
        self.create_with(names, Mode::RWXU, FILE)
    }

    /// As [`create_below`](Folder::create_below), and others may read what the umask lets them.
    ///
    /// # Errors
    /// As for [`create_below`](Folder::create_below).
    pub fn publish_below(&self, names: &[impl AsRef<OsStr>]) -> io::Result<File> {
        let (folders, file) = (Mode::from_raw_mode(0o777), Mode::from_raw_mode(0o666));
        self.create_with(names, folders, file)
    }

    fn create_with(&self, names: &[impl AsRef<OsStr>], folders: Mode, file: Mode) -> io::Result<File> {
        let (name, above) = names.split_last().ok_or(io::ErrorKind::InvalidInput)?;
        let mut below = self.at.try_clone()?;
        for folder in above {
            let folder = single(folder.as_ref())?;
            match rustix::fs::mkdirat(&below, folder, folders) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            below = rustix::fs::openat(&below, folder, flags, Mode::empty())?;
        }
        new_file(&below, name.as_ref(), file)
    }

    /// Replaces the file `name` by what `write` writes, in one step. It is its owner's alone. A link in its
    /// place is replaced, and not followed.
    ///
    /// # Errors
    /// Those of the system and of `write`; then the file is as it was.
    pub fn replace(&self, name: &str, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        let draft = format!(".{name}.draft");
        let at = &*self.at;
        let written = self.create_private(&draft).and_then(|mut file| write(&mut file));
        let written =
            written.and_then(|()| Ok(rustix::fs::renameat(at, &draft, at, single(name.as_ref())?)?));
        written.inspect_err(|_| {
            // Half of a file is useless, and removing it frees space on a full disk.
            let _ = rustix::fs::unlinkat(at, &draft, AtFlags::empty());
        })
    }

    /// Removes the file `name`.
    ///
    /// # Errors
    /// Those of the system.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&*self.at, single(name.as_ref())?, AtFlags::empty())?)
    }

    /// Removes a regular file that is in a new one's place.
    fn clear(&self, name: &OsStr) -> io::Result<()> {
        let found = match rustix::fs::statat(&*self.at, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(()),
            found => FileKind::of_mode(found?.st_mode),
        };
        if found != FileKind::Regular {
            return Err(NotRegular(found).into());
        }
        match self.remove(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.at.as_fd()
    }
}

/// Makes a new file in an open folder. A private one has its mode whatever the umask.
fn new_file(at: &OwnedFd, name: &OsStr, mode: Mode) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(at, single(name)?, flags, mode)?;
    if mode == FILE {
        rustix::fs::fchmod(&file, mode)?;
    }
    Ok(File::from(file))
}

/// `name`, if it is that of something in a folder and not a way to elsewhere.
fn single(name: &OsStr) -> io::Result<&OsStr> {
    let is_way = name.is_empty() || name == "." || name == ".." || name.as_bytes().contains(&b'/');
    if is_way { Err(io::ErrorKind::InvalidInput.into()) } else { Ok(name) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary_folder;
    use rustix::fs::{CWD, mkfifoat};
    use std::fs;
    use std::io::{Read, Write};
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).expect("it is there").permissions().mode() & 0o777
    }

    #[test]
    fn whatever_is_in_the_place_of_a_file_is_not_written_to() {
        let folder = temporary_folder("test-").expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("victim"), "kept").expect("a file");
        symlink("victim", at("link")).expect("a link");
        symlink("new", at("dangling")).expect("a link");
        mkfifoat(CWD, at("pipe"), Mode::RUSR | Mode::WUSR).expect("a pipe");
        fs::create_dir(at("directory")).expect("a folder");
        for (name, kind) in [
            ("link", FileKind::Link),
            ("dangling", FileKind::Link),
            ("pipe", FileKind::Pipe),
            ("directory", FileKind::Directory),
        ] {
            let error = create_private(&at(name)).expect_err(name);
            assert_eq!(NotRegular::of(&error), Some(NotRegular(kind)), "{error}");
        }
        assert!(!at("new").exists());
        // Another name of the same file, which its owner may have open, or may read.
        fs::hard_link(at("victim"), at("other")).expect("a name");
        fs::set_permissions(at("other"), fs::Permissions::from_mode(0o666)).expect("a mode");
        let mut watched = File::open(at("other")).expect("open");
        create_private(&at("other")).and_then(|mut file| file.write_all(b"secret")).expect("a file");
        let mut seen = String::new();
        watched.read_to_string(&mut seen).expect("the old one");
        assert_eq!((seen.as_str(), mode(&at("other"))), ("kept", 0o600));
        assert_eq!(fs::read_to_string(at("victim")).expect("the old one"), "kept");
    }

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let folder = temporary_folder("test-").expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let open = Folder::open(folder.path()).expect("a folder");
        fs::write(at("victim"), "kept").expect("a file");
        symlink("victim", at("file")).expect("a link");
        open.replace("file", |to| to.write_all(b"one")).expect("a file");
        assert_eq!(fs::read_to_string(at("file")).expect("a file"), "one");
        let failed =
            open.replace("file", |to| to.write_all(b"half").and(Err(io::ErrorKind::StorageFull.into())));
        assert!(failed.is_err() && !at(".file.draft").exists());
        assert_eq!(fs::read_to_string(at("file")).expect("a file"), "one");
        symlink("victim", at(".file.draft")).expect("a link");
        assert!(open.replace("file", |to| to.write_all(b"two")).is_err());
        assert_eq!(
            (fs::read_to_string(at("victim")).expect("a file").as_str(), mode(&at("file"))),
            ("kept", 0o600)
        );
    }

    /// The folder itself may be moved, and another put in its place.
    #[test]
    fn a_folder_is_the_one_that_was_opened() {
        let home = temporary_folder("test-").expect("a folder");
        let at = |name: &str| home.path().join(name);
        let folder = Folder::make_private(&at("above/out")).expect("a folder");
        assert!(folder.is_at_its_path() && mode(&at("above/out")) == 0o700);
        assert_eq!(
            Folder::make_private(&at("above/out")).expect_err("there").kind(),
            io::ErrorKind::AlreadyExists
        );
        fs::rename(at("above/out"), at("moved")).expect("moved");
        fs::create_dir(at("elsewhere")).expect("a folder");
        symlink(at("elsewhere"), at("above/out")).expect("a link");
        assert!(!folder.is_at_its_path());
        folder.create_private("file").expect("a file");
        folder.create_below(&["in", "file"]).expect("a file");
        assert!(at("moved/file").is_file() && at("moved/in/file").is_file());
        assert_eq!(fs::read_dir(at("elsewhere")).expect("a folder").count(), 0);
        assert_eq!((mode(&at("moved/in")), mode(&at("moved/in/file"))), (0o700, 0o600));
    }

    #[test]
    fn no_name_leads_out_of_the_folder() {
        let home = temporary_folder("test-").expect("a folder");
        let at = |name: &str| home.path().join(name);
        for name in ["in", "out"] {
            fs::create_dir(at(name)).expect("a folder");
        }
        symlink(at("out"), at("in/sub")).expect("a link");
        symlink(at("out/new"), at("in/file")).expect("a link");
        let folder = Folder::open(&at("in")).expect("a folder");
        let ways: [&[&str]; 8] = [
            &["sub", "x"],
            &["file"],
            &[".."],
            &["..", "x"],
            &["a/../../x"],
            &[""],
            &[],
            &["b", "..", "..", "x"],
        ];
        for way in ways {
            assert!(folder.create_below(way).is_err() && folder.publish_below(way).is_err(), "{way:?}");
        }
        assert!(["..", "a/b", "", "."].iter().all(|name| folder.create_private(name).is_err()));
        assert_eq!(fs::read_dir(at("out")).expect("a folder").count(), 0);
    }
}
