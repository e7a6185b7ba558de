//! Ethernet addresses (EUI-48; RFC 7042, section 2.1), of frames that farfield itself sends on a link.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

/// An Ethernet address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EthernetAddress(pub [u8; 6]);

/// A text that is no Ethernet address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no Ethernet address of one host; write one such as `02:00:00:00:00:07`, whose first byte is even"
)]
pub struct EthernetAddressError(pub String);

impl EthernetAddress {
    /// The address of all hosts of a link.
    pub const BROADCAST: EthernetAddress = EthernetAddress([0xff; 6]);
    /// No address.
    pub const ZERO: EthernetAddress = EthernetAddress([0; 6]);

    /// True if it is the address of one host.
    pub fn is_unicast(&self) -> bool {
        self.0[0] & 1 == 0 && *self != EthernetAddress::ZERO
    }

    /// The address to which packets to the multicast address `group` go (RFC 2464, section 7).
    pub fn of_multicast(group: Ipv6Addr) -> EthernetAddress {
        let [.., a, b, c, d] = group.octets();
        EthernetAddress([0x33, 0x33, a, b, c, d])
    }

    /// A locally administered address made of this one, which no maker of hardware gives out.
    #[must_use]
    pub fn local(self) -> EthernetAddress {
        let [first, second, rest @ ..] = self.0;
        // An address that is local already has to differ, too.
        EthernetAddress([first & !1 | 2, second ^ 0xff, rest[0], rest[1], rest[2], rest[3]])
    }

    /// The IPv6 address that a host with this address has on its link (RFC 4291, appendix A).
    pub fn link_local(self) -> Ipv6Addr {
        let [a, b, c, d, e, f] = self.0;
        let half = |high: u8, low: u8| u16::from_be_bytes([high, low]);
        Ipv6Addr::new(0xfe80, 0, 0, 0, half(a ^ 2, b), half(c, 0xff), half(0xfe, d), half(e, f))
    }
}

impl FromStr for EthernetAddress {
    type Err = EthernetAddressError;

    fn from_str(text: &str) -> Result<EthernetAddress, EthernetAddressError> {
        let refused = || EthernetAddressError(text.to_owned());
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part = parts.next().filter(|part| (1..=2).contains(&part.len())).ok_or_else(refused)?;
            *byte = u8::from_str_radix(part, 16).map_err(|_| refused())?;
        }
        let address = EthernetAddress(bytes);
        if parts.next().is_none() && address.is_unicast() { Ok(address) } else { Err(refused()) }
    }
}

impl fmt::Display for EthernetAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_addresses_of_one_host() {
        let address: EthernetAddress = "02:0:5e:10:00:fF".parse().unwrap();
        assert_eq!(address.to_string(), "02:00:5e:10:00:ff");
        for text in [
            "",
            "02:00:00:00:00",
            "02:00:00:00:00:00:01",
            "01:00:5e:00:00:01",
            "00:00:00:00:00:00",
            "0g:0:0:0:0:1",
        ] {
            assert!(text.parse::<EthernetAddress>().is_err(), "{text}");
        }
    }

    /// The example of RFC 4291, appendix A, and of RFC 2464, section 7.
    #[test]
    fn addresses_of_ipv6_follow() {
        let address: EthernetAddress = "34:56:78:9a:bc:de".parse().unwrap();
        assert_eq!(address.link_local(), "fe80::3656:78ff:fe9a:bcde".parse::<Ipv6Addr>().unwrap());
        let group = "ff02::1:ff9a:bcde".parse().unwrap();
        assert_eq!(EthernetAddress::of_multicast(group).to_string(), "33:33:ff:9a:bc:de");
    }

    #[test]
    fn a_local_address_is_another_of_one_host() {
        for text in ["00:16:3e:00:00:07", "02:00:00:00:00:01"] {
            let address: EthernetAddress = text.parse().unwrap();
            let local = address.local();
            assert!(local.is_unicast() && local.0[0] & 2 == 2 && local != address);
        }
    }
}
