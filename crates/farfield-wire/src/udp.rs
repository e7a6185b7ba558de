//! UDP datagrams (RFC 768; RFC 8200, section 8.1 for IPv6).

use crate::checksum::Sum;
use crate::field::{put_u16, u16_at};
use crate::ip::{Addresses, ParseError, Protocol};

/// Bytes of the header.
pub(crate) const HEADER_LEN: usize = 8;
/// Offset of the checksum, in bytes.
const CHECKSUM_AT: usize = 6;

/// A view of a UDP datagram: exactly its length.
#[derive(Debug, Clone, Copy)]
pub struct UdpPacket<'a> {
    bytes: &'a [u8],
}

impl<'a> UdpPacket<'a> {
    /// Views the payload of an IP packet.
    ///
    /// # Errors
    /// `Length` if the length is below 8, `Truncated` if bytes are missing.
    pub fn parse(bytes: &'a [u8]) -> Result<UdpPacket<'a>, ParseError> {
        if bytes.len() < HEADER_LEN {
            return Err(ParseError::Truncated);
        }
        let length = usize::from(u16_at(bytes, 4));
        if length < HEADER_LEN {
            return Err(ParseError::Length);
        }
        let bytes = bytes.get(..length).ok_or(ParseError::Truncated)?;
        Ok(UdpPacket { bytes })
    }

    /// The sender's port.
    pub fn source_port(&self) -> u16 {
        u16_at(self.bytes, 0)
    }

    /// The receiver's port.
    pub fn destination_port(&self) -> u16 {
        u16_at(self.bytes, 2)
    }

    /// The data.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[HEADER_LEN..]
    }

    /// Bytes of header and data.
    pub fn wire_len(&self) -> usize {
        self.bytes.len()
    }

    /// True if it has a checksum. IPv4 allows none.
    pub fn has_checksum(&self) -> bool {
        u16_at(self.bytes, CHECKSUM_AT) != 0
    }

    /// True if its checksum is right between these addresses; one of zero means none, which IPv6 does not
    /// allow.
    pub fn checksum_is_valid(&self, addresses: &Addresses) -> bool {
        if !self.has_checksum() {
            return matches!(addresses, Addresses::V4 { .. });
        }
        addresses.pseudo_header(Protocol::UDP, self.bytes.len()).bytes(self.bytes).fold() == 0xffff
    }
}

/// A valid UDP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UdpRepr {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
}

impl UdpRepr {
    /// Fields of the header of `packet`.
    pub fn parse(packet: &UdpPacket<'_>) -> UdpRepr {
        UdpRepr { source_port: packet.source_port(), destination_port: packet.destination_port() }
    }

    /// Bytes of the header: 8.
    pub fn header_len(&self) -> usize {
        HEADER_LEN
    }

    /// Writes the header of a datagram with this payload to the front of `out`; returns its length.
    ///
    /// # Panics
    /// If the payload is longer than 65,527 bytes or `out` is too short.
    pub fn emit(&self, addresses: &Addresses, payload: &[u8], out: &mut [u8]) -> usize {
        self.emit_partial(addresses, payload.len(), out);
        let header = &mut out[..HEADER_LEN];
        let checksum = Sum::of(header).bytes(payload).checksum();
        put_u16(header, CHECKSUM_AT, if checksum == 0 { 0xffff } else { checksum });
        HEADER_LEN
    }

    /// As [`emit`](Self::emit), but leaves the checksum to offload: the field holds the sum of the
    /// pseudo-header (see [`ChecksumNeed::Partial`](crate::ChecksumNeed::Partial)).
    ///
    /// # Panics
    /// If the payload is longer than 65,527 bytes or `out` is too short.
    pub fn emit_partial(&self, addresses: &Addresses, payload_len: usize, out: &mut [u8]) -> usize {
        let length = HEADER_LEN + payload_len;
        let header = &mut out[..HEADER_LEN];
        put_u16(header, 0, self.source_port);
        put_u16(header, 2, self.destination_port);
        put_u16(header, 4, u16::try_from(length).expect("a UDP datagram has at most 65,535 bytes"));
        put_u16(header, CHECKSUM_AT, addresses.pseudo_header(Protocol::UDP, length).fold());
        HEADER_LEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::complete_checksum;
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    const V4: Addresses = Addresses::V4 { source: Ipv4Addr::LOCALHOST, destination: Ipv4Addr::BROADCAST };
    const V6: Addresses = Addresses::V6 { source: Ipv6Addr::LOCALHOST, destination: Ipv6Addr::LOCALHOST };

    #[test]
    fn no_checksum_is_fine_in_ipv4_alone() {
        let bytes = [0, 1, 0, 2, 0, 8, 0, 0];
        let view = UdpPacket::parse(&bytes).unwrap();
        assert!(view.checksum_is_valid(&V4) && !view.checksum_is_valid(&V6));
    }

    #[test]
    fn a_checksum_that_comes_out_as_zero_is_sent_as_ones() {
        // The payload is chosen so that everything sums to 0xffff.
        let repr = UdpRepr { source_port: 1, destination_port: 2 };
        let rest = V6.pseudo_header(Protocol::UDP, 10).word(1).word(2).word(10).fold();
        let payload = (!rest).to_be_bytes();
        let mut header = [0; 8];
        repr.emit(&V6, &payload, &mut header);
        assert_eq!(header[6..], [0xff, 0xff]);
    }

    #[test]
    fn impossible_lengths_are_refused() {
        let parse = |length: u8| UdpPacket::parse(&[0, 1, 0, 2, 0, length, 0, 0, 0]).err();
        assert_eq!(
            (parse(7), parse(10), parse(8)),
            (Some(ParseError::Length), Some(ParseError::Truncated), None)
        );
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            source_port: u16,
            destination_port: u16,
            payload in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let repr = UdpRepr { source_port, destination_port };
            for addresses in [V4, V6] {
                let mut bytes = vec![0xaa; 8];
                repr.emit(&addresses, &payload, &mut bytes);
                bytes.extend(&payload);
                bytes.push(0); // padding is not data
                let view = UdpPacket::parse(&bytes).unwrap();
                prop_assert!(view.checksum_is_valid(&addresses));
                prop_assert_eq!((UdpRepr::parse(&view), view.payload()), (repr, &payload[..]));
                // A checksum that offload completes is the same.
                let mut partial = vec![0xaa; 8];
                repr.emit_partial(&addresses, payload.len(), &mut partial);
                partial.extend(&payload);
                prop_assert!(complete_checksum(&mut partial, 0, 6));
                prop_assert_eq!(&partial, &bytes[..bytes.len() - 1]);
            }
        }
    }
}
