//! Packets on their way: from stage to stage, node to node, until they arrive or are dropped.
//!
//! A stage is a link, or a client's own links as one. Going up, a client's own stages come first; going down, last.
//! Each stage that takes time costs one event; what takes none is passed at once.

use crate::capture::Place;
use crate::client::{Lane, Own, Wire};
use crate::flight::Flight;
use crate::packet::{Carried, Packet, Tcp};
use crate::plan::{HopPlan, NodePlan, RoutePlan};
use crate::world::{At, Crossing, Departure, Event, Reach, World};
use bytes::Bytes;
use farfield_base::Instant;
use farfield_net::loss::Memory;
use farfield_net::{Arrival, Delivery, Fate, Fit, LinkModel, NodeKind, Passing};
use farfield_tcp::Segment;
use farfield_wire::IcmpError;

/// What lies before a packet.
enum Ahead {
    /// A link of the client's own.
    Own { hop: u8 },
    /// A hop of its route.
    Hop(HopPlan),
    /// Nothing: it is there.
    End,
}

/// What a packet's way is made of, in its direction.
struct Way {
    route: u32,
    /// Stages of its client's own links.
    own: usize,
    /// Hops of its route.
    hops: usize,
}

impl Way {
    /// True if a hop of its route is the next before the packet.
    fn is_at_shared(&self, flight: &Flight) -> bool {
        let stage = usize::from(flight.stage);
        let first = if flight.up { self.own } else { 0 };
        (first..first + self.hops).contains(&stage)
    }

    /// True if only its client's own links are before the packet.
    fn is_beyond_shared(&self, flight: &Flight) -> bool {
        !flight.up && usize::from(flight.stage) >= self.hops
    }
}

impl World {
    /// Sends a packet from the client at `client` on its way.
    pub fn send_up(&mut self, client: u32, packet: Packet) {
        self.show(Place::Client, client, true, &packet);
        self.set_out_as(packet, client, true);
    }

    /// Sends a packet from the server's door to the client at `client` on its way.
    pub fn send_down(&mut self, client: u32, packet: Packet) {
        self.show(Place::Gateway, client, false, &packet);
        self.set_out_as(packet, client, false);
    }

    /// Sends a segment from port `port` of the client at `client` to the server, or (`up` is false) back.
    pub fn send_segment(&mut self, (client, up): (u32, bool), port: u16, segment: &Segment, payload: &Bytes) {
        let class = &self.plan.classes[usize::from(self.way_of(client).1)];
        let is_v6 = class.first_address.is_ipv6();
        let flight =
            Flight::segment((client, up), is_v6, port, segment, payload).filter(|_| self.tap.is_none());
        if let Some(flight) = flight {
            return self.set_out(flight);
        }
        let server_port = self.plan.servers.port;
        let (source_port, destination_port) = if up { (port, server_port) } else { (server_port, port) };
        let tcp = Tcp { source_port, destination_port, segment: *segment, payload: payload.clone() };
        let addresses = self.addresses(client);
        if up {
            self.send_up(client, Packet::tcp(addresses, tcp));
        } else {
            self.set_out_as(Packet::tcp(addresses.reversed(), tcp), client, false);
        }
    }

    fn set_out_as(&mut self, packet: Packet, client: u32, up: bool) {
        let (to, from) = (packet.addresses.destination(), packet.addresses.source());
        let servers = &self.plan.servers;
        let server = servers.of(if up { &to } else { &from });
        let far = match &packet.carried {
            Carried::Tcp(tcp) if up => Some((to, tcp.destination_port)),
            Carried::Tcp(tcp) => Some((from, tcp.source_port)),
            Carried::Raw(_) => None,
        };
        let is_plain = far == Some((server.ip(), server.port()));
        self.set_out(Flight::of(packet, client, up, is_plain));
    }

    /// Lets the packet at `place` go on.
    pub fn travel(&mut self, place: u32) {
        let flight = self.flights.remove(place as usize);
        self.set_out(flight);
    }

