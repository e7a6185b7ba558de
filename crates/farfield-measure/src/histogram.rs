//! A histogram of times: HDR with 3 significant digits, in nanoseconds, up to a day.
//!
//! **The stated error.** Times below 2,048 ns are exact to the nanosecond. Above, a bin is at most 1/1024
//! of its values wide, and what is reported for a rank is the bin's upper end or the largest value
//! recorded, whichever is less: never below the true value, and above it by less than 0.1 %. Count,
//! minimum, maximum, mean and standard deviation do not come from bins: they are exact. A time above
//! [`Histogram::TOP`] is counted at the top and as [clamped](Histogram::clamped).
//!
//! Recording is constant time and allocates with the first time alone: all bins (304 KiB) are there from then
//! on. Merging
//! is integer addition, hence associative to the last bit.

use crate::quantile::Quantile;
use farfield_base::{Duration, Merge};
use hdrhistogram::Histogram as Hdr;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// Recorded times. See the module for its error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Sparse", into = "Sparse")]
pub struct Histogram {
    /// Absent before the first time.
    bins: Option<Box<Hdr<u64>>>,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u128,
    squares: u128,
    clamped: u64,
}

/// No times, in the bins that all histograms have: a run has dozens, which copy it at once.
static EMPTY: LazyLock<Hdr<u64>> =
    LazyLock::new(|| Hdr::new_with_bounds(1, Histogram::TOP.as_ns(), 3).expect("bounds that HDR takes"));

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::new()
    }
}

impl Histogram {
    /// The longest time that is recorded exactly: 24 hours.
    pub const TOP: Duration = Duration::from_secs(24 * 3600);

    /// An empty histogram.
    pub fn new() -> Histogram {
        Histogram { bins: None, min_ns: u64::MAX, max_ns: 0, sum_ns: 0, squares: 0, clamped: 0 }
    }

    /// Counts `time`.
    pub fn record(&mut self, time: Duration) {
        self.record_many(time, 1);
    }

    /// Counts `time` so many times.
    pub fn record_many(&mut self, time: Duration, count: u64) {
        if count == 0 {
            return;
        }
        let ns = time.as_ns().min(Histogram::TOP.as_ns());
        self.clamped += if time > Histogram::TOP { count } else { 0 };
        let bins = self.bins.get_or_insert_with(|| Box::new(EMPTY.clone()));
        match count {
            1 => bins.saturating_record(ns),
            _ => bins.saturating_record_n(ns, count),
        }
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        self.sum_ns += u128::from(ns) * u128::from(count);
        let square = u128::from(ns) * u128::from(ns);
        self.squares = self.squares.saturating_add(square.saturating_mul(count.into()));
    }

    /// Times recorded.
    pub fn count(&self) -> u64 {
        self.bins().len()
    }

    /// True if no time was recorded.
    pub fn is_empty(&self) -> bool {
        self.bins.is_none()
    }

    /// Times above [`Histogram::TOP`], which count as the top.
    pub fn clamped(&self) -> u64 {
        self.clamped
    }

    /// The shortest time, exactly.
    pub fn min(&self) -> Option<Duration> {
        (!self.is_empty()).then(|| Duration::from_ns(self.min_ns))
    }

    /// The longest time, exactly.
    pub fn max(&self) -> Option<Duration> {
        (!self.is_empty()).then(|| Duration::from_ns(self.max_ns))
    }

    /// The mean, rounded down to the nanosecond.
    pub fn mean(&self) -> Option<Duration> {
        let count = u128::from(self.count());
        (count > 0).then(|| Duration::from_ns((self.sum_ns / count) as u64))
    }

