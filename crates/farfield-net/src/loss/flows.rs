//! Memories of losses by flow, of a link whose losses belong to connections and whose owner lends none with a
//! packet: links that clients share, and packets of hosts whose connections are not farfield's.
//!
//! A flow is known by its hash, which its packets bring. All begin good; those that are bad are remembered,
//! one that ends while it is bad too, so that memory follows the bursts that were the last of their flows.

use super::Memory;
use farfield_base::random::Stream;
use rand_core::Rng;
use std::collections::BTreeSet;

/// The flows of a link that are bad, and the key of their hashes.
#[derive(Debug, Clone, Default)]
pub(crate) struct FlowMemories {
    key: Option<u64>,
    bad: BTreeSet<u32>,
}

impl FlowMemories {
    /// The key with which flows are to be hashed, drawn when it is asked for first.
    pub fn key(&mut self, rng: &mut Stream) -> u64 {
        *self.key.get_or_insert_with(|| rng.next_u64())
    }

    /// Lends the memory of a flow to `work`.
    pub fn lend<R>(&mut self, flow: u32, work: impl FnOnce(&mut Memory) -> R) -> R {
        let before = if self.bad.contains(&flow) { Memory::Bad } else { Memory::Good };
        let mut memory = before;
        let result = work(&mut memory);
        if memory != before {
            match memory {
                Memory::Good => self.bad.remove(&flow),
                Memory::Bad => self.bad.insert(flow),
            };
        }
        result
    }
}
