//! Temporary folders. Their names are random, and nobody else may look into them: whoever knew the name of a
//! folder in advance could make it first, and fill it with links.

pub use tempfile::TempDir;

use crate::private::{Folder, Lock};
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Attempts at a folder that nobody else has locked.
const TRIES: usize = 20;

/// A new folder with a random name that begins with `prefix`, which its owner alone may enter, whatever the
/// umask. It is removed when this is dropped.
///
/// # Errors
/// If the folder for temporary files (`TMPDIR`) does not allow it.
pub fn temporary_folder(prefix: &str) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(prefix).permissions(Permissions::from_mode(0o700)).tempdir()
}

/// A temporary folder that is locked as long as this process has it, so that it can be distinguished from one
/// that a killed process left.
#[derive(Debug)]
pub struct LockedFolder {
    folder: TempDir,
    held: Folder,
}

/// A new folder as of [`temporary_folder`], locked.
///
/// # Errors
/// As for [`temporary_folder`], and if another process locks each that is made.
pub fn locked_folder(prefix: &str) -> io::Result<LockedFolder> {
    for _ in 0..TRIES {
        let folder = temporary_folder(prefix)?;
        // Another process may find it before it is locked, take it for abandoned, and remove it.
        let held = match Folder::open(folder.path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            held => held?,
        };
        if held.lock() != Lock::Held && held.is_at_its_path() {
            return Ok(LockedFolder { folder, held });
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "another process takes it again and again"))
}

/// Removes the folders of [`locked_folder`] with this prefix that processes of the same user left when they
/// were killed. What cannot be removed stays.
pub fn remove_abandoned(prefix: &str) {
    let all = std::env::temp_dir();
    let (Ok(entries), Ok(above)) = (std::fs::read_dir(&all), Folder::open(&all)) else { return };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        if !name.to_string_lossy().starts_with(prefix) {
            continue;
        }
        if let Ok(folder) = above.open_below(&name)
            && folder.is_own().unwrap_or(false)
            && folder.lock() == Lock::Taken
        {
            // Another user's files in it stay.
            let _ = above.remove_whole(&name, &folder, "");
        }
    }
}

impl LockedFolder {
    /// Path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Lets other users look into it, and, where `write`, write into the folders `own` in it.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open_to_others(&self, own: &[&str], write: bool) -> io::Result<()> {
        std::fs::set_permissions(self.path(), Permissions::from_mode(0o755))?;
        for name in own.iter().filter(|_| write) {
            std::fs::set_permissions(self.path().join(name), Permissions::from_mode(0o1777))?;
        }
        Ok(())
    }

    /// Leaves it as a killed process does: there, and not locked.
    pub fn abandon(self) -> PathBuf {
        drop(self.held);
        self.folder.keep()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_its_owners_alone_and_gone_in_the_end() {
        let (one, other) = (temporary_folder("farfield-").unwrap(), temporary_folder("farfield-").unwrap());
        let path = one.path().to_owned();
        assert_ne!(path, other.path());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        drop(one);
        assert!(!path.exists());
    }

    /// Processes that start at once each look for folders that others left, and find those that are not
    /// locked yet: none loses its own.
    #[test]
    fn folders_that_are_made_at_once_are_not_taken_for_abandoned_ones() {
        let made = || {
            for _ in 0..200 {
                remove_abandoned("farfield-at-once-");
                let folder = locked_folder("farfield-at-once-").expect("a folder");
                assert!(folder.path().exists());
            }
        };
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(made))));
    }
}
