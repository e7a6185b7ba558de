//! Large packets of real hosts: whole where the path only takes time, else packet by packet, and joined
//! again where they come out together.

use crate::scene::{Scene, link, ms};
use bytes::Bytes;
use farfield_base::random::Seed;
use farfield_base::{Duration, Instant};
use farfield_emulator::{ClientId, Departure, Framed, Packet, PacketPayload, Router};
use farfield_wire::{
    Addresses, ChecksumNeed, Gso, GsoKind, IpPacket, IpRepr, Message, Protocol, SeqNumber, TcpFlags,
    TcpOptions, TcpRepr, Transport, VnetHeader, write_packet,
};
use std::sync::Arc;

const MSS: usize = 1_460;

/// Byte `at` of the stream.
fn byte(at: usize) -> u8 {
    (at % 251) as u8
}

/// A segment of a stream, from byte `from` on: many packets of [`MSS`] in one, as TCP of a kernel writes it.
fn segment(addresses: Addresses, from: usize, len: usize) -> Packet {
    let repr = TcpRepr {
        source_port: 40_000,
        destination_port: 80,
        seq: SeqNumber(from as u32),
        ack: SeqNumber(1),
        flags: TcpFlags::ACK | TcpFlags::PSH,
        window: 500,
        urgent: 0,
        options: TcpOptions::default(),
    };
    let data: Vec<u8> = (from..from + len).map(byte).collect();
    let mut bytes = vec![0; VnetHeader::LEN + 40 + len];
    let ip = IpRepr::new(addresses, Protocol::TCP);
    write_packet(&ip, &Message::Tcp(&repr, &data), &mut bytes[VnetHeader::LEN..]);
    let header = VnetHeader {
        checksum: ChecksumNeed::Partial { start: 20, offset: 16 },
        gso: Some(Gso { kind: GsoKind::TcpV4, size: MSS as u16, ecn: false }),
        header_len: 40,
    };
    bytes[..VnetHeader::LEN].copy_from_slice(&header.emit());
    Framed::parse(bytes.into()).expect("a segment").into_packet()
}

fn router(scene: &Scene) -> (Router, Addresses) {
    let network = scene.network();
    let addresses = network.addresses(ClientId::new(0));
    (Router::new(Arc::new(network), Seed(1)), addresses)
}

fn at_servers(router: &mut Router) -> Vec<Departure> {
    let mut all = Vec::new();
    loop {
        all.extend(std::iter::from_fn(|| router.poll_departure()));
        let Some(next) = router.next_at() else { return all };
        assert!(router.step(next, &mut ()));
    }
}

/// The data of a packet, whose checksum is right, and where it belongs in the stream.
#[track_caller]
fn data(packet: &Packet) -> (usize, Vec<u8>) {
    let bytes = packet.to_bytes();
    let ip = IpPacket::parse(&bytes).expect("a packet");
    let Ok(Transport::Tcp(tcp)) = ip.transport() else { panic!("{ip:?}") };
    assert!(tcp.checksum_is_valid(&ip.addresses()));
    assert_eq!(ip.hop_limit(), 63);
    (tcp.seq().0 as usize, tcp.payload().to_vec())
}

#[test]
fn a_large_packet_passes_whole_where_the_path_only_takes_time() {
    let mut scene = Scene::at(ms(20));
    scene.shared = vec![link("delay = '3ms'")];
    let (mut router, up) = router(&scene);
    router.handle_client_packet(Instant::ZERO, segment(up, 0, 10 * MSS));
    let out = at_servers(&mut router);
    let [departure] = &out[..] else { panic!("{out:?}") };
    assert_eq!((departure.packet.packets(), departure.intended), (10, Instant::ZERO + ms(13)));
    let PacketPayload::Framed(framed) = &departure.packet.carried else { panic!("{departure:?}") };
    let (head, rest) = framed.emit(departure.packet.ttl, departure.packet.ecn);
    assert_eq!(VnetHeader::parse(head.as_bytes()).unwrap().gso.map(|gso| gso.size), Some(MSS as u16));
    assert_eq!(head.as_bytes().len() + rest.len(), VnetHeader::LEN + 40 + 10 * MSS);
}

