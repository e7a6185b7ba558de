//! Packets on their way: from stage to stage, node to node, until they arrive, are dropped, or leave for
//! another side.
//!
//! A stage is a link, or a client's own links as one. Going up, a client's own stages come first; going down,
//! last. Each stage that takes time costs one event; what takes none is passed at once.
//!
//! The way is that of every packet; which part of it is on a side, and what its links and its ends are, is
//! the side's own: [`ClientSide`](crate::client_side::ClientSide) and
//! [`SharedSide`](crate::shared::SharedSide).

use crate::client::Wire;
use crate::cross_traffic::FlowSlot;
use crate::flight::Flight;
use crate::icmp;
use crate::link_counts::LinkCounts;
use crate::packet::{Packet, PacketPayload};
use crate::plan::{HopPlan, NodePlan, RoutePlan};
use crate::slots::{ClientId, FlightSlot, SharedLinkId};
use crate::transit::{SideEvent, Transit};
use farfield_base::Instant;
use farfield_net::{Arrival, Closure, ClosureAnswer, Fate, Fit, Mtu, NodeKind, Passing};
use farfield_wire::{Addresses, IcmpError};

/// The next stage of a packet, with the node that it is at, unless that is its sender's own host.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NextStage {
    /// A link of the client's own.
    Own { node: Option<NodePlan>, hop: u8 },
    /// A hop of its route.
    Hop { node: Option<NodePlan>, hop: HopPlan },
    /// The packet's receiver.
    Receiver,
}

/// The way of a packet, in its direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PacketPath {
    route: u32,
    /// Stages of its client's own links.
    own: usize,
    /// Hops of its route.
    hops: usize,
}

impl PacketPath {
    /// True if a hop of its route is the next before the packet.
    pub fn is_at_shared<C>(&self, flight: &Flight<C>) -> bool {
        let stage = usize::from(flight.stage);
        let first = if flight.up { self.own } else { 0 };
        (first..first + self.hops).contains(&stage)
    }

    /// True if only its client's own links are before the packet.
    pub fn is_beyond_shared<C>(&self, flight: &Flight<C>) -> bool {
        !flight.up && usize::from(flight.stage) >= self.hops
    }

    /// True if the server is before the packet and nothing else.
    pub fn is_at_server<C>(&self, flight: &Flight<C>) -> bool {
        flight.up && usize::from(flight.stage) >= self.own + self.hops
    }
}

/// A packet that goes on without time passing, if it does.
pub(crate) type NextFlight<C> = Option<Flight<C>>;

/// A side of the network, as packets go through it.
pub(crate) trait Forward {
    /// A client, as the side knows it.
    type Client: Copy;
    /// A link of the side.
    type Link: Copy;
    /// An event of what is at the end of its links.
    type Other;

    fn transit(&self) -> &Transit<Self::Client, Self::Link, Self::Other>;

    fn transit_mut(&mut self) -> &mut Transit<Self::Client, Self::Link, Self::Other>;

    /// The number of a client in the plan.
    fn id_of(&self, client: Self::Client) -> ClientId;

    /// The route and the class of a client.
    fn route_of(&self, client: Self::Client) -> (u32, u16);

    /// Stages of the own links of a class's clients.
    fn own_stages(&self, class: u16, up: bool) -> usize;

    /// True if what lies before the packet is on this side.
    fn holds(&self, flight: &Flight<Self::Client>, way: &PacketPath) -> bool;

    /// Takes the packet through what lies before it, or hands it to the side that has that.
    fn advance(&mut self, flight: Flight<Self::Client>, way: &PacketPath) -> NextFlight<Self::Client>;

    /// Hands the packet to the side that its next stage is on, where it is to be at `at`.
    fn cross(&mut self, flight: Flight<Self::Client>, at: Instant);

    fn mtu(&self, link: Self::Link) -> Mtu;

    /// Times at which a link takes no packets, if there are any.
    fn closure(&self, link: Self::Link) -> Option<&Closure>;

    /// A shared link, as the side knows it.
    fn shared_link(link: SharedLinkId) -> Self::Link;

    /// The shared link that it is, if it is one.
    fn as_shared(link: Self::Link) -> Option<SharedLinkId>;

    /// The counters of a link, if it has some.
    fn counts(&mut self, link: Self::Link) -> Option<&mut LinkCounts> {
        let link = Self::as_shared(link)?;
        self.transit_mut().links.get_mut(link.index())
    }

    fn offer(&mut self, flight: &Flight<Self::Client>, link: Self::Link) -> Fate;

    /// A link that packets may wait before; `None` for one that decides on each at once.
    fn wire(&mut self, link: Self::Link) -> Option<&mut Wire>;

