//! Printing, to whoever still reads.
//!
//! The standard macros panic when a reader such as `head` has had enough. Here that is the reader's own affair on
//! standard output, and nothing that is told on standard error ends a run.

use crate::problem::Problem;
use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

const EIO: i32 = 5;

/// Prints on standard output.
pub fn put(text: &str) -> Result<(), Problem> {
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
    let mut err = io::stderr().lock();
    let _ = err.write_fmt(text).and_then(|()| err.flush());
}
