//! A partition of the clients: a shard that reaches as far as the clients' own links do.

use super::Simulation;
use super::sink::{EVENTS_A_LOOK, Remote};
use crate::links::ShardScope;
use crate::transit::Crossing;
use crate::{Directory, Shard};
use farfield_base::{Duration, Instant, Note, Sample};
use farfield_user::Plan;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct Partition {
    pub shard: Shard,
    load_until: Instant,
    drain_until: Instant,
    finished: bool,
    pub events: u64,
    pub packet_events: u64,
}

/// The remainder that a partition hands on at its end.
#[derive(Debug)]
pub(crate) struct PartitionEnd {
    pub samples: Vec<Sample>,
    pub notes: Vec<Note>,
    /// The requests' time in the system, in nanoseconds.
    pub in_system_area: u128,
}

impl Partition {
    pub fn new(simulation: &Simulation, plan: Plan, directory: &Arc<Directory>) -> Partition {
        let network = Arc::clone(&simulation.network);
        Partition {
            shard: Shard::with(ShardScope::Nothing, network, Arc::clone(directory), plan),
            load_until: simulation.window.measure_to + simulation.users.end.cool_down,
            drain_until: simulation.drain_until,
            finished: false,
            events: 0,
            packet_events: 0,
        }
    }

    /// Takes packets that have come to the edge, or will.
    pub fn take(&mut self, crossings: &mut Vec<Crossing>) {
        let side = &mut self.shard.side;
        for Crossing { at, flight } in crossings.drain(..) {
            let client = side.hosts.clients.share.slot_of(flight.client);
            side.transit.schedule(at, flight.of_client(client));
        }
    }

    /// Does what is due before `end`, or less if it is to stop; returns how much that was.
    pub fn run(&mut self, end: Instant, remote: &Remote) -> u64 {
        let before = self.events;
        // A partition that has not begun its window does not begin it: there may be as many as there are
        // events between two looks.
        if remote.stops() {
            return 0;
        }
        if !self.finished && end > self.load_until {
            self.run_until(self.load_until, remote);
            self.shard.finish();
            self.finished = true;
        }
        self.run_until(end.min(self.drain_until), remote);
        self.events - before
    }

    fn run_until(&mut self, end: Instant, remote: &Remote) {
        let Some(last) = end.as_ns().checked_sub(1).map(Instant::from_ns) else { return };
        while let Some(was_packet) = self.shard.step_of(last) {
            self.events += 1;
            self.packet_events += u64::from(was_packet);
            if self.events.is_multiple_of(EVENTS_A_LOOK) && remote.stops() {
                return;
            }
        }
    }

    /// The instant of the last thing that was done.
    pub fn reached(&self) -> Instant {
        self.shard.side.transit.now
    }

    /// Ends what is on its way.
    pub fn end(&mut self, now: Instant) -> PartitionEnd {
        self.shard.end(now);
        PartitionEnd {
            samples: self.shard.take_samples().collect(),
            notes: self.shard.take_notes().collect(),
            in_system_area: self.shard.in_system_area(now),
        }
    }

    /// True once no user will begin anything more and nothing is on its way.
    pub fn is_done(&self) -> bool {
        self.shard.population().is_done()
    }

    pub fn next_at(&self) -> Instant {
        let next = self.shard.next_at().unwrap_or(Instant::MAX);
        // The end of the load is something to come to.
        if self.finished { next } else { next.min(self.load_until + Duration::from_ns(1)) }
    }
}
