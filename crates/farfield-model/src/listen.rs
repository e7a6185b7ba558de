//! From the SYN to the accept queue: who is let in.

use super::ServerPlan;
use super::connection::{Connection, ConnectionStage, RequestReader};
use super::core::ServerCore;
use super::peers::PeerPort;
use crate::payload::Tcp;
use crate::slots::{ClientId, ServedSlot};
use farfield_base::Instant;
use farfield_net::timeout_queue::Owner;
use farfield_tcp::{Segment, SeqNumber, State};
use std::collections::VecDeque;
use std::sync::Arc;

/// Connections that no worker has accepted yet.
#[derive(Debug)]
pub(crate) struct Listener {
    /// Connections whose handshake is under way.
    half_open: u32,
    /// Established connections that wait to be accepted. Those that died stay until then.
    accept_queue: VecDeque<Owner<ServedSlot>>,
    syn_backlog: u32,
    accept_queue_len: usize,
}

impl Listener {
    /// The listener of `plan`, with nobody before it.
    pub fn new(plan: &ServerPlan) -> Listener {
        Listener {
            half_open: 0,
            accept_queue: VecDeque::new(),
            syn_backlog: plan.syn_backlog,
            accept_queue_len: plan.accept_queue as usize,
        }
    }

    /// True if there is room for another handshake.
    fn has_room(&self) -> bool {
        !self.is_full() && self.half_open < self.syn_backlog
    }

    /// True if no connection can be established. Linux compares with `>`: a queue of `n` is full with
    /// `n + 1`.
    fn is_full(&self) -> bool {
        self.accept_queue.len() > self.accept_queue_len
    }

    /// Another handshake is under way.
    fn begin(&mut self) {
        self.half_open += 1;
    }

    /// A handshake has failed.
    pub fn give_up(&mut self) {
        self.half_open -= 1;
    }

    /// A handshake is complete: its connection waits to be accepted. Returns how many wait.
    fn establish(&mut self, owner: Owner<ServedSlot>) -> u32 {
        self.half_open -= 1;
        self.accept_queue.push_back(owner);
        self.accept_queue.len() as u32
    }

    /// The next connection to accept, which may be gone.
    pub fn next(&mut self) -> Option<Owner<ServedSlot>> {
        self.accept_queue.pop_front()
    }
}

impl ServerCore {
    /// A SYN for no connection. `beyond` is where the sequence numbers of an earlier connection on the port
    /// ended.
    pub(crate) fn listen(&mut self, now: Instant, client: ClientId, tcp: &Tcp, beyond: Option<SeqNumber>) {
        let ServerCore { setup, counters, peers, connections, listener, http, .. } = self;
        counters.syns += 1;
        if !listener.has_room() {
            counters.syns_dropped += 1;
            return;
        }
        let mut numbers = setup.numbers(now, client, tcp.source_port);
        if let Some(beyond) = beyond {
            // RFC 9293 §3.10.7.4, MAY-2: larger than the largest of the old connection
            numbers.isn = beyond.at(64_000);
        }
        let plan = &setup.plan;
        let listening = farfield_tcp::Connection::listen(Arc::clone(&plan.tcp), numbers);
        let serial = connections.next_serial();
        let mut connection = Connection::new(listening, client, tcp.source_port, serial);
        connection.tls = plan.tls.is_some().then(Box::default);
        connection.handle_segment(now, &tcp.segment, &tcp.payload, RequestReader::of(plan, &mut http.heads));
        let slot = connections.add(connection);
        peers[client].set(tcp.source_port, PeerPort::Open(slot));
        listener.begin();
        counters.connections_most = counters.connections_most.max(connections.len());
        self.handle_events(now, slot);
    }

    /// True if the segment would establish a connection for which there is no room.
    pub(crate) fn overflows(&self, slot: ServedSlot, segment: &Segment) -> bool {
        let completes = segment.flags.ack && !segment.flags.rst;
        completes && self.connections[slot].tcp.state() == State::SynReceived && self.listener.is_full()
    }

    /// The handshake is complete.
    pub(crate) fn established(&mut self, now: Instant, slot: ServedSlot) {
        self.counters.established += 1;
        self.connections[slot].stage = ConnectionStage::Queued;
        let queued = self.listener.establish(self.connections.owner_of(slot));
        self.accept(now);
        // A connection that a free worker takes at once has not waited.
        let waits = self.connections[slot].stage == ConnectionStage::Queued;
        if waits {
            self.counters.accept_queue_most = self.counters.accept_queue_most.max(queued);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;

    const ONE: NonZeroU32 = NonZeroU32::MIN;

    #[test]
    fn a_backlog_of_two_takes_two_handshakes() {
        let plan = ServerPlan { syn_backlog: 2, ..ServerPlan::events(ONE) };
        let mut listener = Listener::new(&plan);
        for _ in 0..2 {
            assert!(listener.has_room());
            listener.begin();
        }
        assert!(!listener.has_room());
        listener.give_up();
        assert!(listener.has_room());
    }

    #[test]
    fn an_accept_queue_of_one_holds_two_as_on_linux() {
        let plan = ServerPlan { accept_queue: 1, ..ServerPlan::events(ONE) };
        let (mut listener, owner) =
            (Listener::new(&plan), |serial| Owner { slot: ServedSlot::new(0), serial });
        for serial in 0..2 {
            assert!(!listener.is_full());
            listener.begin();
            assert_eq!(listener.establish(owner(serial)), serial + 1);
        }
        assert!(listener.is_full() && !listener.has_room());
        assert_eq!(listener.next(), Some(owner(0)));
        assert!(listener.has_room());
    }
}
