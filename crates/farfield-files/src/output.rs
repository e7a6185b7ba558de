//! Files that a user names for a result. Each is replaced in one step, so that half of one is not taken for a
//! whole, and a pipe or a terminal is written to.
//!
//! The name may lie in a folder for everybody, such as `/tmp`, where another user may have put a link or a
//! pipe under it: those that belong to somebody else are refused.

use crate::kind::FileKind;
use crate::private::Folder;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Replaces the file at `path` with what `write` writes. Others may read it as the umask lets them.
///
/// # Errors
/// Those of the system and of `write`, then the file is as it was; and that a link or a pipe at `path` is
/// another user's.
pub fn replace<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    if let Some(to) = existing(path)? {
        let mut to = BufWriter::new(to);
        write(&mut to)?;
        return Ok(to.flush()?);
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut named = tempfile::Builder::new();
    let mut draft = BufWriter::new(named.permissions(Permissions::from_mode(0o666)).tempfile_in(folder)?);
    write(&mut draft)?;
    let draft = draft.into_inner().map_err(io::IntoInnerError::into_error)?;
    draft.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Replaces the file at `path` with `content`, as [`replace`].
///
/// # Errors
/// As for [`replace`].
pub fn put(path: &Path, content: &[u8]) -> io::Result<()> {
    replace(path, |to| to.write_all(content))
}

/// Makes the file at `path` with `content`, which its owner alone may read. It is there as a whole or not at
/// all, and nothing that is there is replaced.
///
/// # Errors
/// Those of the system; `AlreadyExists` for whatever is there.
pub fn put_new_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut draft =
        tempfile::Builder::new().permissions(Permissions::from_mode(0o600)).tempfile_in(folder)?;
    draft.write_all(content)?;
    draft.persist_noclobber(path).map_err(|error| error.error)?;
    Ok(())
}

/// Opens the folder at `path` for results, and makes it and those above it where they are not there.
///
/// # Errors
/// Those of the system; that a link at `path` is another user's.
pub fn folder(path: &Path) -> io::Result<Folder> {
    // The folder that is looked at is the one that is opened, whatever takes its name meanwhile.
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let named = match rustix::fs::open(path, flags, Mode::empty()) {
        Err(Errno::NOENT) => {
            std::fs::create_dir_all(path)?;
            rustix::fs::open(path, flags, Mode::empty())?
        }
        named => named?,
    };
    let found = rustix::fs::fstat(&named)?;
    if FileKind::of_mode(found.st_mode) != FileKind::Link {
        return Folder::open_at(&named, path);
    }
    refuse_a_strangers(&found)?;
    let to = rustix::fs::readlinkat(&named, "", Vec::new())?;
    Folder::open(&path.parent().unwrap_or(Path::new("")).join(OsStr::from_bytes(to.as_bytes())))
}

