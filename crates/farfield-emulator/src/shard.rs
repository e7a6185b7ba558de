//! A shard: users, and the clients' side of the network under them.

use crate::capture::{CapturePlan, CapturedPacket};
use crate::client_event::ClientEvent;
use crate::client_side::ClientSide;
use crate::clients::ClientShare;
use crate::directory::Directory;
use crate::forward::Forward;
use crate::lag;
use crate::lateness::Lateness;
use crate::link_counts::LinkCounts;
use crate::links::{LinkPosition, ShardScope};
use crate::packet::Packet;
use crate::plan::NetworkPlan;
use crate::real_hosts::RealHosts;
use crate::slots::{ClientId, ClientSlot};
use crate::transit::{Crossing, Departure, SideEvent};
use crate::upcalls::Upcall;
use farfield_base::{CrossCounts, Instant, LoadCounts, NetworkDrops, Note, Opened, Sample};
use farfield_model::ServerPlan;
use farfield_user::{Plan, Population, Wake};
use std::net::IpAddr;
use std::sync::Arc;

/// One shard of an emulated internet. See the [crate](crate).
#[derive(Debug)]
pub struct Shard {
    pub(crate) population: Population,
    directory: Arc<Directory>,
    pub(crate) side: ClientSide,
}

impl Shard {
    /// The shard of the users of `users` (whose worker it is, among as many shards), on their part of
    /// `network`.
    pub fn new(network: Arc<NetworkPlan>, directory: Arc<Directory>, users: Plan) -> Shard {
        Shard::with(ShardScope::Everything, network, directory, users)
    }

    /// A shard without shared links: packets that come to one are taken out ([`crossings`](Self::crossings)),
    /// and handed in ([`take`](Self::take)) behind the last one, by the owner of the
    /// [links](crate::SharedLinks).
    pub fn of_ends(network: Arc<NetworkPlan>, directory: Arc<Directory>, users: Plan) -> Shard {
        Shard::with(ShardScope::Gateway, network, directory, users)
    }

    pub(crate) fn with(
        beyond: ShardScope,
        network: Arc<NetworkPlan>,
        directory: Arc<Directory>,
        plan: Plan,
    ) -> Shard {
        let share = ClientShare { shard: plan.worker, shards: plan.workers };
        let side = ClientSide::new(network, plan.users.seed, share, beyond);
        Shard { population: Population::new(plan), directory, side }
    }

    /// Captures packets from now on.
    pub fn capture(&mut self, plan: &CapturePlan) {
        self.side.edge.capture(plan);
    }

    /// Takes the packets that were captured, in order.
    pub fn take_captured(&mut self) -> Vec<CapturedPacket> {
        self.side.edge.take_captured()
    }

    /// Lets models be the servers of the network with these numbers. No other shard may have clients of
    /// theirs.
    pub fn model_servers(&mut self, servers: Vec<(u16, Arc<ServerPlan>)>) {
        self.side.edge.model_servers(servers, &self.side.transit.plan, &self.directory);
    }

    /// Puts real hosts in the places of these clients of the shard, before the load begins. Users act on the
    /// others, of which there must be one at least.
    pub fn seat(&mut self, hosts: &[ClientId]) {
        let side = &mut self.side;
        side.hosts.clients.keep_users_off(hosts);
        let slots = hosts.iter().map(|client| side.hosts.clients.share.slot_of(*client)).collect();
        side.edge.seat(RealHosts::at(slots));
    }

    /// Takes a packet that a real host sent at `now`. One whose source is no such host's address, or
    /// whose destination is neither a server's nor another such host's, is dropped, and counted as for
    /// nobody: behind the gateway a kernel might pass it on.
    pub fn handle_host_packet(&mut self, now: Instant, packet: Packet) {
        self.side.transit.now = self.side.transit.now.max(now);
        let is_for_a_host = self.side.transit.plan.far_at(packet.addresses.destination()).is_some();
        let host = self.own(packet.addresses.source()).filter(|client| self.side.edge.is_real(*client));
        match host.filter(|_| is_for_a_host) {
            Some(client) => {
                self.side.send_real(client, packet, true);
                self.come_to_rest();
            }
            None => self.side.transit.drops.nobody += packet.packets(),
        }
    }

    /// The next packet that has come to a real host.
    pub fn poll_arrival(&mut self) -> Option<Departure> {
        self.side.edge.next_arrival()
    }

    /// The client of this shard at `address`.
    fn own(&self, address: IpAddr) -> Option<ClientSlot> {
        let client = self.directory.find(address)?;
        let share = self.side.hosts.clients.share;
        share.has(client).then(|| share.slot_of(client))
    }

