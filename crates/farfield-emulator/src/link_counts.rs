//! Counters of shared links: what each carried and what became of the rest, of clients and of cross traffic
//! together.
//!
//! Clients' own links are not counted one by one: there are as many as clients.

use crate::plan::NetworkPlan;
use farfield_base::LinkImpairments;
use farfield_net::{DropCause, Fate};

/// Links with counters of their own: the first so many. A topology in which each of a million hosts has links
/// unlike all others would take 50 MB for counters that nobody reads.
const COUNTED_MOST: usize = 4096;

farfield_base::mergeable! {
    /// Packets of a link so far.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct LinkCounts {
        /// Packets that it carried.
        pub packets: u64,
        /// Bytes of the carried packets, from the IP header on.
        pub bytes: u64,
        /// Packets of these that it marked, and others that it did not carry.
        pub impairments: LinkImpairments,
    }
}

impl LinkCounts {
    /// Counts the fate of `packets` packets that travel together, of `bytes` each.
    pub(crate) fn count(&mut self, packets: u64, bytes: u32, fate: &Fate) {
        match fate {
            Fate::Delivered(delivery) => {
                self.packets += packets;
                self.impairments.marked += if delivery.first.marked { packets } else { 0 };
                self.bytes += packets * u64::from(bytes);
            }
            Fate::Dropped(DropCause::Lost) => self.impairments.lost += packets,
            Fate::Dropped(DropCause::QueueFull | DropCause::Early | DropCause::Delayed) => {
                self.impairments.dropped += packets
            }
            Fate::Waits => {}
        }
    }
}

/// Counters of the links of `plan` that have some, all zero.
pub(crate) fn counters_of(plan: &NetworkPlan) -> Box<[LinkCounts]> {
    vec![LinkCounts::default(); plan.shared.len().min(COUNTED_MOST)].into()
}
