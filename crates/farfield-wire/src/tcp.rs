//! TCP segments (RFC 9293, section 3.1): view and representation.

use crate::checksum::Sum;
use crate::field::{put_u16, put_u32, u16_at, u32_at};
use crate::ip::{Addresses, ParseError, Protocol};
use crate::seq::SeqNumber;
use crate::tcp_options::{TcpOptionIter, TcpOptions};
use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// Bytes of a header without options.
pub(crate) const HEADER_LEN: usize = 20;
/// Offset of the checksum in the header, in bytes, which offload asks for.
pub(crate) const CHECKSUM_AT: usize = 16;

/// A set of control bits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// No bit.
    pub const NONE: TcpFlags = TcpFlags(0);
    /// The sender has no more data.
    pub const FIN: TcpFlags = TcpFlags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: TcpFlags = TcpFlags(0x02);
    /// Reset the connection.
    pub const RST: TcpFlags = TcpFlags(0x04);
    /// Push.
    pub const PSH: TcpFlags = TcpFlags(0x08);
    /// The acknowledgment number counts.
    pub const ACK: TcpFlags = TcpFlags(0x10);
    /// The urgent pointer counts.
    pub const URG: TcpFlags = TcpFlags(0x20);
    /// ECN echo (RFC 3168).
    pub const ECE: TcpFlags = TcpFlags(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: TcpFlags = TcpFlags(0x80);

    /// True if all of `flags` are set.
    pub const fn contains(self, flags: TcpFlags) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// The flags without those in `flags`.
    #[must_use]
    pub const fn without(self, flags: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 & !flags.0)
    }
}

impl BitOr for TcpFlags {
    type Output = TcpFlags;
    fn bitor(self, other: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 | other.0)
    }
}

impl BitOrAssign for TcpFlags {
    fn bitor_assign(&mut self, other: TcpFlags) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for TcpFlags {
    /// As `SYN|ACK`; `-` if none is set.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
        let set = names.iter().enumerate().filter(|(bit, _)| self.0 >> bit & 1 != 0);
        for (nth, (_, name)) in set.enumerate() {
            f.write_str(if nth == 0 { "" } else { "|" })?;
            f.write_str(name)?;
        }
        f.write_str(if self.0 == 0 { "-" } else { "" })
    }
}

/// A view of a TCP segment.
#[derive(Debug, Clone, Copy)]
pub struct TcpPacket<'a> {
    bytes: &'a [u8],
}

impl<'a> TcpPacket<'a> {
    /// Views the payload of an IP packet.
    ///
    /// # Errors
    /// `Truncated` if the header does not fit, `Length` if the data offset is below 5 words.
    pub fn parse(bytes: &'a [u8]) -> Result<TcpPacket<'a>, ParseError> {
        if bytes.len() < HEADER_LEN {
            return Err(ParseError::Truncated);
        }
        let packet = TcpPacket { bytes };
        match packet.header_len() {
            length if length < HEADER_LEN => Err(ParseError::Length),
            length if length > bytes.len() => Err(ParseError::Truncated),
            _ => Ok(packet),
        }
    }

    /// All its bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The sender's port.
    pub fn source_port(&self) -> u16 {
        u16_at(self.bytes, 0)
    }

    /// The receiver's port.
    pub fn destination_port(&self) -> u16 {
        u16_at(self.bytes, 2)
    }

    /// The number of the first byte, or of the SYN.
    pub fn seq(&self) -> SeqNumber {
        SeqNumber(u32_at(self.bytes, 4))
    }

    /// The acknowledgment field, which counts if ACK is set.
    pub fn ack(&self) -> SeqNumber {
        SeqNumber(u32_at(self.bytes, 8))
    }

    /// Bytes of the header, options included: 20 to 60.
    pub fn header_len(&self) -> usize {
        usize::from(self.bytes[12] >> 4) * 4
    }

    /// The control bits.
    pub fn flags(&self) -> TcpFlags {
        TcpFlags(self.bytes[13])
    }

    /// The window field, not scaled.
    pub fn window(&self) -> u16 {
        u16_at(self.bytes, 14)
    }

    /// The urgent pointer.
    pub fn urgent(&self) -> u16 {
        u16_at(self.bytes, 18)
    }

    /// Options one by one.
    pub fn options(&self) -> TcpOptionIter<'a> {
        TcpOptionIter::new(&self.bytes[HEADER_LEN..self.header_len()])
    }

