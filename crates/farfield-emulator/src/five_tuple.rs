//! The five-tuple of a packet, by which queues part flows, and its hash.
//!
//! A packet has the same five-tuple in whichever form it is under way, and on whichever side of the network.
//! Fragments, ICMP and what cannot be read have no ports: they are one flow for each pair of addresses and
//! protocol.

use farfield_wire::{Addresses, IpPacket, Protocol, Transport};

/// Source and destination, protocol and ports; without ports these are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FiveTuple {
    pub addresses: Addresses,
    pub protocol: Protocol,
    pub source_port: u16,
    pub destination_port: u16,
}

impl FiveTuple {
    /// The five-tuple of an IP packet of a real host; `addresses` are its own.
    pub fn of_bytes(addresses: Addresses, bytes: &[u8]) -> FiveTuple {
        let of = |protocol, source_port, destination_port| FiveTuple {
            addresses,
            protocol,
            source_port,
            destination_port,
        };
        let Ok(ip) = IpPacket::parse(bytes) else { return of(Protocol(0), 0, 0) };
        match ip.transport() {
            Ok(Transport::Tcp(tcp)) => of(Protocol::TCP, tcp.source_port(), tcp.destination_port()),
            Ok(Transport::Udp(udp)) => of(Protocol::UDP, udp.source_port(), udp.destination_port()),
            _ => of(ip.protocol(), 0, 0),
        }
    }

    /// The five-tuple's hash under a link's key.
    pub fn hash(&self, key: u64) -> u32 {
        let ports = u64::from(self.source_port) << 16 | u64::from(self.destination_port);
        let hash = mix(key, ports << 8 | u64::from(self.protocol.0));
        let hash = match self.addresses {
            Addresses::V4 { source, destination } => {
                mix(hash, u64::from(source.to_bits()) << 32 | u64::from(destination.to_bits()))
            }
            Addresses::V6 { source, destination } => [source.to_bits(), destination.to_bits()]
                .into_iter()
                .fold(hash, |hash, bits| mix(mix(hash, (bits >> 64) as u64), bits as u64)),
        };
        (hash >> 32) as u32
    }
}

/// The hash of a flow of cross traffic under a link's key; `number` is its place in the plan.
pub(crate) fn hash_of_cross(key: u64, number: u32) -> u32 {
    (mix(mix(key, u64::MAX), number.into()) >> 32) as u32
}

/// One round of SplitMix64's finalizer (Steele, Lea and Flood 2014, figure 15), which takes `word` in.
fn mix(state: u64, word: u64) -> u64 {
    let mut z = (state ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn of_port(is_v6: bool, port: u16) -> FiveTuple {
        let addresses = if is_v6 {
            Addresses::V6 { source: Ipv6Addr::LOCALHOST, destination: Ipv6Addr::UNSPECIFIED }
        } else {
            Addresses::V4 { source: Ipv4Addr::new(198, 18, 0, 1), destination: Ipv4Addr::LOCALHOST }
        };
        FiveTuple { addresses, protocol: Protocol::TCP, source_port: port, destination_port: 80 }
    }

    /// 20,000 flows in 64 bins: 313 each, with a deviation of 18.
    #[test]
    fn flows_spread_over_all_queues() {
        for (key, is_v6) in [(1, false), (2, false), (3, true)] {
            let mut bins = [0u32; 64];
            for port in 10_000..30_000 {
                bins[(of_port(is_v6, port).hash(key) >> 26) as usize] += 1;
            }
            assert!(bins.iter().all(|flows| (220..=405).contains(flows)), "{bins:?}");
        }
    }

    #[test]
    fn each_part_counts() {
        let one = of_port(false, 5);
        let others = [
            FiveTuple { source_port: 6, ..one },
            FiveTuple { destination_port: 81, ..one },
            FiveTuple { protocol: Protocol::UDP, ..one },
            FiveTuple { addresses: one.addresses.reversed(), ..one },
            FiveTuple { source_port: one.destination_port, destination_port: one.source_port, ..one },
        ];
        assert!(others.iter().all(|other| other.hash(9) != one.hash(9)));
        assert_ne!(one.hash(9), one.hash(10), "each link hashes in its own way");
        assert_ne!(hash_of_cross(9, 0), hash_of_cross(9, 1));
    }
}
