//! The server without a wheel: packets and alarms are handed in, packets and alarms come out.

use super::connection::{Connection, Stage};
use super::http::Replies;
use super::time_wait::Waiting;
use super::{ServerFacts, ServerPlan};
use crate::Directory;
use crate::packet::{Carried, Packet, Tcp};
use crate::patience::{Front, Owner, Patience, Put};
use crate::plan::NetworkPlan;
use bytes::Bytes;
use farfield_base::Instant;
use farfield_base::random::Seed;
use farfield_tcp::{Event, Numbers, Segment, SeqNumber, Transmit, reply_to_stray};
use farfield_wire::{IpPacket, Transport};
use slab::Slab;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::Arc;

/// Something that the server asked to be woken for. Whoever is woken checks whether it still cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Alarm {
    pub kind: AlarmKind,
    pub place: u32,
    pub serial: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AlarmKind {
    /// A timer of the connection's TCP may be due.
    Timer,
    /// Its request has been served.
    Served,
    /// It may have waited for its next request for too long.
    Idle,
    /// Timers of a queue of waits may be due: the queue is the alarm's place.
    Timers,
    /// The same of waits for requests.
    Idles,
}

/// Where the connection on a port is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Open(u32),
    Waiting(u32),
}

/// A client, as the server knows it.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    /// Its ports with connections, in order.
    ports: SmallVec<[(u16, Place); 1]>,
    /// Requests that it made.
    pub requests: u32,
}

impl Peer {
    pub fn find(&self, port: u16) -> Option<Place> {
        self.position(port).ok().map(|at| self.ports[at].1)
    }

    pub fn set(&mut self, port: u16, place: Place) {
        match self.position(port) {
            Ok(at) => self.ports[at].1 = place,
            Err(at) => self.ports.insert(at, (port, place)),
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
    pub facts: ServerFacts,
    /// By the clients' numbers.
    pub peers: Vec<Peer>,
    pub connections: Slab<Connection>,
    pub waiting: Slab<Waiting>,
    /// Connections in TIME-WAIT in the order of their beginning, with when to look at them again.
    pub waiting_order: VecDeque<(Instant, Owner)>,
    /// Timers of connections, and their waits for requests, that are not on the wheel.
    pub timers: Patience,
    pub idles: Patience,
    pub begun: u32,
    /// Connections whose handshake is under way.
    pub half_open: u32,
    /// Established connections that nobody has accepted, by place and serial. Those that died stay until then.
    pub accept_queue: VecDeque<(u32, u32)>,
    /// Connections with a request that waits for an event loop.
    pub ready: VecDeque<(u32, u32)>,
    pub idle_workers: u32,
    pub replies: Replies,
    /// Segments to send, with the numbers of the clients that they are for.
    pub departures: VecDeque<(u32, Tcp)>,
    /// What to wake the server for, and when.
    pub alarms: Vec<(Instant, Alarm)>,
    /// Connections that were closed beside the one that was being looked after.
    pub closed: Vec<u32>,
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
            facts: ServerFacts::default(),
            peers,
            connections: Slab::new(),
            waiting: Slab::new(),
            waiting_order: VecDeque::new(),
            timers: Patience::default(),
            idles: Patience::default(),
            begun: 0,
            half_open: 0,
            accept_queue: VecDeque::new(),
            ready: VecDeque::new(),
            idle_workers: plan.workers.count(),
            replies: Replies::default(),
            departures: VecDeque::new(),
            alarms: Vec::new(),
            closed: Vec::new(),
            network,
            directory,
            plan,
        }
    }

    /// The number of the client that a packet is from.
    pub fn client_of(&self, packet: &Packet) -> Option<u32> {
        self.directory.find(packet.addresses.source())
    }

