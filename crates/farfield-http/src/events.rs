//! Events of replies that come in pieces: event streams (WHATWG HTML, section 9.2, "Server-sent events") and
//! lines of JSON.
//!
//! An [`EventReader`] counts the events that end within bytes of a body, in pieces of any size. It keeps
//! nothing of them and takes eight bytes, so that each of many open streams can have one.

use memchr::{memchr, memchr2};

/// The format of a body whose parts are events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventFormat {
    /// `text/event-stream`: an event ends with a blank line, if it has data.
    EventStream,
    /// JSON text a line (`application/x-ndjson` and its like) or a sequence of them (`application/json-seq`,
    /// RFC 7464): each line that is not blank is an event.
    Lines,
}

impl EventFormat {
    /// The format of a body with this Content-Type, if it is one of events.
    pub fn of_content_type(value: &[u8]) -> Option<EventFormat> {
        let essence = value.split(|byte| *byte == b';').next().unwrap_or(value).trim_ascii();
        let is = |name: &str| essence.eq_ignore_ascii_case(name.as_bytes());
        match essence.len() {
            17 if is("text/event-stream") => Some(EventFormat::EventStream),
            20 if is("application/x-ndjson") => Some(EventFormat::Lines),
            18 if is("application/ndjson") => Some(EventFormat::Lines),
            17 if is("application/jsonl") => Some(EventFormat::Lines),
            21 if is("application/jsonlines") => Some(EventFormat::Lines),
            23 if is("application/x-jsonlines") => Some(EventFormat::Lines),
            20 if is("application/json-seq") => Some(EventFormat::Lines),
            23 if is("application/stream+json") => Some(EventFormat::Lines),
            _ => None,
        }
    }
}

/// Counts events of one body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventReader {
    format: EventFormat,
    line: Line,
    /// The line before ended in CR: LF belongs to that end.
    after_cr: bool,
    /// The event has data, or the line has something.
    has_data: bool,
}

/// A place in a line of an event stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// Behind so many bytes of a byte-order mark, which may stand at the beginning of the body.
    Mark(u8),
    /// Behind so many bytes that begin the name `data`, none of them at a line's beginning.
    Name(u8),
    /// In a line of data.
    Data,
    /// In any other line.
    Other,
}

const MARK: &[u8] = b"\xef\xbb\xbf";
const NAME: &[u8] = b"data";

impl EventReader {
    /// A reader at the beginning of a body.
    pub const fn new(format: EventFormat) -> EventReader {
        EventReader { format, line: Line::Mark(0), after_cr: false, has_data: false }
    }

    /// Reads on; returns the number of events that end in `bytes`.
    pub fn read(&mut self, bytes: &[u8]) -> u32 {
        match self.format {
            EventFormat::EventStream => self.read_event_stream(bytes),
            EventFormat::Lines => self.read_lines(bytes),
        }
    }

    /// The body ends; returns true if that ends an event. One of an event stream is discarded then.
    pub fn finish(&mut self) -> bool {
        self.format == EventFormat::Lines && std::mem::take(&mut self.has_data)
    }

    fn read_lines(&mut self, mut bytes: &[u8]) -> u32 {
        let is_blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x1e;
        let mut events = 0;
        while let Some(end) = memchr(b'\n', bytes) {
            let has_data = self.has_data || !bytes[..end].iter().all(is_blank);
            events += u32::from(has_data);
            self.has_data = false;
            bytes = &bytes[end + 1..];
        }
        self.has_data |= !bytes.iter().all(is_blank);
        events
    }

    fn read_event_stream(&mut self, mut bytes: &[u8]) -> u32 {
        let mut events = 0;
        while let [byte, rest @ ..] = bytes {
            let belongs_to_end = std::mem::take(&mut self.after_cr) && *byte == b'\n';
            if belongs_to_end {
                bytes = rest;
            } else if matches!(byte, b'\r' | b'\n') {
                self.after_cr = *byte == b'\r';
                events += u32::from(self.end_line());
                bytes = rest;
            } else if matches!(self.line, Line::Data | Line::Other) {
                bytes = &bytes[memchr2(b'\r', b'\n', bytes).unwrap_or(bytes.len())..];
            } else {
                self.line = self.line.and(*byte);
                bytes = rest;
            }
        }
        events
    }