/// Refuses what another user has put under a name. Root's is trusted, as `/dev/stdout` is.
fn refuse_a_strangers(named: &Stat) -> io::Result<()> {
    if [0, rustix::process::geteuid().as_raw()].contains(&named.st_uid) {
        return Ok(());
    }
    let kind = FileKind::of_mode(named.st_mode);
    let why = format!("there is {kind} of another user in its place; name another one");
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

/// File at `path` that is written to as it is: a pipe, or a device of characters. `None` for a file to be
/// replaced.
fn existing(path: &Path) -> io::Result<Option<File>> {
    let named = match rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(None),
        named => named?,
    };
    if FileKind::of_mode(named.st_mode) == FileKind::Regular {
        return Ok(None);
    }
    refuse_a_strangers(&named)?;
    match rustix::fs::stat(path) {
        // A link is replaced, not followed, where it leads to a file or to nothing.
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
        Ok(found) => match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile => Ok(None),
            FileType::Fifo | FileType::CharacterDevice => File::options().write(true).open(path).map(Some),
            _ => {
                let kind = FileKind::of_mode(found.st_mode);
                let why = format!("it is {kind}; name a file");
                Err(io::Error::new(io::ErrorKind::InvalidInput, why))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary_folder;
    use rustix::fs::{Gid, Uid, mkfifoat};
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_is_replaced_and_a_link_is_not_followed() {
        let folder = temporary_folder("test-").expect("a folder");
        let at = |name: &str| folder.path().join(name);
        put(&at("file"), b"one").expect("new");
        put(&at("file"), b"two").expect("again");
        assert_eq!(fs::read_to_string(at("file")).expect("a file"), "two");
        fs::write(at("victim"), "kept").expect("a file");
        for (link, to) in [("link", "victim"), ("dangling", "new")] {
            symlink(to, at(link)).expect("a link");
            put(&at(link), b"own").expect("replaced");
            assert!(fs::symlink_metadata(at(link)).expect("a file").is_file(), "{link}");
        }
        assert!(!at("new").exists() && fs::read_to_string(at("victim")).expect("a file") == "kept");
        let failed: io::Result<()> =
            replace(&at("file"), |to| to.write_all(b"half").and(Err(io::ErrorKind::StorageFull.into())));
        assert!(failed.is_err() && fs::read_to_string(at("file")).expect("a file") == "two");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 4, "no draft is left");
        assert!(put(folder.path(), b"x").expect_err("a folder").to_string().contains("it is a directory"));
    }

    #[test]
    fn a_private_file_is_new_whole_and_its_owners_alone() {
        let folder = temporary_folder("test-").expect("a folder");
        let at = |name: &str| folder.path().join(name);
        put_new_private(&at("file"), b"one").expect("new");
        assert_eq!(fs::metadata(at("file")).expect("a file").permissions().mode() & 0o777, 0o600);
        symlink("nothing", at("dangling")).expect("a link");
        for taken in ["file", "dangling"] {
            let error = put_new_private(&at(taken), b"two").expect_err("it is there");
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists, "{taken}");
        }
        assert_eq!(fs::read_to_string(at("file")).expect("a file"), "one");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2, "no draft is left");
    }

    #[test]
    fn pipes_and_terminals_are_written_to() {
        let folder = temporary_folder("test-").expect("a folder");
        let pipe = folder.path().join("pipe");
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).expect("a pipe");
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe)
        });
        put(&pipe, b"through").expect("written");
        assert_eq!(reader.join().expect("a thread").expect("read"), "through");
        put(Path::new("/dev/null"), b"gone").expect("written");
        let (mut reading, writing) = io::pipe().expect("a pipe");
        put(Path::new(&format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writing))), b"fd")
            .expect("written");
        drop(writing);
        let mut text = String::new();
        reading.read_to_string(&mut text).expect("read");
        assert_eq!(text, "fd");
    }

    /// As in `/tmp`. Only root can give a file away.
    #[test]
    fn what_another_user_planted_is_refused() {
        if !rustix::process::geteuid().is_root() {
            return farfield_testkit::skip(
                "what_another_user_planted_is_refused",
                "only root gives a file away",
            );
        }
        let home = temporary_folder("test-").expect("a folder");
        let at = |name: &str| home.path().join(name);
        fs::write(at("victim"), "kept").expect("a file");
        symlink("victim", at("link")).expect("a link");
        mkfifoat(CWD, at("pipe"), Mode::RUSR | Mode::WUSR).expect("a pipe");
        let (user, group) = (Some(Uid::from_raw(65_534)), Some(Gid::from_raw(65_534)));
        for name in ["link", "pipe"] {
            rustix::fs::chownat(CWD, at(name), user, group, AtFlags::SYMLINK_NOFOLLOW).expect("given away");
            let error = put(&at(name), b"secret").expect_err(name).to_string();
            assert!(error.contains("of another user"), "{error}");
        }
        assert_eq!(fs::read_to_string(at("victim")).expect("a file"), "kept");
        assert!(folder(&at("link")).expect_err("a link").to_string().contains("of another user"));
    }

    #[test]
    fn a_folder_is_made_or_taken() {
        let home = temporary_folder("test-").expect("a folder");
        let at = |name: &str| home.path().join(name);
        for _ in 0..2 {
            folder(&at("a/b")).expect("a folder");
        }
        symlink("a", at("own")).expect("a link");
        folder(&at("own")).and_then(|own| own.publish_below(&["file"])).expect("a file");
        assert!(at("a/file").is_file() && folder(&at("a/file")).is_err());
    }
}
