//! Printing on standard output and standard error: all of farfield's output goes through here.
//!
//! Names, paths, keys, servers' last words and summaries may come from strangers. No control character of
//! theirs reaches a terminal, where it could colour, move, overwrite or type: each is written as `\u001B`,
//! as in JSON and TOML, so that these stay valid. farfield's own colours and its line of progress are put
//! around text that has been cleaned.
//!
//! The standard macros panic when a reader such as `head` closes the pipe. Here a closed standard output is
//! no error, and a failure on standard error does not end a run. Nor does it delay one: a line of progress
//! that would block (a paused terminal, a pager that shows another page) is left out.

use crate::problem::Problem;
use clap::builder::StyledStr;
use farfield_base::printable;
use farfield_report::export::ExportError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::borrow::Cow;
use std::fmt::Arguments;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;

const EIO: i32 = 5;
/// Returns a terminal to the beginning of a cleared line.
const OVER: &str = "\r\x1b[2K";

/// Prints on standard output.
pub fn put(text: &str) -> Result<(), Problem> {
    write_out(&clean(text))
}

/// True if standard output is a terminal.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Prints help, which holds nothing of strangers, on standard output, with its colours on a terminal.
pub fn put_help(text: &StyledStr) -> Result<(), Problem> {
    match is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        true => write_out(&text.ansi().to_string()),
        false => write_out(&text.to_string()),
    }
}

/// Prints on standard output text with the colours of the report.
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

/// Writes an export on standard output: bytes that are no text for a terminal, or hold nothing of strangers.
/// A reader that closes the pipe has had enough.
pub fn put_export(write: &dyn Fn(&mut dyn Write) -> Result<(), ExportError>) -> Result<(), ExportError> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| Ok(out.flush()?)) {
        Err(ExportError::Write(error)) if error.kind() == ErrorKind::BrokenPipe => {
            // The rest in the buffer has no reader.
            let _ = out.into_parts();
            Ok(())
        }
        written => written,
    }
}

fn first_colour(text: &str) -> Option<(usize, &'static str)> {
    let found = farfield_report::COLOURS.iter().filter_map(|colour| Some((text.find(colour)?, *colour)));
    found.min_by_key(|(at, _)| *at)
}

/// Prints lines of JSON on standard output for a program; false if the program is gone.
pub fn put_line(text: &str) -> bool {
    let text = clean(text);
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok()
}

fn write_out(text: &str) -> Result<(), Problem> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // EIO: the terminal is gone.
        Err(error) if error.kind() != ErrorKind::BrokenPipe && error.raw_os_error() != Some(EIO) => {
            Err(Problem::failed(format!("cannot write on standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints on standard error. Failures are ignored.
pub fn put_error(text: Arguments<'_>) {
    let text = text.to_string();
    write_err(&clean(&text));
}

/// Writes a line of progress on standard error, `over` the last one where that is a terminal. The line is
/// left out where the reader has stopped reading: waiting would stop the run.
pub fn put_progress(line: &str, over: bool) {
    if !takes_a_line(&io::stderr()) {
        return;
    }
    match over {
        true => write_err(&format!("{OVER}{}", clean(line))),
        false => write_err(&format!("{}\n", clean(line))),
    }
}

/// True if this process may read its terminal: it is in the foreground there. Elsewhere reading would stop
/// it.
pub fn is_in_foreground() -> bool {
    rustix::termios::tcgetpgrp(io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// True if a short line can be written without waiting. A pipe that poll(2) says so of has room for a page
/// (pipe(7)); a terminal that is paused has none, though nothing was written to it yet.
fn takes_a_line(out: &impl AsFd) -> bool {
    let mut polled = [PollFd::new(out, PollFlags::OUT)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&at_once)).is_ok() && polled[0].revents().contains(PollFlags::OUT)
}

fn write_err(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// `text` without control characters but line ends and tabs.
fn clean(text: &str) -> Cow<'_, str> {
    const KEPT: [char; 2] = ['\n', '\t'];
    match text.contains("\r\n") {
        true => Cow::Owned(printable(&text.replace("\r\n", "\n"), &KEPT).into_owned()),
        false => printable(text, &KEPT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_and_tabs_are_left() {
        assert_eq!(clean("two\r\nlines\tof text\n\x1b[1m\r"), "two\nlines\tof text\n\\u001B[1m\\u000D");
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
