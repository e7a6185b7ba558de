//! Links in a row that only one client uses, as one: for a packet offered at the first it is known at once
//! what becomes of it behind the last, without an event a hop.
//!
//! This is exact, not an approximation: nothing else is offered to the later links, and the earlier ones
//! deliver in the order in which they were offered, so the later links see the very offers that events would
//! have brought. Links for which that does not hold are [refused](NotCollapsible).

use crate::link::{Arrival, Delivery, Fate, Link, Packet};
use crate::loss::{Memory, Scope};
use farfield_base::random::Stream;
use farfield_base::{Duration, Instant};

/// Links in a row, each with the random stream that belongs to it.
#[derive(Debug, Clone)]
pub struct Compound {
    hops: Box<[(Link, Stream)]>,
}

/// Why links cannot be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotCollapsible {
    /// The hop, counted from 0, has its packets wait for a fate.
    #[error("hop {0} has a queue that decides later about a packet, such as CoDel's")]
    Waits(usize),
    /// The hop, counted from 0 and not the last, reorders packets.
    #[error("hop {0} reorders packets before another link")]
    Reorders(usize),
    /// The hop, counted from 0 and not the last, duplicates packets.
    #[error("hop {0} duplicates packets before another link")]
    Duplicates(usize),
    /// A second hop has losses that belong to connections.
    #[error("hop {0} is the second with losses of a connection's own")]
    TwoMemories(usize),
}

impl Compound {
    /// Joins these links, the first first.
    ///
    /// # Errors
    /// The first hop that cannot be one with the others, and why.
    pub fn new(hops: Vec<(Link, Stream)>) -> Result<Compound, NotCollapsible> {
        let mut lent = false;
        for (index, (link, _)) in hops.iter().enumerate() {
            let (model, last) = (link.model(), index + 1 == hops.len());
            if !model.decides_at_once() {
                return Err(NotCollapsible::Waits(index));
            }
            if !last && !model.decides_in_order() {
                return Err(NotCollapsible::Reorders(index));
            }
            if !last && model.ever_duplicates() {
                return Err(NotCollapsible::Duplicates(index));
            }
            let lends = model.loss_model().scope() == Scope::Connection;
            if lent && lends {
                return Err(NotCollapsible::TwoMemories(index));
            }
            lent |= lends;
        }
        Ok(Compound { hops: hops.into() })
    }

    /// Offers a packet of a connection with this memory of losses to the first link; see [`Link::offer_of`].
    /// Never [waits](Fate::Waits). If several links damage the packet, the first is recorded.
    pub fn offer_of(&mut self, memory: &mut Memory, now: Instant, packet: Packet) -> Fate {
        self.carry(now, |link, at, rng| link.offer_of(memory, at, packet, rng))
    }

    /// Offers a packet to the first link, as [`offer_of`](Self::offer_of) does, with no memory of losses: a
    /// link whose losses belong to connections has one of the packet's flow.
    pub fn offer(&mut self, now: Instant, packet: Packet) -> Fate {
        self.carry(now, |link, at, rng| link.offer(at, packet, rng))
    }

    /// The key of the hashes of flows of the link that asks for them, if one does; see [`Link::flow_key`]. Of
    /// these links one at most does.
    pub fn flow_key(&mut self) -> Option<u64> {
        self.hops.iter_mut().find_map(|(link, rng)| link.flow_key(rng))
    }

    /// Takes a packet that comes at `now` from link to link by `offer`.
    fn carry(
        &mut self,
        now: Instant,
        mut offer: impl FnMut(&mut Link, Instant, &mut Stream) -> Fate,
    ) -> Fate {
        let mut at = Arrival::whole(now);
        let mut copy = None;
        for (link, rng) in &mut self.hops {
            match offer(link, at.at, rng) {
                Fate::Delivered(delivery) => {
                    copy = delivery.copy.map(|copy| after(at, copy));
                    at = after(at, delivery.first);
                }
                end => return end,
            }
        }
        Fate::Delivered(Delivery { first: at, copy })
    }

    /// The least time from offer to arrival.
    pub fn lookahead(&self) -> Duration {
        self.hops.iter().fold(Duration::ZERO, |sum, (link, _)| sum + link.lookahead())
    }
}

/// An arrival that carries on the damage and the mark that came before it.
fn after(before: Arrival, arrival: Arrival) -> Arrival {
    let flipped_bit = before.flipped_bit.or(arrival.flipped_bit);
    Arrival { at: arrival.at, flipped_bit, marked: before.marked || arrival.marked }
}
