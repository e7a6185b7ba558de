//! The distribution of a time of which some values are censored: the product-limit estimate of Kaplan and
//! Meier (1958, "Nonparametric estimation from incomplete observations", Journal of the American Statistical
//! Association 53).
//!
//! S(t), the share of requests that take longer than t, falls at each time that was seen by the share of
//! those then under observation: `S(t) = Π (1 − d/n)`, with d requests that took that time and n that took
//! it or longer, those censored there or later among them. The estimate takes what was censored for no
//! different from the rest. Where a server hangs that is too kind, so bounds stand in the
//! [verdict](crate::verdict).
//!
//! The quantile is the least time at which S has fallen to 1 − p. Where S never falls so far, because the
//! longest of all are censored, the quantile is only known to lie beyond the largest age. The mean is the
//! area under S; up to the largest age, where S does not fall to 0 (the restricted mean), and then it is a
//! lower bound.
//!
//! Both come from the bins of [histograms](crate::histogram), with their stated error. Without a censored
//! value the quantiles are those of the histogram. Requests censored in a bin where others ended are taken
//! to have gone on past these.

use crate::histogram::Histogram;
use crate::quantile::Quantile;
use farfield_base::Duration;

/// Rounding of S: products of few numbers, since S is counted between censored bins and multiplied at them.
const ROUNDING: f64 = 1e-12;

/// A number that may only be known from below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The exact number.
    At(Duration),
    /// A lower bound: the number is larger.
    Beyond(Duration),
}

impl Bound {
    /// The time itself.
    pub fn time(self) -> Duration {
        match self {
            Bound::At(time) | Bound::Beyond(time) => time,
        }
    }

    /// True if the number is only known to be more.
    pub fn is_beyond(self) -> bool {
        matches!(self, Bound::Beyond(_))
    }
}

/// An estimated distribution.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Times at which S falls, in their order, and S from there on.
    steps: Vec<(Duration, f64)>,
    /// The area under S up to the last time seen or the largest age.
    area_ns: f64,
    /// The last time seen or the largest age.
    last: Duration,
}

/// One bin of two histograms: its upper end and middle, the times seen, and those censored.
struct CensoredBin {
    upper_ns: u64,
    middle_ns: u64,
    seen: u64,
    censored: u64,
}

impl Estimate {
    /// Estimates from times that were `seen` and ages that were `censored`; `None` if there are neither.
    pub fn of(seen: &Histogram, censored: &Histogram) -> Option<Estimate> {
        let last = seen.max().into_iter().chain(censored.max()).max()?;
        let mut under_observation = seen.count() + censored.count();
        // S is `level` times the part of `counted_from` requests that is left.
        let (mut level, mut counted_from) = (1.0, under_observation);
        let (mut survival, mut area_ns, mut steps) = (1.0, 0.0, Vec::new());
        for bin in bins(seen, censored) {
            if bin.seen > 0 {
                under_observation -= bin.seen;
                let next = level * (under_observation as f64 / counted_from as f64);
                area_ns += (survival - next) * bin.middle_ns as f64;
                survival = next;
                steps.push((Duration::from_ns(bin.upper_ns), survival));
            }
            if bin.censored > 0 {
                under_observation -= bin.censored;
                (level, counted_from) = (survival, under_observation);
            }
        }
        area_ns += survival * last.as_ns() as f64;
        Some(Estimate { steps, area_ns, last })
    }

    /// The quantile.
    pub fn quantile(&self, quantile: Quantile) -> Bound {
        let left = 1.0 - quantile.as_f64();
        let reached = self.steps.partition_point(|(_, survival)| *survival > left + ROUNDING);
        self.steps.get(reached).map_or(Bound::Beyond(self.last), |(time, _)| Bound::At(*time))
    }

    /// The share of times that are longer than this: S there.
    pub fn beyond(&self, time: Duration) -> f64 {
        let passed = self.steps.partition_point(|(step, _)| *step <= time);
        passed.checked_sub(1).map_or(1.0, |last| self.steps[last].1)
    }

