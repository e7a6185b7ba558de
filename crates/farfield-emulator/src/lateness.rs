//! How late a shard was, where it matters: what its users were due to do, and packets that reached clients.
//!
//! How late packets left for the server is for whoever hands them to it to say.

use farfield_base::{Duration, Instant};

/// Takes what was meant to happen and when it did.
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
