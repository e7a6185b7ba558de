//! The reader of a reply: the frames of one request stream (RFC 9114, 4.1 and 7.2), from pieces of any size.
//!
//! It keeps no body: its bytes are handed on as they came. A field section is kept only where it does not
//! come in one piece. However the stream is cut, the events are the same but for the pieces of the body.

use super::error::{ConnectionError, StreamError};
use super::frame;
use super::varint::Varint;
use crate::allowance::Allowance;
use crate::http1::{Answering, Limits, Malformed, Reply};
use crate::http2::{BlockCoding, Flaw, Head, Heads, Section};
use bytes::{Buf, Bytes};

/// An event in a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyPart {
    /// All bytes are taken and make no event yet.
    Nothing,
    /// An interim head with this status, 100 to 199.
    Interim(u16),
    /// The head of the reply; its fields are in [`Heads`] until the next step.
    Head(Head),
    /// Bytes of the body, at least one.
    Body(Bytes),
}

/// Why a reply cannot be read on. Closed: a stream is over alone, or with its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// The stream alone is over.
    #[error("{0}")]
    Stream(StreamError),
    /// The connection is.
    #[error("{0}")]
    Connection(ConnectionError),
}

impl From<Malformed> for ReplyError {
    fn from(malformed: Malformed) -> ReplyError {
        ReplyError::Stream(StreamError::Malformed(malformed))
    }
}

impl From<ConnectionError> for ReplyError {
    fn from(error: ConnectionError) -> ReplyError {
        ReplyError::Connection(error)
    }
}

/// The reader of one reply.
#[derive(Debug)]
pub struct ReplyStream {
    answering: Answering,
    place: FramePosition,
    varint: Varint,
    /// The field section that is on its way in pieces.
    section: Vec<u8>,
    stage: MessagePart,
    status: u16,
    /// Bytes that the body must have in all, if that is known.
    length: Option<u64>,
    body_bytes: u64,
    reply_bytes: u64,
    /// Bytes of field sections and framing since the last byte of body.
    bodiless_bytes: u64,
    /// Bytes of unknown frames since then.
    unknown_bytes: u64,
    /// For frames that lead to nothing: no head, and no body.
    allowance: Allowance,
}

/// The next byte's place in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FramePosition {
    Type,
    Length { kind: u64 },
    Section { left: u64 },
    Data { left: u64 },
    Skipped { left: u64 },
}

/// The part of the message that has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessagePart {
    /// No final head.
    Head,
    /// The final head: body, or trailers.
    Body,
    /// Trailers: nothing more.
    Trailers,
}

impl ReplyStream {
    /// A reader of the reply to a request of this kind.
    pub fn new(answering: Answering) -> ReplyStream {
        ReplyStream {
            answering,
            place: FramePosition::Type,
            varint: Varint::default(),
            section: Vec::new(),
            stage: MessagePart::Head,
            status: 0,
            length: None,
            body_bytes: 0,
            reply_bytes: 0,
            bodiless_bytes: 0,
            unknown_bytes: 0,
            allowance: Allowance::FULL,
        }
    }

    /// Takes the next step through `bytes`, out of which it takes what it reads. Come back with the rest, or
    /// with more once there is none.
    ///
    /// # Errors
    /// [`ReplyError`]; the reader is of no further use then, but for [`so_far`](Self::so_far).
    pub fn read(
        &mut self,
        heads: &mut Heads,
        bytes: &mut Bytes,
        limits: &Limits,
    ) -> Result<ReplyPart, ReplyError> {
        while bytes.has_remaining() {
            match self.place {
                FramePosition::Type | FramePosition::Length { .. } => self.take_number(bytes, limits)?,
                FramePosition::Section { left } => {
                    if let Some(found) = self.take_section(left, heads, bytes, limits)? {
                        return Ok(found);
                    }
                }
                FramePosition::Data { left } => return self.take_body(left, bytes, limits),
                FramePosition::Skipped { left } => {
                    let count = left.min(bytes.len() as u64);
                    self.unknown_bytes += count;
                    self.reply_bytes += count;
                    if self.unknown_bytes > u64::from(limits.head_bytes) {
                        return Err(ConnectionError::Flood.into());
                    }
                    bytes.advance(count as usize);
                    self.place = if left == count {
                        FramePosition::Type
                    } else {
                        FramePosition::Skipped { left: left - count }
                    };
                }
            }
        }
        Ok(ReplyPart::Nothing)
    }

    /// The server has ended the stream.
    ///
    /// # Errors
    /// [`ReplyError`], if the reply is not whole.
    pub fn finish(&self) -> Result<Reply, ReplyError> {
        // 7.1: a frame that is cut off is an error of the connection.
        if self.place != FramePosition::Type || !self.varint.is_between() {
            return Err(ConnectionError::FrameCut.into());
        }
        if self.stage == MessagePart::Head {
            return Err(ReplyError::Stream(StreamError::Unanswered));
        }
        // 4.1.2: a body is as long as its head says.
        match self.length {
            Some(length) if length != self.body_bytes => Err(Malformed::Truncated.into()),
            _ => Ok(self.so_far()),
        }
    }

    /// The reply as far as it has come.
    pub fn so_far(&self) -> Reply {
        let ReplyStream { status, body_bytes, reply_bytes, .. } = *self;
        Reply { status, persistent: true, body_bytes, reply_bytes }
    }

    /// True if anything of a reply has come.
    pub fn is_begun(&self) -> bool {
        self.reply_bytes > 0
    }

