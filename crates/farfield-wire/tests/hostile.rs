//! Reading of any bytes ends, and without a panic.

mod scene;

use farfield_base::Instant;
use farfield_wire::pcapng::Reader;
use farfield_wire::{
    Fragments, IcmpError, Icmpv4Repr, Icmpv6Repr, IpPacket, Quote, Reassembler, ReassemblyLimits, TcpRepr,
    Transport, Tso, VnetHeader, complete_checksum, decrement_hop_limit, echo_reply, mark_congestion,
};
use proptest::prelude::*;
use scene::{data, packet, tcp, tcp_packet, udp_packet, v4, v6};

/// Does with a packet all that anyone does.
fn use_all(bytes: &[u8]) {
    let mut out = vec![0; 70_000];
    if let Ok(ip) = IpPacket::parse(bytes) {
        assert!(ip.header_len() + ip.payload().len() == ip.bytes().len());
        if let IpPacket::V4(view) = &ip {
            assert!(view.options().map(<[u8]>::len).sum::<usize>() <= 40);
            view.checksum_is_valid();
        }
        match ip.transport() {
            Ok(Transport::Tcp(tcp)) => {
                TcpRepr::parse(&tcp);
                tcp.checksum_is_valid(&ip.addresses());
            }
            Ok(Transport::Udp(udp)) => assert!(udp.payload().len() <= ip.payload().len()),
            Ok(Transport::Icmpv4(icmp)) => assert!(Icmpv4Repr::parse(&icmp).is_ok() || icmp.kind() != 8),
            Ok(Transport::Icmpv6(icmp)) => assert!(Icmpv6Repr::parse(&icmp).is_ok() || icmp.kind() != 128),
            _ => {}
        }
    }
    if let Ok(tso) = Tso::new(bytes, 100) {
        for index in 0..tso.packets() {
            let len = tso.write_header(bytes, index, &mut out);
            assert_eq!(len + tso.payload(index).len(), tso.wire_len(index));
        }
    }
    if let Ok(mut fragments) = Fragments::new(bytes, 90, 1) {
        while let Some(piece) = fragments.next(&mut out) {
            assert!(piece.header_len + piece.payload.len() <= 90);
        }
    }
    let mut reassembler = Reassembler::new(ReassemblyLimits::default());
    let _ = reassembler.handle_fragment(Instant::ZERO, bytes);
    for from in [v4().source(), v6().source()] {
        for error in [IcmpError::HopLimitExceeded, IcmpError::TooBig { next_hop_mtu: 68 }] {
            error.write(bytes, from, &mut out);
        }
    }
    echo_reply(bytes, &mut out);
    Quote::parse(bytes);
    let _ = VnetHeader::parse(bytes);
    let mut changed = bytes.to_vec();
    let _ = decrement_hop_limit(&mut changed);
    let _ = mark_congestion(&mut changed);
    complete_checksum(&mut changed, 20, 16);
}

/// Packets of every kind, to be damaged.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for addresses in [v4(), v6()] {
        let large = udp_packet(addresses, &data(400));
        let mut fragments = Fragments::new(&large, 200, 5).unwrap();
        let mut header = [0; Fragments::HEADER_LEN_MAX];
        while let Some(piece) = fragments.next(&mut header) {
            seeds.push([&header[..piece.header_len], piece.payload].concat());
        }
        let mut error = [0; IcmpError::LEN_MAX];
        let len = IcmpError::NoRoute.write(&large, addresses.destination(), &mut error).unwrap();
        seeds.extend([tcp_packet(addresses, &tcp(), &data(300)), large, error[..len].to_vec()]);
    }
    // An IPv6 chain: hop-by-hop, routing, destination options, then TCP.
    let mut chain = tcp_packet(v6(), &tcp(), &data(20));
    let carried = chain.split_off(40);
    (chain[5], chain[6]) = (chain[5] + 24, 0);
    chain.extend([43, 0, 1, 4, 0, 0, 0, 0, 60, 0, 0, 0, 0, 0, 0, 0, 6, 0, 1, 4, 0, 0, 0, 0]);
    chain.extend(carried);
    assert!(matches!(IpPacket::parse(&chain).unwrap().transport(), Ok(Transport::Tcp(_))));
    seeds.push(chain);
    seeds
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_without_harm(
        version in prop_oneof![Just(0x45u8), Just(0x60), any::<u8>()],
        rest in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        use_all(&rest);
        use_all(&[&[version][..], &rest].concat());
    }

    /// Damage that leaves most of a packet right goes deeper than noise does.
    #[test]
    fn damaged_packets_are_read_without_harm(
        seed in any::<prop::sample::Index>(),
        hits in prop::collection::vec((0usize..80, any::<u8>()), 1..4), cut in 0usize..900,
    ) {
        let seeds = seeds();
        let mut bytes = seeds[seed.index(seeds.len())].clone();
        for (at, byte) in hits {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        use_all(&bytes);
        bytes.truncate(cut);
        use_all(&bytes);
    }

    #[test]
    fn any_capture_is_read_without_harm(noise in prop::collection::vec(any::<u8>(), 0..200), begun: bool) {
        let start = farfield_wire::pcapng::Writer::new(Vec::new(), "x").unwrap().finish().unwrap();
        let bytes = if begun { [start, noise].concat() } else { noise };
        let mut reader = Reader::new(&bytes[..]);
        while let Ok(Some(_)) = reader.next_block() {}
    }
}

#[test]
fn the_seeds_themselves_are_right() {
    seeds().iter().for_each(|seed| use_all(seed));
    let ip = farfield_wire::IpRepr::new(v4(), farfield_wire::Protocol::TCP);
    use_all(&packet(&ip, &farfield_wire::Message::Tcp(&tcp(), &data(65_400))));
}
