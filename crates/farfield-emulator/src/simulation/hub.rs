//! The hub: shared links and the server. And the far side: shared links away from the server, where they can
//! be a partition of their own.

use super::sink::{EVENTS_A_LOOK, Remote};
use super::{Simulation, Tap};
use crate::Directory;
use crate::flight::FlightContents;
use crate::forward::Forward;
use crate::packet::Packet;
use crate::server::core_of;
use crate::shared::{Extent, SharedSide};
use crate::transit::{Crossing, SideEvent};
use farfield_base::Instant;
use farfield_model::{IpPayload, ServerAlarm, ServerCore};
use std::convert::Infallible;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct Hub<T> {
    pub links: Links<ServerAlarm>,
    pub server: ServerCore,
    tap: T,
}

/// Shared links, with the events that were done there.
#[derive(Debug)]
pub(crate) struct Links<O> {
    pub side: SharedSide<O>,
    pub events: u64,
    pub packet_events: u64,
}

impl<O: Copy> Links<O> {
    pub fn new(simulation: &Simulation, extent: Extent) -> Links<O> {
        let side = SharedSide::new(Arc::clone(&simulation.network), simulation.users.seed, extent);
        Links { side, events: 0, packet_events: 0 }
    }

    /// Takes packets that have left other partitions, or will.
    pub fn take(&mut self, crossings: &mut Vec<Crossing>) {
        for Crossing { at, flight } in crossings.drain(..) {
            self.side.transit.schedule(at, flight);
        }
    }

    pub fn next_at(&self) -> Instant {
        self.side.transit.wheel.next_at().unwrap_or(Instant::MAX)
    }

    /// Does the next event before `end`; returns when it was due, and the event if it is none of the links.
    fn next(&mut self, end: Instant) -> Option<(Instant, Option<O>)> {
        let last = Instant::from_ns(end.as_ns().checked_sub(1)?);
        let (due, event) = self.side.transit.next_due(last)?;
        debug_assert!(due >= self.side.transit.now, "time does not go back");
        self.side.transit.now = due;
        self.events += 1;
        let other = match event {
            SideEvent::Packet(slot) => {
                self.packet_events += 1;
                self.side.travel(slot);
                None
            }
            SideEvent::Fate(link) => {
                self.side.poll_fates(link);
                None
            }
            SideEvent::Cross(slot) => {
                self.side.send_cross(slot);
                None
            }
            SideEvent::Other(other) => Some(other),
        };
        Some((due, other))
    }
}

impl Links<Infallible> {
    /// Does what is due before `end`, or less if it is to stop; returns how much that was.
    pub fn run(&mut self, end: Instant, remote: &Remote) -> u64 {
        let before = self.events;
        while self.next(end).is_some() {
            self.side.prefetch();
            if self.events.is_multiple_of(EVENTS_A_LOOK) && remote.stops() {
                break;
            }
        }
        self.events - before
    }
}

impl<T: Tap> Hub<T> {
    pub fn new(simulation: &Simulation, directory: &Arc<Directory>, extent: Extent, tap: T) -> Hub<T> {
        let (network, plan) = (Arc::clone(&simulation.network), Arc::clone(&simulation.server));
        let server = core_of(plan, network, Arc::clone(directory), simulation.users.seed);
        Hub { links: Links::new(simulation, extent), server, tap }
    }

    /// Does what is due before `end`, or less if it is to stop; returns how much that was.
    pub fn run(&mut self, end: Instant, remote: &Remote) -> u64 {
        let before = self.links.events;
        while let Some((due, alarm)) = self.links.next(end) {
            self.links.side.prefetch_with(&self.server);
            if let Some(alarm) = alarm {
                self.server.handle_alarm(due, alarm);
            }
            self.come_to_rest(due);
            if self.links.events.is_multiple_of(EVENTS_A_LOOK) && remote.stops() {
                break;
            }
        }
        self.links.events - before
    }

    /// Hands packets to and fro between the network and the server until there are none.
    fn come_to_rest(&mut self, now: Instant) {
        let side = &mut self.links.side;
        loop {
            while let Some(flight) = side.arrived.pop_front() {
                let client = flight.client;
                if self.tap.looks() {
                    self.tap.see(now, true, client, &side.packet_of(flight.clone()));
                }
                let ecn = flight.ecn();
                match flight.open(side.transit.plan.servers.port) {
                    FlightContents::Segment(tcp) => self.server.handle_segment(now, client, &tcp),
                    FlightContents::Datagram(udp) => self.server.handle_datagram(now, client, ecn, &udp),
                    FlightContents::Whole(packet) => match packet.into_payload() {
                        Some(IpPayload::Segment(tcp)) => self.server.handle_segment(now, client, &tcp),
                        Some(IpPayload::Datagram(ecn, udp)) => {
                            self.server.handle_datagram(now, client, ecn, &udp);
                        }
                        None => self.server.handle_unreadable(),
                    },
                }
            }
            let Some((client, sent)) = self.server.poll_sent() else { break };
            if self.tap.looks() {
                let packet = Packet::of_payload(side.addresses(client).reversed(), sent.clone());
                self.tap.see(now, false, client, &packet);
            }
            match sent {
                IpPayload::Segment(tcp) => side.send_down(client, tcp),
                IpPayload::Datagram(ecn, udp) => side.send_datagram_down(client, ecn, &udp),
            }
        }
        for (at, alarm) in self.server.take_alarms() {
            side.transit.wheel.schedule(at, SideEvent::Other(alarm));
        }
    }
}
