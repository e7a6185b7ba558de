//! The hub: shared links and the server. And the far side: shared links away from the server, where they can be a part
//! of their own.

use super::sink::{EVENTS_A_LOOK, Remote};
use super::{Simulation, Tap};
use crate::server::Core;
use crate::world::{Crossing, Event, Reach, World};
use crate::{Directory, Packet};
use farfield_base::Instant;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct Hub<T> {
    pub links: Links,
    pub server: Core,
    tap: T,
}

/// Shared links.
#[derive(Debug)]
pub(crate) struct Links {
    pub world: World,
    pub events: u64,
    pub packet_events: u64,
}

impl Links {
    pub fn new(simulation: &Simulation, directory: &Arc<Directory>, reach: Reach) -> Links {
        let network = Arc::clone(&simulation.network);
        let world = World::new(network, Arc::clone(directory), simulation.seed, (0, 1), reach);
        Links { world, events: 0, packet_events: 0 }
    }

    /// Takes packets that have left other parts, or will.
    pub fn take(&mut self, crossings: &mut Vec<Crossing>) {
        for Crossing { at, flight } in crossings.drain(..) {
            let place = self.world.flights.insert(flight) as u32;
            self.world.wheel.schedule(at, Event::Packet(place));
        }
    }

    /// Does what is due before `end`, or less if it is to stop; returns how much that was.
    pub fn run(&mut self, end: Instant, remote: &Remote) -> u64 {
        let before = self.events;
        while let Some((_, event)) = self.next(end) {
            self.world.look_ahead();
            debug_assert!(!matches!(event, Event::Server(_)), "the server is elsewhere");
            if self.events.is_multiple_of(EVENTS_A_LOOK) && remote.stops() {
                break;
            }
        }
        self.events - before
    }

    pub fn next_at(&self) -> Instant {
        self.world.wheel.next_at().unwrap_or(Instant::MAX)
    }

    /// The next event before `end`, when it is due; done, if it is of the links.
    fn next(&mut self, end: Instant) -> Option<(Instant, Event)> {
        let last = Instant::from_ns(end.as_ns().checked_sub(1)?);
        let (due, event) = self.world.next_due(last)?;
        debug_assert!(due >= self.world.now, "time does not go back");
        self.world.now = due;
        self.events += 1;
        match event {
            Event::Packet(place) => {
                self.packet_events += 1;
                self.world.travel(place);
            }
            Event::Verdict(at) => self.world.hear_verdicts(at),
            Event::Server(_) => {}
            Event::Wake(_) | Event::Timer { .. } | Event::Waits(_) => unreachable!("no clients are here"),
        }
        Some((due, event))
    }
}

impl<T: Tap> Hub<T> {
    pub fn new(simulation: &Simulation, directory: &Arc<Directory>, reach: Reach, tap: T) -> Hub<T> {
        let (network, plan) = (Arc::clone(&simulation.network), Arc::clone(&simulation.server));
        let server = Core::new(plan, network, Arc::clone(directory), simulation.seed);
        Hub { links: Links::new(simulation, directory, reach), server, tap }
    }

    /// Does what is due before `end`, or less if it is to stop; returns how much that was.
    pub fn run(&mut self, end: Instant, remote: &Remote) -> u64 {
        let before = self.links.events;
        while let Some((due, event)) = self.links.next(end) {
            self.look_ahead();
            if let Event::Server(alarm) = event {
                self.server.handle_alarm(due, alarm);
            }
            self.come_to_rest(due);
            if self.links.events.is_multiple_of(EVENTS_A_LOOK) && remote.stops() {
                break;
            }
        }
        self.links.events - before
    }

    /// Reads what coming packets will need of the network's plan and of the server.
    fn look_ahead(&mut self) {
        let world = &mut self.links.world;
        if world.soon.is_empty() {
            return;
        }
        let mut read = world.look_at_flights();
        let flights = || world.soon.iter().filter_map(|place| world.flights.get(*place as usize));
        for flight in flights() {
            read ^=
                u64::from(world.plan.clients[flight.client as usize].rank) ^ self.server.look(flight.client);
        }
        for flight in flights().filter(|flight| flight.up) {
            if let Some(port) = flight.port() {
                read ^= self.server.look_at(flight.client, port);
            }
        }
        std::hint::black_box(read);
        world.soon.clear();
    }

    /// Hands packets to and fro between the network and the server until there are none.
    fn come_to_rest(&mut self, now: Instant) {
        let world = &mut self.links.world;
        loop {
            while let Some(flight) = world.at_server.pop_front() {
                let client = flight.client;
                if self.tap.looks() {
                    self.tap.see(now, true, &world.packet_of(flight.clone()));
                }
                match flight.open(world.plan.servers.port) {
                    Ok(tcp) => self.server.handle_segment(now, client, &tcp),
                    Err(packet) => self.server.handle_packet(now, client, *packet),
                }
            }
            let Some((client, tcp)) = self.server.departures.pop_front() else { break };
            if self.tap.looks() {
                let packet = Packet::tcp(world.addresses(client).reversed(), tcp.clone());
                self.tap.see(now, false, &packet);
            }
            world.send_segment((client, false), tcp.destination_port, &tcp.segment, &tcp.payload);
        }
        for (at, alarm) in self.server.alarms.drain(..) {
            world.wheel.schedule(at, Event::Server(alarm));
        }
    }
}
