//! Files that are read: regular ones, opened without waiting, and no more of them than their kind may have.
//!
//! A name in a scenario or in a run directory comes from a stranger. It may lead to a device without an end,
//! to a pipe that nobody writes into, or to a file larger than memory. Each is refused by the kind of file
//! that it is, at once.

use crate::kind::{FileKind, NotRegular};
use farfield_base::Bytes;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Flags of a file that is read: nothing is waited for.
const READING: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// The largest scenario, and the largest list of its files.
pub const SCENARIO_MAX: Bytes = Bytes(16 << 20);
/// The files that one scenario names are no larger than this together.
pub const SCENARIO_FILES_MAX: Bytes = Bytes(2 << 30);
/// The largest file of certificates or keys.
pub const KEY_MAX: Bytes = Bytes(16 << 20);
/// The largest page of a folder that is read as a site.
pub const PAGE_MAX: Bytes = Bytes(64 << 20);
/// The largest document that farfield itself wrote: a summary, a fit.
pub const DOCUMENT_MAX: Bytes = Bytes(1 << 30);

/// The refusal of a file that is larger than its kind may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it has more than {max}, which is the most that is read here")]
pub struct TooLarge {
    /// The bound.
    pub max: Bytes,
}

impl From<TooLarge> for io::Error {
    fn from(refusal: TooLarge) -> io::Error {
        io::Error::new(io::ErrorKind::FileTooLarge, refusal)
    }
}

/// Opens a regular file. Nothing is waited for: a pipe without a writer is refused like any other.
///
/// # Errors
/// Those of the system, and [`NotRegular`].
pub fn open_regular(path: &Path) -> io::Result<File> {
    match open_any(path)? {
        (file, FileKind::Regular) => Ok(file),
        (_, kind) => Err(NotRegular(kind).into()),
    }
}

/// Opens a file that is read once from beginning to end, as a user typed its name: a regular file, or a pipe
/// such as `<(zcat access.log.gz)`, whose writer is waited for.
///
/// # Errors
/// Those of the system, and [`NotRegular`] for what is neither.
pub fn open_stream(path: &Path) -> io::Result<File> {
    let found = FileKind::of_mode(rustix::fs::stat(path)?.st_mode);
    if found != FileKind::Pipe {
        return open_regular(path);
    }
    let file = File::open(path)?;
    match FileKind::of_mode(rustix::fs::fstat(&file)?.st_mode) {
        FileKind::Regular | FileKind::Pipe => Ok(file),
        kind => Err(NotRegular(kind).into()),
    }
}

/// The content of a regular file of at most `max`.
///
/// # Errors
/// Those of the system, [`NotRegular`] and [`TooLarge`].
pub fn read(path: &Path, max: Bytes) -> io::Result<Vec<u8>> {
    whole(&open_regular(path)?, max)
}

/// The content of a regular file of at most `max` in a folder or below it, as a stranger's document may name
/// it: neither `..` nor a link leads out.
///
/// # Errors
/// As [`read`]; those of openat2(2), which is EXDEV for a name that leads out.
pub fn read_below(folder: &Path, name: &Path, max: Bytes) -> io::Result<Vec<u8>> {
    let folder = if folder == Path::new("") { Path::new(".") } else { folder };
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(CWD, folder, directory, Mode::empty())?;
    let below = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let file = rustix::fs::openat2(&folder, name, READING, Mode::empty(), below)?;
    match FileKind::of_mode(rustix::fs::fstat(&file)?.st_mode) {
        FileKind::Regular => whole(&File::from(file), max),
        kind => Err(NotRegular(kind).into()),
    }
}

/// The text of a regular file of at most `max`.
///
/// # Errors
/// As [`read`], and that it is not UTF-8.
pub fn read_text(path: &Path, max: Bytes) -> io::Result<String> {
    text(read(path, max)?)
}

