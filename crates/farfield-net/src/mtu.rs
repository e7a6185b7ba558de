//! Fit of a packet through a link: only the decision. Cutting packets and saying "fragmentation needed" is
//! the business of its owner, who knows what a packet is.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The largest packet that a link carries, in bytes from the IP header on: 68 (RFC 791, section 3.2) to
/// 65,535.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Mtu(u32);

/// An MTU that no link has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an MTU of {0} is out of range; write bytes from 68 (1280 where IPv6 runs) to 65535, such as `1500`")]
pub struct MtuError(pub u64);

/// The fate of a packet at a link's entrance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// The packet goes through whole.
    Fits,
    /// The packet goes through in fragments of at most the MTU.
    Fragments,
    /// The packet does not go through, and its sender is sent the MTU (RFC 1191, section 4; RFC 8201, section
    /// 4).
    TooBig,
}

impl Mtu {
    /// Ethernet's.
    pub const ETHERNET: Mtu = Mtu(1500);
    /// The least that IPv6 allows a link (RFC 8200, section 5).
    pub const IPV6_LEAST: Mtu = Mtu(1280);

    /// An MTU of `bytes`, 68 to 65,535.
    ///
    /// # Errors
    /// Outside that range.
    pub fn new(bytes: u64) -> Result<Mtu, MtuError> {
        if (68..=65_535).contains(&bytes) { Ok(Mtu(bytes as u32)) } else { Err(MtuError(bytes)) }
    }

    /// Bytes from the IP header on.
    pub const fn as_bytes(self) -> u32 {
        self.0
    }

    /// The fate of a packet of `bytes`. `may_fragment` is false for IPv6, and for IPv4 with DF set.
    pub const fn judge(self, bytes: u32, may_fragment: bool) -> Fit {
        if bytes <= self.0 {
            Fit::Fits
        } else if may_fragment {
            Fit::Fragments
        } else {
            Fit::TooBig
        }
    }
}

impl Default for Mtu {
    fn default() -> Mtu {
        Mtu::ETHERNET
    }
}

impl TryFrom<u64> for Mtu {
    type Error = MtuError;
    fn try_from(bytes: u64) -> Result<Mtu, MtuError> {
        Mtu::new(bytes)
    }
}

impl From<Mtu> for u64 {
    fn from(mtu: Mtu) -> u64 {
        mtu.0.into()
    }
}

impl fmt::Display for Mtu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_as_long_as_the_mtu_fits() {
        assert_eq!(Mtu::ETHERNET.judge(1500, false), Fit::Fits);
        assert_eq!(Mtu::ETHERNET.judge(1501, true), Fit::Fragments);
        assert_eq!(Mtu::ETHERNET.judge(1501, false), Fit::TooBig);
    }

    #[test]
    fn no_link_carries_less_than_rfc_791_asks() {
        assert_eq!(Mtu::new(67), Err(MtuError(67)));
        assert!(Mtu::new(68).is_ok() && Mtu::new(65_535).is_ok());
        assert!(Mtu::new(65_536).unwrap_err().to_string().contains("1500"));
    }
}
