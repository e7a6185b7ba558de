//! Files that a document names: those in its folder and below are read, and no others, since a stranger may
//! have written the document. Whoever opens them sees to it that no link leads out.

use farfield_traffic::file::Load;
use std::io;
use std::path::{Component, Path};

/// Names of files that are listed at most.
const LISTED_MAX: usize = 30;

/// Why an entry with such a file is left out.
pub const OUTSIDE: &str = "whose file is not in the document's folder (an absolute path, `..`, a link), from where a document may not read";

/// The mark of an error that says so.
#[derive(Debug, thiserror::Error)]
#[error("{OUTSIDE}")]
struct Outside;

/// Whether a file was not read because of its name.
pub fn is_outside(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|own| own.is::<Outside>())
}

/// Files that were read.
#[derive(Debug, Default)]
pub struct Files(Vec<String>);

impl Files {
    /// Reads a file that a document names.
    pub fn of_document(&mut self, path: &Path, load: &mut Load<'_>) -> io::Result<Vec<u8>> {
        let is_below = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        match path.components().all(is_below) {
            true => self.by_hand(path, load).map_err(|error| match error.kind() {
                io::ErrorKind::CrossesDevices => io::Error::other(Outside),
                _ => error,
            }),
            false => Err(io::Error::other(Outside)),
        }
    }

    /// Reads a file that the user names.
    pub fn by_hand(&mut self, path: &Path, load: &mut Load<'_>) -> io::Result<Vec<u8>> {
        let bytes = load(path)?;
        let name = crate::text::shown(&path.to_string_lossy());
        if self.0.len() < LISTED_MAX && !self.0.contains(&name) {
            self.0.push(name);
        }
        Ok(bytes)
    }

    /// Their names, in the order of the first use of each.
    pub fn names(self) -> Vec<String> {
        self.0
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
            assert!(is_outside(&error), "{name}");
        }
        for name in ["a.txt", "./a/b.txt", "a.txt"] {
            files.of_document(Path::new(name), &mut load).expect(name);
        }
        files.by_hand(Path::new("/etc/hostname"), &mut load).expect("by hand");
        assert_eq!(files.names(), ["a.txt", "./a/b.txt", "/etc/hostname"]);
    }
}