    /// The sum of all times in nanoseconds.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// The sample standard deviation (n − 1), to the nanosecond; needs two times.
    pub fn standard_deviation(&self) -> Option<Duration> {
        let count = u128::from(self.count());
        if count < 2 {
            return None;
        }
        // Σ(x − c)² = Σx² − 2cΣx + nc² about the whole nanosecond c below the mean, in wrapping integers:
        // what overflows on the way cancels, so nothing is lost when the deviation is small beside the
        // mean.
        let centre = self.sum_ns / count;
        let about = self
            .squares
            .wrapping_sub(centre.wrapping_mul(self.sum_ns).wrapping_mul(2))
            .wrapping_add(count.wrapping_mul(centre).wrapping_mul(centre));
        let off = (self.sum_ns % count) as f64 / count as f64;
        let variance = (about as f64 - count as f64 * off * off).max(0.0) / (count - 1) as f64;
        Some(Duration::from_ns(variance.sqrt().round() as u64))
    }

    /// The time at `rank`, from 1 for the shortest; `None` if there are not so many.
    pub fn at_rank(&self, rank: u64) -> Option<Duration> {
        self.at_ranks(&[rank])[0]
    }

    /// The times at `ranks`, in their order, as [`at_rank`](Self::at_rank) returns each: bins are walked
    /// once for all of them.
    pub fn at_ranks(&self, ranks: &[u64]) -> Vec<Option<Duration>> {
        let mut ascending: Vec<usize> = (0..ranks.len()).collect();
        ascending.sort_unstable_by_key(|place| ranks[*place]);
        let mut times = vec![None; ranks.len()];
        let mut waiting = ascending.into_iter().skip_while(|place| ranks[*place] == 0).peekable();
        let mut seen = 0;
        for bin in self.bins().iter_recorded() {
            seen += bin.count_since_last_iteration();
            while let Some(place) = waiting.next_if(|place| ranks[*place] <= seen) {
                let upper_end = self.bins().highest_equivalent(bin.value_iterated_to());
                times[place] = Some(Duration::from_ns(upper_end.min(self.max_ns)));
            }
            if waiting.peek().is_none() {
                break;
            }
        }
        times
    }

    /// The number of times up to each of `bounds`, which ascend; `pause` is called between pieces of work. A
    /// time counts as it is reported, by the upper end of its bin: one that lies below a bound by less than
    /// 0.1 % may count above it.
    pub fn counts_up_to(&self, bounds: &[Duration], pause: &dyn Fn()) -> Vec<u64> {
        let mut counts = Vec::with_capacity(bounds.len());
        let mut seen = 0;
        for bin in self.bins().iter_recorded() {
            let upper_end = self.bins().highest_equivalent(bin.value_iterated_to()).min(self.max_ns);
            while bounds.get(counts.len()).is_some_and(|bound| bound.as_ns() < upper_end) {
                counts.push(seen);
                pause();
            }
            seen += bin.count_since_last_iteration();
        }
        counts.resize(bounds.len(), seen);
        counts
    }

    /// The quantile by nearest rank; `None` if nothing was recorded.
    pub fn quantile(&self, quantile: Quantile) -> Option<Duration> {
        self.at_rank(quantile.rank(self.count())?)
    }

    /// The ends of what lies between two ranks: of the first's bin the lower one, of the second's the upper.
    pub fn between_ranks(&self, [low, high]: [u64; 2]) -> Option<[Duration; 2]> {
        Some([self.lower_end(self.at_rank(low)?), self.at_rank(high)?])
    }

    /// The lower end of the bin of a time that was recorded: below it by less than 0.1 %, and not below the
    /// shortest.
    pub fn lower_end(&self, time: Duration) -> Duration {
        Duration::from_ns(self.bins().lowest_equivalent(time.as_ns()).max(self.min_ns))
    }

    /// The bins alone, for the interval log.
    pub(crate) fn bins(&self) -> &Hdr<u64> {
        self.bins.as_deref().unwrap_or(&EMPTY)
    }
}

/// Adds all that `other` has recorded.
impl Merge for Histogram {
    fn merge(&mut self, other: &Histogram) {
        let Some(others) = &other.bins else { return };
        let bins = self.bins.get_or_insert_with(|| Box::new(EMPTY.clone()));
        bins.add(&**others).expect("all histograms have the same bins");
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
        self.squares = self.squares.saturating_add(other.squares);
        self.clamped += other.clamped;
    }
}

