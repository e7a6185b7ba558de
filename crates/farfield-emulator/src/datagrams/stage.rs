//! A vocabulary for datagrams in virtual time: clients whose sockets send rows at given instants, a server
//! that answers as a test says, and what either of them heard and when.

use super::*;
use crate::capture::{CapturePlan, CapturedPacket};
use crate::client_event::ClientEvent;
use crate::clients::ClientShare;
use crate::links::ShardScope;
use crate::packet::PacketPayload;
use crate::plan::{ClassPlan, ClientPlan, HopPlan, NetworkPlan, NodePlan, RoutePlan, Servers};
use crate::shared::SharedLinks;
use crate::slots::SharedLinkId;
use crate::transit::{Crossing, SideEvent};
use farfield_base::random::Seed;
use farfield_base::{Duration, HostNumber, Merge, NetworkDrops};
use farfield_net::link::NoJitter;
use farfield_net::{LinkModel, LinkSpec, NodeKind};
use farfield_user::ConnectionSlot;
use farfield_wire::{Addresses, IpPacket};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

pub const V4: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1));
pub const V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1));
pub const PORT: u16 = 443;

/// A link as a scenario writes it.
pub fn link(toml: &str) -> Arc<LinkModel> {
    let spec: LinkSpec<NoJitter> = toml::from_str(toml).expect("a link");
    let model = spec.resolve(|never| match *never {}, &mut |_| unreachable!("no trace"));
    Arc::new(model.expect("a link"))
}

pub fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

/// Clients with their own links behind shared links, both directions alike.
pub fn network(clients: u32, first_address: IpAddr, own: &str, shared: &[&str]) -> NetworkPlan {
    let router = |id| NodePlan { id, kind: NodeKind::Router };
    let hops = shared.len() as u32;
    let up = (0..hops).map(|hop| {
        let to = if hop + 1 == hops { NodePlan::SERVER } else { router(hop + 1) };
        HopPlan { link: Some(SharedLinkId::new(hop)), to }
    });
    let down = (0..hops)
        .map(|hop| HopPlan { link: Some(SharedLinkId::new(hops + hop)), to: router(hops - 1 - hop) });
    let route = RoutePlan { up: up.collect(), down: down.collect() };
    let links: Vec<_> = shared.iter().map(|toml| link(toml)).collect();
    NetworkPlan {
        others: crate::plan::OtherServers::default(),
        host_ways: crate::plan::HostWays::default(),
        servers: Servers {
            v4: Ipv4Addr::new(192, 0, 2, 1),
            v6: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
            port: PORT,
        },
        classes: vec![ClassPlan {
            name: "all".into(),
            tcp: Arc::new(farfield_tcp::Config::linux()),
            up: vec![link(own)],
            down: vec![link(own)],
            first_address,
        }],
        routes: vec![if hops == 0 { RoutePlan::direct(0) } else { route }],
        cross_traffic: Vec::new(),
        moves: Vec::new(),
        shared: links.iter().chain(&links).cloned().collect(),
        clients: (0..clients).map(|rank| ClientPlan { class: 0, route: 0, rank }).collect(),
    }
}

/// Something that a socket heard.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SocketEvent {
    Datagram(Ecn, Vec<u8>),
    Moved,
    Refused,
    Unreachable,
}

/// Sides of clients, the links between them, and all that happened.
pub struct DatagramScene {
    pub sides: Vec<ClientSide>,
    links: Option<SharedLinks>,
    sends: Vec<(Instant, u32, Ecn, usize, Bytes)>,
    /// Events that the sockets of users heard.
    pub heard: Vec<(Instant, u32, SocketEvent)>,
    /// Packets that came to the server.
    pub departed: Vec<(Instant, Packet)>,
}

