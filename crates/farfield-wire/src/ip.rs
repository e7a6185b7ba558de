//! IPv4 and IPv6 in common: addresses, protocols, and a packet of either kind.

use crate::checksum::Sum;
use crate::icmp::IcmpPacket;
use crate::ipv4::{Ipv4Packet, Ipv4Repr};
use crate::ipv6::{Ipv6Packet, Ipv6Repr};
use crate::tcp::TcpPacket;
use crate::udp::UdpPacket;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why bytes are not the packet that they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// Fewer bytes than the header needs, or than its lengths say.
    #[error("the packet is cut short")]
    Truncated,
    /// Neither version 4 nor 6, or the other one of them.
    #[error("the IP version is not the expected one")]
    Version,
    /// A length inside the header contradicts the format or another length.
    #[error("a length in the header is impossible")]
    Length,
    /// A field holds what the protocol does not know.
    #[error("a field holds an unknown value")]
    Unknown,
}

/// Protocol that an IP packet carries, by IANA's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Protocol(pub u8);

impl Protocol {
    /// IPv6 hop-by-hop options.
    pub const HOP_BY_HOP: Protocol = Protocol(0);
    /// ICMP for IPv4.
    pub const ICMPV4: Protocol = Protocol(1);
    /// TCP.
    pub const TCP: Protocol = Protocol(6);
    /// UDP.
    pub const UDP: Protocol = Protocol(17);
    /// An IPv6 routing header.
    pub const ROUTING: Protocol = Protocol(43);
    /// An IPv6 fragment header.
    pub const FRAGMENT: Protocol = Protocol(44);
    /// An authentication header.
    pub const AUTHENTICATION: Protocol = Protocol(51);
    /// ICMP for IPv6.
    pub const ICMPV6: Protocol = Protocol(58);
    /// Nothing follows this IPv6 header.
    pub const NONE: Protocol = Protocol(59);
    /// IPv6 destination options.
    pub const DESTINATION_OPTIONS: Protocol = Protocol(60);
}

/// Source and destination, of one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Addresses {
    /// Addresses of an IPv4 packet.
    V4 {
        /// Sender's address.
        source: Ipv4Addr,
        /// Receiver's address.
        destination: Ipv4Addr,
    },
    /// Addresses of an IPv6 packet.
    V6 {
        /// Sender's address.
        source: Ipv6Addr,
        /// Receiver's address.
        destination: Ipv6Addr,
    },
}

impl Addresses {
    /// Sender's address.
    pub fn source(&self) -> IpAddr {
        match *self {
            Addresses::V4 { source, .. } => source.into(),
            Addresses::V6 { source, .. } => source.into(),
        }
    }

    /// Receiver's address.
    pub fn destination(&self) -> IpAddr {
        match *self {
            Addresses::V4 { destination, .. } => destination.into(),
            Addresses::V6 { destination, .. } => destination.into(),
        }
    }

    /// Addresses of the answer.
    #[must_use]
    pub fn reversed(self) -> Addresses {
        match self {
            Addresses::V4 { source, destination } => {
                Addresses::V4 { source: destination, destination: source }
            }
            Addresses::V6 { source, destination } => {
                Addresses::V6 { source: destination, destination: source }
            }
        }
    }

    /// The sum of the pseudo-header (RFC 9293, section 3.1; RFC 8200, section 8.1) over a message of
    /// `length` bytes, header and payload.
    pub fn pseudo_header(&self, protocol: Protocol, length: usize) -> Sum {
        let sum = match self {
            Addresses::V4 { source, destination } => Sum::of(&source.octets()).bytes(&destination.octets()),
            Addresses::V6 { source, destination } => Sum::of(&source.octets()).bytes(&destination.octets()),
        };
        // The length is 16 bits wide for IPv4 and 32 for IPv6, which sums to the same.
        sum.word((length >> 16) as u16).word(length as u16).word(u16::from(protocol.0))
    }
}

/// Part of its datagram that a fragment holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FragmentInfo {
    /// Offset of its payload in the datagram's, in bytes, a multiple of 8.
    pub offset_bytes: usize,
    /// More fragments follow it.
    pub more: bool,
    /// Identification that all fragments of a datagram share; 16 bits in IPv4.
    pub ident: u32,
}

