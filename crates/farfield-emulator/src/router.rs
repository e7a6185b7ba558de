//! The emulated network as a router between real hosts: clients whose TCP is a kernel's, at the addresses and
//! behind the paths of emulated ones, and servers behind the gateway.
//!
//! It is the delay router of Banga and Druschel (1999, section 4.3) with the links, queues, losses and
//! topologies of this crate: each packet takes the way that one of an emulated client would take, and is
//! otherwise passed on as it is. Packets are handed in as bytes ([`Packet::raw`], or
//! [`Framed`](crate::Framed) as a kernel with offload hands them over), since a kernel may set options that
//! an emulated host has no meaning for.

use crate::capture::{CapturePlan, CapturedPacket};
use crate::client_side::ClientSide;
use crate::clients::ClientShare;
use crate::directory::Directory;
use crate::forward::Forward;
use crate::lag;
use crate::lateness::Lateness;
use crate::links::ShardScope;
use crate::packet::Packet;
use crate::plan::NetworkPlan;
use crate::real_hosts::RealHosts;
use crate::slots::ClientSlot;
use crate::transit::{Departure, SideEvent};
use farfield_base::random::Seed;
use farfield_base::{CrossCounts, Instant, NetworkDrops};
use farfield_model::ServerPlan;
use std::net::IpAddr;
use std::sync::Arc;

/// An emulated network with real hosts at both ends.
///
/// It does no I/O and reads no clock, like a [`Shard`](crate::Shard): packets are handed in, time is let
/// pass, packets that have arrived are taken out.
#[derive(Debug)]
pub struct Router {
    directory: Arc<Directory>,
    side: ClientSide,
}

impl Router {
    /// A router for the clients of `network`, whose links draw from `seed`.
    pub fn new(network: Arc<NetworkPlan>, seed: Seed) -> Router {
        let directory = Arc::new(Directory::new(&network));
        let mut side =
            ClientSide::new(network, seed, ClientShare { shard: 0, shards: 1 }, ShardScope::Everything);
        side.edge.seat(RealHosts::all());
        Router { directory, side }
    }

    /// Lets models be the servers of the network with these numbers.
    pub fn model_servers(&mut self, servers: Vec<(u16, Arc<ServerPlan>)>) {
        self.side.edge.model_servers(servers, &self.side.transit.plan, &self.directory);
    }

    /// Captures packets from now on.
    pub fn capture(&mut self, plan: &CapturePlan) {
        self.side.edge.capture(plan);
    }

    /// Takes the packets that were captured, in order.
    pub fn take_captured(&mut self) -> Vec<CapturedPacket> {
        self.side.edge.take_captured()
    }

    /// The instant of the next event, if there is one.
    pub fn next_at(&self) -> Option<Instant> {
        self.side.next_at()
    }

    /// Does the next thing that is due by `wall`; false if nothing is. It happens when it was due, or the
    /// longest [lag](crate::lag) before `wall` if that is later.
    pub fn step(&mut self, wall: Instant, lateness: &mut impl Lateness) -> bool {
        let floor = lag::floor(wall);
        self.side.lag.floor = floor;
        if self.side.step_model(wall, floor) {
            self.side.serve_models();
            self.side.lag.overdue = None;
            return true;
        }
        let Some((due, event)) = self.side.transit.next_due(wall) else { return false };
        let now = &mut self.side.transit.now;
        *now = (*now).max(due.max(floor));
        self.side.lag.overdue = (due < floor).then_some(due);
        match event {
            SideEvent::Packet(slot) => {
                lateness.arrived(due, wall.since(due));
                self.side.travel(slot);
            }
            SideEvent::Fate(link) => self.side.poll_fates(link),
            SideEvent::Cross(slot) => self.side.send_cross(slot),
            // Of emulated hosts, of which there are none.
            SideEvent::Other(_) => {}
        }
        self.side.serve_models();
        self.side.lag.overdue = None;
        true
    }

    /// Takes a packet that a client sent at `now`. One whose source is no client's address is dropped, and
    /// counted as for nobody.
    pub fn handle_client_packet(&mut self, now: Instant, packet: Packet) {
        let (source, destination) = (packet.addresses.source(), packet.addresses.destination());
        self.enter(now, [source, destination], packet, true);
    }

    /// Takes a packet that a server sent to a client, or to another server, at `now`.
    pub fn handle_server_packet(&mut self, now: Instant, packet: Packet) {
        let destination = packet.addresses.destination();
        if self.directory.find(destination).is_none() {
            self.side.transit.now = self.side.transit.now.max(now);
            return self.side.handle_for_server(packet);
        }
        self.enter(now, [destination, packet.addresses.source()], packet, false);
    }

    /// Lets a packet between the client at `address` and `far` in, or each packet of a large one that may
    /// not pass whole.
    fn enter(&mut self, now: Instant, [address, far]: [IpAddr; 2], packet: Packet, up: bool) {
        self.side.transit.now = self.side.transit.now.max(now);
        let Some(client) = self.directory.find_pair(address, far) else {
            self.side.transit.drops.nobody += packet.packets();
            return;
        };
        self.side.send_real(ClientSlot::of(client, 1), packet, up);
        self.side.serve_models();
    }

    /// The next packet that has come to the gateway, for a server.
    pub fn poll_departure(&mut self) -> Option<Departure> {
        self.side.edge.departures.pop_front()
    }

    /// The next packet that has come to its client.
    pub fn poll_arrival(&mut self) -> Option<Departure> {
        self.side.edge.next_arrival()
    }

    /// Counters of each flow of cross traffic.
    pub fn cross_counts(&self) -> Vec<CrossCounts> {
        self.side.transit.cross.counts()
    }

    /// Packets that the network did not deliver.
    pub fn drops(&self) -> NetworkDrops {
        self.side.transit.drops
    }
}
