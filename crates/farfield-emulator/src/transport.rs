//! What users ask of their transport, asked of emulated TCP.

use crate::patience::{Front, Owner, Put};
use crate::world::{Event, Socket, Told, UNBOUND, World};
use bytes::Bytes;
use farfield_base::{Duration, Instant, Note, Sample, TcpStats};
use farfield_net::loss::Memory;
use farfield_tcp::{Connection, Event as TcpEvent, Failure as TcpFailure, Numbers, SeqNumber, Transmit};
use farfield_user::{ConnectionKey, Failure, Host, Wake};
use std::num::{NonZeroU8, NonZeroU32};
use std::sync::Arc;

impl Host for World {
    fn connect(&mut self, key: ConnectionKey, user: u32) -> Instant {
        self.connects += 1;
        let client = self.client_of(user);
        let place = self.connections.vacant_key() as u32;
        let Some(port) = self.clients[client as usize].take_port(place) else {
            self.told.push_back(Told::Failed(key, Failure::NoAddress, None));
            return self.now;
        };
        let class = usize::from(self.clients[client as usize].class);
        let config = Arc::clone(&self.plan.classes[class].tcp);
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
        self.bind(key, place);
        self.flush(place);
        self.now
    }

    fn send(&mut self, key: ConnectionKey, bytes: &Bytes) -> Instant {
        if let Some(place) = self.socket_of(key)
            && self.connections[place as usize].tcp.write(bytes.clone()).is_ok()
        {
            self.flush(place);
        }
        self.now
    }

    fn close(&mut self, key: ConnectionKey) {
        if let Some(place) = self.release(key) {
            self.connections[place as usize].tcp.close();
            self.flush(place);
        }
    }

    fn abandon(&mut self, key: ConnectionKey) {
        if let Some(place) = self.release(key) {
            self.remove(place);
        }
    }

    fn wake_at(&mut self, at: Instant, wake: Wake) {
        self.wheel.schedule(at, Event::Wake(wake));
    }

