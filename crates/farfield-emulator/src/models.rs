//! Models of servers beside real ones, where time is real: each at the end of its routes, as a server behind
//! the gateway would be. What a model does happens at its own instant, like everything else of the side that
//! it belongs to.
//!
//! Clients may be real hosts as well: their packets are taken apart, and what no web server takes is answered
//! as a kernel does, an echo request with its reply, another port with a reset or an ICMP error.

use crate::Directory;
use crate::client_side::ClientSide;
use crate::clients::ClientShare;
use crate::flight::Flight;
use crate::forward::Forward;
use crate::icmp;
use crate::packet::{Packet, PacketPayload, Tcp};
use crate::plan::{NetworkPlan, OtherServers};
use crate::server::ServerModel;
use crate::slots::{ClientId, ClientSlot};
use bytes::Bytes;
use farfield_base::Instant;
use farfield_base::random::Seed;
use farfield_model::ServerPlan;
use farfield_tcp::reply_to_stray;
use farfield_wire::{IcmpError, IpPacket, Transport};
use std::collections::VecDeque;
use std::sync::Arc;

/// The models of a side, with the packets that have come to them.
#[derive(Debug)]
pub(crate) struct Models {
    models: Vec<Model>,
    arrived: VecDeque<(u16, ClientSlot, Packet)>,
}

#[derive(Debug)]
struct Model {
    /// The number of the server that it is.
    number: u16,
    port: u16,
    server: ServerModel,
}

