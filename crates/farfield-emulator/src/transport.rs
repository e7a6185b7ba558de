//! The transport of users: emulated TCP, and the calls that [`datagrams`](crate::datagrams) serves.

use crate::client::PortKind;
use crate::client_event::ClientEvent;
use crate::client_side::{ClientSide, Socket, Upcall};
use crate::forward::Forward;
use crate::slots::{ClientSlot, SocketSlot};
use crate::timeout_queue::{Front, Owner, Put};
use crate::transit::Event;
use bytes::Bytes;
use farfield_base::{Duration, Instant, Note, Opened, Sample, TcpStats};
use farfield_net::loss::Memory;
use farfield_tcp::{Connection, Event as TcpEvent, Failure as TcpFailure, Numbers, SeqNumber, Transmit};
use farfield_user::{Backlog, ConnectionKey, Datagrams, Failure, Transport, Wake};
use farfield_wire::Ecn;
use std::num::{NonZeroU8, NonZeroU32};
use std::sync::Arc;

/// Bytes that wait to be acknowledged behind which small pieces are copied.
const CROWDED_BYTES: u64 = 4 << 10;
/// Such pieces have fewer bytes.
const SMALL_BYTES: usize = 1 << 10;

impl Transport for ClientSide {
    /// Each client is a machine, with an address and links of its own.
    fn machine_of(&self, user: u32) -> u32 {
        self.clients.first_of(user).index() as u32
    }

    fn connect(&mut self, key: ConnectionKey, user: u32) -> Instant {
        self.connects += 1;
        let client = self.clients.present_of(user);
        let socket = SocketSlot::at(self.connections.vacant_key());
        let Some(port) = self.clients[client].take_port(PortKind::Tcp, socket) else {
            self.upcalls.push_back(Upcall::Failed(key, Failure::NoAddress, None));
            return self.transit.now;
        };
        let port_of_server = self.port_of_server(client);
        self.note_opened(key, user, client, (port, port_of_server));
        let class = usize::from(self.clients[client].class);
        let config = Arc::clone(&self.transit.plan.classes[class].tcp);
        let tcp = Connection::open(config, self.numbers(client, port));
        let serial = self.sockets_begun;
        self.sockets_begun = serial.wrapping_add(1);
        self.connections.insert(Socket {
            tcp,
            client,
            port,
            serial,
            key: Some(key),
            timer_at: Instant::MAX,
            up_losses: Memory::default(),
            down_losses: Memory::default(),
        });
        self.bind(key, socket);
        self.flush(socket);
        self.transit.now
    }

    fn send(&mut self, key: ConnectionKey, bytes: &Bytes) -> Instant {
        if let Some(slot) = self.socket_of(key) {
            let tcp = &mut self.connections[slot.index()].tcp;
            // Small pieces behind others would each keep a buffer alive that they are cut from.
            let crowds = tcp.unacknowledged() > CROWDED_BYTES && bytes.len() < SMALL_BYTES;
            let piece = if crowds { Bytes::copy_from_slice(bytes) } else { bytes.clone() };
            if tcp.write(piece).is_ok() {
                self.flush(slot);
            }
        }
        self.transit.now
    }

    fn backlog(&self, key: ConnectionKey) -> Backlog {
        let Some(slot) = self.socket_of(key) else { return Backlog::default() };
        let (handed, kept) = self.connections[slot.index()].tcp.written_and_unsent();
        Backlog { handed, kept }
    }

    fn open_datagrams(&mut self, key: ConnectionKey, user: u32, port: Option<u16>) -> Instant {
        self.open_datagram_socket(key, user, port)
    }

    fn send_datagrams(&mut self, key: ConnectionKey, datagrams: Datagrams<'_>) -> Instant {
        self.send_row(key, Ecn::from_bits(datagrams.ecn), datagrams.segment_bytes, datagrams.bytes)
    }

    fn close(&mut self, key: ConnectionKey) {
        if self.close_datagram_socket(key) {
            return;
        }
        if let Some(slot) = self.release(key)
            && !self.is_over
        {
            self.connections[slot.index()].tcp.close();
            self.flush(slot);
        }
    }

