//! TCP segmentation as views: one large segment stays in its buffer, and each of its MSS-sized packets is a
//! header written elsewhere and a range of the large one's payload.
//!
//! Each packet gets the header that a network card's segmentation gives it (Linux, `tcp_gso_segment`): its
//! own sequence number, IPv4 identification, lengths and checksums; FIN and PSH on the last alone, CWR on the
//! first alone. A [`Tso`] holds numbers only, so it can lie beside the buffer for as long as packets of it
//! are under way.

use crate::checksum::Sum;
use crate::field::{put_u16, put_u32, u16_at, u32_at};
use crate::ip::{IpPacket, ParseError, Protocol};
use crate::seq::SeqNumber;
use crate::tcp::{CHECKSUM_AT, TcpFlags, TcpPacket};
use std::ops::Range;

/// Why a packet cannot be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TsoError {
    /// The bytes are no IP packet with a TCP segment.
    #[error("not a TCP segment: {0}")]
    Packet(#[from] ParseError),
    /// The packet carries something else than TCP, or is a fragment.
    #[error("only whole TCP segments can be cut")]
    NotTcp,
    /// The size is zero.
    #[error("packets of no payload")]
    SizeZero,
}

/// Cut of a large segment into packets.
///
/// ```
/// use farfield_wire::{Addresses, IpRepr, Message, Protocol, TcpRepr, Tso, write_packet};
///
/// let addresses = Addresses::V4 { source: [198, 18, 0, 1].into(), destination: [10, 0, 0, 1].into() };
/// let (ip, tcp) = (IpRepr::new(addresses, Protocol::TCP), TcpRepr::default());
/// let mut large = vec![0; 20 + 20 + 4_000];
/// write_packet(&ip, &Message::Tcp(&tcp, &[b'x'; 4_000]), &mut large);
///
/// let tso = Tso::new(&large, 1_460)?;
/// let lengths: Vec<usize> = (0..tso.packets()).map(|index| tso.wire_len(index)).collect();
/// assert_eq!(lengths, [1_500, 1_500, 1_120]);
/// assert_eq!(tso.seq(1), tso.seq(0) + 1_460);
/// # Ok::<(), farfield_wire::TsoError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tso {
    ip_len: u16,
    header_len: u16,
    payload_len: u16,
    size: u16,
    first_seq: SeqNumber,
    flags: TcpFlags,
    is_v4: bool,
}

impl Tso {
    /// The most bytes that [`write_header`](Self::write_header) writes for packets without IPv6 extension
    /// headers.
    pub const HEADER_LEN_MAX: usize = 120;

    /// Cut of `packet`, an IP packet, into packets of at most `size` bytes of payload. One that is not larger
    /// stays one.
    ///
    /// # Errors
    /// When it is no whole TCP segment, or `size` is 0.
    pub fn new(packet: &[u8], size: u16) -> Result<Tso, TsoError> {
        let ip = IpPacket::parse(packet)?;
        if ip.protocol() != Protocol::TCP || ip.fragment().is_some() {
            return Err(TsoError::NotTcp);
        }
        if size == 0 {
            return Err(TsoError::SizeZero);
        }
        let tcp = TcpPacket::parse(ip.payload())?;
        let ip_len = ip.header_len();
        Ok(Tso {
            // Only an IPv6 packet of extension headers through and through has more.
            ip_len: u16::try_from(ip_len).map_err(|_| ParseError::Length)?,
            header_len: u16::try_from(ip_len + tcp.header_len()).map_err(|_| ParseError::Length)?,
            payload_len: tcp.payload().len() as u16,
            size,
            first_seq: tcp.seq(),
            flags: tcp.flags(),
            is_v4: matches!(ip, IpPacket::V4(_)),
        })
    }

    /// Packets that it is cut into, at least one.
    pub fn packets(&self) -> usize {
        usize::from(self.payload_len.div_ceil(self.size).max(1))
    }

    /// Bytes of all headers of each packet.
    pub fn header_len(&self) -> usize {
        usize::from(self.header_len)
    }

    /// Range in the large packet of the payload of packet `index`.
    ///
    /// # Panics
    /// If there is no such packet; so do all methods that take an index.
    pub fn payload(&self, index: usize) -> Range<usize> {
        assert!(index < self.packets(), "packet {index} of {}", self.packets());
        let (size, end) = (usize::from(self.size), usize::from(self.payload_len));
        let from = index * size;
        self.header_len() + from..self.header_len() + (from + size).min(end)
    }

    /// Bytes of packet `index` on the wire, IP header included.
    pub fn wire_len(&self, index: usize) -> usize {
        self.header_len() + self.payload(index).len()
    }

    /// The sequence number of packet `index`.
    pub fn seq(&self, index: usize) -> SeqNumber {
        self.first_seq + (self.payload(index).start - self.header_len()) as u32
    }

    /// The control bits of packet `index`.
    pub fn flags(&self, index: usize) -> TcpFlags {
        let mut flags = self.flags;
        if index + 1 < self.packets() {
            flags = flags.without(TcpFlags::FIN | TcpFlags::PSH);
        }
        if index > 0 {
            flags = flags.without(TcpFlags::CWR);
        }
        flags
    }

    /// Writes all headers of packet `index` to the front of `out`, checksums whole; returns their length.
    /// `packet` is the one that this was made from; whether its own checksum is whole or partial does not
    /// matter.
    pub fn write_header(&self, packet: &[u8], index: usize, out: &mut [u8]) -> usize {
        let header_len = self.header_len();
        let payload = &packet[self.payload(index)];
        let header = &mut out[..header_len];
        header.copy_from_slice(&packet[..header_len]);
        let (ip, tcp) = header.split_at_mut(usize::from(self.ip_len));
        self.write_ip(ip, index, tcp.len() + payload.len());

        put_u32(tcp, 4, self.seq(index).0);
        tcp[13] = self.flags(index).0;
        put_u16(tcp, CHECKSUM_AT, 0);
        // With a routing header the final destination would count (RFC 8200, section 8.1); no TCP of ours
        // uses one.
        let addresses = if self.is_v4 { &ip[12..20] } else { &ip[8..40] };
        let length = (tcp.len() + payload.len()) as u16;
        let pseudo = Sum::of(addresses).word(length).word(u16::from(Protocol::TCP.0));
        put_u16(tcp, CHECKSUM_AT, pseudo.bytes(tcp).bytes(payload).checksum());
        header_len
    }

    fn write_ip(&self, ip: &mut [u8], index: usize, carried_len: usize) {
        if self.is_v4 {
            put_u16(ip, 2, (ip.len() + carried_len) as u16);
            put_u16(ip, 4, u16_at(ip, 4).wrapping_add(index as u16));
            put_u16(ip, 10, 0);
            let checksum = Sum::of(ip).checksum();
            put_u16(ip, 10, checksum);
        } else {
            put_u16(ip, 4, (ip.len() - crate::ipv6::HEADER_LEN + carried_len) as u16);
        }
        debug_assert!(u32_at(ip, 0) >> 28 == if self.is_v4 { 4 } else { 6 });
    }
}
