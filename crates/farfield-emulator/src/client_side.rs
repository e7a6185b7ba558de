//! The clients' side: all that a shard has beside its users, each part with an owner.
//!
//! A packet may go all its way without time passing, from one host through links to the next, whose answer
//! goes back likewise: what carries packets is a method of the whole side. What touches one owner is a method
//! of that owner.

use crate::capture::CapturePoint;
use crate::client::Wire;
use crate::client_event::ClientEvent;
use crate::clients::{ClientShare, ClientTable};
use crate::cross_traffic::CrossFlows;
use crate::edge::NetworkEdge;
use crate::flight::{Flight, FlightContents};
use crate::forward::{Forward, NextFlight, NextStage, PacketPath};
use crate::hosts::EmulatedHosts;
use crate::lag::Lag;
use crate::link_counts::counters_of;
use crate::links::{LinkPosition, ShardLinks, ShardScope};
use crate::packet::{Packet, Tcp};
use crate::plan::{HopPlan, NetworkPlan};
use crate::records::UserRecords;
use crate::slots::{ClientId, ClientSlot, SharedLinkId};
use crate::transit::{Crossing, Departure, SideEvent, Transit};
use bytes::Bytes;
use farfield_base::random::Seed;
use farfield_base::{HostNumber, Instant};
use farfield_net::{Closure, Fate, Mtu};
use farfield_tcp::Segment;
use std::sync::Arc;

/// The clients' side of a shard. Users act on it through [`Transport`](farfield_user::Transport).
#[derive(Debug)]
pub(crate) struct ClientSide {
    /// Time, events and packets under way.
    pub transit: Transit<ClientSlot, LinkPosition, ClientEvent>,
    /// Links: clients' own, and shared ones where the shard is alone.
    pub links: ShardLinks,
    /// Emulated hosts: clients, their ports and sockets, upcalls for users.
    pub hosts: EmulatedHosts,
    /// The gateway, models of servers, real hosts, and the capture.
    pub edge: NetworkEdge,
    /// Events and load that are late, where time is real.
    pub lag: Lag,
    /// Samples and notes, until they are taken.
    pub records: UserRecords,
}

