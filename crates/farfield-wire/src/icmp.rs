//! Parts that ICMP messages of both families share: type, code, checksum, four bytes of the message's own, a
//! body (RFC 792; RFC 4443, section 2.1).

use crate::checksum::Sum;
use crate::field::{array_at, put, put_u16, u32_at};
use crate::ip::{Addresses, ParseError, Protocol};

/// Bytes before the body.
pub(crate) const HEADER_LEN: usize = 8;

/// A view of an ICMP message of either family.
#[derive(Debug, Clone, Copy)]
pub struct IcmpPacket<'a> {
    bytes: &'a [u8],
}

impl<'a> IcmpPacket<'a> {
    /// Views the payload of an IP packet.
    ///
    /// # Errors
    /// `Truncated` if it has fewer than 8 bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<IcmpPacket<'a>, ParseError> {
        if bytes.len() < HEADER_LEN { Err(ParseError::Truncated) } else { Ok(IcmpPacket { bytes }) }
    }

    /// The type.
    pub fn kind(&self) -> u8 {
        self.bytes[0]
    }

    /// The code: what the type means more exactly.
    pub fn code(&self) -> u8 {
        self.bytes[1]
    }

    /// The second word, whose meaning is the type's.
    pub fn word(&self) -> u32 {
        u32_at(self.bytes, 4)
    }

    /// The body: echoed data, or the packet that an error is about.
    pub fn body(&self) -> &'a [u8] {
        &self.bytes[HEADER_LEN..]
    }

    /// True if its checksum is right in a packet between these addresses, which count in IPv6 alone.
    pub fn checksum_is_valid(&self, addresses: &Addresses) -> bool {
        pseudo_header(addresses, self.bytes.len()).bytes(self.bytes).fold() == 0xffff
    }
}

/// ICMP has no pseudo-header in IPv4 (RFC 792) and IPv6's usual one (RFC 4443, section 2.3).
fn pseudo_header(addresses: &Addresses, length: usize) -> Sum {
    match addresses {
        Addresses::V4 { .. } => Sum::ZERO,
        Addresses::V6 { .. } => addresses.pseudo_header(Protocol::ICMPV6, length),
    }
}

/// Writes a whole message to the front of `out`; returns its length.
pub(crate) fn emit(
    addresses: &Addresses,
    (kind, code): (u8, u8),
    word: u32,
    body: &[u8],
    out: &mut [u8],
) -> usize {
    let length = HEADER_LEN + body.len();
    let message = &mut out[..length];
    put(message, 0, &[kind, code, 0, 0]);
    put(message, 4, &word.to_be_bytes());
    put(message, HEADER_LEN, body);
    let checksum = pseudo_header(addresses, length).bytes(message).checksum();
    put_u16(message, 2, checksum);
    length
}

/// An echo message's second word, of identifier and sequence number.
pub(crate) fn word(ident: u16, sequence: u16) -> u32 {
    u32::from(ident) << 16 | u32::from(sequence)
}

/// The two halves of an echo message's second word: identifier and sequence number.
pub(crate) fn halves(word: u32) -> (u16, u16) {
    let bytes = word.to_be_bytes();
    (u16::from_be_bytes(array_at(&bytes, 0)), u16::from_be_bytes(array_at(&bytes, 2)))
}
