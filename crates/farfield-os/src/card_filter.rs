//! Filters in the kernel for packet sockets on a network card, as programs of classic BPF (socket(7),
//! `SO_ATTACH_FILTER`): frames from the named hosts to addresses that live on the card, and what neighbours
//! on the link ask. All other frames of the card cost no copy, and are nobody's to see.
//!
//! The programs read frames from their Ethernet header on. Frames of a VLAN, whose tag the kernel keeps
//! beside them, belong to another interface.

use super::packet_filter::{
    BESIDE_PACKET, DROP, INSTRUCTIONS_MAX, JUMP, JUMP_IF_EQUAL, LOAD_BYTE, LOAD_HALF, LOAD_WORD, RETURN,
    branch, step,
};
use std::net::IpAddr;

const AND: u16 = 0x54;
const JUMP_IF_GREATER: u16 = 0x25;
const JUMP_IF_AT_LEAST: u16 = 0x35;
/// Loads the length of an IPv4 header at an offset into X.
const X_IS_HEADER_LEN: u16 = 0xb1;
/// Loads a byte at X plus an offset.
const LOAD_BYTE_PAST_X: u16 = 0x50;
/// Offset at which the kernel shows that the frame had a tag of a VLAN (`SKF_AD_VLAN_TAG_PRESENT`).
const VLAN_TAG_PRESENT: u32 = BESIDE_PACKET + 48;
const ETHERTYPE_AT: u32 = 12;
const IPV4: u32 = 0x0800;
const ARP: u32 = 0x0806;
const IPV6: u32 = 0x86dd;
const NETWORK: u32 = 14;
const ICMP: u32 = 1;
const ICMPV6: u32 = 58;
/// Verdict on a frame that is kept: all of it.
const ACCEPT: libc::sock_filter = step(RETURN, u32::MAX);

/// A block of addresses: its first, and the length of its prefix.
pub type Block = (IpAddr, u8);

/// Keeps IP packets in frames to the Ethernet address `own`, from addresses in `from` to addresses in `to`,
/// and errors of ICMP that anybody sends there. `None` if the blocks are too many for a program.
pub fn packets(own: [u8; 6], from: &[Block], to: &[Block]) -> Option<Vec<libc::sock_filter>> {
    let [a, b, c, d, e, f] = own;
    let mut program = untagged();
    program.extend([
        step(LOAD_WORD, 0),
        branch(JUMP_IF_EQUAL, u32::from_be_bytes([a, b, c, d]), 1, 0),
        DROP,
        step(LOAD_HALF, 4),
        branch(JUMP_IF_EQUAL, u16::from_be_bytes([e, f]).into(), 1, 0),
        DROP,
        step(LOAD_HALF, ETHERTYPE_AT),
    ]);
    for (ethertype, is_v6) in [(IPV4, false), (IPV6, true)] {
        let of_family = |blocks: &[Block]| -> Vec<Block> {
            blocks.iter().copied().filter(|(address, _)| address.is_ipv6() == is_v6).collect()
        };
        let (source_at, destination_at) =
            if is_v6 { (NETWORK + 8, NETWORK + 24) } else { (NETWORK + 12, NETWORK + 16) };
        let mut part = any_of(&of_family(to), destination_at);
        part.extend(if is_v6 { icmpv6_errors() } else { icmp_errors() });
        part.extend(any_of(&of_family(from), source_at));
        part.push(ACCEPT);
        program.push(branch(JUMP_IF_EQUAL, ethertype, 1, 0));
        program.push(step(JUMP, part.len() as u32));
        program.extend(part);
    }
    program.push(DROP);
    (program.len() <= INSTRUCTIONS_MAX).then_some(program)
}

/// Keeps ARP, and solicitations and advertisements of IPv6 neighbours.
pub fn neighbours() -> Vec<libc::sock_filter> {
    let mut program = untagged();
    program.extend([
        step(LOAD_HALF, ETHERTYPE_AT),
        branch(JUMP_IF_EQUAL, ARP, 0, 1),
        ACCEPT,
        branch(JUMP_IF_EQUAL, IPV6, 1, 0),
        DROP,
        step(LOAD_BYTE, NETWORK + 6),
        branch(JUMP_IF_EQUAL, ICMPV6, 1, 0),
        DROP,
        step(LOAD_BYTE, NETWORK + 40),
        branch(JUMP_IF_EQUAL, 135, 1, 0),
        branch(JUMP_IF_EQUAL, 136, 0, 1),
        ACCEPT,
        DROP,
    ]);
    program
}

fn untagged() -> Vec<libc::sock_filter> {
    vec![step(LOAD_BYTE, VLAN_TAG_PRESENT), branch(JUMP_IF_EQUAL, 0, 1, 0), DROP]
}