    /// Takes bytes of a frame's type or length, up to the end of that number.
    fn take_number(&mut self, bytes: &mut Bytes, limits: &Limits) -> Result<(), ReplyError> {
        while bytes.has_remaining() {
            self.reply_bytes += 1;
            self.bodiless_bytes += 1;
            let Some(number) = self.varint.push(bytes.get_u8()) else { continue };
            return match self.place {
                FramePosition::Length { kind } => self.begin_frame(kind, number, limits),
                _ => {
                    self.check_kind(number)?;
                    self.place = FramePosition::Length { kind: number };
                    Ok(())
                }
            };
        }
        Ok(())
    }

    /// Checks that the frame may come here and now.
    fn check_kind(&mut self, kind: u64) -> Result<(), ReplyError> {
        let is_flood = self.allowance.spend(1).is_err();
        let error = match kind {
            // 4.1: a head comes before the body, and nothing behind trailers.
            frame::DATA if self.stage != MessagePart::Body => ConnectionError::UnexpectedFrame,
            frame::HEADERS if self.stage == MessagePart::Trailers => ConnectionError::UnexpectedFrame,
            frame::DATA | frame::HEADERS if !is_flood => return Ok(()),
            frame::CANCEL_PUSH | frame::SETTINGS | frame::GOAWAY | frame::MAX_PUSH_ID => {
                ConnectionError::UnexpectedFrame
            }
            frame::PUSH_PROMISE => ConnectionError::Pushed,
            kind if frame::is_of_http2(kind) => ConnectionError::UnexpectedFrame,
            _ if is_flood => ConnectionError::Flood,
            _ => return Ok(()),
        };
        Err(error.into())
    }

    fn begin_frame(&mut self, kind: u64, length: u64, limits: &Limits) -> Result<(), ReplyError> {
        self.place = match kind {
            frame::HEADERS => {
                // Memory for a gathered section is bounded, however large a frame may be.
                if length > u64::from(limits.head_bytes) {
                    return Err(Malformed::HeadTooLarge.into());
                }
                if length == 0 {
                    return Err(ConnectionError::Compression(super::qpack::QpackError::Truncated).into());
                }
                FramePosition::Section { left: length }
            }
            _ if length == 0 => FramePosition::Type,
            frame::DATA => FramePosition::Data { left: length },
            _ => FramePosition::Skipped { left: length },
        };
        // Of all frames, those that carry nothing count as well.
        if self.bodiless_bytes > u64::from(limits.head_bytes) {
            return Err(Malformed::HeadTooLarge.into());
        }
        Ok(())
    }

    /// Takes bytes of a field section; its event, if it is whole and a head.
    fn take_section(
        &mut self,
        left: u64,
        heads: &mut Heads,
        bytes: &mut Bytes,
        limits: &Limits,
    ) -> Result<Option<ReplyPart>, ReplyError> {
        let count = left.min(bytes.len() as u64);
        let piece = bytes.split_to(count as usize);
        self.reply_bytes += count;
        self.bodiless_bytes += count;
        if self.bodiless_bytes > u64::from(limits.head_bytes) {
            return Err(Malformed::HeadTooLarge.into());
        }
        if count < left {
            self.section.extend_from_slice(&piece);
            self.place = FramePosition::Section { left: left - count };
            return Ok(None);
        }
        self.place = FramePosition::Type;
        if self.section.is_empty() {
            return self.take_whole(&piece, heads, limits);
        }
        let mut section = std::mem::take(&mut self.section);
        section.extend_from_slice(&piece);
        self.take_whole(&section, heads, limits)
    }

    /// A field section is whole: a head, interim or final, or trailers.
    fn take_whole(
        &mut self,
        section: &[u8],
        heads: &mut Heads,
        limits: &Limits,
    ) -> Result<Option<ReplyPart>, ReplyError> {
        let kind = if self.stage == MessagePart::Head { Section::Head } else { Section::Trailers };
        let head = heads.read_section(section, kind, limits).map_err(ConnectionError::Compression)??;
        if kind == Section::Trailers {
            self.stage = MessagePart::Trailers;
            return Ok(None);
        }
        // RFC 9114, 4.5: there is no 101.
        if head.status == 101 {
            return Err(heads.malformed(Flaw::Switches, BlockCoding::Qpack).into());
        }
        self.status = head.status;
        if head.status < 200 {
            return Ok(Some(ReplyPart::Interim(head.status)));
        }
        self.allowance.earn(1);
        self.stage = MessagePart::Body;
        // RFC 9110, 6.4.1: no body, whatever the head says of its length.
        let has_none = self.answering == Answering::Head || matches!(head.status, 204 | 304);
        self.length = if has_none { Some(0) } else { head.length };
        Ok(Some(ReplyPart::Head(head)))
    }

    fn take_body(&mut self, left: u64, bytes: &mut Bytes, limits: &Limits) -> Result<ReplyPart, ReplyError> {
        let room =
            match (self.length.map(|length| length - self.body_bytes), limits.body_bytes - self.body_bytes) {
                (Some(0), _) => return Err(Malformed::BadLength.into()),
                (_, 0) => return Err(Malformed::BodyTooLarge.into()),
                (known, limit) => known.map_or(limit, |known| known.min(limit)),
            };
        let count = left.min(room).min(bytes.len() as u64);
        let piece = bytes.split_to(count as usize);
        self.body_bytes += count;
        self.reply_bytes += count;
        (self.bodiless_bytes, self.unknown_bytes) = (0, 0);
        self.allowance.earn(1);
        self.place =
            if left == count { FramePosition::Type } else { FramePosition::Data { left: left - count } };
        Ok(ReplyPart::Body(piece))
    }
}
