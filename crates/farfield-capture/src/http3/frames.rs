//! Frames of one direction of a request's stream (RFC 9114, section 7).

use crate::http::Body;
use crate::instant::UnixNs;
use crate::stream::StreamContent;

const DATA: u64 = 0;
const HEADERS: u64 = 1;

/// Something in a direction.
#[derive(Debug)]
pub(super) enum FrameEvent<'a> {
    /// So many bytes of a frame that counts, its header included.
    Bytes(u64),
    /// Bytes of the body.
    Body(Body<'a>),
    /// A field section, and when its first byte was there.
    Section(UnixNs, &'a [u8]),
    /// Bytes of it were never captured; what follows can be read.
    Lossy,
    /// Nothing of it can be read any more.
    Lost,
    /// The direction's end.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The kind and the length of a frame.
    Header,
    Content {
        kind: u64,
        left: u64,
    },
    Lost,
}

/// The frames of one direction.
#[derive(Debug)]
pub(super) struct Frames {
    phase: Phase,
    buffer: Vec<u8>,
    /// The instant at which the first byte of the frame was there.
    first: UnixNs,
}

/// An integer of variable length (RFC 9000, section 16) from the front.
pub(crate) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let len = 1 << (bytes.first()? >> 6);
    let (taken, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    let number = taken.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    // Its two highest bits are of the length.
    Some(number & (u64::MAX >> (66 - 8 * len as u32)))
}

impl Frames {
    /// Frames from the beginning of a direction.
    pub fn new() -> Frames {
        Frames { phase: Phase::Header, buffer: Vec::new(), first: UnixNs::default() }
    }

    /// Takes in what comes next; a field section has at most `section_max` bytes.
    pub fn handle(
        &mut self,
        next: StreamContent<'_>,
        at: UnixNs,
        section_max: usize,
        hand_on: &mut impl FnMut(FrameEvent<'_>),
    ) {
        match next {
            StreamContent::Bytes(bytes) => self.handle_bytes(bytes, at, section_max, hand_on),
            StreamContent::Cut(count) | StreamContent::Missing(count) => match &mut self.phase {
                Phase::Content { kind: DATA, left } if count <= *left => {
                    *left -= count;
                    hand_on(FrameEvent::Bytes(count));
                    hand_on(FrameEvent::Body(Body::Unknown(count)));
                    hand_on(FrameEvent::Lossy);
                    self.end_frame(hand_on);
                }
                Phase::Lost => {}
                _ => self.lose(hand_on),
            },
            StreamContent::Fin => hand_on(FrameEvent::End),
        }
    }

    fn lose(&mut self, hand_on: &mut impl FnMut(FrameEvent<'_>)) {
        (self.phase, self.buffer) = (Phase::Lost, Vec::new());
        hand_on(FrameEvent::Lost);
    }

    fn handle_bytes(
        &mut self,
        mut bytes: &[u8],
        at: UnixNs,
        section_max: usize,
        hand_on: &mut impl FnMut(FrameEvent<'_>),
    ) {
        while let Some(&byte) = bytes.first() {
            match &mut self.phase {
                Phase::Lost => return,
                Phase::Header => {
                    if self.buffer.is_empty() {
                        self.first = at;
                    }
                    self.buffer.push(byte);
                    bytes = &bytes[1..];
                    let mut header = &self.buffer[..];
                    if let (Some(kind), Some(left)) = (varint(&mut header), varint(&mut header)) {
                        if matches!(kind, DATA | HEADERS) {
                            hand_on(FrameEvent::Bytes(self.buffer.len() as u64));
                        }
                        self.buffer.clear();
                        if kind == HEADERS && left > section_max as u64 {
                            return self.lose(hand_on);
                        }
                        self.phase = Phase::Content { kind, left };
                        self.end_frame(hand_on);
                    }
                }
                Phase::Content { kind, left } => {
                    let count = (bytes.len() as u64).min(*left);
                    *left -= count;
                    let (content, rest) = bytes.split_at(count as usize);
                    bytes = rest;
                    match *kind {
                        DATA => {
                            hand_on(FrameEvent::Bytes(count));
                            hand_on(FrameEvent::Body(Body::Known(content)));
                        }
                        HEADERS => {
                            hand_on(FrameEvent::Bytes(count));
                            self.buffer.extend_from_slice(content);
                        }
                        _ => {}
                    }
                    self.end_frame(hand_on);
                }
            }
        }
    }

    /// Goes on to the next frame, if this one is whole.
    fn end_frame(&mut self, hand_on: &mut impl FnMut(FrameEvent<'_>)) {
        if let Phase::Content { kind, left: 0 } = self.phase {
            self.phase = Phase::Header;
            if kind == HEADERS {
                hand_on(FrameEvent::Section(self.first, &self.buffer));
                self.buffer.clear();
            }
        }
    }
}
