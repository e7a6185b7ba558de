//! A set of times as a summary has it: moments, percentiles by nearest rank, intervals, and the estimate with
//! censored ones, from a sorted list.
//!
//! A run counts in a histogram, of which a percentile is the upper end of a bin: above the true one by less
//! than a thousandth. That, and the whole day at which times are cut, is what both know of it.

use super::batches::{NoInterval, TimesByBatch};
use super::expected::Expected;
use std::collections::BTreeMap;

/// Times above this count as this.
const DAY_NS: u64 = 24 * 3_600 * 1_000_000_000;
/// The percentiles of a summary, in parts of a billion.
pub const QUANTILES: [(&str, u64); 6] = [
    ("p50", 500_000_000),
    ("p90", 900_000_000),
    ("p95", 950_000_000),
    ("p99", 990_000_000),
    ("p99.9", 999_000_000),
    ("p99.99", 999_900_000),
];

/// The nearest rank, from 1, of a percentile in parts of a billion.
pub fn rank(per_billion: u64, count: u64) -> u64 {
    (u128::from(per_billion) * u128::from(count)).div_ceil(1_000_000_000) as u64
}

/// Times in nanoseconds, sorted, none above a day.
#[derive(Debug, Clone, Default)]
pub struct SortedTimes {
    ns: Vec<u64>,
    above: u64,
}

/// Intervals of a set of times.
#[derive(Clone, Copy)]
pub enum Intervals<'a> {
    /// Intervals of batches, or none for a reason.
    Of(Result<&'a TimesByBatch, NoInterval>),
    /// Any intervals that an older farfield wrote.
    Unjudged,
}

impl Intervals<'_> {
    /// No batches are kept of such times.
    pub const NOT_KEPT: Intervals<'static> = Intervals::Of(Err(NoInterval::because("not-kept")));
}

impl SortedTimes {
    /// Sorts times in any order.
    pub fn of(times: impl Iterator<Item = u64>) -> SortedTimes {
        let mut above = 0;
        let cut = times.map(|ns| {
            above += u64::from(ns > DAY_NS);
            ns.min(DAY_NS)
        });
        let mut ns: Vec<u64> = cut.collect();
        ns.sort_unstable();
        SortedTimes { ns, above }
    }

    /// Number of times.
    pub fn len(&self) -> u64 {
        self.ns.len() as u64
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.ns.is_empty()
    }

    /// The time at a rank from 1.
    fn at(&self, rank: u64) -> f64 {
        self.ns.get(rank as usize - 1).copied().unwrap_or(0) as f64
    }

    /// The mean, as it is before it is rounded down.
    pub fn mean(&self) -> Option<f64> {
        let sum: u128 = self.ns.iter().map(|ns| u128::from(*ns)).sum();
        (!self.is_empty()).then(|| sum as f64 / self.ns.len() as f64)
    }

    fn whole_mean(&self) -> u64 {
        let sum: u128 = self.ns.iter().map(|ns| u128::from(*ns)).sum();
        (sum / self.ns.len().max(1) as u128) as u64
    }

    /// The sample standard deviation.
    pub fn deviation(&self) -> Option<f64> {
        let mean = self.mean().filter(|_| self.ns.len() > 1)?;
        let squares: f64 = self.ns.iter().map(|ns| (*ns as f64 - mean).powi(2)).sum();
        Some((squares / (self.ns.len() - 1) as f64).sqrt())
    }

    /// The extremes.
    pub fn ends(&self) -> Option<[u64; 2]> {
        Some([*self.ns.first()?, *self.ns.last()?])
    }

    /// The percentile, from the true one to the upper end of its bin.
    pub fn quantile(&self, per_billion: u64) -> Option<Expected> {
        (!self.is_empty()).then(|| self.upwards(rank(per_billion, self.len())))
    }

    /// The share of times that are longer than this: a time close below may count by the upper end of its
    /// bin.
    pub fn beyond(&self, limit: f64) -> Option<Expected> {
        let share = |slack: f64| {
            let longer = self.ns.iter().filter(|ns| **ns as f64 * (1.0 + slack) > limit).count();
            longer as f64 / self.ns.len() as f64
        };
        (!self.is_empty())
            .then(|| Expected::Between { low: share(0.0) - NONE, high: share(1.0 / 1_024.0) + NONE })
    }

    /// The time at a rank, or above it in its bin.
    fn upwards(&self, rank: u64) -> Expected {
        let (at, largest) = (self.at(rank), self.at(self.len()));
        Expected::Between { low: at, high: (at + at / 1_024.0).min(largest).max(at) }
    }

