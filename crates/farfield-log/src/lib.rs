//! Lines of an access log into requests.
//!
//! A [`LogReader`] takes bytes from any reader, a line at a time, and hands each request on as slices of that
//! line: nothing is allocated for a line, and no line can end the reading. What cannot be read is counted,
//! and the first few are kept to be shown. [`LogParser::parse`] is the whole of it for one line, and never
//! panics.

mod common;
mod compressed;
pub mod dates;
mod extended;
mod gn;
mod json;
mod reader;
mod timestamp;

pub use compressed::{Compression, decompressed};
pub use json::{FieldMap, TransferUnit};
pub use reader::{LogReader, ReadError, ReadTally, Shown};
pub use timestamp::rfc3339;

use farfield_base::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// How the lines are laid out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// The Common Log Format, and the combined one, which adds the referrer and the user agent. A number
    /// after that (or after the bytes) is the transfer time, in the given unit.
    Common {
        /// What a trailing number is, if anything.
        transfer: Option<TransferUnit>,
    },
    /// The W3C's Extended Log File Format, whose `#Fields:` line says what is where.
    Extended {
        /// The unit of `time-taken`. The format says seconds, Microsoft's servers write milliseconds: if
        /// none is given, the `#Software:` line decides.
        transfer: Option<TransferUnit>,
    },
    /// One JSON object a line.
    Json(Box<FieldMap>),
    /// The GN/WN server's log, with hosts as `HOST+N`.
    Gn,
}

/// A request as its line has it. Times count from the start of 1970, in UTC.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Record<'a> {
    /// When it came: what the log has as its time.
    pub at: Instant,
    /// The client's address or name.
    pub client: &'a [u8],
    /// The user agent; empty where the log has none.
    pub agent: &'a [u8],
    /// The method; empty where the log has none.
    pub method: &'a [u8],
    /// The request's target, as it was sent.
    pub path: &'a [u8],
    /// The referring page; empty where the log has none.
    pub referrer: &'a [u8],
    /// The status; 0 where the log has none.
    pub status: u16,
    /// The reply's bytes.
    pub bytes: Option<u64>,
    /// How long the transfer took.
    pub transfer: Option<Duration>,
}

/// What a line turned out to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Line<'a> {
    /// A request.
    Request(Record<'a>),
    /// Nothing to count: an empty line, a comment, a note of the server.
    Nothing,
    /// Not a line of the format, for the reason given.
    Broken(&'static str),
}

/// Reads one line after the other. It holds what earlier lines said (the fields of an extended log) and
/// buffers that all lines share.
#[derive(Debug, Clone)]
pub struct LogParser {
    state: State,
}

#[derive(Debug, Clone)]
enum State {
    Common(Option<TransferUnit>),
    Extended(extended::Fields),
    Json(Box<json::Json>),
    Gn,
}

impl LogParser {
    /// For `format`, before its first line.
    pub fn new(format: &LogFormat) -> LogParser {
        let state = match format {
            LogFormat::Common { transfer } => State::Common(*transfer),
            LogFormat::Extended { transfer } => State::Extended(extended::Fields::new(*transfer)),
            LogFormat::Json(map) => State::Json(Box::new(json::Json::new(FieldMap::clone(map)))),
            LogFormat::Gn => State::Gn,
        };
        LogParser { state }
    }

    /// Reads `line`, which has no line feed at its end. Any bytes will do.
    pub fn parse<'a>(&'a mut self, line: &'a [u8]) -> Line<'a> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return Line::Nothing;
        }
        let parsed = match &mut self.state {
            State::Common(transfer) => common::parse(line, *transfer),
            State::Extended(fields) => fields.parse(line),
            State::Json(json) => json.parse(line),
            State::Gn => gn::parse(line),
        };
        match parsed {
            Ok(Some(record)) => Line::Request(record),
            Ok(None) => Line::Nothing,
            Err(Broken(why)) => Line::Broken(why),
        }
    }
}

impl LogFormat {
    /// What the first lines of a log look like, if like anything here. Common covers combined; fields of JSON
    /// are taken to have the usual names.
    pub fn detect(start: &[u8]) -> Option<LogFormat> {
        let candidates =
            [LogFormat::Json(Box::default()), LogFormat::Gn, LogFormat::Common { transfer: None }];
        let mut lines = start.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).take(20);
        if start.starts_with(b"#") {
            return Some(LogFormat::Extended { transfer: None });
        }
        lines.find_map(|line| {
            let reads = |format: &&LogFormat| matches!(LogParser::new(format).parse(line), Line::Request(_));
            candidates.iter().find(reads).cloned()
        })
    }
}

/// Why a line is not of the format.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Broken(&'static str);

type Parsed<'a> = Result<Option<Record<'a>>, Broken>;

/// A whole decimal number and nothing else.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 19 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')))
}

/// A number that may have a point: seconds as nginx writes them.
fn decimal(text: &[u8]) -> Option<f64> {
    let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

/// The method, the target and nothing of the version, from a request line. One without a method is all
/// target, as HTTP/0.9 and broken clients have it.
fn request_line(line: &[u8]) -> (&[u8], &[u8]) {
    let Some(space) = memchr::memchr(b' ', line) else { return (b"", line) };
    let (method, rest) = (&line[..space], &line[space + 1..]);
    if !method.iter().all(u8::is_ascii_uppercase) {
        return (b"", line);
    }
    let end = memchr::memrchr(b' ', rest).filter(|at| rest[at + 1..].starts_with(b"HTTP/"));
    (method, &rest[..end.unwrap_or(rest.len())])
}
