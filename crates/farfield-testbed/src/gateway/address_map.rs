//! Another address for a server at a loopback address, for programs that have a loopback interface of their
//! own: they send to the one, and the server's kernel gets packets to the other.
//!
//! Addresses are replaced in place, in headers and in what ICMP errors quote, and the checksums that cover
//! them are updated (RFC 1624). Only packets between real kernels need this: emulated clients send to
//! whatever address the server has. Segments that are left to be cut, or whose checksum is left to be done,
//! keep that.

use farfield_wire::{update_checksum, update_checksum_u32};
use std::net::IpAddr;

const V4_LEN: usize = 20;
const V6_LEN: usize = 40;
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;

/// An address in place of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressMap {
    /// The address that others send to.
    pub shown: IpAddr,
    /// The server's own, of the same family.
    pub own: IpAddr,
}

impl AddressMap {
    /// Rewrites a packet to the server. `partial`: its checksum of the transport is left to be done.
    pub fn to_server(&self, packet: &mut [u8], partial: bool) {
        replace(packet, self.shown, self.own, partial, Depth::Whole);
    }

    /// Rewrites a packet from the server.
    pub fn from_server(&self, packet: &mut [u8], partial: bool) {
        replace(packet, self.own, self.shown, partial, Depth::Whole);
    }
}

/// Place of a packet: it came as such, or is quoted. An error is not sent about an error (RFC 1122, section
/// 3.2.2; RFC 4443, section 2.4), so that what a quoted one quotes is not looked at, however deep a packet
/// has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    Whole,
    Quoted,
}

/// Replaces `from` by `to` wherever a packet has it as an address. Of a packet that is cut short, as quoted
/// ones are, the part that is there.
fn replace(packet: &mut [u8], from: IpAddr, to: IpAddr, partial: bool, depth: Depth) {
    let quotes = depth == Depth::Whole;
    match (packet.first().map(|first| first >> 4), from, to) {
        (Some(4), IpAddr::V4(from), IpAddr::V4(to)) if packet.len() >= V4_LEN => {
            let header_len = usize::from(packet[0] & 0xf) * 4;
            let is_first = u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff == 0;
            let transport = is_first.then_some((packet[9], header_len));
            let changed = replace_in(packet, [12, 16], &from.octets(), &to.octets());
            for (old, new) in &changed {
                update(packet, 10, *old, *new, false);
            }
            let Some((protocol, at)) = transport else { return };
            if protocol == ICMP {
                if !quotes {
                    return;
                }
                return replace_quoted(packet, at, [3, 4, 5, 11, 12].as_slice(), from.into(), to.into());
            }
            changed.iter().for_each(|(old, new)| update_transport(packet, protocol, at, *old, *new, partial));
        }
        (Some(6), IpAddr::V6(from), IpAddr::V6(to)) if packet.len() >= V6_LEN => {
            let changed = replace_in(packet, [8, 24], &from.octets(), &to.octets());
            let Some((protocol, at)) = transport_of_v6(packet) else { return };
            changed.iter().for_each(|(old, new)| update_transport(packet, protocol, at, *old, *new, partial));
            if protocol == ICMPV6 && quotes {
                replace_quoted(packet, at, [1, 2, 3, 4].as_slice(), from.into(), to.into());
            }
        }
        _ => {}
    }
}

/// Replaces the address at each of two places, and returns the words that changed.
fn replace_in(packet: &mut [u8], places: [usize; 2], from: &[u8], to: &[u8]) -> Vec<(u32, u32)> {
    let mut changed = Vec::new();
    let word = |bytes: &[u8]| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    for at in places {
        if packet.get(at..at + from.len()) != Some(from) {
            continue;
        }
        packet[at..at + to.len()].copy_from_slice(to);
        changed.extend(from.chunks_exact(4).map(word).zip(to.chunks_exact(4).map(word)));
    }
    changed
}

