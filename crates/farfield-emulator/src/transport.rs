//! The transport of users: emulated TCP, and the calls that [`datagrams`](crate::datagrams) serves.

use crate::client_event::ClientEvent;
use crate::client_side::ClientSide;
use crate::hosts::stats_of;
use crate::slots::{ClientSlot, SocketSlot};
use crate::tcp_sockets::ClientAlarm;
use crate::transit::SideEvent;
use bytes::Bytes;
use farfield_base::{HostNumber, Instant, Note, Opened, Sample, TcpStats};
use farfield_net::timeout_queue::{Front, Owner, TimerExpiry};
use farfield_tcp::Transmit;
use farfield_user::{Backlog, ConnectionKey, Datagrams, Transport, Wake};
use farfield_wire::Ecn;

/// Bytes that wait to be acknowledged behind which small pieces are copied.
const CROWDED_BYTES: u64 = 4 << 10;
/// Small pieces have fewer bytes.
const SMALL_BYTES: usize = 1 << 10;

impl Transport for ClientSide {
    /// Each client is a machine, with an address and links of its own.
    fn machine_of(&self, user: u32) -> u32 {
        self.hosts.clients.first_of(user).index() as u32
    }

    fn connect(&mut self, key: ConnectionKey, user: u32, host: HostNumber) -> Instant {
        self.records.connects += 1;
        let (now, client) = (self.transit.now, self.hosts.clients.present_of(user));
        let server = self.server_for(client, host);
        if let Some(slot) = self.hosts.open_tcp(&self.transit.plan, now, key, (client, server)) {
            let ports = (self.hosts.tcp[slot].port, self.transit.plan.server(server).port);
            self.note_opened(key, user, (client, server), ports);
            self.flush(slot);
        }
        now
    }

    fn send(&mut self, key: ConnectionKey, bytes: &Bytes) -> Instant {
        if let Some(slot) = self.hosts.tcp.of(key) {
            let tcp = &mut self.hosts.tcp[slot].tcp;
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
        let Some(slot) = self.hosts.tcp.of(key) else { return Backlog::default() };
        let (handed, kept) = self.hosts.tcp[slot].tcp.written_and_unsent();
        Backlog { handed, kept }
    }

    fn open_datagrams(
        &mut self,
        key: ConnectionKey,
        user: u32,
        (host, port): (HostNumber, Option<u16>),
    ) -> Instant {
        self.open_datagram_socket(key, user, (host, port))
    }

    fn send_datagrams(&mut self, key: ConnectionKey, datagrams: Datagrams<'_>) -> Instant {
        self.send_row(key, Ecn::from_bits(datagrams.ecn), datagrams.segment_bytes, datagrams.bytes)
    }

    fn close(&mut self, key: ConnectionKey) {
        if self.hosts.close_datagram_socket(key) {
            return;
        }
        let Some(slot) = self.hosts.tcp.of(key) else { return };
        self.hosts.tcp.release(slot);
        if !self.hosts.is_over {
            self.hosts.tcp[slot].tcp.close();
            self.flush(slot);
        }
    }

    fn abandon(&mut self, key: ConnectionKey) {
        if self.hosts.close_datagram_socket(key) {
            return;
        }
        if let Some(slot) = self.hosts.tcp.of(key) {
            self.hosts.remove_tcp(slot);
        }
    }

    fn wake_at(&mut self, at: Instant, wake: Wake) {
        // The wheel does not go back: it would come out as if it were due now, before all else.
        if wake.begins_load() && at < self.transit.now && self.lag.is_real_time() {
            return self.lag.late_load.push_back((at, wake));
        }
        self.transit.wheel.schedule(at, SideEvent::Other(ClientEvent::Wake(wake)));
    }

    fn tcp_stats(&self, key: ConnectionKey) -> Option<TcpStats> {
        match self.hosts.tcp.of(key) {
            Some(slot) => Some(stats_of(&self.hosts.tcp[slot].tcp)),
            None => self.hosts.upcalls.counters_of_failed(key),
        }
    }

    fn record(&mut self, mut sample: Sample) {
        sample.class = self.class_of(sample.user);
        self.records.samples.push(sample);
    }

    fn note(&mut self, mut note: Note) {
        if let Note::Event(event) = &mut note {
            event.class = self.class_of(event.user);
        }
        self.records.notes.push(note);
    }
}

impl ClientSide {
    /// Sends what the connection in `slot` has to send, queues its upcalls, and arms its timer.
    pub fn flush(&mut self, slot: SocketSlot) {
        let now = self.transit.now;
        while let Some(Transmit { segment, payload }) = self.hosts.tcp[slot].tcp.poll_transmit(now) {
            let socket = &self.hosts.tcp[slot];
            let payload = if payload.is_empty() { Bytes::new() } else { socket.tcp.payload_bytes(payload) };
            let (client, server, source_port) = (socket.client, socket.server, socket.port);
            self.send_segment((client, server), source_port, &segment, &payload);
        }
        let alarm = self.hosts.settle(now, slot);
        self.set_alarm(alarm);
    }

    fn set_alarm(&mut self, alarm: Option<ClientAlarm>) {
        if let Some((at, event)) = alarm {
            self.transit.wheel.schedule(at, SideEvent::Other(event));
        }
    }

    /// A timer event of a connection has come.
    pub fn handle_timer(&mut self, owner: Owner<SocketSlot>) {
        match self.hosts.tcp.expire(self.transit.now, owner) {
            TimerExpiry::Stale => {}
            TimerExpiry::PutOff(alarm) => self.set_alarm(alarm),
            TimerExpiry::Due => self.flush(owner.slot),
        }
    }

    /// Timers of a timeout queue may be due.
    pub fn handle_timeouts(&mut self, queue: u16) {
        loop {
            match self.hosts.tcp.next_timeout(self.transit.now, queue) {
                Front::Due(owner) => self.handle_timer(owner),
                Front::At(at) => return self.set_alarm(Some((at, ClientEvent::Timeouts(queue)))),
                Front::None => return,
            }
        }
    }

    /// Notes the addresses of a connection, if connections are noted: from the client's port to the server's.
    pub fn note_opened(
        &mut self,
        key: ConnectionKey,
        user: u32,
        (client, server): (ClientSlot, u16),
        (port, port_of_server): (u16, u16),
    ) {
        let ClientSide { transit, hosts, records, .. } = self;
        records.note_opened(|| {
            let addresses = transit.plan.addresses_to(hosts.clients[client].number, server);
            Opened {
                connection: key.serial,
                user,
                at: transit.now,
                client: (addresses.source(), port).into(),
                server: (addresses.destination(), port_of_server).into(),
            }
        });
    }
}
