//! The server without a wheel: packets and alarms are handed in, packets and alarms come out.

use super::connection::{Connection, Reader, Stage};
use super::http::Replies;
use super::quic::{Quic, QuicOwner, Sent};
use super::time_wait::Waiting;
use super::{ServerCounters, ServerPlan};
use crate::Directory;
use crate::packet::{Carried, Packet, Tcp};
use crate::plan::NetworkPlan;
use crate::slots::{ClientId, ServedSlot, WaitSlot};
use crate::timeout_queue::{Front, Owner, Put, TimeoutQueue};
use bytes::Bytes;
use farfield_base::Instant;
use farfield_base::random::Seed;
use farfield_http::http2::StreamId;
use farfield_http::http2::server::RequestHeads;
use farfield_tcp::{Event, Numbers, Segment, SeqNumber, Transmit, reply_to_stray};
use farfield_user::Outgoing;
use farfield_wire::{IpPacket, Transport};
use slab::Slab;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::Arc;

/// An alarm of the server. Alarms are not cancelled: one that is stale does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// A timer of the connection's TCP may be due.
    Timer(Owner<ServedSlot>),
    /// The connection's request has been served.
    Served(Owner<ServedSlot>),
    /// A request on a stream of the connection has been served.
    StreamServed(Owner<ServedSlot>, StreamId),
    /// A handshake of QUIC has been answered.
    QuicAnswered(QuicOwner),
    /// A request of a connection of QUIC has been served.
    QuicServed(QuicOwner, u32),
    /// A timer of the connection may be due.
    Quic(QuicOwner),
    /// The connection may have waited for its next request for too long.
    QuicIdle(QuicOwner),
    /// The connection may have waited for its next request for too long.
    Idle(Owner<ServedSlot>),
    /// Timers of a timeout queue may be due.
    Timers(u16),
    /// Waits for requests of a timeout queue may be over.
    Idles(u16),
}

/// Something that waits for an event loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ready {
    /// The next request of the connection, or a step of its handshake.
    Connection(Owner<ServedSlot>),
    /// The answer to a handshake of QUIC.
    QuicHandshake(QuicOwner),
    /// The next request of a connection of QUIC.
    QuicRequest(QuicOwner),
}

/// The connection on a port of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeerPort {
    Open(ServedSlot),
    TimeWait(WaitSlot),
}

/// A client, as the server knows it.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    /// Its ports with connections, in order.
    ports: SmallVec<[(u16, PeerPort); 1]>,
    /// Requests that it made.
    pub requests: u32,
}

impl Peer {
    pub fn find(&self, port: u16) -> Option<PeerPort> {
        self.position(port).ok().map(|at| self.ports[at].1)
    }

    pub fn set(&mut self, port: u16, own: PeerPort) {
        match self.position(port) {
            Ok(at) => self.ports[at].1 = own,
            Err(at) => self.ports.insert(at, (port, own)),
        }
    }

    pub fn forget(&mut self, port: u16) {
        if let Ok(at) = self.position(port) {
            self.ports.remove(at);
            if self.ports.is_empty() {
                self.ports.shrink_to_fit();
            }
        }
    }

    fn position(&self, port: u16) -> Result<usize, usize> {
        self.ports.binary_search_by_key(&port, |(port, _)| *port)
    }
}

#[derive(Debug)]
pub(crate) struct Core {
    pub plan: Arc<ServerPlan>,
    pub seed: Seed,
    pub counters: ServerCounters,
    /// By client.
    pub peers: Vec<Peer>,
    pub connections: Slab<Connection>,
    pub waiting: Slab<Waiting>,
    /// Connections in TIME-WAIT in the order of their beginning, with when to look at them again.
    pub waiting_order: VecDeque<(Instant, Owner<WaitSlot>)>,
    /// Timers of connections, and their waits for requests, that are not on the wheel.
    pub timers: TimeoutQueue<ServedSlot>,
    pub idles: TimeoutQueue<ServedSlot>,
    pub begun: u32,
    /// Connections whose handshake is under way.
    pub half_open: u32,
    /// Established connections that wait to be accepted, by slot and serial number. Those that died stay
    /// until then.
    pub accept_queue: VecDeque<Owner<ServedSlot>>,
    /// What waits for an event loop.
    pub ready: VecDeque<Ready>,
    pub idle_workers: u32,
    pub replies: Replies,
    /// Buffers for heads of requests on streams.
    pub heads: RequestHeads,
    /// Buffer for frames that TCP keeps.
    pub outgoing: Outgoing,
    /// Connections of QUIC, where there may be some: it is never without TLS.
    pub quic: Option<Box<Quic>>,
    /// Segments and datagrams to send, with the clients that they are for.
    pub departures: VecDeque<(ClientId, Sent)>,
    /// Alarms to be set, and when they are due.
    pub alarms: Vec<(Instant, Alarm)>,
    /// Connections that were closed beside the one that was being looked after.
    pub closed: Vec<ServedSlot>,
    pub network: Arc<NetworkPlan>,
    directory: Arc<Directory>,
}

