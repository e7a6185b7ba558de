//! The head of a reply that comes in pieces, byte by byte: where it ends, and the first byte that cannot
//! stand where it stands (RFC 9112, 4 and 5).
//!
//! A head that is whole is parsed by httparse (see `head`), which reads nothing of what a server holds back.
//! This scan says of each byte as it comes whether any head can have it there, so that a reply that is no
//! HTTP is found out even if the server then falls silent and keeps the connection open. It takes and refuses
//! what httparse does (a test holds the one against the other), allocates nothing, and costs a step a byte.

use super::chunked::{in_text, in_token};
use farfield_base::{Detail, Rule};

/// A scan of one head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scan {
    step: HeadPosition,
    /// Fields begun.
    fields: u16,
}

/// The scan's position in a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeadPosition {
    /// In `HTTP/1.x `, behind so many of its characters.
    Version(u8),
    /// In the status code, behind so many of its digits.
    Status(u8),
    /// Behind the status code.
    StatusEnd,
    /// In the reason phrase.
    Reason,
    /// Behind the CR of the status line.
    ReasonLf,
    /// At the beginning of the first field's line.
    FirstLine,
    /// At the beginning of a later line, which may continue the field before it.
    NextLine,
    /// In a field's name.
    Name,
    /// In a field's value.
    Value,
    /// Behind the CR of a field's line.
    ValueLf,
    /// Behind the CR of the empty line.
    LastLf,
    /// Behind the empty line.
    Over,
}

/// The result of a scan of the bytes that it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScanResult {
    /// All bytes fit, and the head goes on.
    More,
    /// The head ends with this many of the bytes.
    End(usize),
    /// A byte that no head has there.
    Bad,
    /// More fields than a head may have.
    TooMany,
}

impl Scan {
    /// Before a head.
    pub const START: Scan = Scan { step: HeadPosition::Version(0), fields: 0 };

    /// Goes through `bytes`, up to the end of the head or the field that is one more than `fields_max`.
    pub fn read(&mut self, bytes: &[u8], fields_max: u16) -> ScanResult {
        for (place, &byte) in bytes.iter().enumerate() {
            let Some(next) = self.step.after(byte) else { return ScanResult::Bad };
            let begins = next == HeadPosition::Name
                && matches!(self.step, HeadPosition::FirstLine | HeadPosition::NextLine);
            self.step = next;
            if next == HeadPosition::Over {
                return ScanResult::End(place + 1);
            }
            if begins && self.fields == fields_max {
                return ScanResult::TooMany;
            }
            self.fields += u16::from(begins);
        }
        ScanResult::More
    }
}

/// The fault of the first byte of a head that cannot stand where it stands: the rule, and the line up to
/// that byte; of a value its field's name, and of what is no status line all of that line that has come.
pub(super) fn flaw_of(head: &[u8]) -> Option<Detail> {
    let mut step = Scan::START.step;
    let place = head.iter().position(|byte| match step.after(*byte) {
        Some(next) => {
            step = next;
            false
        }
        None => true,
    })?;
    let begin = head[..place].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let line = &head[begin..=place];
    let shown = match step {
        HeadPosition::Value => line.split(|byte| *byte == b':').next().unwrap_or_default(),
        HeadPosition::Version(_) => head.split(|byte| *byte == b'\n').next().unwrap_or_default(),
        _ => line,
    };
    Some(Detail::broken(step.rule()).with(shown))
}

impl HeadPosition {
    /// The rule that a byte does not keep to which cannot stand here.
    const fn rule(self) -> Rule {
        let (wrong, section) = match self {
            HeadPosition::Version(_) => {
                ("the reply does not begin with a status line of HTTP/1", "RFC 9112 §4")
            }
            HeadPosition::Status(_) => ("the status is not three digits, from 100", "RFC 9112 §4"),
            HeadPosition::StatusEnd | HeadPosition::Reason => {
                ("the reason phrase has a character that it cannot have", "RFC 9112 §4")
            }
            HeadPosition::ReasonLf | HeadPosition::ValueLf | HeadPosition::LastLf | HeadPosition::Over => {
                ("a line ends with CR alone", "RFC 9112 §2.2")
            }
            HeadPosition::FirstLine | HeadPosition::NextLine | HeadPosition::Name => {
                ("a field's name has a character that it cannot have, or no colon", "RFC 9112 §5")
            }
            HeadPosition::Value => ("a field's value has a character that it cannot have", "RFC 9110 §5.5"),
        };
        Rule::new(wrong, section)
    }

