//! Distribution of requests per connection, from the samples' numbers alone.
//!
//! A sample with number n says that its connection carried at least n + 1 requests, so the connections
//! with more than n are as many as the samples with exactly that number. Counting a chosen ladder of
//! numbers is enough: every number up to 64, then 16 to an octave. No table of connections is kept;
//! recording allocates nothing.

use farfield_base::Sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Steps of an octave above the exact part, as a power of two.
const SUB_BITS: u32 = 4;
/// Numbers below this are all on the ladder.
const EXACT: u32 = 64;
const RUNGS: usize = EXACT as usize + ((32 - EXACT.ilog2() as usize) << SUB_BITS);

farfield_base::mergeable! {
    /// Requests per connection, over the whole run.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Reuse {
        /// Samples whose number is exactly the rung's.
        reached: Vec<u64> => each,
        requests: u64,
        most: u32 => most,
    }
}

impl Default for Reuse {
    fn default() -> Reuse {
        Reuse { reached: vec![0; RUNGS], requests: 0, most: 0 }
    }
}

/// Connections that carried `from` to `to` requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReuseClass {
    /// The fewest requests of this class.
    pub from: u64,
    /// The most requests of this class.
    pub to: u64,
    /// Connections in it.
    pub connections: u64,
}

impl Reuse {
    /// Counts `sample` if it was sent on a connection.
    pub fn record(&mut self, sample: &Sample) {
        if sample.connection == Sample::NO_CONNECTION || sample.sent.instant().is_none() {
            return;
        }
        self.requests += 1;
        self.most = self.most.max(sample.number.saturating_add(1));
        if let Some(rung) = rung(sample.number) {
            self.reached[rung] += 1;
        }
    }

    /// Connections that carried at least one request.
    pub fn connections(&self) -> u64 {
        self.reached[0]
    }

    /// Requests that were sent.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The most requests one connection carried.
    pub fn most(&self) -> u64 {
        u64::from(self.most)
    }

    /// The distribution: classes that hold any connection, from few requests to many. Exact below 65
    /// requests, at most 1/16 wide above. While connections are still open, those count by what they have
    /// carried.
    pub fn classes(&self) -> Vec<ReuseClass> {
        let class = |at: usize| {
            let above = self.reached.get(at + 1).copied().unwrap_or(0);
            let to = if at + 1 < RUNGS { u64::from(number(at + 1)) } else { 1 << 32 };
            let from = u64::from(number(at)) + 1;
            ReuseClass { from, to: to.min(self.most()), connections: self.reached[at].saturating_sub(above) }
        };
        (0..RUNGS).map(class).filter(|class| class.connections > 0).collect()
    }
}

/// The rung of `number`, if it is on the ladder: exact ones, then those with nothing below their top five
/// bits.
fn rung(number: u32) -> Option<usize> {
    if number < EXACT {
        return Some(number as usize);
    }
    let octave = number.ilog2();
    let below = octave - SUB_BITS;
    if number.trailing_zeros() < below {
        return None;
    }
    let sub = (number >> below) as usize & ((1 << SUB_BITS) - 1);
    Some(EXACT as usize + (((octave - EXACT.ilog2()) as usize) << SUB_BITS) + sub)
}

/// The number of `rung`.
fn number(rung: usize) -> u32 {
    let Some(above) = rung.checked_sub(EXACT as usize) else { return rung as u32 };
    let octave = EXACT.ilog2() + (above >> SUB_BITS) as u32;
    let sub = (above & ((1 << SUB_BITS) - 1)) as u32;
    (1 << octave) + (sub << (octave - SUB_BITS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::scene::sample;
    use proptest::prelude::*;

    fn carried(lengths: &[u32]) -> Reuse {
        let mut reuse = Reuse::default();
        for (connection, &length) in lengths.iter().enumerate() {
            for number in 0..length {
                reuse.record(&Sample { connection: connection as u32, number, ..sample(0, 1) });
            }
        }
        reuse
    }

    #[test]
    fn the_ladder_is_its_own_inverse() {
        for at in 0..RUNGS {
            assert_eq!(rung(number(at)), Some(at));
        }
        assert_eq!(rung(65), None);
        assert_eq!(number(RUNGS - 1), 0xF800_0000);
    }

    #[test]
    fn attempts_that_came_to_nothing_carry_nothing() {
        let mut reuse = Reuse::default();
        reuse.record(&Sample { sent: farfield_base::Stamp::NEVER, ..sample(0, 1) });
        reuse.record(&Sample { connection: Sample::NO_CONNECTION, ..sample(0, 1) });
        assert_eq!((reuse.connections(), reuse.classes()), (0, vec![]));
    }

    proptest! {
        #[test]
        fn classes_count_every_connection(lengths in prop::collection::vec(1_u32..600, 1..30)) {
            let reuse = carried(&lengths);
            prop_assert_eq!(reuse.connections(), lengths.len() as u64);
            prop_assert_eq!(reuse.requests(), lengths.iter().map(|&l| u64::from(l)).sum::<u64>());
            prop_assert_eq!(reuse.most(), lengths.iter().copied().map(u64::from).max().unwrap_or(0));
            let mut counted = 0;
            for class in reuse.classes() {
                let class_holds = |&&length: &&u32| (class.from..=class.to).contains(&u64::from(length));
                let inside = lengths.iter().filter(class_holds).count();
                prop_assert_eq!(class.connections, inside as u64);
                counted += inside;
            }
            prop_assert_eq!(counted, lengths.len());
        }
    }
}