impl DatagramScene {
    /// A stage on which each client has one user, with a socket that is open.
    pub fn of(network: NetworkPlan, shards: u32) -> DatagramScene {
        let (network, seed) = (Arc::new(network), Seed(7));
        let beyond = if shards == 1 { ShardScope::Everything } else { ShardScope::Gateway };
        let side = |shard| ClientSide::new(Arc::clone(&network), seed, ClientShare { shard, shards }, beyond);
        let links = (shards > 1).then(|| SharedLinks::new(Arc::clone(&network), seed));
        let mut stage = DatagramScene {
            sides: (0..shards).map(side).collect(),
            links,
            sends: Vec::new(),
            heard: Vec::new(),
            departed: Vec::new(),
        };
        for user in 0..network.acting() as u32 {
            let key = stage.key(user);
            stage.side(user).open_datagram_socket(key, user, (HostNumber::TARGET, None));
        }
        stage
    }

    /// Opens the user's socket again, to another port of the server's.
    pub fn reopen(&mut self, user: u32, port: u16) {
        let key = self.key(user);
        let side = self.side(user);
        side.hosts.close_datagram_socket(key);
        side.open_datagram_socket(key, user, (HostNumber::TARGET, Some(port)));
    }

    /// The key of a user's socket; its slots are dense on each side.
    pub fn key(&self, user: u32) -> ConnectionKey {
        ConnectionKey { slot: ConnectionSlot::new(user / self.sides.len() as u32), serial: user }
    }

    pub fn side(&mut self, user: u32) -> &mut ClientSide {
        let shards = self.sides.len() as u32;
        &mut self.sides[(user % shards) as usize]
    }

    /// Captures all packets at both ends.
    pub fn capture(&mut self) {
        let clients = (0..self.sides[0].transit.plan.clients.len() as u32).collect();
        let plan = CapturePlan { gateway: true, clients, ..CapturePlan::default() };
        self.sides.iter_mut().for_each(|side| side.edge.capture(&plan));
    }

    pub fn captured(&mut self) -> Vec<CapturedPacket> {
        self.sides.iter_mut().flat_map(|side| side.edge.take_captured()).collect()
    }

    /// A user sends `bytes` of data at `at`, in datagrams of `size`.
    pub fn send(&mut self, at: Instant, user: u32, ecn: Ecn, size: usize, bytes: usize) {
        let row: Vec<u8> = (0..bytes).map(|byte| (byte as u32 ^ user) as u8).collect();
        self.sends.push((at, user, ecn, size, row.into()));
        self.sends.sort_by_key(|(at, ..)| *at);
    }

    /// Lets everything happen, with a server that answers each packet by those that `server` returns.
    pub fn play(&mut self, mut server: impl FnMut(&Packet) -> Vec<Packet>) -> NetworkDrops {
        loop {
            self.settle(&mut server);
            let sends_at = self.sends.first().map(|(at, ..)| *at);
            let sides = self.sides.iter().filter_map(|side| side.transit.wheel.next_at());
            let links = self.links.as_ref().and_then(SharedLinks::next_at);
            let Some(now) = sides.chain(links).chain(sends_at).min() else { break };
            self.links.iter_mut().for_each(|links| while links.step(now) {});
            for side in &mut self.sides {
                while let Some((due, event)) = side.transit.wheel.pop_due(now) {
                    side.transit.now = due;
                    match event {
                        SideEvent::Packet(slot) => side.travel(slot),
                        SideEvent::Fate(link) => side.poll_fates(link),
                        SideEvent::Cross(slot) => side.send_cross(slot),
                        SideEvent::Other(ClientEvent::Move(place)) => {
                            side.hosts.move_client(&side.transit.plan, place)
                        }
                        SideEvent::Other(event) => panic!("{event:?}"),
                    }
                }
            }
            while self.sends.first().is_some_and(|(at, ..)| *at == now) {
                let (at, user, ecn, size, row) = self.sends.remove(0);
                let key = self.key(user);
                let side = self.side(user);
                side.transit.now = at;
                side.send_row(key, ecn, size, &row);
            }
        }
        let mut drops = self.links.as_ref().map(SharedLinks::drops).unwrap_or_default();
        self.sides.iter().for_each(|side| drops.merge(&side.transit.drops));
        drops
    }

