//! Real hosts at both ends of an emulated network: what goes in comes out as it was, when the links say.

use crate::scene::{Scene, link, ms};
use farfield_base::random::Seed;
use farfield_base::{Duration, Instant};
use farfield_emulator::{
    ClientId, Departure, Directory, HopPlan, OtherServers, Packet, RoutePlan, Router, Servers, Shard,
    SharedLinkId,
};
use farfield_user::Plan;
use farfield_wire::{
    Addresses, Icmpv4Repr, IpPacket, IpRepr, Message, Protocol, Transport, UdpRepr, write_packet,
};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// A router of `scene`, and the addresses of what its client 0 sends.
fn router(scene: &Scene) -> (Router, Addresses) {
    let network = scene.network();
    let addresses = network.addresses(ClientId::new(0));
    (Router::new(Arc::new(network), Seed(1)), addresses)
}

/// A datagram of `bytes` from the IP header on.
fn datagram(addresses: Addresses, ttl: u8, bytes: usize) -> Packet {
    let mut ip = IpRepr::new(addresses, Protocol::UDP);
    if let IpRepr::V4(v4) = &mut ip {
        (v4.ttl, v4.dont_fragment) = (ttl, true);
    }
    let data = vec![b'd'; bytes - 28];
    let mut out = vec![0; bytes];
    let message = Message::Udp(UdpRepr { source_port: 40_000, destination_port: 53 }, &data);
    assert_eq!(write_packet(&ip, &message, &mut out), bytes);
    Packet::raw(out.into()).expect("a packet")
}

/// The packets that come out at either end, the servers' and the clients', until nothing is under way.
pub fn drain(router: &mut Router) -> (Vec<Departure>, Vec<Departure>) {
    let (mut at_servers, mut at_clients) = (Vec::new(), Vec::new());
    loop {
        at_servers.extend(std::iter::from_fn(|| router.poll_departure()));
        at_clients.extend(std::iter::from_fn(|| router.poll_arrival()));
        let Some(next) = router.next_at() else { return (at_servers, at_clients) };
        assert!(router.step(next, &mut ()));
    }
}

#[track_caller]
fn udp_payload_len(packet: &Packet) -> usize {
    let bytes = packet.to_bytes();
    let ip = IpPacket::parse(&bytes).expect("a packet");
    match ip.transport() {
        Ok(Transport::Udp(udp)) => {
            assert!(udp.checksum_is_valid(&ip.addresses()));
            udp.payload().len()
        }
        other => panic!("{other:?}"),
    }
}

/// 1,000 B at 1 Mb/s take 8 ms; three at once leave one after the other. Each passes one router, which counts
/// its hop.
#[test]
fn packets_take_the_time_of_their_links() {
    let mut scene = Scene::at(ms(60));
    scene.own = link("delay = '30ms'\nrate = '1Mbit'");
    let (mut router, up) = router(&scene);
    let begun = Instant::ZERO + ms(5);
    (0..3).for_each(|_| router.handle_client_packet(begun, datagram(up, 64, 1000)));
    router.handle_server_packet(begun, datagram(up.reversed(), 64, 500));
    let (at_servers, at_clients) = drain(&mut router);
    let after = |departure: &Departure| departure.intended.since(begun);
    assert_eq!(at_servers.iter().map(after).collect::<Vec<_>>(), [ms(38), ms(46), ms(54)]);
    assert_eq!(at_clients.iter().map(after).collect::<Vec<_>>(), [ms(34)]);
    for (departure, bytes) in at_servers.iter().chain(&at_clients).zip([1000, 1000, 1000, 500]) {
        assert_eq!((departure.packet.ttl, udp_payload_len(&departure.packet)), (63, bytes - 28));
    }
}

