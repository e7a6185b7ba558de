//! The head of a reply: from its bytes to what the reader must know to go on (RFC 9112, 4 to 6 and 9.3).
//!
//! httparse finds the lines. Of the fields only six matter here, Connection, Content-Length,
//! Transfer-Encoding, Content-Type, Content-Encoding and Set-Cookie; all others are passed over by the length
//! of their name. Nothing is allocated.
//!
//! Tolerance, and its limits:
//! - a bare LF ends a line as CRLF does (RFC 9112, 2.2: MAY), and a reason phrase may be absent with its
//!   blank;
//! - obs-fold continues a field, as a user agent MUST have it (RFC 9112, 5.2);
//! - a blank between a field's name and its colon, two blanks in the status line, a control character in a
//!   field, and a major version other than 1 are refused: no RFC asks a client to accept them, and a
//!   benchmark should tell of a server that sends them;
//! - HTTP/1.2 to HTTP/1.9 are read as HTTP/1.1, the highest minor version known here (RFC 9110, 2.5).

use super::{Malformed, Version};
use crate::events::EventFormat;
use httparse::{ParserConfig, Response, Status};
use std::mem::MaybeUninit;

/// Fields for which there is room on the stack, where only those that a head has are written.
const FIELDS_ON_STACK: usize = 128;

/// The kind of request that the next reply answers, as far as the reader must know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answering {
    /// A HEAD request: the reply has no body, whatever its head says.
    Head,
    /// Any other.
    Other,
}

impl Answering {
    /// The kind of a request with `method`, which is case-sensitive (RFC 9110, 9.1).
    pub fn method(method: &str) -> Answering {
        if method == "HEAD" { Answering::Head } else { Answering::Other }
    }
}

/// The framing of a reply's body, by which its end is found (RFC 9112, 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// There is no body.
    NoBody,
    /// A length in bytes, possibly 0.
    Length(u64),
    /// The chunked transfer coding.
    Chunked,
    /// The body lasts until the server closes the connection.
    UntilClose,
}

/// The head of a final reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The status, 101 or 200 to 999.
    pub status: u16,
    /// The server's version.
    pub version: Version,
    /// The server lets the connection live when this reply is over (RFC 9112, 9.3).
    pub persistent: bool,
    /// The body's framing.
    pub framing: Framing,
    /// True if the reply sets a cookie: users that keep none, or find none here, skip the fields.
    pub sets_cookie: bool,
    /// The format of its body, if the parts of that are events and no content coding hides them.
    pub events: Option<EventFormat>,
}

/// Reads one head, interim or final, that begins with the first of `bytes`: the bytes it has, and what it
/// says; or nothing if its end is not among them.
///
/// An interim head (100 to 199 without 101) has no body and its fields mean nothing here. A head of more than
/// `fields_max` fields is too large.
pub(super) fn parse(
    bytes: &[u8],
    answering: Answering,
    fields_max: u16,
) -> Result<Option<(usize, Head)>, Malformed> {
    if let Some(as_known) = with_known_version(bytes) {
        return parse(&as_known, answering, fields_max);
    }
    let fields_max = usize::from(fields_max);
    if fields_max <= FIELDS_ON_STACK {
        let mut slots = [const { MaybeUninit::uninit() }; FIELDS_ON_STACK];
        return parse_into(bytes, answering, &mut slots[..fields_max]);
    }
    parse_into(bytes, answering, &mut vec![MaybeUninit::uninit(); fields_max])
}

/// A head of HTTP/1.2 to HTTP/1.9, none of which there is yet, as one of HTTP/1.1: a recipient reads what has
/// a higher minor version than it knows as the highest that it knows (RFC 9110, 2.5).
fn with_known_version(bytes: &[u8]) -> Option<Vec<u8>> {
    const PREFIX: &[u8] = b"HTTP/1.";
    let minor = *bytes.strip_prefix(PREFIX)?.first()?;
    matches!(minor, b'2'..=b'9').then(|| {
        let mut known = bytes.to_vec();
        known[PREFIX.len()] = b'1';
        known
    })
}