    /// The times between two ranks.
    pub fn between(&self, ranks: super::batches::Ranks) -> Expected {
        let (from, to) = (self.at(ranks.low[0]), self.at(ranks.low[1]));
        let low = Expected::Between { low: (from - from / 1_024.0 - 1.0).max(self.at(1)), high: to };
        let (from, to) = (self.at(ranks.high[0]), self.at(ranks.high[1]));
        let high = Expected::Between { low: from, high: (to + to / 1_024.0).min(self.at(self.len())) };
        Expected::List(vec![low, high])
    }

    /// The summary of these times; nothing of none.
    pub fn expected(&self, intervals: Intervals<'_>) -> Expected {
        let Some([shortest, longest]) = self.ends() else { return Expected::Nothing };
        let mean = self.whole_mean();
        let (mean_interval, no_mean_interval) = match intervals {
            Intervals::Unjudged => (Expected::Open, Expected::Open),
            Intervals::Of(batches) => either(batches.and_then(TimesByBatch::mean_factors), |factors| {
                let end = |factor: f64| {
                    let value = mean as f64 * factor;
                    Expected::Near { value, by: 1.0 + 1e-6 * value }
                };
                Expected::List(factors.map(end).to_vec())
            }),
        };
        let quantiles = QUANTILES.map(|(name, per_billion)| {
            let (interval, no_interval) = match intervals {
                Intervals::Unjudged => (Expected::Open, Expected::Open),
                Intervals::Of(batches) => {
                    either(batches.and_then(|batches| batches.ranks(per_billion)), |ranks| {
                        self.between(ranks)
                    })
                }
            };
            Expected::record([
                ("name", Expected::word(name)),
                ("value_ns", self.upwards(rank(per_billion, self.len()))),
                ("interval_ns", interval),
                ("no_interval", no_interval),
            ])
        });
        let deviation = self
            .deviation()
            .map_or(Expected::Nothing, |value| Expected::Near { value, by: 1.0 + 1e-9 * value });
        Expected::record([
            ("count", Expected::Count(self.len())),
            ("clamped", Expected::Count(self.above)),
            ("mean_ns", Expected::Count(mean)),
            ("mean_interval_ns", mean_interval),
            ("no_mean_interval", no_mean_interval),
            ("sd_ns", deviation),
            ("min_ns", Expected::Count(shortest)),
            ("max_ns", Expected::Count(longest)),
            ("quantiles", Expected::List(quantiles.to_vec())),
        ])
    }
}

/// An interval and the reason for which there is none: one of the two.
pub fn either<T>(found: Result<T, NoInterval>, interval: impl FnOnce(T) -> Expected) -> (Expected, Expected) {
    match found {
        Ok(found) => (interval(found), Expected::Nothing),
        Err(none) => (Expected::Nothing, none.expected()),
    }
}

/// The product-limit estimate (Kaplan and Meier 1958) of times that were seen and ages that were not over.
pub struct Estimate {
    /// Times at which the share of longer ones falls, and that share.
    steps: Vec<(u64, f64)>,
    mean_ns: f64,
    longest: u64,
    censored: u64,
}

/// A share this small is none.
const NONE: f64 = 1e-12;

/// The bin of a time in a histogram of three digits: its lower and upper end.
fn bin(ns: u64) -> (u64, u64) {
    let width = 1_u64 << ns.max(1).ilog2().saturating_sub(10);
    let lower = ns / width * width;
    (lower, lower + width - 1)
}

impl Estimate {
    /// `None` without an age.
    pub fn of(seen: &SortedTimes, ages: &SortedTimes) -> Option<Estimate> {
        let longest = ages.ends()?[1].max(seen.ends().map_or(0, |ends| ends[1]));
        let shortest = ages.ends()?[0].min(seen.ends().map_or(u64::MAX, |ends| ends[0]));
        // Of each bin the times seen, and the ages.
        let mut bins: BTreeMap<(u64, u64), [u64; 2]> = BTreeMap::new();
        for (place, times) in [seen, ages].into_iter().enumerate() {
            for ns in &times.ns {
                bins.entry(bin(*ns)).or_default()[place] += 1;
            }
        }
        let mut left = seen.len() + ages.len();
        // The share that is left is `share` times the part of `since` requests that is.
        let (mut share, mut since, mut longer) = (1.0, left, 1.0);
        let (mut steps, mut area) = (Vec::new(), 0.0);
        for ((lower, upper), [ended, aged]) in bins {
            let (lower, upper) = (lower.max(shortest), upper.min(longest));
            if ended > 0 {
                left -= ended;
                let next = share * (left as f64 / since as f64);
                area += (longer - next) * (lower + (upper - lower) / 2) as f64;
                longer = next;
                steps.push((upper, longer));
            }
            if aged > 0 {
                left -= aged;
                (share, since) = (longer, left);
            }
        }
        area += longer * longest as f64;
        Some(Estimate { steps, mean_ns: area, longest, censored: ages.len() })
    }