impl Core {
    pub fn new(
        plan: Arc<ServerPlan>,
        network: Arc<NetworkPlan>,
        directory: Arc<Directory>,
        seed: Seed,
    ) -> Core {
        let mut peers = Vec::new();
        peers.resize_with(network.clients.len(), Peer::default);
        Core {
            seed,
            counters: ServerCounters::default(),
            peers,
            connections: Slab::new(),
            waiting: Slab::new(),
            waiting_order: VecDeque::new(),
            timers: TimeoutQueue::default(),
            idles: TimeoutQueue::default(),
            begun: 0,
            half_open: 0,
            accept_queue: VecDeque::new(),
            ready: VecDeque::new(),
            idle_workers: plan.workers.count(),
            replies: Replies::default(),
            heads: RequestHeads::default(),
            outgoing: Outgoing::default(),
            quic: plan.tls.as_ref().map(|terms| Quic::new(&plan, terms, seed).into()),
            departures: VecDeque::new(),
            alarms: Vec::new(),
            closed: Vec::new(),
            network,
            directory,
            plan,
        }
    }

    /// The number of the client that a packet is from.
    pub fn client_of(&self, packet: &Packet) -> Option<ClientId> {
        self.directory.find(packet.addresses.source())
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
                    let tcp = Tcp::parse(&view, bytes);
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
        match self.peers[client.index()].find(port) {
            Some(PeerPort::Open(slot)) => self.connections.get(slot.index()),
            _ => None,
        }
    }

    fn flush_closed(&mut self, now: Instant) {
        while let Some(slot) = self.closed.pop() {
            if self.connections.contains(slot.index()) {
                self.flush(now, slot);
            }
        }
    }

    /// Does what an alarm was set for.
    pub fn handle_alarm(&mut self, now: Instant, alarm: Alarm) {
        match alarm {
            Alarm::Timers(queue) => self.handle_timers(now, queue),
            Alarm::Idles(queue) => self.handle_idles(now, queue),
            Alarm::Served(owner) => self.served(now, owner.slot, self.lives(owner)),
            Alarm::StreamServed(owner, stream) => {
                self.stream_served(now, owner.slot, stream, self.lives(owner));
            }
            Alarm::QuicAnswered(owner) => self.quic_answered(now, owner),
            Alarm::QuicServed(owner, number) => self.quic_served(now, owner, number),
            Alarm::Quic(owner) => self.handle_quic_timer(now, owner),
            Alarm::QuicIdle(owner) => self.end_quic_idle(now, owner),
            Alarm::Idle(owner) if self.lives(owner) => self.end_idle(now, owner.slot),
            Alarm::Timer(owner) if self.lives(owner) => self.handle_timer(now, owner.slot),
            Alarm::Idle(_) | Alarm::Timer(_) => {}
        }
        self.flush_closed(now);
    }

    fn lives(&self, owner: Owner<ServedSlot>) -> bool {
        self.connections.get(owner.slot.index()).is_some_and(|own| own.serial == owner.serial)
    }

    fn handle_timer(&mut self, now: Instant, slot: ServedSlot) {
        let connection = &mut self.connections[slot.index()];
        if connection.timer_at > now {
            return;
        }
        connection.timer_at = Instant::MAX;
        if connection.tcp.poll_timer().is_some_and(|at| at > now) {
            return self.arm_timer(now, slot);
        }
        connection.tcp.handle_timer(now);
        self.handle_events(now, slot);
    }

    fn handle_timers(&mut self, now: Instant, queue: u16) {
        loop {
            let connections = &self.connections;
            let front = self.timers.front(queue, now, |owner, asks_at| {
                let own = connections.get(owner.slot.index());
                own.is_some_and(|own| own.serial == owner.serial && own.timer_at == asks_at)
            });
            match front {
                Front::Due(owner) => self.handle_timer(now, owner.slot),
                Front::At(at) => return self.alarms.push((at, Alarm::Timers(queue))),
                Front::None => return,
            }
        }
    }

