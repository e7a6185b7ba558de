//! A block of addresses, as `198.18.0.0/15` (RFC 4632, section 3.1; RFC 4291, section 2.3).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// The addresses of one family that begin with the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    network: IpAddr,
    bits: u8,
}

/// Why a text is no block.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// The text has another form than a block's.
    #[error("`{0}` is no block of addresses; write one such as `198.18.0.0/15` or `2001:2::/48`")]
    Form(String),
    /// Bits are set past its length.
    #[error("`{given}` has bits set past its length; write `{meant}`")]
    HostBits {
        /// The text as given.
        given: String,
        /// The block around it.
        meant: Block,
    },
}

impl Block {
    /// The benchmarking block of RFC 2544, appendix C.2.2: 198.18.0.0/15.
    pub const BENCHMARK: Block = Block { network: IpAddr::V4(Ipv4Addr::new(198, 18, 0, 0)), bits: 15 };
    /// The benchmarking block of RFC 5180, section 8: 2001:2::/48.
    pub const BENCHMARK_V6: Block =
        Block { network: IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0)), bits: 48 };
    /// The shared address space of RFC 6598: 100.64.0.0/10.
    pub const SHARED: Block = Block { network: IpAddr::V4(Ipv4Addr::new(100, 64, 0, 0)), bits: 10 };

    /// The block of `bits` bits around `address`; `None` if an address has fewer.
    pub fn around(address: IpAddr, bits: u8) -> Option<Block> {
        let width = width(address);
        let mask = |host: u8| if host == 128 { 0 } else { u128::MAX << host };
        (bits <= width)
            .then(|| Block { network: with_number(address, number(address) & mask(width - bits)), bits })
    }

    /// The block's first address, whose bits past the length are zero.
    pub fn network(&self) -> IpAddr {
        self.network
    }

    /// The length of what all its addresses begin with.
    pub fn bits(&self) -> u8 {
        self.bits
    }

    /// True for IPv6.
    pub fn is_v6(&self) -> bool {
        self.network.is_ipv6()
    }

    /// True if `address` is in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv6() == self.is_v6() && Block::around(address, self.bits) == Some(*self)
    }

    /// True if an address is in both.
    pub fn overlaps(&self, other: &Block) -> bool {
        self.contains(other.network) || other.contains(self.network)
    }

    /// The smallest block around both, which are of one family.
    pub fn join(&self, other: &Block) -> Block {
        let mut bits = self.bits.min(other.bits);
        while Block::around(self.network, bits) != Block::around(other.network, bits) {
            bits -= 1;
        }
        Block::around(self.network, bits).expect("no more bits than before")
    }

    /// The first address that a client may have, as a number within the block, and how many follow from it
    /// on: in IPv4 all but the network's and the broadcast address, in IPv6 all but the subnet routers'
    /// anycast address.
    pub(super) fn usable(&self) -> (u128, u128) {
        let size = self.size();
        match (size, self.is_v6()) {
            (1 | 2, _) => (0, size),
            (_, false) => (1, size - 2),
            (_, true) => (1, size - 1),
        }
    }

    /// The number of addresses; all of IPv6 count one less than they are.
    pub(super) fn size(&self) -> u128 {
        1_u128.checked_shl(u32::from(width(self.network) - self.bits)).unwrap_or(u128::MAX)
    }

    /// The address at `offset` within the block.
    pub(super) fn at(&self, offset: u128) -> IpAddr {
        with_number(self.network, number(self.network).wrapping_add(offset))
    }

    /// The offset of `address`, which is in the block.
    pub(super) fn offset(&self, address: IpAddr) -> u128 {
        number(address).wrapping_sub(number(self.network))
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv6() { 128 } else { 32 }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_bits().into(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// The address of `number` in the family of `of`.
fn with_number(of: IpAddr, number: u128) -> IpAddr {
    match of {
        IpAddr::V4(_) => Ipv4Addr::from_bits(number as u32).into(),
        IpAddr::V6(_) => Ipv6Addr::from_bits(number).into(),
    }
}

impl FromStr for Block {
    type Err = BlockError;

    fn from_str(text: &str) -> Result<Block, BlockError> {
        let read = || {
            let (address, bits) = text.trim().split_once('/')?;
            let address: IpAddr = address.parse().ok()?;
            Some((address, Block::around(address, bits.parse().ok()?)?))
        };
        match read() {
            None => Err(BlockError::Form(text.to_owned())),
            Some((address, meant)) if meant.network != address => {
                Err(BlockError::HostBits { given: text.to_owned(), meant })
            }
            Some((_, block)) => Ok(block),
        }
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str) -> Block {
        let block: Block = text.parse().expect(text);
        assert_eq!(block.to_string(), text);
        block
    }

    #[test]
    fn blocks_hold_and_overlap() {
        let default = block("198.18.0.0/15");
        assert_eq!(default, Block::BENCHMARK);
        assert_eq!(Block::SHARED, block("100.64.0.0/10"));
        assert!(default.contains("198.19.255.255".parse().unwrap()));
        assert!(
            !default.contains("198.20.0.0".parse().unwrap()) && !default.contains("::1".parse().unwrap())
        );
        assert!(default.overlaps(&block("198.18.7.0/24")) && block("198.18.7.0/24").overlaps(&default));
        assert!(!default.overlaps(&block("2001:2::/48")));
        assert_eq!(block("198.18.0.0/24").join(&block("198.18.3.0/24")), block("198.18.0.0/22"));
        assert_eq!(block("1.0.0.0/8").join(&block("200.0.0.0/8")), block("0.0.0.0/0"));
        assert_eq!(default.usable(), (1, 131_070));
        assert_eq!(block("10.0.0.7/32").usable(), (0, 1));
        assert_eq!(block("::/0").usable().0, 1);
    }

    #[test]
    fn what_is_no_block_is_refused() {
        let refuse = |text: &str, hint: &str| {
            let error = text.parse::<Block>().expect_err(text).to_string();
            assert!(error.contains(hint), "{error}");
        };
        refuse("198.18.0.0", "198.18.0.0/15");
        refuse("198.18.0.0/33", "no block");
        refuse("198.18.0.1/15", "write `198.18.0.0/15`");
        refuse("hosts", "no block");
    }
}