fn parse_into<'b>(
    bytes: &'b [u8],
    answering: Answering,
    slots: &mut [MaybeUninit<httparse::Header<'b>>],
) -> Result<Option<(usize, Head)>, Malformed> {
    let mut config = ParserConfig::default();
    config.allow_obsolete_multiline_headers_in_responses(true);
    let mut response = Response::new(&mut []);
    let length = match config.parse_response_with_uninit_headers(&mut response, bytes, slots) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Malformed::HeadTooLarge),
        Err(_) => return Err(Malformed::BadHead),
    };
    let (Some(status), Some(minor)) = (response.code, response.version) else {
        return Err(Malformed::BadHead);
    };
    // RFC 9110, 15: a status has a class of 1 to 5. Those above are kept, to be counted as 5xx; those below
    // would be taken for "no head came".
    if status < 100 {
        return Err(Malformed::BadHead);
    }
    let version = if minor == 0 { Version::Http10 } else { Version::Http11 };
    let fields = FramingFields::of(response.headers);
    let framing = fields.framing(status, answering)?;
    let persistent = fields.persistent(status, version, framing);
    let (sets_cookie, events) = (fields.sets_cookie, fields.media.events());
    Ok(Some((length, Head { status, version, persistent, framing, sets_cookie, events })))
}

/// The fields of a head on the connection and the body's length, on its events and on cookies.
struct FramingFields {
    close: bool,
    keep_alive: bool,
    length: Length,
    coding: TransferCoding,
    sets_cookie: bool,
    media: Media,
}

/// The fields on the format of a body.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Media {
    format: Option<EventFormat>,
    /// True if the body is compressed, or coded otherwise.
    is_coded: bool,
}

/// The value of Content-Length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// Nothing.
    Absent,
    /// So many bytes.
    Is(u64),
    /// No number, or two different ones.
    Bad,
}

/// The value of Transfer-Encoding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TransferCoding {
    Absent,
    /// The last coding is chunked.
    Chunked,
    /// The last coding is not chunked.
    Other,
    Bad,
}

