//! The server without a wheel: packets and alarms are handed in, packets and alarms come out.
//!
//! Each part has an owner. A segment may free a worker, which accepts another connection: what follows from
//! a packet or an alarm is a method of the whole, and what touches one part is a method of that part.

use super::connection::{Connection, ConnectionStage, Reader};
use super::connections::ConnectionTable;
use super::http::Replies;
use super::listen::Listener;
use super::output::{Alarm, Sent, ServerOutput};
use super::peers::{PeerPort, PeerTable};
use super::quic::Quic;
use super::setup::ServerSetup;
use super::time_wait::ClosedConnections;
use super::work::WorkerPool;
use super::{ServerCounters, ServerPlan};
use crate::Directory;
use crate::packet::{Carried, Packet, Tcp};
use crate::plan::NetworkPlan;
use crate::slots::{ClientId, ServedSlot};
use crate::timeout_queue::{Front, TimerExpiry};
use bytes::Bytes;
use farfield_base::Instant;
use farfield_base::random::Seed;
use farfield_http::http2::server::RequestHeads;
use farfield_tcp::{Event, Segment, Transmit, reply_to_stray};
use farfield_user::Outgoing;
use farfield_wire::{IpPacket, Transport};
use std::sync::Arc;

/// A server.
#[derive(Debug)]
pub(crate) struct Core {
    /// The plan, the network and the seed, which do not change.
    pub setup: ServerSetup,
    pub counters: ServerCounters,
    /// Clients, with their ports.
    pub peers: PeerTable,
    /// Handshakes under way, and the accept queue.
    pub listener: Listener,
    /// Processes or event loops, and what waits for them.
    pub workers: WorkerPool,
    /// Open connections of TCP, with their timers.
    pub connections: ConnectionTable,
    /// Connections in TIME-WAIT.
    pub closed: ClosedConnections,
    /// Replies and buffers of HTTP.
    pub http: HttpParts,
    /// Connections of QUIC, where there may be some: it is never without TLS.
    pub quic: Option<Box<Quic>>,
    /// Packets to send, and alarms to set.
    pub output: ServerOutput,
}

/// Replies of HTTP that were made before, and buffers for requests and frames.
#[derive(Debug, Default)]
pub(crate) struct HttpParts {
    pub replies: Replies,
    /// Buffers for heads of requests on streams.
    pub heads: RequestHeads,
    /// Buffer for frames that TCP keeps.
    pub outgoing: Outgoing,
}

impl Core {
    pub fn new(
        plan: Arc<ServerPlan>,
        network: Arc<NetworkPlan>,
        directory: Arc<Directory>,
        seed: Seed,
    ) -> Core {
        Core {
            counters: ServerCounters::default(),
            peers: PeerTable::new(network.clients.len()),
            listener: Listener::new(&plan),
            workers: WorkerPool::new(plan.workers),
            connections: ConnectionTable::default(),
            closed: ClosedConnections::default(),
            http: HttpParts::default(),
            quic: plan.tls.as_ref().map(|terms| Quic::new(&plan, terms, seed).into()),
            output: ServerOutput::default(),
            setup: ServerSetup { plan, network, directory, seed },
        }
    }

    /// The number of the client that a packet is from.
    pub fn client_of(&self, packet: &Packet) -> Option<ClientId> {
        self.setup.client_at(packet.addresses.source())
    }

    /// Takes a packet from client `client`.
    pub fn handle_packet(&mut self, now: Instant, client: ClientId, packet: Packet) {
        match &packet.carried {
            Carried::Tcp(tcp) => self.handle_segment(now, client, tcp),
            Carried::Udp(udp) => self.handle_datagram(now, client, packet.ecn, udp),
            Carried::Raw(bytes) => {
                self.counters.packets_in += 1;
                let Ok(ip) = IpPacket::parse(bytes) else { return };
                if let Ok(Transport::Tcp(view)) = ip.transport()
                    && ip.addresses() == packet.addresses
                    && view.checksum_is_valid(&packet.addresses)
                {
                    let tcp = Tcp::parse(&view, packet.ecn, bytes);
                    self.receive(now, client, &tcp);
                    self.flush_closed(now);
                }
            }
            // A real host's, for a model.
            Carried::Framed(_) => {
                if let Some(packet) = Packet::raw(packet.to_bytes().into()) {
                    self.handle_packet(now, client, packet);
                }
            }
        }
    }

    /// Takes a segment from client `client`.
    pub fn handle_segment(&mut self, now: Instant, client: ClientId, tcp: &Tcp) {
        self.counters.packets_in += 1;
        self.receive(now, client, tcp);
        self.flush_closed(now);
    }

    /// The open connection on a port of a client.
    pub fn connection_of(&self, client: ClientId, port: u16) -> Option<&Connection> {
        match self.peers[client].find(port) {
            Some(PeerPort::Open(slot)) => self.connections.get(slot),
            _ => None,
        }
    }

    fn flush_closed(&mut self, now: Instant) {
        while let Some(slot) = self.connections.next_closed() {
            self.flush(now, slot);
        }
    }

