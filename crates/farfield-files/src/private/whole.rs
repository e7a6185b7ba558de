//! Whole folders below an open one: whether they are in use, how much of the disk they take, other names
//! for them, and their removal. No link is followed and no other file system is entered: names are looked up
//! in folders that are open, one at a time.

use super::{Folder, single};
use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;

/// Folders within folders at most: what is deeper is none of farfield's.
const DEPTH_MAX: usize = 16;

/// The state of a folder's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// Nobody had it; this process has it as long as the folder is open.
    Taken,
    /// Another process has it.
    Held,
    /// The file system has no locks.
    None,
}

impl Folder {
    /// Opens the folder `name` in this one; a link is refused.
    ///
    /// # Errors
    /// Those of the system; `ELOOP` or `ENOTDIR` for a link and whatever else is no folder.
    pub fn open_below(&self, name: impl AsRef<OsStr>) -> io::Result<Folder> {
        let name = single(name.as_ref())?;
        let at = open_folder(&self.at, name)?;
        Ok(Folder { at: at.into(), path: self.path.join(name) })
    }

    /// True if the folder belongs to the user of this process.
    ///
    /// # Errors
    /// Those of the system.
    pub fn is_own(&self) -> io::Result<bool> {
        Ok(rustix::fs::fstat(&*self.at)?.st_uid == rustix::process::geteuid().as_raw())
    }

    /// Takes the folder's lock (flock(2)), if nobody has it.
    pub fn lock(&self) -> Lock {
        match rustix::fs::flock(&*self.at, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Lock::Taken,
            Err(Errno::WOULDBLOCK) => Lock::Held,
            Err(_) => Lock::None,
        }
    }

    /// Bytes on disk of the folder and of all below it, a file with several names once for each.
    ///
    /// # Errors
    /// Those of the system; and that it is deeper than any of farfield's.
    pub fn bytes_on_disk(&self) -> io::Result<u64> {
        let own = rustix::fs::fstat(&*self.at)?;
        let mut bytes = blocks(&own);
        each_below(&self.at, &own, DEPTH_MAX, &mut |_, _, found| {
            bytes += blocks(found);
            Ok(())
        })?;
        Ok(bytes)
    }

    /// Removes `whole`, the folder `name` in this one, with all that is in it; its file `last` goes after all
    /// others, so that half of it still is what it was.
    ///
    /// # Errors
    /// Those of the system; and that the name leads to something else by now. Part of it may be gone then.
    pub fn remove_whole(&self, name: impl AsRef<OsStr>, whole: &Folder, last: &str) -> io::Result<()> {
        let name = single(name.as_ref())?;
        self.leads_to(name, whole)?;
        let own = rustix::fs::fstat(&*whole.at)?;
        each_below(&whole.at, &own, DEPTH_MAX, &mut |folder, name, found| {
            let is_last = name == last && same(&rustix::fs::fstat(folder)?, &own);
            match FileType::from_raw_mode(found.st_mode) {
                _ if is_last => {}
                FileType::Directory => rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?,
                _ => rustix::fs::unlinkat(folder, name, AtFlags::empty())?,
            }
            Ok(())
        })?;
        match rustix::fs::unlinkat(&*whole.at, last, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(rustix::fs::unlinkat(&*self.at, name, AtFlags::REMOVEDIR)?)
    }
}

impl Folder {
    /// Renames `whole`, the folder `name` in this one, to `to` in this one, where nothing is yet.
    ///
    /// # Errors
    /// Those of the system; `AlreadyExists` for whatever is there.
    pub fn rename_whole(
        &self,
        name: impl AsRef<OsStr>,
        whole: &Folder,
        to: impl AsRef<OsStr>,
    ) -> io::Result<()> {
        let (name, to) = (single(name.as_ref())?, single(to.as_ref())?);
        self.leads_to(name, whole)?;
        match rustix::fs::renameat_with(&*self.at, name, &*self.at, to, RenameFlags::NOREPLACE) {
            // Of some file systems of a network, and of old kernels.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => rename_to_free(&self.at, name, to),
            renamed => Ok(renamed?),
        }
    }

    /// Fails if `name` is not `whole`, but something else by now.
    fn leads_to(&self, name: &OsStr, whole: &Folder) -> io::Result<()> {
        let own = rustix::fs::fstat(&*whole.at)?;
        let named = rustix::fs::statat(&*self.at, name, AtFlags::SYMLINK_NOFOLLOW)?;
        match same(&named, &own) {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::NotFound, "it was renamed or replaced meanwhile")),
        }
    }
}

/// Renames `name` to `to` after a look whether that is free, where the system does not do both in one step.
fn rename_to_free(at: &OwnedFd, name: &OsStr, to: &OsStr) -> io::Result<()> {
    match rustix::fs::statat(at, to, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(rustix::fs::renameat(at, name, at, to)?),
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) => Err(error.into()),
    }
}

fn open_folder(at: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(at, name, flags, Mode::empty())?)
}

