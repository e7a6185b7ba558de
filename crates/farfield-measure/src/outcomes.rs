//! Counts of outcomes.

use farfield_base::{Merge, Outcome};
use serde::{Deserialize, Serialize};

/// The number of requests by their outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u64>", into = "Vec<u64>")]
pub struct OutcomeCounts([u64; Outcome::ALL.len()]);

impl Default for OutcomeCounts {
    fn default() -> OutcomeCounts {
        OutcomeCounts([0; Outcome::ALL.len()])
    }
}

impl From<OutcomeCounts> for Vec<u64> {
    fn from(counts: OutcomeCounts) -> Vec<u64> {
        counts.0.to_vec()
    }
}

impl TryFrom<Vec<u64>> for OutcomeCounts {
    type Error = String;

    fn try_from(counts: Vec<u64>) -> Result<OutcomeCounts, String> {
        let outcomes = counts.len();
        counts.try_into().map(OutcomeCounts).map_err(|_| format!("counts of {outcomes} outcomes"))
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
