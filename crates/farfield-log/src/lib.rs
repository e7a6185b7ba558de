//! Access logs of all formats, compressed or not, into requests.
//!
//! A [`LogReader`] takes bytes from any reader, a line at a time, and passes each request on as slices of
//! that line: nothing is allocated for a line, and no line can stop the reading. Lines that cannot be read
//! are counted, and the first few are kept for display. [`LogParser::parse`] does the same for one line, and
//! never panics. [`dates`] judges the times of a whole log.
//!
//! The crate opens no file and knows nothing of sessions, models or HTTP.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod carried;
mod common;
mod compressed;
pub mod dates;
mod extended;
mod gn;
mod json;
mod layout;
mod parser;
mod pattern;
mod programs;
mod reader;
mod timestamp;

pub use compressed::{Compression, decompressed};
pub use json::{FieldMap, TransferUnit};
pub use parser::{LogFormat, LogLine, LogParser, Record};
pub use pattern::{Pattern, PatternError};
pub use reader::{LogReader, ReadError, ReadTally, UnreadLine};
pub use timestamp::rfc3339;
