//! Neighbour discovery of IPv6 (RFC 4861): solicitations and advertisements of one host, whole packets with
//! their IPv6 header. Routers are not discovered.

use crate::ethernet::EthernetAddress;
use crate::field::{array_at, put, put_u16};
use crate::icmp::IcmpPacket;
use crate::ip::{Addresses, IpPacket, ParseError, Protocol};
use crate::ipv6::Ipv6Repr;
use std::net::Ipv6Addr;

/// RFC 4861, section 7.1: one that a router has passed on is not of this link.
const HOP_LIMIT: u8 = 255;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
const SOURCE_ADDRESS: u8 = 1;
const TARGET_ADDRESS: u8 = 2;
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;
/// ICMPv6 header, target, and an option with an Ethernet address.
const MESSAGE_LEN: usize = 8 + 16 + 8;
const HEADER_LEN: usize = 40;

/// A valid message between two neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbour {
    /// Question for the owner of `target`.
    Solicitation {
        /// Asking host's address; unspecified of one that has no address yet (RFC 4862, section 5.4).
        from: Ipv6Addr,
        /// The group of the target, or the target.
        to: Ipv6Addr,
        /// The address that is asked for.
        target: Ipv6Addr,
        /// The Ethernet address of who asks.
        source: Option<EthernetAddress>,
    },
    /// `address` has `target`.
    Advertisement {
        /// Answering host's address.
        from: Ipv6Addr,
        /// Address of the host that asked, or of all hosts of the link.
        to: Ipv6Addr,
        /// The address that was asked for.
        target: Ipv6Addr,
        /// Ethernet address of the target.
        address: Option<EthernetAddress>,
        /// True if the advertisement answers a solicitation.
        solicited: bool,
    },
}

impl Neighbour {
    /// Bytes of a message with its IPv6 header and an Ethernet address.
    pub const LEN: usize = HEADER_LEN + MESSAGE_LEN;
    /// The multicast address of all hosts of a link.
    pub const ALL: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

    /// The multicast address at which `target` is asked for (RFC 4291, section 2.7.1).
    pub fn group_of(target: Ipv6Addr) -> Ipv6Addr {
        let low = target.to_bits() & 0xff_ffff;
        Ipv6Addr::from_bits(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 0).to_bits() | low)
    }

    /// Message of an IPv6 packet, with its checksum right.
    ///
    /// # Errors
    /// `Unknown` if it is no such message, or none of this link; the packet's own errors.
    pub fn parse(bytes: &[u8]) -> Result<Neighbour, ParseError> {
        let ip = IpPacket::parse(bytes)?;
        let (IpPacket::V6(v6), Protocol::ICMPV6, HOP_LIMIT) = (ip, ip.protocol(), ip.hop_limit()) else {
            return Err(ParseError::Unknown);
        };
        let (message, body) = (IcmpPacket::parse(v6.payload())?, v6.payload());
        if message.code() != 0 || !message.checksum_is_valid(&v6.addresses()) {
            return Err(ParseError::Unknown);
        }
        if body.len() < 24 {
            return Err(ParseError::Truncated);
        }
        let target = Ipv6Addr::from(array_at::<16>(body, 8));
        let (from, to, options) = (v6.source(), v6.destination(), &body[24..]);
        match message.kind() {
            _ if target.is_multicast() => Err(ParseError::Unknown),
            SOLICITATION => {
                Ok(Neighbour::Solicitation { from, to, target, source: option(options, SOURCE_ADDRESS) })
            }
            ADVERTISEMENT => {
                let (address, flags) = (option(options, TARGET_ADDRESS), body[4]);
                let solicited = flags & SOLICITED != 0;
                Ok(Neighbour::Advertisement { from, to, target, address, solicited })
            }
            _ => Err(ParseError::Unknown),
        }
    }

    /// The message as a packet; its length, which is shorter without an Ethernet address. An advertisement
    /// outranks what its receiver knew before.
    pub fn emit(&self, out: &mut [u8; Neighbour::LEN]) -> usize {
        let (kind, flags, from, to, target, option, address) = match *self {
            Neighbour::Solicitation { from, to, target, source } => {
                (SOLICITATION, 0, from, to, target, SOURCE_ADDRESS, source)
            }
            Neighbour::Advertisement { from, to, target, address, solicited } => {
                let flags = OVERRIDE | if solicited { SOLICITED } else { 0 };
                (ADVERTISEMENT, flags, from, to, target, TARGET_ADDRESS, address)
            }
        };
        let length = if address.is_some() { MESSAGE_LEN } else { MESSAGE_LEN - 8 };
        let header = Ipv6Repr {
            source: from,
            destination: to,
            protocol: Protocol::ICMPV6,
            hop_limit: HOP_LIMIT,
            traffic_class: 0,
            flow_label: 0,
        };
        header.emit(length, out);
        let message = &mut out[HEADER_LEN..HEADER_LEN + length];
        message.fill(0);
        (message[0], message[4]) = (kind, flags);
        put(message, 8, &target.octets());
        if let Some(address) = address {
            (message[24], message[25]) = (option, 1);
            put(message, 26, &address.0);
        }
        let addresses = Addresses::V6 { source: from, destination: to };
        let checksum = addresses.pseudo_header(Protocol::ICMPV6, length).bytes(message).checksum();
        put_u16(message, 2, checksum);
        HEADER_LEN + length
    }
}

