//! Frames of one direction of HTTP/2 (RFC 9113, section 4.1), cut out of a direction of TCP.
//!
//! The content of DATA is handed on as it comes, so that it may be missing; other frames are collected whole.

use crate::http::Body;
use crate::instant::UnixNs;
use crate::stream::StreamContent;

/// The first bytes of a client's connection (section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes of a frame's header.
pub(super) const HEADER: usize = 9;

const DATA: u8 = 0;
const SETTINGS: u8 = 4;

/// True if a connection of HTTP/2 begins with these bytes of a client, or of a server.
pub(crate) fn is_begun(bytes: &[u8], by_client: bool) -> bool {
    match by_client {
        // No method of HTTP/1 begins so.
        true => bytes.len() >= 3 && bytes.iter().zip(PREFACE).all(|(own, other)| own == other),
        false => bytes.len() >= HEADER && bytes[0] == 0 && bytes[3] == SETTINGS && bytes[5..9] == [0; 4],
    }
}

/// A frame's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub length: u64,
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    /// The instants at which its first byte was there, and the last that has come.
    pub first: UnixNs,
    pub last: UnixNs,
}

/// The receiver of frames and their parts.
pub(super) trait FrameSink {
    /// The header of a DATA frame.
    fn data_begins(&mut self, frame: &FrameHeader);
    /// More of a DATA frame's content, of which not all may be body.
    fn data(&mut self, frame: &FrameHeader, content: Body<'_>);
    /// Bytes of it were never captured.
    fn lossy(&mut self, frame: &FrameHeader);
    /// A frame is whole. Of DATA, `content` is empty or begins with the length of the padding.
    fn frame(&mut self, frame: &FrameHeader, content: &[u8]);
    /// The bounds of frames are not known any more.
    fn lost(&mut self);
    /// Bytes that come are no HTTP/2.
    fn not_http(&mut self);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// So many bytes of the preface have come.
    Preface(usize),
    Header,
    Content {
        frame: FrameHeader,
        left: u64,
    },
    /// Nothing is read any more.
    Ignored,
}

/// The frames of one direction.
#[derive(Debug)]
pub(super) struct Frames {
    phase: Phase,
    buffer: Vec<u8>,
    /// The instant at which the first byte in the buffer was there.
    first: UnixNs,
    /// A byte between frames was never captured.
    byte_missing: bool,
    content_max: usize,
}

impl Frames {
    /// Frames of a client, behind its preface, or of a server. No header block is longer than `content_max`.
    pub fn new(of_client: bool, content_max: usize) -> Frames {
        let phase = if of_client { Phase::Preface(0) } else { Phase::Header };
        Frames { phase, buffer: Vec::new(), first: UnixNs::default(), byte_missing: false, content_max }
    }

    /// Reads nothing any more.
    pub fn ignore(&mut self) {
        (self.phase, self.buffer) = (Phase::Ignored, Vec::new());
    }

    /// Takes in what comes next in the direction.
    pub fn handle(&mut self, next: StreamContent<'_>, at: UnixNs, owner: &mut impl FrameSink) {
        match next {
            StreamContent::Bytes(_) if self.byte_missing => self.lose(owner),
            StreamContent::Bytes(bytes) => self.handle_bytes(bytes, at, owner),
            // Between frames, one byte is likely a FIN that was not captured: no frame is as short.
            StreamContent::Missing(1) if self.phase == Phase::Header && self.buffer.is_empty() => {
                self.byte_missing = true;
            }
            StreamContent::Cut(count) => self.pass_over(count, at, false, owner),
            StreamContent::Missing(count) => self.pass_over(count, at, true, owner),
            StreamContent::Fin => {}
        }
    }

    /// `count` bytes are not known: within DATA they need not be.
    fn pass_over(&mut self, count: u64, at: UnixNs, is_missing: bool, owner: &mut impl FrameSink) {
        let Phase::Content { mut frame, left } = self.phase else { return self.lose(owner) };
        if frame.kind != DATA || count > left || self.awaits_padding(&frame) {
            return self.lose(owner);
        }
        frame.last = frame.last.max(at);
        owner.data(&frame, Body::Unknown(count));
        if is_missing {
            owner.lossy(&frame);
        }
        self.advance(frame, left - count, owner);
    }

    /// The first byte of padded content says how much is padding (section 6.1).
    fn awaits_padding(&self, frame: &FrameHeader) -> bool {
        frame.flags & 8 != 0 && self.buffer.is_empty()
    }

    fn lose(&mut self, owner: &mut impl FrameSink) {
        if self.phase != Phase::Ignored {
            self.ignore();
            owner.lost();
        }
    }

    fn handle_bytes(&mut self, mut bytes: &[u8], at: UnixNs, owner: &mut impl FrameSink) {
        while !bytes.is_empty() {
            match self.phase {
                Phase::Ignored => return,
                Phase::Preface(read) => {
                    let count = bytes.len().min(PREFACE.len() - read);
                    if bytes[..count] != PREFACE[read..read + count] {
                        self.ignore();
                        return owner.not_http();
                    }
                    bytes = &bytes[count..];
                    self.phase = match read + count {
                        whole if whole == PREFACE.len() => Phase::Header,
                        read => Phase::Preface(read),
                    };
                }
                Phase::Header => {
                    if self.buffer.is_empty() {
                        self.first = at;
                    }
                    let count = bytes.len().min(HEADER - self.buffer.len());
                    self.buffer.extend_from_slice(&bytes[..count]);
                    bytes = &bytes[count..];
                    if self.buffer.len() == HEADER {
                        self.begin(at, owner);
                    }
                }
                Phase::Content { mut frame, left } => {
                    let count = (bytes.len() as u64).min(left) as usize;
                    frame.last = frame.last.max(at);
                    if frame.kind == DATA {
                        if self.awaits_padding(&frame) {
                            self.buffer.push(bytes[0]);
                        }
                        owner.data(&frame, Body::Known(&bytes[..count]));
                    } else {
                        self.buffer.extend_from_slice(&bytes[..count]);
                    }
                    bytes = &bytes[count..];
                    self.advance(frame, left - count as u64, owner);
                }
            }
        }
    }

    /// The header in the buffer begins a frame.
    fn begin(&mut self, at: UnixNs, owner: &mut impl FrameSink) {
        let header = std::mem::take(&mut self.buffer);
        let length = u64::from(u32::from_be_bytes([0, header[0], header[1], header[2]]));
        let stream = u32::from_be_bytes([header[5], header[6], header[7], header[8]]) & !(1 << 31);
        let (kind, flags) = (header[3], header[4]);
        let frame = FrameHeader { length, kind, flags, stream, first: self.first, last: at };
        if kind != DATA && length > self.content_max as u64 {
            return self.lose(owner);
        }
        if kind == DATA {
            owner.data_begins(&frame);
        }
        self.advance(frame, length, owner);
    }

    fn advance(&mut self, frame: FrameHeader, left: u64, owner: &mut impl FrameSink) {
        if left > 0 {
            self.phase = Phase::Content { frame, left };
            return;
        }
        self.phase = Phase::Header;
        let content = std::mem::take(&mut self.buffer);
        owner.frame(&frame, &content);
    }
}
