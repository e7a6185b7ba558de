//! Cross traffic at work: each packet of a flow is offered to its link when it comes, and that is all that
//! becomes of it. What the link makes of it is counted apart from the packets of clients.
//!
//! The instants of a flow are its own: they depend neither on clients nor on the side that holds the link.

use crate::five_tuple::hash_of_cross;
use crate::plan::{NetworkPlan, RoutePlan};
use crate::slots::SharedLinkId;
use farfield_base::random::{Purpose, Seed};
use farfield_base::{CrossCounts, Instant};
use farfield_net::{CrossInstants, CrossTraffic, DropCause, Fate};

/// A flow on a link that clients share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrossFlow {
    /// The flow's link.
    pub link: SharedLinkId,
    /// The flow's packets.
    pub traffic: CrossTraffic,
}

/// A flow in the plan, by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlowSlot(u32);

/// The flows of a side.
#[derive(Debug, Default)]
pub(crate) struct CrossFlows {
    /// All flows of the plan.
    flows: Box<[Flow]>,
}

#[derive(Debug)]
struct Flow {
    link: SharedLinkId,
    bytes: u32,
    /// The instants that are to come, where the side holds the link.
    instants: Option<CrossInstants>,
    counts: CrossCounts,
}

/// Marks the key of a packet of cross traffic that waits before a link; those of clients' packets are
/// places in a table.
const KEY: u64 = 1 << 63;

impl FlowSlot {
    /// The key of its packets on links.
    pub fn key(self) -> u64 {
        KEY | u64::from(self.0)
    }

    /// The hash of its packets on a link that parts flows by `key`.
    pub fn flow(self, key: u64) -> u32 {
        hash_of_cross(key, self.0)
    }

    /// The flow of a packet that waited; `None` if it is a client's.
    pub fn of_key(key: u64) -> Option<FlowSlot> {
        (key & KEY != 0).then_some(FlowSlot(key as u32))
    }
}

impl CrossFlows {
    /// The flows of `plan`; on links that are not held, they are another side's.
    pub fn of(plan: &NetworkPlan, seed: Seed, holds: impl Fn(SharedLinkId) -> bool) -> CrossFlows {
        let flow = |(number, CrossFlow { link, traffic }): (usize, &CrossFlow)| {
            let rng = seed.stream(Purpose::CrossTraffic, number as u64);
            let instants = holds(*link).then(|| CrossInstants::of(traffic, rng));
            Flow { link: *link, bytes: traffic.packet_bytes, instants, counts: CrossCounts::default() }
        };
        CrossFlows { flows: plan.cross_traffic.iter().enumerate().map(flow).collect() }
    }

    /// All flows.
    pub fn slots(&self) -> impl Iterator<Item = FlowSlot> + use<> {
        (0..self.flows.len() as u32).map(FlowSlot)
    }

    /// The instant at which the next packet of a flow comes, if one does; the one after it is the next from
    /// then on.
    pub fn next_at(&mut self, slot: FlowSlot) -> Option<Instant> {
        self.flows[slot.0 as usize].instants.as_mut().and_then(Iterator::next)
    }

    /// Counts a packet of a flow, and returns its link and its bytes.
    pub fn begin(&mut self, slot: FlowSlot) -> (SharedLinkId, u32) {
        let flow = &mut self.flows[slot.0 as usize];
        flow.counts.packets += 1;
        (flow.link, flow.bytes)
    }

    /// Bytes of each packet of a flow.
    pub fn bytes(&self, slot: FlowSlot) -> u32 {
        self.flows[slot.0 as usize].bytes
    }

    /// Counts what became of a packet.
    pub fn count(&mut self, slot: FlowSlot, fate: Fate) {
        let counts = &mut self.flows[slot.0 as usize].counts;
        match fate {
            Fate::Dropped(DropCause::Lost) => counts.lost += 1,
            Fate::Dropped(DropCause::QueueFull | DropCause::Early | DropCause::Delayed) => {
                counts.dropped += 1
            }
            Fate::Delivered(_) | Fate::Waits => {}
        }
    }

    /// Counters of each flow of the plan.
    pub fn counts(&self) -> Vec<CrossCounts> {
        self.flows.iter().map(|flow| flow.counts).collect()
    }
}

impl NetworkPlan {
    /// True if a shared link leads towards the server, or is the first away from it.
    pub(crate) fn is_near(&self, link: SharedLinkId) -> bool {
        let leads = |route: &RoutePlan| {
            let near = route.up.iter().chain(route.down.first());
            near.filter_map(|hop| hop.link).any(|of_route| of_route == link)
        };
        self.routes.iter().any(leads)
    }
}
