//! Lines of an access log into requests, by format.

use crate::carried::Carrier;
use crate::pattern::Pattern;
use crate::{FieldMap, TransferUnit, common, extended, gn, json};
use farfield_base::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// Layout of the lines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// The Common Log Format, and the combined one, which adds the referrer and the user agent. A number
    /// after that (or after the bytes) is the transfer time, in the given unit.
    Common {
        /// Unit of a trailing number; `None` ignores it.
        transfer: Option<TransferUnit>,
    },
    /// The W3C's Extended Log File Format, whose `#Fields:` line names the columns.
    Extended {
        /// The unit of `time-taken`. The format says seconds, Microsoft's servers write milliseconds: if
        /// none is given, the `#Software:` line decides.
        transfer: Option<TransferUnit>,
    },
    /// One JSON object a line.
    Json(Box<FieldMap>),
    /// The GN/WN server's log, with hosts as `HOST+N`.
    Gn,
    /// A layout as Apache's `LogFormat` or nginx's `log_format` has it.
    Pattern(Pattern),
}

/// A request of one line. Times count from the start of 1970, in UTC.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Record<'a> {
    /// Time of the request, as logged.
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
    /// The host that was asked, perhaps with a port; empty where the log has none.
    pub host: &'a [u8],
    /// The status; 0 where the log has none.
    pub status: u16,
    /// The reply's bytes.
    pub bytes: Option<u64>,
    /// Duration of the transfer.
    pub transfer: Option<Duration>,
}

/// Content of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LogLine<'a> {
    /// A request.
    Request(Record<'a>),
    /// Nothing to count: an empty line, a comment, a note of the server.
    Nothing,
    /// Not a line of the format, for the reason given.
    Broken(&'static str),
}

/// Parser of one line after the other. It keeps the directives of earlier lines (the fields of an extended
/// log) and the buffers that all lines share.
#[derive(Debug, Clone)]
pub struct LogParser {
    format: FormatState,
    carrier: Carrier,
    /// Lines are within a carrier's, as the first request says.
    is_carried: Option<bool>,
}

#[derive(Debug, Clone)]
enum FormatState {
    Common(Option<TransferUnit>),
    Extended(extended::ExtendedFields),
    Json(Box<json::Json>),
    Gn,
    Pattern(Pattern),
}

impl FormatState {
    fn parse<'a>(&'a mut self, line: &'a [u8]) -> Parsed<'a> {
        match self {
            FormatState::Common(transfer) => common::parse(line, *transfer),
            FormatState::Extended(fields) => fields.parse(line),
            FormatState::Json(json) => json.parse(line),
            FormatState::Gn => gn::parse(line),
            FormatState::Pattern(pattern) => pattern.parse(line),
        }
    }
}

impl LogParser {
    /// A parser of `format`, before the first line.
    pub fn new(format: &LogFormat) -> LogParser {
        let format = match format {
            LogFormat::Common { transfer } => FormatState::Common(*transfer),
            LogFormat::Extended { transfer } => {
                FormatState::Extended(extended::ExtendedFields::new(*transfer))
            }
            LogFormat::Json(map) => FormatState::Json(Box::new(json::Json::new(FieldMap::clone(map)))),
            LogFormat::Gn => FormatState::Gn,
            LogFormat::Pattern(pattern) => FormatState::Pattern(pattern.clone()),
        };
        LogParser { format, carrier: Carrier::default(), is_carried: None }
    }

    /// Reads `line`, which has no line feed at its end. Any bytes are accepted.
    pub fn parse<'a>(&'a mut self, line: &'a [u8]) -> LogLine<'a> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.trim_ascii().is_empty() {
            return LogLine::Nothing;
        }
        let is_carried = self.is_carried.unwrap_or_else(|| self.decide(line));
        let line = match is_carried {
            true => self.carrier.inner(line).unwrap_or(line),
            false => line,
        };
        match self.format.parse(line) {
            Ok(Some(record)) => LogLine::Request(record),
            Ok(None) => LogLine::Nothing,
            Err(_) if line.starts_with(b"#") => LogLine::Nothing,
            Err(Broken(why)) => LogLine::Broken(why),
        }
    }

    /// True if the lines are within a carrier's, as far as is known.
    pub(crate) fn is_carried(&self) -> bool {
        self.is_carried == Some(true)
    }

    /// True if `line` is a request within a carrier's. A request that is not carried decides, too; other
    /// lines leave it to the next.
    fn decide(&mut self, line: &[u8]) -> bool {
        // Counts of a line are taken once.
        let mut probe = self.format.clone();
        let mut reads = |line: &[u8]| matches!(probe.parse(line), Ok(Some(_)));
        let is_carried = self.carrier.inner(line).is_some_and(&mut reads);
        if is_carried || reads(line) {
            self.is_carried = Some(is_carried);
        }
        is_carried
    }
    /// Purpose of each field of JSON lines, its name, and the number of lines so far on which it had a value;
    /// nothing for other formats.
    pub fn fields_found(&self) -> Vec<(&'static str, String, u64)> {
        match &self.format {
            FormatState::Json(json) => {
                json.found().map(|(what, name, lines)| (what, name.to_owned(), lines)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Reason for which a line is not of the format.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Broken(pub(crate) &'static str);

pub(crate) type Parsed<'a> = Result<Option<Record<'a>>, Broken>;

/// A whole decimal number and nothing else.
pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 19 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')))
}

/// A number that may have a point: seconds as nginx writes them.
pub(crate) fn decimal(text: &[u8]) -> Option<f64> {
    let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

/// The method, the target and nothing of the version, from a request line. One without a method is all
/// target, as HTTP/0.9 and broken clients have it.
pub(crate) fn request_line(line: &[u8]) -> (&[u8], &[u8]) {
    let Some(space) = memchr::memchr(b' ', line) else { return (b"", line) };
    let (method, rest) = (&line[..space], &line[space + 1..]);
    if !method.iter().all(u8::is_ascii_uppercase) {
        return (b"", line);
    }
    let end = memchr::memrchr(b' ', rest).filter(|at| rest[at + 1..].starts_with(b"HTTP/"));
    (method, &rest[..end.unwrap_or(rest.len())])
}
