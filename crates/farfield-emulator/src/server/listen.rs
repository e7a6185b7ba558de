//! From the SYN to the accept queue: who is let in.

use super::connection::{Connection, Reader, Stage};
use super::core::{Core, PeerPort};
use crate::packet::Tcp;
use crate::slots::{ClientId, ServedSlot};
use crate::timeout_queue::Owner;
use farfield_base::Instant;
use farfield_tcp::{Segment, SeqNumber, State};
use std::sync::Arc;

impl Core {
    /// A SYN for no connection. `beyond` is where the sequence numbers of an earlier connection on the port
    /// ended.
    pub fn listen(&mut self, now: Instant, client: ClientId, tcp: &Tcp, beyond: Option<SeqNumber>) {
        self.counters.syns += 1;
        if self.accept_queue_is_full() || self.half_open >= self.plan.syn_backlog {
            self.counters.syns_dropped += 1;
            return;
        }
        let mut numbers = self.numbers(now, client, tcp.source_port);
        if let Some(beyond) = beyond {
            // RFC 9293 §3.10.7.4, MAY-2: larger than the largest of the old connection
            numbers.isn = beyond.at(64_000);
        }
        let serial = self.begun;
        self.begun = serial.wrapping_add(1);
        let listening = farfield_tcp::Connection::listen(Arc::clone(&self.plan.tcp), numbers);
        let mut connection = Connection::new(listening, client, tcp.source_port, serial);
        connection.tls = self.plan.tls.is_some().then(Box::default);
        let reader = Reader::of(&self.plan, &mut self.heads);
        connection.handle_segment(now, &tcp.segment, &tcp.payload, reader);
        let slot = ServedSlot::at(self.connections.insert(connection));
        self.peers[client.index()].set(tcp.source_port, PeerPort::Open(slot));
        self.half_open += 1;
        self.counters.connections_most = self.counters.connections_most.max(self.connections.len() as u32);
        self.handle_events(now, slot);
    }

    /// True if the segment would establish a connection for which there is no room.
    pub fn overflows(&self, slot: ServedSlot, segment: &Segment) -> bool {
        let completes = segment.flags.ack && !segment.flags.rst;
        completes
            && self.connections[slot.index()].tcp.state() == State::SynReceived
            && self.accept_queue_is_full()
    }

    /// The handshake is complete.
    pub fn established(&mut self, now: Instant, slot: ServedSlot) {
        self.counters.established += 1;
        self.half_open -= 1;
        let connection = &mut self.connections[slot.index()];
        connection.stage = Stage::Queued;
        self.accept_queue.push_back(Owner { slot, serial: connection.serial });
        let queued = self.accept_queue.len() as u32;
        self.accept(now);
        // What a free worker takes at once has not waited.
        let waits = self.connections[slot.index()].stage == Stage::Queued;
        if waits {
            self.counters.accept_queue_most = self.counters.accept_queue_most.max(queued);
        }
    }

    /// Linux compares with `>`: a queue of `n` is full with `n + 1`.
    fn accept_queue_is_full(&self) -> bool {
        self.accept_queue.len() > self.plan.accept_queue as usize
    }
}