/// The Ethernet address in the first option of a kind.
fn option(mut options: &[u8], wanted: u8) -> Option<EthernetAddress> {
    while let [kind, units, ..] = *options {
        // RFC 4861, section 4.6: of length 0 is none.
        let length = 8 * usize::from(units);
        let option = options.get(..length).filter(|option| !option.is_empty())?;
        if (kind, units) == (wanted, 1) {
            return Some(EthernetAddress(array_at(option, 2)));
        }
        options = &options[length..];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn messages() -> impl Strategy<Value = Neighbour> {
        let address = any::<[u8; 16]>().prop_map(|mut bytes| {
            bytes[0] &= 0x7f;
            Ipv6Addr::from(bytes)
        });
        let ethernet = prop::option::of(any::<[u8; 6]>().prop_map(EthernetAddress));
        (address.clone(), address.clone(), address, ethernet, any::<bool>(), any::<bool>()).prop_map(
            |(from, to, target, address, solicited, asks)| match asks {
                true => Neighbour::Solicitation { from, to, target, source: address },
                false => Neighbour::Advertisement { from, to, target, address, solicited },
            },
        )
    }

    #[test]
    fn groups_are_those_of_rfc_4291() {
        let target = "4037::1:800:200e:8c6c".parse().unwrap();
        assert_eq!(Neighbour::group_of(target), "ff02::1:ff0e:8c6c".parse::<Ipv6Addr>().unwrap());
    }

    #[test]
    fn what_a_router_passed_on_is_refused() {
        let target: Ipv6Addr = "fd00::1".parse().unwrap();
        let to = Neighbour::group_of(target);
        let message = Neighbour::Solicitation { from: Ipv6Addr::UNSPECIFIED, to, target, source: None };
        let mut bytes = [0; Neighbour::LEN];
        let len = message.emit(&mut bytes);
        assert_eq!((Neighbour::parse(&bytes[..len]), len), (Ok(message), 64));
        bytes[7] = 254;
        assert_eq!(Neighbour::parse(&bytes[..len]), Err(ParseError::Unknown));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(message in messages(), flipped in 0usize..Neighbour::LEN * 8) {
            let mut bytes = [0xaa; Neighbour::LEN];
            let len = message.emit(&mut bytes);
            prop_assert_eq!(Neighbour::parse(&bytes[..len]), Ok(message));
            // A bit that is not the IPv6 header's traffic class or flow label makes it no message.
            let (at, bit) = (flipped / 8 % len, 0x80 >> (flipped % 8));
            if at >= HEADER_LEN {
                bytes[at] ^= bit;
                prop_assert!(Neighbour::parse(&bytes[..len]).is_err());
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut bytes = bytes;
            if bytes.len() > 7 {
                (bytes[0], bytes[6], bytes[7]) = (0x60, 58, HOP_LIMIT);
            }
            if let Ok(message) = Neighbour::parse(&bytes) {
                prop_assert!(bytes.len() >= 64, "{message:?}");
            }
        }
    }
}