/// The text of a file of at most `max` whose name a user typed: a regular file, or a pipe with a writer, such
/// as `<(sed s/a/b/ scenario.toml)`.
///
/// # Errors
/// As [`read_text`].
pub fn read_typed_text(path: &Path, max: Bytes) -> io::Result<String> {
    let (file, kind) = open_any(path)?;
    match kind {
        FileKind::Regular => text(whole(&file, max)?),
        FileKind::Pipe => {
            rustix::fs::fcntl_setfl(&file, OFlags::empty())?;
            match whole(&file, max)? {
                nothing if nothing.is_empty() => Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "it is a pipe that nobody writes into, or nothing was written",
                )),
                bytes => text(bytes),
            }
        }
        kind => Err(NotRegular(kind).into()),
    }
}

/// Room for several files together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    max: Bytes,
    left: u64,
}

impl Budget {
    /// Room for files of `max` together.
    pub fn new(max: Bytes) -> Budget {
        Budget { max, left: max.0 }
    }

    /// The content of a regular file, which takes its length of the room.
    ///
    /// # Errors
    /// As [`read`]; that the file has no room beside those before it.
    pub fn read(&mut self, path: &Path) -> io::Result<Vec<u8>> {
        match read(path, Bytes(self.left)) {
            Ok(bytes) => {
                self.left -= bytes.len() as u64;
                Ok(bytes)
            }
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!(
                    "with it the files have more than {} together, which is the most that is read",
                    self.max
                ),
            )),
            Err(error) => Err(error),
        }
    }
}

/// Opens whatever `path` leads to, for reading, without waiting and without becoming a terminal's session.
fn open_any(path: &Path) -> io::Result<(File, FileKind)> {
    let opened = rustix::fs::open(path, READING, Mode::empty());
    let at = opened.map_err(|error| match rustix::fs::stat(path) {
        // A socket, and a device without a driver, cannot be opened at all.
        Ok(found) if error == Errno::NXIO => io::Error::from(NotRegular(FileKind::of_mode(found.st_mode))),
        _ => io::Error::from(error),
    })?;
    let kind = FileKind::of_mode(rustix::fs::fstat(&at)?.st_mode);
    Ok((File::from(at), kind))
}

