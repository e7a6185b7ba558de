//! The users of one flow in one shard, their connections and what happens on them.
//!
//! A crowd is handed what happened and when, and asks its [`Transport`] for what follows. It has four
//! owners: the load, users, connections and counters. Nothing on the path of a request allocates once tables
//! and queues have grown, except a page's queue on a user's first page.

use crate::connections::Connections;
use crate::counters::Counters;
use crate::offered_load::OfferedLoad;
use crate::plan::Share;
use crate::reaction::Reaction;
use crate::transport::{ConnectionKey, Transport};
use crate::users::Users;
use farfield_base::{Instant, LoadCounts, Merge, Tenths};

/// The users of one flow in one shard.
#[derive(Debug)]
pub(crate) struct Crowd {
    load: OfferedLoad,
    users: Users,
    connections: Connections,
    counters: Counters,
}

impl Crowd {
    /// The users of `plan`, before the run.
    pub fn new(plan: Share) -> Crowd {
        let load = OfferedLoad::of(&plan);
        Crowd {
            connections: Connections::of(&plan, load.model.is_single()),
            counters: Counters::new(plan.window),
            users: Users::new(plan.itinerary, &*load.model),
            load,
        }
    }

    pub fn reaction<'a, T: Transport>(&'a mut self, transport: &'a mut T, now: Instant) -> Reaction<'a, T> {
        let Crowd { load, users, connections, counters } = self;
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

    /// The peer has closed its side behind the bytes that are handed in next: nothing more is asked on the
    /// connection.
    pub fn handle_ending(&mut self, key: ConnectionKey) {
        self.connections.note_ending(key);
    }
}