    /// Lets a packet go as far as it gets without time passing.
    pub fn set_out(&mut self, mut flight: Flight) {
        let way = self.way(&flight);
        loop {
            if self.leaves(&flight, &way) {
                return self.cross(flight, self.now);
            }
            let (node, ahead) = self.ahead(&flight, &way);
            if matches!(ahead, Ahead::End) {
                return self.arrive(flight);
            }
            if let Some(node) = node {
                match node.kind.pass(flight.ttl()) {
                    Passing::On(ttl) => flight.set_ttl(ttl),
                    Passing::Expired => {
                        self.drops.expired += 1;
                        return self.refuse(flight, node, IcmpError::HopLimitExceeded);
                    }
                    Passing::Refused => return,
                }
            }
            let behind = match ahead {
                Ahead::Hop(HopPlan { link: None, .. }) => {
                    flight.stage += 1;
                    Some(flight)
                }
                Ahead::Hop(HopPlan { link: Some(link), .. }) => self.enter(flight, node, At::Shared(link)),
                Ahead::Own { hop } => {
                    let Flight { client, up, .. } = flight;
                    self.enter(flight, node, At::Own { client, up, hop })
                }
                Ahead::End => unreachable!("it has arrived"),
            };
            match behind {
                Some(there) => flight = there,
                None => return,
            }
        }
    }

    /// The way of a packet, whichever of its stages it is at.
    fn way(&self, flight: &Flight) -> Way {
        let (route, class) = self.way_of(flight.client);
        let plan = &self.plan.routes[route as usize];
        let hops = if flight.up { plan.up.len() } else { plan.down.len() };
        Way { route, own: self.own_stages(class, flight.up), hops }
    }

    /// The node that the packet is at, unless that is its sender's own host, and what lies before it.
    fn ahead(&self, flight: &Flight, way: &Way) -> (Option<NodePlan>, Ahead) {
        let route = &self.plan.routes[way.route as usize];
        let stage = usize::from(flight.stage);
        if flight.up {
            match stage.checked_sub(way.own) {
                None => (None, Ahead::Own { hop: flight.stage }),
                Some(hop) => {
                    let node = if hop == 0 { route.edge() } else { route.up[hop - 1].to };
                    (Some(node), route.up.get(hop).map_or(Ahead::End, |hop| Ahead::Hop(*hop)))
                }
            }
        } else {
            let node = stage.checked_sub(1).map(|before| route.down[before.min(way.hops - 1)].to);
            match route.down.get(stage) {
                Some(hop) => (node, Ahead::Hop(*hop)),
                None => {
                    let hop = stage - way.hops;
                    // Between a client's own links stands nobody who counts.
                    let node = node.filter(|_| hop == 0);
                    let end = hop >= way.own;
                    (node, if end { Ahead::End } else { Ahead::Own { hop: hop as u8 } })
                }
            }
        }
    }

    /// True if the next stage of the packet is another world's.
    fn leaves(&self, flight: &Flight, way: &Way) -> bool {
        match self.reach {
            Reach::Whole => false,
            Reach::Clients => flight.up && usize::from(flight.stage) >= way.own,
            Reach::Shared => way.is_beyond_shared(flight),
            Reach::Near => !flight.up && flight.stage >= 1,
            Reach::Far => flight.up || way.is_beyond_shared(flight),
            Reach::Ends => way.is_at_shared(flight),
            Reach::Middle => !way.is_at_shared(flight),
        }
    }

    /// True if only its client's own links are before the packet.
    pub fn is_beyond_shared(&self, flight: &Flight) -> bool {
        self.way(flight).is_beyond_shared(flight)
    }

    /// Hands the packet to the world that its next stage is in.
    fn cross(&mut self, mut flight: Flight, at: Instant) {
        // A client is a place in its own world and a number in the shared one.
        if matches!(self.reach, Reach::Clients | Reach::Ends) {
            flight.client = flight.client * self.shards + self.shard;
        }
        self.crossings.push(Crossing { at, flight });
    }

