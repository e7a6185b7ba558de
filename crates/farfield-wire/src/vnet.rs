//! The header that TUN puts before each packet when offload is on (`IFF_VNET_HDR`): virtio 1.2, section
//! 5.1.6, in its legacy form, whose fields are in the machine's order of bytes.
//!
//! A checksum that is still to do: the checksum field holds the sum of the pseudo-header, and someone sums
//! from `start` on. A segment that is still to cut: see [`Tso`](crate::Tso).

use crate::ip::ParseError;

const NEEDS_CHECKSUM: u8 = 1;
const DATA_VALID: u8 = 2;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_UDP_FRAGMENTS: u8 = 3;
const GSO_TCPV6: u8 = 4;
const GSO_UDP: u8 = 5;
const GSO_ECN: u8 = 0x80;

/// State of a packet's transport checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChecksumNeed {
    /// The checksum is in the packet, as ever.
    #[default]
    Whole,
    /// The packet's sender verified the checksum.
    Verified,
    /// The checksum is to be done: see [`complete_checksum`](crate::complete_checksum).
    Partial {
        /// Offset at which the sum begins, in bytes from the IP header on.
        start: u16,
        /// Offset of the field, in bytes from `start` on: 16 for TCP, 6 for UDP.
        offset: u16,
    },
}

/// Kind of a packet that is still to be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GsoKind {
    /// TCP over IPv4.
    TcpV4,
    /// TCP over IPv6.
    TcpV6,
    /// A UDP datagram, to be fragmented.
    UdpFragments,
    /// Many UDP datagrams of one size.
    Udp,
}

/// Cut that is still to be made in a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gso {
    /// Kind of the packet.
    pub kind: GsoKind,
    /// Bytes of payload a packet: with TCP, the MSS less options.
    pub size: u16,
    /// CWR belongs to the first packet alone.
    pub ecn: bool,
}

/// The header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VnetHeader {
    /// State of the checksum.
    pub checksum: ChecksumNeed,
    /// Cut of the packet, if it is to be cut.
    pub gso: Option<Gso>,
    /// Bytes of all headers of the packet: a hint, 0 if not given.
    pub header_len: u16,
}

impl VnetHeader {
    /// Bytes of the header, as TUN has it unless `TUNSETVNETHDRSZ` says otherwise.
    pub const LEN: usize = 10;

    /// Reads the header at the front of `bytes`.
    ///
    /// # Errors
    /// `Truncated` below 10 bytes, `Unknown` for a kind of segmentation that is not here, `Length` for one of
    /// size 0.
    pub fn parse(bytes: &[u8]) -> Result<VnetHeader, ParseError> {
        let bytes = bytes.first_chunk::<{ VnetHeader::LEN }>().ok_or(ParseError::Truncated)?;
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let checksum = match bytes[0] & (NEEDS_CHECKSUM | DATA_VALID) {
            0 => ChecksumNeed::Whole,
            DATA_VALID => ChecksumNeed::Verified,
            _ => ChecksumNeed::Partial { start: word(6), offset: word(8) },
        };
        let kind = match bytes[1] & !GSO_ECN {
            GSO_NONE => None,
            GSO_TCPV4 => Some(GsoKind::TcpV4),
            GSO_TCPV6 => Some(GsoKind::TcpV6),
            GSO_UDP_FRAGMENTS => Some(GsoKind::UdpFragments),
            GSO_UDP => Some(GsoKind::Udp),
            _ => return Err(ParseError::Unknown),
        };
        let gso = kind.map(|kind| Gso { kind, size: word(4), ecn: bytes[1] & GSO_ECN != 0 });
        if gso.is_some_and(|gso| gso.size == 0) {
            return Err(ParseError::Length);
        }
        Ok(VnetHeader { checksum, gso, header_len: word(2) })
    }

    /// The header's bytes.
    pub fn emit(&self) -> [u8; VnetHeader::LEN] {
        let (flags, start, offset) = match self.checksum {
            ChecksumNeed::Whole => (0, 0, 0),
            ChecksumNeed::Verified => (DATA_VALID, 0, 0),
            ChecksumNeed::Partial { start, offset } => (NEEDS_CHECKSUM, start, offset),
        };
        let (kind, size) = self.gso.map_or((GSO_NONE, 0), |gso| {
            let kind = match gso.kind {
                GsoKind::TcpV4 => GSO_TCPV4,
                GsoKind::TcpV6 => GSO_TCPV6,
                GsoKind::UdpFragments => GSO_UDP_FRAGMENTS,
                GsoKind::Udp => GSO_UDP,
            };
            (kind | if gso.ecn { GSO_ECN } else { 0 }, gso.size)
        });
        let mut bytes = [flags, kind, 0, 0, 0, 0, 0, 0, 0, 0];
        for (nth, word) in [self.header_len, size, start, offset].into_iter().enumerate() {
            bytes[2 + 2 * nth..4 + 2 * nth].copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_large_segment_as_linux_sends_it() {
        let gso = Gso { kind: GsoKind::TcpV4, size: 1448, ecn: false };
        let checksum = ChecksumNeed::Partial { start: 20, offset: 16 };
        let header = VnetHeader { checksum, gso: Some(gso), header_len: 52 };
        let words = [52u16, 1448, 20, 16].map(u16::to_ne_bytes).concat();
        assert_eq!(header.emit()[..], [&[1, 1][..], &words].concat());
        assert_eq!(VnetHeader::parse(&[0; 10]), Ok(VnetHeader::default()));
    }

    #[test]
    fn what_cannot_be_cut_is_refused() {
        assert_eq!(VnetHeader::parse(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 0]), Err(ParseError::Length));
        assert_eq!(VnetHeader::parse(&[0, 9, 0, 0, 1, 1, 0, 0, 0, 0]), Err(ParseError::Unknown));
        assert_eq!(VnetHeader::parse(&[0; 9]), Err(ParseError::Truncated));
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_back(bytes: [u8; 10]) {
            if let Ok(header) = VnetHeader::parse(&bytes) {
                prop_assert_eq!(VnetHeader::parse(&header.emit()), Ok(header));
            }
        }
    }
}
