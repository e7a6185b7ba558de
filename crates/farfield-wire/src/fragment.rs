//! Fragmentation (RFC 791, section 3.2; RFC 8200, section 4.5): the packet stays in its buffer, and each
//! fragment is a header written elsewhere and a part of the packet's payload.

use crate::checksum::Sum;
use crate::field::{put_u16, put_u32};
use crate::ip::{IpPacket, ParseError};
use crate::ipv4::{self, Ipv4Packet};
use crate::ipv6::{FRAGMENT_HEADER_LEN, HEADER_LEN as V6_HEADER_LEN};

/// Why a packet cannot be fragmented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FragmentError {
    /// The bytes are no IP packet.
    #[error("not an IP packet: {0}")]
    Packet(#[from] ParseError),
    /// DF is set: the sender wants to be sent the MTU.
    #[error("the packet must not be fragmented")]
    DontFragment,
    /// An IPv6 packet that is a fragment already; only its source may cut it, and did.
    #[error("an IPv6 fragment cannot be fragmented again")]
    AlreadyFragmented,
    /// Header and 8 bytes do not fit.
    #[error("the MTU does not hold the header and 8 bytes")]
    MtuTooSmall,
}

/// One fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FragmentPiece<'a> {
    /// Bytes of its header, which lie in the buffer that was handed in.
    pub header_len: usize,
    /// Payload of the fragment, which follows the header.
    pub payload: &'a [u8],
}

/// The fragments of a packet, in order.
#[derive(Debug, Clone)]
pub struct Fragments<'a> {
    packet: IpPacket<'a>,
    mtu: usize,
    ident: u32,
    /// Headers that every fragment begins with in IPv6; the header in IPv4.
    front: &'a [u8],
    payload: &'a [u8],
    at: usize,
    done: bool,
}

impl<'a> Fragments<'a> {
    /// The most bytes that a header needs for IPv4, and for IPv6 packets without extension headers.
    pub const HEADER_LEN_MAX: usize = 60;

    /// Cuts `packet` into fragments of at most `mtu` bytes, one if it fits. `ident` is what IPv6 fragments
    /// will share, not used before between these addresses; IPv4 packets bring their own. That routers do not
    /// fragment IPv6 is for the caller to know.
    ///
    /// # Errors
    /// When it must not or cannot be cut.
    pub fn new(packet: &'a [u8], mtu: usize, ident: u32) -> Result<Fragments<'a>, FragmentError> {
        let packet = IpPacket::parse(packet)?;
        let bytes = packet.bytes();
        let front_len = match &packet {
            _ if bytes.len() <= mtu => packet.header_len(),
            IpPacket::V4(view) if view.dont_fragment() => return Err(FragmentError::DontFragment),
            IpPacket::V4(view) => view.header_len(),
            IpPacket::V6(view) if view.fragment().is_some() => return Err(FragmentError::AlreadyFragmented),
            IpPacket::V6(view) => view.fragmentable().0,
        };
        let added = if matches!(packet, IpPacket::V6(_)) { FRAGMENT_HEADER_LEN } else { 0 };
        if bytes.len() > mtu && mtu < front_len + added + 8 {
            return Err(FragmentError::MtuTooSmall);
        }
        let (front, payload) = bytes.split_at(front_len);
        Ok(Fragments { packet, mtu, ident, front, payload, at: 0, done: false })
    }

    /// The next fragment, its header written to the front of `header`.
    pub fn next(&mut self, header: &mut [u8]) -> Option<FragmentPiece<'a>> {
        if self.done {
            return None;
        }
        if self.packet.bytes().len() <= self.mtu {
            self.done = true;
            header[..self.front.len()].copy_from_slice(self.front);
            return Some(FragmentPiece { header_len: self.front.len(), payload: self.payload });
        }
        let left = self.payload.len() - self.at;
        let header_len = match self.packet {
            IpPacket::V4(view) => self.front_v4(&view, header),
            IpPacket::V6(_) => self.front.len() + FRAGMENT_HEADER_LEN,
        };
        let room = self.mtu - header_len;
        let (length, last) = if left <= room { (left, true) } else { (room / 8 * 8, false) };
        match self.packet {
            IpPacket::V4(view) => self.finish_v4(&view, header_len, length, last, header),
            IpPacket::V6(view) => self.write_v6(view.fragmentable().1, length, last, header),
        }
        let payload = &self.payload[self.at..self.at + length];
        self.at += length;
        self.done = last;
        Some(FragmentPiece { header_len, payload })
    }

    /// Copies the header; later fragments get only the options with the copied flag (RFC 791, section 3.1).
    fn front_v4(&self, view: &Ipv4Packet<'_>, header: &mut [u8]) -> usize {
        if self.at == 0 {
            header[..self.front.len()].copy_from_slice(self.front);
            return self.front.len();
        }
        let mut len = ipv4::HEADER_LEN;
        header[..len].copy_from_slice(&self.front[..len]);
        for option in view.options().filter(|option| option[0] & 0x80 != 0) {
            header[len..len + option.len()].copy_from_slice(option);
            len += option.len();
        }
        header[len..len.next_multiple_of(4)].fill(0);
        len.next_multiple_of(4)
    }

    fn finish_v4(
        &self,
        view: &Ipv4Packet<'_>,
        header_len: usize,
        length: usize,
        last: bool,
        header: &mut [u8],
    ) {
        let header = &mut header[..header_len];
        header[0] = 0x40 | (header_len / 4) as u8;
        put_u16(header, 2, (header_len + length) as u16);
        // The packet that is cut may be a fragment itself: its offset counts, and its last piece is last only
        // if it was.
        let more = !last || view.more_fragments();
        let offset = view.fragment_offset_bytes() + self.at;
        put_u16(header, 6, u16::from(more) << 13 | (offset / 8) as u16 & 0x1fff);
        put_u16(header, 10, 0);
        let checksum = Sum::of(header).checksum();
        put_u16(header, 10, checksum);
    }

    fn write_v6(&self, named_at: usize, length: usize, last: bool, header: &mut [u8]) {
        let front_len = self.front.len();
        header[..front_len].copy_from_slice(self.front);
        let carried = std::mem::replace(&mut header[named_at], crate::Protocol::FRAGMENT.0);
        put_u16(header, 4, (front_len - V6_HEADER_LEN + FRAGMENT_HEADER_LEN + length) as u16);
        header[front_len] = carried;
        header[front_len + 1] = 0;
        put_u16(header, front_len + 2, self.at as u16 | u16::from(!last));
        put_u32(header, front_len + 4, self.ident);
    }
}