    /// The header, options included.
    pub fn header(&self) -> &'a [u8] {
        &self.bytes[..self.header_len()]
    }

    /// The data.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header_len()..]
    }

    /// Sequence numbers that it takes: its data, and one each for SYN and FIN (RFC 9293, section 3.4).
    pub fn seq_len(&self) -> u32 {
        let controls = (self.flags().0 & (TcpFlags::SYN | TcpFlags::FIN).0).count_ones();
        self.payload().len() as u32 + controls
    }

    /// True if its checksum is right between these addresses.
    pub fn checksum_is_valid(&self, addresses: &Addresses) -> bool {
        addresses.pseudo_header(Protocol::TCP, self.bytes.len()).bytes(self.bytes).fold() == 0xffff
    }
}

/// A valid TCP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpRepr {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// The number of the first byte, or of the SYN.
    pub seq: SeqNumber,
    /// The acknowledgment number, which counts if `flags` has ACK.
    pub ack: SeqNumber,
    /// The control bits.
    pub flags: TcpFlags,
    /// The window field, not scaled.
    pub window: u16,
    /// The urgent pointer, which counts if `flags` has URG.
    pub urgent: u16,
    /// The options.
    pub options: TcpOptions,
}

impl TcpRepr {
    /// Fields of the header of `packet`. Options end where they stop making sense (RFC 9293, MUST-7, leaves
    /// open what to do; this is Linux's way).
    pub fn parse(packet: &TcpPacket<'_>) -> TcpRepr {
        TcpRepr {
            source_port: packet.source_port(),
            destination_port: packet.destination_port(),
            seq: packet.seq(),
            ack: packet.ack(),
            flags: packet.flags(),
            window: packet.window(),
            urgent: packet.urgent(),
            options: TcpOptions::parse(packet.options()),
        }
    }

    /// The acknowledgment number, if it counts.
    pub fn acknowledges(&self) -> Option<SeqNumber> {
        self.flags.contains(TcpFlags::ACK).then_some(self.ack)
    }

    /// Bytes of the header: 20 to 60, a multiple of 4.
    pub fn header_len(&self) -> usize {
        HEADER_LEN + self.options.len()
    }

    /// Writes the header of a segment with this payload to the front of `out`, with its whole checksum;
    /// returns its length. The payload stays where it is.
    pub fn emit(&self, addresses: &Addresses, payload: &[u8], out: &mut [u8]) -> usize {
        let header_len = self.emit_partial(addresses, payload.len(), out);
        let header = &mut out[..header_len];
        let checksum = Sum::of(header).bytes(payload).checksum();
        put_u16(header, CHECKSUM_AT, checksum);
        header_len
    }

