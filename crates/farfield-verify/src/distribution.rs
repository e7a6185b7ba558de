//! Empirical distributions of times: moments, percentiles, and the distance of two of them.
//!
//! Percentiles are by nearest rank, as everywhere in farfield. The distance is that of Kolmogorov and
//! Smirnov, sup |F − G| over all times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Moments and percentiles of a set of times, in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// Number of values.
    pub count: u64,
    /// The mean; null without values.
    pub mean_ns: Option<f64>,
    /// The least.
    pub min_ns: Option<i64>,
    /// The median.
    pub p50_ns: Option<i64>,
    /// The 90th percentile.
    pub p90_ns: Option<i64>,
    /// The 99th percentile.
    pub p99_ns: Option<i64>,
    /// The 99.9th percentile.
    pub p99_9_ns: Option<i64>,
    /// The largest.
    pub max_ns: Option<i64>,
}

impl Distribution {
    /// The distribution of `sorted` values.
    pub fn of_sorted(sorted: &[i64]) -> Distribution {
        let count = sorted.len();
        let sum: i128 = sorted.iter().map(|value| i128::from(*value)).sum();
        Distribution {
            count: count as u64,
            mean_ns: (count > 0).then(|| sum as f64 / count as f64),
            min_ns: sorted.first().copied(),
            p50_ns: nearest_rank(sorted, 500),
            p90_ns: nearest_rank(sorted, 900),
            p99_ns: nearest_rank(sorted, 990),
            p99_9_ns: nearest_rank(sorted, 999),
            max_ns: sorted.last().copied(),
        }
    }

    /// The percentile of that name (`p50`, `p90`, `p99` or `p99.9`).
    pub fn named(&self, name: &str) -> Option<i64> {
        match name {
            "p50" => self.p50_ns,
            "p90" => self.p90_ns,
            "p99" => self.p99_ns,
            "p99.9" => self.p99_9_ns,
            _ => None,
        }
    }
}

/// The value at rank ⌈n · per_mille / 1000⌉ of `sorted` values, if there are any.
pub fn nearest_rank(sorted: &[i64], per_mille: usize) -> Option<i64> {
    let rank = (sorted.len() * per_mille).div_ceil(1000);
    sorted.get(rank.max(1) - 1).copied()
}

/// The largest distance between the distribution functions of two sets of `sorted` values, from 0 to 1;
/// `None` if either is empty.
pub fn distance<T: PartialOrd + Copy>(left: &[T], right: &[T]) -> Option<f64> {
    if left.is_empty() || right.is_empty() {
        return None;
    }
    let (mut i, mut j, mut largest) = (0, 0, 0.0f64);
    while i < left.len() && j < right.len() {
        let value = if left[i] <= right[j] { left[i] } else { right[j] };
        while i < left.len() && left[i] <= value {
            i += 1;
        }
        while j < right.len() && right[j] <= value {
            j += 1;
        }
        largest = largest.max((i as f64 / left.len() as f64 - j as f64 / right.len() as f64).abs());
    }
    Some(largest)
}

/// The distance that two samples of one distribution exceed once in a thousand times (Smirnov 1948):
/// 1.95 √((n + m) / nm).
pub fn distance_by_chance(n: usize, m: usize) -> f64 {
    let (n, m) = (n.max(1) as f64, m.max(1) as f64);
    1.95 * ((n + m) / (n * m)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the definition: both functions counted at every value.
        #[test]
        fn the_distance_is_its_definition(
            mut left in prop::collection::vec(0_i64..40, 1..40),
            mut right in prop::collection::vec(0_i64..40, 1..40),
        ) {
            left.sort_unstable();
            right.sort_unstable();
            let share = |of: &[i64], x: i64| of.iter().filter(|v| **v <= x).count() as f64 / of.len() as f64;
            let oracle = (0..40).map(|x| (share(&left, x) - share(&right, x)).abs()).fold(0.0, f64::max);
            prop_assert!((distance(&left, &right).expect("values") - oracle).abs() < 1e-12);
        }
    }

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let values: Vec<i64> = (1..=100).collect();
        let found = Distribution::of_sorted(&values);
        assert_eq!((found.p50_ns, found.p99_ns, found.p99_9_ns), (Some(50), Some(99), Some(100)));
        assert_eq!(found.mean_ns, Some(50.5));
        assert_eq!(Distribution::of_sorted(&[]), Distribution::default());
        assert_eq!(distance(&[1], &[2]), Some(1.0));
        assert_eq!(distance::<i64>(&[], &[2]), None);
    }
}
