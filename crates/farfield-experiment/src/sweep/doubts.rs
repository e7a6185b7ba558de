//! Tests of repeats' numbers for what Student's interval assumes: independence and normality.
//!
//! Independence is tested in the order of the blocks by the rank version of von Neumann's ratio (Bartels
//! 1982, "The rank version of von Neumann's ratio test for randomness"): a machine that drifts, or a server
//! that remembers, gives neighbours numbers that are alike. Normality is tested by the correlation with
//! normal scores (Ryan and Joiner 1976, "Normal probability plots and tests for normality"). Both at 1 %: of
//! many points a few are always unusual.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

/// Numbers at least: of fewer, neither test says anything.
const COUNT_MIN: usize = 10;
/// The quantile of the normal distribution that a ratio of independent numbers is below with 1 %.
const ONE_PERCENT: f64 = -2.326_347_9;

/// Doubt about the interval of a mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// Repeats that follow each other are alike: they are not independent, or something drifts.
    Dependent,
    /// Repeats are not normal: the mean may have a wider interval, and says less.
    NotNormal,
    /// Repeats are those of several in which the server coped: in the others it did not.
    Survivors,
}

impl Doubt {
    /// The doubt as a clause about repeats.
    pub fn in_words(self) -> &'static str {
        match self {
            Doubt::Dependent => "repeats that follow each other are alike: something drifts",
            Doubt::NotNormal => "repeats are not normally distributed",
            Doubt::Survivors => {
                "in other repeats the server did not cope: the mean is of those in which it did"
            }
        }
    }
}

/// Doubts about the interval of the mean of these numbers, in the order in which they were made.
pub fn doubts(numbers: &[f64]) -> Vec<Doubt> {
    let varies = numbers.iter().any(|number| *number != numbers[0]);
    if numbers.len() < COUNT_MIN || !varies || numbers.iter().any(|number| !number.is_finite()) {
        return Vec::new();
    }
    let dependent = (bartels(numbers) < ONE_PERCENT).then_some(Doubt::Dependent);
    let not_normal = (ryan_joiner(numbers) < critical(numbers.len() as f64)).then_some(Doubt::NotNormal);
    dependent.into_iter().chain(not_normal).collect()
}

/// The rank version of von Neumann's ratio, in standard deviations from what independent numbers have.
fn bartels(numbers: &[f64]) -> f64 {
    let n = numbers.len() as f64;
    let rank = |number: &f64| {
        let below = numbers.iter().filter(|other| *other < number).count() as f64;
        let equal = numbers.iter().filter(|other| *other == number).count() as f64;
        below + (equal + 1.0) / 2.0
    };
    let ranks: Vec<f64> = numbers.iter().map(rank).collect();
    let steps: f64 = ranks.windows(2).map(|pair| (pair[0] - pair[1]).powi(2)).sum();
    let spread: f64 = ranks.iter().map(|rank| (rank - f64::midpoint(n, 1.0)).powi(2)).sum();
    let variance =
        4.0 * (n - 2.0) * (5.0 * n * n - 2.0 * n - 9.0) / (5.0 * n * (n + 1.0) * (n - 1.0).powi(2));
    (steps / spread - 2.0) / variance.sqrt()
}

/// The correlation of the numbers with the normal scores of their ranks.
fn ryan_joiner(numbers: &[f64]) -> f64 {
    let normal = Normal::new(0.0, 1.0).expect("the standard normal distribution");
    let n = numbers.len() as f64;
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mean = sorted.iter().sum::<f64>() / n;
    let (mut both, mut own, mut of_scores) = (0.0, 0.0, 0.0);
    for (at, number) in sorted.iter().enumerate() {
        let score = normal.inverse_cdf((at as f64 + 1.0 - 0.375) / (n + 0.25));
        both += (number - mean) * score;
        own += (number - mean).powi(2);
        of_scores += score * score;
    }
    both / (own * of_scores).sqrt()
}

/// The correlation that so many normal numbers are below with 1 %, as the paper has it.
fn critical(n: f64) -> f64 {
    0.9963 - 0.0211 / n.sqrt() - 1.4106 / n + 3.1791 / (n * n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed, Stream};
    use rand_core::Rng;

    fn normal(stream: &mut Stream) -> f64 {
        (0..12).map(|_| (stream.next_u64() >> 11) as f64 / (1u64 << 53) as f64).sum::<f64>() - 6.0
    }

    /// The share of 1,000 designs of so many numbers of which this is doubted.
    fn share(doubt: Doubt, count: usize, numbers: impl Fn(&mut Stream, usize) -> Vec<f64>) -> f64 {
        let doubted = (0..1000).filter(|seed| {
            let mut stream = Seed(*seed).stream(Purpose::User, 3);
            doubts(&numbers(&mut stream, count)).contains(&doubt)
        });
        doubted.count() as f64 / 1000.0
    }

    fn independent(stream: &mut Stream, count: usize) -> Vec<f64> {
        (0..count).map(|_| normal(stream)).collect()
    }

    #[test]
    fn independent_normal_numbers_are_doubted_in_one_of_a_hundred() {
        for count in [10, 20, 60] {
            for doubt in [Doubt::Dependent, Doubt::NotNormal] {
                let found = share(doubt, count, independent);
                assert!((0.002..=0.02).contains(&found), "{doubt:?} of {count}: {found}");
            }
        }
    }

    #[test]
    fn drift_and_tails_are_found() {
        let drifting = |stream: &mut Stream, count: usize| {
            let own = |at: usize, noise: f64| 3.0 * at as f64 / count as f64 + noise;
            (0..count).map(|at| own(at, normal(stream))).collect()
        };
        assert!(share(Doubt::Dependent, 40, drifting) > 0.5);
        let with_tail =
            |stream: &mut Stream, count: usize| (0..count).map(|_| (1.5 * normal(stream)).exp()).collect();
        assert!(share(Doubt::NotNormal, 20, with_tail) > 0.7);
        assert_eq!(doubts(&[1.0; 30]), []);
        assert_eq!(doubts(&[1.0, 2.0, 300.0]), []);
    }
}