    fn abandon(&mut self, key: ConnectionKey) {
        if self.close_datagram_socket(key) {
            return;
        }
        if let Some(slot) = self.release(key) {
            self.remove(slot);
        }
    }

    fn wake_at(&mut self, at: Instant, wake: Wake) {
        // The wheel does not go back: it would come out as if it were due now, before all else.
        if wake.begins_load() && at < self.transit.now && self.lag.is_real_time() {
            return self.lag.late_load.push_back((at, wake));
        }
        self.transit.wheel.schedule(at, Event::Other(ClientEvent::Wake(wake)));
    }

    fn tcp_stats(&self, key: ConnectionKey) -> Option<TcpStats> {
        match self.socket_of(key) {
            Some(slot) => Some(stats_of(&self.connections[slot.index()].tcp)),
            None => self.parting.filter(|(of, _)| *of == key).map(|(_, counters)| counters),
        }
    }

    fn record(&mut self, mut sample: Sample) {
        sample.class = self.class_of(sample.user);
        self.samples.push(sample);
    }

    fn note(&mut self, note: Note) {
        self.notes.push(note);
    }
}

impl ClientSide {
    /// Sends what the connection in `slot` has to send, queues its upcalls, and arms its timer.
    pub fn flush(&mut self, slot: SocketSlot) {
        let now = self.transit.now;
        while let Some(transmit) = self.connections[slot.index()].tcp.poll_transmit(now) {
            self.transmit(slot, transmit);
        }
        self.queue_upcalls(slot);
        let socket = &mut self.connections[slot.index()];
        if socket.tcp.is_done() {
            return self.remove(slot);
        }
        if let Some(wait) = socket.tcp.time_wait() {
            let (client, port) = (socket.client, socket.port);
            self.remove(slot);
            return self.time_waits.take(now, client, port, wait);
        }
        self.arm_timer(slot);
    }

    fn arm_timer(&mut self, slot: SocketSlot) {
        let socket = &mut self.connections[slot.index()];
        let Some(at) = socket.tcp.poll_timer().filter(|at| *at < socket.timer_at) else { return };
        let serial = socket.serial;
        match self.timeouts.put(self.transit.now, at, Owner { slot, serial }) {
            Put::OnWheel => {
                socket.timer_at = at;
                self.transit.wheel.schedule(at, Event::Other(ClientEvent::Timer { socket: slot, serial }));
            }
            Put::Queued { asks_at, first_of } => {
                socket.timer_at = asks_at;
                if let Some(queue) = first_of {
                    self.transit.wheel.schedule(asks_at, Event::Other(ClientEvent::Timeouts(queue)));
                }
            }
        }
    }

    /// A timer event has come. Timers are not cancelled: one that was put off is armed again.
    pub fn handle_timer(&mut self, slot: SocketSlot, serial: u32) {
        let now = self.transit.now;
        let Some(socket) = self.connections.get_mut(slot.index()) else { return };
        if socket.serial != serial || socket.timer_at > now {
            return;
        }
        socket.timer_at = Instant::MAX;
        if socket.tcp.poll_timer().is_some_and(|at| at > now) {
            return self.arm_timer(slot);
        }
        socket.tcp.handle_timer(now);
        self.flush(slot);
    }

    /// Timers of a queue of waits may be due.
    pub fn handle_timeouts(&mut self, queue: u16) {
        let now = self.transit.now;
        loop {
            let connections = &self.connections;
            let front = self.timeouts.front(queue, now, |owner, asks_at| {
                let socket = connections.get(owner.slot.index());
                socket.is_some_and(|socket| socket.serial == owner.serial && socket.timer_at == asks_at)
            });
            match front {
                Front::Due(Owner { slot, serial }) => self.handle_timer(slot, serial),
                Front::At(at) => {
                    return self.transit.wheel.schedule(at, Event::Other(ClientEvent::Timeouts(queue)));
                }
                Front::None => return,
            }
        }
    }