/// Stored form of a histogram: the non-empty bins, each as its upper end and its count. Sums are
/// split into high and low words, since JSON readers lose whole numbers past 64 bits.
#[derive(Serialize, Deserialize)]
struct Sparse {
    min_ns: u64,
    max_ns: u64,
    sum_ns: [u64; 2],
    squares: [u64; 2],
    clamped: u64,
    bins: Vec<(u64, u64)>,
}

fn words(number: u128) -> [u64; 2] {
    [(number >> 64) as u64, number as u64]
}

fn whole([high, low]: [u64; 2]) -> u128 {
    (u128::from(high) << 64) | u128::from(low)
}

impl From<Histogram> for Sparse {
    fn from(histogram: Histogram) -> Sparse {
        let stored = |bin: hdrhistogram::iterators::IterationValue<u64>| {
            (bin.value_iterated_to().min(Histogram::TOP.as_ns()), bin.count_at_value())
        };
        Sparse {
            min_ns: histogram.min_ns,
            max_ns: histogram.max_ns,
            sum_ns: words(histogram.sum_ns),
            squares: words(histogram.squares),
            clamped: histogram.clamped,
            bins: histogram.bins().iter_recorded().map(stored).collect(),
        }
    }
}

impl TryFrom<Sparse> for Histogram {
    type Error = String;

