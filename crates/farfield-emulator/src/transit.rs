//! Time, wheel and packets under way of one side of the network.

use crate::cross_traffic::{CrossFlows, FlowSlot};
use crate::flight::Flight;
use crate::link_counts::LinkCounts;
use crate::packet::Packet;
use crate::plan::NetworkPlan;
use crate::slots::{ClientId, FlightSlot};
use farfield_base::{Instant, NetworkDrops};
use farfield_net::{DropCause, Wheel};
use slab::Slab;
use std::sync::Arc;

/// Time and packets on one side. `C` names a client there, `L` a link, and `O` is an event of what is at the
/// end of the side's links.
#[derive(Debug)]
pub(crate) struct Transit<C, L, O> {
    pub plan: Arc<NetworkPlan>,
    /// The instant that things happen at.
    pub now: Instant,
    pub wheel: Wheel<SideEvent<L, O>>,
    pub flights: Slab<Flight<C>>,
    /// Packets whose events come soon; see [`prefetch`](crate::prefetch).
    pub soon: Vec<FlightSlot>,
    /// Packets that have left for another side, with when they get there.
    pub crossings: Vec<Crossing>,
    /// Packets of nobody's on the links here.
    pub cross: CrossFlows,
    /// Counters of shared links, where these are here.
    pub links: Box<[LinkCounts]>,
    pub drops: NetworkDrops,
}

/// An event of a side's wheel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SideEvent<L, O> {
    /// A packet under way has come to the end of its stage.
    Packet(FlightSlot),
    /// A queue has decided on a packet that waited before this link.
    Fate(L),
    /// A packet of cross traffic comes to its link.
    Cross(FlowSlot),
    /// An event of what is at the end of the links.
    Other(O),
}

/// A packet between sides, on its way from one thread to another, with the instant at which it is meant to be
/// at the other side.
#[derive(Debug)]
pub struct Crossing {
    pub(crate) at: Instant,
    pub(crate) flight: Flight<ClientId>,
}

impl Crossing {
    /// The instant at which it is meant to be at the other side.
    pub fn at(&self) -> Instant {
        self.at
    }

    /// The shard, among as many, of the client that it is from or for.
    pub fn shard(&self, shards: u32) -> u32 {
        self.flight.client.shard(shards)
    }
}

/// A packet that has come to an end of the network: to the gateway, or to a client that is a real host.
#[derive(Debug)]
pub struct Departure {
    /// The instant at which it was meant to be there.
    pub intended: Instant,
    /// The packet.
    pub packet: Packet,
    /// The number of the server that it is for, or from.
    pub server: u16,
}

impl<C, L, O> Transit<C, L, O> {
    /// Nothing is under way yet.
    pub fn new(plan: Arc<NetworkPlan>) -> Transit<C, L, O> {
        Transit {
            plan,
            now: Instant::ZERO,
            wheel: Wheel::new(),
            flights: Slab::new(),
            soon: Vec::new(),
            crossings: Vec::new(),
            cross: CrossFlows::default(),
            links: Box::default(),
            drops: NetworkDrops::default(),
        }
    }

    /// Counts a packet that a link did not deliver.
    pub(crate) fn drop_for(&mut self, cause: DropCause) {
        let drops = &mut self.drops;
        *match cause {
            DropCause::Lost => &mut drops.lost,
            DropCause::QueueFull => &mut drops.queue_full,
            DropCause::Early => &mut drops.early,
            DropCause::Delayed => &mut drops.delayed,
        } += 1;
    }

    /// Lets `flows` begin.
    pub fn begin_cross(&mut self, flows: CrossFlows) {
        self.cross = flows;
        for slot in self.cross.slots() {
            self.schedule_cross(slot);
        }
    }

    /// Schedules the next packet of a flow, if there is one.
    pub fn schedule_cross(&mut self, slot: FlowSlot) {
        if let Some(at) = self.cross.next_at(slot) {
            self.wheel.schedule(at.max(self.now), SideEvent::Cross(slot));
        }
    }

    /// Schedules the end of a packet's stage at `at`.
    pub fn schedule(&mut self, at: Instant, flight: Flight<C>) {
        let slot = FlightSlot::at(self.flights.insert(flight));
        self.wheel.schedule(at, SideEvent::Packet(slot));
    }

    /// Takes the packet in `slot` out, to go on.
    pub fn remove(&mut self, slot: FlightSlot) -> Flight<C> {
        self.flights.remove(slot.index())
    }
}
