//! Shared links that one thread carries for shards on several, and packets on their way between these threads.
//!
//! A shard that is made [with its ends only](crate::Shard::of_ends) holds clients, their own links and its queue's door to
//! the server. A packet that comes to a shared link [crosses](Crossing) to the thread that holds these links, and crosses
//! back behind the last one: to the door on its way to the server, to the client's own links on its way from it. It does
//! so as soon as it is known when it will be at the other side, which is a link's propagation delay before it is there:
//! the lookahead that the threads have to hand it over.
//!
//! In real time the clock is the barrier between them. A packet that is handed over too late goes on from the instant
//! that was meant for it, so that being late once makes nothing else late; a link at which others have been since counts
//! it as of the latest of these. How late packets were is for the caller to count.

use crate::directory::Directory;
use crate::plan::NetworkPlan;
use crate::world::{Crossing, Drops, Event, Reach, World};
use farfield_base::Instant;
use farfield_base::random::Seed;
use std::sync::Arc;

/// All shared links of a network.
#[derive(Debug)]
pub struct SharedLinks {
    world: World,
}

impl Crossing {
    /// When it is meant to be at the other side.
    pub fn at(&self) -> Instant {
        self.at
    }

    /// The shard, among as many, of the client that it is from or for.
    pub fn shard(&self, shards: u32) -> u32 {
        self.flight.client % shards
    }
}

impl World {
    /// Takes a packet that has left another world, or will. If it should have been here before now, it goes on from then.
    pub(crate) fn take(&mut self, Crossing { at, flight }: Crossing) {
        let place = self.flights.insert(flight) as u32;
        if at >= self.now {
            return self.wheel.schedule(at, Event::Packet(place));
        }
        let now = std::mem::replace(&mut self.now, at);
        self.travel(place);
        self.now = now;
    }
}

impl SharedLinks {
    /// The shared links of `network`, idle.
    pub fn new(network: Arc<NetworkPlan>, directory: Arc<Directory>, seed: Seed) -> SharedLinks {
        SharedLinks { world: World::new(network, directory, seed, (0, 1), Reach::Middle) }
    }

    /// Takes a packet that has left a shard, or will.
    pub fn take(&mut self, crossing: Crossing) {
        self.world.take(crossing);
    }

    /// When something happens next, if anything will.
    pub fn next_at(&self) -> Option<Instant> {
        self.world.wheel.next_at()
    }

    /// Does the next thing that is due by `wall`, at its own instant; false if nothing is.
    pub fn step(&mut self, wall: Instant) -> bool {
        let Some((due, event)) = self.world.wheel.pop_due(wall) else { return false };
        // What follows from a packet that came late may have been due before.
        self.world.now = self.world.now.max(due);
        match event {
            Event::Packet(place) => self.world.travel(place),
            Event::Verdict(at) => self.world.hear_verdicts(at),
            _ => unreachable!("neither clients nor a server are here"),
        }
        true
    }

    /// Takes the packets that have left for their clients' shards, or will.
    pub fn crossings(&mut self) -> std::vec::Drain<'_, Crossing> {
        self.world.crossings.drain(..)
    }

    /// Packets that shared links did not deliver.
    pub fn drops(&self) -> Drops {
        self.world.drops
    }
}