/// Options that an emulated host does not know, and congestion notification, stay as they were: a SYN of a
/// kernel that offers Multipath TCP (RFC 8684, kind 30) with ECN (RFC 3168).
#[test]
fn nothing_of_a_packet_changes_but_its_hops() {
    let (mut router, up) = router(&Scene::at(ms(10)));
    let Addresses::V4 { source, destination } = up else { panic!("IPv4") };
    let mut syn = vec![0x45, 0x02, 0, 52, 0x12, 0x34, 0x40, 0, 64, 6, 0, 0];
    syn.extend(source.octets());
    syn.extend(destination.octets());
    syn.extend([0x9c, 0x40, 0, 80, 1, 2, 3, 4, 0, 0, 0, 0, 0x80, 0xc2, 0xfa, 0xf0, 0xab, 0xcd, 0, 7]);
    syn.extend([30, 12, 1, 0x81, 9, 8, 7, 6, 5, 4, 3, 2]);
    let packet = Packet::raw(syn.clone().into()).expect("a packet");
    router.handle_client_packet(Instant::ZERO, packet);
    let (at_servers, _) = drain(&mut router);
    let [departure] = &at_servers[..] else { panic!("{at_servers:?}") };
    let out = departure.packet.to_bytes();
    assert_eq!((&out[..8], out[8], &out[12..]), (&syn[..8], 63, &syn[12..]));
}

/// Packets that find no room are dropped, and those that belong to nobody.
#[test]
fn drops_are_counted() {
    let mut scene = Scene::at(ms(60));
    scene.own = link("delay = '30ms'\nrate = '1Mbit'\nqueue = '3000B'");
    let (mut router, up) = router(&scene);
    (0..10).for_each(|_| router.handle_client_packet(Instant::ZERO, datagram(up, 64, 1000)));
    let Addresses::V4 { destination, .. } = up else { panic!("IPv4") };
    let stranger = Addresses::V4 { source: Ipv4Addr::new(203, 0, 113, 9), destination };
    router.handle_client_packet(Instant::ZERO, datagram(stranger, 64, 100));
    router.handle_server_packet(Instant::ZERO, datagram(stranger.reversed(), 64, 100));
    let (at_servers, at_clients) = drain(&mut router);
    let drops = router.drops();
    assert_eq!((drops.nobody, at_clients.len()), (2, 0));
    assert_eq!(at_servers.len() as u64 + drops.queue_full, 10);
    assert!((3..=4).contains(&at_servers.len()), "three wait, while one may be on the wire: {drops:?}");
}

/// A traceroute by a real client: routers answer from their own addresses, and it hears them.
#[test]
fn routers_answer_real_clients() {
    let mut scene = Scene::at(ms(20));
    scene.shared = vec![link("delay = '3ms'"), link("delay = '2ms'")];
    let (mut router, up) = router(&scene);
    let mut at = Instant::ZERO;
    let mut heard = Vec::new();
    for ttl in 1..=3 {
        at += Duration::from_secs(1);
        router.handle_client_packet(at, datagram(up, ttl, 60));
        let (at_servers, at_clients) = drain(&mut router);
        for answer in &at_clients {
            let bytes = answer.packet.to_bytes();
            let ip = IpPacket::parse(&bytes).expect("a packet");
            let Ok(Transport::Icmpv4(icmp)) = ip.transport() else { panic!("{ip:?}") };
            assert!(matches!(Icmpv4Repr::parse(&icmp), Ok(Icmpv4Repr::TimeExceeded { .. })));
            assert_eq!(ip.addresses().destination(), up.source());
            heard.push((ip.addresses().source(), answer.intended.since(at)));
        }
        assert_eq!(at_servers.len(), usize::from(ttl == 3));
    }
    let router_address = |last| IpAddr::from(Ipv4Addr::new(10, 0, 0, last));
    // The second is 3 ms behind the first on the way up, and 2 ms on the way down.
    assert_eq!(heard, [(router_address(1), ms(20)), (router_address(2), ms(25))]);
}

