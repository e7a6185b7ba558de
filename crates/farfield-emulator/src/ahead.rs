//! Looking ahead: the memory that coming events will need, asked for all at once.
//!
//! With a million clients nearly every event needs memory that no cache holds. One event after the other would wait for
//! it, line after line. The wheel names the events that come next, many at a time, and here their packets, clients and
//! connections are read, each kind in a loop of its own, so that the processor waits for many lines at once. Nothing
//! follows from what is read: without this everything would happen as it does, but later.

use crate::flight::Flight;
use crate::world::{Event, World};
use farfield_base::Instant;

/// Clients of a plan whose memory caches hold without being asked: for fewer, looking ahead costs more than it saves.
const CLIENTS_CACHED: usize = 16_384;

impl World {
    /// Takes the next event that is due by `wall`. Where [`soon`](World::soon) is not empty afterwards, looking at these
    /// packets pays.
    pub fn next_due(&mut self, wall: Instant) -> Option<(Instant, Event)> {
        if self.plan.clients.len() <= CLIENTS_CACHED {
            return self.wheel.pop_due(wall);
        }
        let World { wheel, soon, .. } = self;
        wheel.pop_due_foretelling(wall, |event| {
            if let Event::Packet(place) = event {
                soon.push(*place);
            }
        })
    }

    /// Reads what the packets in [`soon`](World::soon) will need of this world, and forgets them.
    pub fn look_ahead(&mut self) {
        if self.soon.is_empty() {
            return;
        }
        let mut read = self.look_at_flights();
        let flights = || self.soon.iter().filter_map(|place| self.flights.get(*place as usize));
        for flight in flights() {
            if let Some(client) = self.clients.get(flight.client as usize) {
                read ^= client.look();
            }
        }
        for flight in flights().filter(|flight| !flight.up) {
            if let Some(place) = self.connection_of(flight)
                && let Some(socket) = self.connections.get(place as usize)
            {
                read ^= socket.tcp.look() ^ u64::from(socket.port);
            }
        }
        std::hint::black_box(read);
        self.soon.clear();
    }

    /// Reads the packets themselves.
    pub fn look_at_flights(&self) -> u64 {
        let flights = self.soon.iter().filter_map(|place| self.flights.get(*place as usize));
        flights.fold(0, |read, flight| read ^ u64::from(flight.client))
    }

    fn connection_of(&self, flight: &Flight) -> Option<u32> {
        self.clients.get(flight.client as usize)?.connection(flight.port()?)
    }
}
