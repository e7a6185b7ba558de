//! The clients' side: what a shard owns beside its users. Clients, connections, clients' own links, and the
//! packets on them; where the shard is alone, the shared links too.

use crate::capture::{CapturePoint, Tap};
use crate::client::{Lane, Own, PortKind, Wire};
use crate::clients::{ClientShare, ClientTable};
use crate::cross_traffic::CrossFlows;
use crate::datagrams::DatagramSockets;
use crate::flight::{Contents, Flight};
use crate::forward::{Ahead, Forward, On, Way};
use crate::hosts::{LetsWhole, RealHosts};
use crate::lag::Lag;
use crate::link_counts::counters_of;
use crate::models::Models;
use crate::packet::{Packet, Tcp};
use crate::plan::{HopPlan, NetworkPlan};
use crate::shared::links_of;
use crate::slots::{ClientId, ClientSlot, SharedLinkId, SocketSlot};
use crate::time_wait::TimeWaits;
use crate::timeout_queue::TimeoutQueue;
use crate::transit::{Crossing, Departure, Event, Transit};
use bytes::Bytes;
use farfield_base::random::Seed;
use farfield_base::{Instant, Note, Opened, Sample, TcpStats};
use farfield_net::loss::Memory;
use farfield_net::{Arrival, Closure, Delivery, Fate, Lines, Mtu};
use farfield_tcp::{Connection, Segment};
use farfield_user::{ConnectionKey, Failure, Wake};
use farfield_wire::{Ecn, Reassembler, ReassemblyLimits};
use slab::Slab;
use std::collections::VecDeque;
use std::sync::Arc;

/// The state that everything in a shard acts on, apart from its users, who act on it through
/// [`Transport`](farfield_user::Transport).
#[derive(Debug)]
pub(crate) struct ClientSide {
    pub transit: Transit<ClientSlot, At, ClientEvent>,
    pub seed: Seed,
    /// For each class, its clients' own links up and down.
    pub lanes: Box<[(Lane, Lane)]>,
    /// Packets that wait before clients' own links.
    pub lines: Lines,
    pub clients: ClientTable,
    beyond: Beyond,
    /// Shared links, where they are here.
    shared: Box<[Wire]>,
    pub connections: Slab<Socket>,
    /// For each slot of the population's connections, the one that is bound to it.
    pub bound: Vec<Option<SocketSlot>>,
    pub datagrams: DatagramSockets,
    /// What of the clients' side is behind the clock.
    pub lag: Lag,
    pub sockets_begun: u32,
    /// Timers of connections that are not on the wheel.
    pub timeouts: TimeoutQueue<SocketSlot>,
    pub time_waits: TimeWaits,
    pub reassembler: Reassembler,
    /// Packets that have come to the gateway, where it is here.
    pub departures: VecDeque<Departure>,
    /// Clients that are real hosts; absent where all are emulated.
    pub hosts: Option<Box<RealHosts>>,
    pub lets_whole: LetsWhole,
    /// Servers that are models; absent where all are real.
    pub models: Option<Box<Models>>,
    /// Upcalls for users, made once they have returned.
    pub upcalls: VecDeque<Upcall>,
    /// Counters of the connection whose failure a user is being called about.
    pub parting: Option<(ConnectionKey, TcpStats)>,
    pub samples: Vec<Sample>,
    /// Notes of what happened in sessions.
    pub notes: Vec<Note>,
    pub connects: u64,
    /// Time goes on no further: nothing that is sent would arrive.
    pub is_over: bool,
    /// Connections begun, if they are noted.
    pub opened: Option<Vec<Opened>>,
    pub tap: Option<Box<Tap>>,
}

/// The sides of the network that a shard has beside its clients and their own links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beyond {
    /// Nothing: packets for the server leave at the edge.
    Nothing,
    /// The gateway: packets cross to shared links and back.
    Gateway,
    /// Shared links and the gateway.
    Everything,
}

/// An event of clients and their users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientEvent {
    /// Users asked for it.
    Wake(Wake),
    /// A timer of a connection may be due.
    Timer { socket: SocketSlot, serial: u32 },
    /// Timers of a timeout queue may be due.
    Timeouts(u16),
    /// The client of this place among the [moves](NetworkPlan::moves) moves.
    Move(u32),
}

/// A link of a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    Shared(SharedLinkId),
    Own { client: ClientSlot, up: bool, hop: u8 },
}