    /// Stages of a client's own links.
    pub fn own_stages(&self, class: u16, up: bool) -> usize {
        usize::from(self.lane(class, up).stages)
    }

    fn lane(&self, class: u16, up: bool) -> &Lane {
        let (there, back) = &self.lanes[usize::from(class)];
        if up { there } else { back }
    }

    /// Offers the packet to the link before it; returns it if it is behind that link already.
    fn enter(&mut self, flight: Flight, node: Option<NodePlan>, at: At) -> Option<Flight> {
        let mtu = self.mtu(at);
        match mtu.judge(flight.bytes(), !flight.is_whole()) {
            Fit::Fits => {
                let fate = self.offer(&flight, at);
                self.settle(flight, at, fate)
            }
            Fit::Fragments => {
                self.fragment(flight, mtu.as_bytes());
                None
            }
            Fit::TooBig => {
                self.drops.too_big += 1;
                let next_hop_mtu = mtu.as_bytes() as u16;
                self.refuse(flight, node.unwrap_or(NodePlan::SERVER), IcmpError::TooBig { next_hop_mtu });
                None
            }
        }
    }

    fn offer(&mut self, flight: &Flight, at: At) -> Fate {
        // Where it will lie if it waits.
        let key = self.flights.vacant_key() as u64;
        let packet = farfield_net::Packet { bytes: flight.bytes(), key };
        let now = self.now;
        match at {
            At::Shared(link) => {
                let Wire { link, chance, .. } = &mut self.shared[link as usize];
                link.offer(now, packet, chance)
            }
            At::Own { client, up, hop } => {
                let client = &mut self.clients[client as usize];
                let own = if up { &mut client.up } else { &mut client.down };
                if let Own::Plain(link) = own {
                    let class = &self.plan.classes[usize::from(client.class)];
                    let model = if up { &class.up[0] } else { &class.down[0] };
                    return match link.offer(model, &mut self.lines, now, packet.bytes) {
                        Ok(at) => {
                            Fate::Delivered(Delivery { first: Arrival { at, flipped_bit: None }, copy: None })
                        }
                        Err(cause) => Fate::Dropped(cause),
                    };
                }
                self.offer_own(flight, packet, hop)
            }
        }
    }

    /// Offers a packet to links of its client's own that may need its connection's memory of losses.
    fn offer_own(&mut self, flight: &Flight, packet: farfield_net::Packet, hop: u8) -> Fate {
        let (up, now) = (flight.up, self.now);
        let client = &mut self.clients[flight.client as usize];
        let (there, back) = &self.lanes[usize::from(client.class)];
        let mut none = Memory::default();
        let memory = if (if up { there } else { back }).lends {
            let socket = flight.port().and_then(|port| client.connection(port));
            match socket.and_then(|socket| self.connections.get_mut(socket as usize)) {
                Some(socket) if up => &mut socket.up_losses,
                Some(socket) => &mut socket.down_losses,
                None => &mut none,
            }
        } else {
            &mut none
        };
        match if up { &mut client.up } else { &mut client.down } {
            Own::None | Own::Plain(_) => unreachable!("a stage is a link, and a plain one has no memory"),
            Own::Single(wire) => {
                let (link, chance) = &mut **wire;
                link.offer_of(memory, now, packet, chance)
            }
            Own::Compound(compound) => compound.offer_of(memory, now, packet),
            Own::Chain(wires) => {
                let Wire { link, chance, .. } = &mut wires[usize::from(hop)];
                link.offer_of(memory, now, packet, chance)
            }
        }
    }

    /// Does with a packet what its link decided; returns it if it is behind the link now.
    fn settle(&mut self, mut flight: Flight, at: At, fate: Fate) -> Option<Flight> {
        match fate {
            Fate::Dropped(cause) => {
                self.drops.count(cause);
                None
            }
            Fate::Waits => {
                self.flights.insert(flight);
                self.await_verdict(at);
                None
            }
            Fate::Delivered(delivery) => {
                flight.stage += 1;
                if let Some(copy) = delivery.copy {
                    let twin = self.damaged(flight.clone(), &copy);
                    self.go_on_at(twin, copy.at);
                }
                let flight = self.damaged(flight, &delivery.first);
                if delivery.first.at <= self.now {
                    return Some(flight);
                }
                self.go_on_at(flight, delivery.first.at);
                None
            }
        }
    }