impl ClientSide {
    /// The side of a shard's clients.
    pub fn new(plan: Arc<NetworkPlan>, seed: Seed, share: ClientShare, beyond: ShardScope) -> ClientSide {
        let mut transit = Transit::new(Arc::clone(&plan));
        let own = plan.moves.iter().enumerate().filter(|(_, own)| share.has(own.client));
        for (place, own) in own.filter(|(_, own)| own.at < Instant::MAX) {
            transit.wheel.schedule(own.at, SideEvent::Other(ClientEvent::Move(place as u32)));
        }
        if beyond == ShardScope::Everything {
            transit.begin_cross(CrossFlows::of(&plan, seed, |_| true));
            transit.links = counters_of(&plan);
        }
        ClientSide {
            links: ShardLinks::new(&plan, seed, beyond),
            hosts: EmulatedHosts::new(ClientTable::new(&plan, seed, share), seed),
            edge: NetworkEdge::new(&plan, seed),
            lag: Lag::default(),
            records: UserRecords::default(),
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
        let is_real = self.hosts.clients.are_partly_without_users() && self.edge.is_real(client);
        if self.edge.is_captured() && !is_real {
            let number = self.hosts.clients[client].number;
            self.edge.show(self.transit.now, point, number, outbound, packet);
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

    /// The number of the server that users on a client ask for `host`.
    pub fn server_for(&self, client: ClientSlot, host: HostNumber) -> u16 {
        self.transit.plan.server_for(self.hosts.clients[client].class, host)
    }

    /// Sends a segment from port `port` of a client to a server.
    pub fn send_segment(
        &mut self,
        (client, server): (ClientSlot, u16),
        port: u16,
        segment: &Segment,
        payload: &Bytes,
    ) {
        // A flight is for the server of its client's users.
        if !self.edge.is_captured() && server == self.server_for(client, HostNumber::TARGET) {
            let flight = Flight::segment((client, true), self.is_v6(client), port, segment, payload);
            if let Some(flight) = flight {
                return self.set_out(flight);
            }
        }
        let plan = &self.transit.plan;
        let (addresses, destination_port) =
            (plan.addresses_to(self.id_of(client), server), plan.server(server).port);
        let tcp = Tcp { source_port: port, destination_port, segment: *segment, payload: payload.clone() };
        self.send_up(client, Packet::tcp(addresses, tcp));
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
        let intended = self.lag.intended(self.transit.now);
        self.edge.departures.push_back(Departure { intended, packet, server });
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
        if self.edge.is_captured() || self.edge.has_real_hosts() {
            let (is_real, server) = (self.edge.is_real(client), self.server_of(&flight));
            if self.edge.is_captured() || is_real {
                let packet = self.packet_of(flight);
                self.show(CapturePoint::Client, client, false, &packet);
                let intended = self.lag.intended(self.transit.now);
                return match is_real {
                    true => self.edge.arrive(Departure { intended, packet, server }),
                    false => self.receive(client, packet),
                };
            }
        }
        let ecn = flight.ecn();
        match flight.open(self.port_of_server(client)) {
            FlightContents::Segment(tcp) => self.receive_tcp(client, None, &tcp),
            FlightContents::Datagram(udp) => self.receive_datagram(client, None, ecn, udp),
            FlightContents::Whole(packet) => self.receive(client, *packet),
        }
    }
}

impl Forward for ClientSide {
    type Client = ClientSlot;
    type Link = LinkPosition;
    type Other = ClientEvent;

    fn transit(&self) -> &Transit<ClientSlot, LinkPosition, ClientEvent> {
        &self.transit
    }

    fn transit_mut(&mut self) -> &mut Transit<ClientSlot, LinkPosition, ClientEvent> {
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

    fn holds(&self, flight: &Flight<ClientSlot>, way: &PacketPath) -> bool {
        self.links.hold(flight, way)
    }

    fn advance(&mut self, flight: Flight<ClientSlot>, way: &PacketPath) -> NextFlight<ClientSlot> {
        if !self.holds(&flight, way) {
            self.cross(flight, self.transit.now);
            return None;
        }
        match self.ahead(&flight, way) {
            NextStage::Own { node, hop } => {
                let flight = self.pass(flight, node)?;
                let Flight { client, up, .. } = flight;
                self.enter(flight, way, node, LinkPosition::Own { client, up, hop })
            }
            NextStage::Hop { node, hop: HopPlan { link, .. } } => {
                let mut flight = self.pass(flight, node)?;
                match link {
                    Some(link) => self.enter(flight, way, node, LinkPosition::Shared(link)),
                    None => {
                        flight.stage += 1;
                        Some(flight)
                    }
                }
            }
            NextStage::Receiver => {
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

    #[inline]
    fn mtu(&self, at: LinkPosition) -> Mtu {
        self.links.mtu(&self.hosts.clients, at)
    }

    #[inline]
    fn closure(&self, at: LinkPosition) -> Option<&Closure> {
        self.links.closure(&self.hosts.clients, at)
    }

    fn shared_link(link: SharedLinkId) -> LinkPosition {
        LinkPosition::Shared(link)
    }

    fn as_shared(at: LinkPosition) -> Option<SharedLinkId> {
        match at {
            LinkPosition::Shared(link) => Some(link),
            LinkPosition::Own { .. } => None,
        }
    }

    fn offer(&mut self, flight: &Flight<ClientSlot>, at: LinkPosition) -> Fate {
        let ClientSide { transit, links, hosts, .. } = self;
        let hop = match at {
            LinkPosition::Shared(link) => {
                let id = || hosts.clients[flight.client].number;
                return links.shared_mut(link).offer(transit, id, flight);
            }
            LinkPosition::Own { hop, .. } => hop,
        };
        let lends = links.lane(hosts.clients[flight.client].class, flight.up).lends;
        let (client, losses) = match flight.port().filter(|_| lends) {
            Some(port) => hosts.with_losses(flight.client, port, flight.up),
            None => (&mut hosts.clients[flight.client], None),
        };
        links.offer_own(transit, client, losses, flight, hop)
    }

    fn wire(&mut self, at: LinkPosition) -> Option<&mut Wire> {
        self.links.wire(&mut self.hosts.clients, at)
    }
}
