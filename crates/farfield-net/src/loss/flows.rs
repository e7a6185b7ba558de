//! Memories of losses by flow, of a link whose losses belong to connections and whose owner lends none with a
//! packet: links that clients share, and packets of hosts whose connections are not farfield's.
//!
//! A flow is known by its hash, which its packets bring. All begin good; those that are bad are remembered,
//! one that ends while it is bad too, until it has sent nothing for so long that another connection may have
//! its ports. Of more than there is room for, the one that has been bad for longest is forgotten.

use super::Memory;
use farfield_base::random::Stream;
use farfield_base::{Duration, Instant};
use rand_core::Rng;
use std::collections::BTreeMap;

/// Flows that are remembered as bad at most.
const BAD_MOST: usize = 1 << 18;
/// Time without a packet after which a pair of ports may be another connection's: TIME-WAIT of Linux.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// The flows of a link that are bad, and the key of their hashes.
#[derive(Debug, Clone, Default)]
pub(crate) struct FlowMemories {
    key: Option<u64>,
    /// Flows that are bad, with the number of the turn in which they became so and their last packet.
    bad: BTreeMap<u32, (u64, Instant)>,
    /// These flows by their turns.
    turns: BTreeMap<u64, u32>,
    turn: u64,
}

impl FlowMemories {
    /// The key with which flows are to be hashed, drawn when it is asked for first.
    pub fn key(&mut self, rng: &mut Stream) -> u64 {
        *self.key.get_or_insert_with(|| rng.next_u64())
    }

    /// Lends the memory of a flow, of which a packet comes at `now`, to `work`.
    pub fn lend<R>(&mut self, now: Instant, flow: u32, work: impl FnOnce(&mut Memory) -> R) -> R {
        let before = match self.bad.get_mut(&flow) {
            Some((_, last)) if now.since(*last) < FORGOTTEN => {
                *last = now;
                Memory::Bad
            }
            Some(_) => {
                self.forget(flow);
                Memory::Good
            }
            None => Memory::Good,
        };
        let mut memory = before;
        let result = work(&mut memory);
        if memory != before {
            match memory {
                Memory::Good => self.forget(flow),
                Memory::Bad => self.remember(now, flow),
            }
        }
        result
    }

    fn remember(&mut self, now: Instant, flow: u32) {
        self.turn += 1;
        self.bad.insert(flow, (self.turn, now));
        self.turns.insert(self.turn, flow);
        if self.bad.len() > BAD_MOST
            && let Some((_, oldest)) = self.turns.pop_first()
        {
            self.bad.remove(&oldest);
        }
    }

    fn forget(&mut self, flow: u32) {
        if let Some((turn, _)) = self.bad.remove(&flow) {
            self.turns.remove(&turn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(secs)
    }

    /// A connection that ended in a burst does not hand it to the next that has its ports.
    #[test]
    fn a_flow_that_is_silent_for_a_minute_begins_anew() {
        let mut flows = FlowMemories::default();
        let of = |flows: &mut FlowMemories, secs| flows.lend(at(secs), 7, |memory| *memory);
        flows.lend(at(0), 7, |memory| *memory = Memory::Bad);
        assert_eq!([59, 118].map(|secs| of(&mut flows, secs)), [Memory::Bad; 2]);
        assert_eq!(of(&mut flows, 178), Memory::Good);
        assert!(flows.bad.is_empty() && flows.turns.is_empty());
    }

    #[test]
    fn flows_that_are_bad_for_longest_make_room() {
        let mut flows = FlowMemories::default();
        let turn = |flows: &mut FlowMemories, flow, to| flows.lend(at(0), flow, |memory| *memory = to);
        let of = |flows: &mut FlowMemories, flow| flows.lend(at(0), flow, |memory| *memory);
        // Another is good again, and the first becomes bad once more: the second is the oldest then.
        [0, 1, 2].into_iter().for_each(|flow| turn(&mut flows, flow, Memory::Bad));
        [0, 2].into_iter().for_each(|flow| turn(&mut flows, flow, Memory::Good));
        turn(&mut flows, 0, Memory::Bad);
        assert_eq!([0, 1, 2].map(|flow| of(&mut flows, flow)), [Memory::Bad, Memory::Bad, Memory::Good]);
        for flow in 0..BAD_MOST as u32 - 1 {
            turn(&mut flows, 10 + flow, Memory::Bad);
        }
        assert_eq!([0, 1, 10].map(|flow| of(&mut flows, flow)), [Memory::Bad, Memory::Good, Memory::Bad]);
        assert_eq!((flows.bad.len(), flows.turns.len()), (BAD_MOST, BAD_MOST));
    }
}
