//! Headers of packets (RFC 9000, section 17), as far as they are not protected.

use crate::http3::varint;

/// The longest id of a connection (section 17.2).
const ID_MAX: usize = 20;

/// The type of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PacketKind {
    Initial,
    /// Early data.
    ZeroRtt,
    Handshake,
    Retry,
    /// Behind the handshake; its header is short.
    OneRtt,
}

/// A packet at the beginning of some bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packet<'a> {
    pub kind: PacketKind,
    /// The id that the receiver chose; empty for short headers, which do not say how long it is.
    pub destination: &'a [u8],
    /// The id that the sender chose.
    pub source: &'a [u8],
    /// The packet's bytes; one with a short header has all that is left.
    pub bytes: &'a [u8],
    /// The offset of its number in its bytes.
    pub number_at: usize,
}

/// Reads the packet at the beginning of `bytes`, whose receiver's id has `id_len` bytes in short headers;
/// returns it with what is behind it. `None` if nothing of version 1 begins so. The fixed bit may be
/// anything (RFC 9287).
pub(super) fn read(bytes: &[u8], id_len: usize) -> Option<(Packet<'_>, &[u8])> {
    let first = *bytes.first()?;
    if first & 0x80 == 0 {
        let number_at = 1 + id_len;
        let packet = Packet { kind: PacketKind::OneRtt, destination: &[], source: &[], bytes, number_at };
        return Some((packet, &[]));
    }
    let mut rest = bytes.get(1..)?;
    if take(&mut rest, 4)? != [0, 0, 0, 1] {
        return None;
    }
    let (destination, source) = (id(&mut rest)?, id(&mut rest)?);
    let kind = match first >> 4 & 3 {
        0 => PacketKind::Initial,
        1 => PacketKind::ZeroRtt,
        2 => PacketKind::Handshake,
        _ => {
            let packet =
                Packet { kind: PacketKind::Retry, destination, source, bytes, number_at: bytes.len() };
            return Some((packet, &[]));
        }
    };
    if kind == PacketKind::Initial {
        let token = varint(&mut rest)?;
        take(&mut rest, usize::try_from(token).ok()?)?;
    }
    let len = usize::try_from(varint(&mut rest)?).ok()?;
    let number_at = bytes.len() - rest.len();
    take(&mut rest, len)?;
    let packet = Packet { kind, destination, source, bytes: &bytes[..number_at + len], number_at };
    Some((packet, rest))
}

pub(super) fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

fn id<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = usize::from(*take(bytes, 1)?.first()?);
    if len > ID_MAX { None } else { take(bytes, len) }
}