fn same(a: &Stat, b: &Stat) -> bool {
    (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
}

/// Bytes of the blocks of a file, which stat(2) counts by 512 bytes.
fn blocks(found: &Stat) -> u64 {
    u64::try_from(found.st_blocks).unwrap_or(0) * 512
}

/// The work on something in a folder: it takes the folder, the name in it, and what is there.
type Visit<'v> = dyn FnMut(&OwnedFd, &OsStr, &Stat) -> io::Result<()> + 'v;

/// Visits all that is below a folder, what is in a folder before the folder itself.
fn each_below(folder: &OwnedFd, top: &Stat, depth: usize, visit: &mut Visit<'_>) -> io::Result<()> {
    for name in names(folder)? {
        let found = rustix::fs::statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(found.st_mode) == FileType::Directory {
            if depth == 0 {
                return Err(io::Error::other("its folders are too deep for a run's"));
            }
            if found.st_dev != top.st_dev {
                return Err(io::Error::new(
                    io::ErrorKind::CrossesDevices,
                    "another file system is mounted in it",
                ));
            }
            each_below(&open_folder(folder, &name)?, top, depth - 1, visit)?;
        }
        visit(folder, &name, &found)?;
    }
    Ok(())
}

fn names(folder: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder.as_fd())? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(OsString::from_vec(name));
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary_folder;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_folder_is_removed_with_what_is_in_it_and_nothing_that_links_lead_to() {
        let home = temporary_folder("test-").expect("a folder");
        let at = |name: &str| home.path().join(name);
        fs::create_dir_all(at("runs/a/inputs/2")).expect("folders");
        fs::write(at("runs/a/summary"), vec![7; 10_000]).expect("a file");
        fs::write(at("runs/a/inputs/2/urls"), "/").expect("a file");
        fs::create_dir(at("victim")).expect("a folder");
        fs::write(at("victim/file"), "kept").expect("a file");
        symlink(at("victim"), at("runs/a/out")).expect("a link");
        symlink(at("victim"), at("runs/link")).expect("a link");
        let runs = Folder::open(&at("runs")).expect("a folder");
        assert!(runs.open_below("link").is_err() && runs.open_below("../victim").is_err());
        let whole = runs.open_below("a").expect("a folder");
        assert!(whole.is_own().expect("its owner"));
        let bytes = whole.bytes_on_disk().expect("a size");
        assert!((10_000..200_000).contains(&bytes), "{bytes}");
        runs.remove_whole("a", &whole, "summary").expect("removed");
        assert!(!at("runs/a").exists());
        assert_eq!(fs::read_to_string(at("victim/file")).expect("a file"), "kept");
    }

    #[test]
    fn a_folder_gets_another_name_where_nothing_is() {
        let home = temporary_folder("test-").expect("a folder");
        let at = |name: &str| home.path().join(name);
        for name in ["a", "b"] {
            fs::create_dir(at(name)).expect("a folder");
        }
        let runs = Folder::open(home.path()).expect("a folder");
        let whole = runs.open_below("a").expect("a folder");
        let taken = runs.rename_whole("a", &whole, "b").expect_err("there is one");
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
        assert!(runs.rename_whole("b", &whole, "c").is_err(), "the name of another folder");
        assert!(
            runs.rename_whole("a", &whole, "../c").is_err()
                && runs.rename_whole("../a", &whole, "c").is_err()
        );
        runs.rename_whole("a", &whole, "c").expect("renamed");
        assert!(at("c").is_dir() && !at("a").exists());
        // In two steps it is the same; a link that leads nowhere is something, too.
        symlink("nowhere", at("d")).expect("a link");
        for taken in ["b", "d"] {
            let taken =
                rename_to_free(&runs.at, OsStr::new("c"), OsStr::new(taken)).expect_err("there is one");
            assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
        }
        rename_to_free(&runs.at, OsStr::new("c"), OsStr::new("e")).expect("renamed");
        assert!(at("e").is_dir() && !at("c").exists());
    }

    #[test]
    fn what_took_a_folders_name_is_not_removed() {
        let home = temporary_folder("test-").expect("a folder");
        let at = |name: &str| home.path().join(name);
        fs::create_dir_all(at("a")).expect("a folder");
        let all = Folder::open(home.path()).expect("a folder");
        let whole = all.open_below("a").expect("a folder");
        fs::rename(at("a"), at("b")).expect("renamed");
        fs::create_dir(at("a")).expect("a folder");
        fs::write(at("a/file"), "kept").expect("a file");
        assert!(all.remove_whole("a", &whole, "summary").is_err());
        assert!(at("a/file").exists() && at("b").exists());
    }

    #[test]
    fn a_lock_is_seen() {
        let home = temporary_folder("test-").expect("a folder");
        let [one, two] = [(); 2].map(|()| Folder::open(home.path()).expect("a folder"));
        assert_eq!((one.lock(), two.lock()), (Lock::Taken, Lock::Held));
        drop(one);
        assert_eq!(two.lock(), Lock::Taken);
    }
}
