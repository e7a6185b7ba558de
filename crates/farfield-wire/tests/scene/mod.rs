//! Packets for scenes: between two hosts of either family, with payload that shows where it came from.

#![allow(dead_code, reason = "each test file uses its part of the vocabulary")]

use farfield_wire::{
    Addresses, IpPacket, IpRepr, Message, Protocol, SeqNumber, TcpFlags, TcpOptions, TcpPacket, TcpRepr,
    Timestamps, Transport, UdpRepr, write_packet,
};

/// A client and a server.
pub fn v4() -> Addresses {
    Addresses::V4 { source: [198, 18, 0, 1].into(), destination: [10, 0, 0, 80].into() }
}

/// The addresses in IPv6.
pub fn v6() -> Addresses {
    Addresses::V6 { source: "2001:db8::1".parse().unwrap(), destination: "2001:db8::80".parse().unwrap() }
}

/// Bytes that differ from their neighbours and from those some thousands away.
pub fn data(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + at / 251) as u8).collect()
}

/// A header as data segments have it: timestamps, ACK, PSH.
pub fn tcp() -> TcpRepr {
    TcpRepr {
        source_port: 40_000,
        destination_port: 80,
        seq: SeqNumber(u32::MAX - 5_000),
        ack: SeqNumber(77),
        flags: TcpFlags::ACK | TcpFlags::PSH,
        window: 1024,
        options: TcpOptions { timestamps: Some(Timestamps { value: 1, echo: 2 }), ..TcpOptions::default() },
        ..TcpRepr::default()
    }
}

pub fn packet(ip: &IpRepr<'_>, message: &Message<'_>) -> Vec<u8> {
    let mut bytes = vec![0xaa; ip.header_len() + message.wire_len()];
    assert_eq!(write_packet(ip, message, &mut bytes), bytes.len());
    bytes
}

pub fn tcp_packet(addresses: Addresses, tcp: &TcpRepr, payload: &[u8]) -> Vec<u8> {
    packet(&IpRepr::new(addresses, Protocol::TCP), &Message::Tcp(tcp, payload))
}

/// A UDP packet that routers may cut.
pub fn udp_packet(addresses: Addresses, payload: &[u8]) -> Vec<u8> {
    let mut ip = IpRepr::new(addresses, Protocol::UDP);
    if let IpRepr::V4(ip) = &mut ip {
        (ip.dont_fragment, ip.ident) = (false, 4711);
    }
    packet(&ip, &Message::Udp(UdpRepr { source_port: 9, destination_port: 33_434 }, payload))
}

/// Views a TCP packet, all of whose checksums must be right.
pub fn read_tcp(bytes: &[u8]) -> TcpPacket<'_> {
    let ip = read_ip(bytes);
    match ip.transport() {
        Ok(Transport::Tcp(tcp)) => {
            assert!(tcp.checksum_is_valid(&ip.addresses()), "TCP checksum");
            tcp
        }
        other => panic!("not TCP: {other:?}"),
    }
}

pub fn read_ip(bytes: &[u8]) -> IpPacket<'_> {
    let ip = IpPacket::parse(bytes).expect("an IP packet");
    assert_eq!(ip.bytes().len(), bytes.len(), "its length field says its length");
    if let IpPacket::V4(view) = &ip {
        assert!(view.checksum_is_valid(), "IPv4 checksum");
    }
    ip
}
