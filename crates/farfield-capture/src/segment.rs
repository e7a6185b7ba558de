//! A TCP segment or a UDP datagram of an IP packet that may have been cut by the capture, or be larger than
//! any link carries.
//!
//! farfield-wire's views want a packet whole, so headers are read here: data that was cut off counts by its
//! length, and where offload left a total length of 0 (packets above 64 KiB) the frame's own length counts.

use farfield_wire::{Addresses, Protocol, TcpFlags};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The longest IP packet that is not taken for one that offload put together.
const ON_A_LINK_MAX: usize = 1500;

/// The verdict of a checksum on a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checksum {
    /// The checksum is right.
    Right,
    /// The checksum is wrong on a packet of which offload is no explanation.
    Wrong,
    /// The checksum is left to the network interface, or cannot be checked.
    Unknown,
}

/// A TCP segment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment<'a> {
    pub source: SocketAddr,
    pub destination: SocketAddr,
    /// IPv4's identification; 0 for IPv6.
    pub ident: u16,
    pub seq: u32,
    pub ack: u32,
    pub flags: TcpFlags,
    pub window: u16,
    /// The options, as bytes.
    pub options: &'a [u8],
    /// The data, as far as it was captured.
    pub data: &'a [u8],
    /// Bytes that the data has.
    pub data_len: usize,
    pub checksum: Checksum,
}

/// A UDP datagram, or several that a kernel had not cut apart yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Datagram<'a> {
    pub source: SocketAddr,
    pub destination: SocketAddr,
    /// The data, as far as it was captured.
    pub data: &'a [u8],
}

/// The content of an IP packet.
#[derive(Debug)]
pub(crate) enum IpContent<'a> {
    Segment(Segment<'a>),
    Datagram(Datagram<'a>),
    /// A part of a packet, to be put together with others.
    Fragment,
    /// Neither TCP nor UDP.
    Other,
    /// Lengths contradict each other, or headers were cut off.
    Malformed,
}

/// The header of an IP packet.
struct IpHead {
    addresses: Addresses,
    protocol: Protocol,
    ident: u16,
    fragment: bool,
    /// Bytes before the payload.
    len: usize,
    /// Bytes of the whole packet.
    total_len: usize,
}

/// Reads a packet of `original_len` bytes of which `bytes` were kept.
pub(crate) fn parse(bytes: &[u8], original_len: usize) -> IpContent<'_> {
    let head = match bytes.first().map(|first| first >> 4) {
        Some(4) => head_v4(bytes, original_len),
        Some(6) => head_v6(bytes, original_len),
        _ => None,
    };
    let Some(head) = head else { return IpContent::Malformed };
    if head.fragment {
        return IpContent::Fragment;
    }
    let kept = &bytes[..bytes.len().min(head.total_len)];
    match head.protocol {
        Protocol::TCP => {}
        Protocol::UDP => return datagram(kept, &head),
        _ => return IpContent::Other,
    }
    let Some(payload) = kept.get(head.len..) else { return IpContent::Malformed };
    // RFC 9293, section 3.1. Options may have been cut off; what is before them is needed.
    let Some(fixed) = payload.get(..20) else { return IpContent::Malformed };
    let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let number = |at: usize| u32::from(word(at)) << 16 | u32::from(word(at + 2));
    let header_len = usize::from(fixed[12] >> 4) * 4;
    let data_len = (head.total_len - head.len).checked_sub(header_len);
    let (20.., Some(data_len)) = (header_len, data_len) else { return IpContent::Malformed };
    let ends = head.addresses;
    IpContent::Segment(Segment {
        source: SocketAddr::new(ends.source(), word(0)),
        destination: SocketAddr::new(ends.destination(), word(2)),
        ident: head.ident,
        seq: number(4),
        ack: number(8),
        flags: TcpFlags(fixed[13]),
        window: word(14),
        options: &payload[20..header_len.min(payload.len())],
        data: payload.get(header_len..).unwrap_or_default(),
        data_len,
        checksum: checksum(payload, word(16), &head, kept.len()),
    })
}

