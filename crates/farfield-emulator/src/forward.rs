//! Packets on their way: from stage to stage, node to node, until they arrive or are dropped.
//!
//! A stage is a link, or a client's own links as one. Going up, a client's own stages come first; going down, last.
//! Each stage that takes time costs one event; what takes none is passed at once.

use crate::capture::Place;
use crate::client::{Own, Wire};
use crate::packet::{Carried, Packet};
use crate::plan::{HopPlan, NodePlan, RoutePlan};
use crate::world::{At, Crossing, Departure, Event, Flight, Reach, World};
use farfield_base::Instant;
use farfield_net::loss::{Memory, Scope};
use farfield_net::{Arrival, Fate, Fit, LinkModel, NodeKind, Passing};
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

impl World {
    /// Sends a packet from the client at `client` on its way.
    pub fn send_up(&mut self, client: u32, packet: Packet) {
        self.show(Place::Client, client, true, &packet);
        self.set_out(Flight { packet, client, up: true, stage: 0 });
    }

    /// Sends a packet from the server's door to the client at `client` on its way.
    pub fn send_down(&mut self, client: u32, packet: Packet) {
        self.show(Place::Gateway, client, false, &packet);
        self.set_out(Flight { packet, client, up: false, stage: 0 });
    }

    pub fn set_out(&mut self, flight: Flight) {
        let place = self.flights.insert(flight) as u32;
        self.travel(place);
    }

    /// Lets the packet at `place` go on, as far as it gets without time passing.
    pub fn travel(&mut self, place: u32) {
        loop {
            let flight = &self.flights[place as usize];
            if self.leaves(flight) {
                return self.cross(place, self.now);
            }
            let (node, ahead) = self.ahead(flight);
            if matches!(ahead, Ahead::End) {
                return self.arrive(place);
            }
            if let Some(node) = node
                && !self.pass(place, node)
            {
                return;
            }
            let on = match ahead {
                Ahead::Hop(HopPlan { link: None, .. }) => {
                    self.flights[place as usize].stage += 1;
                    true
                }
                Ahead::Hop(HopPlan { link: Some(link), .. }) => self.enter(place, node, At::Shared(link)),
                Ahead::Own { hop } => {
                    let Flight { client, up, .. } = self.flights[place as usize];
                    self.enter(place, node, At::Own { client, up, hop })
                }
                Ahead::End => unreachable!("it has arrived"),
            };
            if !on {
                return;
            }
        }
    }

    /// The node that the packet is at, unless that is its sender's own host, and what lies before it.
    fn ahead(&self, flight: &Flight) -> (Option<NodePlan>, Ahead) {
        let (route, class) = self.way_of(flight.client);
        let route = &self.plan.routes[route as usize];
        let stage = usize::from(flight.stage);
        let own = self.own_stages(class, flight.up);
        if flight.up {
            match stage.checked_sub(own) {
                None => (None, Ahead::Own { hop: flight.stage }),
                Some(hop) => {
                    let node = if hop == 0 { route.edge() } else { route.up[hop - 1].to };
                    (Some(node), route.up.get(hop).map_or(Ahead::End, |hop| Ahead::Hop(*hop)))
                }
            }
        } else {
            let node = stage.checked_sub(1).map(|before| route.down[before.min(route.down.len() - 1)].to);
            match route.down.get(stage) {
                Some(hop) => (node, Ahead::Hop(*hop)),
                None => {
                    let hop = stage - route.down.len();
                    // Between a client's own links stands nobody who counts.
                    let node = node.filter(|_| hop == 0);
                    let end = hop >= own;
                    (node, if end { Ahead::End } else { Ahead::Own { hop: hop as u8 } })
                }
            }
        }
    }

    /// True if the next stage of the packet is another world's.
    fn leaves(&self, flight: &Flight) -> bool {
        let stage = usize::from(flight.stage);
        match self.reach {
            Reach::Whole => false,
            Reach::Clients => flight.up && stage >= self.own_stages(self.way_of(flight.client).1, true),
            Reach::Shared => self.is_beyond_shared(flight),
            Reach::Near => !flight.up && stage >= 1,
            Reach::Far => flight.up || self.is_beyond_shared(flight),
        }
    }

    /// True if only its client's own links are before the packet.
    pub fn is_beyond_shared(&self, flight: &Flight) -> bool {
        let route = self.way_of(flight.client).0;
        !flight.up && usize::from(flight.stage) >= self.plan.routes[route as usize].down.len()
    }

    /// Hands the packet to the world that its next stage is in.
    fn cross(&mut self, place: u32, at: Instant) {
        let flight = self.flights.remove(place as usize);
        let client = match self.reach {
            // A client is a place in its own world and a number in the shared one.
            Reach::Clients => flight.client * self.shards + self.shard,
            _ => flight.client,
        };
        self.crossings.push(Crossing { at, flight: Flight { client, ..flight } });
    }

    /// Stages of a client's own links.
    pub fn own_stages(&self, class: u16, up: bool) -> usize {
        let (there, back) = self.stages[usize::from(class)];
        usize::from(if up { there } else { back })
    }

    /// Has a node take its hop from the packet; false if that was its last.
    fn pass(&mut self, place: u32, node: NodePlan) -> bool {
        let flight = &mut self.flights[place as usize];
        match node.kind.pass(flight.packet.ttl) {
            Passing::On(ttl) => {
                flight.packet.ttl = ttl;
                true
            }
            Passing::Expired => {
                self.drops.expired += 1;
                self.refuse(place, node, IcmpError::HopLimitExceeded);
                false
            }
            Passing::Refused => {
                self.flights.remove(place as usize);
                false
            }
        }
    }