    fn facts(&self, key: ConnectionKey) -> Option<TcpStats> {
        match self.socket_of(key) {
            Some(place) => Some(facts_of(&self.connections[place as usize].tcp)),
            None => self.parting.filter(|(of, _)| *of == key).map(|(_, facts)| facts),
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

impl World {
    /// Sends what the connection at `place` has to send, tells what it has to tell, and arms its timer.
    pub fn flush(&mut self, place: u32) {
        let now = self.now;
        while let Some(transmit) = self.connections[place as usize].tcp.poll_transmit(now) {
            self.transmit(place, transmit);
        }
        self.hear(place);
        let socket = &mut self.connections[place as usize];
        if socket.tcp.is_done() {
            return self.remove(place);
        }
        if let Some(wait) = socket.tcp.time_wait() {
            let (client, port) = (socket.client, socket.port);
            self.remove(place);
            return self.lingering.take(now, client, port, wait);
        }
        self.arm_timer(place);
    }

    fn arm_timer(&mut self, place: u32) {
        let socket = &mut self.connections[place as usize];
        let Some(at) = socket.tcp.poll_timer().filter(|at| *at < socket.timer_at) else { return };
        let serial = socket.serial;
        match self.patience.put(self.now, at, Owner { place, serial }) {
            Put::OnWheel => {
                socket.timer_at = at;
                self.wheel.schedule(at, Event::Timer { place, serial });
            }
            Put::Queued { asks_at, first_of } => {
                socket.timer_at = asks_at;
                if let Some(queue) = first_of {
                    self.wheel.schedule(asks_at, Event::Waits(queue));
                }
            }
        }
    }

    /// A timer event has come. Timers are not cancelled: one that was put off is armed again.
    pub fn handle_timer(&mut self, place: u32, serial: u32) {
        let now = self.now;
        let Some(socket) = self.connections.get_mut(place as usize) else { return };
        if socket.serial != serial || socket.timer_at > now {
            return;
        }
        socket.timer_at = Instant::MAX;
        if socket.tcp.poll_timer().is_some_and(|at| at > now) {
            return self.arm_timer(place);
        }
        socket.tcp.handle_timer(now);
        self.flush(place);
    }

    /// Timers of a queue of waits may be due.
    pub fn handle_waits(&mut self, queue: u16) {
        let now = self.now;
        loop {
            let connections = &self.connections;
            let front = self.patience.front(queue, now, |owner, asks_at| {
                let socket = connections.get(owner.place as usize);
                socket.is_some_and(|socket| socket.serial == owner.serial && socket.timer_at == asks_at)
            });
            match front {
                Front::Due(Owner { place, serial }) => self.handle_timer(place, serial),
                Front::At(at) => return self.wheel.schedule(at, Event::Waits(queue)),
                Front::None => return,
            }
        }
    }

    /// Queues for the user what the connection at `place` has to tell.
    pub fn hear(&mut self, place: u32) {
        let socket = &mut self.connections[place as usize];
        while let Some(event) = socket.tcp.poll_event() {
            let Some(key) = socket.key else { continue };
            self.told.push_back(match event {
                TcpEvent::Connected => Told::Connected(key),
                TcpEvent::PeerFinished => Told::Closed(key),
                TcpEvent::Failed(failure) => {
                    Told::Failed(key, failure_of(failure), Some(facts_of(&socket.tcp)))
                }
                TcpEvent::Closed => continue,
            });
        }
    }

    fn transmit(&mut self, place: u32, Transmit { segment, payload }: Transmit) {
        let socket = &self.connections[place as usize];
        let payload = if payload.is_empty() { Bytes::new() } else { socket.tcp.payload_bytes(payload) };
        let (client, source_port) = (socket.client, socket.port);
        self.send_segment((client, true), source_port, &segment, &payload);
    }

    /// The numbers that a connection begins with: a clock of 4 µs and a hash of its ends (RFC 9293 §3.4.1), so that
    /// a port may be used again while the server still remembers it.
    fn numbers(&self, client: u32, port: u16) -> Numbers {
        let number = u64::from(self.clients[client as usize].number);
        let mut hash = self.seed.0 ^ number << 16 ^ u64::from(port);
        hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let clock = self.now.as_ns() / 4_000;
        Numbers {
            isn: SeqNumber((hash >> 32) as u32).at(clock as i64),
            // One clock for all connections of a client (RFC 7323 §5.4): a later one is never taken for an older.
            timestamp_offset: (number as u32).wrapping_mul(0x9e37_79b9),
        }
    }

    fn bind(&mut self, key: ConnectionKey, place: u32) {
        let slot = key.slot as usize;
        if self.bound.len() <= slot {
            self.bound.resize(slot + 1, UNBOUND);
        }
        self.bound[slot] = place;
    }

    fn socket_of(&self, key: ConnectionKey) -> Option<u32> {
        let place = self.bound.get(key.slot as usize).copied().filter(|place| *place != UNBOUND)?;
        (self.connections.get(place as usize)?.key == Some(key)).then_some(place)
    }

    /// Takes the connection from its user.
    fn release(&mut self, key: ConnectionKey) -> Option<u32> {
        let place = self.socket_of(key)?;
        self.bound[key.slot as usize] = UNBOUND;
        self.connections[place as usize].key = None;
        Some(place)
    }

    fn remove(&mut self, place: u32) {
        let socket = self.connections.remove(place as usize);
        self.clients[socket.client as usize].free_port(socket.port);
        if let Some(key) = socket.key {
            self.bound[key.slot as usize] = UNBOUND;
        }
    }
}

/// What a sample keeps of what a connection counted.
pub(crate) fn facts_of(tcp: &Connection) -> TcpStats {
    let short = |count: u32| u16::try_from(count).unwrap_or(u16::MAX);
    let facts = tcp.facts();
    let micros = |srtt: Duration| NonZeroU32::new(u32::try_from(srtt.as_ns() / 1_000).unwrap_or(u32::MAX));
    TcpStats {
        syn_tries: NonZeroU8::new(facts.syns_sent).unwrap_or(NonZeroU8::MIN),
        retransmits: short(facts.retransmits),
        out_of_order: short(facts.out_of_order),
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
