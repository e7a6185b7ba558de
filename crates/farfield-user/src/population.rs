//! The users of one shard, their connections and what happens on them.
//!
//! A population is handed what happened and when, and asks its [`Transport`] for what follows. It has four
//! owners: the load, users, connections and counters. Nothing on the path of a request allocates once tables
//! and queues have grown, except a page's queue on a user's first page.

use crate::connections::Connections;
use crate::counters::Counters;
use crate::offered_load::OfferedLoad;
use crate::plan::Plan;
use crate::reaction::Reaction;
use crate::transport::{ConnectionKey, Failure, Transport, Wake};
use crate::users::Users;
use farfield_base::{Instant, LoadCounts, Merge, Tenths};

/// The users of one shard.
#[derive(Debug)]
pub struct Population {
    load: OfferedLoad,
    users: Users,
    connections: Connections,
    counters: Counters,
}

impl Population {
    /// The users of `plan`, before the run.
    pub fn new(plan: Plan) -> Population {
        let load = OfferedLoad::of(&plan);
        Population {
            connections: Connections::of(&plan, load.model.is_single()),
            counters: Counters::new(plan.window),
            users: Users::new(plan.itinerary, &*load.model),
            load,
        }
    }

    fn reaction<'a, T: Transport>(&'a mut self, transport: &'a mut T, now: Instant) -> Reaction<'a, T> {
        let Population { load, users, connections, counters } = self;
        Reaction { load, users, connections, counters, transport, now }
    }

    /// Requests that were sent so far, each time that they were.
    pub fn requests_sent(&self) -> u64 {
        self.connections.requests_sent()
    }

    /// True if its users are those of a closed load, who come back when they are answered.
    pub fn is_closed(&self) -> bool {
        self.load.model.users().is_some()
    }

    /// Requests that are due and not over.
    pub fn in_system(&self) -> u64 {
        self.counters.in_system.count()
    }

    /// Connections that are open or being opened.
    pub fn connections(&self) -> usize {
        self.connections.table.len()
    }

    /// The integral of [`in_system`](Self::in_system) over the window, in request-nanoseconds.
    pub fn in_system_area(&mut self, now: Instant) -> u128 {
        self.counters.in_system.area(now)
    }

    /// The load goes on until `end`, later than it was to. No load that was due later is lost: wakes are
    /// judged when they come.
    pub fn extend_to(&mut self, end: Instant) {
        self.load.extend_to(end);
        self.counters.extend_to(end);
    }

    /// Counters of load that was scheduled, begun and dropped in the window so far.
    pub fn counts(&self) -> LoadCounts {
        let (unbegun, given_up) = (self.load.unbegun(), self.load.given_up());
        let mut counts = LoadCounts { unbegun, given_up, ..self.counters.load };
        counts.merge(&self.users.itinerary.counts());
        counts
    }

    /// Instant of the last byte from the server; `None` if none ever came.
    pub fn last_received(&self) -> Option<Instant> {
        self.counters.last_received()
    }

    /// Tenths of a second in which bytes came from the server.
    pub fn received(&self) -> &Tenths {
        self.counters.received()
    }

    /// True once no user will begin anything more and nothing is on its way.
    pub fn is_done(&self) -> bool {
        let over = !self.load.goes_on() || self.load.is_over(self.users.len());
        let all_over = over
            && (self.load.is_finished() || self.users.held_back() == 0)
            && !self.load.sessions_finish(self.users.sessions_open());
        self.counters.in_system.count() == 0 && all_over
    }

    /// Begins no more load, not even what was due before the end. What is on its way goes on, and so do
    /// sessions that may finish.
    pub fn finish(&mut self) {
        self.load.finish();
    }

    /// Schedules the first load.
    pub fn start<T: Transport>(&mut self, transport: &mut T) {
        self.load.start(transport);
    }

    /// Handles a wake that was asked for with [`Transport::wake_at`] for `due`.
    pub fn handle_wake<T: Transport>(&mut self, transport: &mut T, now: Instant, due: Instant, wake: Wake) {
        self.reaction(transport, now).handle_wake(due, wake);
    }

    /// The connection is established.
    pub fn handle_connected<T: Transport>(&mut self, transport: &mut T, now: Instant, key: ConnectionKey) {
        self.reaction(transport, now).handle_connected(key);
    }

    /// Bytes came on the connection.
    pub fn handle_received<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
        bytes: &[u8],
    ) {
        self.reaction(transport, now).handle_received(key, bytes);
    }

    /// The peer has closed its side behind the bytes that are handed in next: nothing more is asked on the
    /// connection.
    pub fn handle_ending(&mut self, key: ConnectionKey) {
        self.connections.note_ending(key);
    }

    /// The peer closed in good order.
    pub fn handle_closed<T: Transport>(&mut self, transport: &mut T, now: Instant, key: ConnectionKey) {
        self.reaction(transport, now).handle_closed(key);
    }

    /// The connection, or the attempt at one, failed.
    pub fn handle_failed<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
        failure: Failure,
    ) {
        self.reaction(transport, now).handle_failed(key, failure);
    }

    /// Datagrams came on a socket that [`Transport::open_datagrams`] opened. All have `segment_bytes` bytes,
    /// at least one, but for the last, which may have fewer, and the same codepoint `ecn` (RFC 3168 section
    /// 5).
    pub fn handle_datagrams<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
        ecn: u8,
        segment_bytes: usize,
        bytes: &[u8],
    ) {
        self.reaction(transport, now).handle_datagrams(key, ecn, segment_bytes, bytes);
    }

    /// The client of a connection has moved: datagrams take another path from now on, from another address.
    /// The connection goes on there (RFC 9000 section 9), unless its handshake is not over.
    pub fn handle_moved<T: Transport>(&mut self, transport: &mut T, now: Instant, key: ConnectionKey) {
        self.reaction(transport, now).handle_moved(key);
    }

    /// Ends the run: what is still open, and what was due and never begun, is recorded as unfinished at
    /// `now`.
    pub fn cut<T: Transport>(&mut self, transport: &mut T, now: Instant) {
        self.reaction(transport, now).cut();
    }
}