/// A connection with what surrounds it.
#[derive(Debug)]
pub(crate) struct Socket {
    pub tcp: Connection,
    pub client: ClientSlot,
    pub port: u16,
    /// Distinguishes its timers from those of an earlier connection in its slot.
    pub serial: u32,
    /// The user's key, until its user has closed it.
    pub key: Option<ConnectionKey>,
    /// When it is asked next whether a timer is due: at the earliest one's deadline, or before.
    pub timer_at: Instant,
    /// Memory of its losses on links, where losses belong to connections.
    pub up_losses: Memory,
    pub down_losses: Memory,
}

/// An upcall: something that happened to a connection, for its user. The sockets plane has a smaller set of
/// its own (`sockets/transport.rs` of farfield-engine), since there the kernel keeps received bytes until
/// they are read.
#[derive(Debug)]
pub(crate) enum Upcall {
    Connected(ConnectionKey),
    Received(ConnectionKey, Bytes),
    Datagram(ConnectionKey, Ecn, Bytes),
    Closed(ConnectionKey),
    /// Its datagrams take another path from now on.
    Moved(ConnectionKey),
    /// With the connection's counters, if it was ever begun.
    Failed(ConnectionKey, Failure, Option<TcpStats>),
}

impl ClientSide {
    /// The side of a shard's clients.
    pub fn new(plan: Arc<NetworkPlan>, seed: Seed, share: ClientShare, beyond: Beyond) -> ClientSide {
        let mut transit = Transit::new(Arc::clone(&plan));
        let own = plan.moves.iter().enumerate().filter(|(_, own)| share.has(own.client));
        for (place, own) in own.filter(|(_, own)| own.at < Instant::MAX) {
            transit.wheel.schedule(own.at, Event::Other(ClientEvent::Move(place as u32)));
        }
        if beyond == Beyond::Everything {
            transit.begin_cross(CrossFlows::of(&plan, seed, |_| true));
            transit.links = counters_of(&plan);
        }
        ClientSide {
            seed,
            lanes: plan.classes.iter().map(|class| class.lanes()).collect(),
            lines: Lines::default(),
            clients: ClientTable::new(&plan, seed, share),
            beyond,
            shared: if beyond == Beyond::Everything { links_of(&plan, seed) } else { Box::default() },
            connections: Slab::new(),
            bound: Vec::new(),
            datagrams: DatagramSockets::default(),
            lag: Lag::default(),
            sockets_begun: 0,
            timeouts: TimeoutQueue::default(),
            time_waits: TimeWaits::default(),
            reassembler: Reassembler::new(ReassemblyLimits::default()),
            departures: VecDeque::new(),
            hosts: None,
            lets_whole: LetsWhole::new(&plan),
            models: None,
            upcalls: VecDeque::new(),
            parting: None,
            samples: Vec::new(),
            notes: Vec::new(),
            connects: 0,
            is_over: false,
            opened: None,
            tap: None,
            transit,
        }
    }

    /// True if packets may be handed over by another thread after they were meant to be here.
    pub fn may_be_late(&self) -> bool {
        self.beyond == Beyond::Gateway
            || self.clients.share.shards > 1 && !self.transit.plan.host_ways.seats.is_empty()
    }

    /// The class of user `user`'s client.
    pub fn class_of(&self, user: u32) -> u16 {
        self.transit.plan.clients[self.clients.number_of_first(user).index()].class
    }

    /// Shows a packet of a client to the capture, if there is one. Beside users, packets of real hosts are
    /// not captured: no sample is of them.
    pub fn show(&mut self, point: CapturePoint, client: ClientSlot, outbound: bool, packet: &Packet) {
        let is_real = self.clients.are_partly_without_users() && self.is_real(client);
        if let Some(tap) = self.tap.as_mut().filter(|_| !is_real) {
            tap.see(self.transit.now, point, self.clients[client].number, outbound, packet);
        }
    }

    /// Sends a packet from a client on its way.
    pub fn send_up(&mut self, client: ClientSlot, packet: Packet) {
        self.show(CapturePoint::Client, client, true, &packet);
        self.set_out_as(packet, client, true);
    }

    /// Sends a packet from the gateway to a client on its way.
    pub fn send_down(&mut self, client: ClientSlot, packet: Packet) {
        self.show(CapturePoint::Gateway, client, false, &packet);
        self.set_out_as(packet, client, false);
    }

    /// Sends a segment from port `port` of a client to the server.
    pub fn send_segment(&mut self, client: ClientSlot, port: u16, segment: &Segment, payload: &Bytes) {
        let flight = Flight::segment((client, true), self.is_v6(client), port, segment, payload);
        if let Some(flight) = flight.filter(|_| self.tap.is_none()) {
            return self.set_out(flight);
        }
        let destination_port = self.port_of_server(client);
        let tcp = Tcp { source_port: port, destination_port, segment: *segment, payload: payload.clone() };
        self.send_up(client, Packet::tcp(self.addresses(client), tcp));
    }

