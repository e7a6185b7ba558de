//! Counts of ended requests over time: how many ended in each tenth of a second, by outcome.
//!
//! A run of more than 65,536 tenths (1.8 hours) is counted in cells of two tenths, then of four, and so on,
//! so that a day takes no more memory than two hours: at most 256 KiB for each outcome that occurs. Counts
//! of several workers [merge](OutcomeTimes::merge) in any order to the same numbers.

use farfield_base::{Duration, Instant, Merge, Outcome, Sample};
use serde::{Deserialize, Serialize};

const TENTH_NS: u64 = 100_000_000;
/// Most cells, a power of two.
const CELLS_MAX: usize = 1 << 16;
/// Tenths of a year: what ends later ends at no time of a run.
const TENTHS_MAX: u64 = 366 * 24 * 3600 * 10;

/// Ended requests by cell of time and outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeTimes {
    /// A cell is two to this power tenths long.
    doublings: u32,
    /// By the outcome's code, then by cell; no longer than up to the last that is not zero.
    counts: Vec<Vec<u32>>,
}

impl OutcomeTimes {
    /// False if a cell is longer than time, or there are more than are kept.
    pub(crate) fn is_sound(&self) -> bool {
        self.doublings <= 16 && self.counts.iter().all(|counts| counts.len() <= CELLS_MAX)
    }

    /// Counts the end of `sample`. Requests that were open at the end of the run have not ended.
    pub fn record(&mut self, sample: &Sample) {
        let tenth = sample.done.as_ns() / TENTH_NS;
        if sample.outcome == Outcome::Unfinished || tenth >= TENTHS_MAX {
            return;
        }
        while tenth >> self.doublings >= CELLS_MAX as u64 {
            self.double();
        }
        let cell = (tenth >> self.doublings) as usize;
        let counts = self.counts_mut(sample.outcome);
        if counts.len() <= cell {
            counts.resize(cell + 1, 0);
        }
        counts[cell] = counts[cell].saturating_add(1);
    }

    /// Length of a cell.
    pub fn cell(&self) -> Duration {
        Duration::from_ns(TENTH_NS << self.doublings)
    }

    /// Number of cells before `until`; one that it divides is left out.
    pub fn cells_before(&self, until: Instant) -> usize {
        usize::try_from(until.as_ns() / self.cell().as_ns()).unwrap_or(usize::MAX)
    }

    /// The instant at which a cell begins.
    pub fn begin(&self, cell: usize) -> Instant {
        Instant::from_ns((cell as u64).saturating_mul(self.cell().as_ns()))
    }

    /// Requests that ended so, by cell; later cells have none.
    pub fn of(&self, outcome: Outcome) -> &[u32] {
        self.counts.get(usize::from(outcome.code())).map_or(&[], Vec::as_slice)
    }

    /// Requests that ended in any way for which `which` is true, in each of `cells` cells.
    pub fn sum(&self, which: impl Fn(Outcome) -> bool, cells: usize) -> Vec<u64> {
        let last = self.counts.iter().map(Vec::len).max().unwrap_or(0);
        let mut sums = vec![0; cells.min(last)];
        for outcome in Outcome::ALL.into_iter().filter(|outcome| which(*outcome)) {
            sums.iter_mut().zip(self.of(outcome)).for_each(|(sum, count)| *sum += u64::from(*count));
        }
        sums
    }

    fn counts_mut(&mut self, outcome: Outcome) -> &mut Vec<u32> {
        let code = usize::from(outcome.code());
        if self.counts.len() <= code {
            self.counts.resize_with(code + 1, Vec::new);
        }
        &mut self.counts[code]
    }

    /// Makes one cell of two.
    fn double(&mut self) {
        self.doublings += 1;
        for counts in &mut self.counts {
            let pair = |pair: &[u32]| pair.iter().fold(0, |sum: u32, count| sum.saturating_add(*count));
            *counts = counts.chunks(2).map(pair).collect();
        }
    }
}

/// Adds what `other` counted.
impl Merge for OutcomeTimes {
    fn merge(&mut self, other: &OutcomeTimes) {
        let mut other = other.clone();
        while self.doublings < other.doublings {
            self.double();
        }
        while other.doublings < self.doublings {
            other.double();
        }
        if self.counts.len() < other.counts.len() {
            self.counts.resize_with(other.counts.len(), Vec::new);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            if mine.len() < theirs.len() {
                mine.resize(theirs.len(), 0);
            }
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine = mine.saturating_add(*theirs));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::scene::sample;

    fn of(ends_ms: &[u64]) -> OutcomeTimes {
        let mut times = OutcomeTimes::default();
        for (number, ms) in ends_ms.iter().enumerate() {
            let outcome = [Outcome::Ok, Outcome::Reset, Outcome::Unfinished][number % 3];
            times.record(&Sample { outcome, ..sample(0, ms * 1_000_000) });
        }
        times
    }

    #[test]
    fn ends_count_in_their_tenth_by_outcome() {
        let times = of(&[99, 100, 5, 150, 350, 5]);
        assert_eq!((times.of(Outcome::Ok), times.of(Outcome::Reset)), (&[1, 1][..], &[0, 1, 0, 1][..]));
        assert_eq!(times.of(Outcome::Unfinished), [0; 0], "what is open has not ended");
        assert_eq!(times.sum(|_| true, 3), [1, 2, 0]);
        assert_eq!((times.cell(), times.begin(3)), (Duration::from_ms(100), Instant::from_ns(300_000_000)));
        assert_eq!([99, 100, 299].map(|ms| times.cells_before(Instant::from_ns(ms * 1_000_000))), [0, 1, 2]);
    }

    /// A week is counted in fewer than 65,536 cells, and every end in the right one.
    #[test]
    fn a_long_run_is_counted_in_longer_cells() {
        const WEEK_MS: u64 = 7 * 24 * 3_600_000;
        let mut times = OutcomeTimes::default();
        (0..1000).for_each(|n| times.record(&sample(0, n * (WEEK_MS / 1000) * 1_000_000)));
        times.record(&Sample { done: Instant::MAX, ..sample(0, 0) });
        assert_eq!(times.cell(), Duration::from_ms(12_800));
        let counts = times.of(Outcome::Ok);
        assert!(counts.len() <= CELLS_MAX && counts.iter().sum::<u32>() == 1000);
        // A week's thousandth is 47.25 cells.
        assert_eq!((counts[0], counts[47], counts[94], counts[95]), (1, 1, 1, 0));
    }

    #[test]
    fn any_order_and_grouping_is_the_same() {
        let ends: Vec<u64> = (0..300).map(|n| n * 7_919 * 300 % 20_000_000).collect();
        let all = of(&ends);
        assert!(all.cell() > Duration::from_ms(100));
        for cut in [0, 3, 150, 300] {
            let mut merged = of(&ends[cut..]);
            merged.merge(&of(&ends[..cut]));
            assert_eq!(merged, all, "{cut}");
        }
    }
}
