//! The note that a user writes on a run: a line of text for whoever reads its results later.

use farfield_base::printable;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Characters of a note at most.
const LENGTH_MAX: usize = 200;

/// A line of 1 to 200 characters. Control characters, and those that turn the direction of writing, are
/// written as `\u001B` from the beginning: none reaches a terminal or a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Note(String);

/// A text that is no note.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// There is nothing to read.
    #[error("a note has some words; leave it out otherwise")]
    Empty,
    /// The note is longer than a line that lists show.
    #[error("a note has at most {LENGTH_MAX} characters, and this one has {0}")]
    TooLong(usize),
}

impl TryFrom<String> for Note {
    type Error = NoteError;

    fn try_from(text: String) -> Result<Note, NoteError> {
        // As it is kept and read again: what is made visible is longer.
        let text = printable(text.trim(), &[]);
        match text.chars().count() {
            0 => Err(NoteError::Empty),
            length if length > LENGTH_MAX => Err(NoteError::TooLong(length)),
            _ => Ok(Note(text.into_owned())),
        }
    }
}

impl From<Note> for String {
    fn from(note: Note) -> String {
        note.0
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_made_visible_and_the_length_is_bounded() {
        let note = |text: &str| Note::try_from(text.to_owned()).map(|note| note.to_string());
        assert_eq!(note(" a\u{1b}[31m\nb\u{202e} "), Ok("a\\u001B[31m\\u000Ab\\u202E".to_owned()));
        assert_eq!(note(" \n"), Err(NoteError::Empty));
        assert!(note(&"ä".repeat(LENGTH_MAX)).is_ok());
        let visible = note(&"\u{7}".repeat(LENGTH_MAX / 6)).expect("a note");
        assert_eq!(note(&visible), Ok(visible.clone()), "a run is repeated with its note");
        assert_eq!(note(&"ä".repeat(LENGTH_MAX + 1)), Err(NoteError::TooLong(LENGTH_MAX + 1)));
    }
}
