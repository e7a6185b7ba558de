//! Blocks of addresses: an address and the number of bits that all of the block begin with.

use std::net::IpAddr;

/// The fewest blocks that hold `count` addresses from `first` on, and no others.
pub fn blocks_from(first: IpAddr, count: u128) -> Vec<(IpAddr, u8)> {
    let (width, number) = match first {
        IpAddr::V4(v4) => (32_u32, u128::from(v4.to_bits())),
        IpAddr::V6(v6) => (128, v6.to_bits()),
    };
    let (mut done, mut blocks) = (0, Vec::new());
    while done < count {
        let aligned = number.wrapping_add(done).trailing_zeros().min(width);
        let host_bits = aligned.min((count - done).ilog2());
        blocks.push((offset_by(first, done), (width - host_bits) as u8));
        done = done.saturating_add(1_u128.checked_shl(host_bits).unwrap_or(u128::MAX));
    }
    blocks
}

/// Blocks in a sentence: the first of many.
pub fn in_words(blocks: &[(IpAddr, u8)]) -> String {
    const SHOWN: usize = 4;
    let shown: Vec<String> = blocks.iter().take(SHOWN).map(|(to, bits)| format!("{to}/{bits}")).collect();
    let more = blocks.len().saturating_sub(SHOWN);
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

/// The address `offset` behind another.
pub fn offset_by(address: IpAddr, offset: u128) -> IpAddr {
    match address {
        IpAddr::V4(v4) => std::net::Ipv4Addr::from_bits(v4.to_bits().wrapping_add(offset as u32)).into(),
        IpAddr::V6(v6) => std::net::Ipv6Addr::from_bits(v6.to_bits().wrapping_add(offset)).into(),
    }
}

/// True if an address lies in one of `blocks`.
pub fn is_in(blocks: &[(IpAddr, u8)], address: IpAddr) -> bool {
    let width = if address.is_ipv4() { 32 } else { 128 };
    blocks.iter().any(|block| overlap(*block, (address, width)))
}

/// Bits of an address of this family.
pub fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// True if two blocks have an address in common: the shorter prefix is that of the other, too.
pub fn overlap(one: (IpAddr, u8), other: (IpAddr, u8)) -> bool {
    let number = |address: IpAddr| match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()) << 96,
        IpAddr::V6(v6) => v6.to_bits(),
    };
    let bits = u32::from(one.1.min(other.1));
    let differ = number(one.0) ^ number(other.0);
    one.0.is_ipv4() == other.0.is_ipv4() && differ.leading_zeros() >= bits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str) -> (IpAddr, u8) {
        let (address, bits) = text.split_once('/').unwrap();
        (address.parse().unwrap(), bits.parse().unwrap())
    }

    #[test]
    fn blocks_overlap_where_one_holds_the_other() {
        for (one, other, expected) in [
            ("198.18.0.0/15", "198.19.255.255/32", true),
            ("198.18.0.0/15", "198.20.0.0/16", false),
            ("198.18.0.0/15", "198.0.0.0/8", true),
            ("0.0.0.0/0", "198.18.0.0/15", true),
            ("2001:2::/48", "2001:2:0:ffff::/64", true),
            ("2001:2::/48", "2001:2:1::/48", false),
            ("::/0", "198.18.0.0/15", false),
        ] {
            assert_eq!(overlap(block(one), block(other)), expected, "{one} {other}");
            assert_eq!(overlap(block(other), block(one)), expected, "{other} {one}");
        }
    }

    #[test]
    fn blocks_hold_a_range_and_no_more() {
        let text = |first: &str, count| in_words(&blocks_from(first.parse().unwrap(), count));
        assert_eq!(text("198.18.0.1", 1), "198.18.0.1/32");
        assert_eq!(text("198.18.0.1", 8), "198.18.0.1/32, 198.18.0.2/31, 198.18.0.4/30, 198.18.0.8/32");
        assert_eq!(text("0.0.0.0", 1 << 32), "0.0.0.0/0");
        assert_eq!(text("255.255.255.254", 2), "255.255.255.254/31");
        assert_eq!(text("2001:2::1", 3), "2001:2::1/128, 2001:2::2/127");
        for (first, count) in [("10.0.0.37", 1_000_u128), ("fd00::ff", 65_537)] {
            let blocks = blocks_from(first.parse().unwrap(), count);
            let width = if first.contains(':') { 128 } else { 32 };
            let sizes = blocks.iter().map(|(_, bits)| 1_u128 << (width - u32::from(*bits)));
            assert_eq!(sizes.sum::<u128>(), count);
            let next = |(block, bits): &(IpAddr, u8)| offset_by(*block, 1 << (width - u32::from(*bits)));
            assert!(blocks.windows(2).all(|pair| next(&pair[0]) == pair[1].0), "{first}");
        }
    }
}