    /// Does what an alarm was set for.
    pub fn handle_alarm(&mut self, now: Instant, alarm: Alarm) {
        match alarm {
            Alarm::Timers(queue) => self.handle_timers(now, queue),
            Alarm::Idles(queue) => self.handle_idles(now, queue),
            Alarm::Served(owner) => self.served(now, owner),
            Alarm::Event(owner) => self.stream_on(now, owner),
            Alarm::StreamServed(owner, stream) => self.stream_served(now, owner, stream),
            Alarm::QuicAnswered(owner) => self.quic_answered(now, owner),
            Alarm::QuicServed(owner, number) => self.quic_served(now, owner, number),
            Alarm::Quic(owner) => self.handle_quic_timer(now, owner),
            Alarm::QuicIdle(owner) => self.end_quic_idle(now, owner),
            Alarm::Idle(owner) if self.connections.has(owner) => self.end_idle(now, owner.slot),
            Alarm::Timer(owner) if self.connections.has(owner) => self.handle_timer(now, owner.slot),
            Alarm::Idle(_) | Alarm::Timer(_) => {}
        }
        self.flush_closed(now);
    }

    fn handle_timer(&mut self, now: Instant, slot: ServedSlot) {
        match self.connections.expire(now, slot) {
            TimerExpiry::Stale => {}
            TimerExpiry::PutOff(alarm) => self.output.set_alarm(alarm),
            TimerExpiry::Due => self.handle_events(now, slot),
        }
    }

    fn handle_timers(&mut self, now: Instant, queue: u16) {
        loop {
            match self.connections.next_timer(now, queue) {
                Front::Due(owner) => self.handle_timer(now, owner.slot),
                Front::At(at) => return self.output.alarms.push((at, Alarm::Timers(queue))),
                Front::None => return,
            }
        }
    }

    fn handle_idles(&mut self, now: Instant, queue: u16) {
        loop {
            match self.connections.next_idle(now, queue) {
                Front::Due(owner) => self.end_idle(now, owner.slot),
                Front::At(at) => return self.output.alarms.push((at, Alarm::Idles(queue))),
                Front::None => return,
            }
        }
    }

    fn receive(&mut self, now: Instant, client: ClientId, tcp: &Tcp) {
        match self.peers[client].find(tcp.source_port) {
            Some(PeerPort::Open(slot)) => self.receive_open(now, slot, tcp),
            Some(PeerPort::TimeWait(slot)) if self.closed.is_waiting(now, slot) => {
                self.receive_waiting(now, client, slot, tcp);
            }
            _ if tcp.segment.flags.syn && !tcp.segment.flags.ack && !tcp.segment.flags.rst => {
                self.listen(now, client, tcp, None);
            }
            _ => {
                if let Some(segment) = reply_to_stray(&tcp.segment) {
                    self.send(client, tcp.source_port, segment, Bytes::new());
                }
            }
        }
    }

    fn receive_open(&mut self, now: Instant, slot: ServedSlot, tcp: &Tcp) {
        if self.overflows(slot, &tcp.segment) {
            self.counters.accept_overflows += 1;
            return;
        }
        let Core { setup, connections, counters, http, .. } = self;
        let (plan, connection) = (&setup.plan, &mut connections[slot]);
        let reader = Reader::of(plan, &mut http.heads);
        counters.requests += u64::from(connection.handle_segment(now, &tcp.segment, &tcp.payload, reader));
        if let Some(terms) = &plan.tls {
            connection.give_tickets(terms);
        }
        self.handle_events(now, slot);
    }

    /// Acts on the connection's TCP events, and sends what it has to send.
    pub fn handle_events(&mut self, now: Instant, slot: ServedSlot) {
        while let Some(event) = self.connections[slot].tcp.poll_event() {
            match event {
                Event::Connected => self.established(now, slot),
                Event::PeerFinished => self.connections[slot].peer_finished = true,
                Event::Closed | Event::Failed(_) => {}
            }
        }
        let connection = &self.connections[slot];
        if connection.stage == ConnectionStage::Accepted && !connection.tcp.is_done() {
            self.go_on(now, slot);
        }
        self.flush(now, slot);
    }

    /// Sends what the connection has to send, and arms its timer, or lets it go.
    fn flush(&mut self, now: Instant, slot: ServedSlot) {
        let connection = &self.connections[slot];
        let (client, port) = (connection.client, connection.port);
        while let Some(Transmit { segment, payload }) = self.connections[slot].tcp.poll_transmit(now) {
            let tcp = &self.connections[slot].tcp;
            let bytes = if payload.is_empty() { Bytes::new() } else { tcp.payload_bytes(payload) };
            self.send(client, port, segment, bytes);
        }
        let connection = &mut self.connections[slot];
        if connection.tcp.is_done() {
            self.remove(now, slot);
            self.peers[client].forget(port);
        } else if let Some(wait) = connection.tcp.time_wait() {
            self.remove(now, slot);
            self.closed.take(now, &mut self.peers, client, port, wait);
        } else {
            self.output.set_alarm(self.connections.arm_timer(now, slot));
        }
    }

    pub fn send(&mut self, client: ClientId, port: u16, segment: Segment, payload: Bytes) {
        let source_port = self.setup.port();
        let tcp = Tcp { source_port, destination_port: port, segment, payload };
        self.output.send(&mut self.counters, client, Sent::Segment(tcp));
    }
}
