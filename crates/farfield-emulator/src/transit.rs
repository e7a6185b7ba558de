//! Time, wheel and packets under way of one side of the network.

use crate::cross_traffic::{CrossFlows, FlowSlot};
use crate::flight::Flight;
use crate::link_counts::LinkCounts;
use crate::packet::Packet;
use crate::plan::NetworkPlan;
use crate::slots::{ClientId, FlightSlot};
use farfield_base::Instant;
use farfield_net::{Cause, Wheel};
use slab::Slab;
use std::sync::Arc;

/// Time and packets on one side. `C` names a client there, `L` a link, and `O` is an event of what is at the
/// end of the side's links.
#[derive(Debug)]
pub(crate) struct Transit<C, L, O> {
    pub plan: Arc<NetworkPlan>,
    /// The instant that things happen at.
    pub now: Instant,
    pub wheel: Wheel<Event<L, O>>,
    pub flights: Slab<Flight<C>>,
    /// Packets whose events come soon; see [`prefetch`](crate::prefetch).
    pub soon: Vec<FlightSlot>,
    /// Packets that have left for another side, with when they get there.
    pub crossings: Vec<Crossing>,
    /// Packets of nobody's on the links here.
    pub cross: CrossFlows,
    /// Counters of shared links, where these are here.
    pub links: Box<[LinkCounts]>,
    pub drops: Drops,
}

/// An event of a side's wheel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event<L, O> {
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
    /// When it is meant to be at the other side.
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
    /// When it was meant to be there.
    pub intended: Instant,
    /// The packet.
    pub packet: Packet,
    /// The number of the server that it is for, or from.
    pub server: u16,
}

/// Packets that did not arrive, by cause. All of these are the network's doing, as the scenario asks.
///
/// The emulator counts them here, and knows no file: what `summary.json` has of them, a schema that outlives
/// versions, is `NetworkDrops` of farfield-measure, which knows no emulator. farfield-engine copies one into
/// the other, field by field, so that a new cause does not compile until both have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drops {
    /// Lost on the wire.
    pub lost: u64,
    /// Found a queue full.
    pub queue_full: u64,
    /// Dropped early by RED.
    pub early: u64,
    /// Dropped by CoDel for their delay.
    pub delayed: u64,
    /// Ran out of hops.
    pub expired: u64,
    /// Too big for a link.
    pub too_big: u64,
    /// Damaged on the way and refused by the client.
    pub damaged: u64,
    /// For an address that no client has.
    pub nobody: u64,
    /// Before a link that takes no packets.
    pub unreachable: u64,
}

impl Drops {
    pub(crate) fn count(&mut self, cause: Cause) {
        match cause {
            Cause::Lost => self.lost += 1,
            Cause::QueueFull => self.queue_full += 1,
            Cause::Early => self.early += 1,
            Cause::Delayed => self.delayed += 1,
        }
    }

    /// All of them.
    pub fn sum(&self) -> u64 {
        let Drops { lost, queue_full, early, delayed, expired, too_big, damaged, nobody, unreachable } =
            *self;
        lost + queue_full + early + delayed + expired + too_big + damaged + nobody + unreachable
    }

    /// Adds another side's.
    pub fn add(&mut self, other: &Drops) {
        let Drops { lost, queue_full, early, delayed, expired, too_big, damaged, nobody, unreachable } =
            *other;
        self.lost += lost;
        self.queue_full += queue_full;
        self.early += early;
        self.delayed += delayed;
        self.expired += expired;
        self.too_big += too_big;
        self.damaged += damaged;
        self.nobody += nobody;
        self.unreachable += unreachable;
    }
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
            drops: Drops::default(),
        }
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
            self.wheel.schedule(at.max(self.now), Event::Cross(slot));
        }
    }

    /// Schedules the end of a packet's stage at `at`.
    pub fn schedule(&mut self, at: Instant, flight: Flight<C>) {
        let slot = FlightSlot::at(self.flights.insert(flight));
        self.wheel.schedule(at, Event::Packet(slot));
    }

    /// Takes the packet in `slot` out, to go on.
    pub fn remove(&mut self, slot: FlightSlot) -> Flight<C> {
        self.flights.remove(slot.index())
    }
}
