//! Shared links: what lies between clients' own links and the server.
//!
//! A shard that is made [with its ends only](crate::Shard::of_ends) holds clients, their own links and its
//! queue's gateway port. A packet that comes to a shared link [crosses](Crossing) to the thread that holds
//! these links, and crosses back behind the last one: to the gateway on its way to the server, to the
//! client's own links on its way from it. It does so as soon as it is known when it will be at the other
//! side, which is a link's propagation delay before it is there: the lookahead that the threads have to hand
//! it over.
//!
//! In real time the clock is the barrier between them. A packet that is handed over too late goes on from the
//! instant that was meant for it, so that being late once makes nothing else late; a link at which others
//! have been since counts it as of the latest of these. How late packets were is for the caller to count.

use crate::client::Wire;
use crate::cross_traffic::CrossFlows;
use crate::flight::Flight;
use crate::forward::{Forward, NextFlight, NextStage, PacketPath};
use crate::lag;
use crate::link_counts::{LinkCounts, counters_of};
use crate::packet::{Packet, Tcp, Udp};
use crate::plan::{HopPlan, NetworkPlan};
use crate::slots::{ClientId, SharedLinkId};
use crate::transit::{Crossing, SideEvent, Transit};
use farfield_base::random::{Purpose, Seed};
use farfield_base::{CrossCounts, Instant, NetworkDrops};
use farfield_net::{Closure, Fate, Link, Mtu};
use farfield_wire::Ecn;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

/// Shared links, or some of them, and the packets on them. `O` is an event of the server, where that is at
/// their end.
#[derive(Debug)]
pub(crate) struct SharedSide<O> {
    pub transit: Transit<ClientId, SharedLinkId, O>,
    links: Box<[Wire]>,
    /// For each class, the stages of its clients' own links up and down.
    own_stages: Box<[[u8; 2]]>,
    extent: Extent,
    /// Packets that have come to a model of a server.
    pub arrived: VecDeque<Flight<ClientId>>,
}

/// The shared links that a side holds, and the model of a server at their end, if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Links towards the server, and the first away from it.
    pub near: bool,
    /// Links away from the server, but the first.
    pub far: bool,
    pub server: bool,
}

impl Extent {
    /// All shared links, and the server.
    pub const HUB: Extent = Extent { near: true, far: true, server: true };
    /// The near links, and the server.
    pub const NEAR_HUB: Extent = Extent { near: true, far: false, server: true };
    /// The far links.
    pub const FAR: Extent = Extent { near: false, far: true, server: false };
    /// All shared links.
    pub const LINKS: Extent = Extent { near: true, far: true, server: false };
}

/// The shared links of a network, idle, each with its random stream.
pub(crate) fn links_of(plan: &NetworkPlan, seed: Seed) -> Box<[Wire]> {
    let wire = |(number, model)| Wire {
        link: Link::new(Arc::clone(model)),
        rng: seed.stream(Purpose::Link, number as u64),
        fate_at: None,
    };
    plan.shared.iter().enumerate().map(wire).collect()
}

impl<O> SharedSide<O> {
    /// The links that `extent` names of a network, idle.
    pub fn new(plan: Arc<NetworkPlan>, seed: Seed, extent: Extent) -> SharedSide<O> {
        let stages = plan.classes.iter().map(|class| {
            let (up, down) = class.lanes();
            [up.stages, down.stages]
        });
        let mut transit = Transit::new(Arc::clone(&plan));
        let holds = |link| if plan.is_near(link) { extent.near } else { extent.far };
        transit.begin_cross(CrossFlows::of(&plan, seed, holds));
        transit.links = counters_of(&plan);
        SharedSide {
            links: links_of(&plan, seed),
            own_stages: stages.collect(),
            extent,
            arrived: VecDeque::new(),
            transit,
        }
    }

    /// True if only its client's own links are before the packet.
    pub fn is_beyond(&self, flight: &Flight<ClientId>) -> bool {
        self.way(flight).is_beyond_shared(flight)
    }

    /// Sends a segment from the server to a client on its way.
    pub fn send_down(&mut self, client: ClientId, tcp: Tcp) {
        let plan = &self.transit.plan;
        let class = &plan.classes[usize::from(plan.clients[client.index()].class)];
        let (is_v6, port) = (class.first_address.is_ipv6(), tcp.destination_port);
        match Flight::segment((client, false), is_v6, port, &tcp.segment, &tcp.payload) {
            Some(flight) => self.set_out(flight),
            None => self.set_out_as(Packet::tcp(self.addresses(client).reversed(), tcp), client, false),
        }
    }

    /// Sends a datagram of the server's to a client.
    pub fn send_datagram_down(&mut self, client: ClientId, ecn: Ecn, udp: &Udp) {
        let plan = &self.transit.plan;
        let class = &plan.classes[usize::from(plan.clients[client.index()].class)];
        let (is_v6, port) = (class.first_address.is_ipv6(), udp.destination_port);
        self.set_out(Flight::datagram((client, false), is_v6, port, ecn, &udp.payload));
    }
}

impl<O> Forward for SharedSide<O> {
    type Client = ClientId;
    type Link = SharedLinkId;
    type Other = O;

    fn transit(&self) -> &Transit<ClientId, SharedLinkId, O> {
        &self.transit
    }

    fn transit_mut(&mut self) -> &mut Transit<ClientId, SharedLinkId, O> {
        &mut self.transit
    }

    fn id_of(&self, client: ClientId) -> ClientId {
        client
    }

    fn route_of(&self, client: ClientId) -> (u32, u16) {
        let client = &self.transit.plan.clients[client.index()];
        (client.route, client.class)
    }

