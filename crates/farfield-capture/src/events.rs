//! Events within the body of a reply, by the packets that made their last bytes readable: of an event stream
//! (WHATWG HTML, section 9.2.6) and of lines of JSON.
//!
//! A line at a time is collected, as far as it must be known: its first bytes say whether it is data. Where
//! bytes were not captured, what follows is not guessed.

use crate::instant::UnixNs;

/// Events of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyEvents {
    /// Number of events.
    pub count: u64,
    /// The packet that completed the first of them.
    pub first: UnixNs,
    /// The packet that completed the last.
    pub last: UnixNs,
    /// The longest time from one to the next.
    pub longest_gap_ns: u64,
}

/// Bytes of a line that are kept: more than its name must have.
const KEPT: usize = 8;

/// The body of a reply whose events are looked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventBody {
    kind: BodyKind,
    line: Vec<u8>,
    /// The line before ended in CR.
    ended_in_cr: bool,
    /// Lines so far.
    lines: u64,
    has_data: bool,
    found: Option<ReplyEvents>,
}

/// The kind of a body, as far as its events go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum BodyKind {
    /// The body has no events, or they cannot be known.
    #[default]
    None,
    EventStream,
    Json,
}

/// The fields of a head that tell what kind of body follows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Media {
    kind: BodyKind,
    is_coded: bool,
}

impl Media {
    /// Notes the value of Content-Type.
    pub fn note_type(&mut self, value: &[u8]) {
        const JSON: [&str; 7] = [
            "application/x-ndjson",
            "application/ndjson",
            "application/jsonl",
            "application/jsonlines",
            "application/x-jsonlines",
            "application/json-seq",
            "application/stream+json",
        ];
        let text = String::from_utf8_lossy(value).to_ascii_lowercase();
        self.kind = match text.split(';').next().unwrap_or_default().trim() {
            "text/event-stream" => BodyKind::EventStream,
            other if JSON.contains(&other) => BodyKind::Json,
            _ => BodyKind::None,
        };
    }

    /// Notes a value of Content-Encoding.
    pub fn note_encoding(&mut self, value: &[u8]) {
        let text = String::from_utf8_lossy(value).to_ascii_lowercase();
        let mut codings = text.split(',').map(str::trim);
        self.is_coded |= codings.any(|coding| !coding.is_empty() && coding != "identity");
    }
}

impl EventBody {
    /// A body behind a head with such fields.
    pub fn of(media: Media) -> EventBody {
        let kind = if media.is_coded { BodyKind::None } else { media.kind };
        EventBody { kind, ..EventBody::default() }
    }

    /// Bytes of the body, readable at `at`.
    pub fn take(&mut self, bytes: &[u8], at: UnixNs) {
        if self.kind == BodyKind::None {
            return;
        }
        for byte in bytes {
            let after_cr = std::mem::take(&mut self.ended_in_cr);
            match (byte, self.kind) {
                (b'\n', BodyKind::EventStream) if after_cr => {}
                (b'\r', BodyKind::EventStream) => {
                    self.end_line(at);
                    self.ended_in_cr = true;
                }
                (b'\n', _) => self.end_line(at),
                // The mark of the byte order may be longer than what is kept of a line that has none.
                _ if self.line.len() < KEPT => self.line.push(*byte),
                (byte, BodyKind::Json) if !byte.is_ascii_whitespace() => self.has_data = true,
                _ => {}
            }
        }
    }

    /// Bytes of the body are not known: what comes behind them is not, either.
    pub fn lose(&mut self) {
        (self.kind, self.found) = (BodyKind::None, None);
    }

    /// The body is over; returns its events, if they are known and there are any.
    pub fn end(mut self, at: Option<UnixNs>) -> Option<ReplyEvents> {
        if self.kind == BodyKind::Json
            && let Some(at) = at
        {
            self.end_line(at);
        }
        self.found
    }

    fn end_line(&mut self, at: UnixNs) {
        let mut line = std::mem::take(&mut self.line);
        if self.lines == 0 && line.starts_with(&[0xef, 0xbb, 0xbf]) {
            line.drain(..3);
        }
        self.lines += 1;
        match self.kind {
            BodyKind::Json => {
                let is_blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x1e;
                if std::mem::take(&mut self.has_data) || !line.iter().all(is_blank) {
                    self.count(at);
                }
            }
            BodyKind::EventStream if line.is_empty() => {
                if std::mem::take(&mut self.has_data) {
                    self.count(at);
                }
            }
            _ => self.has_data |= line == b"data" || line.starts_with(b"data:"),
        }
    }

    fn count(&mut self, at: UnixNs) {
        let found =
            self.found.get_or_insert(ReplyEvents { count: 0, first: at, last: at, longest_gap_ns: 0 });
        found.longest_gap_ns = found.longest_gap_ns.max(at.0.saturating_sub(found.last.0));
        found.count += 1;
        found.last = found.last.max(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(content_type: &str) -> EventBody {
        let mut media = Media::default();
        media.note_type(content_type.as_bytes());
        EventBody::of(media)
    }

    fn events(content_type: &str, pieces: &[(&str, u64)]) -> Option<ReplyEvents> {
        let mut body = body(content_type);
        pieces.iter().for_each(|(text, at)| body.take(text.as_bytes(), UnixNs(*at)));
        body.end(pieces.last().map(|(_, at)| UnixNs(*at)))
    }

    fn found(count: u64, first: u64, last: u64, longest_gap_ns: u64) -> Option<ReplyEvents> {
        Some(ReplyEvents { count, first: UnixNs(first), last: UnixNs(last), longest_gap_ns })
    }

    #[test]
    fn events_of_a_stream_are_there_with_their_blank_lines() {
        let of = |pieces: &[(&str, u64)]| events("text/event-stream; charset=utf-8", pieces);
        assert_eq!(
            of(&[("data: a\n", 10), ("\ndata: b\r\n\r", 20), ("\ndata: c\n", 50)]),
            found(2, 20, 20, 0)
        );
        assert_eq!(
            of(&[("\u{feff}data\n\n", 10), (": no\n\nid: 1\n\n", 15), ("data:\n\n", 30)]),
            found(2, 10, 30, 20)
        );
        assert_eq!(of(&[("datafile: 1\n\n data: 2\n\n", 10)]), None);
    }

    #[test]
    fn lines_of_json_are_events_and_what_is_lost_is_not_guessed() {
        let long = format!("{}x\n", " ".repeat(20));
        assert_eq!(events("application/x-ndjson", &[("{}\n\n", 1), (&long, 5), ("{", 9)]), found(3, 1, 9, 4));
        let mut body = body("Application/NDJSON");
        body.take(b"{}\n", UnixNs(1));
        body.lose();
        body.take(b"{}\n", UnixNs(2));
        assert_eq!(body.end(Some(UnixNs(2))), None);
        let mut media = Media::default();
        media.note_type(b"text/event-stream");
        media.note_encoding(b"identity, gzip");
        let mut coded = EventBody::of(media);
        coded.take(b"data: a\n\n", UnixNs(1));
        assert_eq!(coded.end(None), None);
    }
}