/// RFC 768. Of a packet that offload put together the length may be that of a part.
fn datagram<'a>(kept: &'a [u8], head: &IpHead) -> IpContent<'a> {
    let Some(payload) = kept.get(head.len..) else { return IpContent::Malformed };
    let Some((fixed, data)) = payload.split_at_checked(8) else { return IpContent::Malformed };
    let port = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let ends = head.addresses;
    IpContent::Datagram(Datagram {
        source: SocketAddr::new(ends.source(), port(0)),
        destination: SocketAddr::new(ends.destination(), port(2)),
        data,
    })
}

/// Judges the checksum `field` of a segment, all of which is in `bytes` if the packet was not cut.
fn checksum(bytes: &[u8], field: u16, head: &IpHead, kept_len: usize) -> Checksum {
    if kept_len < head.total_len {
        return Checksum::Unknown;
    }
    let pseudo_header = head.addresses.pseudo_header(Protocol::TCP, bytes.len());
    if pseudo_header.bytes(bytes).fold() == 0xffff {
        return Checksum::Right;
    }
    // Checksum offload leaves the sum of the pseudo-header in the field, segmentation offload one without a
    // length.
    let without_length = head.addresses.pseudo_header(Protocol::TCP, 0);
    let offloaded = [pseudo_header.fold(), without_length.fold(), 0].contains(&field);
    if offloaded || head.total_len > ON_A_LINK_MAX { Checksum::Unknown } else { Checksum::Wrong }
}

/// RFC 791, section 3.1.
fn head_v4(bytes: &[u8], original_len: usize) -> Option<IpHead> {
    let fixed = bytes.get(..20)?;
    let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let len = usize::from(fixed[0] & 0x0f) * 4;
    let total_len = match usize::from(word(2)) {
        0 => original_len,
        total_len => total_len,
    };
    let address = |at: usize| [fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]].into();
    (len >= 20 && total_len >= len && total_len <= original_len).then(|| IpHead {
        addresses: Addresses::V4 { source: address(12), destination: address(16) },
        protocol: Protocol(fixed[9]),
        ident: word(4),
        fragment: word(6) & 0x3fff != 0,
        len,
        total_len,
    })
}

/// RFC 8200, sections 3 and 4.
fn head_v6(bytes: &[u8], original_len: usize) -> Option<IpHead> {
    let fixed = bytes.get(..40)?;
    let total_len = match usize::from(u16::from_be_bytes([fixed[4], fixed[5]])) {
        0 => original_len,
        payload_len => 40 + payload_len,
    };
    let address = |at: usize| {
        let octets: [u8; 16] = fixed[at..at + 16].try_into().expect("16 bytes");
        Ipv6Addr::from(octets)
    };
    let addresses = Addresses::V6 { source: address(8), destination: address(24) };
    let (mut protocol, mut len) = (Protocol(fixed[6]), 40);
    // Each turn passes over 8 bytes at least.
    let fragment = loop {
        let unit = match protocol {
            Protocol::HOP_BY_HOP | Protocol::ROUTING | Protocol::DESTINATION_OPTIONS => 8,
            Protocol::AUTHENTICATION => 4,
            Protocol::FRAGMENT => break true,
            _ => break false,
        };
        let more = if unit == 8 { 1 } else { 2 };
        let header = bytes.get(len..len + 2)?;
        protocol = Protocol(header[0]);
        len += (usize::from(header[1]) + more) * unit;
    };
    let whole = total_len >= len && total_len <= original_len;
    whole.then_some(IpHead { addresses, protocol, ident: 0, fragment, len, total_len })
}

/// An order of the two ends, the same for both directions.
pub(crate) fn ordered(a: SocketAddr, b: SocketAddr) -> (SocketAddr, SocketAddr) {
    let key = |end: &SocketAddr| match end.ip() {
        IpAddr::V4(ip) => (u128::from(u32::from(ip)), end.port()),
        IpAddr::V6(ip) => (u128::from(ip), end.port()),
    };
    if key(&a) <= key(&b) { (a, b) } else { (b, a) }
}
