//! ICMP for IPv4 (RFC 792, RFC 1122 section 3.2.2): echo, unreachable, time exceeded.

use crate::icmp::{self, IcmpPacket};
use crate::ip::{Addresses, ParseError};

/// Why a packet did not get there: the codes of type 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreachable {
    /// Code 0: no way to the network.
    Network,
    /// Code 1: the host does not answer.
    Host,
    /// Code 2: the host does not know the protocol.
    Protocol,
    /// Code 3: port unreachable.
    Port,
    /// Code 4: DF is set and the packet does not fit the next hop.
    FragmentationNeeded {
        /// Bytes that would fit (RFC 1191, section 4); 0 from a router that does not say.
        next_hop_mtu: u16,
    },
    /// Code 13: a filter (RFC 1812, section 5.2.7.1).
    Prohibited,
    /// Another code.
    Other(u8),
}

/// A valid ICMPv4 message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Icmpv4Repr<'a> {
    /// Type 8.
    EchoRequest {
        /// The identifier of its sender.
        ident: u16,
        /// Number of the echo request.
        sequence: u16,
        /// Data that should come back.
        data: &'a [u8],
    },
    /// Type 0.
    EchoReply {
        /// As in the request.
        ident: u16,
        /// As in the request.
        sequence: u16,
        /// As in the request.
        data: &'a [u8],
    },
    /// Type 3.
    Unreachable {
        /// Why.
        reason: Unreachable,
        /// The front of the packet that did not get there.
        quote: &'a [u8],
    },
    /// Type 11: code 0, its TTL ran out; code 1, fragments of it were missing for too long.
    TimeExceeded {
        /// Code 1.
        reassembling: bool,
        /// The front of the packet.
        quote: &'a [u8],
    },
}

impl<'a> Icmpv4Repr<'a> {
    /// Message in `packet`.
    ///
    /// # Errors
    /// `Unknown` for the types that are not here.
    pub fn parse(packet: &IcmpPacket<'a>) -> Result<Icmpv4Repr<'a>, ParseError> {
        let (ident, sequence) = icmp::halves(packet.word());
        let body = packet.body();
        match (packet.kind(), packet.code()) {
            (0, _) => Ok(Icmpv4Repr::EchoReply { ident, sequence, data: body }),
            (8, _) => Ok(Icmpv4Repr::EchoRequest { ident, sequence, data: body }),
            (3, code) => {
                let reason = match code {
                    0 => Unreachable::Network,
                    1 => Unreachable::Host,
                    2 => Unreachable::Protocol,
                    3 => Unreachable::Port,
                    4 => Unreachable::FragmentationNeeded { next_hop_mtu: sequence },
                    13 => Unreachable::Prohibited,
                    code => Unreachable::Other(code),
                };
                Ok(Icmpv4Repr::Unreachable { reason, quote: body })
            }
            (11, code @ (0 | 1)) => Ok(Icmpv4Repr::TimeExceeded { reassembling: code == 1, quote: body }),
            _ => Err(ParseError::Unknown),
        }
    }

    /// Bytes of the message.
    pub fn wire_len(&self) -> usize {
        icmp::HEADER_LEN + self.parts().2.len()
    }

    /// Writes the message to the front of `out`; returns its length.
    pub fn emit(&self, addresses: &Addresses, out: &mut [u8]) -> usize {
        let (kind, word, body) = self.parts();
        icmp::emit(addresses, kind, word, body, out)
    }

    /// Type and code, second word, body.
    fn parts(&self) -> ((u8, u8), u32, &'a [u8]) {
        match *self {
            Icmpv4Repr::EchoRequest { ident, sequence, data } => ((8, 0), icmp::word(ident, sequence), data),
            Icmpv4Repr::EchoReply { ident, sequence, data } => ((0, 0), icmp::word(ident, sequence), data),
            Icmpv4Repr::Unreachable { reason, quote } => {
                let (code, word) = match reason {
                    Unreachable::Network => (0, 0),
                    Unreachable::Host => (1, 0),
                    Unreachable::Protocol => (2, 0),
                    Unreachable::Port => (3, 0),
                    Unreachable::FragmentationNeeded { next_hop_mtu } => (4, u32::from(next_hop_mtu)),
                    Unreachable::Prohibited => (13, 0),
                    Unreachable::Other(code) => (code, 0),
                };
                ((3, code), word, quote)
            }
            Icmpv4Repr::TimeExceeded { reassembling, quote } => ((11, u8::from(reassembling)), 0, quote),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::Ipv4Addr;

    const ADDRESSES: Addresses =
        Addresses::V4 { source: Ipv4Addr::LOCALHOST, destination: Ipv4Addr::LOCALHOST };

    #[test]
    fn fragmentation_needed_as_rfc_1191_draws_it() {
        let reason = Unreachable::FragmentationNeeded { next_hop_mtu: 1006 };
        let mut out = [0xaa; 12];
        Icmpv4Repr::Unreachable { reason, quote: &[0x45, 0, 0, 0] }.emit(&ADDRESSES, &mut out);
        // !(0x0304 + 0x03ee + 0x4500) = 0xb40d
        assert_eq!(out, [3, 4, 0xb4, 0x0d, 0, 0, 0x03, 0xee, 0x45, 0, 0, 0]);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            kind in 0u8..4,
            code: u8,
            ident: u16,
            sequence: u16,
            body in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            let quote = &body[..];
            let repr = match (kind, code) {
                (0, _) => Icmpv4Repr::EchoRequest { ident, sequence, data: quote },
                (1, _) => Icmpv4Repr::EchoReply { ident, sequence, data: quote },
                (2, _) => Icmpv4Repr::TimeExceeded { reassembling: code & 1 == 1, quote },
                (_, 4) => {
                    let reason = Unreachable::FragmentationNeeded { next_hop_mtu: ident };
                    Icmpv4Repr::Unreachable { reason, quote }
                }
                (_, 3) => Icmpv4Repr::Unreachable { reason: Unreachable::Port, quote },
                (_, 0..=2 | 13) => Icmpv4Repr::Unreachable { reason: Unreachable::Prohibited, quote },
                (_, code) => Icmpv4Repr::Unreachable { reason: Unreachable::Other(code), quote },
            };
            let mut out = vec![0xaa; repr.wire_len()];
            repr.emit(&ADDRESSES, &mut out);
            let view = IcmpPacket::parse(&out).unwrap();
            prop_assert!(view.checksum_is_valid(&ADDRESSES));
            prop_assert_eq!(Icmpv4Repr::parse(&view), Ok(repr));
        }
    }
}