    fn try_from(sparse: Sparse) -> Result<Histogram, String> {
        let mut histogram = Histogram::new();
        for (ns, count) in sparse.bins {
            let bins = histogram.bins.get_or_insert_with(|| Box::new(EMPTY.clone()));
            bins.record_n(ns, count).map_err(|_| format!("{ns} ns lies outside a histogram"))?;
        }
        histogram.min_ns = sparse.min_ns;
        histogram.max_ns = sparse.max_ns;
        histogram.sum_ns = whole(sparse.sum_ns);
        histogram.squares = whole(sparse.squares);
        histogram.clamped = sparse.clamped;
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(times_ns: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        times_ns.iter().for_each(|&ns| histogram.record(Duration::from_ns(ns)));
        histogram
    }

    fn within_stated_error(reported: Duration, truth: u64) -> bool {
        let reported = reported.as_ns();
        if truth < 2048 { reported == truth } else { reported >= truth && reported - truth <= truth / 1024 }
    }

    #[test]
    fn p99_of_a_hundred_is_not_the_maximum() {
        let mut times: Vec<u64> = (1..=99).collect();
        times.push(1_000_000_000);
        let histogram = of(&times);
        assert_eq!(histogram.quantile(Quantile::P99), Some(Duration::from_ns(99)));
        assert_eq!(histogram.quantile(Quantile::P99_9), Some(Duration::from_secs(1)));
        assert_eq!(histogram.max(), Some(Duration::from_secs(1)));
    }

    #[test]
    fn nothing_recorded_is_nothing_said() {
        let empty = Histogram::new();
        assert_eq!(empty.quantile(Quantile::P50), None);
        assert_eq!((empty.min(), empty.mean(), empty.standard_deviation()), (None, None, None));
        assert_eq!(of(&[5]).standard_deviation(), None);
    }

    #[test]
    fn above_the_top_is_clamped_and_counted() {
        let mut histogram = Histogram::new();
        histogram.record(Duration::MAX);
        histogram.record(Histogram::TOP);
        assert_eq!(histogram.clamped(), 1);
        assert_eq!(histogram.max(), Some(Histogram::TOP));
        assert_eq!(histogram.quantile(Quantile::P50), Some(Histogram::TOP));
    }

    /// A day plus a few nanoseconds: sums of floating-point squares lose this deviation altogether.
    #[test]
    fn deviation_survives_a_far_mean() {
        let day = Histogram::TOP.as_ns();
        let times: Vec<u64> = (0..1000).map(|n| day - 30 + 20 * (n % 2)).collect();
        // Half at each end of a span of 20: 10 · √(1000/999).
        assert_eq!(of(&times).standard_deviation(), Some(Duration::from_ns(10)));
    }

    /// Short and exact, anything up to the top, and one value over and over for ties.
    fn any_time() -> impl Strategy<Value = u64> {
        prop_oneof![0_u64..5000, 0..Histogram::TOP.as_ns(), Just(777_777_777)]
    }

    proptest! {
        #[test]
        fn quantiles_meet_a_sorted_list(
            times in prop::collection::vec(any_time(), 1..400),
            parts in 1_u32..=1_000_000_000,
        ) {
            let histogram = of(&times);
            let mut sorted = times.clone();
            sorted.sort_unstable();
            let quantile = Quantile::per_billion(parts).expect("in range");
            // The definition itself: the smallest with at least p·n values at or below it.
            let enough = |at: &&u64| {
                let below = times.iter().filter(|t| t <= at).count() as u128;
                below * 1_000_000_000 >= u128::from(parts) * times.len() as u128
            };
            let truth = *sorted.iter().find(enough).expect("the largest is always enough");
            let reported = histogram.quantile(quantile).expect("not empty");
            prop_assert!(within_stated_error(reported, truth), "{reported:?} for {truth}");
            prop_assert!(reported <= histogram.max().expect("not empty"));
        }

        #[test]
        fn counts_up_to_bounds_are_those_of_a_list(
            times in prop::collection::vec(any_time(), 0..200),
            bounds in prop::collection::btree_set(any_time(), 0..20),
        ) {
            let histogram = of(&times);
            let bounds: Vec<Duration> = bounds.into_iter().map(Duration::from_ns).collect();
            let counts = histogram.counts_up_to(&bounds, &|| {});
            prop_assert_eq!(counts.len(), bounds.len());
            for (bound, count) in bounds.iter().zip(counts) {
                let up_to = |bound: u64| times.iter().filter(|time| **time <= bound).count() as u64;
                let surely = up_to(bound.as_ns() - bound.as_ns() / 1000);
                prop_assert!((surely..=up_to(bound.as_ns())).contains(&count), "{count} up to {bound:?}");
            }
        }

        #[test]
        fn ranks_together_are_ranks_one_by_one(
            times in prop::collection::vec(any_time(), 0..50),
            ranks in prop::collection::vec(0_u64..60, 0..20),
        ) {
            let histogram = of(&times);
            let one_by_one: Vec<_> = ranks.iter().map(|rank| histogram.at_rank(*rank)).collect();
            prop_assert_eq!(histogram.at_ranks(&ranks), one_by_one);
        }

        #[test]
        fn moments_are_exact(times in prop::collection::vec(0_u64..1_000_000_000_000, 2..200)) {
            let histogram = of(&times);
            let n = times.len() as f64;
            let mean = times.iter().sum::<u64>() as f64 / n;
            let variance = times.iter().map(|&t| (t as f64 - mean).powi(2)).sum::<f64>() / (n - 1.0);
            let reported = histogram.standard_deviation().expect("two times").as_ns() as f64;
            prop_assert!((reported - variance.sqrt()).abs() <= 1.0 + variance.sqrt() * 1e-9);
            let whole_mean = times.iter().sum::<u64>() / times.len() as u64;
            prop_assert_eq!(histogram.mean(), Some(Duration::from_ns(whole_mean)));
        }

        #[test]
        fn merging_is_recording_together(
            a in prop::collection::vec(any::<u64>(), 0..50),
            b in prop::collection::vec(0_u64..1 << 40, 0..50),
        ) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            prop_assert_eq!(merged, of(&[a, b].concat()));
        }

        #[test]
        fn stores_all_it_knows(times in prop::collection::vec(any::<u64>(), 0..50)) {
            let histogram = of(&times);
            let text = serde_json::to_string(&histogram).expect("plain data");
            prop_assert_eq!(serde_json::from_str::<Histogram>(&text).expect("its own text"), histogram);
        }
    }
}
