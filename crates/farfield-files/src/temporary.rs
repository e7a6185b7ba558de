//! Temporary folders. Their names are random, and nobody else may look into them: whoever knew the name of a
//! folder in advance could make it first, and fill it with links.

pub use tempfile::TempDir;

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;

/// A new folder with a random name that begins with `prefix`, which its owner alone may enter, whatever the
/// umask. It is removed when this is dropped.
///
/// # Errors
/// If the folder for temporary files (`TMPDIR`) does not allow it.
pub fn temporary_folder(prefix: &str) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(prefix).permissions(Permissions::from_mode(0o700)).tempdir()
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
}
