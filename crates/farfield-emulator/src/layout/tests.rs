//! Layouts against what is written by hand.

use super::*;
use crate::ClientId;
use farfield_net::topology::{Backbone, Metric, NodeId, Routes, TopologySpec};
use farfield_net::{LinkSpec, Topology};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};

const SERVERS: Servers =
    Servers { v4: Ipv4Addr::new(192, 0, 2, 1), v6: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), port: 80 };

fn number(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).expect("not 0")
}

fn settings(clients: u32, shards: u32) -> LayoutSettings {
    LayoutSettings { clients: number(clients), shards: number(shards), servers: SERVERS, block: None }
}

fn link(delay_ms: u64) -> Arc<LinkModel> {
    Arc::new(LinkModel::ideal(Duration::from_ms(delay_ms)))
}

/// A class with links of `delay_ms` both ways, in `pool` if it is not empty.
fn class(name: &str, weight: f64, delay_ms: u64, pool: &str) -> Class {
    Class {
        name: name.to_owned(),
        weight,
        tcp: Config::linux(),
        mss_is_given: false,
        up: vec![link(delay_ms)],
        down: vec![link(delay_ms)],
        pool: (!pool.is_empty()).then(|| pool.parse().expect(pool)),
        moves_to: None,
    }
}

fn addresses(layout: &Layout) -> Vec<String> {
    let clients = 0..layout.network.clients.len() as u32;
    clients.map(|number| layout.network.address(ClientId::new(number)).to_string()).collect()
}

#[test]
fn classes_have_edges_shares_and_addresses_one_after_the_other() {
    let classes = vec![class("near", 3.0, 5, ""), class("far", 1.0, 100, "")];
    let layout = lay_out(classes, None, settings(8, 1)).unwrap();
    let of: Vec<u16> = layout.network.clients.iter().map(|client| client.class).collect();
    assert_eq!(of.iter().filter(|&&class| class == 1).count(), 2);
    assert_eq!(layout.network.routes, [RoutePlan::direct(0), RoutePlan::direct(1)]);
    assert_eq!(layout.nodes, ["edge of near", "edge of far"]);
    let (least, largest) = (Duration::from_ms(10), Duration::from_ms(200));
    assert_eq!(layout.round_trips, RoundTrips { least, largest });
    let mut all = addresses(&layout);
    all.sort();
    let expected: Vec<_> = (1..=8).map(|host| format!("198.18.0.{host}")).collect();
    assert_eq!(all, expected);
    assert_eq!(layout.clients_v4, Some(Block::BENCHMARK));
    assert_eq!(layout.clients_v6, None);
}

#[test]
fn a_bottleneck_is_shared_by_all_behind_their_edges() {
    let bottleneck = Bottleneck { up: link(1), down: link(2) };
    let classes = vec![class("a", 1.0, 5, ""), class("b", 1.0, 10, "")];
    let layout = lay_out(classes, Some(bottleneck), settings(4, 1)).unwrap();
    let router = |id| NodePlan { id, kind: NodeKind::Router };
    let second = &layout.network.routes[1];
    let hop = |link: Option<u32>, to| HopPlan { link: link.map(SharedLinkId::new), to };
    assert_eq!(second.up, [hop(Some(0), router(2)), hop(None, NodePlan::SERVER)]);
    assert_eq!(second.down, [hop(None, router(2)), hop(Some(1), router(1))]);
    assert_eq!(layout.nodes[2], "core");
    assert_eq!(layout.round_trips.least, Duration::from_ms(13));
}

#[test]
fn the_mss_follows_from_mtu_and_family() {
    let narrow = |pool| {
        let model = Arc::new(LinkModel::ideal(Duration::ZERO).mtu(Mtu::new(1400).unwrap()));
        Class { down: vec![link(1), model], ..class("narrow", 1.0, 5, pool) }
    };
    let given = Class { mss_is_given: true, ..class("given", 1.0, 5, "") };
    let given = Class { tcp: Config::bsd().with(|config| config.mss = 536), ..given };
    let classes = vec![class("v4", 1.0, 5, ""), narrow("198.19.1.0/24"), narrow("2001:2::/64"), given];
    let layout = lay_out(classes, None, settings(4, 1)).unwrap();
    let mss: Vec<u16> = layout.network.classes.iter().map(|class| class.tcp.mss).collect();
    assert_eq!(mss, [1460, 1360, 1340, 536]);
    // Of a peer that announces none: RFC 9293 §3.7.1
    let silent: Vec<u16> = layout.network.classes.iter().map(|class| class.tcp.default_mss).collect();
    assert_eq!(silent, [536, 536, 1220, 536]);
}