    /// Offers the packet to the link before it; true if it is behind that link already.
    fn enter(&mut self, place: u32, node: Option<NodePlan>, at: At) -> bool {
        let flight = &self.flights[place as usize];
        let (bytes, whole) = (flight.packet.bytes, flight.packet.whole);
        let mtu = self.mtu(at);
        match mtu.judge(bytes, !whole) {
            Fit::Fits => {}
            Fit::Fragments => {
                self.fragment(place, mtu.as_bytes());
                return false;
            }
            Fit::TooBig => {
                self.drops.too_big += 1;
                let next_hop_mtu = mtu.as_bytes() as u16;
                self.refuse(place, node.unwrap_or(NodePlan::SERVER), IcmpError::TooBig { next_hop_mtu });
                return false;
            }
        }
        let fate = self.offer(place, at);
        self.settle(place, at, fate)
    }

    fn offer(&mut self, place: u32, at: At) -> Fate {
        let flight = &self.flights[place as usize];
        let (client, up) = (flight.client, flight.up);
        let packet = farfield_net::Packet { bytes: flight.packet.bytes, key: place.into() };
        let now = self.now;
        match at {
            At::Shared(link) => {
                let Wire { link, chance, .. } = &mut self.shared[link as usize];
                link.offer(now, packet, chance)
            }
            At::Own { hop, .. } => {
                let client = &mut self.clients[client as usize];
                let mut none = Memory::default();
                let class = &self.plan.classes[usize::from(client.class)];
                let links = if up { &class.up } else { &class.down };
                let lends = links.iter().any(|link| link.law_of_loss().scope() == Scope::Connection);
                let memory = if lends {
                    let socket = client_port(&flight.packet, up).and_then(|port| client.connection(port));
                    match socket.and_then(|socket| self.connections.get_mut(socket as usize)) {
                        Some(socket) if up => &mut socket.up_losses,
                        Some(socket) => &mut socket.down_losses,
                        None => &mut none,
                    }
                } else {
                    &mut none
                };
                match if up { &mut client.up } else { &mut client.down } {
                    Own::None => unreachable!("a stage is a link"),
                    Own::Single(link, chance) => link.offer_of(memory, now, packet, chance),
                    Own::Compound(compound) => compound.offer_of(memory, now, packet),
                    Own::Chain(wires) => {
                        let Wire { link, chance, .. } = &mut wires[usize::from(hop)];
                        link.offer_of(memory, now, packet, chance)
                    }
                }
            }
        }
    }

    /// Does with a packet what its link decided; true if it is behind the link now.
    fn settle(&mut self, place: u32, at: At, fate: Fate) -> bool {
        match fate {
            Fate::Dropped(cause) => {
                self.drops.count(cause);
                self.flights.remove(place as usize);
                false
            }
            Fate::Waits => {
                self.await_verdict(at);
                false
            }
            Fate::Delivered(delivery) => {
                if let Some(copy) = delivery.copy {
                    let mut twin = self.flights[place as usize].clone();
                    twin.stage += 1;
                    damage(&mut twin, &copy);
                    let twin = self.flights.insert(twin) as u32;
                    self.go_on_at(twin, copy.at);
                }
                let flight = &mut self.flights[place as usize];
                flight.stage += 1;
                damage(flight, &delivery.first);
                let there = delivery.first.at <= self.now;
                if !there {
                    self.go_on_at(place, delivery.first.at);
                }
                there
            }
        }
    }

    fn go_on_at(&mut self, place: u32, at: Instant) {
        if self.leaves(&self.flights[place as usize]) {
            self.cross(place, at);
        } else {
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
            if self.settle(place as u32, at, fate) {
                self.travel(place as u32);
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
                let class = &self.plan.classes[usize::from(client.class)];
                let (models, own) = if up { (&class.up, &client.up) } else { (&class.down, &client.down) };
                match own {
                    Own::Chain(_) => of(&models[usize::from(hop)]),
                    _ => models.iter().map(|model| of(model)).min().unwrap_or_default(),
                }
            }
        }
    }

    fn arrive(&mut self, place: u32) {
        let Flight { packet, client, up, .. } = self.flights.remove(place as usize);
        if up {
            self.show(Place::Gateway, client, true, &packet);
            self.departures.push_back(Departure { intended: self.now, client, packet });
        } else {
            self.show(Place::Client, client, false, &packet);
            self.receive(client, packet);
        }
    }
}

impl RoutePlan {
    /// Where clients' own links end.
    pub fn edge(&self) -> NodePlan {
        self.down.last().map_or(NodePlan { id: 0, kind: NodeKind::Switch }, |hop| hop.to)
    }
}

fn damage(flight: &mut Flight, arrival: &Arrival) {
    if let Some(bit) = arrival.flipped_bit {
        flight.packet.flip(bit);
    }
}

/// The client's port of a TCP packet.
fn client_port(packet: &Packet, up: bool) -> Option<u16> {
    match &packet.carried {
        Carried::Tcp(tcp) => Some(if up { tcp.source_port } else { tcp.destination_port }),
        Carried::Raw(_) => None,
    }
}
