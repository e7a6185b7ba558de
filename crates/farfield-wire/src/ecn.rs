//! Explicit congestion notification: the two bits of the IP header that say whether the ends of a path
//! understand marks, and whether a router has set one (RFC 3168, section 5).

use crate::ip::{IpPacket, IpRepr};

/// The bits of ECN in the traffic class.
pub(crate) const MASK: u8 = 0b11;

/// An ECN codepoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Ecn {
    /// The ends of the path do not understand marks.
    #[default]
    NotEct,
    /// ECN-capable; the codepoint that L4S gave a meaning of its own (RFC 9331).
    Ect1,
    /// ECN-capable: the ends of the path understand marks.
    Ect0,
    /// A router met congestion.
    Ce,
}

impl Ecn {
    /// The codepoint of these bits; those above the lowest two do not count.
    pub fn from_bits(bits: u8) -> Ecn {
        match bits & MASK {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// The two bits of the codepoint.
    pub fn bits(self) -> u8 {
        self as u8
    }

    /// Codepoint that a router sets on the packet when it meets congestion; `None` if it should drop the
    /// packet instead.
    #[must_use]
    pub fn marked(self) -> Option<Ecn> {
        (self != Ecn::NotEct).then_some(Ecn::Ce)
    }
}

impl IpPacket<'_> {
    /// ECN codepoint of the packet.
    pub fn ecn(&self) -> Ecn {
        Ecn::from_bits(match self {
            IpPacket::V4(packet) => packet.traffic_class(),
            IpPacket::V6(packet) => packet.traffic_class(),
        })
    }
}

impl IpRepr<'_> {
    /// The header with another ECN codepoint.
    #[must_use]
    pub fn with_ecn(mut self, ecn: Ecn) -> Self {
        let class = match &mut self {
            IpRepr::V4(repr) => &mut repr.traffic_class,
            IpRepr::V6(repr) => &mut repr.traffic_class,
        };
        *class = *class & !MASK | ecn.bits();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip::{Addresses, Protocol};
    use std::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn bits_are_those_of_rfc_3168() {
        let all = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
        assert_eq!(all.map(Ecn::bits), [0b00, 0b01, 0b10, 0b11]);
        assert_eq!([4, 5, 6, 7].map(Ecn::from_bits), all);
        assert_eq!(all.map(Ecn::marked), [None, Some(Ecn::Ce), Some(Ecn::Ce), Some(Ecn::Ce)]);
    }

    #[test]
    fn a_header_says_what_it_was_given() {
        let v4 = Addresses::V4 { source: Ipv4Addr::LOCALHOST, destination: Ipv4Addr::LOCALHOST };
        let v6 = Addresses::V6 { source: Ipv6Addr::LOCALHOST, destination: Ipv6Addr::LOCALHOST };
        for (addresses, ecn) in [(v4, Ecn::Ect0), (v6, Ecn::Ect1), (v4, Ecn::Ce), (v6, Ecn::NotEct)] {
            let mut repr = IpRepr::new(addresses, Protocol::UDP);
            let class = match &mut repr {
                IpRepr::V4(v4) => &mut v4.traffic_class,
                IpRepr::V6(v6) => &mut v6.traffic_class,
            };
            // Expedited forwarding, and another codepoint.
            *class = 46 << 2 | 0b11;
            let mut bytes = [0; 40];
            let len = repr.with_ecn(ecn).emit(0, &mut bytes);
            let packet = IpPacket::parse(&bytes[..len]).expect("a packet");
            let class = match packet {
                IpPacket::V4(v4) => v4.traffic_class(),
                IpPacket::V6(v6) => v6.traffic_class(),
            };
            assert_eq!((packet.ecn(), class >> 2), (ecn, 46));
        }
    }
}
