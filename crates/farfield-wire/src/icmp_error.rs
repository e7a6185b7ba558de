//! ICMP errors that routers and hosts send about a packet that they cannot bring further: whether to send
//! one, to whom, and how much of the packet to quote (RFC 1122 section 3.2.2, RFC 1812 section 4.3.2, RFC
//! 4443 section 2.4). Also the answer to an echo request.
//!
//! It does not limit how often errors are sent (RFC 1812 section 4.3.2.8); that takes the time, which is the
//! router's.

use crate::icmpv4::{Icmpv4Repr, Unreachable};
use crate::icmpv6::{Icmpv6Repr, Unreachablev6};
use crate::ip::{Addresses, IpPacket, IpRepr, Protocol, Transport};
use crate::ipv4::{self, Ipv4Packet};
use crate::ipv6::{self, Ipv6Packet};
use crate::packet::{Message, write_packet};
use std::net::{IpAddr, Ipv4Addr};

/// RFC 1812, section 4.3.2.3: an ICMPv4 error has at most so many bytes, IP header included.
const ERROR_V4_LEN_MAX: usize = 576;
/// RFC 4443, section 2.4 (c): an ICMPv6 error fits the smallest MTU of IPv6.
const ERROR_V6_LEN_MAX: usize = 1280;
/// Bytes of an ICMP header.
const ICMP_LEN: usize = 8;
/// RFC 1812, section 4.3.2.5: errors go with precedence 6, internetwork control.
const ERROR_PRECEDENCE: u8 = 0xc0;

/// Fault of a packet, in words that both families have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum IcmpError {
    /// The packet's TTL or hop limit ran out here.
    HopLimitExceeded,
    /// Fragments of it did not come in time.
    ReassemblyTimeout,
    /// There is no route to its destination.
    NoRoute,
    /// The destination does not answer.
    HostUnreachable,
    /// The port is closed at its destination.
    PortUnreachable,
    /// A filter stopped it.
    Prohibited,
    /// The packet does not fit the next link and must not be fragmented.
    TooBig {
        /// Bytes that would fit.
        next_hop_mtu: u16,
    },
}

impl IcmpError {
    /// The most bytes that [`write`](Self::write) writes.
    pub const LEN_MAX: usize = ERROR_V6_LEN_MAX;

    /// Writes the error about `offending`, a whole IP packet, as sent by `from`, to the front of `out`, which
    /// must hold [`LEN_MAX`](Self::LEN_MAX) bytes; returns its length.
    ///
    /// `None`, and nothing written, if no error may be sent about that packet: it is an ICMP error itself, a
    /// later fragment, came from or goes to more than one host; or is no IP packet of the family of `from`.
    pub fn write(self, offending: &[u8], from: IpAddr, out: &mut [u8]) -> Option<usize> {
        match (IpPacket::parse(offending).ok()?, from) {
            (IpPacket::V4(packet), IpAddr::V4(from)) if may_answer_v4(&packet) => {
                let addresses = Addresses::V4 { source: from, destination: packet.source() };
                let IpRepr::V4(mut ip) = IpRepr::new(addresses, Protocol::ICMPV4) else { return None };
                ip.traffic_class = ERROR_PRECEDENCE;
                let quote = front(packet.bytes(), ERROR_V4_LEN_MAX - ipv4::HEADER_LEN - ICMP_LEN);
                Some(write_packet(&IpRepr::V4(ip), &Message::Icmpv4(self.v4(quote)), out))
            }
            (IpPacket::V6(packet), IpAddr::V6(from)) if self.may_answer_v6(&packet) => {
                let addresses = Addresses::V6 { source: from, destination: packet.source() };
                let quote = front(packet.bytes(), ERROR_V6_LEN_MAX - ipv6::HEADER_LEN - ICMP_LEN);
                let ip = IpRepr::new(addresses, Protocol::ICMPV6);
                Some(write_packet(&ip, &Message::Icmpv6(self.v6(quote)), out))
            }
            _ => None,
        }
    }

