//! A shard: users, and the part of the world that is theirs.

use crate::capture::{CapturePlan, Captured, Tap};
use crate::directory::Directory;
use crate::lateness::Lateness;
use crate::packet::Packet;
use crate::plan::NetworkPlan;
use crate::world::{Crossing, Departure, Drops, Event, Reach, Told, World};
use farfield_base::{Instant, Note, Sample};
use farfield_user::{Plan, Population, Tally};
use std::sync::Arc;

/// One shard of an emulated internet. See the [crate](crate).
#[derive(Debug)]
pub struct Shard {
    pub(crate) population: Population,
    pub(crate) world: World,
}

impl Shard {
    /// The shard of the users of `users` (whose worker it is, among as many shards), on their part of `network`.
    pub fn new(network: Arc<NetworkPlan>, directory: Arc<Directory>, users: Plan) -> Shard {
        Shard::reaching(Reach::Whole, network, directory, users)
    }

    /// The same without shared links: packets that come to one are taken out ([`crossings`](Self::crossings)), and handed
    /// in ([`take`](Self::take)) behind the last one, by whoever has the [links](crate::SharedLinks).
    pub fn of_ends(network: Arc<NetworkPlan>, directory: Arc<Directory>, users: Plan) -> Shard {
        Shard::reaching(Reach::Ends, network, directory, users)
    }

    pub(crate) fn reaching(
        reach: Reach,
        network: Arc<NetworkPlan>,
        directory: Arc<Directory>,
        users: Plan,
    ) -> Shard {
        let share = (users.worker, users.workers);
        let world = World::new(network, directory, users.seed, share, reach);
        Shard { population: Population::new(users), world }
    }

    /// Has packets captured from now on.
    pub fn capture(&mut self, plan: &CapturePlan) {
        self.world.tap = Some(Box::new(Tap::new(plan)));
    }

    /// Takes the packets that were captured, in order.
    pub fn take_captured(&mut self) -> Vec<Captured> {
        self.world.tap.as_mut().map(|tap| std::mem::take(&mut tap.seen)).unwrap_or_default()
    }

    /// Begins the load.
    pub fn start(&mut self) {
        self.population.start(&mut self.world);
        self.come_to_rest();
    }

    /// When something happens next, if anything will.
    pub fn next_at(&self) -> Option<Instant> {
        self.world.wheel.next_at()
    }

    /// Does the next thing that is due by `wall`, at its own instant; false if nothing is.
    pub fn step(&mut self, wall: Instant, lateness: &mut impl Lateness) -> bool {
        self.step_telling(wall, lateness).is_some()
    }

    /// The same without lateness; tells whether it was a packet.
    pub(crate) fn step_of(&mut self, wall: Instant) -> Option<bool> {
        self.step_telling(wall, &mut ())
    }

    fn step_telling(&mut self, wall: Instant, lateness: &mut impl Lateness) -> Option<bool> {
        let (due, event) = self.world.next_due(wall)?;
        self.world.look_ahead();
        // What follows from a packet that another thread handed over too late may have been due before.
        let may_be_late = self.world.reach == Reach::Ends;
        debug_assert!(due >= self.world.now || may_be_late, "time does not go back");
        self.world.now = self.world.now.max(due);
        match event {
            Event::Wake(wake) => {
                if wake.begins_load() {
                    lateness.begun(due, wall.since(due));
                }
                self.population.handle_wake(&mut self.world, due, due, wake);
            }
            Event::Timer { place, serial } => self.world.handle_timer(place, serial),
            Event::Waits(queue) => self.world.handle_waits(queue),
            Event::Packet(place) => {
                if !self.world.flights[place as usize].up {
                    lateness.arrived(due, wall.since(due));
                }
                self.world.travel(place);
            }
            Event::Verdict(at) => self.world.hear_verdicts(at),
            Event::Server(_) => unreachable!("a shard's server is not on its wheel"),
        }
        self.come_to_rest();
        Some(matches!(event, Event::Packet(_)))
    }

    /// Takes a packet that came from the server at `now`, or came to a shard that is late and had done what was due before
    /// `now`. What was due before must have been done.
    pub fn handle_packet(&mut self, now: Instant, packet: Packet) {
        self.world.now = self.world.now.max(now);
        match self.world.directory.find(packet.addresses.destination()) {
            Some(client) if client % self.world.shards == self.world.shard => {
                self.world.send_down(client / self.world.shards, packet);
                self.come_to_rest();
            }
            _ => self.world.drops.nobody += 1,
        }
    }

    /// Takes a packet that has left the shared links, or will.
    pub fn take(&mut self, mut crossing: Crossing) {
        debug_assert_eq!(crossing.shard(self.world.shards), self.world.shard, "a packet for another shard");
        // A client is a number there and a place here.
        crossing.flight.client /= self.world.shards;
        self.world.take(crossing);
        self.come_to_rest();
    }

    /// Takes the packets that have left for shared links, or will.
    pub fn crossings(&mut self) -> std::vec::Drain<'_, Crossing> {
        self.world.crossings.drain(..)
    }

    /// The next packet that has come to the server's door.
    pub fn poll_departure(&mut self) -> Option<Departure> {
        self.world.departures.pop_front()
    }

    /// Takes the samples of requests that are over.
    pub fn take_samples(&mut self) -> std::vec::Drain<'_, Sample> {
        self.world.samples.drain(..)
    }

    /// Takes the notes of what happened in sessions.
    pub fn take_notes(&mut self) -> std::vec::Drain<'_, Note> {
        self.world.notes.drain(..)
    }

    /// The users.
    pub fn population(&self) -> &Population {
        &self.population
    }

    /// The integral over the window of requests due and not over; see [`Population::in_system_area`].
    pub fn in_system_area(&mut self, now: Instant) -> u128 {
        self.population.in_system_area(now)
    }

    /// What was scheduled, begun and dropped so far.
    pub fn tally(&self) -> Tally {
        self.population.tally()
    }

    /// Connections begun so far.
    pub fn connects(&self) -> u64 {
        self.world.connects
    }

    /// Packets that the network did not deliver.
    pub fn drops(&self) -> Drops {
        self.world.drops
    }

    /// Begins no more load, not even what was due before the end.
    pub fn finish(&mut self) {
        self.population.finish();
    }

    /// Ends the run: what is still open is recorded as unfinished at `now`.
    pub fn cut(&mut self, now: Instant) {
        self.world.now = self.world.now.max(now);
        self.population.cut(&mut self.world, now);
    }

    /// Tells users what they are to hear until there is no more.
    fn come_to_rest(&mut self) {
        let Shard { population, world } = self;
        while let Some(told) = world.told.pop_front() {
            let now = world.now;
            match told {
                Told::Connected(key) => population.handle_connected(world, now, key),
                Told::Received(key, bytes) => {
                    // What was told with it: the user must not ask again where the server has closed.
                    let ends =
                        |next: &Told| matches!(next, Told::Closed(of) | Told::Failed(of, ..) if *of == key);
                    if world.told.front().is_some_and(ends) {
                        population.handle_ending(key);
                    }
                    population.handle_received(world, now, key, &bytes);
                }
                Told::Closed(key) => population.handle_closed(world, now, key),
                Told::Failed(key, failure, facts) => {
                    world.parting = facts.map(|facts| (key, facts));
                    population.handle_failed(world, now, key, failure);
                }
            }
        }
    }
}