    /// Takes a packet from client `client`.
    pub fn handle_packet(&mut self, now: Instant, client: u32, packet: Packet) {
        match &packet.carried {
            Carried::Tcp(tcp) => self.handle_segment(now, client, tcp),
            Carried::Raw(bytes) => {
                self.facts.packets_in += 1;
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
        }
    }

    /// Takes a segment from client `client`.
    pub fn handle_segment(&mut self, now: Instant, client: u32, tcp: &Tcp) {
        self.facts.packets_in += 1;
        self.receive(now, client, tcp);
        self.flush_closed(now);
    }

    /// Reads a little of what it knows of a client; see [`ahead`](crate::ahead).
    pub fn look(&self, client: u32) -> u64 {
        self.peers[client as usize].requests.into()
    }

    /// Reads a little of the connection on a client's port.
    pub fn look_at(&self, client: u32, port: u16) -> u64 {
        match self.peers[client as usize].find(port) {
            Some(Place::Open(place)) => {
                self.connections.get(place as usize).map_or(0, |own| own.tcp.look() ^ own.unwritten)
            }
            _ => 0,
        }
    }

    fn flush_closed(&mut self, now: Instant) {
        while let Some(place) = self.closed.pop() {
            if self.connections.contains(place as usize) {
                self.flush(now, place);
            }
        }
    }

    /// Does what it asked to be woken for.
    pub fn handle_alarm(&mut self, now: Instant, Alarm { kind, place, serial }: Alarm) {
        match kind {
            AlarmKind::Timers => self.handle_timers(now, place as u16),
            AlarmKind::Idles => self.handle_idles(now, place as u16),
            _ => {
                let lives = self.connections.get(place as usize).is_some_and(|own| own.serial == serial);
                match kind {
                    AlarmKind::Served => self.served(now, place, lives),
                    AlarmKind::Idle if lives => self.end_idle(now, place),
                    AlarmKind::Timer if lives => self.handle_timer(now, place),
                    _ => {}
                }
            }
        }
        self.flush_closed(now);
    }

    fn handle_timer(&mut self, now: Instant, place: u32) {
        let connection = &mut self.connections[place as usize];
        if connection.timer_at > now {
            return;
        }
        connection.timer_at = Instant::MAX;
        if connection.tcp.poll_timer().is_some_and(|at| at > now) {
            return self.arm_timer(now, place);
        }
        connection.tcp.handle_timer(now);
        self.hear(now, place);
    }

    fn handle_timers(&mut self, now: Instant, queue: u16) {
        loop {
            let connections = &self.connections;
            let front = self.timers.front(queue, now, |owner, asks_at| {
                let own = connections.get(owner.place as usize);
                own.is_some_and(|own| own.serial == owner.serial && own.timer_at == asks_at)
            });
            match front {
                Front::Due(owner) => self.handle_timer(now, owner.place),
                Front::At(at) => return self.set_alarm(at, AlarmKind::Timers, queue),
                Front::None => return,
            }
        }
    }

    fn handle_idles(&mut self, now: Instant, queue: u16) {
        loop {
            let connections = &self.connections;
            let front = self.idles.front(queue, now, |owner, asks_at| {
                let own = connections.get(owner.place as usize);
                own.is_some_and(|own| own.serial == owner.serial && own.idle_alarm_at == asks_at)
            });
            match front {
                Front::Due(owner) => self.end_idle(now, owner.place),
                Front::At(at) => return self.set_alarm(at, AlarmKind::Idles, queue),
                Front::None => return,
            }
        }
    }

    /// Sets the alarm for a queue of waits.
    pub fn set_alarm(&mut self, at: Instant, kind: AlarmKind, queue: u16) {
        self.alarms.push((at, Alarm { kind, place: queue.into(), serial: 0 }));
    }

    fn receive(&mut self, now: Instant, client: u32, tcp: &Tcp) {
        match self.peers[client as usize].find(tcp.source_port) {
            Some(Place::Open(place)) => self.receive_open(now, place, tcp),
            Some(Place::Waiting(place)) if self.is_waiting(now, place) => {
                self.receive_waiting(now, client, place, tcp);
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

    fn receive_open(&mut self, now: Instant, place: u32, tcp: &Tcp) {
        if self.overflows(place, &tcp.segment) {
            self.facts.accept_overflows += 1;
            return;
        }
        let connection = &mut self.connections[place as usize];
        let read = connection.handle_segment(now, &tcp.segment, &tcp.payload, &self.plan.objects);
        self.facts.requests += u64::from(read);
        self.hear(now, place);
    }

    /// Does what follows from what TCP has to tell, and sends what it has to send.
    pub fn hear(&mut self, now: Instant, place: u32) {
        while let Some(event) = self.connections[place as usize].tcp.poll_event() {
            match event {
                Event::Connected => self.established(now, place),
                Event::PeerFinished => self.connections[place as usize].peer_finished = true,
                Event::Closed | Event::Failed(_) => {}
            }
        }
        let connection = &self.connections[place as usize];
        if connection.stage == Stage::Accepted && !connection.tcp.is_done() {
            self.go_on(now, place);
        }
        self.flush(now, place);
    }

    /// Sends what the connection has to send, and arms its timer, or lets it go.
    fn flush(&mut self, now: Instant, place: u32) {
        let connection = &self.connections[place as usize];
        let (client, port) = (connection.client, connection.port);
        while let Some(Transmit { segment, payload }) =
            self.connections[place as usize].tcp.poll_transmit(now)
        {
            let tcp = &self.connections[place as usize].tcp;
            let bytes = if payload.is_empty() { Bytes::new() } else { tcp.payload_bytes(payload) };
            self.send(client, port, segment, bytes);
        }
        let connection = &mut self.connections[place as usize];
        if connection.tcp.is_done() {
            self.remove(now, place);
            self.peers[client as usize].forget(port);
        } else if let Some(wait) = connection.tcp.time_wait() {
            self.remove(now, place);
            self.begin_wait(now, client, port, wait);
        } else {
            self.arm_timer(now, place);
        }
    }

    fn arm_timer(&mut self, now: Instant, place: u32) {
        let connection = &mut self.connections[place as usize];
        let Some(at) = connection.tcp.poll_timer().filter(|at| *at < connection.timer_at) else { return };
        let serial = connection.serial;
        match self.timers.put(now, at, Owner { place, serial }) {
            Put::OnWheel => {
                connection.timer_at = at;
                self.alarms.push((at, Alarm { kind: AlarmKind::Timer, place, serial }));
            }
            Put::Queued { asks_at, first_of } => {
                connection.timer_at = asks_at;
                if let Some(queue) = first_of {
                    self.set_alarm(asks_at, AlarmKind::Timers, queue);
                }
            }
        }
    }

    pub fn send(&mut self, client: u32, port: u16, segment: Segment, payload: Bytes) {
        self.facts.packets_out += 1;
        let tcp = Tcp { source_port: self.network.servers.port, destination_port: port, segment, payload };
        self.departures.push_back((client, tcp));
    }

    /// The numbers that a connection begins with; see RFC 9293 §3.4.1.
    pub fn numbers(&self, now: Instant, client: u32, port: u16) -> Numbers {
        let key = u64::from(client) << 16 | u64::from(port);
        let hash = (self.seed.0 ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let isn = SeqNumber((hash >> 32) as u32).at((now.as_ns() / 4_000) as i64);
        Numbers { isn, timestamp_offset: client.wrapping_mul(0x85eb_ca6b) }
    }
}
