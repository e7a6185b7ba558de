//! The kernel's files (`/proc`, `/sys`, control groups) and the machine's (`/etc/hosts`), by names that
//! farfield itself knows. No user, scenario or peer has a part in such a name, and the kernel bounds what is
//! in them.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Opens a file for reading.
///
/// # Errors
/// Those of the system.
pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
    File::open(path)
}

/// Opens a file that is there, for writing.
///
/// # Errors
/// Those of the system.
pub fn open_to_write(path: impl AsRef<Path>) -> io::Result<File> {
    File::options().write(true).open(path)
}

/// A file's content.
///
/// # Errors
/// Those of the system.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    fs::read(path)
}

/// A file's text.
///
/// # Errors
/// Those of the system.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    fs::read_to_string(path)
}

/// Writes a value into a file, such as a setting.
///
/// # Errors
/// Those of the system.
pub fn write(path: impl AsRef<Path>, value: impl AsRef<[u8]>) -> io::Result<()> {
    fs::write(path, value)
}

/// Makes a folder, such as a control group.
///
/// # Errors
/// Those of the system.
pub fn create_folder(path: impl AsRef<Path>) -> io::Result<()> {
    fs::create_dir(path)
}