/// The gateway finds a client's shard by its address: the offset in the block around all, modulo shards.
#[test]
fn addresses_tell_shards() {
    for shards in [1, 2, 3, 5] {
        let classes = vec![
            class("a", 5.0, 5, ""),
            class("b", 3.0, 5, ""),
            class("c", 1.0, 5, "198.19.100.0/24"),
            class("d", 2.0, 5, "2001:2:0:7::/64"),
        ];
        let layout = lay_out(classes, None, settings(330, shards)).unwrap();
        let mut seen = BTreeSet::new();
        for client in 0..330 {
            let address = layout.network.address(ClientId::new(client));
            let around = if address.is_ipv4() { layout.clients_v4 } else { layout.clients_v6 };
            let around = around.expect("a block around all");
            assert!(around.contains(address), "{address} in {around}");
            assert_eq!(around.offset(address) % u128::from(shards), u128::from(client % shards));
            assert!(seen.insert(address), "{address} twice");
        }
    }
}

#[test]
fn many_clients_have_the_larger_block() {
    let layout = lay_out(vec![class("all", 1.0, 5, "")], None, settings(200_000, 1)).unwrap();
    assert_eq!(layout.clients_v4, Some(Block::SHARED));
}

#[test]
fn mistakes_name_the_class_and_the_remedy() {
    let refuse = |classes: Vec<Class>, settings: LayoutSettings, at: Option<usize>, hint: &str| {
        let error = lay_out(classes, None, settings).expect_err(hint);
        assert!(error.to_string().contains(hint), "{error}");
        assert_eq!(error.class(), at, "{error}");
    };
    let two = |one: &str, other: &str| vec![class("a", 1.0, 5, one), class("b", 1.0, 5, other)];
    refuse(two("", "198.19.0.0/29"), settings(20, 1), Some(1), "198.19.0.0/29 has 6 addresses for the 10");
    refuse(two("10.0.0.0/24", "10.0.0.128/25"), settings(4, 1), Some(1), "overlaps 10.0.0.0/24 of class `a`");
    refuse(two("", "198.18.0.0/28"), settings(4, 1), Some(1), "overlaps 198.18.0.0/15");
    refuse(two("", "192.0.2.0/24"), settings(4, 1), Some(1), "holds the server's address 192.0.2.1");
    refuse(two("2.0.0.0/8", "250.0.0.0/8"), settings(4, 1), Some(1), "0.0.0.0/0 lies around");
    refuse(two("", ""), settings(1001, 4), None, "nearest number that can is 1000");
    refuse(two("", ""), settings(2, 3), None, "nearest number that can is 3");
    refuse(vec![class("a", 1.0, 5, ""), class("b", 0.0, 5, "")], settings(4, 1), Some(1), "not above 0");
    refuse(
        vec![class("a", 1.0, 5, ""), class("b", 1e-6, 5, "")],
        settings(4, 1),
        Some(1),
        "no client among 4",
    );
    refuse(Vec::new(), settings(4, 1), None, "from 1 to 64");
    refuse(vec![class("a", 1.0, 5, ""); 65], settings(4, 1), None, "65 classes");
    let short = Arc::new(LinkModel::ideal(Duration::ZERO).mtu(Mtu::new(576).unwrap()));
    let six = Class { up: vec![short], ..class("six", 1.0, 5, "2001:2::/48") };
    refuse(vec![six], settings(4, 1), Some(0), "MTU of 576; IPv6 needs at least 1280");
    refuse(vec![class("a", 1.0, 5, "")], settings(5_000_000, 1), Some(0), "100.64.0.0/10");
}

fn models(topology: &Topology<Arc<LinkSpec>>) -> Topology<Arc<LinkModel>> {
    let resolve = |spec: &LinkSpec| spec.resolve(|never| match *never {}, &mut |_| unreachable!("no trace"));
    with_models(topology, resolve).map_err(|(error, _)| error).unwrap()
}

fn lay_out_graph(topology: &Topology<Arc<LinkSpec>>, members: Vec<(String, Vec<NodeId>)>) -> Layout {
    let topology = models(topology);
    let routes = Routes::compute(&topology, Metric::Hops).unwrap();
    let server = topology.find("server").unwrap();
    let bare = |name: String| Class { up: Vec::new(), down: Vec::new(), ..class(&name, 1.0, 0, "") };
    let members = members.into_iter().map(|(name, hosts)| (bare(name), hosts)).collect();
    Graph { topology: &topology, routes: &routes, server, others: Vec::new(), members }
        .lay_out(number(1), SERVERS, None)
        .unwrap()
}

