//! Address prefixes, such as "198.18.0.0/15" (RFC 4632, section 3.1; RFC 4291, section 2.3).

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A family of addresses.
pub trait Family: Copy + Eq + fmt::Debug + fmt::Display + FromStr {
    /// Bits of an address.
    const BITS: u8;
    /// The address as a number, in the low bits.
    fn to_number(self) -> u128;
    /// The address of the low [`BITS`](Self::BITS) of a number.
    fn from_number(number: u128) -> Self;
}

impl Family for Ipv4Addr {
    const BITS: u8 = 32;

    fn to_number(self) -> u128 {
        self.to_bits().into()
    }

    fn from_number(number: u128) -> Ipv4Addr {
        Ipv4Addr::from_bits(number as u32)
    }
}

impl Family for Ipv6Addr {
    const BITS: u8 = 128;

    fn to_number(self) -> u128 {
        self.to_bits()
    }

    fn from_number(number: u128) -> Ipv6Addr {
        Ipv6Addr::from_bits(number)
    }
}

/// A prefix: an address whose bits past the length are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Prefix<A: Family> {
    network: A,
    bits: u8,
}

/// The reason why a text is not a prefix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrefixError {
    /// No slash, or no address before it, or no number after it.
    #[error("{text:?} is not a prefix such as \"198.18.0.0/15\" or \"2001:2::/48\"")]
    Form {
        /// Text that was given.
        text: String,
    },
    /// More bits than an address has.
    #[error("a prefix of {bits} bits is longer than an address, which has {bits_max}")]
    TooLong {
        /// Bits that were given.
        bits: u8,
        /// Bits of an address.
        bits_max: u8,
    },
    /// Bits are set past the length.
    #[error("the prefix has bits set past its length: write {meant}")]
    HostBits {
        /// The prefix without these bits.
        meant: String,
    },
}

impl<A: Family> Prefix<A> {
    /// The addresses whose first `bits` bits are those of `network`.
    ///
    /// # Errors
    /// If `bits` is more than an address has, or `network` has bits set past them.
    pub fn new(network: A, bits: u8) -> Result<Prefix<A>, PrefixError> {
        if bits > A::BITS {
            return Err(PrefixError::TooLong { bits, bits_max: A::BITS });
        }
        let prefix = Prefix { network, bits };
        let host_part = network.to_number() & prefix.host_mask();
        if host_part != 0 {
            let meant = Prefix { network: A::from_number(network.to_number() ^ host_part), bits };
            return Err(PrefixError::HostBits { meant: meant.to_string() });
        }
        Ok(prefix)
    }

    /// The first address.
    pub fn network(&self) -> A {
        self.network
    }

    /// The length in bits.
    pub fn bits(&self) -> u8 {
        self.bits
    }

    /// Mask of the bits in which its addresses differ.
    pub fn host_mask(&self) -> u128 {
        let low = u128::from(A::BITS - self.bits);
        if low == 128 { u128::MAX } else { (1 << low) - 1 }
    }

    /// True if an address has this prefix.
    pub fn contains(&self, address: A) -> bool {
        address.to_number() & !self.host_mask() == self.network.to_number()
    }

    /// The address with this index in the prefix; the first has 0, and excess bits are ignored.
    pub fn address(&self, index: u128) -> A {
        A::from_number(self.network.to_number() | index & self.host_mask())
    }

    /// The index of an address in the prefix, whatever its first bits are.
    pub fn index(&self, address: A) -> u128 {
        address.to_number() & self.host_mask()
    }
}

impl<A: Family> FromStr for Prefix<A> {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Prefix<A>, PrefixError> {
        let form = || PrefixError::Form { text: text.to_owned() };
        let (network, bits) = text.split_once('/').ok_or_else(form)?;
        let network = network.parse().map_err(|_| form())?;
        Prefix::new(network, bits.parse().map_err(|_| form())?)
    }
}

impl<A: Family> TryFrom<String> for Prefix<A> {
    type Error = PrefixError;

    fn try_from(text: String) -> Result<Prefix<A>, PrefixError> {
        text.parse()
    }
}

impl<A: Family> From<Prefix<A>> for String {
    fn from(prefix: Prefix<A>) -> String {
        prefix.to_string()
    }
}

impl<A: Family> fmt::Display for Prefix<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_count_addresses() {
        let prefix: Prefix<Ipv4Addr> = "198.18.0.0/15".parse().unwrap();
        assert_eq!(prefix.address(0x1_0203), Ipv4Addr::new(198, 19, 2, 3));
        assert_eq!(prefix.index(Ipv4Addr::new(198, 19, 2, 3)), 0x1_0203);
        assert!(prefix.contains(Ipv4Addr::new(198, 19, 255, 255)));
        assert!(!prefix.contains(Ipv4Addr::new(198, 20, 0, 0)));
        let all: Prefix<Ipv6Addr> = "::/0".parse().unwrap();
        assert!(all.contains(Ipv6Addr::LOCALHOST));
        assert_eq!(all.host_mask(), u128::MAX);
    }

    #[test]
    fn what_is_no_prefix_is_refused() {
        let refused = |text: &str| text.parse::<Prefix<Ipv4Addr>>().unwrap_err();
        assert_eq!(refused("198.18.0.0/33"), PrefixError::TooLong { bits: 33, bits_max: 32 });
        assert_eq!(refused("198.18.0.1/15"), PrefixError::HostBits { meant: "198.18.0.0/15".into() });
        for text in ["198.18.0.0", "2001:2::/48", "198.18.0.0/x", ""] {
            assert_eq!(refused(text), PrefixError::Form { text: text.into() });
        }
    }
}