    /// Hands packets to and fro, and takes upcalls, until there is none.
    fn settle(&mut self, server: &mut impl FnMut(&Packet) -> Vec<Packet>) {
        loop {
            let mut rest = !self.pass_on();
            for side in &mut self.sides {
                while let Some(departure) = side.edge.departures.pop_front() {
                    rest = false;
                    for answer in server(&departure.packet) {
                        let clients = crate::Directory::new(&side.transit.plan);
                        let client = clients.find(answer.addresses.destination()).expect("a client");
                        side.transit.now = departure.intended;
                        side.send_down(side.hosts.clients.share.slot_of(client), answer);
                    }
                    self.departed.push((departure.intended, departure.packet));
                }
                while let Some(upcall) = side.hosts.upcalls.pop() {
                    let (key, heard) = match upcall {
                        Upcall::Datagram(key, ecn, bytes) => {
                            (key, SocketEvent::Datagram(ecn, bytes.to_vec()))
                        }
                        Upcall::Moved(key) => (key, SocketEvent::Moved),
                        Upcall::Failed(key, Failure::Refused, None) => (key, SocketEvent::Refused),
                        Upcall::Failed(key, Failure::Unreachable, None) => (key, SocketEvent::Unreachable),
                        other => panic!("{other:?}"),
                    };
                    self.heard.push((side.transit.now, key.serial, heard));
                }
            }
            if rest {
                return;
            }
        }
    }

    fn pass_on(&mut self) -> bool {
        let Some(links) = &mut self.links else { return false };
        let mut some = false;
        let shards = self.sides.len() as u32;
        loop {
            let up: Vec<Crossing> =
                self.sides.iter_mut().flat_map(|side| std::mem::take(&mut side.transit.crossings)).collect();
            up.into_iter().for_each(|crossing| links.take(crossing));
            let down: Vec<Crossing> = links.crossings().collect();
            let is_over = down.is_empty();
            for crossing in down {
                let side = &mut self.sides[crossing.shard(shards) as usize];
                let Crossing { at, flight } = crossing;
                let client = ClientSlot::of(flight.client, shards);
                side.take_at(at, flight.of_client(client));
                some = true;
            }
            if is_over && self.sides.iter().all(|side| side.transit.crossings.is_empty()) {
                return some;
            }
        }
    }

    /// Events that a user's socket heard.
    pub fn heard_by(&self, user: u32) -> Vec<(Instant, SocketEvent)> {
        self.heard
            .iter()
            .filter(|(_, of, _)| *of == user)
            .map(|(at, _, heard)| (*at, heard.clone()))
            .collect()
    }
}

/// A server that sends each datagram back.
pub fn echo(packet: &Packet) -> Vec<Packet> {
    let PacketPayload::Udp(udp) = &packet.carried else { return Vec::new() };
    let Udp { source_port, destination_port, payload } = udp.clone();
    let back = Udp { source_port: destination_port, destination_port: source_port, payload };
    vec![Packet::udp(packet.addresses.reversed(), packet.ecn, back)]
}

/// A server that answers each datagram with an ICMP error.
pub fn complain(error: IcmpError) -> impl FnMut(&Packet) -> Vec<Packet> {
    move |packet| icmp::error_about(packet, error, packet.addresses.destination()).into_iter().collect()
}

/// The data of a datagram; panics on any other packet.
#[track_caller]
pub fn data_of(packet: &Packet) -> &[u8] {
    match &packet.carried {
        PacketPayload::Udp(udp) => &udp.payload,
        other => panic!("{other:?}"),
    }
}

/// A datagram from the server that routers may cut into fragments, as bytes.
pub fn cuttable(addresses: Addresses, udp: Udp) -> Packet {
    let mut packet = Packet::udp(addresses, Ecn::NotEct, udp);
    packet.whole = false;
    let bytes = packet.to_bytes();
    assert!(IpPacket::parse(&bytes).is_ok());
    Packet::raw(bytes.into()).expect("a packet")
}