    /// A line ends; returns true if it is blank and ends an event that has data.
    fn end_line(&mut self) -> bool {
        let line = std::mem::replace(&mut self.line, Line::Name(0));
        match line {
            Line::Name(0) | Line::Mark(0) => return std::mem::take(&mut self.has_data),
            // A field without a colon has an empty value.
            Line::Data => self.has_data = true,
            Line::Name(matched) if usize::from(matched) == NAME.len() => self.has_data = true,
            Line::Name(_) | Line::Mark(_) | Line::Other => {}
        }
        false
    }
}

impl Line {
    /// The place behind `byte`, which ends no line.
    fn and(self, byte: u8) -> Line {
        match self {
            Line::Mark(matched) if byte == MARK[usize::from(matched)] => match usize::from(matched) + 1 {
                3 => Line::Name(0),
                _ => Line::Mark(matched + 1),
            },
            Line::Mark(0) => Line::Name(0).and(byte),
            Line::Name(matched) if NAME.get(usize::from(matched)) == Some(&byte) => Line::Name(matched + 1),
            Line::Name(matched) if usize::from(matched) == NAME.len() && byte == b':' => Line::Data,
            _ => Line::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events of `body`, handed over in pieces of every length.
    fn events(format: EventFormat, body: &[u8]) -> u32 {
        let counts = (1..=body.len()).map(|length| {
            let mut reader = EventReader::new(format);
            let within: u32 = body.chunks(length).map(|piece| reader.read(piece)).sum();
            within + u32::from(reader.finish())
        });
        let counts: Vec<u32> = counts.collect();
        assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
        counts[0]
    }

    #[test]
    fn an_event_of_a_stream_ends_with_a_blank_line_and_has_data() {
        let of = |body: &str| events(EventFormat::EventStream, body.as_bytes());
        assert_eq!(of("data: a\n\ndata: b\n\n"), 2);
        assert_eq!(of("data: a\r\n\r\ndata: b\r\rdata: c\n\r"), 3);
        assert_eq!(of("event: add\ndata: 1\ndata: 2\nid: 7\n\n"), 1, "several lines of data are one event");
        assert_eq!(of("data\n\n"), 1, "a field without a colon is a field");
        assert_eq!(of(": keep-alive\n\nid: 4\n\nretry: 10\n\n"), 0, "nothing of these is dispatched");
        assert_eq!(of("database: 1\n\n data: 2\n\ndat: 3\n\nDATA: 4\n\n"), 0);
        assert_eq!(of("data: unfinished\n"), 0, "what has no blank line behind it is discarded");
        assert_eq!(of("\u{feff}data: a\n\n"), 1, "a byte-order mark at the beginning is passed over");
        assert_eq!(of("data: a\n\n\u{feff}data: b\n\n"), 1, "and nowhere else");
        assert_eq!(of("\n\n\n"), 0);
    }

    #[test]
    fn each_line_of_json_is_an_event_and_the_last_may_lack_its_end() {
        let of = |body: &str| events(EventFormat::Lines, body.as_bytes());
        assert_eq!(of("{}\n{}\r\n\n \r\n{}"), 3);
        assert_eq!(of("\u{1e}{\"a\": 1}\n\u{1e}{}\n"), 2);
        assert_eq!(of("\n"), 0);
    }

    #[test]
    fn the_format_follows_from_the_type_whatever_its_case_and_parameters() {
        let of = |value: &str| EventFormat::of_content_type(value.as_bytes());
        assert_eq!(of("text/event-stream"), Some(EventFormat::EventStream));
        assert_eq!(of(" Text/Event-Stream ;charset=utf-8"), Some(EventFormat::EventStream));
        assert_eq!(of("application/x-ndjson"), Some(EventFormat::Lines));
        assert_eq!((of("text/html"), of("text/event-streams"), of("")), (None, None, None));
    }

    #[test]
    fn a_reader_is_small() {
        assert!(size_of::<Option<EventReader>>() <= 8);
    }
}
