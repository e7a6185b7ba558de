//! Lateness of a shard, where it matters: of what its users were due to do, and of packets that reached
//! clients.
//!
//! Lateness of packets for the server is recorded where they are handed to it.

use farfield_base::{Duration, Instant};

/// Records when things were meant to happen and when they did.
pub trait Lateness {
    /// Load that was due at `due` was begun `late`.
    fn begun(&mut self, due: Instant, late: Duration);
    /// A packet that was meant to reach its client at `due` did so `late`.
    fn arrived(&mut self, due: Instant, late: Duration);
}

/// Virtual time is never late.
impl Lateness for () {
    fn begun(&mut self, _due: Instant, _late: Duration) {}
    fn arrived(&mut self, _due: Instant, _late: Duration) {}
}