    /// The scan's position after `byte`; none if the byte must not stand here.
    fn after(self, byte: u8) -> Option<HeadPosition> {
        Some(match (self, byte) {
            // RFC 9112, 2.3: HTTP-version = "HTTP/" DIGIT "." DIGIT
            (HeadPosition::Version(place @ 0..7), _) if byte == b"HTTP/1."[usize::from(place)] => {
                HeadPosition::Version(place + 1)
            }
            (HeadPosition::Version(7), b'0'..=b'9') => HeadPosition::Version(8),
            (HeadPosition::Version(8), b' ') => HeadPosition::Status(0),
            // A status has a class of 1 and more (RFC 9110, 15).
            (HeadPosition::Status(0), b'1'..=b'9') => HeadPosition::Status(1),
            (HeadPosition::Status(1), b'0'..=b'9') => HeadPosition::Status(2),
            (HeadPosition::Status(2), b'0'..=b'9') => HeadPosition::StatusEnd,
            (HeadPosition::StatusEnd, b' ') => HeadPosition::Reason,
            (HeadPosition::StatusEnd | HeadPosition::Reason, b'\r') => HeadPosition::ReasonLf,
            (HeadPosition::StatusEnd | HeadPosition::Reason | HeadPosition::ReasonLf, b'\n') => {
                HeadPosition::FirstLine
            }
            (HeadPosition::Reason, byte) if in_text(byte) => HeadPosition::Reason,
            (HeadPosition::FirstLine | HeadPosition::NextLine, b'\r') => HeadPosition::LastLf,
            (HeadPosition::FirstLine | HeadPosition::NextLine | HeadPosition::LastLf, b'\n') => {
                HeadPosition::Over
            }
            // 5.2: obs-fold continues the field before it.
            (HeadPosition::NextLine, b' ' | b'\t') => HeadPosition::Value,
            (HeadPosition::FirstLine | HeadPosition::NextLine | HeadPosition::Name, byte)
                if in_token(byte) =>
            {
                HeadPosition::Name
            }
            (HeadPosition::Name, b':') => HeadPosition::Value,
            (HeadPosition::Value, b'\r') => HeadPosition::ValueLf,
            (HeadPosition::Value | HeadPosition::ValueLf, b'\n') => HeadPosition::NextLine,
            (HeadPosition::Value, byte) if in_text(byte) => HeadPosition::Value,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use httparse::{ParserConfig, Response, Status};
    use proptest::prelude::*;

    /// The verdict of httparse on the beginning of a head.
    fn by_httparse(bytes: &[u8]) -> ScanResult {
        let mut config = ParserConfig::default();
        config.allow_obsolete_multiline_headers_in_responses(true);
        let mut slots = [httparse::EMPTY_HEADER; 256];
        match config.parse_response(&mut Response::new(&mut slots), bytes) {
            Ok(Status::Complete(length)) => ScanResult::End(length),
            Ok(Status::Partial) => ScanResult::More,
            Err(_) => ScanResult::Bad,
        }
    }

    /// Every beginning of `head` is judged alike; httparse sees a few faults only with the byte behind them.
    fn agree(head: &[u8]) {
        let mut scan = Scan::START;
        for end in 1..=head.len() {
            let found = scan.read(&head[end - 1..end], 256);
            let known = by_httparse(&head[..end]);
            match (found, known) {
                (ScanResult::Bad, ScanResult::Bad) => return,
                (ScanResult::Bad, _) => {
                    // A fault is one whatever follows.
                    let whole = [&head[..end], b"\r\n\r\n"].concat();
                    let longer = [&head[..end], b"200 OK\r\n\r\n"].concat();
                    let judged = (by_httparse(&whole), by_httparse(&longer));
                    assert_eq!(
                        judged,
                        (ScanResult::Bad, ScanResult::Bad),
                        "{:?}",
                        head[..end].escape_ascii().to_string()
                    );
                    return;
                }
                (ScanResult::End(_), ScanResult::End(length)) => return assert_eq!(length, end),
                (found, known) => {
                    assert_eq!(found, known, "{}", head[..end].escape_ascii());
                }
            }
        }
    }

    #[test]
    fn heads_end_where_httparse_has_them_end() {
        for head in [
            "HTTP/1.1 200 OK\r\nA: b\r\n\r\n",
            "HTTP/1.0 200\n\n",
            "HTTP/1.1 200 \r\nA:b\r\n c\r\n\td\nE:\r\n\r\n",
            "HTTP/1.1 404 N\u{f6}t\r\nX : y\r\n\r\n",
            "HTTP/1.1 200 OK\r\n folded\r\n\r\n",
            "HTTP/1.1 200 OK\rX",
            "HTTP/1.1 2 0 OK",
            "HTTP/1.1  200 OK\r\n\r\n",
            "HTTP/1.1\r\n\r\n",
            "SSH-2.0-x\r\n",
            "HTTP/2.0 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: b\0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: b\r\r\n\r\n",
            "HTTP/1.1 200 OK\r\n: b\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: b\r\n\rX",
        ] {
            agree(head.as_bytes());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_judged_as_httparse_judges_them(
            start in prop::sample::select(vec!["HTTP/1.1 200 OK\r\nA: b\r\n", "HTTP/1.1 200", "HTTP/1.0 ", ""]),
            rest in prop::collection::vec(prop::sample::select(b"\r\n\t :AZaz09\x00\x7f\xe9/.,\"(-".to_vec()), 0..24),
        ) {
            let head = [start.as_bytes(), &rest].concat();
            // Blank lines before a head are skipped before the scan begins.
            agree(head.trim_ascii_start());
        }
    }
}