    fn handle_idles(&mut self, now: Instant, queue: u16) {
        loop {
            let connections = &self.connections;
            let front = self.idles.front(queue, now, |owner, asks_at| {
                let own = connections.get(owner.slot.index());
                own.is_some_and(|own| own.serial == owner.serial && own.idle_alarm_at == asks_at)
            });
            match front {
                Front::Due(owner) => self.end_idle(now, owner.slot),
                Front::At(at) => return self.alarms.push((at, Alarm::Idles(queue))),
                Front::None => return,
            }
        }
    }

    fn receive(&mut self, now: Instant, client: ClientId, tcp: &Tcp) {
        match self.peers[client.index()].find(tcp.source_port) {
            Some(PeerPort::Open(slot)) => self.receive_open(now, slot, tcp),
            Some(PeerPort::TimeWait(slot)) if self.is_waiting(now, slot) => {
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
        let Core { connections, plan, heads, .. } = self;
        let reader = Reader::of(plan, heads);
        let read = connections[slot.index()].handle_segment(now, &tcp.segment, &tcp.payload, reader);
        self.counters.requests += u64::from(read);
        self.give_tickets(slot);
        self.handle_events(now, slot);
    }

    /// Acts on the connection's TCP events, and sends what it has to send.
    pub fn handle_events(&mut self, now: Instant, slot: ServedSlot) {
        while let Some(event) = self.connections[slot.index()].tcp.poll_event() {
            match event {
                Event::Connected => self.established(now, slot),
                Event::PeerFinished => self.connections[slot.index()].peer_finished = true,
                Event::Closed | Event::Failed(_) => {}
            }
        }
        let connection = &self.connections[slot.index()];
        if connection.stage == Stage::Accepted && !connection.tcp.is_done() {
            self.go_on(now, slot);
        }
        self.flush(now, slot);
    }

    /// Sends what the connection has to send, and arms its timer, or lets it go.
    fn flush(&mut self, now: Instant, slot: ServedSlot) {
        let connection = &self.connections[slot.index()];
        let (client, port) = (connection.client, connection.port);
        while let Some(Transmit { segment, payload }) = self.connections[slot.index()].tcp.poll_transmit(now)
        {
            let tcp = &self.connections[slot.index()].tcp;
            let bytes = if payload.is_empty() { Bytes::new() } else { tcp.payload_bytes(payload) };
            self.send(client, port, segment, bytes);
        }
        let connection = &mut self.connections[slot.index()];
        if connection.tcp.is_done() {
            self.remove(now, slot);
            self.peers[client.index()].forget(port);
        } else if let Some(wait) = connection.tcp.time_wait() {
            self.remove(now, slot);
            self.begin_wait(now, client, port, wait);
        } else {
            self.arm_timer(now, slot);
        }
    }

    fn arm_timer(&mut self, now: Instant, slot: ServedSlot) {
        let connection = &mut self.connections[slot.index()];
        let Some(at) = connection.tcp.poll_timer().filter(|at| *at < connection.timer_at) else { return };
        let serial = connection.serial;
        match self.timers.put(now, at, Owner { slot, serial }) {
            Put::OnWheel => {
                connection.timer_at = at;
                self.alarms.push((at, Alarm::Timer(Owner { slot, serial })));
            }
            Put::Queued { asks_at, first_of } => {
                connection.timer_at = asks_at;
                if let Some(queue) = first_of {
                    self.alarms.push((asks_at, Alarm::Timers(queue)));
                }
            }
        }
    }

    pub fn send(&mut self, client: ClientId, port: u16, segment: Segment, payload: Bytes) {
        self.counters.packets_out += 1;
        let tcp = Tcp { source_port: self.network.servers.port, destination_port: port, segment, payload };
        self.departures.push_back((client, Sent::Segment(tcp)));
    }

    /// The numbers that a connection begins with; see RFC 9293 §3.4.1.
    pub fn numbers(&self, now: Instant, client: ClientId, port: u16) -> Numbers {
        let key = u64::from(client.get()) << 16 | u64::from(port);
        let hash = (self.seed.0 ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let isn = SeqNumber((hash >> 32) as u32).at((now.as_ns() / 4_000) as i64);
        Numbers { isn, timestamp_offset: client.get().wrapping_mul(0x85eb_ca6b) }
    }
}