impl Models {
    /// Models of the servers of `network` with these numbers.
    pub fn new(
        servers: Vec<(u16, Arc<ServerPlan>)>,
        network: &NetworkPlan,
        directory: &Arc<Directory>,
        seed: Seed,
    ) -> Models {
        let model = |(number, plan): (u16, Arc<ServerPlan>)| {
            let servers = *network.server(number);
            // Each knows itself alone, and draws numbers of its own.
            let others = OtherServers::default();
            let network = Arc::new(NetworkPlan { servers, others, ..network.clone() });
            let seed = Seed(seed.0.wrapping_add(u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            let server = ServerModel::new(plan, network, Arc::clone(directory), seed);
            Model { number, port: servers.port, server }
        };
        Models { models: servers.into_iter().map(model).collect(), arrived: VecDeque::new() }
    }

    /// True if the server with this number is one of them.
    pub fn have(&self, number: u16) -> bool {
        self.models.iter().any(|model| model.number == number)
    }

    /// The instant of the next event at one of them, if there is one.
    pub fn next_at(&self) -> Option<Instant> {
        self.models.iter().filter_map(|model| model.server.next_at()).min()
    }
}

impl Models {
    /// Takes a packet of a client's for server `number`, which is one of them.
    fn arrive(&mut self, number: u16, client: ClientSlot, packet: Packet) {
        self.arrived.push_back((number, client, packet));
    }

    /// Does the next thing of a model's, which is due at `due`, at `at`.
    fn step(&mut self, due: Instant, at: Instant) -> bool {
        let first = self.models.iter_mut().find(|model| model.server.next_at() == Some(due));
        first.is_some_and(|model| model.server.step_at(due, at))
    }

    /// Hands the models what has arrived; returns what they send, with the clients that it is for.
    fn exchange(&mut self, now: Instant, share: ClientShare) -> VecDeque<(ClientSlot, Packet)> {
        let Models { models, arrived } = self;
        let mut sent = VecDeque::new();
        while let Some((number, client, packet)) = arrived.pop_front() {
            let Some(model) = models.iter_mut().find(|model| model.number == number) else { continue };
            let mut answer = |answer| sent.push_back((client, answer));
            model.handle(now, share.id_of(client), &packet, &mut answer);
        }
        for model in models {
            while let Some((client, packet)) = model.server.poll_sent() {
                sent.push_back((share.slot_of(client), packet));
            }
        }
        sent
    }
}

impl Model {
    /// Takes a packet, or each of those that travel together; `answer` gets what no web server says.
    fn handle(&mut self, now: Instant, client: ClientId, packet: &Packet, answer: &mut impl FnMut(Packet)) {
        match &packet.carried {
            PacketPayload::Tcp(tcp) => self.handle_tcp(now, client, packet, tcp, answer),
            PacketPayload::Udp(_) => refuse(packet, answer),
            PacketPayload::Raw(bytes) => self.handle_raw(now, client, packet, bytes, answer),
            PacketPayload::Framed(framed) => {
                for piece in framed.pieces() {
                    if let Some(piece) = Packet::raw(piece.to_bytes(packet.ttl, packet.ecn).into()) {
                        self.handle(now, client, &piece, answer);
                    }
                }
            }
        }
    }

    fn handle_tcp(
        &mut self,
        now: Instant,
        client: ClientId,
        packet: &Packet,
        tcp: &Tcp,
        answer: &mut impl FnMut(Packet),
    ) {
        if tcp.destination_port == self.port {
            return self.server.handle_segment(now, client, tcp);
        }
        if let Some(segment) = reply_to_stray(&tcp.segment) {
            let (source_port, destination_port) = (tcp.destination_port, tcp.source_port);
            let reset = Tcp { source_port, destination_port, segment, payload: Bytes::new() };
            answer(Packet::tcp(packet.addresses.reversed(), reset));
        }
    }

    /// Damaged packets and fragments are dropped, as no web server notices.
    fn handle_raw(
        &mut self,
        now: Instant,
        client: ClientId,
        packet: &Packet,
        bytes: &Bytes,
        answer: &mut impl FnMut(Packet),
    ) {
        let Ok(ip) = IpPacket::parse(bytes) else { return };
        let header_is_whole = match &ip {
            IpPacket::V4(v4) => v4.checksum_is_valid(),
            IpPacket::V6(_) => true,
        };
        if !header_is_whole || ip.addresses() != packet.addresses {
            return;
        }
        match ip.transport() {
            Ok(Transport::Tcp(view)) if view.checksum_is_valid(&packet.addresses) => {
                self.handle_tcp(now, client, packet, &Tcp::parse(&view, packet.ecn, bytes), answer);
            }
            Ok(Transport::Udp(view)) if view.checksum_is_valid(&packet.addresses) => refuse(packet, answer),
            Ok(Transport::Icmpv4(icmp) | Transport::Icmpv6(icmp))
                if icmp.checksum_is_valid(&packet.addresses) =>
            {
                icmp::answer(packet, bytes).into_iter().for_each(answer);
            }
            Ok(Transport::Other(_)) => icmp::answer(packet, bytes).into_iter().for_each(answer),
            _ => {}
        }
    }
}

/// Nothing takes datagrams.
fn refuse(packet: &Packet, answer: &mut impl FnMut(Packet)) {
    let own = packet.addresses.destination();
    icmp::error_about(packet, IcmpError::PortUnreachable, own).into_iter().for_each(answer);
}

impl ClientSide {
    /// The instant of the next event, here or at a model of a server, if there is one.
    pub fn next_at(&self) -> Option<Instant> {
        let own = self.transit.wheel.next_at();
        match &self.edge.models {
            None => own,
            Some(models) => own.into_iter().chain(models.next_at()).min(),
        }
    }

    /// Hands a packet that has come to the gateway to the model of its server, if that is a model.
    pub fn arrive_at_model(&mut self, flight: Flight<ClientSlot>) -> Option<Flight<ClientSlot>> {
        let is_one = |models: &Models| models.have(self.server_of(&flight));
        if !self.edge.models.as_ref().is_some_and(|models| is_one(models)) {
            return Some(flight);
        }
        let number = self.server_of(&flight);
        let client = flight.client;
        let packet = self.packet_of(flight);
        self.show(crate::capture::CapturePoint::Gateway, client, true, &packet);
        self.edge.models.as_mut()?.arrive(number, client, packet);
        None
    }

    /// Does the next thing of a model that is due by `wall`, if it is due before all else here; it
    /// happens when it was due, or at `floor` if that is later.
    pub fn step_model(&mut self, wall: Instant, floor: Instant) -> bool {
        let Some(models) = &mut self.edge.models else { return false };
        let Some(due) = models.next_at().filter(|due| *due <= wall) else { return false };
        if self.transit.wheel.next_at().is_some_and(|own| own <= due) {
            return false;
        }
        let at = due.max(floor).max(self.transit.now);
        self.transit.now = at;
        self.lag.overdue = (due < floor).then_some(due);
        models.step(due, at)
    }

    /// Hands packets to and fro between models and their clients until none has come; false if none had.
    pub fn serve_models(&mut self) -> bool {
        let mut served = false;
        loop {
            let Some(models) = &mut self.edge.models else { return served };
            let sent = models.exchange(self.transit.now, self.hosts.clients.share);
            if sent.is_empty() {
                return served;
            }
            served = true;
            sent.into_iter().for_each(|(client, packet)| self.send_down(client, packet));
        }
    }
}