/// A real host in the place of client 0, beside two users: its packets take the way of that client's, and the
/// users act on the other one alone.
#[test]
fn a_real_host_has_a_seat_beside_users() {
    let mut scene = Scene::crowd(2, ms(60));
    scene.shared = vec![link("delay = '1ms'")];
    let simulation = scene.simulation();
    let network = Arc::new(scene.network());
    let [host, other] = [0, 1].map(|number| network.addresses(ClientId::new(number)));
    let users = Plan {
        flows: simulation.flows,
        users: simulation.users,
        tls: Vec::new(),
        worker: 0,
        workers: 1,
        window: simulation.window,
    };
    let mut shard = Shard::new(Arc::clone(&network), Arc::new(Directory::new(&network)), users);
    shard.seat(&[ClientId::new(0)]);
    shard.start();
    shard.handle_host_packet(Instant::ZERO, datagram(host, 64, 100));
    // Of a client that users act on, and of nobody.
    shard.handle_host_packet(Instant::ZERO, datagram(other, 64, 100));
    shard.handle_packet(Instant::ZERO, datagram(host.reversed(), 64, 200));
    let (mut at_servers, mut at_hosts) = (Vec::new(), Vec::new());
    while shard.step(Instant::ZERO + ms(100), &mut ()) {
        at_servers.extend(std::iter::from_fn(|| shard.poll_departure()));
        at_hosts.extend(std::iter::from_fn(|| shard.poll_arrival()));
    }
    let from = |source: IpAddr| {
        let own = at_servers.iter().filter(move |departure| departure.packet.addresses.source() == source);
        own.map(|departure| (departure.intended.since(Instant::ZERO), departure.packet.bytes))
            .collect::<Vec<_>>()
    };
    assert_eq!(from(host.source()), [(ms(31), 100)]);
    assert_eq!(from(other.source()).len(), 2, "the SYN of each user");
    let came: Vec<_> =
        at_hosts.iter().map(|came| (came.intended.since(Instant::ZERO), came.packet.bytes)).collect();
    assert_eq!((came, shard.drops().nobody), (vec![(ms(31), 200)], 1));
}

/// Two servers on two routes: a packet takes the way to the server that it is for, and comes back on it.
#[test]
fn packets_go_to_the_server_that_they_are_for() {
    let mut scene = Scene::at(ms(10));
    scene.shared = vec![link("delay = '1ms'")];
    let mut network = scene.network();
    let second = Servers { v4: Ipv4Addr::new(10, 1, 0, 2), ..network.servers };
    network.shared.push(link("delay = '20ms'"));
    let far = |hop: &HopPlan| HopPlan { link: Some(SharedLinkId::new(2)), ..*hop };
    let route = &network.routes[0];
    let to_second =
        RoutePlan { up: route.up.iter().map(far).collect(), down: route.down.iter().map(far).collect() };
    network.routes.push(to_second);
    network.others = OtherServers {
        of_hosts: Vec::new(),
        servers: vec![second],
        ways: vec![[0, 0].into(), [1, 1].into()],
        of_classes: Vec::new(),
    };
    let Addresses::V4 { source, destination } = network.addresses(ClientId::new(0)) else { panic!("IPv4") };
    let mut router = Router::new(Arc::new(network), Seed(1));
    let to = |destination| Addresses::V4 { source, destination };
    for server in [destination, second.v4] {
        router.handle_client_packet(Instant::ZERO, datagram(to(server), 64, 100));
        router.handle_server_packet(Instant::ZERO, datagram(to(server).reversed(), 64, 100));
    }
    let (at_servers, at_clients) = drain(&mut router);
    let when = |all: &[Departure]| -> Vec<_> {
        all.iter().map(|departure| (departure.server, departure.intended.since(Instant::ZERO))).collect()
    };
    assert_eq!(when(&at_servers), [(0, ms(6)), (1, ms(25))]);
    assert_eq!(when(&at_clients), [(0, ms(6)), (1, ms(25))]);
}