/// Four subnetworks of two hosts. A host's own link is its own; those of its switch and of the routers
/// between it and the server are shared, and from subnetwork i there are i of the latter.
#[test]
fn the_backbone_of_four_by_two() {
    let backbone = Backbone::new(4, 2);
    let topology = backbone.topology().unwrap();
    let layout = lay_out_graph(&topology, subnets(&topology, &backbone));
    let network = &layout.network;
    let of: Vec<u16> = network.clients.iter().map(|client| client.class).collect();
    assert_eq!(of, [0, 1, 2, 3, 0, 1, 2, 3]);
    let names: Vec<&str> = network.classes.iter().map(|class| class.name.as_str()).collect();
    assert_eq!(names, ["subnet-1", "subnet-2", "subnet-3", "subnet-4"]);
    assert!(network.classes.iter().all(|class| (class.up.len(), class.down.len()) == (1, 1)));
    assert!(network.classes.iter().all(|class| class.tcp.mss == 536), "an MTU of 576");
    assert_eq!(network.routes.len(), 4);
    assert_eq!(network.shared.len(), 2 * (4 + 4));
    for (subnet, route) in network.routes.iter().enumerate() {
        let names = |hops: &[HopPlan]| -> Vec<String> {
            let name = |hop: &HopPlan| layout.nodes.get(hop.to.id as usize).cloned();
            hops.iter().map(|hop| name(hop).unwrap_or("SERVER".into())).collect()
        };
        let routers = (1..=subnet + 1).map(|router| format!("r{router}"));
        let mut down: Vec<String> = routers.collect();
        down.push(format!("s{}", subnet + 1));
        assert_eq!(names(&route.down), down);
        let mut up: Vec<String> = down.into_iter().rev().skip(1).collect();
        up.push("SERVER".into());
        assert_eq!(names(&route.up), up);
        assert_eq!(route.edge().kind, NodeKind::Switch);
    }
    let local = Duration::from_us(200);
    let (least, largest) = (Duration::from_ms(2) + local, Duration::from_ms(8) + local);
    assert_eq!(layout.round_trips, RoundTrips { least, largest });
}

#[test]
fn too_many_subnetworks_are_one_class_in_turn() {
    let backbone = Backbone::new(65, 2);
    let topology = backbone.topology::<farfield_net::link::NoJitter>().unwrap();
    let classes = subnets(&topology, &backbone);
    let names = |at: usize| topology.node(classes[0].1[at]).name.as_str();
    assert_eq!((classes.len(), classes[0].1.len()), (1, 130));
    assert_eq!([names(0), names(1), names(64), names(65)], ["h1-1", "h2-1", "h65-1", "h1-2"]);
}

const HOMES: &str = "
    hosts = ['server', 'one', 'two', 'alone']
    routers = ['core', 'home']
    switches = ['street']
    links = [
        { from = 'server', to = 'core', link = { delay = '1ms' } },
        { from = 'core', to = 'street', link = { delay = '2ms' } },
        { from = 'street', to = 'one', link = { delay = '4ms' } },
        { from = 'street', to = 'two', link = { delay = '8ms' } },
        { from = 'core', to = 'home', link = { delay = '16ms' } },
        { from = 'home', to = 'alone', link = { delay = '32ms' } },
    ]";

/// Clients of one class with different links have them on their routes; a router that one client alone is
/// behind still stands on its way.
#[test]
fn a_graph_keeps_its_routers() {
    let spec: TopologySpec = toml::from_str(HOMES).unwrap();
    let topology = spec.topology().unwrap();
    let hosts = |names: &[&str]| names.iter().map(|name| topology.find(name).unwrap()).collect::<Vec<_>>();
    let members = vec![("street".into(), hosts(&["one", "two"])), ("home".into(), hosts(&["alone"]))];
    let layout = lay_out_graph(&topology, members);
    let network = &layout.network;
    let street = &network.classes[0];
    assert!(street.up.is_empty() && street.down.is_empty(), "one and two have links that differ");
    let home = &network.classes[1];
    assert_eq!((home.up.len(), home.down.len()), (1, 1));
    let route = |class: u16| {
        let client = network.clients.iter().find(|client| client.class == class).unwrap();
        &network.routes[client.route as usize]
    };
    assert_eq!(layout.nodes[route(1).edge().id as usize], "home");
    assert_eq!((route(1).up.len(), route(1).down.len()), (2, 2));
    assert_eq!((route(0).up.len(), route(0).down.len()), (3, 3));
    // The host's own packets pass it, though hosts forward nothing.
    assert_eq!(route(0).edge().kind, NodeKind::Switch);
    assert_eq!(layout.nodes[route(0).edge().id as usize], "one");
    let (least, largest) = (Duration::from_ms(2 * 7), Duration::from_ms(2 * 49));
    assert_eq!(layout.round_trips, RoundTrips { least, largest });
}