    /// The packet as it arrives.
    fn damaged(&self, flight: Flight, arrival: &Arrival) -> Flight {
        let Some(bit) = arrival.flipped_bit else { return flight };
        let Flight { client, up, stage, .. } = flight;
        let mut packet = self.packet_of(flight);
        packet.flip(bit);
        Flight::whole(packet, client, up, stage)
    }

    fn go_on_at(&mut self, flight: Flight, at: Instant) {
        if self.leaves(&flight, &self.way(&flight)) {
            self.cross(flight, at);
        } else {
            let place = self.flights.insert(flight) as u32;
            self.wheel.schedule(at, Event::Packet(place));
        }
    }

    /// Asks a link for the verdicts that are due.
    pub fn hear_verdicts(&mut self, at: At) {
        let now = self.now;
        let wire = self.wire(at);
        if wire.verdict_at.is_none_or(|verdict_at| verdict_at > now) {
            return;
        }
        wire.verdict_at = None;
        while let Some((place, fate)) = {
            let wire = self.wire(at);
            wire.link.poll(now, &mut wire.chance)
        } {
            let flight = self.flights.remove(place as usize);
            if let Some(flight) = self.settle(flight, at, fate) {
                self.set_out(flight);
            }
        }
        self.await_verdict(at);
    }

    fn await_verdict(&mut self, at: At) {
        let wire = self.wire(at);
        let Some(next) = wire.link.next_verdict_at() else { return };
        if wire.verdict_at.is_none_or(|verdict_at| verdict_at > next) {
            wire.verdict_at = Some(next);
            self.wheel.schedule(next, Event::Verdict(at));
        }
    }

    /// A link that packets may wait before: a shared one, or one of a chain.
    fn wire(&mut self, at: At) -> &mut Wire {
        match at {
            At::Shared(link) => &mut self.shared[link as usize],
            At::Own { client, up, hop } => {
                let client = &mut self.clients[client as usize];
                match if up { &mut client.up } else { &mut client.down } {
                    Own::Chain(wires) => &mut wires[usize::from(hop)],
                    _ => unreachable!("links that are one tell at once"),
                }
            }
        }
    }

    fn mtu(&self, at: At) -> farfield_net::Mtu {
        let of = |model: &LinkModel| model.mtu_of_link();
        match at {
            At::Shared(link) => of(self.shared[link as usize].link.model()),
            At::Own { client, up, hop } => {
                let client = &self.clients[client as usize];
                match if up { &client.up } else { &client.down } {
                    Own::Chain(wires) => of(wires[usize::from(hop)].link.model()),
                    _ => self.lane(client.class, up).mtu,
                }
            }
        }
    }

    fn arrive(&mut self, flight: Flight) {
        let client = flight.client;
        match (flight.up, self.reach) {
            (true, Reach::Shared | Reach::Near) => self.at_server.push_back(flight),
            (true, _) => {
                let packet = self.packet_of(flight);
                self.show(Place::Gateway, client, true, &packet);
                self.departures.push_back(Departure { intended: self.now, packet });
            }
            (false, _) if self.tap.is_some() => {
                let packet = self.packet_of(flight);
                self.show(Place::Client, client, false, &packet);
                self.receive(client, packet);
            }
            (false, _) => match flight.open(self.plan.servers.port) {
                Ok(tcp) => self.receive_tcp(client, None, &tcp),
                Err(packet) => self.receive(client, *packet),
            },
        }
    }
}

impl RoutePlan {
    /// Where clients' own links end.
    pub fn edge(&self) -> NodePlan {
        self.down.last().map_or(NodePlan { id: 0, kind: NodeKind::Switch }, |hop| hop.to)
    }
}