    /// The mean: of the times up to the largest age where what was censored outlasts all that was seen.
    pub fn mean(&self) -> Bound {
        let mean = Duration::from_ns(self.area_ns.round() as u64);
        let ends = self.steps.last().is_some_and(|(_, survival)| *survival <= ROUNDING);
        if ends { Bound::At(mean) } else { Bound::Beyond(mean) }
    }

    /// The largest time: known only if nothing was censored later than it.
    pub fn max(&self) -> Bound {
        match self.steps.last() {
            Some((time, survival)) if *survival <= ROUNDING => Bound::At(*time),
            _ => Bound::Beyond(self.last),
        }
    }
}

/// The bins of both that hold anything, in order.
fn bins(seen: &Histogram, censored: &Histogram) -> impl Iterator<Item = CensoredBin> {
    let mut left = recorded(seen).peekable();
    let mut right = recorded(censored).peekable();
    let ends = [seen, censored].map(|times| [times.min(), times.max()]);
    let least = ends.iter().filter_map(|[min, _]| *min).min().unwrap_or(Duration::ZERO).as_ns();
    let most = ends.iter().filter_map(|[_, max]| *max).max().unwrap_or(Duration::ZERO).as_ns();
    let widths = seen.bins();
    std::iter::from_fn(move || {
        let value = match (left.peek(), right.peek()) {
            (Some((left, _)), Some((right, _))) => *left.min(right),
            (Some((only, _)), None) | (None, Some((only, _))) => *only,
            (None, None) => return None,
        };
        let seen = left.next_if(|(at, _)| *at == value).map_or(0, |(_, count)| count);
        let censored = right.next_if(|(at, _)| *at == value).map_or(0, |(_, count)| count);
        let (lower, upper) = (widths.lowest_equivalent(value), widths.highest_equivalent(value));
        let (lower, upper) = (lower.max(least), upper.min(most));
        Some(CensoredBin { upper_ns: upper, middle_ns: lower + (upper - lower) / 2, seen, censored })
    })
}