/// Protocol and offset of the transport's header, behind extension headers; `None` in a later fragment.
fn transport_of_v6(packet: &[u8]) -> Option<(u8, usize)> {
    const EXTENSIONS: [u8; 3] = [0, 43, 60];
    const FRAGMENT: u8 = 44;
    let (mut protocol, mut at) = (packet[6], V6_LEN);
    while EXTENSIONS.contains(&protocol) || protocol == FRAGMENT {
        let header = packet.get(at..at + 8)?;
        if protocol == FRAGMENT && u16::from_be_bytes([header[2], header[3]]) & 0xfff8 != 0 {
            return None;
        }
        let length = if protocol == FRAGMENT { 8 } else { 8 + usize::from(header[1]) * 8 };
        (protocol, at) = (header[0], at + length);
    }
    Some((protocol, at))
}

fn update_transport(packet: &mut [u8], protocol: u8, at: usize, old: u32, new: u32, partial: bool) {
    match protocol {
        TCP => update(packet, at + 16, old, new, partial),
        // RFC 768: zero is no checksum.
        UDP if packet.get(at + 6..at + 8) != Some(&[0, 0]) => update(packet, at + 6, old, new, partial),
        ICMPV6 => update(packet, at + 2, old, new, partial),
        _ => {}
    }
}

/// Updates the checksum at `at` for a changed word. A partial one is a sum, not its complement.
fn update(packet: &mut [u8], at: usize, old: u32, new: u32, partial: bool) {
    let Some(&[high, low]) = packet.get(at..at + 2) else { return };
    let before = u16::from_be_bytes([high, low]);
    let after = match partial {
        true => !update_checksum_u32(!before, old, new),
        false => update_checksum_u32(before, old, new),
    };
    packet[at..at + 2].copy_from_slice(&after.to_be_bytes());
}

