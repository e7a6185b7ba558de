//! The hub: shared links and the server.

use super::{Simulation, Tap};
use crate::Directory;
use crate::server::Core;
use crate::world::{Crossing, Event, Flight, Reach, World};
use farfield_base::Instant;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct Hub<T> {
    pub world: World,
    pub server: Core,
    tap: T,
    pub events: u64,
    pub packet_events: u64,
}

impl<T: Tap> Hub<T> {
    pub fn new(simulation: &Simulation, directory: &Arc<Directory>, tap: T) -> Hub<T> {
        let (network, seed) = (&simulation.network, simulation.seed);
        let plan = Arc::clone(&simulation.server);
        Hub {
            world: World::new(Arc::clone(network), Arc::clone(directory), seed, (0, 1), Reach::Shared),
            server: Core::new(plan, Arc::clone(network), Arc::clone(directory), seed),
            tap,
            events: 0,
            packet_events: 0,
        }
    }

    /// Takes packets that have left clients' own links, or will.
    pub fn take(&mut self, crossings: &mut Vec<Crossing>) {
        for Crossing { at, flight } in crossings.drain(..) {
            let place = self.world.flights.insert(flight) as u32;
            self.world.wheel.schedule(at, Event::Packet(place));
        }
    }

    /// Does what is due before `end`; returns how much that was.
    pub fn run(&mut self, end: Instant) -> u64 {
        let Some(last) = end.as_ns().checked_sub(1).map(Instant::from_ns) else { return 0 };
        let before = self.events;
        while let Some((due, event)) = self.world.wheel.pop_due(last) {
            debug_assert!(due >= self.world.now, "time does not go back");
            self.world.now = due;
            self.events += 1;
            match event {
                Event::Packet(place) => {
                    self.packet_events += 1;
                    self.world.travel(place);
                }
                Event::Verdict(at) => self.world.hear_verdicts(at),
                Event::Server(alarm) => self.server.handle_alarm(due, alarm),
                Event::Wake(_) | Event::Timer { .. } => unreachable!("no clients are here"),
            }
            self.come_to_rest(due);
        }
        self.events - before
    }

    /// Hands packets to and fro between the network and the server until there are none.
    fn come_to_rest(&mut self, now: Instant) {
        loop {
            while let Some(departure) = self.world.departures.pop_front() {
                self.tap.see(now, true, &departure.packet);
                self.server.handle_packet(now, departure.client, departure.packet);
            }
            let Some((client, packet)) = self.server.departures.pop_front() else { break };
            self.tap.see(now, false, &packet);
            let flight = Flight { packet, client, up: false, stage: 0 };
            self.world.set_out(flight);
        }
        for (at, alarm) in self.server.alarms.drain(..) {
            self.world.wheel.schedule(at, Event::Server(alarm));
        }
    }

    pub fn next_at(&self) -> Instant {
        self.world.wheel.next_at().unwrap_or(Instant::MAX)
    }
}
