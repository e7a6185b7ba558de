//! Quantiles by nearest rank, and their confidence intervals.
//!
//! The p-quantile of n values is the smallest of them that at least p·n of them do not exceed: the value
//! at rank ⌈p·n⌉ (Hyndman and Fan 1996, definition 1). So the p99 of 100 values is the 99th, not the
//! largest. A [`Quantile`] is held in whole parts of a billion, because in floating point 0.07 × 100 is
//! more than 7 and its ceiling the wrong rank.
//!
//! The confidence interval is distribution-free: the number of values at or below the true quantile is
//! Binomial(n, p), so the order statistics at two binomial quantiles enclose it (Conover, Practical
//! Nonparametric Statistics, section 3.2). It takes the values for independent. Samples of one run are not:
//! queues make neighbours alike, and the interval is then too narrow. So a summary has intervals by
//! [batches](crate::batches), and this one is for the check of unfinished requests where there are none, and
//! where it is the stricter.

use std::fmt;
use std::str::FromStr;

/// A quantile p in (0, 1], exact to one part in a billion; written in per cent: `p99.9`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantile(u32);

const BILLION: u32 = 1_000_000_000;

/// Each side of a confidence interval may miss with this probability: 95 % in all.
const TAIL: f64 = 0.025;

impl Quantile {
    /// The median.
    pub const P50: Quantile = Quantile(500_000_000);
    /// Nine of ten.
    pub const P90: Quantile = Quantile(900_000_000);
    /// 95 of a hundred.
    pub const P95: Quantile = Quantile(950_000_000);
    /// 99 of a hundred.
    pub const P99: Quantile = Quantile(990_000_000);
    /// 999 of a thousand.
    pub const P99_9: Quantile = Quantile(999_000_000);
    /// 9,999 of ten thousand.
    pub const P99_99: Quantile = Quantile(999_900_000);

    /// The quantile of `parts` in a billion; `None` for 0 and above a billion.
    pub const fn per_billion(parts: u32) -> Option<Quantile> {
        if parts >= 1 && parts <= BILLION { Some(Quantile(parts)) } else { None }
    }

    /// p as a number in (0, 1].
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(BILLION)
    }

    /// The rank, from 1, of this quantile among `count` values: ⌈p·count⌉. `None` if there are none.
    pub fn rank(self, count: u64) -> Option<u64> {
        let scaled = u128::from(self.0) * u128::from(count);
        // At most `count`, since p is at most 1.
        (count > 0).then(|| scaled.div_ceil(u128::from(BILLION)) as u64)
    }

    /// Ranks of the two values that enclose the true quantile with at least 95 % confidence, at most 2.5
    /// % on either side. `None` where `count` values are too few for both ends: below 6 for the median,
    /// 368 for p99.
    ///
    /// Walks the binomial weights about its mode: O(√count).
    pub fn interval_ranks(self, count: u64) -> Option<(u64, u64)> {
        if count == 0 || self.0 == BILLION {
            return None;
        }
        let below = Binomial { n: count, p: self.as_f64() };
        // With B values at or below the true quantile, it lies in [X(low), X(high)) when low <= B < high.
        let low = below.largest_below_tail()?;
        let high = below.smallest_above_tail()?;
        Some((low, high))
    }
}

impl fmt::Display for Quantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0 / 10_000_000, self.0 % 10_000_000);
        match fraction {
            0 => write!(f, "p{whole}"),
            _ => write!(f, "p{whole}.{}", format!("{fraction:07}").trim_end_matches('0')),
        }
    }
}

/// The error of parsing a quantile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no percentile; write `p50`, `p99.9` or another above p0 and up to p100, with at most 7 decimals"
)]
pub struct QuantileError(pub String);

impl FromStr for Quantile {
    type Err = QuantileError;

