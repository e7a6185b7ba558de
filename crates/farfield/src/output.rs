//! Printing, to whoever still reads: all that farfield says goes through here.
//!
//! Names, paths, keys, servers' last words and summaries may come from strangers. No control character of theirs reaches
//! a terminal, where it could colour, move, overwrite or type: each is written as `\u001B`, in the way of JSON and TOML,
//! so that these stay what they are. What farfield itself writes of that kind, colours and the line of progress, is put
//! around text that has been cleaned.
//!
//! The standard macros panic when a reader such as `head` has had enough. Here that is the reader's own affair on
//! standard output, and nothing that is told on standard error ends a run.

use crate::problem::Problem;
use std::borrow::Cow;
use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

const EIO: i32 = 5;
/// Begins the line of a terminal again.
const OVER: &str = "\r\x1b[2K";

/// Prints on standard output.
pub fn put(text: &str) -> Result<(), Problem> {
    write_out(&clean(text))
}

/// Prints on standard output text in which the colours of the report stand.
pub fn put_coloured(text: &str) -> Result<(), Problem> {
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text;
    // Only the report's own sequences pass: whatever else begins like one is cleaned with the rest.
    while let Some((at, colour)) = first_colour(rest) {
        cleaned.push_str(&clean(&rest[..at]));
        cleaned.push_str(colour);
        rest = &rest[at + colour.len()..];
    }
    cleaned.push_str(&clean(rest));
    write_out(&cleaned)
}

fn first_colour(text: &str) -> Option<(usize, &'static str)> {
    let found = farfield_report::COLOURS.iter().filter_map(|colour| Some((text.find(colour)?, *colour)));
    found.min_by_key(|(at, _)| *at)
}

fn write_out(text: &str) -> Result<(), Problem> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // EIO is what a terminal that is gone says.
        Err(error) if error.kind() != ErrorKind::BrokenPipe && error.raw_os_error() != Some(EIO) => {
            Err(Problem::failed(format!("cannot write on standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Tells on standard error, as far as anybody listens.
pub fn tell(text: Arguments<'_>) {
    let text = text.to_string();
    write_err(&clean(&text));
}

/// Tells a line over the one that was told so before, on a terminal; an empty one clears it.
pub fn tell_over(line: &str) {
    write_err(&format!("{OVER}{}", clean(line)));
}

fn write_err(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// `text` without control characters but line ends and tabs, and without those that turn the direction of writing, by
/// which a name can look like another (Unicode Technical Report 36, section 2.4).
fn clean(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hostile) {
        return Cow::Borrowed(text);
    }
    let text = text.replace("\r\n", "\n");
    let mut cleaned = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_hostile(letter) {
            cleaned.push_str(&format!("\\u{:04X}", u32::from(letter)));
        } else {
            cleaned.push(letter);
        }
    }
    Cow::Owned(cleaned)
}

fn is_hostile(letter: char) -> bool {
    let turns = matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || letter.is_control() && !matches!(letter, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_is_left() {
        assert_eq!(
            clean("a\x1b[31mred\x07\x7f\u{9b}1m\r\u{202e}"),
            "a\\u001B[31mred\\u0007\\u007F\\u009B1m\\u000D\\u202E"
        );
        assert_eq!(clean("two\r\nlines\tof é 漢 text\n"), "two\nlines\tof é 漢 text\n");
        for letter in (0..=0x2fff).filter_map(char::from_u32) {
            let cleaned = clean(&format!("<{letter}>")).into_owned();
            assert!(
                !cleaned.chars().any(|c| c.is_control() && !"\n\t".contains(c)),
                "{:x}",
                u32::from(letter)
            );
        }
    }

    #[test]
    fn json_stays_what_it_says() {
        let text = "{\"name\": \"a\u{9b}b\u{7f}\u{202e}\"}";
        let cleaned = clean(text);
        assert!(!cleaned.contains('\u{9b}'));
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        assert_eq!(read(&cleaned), read(text));
    }
}
