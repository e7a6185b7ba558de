//! Real hosts that send to one another: programs in clients' places, and servers.

use super::router::drain;
use farfield_base::random::Seed;
use farfield_base::{Duration, Instant};
use farfield_emulator::layout::{Bottleneck, Class, Graph, Layout, LayoutSettings, lay_out, with_models};
use farfield_emulator::{ClientId, Departure, NetworkPlan, Packet, Router, Servers};
use farfield_net::topology::{Metric, Routes, TopologySpec};
use farfield_net::{LinkModel, LinkSpec};
use farfield_tcp::Config;
use farfield_wire::{Addresses, IpPacket, IpRepr, Message, Protocol, Transport, UdpRepr, write_packet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::Arc;

const TTL: u8 = 64;

fn servers(last: u8) -> Servers {
    Servers { v4: Ipv4Addr::new(192, 0, 2, last), v6: Ipv6Addr::from_bits(last.into()), port: 80 }
}

fn ms(number: u64) -> Duration {
    Duration::from_ms(number)
}

fn link(delay_ms: u64) -> Arc<LinkModel> {
    Arc::new(LinkModel::ideal(ms(delay_ms)))
}

fn class(name: &str, delay_ms: u64) -> Class {
    Class {
        name: name.to_owned(),
        weight: 1.0,
        tcp: Config::linux(),
        mss_is_given: false,
        up: vec![link(delay_ms)],
        down: vec![link(delay_ms)],
        pool: None,
        moves_to: None,
    }
}

fn settings(clients: u32) -> LayoutSettings {
    let clients = NonZeroU32::new(clients).expect("not 0");
    LayoutSettings { clients, shards: NonZeroU32::MIN, servers: servers(1), block: None }
}

/// Two classes, 1 ms and 10 ms before their edges, a shared link of 100 ms up and 200 ms down, and a second
/// server 1000 ms behind it, one way.
fn classes() -> Layout {
    let shared = Bottleneck { up: link(100), down: link(200) };
    let mut layout =
        lay_out(vec![class("a", 1), class("b", 10)], Some(shared), settings(6)).expect("a network");
    layout.add_server("c", servers(2), Some(Bottleneck { up: link(1000), down: link(1000) }));
    layout
}

/// The first client of each class, and the network in which programs in the places of all clients of `seats`
/// reach one another.
fn connected(mut layout: Layout, seats: &[ClientId], joined: &[bool]) -> NetworkPlan {
    layout.places.connect(&mut layout.network, &mut layout.links, seats, joined);
    assert_eq!(layout.links.len(), layout.network.shared.len(), "each link has a name");
    layout.network
}

fn of_class(plan: &NetworkPlan, class: u16) -> Vec<ClientId> {
    let all = (0..plan.clients.len() as u32).map(ClientId::new);
    all.filter(|client| plan.clients[client.index()].class == class).collect()
}

fn addresses(source: IpAddr, destination: IpAddr) -> Addresses {
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => Addresses::V4 { source, destination },
        pair => panic!("{pair:?}"),
    }
}

fn datagram(source: IpAddr, destination: IpAddr, ttl: u8) -> Packet {
    let mut ip = IpRepr::new(addresses(source, destination), Protocol::UDP);
    if let IpRepr::V4(v4) = &mut ip {
        (v4.ttl, v4.dont_fragment) = (ttl, true);
    }
    let data = [b'd'; 100];
    let mut out = vec![0; 128];
    let message = Message::Udp(UdpRepr { source_port: 40_000, destination_port: 53 }, &data);
    write_packet(&ip, &message, &mut out);
    Packet::raw(out.into()).expect("a packet")
}

/// The time of the one packet that arrived, and its hop limit.
fn only(arrived: &[Departure]) -> (Duration, u8) {
    assert_eq!(arrived.len(), 1, "{arrived:?}");
    (arrived[0].intended.since(Instant::ZERO), arrived[0].packet.ttl)
}

fn router(plan: &NetworkPlan) -> Router {
    Router::new(Arc::new(plan.clone()), Seed(1))
}

/// From program to program: its own links, then as far as the first router that both ways pass, and down.
#[test]
fn programs_meet_where_their_ways_do() {
    let layout = classes();
    let (a, b) = (of_class(&layout.network, 0), of_class(&layout.network, 1));
    let plan = connected(layout, &[a[0], a[1], b[0]], &[true, true]);
    for (from, to, took, hops) in
        [(a[0], a[1], 1 + 1, 1), (a[0], b[0], 1 + 100 + 200 + 10, 3), (b[0], a[1], 10 + 100 + 200 + 1, 3)]
    {
        let mut router = router(&plan);
        let packet = datagram(plan.address(from), plan.address(to), TTL);
        router.handle_client_packet(Instant::ZERO, packet);
        let (at_servers, at_clients) = drain(&mut router);
        assert_eq!((at_servers.len(), only(&at_clients)), (0, (ms(took), TTL - hops)), "{from:?} to {to:?}");
        assert_eq!(at_clients[0].packet.addresses.destination(), plan.address(to));
        assert_eq!(router.drops().sum(), 0);
    }
}

/// Without a shared link edges are neighbours: each packet passes both.
#[test]
fn edges_without_a_shared_link_are_neighbours() {
    let layout = lay_out(vec![class("a", 1), class("b", 10)], None, settings(4)).expect("a network");
    let (a, b) = (of_class(&layout.network, 0), of_class(&layout.network, 1));
    let plan = connected(layout, &[a[0], b[0]], &[true]);
    let mut router = router(&plan);
    router.handle_client_packet(Instant::ZERO, datagram(plan.address(a[0]), plan.address(b[0]), TTL));
    assert_eq!(only(&drain(&mut router).1), (ms(11), TTL - 2));
}