    /// Reads `p99.9` digit by digit, so that nothing is rounded.
    fn from_str(text: &str) -> Result<Quantile, QuantileError> {
        let refuse = || QuantileError(text.to_owned());
        let digits = |text: &str, most: usize| {
            (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        let number = text.strip_prefix('p').ok_or_else(refuse)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        if !digits(whole, 3) || !digits(fraction, 7) {
            return Err(refuse());
        }
        let parts = format!("{whole}{fraction:0<7}").parse::<u64>().map_err(|_| refuse())?;
        u32::try_from(parts).ok().and_then(Quantile::per_billion).ok_or_else(refuse)
    }
}

/// The distribution of the number of values at or below the true quantile; 0 < p < 1.
struct Binomial {
    n: u64,
    p: f64,
}

impl Binomial {
    fn mode(&self) -> u64 {
        (((self.n + 1) as f64 * self.p) as u64).min(self.n)
    }

    /// Weights of mode, mode − 1, … 0, relative to the mode's: w(k−1) = w(k) · k(1−p) / ((n−k+1)p). Ends
    /// where they no longer count.
    fn downward(&self) -> impl Iterator<Item = (u64, f64)> {
        let odds = (1.0 - self.p) / self.p;
        let n = self.n;
        std::iter::successors(Some((self.mode(), 1.0)), move |&(k, weight)| {
            let next = weight * k as f64 / (n - k + 1) as f64 * odds;
            (k > 0 && next > f64::EPSILON * 1e-3).then(|| (k - 1, next))
        })
    }

    /// Weights of mode + 1, … n: w(k+1) = w(k) · (n−k)p / ((k+1)(1−p)).
    fn upward(&self) -> impl Iterator<Item = (u64, f64)> {
        let odds = self.p / (1.0 - self.p);
        let n = self.n;
        let above = std::iter::successors(Some((self.mode(), 1.0)), move |&(k, weight)| {
            let next = weight * (n - k) as f64 / (k + 1) as f64 * odds;
            (k < n && next > f64::EPSILON * 1e-3).then(|| (k + 1, next))
        });
        above.skip(1)
    }

    fn total(&self) -> f64 {
        self.downward().chain(self.upward()).map(|(_, weight)| weight).sum()
    }

    /// The largest l in 1..=n with P(B < l) <= tail.
    fn largest_below_tail(&self) -> Option<u64> {
        let allowed = TAIL * self.total();
        let mut under: f64 = self.downward().map(|(_, weight)| weight).sum();
        for (k, weight) in self.downward() {
            under -= weight; // now the weight of B < k
            if under <= allowed {
                return (k >= 1).then_some(k);
            }
        }
        None
    }

    /// The smallest u in 1..=n with P(B >= u) <= tail.
    fn smallest_above_tail(&self) -> Option<u64> {
        let allowed = TAIL * self.total();
        let mut from: f64 = self.upward().map(|(_, weight)| weight).sum(); // the weight of B >= mode + 1
        if from <= allowed {
            return (self.mode() < self.n).then_some(self.mode() + 1);
        }
        for (k, weight) in self.upward() {
            from -= weight; // now the weight of B >= k + 1
            if from <= allowed {
                return (k < self.n).then_some(k + 1);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranks_are_nearest_and_exact() {
        let check = |p: &str, count, rank| {
            assert_eq!(p.parse::<Quantile>().expect(p).rank(count), Some(rank), "{p} of {count}");
        };
        check("p99", 100, 99);
        check("p7", 100, 7); // 0.07 * 100.0 is 7.000000000000001
        check("p50", 1, 1);
        check("p50", 2, 1);
        check("p50", 3, 2);
        check("p99.9", 1000, 999);
        check("p100", 5, 5);
        check("p0.0000001", 5, 1);
        check("p50", u64::MAX, u64::MAX / 2 + 1);
        assert_eq!(Quantile::P50.rank(0), None);
    }

    #[test]
    fn reads_and_refuses() {
        for text in ["p0", "p101", "99", "p", "p.5", "p5.", "p99.99999999", "p-1", "p1e1", "p99,9"] {
            assert!(text.parse::<Quantile>().is_err(), "{text}");
        }
        assert_eq!("p99.9".parse(), Ok(Quantile::P99_9));
        assert_eq!("p50.00".parse(), Ok(Quantile::P50));
    }

    /// The published ranks for medians, and the smallest counts, from 0.5^n and 0.99^n against 2.5 %.
    #[test]
    fn intervals_match_the_tables() {
        let check = |q: Quantile, count, ranks| assert_eq!(q.interval_ranks(count), ranks, "{q} of {count}");
        check(Quantile::P50, 5, None);
        check(Quantile::P50, 6, Some((1, 6)));
        check(Quantile::P50, 10, Some((2, 9)));
        check(Quantile::P50, 20, Some((6, 15)));
        check(Quantile::P50, 100, Some((40, 61)));
        assert_eq!(Quantile::P99.interval_ranks(367), None);
        assert!(Quantile::P99.interval_ranks(368).is_some());
        assert_eq!(Quantile::P99_9.interval_ranks(3687), None);
        assert!(Quantile::P99_9.interval_ranks(3688).is_some());
        assert_eq!(Quantile(BILLION).interval_ranks(1_000_000), None);
    }

    /// Far out the binomial is normal: np ± 1.96 √(np(1−p)), to a rank or two.
    #[test]
    fn large_counts_follow_the_normal_law() {
        for (quantile, count) in [(Quantile::P50, 1_000_000_u64), (Quantile::P99, 10_000_000)] {
            let (n, p) = (count as f64, quantile.as_f64());
            let half = 1.959_964 * (n * p * (1.0 - p)).sqrt();
            let (low, high) = quantile.interval_ranks(count).expect("many values");
            assert!((low as f64 - (n * p - half)).abs() < 3.0, "{low}");
            assert!((high as f64 - (n * p + half)).abs() < 3.0, "{high}");
        }
    }

    /// Binomial probabilities straight from their definition, for counts where that is easy.
    fn exact_cdf(n: u64, p: f64) -> Vec<f64> {
        let mut row = vec![1.0_f64];
        for _ in 0..n {
            let mut next = vec![0.0; row.len() + 1];
            for (k, weight) in row.iter().enumerate() {
                next[k] += weight * (1.0 - p);
                next[k + 1] += weight * p;
            }
            row = next;
        }
        let mut sum = 0.0;
        row.iter()
            .map(|weight| {
                sum += weight;
                sum
            })
            .collect()
    }

    proptest! {
        #[test]
        fn prints_what_it_reads(parts in 1..=BILLION) {
            prop_assert_eq!(Quantile(parts).to_string().parse(), Ok(Quantile(parts)));
        }

        #[test]
        fn intervals_are_the_tightest_that_keep_both_tails(parts in 1..BILLION, count in 1_u64..200) {
            let quantile = Quantile(parts);
            let cdf = exact_cdf(count, quantile.as_f64());
            let under = |rank: u64| if rank == 0 { 0.0 } else { cdf[rank as usize - 1] }; // P(B < rank)
            const SLACK: f64 = 1e-9;
            match quantile.interval_ranks(count) {
                Some((low, high)) => {
                    prop_assert!(low >= 1 && low < high && high <= count);
                    prop_assert!(under(low) <= TAIL + SLACK);
                    prop_assert!(under(low + 1) > TAIL - SLACK);
                    prop_assert!(1.0 - under(high) <= TAIL + SLACK);
                    prop_assert!(1.0 - under(high - 1) > TAIL - SLACK);
                }
                None => prop_assert!(under(1) > TAIL - SLACK || 1.0 - under(count) > TAIL - SLACK),
            }
        }
    }
}