    /// True if a client's address is of IPv6.
    pub fn is_v6(&self, client: ClientSlot) -> bool {
        let class = usize::from(self.clients[client].class);
        self.transit.plan.classes[class].first_address.is_ipv6()
    }

    /// A packet has come to the gateway.
    fn depart(&mut self, flight: Flight<ClientSlot>) {
        let (client, server) = (flight.client, self.server_of(&flight));
        if let Some(seat) = self.transit.plan.seat(server) {
            return self.turn(flight, seat);
        }
        let Some(flight) = self.arrive_at_model(flight) else { return };
        let is_of_a_server = flight.sender().is_some();
        let packet = self.packet_of(flight);
        if !is_of_a_server {
            self.show(CapturePoint::Gateway, client, true, &packet);
        }
        let intended = self.intended();
        self.departures.push_back(Departure { intended, packet, server });
    }

    /// A packet of a program has come to the edge of the program in the place of `seat`.
    fn turn(&mut self, flight: Flight<ClientSlot>, seat: ClientId) {
        let plan = &self.transit.plan;
        let sender = plan.far_of_seat(self.id_of(flight.client));
        let Some(sender) = sender else {
            self.transit.drops.nobody += flight.packets();
            return;
        };
        let back = plan.route_to_far(seat, plan.clients[seat.index()].route, sender);
        let flight = flight.turned(seat, sender, plan.routes[back as usize].down.len() as u8);
        if self.clients.share.has(seat) {
            self.set_out(flight.of_client(self.clients.share.slot_of(seat)));
        } else {
            self.transit.crossings.push(Crossing { at: self.transit.now, flight });
        }
    }

    /// A packet has come to its client.
    fn arrive(&mut self, flight: Flight<ClientSlot>) {
        let client = flight.client;
        if self.clients.has_left(client) {
            // Nobody is there any more.
            self.transit.drops.nobody += 1;
            return;
        }
        if self.tap.is_some() || self.hosts.is_some() {
            let (is_real, server) = (self.is_real(client), self.server_of(&flight));
            if self.tap.is_some() || is_real {
                let packet = self.packet_of(flight);
                self.show(CapturePoint::Client, client, false, &packet);
                let intended = self.intended();
                return match self.hosts.as_mut().filter(|_| is_real) {
                    Some(hosts) => hosts.arrivals.push_back(Departure { intended, packet, server }),
                    None => self.receive(client, packet),
                };
            }
        }
        let ecn = flight.ecn();
        match flight.open(self.port_of_server(client)) {
            Contents::Segment(tcp) => self.receive_tcp(client, None, &tcp),
            Contents::Datagram(udp) => self.receive_datagram(client, None, ecn, udp),
            Contents::Whole(packet) => self.receive(client, *packet),
        }
    }

    /// When what happens now was meant to.
    fn intended(&self) -> Instant {
        self.lag.overdue.unwrap_or(self.transit.now)
    }

    fn lane(&self, class: u16, up: bool) -> &Lane {
        let (there, back) = &self.lanes[usize::from(class)];
        if up { there } else { back }
    }

    /// Offers a packet to a client's own links.
    fn offer_own(&mut self, flight: &Flight<ClientSlot>, hop: u8) -> Fate {
        let (up, now) = (flight.up, self.transit.now);
        let client = &mut self.clients[flight.client];
        let class = usize::from(client.class);
        let (mut none, lends) =
            (Memory::default(), if up { self.lanes[class].0 } else { self.lanes[class].1 }.lends);
        let port = flight.port().filter(|_| lends);
        let socket = port.and_then(|port| Some((port.0, client.socket(port)?)));
        let losses = socket.and_then(|(kind, slot)| match kind {
            PortKind::Tcp => {
                let socket = self.connections.get_mut(slot.index())?;
                Some((&mut socket.up_losses, &mut socket.down_losses))
            }
            PortKind::Udp => {
                let socket = self.datagrams.find_mut(slot)?;
                Some((&mut socket.up_losses, &mut socket.down_losses))
            }
        });
        let memory = losses.map_or(&mut none, |(there, back)| if up { there } else { back });
        // Where the packet will lie if it waits.
        let key = self.transit.flights.vacant_key() as u64;
        let packet = farfield_net::Packet { bytes: flight.bytes(), key };
        let through = |at| Fate::Delivered(Delivery { first: Arrival { at, flipped_bit: None }, copy: None });
        match if up { &mut client.up } else { &mut client.down } {
            Own::None => through(now),
            Own::Plain(link) => {
                let class = &self.transit.plan.classes[class];
                let model = if up { &class.up[0] } else { &class.down[0] };
                link.offer(model, &mut self.lines, now, packet.bytes).map_or_else(Fate::Dropped, through)
            }
            Own::Single(wire) => {
                let (link, rng) = &mut **wire;
                link.offer_of(memory, now, packet, rng)
            }
            Own::Compound(compound) => compound.offer_of(memory, now, packet),
            Own::Chain(wires) => {
                let Wire { link, rng, .. } = &mut wires[usize::from(hop)];
                link.offer_of(memory, now, packet, rng)
            }
        }
    }
}

