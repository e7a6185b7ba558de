//! The server without a wheel: packets and alarms are handed in, packets and alarms come out.
//!
//! Each part has an owner. A segment may free a worker, which accepts another connection: what follows from
//! a packet or an alarm is a method of the whole, and what touches one part is a method of that part.

use super::connection::{ConnectionStage, RequestReader};
use super::connections::ConnectionTable;
use super::http::Replies;
use super::listen::Listener;
use super::output::{Alarm, ServerAlarm, ServerOutput};
use super::peers::{PeerPort, PeerTable};
use super::quic::Quic;
use super::setup::ServerSetup;
use super::time_wait::ClosedConnections;
use super::work::WorkerPool;
use super::{ServerCounters, ServerPlan};
use crate::ClientAddresses;
use crate::payload::IpPayload;
use crate::payload::Tcp;
use crate::slots::{ClientId, ServedSlot};
use bytes::Bytes;
use farfield_base::Instant;
use farfield_base::random::Seed;
use farfield_http::http2::server::RequestHeads;
use farfield_net::timeout_queue::{Front, TimerExpiry};
use farfield_tcp::{Event, Segment, Transmit, reply_to_stray};
use farfield_user::Outgoing;
use std::net::IpAddr;
use std::sync::Arc;

/// A server without a wheel: for whoever has one already.
#[derive(Debug)]
pub struct ServerCore {
    /// The plan, the clients and the seed, which do not change.
    pub(crate) setup: ServerSetup,
    pub(crate) counters: ServerCounters,
    /// Clients, with their ports.
    pub(crate) peers: PeerTable,
    /// Handshakes under way, and the accept queue.
    pub(crate) listener: Listener,
    /// Processes or event loops, and what waits for them.
    pub(crate) workers: WorkerPool,
    /// Open connections of TCP, with their timers.
    pub(crate) connections: ConnectionTable,
    /// Connections in TIME-WAIT.
    pub(crate) closed: ClosedConnections,
    /// Replies and buffers of HTTP.
    pub(crate) http: HttpParts,
    /// Connections of QUIC, where there may be some: it is never without TLS.
    pub(crate) quic: Option<Box<Quic>>,
    /// Packets to send, and alarms to set.
    pub(crate) output: ServerOutput,
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

impl ServerCore {
    /// A server that listens for these clients at `port`.
    pub fn new(
        plan: Arc<ServerPlan>,
        port: u16,
        clients: Arc<dyn ClientAddresses>,
        seed: Seed,
    ) -> ServerCore {
        ServerCore {
            counters: ServerCounters::default(),
            peers: PeerTable::new(clients.count()),
            listener: Listener::new(&plan),
            workers: WorkerPool::new(plan.workers),
            connections: ConnectionTable::default(),
            closed: ClosedConnections::default(),
            http: HttpParts::default(),
            quic: plan.tls.as_ref().map(|terms| Quic::new(&plan, terms, seed).into()),
            output: ServerOutput::default(),
            setup: ServerSetup { plan, port, clients, seed },
        }
    }

    /// Takes a segment of client `client`'s at `now`. What was due before must have been done.
    pub fn handle_segment(&mut self, now: Instant, client: ClientId, tcp: &Tcp) {
        self.counters.packets_in += 1;
        self.receive(now, client, tcp);
        self.flush_closed(now);
    }

    /// Counts a packet that no server reads: damaged, a fragment, or of another protocol.
    pub fn handle_unreadable(&mut self) {
        self.counters.packets_in += 1;
    }

    /// The number of the client at `address`.
    pub fn client_at(&self, address: IpAddr) -> Option<ClientId> {
        self.setup.client_at(address)
    }

    /// Requests that a client made.
    pub fn requests_of(&self, client: ClientId) -> u32 {
        self.peers[client].requests
    }

    /// The open connection on a port of a client, and the bytes of its reply that TCP does not have yet.
    pub fn connection_of(&self, client: ClientId, port: u16) -> Option<(&farfield_tcp::Connection, u64)> {
        match self.peers[client].find(port) {
            Some(PeerPort::Open(slot)) => {
                self.connections.get(slot).map(|connection| (&connection.tcp, connection.unwritten))
            }
            _ => None,
        }
    }

    /// The next segment or datagram that it sends, with the client that it is for.
    pub fn poll_sent(&mut self) -> Option<(ClientId, IpPayload)> {
        self.output.departures.pop_front()
    }

    /// The alarms that are to be set, each with the instant at which it is due.
    pub fn take_alarms(&mut self) -> impl Iterator<Item = (Instant, ServerAlarm)> {
        self.output.alarms.drain(..).map(|(at, alarm)| (at, ServerAlarm(alarm)))
    }

    /// Counters so far.
    pub fn counters(&self) -> &ServerCounters {
        &self.counters
    }

    fn flush_closed(&mut self, now: Instant) {
        while let Some(slot) = self.connections.next_closed() {
            self.flush(now, slot);
        }
    }

    /// Does what an alarm was set for, which is due at `now`.
    pub fn handle_alarm(&mut self, now: Instant, ServerAlarm(alarm): ServerAlarm) {
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
        let ServerCore { setup, connections, counters, http, .. } = self;
        let (plan, connection) = (&setup.plan, &mut connections[slot]);
        let reader = RequestReader::of(plan, &mut http.heads);
        counters.requests += u64::from(connection.handle_segment(now, &tcp.segment, &tcp.payload, reader));
        if let Some(terms) = &plan.tls {
            connection.give_tickets(terms);
        }
        self.handle_events(now, slot);
    }

    /// Acts on the connection's TCP events, and sends what it has to send.
    pub(crate) fn handle_events(&mut self, now: Instant, slot: ServedSlot) {
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

    pub(crate) fn send(&mut self, client: ClientId, port: u16, segment: Segment, payload: Bytes) {
        let source_port = self.setup.port;
        let tcp = Tcp { source_port, destination_port: port, segment, payload };
        self.output.send(&mut self.counters, client, IpPayload::Segment(tcp));
    }
}