/// Drops packets whose address at `at` is in none of `blocks`, and goes on with the others.
fn any_of(blocks: &[Block], at: u32) -> Vec<libc::sock_filter> {
    let mut part = Vec::new();
    for (address, bits) in blocks {
        let words: Vec<u32> = match address {
            IpAddr::V4(v4) => vec![v4.to_bits()],
            IpAddr::V6(v6) => (0..4).rev().map(|word| (v6.to_bits() >> (32 * word)) as u32).collect(),
        };
        let mut steps = Vec::new();
        for (nth, word) in words.iter().enumerate() {
            let left = u32::from(*bits).saturating_sub(32 * nth as u32).min(32);
            if left == 0 {
                break;
            }
            let mask = u32::MAX << (32 - left);
            steps.extend([
                step(LOAD_WORD, at + 4 * nth as u32),
                step(AND, mask),
                step(JUMP_IF_EQUAL, word & mask),
            ]);
        }
        // A comparison that differs goes on behind the jump that is taken by an equal one.
        let len = steps.len();
        for (nth, compare) in steps.iter_mut().enumerate().filter(|(nth, _)| nth % 3 == 2) {
            compare.jf = (len - nth) as u8;
        }
        part.extend(steps);
        part.push(step(JUMP, 0));
    }
    part.push(DROP);
    let len = part.len();
    for (nth, jump) in part.iter_mut().enumerate().filter(|(_, step)| step.code == JUMP) {
        jump.k = (len - nth - 1) as u32;
    }
    part
}

/// Keeps destination unreachable, source quench, time exceeded and parameter problem (RFC 792).
fn icmp_errors() -> Vec<libc::sock_filter> {
    let kinds = [3, 4, 11, 12].map(|kind| [branch(JUMP_IF_EQUAL, kind, 0, 1), ACCEPT]).concat();
    let mut part = vec![
        step(LOAD_BYTE, NETWORK + 9),
        branch(JUMP_IF_EQUAL, ICMP, 0, 2 + kinds.len() as u8),
        step(X_IS_HEADER_LEN, NETWORK),
        step(LOAD_BYTE_PAST_X, NETWORK),
    ];
    part.extend(kinds);
    part
}