impl Forward for ClientSide {
    type Client = ClientSlot;
    type Link = At;
    type Other = ClientEvent;

    fn transit(&self) -> &Transit<ClientSlot, At, ClientEvent> {
        &self.transit
    }

    fn transit_mut(&mut self) -> &mut Transit<ClientSlot, At, ClientEvent> {
        &mut self.transit
    }

    fn id_of(&self, client: ClientSlot) -> ClientId {
        self.clients[client].number
    }

    fn route_of(&self, client: ClientSlot) -> (u32, u16) {
        let client = &self.clients[client];
        (client.route, client.class)
    }

    fn own_stages(&self, class: u16, up: bool) -> usize {
        usize::from(self.lane(class, up).stages)
    }

    fn holds(&self, flight: &Flight<ClientSlot>, way: &Way) -> bool {
        match self.beyond {
            Beyond::Everything => true,
            Beyond::Gateway => !way.is_at_shared(flight),
            Beyond::Nothing => !way.is_at_shared(flight) && !way.is_at_server(flight),
        }
    }

    fn advance(&mut self, flight: Flight<ClientSlot>, way: &Way) -> On<ClientSlot> {
        if !self.holds(&flight, way) {
            self.cross(flight, self.transit.now);
            return None;
        }
        match self.ahead(&flight, way) {
            Ahead::Own { node, hop } => {
                let flight = self.pass(flight, node)?;
                let Flight { client, up, .. } = flight;
                self.enter(flight, way, node, At::Own { client, up, hop })
            }
            Ahead::Hop { node, hop: HopPlan { link, .. } } => {
                let mut flight = self.pass(flight, node)?;
                match link {
                    Some(link) => self.enter(flight, way, node, At::Shared(link)),
                    None => {
                        flight.stage += 1;
                        Some(flight)
                    }
                }
            }
            Ahead::Receiver => {
                if flight.up {
                    self.depart(flight);
                } else {
                    self.arrive(flight);
                }
                None
            }
        }
    }

    fn cross(&mut self, flight: Flight<ClientSlot>, at: Instant) {
        let client = self.id_of(flight.client);
        self.transit.crossings.push(Crossing { at, flight: flight.of_client(client) });
    }

    fn mtu(&self, at: At) -> Mtu {
        match at {
            At::Shared(link) => self.shared[link.index()].link.model().mtu_of_link(),
            At::Own { client, up, hop } => {
                let client = &self.clients[client];
                match if up { &client.up } else { &client.down } {
                    Own::Chain(wires) => wires[usize::from(hop)].link.model().mtu_of_link(),
                    _ => self.lane(client.class, up).mtu,
                }
            }
        }
    }

    fn closure(&self, at: At) -> Option<&Closure> {
        match at {
            At::Shared(link) => self.shared[link.index()].link.model().closure(),
            At::Own { client, up, hop } => {
                let client = &self.clients[client];
                match if up { &client.up } else { &client.down } {
                    Own::Chain(wires) => wires[usize::from(hop)].link.model().closure(),
                    _ => self.lane(client.class, up).closure.as_ref(),
                }
            }
        }
    }

    fn shared_link(link: SharedLinkId) -> At {
        At::Shared(link)
    }

    fn as_shared(at: At) -> Option<SharedLinkId> {
        match at {
            At::Shared(link) => Some(link),
            At::Own { .. } => None,
        }
    }

    fn offer(&mut self, flight: &Flight<ClientSlot>, at: At) -> Fate {
        match at {
            At::Shared(link) => self.shared[link.index()].offer(&self.transit, flight),
            At::Own { hop, .. } => self.offer_own(flight, hop),
        }
    }

    fn wire(&mut self, at: At) -> Option<&mut Wire> {
        match at {
            At::Shared(link) => Some(&mut self.shared[link.index()]),
            At::Own { client, up, hop } => {
                let client = &mut self.clients[client];
                match if up { &mut client.up } else { &mut client.down } {
                    Own::Chain(wires) => Some(&mut wires[usize::from(hop)]),
                    _ => None,
                }
            }
        }
    }
}
