//! IPv4 (RFC 791): header, options, and a fragment's place.

use crate::checksum::Sum;
use crate::field::{array_at, put, put_u16, u16_at};
use crate::ip::{Addresses, FragmentInfo, ParseError, Protocol};
use std::net::Ipv4Addr;

/// Bytes of a header without options.
pub(crate) const HEADER_LEN: usize = 20;
/// Bytes of options that fit a header.
const OPTIONS_LEN_MAX: usize = 40;
const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET: u16 = 0x1fff;

/// A view of an IPv4 packet: exactly its total length.
#[derive(Debug, Clone, Copy)]
pub struct Ipv4Packet<'a> {
    bytes: &'a [u8],
}

impl<'a> Ipv4Packet<'a> {
    /// Views the packet at the front of `bytes`.
    ///
    /// # Errors
    /// `Version` if it is not IPv4, `Length` if header and total length contradict, `Truncated` if bytes are
    /// missing.
    pub fn parse(bytes: &'a [u8]) -> Result<Ipv4Packet<'a>, ParseError> {
        if bytes.len() < HEADER_LEN {
            return Err(ParseError::Truncated);
        }
        if bytes[0] >> 4 != 4 {
            return Err(ParseError::Version);
        }
        let header_len = usize::from(bytes[0] & 0x0f) * 4;
        let total_len = usize::from(u16_at(bytes, 2));
        if header_len < HEADER_LEN || total_len < header_len {
            return Err(ParseError::Length);
        }
        let bytes = bytes.get(..total_len).ok_or(ParseError::Truncated)?;
        Ok(Ipv4Packet { bytes })
    }

    /// All its bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Bytes of the header, options included: 20 to 60.
    pub fn header_len(&self) -> usize {
        usize::from(self.bytes[0] & 0x0f) * 4
    }

    /// The header, options included.
    pub fn header(&self) -> &'a [u8] {
        &self.bytes[..self.header_len()]
    }

    /// Bytes after the header.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header_len()..]
    }

    /// DSCP and ECN, the former type of service.
    pub fn traffic_class(&self) -> u8 {
        self.bytes[1]
    }

    /// The identification that the fragments of a datagram share.
    pub fn ident(&self) -> u16 {
        u16_at(self.bytes, 4)
    }

    /// DF: routers must not fragment it.
    pub fn dont_fragment(&self) -> bool {
        u16_at(self.bytes, 6) & DONT_FRAGMENT != 0
    }

    /// MF: it is not the last fragment.
    pub fn more_fragments(&self) -> bool {
        u16_at(self.bytes, 6) & MORE_FRAGMENTS != 0
    }

    /// Offset of its payload in the datagram's, in bytes.
    pub fn fragment_offset_bytes(&self) -> usize {
        usize::from(u16_at(self.bytes, 6) & OFFSET) * 8
    }

    /// Place of the packet in a fragmented datagram, if it is a fragment.
    pub fn fragment(&self) -> Option<FragmentInfo> {
        let (offset_bytes, more) = (self.fragment_offset_bytes(), self.more_fragments());
        let ident = u32::from(self.ident());
        (more || offset_bytes > 0).then_some(FragmentInfo { offset_bytes, more, ident })
    }

    /// Hops that are left.
    pub fn ttl(&self) -> u8 {
        self.bytes[8]
    }

    /// Protocol that it carries.
    pub fn protocol(&self) -> Protocol {
        Protocol(self.bytes[9])
    }

    /// Sender's address.
    pub fn source(&self) -> Ipv4Addr {
        array_at::<4>(self.bytes, 12).into()
    }

    /// Receiver's address.
    pub fn destination(&self) -> Ipv4Addr {
        array_at::<4>(self.bytes, 16).into()
    }

    /// Source and destination.
    pub fn addresses(&self) -> Addresses {
        Addresses::V4 { source: self.source(), destination: self.destination() }
    }

    /// The bytes of its options, padding included: 0 to 40, a multiple of 4.
    pub fn options_bytes(&self) -> &'a [u8] {
        &self.header()[HEADER_LEN..]
    }

    /// Options of the header.
    pub fn options(&self) -> Ipv4Options<'a> {
        Ipv4Options { bytes: self.options_bytes() }
    }

    /// True if the header's checksum is right.
    pub fn checksum_is_valid(&self) -> bool {
        Sum::of(self.header()).fold() == 0xffff
    }
}

/// Options one by one, each with its kind and length bytes. Stops at the end of the list or at the first
/// option whose length is impossible.
#[derive(Debug, Clone)]
pub struct Ipv4Options<'a> {
    bytes: &'a [u8],
}

impl<'a> Iterator for Ipv4Options<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let length = match *self.bytes.first()? {
            0 => return None,
            1 => 1, // no operation
            _ => usize::from(*self.bytes.get(1)?),
        };
        if length < 1 || (length < 2 && self.bytes[0] != 1) {
            return None;
        }
        let (option, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(option)
    }
}

/// A valid IPv4 header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv4Repr<'a> {
    /// Sender's address.
    pub source: Ipv4Addr,
    /// Receiver's address.
    pub destination: Ipv4Addr,
    /// Protocol that it carries.
    pub protocol: Protocol,
    /// Hops that it may take.
    pub ttl: u8,
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// The identification that the fragments of a datagram share.
    pub ident: u16,
    /// DF.
    pub dont_fragment: bool,
    /// MF.
    pub more_fragments: bool,
    /// Offset of its payload in the datagram's, in bytes: a multiple of 8, below 65,536.
    pub fragment_offset_bytes: u16,
    /// Options as bytes, at most 40; padded to a multiple of 4 when written.
    pub options: &'a [u8],
}

