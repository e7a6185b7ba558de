//! Counts of outcomes.

use farfield_base::{Merge, Outcome};

/// The number of requests by their outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutcomeCounts([u64; Outcome::ALL.len()]);

impl Default for OutcomeCounts {
    fn default() -> OutcomeCounts {
        OutcomeCounts([0; Outcome::ALL.len()])
    }
}

impl OutcomeCounts {
    /// Counts one more request that ended so.
    pub fn add(&mut self, outcome: Outcome) {
        self.0[usize::from(outcome.code())] += 1;
    }

    /// Requests that ended so.
    pub fn of(&self, outcome: Outcome) -> u64 {
        self.0[usize::from(outcome.code())]
    }

    /// Requests in all.
    pub fn sum(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// Adds the counts of another.
impl Merge for OutcomeCounts {
    fn merge(&mut self, other: &OutcomeCounts) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
    }
}
