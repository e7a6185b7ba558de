//! Instants of a capture in the run's time.

use crate::clock::ClockRelation;
use farfield_capture::UnixNs;

/// Translation of instants of a capture into instants of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// The assumed start of the run's clock, in nanoseconds since 1970 by the capture's clock.
    pub start_unix_ns: u64,
    /// Relation of the capture's clock to the run's, beside that.
    pub relation: ClockRelation,
}

impl Frame {
    /// A frame in which the run's clock started at `start_unix_ns`, exactly.
    pub fn exact(start_unix_ns: u64) -> Frame {
        Frame { start_unix_ns, relation: ClockRelation::default() }
    }

    /// Nanoseconds since the assumed start, by the capture's clock.
    pub fn since_start(&self, at: UnixNs) -> i64 {
        at.0.wrapping_sub(self.start_unix_ns) as i64
    }

    /// Nanoseconds of the run's time; negative before its start.
    pub fn run_ns(&self, at: UnixNs) -> i64 {
        self.relation.to_run(self.since_start(at))
    }
}