    /// Lets the packet in `slot` go on.
    fn travel(&mut self, slot: FlightSlot) {
        let flight = self.transit_mut().remove(slot);
        self.set_out(flight);
    }

    /// Lets a packet go as far as it gets without time passing.
    fn set_out(&mut self, flight: Flight<Self::Client>) {
        let way = self.way(&flight);
        let mut on = Some(flight);
        while let Some(flight) = on {
            on = self.advance(flight, &way);
        }
    }

    /// Lets a packet between a client and the server begin its way.
    fn set_out_as(&mut self, packet: Packet, client: Self::Client, up: bool) {
        let (to, from) = (packet.addresses.destination(), packet.addresses.source());
        let plan = &self.transit().plan;
        let own = plan.number_of_server(self.route_of(client).1);
        let address = if up { to } else { from };
        let number = if up { plan.far_at(address) } else { plan.server_at(address) }.unwrap_or(own);
        let server = plan.server(own).of(&address);
        let far = match &packet.carried {
            PacketPayload::Tcp(tcp) if up => Some((to, tcp.destination_port)),
            PacketPayload::Tcp(tcp) => Some((from, tcp.source_port)),
            PacketPayload::Udp(udp) if up => Some((to, udp.destination_port)),
            PacketPayload::Udp(udp) => Some((from, udp.source_port)),
            PacketPayload::Raw(_) | PacketPayload::Framed(_) => None,
        };
        let is_plain = far == Some((server.ip(), server.port()));
        self.set_out(Flight::of(packet, (client, number), up, is_plain));
    }

    /// Takes a packet that has left another side, or will. If it should have been here before now, it goes on
    /// from then.
    fn take_at(&mut self, at: Instant, flight: Flight<Self::Client>) {
        let transit = self.transit_mut();
        if at >= transit.now {
            return transit.schedule(at, flight);
        }
        let now = std::mem::replace(&mut transit.now, at);
        self.set_out(flight);
        self.transit_mut().now = now;
    }

    /// The way of a packet, whichever of its stages it is at, damaged or not. To look it up touches the
    /// client, its class and its route, so an event does it once.
    fn way(&self, flight: &Flight<Self::Client>) -> PacketPath {
        let (route, class) = self.route_of(flight.client);
        let network = &self.transit().plan;
        let far = flight.server();
        let between = || network.route_between(flight.sender()?, far?);
        let (route, own) = match between() {
            Some(route) => (route, 0),
            None => {
                let to_far = |far| network.route_to_far(self.id_of(flight.client), route, far);
                (far.map_or(route, to_far), self.own_stages(class, flight.up))
            }
        };
        let plan = &network.routes[route as usize];
        let hops = if flight.up { plan.up.len() } else { plan.down.len() };
        PacketPath { route, own, hops }
    }

    /// The number of a packet's server.
    fn server_of(&self, flight: &Flight<Self::Client>) -> u16 {
        let of_users = || self.transit().plan.number_of_server(self.route_of(flight.client).1);
        flight.server().unwrap_or_else(of_users)
    }

    /// The next stage of a packet.
    fn ahead(&self, flight: &Flight<Self::Client>, way: &PacketPath) -> NextStage {
        let route = &self.transit().plan.routes[way.route as usize];
        let stage = usize::from(flight.stage);
        if flight.up {
            let Some(index) = stage.checked_sub(way.own) else {
                return NextStage::Own { node: None, hop: flight.stage };
            };
            let node = if index == 0 { route.edge() } else { route.up[index - 1].to };
            route
                .up
                .get(index)
                .map_or(NextStage::Receiver, |hop| NextStage::Hop { node: Some(node), hop: *hop })
        } else {
            let node = stage.checked_sub(1).map(|before| route.down[before.min(way.hops - 1)].to);
            if let Some(hop) = route.down.get(stage) {
                return NextStage::Hop { node, hop: *hop };
            }
            let hop = stage - way.hops;
            if hop >= way.own {
                return NextStage::Receiver;
            }
            // Between a client's own links stands no node that counts.
            NextStage::Own { node: node.filter(|_| hop == 0), hop: hop as u8 }
        }
    }

    /// Takes a packet over a node; `None` if the node does not let it on.
    fn pass(&mut self, mut flight: Flight<Self::Client>, node: Option<NodePlan>) -> NextFlight<Self::Client> {
        let Some(node) = node else { return Some(flight) };
        match node.kind.pass(flight.ttl()) {
            Passing::On(ttl) => {
                flight.set_ttl(ttl);
                Some(flight)
            }
            Passing::Expired => {
                self.transit_mut().drops.expired += flight.packets();
                self.refuse(flight, Some(node), IcmpError::HopLimitExceeded);
                None
            }
            Passing::Refused => None,
        }
    }