/// The whole of an open file. Its length is only a hint: it may grow, and a kernel's file has none.
fn whole(file: &File, max: Bytes) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    if length > max.0 {
        return Err(TooLarge { max }.into());
    }
    let mut bytes = Vec::with_capacity(length as usize);
    file.take(max.0.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > max.0 {
        true => Err(TooLarge { max }.into()),
        false => Ok(bytes),
    }
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is no text in UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary_folder;
    use rustix::fs::{CWD, mkfifoat};
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    /// A link may lead to another place of the folder, and to none beside it, by whatever way.
    #[test]
    fn what_a_document_names_is_below_its_folder() {
        let place = temporary_folder("test-").expect("a folder");
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("own/deep")).expect("folders");
        fs::write(at("secret"), "secret").expect("own file");
        fs::write(at("own/file"), "own").expect("own file");
        for (to, name) in [
            ("../file", "own/deep/inside"),
            ("../secret", "own/outside"),
            ("/proc/self/environ", "own/absolute"),
            ("..", "own/up"),
            ("/proc/self/cwd", "own/magic"),
        ] {
            symlink(to, at(name)).expect("a link");
        }
        let read = |name: &str| read_below(&at("own"), Path::new(name), Bytes(64));
        for name in ["file", "./file", "deep/inside", "deep/../file"] {
            assert_eq!(read(name).expect(name), b"own");
        }
        for name in ["outside", "absolute", "up/secret", "magic/Cargo.toml", "../secret", "/etc/hostname"] {
            let error = read(name).expect_err(name);
            assert_eq!(error.raw_os_error(), Some(Errno::XDEV.raw_os_error()), "{name}: {error}");
        }
        assert!(read_below(&at("own"), Path::new("file"), Bytes(2)).is_err(), "too large");
        assert!(read("deep").is_err(), "a folder");
    }

    /// Files of every kind, in a folder.
    #[test]
    fn every_kind_but_a_regular_file_is_refused_at_once() {
        let folder = temporary_folder("test-").expect("a folder");
        let at = |name: &str| folder.path().join(name);
        mkfifoat(CWD, at("pipe"), Mode::RUSR | Mode::WUSR).expect("a pipe");
        fs::create_dir(at("directory")).expect("a folder");
        let _listener = UnixListener::bind(at("socket")).expect("a socket");
        for (name, to) in [("zero", "/dev/zero"), ("terminal", "/dev/ptmx"), ("to-pipe", "pipe")] {
            symlink(to, at(name)).expect("a link");
        }
        for (name, kind) in [
            ("pipe", FileKind::Pipe),
            ("to-pipe", FileKind::Pipe),
            ("directory", FileKind::Directory),
            ("socket", FileKind::Socket),
            ("zero", FileKind::Device),
            ("terminal", FileKind::Device),
        ] {
            for refused in [
                open_regular(&at(name)).map(drop),
                read(&at(name), Bytes(9)).map(drop),
                read_text(&at(name), Bytes(9)).map(drop),
                Budget::new(Bytes(9)).read(&at(name)).map(drop),
            ] {
                let error = refused.expect_err(name);
                assert_eq!(NotRegular::of(&error), Some(NotRegular(kind)), "{name}: {error}");
                assert!(error.to_string().contains(&kind.to_string()), "{error}");
            }
        }
        assert_eq!(open_regular(&at("none")).expect_err("none").kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn no_more_than_the_bound_is_read() {
        let folder = temporary_folder("test-").expect("a folder");
        let path = folder.path().join("file");
        fs::write(&path, "12345").expect("a file");
        assert_eq!(read_text(&path, Bytes(5)).expect("five"), "12345");
        let refused = read(&path, Bytes(4)).expect_err("one too many");
        assert_eq!(refused.to_string(), "it has more than 4B, which is the most that is read here");
        // A sparse file of a terabyte takes no memory to refuse, and a kernel's file claims to be empty.
        File::create(&path).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
        assert_eq!(read(&path, SCENARIO_MAX).expect_err("large").kind(), io::ErrorKind::FileTooLarge);
        let status = Path::new("/proc/self/status");
        assert_eq!(read(status, Bytes(10)).expect_err("longer").kind(), io::ErrorKind::FileTooLarge);
        assert!(read(status, Bytes(1 << 20)).expect("a status").len() > 10);
        fs::write(&path, [0xff]).expect("a file");
        assert_eq!(read_text(&path, Bytes(5)).expect_err("no text").kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn files_of_one_budget_are_counted_together() {
        let folder = temporary_folder("test-").expect("a folder");
        let path = folder.path().join("file");
        fs::write(&path, "12345").expect("a file");
        let mut budget = Budget::new(Bytes(12));
        assert_eq!(budget.read(&path).expect("5 of 12"), b"12345");
        assert_eq!(budget.read(&path).expect("10 of 12"), b"12345");
        let error = budget.read(&path).expect_err("15 of 12").to_string();
        assert!(error.contains("more than 12B together"), "{error}");
    }

    /// A pipe is taken where its name was typed, and only with somebody at its other end.
    #[test]
    fn a_typed_name_may_be_a_pipe() {
        let folder = temporary_folder("test-").expect("a folder");
        let path = folder.path().join("pipe");
        mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).expect("a pipe");
        let error = read_typed_text(&path, Bytes(99)).expect_err("nobody writes").to_string();
        assert!(error.contains("a pipe that nobody writes into"), "{error}");
        let write = |text: &'static str| {
            let path = path.clone();
            std::thread::spawn(move || {
                fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
            })
        };
        let writer = write("a log\n");
        let mut log = String::new();
        open_stream(&path).expect("a pipe").read_to_string(&mut log).expect("its text");
        assert_eq!(log, "a log\n");
        writer.join().expect("a thread").expect("written");
        let (reading, mut writing) = io::pipe().expect("a pipe");
        writing.write_all(b"seed = 1").expect("written");
        drop(writing);
        let own = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reading));
        assert_eq!(read_typed_text(Path::new(&own), Bytes(8)).expect("a text"), "seed = 1");
        for kind in ["/dev/zero", "/"] {
            assert!(
                open_stream(Path::new(kind)).is_err() && read_typed_text(Path::new(kind), Bytes(9)).is_err()
            );
        }
    }
}
