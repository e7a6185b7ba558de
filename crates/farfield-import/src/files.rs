//! Files that a document names: those in its folder and below are read, and no others, since a stranger may
//! have written the document. Whoever opens them sees to it that no link leads out.

use farfield_traffic::file::Load;
use std::io;
use std::path::{Component, Path};

/// Names of files that are listed at most.
const LISTED_MAX: usize = 30;

/// Bytes of all files that are read for a document at most, one that is read for several entries each time.
const READ_MAX: u64 = 256 << 20;

/// Why an entry with a file beyond these is left out.
pub const BEYOND: &str = "behind the 256 MiB of files that are read for a document";

/// Why an entry with such a file is left out.
pub const OUTSIDE: &str = "whose file is not in the document's folder (an absolute path, `..`, a link), from where a document may not read";

/// The mark of an error that says so.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct FileRefusal(&'static str);

/// Why an entry is left out whose file was not read.
pub fn reason(error: &io::Error) -> &'static str {
    let own = error.get_ref().and_then(|own| own.downcast_ref::<FileRefusal>());
    own.map_or("whose file cannot be read", |own| own.0)
}

/// Files that were read.
#[derive(Debug)]
pub struct Files {
    names: Vec<String>,
    /// Bytes that are left.
    room: u64,
}

impl Default for Files {
    fn default() -> Files {
        Files { names: Vec::new(), room: READ_MAX }
    }
}

impl Files {
    /// Reads a file that a document names.
    pub fn of_document(&mut self, path: &Path, load: &mut Load<'_>) -> io::Result<Vec<u8>> {
        let is_below = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        match path.components().all(is_below) {
            true => self.by_hand(path, load).map_err(|error| match error.kind() {
                io::ErrorKind::CrossesDevices => io::Error::other(FileRefusal(OUTSIDE)),
                _ => error,
            }),
            false => Err(io::Error::other(FileRefusal(OUTSIDE))),
        }
    }

    /// Reads a file that the user names.
    pub fn by_hand(&mut self, path: &Path, load: &mut Load<'_>) -> io::Result<Vec<u8>> {
        let beyond = || io::Error::other(FileRefusal(BEYOND));
        if self.room == 0 {
            return Err(beyond());
        }
        if path.as_os_str().is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let bytes = load(path)?;
        // Behind the first that does not fit none is opened.
        let left = self.room.checked_sub(bytes.len() as u64);
        self.room = left.unwrap_or(0);
        left.ok_or_else(beyond)?;
        let name = crate::text::shown(&path.to_string_lossy());
        if self.names.len() < LISTED_MAX && !self.names.contains(&name) {
            self.names.push(name);
        }
        Ok(bytes)
    }

    /// The files' names, in the order of the first use of each.
    pub fn names(self) -> Vec<String> {
        self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_reads_below_its_folder_alone() {
        let mut load = |_: &Path| Ok(Vec::new());
        let mut files = Files::default();
        for name in ["/proc/self/environ", "../secret.txt", "a/../../b", "/etc/shadow", "./.."] {
            let error = files.of_document(Path::new(name), &mut load).expect_err(name);
            assert_eq!(reason(&error), OUTSIDE, "{name}");
        }
        for name in ["a.txt", "./a/b.txt", "a.txt"] {
            files.of_document(Path::new(name), &mut load).expect(name);
        }
        files.by_hand(Path::new("/etc/hostname"), &mut load).expect("by hand");
        assert!(files.of_document(Path::new(""), &mut load).is_err(), "a command may name nothing");
        assert_eq!(files.names(), ["a.txt", "./a/b.txt", "/etc/hostname"]);
    }

    /// Each has a bound of its own where it is opened; together they have this one.
    #[test]
    fn files_are_bounded_together() {
        let mut opened = 0;
        let mut load = |_: &Path| {
            opened += 1;
            Ok(vec![0; 100 << 20])
        };
        let mut files = Files::default();
        let reasons = ["a", "b", "a", "c"].map(|name| {
            let read = files.of_document(Path::new(name), &mut load);
            read.err().map(|error| reason(&error))
        });
        assert_eq!(reasons, [None, None, Some(BEYOND), Some(BEYOND)]);
        assert_eq!((files.names(), opened), (vec!["a".to_owned(), "b".to_owned()], 3));
        let none = Files::default().by_hand(Path::new("a"), &mut |_| Err(io::ErrorKind::NotFound.into()));
        assert_eq!(reason(&none.expect_err("none")), "whose file cannot be read");
    }
}