    /// Offers the packet, which is at `node`, to the link before it; returns it if it is behind that link
    /// already.
    fn enter(
        &mut self,
        flight: Flight<Self::Client>,
        way: &PacketPath,
        node: Option<NodePlan>,
        link: Self::Link,
    ) -> NextFlight<Self::Client> {
        let now = self.transit().now;
        if let Some(answer) = self.closure(link).and_then(|closure| closure.at(now)) {
            self.count_refused(&flight, link);
            self.turn_away(flight, node, answer);
            return None;
        }
        let mtu = self.mtu(link);
        match mtu.judge(flight.bytes(), !flight.is_whole()) {
            Fit::Fits => {
                let fate = self.offer(&flight, link);
                self.settle(flight, way, link, fate)
            }
            Fit::Fragments => {
                self.fragment(flight, mtu.as_bytes());
                None
            }
            Fit::TooBig => {
                self.count_refused(&flight, link);
                self.transit_mut().drops.too_big += flight.packets();
                let next_hop_mtu = mtu.as_bytes() as u16;
                self.refuse(flight, node, IcmpError::TooBig { next_hop_mtu });
                None
            }
        }
    }

    fn count_refused(&mut self, flight: &Flight<Self::Client>, link: Self::Link) {
        if let Some(counts) = self.counts(link) {
            counts.impairments.refused += flight.packets();
        }
    }

    /// Drops a packet that came to a link which takes none, and answers it as the link says.
    fn turn_away(&mut self, flight: Flight<Self::Client>, node: Option<NodePlan>, answer: ClosureAnswer) {
        self.transit_mut().drops.unreachable += 1;
        let error = match answer {
            ClosureAnswer::Host => IcmpError::HostUnreachable,
            ClosureAnswer::Network => IcmpError::NoRoute,
            ClosureAnswer::Prohibited => IcmpError::Prohibited,
            ClosureAnswer::Nothing => return,
        };
        self.refuse(flight, node, error);
    }

    /// Offers a packet of cross traffic to its link, and lets the next follow when it comes.
    fn send_cross(&mut self, slot: FlowSlot) {
        let (link, bytes) = self.transit_mut().cross.begin(slot);
        let (link, now) = (Self::shared_link(link), self.transit().now);
        let packet = farfield_net::Packet::new(bytes, slot.key());
        let fate = self.wire(link).map(|Wire { link, rng, .. }| {
            let flow = link.flow_key(rng).map_or(0, |key| slot.flow(key));
            link.offer(now, packet.of_flow(flow), rng)
        });
        if let Some(fate) = fate {
            self.count_cross(slot, link, fate);
            if fate == Fate::Waits {
                self.await_fate(link);
            }
        }
        self.transit_mut().schedule_cross(slot);
    }

    fn count_cross(&mut self, slot: FlowSlot, link: Self::Link, fate: Fate) {
        self.transit_mut().cross.count(slot, fate);
        let bytes = self.transit().cross.bytes(slot);
        if let Some(counts) = self.counts(link) {
            counts.count(1, bytes, &fate);
        }
    }

    /// Does with a packet what its link decided; returns it if it is behind the link now.
    fn settle(
        &mut self,
        mut flight: Flight<Self::Client>,
        way: &PacketPath,
        link: Self::Link,
        fate: Fate,
    ) -> NextFlight<Self::Client> {
        if let Some(counts) = self.counts(link) {
            counts.count(flight.packets(), flight.bytes(), &fate);
        }
        match fate {
            Fate::Dropped(cause) => {
                self.transit_mut().drop_for(cause);
                None
            }
            Fate::Waits => {
                self.transit_mut().flights.insert(flight);
                self.await_fate(link);
                None
            }
            Fate::Delivered(delivery) => {
                if delivery.first.marked {
                    flight.mark();
                }
                flight.stage += 1;
                if let Some(copy) = delivery.copy {
                    let twin = self.damaged(flight.clone(), &copy);
                    self.go_on_at(twin, way, copy.at);
                }
                let flight = self.damaged(flight, &delivery.first);
                if delivery.first.at <= self.transit().now {
                    return Some(flight);
                }
                self.go_on_at(flight, way, delivery.first.at);
                None
            }
        }
    }

    /// The packet as it arrives.
    fn damaged(&self, flight: Flight<Self::Client>, arrival: &Arrival) -> Flight<Self::Client> {
        let Some(bit) = arrival.flipped_bit else { return flight };
        let (client, up, stage, server) = (flight.client, flight.up, flight.stage, self.server_of(&flight));
        let sender = flight.sender();
        let mut packet = self.packet_of(flight);
        packet.flip(bit.index());
        Flight::whole(packet, (client, server), up, stage).sent_by(sender)
    }

