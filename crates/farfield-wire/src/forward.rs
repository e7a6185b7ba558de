//! Changes that a router makes in a packet that it forwards: hop limit and ECN, in place, checksums updated
//! (RFC 1624).

use crate::checksum::update_checksum;
use crate::ecn::{self, Ecn};
use crate::field::{put_u16, u16_at};
use crate::ip::{IpPacket, ParseError};

/// Takes a hop from `packet`. False, and nothing changed, if it had none left to take: answer with
/// [`IcmpError::HopLimitExceeded`](crate::IcmpError::HopLimitExceeded) (RFC 1812, section 5.3.1).
///
/// # Errors
/// When it is no IP packet.
pub fn decrement_hop_limit(packet: &mut [u8]) -> Result<bool, ParseError> {
    let view = IpPacket::parse(packet)?;
    let (hops, is_v4) = (view.hop_limit(), matches!(view, IpPacket::V4(_)));
    if hops <= 1 {
        return Ok(false);
    }
    if is_v4 {
        let word = u16_at(packet, 8);
        change_v4_word(packet, 8, word - 0x0100);
    } else {
        packet[7] = hops - 1;
    }
    Ok(true)
}

/// Gives `packet` this hop limit, as if as many routers as it lacks had forwarded it. What is no IP packet
/// stays as it is.
pub fn set_hop_limit(packet: &mut [u8], hops: u8) {
    match IpPacket::parse(packet) {
        Ok(IpPacket::V4(_)) => {
            let word = u16_at(packet, 8) & 0x00ff | u16::from(hops) << 8;
            change_v4_word(packet, 8, word);
        }
        Ok(IpPacket::V6(_)) => packet[7] = hops,
        Err(_) => {}
    }
}

/// Marks that `packet` met congestion (RFC 3168, section 5). False, and nothing changed, if its ends do not
/// understand that: then it should be dropped.
///
/// # Errors
/// When it is no IP packet.
pub fn mark_congestion(packet: &mut [u8]) -> Result<bool, ParseError> {
    let marked = IpPacket::parse(packet)?.ecn().marked();
    if let Some(ecn) = marked {
        set_ecn(packet, ecn);
    }
    Ok(marked.is_some())
}

/// Gives `packet` this ECN codepoint. What is no IP packet stays as it is.
pub fn set_ecn(packet: &mut [u8], ecn: Ecn) {
    match IpPacket::parse(packet) {
        Ok(IpPacket::V4(_)) => {
            let word = u16_at(packet, 0) & !u16::from(ecn::MASK) | u16::from(ecn.bits());
            change_v4_word(packet, 0, word);
        }
        Ok(IpPacket::V6(_)) => packet[1] = packet[1] & !(ecn::MASK << 4) | ecn.bits() << 4,
        Err(_) => {}
    }
}

/// As [`set_hop_limit`], of the front of a packet that holds its fixed IP header: 20 bytes of IPv4, 40 of
/// IPv6. Anything else stays as it is.
pub fn set_hop_limit_of_header(header: &mut [u8], hops: u8) {
    match header.first().map(|first| first >> 4) {
        Some(4) if header.len() >= 20 => {
            let word = u16_at(header, 8) & 0x00ff | u16::from(hops) << 8;
            change_v4_word(header, 8, word);
        }
        Some(6) if header.len() >= 40 => header[7] = hops,
        _ => {}
    }
}

/// As [`set_ecn`], of the front of a packet that holds its fixed IP header.
pub fn set_ecn_of_header(header: &mut [u8], ecn: Ecn) {
    match header.first().map(|first| first >> 4) {
        Some(4) if header.len() >= 20 => {
            let word = u16_at(header, 0) & !u16::from(ecn::MASK) | u16::from(ecn.bits());
            change_v4_word(header, 0, word);
        }
        Some(6) if header.len() >= 40 => header[1] = header[1] & !(ecn::MASK << 4) | ecn.bits() << 4,
        _ => {}
    }
}

fn change_v4_word(packet: &mut [u8], at: usize, new: u16) {
    let checksum = update_checksum(u16_at(packet, 10), u16_at(packet, at), new);
    put_u16(packet, at, new);
    put_u16(packet, 10, checksum);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip::{Addresses, IpRepr, Protocol};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_forwarded_header_stays_valid(
            source: u32,
            destination: u32,
            hops in 2u8..=255,
            class: u8,
            ident: u16,
        ) {
            let addresses = Addresses::V4 { source: source.into(), destination: destination.into() };
            let IpRepr::V4(mut repr) = IpRepr::new(addresses, Protocol::TCP) else { unreachable!() };
            (repr.ttl, repr.traffic_class, repr.ident) = (hops, class, ident);
            let mut packet = [0; 20];
            repr.emit(0, &mut packet);
            let mut expected = packet;
            set_hop_limit(&mut expected, hops - 1);
            let mut of_header = packet;
            set_hop_limit_of_header(&mut of_header, hops - 1);
            prop_assert_eq!(expected, of_header);
            prop_assert_eq!(decrement_hop_limit(&mut packet), Ok(true));
            prop_assert_eq!(expected, packet);
            prop_assert_eq!(mark_congestion(&mut packet), Ok(class & 3 != 0));
            let IpPacket::V4(view) = IpPacket::parse(&packet).unwrap() else { unreachable!() };
            prop_assert!(view.checksum_is_valid());
            prop_assert_eq!(view.ttl(), hops - 1);
            prop_assert_eq!(view.traffic_class(), if class & 3 == 0 { class } else { class | 3 });
        }
    }

    #[test]
    fn ipv6_loses_hops_and_is_marked_as_well() {
        let addresses = Addresses::V6 { source: 1.into(), destination: 2.into() };
        let IpRepr::V6(mut repr) = IpRepr::new(addresses, Protocol::TCP) else { unreachable!() };
        (repr.hop_limit, repr.traffic_class) = (2, 0xfe);
        let mut packet = [0; 40];
        repr.emit(0, &mut packet);
        assert_eq!((decrement_hop_limit(&mut packet), mark_congestion(&mut packet)), (Ok(true), Ok(true)));
        let IpPacket::V6(view) = IpPacket::parse(&packet).unwrap() else { unreachable!() };
        assert_eq!((view.hop_limit(), view.traffic_class()), (1, 0xff));
        let before = packet;
        assert_eq!(decrement_hop_limit(&mut packet), Ok(false));
        assert_eq!(packet, before);
    }
}