    /// A percentile in nanoseconds, and whether it is only known to be more.
    pub fn quantile(&self, per_billion: u64) -> (f64, bool) {
        let left = 1.0 - per_billion as f64 / 1e9;
        let step = self.steps.iter().find(|(_, longer)| *longer <= left + NONE);
        step.map_or((self.longest as f64, true), |(ns, _)| (*ns as f64, false))
    }

    /// The share of times that are longer than this.
    pub fn beyond(&self, limit: f64) -> f64 {
        self.steps.iter().take_while(|(ns, _)| *ns as f64 <= limit).last().map_or(1.0, |(_, longer)| *longer)
    }

    /// The mean, likewise.
    pub fn mean(&self) -> (f64, bool) {
        (self.mean_ns.round(), !self.ends())
    }

    /// The longest, likewise.
    pub fn max(&self) -> (f64, bool) {
        match self.steps.last() {
            Some((ns, longer)) if *longer <= NONE => (*ns as f64, false),
            _ => (self.longest as f64, true),
        }
    }

    fn ends(&self) -> bool {
        self.steps.last().is_some_and(|(_, longer)| *longer <= NONE)
    }

    /// The estimate as the summary should have it.
    pub fn expected(&self) -> Expected {
        let time = |(ns, beyond): (f64, bool)| {
            let value = Expected::Near { value: ns, by: 1.0 + 1e-9 * ns };
            [("value_ns", value), ("is_lower_bound", Expected::Flag(beyond))]
        };
        let quantile = |(name, per_billion): (&str, u64)| {
            let [value, bound] = time(self.quantile(per_billion));
            Expected::record([("name", Expected::word(name)), value, bound])
        };
        Expected::record([
            ("censored", Expected::Count(self.censored)),
            ("mean", Expected::record(time(self.mean()))),
            ("quantiles", Expected::List(QUANTILES.map(quantile).to_vec())),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of Kaplan and Meier: deaths at 0.8, 3.1, 5.4 and 9.2 months, losses at 1.0, 2.7, 7.0 and
    /// 12.1.
    #[test]
    fn the_papers_own_example() {
        let of = |tenths: [u64; 4]| SortedTimes::of(tenths.into_iter());
        let estimate = Estimate::of(&of([8, 31, 54, 92]), &of([10, 27, 70, 121])).expect("ages");
        let shares: Vec<f64> = estimate.steps.iter().map(|(_, longer)| *longer).collect();
        let expected = [7.0 / 8.0, 0.7, 0.525, 0.2625];
        assert!(shares.iter().zip(expected).all(|(own, paper)| (own - paper).abs() < 1e-12), "{shares:?}");
        assert_eq!(estimate.quantile(300_000_000), (31.0, false));
        assert_eq!(estimate.quantile(740_000_000), (121.0, true));
        assert_eq!(estimate.mean(), (72.0, true));
        let beyond = [7.0, 8.0, 53.0, 54.0, 200.0].map(|limit| (estimate.beyond(limit) * 1e4).round());
        assert_eq!(beyond, [10_000.0, 8_750.0, 7_000.0, 5_250.0, 2_625.0]);
    }

    /// 9 of 10 beyond 1 µs, and the tenth in a bin that reaches beyond it or not.
    #[test]
    fn a_share_beyond_a_limit_is_counted_by_bins() {
        let of =
            |shortest: u64| SortedTimes::of((0..10).map(|nth| shortest + nth * 10_000)).beyond(1_000_000.0);
        let Some(Expected::Between { low, high }) = of(999_999) else { panic!("a range") };
        assert!((low - 0.9).abs() < 1e-9 && (high - 1.0).abs() < 1e-9, "{low} to {high}");
        let Some(Expected::Between { low, high }) = of(998_000) else { panic!("a range") };
        assert!((low - 0.9).abs() < 1e-9 && (high - 0.9).abs() < 1e-9, "{low} to {high}");
        assert_eq!(SortedTimes::of(std::iter::empty()).beyond(1.0), None);
    }

    #[test]
    fn bins_have_three_digits() {
        assert_eq!(bin(2_047), (2_047, 2_047));
        assert_eq!((bin(2_048), bin(2_049)), ((2_048, 2_049), (2_048, 2_049)));
        let (lower, upper) = bin(1_234_567_890);
        assert!(lower <= 1_234_567_890 && upper >= 1_234_567_890 && (upper - lower) * 1_000 < lower);
    }

    #[test]
    fn ranks_are_nearest() {
        assert_eq!((rank(990_000_000, 100), rank(500_000_000, 3), rank(70_000_000, 100)), (99, 2, 7));
    }
}