/// 1,500 B at 12 Mb/s take a millisecond: ten packets leave one after the other, each with its own data.
#[test]
fn it_is_cut_where_a_link_has_a_rate() {
    let mut scene = Scene::at(ms(20));
    scene.own = link("delay = '10ms'\nrate = '12Mbit'\nqueue = 'unlimited'");
    let (mut router, up) = router(&scene);
    router.handle_client_packet(Instant::ZERO, segment(up, 0, 10 * MSS));
    let out = at_servers(&mut router);
    for (nth, departure) in (0u64..).zip(&out) {
        assert_eq!(departure.intended, Instant::ZERO + ms(11 + nth));
        let from = nth as usize * MSS;
        assert_eq!(data(&departure.packet), (from, (from..from + MSS).map(byte).collect()));
    }
    assert_eq!(out.len(), 10);
    let mut frames = out.into_iter().filter_map(|departure| match departure.packet.carried {
        PacketPayload::Framed(framed) => Some(framed),
        _ => None,
    });
    let mut joined = frames.next().expect("a packet");
    assert!(frames.all(|next| joined.join(&next)), "neighbours are one again");
    assert_eq!(joined.packets(), 10);
}

/// A queue of five takes the first and five that wait, and drops the others: of the large packet a part.
#[test]
fn each_of_its_packets_is_dropped_by_itself() {
    let mut scene = Scene::at(ms(20));
    scene.shared = vec![link("delay = '1ms'\nrate = '12Mbit'\nqueue = '5 packets'")];
    let (mut router, up) = router(&scene);
    router.handle_client_packet(Instant::ZERO, segment(up, 0, 10 * MSS));
    let from: Vec<usize> = at_servers(&mut router).iter().map(|out| data(&out.packet).0 / MSS).collect();
    assert_eq!(from, [0, 1, 2, 3, 4, 5]);
    assert_eq!(router.drops().queue_full, 4);
}

/// Losses of a tenth strike packets, not large ones: of 4,000 packets in 100 some 400 are lost.
#[test]
fn each_of_its_packets_is_lost_by_itself() {
    let mut scene = Scene::at(ms(20));
    scene.own = link("delay = '10ms'\nloss = '10%'");
    let (mut router, up) = router(&scene);
    for nth in 0..100 {
        let at = Instant::ZERO + Duration::from_ms(nth as u64);
        router.handle_client_packet(at, segment(up, nth * 40 * MSS, 40 * MSS));
    }
    let arrived = at_servers(&mut router).len() as u64;
    assert_eq!(arrived + router.drops().lost, 4_000);
    // Five standard deviations of a binomial distribution: 5 √(4000 · 0.1 · 0.9) = 95.
    assert!(router.drops().lost.abs_diff(400) < 95, "{:?}", router.drops());
}

/// Out of hops: its sender hears of it once, and all its packets count.
#[test]
fn a_large_packet_that_runs_out_of_hops_counts_as_its_packets() {
    let (mut router, up) = router(&Scene::at(ms(20)));
    let mut packet = segment(up, 0, 4 * MSS);
    packet.ttl = 1;
    router.handle_client_packet(Instant::ZERO, packet);
    assert!(at_servers(&mut router).is_empty());
    assert_eq!(router.drops().expired, 4);
    assert!(router.poll_arrival().is_some_and(|answer| answer.packet.packets() == 1));
}

/// A bit that flips on the way is not mended by offload: the packet comes out as bytes, its checksum wrong.
#[test]
fn damage_shows_in_the_checksum() {
    let mut scene = Scene::at(ms(20));
    scene.own = link("delay = '10ms'\ncorrupt = '100%'");
    let (mut router, up) = router(&scene);
    router.handle_client_packet(Instant::ZERO, segment(up, 0, 30 * MSS));
    let out = at_servers(&mut router);
    assert_eq!(out.len(), 30);
    for departure in &out {
        let PacketPayload::Raw(bytes) = &departure.packet.carried else { panic!("{departure:?}") };
        let Ok(ip) = IpPacket::parse(bytes) else { continue };
        let whole = matches!(&ip, IpPacket::V4(v4) if v4.checksum_is_valid());
        if let (true, Ok(Transport::Tcp(tcp))) = (whole, ip.transport()) {
            assert!(!tcp.checksum_is_valid(&ip.addresses()));
        }
    }
}

#[test]
fn nothing_that_contradicts_itself_gets_in() {
    assert!(Framed::parse(Bytes::from_static(&[0; 9])).is_err());
    assert!(Framed::parse(Bytes::from_static(&[0; 40])).is_err());
}