    /// Notes the addresses of connections from now on.
    pub fn note_connections(&mut self) {
        self.side.records.note_connections();
    }

    /// Takes the connections that were noted, in the order in which they were begun.
    pub fn take_opened(&mut self) -> Vec<Opened> {
        self.side.records.take_opened()
    }

    /// Begins the load.
    pub fn start(&mut self) {
        self.population.start(&mut self.side);
        self.come_to_rest();
    }

    /// The instant of the next event, if there is one.
    pub fn next_at(&self) -> Option<Instant> {
        self.side.next_at()
    }

    /// The instant at which the load was due that has been put aside first, if any has.
    pub fn late_load_at(&self) -> Option<Instant> {
        self.side.lag.late_load.front().map(|(due, _)| *due)
    }

    /// Does the next thing that is due by `wall`; false if nothing is. See [`lag`](crate::lag) for the
    /// instant at which it happens.
    pub fn step(&mut self, wall: Instant, lateness: &mut impl Lateness) -> bool {
        self.step_packet(wall, lag::floor(wall), lateness).is_some()
    }

    /// Steps as [`step`](Self::step) does, in virtual time; true if the event was a packet, `None` if nothing
    /// was due.
    pub(crate) fn step_of(&mut self, wall: Instant) -> Option<bool> {
        self.step_packet(wall, Instant::ZERO, &mut ())
    }

    /// `floor` is the earliest instant at which anything happens now.
    fn step_packet(&mut self, wall: Instant, floor: Instant, lateness: &mut impl Lateness) -> Option<bool> {
        self.side.lag.floor = floor;
        if self.side.step_model(wall, floor) {
            self.come_to_rest();
            self.side.lag.overdue = None;
            return Some(false);
        }
        let (due, event) = self.next_in_turn(wall)?;
        self.side.hosts.prefetch(&mut self.side.transit);
        let at = due.max(floor);
        // Events that follow from a packet which another thread handed over too late may have been due
        // before.
        debug_assert!(
            at >= self.side.transit.now || self.side.lag.is_real_time() || self.side.may_be_late(),
            "time does not go back"
        );
        self.side.transit.now = self.side.transit.now.max(at);
        self.side.lag.overdue = (due < floor).then_some(due);
        match event {
            SideEvent::Other(ClientEvent::Wake(wake)) => self.handle_wake(wall, due, wake, lateness),
            SideEvent::Other(ClientEvent::Timer(owner)) => self.side.handle_timer(owner),
            SideEvent::Other(ClientEvent::Timeouts(queue)) => self.side.handle_timeouts(queue),
            SideEvent::Other(ClientEvent::Move(place)) => {
                self.side.hosts.move_client(&self.side.transit.plan, place)
            }
            SideEvent::Packet(slot) => {
                if !self.side.transit.flights[slot.index()].up {
                    lateness.arrived(due, wall.since(due));
                }
                self.side.travel(slot);
            }
            SideEvent::Fate(at) => self.side.poll_fates(at),
            SideEvent::Cross(slot) => self.side.send_cross(slot),
        }
        self.come_to_rest();
        self.side.lag.overdue = None;
        Some(matches!(event, SideEvent::Packet(_)))
    }

    /// The next event that is due by `wall`. Load that is due before the floor is put aside.
    fn next_in_turn(&mut self, wall: Instant) -> Option<(Instant, SideEvent<LinkPosition, ClientEvent>)> {
        loop {
            let (due, event) = self.side.transit.next_due(wall)?;
            match event {
                SideEvent::Other(ClientEvent::Wake(wake))
                    if wake.begins_load() && due < self.side.lag.floor =>
                {
                    self.side.lag.late_load.push_back((due, wake));
                }
                _ => return Some((due, event)),
            }
        }
    }

    /// Begins load that was put aside, the first first, at `wall`; false if there is none. To be called when
    /// nothing else is due by `wall` and no packet from the server waits.
    pub fn begin_late_load(&mut self, wall: Instant, lateness: &mut impl Lateness) -> bool {
        let Some((due, wake)) = self.side.lag.late_load.pop_front() else { return false };
        self.side.transit.now = self.side.transit.now.max(wall);
        self.handle_wake(wall, due, wake, lateness);
        self.come_to_rest();
        true
    }

    fn handle_wake(&mut self, wall: Instant, due: Instant, wake: Wake, lateness: &mut impl Lateness) {
        if wake.is_scheduled() {
            lateness.begun(due, wall.since(due));
        }
        let now = self.side.transit.now;
        self.population.handle_wake(&mut self.side, now, due, wake);
    }

