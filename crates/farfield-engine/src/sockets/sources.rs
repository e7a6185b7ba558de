//! Source addresses: the local address that each client connects from.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::str::FromStr;

/// Local addresses that clients use in turn. If there are none, the kernel chooses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceAddresses {
    blocks: Vec<Block>,
    count: u128,
}

/// The addresses of a prefix, or a single one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Block {
    address: IpAddr,
    prefix: u8,
}

/// The error of parsing source addresses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither an address nor a block of addresses; write `127.0.0.5` or `127.0.0.0/8`")]
pub struct SourcesError(String);

impl SourceAddresses {
    /// The whole of 127.0.0.0/8, every address of which is local: 16 million clients on one machine.
    pub fn loopback() -> SourceAddresses {
        SourceAddresses::of(&["127.0.0.0/8".parse().expect("a block")])
    }

    fn of(blocks: &[Block]) -> SourceAddresses {
        SourceAddresses { blocks: blocks.to_vec(), count: blocks.iter().map(Block::count).sum() }
    }

    /// True if the kernel chooses.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Number of addresses; 0 if the kernel chooses.
    pub fn count(&self) -> u128 {
        self.count
    }

    /// The first address of a block that this machine does not have, so that no connection can come from it;
    /// `None` where it has those of all blocks.
    pub fn foreign(&self) -> Option<IpAddr> {
        let firsts = self.blocks.iter().map(|block| block.address(0));
        firsts.into_iter().find(|address| {
            let bound = UdpSocket::bind((*address, 0));
            bound.is_err_and(|error| error.kind() == io::ErrorKind::AddrNotAvailable)
        })
    }

    /// The address of client `number`: clients use the addresses in turn.
    pub fn address(&self, number: u32) -> Option<IpAddr> {
        let mut index = u128::from(number) % self.count.max(1);
        for block in &self.blocks {
            if index < block.count() {
                return Some(block.address(index));
            }
            index -= block.count();
        }
        None
    }
}

impl Block {
    /// Number of addresses in the block; an IPv4 block of four or more does not count its network and
    /// broadcast address.
    fn count(&self) -> u128 {
        match (self.address, self.prefix) {
            (IpAddr::V4(_), 31..) => 1 << (32 - self.prefix),
            (IpAddr::V4(_), _) => (1 << (32 - self.prefix)) - 2,
            (IpAddr::V6(_), 0) => u128::MAX,
            (IpAddr::V6(_), _) => 1 << (128 - self.prefix),
        }
    }

    fn address(&self, index: u128) -> IpAddr {
        match self.address {
            IpAddr::V4(first) => {
                let skip_network = u32::from(self.prefix < 31);
                IpAddr::V4(Ipv4Addr::from_bits(first.to_bits() + index as u32 + skip_network))
            }
            IpAddr::V6(first) => IpAddr::V6(Ipv6Addr::from_bits(first.to_bits() + index)),
        }
    }
}

impl FromStr for Block {
    type Err = SourcesError;

    fn from_str(text: &str) -> Result<Block, SourcesError> {
        let refuse = || SourcesError(text.to_owned());
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix.parse::<u8>().map_err(|_| refuse())?)),
            None => (text, None),
        };
        let address: IpAddr = address.trim().parse().map_err(|_| refuse())?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.unwrap_or(bits);
        if prefix > bits {
            return Err(refuse());
        }
        let network = match address {
            IpAddr::V4(v4) => IpAddr::V4(Ipv4Addr::from_bits(
                v4.to_bits() & u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0),
            )),
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(
                v6.to_bits() & u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0),
            )),
        };
        Ok(Block { address: network, prefix })
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = if self.address.is_ipv4() { 32 } else { 128 };
        match self.prefix {
            prefix if prefix == bits => write!(f, "{}", self.address),
            prefix => write!(f, "{}/{prefix}", self.address),
        }
    }
}

impl Serialize for SourceAddresses {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.blocks.iter().map(Block::to_string))
    }
}

impl<'de> Deserialize<'de> for SourceAddresses {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<SourceAddresses, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        let blocks: Result<Vec<Block>, _> = texts.iter().map(|text| text.parse()).collect();
        blocks.map(|blocks| SourceAddresses::of(&blocks)).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(texts: &[&str]) -> SourceAddresses {
        SourceAddresses::of(&texts.iter().map(|text| text.parse().expect("a block")).collect::<Vec<_>>())
    }

    /// 192.0.2.0/24 is for documentation: no machine has its addresses.
    #[test]
    fn addresses_of_other_machines_are_found() {
        assert_eq!(sources(&["127.0.0.5", "127.0.0.0/8"]).foreign(), None);
        let found = sources(&["127.0.0.5", "192.0.2.7"]).foreign();
        assert_eq!(found, "192.0.2.7".parse().ok());
        assert_eq!(SourceAddresses::default().foreign(), None);
    }

    #[test]
    fn clients_take_addresses_in_turn() {
        let sources = sources(&["127.0.0.0/30", "127.9.9.9"]);
        let shown: Vec<String> =
            (0..4).map(|n| sources.address(n).expect("an address").to_string()).collect();
        assert_eq!(shown, ["127.0.0.1", "127.0.0.2", "127.9.9.9", "127.0.0.1"]);
    }

    #[test]
    fn loopback_is_sixteen_million_clients() {
        let sources = SourceAddresses::loopback();
        assert_eq!(sources.count, (1 << 24) - 2);
        assert_eq!(sources.address((1 << 24) - 3), Some("127.255.255.254".parse().expect("an address")));
    }

    #[test]
    fn the_kernel_chooses_where_nothing_is_given() {
        assert_eq!(SourceAddresses::default().address(7), None);
    }

    #[test]
    fn what_is_no_block_is_refused() {
        for text in ["127.0.0.0/33", "localhost", "1.2.3/8", "::1/129"] {
            assert!(text.parse::<Block>().is_err(), "{text}");
        }
    }
}
