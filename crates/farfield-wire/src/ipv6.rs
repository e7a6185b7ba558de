//! IPv6 (RFC 8200): header, and as much of extension headers as finding what they precede takes.

use crate::field::{array_at, put, put_u16, put_u32, u16_at, u32_at};
use crate::ip::{Addresses, FragmentInfo, ParseError, Protocol};
use std::net::Ipv6Addr;

/// Bytes of the fixed header.
pub(crate) const HEADER_LEN: usize = 40;
/// Bytes of a fragment header.
pub(crate) const FRAGMENT_HEADER_LEN: usize = 8;

/// A view of an IPv6 packet: the fixed header and exactly its payload length, extension headers walked.
#[derive(Debug, Clone, Copy)]
pub struct Ipv6Packet<'a> {
    bytes: &'a [u8],
    chain: Chain,
}

/// End of a chain of extension headers, and places in it.
#[derive(Debug, Clone, Copy)]
struct Chain {
    /// Protocol after the chain.
    protocol: Protocol,
    /// Offset at which that begins.
    end: usize,
    /// Offset of the byte that names the protocol of the first header that every fragment need not carry.
    fragmentable_named_at: usize,
    /// Offset of that header.
    fragmentable_at: usize,
    /// Offset of the fragment header, if there is one.
    fragment_at: Option<usize>,
    /// Offset of the byte that names it.
    fragment_named_at: usize,
}

impl<'a> Ipv6Packet<'a> {
    /// Views the packet at the front of `bytes`.
    ///
    /// The chain of extension headers is followed to the first header that is none; in a fragment other
    /// than the first, to the fragment header, after which comes data.
    ///
    /// # Errors
    /// `Version` if it is not IPv6, `Truncated` if it or its chain of headers has fewer bytes than they say.
    pub fn parse(bytes: &'a [u8]) -> Result<Ipv6Packet<'a>, ParseError> {
        if bytes.len() < HEADER_LEN {
            return Err(ParseError::Truncated);
        }
        if bytes[0] >> 4 != 6 {
            return Err(ParseError::Version);
        }
        let bytes = bytes.get(..HEADER_LEN + usize::from(u16_at(bytes, 4))).ok_or(ParseError::Truncated)?;
        Ok(Ipv6Packet { bytes, chain: walk(bytes)? })
    }

    /// All its bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Bytes after the extension headers.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.chain.end..]
    }

    /// Protocol that it carries after the extension headers; in a fragment other than the first, the one that
    /// its fragment header names.
    pub fn protocol(&self) -> Protocol {
        self.chain.protocol
    }

    /// DSCP and ECN.
    pub fn traffic_class(&self) -> u8 {
        (u16_at(self.bytes, 0) >> 4) as u8
    }

    /// The flow label, 20 bits.
    pub fn flow_label(&self) -> u32 {
        u32_at(self.bytes, 0) & 0x000f_ffff
    }

    /// Hops that are left.
    pub fn hop_limit(&self) -> u8 {
        self.bytes[7]
    }

    /// Sender's address.
    pub fn source(&self) -> Ipv6Addr {
        array_at::<16>(self.bytes, 8).into()
    }

    /// Receiver's address; with a routing header under way, the next stop's.
    pub fn destination(&self) -> Ipv6Addr {
        array_at::<16>(self.bytes, 24).into()
    }

    /// Source and destination.
    pub fn addresses(&self) -> Addresses {
        Addresses::V6 { source: self.source(), destination: self.destination() }
    }

    /// Place of the packet in a fragmented datagram, if it has a fragment header.
    pub fn fragment(&self) -> Option<FragmentInfo> {
        let at = self.chain.fragment_at?;
        Some(FragmentInfo {
            offset_bytes: usize::from(u16_at(self.bytes, at + 2) & 0xfff8),
            more: self.bytes[at + 3] & 1 != 0,
            ident: u32_at(self.bytes, at + 4),
        })
    }

    /// Offset of the fragment header, if there is one, and of the byte that names it. The headers before it
    /// are in every fragment.
    pub(crate) fn fragment_at(&self) -> Option<(usize, usize)> {
        Some((self.chain.fragment_at?, self.chain.fragment_named_at))
    }

    /// Offset at which a fragment header would be put in, and of the byte that would name it (RFC 8200,
    /// section 4.5: after hop-by-hop options, routing header and the destination options before it).
    pub(crate) fn fragmentable(&self) -> (usize, usize) {
        (self.chain.fragmentable_at, self.chain.fragmentable_named_at)
    }
}

fn walk(bytes: &[u8]) -> Result<Chain, ParseError> {
    let mut chain = Chain {
        protocol: Protocol(bytes[6]),
        end: HEADER_LEN,
        fragmentable_named_at: 6,
        fragmentable_at: HEADER_LEN,
        fragment_at: None,
        fragment_named_at: 6,
    };
    let mut named_at = 6;
    // Each turn passes over 8 bytes at least, so this ends.
    loop {
        let at = chain.end;
        let length_in = |unit: usize, more: usize| {
            bytes.get(at + 1).map(|&length| (usize::from(length) + more) * unit).ok_or(ParseError::Truncated)
        };
        let length = match chain.protocol {
            Protocol::HOP_BY_HOP | Protocol::ROUTING | Protocol::DESTINATION_OPTIONS => length_in(8, 1)?,
            Protocol::AUTHENTICATION => length_in(4, 2)?,
            Protocol::FRAGMENT if chain.fragment_at.is_none() => FRAGMENT_HEADER_LEN,
            _ => return Ok(chain),
        };
        if at + length > bytes.len() {
            return Err(ParseError::Truncated);
        }
        let passed = std::mem::replace(&mut chain.protocol, Protocol(bytes[at]));
        chain.end = at + length;
        match passed {
            Protocol::FRAGMENT => {
                chain.fragment_at = Some(at);
                chain.fragment_named_at = named_at;
                if u16_at(bytes, at + 2) & 0xfff8 != 0 {
                    return Ok(chain);
                }
            }
            Protocol::HOP_BY_HOP | Protocol::ROUTING if chain.fragment_at.is_none() => {
                chain.fragmentable_named_at = at;
                chain.fragmentable_at = chain.end;
            }
            _ => {}
        }
        named_at = at;
    }
}