    /// Takes a packet that came from a server at `now`, for a client or another server, or came to a
    /// shard that is late and had done what was due before `now`. What was due before must have been
    /// done.
    pub fn handle_packet(&mut self, now: Instant, packet: Packet) {
        self.side.transit.now = self.side.transit.now.max(now);
        match self.own(packet.addresses.destination()) {
            Some(client) if self.side.edge.is_real(client) => self.side.send_real(client, packet, false),
            Some(client) => {
                self.side.send_down(client, packet);
                self.come_to_rest();
            }
            None => self.side.handle_for_server(packet),
        }
    }

    /// Takes a packet that has left the shared links, or will.
    pub fn take(&mut self, crossing: Crossing) {
        let (Crossing { at, flight }, share) = (crossing, self.side.hosts.clients.share);
        debug_assert!(share.has(flight.client), "a packet for another shard");
        let client = share.slot_of(flight.client);
        self.side.take_at(at, flight.of_client(client));
        self.come_to_rest();
    }

    /// Takes the packets that have left for shared links, or will.
    pub fn crossings(&mut self) -> std::vec::Drain<'_, Crossing> {
        self.side.transit.crossings.drain(..)
    }

    /// The next packet that has come to the gateway.
    pub fn poll_departure(&mut self) -> Option<Departure> {
        self.side.edge.departures.pop_front()
    }

    /// Takes the samples of requests that are over.
    pub fn take_samples(&mut self) -> std::vec::Drain<'_, Sample> {
        self.side.records.samples.drain(..)
    }

    /// Takes the notes of what happened in sessions.
    pub fn take_notes(&mut self) -> std::vec::Drain<'_, Note> {
        self.side.records.notes.drain(..)
    }

    /// The users.
    pub fn population(&self) -> &Population {
        &self.population
    }

    /// The integral over the window of requests due and not over; see [`Population::in_system_area`].
    pub fn in_system_area(&mut self, now: Instant) -> u128 {
        self.population.in_system_area(now)
    }

    /// Counters of load that was scheduled, begun and dropped so far.
    pub fn counts(&self) -> LoadCounts {
        self.population.counts()
    }

    /// Connections begun so far.
    pub fn connects(&self) -> u64 {
        self.side.records.connects
    }

    /// Counters of each flow of cross traffic, as far as its link is here.
    pub fn cross_counts(&self) -> Vec<CrossCounts> {
        self.side.transit.cross.counts()
    }

    /// Counters of each shared link; empty where these are not here.
    pub fn link_counts(&self) -> &[LinkCounts] {
        &self.side.transit.links
    }

    /// Packets that the network did not deliver.
    pub fn drops(&self) -> NetworkDrops {
        self.side.transit.drops
    }

    /// Begins no more load, not even what was due before the end.
    pub fn finish(&mut self) {
        self.population.finish();
    }

    /// Ends virtual time at `now`, as [`cut`](Self::cut), where nobody carries the closing of connections.
    pub fn end(&mut self, now: Instant) {
        self.side.hosts.is_over = true;
        self.cut(now);
    }

    /// Ends the run: what is still open is recorded as unfinished at `now`.
    pub fn cut(&mut self, now: Instant) {
        self.side.transit.now = self.side.transit.now.max(now);
        self.population.cut(&mut self.side, now);
    }

    /// Delivers the queued upcalls, and what models of servers say to what follows from them, until
    /// nothing is left to be done now.
    fn come_to_rest(&mut self) {
        loop {
            self.call_users();
            if !self.side.serve_models() {
                return;
            }
        }
    }

    /// Makes the upcalls that are queued, and those that follow from them.
    fn call_users(&mut self) {
        let Shard { population, side, .. } = self;
        while let Some(upcall) = side.hosts.upcalls.pop() {
            let now = side.transit.now;
            match upcall {
                Upcall::Connected(key) => population.handle_connected(side, now, key),
                Upcall::Received(key, bytes) => {
                    // A close that is queued with it comes first: the user must not ask again where the
                    // server has closed.
                    if side.hosts.upcalls.end_next(key) {
                        population.handle_ending(key);
                    }
                    population.handle_received(side, now, key, &bytes);
                }
                Upcall::Datagram(key, ecn, bytes) => {
                    let len = bytes.len().max(1);
                    population.handle_datagrams(side, now, key, ecn.bits(), len, &bytes);
                }
                Upcall::Closed(key) => population.handle_closed(side, now, key),
                Upcall::Moved(key) => population.handle_moved(side, now, key),
                Upcall::Failed(key, failure, _) => population.handle_failed(side, now, key, failure),
            }
        }
    }
}
