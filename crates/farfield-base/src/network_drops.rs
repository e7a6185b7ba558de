//! Packets that an emulated network did not deliver, by cause. The emulator counts them, and `summary.json`
//! and the texts have each by its name.

use serde::{Deserialize, Serialize};

crate::mergeable! {
    /// Packets that a network did not deliver, by cause: the network's doing, as the scenario asks.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct NetworkDrops {
        /// Lost on the wire.
        pub lost: u64,
        /// Found a queue full.
        pub queue_full: u64,
        /// Dropped early by RED, PIE or FQ-PIE.
        pub early: u64,
        /// Dropped by CoDel or FQ-CoDel for their delay.
        pub delayed: u64,
        /// Ran out of hops.
        pub expired: u64,
        /// Too big for a link.
        pub too_big: u64,
        /// Damaged on the way and refused by the client.
        pub damaged: u64,
        /// For an address that no client has.
        pub nobody: u64,
        /// Before a link that took no packets.
        #[serde(default)]
        pub unreachable: u64,
    }
}

impl NetworkDrops {
    /// All causes with their names, in order.
    pub fn by_cause(&self) -> [(&'static str, u64); 9] {
        let NetworkDrops { lost, queue_full, early, delayed, expired, too_big, damaged, nobody, unreachable } =
            *self;
        [
            ("lost", lost),
            ("queue-full", queue_full),
            ("early", early),
            ("delayed", delayed),
            ("expired", expired),
            ("too-big", too_big),
            ("damaged", damaged),
            ("nobody", nobody),
            ("unreachable", unreachable),
        ]
    }

    /// All of them.
    pub fn sum(&self) -> u64 {
        self.by_cause().iter().map(|(_, packets)| packets).sum()
    }
}