    fn own_stages(&self, class: u16, up: bool) -> usize {
        let [there, back] = self.own_stages[usize::from(class)];
        usize::from(if up { there } else { back })
    }

    fn holds(&self, flight: &Flight<ClientId>, way: &PacketPath) -> bool {
        if way.is_at_shared(flight) {
            let is_far = !flight.up && flight.stage > 0;
            if is_far { self.extent.far } else { self.extent.near }
        } else {
            self.extent.server && way.is_at_server(flight)
        }
    }

    fn advance(&mut self, flight: Flight<ClientId>, way: &PacketPath) -> NextFlight<ClientId> {
        let is_here = self.holds(&flight, way);
        match self.ahead(&flight, way) {
            NextStage::Hop { node, hop: HopPlan { link, .. } } if is_here => {
                let mut flight = self.pass(flight, node)?;
                match link {
                    Some(link) => self.enter(flight, way, node, link),
                    None => {
                        flight.stage += 1;
                        Some(flight)
                    }
                }
            }
            NextStage::Receiver if is_here => {
                self.arrived.push_back(flight);
                None
            }
            _ => {
                self.cross(flight, self.transit.now);
                None
            }
        }
    }

    fn cross(&mut self, flight: Flight<ClientId>, at: Instant) {
        self.transit.crossings.push(Crossing { at, flight });
    }

    fn mtu(&self, link: SharedLinkId) -> Mtu {
        self.links[link.index()].link.model().mtu_of_link()
    }

    fn closure(&self, link: SharedLinkId) -> Option<&Closure> {
        self.links[link.index()].link.model().closure()
    }

    fn shared_link(link: SharedLinkId) -> SharedLinkId {
        link
    }

    fn as_shared(link: SharedLinkId) -> Option<SharedLinkId> {
        Some(link)
    }

    fn offer(&mut self, flight: &Flight<ClientId>, link: SharedLinkId) -> Fate {
        self.links[link.index()].offer(&self.transit, || flight.client, flight)
    }

    fn wire(&mut self, link: SharedLinkId) -> Option<&mut Wire> {
        Some(&mut self.links[link.index()])
    }
}

impl Wire {
    /// Offers a packet, which is of client `id`, to the link at the present instant.
    pub fn offer<C: Copy, L, O>(
        &mut self,
        transit: &Transit<C, L, O>,
        id: impl FnOnce() -> ClientId,
        flight: &Flight<C>,
    ) -> Fate {
        let flow = self.flow(&transit.plan, id, flight);
        // The slot that the packet will have if it waits.
        let key = transit.flights.vacant_key() as u64;
        let able = flight.ecn() != Ecn::NotEct;
        let packet = farfield_net::Packet::new(flight.bytes(), key).of_flow(flow).able_to_be_marked(able);
        self.link.offer(transit.now, packet, &mut self.rng)
    }

    /// The hash of a packet's flow, if the link asks for it, and 0 otherwise.
    #[inline]
    pub fn flow<C: Copy>(
        &mut self,
        plan: &NetworkPlan,
        id: impl FnOnce() -> ClientId,
        flight: &Flight<C>,
    ) -> u32 {
        let Some(key) = self.link.flow_key(&mut self.rng) else { return 0 };
        flow_of(key, plan, id(), flight)
    }
}

/// The hash of the flow of a packet, which is of client `id`, under a link's key.
#[inline]
pub(crate) fn flow_of<C: Copy>(key: u64, plan: &NetworkPlan, id: ClientId, flight: &Flight<C>) -> u32 {
    let port = plan.servers_of(plan.clients[id.index()].class).port;
    flight.five_tuple(|| plan.addresses(id), port).hash(key)
}

/// All shared links of a network, for shards on several threads.
#[derive(Debug)]
pub struct SharedLinks {
    side: SharedSide<Infallible>,
}

impl SharedLinks {
    /// The shared links of `network`, idle.
    pub fn new(network: Arc<NetworkPlan>, seed: Seed) -> SharedLinks {
        SharedLinks { side: SharedSide::new(network, seed, Extent::LINKS) }
    }

    /// Takes a packet that has left a shard, or will.
    pub fn take(&mut self, Crossing { at, flight }: Crossing) {
        self.side.take_at(at, flight);
    }

    /// The instant of the next event, if there is one.
    pub fn next_at(&self) -> Option<Instant> {
        self.side.transit.wheel.next_at()
    }

    /// Does the next thing that is due by `wall`, at its own instant; false if nothing is.
    pub fn step(&mut self, wall: Instant) -> bool {
        let Some((due, event)) = self.side.transit.wheel.pop_due(wall) else { return false };
        // Events that follow from a late packet may have been due before.
        self.side.transit.now = self.side.transit.now.max(due).max(lag::floor(wall));
        match event {
            SideEvent::Packet(slot) => self.side.travel(slot),
            SideEvent::Fate(link) => self.side.poll_fates(link),
            SideEvent::Cross(slot) => self.side.send_cross(slot),
            SideEvent::Other(never) => match never {},
        }
        true
    }

    /// Takes the packets that have left for their clients' shards, or will.
    pub fn crossings(&mut self) -> std::vec::Drain<'_, Crossing> {
        self.side.transit.crossings.drain(..)
    }

    /// Counters of each flow of cross traffic.
    pub fn cross_counts(&self) -> Vec<CrossCounts> {
        self.side.transit.cross.counts()
    }

    /// Counters of each shared link.
    pub fn link_counts(&self) -> &[LinkCounts] {
        &self.side.transit.links
    }

    /// Packets that shared links did not deliver.
    pub fn drops(&self) -> NetworkDrops {
        self.side.transit.drops
    }
}