    fn v4(self, quote: &[u8]) -> Icmpv4Repr<'_> {
        let unreachable = |reason| Icmpv4Repr::Unreachable { reason, quote };
        match self {
            IcmpError::HopLimitExceeded => Icmpv4Repr::TimeExceeded { reassembling: false, quote },
            IcmpError::ReassemblyTimeout => Icmpv4Repr::TimeExceeded { reassembling: true, quote },
            IcmpError::NoRoute => unreachable(Unreachable::Network),
            IcmpError::HostUnreachable => unreachable(Unreachable::Host),
            IcmpError::PortUnreachable => unreachable(Unreachable::Port),
            IcmpError::Prohibited => unreachable(Unreachable::Prohibited),
            IcmpError::TooBig { next_hop_mtu } => {
                unreachable(Unreachable::FragmentationNeeded { next_hop_mtu })
            }
        }
    }

    fn v6(self, quote: &[u8]) -> Icmpv6Repr<'_> {
        let unreachable = |reason| Icmpv6Repr::Unreachable { reason, quote };
        match self {
            IcmpError::HopLimitExceeded => Icmpv6Repr::TimeExceeded { reassembling: false, quote },
            IcmpError::ReassemblyTimeout => Icmpv6Repr::TimeExceeded { reassembling: true, quote },
            IcmpError::NoRoute => unreachable(Unreachablev6::NoRoute),
            IcmpError::HostUnreachable => unreachable(Unreachablev6::Address),
            IcmpError::PortUnreachable => unreachable(Unreachablev6::Port),
            IcmpError::Prohibited => unreachable(Unreachablev6::Prohibited),
            IcmpError::TooBig { next_hop_mtu } => {
                Icmpv6Repr::PacketTooBig { mtu: u32::from(next_hop_mtu), quote }
            }
        }
    }

    /// RFC 4443, section 2.4 (e).
    fn may_answer_v6(self, packet: &Ipv6Packet<'_>) -> bool {
        let (source, destination) = (packet.source(), packet.destination());
        let is_error = packet.protocol() == Protocol::ICMPV6
            && packet.payload().first().is_none_or(|&kind| kind < 128 || kind == 137);
        let later = packet.fragment().is_some_and(|fragment| fragment.offset_bytes > 0);
        // (e.3): packet too big is for multicast as well, or path MTU discovery would not work for it.
        let to_many = destination.is_multicast() && !matches!(self, IcmpError::TooBig { .. });
        !is_error && !later && !to_many && !source.is_unspecified() && !source.is_multicast()
    }
}

/// RFC 1122, section 3.2.2.
fn may_answer_v4(packet: &Ipv4Packet<'_>) -> bool {
    let is_error = packet.protocol() == Protocol::ICMPV4
        && packet.payload().first().is_none_or(|kind| matches!(kind, 3 | 4 | 5 | 11 | 12));
    let first = packet.fragment_offset_bytes() == 0;
    !is_error && first && is_one_host(packet.source()) && !names_many(packet.destination())
}

fn is_one_host(source: Ipv4Addr) -> bool {
    !source.is_unspecified() && !source.is_loopback() && !names_many(source)
}

/// Multicast, class E and the limited broadcast. Directed broadcasts are known only where subnets are.
fn names_many(address: Ipv4Addr) -> bool {
    address.octets()[0] >= 224
}

fn front(bytes: &[u8], len_max: usize) -> &[u8] {
    &bytes[..bytes.len().min(len_max)]
}

/// Writes the answer to an echo request, if `packet` is one with a right checksum, to the front of `out`,
/// which must hold as many bytes as the packet; returns its length. Whether the destination is ours, the
/// caller knows.
pub fn echo_reply(packet: &[u8], out: &mut [u8]) -> Option<usize> {
    let packet = IpPacket::parse(packet).ok()?;
    let addresses = packet.addresses();
    if packet.addresses().destination().is_multicast() {
        return None;
    }
    let reply = match packet.transport().ok()? {
        Transport::Icmpv4(icmp) if icmp.checksum_is_valid(&addresses) => {
            match Icmpv4Repr::parse(&icmp).ok()? {
                Icmpv4Repr::EchoRequest { ident, sequence, data } => {
                    Message::Icmpv4(Icmpv4Repr::EchoReply { ident, sequence, data })
                }
                _ => return None,
            }
        }
        Transport::Icmpv6(icmp) if icmp.checksum_is_valid(&addresses) => {
            match Icmpv6Repr::parse(&icmp).ok()? {
                Icmpv6Repr::EchoRequest { ident, sequence, data } => {
                    Message::Icmpv6(Icmpv6Repr::EchoReply { ident, sequence, data })
                }
                _ => return None,
            }
        }
        _ => return None,
    };
    let mut ip = IpRepr::new(addresses.reversed(), reply.protocol());
    if let (IpRepr::V4(ip), IpPacket::V4(request)) = (&mut ip, packet) {
        // A ping without DF may be larger than some link on its way back.
        (ip.dont_fragment, ip.ident) = (request.dont_fragment(), request.ident());
    }
    Some(write_packet(&ip, &reply, out))
}