/// The upper end of each bin that holds anything, and how many it holds.
fn recorded(times: &Histogram) -> impl Iterator<Item = (u64, u64)> {
    let bins = times.bins();
    bins.iter_recorded()
        .map(|bin| (bins.highest_equivalent(bin.value_iterated_to()), bin.count_since_last_iteration()))
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

    fn estimate(seen: &[u64], censored: &[u64]) -> Estimate {
        Estimate::of(&of(seen), &of(censored)).expect("values")
    }

    fn at(ns: u64) -> Bound {
        Bound::At(Duration::from_ns(ns))
    }

    fn beyond(ns: u64) -> Bound {
        Bound::Beyond(Duration::from_ns(ns))
    }

    /// Per cent.
    fn p(percent: u32) -> Quantile {
        Quantile::per_billion(percent * 10_000_000).expect("a percentile")
    }

    /// The example that Kaplan and Meier give: deaths at 0.8, 3.1, 5.4 and 9.2 months, losses at 1.0, 2.7,
    /// 7.0 and 12.1. S falls to 7/8, then 7/8 · 4/5, · 3/4, and with two left to 0.2625.
    #[test]
    fn the_papers_own_example() {
        let tenths = estimate(&[8, 31, 54, 92], &[10, 27, 70, 121]);
        let expected = [(8, 7.0 / 8.0), (31, 0.7), (54, 0.525), (92, 0.2625)];
        for ((time, survival), (expected_time, expected_survival)) in tenths.steps.iter().zip(expected) {
            assert_eq!(time.as_ns(), expected_time);
            assert!((survival - expected_survival).abs() < 1e-12, "{survival} for {expected_survival}");
        }
        assert_eq!(tenths.steps.len(), 4);
        assert_eq!(
            [p(12), p(13), p(30), p(31), p(73), p(74)].map(|p| tenths.quantile(p)),
            [at(8), at(31), at(31), at(54), at(92), beyond(121)]
        );
        // 8/8·1 + 31·0.175 + 54·0.175 + 92·0.2625 + 121·0.2625, by hand: 1 + 5.425 + 9.45 + 24.15 + 31.7625.
        assert_eq!(tenths.mean(), beyond(72));
        assert_eq!(tenths.max(), beyond(121));
        let left = [7, 8, 53, 54, 92, 200].map(|time| tenths.beyond(Duration::from_ns(time)));
        assert_eq!(
            left.map(|share| (share * 1e4).round()),
            [10_000.0, 8750.0, 7000.0, 5250.0, 2625.0, 2625.0]
        );
    }

    /// Freireich's 21 patients on 6-MP (as in Klein and Moeschberger, table 4.1): S after 6, 7, 10, 13, 16,
    /// 22 and 23 weeks, with ties and with a loss in the week of a relapse.
    #[test]
    fn relapses_in_the_textbook() {
        let weeks =
            estimate(&[6, 6, 6, 7, 10, 13, 16, 22, 23], &[6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]);
        let expected = [0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448];
        let survival: Vec<f64> = weeks.steps.iter().map(|(_, survival)| *survival).collect();
        assert_eq!(survival.len(), expected.len());
        assert!(survival.iter().zip(expected).all(|(s, e)| (s - e).abs() < 5e-4), "{survival:?}");
        assert_eq!(weeks.quantile(Quantile::P50), at(23));
        assert_eq!(weeks.quantile(p(56)), beyond(35));
    }

    #[test]
    fn nothing_but_censored_is_known_from_below_alone() {
        let open = estimate(&[], &[5, 9]);
        assert_eq!((open.quantile(p(1)), open.mean(), open.max()), (beyond(9), beyond(9), beyond(9)));
        assert_eq!(Estimate::of(&of(&[]), &of(&[])), None);
    }

    /// Censored early, a value says nothing: the estimate is that of the others. Censored last, all of it is
    /// known.
    #[test]
    fn what_was_hardly_seen_changes_nothing() {
        let times: Vec<u64> = (100..200).collect();
        let with = estimate(&times, &[1, 2, 3]);
        assert_eq!((with.quantile(Quantile::P99), with.max()), (at(198), at(199)));
        assert!((149..=150).contains(&with.mean().time().as_ns()) && !with.mean().is_beyond(), "149.5");
    }

    proptest! {
        /// Without a censored value: the histogram's quantiles, and its mean within the bins' error.
        #[test]
        fn uncensored_it_is_the_histogram(
            times in prop::collection::vec(prop_oneof![0_u64..5000, 0_u64..1 << 40], 1..300),
            parts in 1_u32..=1_000_000_000,
        ) {
            let (seen, quantile) = (of(&times), Quantile::per_billion(parts).expect("in range"));
            let estimate = Estimate::of(&seen, &Histogram::new()).expect("times");
            prop_assert_eq!(Some(estimate.quantile(quantile)), seen.quantile(quantile).map(Bound::At));
            let mean = seen.mean().expect("times").as_ns();
            prop_assert!(estimate.mean().time().as_ns().abs_diff(mean) <= 1 + mean / 1000);
            prop_assert!(!estimate.mean().is_beyond());
        }

        /// Against the definition, value by value, on times that bins keep exactly.
        #[test]
        fn it_is_the_product_of_its_definition(
            seen in prop::collection::vec(0_u64..2000, 1..60),
            censored in prop::collection::vec(0_u64..2000, 0..60),
        ) {
            let estimate = estimate(&seen, &censored);
            for (time, survival) in &estimate.steps {
                let at = time.as_ns();
                let exact: f64 = seen.iter().collect::<std::collections::BTreeSet<_>>().into_iter()
                    .filter(|earlier| **earlier <= at)
                    .map(|earlier| {
                        let died = seen.iter().filter(|t| *t == earlier).count() as f64;
                        let risk = seen.iter().chain(&censored).filter(|t| *t >= earlier).count() as f64;
                        1.0 - died / risk
                    })
                    .product();
                prop_assert!((survival - exact).abs() < 1e-9, "{survival} for {exact} at {at}");
            }
        }
    }
}