#[test]
fn servers_reach_one_another_by_their_own_links() {
    let plan = connected(classes(), &[], &[true, true]);
    let (first, second) = (IpAddr::V4(servers(1).v4), IpAddr::V4(servers(2).v4));
    for (from, to, number) in [(first, second, 1), (second, first, 0)] {
        let mut router = router(&plan);
        router.handle_server_packet(Instant::ZERO, datagram(from, to, TTL));
        let (at_servers, at_clients) = drain(&mut router);
        assert_eq!((only(&at_servers), at_clients.len()), ((ms(1000), TTL - 1), 0));
        assert_eq!(at_servers[0].server, number);
    }
    let apart = connected(classes(), &[], &[false, true]);
    let mut router = router(&apart);
    router.handle_server_packet(Instant::ZERO, datagram(first, second, TTL));
    let (at_servers, at_clients) = drain(&mut router);
    assert_eq!((at_servers.len(), at_clients.len(), router.drops().nobody), (0, 0, 1));
}

/// A router that drops a packet tells its sender, wherever it stands: each after the way there and back.
#[test]
fn routers_answer_who_sent() {
    let layout = classes();
    let (a, b) = (of_class(&layout.network, 0)[0], of_class(&layout.network, 1)[0]);
    let plan = connected(layout, &[a, b], &[true, true]);
    let is_expired = |packet: &Packet| {
        let bytes = packet.to_bytes();
        let ip = IpPacket::parse(&bytes).expect("a packet");
        matches!(ip.transport(), Ok(Transport::Icmpv4(icmp)) if icmp.kind() == 11)
    };
    // The edge of the sender, the router before the servers, and the edge of the receiver.
    for (ttl, took) in [(1, 1 + 1), (2, 101 + 201), (3, 1 + 100 + 200 + 100 + 200 + 1)] {
        let mut router = router(&plan);
        router.handle_client_packet(Instant::ZERO, datagram(plan.address(a), plan.address(b), ttl));
        let (at_servers, at_clients) = drain(&mut router);
        assert_eq!((at_servers.len(), only(&at_clients).0), (0, ms(took)), "ttl {ttl}");
        let packet = &at_clients[0].packet;
        assert!(is_expired(packet) && packet.addresses.destination() == plan.address(a), "{packet:?}");
    }
    let mut router = router(&plan);
    let (first, second) = (IpAddr::V4(servers(1).v4), IpAddr::V4(servers(2).v4));
    router.handle_server_packet(Instant::ZERO, datagram(second, first, 1));
    let (at_servers, at_clients) = drain(&mut router);
    assert_eq!((only(&at_servers).0, at_clients.len()), (ms(2000), 0));
    assert!(is_expired(&at_servers[0].packet) && at_servers[0].server == 1, "{at_servers:?}");
}

/// In a graph programs take the shortest path between them, also by links that lead to no server.
#[test]
fn hosts_of_a_graph_take_its_shortest_paths() {
    let spec: TopologySpec = toml::from_str(
        "server = 's'
        hosts = ['s', 't', 'a', 'b']
        routers = ['core', 'ra', 'rb']
        links = [
            { from = 's', to = 'core', link = { delay = '1ms' } },
            { from = 't', to = 'rb', link = { delay = '2ms' } },
            { from = 'ra', to = 'core', link = { delay = '10ms' } },
            { from = 'rb', to = 'core', link = { delay = '20ms' } },
            { from = 'ra', to = 'rb', link = { delay = '100ms' } },
            { from = 'a', to = 'ra', link = { delay = '1000ms' } },
            { from = 'b', to = 'rb', link = { delay = '2000ms' } },
        ]",
    )
    .expect("a topology");
    let topology = spec.topology().expect("a graph");
    let plain = |link: &LinkSpec| link.resolve(|never| match *never {}, &mut |_| unreachable!("no trace"));
    let models = with_models(&topology, plain).map_err(|(_, link)| link).expect("links");
    let routes = Routes::compute(&models, Metric::Hops).expect("ways");
    let [s, t, a, b] = ["s", "t", "a", "b"].map(|name| models.find(name).expect(name));
    let graph = Graph {
        topology: &models,
        routes: &routes,
        server: s,
        others: vec![(t, servers(2))],
        members: vec![(Class { up: Vec::new(), down: Vec::new(), ..class("all", 0) }, vec![a, b])],
    };
    let layout = graph.lay_out(NonZeroU32::MIN, servers(1), None).expect("a layout");
    let (a, b) = (ClientId::new(0), ClientId::new(1));
    let plan = connected(layout, &[a, b], &[true, true]);
    let mut there = router(&plan);
    there.handle_client_packet(Instant::ZERO, datagram(plan.address(a), plan.address(b), TTL));
    assert_eq!(only(&drain(&mut there).1), (ms(3100), TTL - 2), "by ra and rb, not by the core");
    let mut back = router(&plan);
    back.handle_client_packet(Instant::ZERO, datagram(plan.address(b), plan.address(a), TTL));
    assert_eq!(only(&drain(&mut back).1), (ms(3100), TTL - 2));
    let mut servers_way = router(&plan);
    servers_way
        .handle_server_packet(Instant::ZERO, datagram(servers(2).v4.into(), servers(1).v4.into(), TTL));
    assert_eq!(only(&drain(&mut servers_way).0), (ms(2 + 20 + 1), TTL - 2));
}