impl FramingFields {
    fn of(headers: &[httparse::Header<'_>]) -> FramingFields {
        let mut fields = FramingFields {
            close: false,
            keep_alive: false,
            length: Length::Absent,
            coding: TransferCoding::Absent,
            sets_cookie: false,
            media: Media::default(),
        };
        for header in headers {
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            match header.name.len() {
                10 if is("connection") => fields.absorb_connection(header.value),
                10 if is("set-cookie") => fields.sets_cookie = true,
                12 if is("content-type") => fields.media.note_type(header.value),
                16 if is("content-encoding") => fields.media.note_encoding(header.value),
                14 if is("content-length") => {
                    fields.length = fields.length.and_field(header.value);
                }
                17 if is("transfer-encoding") => {
                    // A field that lists nothing is still there, and does not end in chunked.
                    let none = if fields.coding == TransferCoding::Absent {
                        TransferCoding::Other
                    } else {
                        fields.coding
                    };
                    fields.coding = list(header.value).fold(none, TransferCoding::and);
                }
                _ => {}
            }
        }
        fields
    }

    /// RFC 9110, 7.6.1: options are tokens without regard to case.
    fn absorb_connection(&mut self, value: &[u8]) {
        for option in list(value) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// RFC 9112, 6.3, in its order and with its numbers.
    fn framing(&self, status: u16, answering: Answering) -> Result<Framing, Malformed> {
        // 1. No body, regardless of the fields.
        if answering == Answering::Head || matches!(status, 100..=199 | 204 | 304) {
            return Ok(Framing::NoBody);
        }
        // 2. is about CONNECT, which is not spoken here.
        match self.coding {
            // 3. Transfer-Encoding overrides Content-Length; `persistent` draws the consequence.
            // 4. Chunked when that is the last coding, else to the end of the connection. Codings under it
            //    stay on: we ask for none, so a server has no ground to send them.
            TransferCoding::Chunked => Ok(Framing::Chunked),
            TransferCoding::Other => Ok(Framing::UntilClose),
            TransferCoding::Bad => Err(Malformed::BadLength),
            TransferCoding::Absent => match self.length {
                // 5. A length that is not one number is beyond mending.
                Length::Bad => Err(Malformed::BadLength),
                // 6.
                Length::Is(bytes) => Ok(Framing::Length(bytes)),
                // 8. (7. is about requests.)
                Length::Absent => Ok(Framing::UntilClose),
            },
        }
    }

    /// RFC 9112, 9.3: whether the connection may carry another reply after this one.
    fn persistent(&self, status: u16, version: Version, framing: Framing) -> bool {
        let kept = !self.close && (version == Version::Http11 || self.keep_alive);
        // RFC 9112, 6.1: with Content-Length beside it, or in an HTTP/1.0 reply, Transfer-Encoding may be an
        // attempt to smuggle; close after such a reply.
        let suspicious = self.coding != TransferCoding::Absent
            && (self.length != Length::Absent || version == Version::Http10);
        // RFC 9110, 15.2.2: after 101 the connection speaks another protocol.
        kept && !suspicious && framing != Framing::UntilClose && status != 101
    }
}

impl Media {
    pub(crate) fn note_type(&mut self, value: &[u8]) {
        self.format = EventFormat::of_content_type(value);
    }

    pub(crate) fn note_encoding(&mut self, value: &[u8]) {
        let hides = |coding: &[u8]| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity");
        self.is_coded |= list(value).any(hides);
    }

    /// The format of the body's events, if they can be seen.
    pub(crate) fn events(self) -> Option<EventFormat> {
        self.format.filter(|_| !self.is_coded)
    }
}

impl Length {
    /// With what one more field says.
    pub(crate) fn and_field(self, value: &[u8]) -> Length {
        list(value).fold(self, Length::and)
    }

    /// RFC 9110, 8.6: a list of equal numbers is that number; anything else is an error.
    fn and(self, element: &[u8]) -> Length {
        match (self, decimal(element)) {
            (Length::Absent, Some(bytes)) => Length::Is(bytes),
            (Length::Is(before), Some(bytes)) if before == bytes => self,
            _ => Length::Bad,
        }
    }
}

impl TransferCoding {
    /// RFC 9112, 6.1 and 7: codings in the order in which they were applied, names without regard to case.
    ///
    /// A comma in a quoted parameter also ends an element here. That makes no coding the last that was not:
    /// what follows the comma would still have its closing quote.
    fn and(self, element: &[u8]) -> TransferCoding {
        let name = element.split(|&byte| byte == b';').next().unwrap_or(element);
        let chunked = trim(name).eq_ignore_ascii_case(b"chunked");
        match self {
            TransferCoding::Bad => TransferCoding::Bad,
            _ if element.is_empty() => self,
            // 6.1: chunked is applied once. 7.1: it has no parameters, and one SHOULD be treated as an error.
            TransferCoding::Chunked if chunked => TransferCoding::Bad,
            _ if chunked && name.len() < element.len() => TransferCoding::Bad,
            _ if chunked => TransferCoding::Chunked,
            _ => TransferCoding::Other,
        }
    }
}

/// The elements of a list, trimmed, empty ones too (RFC 9110, 5.6.1).
fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(trim)
}

/// Without blanks at the ends; a line end stands here only in an obs-fold, which is a blank (RFC 9112, 5.2).
fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] | [rest @ .., b' ' | b'\t' | b'\r' | b'\n'] = bytes {
        bytes = rest;
    }
    bytes
}

/// The number, if it is digits alone and fits (RFC 9110, 8.6: `1*DIGIT`; a recipient MUST guard against
/// overflow).
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}
