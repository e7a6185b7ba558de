//! The reader of a request: the frames of its stream (RFC 9114, 4.1 and 7.2), from pieces of any size.

use super::SECTION_BYTES_MAX;
use crate::http2::server::RequestHeads;
use crate::http3::error::ErrorCode;
use crate::http3::frame;
use crate::http3::qpack;
use crate::http3::varint::Varint;
use bytes::{Buf, Bytes};

/// The result of the next bytes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestProgress {
    /// Nothing yet.
    Nothing,
    /// The end of its head.
    Head,
    /// The end of all of it.
    End,
    /// A mistake, for which the stream is reset with this code.
    Wrong(ErrorCode),
}

/// The reader of one request.
#[derive(Debug, Default)]
pub struct RequestStream {
    place: SectionPosition,
    varint: Varint,
    /// A field section that comes in pieces.
    section: Vec<u8>,
    has_head: bool,
    /// Bytes that came behind the head.
    rest: Bytes,
}

/// The next byte's place in a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum SectionPosition {
    #[default]
    Type,
    Length {
        kind: u64,
    },
    Section {
        left: u64,
    },
    Skipped {
        left: u64,
    },
}

impl RequestStream {
    /// Takes what came behind the head and was not read, if there is any.
    pub fn take_rest(&mut self) -> Option<Bytes> {
        (!self.rest.is_empty()).then(|| std::mem::take(&mut self.rest))
    }

    /// Takes the next bytes.
    pub fn read(&mut self, mut bytes: Bytes, heads: &mut RequestHeads) -> RequestProgress {
        while bytes.has_remaining() {
            match self.place {
                SectionPosition::Type | SectionPosition::Length { .. } => {
                    let Some(number) = self.varint.push(bytes.get_u8()) else { continue };
                    let SectionPosition::Length { kind } = self.place else {
                        self.place = SectionPosition::Length { kind: number };
                        continue;
                    };
                    self.place = match kind {
                        frame::HEADERS if number == 0 || number > SECTION_BYTES_MAX => {
                            return RequestProgress::Wrong(ErrorCode::EXCESSIVE_LOAD);
                        }
                        frame::HEADERS if !self.has_head => SectionPosition::Section { left: number },
                        frame::DATA if !self.has_head => {
                            return RequestProgress::Wrong(ErrorCode::FRAME_UNEXPECTED);
                        }
                        _ if number == 0 => SectionPosition::Type,
                        // Bodies, trailers, and frames that are not known.
                        _ => SectionPosition::Skipped { left: number },
                    };
                }
                SectionPosition::Section { left } => {
                    let piece = bytes.split_to(bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX)));
                    let left = left - piece.len() as u64;
                    let is_whole = left == 0 && self.section.is_empty();
                    if !is_whole {
                        self.section.extend_from_slice(&piece);
                    }
                    if left > 0 {
                        self.place = SectionPosition::Section { left };
                        continue;
                    }
                    (self.place, self.has_head, self.rest) = (SectionPosition::Type, true, bytes);
                    let section = std::mem::take(&mut self.section);
                    return decode(if is_whole { &piece } else { &section }, heads);
                }
                SectionPosition::Skipped { left } => {
                    let skipped = left.min(bytes.len() as u64);
                    bytes.advance(skipped as usize);
                    self.place = if left == skipped {
                        SectionPosition::Type
                    } else {
                        SectionPosition::Skipped { left: left - skipped }
                    };
                }
            }
        }
        RequestProgress::Nothing
    }

    /// The client has ended the stream.
    pub fn finish(&self) -> RequestProgress {
        match self.place == SectionPosition::Type && self.varint.is_between() && self.has_head {
            true => RequestProgress::End,
            false => RequestProgress::Wrong(ErrorCode::MESSAGE_ERROR),
        }
    }
}

/// Decodes the field section of a request.
fn decode(section: &[u8], heads: &mut RequestHeads) -> RequestProgress {
    heads.clear();
    let mut scratch = std::mem::take(heads.scratch());
    let decoded = qpack::decode(section, &mut scratch, &mut |name, value| heads.field(name, value));
    *heads.scratch() = scratch;
    match decoded {
        Err(_) => RequestProgress::Wrong(ErrorCode::DECOMPRESSION_FAILED),
        Ok(()) if heads.request().is_none() => RequestProgress::Wrong(ErrorCode::MESSAGE_ERROR),
        Ok(()) => RequestProgress::Head,
    }
}