/// A valid IPv6 header without extension headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv6Repr {
    /// Sender's address.
    pub source: Ipv6Addr,
    /// Receiver's address.
    pub destination: Ipv6Addr,
    /// Protocol that it carries.
    pub protocol: Protocol,
    /// Hops that it may take.
    pub hop_limit: u8,
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// The flow label, below 2^20.
    pub flow_label: u32,
}

impl Ipv6Repr {
    /// Fields of the header of `packet`, as if there were no extension headers.
    pub fn parse(packet: &Ipv6Packet<'_>) -> Ipv6Repr {
        Ipv6Repr {
            source: packet.source(),
            destination: packet.destination(),
            protocol: packet.protocol(),
            hop_limit: packet.hop_limit(),
            traffic_class: packet.traffic_class(),
            flow_label: packet.flow_label(),
        }
    }

    /// Bytes of the header: 40.
    pub fn header_len(&self) -> usize {
        HEADER_LEN
    }

    /// Writes the header of a packet with `payload_len` bytes of payload to the front of `out`; returns its
    /// length.
    ///
    /// # Panics
    /// If the payload is longer than 65,535 bytes or `out` is too short.
    pub fn emit(&self, payload_len: usize, out: &mut [u8]) -> usize {
        let payload_len = u16::try_from(payload_len).expect("an IPv6 payload has at most 65,535 bytes");
        let header = &mut out[..HEADER_LEN];
        put_u32(header, 0, 6 << 28 | u32::from(self.traffic_class) << 20 | (self.flow_label & 0x000f_ffff));
        put_u16(header, 4, payload_len);
        header[6] = self.protocol.0;
        header[7] = self.hop_limit;
        put(header, 8, &self.source.octets());
        put(header, 24, &self.destination.octets());
        HEADER_LEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A packet whose payload is `chain`, the first of which is `first`.
    fn packet(first: Protocol, chain: &[&[u8]]) -> Vec<u8> {
        let payload = chain.concat();
        let repr = Ipv6Repr {
            source: "2001:db8::1".parse().unwrap(),
            destination: "2001:db8::2".parse().unwrap(),
            protocol: first,
            hop_limit: 64,
            traffic_class: 0,
            flow_label: 0,
        };
        let mut packet = vec![0; HEADER_LEN];
        repr.emit(payload.len(), &mut packet);
        packet.extend(payload);
        packet
    }

    const HOP: [u8; 8] = [60, 0, 1, 4, 0, 0, 0, 0];
    const DESTINATION: [u8; 16] = [44, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    const FIRST: [u8; 8] = [17, 0, 0, 1, 0, 0, 0, 9];
    const LATER: [u8; 8] = [60, 0, 0x05, 0xa8, 0, 0, 0, 9];

    #[test]
    fn the_chain_leads_to_udp() {
        let bytes = packet(Protocol::HOP_BY_HOP, &[&HOP, &DESTINATION, &FIRST, b"12345678"]);
        let view = Ipv6Packet::parse(&bytes).unwrap();
        assert_eq!((view.protocol(), view.payload()), (Protocol::UDP, &b"12345678"[..]));
        assert_eq!(view.fragment(), Some(FragmentInfo { offset_bytes: 0, more: true, ident: 9 }));
        assert_eq!(view.fragmentable(), (48, 40));
    }

    #[test]
    fn after_a_later_fragments_header_comes_data() {
        let bytes = packet(Protocol::FRAGMENT, &[&LATER, b"not a destination option"]);
        let view = Ipv6Packet::parse(&bytes).unwrap();
        assert_eq!(view.payload(), b"not a destination option");
        assert_eq!(view.fragment(), Some(FragmentInfo { offset_bytes: 0x05a8, more: false, ident: 9 }));
    }

    #[test]
    fn a_chain_that_is_cut_is_refused() {
        for (first, header) in [
            (Protocol::HOP_BY_HOP, &[6u8, 1, 0, 0, 0, 0, 0, 0][..]),
            (Protocol::ROUTING, &[6]),
            (Protocol::FRAGMENT, &[6]),
        ] {
            assert_eq!(
                Ipv6Packet::parse(&packet(first, &[header])).err(),
                Some(ParseError::Truncated),
                "{first:?}"
            );
        }
        let whole = packet(Protocol::TCP, &[b"1234"]);
        assert_eq!(Ipv6Packet::parse(&whole[..43]).err(), Some(ParseError::Truncated));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            addresses: (u128, u128),
            fields: (u8, u8),
            flow_label in 0u32..1 << 20, payload_len in 0usize..2000,
        ) {
            let repr = Ipv6Repr {
                source: addresses.0.into(), destination: addresses.1.into(), protocol: Protocol::TCP,
                hop_limit: fields.0, traffic_class: fields.1, flow_label,
            };
            let mut packet = vec![0xaa; HEADER_LEN + payload_len];
            repr.emit(payload_len, &mut packet);
            let view = Ipv6Packet::parse(&packet).unwrap();
            prop_assert_eq!(Ipv6Repr::parse(&view), repr);
            prop_assert_eq!(view.payload().len(), payload_len);
        }
    }
}
