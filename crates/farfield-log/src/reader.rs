//! A stream of bytes into lines, and lines into requests.

use crate::layout::BYTE_ORDER_MARK;
use crate::{LogLine, LogParser, Record};
use memchr::memchr;
use serde::{Deserialize, Serialize};
use std::io::{self, Read};

/// Counts of the lines of a log.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadTally {
    /// All lines.
    pub lines: u64,
    /// Lines that are a request.
    pub requests: u64,
    /// Lines with nothing to count: empty ones, comments, notes.
    pub nothing: u64,
    /// Lines that could not be read.
    pub broken: u64,
    /// Requests with a transfer time.
    #[serde(default)]
    pub with_transfer: u64,
    /// The first lines that could not be read.
    pub shown: Vec<UnreadLine>,
}

/// A line that could not be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnreadLine {
    /// Number of the line, from 1.
    pub line: u64,
    /// Reason.
    pub why: String,
    /// First bytes of the line, with invalid UTF-8 replaced.
    pub text: String,
}

/// Failure of the stream itself. Lines read before it are in the tally.
#[derive(Debug, thiserror::Error)]
#[error("after line {line} the log could not be read on: {source}")]
pub struct ReadError {
    /// The last line that was read.
    pub line: u64,
    /// Error of the stream.
    pub source: io::Error,
}

/// Reader of a log, whose only memory is one buffer.
#[derive(Debug)]
pub struct LogReader {
    parser: LogParser,
    tally: ReadTally,
}

impl LogReader {
    /// Longest line, in bytes; a longer one counts as broken.
    pub const LINE_MAX: usize = 64 << 10;
    /// Broken lines that are kept for display, at most.
    pub const SHOWN_MAX: usize = 5;
    const BUFFER: usize = 4 * LogReader::LINE_MAX;

    /// A reader with `parser` for the lines.
    pub fn new(parser: LogParser) -> LogReader {
        LogReader { parser, tally: ReadTally::default() }
    }

    /// Counts of all lines so far.
    pub fn tally(&self) -> &ReadTally {
        &self.tally
    }

    /// The parser of the lines.
    pub fn parser(&self) -> &LogParser {
        &self.parser
    }

    /// Passes each request of `from` to `to`, in the order of its lines. May be called again for the next
    /// log.
    ///
    /// # Errors
    /// Only those of `from`.
    pub fn read(&mut self, mut from: impl Read, to: &mut dyn FnMut(&Record<'_>)) -> Result<(), ReadError> {
        let mut buffer = vec![0; Self::BUFFER];
        let mut filled = 0;
        let mut skipping = false; // inside a line that is too long
        let mut begins = true; // the first line, which a mark may stand before
        loop {
            let read = match from.read(&mut buffer[filled..]) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return Err(ReadError { line: self.tally.lines, source }),
            };
            let end = filled + read;
            let mut start = 0;
            while let Some(length) = memchr(b'\n', &buffer[start..end]) {
                if !skipping {
                    self.line(unmarked(&buffer[start..start + length], &mut begins), to);
                }
                skipping = false;
                start += length + 1;
            }
            if read == 0 {
                if start < end && !skipping {
                    self.line(unmarked(&buffer[start..end], &mut begins), to);
                }
                return Ok(());
            }
            filled = end - start;
            if filled > Self::LINE_MAX {
                if !skipping {
                    self.line(&buffer[start..end], to);
                }
                skipping = true;
                filled = 0;
            } else {
                buffer.copy_within(start..end, 0);
            }
        }
    }

    fn line(&mut self, line: &[u8], to: &mut dyn FnMut(&Record<'_>)) {
        self.tally.lines += 1;
        let parsed = if line.len() > Self::LINE_MAX {
            LogLine::Broken("longer than 64 KiB")
        } else {
            self.parser.parse(line)
        };
        match parsed {
            LogLine::Request(record) => {
                self.tally.requests += 1;
                self.tally.with_transfer += u64::from(record.transfer.is_some());
                to(&record);
            }
            LogLine::Nothing => self.tally.nothing += 1,
            LogLine::Broken(why) => {
                self.tally.broken += 1;
                if self.tally.shown.len() < Self::SHOWN_MAX {
                    let text = String::from_utf8_lossy(&line[..line.len().min(200)]).into_owned();
                    self.tally.shown.push(UnreadLine { line: self.tally.lines, why: why.to_owned(), text });
                }
            }
        }
    }
}

/// A line without the mark that may stand before the first.
fn unmarked<'a>(line: &'a [u8], is_first: &mut bool) -> &'a [u8] {
    match std::mem::take(is_first) {
        true => line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line),
        false => line,
    }
}
