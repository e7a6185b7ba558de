//! ICMP for IPv6 (RFC 4443): echo, unreachable, packet too big, time exceeded. No neighbour discovery.

use crate::icmp::{self, IcmpPacket};
use crate::ip::{Addresses, ParseError};

/// Why a packet did not get there: the codes of type 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreachablev6 {
    /// Code 0: no route.
    NoRoute,
    /// Code 1: a filter.
    Prohibited,
    /// Code 3: the host does not answer.
    Address,
    /// Code 4: port unreachable.
    Port,
    /// Another code.
    Other(u8),
}

/// A valid ICMPv6 message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Icmpv6Repr<'a> {
    /// Type 128.
    EchoRequest {
        /// The identifier of its sender.
        ident: u16,
        /// Number of the echo request.
        sequence: u16,
        /// Data that should come back.
        data: &'a [u8],
    },
    /// Type 129.
    EchoReply {
        /// As in the request.
        ident: u16,
        /// As in the request.
        sequence: u16,
        /// As in the request.
        data: &'a [u8],
    },
    /// Type 1.
    Unreachable {
        /// Why.
        reason: Unreachablev6,
        /// The front of the packet that did not get there.
        quote: &'a [u8],
    },
    /// Type 2: it does not fit the next hop.
    PacketTooBig {
        /// Bytes that would fit.
        mtu: u32,
        /// The front of the packet.
        quote: &'a [u8],
    },
    /// Type 3: code 0, its hop limit ran out; code 1, fragments of it were missing for too long.
    TimeExceeded {
        /// Code 1.
        reassembling: bool,
        /// The front of the packet.
        quote: &'a [u8],
    },
}

impl<'a> Icmpv6Repr<'a> {
    /// Message in `packet`.
    ///
    /// # Errors
    /// `Unknown` for the types that are not here.
    pub fn parse(packet: &IcmpPacket<'a>) -> Result<Icmpv6Repr<'a>, ParseError> {
        let (ident, sequence) = icmp::halves(packet.word());
        let body = packet.body();
        match (packet.kind(), packet.code()) {
            (128, _) => Ok(Icmpv6Repr::EchoRequest { ident, sequence, data: body }),
            (129, _) => Ok(Icmpv6Repr::EchoReply { ident, sequence, data: body }),
            (1, code) => {
                let reason = match code {
                    0 => Unreachablev6::NoRoute,
                    1 => Unreachablev6::Prohibited,
                    3 => Unreachablev6::Address,
                    4 => Unreachablev6::Port,
                    code => Unreachablev6::Other(code),
                };
                Ok(Icmpv6Repr::Unreachable { reason, quote: body })
            }
            (2, _) => Ok(Icmpv6Repr::PacketTooBig { mtu: packet.word(), quote: body }),
            (3, code @ (0 | 1)) => Ok(Icmpv6Repr::TimeExceeded { reassembling: code == 1, quote: body }),
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
            Icmpv6Repr::EchoRequest { ident, sequence, data } => {
                ((128, 0), icmp::word(ident, sequence), data)
            }
            Icmpv6Repr::EchoReply { ident, sequence, data } => ((129, 0), icmp::word(ident, sequence), data),
            Icmpv6Repr::Unreachable { reason, quote } => {
                let code = match reason {
                    Unreachablev6::NoRoute => 0,
                    Unreachablev6::Prohibited => 1,
                    Unreachablev6::Address => 3,
                    Unreachablev6::Port => 4,
                    Unreachablev6::Other(code) => code,
                };
                ((1, code), 0, quote)
            }
            Icmpv6Repr::PacketTooBig { mtu, quote } => ((2, 0), mtu, quote),
            Icmpv6Repr::TimeExceeded { reassembling, quote } => ((3, u8::from(reassembling)), 0, quote),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::Ipv6Addr;

    const ADDRESSES: Addresses =
        Addresses::V6 { source: Ipv6Addr::LOCALHOST, destination: Ipv6Addr::LOCALHOST };

    #[test]
    fn packet_too_big_as_rfc_4443_draws_it() {
        let mut out = [0xaa; 12];
        Icmpv6Repr::PacketTooBig { mtu: 1280, quote: &[0x60, 0, 0, 0] }.emit(&ADDRESSES, &mut out);
        // The pseudo-header sums to 1 + 1 + 12 + 58; !(0x0048 + 0x0200 + 0x0500 + 0x6000) = 0x98b7
        assert_eq!(out, [2, 0, 0x98, 0xb7, 0, 0, 5, 0, 0x60, 0, 0, 0]);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            kind in 0u8..5,
            code: u8,
            ident: u16,
            sequence: u16,
            body in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            let quote = &body[..];
            let repr = match (kind, code) {
                (0, _) => Icmpv6Repr::EchoRequest { ident, sequence, data: quote },
                (1, _) => Icmpv6Repr::EchoReply { ident, sequence, data: quote },
                (2, _) => Icmpv6Repr::TimeExceeded { reassembling: code & 1 == 1, quote },
                (3, _) => Icmpv6Repr::PacketTooBig { mtu: u32::from(ident) * 3, quote },
                (_, 0..=4) => Icmpv6Repr::Unreachable { reason: Unreachablev6::Port, quote },
                (_, code) => Icmpv6Repr::Unreachable { reason: Unreachablev6::Other(code), quote },
            };
            let mut out = vec![0xaa; repr.wire_len()];
            repr.emit(&ADDRESSES, &mut out);
            let view = IcmpPacket::parse(&out).unwrap();
            prop_assert!(view.checksum_is_valid(&ADDRESSES));
            prop_assert_eq!(Icmpv6Repr::parse(&view), Ok(repr));
        }
    }
}