/// A view of an IP packet of either version.
#[derive(Debug, Clone, Copy)]
pub enum IpPacket<'a> {
    /// Version 4.
    V4(Ipv4Packet<'a>),
    /// Version 6.
    V6(Ipv6Packet<'a>),
}

/// Transport message that a packet carries, as a view.
#[derive(Debug, Clone, Copy)]
pub enum Transport<'a> {
    /// A TCP segment.
    Tcp(TcpPacket<'a>),
    /// A UDP datagram.
    Udp(UdpPacket<'a>),
    /// An ICMP message in IPv4.
    Icmpv4(IcmpPacket<'a>),
    /// An ICMP message in IPv6.
    Icmpv6(IcmpPacket<'a>),
    /// A part of something, for the [`Reassembler`](crate::Reassembler).
    Fragment(FragmentInfo),
    /// Something else.
    Other(Protocol),
}

impl<'a> IpPacket<'a> {
    /// Views `bytes` as the IP packet that their first four bits say; bytes after its end are left out.
    ///
    /// # Errors
    /// When lengths do not agree, or the version is neither 4 nor 6.
    pub fn parse(bytes: &'a [u8]) -> Result<IpPacket<'a>, ParseError> {
        match bytes.first().map(|first| first >> 4) {
            Some(4) => Ipv4Packet::parse(bytes).map(IpPacket::V4),
            Some(6) => Ipv6Packet::parse(bytes).map(IpPacket::V6),
            Some(_) => Err(ParseError::Version),
            None => Err(ParseError::Truncated),
        }
    }

    /// Source and destination.
    pub fn addresses(&self) -> Addresses {
        match self {
            IpPacket::V4(packet) => packet.addresses(),
            IpPacket::V6(packet) => packet.addresses(),
        }
    }

    /// Protocol that it carries, IPv6 extension headers passed over.
    pub fn protocol(&self) -> Protocol {
        match self {
            IpPacket::V4(packet) => packet.protocol(),
            IpPacket::V6(packet) => packet.protocol(),
        }
    }

    /// Bytes after the header and IPv6 extension headers.
    pub fn payload(&self) -> &'a [u8] {
        match self {
            IpPacket::V4(packet) => packet.payload(),
            IpPacket::V6(packet) => packet.payload(),
        }
    }

    /// All its bytes.
    pub fn bytes(&self) -> &'a [u8] {
        match self {
            IpPacket::V4(packet) => packet.bytes(),
            IpPacket::V6(packet) => packet.bytes(),
        }
    }

    /// Bytes before the payload, IPv6 extension headers included.
    pub fn header_len(&self) -> usize {
        self.bytes().len() - self.payload().len()
    }

    /// TTL or hop limit.
    pub fn hop_limit(&self) -> u8 {
        match self {
            IpPacket::V4(packet) => packet.ttl(),
            IpPacket::V6(packet) => packet.hop_limit(),
        }
    }

    /// Place in a datagram, if the packet is a fragment. An IPv6 atomic fragment (RFC 6946) is one.
    pub fn fragment(&self) -> Option<FragmentInfo> {
        match self {
            IpPacket::V4(packet) => packet.fragment(),
            IpPacket::V6(packet) => packet.fragment(),
        }
    }

    /// Transport message that it carries, as a view.
    ///
    /// # Errors
    /// When lengths in the carried header do not agree with the payload's.
    pub fn transport(&self) -> Result<Transport<'a>, ParseError> {
        if let Some(fragment) = self.fragment() {
            return Ok(Transport::Fragment(fragment));
        }
        let payload = self.payload();
        match (self, self.protocol()) {
            (_, Protocol::TCP) => TcpPacket::parse(payload).map(Transport::Tcp),
            (_, Protocol::UDP) => UdpPacket::parse(payload).map(Transport::Udp),
            (IpPacket::V4(_), Protocol::ICMPV4) => IcmpPacket::parse(payload).map(Transport::Icmpv4),
            (IpPacket::V6(_), Protocol::ICMPV6) => IcmpPacket::parse(payload).map(Transport::Icmpv6),
            (_, other) => Ok(Transport::Other(other)),
        }
    }
}

/// The header of an IP packet of either version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IpRepr<'a> {
    /// Version 4.
    V4(Ipv4Repr<'a>),
    /// Version 6.
    V6(Ipv6Repr),
}

impl IpRepr<'static> {
    /// A plain header between `addresses`: hop limit 64, no options; in IPv4 with DF and identification 0,
    /// which RFC 6864 section 4.1 allows to what is never fragmented.
    pub fn new(addresses: Addresses, protocol: Protocol) -> IpRepr<'static> {
        match addresses {
            Addresses::V4 { source, destination } => IpRepr::V4(Ipv4Repr {
                source,
                destination,
                protocol,
                ttl: 64,
                traffic_class: 0,
                ident: 0,
                dont_fragment: true,
                more_fragments: false,
                fragment_offset_bytes: 0,
                options: &[],
            }),
            Addresses::V6 { source, destination } => IpRepr::V6(Ipv6Repr {
                source,
                destination,
                protocol,
                hop_limit: 64,
                traffic_class: 0,
                flow_label: 0,
            }),
        }
    }
}

impl IpRepr<'_> {
    /// Source and destination.
    pub fn addresses(&self) -> Addresses {
        match *self {
            IpRepr::V4(Ipv4Repr { source, destination, .. }) => Addresses::V4 { source, destination },
            IpRepr::V6(Ipv6Repr { source, destination, .. }) => Addresses::V6 { source, destination },
        }
    }

    /// Bytes of the header.
    pub fn header_len(&self) -> usize {
        match self {
            IpRepr::V4(repr) => repr.header_len(),
            IpRepr::V6(repr) => repr.header_len(),
        }
    }

    /// The header with another protocol as its payload's.
    #[must_use]
    pub fn with_protocol(mut self, carried: Protocol) -> Self {
        match &mut self {
            IpRepr::V4(repr) => repr.protocol = carried,
            IpRepr::V6(repr) => repr.protocol = carried,
        }
        self
    }

    /// Writes the header of a packet with `payload_len` bytes of payload to the front of `out`; returns its
    /// length.
    pub fn emit(&self, payload_len: usize, out: &mut [u8]) -> usize {
        match self {
            IpRepr::V4(repr) => repr.emit(payload_len, out),
            IpRepr::V6(repr) => repr.emit(payload_len, out),
        }
    }
}
