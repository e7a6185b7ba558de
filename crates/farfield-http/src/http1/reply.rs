//! The reader of replies: the bytes of one connection go in, in pieces of any size; events come out.
//!
//! It keeps no body: the bytes of one are handed on as slices of what came in, and only counted. It keeps a
//! head only while the head is split over pieces, and releases it with the next step. When a reply comes in
//! one piece nothing is allocated or copied. However a stream is cut into pieces, its events are the same.
//!
//! It does not match replies to requests, and does not refuse what comes after a reply that was to be the
//! last: the caller knows what it asked for, and closes.
//!
//! Sources: RFC 9112 for messages, RFC 9110 for what they mean.

use super::chunked::{ChunkPart, Chunked};
use super::fields::Fields;
use super::head::{self, Answering, Framing, Head};
use super::known_head::KnownHead;
use super::malformed::Malformed;
use super::scan::{self, Scan, ScanResult};
use farfield_base::{Detail, Rule};

/// Limits on a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a reply that may pass without a byte of body, whatever they are: interim heads and head, the
    /// line of a chunk, the trailer section.
    pub head_bytes: u32,
    /// Fields of a head.
    pub head_fields: u16,
    /// Bytes of a reply's body, transfer codings removed.
    pub body_bytes: u64,
}

impl Default for Limits {
    /// 64 KiB and 128 fields for heads, and bodies without limit.
    fn default() -> Limits {
        Limits { head_bytes: 64 * 1024, head_fields: 128, body_bytes: u64::MAX }
    }
}

/// An event in a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'b> {
    /// All bytes are taken and make no event yet: come back with more.
    NeedMore,
    /// An interim head with this status, 100 to 199 without 101; the reply is still to come.
    Interim(u16),
    /// The head of the reply.
    Head(Head),
    /// Bytes of the body, at least one.
    Body(&'b [u8]),
    /// The reply is over; the next byte is another's.
    Done(Reply),
}

/// A reply that is over, or as far as it got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// The status; of a reply that is not over, that of its last head, interim or final, or 0 if none came.
    pub status: u16,
    /// The server lets the connection live after it.
    pub persistent: bool,
    /// Bytes of its body, transfer codings removed.
    pub body_bytes: u64,
    /// All its bytes: interim heads and head, blank lines before them, framing, trailers and body.
    pub reply_bytes: u64,
}

/// Reads the replies of one connection, one after another.
#[derive(Debug)]
pub struct ReplyReader {
    /// A head whose end has not come, or came with the last step, if it was split; else empty, and without
    /// memory.
    gathered: Vec<u8>,
    state: BodyState,
    body_bytes: u64,
    reply_bytes: u64,
    /// Bytes since the reply began or, if later, since the last byte of body: what `Limits::head_bytes`
    /// limits.
    bodiless_bytes: u32,
    /// Status of the last head, interim or final; 0 if none has come.
    status: u16,
    persistent: bool,
}

#[derive(Debug, Clone, Copy)]
enum BodyState {
    /// Before a head.
    Between,
    /// Before a head, behind the CR of a blank line.
    BlankLine,
    /// In a head, whose beginning is gathered.
    Head(Scan),
    /// In a body with so many bytes left. With none left, only the end is still to be reported.
    Length(u64),
    /// In a body that comes in chunks.
    Chunked(Chunked),
    /// In a body that ends with the connection.
    UntilClose,
}

/// The result of [`ReplyReader::read`].
type ReadResult<'b> = Result<(usize, Event<'b>), Malformed>;

impl Default for ReplyReader {
    fn default() -> ReplyReader {
        ReplyReader::new()
    }
}

impl ReplyReader {
    /// A reader at the beginning of a connection.
    pub const fn new() -> ReplyReader {
        ReplyReader {
            gathered: Vec::new(),
            state: BodyState::Between,
            body_bytes: 0,
            reply_bytes: 0,
            bodiless_bytes: 0,
            status: 0,
            persistent: false,
        }
    }

