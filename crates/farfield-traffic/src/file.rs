//! Files that a scenario names: loading, splitting into entries, and errors.
//!
//! Opening a file is left to the caller, as a function that is passed in, so that a test can pass text.

use std::io;
use std::path::{Path, PathBuf};

/// The mark at the beginning of a text that says that it is UTF-8.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';

/// Loader of a file's bytes: `&mut |path| std::fs::read(path)`; the caller decides what paths are relative
/// to.
pub type Load<'a> = dyn FnMut(&Path) -> io::Result<Vec<u8>> + 'a;

/// Error of a file that the scenario names. The sentence names the file and, where one line is wrong, the
/// line. Closed: each variant has a path, which callers take from whichever it is.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file could not be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A line is invalid.
    #[error("{}:{line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The problem, and what to write.
        problem: String,
    },
    /// The file as a whole does not do.
    #[error("{}: {problem}", path.display())]
    Whole {
        /// The file.
        path: PathBuf,
        /// The problem, and what to write.
        problem: String,
    },
    /// A recording in which nothing can be asked for again.
    #[error(
        "{}: has no session that could be asked for again{}",
        path.display(),
        why.iter().map(|why| format!(": {why}")).collect::<String>()
    )]
    Nothing {
        /// The file.
        path: PathBuf,
        /// Entries that were left out, by reason.
        why: Vec<String>,
    },
}

/// The bytes of the file at `path`.
pub(crate) fn read(path: &Path, load: &mut Load<'_>) -> Result<Vec<u8>, FileError> {
    load(path).map_err(|source| FileError::Unreadable { path: path.to_owned(), source })
}

/// Reads each entry of the file at `path` with `parse`, which says in a sentence why one does not do.
///
/// An entry is a line without its comment (from a `#` at the line's start or after a blank) and the blanks
/// around it. Empty lines are none. A file without any entry is an error: `wanted` says what should be there.
pub(crate) fn entries<T>(
    path: &Path,
    load: &mut Load<'_>,
    wanted: &str,
    mut parse: impl FnMut(&str) -> Result<T, String>,
) -> Result<Vec<T>, FileError> {
    let whole = |problem| FileError::Whole { path: path.to_owned(), problem };
    let text = String::from_utf8(read(path, load)?)
        .map_err(|_| whole("is not UTF-8 text; write one entry a line".to_owned()))?;
    let mut parsed = Vec::new();
    for (number, line) in text.trim_start_matches(BYTE_ORDER_MARK).lines().enumerate() {
        let entry = without_comment(line).trim();
        if !entry.is_empty() {
            let line = number + 1;
            parsed.push(parse(entry).map_err(|problem| FileError::Line {
                path: path.to_owned(),
                line,
                problem,
            })?);
        }
    }
    if parsed.is_empty() {
        return Err(whole(format!("holds no entry; write {wanted} a line")));
    }
    Ok(parsed)
}

/// `line` up to the `#` that begins a comment. One inside a word (`/page#part`) does not.
pub(crate) fn without_comment(line: &str) -> &str {
    let begins = |at: usize| line[..at].chars().next_back().is_none_or(char::is_whitespace);
    line.match_indices('#').find(|(at, _)| begins(*at)).map_or(line, |(at, _)| &line[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Result<Vec<u32>, FileError> {
        let mut load = |_: &Path| Ok(text.as_bytes().to_vec());
        entries(Path::new("n.txt"), &mut load, "one number", |entry| {
            entry.parse().map_err(|_| format!("`{entry}` is no number"))
        })
    }

    #[test]
    fn comments_and_blank_lines_are_no_entries() {
        assert_eq!(numbers("# head\n1 # one\n\n  2\t# two\r\n3\n").expect("reads"), [1, 2, 3]);
        assert_eq!(numbers("\u{feff}1\n2\n").expect("reads"), [1, 2], "a mark is no part of the first");
    }

    #[test]
    fn a_bad_line_is_named() {
        let error_of = |text| numbers(text).expect_err(text).to_string();
        assert_eq!(error_of("1\n# two\nthree\n"), "n.txt:3: `three` is no number");
        assert_eq!(error_of("1\n2#3\n"), "n.txt:2: `2#3` is no number");
        assert_eq!(error_of("# nothing\n"), "n.txt: holds no entry; write one number a line");
    }

    #[test]
    fn an_unreadable_file_is_named() {
        let mut load = |_: &Path| Err(io::Error::from(io::ErrorKind::NotFound));
        let error = read(Path::new("gone.txt"), &mut load).expect_err("there is none");
        assert!(error.to_string().starts_with("gone.txt: "), "{error}");
    }
}