/// Keeps ICMPv6's errors, whose types are below 128 (RFC 4443, section 2.1), and drops what neighbours and
/// routers say, types 133 to 137 (RFC 4861, section 4).
fn icmpv6_errors() -> Vec<libc::sock_filter> {
    vec![
        step(LOAD_BYTE, NETWORK + 6),
        branch(JUMP_IF_EQUAL, ICMPV6, 0, 6),
        step(LOAD_BYTE, NETWORK + 40),
        branch(JUMP_IF_AT_LEAST, 128, 1, 0),
        ACCEPT,
        branch(JUMP_IF_AT_LEAST, 133, 0, 2),
        branch(JUMP_IF_GREATER, 137, 1, 0),
        DROP,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: [u8; 6] = [2, 0, 0, 0, 0, 7];

    /// Verdict of the program on a frame: the instructions that are used here, as the kernel runs them.
    fn keeps(program: &[libc::sock_filter], frame: &[u8], tagged: bool) -> bool {
        let (mut at, mut a, mut x) = (0, 0_u32, 0_u32);
        let load = |from: u32, len: usize| {
            let bytes = frame.get(from as usize..from as usize + len)?;
            Some(bytes.iter().fold(0, |value, byte| value << 8 | u32::from(*byte)))
        };
        loop {
            let libc::sock_filter { code, jt, jf, k } = program[at];
            at += 1;
            let value = match code {
                LOAD_BYTE if k == VLAN_TAG_PRESENT => Some(u32::from(tagged)),
                LOAD_WORD => load(k, 4),
                LOAD_HALF => load(k, 2),
                LOAD_BYTE => load(k, 1),
                LOAD_BYTE_PAST_X => load(x + k, 1),
                X_IS_HEADER_LEN => {
                    let Some(first) = load(k, 1) else { return false };
                    x = 4 * (first & 0xf);
                    continue;
                }
                AND => Some(a & k),
                RETURN => return k > 0,
                JUMP => {
                    at += k as usize;
                    continue;
                }
                _ => {
                    let holds = match code {
                        JUMP_IF_EQUAL => a == k,
                        JUMP_IF_GREATER => a > k,
                        JUMP_IF_AT_LEAST => a >= k,
                        code => panic!("instruction {code:#x}"),
                    };
                    at += usize::from(if holds { jt } else { jf });
                    continue;
                }
            };
            let Some(value) = value else { return false };
            a = value;
        }
    }

    /// A frame to `to_ethernet` with a packet whose first byte behind the IP header is `kind`.
    fn frame(to_ethernet: [u8; 6], source: &str, destination: &str, protocol: u8, kind: u8) -> Vec<u8> {
        let mut frame = [&to_ethernet[..], &[2, 0, 0, 0, 0, 9]].concat();
        match (source.parse().unwrap(), destination.parse().unwrap()) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                frame.extend([8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, protocol, 0, 0]);
                frame.extend(source.octets());
                frame.extend(destination.octets());
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 8, protocol, 64]);
                frame.extend(source.octets());
                frame.extend(destination.octets());
            }
            _ => panic!("two families"),
        }
        frame.extend([kind, 0, 0, 0, 0, 0, 0, 0]);
        frame
    }

    fn block(text: &str) -> Block {
        let (address, bits) = text.split_once('/').unwrap();
        (address.parse().unwrap(), bits.parse().unwrap())
    }

    #[test]
    fn packets_of_named_hosts_to_addresses_on_the_card_are_kept() {
        let from = ["10.1.2.3/32", "10.7.0.0/16", "fd00:2::1/128"].map(block);
        let to = ["198.18.0.0/15", "192.0.2.8/30", "2001:2::/48"].map(block);
        let program = packets(OWN, &from, &to).unwrap();
        let other = [2, 0, 0, 0, 0, 8];
        let tcp = 6;
        for (to, source, destination, protocol, kind, expected) in [
            (OWN, "10.1.2.3", "198.18.0.1", tcp, 0, true),
            (OWN, "10.1.2.3", "198.19.255.255", tcp, 0, true),
            (OWN, "10.7.255.1", "192.0.2.11", tcp, 0, true),
            (OWN, "10.1.2.3", "198.20.0.0", tcp, 0, false),
            (OWN, "10.1.2.3", "192.0.2.12", tcp, 0, false),
            (OWN, "10.1.2.4", "198.18.0.1", tcp, 0, false),
            (other, "10.1.2.3", "198.18.0.1", tcp, 0, false),
            // Errors of routers on the way, but no questions of theirs.
            (OWN, "10.9.9.9", "198.18.0.1", 1, 3, true),
            (OWN, "10.9.9.9", "198.18.0.1", 1, 11, true),
            (OWN, "10.9.9.9", "198.18.0.1", 1, 8, false),
            (OWN, "10.9.9.9", "198.20.0.1", 1, 3, false),
            (OWN, "10.1.2.3", "198.18.0.1", 1, 8, true),
            (OWN, "fd00:2::1", "2001:2::5", tcp, 0, true),
            (OWN, "fd00:2::2", "2001:2::5", tcp, 0, false),
            (OWN, "fd00:2::1", "2001:2:1::5", tcp, 0, false),
            (OWN, "fd00:9::9", "2001:2::5", 58, 2, true),
            (OWN, "fd00:9::9", "2001:2::5", 58, 128, false),
            (OWN, "fd00:2::1", "2001:2::5", 58, 128, true),
            (OWN, "fd00:2::1", "2001:2::5", 58, 135, false),
            (OWN, "fd00:2::1", "2001:2::5", 58, 136, false),
            (OWN, "fd00:2::1", "2001:2::5", 58, 138, true),
        ] {
            let frame = frame(to, source, destination, protocol, kind);
            assert_eq!(keeps(&program, &frame, false), expected, "{source} {destination} {protocol} {kind}");
            assert!(!keeps(&program, &frame, true), "of a VLAN");
        }
        let arp = [&[0xff; 6][..], &[2, 0, 0, 0, 0, 9, 8, 6], &[0; 28]].concat();
        assert!(!keeps(&program, &arp, false) && keeps(&neighbours(), &arp, false));
        let many: Vec<Block> = (0..2_000).map(|nth: u32| (IpAddr::V4(nth.into()), 32)).collect();
        assert!(packets(OWN, &many, &to).is_none(), "more than the kernel takes");
    }

    #[test]
    fn neighbours_are_heard_and_nothing_else() {
        let program = neighbours();
        for (kind, expected) in [(134, false), (135, true), (136, true), (137, false), (128, false)] {
            let frame = frame([0x33, 0x33, 0xff, 0, 0, 1], "fd00::1", "ff02::1:ff00:1", 58, kind);
            assert_eq!(keeps(&program, &frame, false), expected, "{kind}");
        }
        assert!(!keeps(&program, &frame(OWN, "10.1.2.3", "198.18.0.1", 6, 135), false));
        assert!(!keeps(&program, &frame(OWN, "fd00::1", "fd00::2", 6, 135), false));
    }
}
