//! Counters of packets of an emulated network. Each is defined here alone.
//!
//! Gateway ports, links and hosts count, [`Merge`](crate::Merge) adds up workers and parts of a run, and the
//! summary has each group among its fields: a counter that is added to one is in `summary.json` and in its
//! schema. Numbers are packets, over the whole run; those of large segments count as what is on the wire.

use serde::{Deserialize, Serialize};

crate::mergeable! {
    /// Packets between clients and the server's kernel, and what the gateway between them lost.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct PacketCounts {
        /// Packets handed to the server.
        #[serde(rename = "packets_up")]
        pub up: u64,
        /// Packets taken from it.
        #[serde(rename = "packets_down")]
        pub down: u64,
        /// Packets that the gateway lost: the emulator's fault.
        #[serde(rename = "gateway_overruns", alias = "overruns")]
        pub overruns: u64,
        /// Packets that the server's kernel refused, since its receive work was behind: the doing of a
        /// server's machine that is full.
        #[serde(default, rename = "refused_by_server", alias = "refused")]
        pub refused: u64,
    }
}

impl PacketCounts {
    /// The share of the packets for the server that its kernel refused; 0 if there were none.
    pub fn refused_share(&self) -> f64 {
        self.refused as f64 / self.handed_over().max(1) as f64
    }

    /// Packets for the server, with those that its kernel refused.
    pub fn handed_over(&self) -> u64 {
        self.up + self.refused
    }

    /// Packets that came through, in either direction.
    pub fn passed(&self) -> u64 {
        self.up + self.down
    }
}

crate::mergeable! {
    /// Packets of a real host in the place of a client.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct HostCounts {
        /// Packets that its kernel sent.
        #[serde(rename = "packets_up")]
        pub up: u64,
        /// Packets that came to it.
        #[serde(rename = "packets_down")]
        pub down: u64,
        /// Packets that its kernel did not take, or that were malformed or from an address not its own.
        pub refused: u64,
    }
}

crate::mergeable! {
    /// Packets of a flow of cross traffic.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct CrossCounts {
        /// Packets that came to the link.
        pub packets: u64,
        /// Packets that the wire lost.
        pub lost: u64,
        /// Packets that the link's queue dropped.
        pub dropped: u64,
    }
}

impl CrossCounts {
    /// Packets that did not get through.
    pub fn gone(&self) -> u64 {
        self.lost + self.dropped
    }
}

crate::mergeable! {
    /// Packets that a shared link marked, or did not carry.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct LinkImpairments {
        /// Packets of these that its queue marked with congestion (RFC 3168).
        #[serde(default)]
        pub marked: u64,
        /// Packets that the wire lost.
        pub lost: u64,
        /// Packets that its queue dropped.
        pub dropped: u64,
        /// Packets that it did not take: too big for it, or it was closed.
        pub refused: u64,
    }
}

impl LinkImpairments {
    /// Packets that came to the link and were not carried.
    pub fn gone(&self) -> u64 {
        let LinkImpairments { marked: _, lost, dropped, refused } = *self;
        lost + dropped + refused
    }
}
