//! Prefetching: the memory that coming events will need, asked for all at once.
//!
//! With a million clients nearly every event needs memory that no cache holds. One event after the other
//! would wait for it, line after line. The wheel names the events that come next, many at a time, and here
//! their packets, clients and connections are read, each kind in a loop of its own, so that the processor
//! waits for many lines at once. Nothing follows from what is read: without this everything would happen as
//! it does, but later.

use crate::client::{Client, OwnLink, PortKind};
use crate::flight::Flight;
use crate::hosts::EmulatedHosts;
use crate::shared::SharedSide;
use crate::slots::{ClientSlot, FlightSlot, SocketSlot};
use crate::transit::{SideEvent, Transit};
use farfield_base::Instant;
use farfield_model::ServerCore;
use farfield_tcp::Connection;

/// Clients of a plan whose memory caches hold without being asked: for fewer, prefetching costs more than it
/// saves.
const CLIENTS_CACHED: usize = 16_384;

impl<C: Copy, L, O> Transit<C, L, O> {
    /// Takes the next event that is due by `wall`. Where [`soon`](Transit::soon) is not empty afterwards,
    /// prefetching for these packets pays.
    pub fn next_due(&mut self, wall: Instant) -> Option<(Instant, SideEvent<L, O>)> {
        if self.plan.clients.len() <= CLIENTS_CACHED {
            return self.wheel.pop_due(wall);
        }
        let Transit { wheel, soon, .. } = self;
        wheel.pop_due_naming(wall, |event| {
            if let SideEvent::Packet(slot) = event {
                soon.push(*slot);
            }
        })
    }

    /// The packets whose events come soon.
    fn coming(&self) -> impl Iterator<Item = &Flight<C>> {
        let flight = |slot: &FlightSlot| self.flights.get(slot.index());
        self.soon.iter().filter_map(flight)
    }
}

impl EmulatedHosts {
    /// Reads what the packets that come soon will need of these hosts.
    pub fn prefetch<L, O>(&self, transit: &mut Transit<ClientSlot, L, O>) {
        if transit.soon.is_empty() {
            return;
        }
        let mut read = transit.coming().fold(0, |read, flight| read ^ u64::from(flight.client.get()));
        for flight in transit.coming() {
            if let Some(client) = self.clients.get(flight.client) {
                read ^= lines_of(client);
            }
        }
        for flight in transit.coming().filter(|flight| !flight.up) {
            if let Some(slot) = self.connection_of(flight)
                && let Some(socket) = self.tcp.get(slot)
            {
                read ^= tcp_lines_of(&socket.tcp) ^ u64::from(socket.port);
            }
        }
        std::hint::black_box(read);
        transit.soon.clear();
    }

    fn connection_of(&self, flight: &Flight<ClientSlot>) -> Option<SocketSlot> {
        let port = flight.port().filter(|(kind, _)| *kind == PortKind::Tcp)?;
        self.clients.get(flight.client)?.socket(port)
    }
}

impl<O> SharedSide<O> {
    /// Reads the packets that come soon.
    pub fn prefetch(&mut self) {
        if self.transit.soon.is_empty() {
            return;
        }
        let read = self.transit.coming().fold(0, |read, flight| read ^ u64::from(flight.client.get()));
        std::hint::black_box(read);
        self.transit.soon.clear();
    }

    /// Reads what the packets that come soon will need of the network's plan and of the server.
    pub fn prefetch_with(&mut self, server: &ServerCore) {
        if self.transit.soon.is_empty() {
            return;
        }
        let mut read = self.transit.coming().fold(0, |read, flight| read ^ u64::from(flight.client.get()));
        for flight in self.transit.coming() {
            let client = flight.client.index();
            read ^= u64::from(self.transit.plan.clients[client].rank)
                ^ u64::from(server.requests_of(flight.client));
        }
        for flight in self.transit.coming().filter(|flight| flight.up) {
            if let Some((tcp, unwritten)) =
                flight.port().and_then(|(_, port)| server.connection_of(flight.client, port))
            {
                read ^= tcp_lines_of(tcp) ^ unwritten;
            }
        }
        std::hint::black_box(read);
        self.transit.soon.clear();
    }
}

/// Reads both lines of a client.
fn lines_of(client: &Client) -> u64 {
    let link = |own: &OwnLink| match own {
        OwnLink::Plain(link) => link.busy_until().as_ns(),
        _ => 0,
    };
    link(client.own(true)) ^ link(client.own(false)) ^ u64::from(client.next_port()) ^ u64::from(client.class)
}

/// Reads each line of a connection that a segment will need.
fn tcp_lines_of(tcp: &Connection) -> u64 {
    let time = tcp.poll_timer().map_or(0, Instant::as_ns) ^ tcp.srtt().map_or(0, |srtt| srtt.as_ns());
    let counts = tcp.window().cwnd ^ tcp.counters().refused;
    tcp.state() as u64 ^ time ^ u64::from(counts) ^ tcp.unacknowledged()
}
