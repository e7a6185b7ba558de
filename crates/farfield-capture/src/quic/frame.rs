//! Frames (RFC 9000, section 19): those of streams, of the handshake and of the end; others are passed over.

use super::packet::take;
use crate::http3::varint;

/// A frame that counts.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame<'a> {
    Crypto {
        offset: u64,
        content: &'a [u8],
    },
    Stream {
        id: u64,
        offset: u64,
        content: &'a [u8],
        is_last: bool,
    },
    /// An end gives up its direction of a stream.
    Reset {
        id: u64,
    },
    Close,
}

/// Reads the frames of a packet, up to its end or to one that is not known; returns whether all were read.
pub(super) fn read<'a>(mut bytes: &'a [u8], mut hand_on: impl FnMut(Frame<'a>)) -> bool {
    while !bytes.is_empty() {
        let Some(frame) = next(&mut bytes) else { return false };
        if let Some(frame) = frame {
            hand_on(frame);
        }
    }
    true
}

/// The next frame, where it counts; `None` if it cannot be read.
fn next<'a>(bytes: &mut &'a [u8]) -> Option<Option<Frame<'a>>> {
    let kind = varint(bytes)?;
    let mut skip = |count: usize| (0..count).try_for_each(|_| varint(bytes).map(|_| ()));
    match kind {
        // PADDING, PING, HANDSHAKE_DONE, IMMEDIATE_ACK.
        0x00 | 0x01 | 0x1e | 0x1f => {}
        0x02 | 0x03 => {
            skip(2)?;
            let ranges = varint(bytes)?;
            varint(bytes)?;
            for _ in 0..ranges {
                varint(bytes)?;
                varint(bytes)?;
            }
            if kind == 0x03 {
                (0..3).try_for_each(|_| varint(bytes).map(|_| ()))?;
            }
        }
        0x04 => {
            let id = varint(bytes)?;
            varint(bytes)?;
            varint(bytes)?;
            return Some(Some(Frame::Reset { id }));
        }
        0x06 => {
            let offset = varint(bytes)?;
            return Some(Some(Frame::Crypto { offset, content: counted(bytes)? }));
        }
        0x07 => _ = counted(bytes)?,
        0x08..=0x0f => {
            let id = varint(bytes)?;
            let offset = if kind & 4 != 0 { varint(bytes)? } else { 0 };
            let content = if kind & 2 != 0 { counted(bytes)? } else { std::mem::take(bytes) };
            return Some(Some(Frame::Stream { id, offset, content, is_last: kind & 1 != 0 }));
        }
        // Limits of one number, and of two; what is blocked, ids that retire, and STOP_SENDING.
        0x10 | 0x12 | 0x13 | 0x14 | 0x16 | 0x17 | 0x19 => skip(1)?,
        0x05 | 0x11 | 0x15 => skip(2)?,
        0x18 => {
            skip(2)?;
            let len = usize::from(*take(bytes, 1)?.first()?);
            take(bytes, len + 16)?;
        }
        0x1a | 0x1b => _ = take(bytes, 8)?,
        0x1c | 0x1d => {
            // The error; the frame that it was in; the reason.
            skip(if kind == 0x1c { 2 } else { 1 })?;
            counted(bytes)?;
            return Some(Some(Frame::Close));
        }
        // DATAGRAM (RFC 9221), and ACK_FREQUENCY.
        0x30 => *bytes = &[],
        0x31 => _ = counted(bytes)?,
        0xaf => skip(4)?,
        _ => return None,
    }
    Some(None)
}

/// Bytes whose count stands before them.
fn counted<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = varint(bytes)?;
    take(bytes, usize::try_from(len).ok()?)
}
