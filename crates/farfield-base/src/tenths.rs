//! Tenths of a second of a run in which something happened: a bit for each, so that an hour takes 4.5 kB.
//!
//! Sets of several workers [merge](Merge) in any order, and [`Tenths::stretches_without`] finds
//! where one set has what another lacks: requests waiting, and nothing received.

use crate::{Duration, Instant, Merge};
use serde::{Deserialize, Serialize};

/// A set of tenths of a second since the start of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tenths {
    words: Vec<u64>,
}

const TENTH_NS: u64 = 100_000_000;
const BITS: usize = u64::BITS as usize;
/// Tenths in a set: a little more than a year, in 40 MB. What is later is left out.
const MOST: usize = 366 * 24 * 3600 * 10;

impl Tenths {
    /// Adds the tenth in which `at` lies.
    pub fn add(&mut self, at: Instant) {
        let tenth = tenth_of(at);
        match self.words.get_mut(tenth / BITS) {
            Some(word) => *word |= 1 << (tenth % BITS),
            None => self.add_all(tenth, tenth + 1),
        }
    }

    /// Adds the tenths that lie between `from` and `to` as a whole.
    pub fn add_between(&mut self, from: Instant, to: Instant) {
        self.add_all(from.as_ns().div_ceil(TENTH_NS) as usize, tenth_of(to));
    }

    fn add_all(&mut self, from: usize, to: usize) {
        let to = to.min(MOST);
        if from >= to {
            return;
        }
        if self.words.len() * BITS < to {
            self.words.resize(to.div_ceil(BITS), 0);
        }
        for word in from / BITS..to.div_ceil(BITS) {
            let first = from.saturating_sub(word * BITS);
            let last = (to - word * BITS).min(BITS);
            self.words[word] |= (u64::MAX >> (BITS - (last - first))) << first;
        }
    }

    /// The stretches of consecutive tenths of this set: the beginning of each, and its length.
    pub fn stretches(&self) -> Vec<(Instant, Duration)> {
        let mut stretches = Vec::new();
        let mut begun = None;
        for tenth in 0..=self.words.len() * BITS {
            match (self.has(tenth), begun) {
                (true, None) => begun = Some(tenth),
                (false, Some(from)) => {
                    let length = Duration::from_ns((tenth - from) as u64 * TENTH_NS);
                    stretches.push((Instant::from_ns(from as u64 * TENTH_NS), length));
                    begun = None;
                }
                _ => {}
            }
        }
        stretches
    }

    /// True if the tenth of this number is in the set.
    fn has(&self, tenth: usize) -> bool {
        self.words.get(tenth / BITS).is_some_and(|word| word >> (tenth % BITS) & 1 == 1)
    }

    /// The stretches of consecutive tenths of this set that `other` lacks, after the first tenth of `other`
    /// and before `until`: the beginning of each, and its length.
    pub fn stretches_without(&self, other: &Tenths, until: Instant) -> Vec<(Instant, Duration)> {
        let until = tenth_of(until).min(self.words.len() * BITS);
        let Some(first) = (0..until).find(|tenth| other.has(*tenth)) else { return Vec::new() };
        let mut stretches = Vec::new();
        let mut begun = None;
        for tenth in first..=until {
            let inside = tenth < until && self.has(tenth) && !other.has(tenth);
            match (inside, begun) {
                (true, None) => begun = Some(tenth),
                (false, Some(from)) => {
                    let length = Duration::from_ns((tenth - from) as u64 * TENTH_NS);
                    stretches.push((Instant::from_ns(from as u64 * TENTH_NS), length));
                    begun = None;
                }
                _ => {}
            }
        }
        stretches
    }
}

/// The tenths of either.
impl Merge for Tenths {
    fn merge(&mut self, part: &Tenths) {
        if self.words.len() < part.words.len() {
            self.words.resize(part.words.len(), 0);
        }
        self.words.iter_mut().zip(&part.words).for_each(|(mine, theirs)| *mine |= theirs);
    }
}

fn tenth_of(at: Instant) -> usize {
    (at.as_ns() / TENTH_NS) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_ns(ms * 1_000_000)
    }

    fn stretches(waiting: &Tenths, received: &Tenths, until_ms: u64) -> Vec<(u64, u64)> {
        let found = waiting.stretches_without(received, at(until_ms));
        found.iter().map(|(from, length)| (from.as_ns() / 1_000_000, length.as_ns() / 1_000_000)).collect()
    }

    #[test]
    fn stretches_are_where_something_waits_and_nothing_comes() {
        let (mut waiting, mut received) = (Tenths::default(), Tenths::default());
        waiting.add_between(at(0), at(20_000));
        assert_eq!(stretches(&waiting, &received, 20_000), [], "nothing ever came");
        for tenth in (5..200).filter(|tenth| !(20..35).contains(tenth) && *tenth != 70) {
            received.add(at(tenth * 100 + 99));
        }
        assert_eq!(stretches(&waiting, &received, 20_000), [(2_000, 1_500), (7_000, 100)]);
        assert_eq!(stretches(&waiting, &received, 3_000), [(2_000, 1_000)]);
        // Nobody waited for all of it.
        let mut some = Tenths::default();
        some.add_between(at(0), at(2_550));
        assert_eq!(stretches(&some, &received, 20_000), [(2_000, 500)]);
    }

    /// Only whole tenths are waited through.
    #[test]
    fn parts_of_tenths_do_not_count() {
        for (from, to, whole) in
            [(0, 99, 0..0), (0, 100, 0..1), (1, 200, 1..2), (50, 6_450, 1..64), (6_300, 12_900, 63..129)]
        {
            let mut tenths = Tenths::default();
            tenths.add_between(at(from), at(to));
            for tenth in 0..200 {
                assert_eq!(tenths.has(tenth), whole.contains(&tenth), "{from} to {to}: {tenth}");
            }
        }
    }

    #[test]
    fn stretches_are_tenths_in_a_row() {
        let mut tenths = Tenths::default();
        assert_eq!(tenths.stretches(), []);
        for ms in [0, 150, 6_350, 6_400] {
            tenths.add(at(ms));
        }
        let found: Vec<_> = tenths.stretches();
        let ms: Vec<_> = found
            .iter()
            .map(|(from, length)| [from.as_ns() / 1_000_000, length.as_ns() / 1_000_000])
            .collect();
        assert_eq!(ms, [[0, 200], [6_300, 200]]);
    }

    #[test]
    fn any_order_and_grouping_is_the_same() {
        let of = |instants: &[u64]| {
            let mut tenths = Tenths::default();
            instants.iter().for_each(|ms| tenths.add(at(*ms)));
            tenths
        };
        let instants: Vec<u64> = (0..300).map(|n| n * 7_919 % 40_000).collect();
        for cut in [0, 1, 150, 300] {
            let mut merged = of(&instants[cut..]);
            merged.merge(&of(&instants[..cut]));
            assert!((0..400).all(|tenth| merged.has(tenth) == of(&instants).has(tenth)));
        }
    }

    /// An instant that is none, such as the end of time, takes no memory.
    #[test]
    fn what_is_beyond_a_year_is_left_out() {
        let mut tenths = Tenths::default();
        tenths.add(Instant::MAX);
        tenths.add_between(Instant::MAX, Instant::MAX);
        assert_eq!(tenths, Tenths::default());
    }
}
