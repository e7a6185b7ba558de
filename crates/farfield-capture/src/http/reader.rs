//! One direction of HTTP/1 messages, cut out of a direction of TCP. Where bytes are missing, it goes on as
//! far as lengths that are known allow; beyond that it is lost, until a packet begins with the head of a
//! message.

use super::chunked::{ChunkProgress, Chunked};
use super::head;
use crate::instant::UnixNs;
use crate::stream::StreamContent;

/// The framing of a message behind its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageFraming {
    /// The message has no body.
    Empty,
    /// An interim reply: another head follows, and the message goes on.
    Interim,
    Length(u64),
    Chunked,
    UntilClose,
    /// The message ends, and what follows is another protocol.
    Tunnel,
    /// The message cannot be read.
    NotHttp,
    /// The framing cannot be known without what was not captured.
    Unknown,
}

/// Bytes of a body.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Body<'a> {
    Known(&'a [u8]),
    /// The number of bytes whose content is not known.
    Unknown(u64),
}

impl Body<'_> {
    /// Number of bytes.
    pub fn count(self) -> u64 {
        match self {
            Body::Known(bytes) => bytes.len() as u64,
            Body::Unknown(count) => count,
        }
    }
}

/// The receiver of messages and their parts.
pub(crate) trait MessageSink {
    /// A message begins at `at`.
    fn begin(&mut self, at: UnixNs);
    /// `count` bytes more of the message.
    fn took(&mut self, count: u64, at: UnixNs);
    /// Bytes of the body, among those that the message took.
    fn body(&mut self, body: Body<'_>, at: UnixNs);
    /// The message's head.
    fn head(&mut self, head: &[u8]) -> MessageFraming;
    /// The beginning of its head, the rest of which is not known.
    fn cut_head(&mut self, head: &[u8]);
    /// Bytes of the message were never captured.
    fn lossy(&mut self);
    /// The message is complete.
    fn end(&mut self, at: UnixNs);
    /// `count` bytes of a message, or of several, whose bounds are not known.
    fn lost(&mut self, count: u64, at: UnixNs);
    /// A packet begins with the head of a message, behind lost bytes.
    fn found(&mut self);
    /// The direction ended in lost bytes.
    fn lost_end(&mut self);
    /// Bytes that come are not HTTP/1. Returns whether the direction is worth to be found again.
    fn not_http(&mut self, at: UnixNs) -> bool;
    /// A head is longer than allowed.
    fn too_long(&mut self, at: UnixNs);
    /// Bytes of the other protocol that follows.
    fn tunnelled(&mut self, body: Body<'_>, at: UnixNs);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Between messages; so many bytes of empty lines were passed over.
    Between(u64),
    /// In a head, the beginning of which is in the buffer.
    Head,
    Body(u64),
    Chunked(Chunked),
    UntilClose,
    Lost,
    /// Another protocol follows.
    Tunnel,
    /// Nothing is read any more.
    Ignored,
}

/// The messages of one direction.
#[derive(Debug)]
pub(crate) struct MessageParser {
    reply: bool,
    phase: Phase,
    buffer: Vec<u8>,
    /// A byte between messages was never captured.
    byte_missing: bool,
}

impl MessageParser {
    /// Reads requests or replies, from the beginning of a connection or from its middle.
    pub fn new(reply: bool, from_start: bool) -> MessageParser {
        let phase = if from_start { Phase::Between(0) } else { Phase::Lost };
        MessageParser { reply, phase, buffer: Vec::new(), byte_missing: false }
    }

    /// True if the bounds of messages are not known.
    pub fn is_lost(&self) -> bool {
        self.phase == Phase::Lost
    }

    /// Reads nothing any more.
    pub fn ignore(&mut self) {
        (self.phase, self.buffer, self.byte_missing) = (Phase::Ignored, Vec::new(), false);
    }

    /// Another protocol follows.
    pub fn enter_tunnel(&mut self) {
        if self.phase != Phase::Ignored {
            (self.phase, self.buffer, self.byte_missing) = (Phase::Tunnel, Vec::new(), false);
        }
    }

    /// Takes in what comes next in the direction.
    pub fn handle(
        &mut self,
        next: StreamContent<'_>,
        at: UnixNs,
        begins_packet: bool,
        head_max: usize,
        owner: &mut impl MessageSink,
    ) {
        match next {
            StreamContent::Bytes(bytes) => self.handle_bytes(bytes, at, begins_packet, head_max, owner),
            StreamContent::Cut(count) => self.handle_unknown(count, at, owner),
            // Between messages, one byte is likely a FIN that was not captured: no message is as short.
            StreamContent::Missing(1) if matches!(self.phase, Phase::Between(_) | Phase::Lost) => {
                self.byte_missing = true;
            }
            StreamContent::Missing(count) => {
                if matches!(self.phase, Phase::Head | Phase::Body(_) | Phase::Chunked(_) | Phase::UntilClose)
                {
                    owner.lossy();
                }
                self.handle_unknown(count, at, owner);
            }
            StreamContent::Fin => {
                match self.phase {
                    Phase::UntilClose => owner.end(at),
                    Phase::Lost => owner.lost_end(),
                    _ => {}
                }
                self.ignore();
            }
        }
    }

    fn handle_bytes(
        &mut self,
        mut bytes: &[u8],
        at: UnixNs,
        begins_packet: bool,
        head_max: usize,
        owner: &mut impl MessageSink,
    ) {
        if std::mem::take(&mut self.byte_missing) {
            // It was no FIN.
            self.phase = Phase::Lost;
        }
        if self.phase == Phase::Lost {
            if !begins_packet || !head::begins(bytes, self.reply) {
                owner.lost(bytes.len() as u64, at);
                return;
            }
            owner.found();
            self.phase = Phase::Between(0);
        }
        while !bytes.is_empty() {
            let taken = match self.phase {
                Phase::Between(blank) => self.handle_between(bytes, blank, at, owner),
                Phase::Head => self.handle_head(bytes, at, head_max, owner),
                Phase::Body(left) => {
                    let count = left.min(bytes.len() as u64) as usize;
                    self.take_body(left, Body::Known(&bytes[..count]), at, owner);
                    count
                }
                Phase::Chunked(state) => self.handle_chunked(state, bytes, at, owner),
                Phase::UntilClose => {
                    owner.took(bytes.len() as u64, at);
                    owner.body(Body::Known(bytes), at);
                    bytes.len()
                }
                Phase::Lost => return owner.lost(bytes.len() as u64, at),
                Phase::Tunnel => return owner.tunnelled(Body::Known(bytes), at),
                Phase::Ignored => return,
            };
            bytes = &bytes[taken..];
        }
    }

    fn handle_between(
        &mut self,
        bytes: &[u8],
        blank: u64,
        at: UnixNs,
        owner: &mut impl MessageSink,
    ) -> usize {
        // Empty lines before a message (RFC 9112, section 2.2).
        let lines = bytes.iter().take_while(|&&byte| matches!(byte, b'\r' | b'\n')).count();
        let blank = blank + lines as u64;
        self.phase = Phase::Between(blank);
        if lines < bytes.len() {
            owner.begin(at);
            owner.took(blank, at);
            self.phase = Phase::Head;
        }
        lines
    }

    /// Takes bytes of a head, and returns how many; the rest of `bytes` is behind it.
    fn handle_head(
        &mut self,
        bytes: &[u8],
        at: UnixNs,
        head_max: usize,
        owner: &mut impl MessageSink,
    ) -> usize {
        let before = self.buffer.len();
        let whole = if before == 0 {
            bytes
        } else {
            // The limit bounds what is copied: a longer head is not looked for.
            self.buffer.extend_from_slice(&bytes[..bytes.len().min(head_max + 1)]);
            &self.buffer
        };
        if !head::may_begin(whole, self.reply) {
            self.give_up(at, owner);
            return bytes.len();
        }
        match head::find_end(whole, before.saturating_sub(3)) {
            Some(end) if end <= head_max => {
                owner.took((end - before) as u64, at);
                let framing = owner.head(&whole[..end]);
                self.buffer.clear();
                self.go_on(framing, at, owner);
                end - before
            }
            None if whole.len() <= head_max => {
                owner.took(bytes.len() as u64, at);
                if before == 0 {
                    self.buffer.extend_from_slice(bytes);
                }
                bytes.len()
            }
            _ => {
                owner.too_long(at);
                self.ignore();
                bytes.len()
            }
        }
    }

    fn go_on(&mut self, framing: MessageFraming, at: UnixNs, owner: &mut impl MessageSink) {
        self.phase = match framing {
            MessageFraming::Empty | MessageFraming::Length(0) => {
                owner.end(at);
                Phase::Between(0)
            }
            MessageFraming::Interim => Phase::Between(0),
            MessageFraming::Length(length) => Phase::Body(length),
            MessageFraming::Chunked => Phase::Chunked(Chunked::BEGIN),
            MessageFraming::UntilClose => Phase::UntilClose,
            MessageFraming::Tunnel => {
                owner.end(at);
                Phase::Tunnel
            }
            MessageFraming::NotHttp => return self.give_up(at, owner),
            MessageFraming::Unknown => Phase::Lost,
        };
        if self.buffer.capacity() > 1024 {
            self.buffer = Vec::new();
        }
    }

    fn give_up(&mut self, at: UnixNs, owner: &mut impl MessageSink) {
        self.ignore();
        if owner.not_http(at) {
            self.phase = Phase::Lost;
        }
    }

    /// Takes bytes of a body of which `left` are left.
    fn take_body(&mut self, left: u64, body: Body<'_>, at: UnixNs, owner: &mut impl MessageSink) {
        let count = body.count();
        owner.took(count, at);
        owner.body(body, at);
        self.phase = Phase::Body(left - count);
        if count == left {
            owner.end(at);
            self.phase = Phase::Between(0);
        }
    }

    fn handle_chunked(
        &mut self,
        mut state: Chunked,
        bytes: &[u8],
        at: UnixNs,
        owner: &mut impl MessageSink,
    ) -> usize {
        let step = state.step(bytes);
        self.phase = Phase::Chunked(state);
        match step {
            ChunkProgress::Taken { bytes: taken, body } => {
                owner.took(taken as u64, at);
                // A step takes data alone, or none.
                owner.body(Body::Known(&bytes[..body as usize]), at);
                taken
            }
            ChunkProgress::Ended { bytes } => {
                owner.took(bytes as u64, at);
                owner.end(at);
                self.phase = Phase::Between(0);
                bytes
            }
            ChunkProgress::Broken => {
                self.give_up(at, owner);
                bytes.len()
            }
        }
    }

    /// Takes `count` bytes of which only the number is known.
    fn handle_unknown(&mut self, count: u64, at: UnixNs, owner: &mut impl MessageSink) {
        match self.phase {
            Phase::Body(left) if count <= left => {
                return self.take_body(left, Body::Unknown(count), at, owner);
            }
            Phase::Body(left) => {
                owner.lossy();
                self.take_body(left, Body::Unknown(left), at, owner);
                owner.lost(count - left, at);
            }
            Phase::Chunked(mut state) => {
                if state.pass(count) {
                    owner.took(count, at);
                    owner.body(Body::Unknown(count), at);
                    self.phase = Phase::Chunked(state);
                    return;
                }
                owner.lost(count, at);
            }
            Phase::UntilClose => {
                owner.took(count, at);
                owner.body(Body::Unknown(count), at);
                return;
            }
            Phase::Head => {
                owner.cut_head(&self.buffer);
                owner.lost(count, at);
            }
            Phase::Between(_) | Phase::Lost => owner.lost(count, at),
            Phase::Tunnel => return owner.tunnelled(Body::Unknown(count), at),
            Phase::Ignored => return,
        }
        (self.phase, self.buffer) = (Phase::Lost, Vec::new());
    }
}
