//! The clients' side: what a shard owns beside its users. Clients, connections, clients' own links, and the
//! packets on them; where the shard is alone, the shared links too.

use crate::capture::{CapturePoint, Tap};
use crate::client::Wire;
use crate::client_event::ClientEvent;
use crate::clients::{ClientShare, ClientTable};
use crate::cross_traffic::CrossFlows;
use crate::flight::{Contents, Flight};
use crate::forward::{Ahead, Forward, On, Way};
use crate::hosts::EmulatedHosts;
use crate::lag::Lag;
use crate::link_counts::counters_of;
use crate::links::{At, Beyond, ShardLinks};
use crate::models::Models;
use crate::packet::{Packet, Tcp};
use crate::plan::{HopPlan, NetworkPlan};
use crate::real_hosts::{LetsWhole, RealHosts};
use crate::slots::{ClientId, ClientSlot, SharedLinkId};
use crate::transit::{Crossing, Departure, Event, Transit};
use bytes::Bytes;
use farfield_base::random::Seed;
use farfield_base::{Instant, Note, Opened, Sample};
use farfield_net::loss::Memory;
use farfield_net::{Closure, Fate, Mtu};
use farfield_tcp::Segment;
use std::collections::VecDeque;
use std::sync::Arc;

/// The state that everything in a shard acts on, apart from its users, who act on it through
/// [`Transport`](farfield_user::Transport).
#[derive(Debug)]
pub(crate) struct ClientSide {
    pub transit: Transit<ClientSlot, At, ClientEvent>,
    pub links: ShardLinks,
    pub hosts: EmulatedHosts,
    /// What of the clients' side is behind the clock.
    pub lag: Lag,
    /// Packets that have come to the gateway, where it is here.
    pub departures: VecDeque<Departure>,
    /// Clients that are real hosts; absent where all are emulated.
    pub real_hosts: Option<Box<RealHosts>>,
    pub lets_whole: LetsWhole,
    /// Servers that are models; absent where all are real.
    pub models: Option<Box<Models>>,
    pub samples: Vec<Sample>,
    /// Notes of what happened in sessions.
    pub notes: Vec<Note>,
    pub connects: u64,
    /// Connections begun, if they are noted.
    pub opened: Option<Vec<Opened>>,
    pub tap: Option<Box<Tap>>,
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
            links: ShardLinks::new(&plan, seed, beyond),
            hosts: EmulatedHosts::new(ClientTable::new(&plan, seed, share), seed),
            lag: Lag::default(),
            departures: VecDeque::new(),
            real_hosts: None,
            lets_whole: LetsWhole::new(&plan),
            models: None,
            samples: Vec::new(),
            notes: Vec::new(),
            connects: 0,
            opened: None,
            tap: None,
            transit,
        }
    }

    /// True if packets may be handed over by another thread after they were meant to be here.
    pub fn may_be_late(&self) -> bool {
        self.links.cross_to_shared()
            || self.hosts.clients.share.shards > 1 && !self.transit.plan.host_ways.seats.is_empty()
    }

    /// The class of user `user`'s client.
    pub fn class_of(&self, user: u32) -> u16 {
        self.transit.plan.clients[self.hosts.clients.number_of_first(user).index()].class
    }

    /// Shows a packet of a client to the capture, if there is one. Beside users, packets of real hosts are
    /// not captured: no sample is of them.
    pub fn show(&mut self, point: CapturePoint, client: ClientSlot, outbound: bool, packet: &Packet) {
        let is_real = self.hosts.clients.are_partly_without_users() && self.is_real(client);
        if let Some(tap) = self.tap.as_mut().filter(|_| !is_real) {
            tap.see(self.transit.now, point, self.hosts.clients[client].number, outbound, packet);
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
        let class = usize::from(self.hosts.clients[client].class);
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
        if self.hosts.clients.share.has(seat) {
            self.set_out(flight.of_client(self.hosts.clients.share.slot_of(seat)));
        } else {
            self.transit.crossings.push(Crossing { at: self.transit.now, flight });
        }
    }

    /// A packet has come to its client.
    fn arrive(&mut self, flight: Flight<ClientSlot>) {
        let client = flight.client;
        if self.hosts.clients.has_left(client) {
            // Nobody is there any more.
            self.transit.drops.nobody += 1;
            return;
        }
        if self.tap.is_some() || self.real_hosts.is_some() {
            let (is_real, server) = (self.is_real(client), self.server_of(&flight));
            if self.tap.is_some() || is_real {
                let packet = self.packet_of(flight);
                self.show(CapturePoint::Client, client, false, &packet);
                let intended = self.intended();
                return match self.real_hosts.as_mut().filter(|_| is_real) {
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
        self.hosts.clients[client].number
    }

    fn route_of(&self, client: ClientSlot) -> (u32, u16) {
        let client = &self.hosts.clients[client];
        (client.route, client.class)
    }

    fn own_stages(&self, class: u16, up: bool) -> usize {
        usize::from(self.links.lane(class, up).stages)
    }

    fn holds(&self, flight: &Flight<ClientSlot>, way: &Way) -> bool {
        self.links.hold(flight, way)
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
        self.links.mtu(&self.hosts.clients, at)
    }

    fn closure(&self, at: At) -> Option<&Closure> {
        self.links.closure(&self.hosts.clients, at)
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
        let ClientSide { transit, links, hosts, .. } = self;
        let hop = match at {
            At::Shared(link) => return links.shared_mut(link).offer(transit, flight),
            At::Own { hop, .. } => hop,
        };
        let class = hosts.clients[flight.client].class;
        let port = flight.port().filter(|_| links.lane(class, flight.up).lends);
        let (client, losses) = hosts.with_losses(flight.client, port, flight.up);
        let mut none = Memory::default();
        links.offer_own(transit, client, losses.unwrap_or(&mut none), flight, hop)
    }

    fn wire(&mut self, at: At) -> Option<&mut Wire> {
        self.links.wire(&mut self.hosts.clients, at)
    }
}