    /// As [`emit`](Self::emit), for checksum offload: the checksum field holds the sum of the pseudo-header
    /// alone, and the receiver of the segment with [`ChecksumNeed::Partial`](crate::ChecksumNeed) does the
    /// rest.
    pub fn emit_partial(&self, addresses: &Addresses, payload_len: usize, out: &mut [u8]) -> usize {
        let header_len = self.header_len();
        let header = &mut out[..header_len];
        put_u16(header, 0, self.source_port);
        put_u16(header, 2, self.destination_port);
        put_u32(header, 4, self.seq.0);
        put_u32(header, 8, self.ack.0);
        header[12] = (header_len as u8 / 4) << 4;
        header[13] = self.flags.0;
        put_u16(header, 14, self.window);
        put_u16(header, CHECKSUM_AT, addresses.pseudo_header(Protocol::TCP, header_len + payload_len).fold());
        put_u16(header, 18, self.urgent);
        self.options.emit(&mut header[HEADER_LEN..]);
        header_len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::complete_checksum;
    use crate::tcp_options::{SackBlocks, Timestamps};
    use proptest::prelude::*;

    const ADDRESSES: Addresses = Addresses::V4 {
        source: std::net::Ipv4Addr::new(198, 18, 0, 1),
        destination: std::net::Ipv4Addr::new(10, 0, 0, 1),
    };

    #[test]
    fn a_syn_laid_out_by_hand() {
        let repr = TcpRepr {
            source_port: 0x1234,
            destination_port: 80,
            seq: SeqNumber(0x0102_0304),
            flags: TcpFlags::SYN,
            window: 0xffff,
            options: TcpOptions {
                mss: Some(1460),
                window_scale: Some(7),
                sack_permitted: true,
                timestamps: Some(Timestamps { value: 0x0a0b_0c0d, echo: 0 }),
                sack: SackBlocks::default(),
            },
            ..TcpRepr::default()
        };
        let mut out = [0xaa; 60];
        assert_eq!(repr.emit(&ADDRESSES, &[], &mut out), 40);
        #[rustfmt::skip]
        let expected = [
            0x12, 0x34, 0, 80, 1, 2, 3, 4, 0, 0, 0, 0, 0xa0, 0x02, 0xff, 0xff, out[16], out[17], 0, 0,
            2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0x0a, 0x0b, 0x0c, 0x0d, 0, 0, 0, 0, 1, 3, 3, 7,
        ];
        assert_eq!(out[..40], expected);
        assert!(TcpPacket::parse(&out[..40]).unwrap().checksum_is_valid(&ADDRESSES));
        assert_eq!(format!("{:?}", TcpFlags::SYN | TcpFlags::ACK), "SYN|ACK");
    }

    #[test]
    fn a_data_offset_that_cannot_be_is_refused() {
        let mut bytes = [0u8; 24];
        let mut parse = |words: u8| {
            bytes[12] = words << 4;
            TcpPacket::parse(&bytes).err()
        };
        assert_eq!(parse(4), Some(ParseError::Length));
        assert_eq!(parse(7), Some(ParseError::Truncated));
        assert_eq!(parse(6), None);
    }

    #[test]
    fn syn_and_fin_take_a_number_each() {
        let seq_len = |flags, data: &[u8]| {
            let repr = TcpRepr { flags, ..TcpRepr::default() };
            let mut bytes = vec![0; repr.header_len()];
            repr.emit(&ADDRESSES, data, &mut bytes);
            bytes.extend(data);
            TcpPacket::parse(&bytes).unwrap().seq_len()
        };
        assert_eq!(seq_len(TcpFlags::ACK, b"abc"), 3);
        assert_eq!(seq_len(TcpFlags::FIN | TcpFlags::SYN, b"abc"), 5);
    }

    prop_compose! {
        fn options()(
            mss: Option<u16>, window_scale in prop::option::of(0u8..=14), sack_permitted: bool,
            timestamps: Option<(u32, u32)>,
            blocks in prop::collection::vec(any::<(u32, u32)>(), 0..=2),
        ) -> TcpOptions {
            let mut sack = SackBlocks::default();
            for (from, to) in blocks {
                sack.push(SeqNumber(from), SeqNumber(to));
            }
            let timestamps = timestamps.map(|(value, echo)| Timestamps { value, echo });
            TcpOptions { mss, window_scale, sack_permitted, timestamps, sack }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            ports: (u16, u16), seq: u32, ack: u32, flags: u8, window: u16, urgent: u16, options in options(),
            payload in prop::collection::vec(any::<u8>(), 0..2000),
        ) {
            let repr = TcpRepr {
                source_port: ports.0, destination_port: ports.1, seq: SeqNumber(seq), ack: SeqNumber(ack),
                flags: TcpFlags(flags), window, urgent, options,
            };
            let mut bytes = vec![0xaa; repr.header_len()];
            repr.emit(&ADDRESSES, &payload, &mut bytes);
            bytes.extend(&payload);
            let view = TcpPacket::parse(&bytes).unwrap();
            prop_assert!(view.checksum_is_valid(&ADDRESSES));
            prop_assert_eq!(TcpRepr::parse(&view), repr);
            prop_assert_eq!(view.payload(), &payload[..]);

            let whole = bytes.clone();
            repr.emit_partial(&ADDRESSES, payload.len(), &mut bytes);
            prop_assert!(complete_checksum(&mut bytes, 0, CHECKSUM_AT));
            prop_assert!(TcpPacket::parse(&bytes).unwrap().checksum_is_valid(&ADDRESSES));
            prop_assert_eq!(&bytes[18..], &whole[18..]);
        }
    }
}