    /// Queues the upcalls of the connection in `slot` for its user.
    pub fn queue_upcalls(&mut self, slot: SocketSlot) {
        let socket = &mut self.connections[slot.index()];
        while let Some(event) = socket.tcp.poll_event() {
            let Some(key) = socket.key else { continue };
            self.upcalls.push_back(match event {
                TcpEvent::Connected => Upcall::Connected(key),
                TcpEvent::PeerFinished => Upcall::Closed(key),
                TcpEvent::Failed(failure) => {
                    Upcall::Failed(key, failure_of(failure), Some(stats_of(&socket.tcp)))
                }
                TcpEvent::Closed => continue,
            });
        }
    }

    fn transmit(&mut self, slot: SocketSlot, Transmit { segment, payload }: Transmit) {
        let socket = &self.connections[slot.index()];
        let payload = if payload.is_empty() { Bytes::new() } else { socket.tcp.payload_bytes(payload) };
        let (client, source_port) = (socket.client, socket.port);
        self.send_segment(client, source_port, &segment, &payload);
    }

    /// The numbers that a connection begins with: a clock of 4 µs and a hash of its ends (RFC 9293 §3.4.1),
    /// so that a port may be used again while the server still remembers it.
    fn numbers(&self, client: ClientSlot, port: u16) -> Numbers {
        let number = u64::from(self.clients[client].number.get());
        let mut hash = self.seed.0 ^ number << 16 ^ u64::from(port);
        hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let clock = self.transit.now.as_ns() / 4_000;
        Numbers {
            isn: SeqNumber((hash >> 32) as u32).at(clock as i64),
            // One clock for all connections of a client (RFC 7323 §5.4): a later one is never taken for an
            // older.
            timestamp_offset: (number as u32).wrapping_mul(0x9e37_79b9),
        }
    }

    /// Notes the addresses of a connection, if connections are noted: from the client's port to the server's.
    pub fn note_opened(
        &mut self,
        key: ConnectionKey,
        user: u32,
        client: ClientSlot,
        (port, port_of_server): (u16, u16),
    ) {
        let Some(opened) = &mut self.opened else { return };
        let plan = &self.transit.plan;
        let addresses = plan.addresses(self.clients[client].number);
        opened.push(Opened {
            connection: key.serial,
            user,
            at: self.transit.now,
            client: (addresses.source(), port).into(),
            server: (addresses.destination(), port_of_server).into(),
        });
    }

    fn bind(&mut self, key: ConnectionKey, slot: SocketSlot) {
        let index = key.slot.index();
        if self.bound.len() <= index {
            self.bound.resize(index + 1, None);
        }
        self.bound[index] = Some(slot);
    }

    fn socket_of(&self, key: ConnectionKey) -> Option<SocketSlot> {
        let slot = self.bound.get(key.slot.index()).copied().flatten()?;
        (self.connections.get(slot.index())?.key == Some(key)).then_some(slot)
    }

    /// Takes the connection from its user.
    fn release(&mut self, key: ConnectionKey) -> Option<SocketSlot> {
        let slot = self.socket_of(key)?;
        self.bound[key.slot.index()] = None;
        self.connections[slot.index()].key = None;
        Some(slot)
    }

    pub fn remove(&mut self, slot: SocketSlot) {
        let socket = self.connections.remove(slot.index());
        self.clients[socket.client].free_port(PortKind::Tcp, socket.port);
        if let Some(key) = socket.key {
            self.bound[key.slot.index()] = None;
        }
    }
}

/// The counters of a connection that a sample keeps.
pub(crate) fn stats_of(tcp: &Connection) -> TcpStats {
    let short = |count: u32| u16::try_from(count).unwrap_or(u16::MAX);
    let counters = tcp.counters();
    let micros = |srtt: Duration| NonZeroU32::new(u32::try_from(srtt.as_ns() / 1_000).unwrap_or(u32::MAX));
    TcpStats {
        syn_tries: NonZeroU8::new(counters.syns_sent).unwrap_or(NonZeroU8::MIN),
        retransmits: short(counters.retransmits),
        out_of_order: short(counters.out_of_order),
        srtt_us: tcp.srtt().and_then(micros),
    }
}

fn failure_of(failure: TcpFailure) -> Failure {
    match failure {
        TcpFailure::Refused => Failure::Refused,
        TcpFailure::Reset => Failure::Reset,
        TcpFailure::TimedOut => Failure::ConnectTimedOut,
    }
}