    /// Takes the next step through `bytes`: how many of them it took, and the event that they made.
    ///
    /// Call again with the rest, be it empty, until the event is [`Event::NeedMore`]; the end of a reply may
    /// be reported by a call that takes nothing. `answering` is about the request whose reply is being read,
    /// and looked at when the reply's head is. After an error the reader is of no further use, but for
    /// [`so_far`].
    ///
    /// [`so_far`]: ReplyReader::so_far
    pub fn read<'b>(
        &mut self,
        bytes: &'b [u8],
        answering: Answering,
        limits: &Limits,
    ) -> Result<(usize, Event<'b>), Malformed> {
        self.read_with(&mut KnownHead::forgetful(), bytes, answering, limits)
    }

    /// Does what [`read`](Self::read) does, faster where the head is the one in `known`, which keeps the last
    /// head.
    pub fn read_with<'b>(
        &mut self,
        known: &mut KnownHead,
        bytes: &'b [u8],
        answering: Answering,
        limits: &Limits,
    ) -> Result<(usize, Event<'b>), Malformed> {
        if !self.gathered.is_empty() && !matches!(self.state, BodyState::Head(_)) {
            self.gathered = Vec::new();
        }
        match self.state {
            BodyState::Length(0) => Ok((0, Event::Done(self.end()))),
            _ if bytes.is_empty() => Ok((0, Event::NeedMore)),
            BodyState::Between | BodyState::BlankLine => self.begin(known, bytes, answering, limits),
            BodyState::Head(scan) => self.go_on_with_head(bytes, scan, answering, limits),
            BodyState::Length(left) => self.read_length(bytes, left, limits),
            BodyState::Chunked(chunked) => self.read_chunked(bytes, chunked, limits),
            BodyState::UntilClose => {
                let body = self.take_body(bytes, u64::MAX, limits)?;
                Ok((body.len(), Event::Body(body)))
            }
        }
    }

    /// The detail of a reply that [`read`](Self::read) found `malformed` in these bytes, in which it starts
    /// over.
    pub fn detail_of(&self, malformed: Malformed, bytes: &[u8]) -> Option<Detail> {
        match (malformed, self.state) {
            (Malformed::BadHead, _) => {
                let text = [self.gathered.as_slice(), bytes].concat();
                let blank = text.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
                let detail = scan::flaw_of(&text[blank..]);
                Some(detail.unwrap_or(Detail::broken(Rule::new("the head cannot be read", "RFC 9112 §2.1"))))
            }
            (Malformed::BadLength, _) => {
                let wrong =
                    "Content-Length is no number, or several, or Transfer-Encoding contradicts itself";
                Some(Detail::broken(Rule::new(wrong, "RFC 9112 §6.3")))
            }
            (Malformed::BadChunk, BodyState::Chunked(chunked)) => {
                Some(Detail::broken(chunked.flaw_of(bytes)))
            }
            _ => malformed.rule_of_http1().map(Detail::broken),
        }
    }

    /// The server closed in good order: the reply that this ends, if one lasts until then; nothing if no
    /// byte of a final one has come.
    ///
    /// # Errors
    /// [`Malformed::Truncated`] in the middle of a reply.
    pub fn finish(&mut self) -> Result<Option<Reply>, Malformed> {
        match self.state {
            BodyState::UntilClose | BodyState::Length(0) => Ok(Some(self.end())),
            // RFC 9110, 15.2: an interim reply is not the reply.
            BodyState::Between if self.is_idle() || matches!(self.status, 100..200) => Ok(None),
            // RFC 9112, 8: incomplete without the zero-sized chunk, or with fewer bytes than announced.
            _ => Err(Malformed::Truncated),
        }
    }

    /// The fields of the head that the last step reported, which took these bytes. Only until the next step.
    pub fn fields<'a>(&'a self, taken: &'a [u8]) -> Fields<'a> {
        Fields::of(if self.gathered.is_empty() { taken } else { &self.gathered })
    }

    /// The reason phrase of the head that ended in or behind the bytes `taken` by the last step; empty if it
    /// has none.
    pub fn reason<'a>(&'a self, taken: &'a [u8]) -> &'a [u8] {
        let head = if self.gathered.is_empty() { taken } else { &self.gathered };
        let line = head.trim_ascii_start().split(|byte| matches!(byte, b'\r' | b'\n')).next();
        // Ahead of it are the version and the status (RFC 9112, 4).
        line.and_then(|line| line.splitn(3, |byte| *byte == b' ').nth(2)).unwrap_or_default()
    }

    /// True if no byte of a next reply was read. Blank lines belong to none: a server may send one behind a
    /// body, though it should not.
    pub fn is_idle(&self) -> bool {
        matches!(self.state, BodyState::Between) && self.status == 0
    }

    /// True if a byte of a reply was read that is not over: of its head or of what follows. Neither the
    /// blank lines before a head nor interim heads count.
    pub fn is_in_reply(&self) -> bool {
        !matches!(self.state, BodyState::Between | BodyState::BlankLine)
    }

    /// The part that was read of a reply which is not over yet, for a request that fails before it is.
    pub fn so_far(&self) -> Reply {
        Reply {
            status: self.status,
            persistent: self.persistent,
            body_bytes: self.body_bytes,
            reply_bytes: self.reply_bytes,
        }
    }

    /// The reply is over; the next one begins.
    fn end(&mut self) -> Reply {
        let reply = self.so_far();
        *self = ReplyReader::new();
        reply
    }

    /// Skips blank lines, then reads a head.
    ///
    /// RFC 9112, 2.2 asks a server to skip a blank line before a request; a client that meets one before a
    /// reply does well to do likewise, since old servers end a body with a line end that its length does not
    /// count.
    fn begin<'b>(
        &mut self,
        known: &mut KnownHead,
        bytes: &'b [u8],
        answering: Answering,
        limits: &Limits,
    ) -> ReadResult<'b> {
        let window = self.window(bytes, limits);
        let mut blank = 0;
        for &byte in window {
            self.state = match (self.state, byte) {
                (BodyState::Between, b'\r') => BodyState::BlankLine,
                (BodyState::Between | BodyState::BlankLine, b'\n') => BodyState::Between,
                (BodyState::BlankLine, _) => return Err(Malformed::BadHead),
                _ => break,
            };
            blank += 1;
        }
        let rest = &window[blank..];
        if rest.is_empty() {
            return self.need_more(window.len(), limits, Malformed::HeadTooLarge);
        }
        if let Some((length, head)) = known.find(rest, answering, limits.head_fields) {
            return Ok(self.take_head(blank + length, head));
        }
        if let Some((length, head)) = head::parse(rest, answering, limits.head_fields)? {
            known.keep(&rest[..length], answering, limits.head_fields, head);
            return Ok(self.take_head(blank + length, head));
        }
        let mut scan = Scan::START;
        match scan.read(rest, limits.head_fields) {
            ScanResult::Bad => return Err(Malformed::BadHead),
            ScanResult::TooMany => return Err(Malformed::HeadTooLarge),
            ScanResult::More | ScanResult::End(_) => {}
        }
        self.gathered.extend_from_slice(rest);
        self.state = BodyState::Head(scan);
        self.need_more(window.len(), limits, Malformed::HeadTooLarge)
    }

    /// Goes on with a head whose beginning is gathered.
    ///
    /// It is scanned as it comes and parsed when its end is there: so a head costs time in proportion to its
    /// length, however small the pieces, and what is wrong with a line is found out with the byte that is
    /// wrong.
    fn go_on_with_head<'b>(
        &mut self,
        bytes: &'b [u8],
        mut scan: Scan,
        answering: Answering,
        limits: &Limits,
    ) -> ReadResult<'b> {
        let window = self.window(bytes, limits);
        let end = match scan.read(window, limits.head_fields) {
            ScanResult::Bad => return Err(Malformed::BadHead),
            ScanResult::TooMany => return Err(Malformed::HeadTooLarge),
            ScanResult::More => None,
            ScanResult::End(end) => Some(end),
        };
        self.state = BodyState::Head(scan);
        let piece = &window[..end.unwrap_or(window.len())];
        self.gathered.extend_from_slice(piece);
        if end.is_some() {
            let parsed = head::parse(&self.gathered, answering, limits.head_fields)?;
            let (_, head) = parsed.ok_or(Malformed::BadHead)?;
            return Ok(self.take_head(piece.len(), head));
        }
        self.need_more(piece.len(), limits, Malformed::HeadTooLarge)
    }

    /// A head ends with the `length`-th byte.
    fn take_head<'b>(&mut self, length: usize, head: Head) -> (usize, Event<'b>) {
        self.count_bodiless(length);
        self.status = head.status;
        // RFC 9110, 15.2: any number of interim replies comes before the final one. 101 is the last of this
        // protocol (15.2.2).
        if head.status < 200 && head.status != 101 {
            self.state = BodyState::Between;
            return (length, Event::Interim(head.status));
        }
        self.persistent = head.persistent;
        self.state = match head.framing {
            Framing::NoBody => BodyState::Length(0),
            Framing::Length(bytes) => BodyState::Length(bytes),
            Framing::Chunked => BodyState::Chunked(Chunked::START),
            Framing::UntilClose => BodyState::UntilClose,
        };
        (length, Event::Head(head))
    }

    /// Reads a body with `left` bytes to come.
    fn read_length<'b>(&mut self, bytes: &'b [u8], left: u64, limits: &Limits) -> ReadResult<'b> {
        let body = self.take_body(bytes, left, limits)?;
        self.state = BodyState::Length(left - body.len() as u64);
        Ok((body.len(), Event::Body(body)))
    }

    /// Reads a chunked body: framing up to the next data, and of that what is there.
    fn read_chunked<'b>(&mut self, bytes: &'b [u8], mut chunked: Chunked, limits: &Limits) -> ReadResult<'b> {
        let window = self.window(bytes, limits);
        let (framing, next) = chunked.skip(window)?;
        self.state = BodyState::Chunked(chunked);
        match next {
            ChunkPart::Framing => self.need_more(framing, limits, Malformed::BadChunk),
            ChunkPart::Over => {
                self.count_bodiless(framing);
                Ok((framing, Event::Done(self.end())))
            }
            ChunkPart::Data(left) => {
                self.count_bodiless(framing);
                let data = &bytes[framing..];
                if data.is_empty() {
                    return Ok((framing, Event::NeedMore));
                }
                let body = self.take_body(data, left, limits)?;
                chunked.took(body.len() as u64);
                self.state = BodyState::Chunked(chunked);
                Ok((framing + body.len(), Event::Body(body)))
            }
        }
    }

    /// Counts the body's bytes at the beginning of `bytes`, which are not empty: at most `left`, and what the
    /// limit leaves room for. The byte that has none is the error, so that where it is found does not depend
    /// on how the stream was cut.
    fn take_body<'b>(&mut self, bytes: &'b [u8], left: u64, limits: &Limits) -> Result<&'b [u8], Malformed> {
        let room = limits.body_bytes.saturating_sub(self.body_bytes);
        let taken = (bytes.len() as u64).min(left).min(room);
        if taken == 0 {
            return Err(Malformed::BodyTooLarge);
        }
        self.body_bytes += taken;
        self.reply_bytes += taken;
        self.bodiless_bytes = 0;
        Ok(&bytes[..taken as usize])
    }

    /// As much of `bytes` as may pass before the next byte of body.
    fn window<'b>(&self, bytes: &'b [u8], limits: &Limits) -> &'b [u8] {
        let room = limits.head_bytes.saturating_sub(self.bodiless_bytes) as usize;
        &bytes[..bytes.len().min(room)]
    }

    /// Takes `taken` bytes of a window that made no event; if that was all that may pass, this is `too_long`.
    fn need_more<'b>(&mut self, taken: usize, limits: &Limits, too_long: Malformed) -> ReadResult<'b> {
        self.count_bodiless(taken);
        if self.bodiless_bytes >= limits.head_bytes { Err(too_long) } else { Ok((taken, Event::NeedMore)) }
    }

    /// `taken` bytes of a window were no body.
    fn count_bodiless(&mut self, taken: usize) {
        self.bodiless_bytes += taken as u32;
        self.reply_bytes += taken as u64;
    }
}