/// Each client that moves has a double of the other class, in its own shard, at an address of its own; a
/// class that others move to needs no clients of its own.
#[test]
fn clients_that_move_have_doubles() {
    let wifi = Class { moves_to: Some(2), ..class("wifi", 2.0, 5, "") };
    let classes = vec![wifi, class("dsl", 1.0, 10, ""), class("4g", 0.0, 25, "")];
    let Layout { network, .. } = lay_out(classes, None, settings(6, 3)).unwrap();
    assert_eq!((network.acting(), network.clients.len(), network.moves.len()), (6, 12, 4));
    let mut addresses: Vec<_> = (0..12).map(|number| network.address(ClientId::new(number))).collect();
    for own in &network.moves {
        let double = network.double(own.client);
        let class = |client: ClientId| network.clients[client.index()].class;
        assert_eq!((class(own.client), class(double)), (0, 2));
        assert_eq!(own.client.shard(3), double.shard(3));
        assert_eq!(network.clients[double.index()].route, 2);
    }
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(addresses.len(), 12);
    let nobody = Class { moves_to: Some(1), ..class("wifi", 0.0, 5, "") };
    let refused = lay_out(vec![nobody, class("4g", 0.0, 25, "")], None, settings(2, 1));
    assert!(matches!(refused, Err(LayoutError::Weight { class: 0, .. })), "{refused:?}");
}

/// Servers beside the first stand behind the same edges, each behind its own link; a class's users have the
/// route to theirs.
#[test]
fn servers_beside_the_first_have_routes_of_their_own() {
    let classes = vec![class("near", 1.0, 5, ""), class("far", 1.0, 50, "")];
    let bottleneck = Bottleneck { up: link(1), down: link(1) };
    let mut layout = lay_out(classes, Some(bottleneck), settings(4, 1)).unwrap();
    let at = |last: u8| Servers { v4: Ipv4Addr::new(192, 0, 2, last), ..SERVERS };
    layout.add_server("b", at(2), Some(Bottleneck { up: link(10), down: link(20) }));
    layout.add_server("c", at(3), None);
    layout.assign_servers(vec![0, 1]);
    let network = &layout.network;
    assert_eq!((network.routes.len(), network.shared.len()), (6, 4));
    let names: Vec<String> = layout.links.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["shared.up", "shared.down", "network to b", "b to network"]);
    let route = |class: u16| network.clients.iter().find(|client| client.class == class).unwrap().route;
    assert_eq!((route(0), route(1)), (0, 3));
    for class in [0, 1] {
        let to: Vec<u32> = (0..3).map(|server| network.route_to(route(class), server)).collect();
        assert_eq!(to, [0, 2, 4].map(|first| first + u32::from(class)), "of class {class}");
    }
    let delay = |hops: &[HopPlan]| -> Duration {
        let links = hops.iter().filter_map(|hop| hop.link);
        links.fold(Duration::ZERO, |sum, link| sum + network.shared[link.index()].propagation())
    };
    let delays: Vec<_> = network.routes.iter().map(|route| (delay(&route.up), delay(&route.down))).collect();
    let ms = |up, down| (Duration::from_ms(up), Duration::from_ms(down));
    assert_eq!(delays, [ms(1, 1), ms(1, 1), ms(11, 21), ms(11, 21), ms(1, 1), ms(1, 1)]);
    assert_eq!(layout.round_trips.largest, Duration::from_ms(100 + 2 + 30));
    assert_eq!(network.server_at(Ipv4Addr::new(192, 0, 2, 3).into()), Some(2));
    assert_eq!(network.servers_of(1).v4, Ipv4Addr::new(192, 0, 2, 2));
}

/// In a graph a server is a host, and clients that share an edge share the ways to each.
#[test]
fn servers_of_a_graph_are_hosts_of_it() {
    let spec: TopologySpec = toml::from_str(HOMES).unwrap();
    let written = spec.topology().unwrap();
    let topology = models(&written);
    let routes = Routes::compute(&topology, Metric::Hops).unwrap();
    let host = |name: &str| topology.find(name).unwrap();
    let bare = |name: &str| Class { up: Vec::new(), down: Vec::new(), ..class(name, 1.0, 0, "") };
    let members = vec![(bare("street"), vec![host("one"), host("two")])];
    let second = Servers { v4: Ipv4Addr::new(192, 0, 2, 2), ..SERVERS };
    let graph = Graph {
        topology: &topology,
        routes: &routes,
        server: host("server"),
        others: vec![(host("alone"), second)],
        members,
    };
    let mut layout = graph.lay_out(number(1), SERVERS, None).unwrap();
    assert_eq!(layout.round_trips.largest, Duration::from_ms(2 * (8 + 2 + 1)));
    layout.assign_servers(vec![1]);
    assert_eq!(layout.round_trips.least, Duration::from_ms(2 * (4 + 2 + 16 + 32)));
    let network = &layout.network;
    for client in network.clients.iter() {
        let [first, other] =
            [0, 1].map(|server| &network.routes[network.route_to(client.route, server) as usize]);
        assert_eq!(first.edge(), other.edge());
        assert_eq!(network.route_to(client.route, 1), client.route);
    }
}