    /// Lets a packet go on its way at `at`, on this side or on the next.
    fn go_on_at(&mut self, flight: Flight<Self::Client>, way: &PacketPath, at: Instant) {
        if self.holds(&flight, way) {
            self.transit_mut().schedule(at, flight);
        } else {
            self.cross(flight, at);
        }
    }

    /// Asks a link for the fates that are due.
    fn poll_fates(&mut self, link: Self::Link) {
        let now = self.transit().now;
        let Some(wire) = self.wire(link) else { return };
        if wire.fate_at.is_none_or(|fate_at| fate_at > now) {
            return;
        }
        wire.fate_at = None;
        while let Some((key, fate)) = self.wire(link).and_then(|wire| wire.link.poll(now, &mut wire.rng)) {
            if let Some(slot) = FlowSlot::of_key(key) {
                self.count_cross(slot, link, fate);
                continue;
            }
            let flight = self.transit_mut().flights.remove(key as usize);
            let way = self.way(&flight);
            if let Some(flight) = self.settle(flight, &way, link, fate) {
                self.set_out(flight);
            }
        }
        self.await_fate(link);
    }

    /// Schedules the next fate of a link, if packets wait before it.
    fn await_fate(&mut self, link: Self::Link) {
        let Some(wire) = self.wire(link) else { return };
        let Some(next) = wire.link.next_fate_at() else { return };
        if wire.fate_at.is_none_or(|fate_at| fate_at > next) {
            wire.fate_at = Some(next);
            self.transit_mut().wheel.schedule(next, SideEvent::Fate(link));
        }
    }

    /// Answers a packet that was dropped at `node` with why. The sender's own host answers nothing.
    fn refuse(&mut self, flight: Flight<Self::Client>, node: Option<NodePlan>, error: IcmpError) {
        let Flight { client, up, .. } = flight;
        let Some(node) = node.filter(|node| *node != NodePlan::SERVER) else { return };
        let (server, PacketPath { route, .. }) = (self.server_of(&flight), self.way(&flight));
        let sender = flight.sender();
        let packet = self.packet_of(flight);
        let from = node.address(&packet.addresses);
        let Some(answer) = icmp::error_about(&packet, error, from) else { return };
        if let Some(sender) = sender {
            return self.answer_server(answer, client, [server, sender], node);
        }
        let (_, class) = self.route_of(client);
        let route = &self.transit().plan.routes[route as usize];
        let stage = if up {
            // Back down to the client, from the node's place on its route.
            route.down.iter().position(|hop| hop.to.id == node.id).map_or(0, |hop| hop + 1)
        } else if route.edge().id == node.id {
            self.own_stages(class, true)
        } else {
            let hop = route.up.iter().position(|hop| hop.to.id == node.id);
            self.own_stages(class, true) + hop.map_or(route.up.len(), |hop| hop + 1)
        };
        self.set_out(Flight::whole(answer, (client, server), !up, stage as u8));
    }

    /// Sends what `node` says about a packet of `sender`'s to `server` back to it.
    fn answer_server(
        &mut self,
        answer: Packet,
        client: Self::Client,
        [server, sender]: [u16; 2],
        node: NodePlan,
    ) {
        let plan = &self.transit().plan;
        let Some(route) = plan.route_between(server, sender) else { return };
        let up = &plan.routes[route as usize].up;
        let stage = up.iter().position(|hop| hop.to.id == node.id).map_or(up.len(), |hop| hop + 1);
        self.set_out(Flight::whole(answer, (client, sender), true, stage as u8).sent_by(Some(server)));
    }

    /// Cuts a packet into fragments of at most `mtu` bytes, which go on in its stead.
    fn fragment(&mut self, flight: Flight<Self::Client>, mtu: u32) {
        let (client, up, stage, server) = (flight.client, flight.up, flight.stage, self.server_of(&flight));
        let sender = flight.sender();
        let packet = self.packet_of(flight);
        icmp::fragments(&packet, mtu, |piece| {
            self.set_out(Flight::whole(piece, (client, server), up, stage).sent_by(sender));
        });
    }

    /// The port of the server of the users on a client.
    fn port_of_server(&self, client: Self::Client) -> u16 {
        self.transit().plan.servers_of(self.route_of(client).1).port
    }

    /// Addresses of what users on a client send.
    fn addresses(&self, client: Self::Client) -> Addresses {
        self.transit().plan.addresses(self.id_of(client))
    }

    /// The packet that `flight` stands for.
    fn packet_of(&self, flight: Flight<Self::Client>) -> Packet {
        let client = flight.client;
        let port = self.port_of_server(client);
        flight.into_packet(|| self.addresses(client), port)
    }
}

impl RoutePlan {
    /// The node where clients' own links end.
    pub fn edge(&self) -> NodePlan {
        self.down.last().map_or(NodePlan { id: 0, kind: NodeKind::Switch }, |hop| hop.to)
    }
}