impl<'a> Ipv4Repr<'a> {
    /// Fields of the header of `packet`.
    pub fn parse(packet: &Ipv4Packet<'a>) -> Ipv4Repr<'a> {
        Ipv4Repr {
            source: packet.source(),
            destination: packet.destination(),
            protocol: packet.protocol(),
            ttl: packet.ttl(),
            traffic_class: packet.traffic_class(),
            ident: packet.ident(),
            dont_fragment: packet.dont_fragment(),
            more_fragments: packet.more_fragments(),
            fragment_offset_bytes: packet.fragment_offset_bytes() as u16,
            options: packet.options_bytes(),
        }
    }

    /// Bytes of the header.
    pub fn header_len(&self) -> usize {
        HEADER_LEN + self.options.len().next_multiple_of(4)
    }

    /// Writes the header of a packet with `payload_len` bytes of payload to the front of `out`; returns its
    /// length.
    ///
    /// # Panics
    /// If the packet would be longer than 65,535 bytes, the options longer than 40, or `out` is too short.
    pub fn emit(&self, payload_len: usize, out: &mut [u8]) -> usize {
        assert!(self.options.len() <= OPTIONS_LEN_MAX, "options of {} bytes", self.options.len());
        let header_len = self.header_len();
        let total_len =
            u16::try_from(header_len + payload_len).expect("an IPv4 packet has at most 65,535 bytes");
        let header = &mut out[..header_len];
        header[0] = 0x40 | (header_len / 4) as u8;
        header[1] = self.traffic_class;
        put_u16(header, 2, total_len);
        put_u16(header, 4, self.ident);
        put_u16(header, 6, self.fragment_word());
        header[8] = self.ttl;
        header[9] = self.protocol.0;
        put_u16(header, 10, 0);
        put(header, 12, &self.source.octets());
        put(header, 16, &self.destination.octets());
        header[HEADER_LEN..].fill(0);
        put(header, HEADER_LEN, self.options);
        let checksum = Sum::of(header).checksum();
        put_u16(header, 10, checksum);
        header_len
    }

    fn fragment_word(&self) -> u16 {
        debug_assert!(self.fragment_offset_bytes.is_multiple_of(8));
        let dont = if self.dont_fragment { DONT_FRAGMENT } else { 0 };
        let more = if self.more_fragments { MORE_FRAGMENTS } else { 0 };
        dont | more | (self.fragment_offset_bytes / 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The header that textbooks compute by hand: UDP from 192.168.0.1 to 192.168.0.199, checksum 0xb861.
    const BY_HAND: [u8; 20] = [
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0,
        0xa8, 0x00, 0xc7,
    ];

    #[test]
    fn a_header_computed_by_hand() {
        let mut packet = BY_HAND.to_vec();
        packet.resize(0x73 + 5, 0xee); // and five bytes of link padding
        let view = Ipv4Packet::parse(&packet).unwrap();
        assert!(view.checksum_is_valid());
        assert_eq!(view.payload().len(), 0x73 - 20);
        assert_eq!(view.fragment(), None);
        let repr = Ipv4Repr::parse(&view);
        assert_eq!((repr.ttl, repr.protocol, repr.dont_fragment), (64, Protocol::UDP, true));
        let mut written = [0xaa; 20];
        repr.emit(0x73 - 20, &mut written);
        assert_eq!(written, BY_HAND);
    }

    #[test]
    fn impossible_lengths_are_refused() {
        let refuse = |at: usize, byte: u8, error| {
            let mut packet = BY_HAND.to_vec();
            packet.resize(0x73, 0);
            packet[at] = byte;
            assert_eq!(Ipv4Packet::parse(&packet).err(), Some(error), "byte {at} = {byte:#x}");
        };
        refuse(0, 0x65, ParseError::Version);
        refuse(0, 0x44, ParseError::Length);
        refuse(3, 0x13, ParseError::Length);
        refuse(3, 0x74, ParseError::Truncated);
    }

    #[test]
    fn options_end_where_they_stop_making_sense() {
        let count = |bytes: &[u8]| Ipv4Options { bytes }.count();
        assert_eq!(count(&[1, 0x94, 4, 0, 0, 0, 1]), 2); // a no-op, router alert, end
        assert_eq!(count(&[0x94, 1, 1, 1]), 0);
        assert_eq!(count(&[0x94, 0, 1, 1]), 0);
        assert_eq!(count(&[1, 0x94, 9, 1]), 1);
        assert_eq!(count(&[0x94]), 0);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            addresses: (u32, u32), fields: (u8, u8, u8, u16, bool, bool), offset in 0u16..8192,
            options in prop::collection::vec(any::<u8>(), 0..=10).prop_map(|words| words.repeat(4)),
            payload_len in 0usize..2000,
        ) {
            let repr = Ipv4Repr {
                source: addresses.0.into(), destination: addresses.1.into(), protocol: Protocol(fields.0),
                ttl: fields.1,
                traffic_class: fields.2, ident: fields.3, dont_fragment: fields.4, more_fragments: fields.5,
                fragment_offset_bytes: offset * 8, options: &options,
            };
            let mut packet = vec![0xaa; repr.header_len() + payload_len];
            repr.emit(payload_len, &mut packet);
            let view = Ipv4Packet::parse(&packet).unwrap();
            prop_assert!(view.checksum_is_valid());
            prop_assert_eq!(view.payload().len(), payload_len);
            prop_assert_eq!(Ipv4Repr::parse(&view), repr);
        }
    }
}
