//! Kinds of files, as a refusal names them.

use rustix::fs::FileType;
use std::fmt;
use std::io;

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link, where it is not followed.
    Link,
    /// A pipe, with or without a name.
    Pipe,
    /// A character or block device, terminals included.
    Device,
    /// A socket of the Unix domain.
    Socket,
}

impl FileKind {
    /// The kind by `st_mode` of stat(2).
    pub(crate) fn of_mode(mode: u32) -> FileKind {
        match FileType::from_raw_mode(mode) {
            FileType::RegularFile => FileKind::Regular,
            FileType::Directory => FileKind::Directory,
            FileType::Symlink => FileKind::Link,
            FileType::Fifo => FileKind::Pipe,
            FileType::Socket => FileKind::Socket,
            _ => FileKind::Device,
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileKind::Regular => "a regular file",
            FileKind::Directory => "a directory",
            FileKind::Link => "a symbolic link",
            FileKind::Pipe => "a pipe",
            FileKind::Device => "a device",
            FileKind::Socket => "a socket",
        })
    }
}

/// The refusal of a file that is not regular.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is no regular file, but {0}")]
pub struct NotRegular(pub FileKind);

impl NotRegular {
    /// The refusal in `error`, if it is one.
    pub fn of(error: &io::Error) -> Option<NotRegular> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl From<NotRegular> for io::Error {
    fn from(refusal: NotRegular) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidInput, refusal)
    }
}