/// Replaces addresses in the packet that an ICMP error at `at` quotes.
fn replace_quoted(packet: &mut [u8], at: usize, errors: &[u8], from: IpAddr, to: IpAddr) {
    const BEFORE_QUOTE: usize = 8;
    let quoted = at + BEFORE_QUOTE;
    if packet.len() <= quoted || !errors.contains(&packet[at]) {
        return;
    }
    let before = packet[quoted..].to_vec();
    replace(&mut packet[quoted..], from, to, false, Depth::Quoted);
    let pairs = |bytes: &[u8]| -> Vec<u16> {
        bytes.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)])).collect()
    };
    let mut checksum = u16::from_be_bytes([packet[at + 2], packet[at + 3]]);
    for (old, new) in pairs(&before).into_iter().zip(pairs(&packet[quoted..])).filter(|(old, new)| old != new)
    {
        checksum = update_checksum(checksum, old, new);
    }
    packet[at + 2..at + 4].copy_from_slice(&checksum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_wire::{
        Addresses, IcmpError, Icmpv4Repr, Icmpv6Repr, IpRepr, Message, SeqNumber, TcpFlags, TcpOptions,
        TcpRepr, UdpRepr, write_packet,
    };

    const MAPS: [(&str, &str, &str); 2] =
        [("198.18.0.5", "192.0.2.1", "127.0.0.1"), ("2001:2::5", "2001:db8::1", "::1")];

    fn addresses(source: &str, destination: &str) -> Addresses {
        match (source.parse().unwrap(), destination.parse().unwrap()) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Addresses::V4 { source, destination },
            (IpAddr::V6(source), IpAddr::V6(destination)) => Addresses::V6 { source, destination },
            _ => panic!("two families"),
        }
    }

    fn packet(source: &str, destination: &str, message: &Message<'_>) -> Vec<u8> {
        let ip = IpRepr::new(addresses(source, destination), message.protocol());
        let mut bytes = vec![0; ip.header_len() + message.wire_len()];
        write_packet(&ip, message, &mut bytes);
        bytes
    }

    fn header() -> TcpRepr {
        TcpRepr {
            source_port: 1,
            destination_port: 2,
            seq: SeqNumber(3),
            ack: SeqNumber(4),
            flags: TcpFlags::ACK,
            window: 5,
            urgent: 0,
            options: TcpOptions::default(),
        }
    }

    fn messages(is_v6: bool, tcp: &TcpRepr) -> Vec<Message<'_>> {
        let udp = UdpRepr { source_port: 7, destination_port: 9 };
        let echo = match is_v6 {
            true => Message::Icmpv6(Icmpv6Repr::EchoRequest { ident: 1, sequence: 2, data: b"data" }),
            false => Message::Icmpv4(Icmpv4Repr::EchoRequest { ident: 1, sequence: 2, data: b"data" }),
        };
        vec![Message::Tcp(tcp, b"odd"), Message::Udp(udp, b"data"), echo]
    }

    /// A rewritten packet is the one that would have been built with the other address.
    #[test]
    fn packets_are_as_if_built_with_the_other_address() {
        for (client, shown, own) in MAPS {
            let map = AddressMap { shown: shown.parse().unwrap(), own: own.parse().unwrap() };
            for message in messages(client.contains(':'), &header()) {
                let mut bytes = packet(client, shown, &message);
                map.to_server(&mut bytes, false);
                assert_eq!(bytes, packet(client, own, &message), "{message:?}");
                let mut back = packet(own, client, &message);
                map.from_server(&mut back, false);
                assert_eq!(back, packet(shown, client, &message), "{message:?}");
                // Others' packets pass as they are.
                let mut others = packet(client, client, &message);
                map.to_server(&mut others, false);
                assert_eq!(others, packet(client, client, &message));
            }
        }
    }

    /// An error of the server's kernel quotes the packet to its own address; its receiver knows the other.
    #[test]
    fn quoted_packets_are_rewritten_as_well() {
        for (client, shown, own) in MAPS {
            let map = AddressMap { shown: shown.parse().unwrap(), own: own.parse().unwrap() };
            for message in messages(client.contains(':'), &header()) {
                let error = |server: &str| {
                    let quoted = packet(client, server, &message);
                    let mut bytes = vec![0; IcmpError::LEN_MAX];
                    let from = server.parse().unwrap();
                    let length = IcmpError::PortUnreachable.write(&quoted, from, &mut bytes).unwrap();
                    bytes.truncate(length);
                    bytes
                };
                let mut bytes = error(own);
                map.from_server(&mut bytes, false);
                assert_eq!(bytes, error(shown), "{message:?}");
            }
        }
    }

    /// Errors about errors, as deep as a packet has room for, cost no more than one: only the first is
    /// looked at.
    #[test]
    fn errors_within_errors_are_left_as_they_are() {
        for (client, shown, own) in MAPS {
            let map = AddressMap { shown: shown.parse().unwrap(), own: own.parse().unwrap() };
            let layer = {
                let quoted =
                    packet(client, own, &Message::Udp(UdpRepr { source_port: 7, destination_port: 9 }, b""));
                let mut bytes = vec![0; IcmpError::LEN_MAX];
                let length =
                    IcmpError::PortUnreachable.write(&quoted, own.parse().unwrap(), &mut bytes).unwrap();
                bytes[..length - quoted.len()].to_vec()
            };
            for layers in [3, 60_000 / layer.len()] {
                let mut nested = layer.repeat(layers);
                map.from_server(&mut nested, false);
                let quoted = &nested[2 * layer.len()..];
                assert!(quoted == layer.repeat(layers - 2), "{layers} layers");
                assert_ne!(
                    nested[layer.len()..2 * layer.len()],
                    layer[..],
                    "the first that is quoted is changed"
                );
            }
        }
    }

    /// A checksum that is left to be done comes out right when it is done.
    #[test]
    fn a_partial_checksum_stays_one() {
        let map = AddressMap { shown: "192.0.2.1".parse().unwrap(), own: "127.0.0.1".parse().unwrap() };
        let tcp = header();
        let message = &messages(false, &tcp)[0];
        let whole = packet("198.18.0.5", "127.0.0.1", message);
        let mut partial = packet("198.18.0.5", "192.0.2.1", message);
        let pseudo = |bytes: &[u8]| {
            let length = (bytes.len() - V4_LEN) as u16;
            farfield_wire::Sum::of(&bytes[12..20]).word(u16::from(TCP)).word(length).fold()
        };
        let sum = pseudo(&partial);
        partial[V4_LEN + 16..V4_LEN + 18].copy_from_slice(&sum.to_be_bytes());
        map.to_server(&mut partial, true);
        assert!(farfield_wire::complete_checksum(&mut partial, V4_LEN, 16));
        assert_eq!(partial, whole);
    }
}
