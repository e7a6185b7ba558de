//! Confidence intervals of means over few repeats, by Student's t distribution.
//!
//! The mean of n independent, normally distributed numbers lies within t·s/√n of the true one with the
//! probability that the quantile t of n − 1 degrees of freedom is taken for (Student 1908); s is the standard
//! deviation of the numbers. The difference of two means has the sum of their variances, and the degrees of
//! freedom of Welch (1947, "The generalization of Student's problem when several different population
//! variances are involved"). Nothing is corrected for numbers that are not normal; [`holm`] corrects for the
//! number of comparisons.
//!
//! Numbers of single runs come with 95 % intervals of their own, whose ends may lie at different distances.
//! The interval of the difference of two of them follows from these four distances, in the way of Zou and
//! Donner (2008, "Construction of confidence limits about effect measures: a general approach", Statistics in
//! Medicine 27): an end of the difference is as far from it as the root of the summed squares of the two
//! distances that lead there.

use crate::beta;
use crate::spectrum::{DEGREES, HALF_WIDTH};

/// A mean, and what its interval follows from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanEstimate {
    /// The mean.
    pub mean: f64,
    /// The squared standard error of the mean; 0 for a constant.
    variance: f64,
    /// Degrees of freedom; infinite for a constant.
    degrees: f64,
}

impl MeanEstimate {
    /// A number that is known.
    pub fn constant(number: f64) -> MeanEstimate {
        MeanEstimate { mean: number, variance: 0.0, degrees: f64::INFINITY }
    }

    /// An estimate with this squared standard error, found with so many degrees of freedom.
    pub fn with(mean: f64, variance: f64, degrees: f64) -> MeanEstimate {
        MeanEstimate { mean, variance, degrees }
    }

    /// The mean of `numbers`; absent if there are fewer than two, which have no standard deviation.
    pub fn of(numbers: &[f64]) -> Option<MeanEstimate> {
        if numbers.len() < 2 {
            return None;
        }
        let count = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / count;
        let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
        Some(MeanEstimate { mean, variance: squares / (count - 1.0) / count, degrees: count - 1.0 })
    }

    /// The difference of one number from the mean of `repeats`, if the one has their standard deviation s:
    /// the variance is s²(1 + 1/n). Absent if there are fewer than two repeats, or if they agree exactly,
    /// which says nothing of the one.
    pub fn one_against(one: f64, repeats: &[f64]) -> Option<MeanEstimate> {
        let mean = MeanEstimate::of(repeats)?;
        let variance = mean.variance * (repeats.len() as f64 + 1.0);
        let differs = one != mean.mean;
        (variance > 0.0 || !differs).then_some(MeanEstimate { mean: one - mean.mean, variance, ..mean })
    }

    /// The estimate with this squared standard error, which is known and not estimated from repeats, if its
    /// own interval is narrower: repeats that agree by luck, or because what they count is rare, are not
    /// exact.
    pub fn with_variance_of_at_least(self, variance: f64) -> MeanEstimate {
        let least = MeanEstimate { variance, degrees: NORMAL, ..self };
        if self.half_width(WIDER_AT) < least.half_width(WIDER_AT) { least } else { self }
    }

    /// `times` the estimate `plus` a constant.
    pub fn scaled(self, times: f64, plus: f64) -> MeanEstimate {
        MeanEstimate { mean: self.mean * times + plus, variance: self.variance * times * times, ..self }
    }

    /// The difference from an independent estimate.
    pub fn minus(self, other: MeanEstimate) -> MeanEstimate {
        let variance = self.variance + other.variance;
        let parts = [self, other].map(|part| part.variance.powi(2) / part.degrees);
        let degrees = if variance > 0.0 { variance.powi(2) / (parts[0] + parts[1]) } else { f64::INFINITY };
        MeanEstimate { mean: self.mean - other.mean, variance, degrees }
    }

    /// Half the width of the interval that contains the true mean with probability `level`, half of the rest
    /// on either side.
    pub fn half_width(&self, level: f64) -> f64 {
        if self.variance == 0.0 {
            return 0.0;
        }
        beta::student_quantile(level, self.degrees) * self.variance.sqrt()
    }

    /// Ends of the interval that contains the true mean with probability `level`.
    pub fn ends(&self, level: f64) -> (f64, f64) {
        let half_width = self.half_width(level);
        (self.mean - half_width, self.mean + half_width)
    }

    /// The probability of a mean at least as far from 0, on either side, if the true one were 0.
    pub fn p_value(&self) -> f64 {
        if self.variance == 0.0 {
            return if self.mean == 0.0 { 1.0 } else { 0.0 };
        }
        beta::student_beyond(self.mean.abs() / self.variance.sqrt(), self.degrees)
    }
}

/// Failures that may have been among requests of which none failed: 1.96 standard deviations of so many are
/// the 3.7 that are the upper end of Poisson's interval of none, with 95 % on both sides.
const UNSEEN: f64 = 3.5;

/// Degrees of freedom at which Student's distribution is the normal one.
const NORMAL: f64 = 1e6;
/// The level at which two intervals are compared for which is wider.
const WIDER_AT: f64 = 0.95;

/// The squared standard error that the mean of shares has at least, each of which is one of so many requests:
/// that of the failures that came, if these come one by one, and of those that may have been.
pub fn variance_of_shares(shares: &[f64], requests: &[u64]) -> f64 {
    let all: f64 = requests.iter().map(|requests| *requests as f64).sum();
    let failed: f64 = shares.iter().zip(requests).map(|(share, requests)| share * *requests as f64).sum();
    if all == 0.0 {
        return f64::INFINITY;
    }
    let by_chance = failed * (1.0 - failed / all).max(0.0);
    (by_chance + UNSEEN) / all.powi(2)
}

/// The t that a number of Student's distribution with so many degrees of freedom is not farther from 0 than,
/// with probability `level`.
pub fn student_quantile(level: f64, degrees: f64) -> f64 {
    beta::student_quantile(level, degrees)
}

/// A number with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundedEstimate {
    /// The number.
    pub value: f64,
    /// The lower end, not above it.
    pub low: f64,
    /// The upper end, not below it.
    pub high: f64,
}

impl BoundedEstimate {
    /// The difference from an independent estimate.
    pub fn minus(self, other: BoundedEstimate) -> BoundedEstimate {
        let value = self.value - other.value;
        BoundedEstimate {
            value,
            low: value - (self.value - self.low).hypot(other.high - other.value),
            high: value + (self.high - self.value).hypot(other.value - other.low),
        }
    }

    /// The probability of a number at least as far from 0, on either side, if the true one were 0: below 5 %
    /// just if 0 lies outside of the interval. The end towards 0 is taken for as far from the number as the
    /// quantile of Student's distribution with the degrees of freedom of a variance [from one
    /// run](crate::batches).
    pub fn p_value(&self) -> f64 {
        let towards_zero = if self.value > 0.0 { self.value - self.low } else { self.high - self.value };
        match (self.value == 0.0, towards_zero == 0.0) {
            (true, _) => 1.0,
            (false, true) => 0.0,
            (false, false) => beta::student_beyond(self.value.abs() / towards_zero * HALF_WIDTH, DEGREES),
        }
    }
}

/// For each of several comparisons whether it shows a difference, so that in all of them together a true
/// equality is taken for a difference with a probability of at most 1 − `level` (Holm 1979, "A simple
/// sequentially rejective multiple test procedure").
pub fn holm(p_values: &[f64], level: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut differs = vec![false; p_values.len()];
    for (rejected, at) in order.into_iter().enumerate() {
        if p_values[at] * (p_values.len() - rejected) as f64 > 1.0 - level {
            break;
        }
        differs[at] = true;
    }
    differs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beta::student_quantile as quantile;

    /// Closed forms of the quantile at 0.95: with one degree of freedom the distribution is Cauchy's,
    /// tan(0.45 π); with two it is 0.9 √(2 / (1 − 0.9²)).
    #[test]
    fn quantiles_are_those_of_the_closed_forms() {
        let close = |found: f64, expected: f64| {
            assert!((found - expected).abs() < 1e-6 * expected, "{found} is not {expected}");
        };
        close(quantile(0.9, 1.0), (0.45 * std::f64::consts::PI).tan());
        close(quantile(0.9, 2.0), 0.9 * (2.0 / (1.0 - 0.81_f64)).sqrt());
    }

    /// Student's table: 2.353 with 3 degrees of freedom, 2.132 with 4, 1.812 with 10.
    #[test]
    fn quantiles_are_those_of_the_table() {
        for (degrees, expected) in [(3.0, 2.353), (4.0, 2.132), (10.0, 1.812)] {
            assert!((quantile(0.9, degrees) - expected).abs() < 6e-4, "{degrees}");
        }
    }

    /// The numbers 1, 2 and 3 have s = 1, so that the interval is 2.920/√3 to either side.
    #[test]
    fn the_interval_is_that_of_the_formula() {
        let estimate = MeanEstimate::of(&[1.0, 2.0, 3.0]).unwrap();
        let half_width = 0.9 * (2.0 / 0.19_f64).sqrt() / 3f64.sqrt();
        assert_eq!(estimate.mean, 2.0);
        assert!((estimate.half_width(0.9) - half_width).abs() < 1e-6);
        let scaled = estimate.scaled(-2.0, 5.0);
        assert_eq!(scaled.mean, 1.0);
        assert!((scaled.half_width(0.9) - 2.0 * half_width).abs() < 1e-6);
        assert_eq!(MeanEstimate::of(&[4.0, 4.0, 4.0]).unwrap().ends(0.9), (4.0, 4.0));
        assert_eq!((MeanEstimate::of(&[1.0]), MeanEstimate::of(&[])), (None, None));
    }

    /// Two samples of the same size and variance have the sum of their degrees of freedom: 4, of t = 2.132. A
    /// constant adds nothing.
    #[test]
    fn a_difference_has_welchs_degrees_of_freedom() {
        let (a, b) =
            (MeanEstimate::of(&[1.0, 2.0, 3.0]).unwrap(), MeanEstimate::of(&[11.0, 12.0, 13.0]).unwrap());
        let difference = b.minus(a);
        assert!((difference.mean - 10.0).abs() < 1e-12 && (difference.degrees - 4.0).abs() < 1e-9);
        assert!((difference.half_width(0.9) - 2.1318 * (2.0 / 3.0_f64).sqrt()).abs() < 1e-3);
        let half_width = a.minus(MeanEstimate::constant(7.0)).half_width(0.9);
        assert!((half_width - a.half_width(0.9)).abs() < 1e-12);
        assert_eq!(MeanEstimate::constant(7.0).minus(MeanEstimate::constant(5.0)).ends(0.9), (2.0, 2.0));
    }

    /// The coverage, without a formula for it: of 4000 means of three normal numbers, 90 % of the intervals
    /// contain the true mean, within four standard deviations of a binomial count. The numbers are sums of
    /// twelve uniform ones (a linear congruential generator, Knuth's MMIX), less 6.
    #[test]
    fn nine_of_ten_intervals_contain_the_true_mean() {
        let mut state: u64 = 1;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let contains = |(lower, upper): (f64, f64)| (lower..=upper).contains(&0.0);
        let means = (0..4000).map(|_| MeanEstimate::of(&[normal(), normal(), normal()]).unwrap());
        let covered = means.filter(|mean| contains(mean.ends(0.9))).count() as f64 / 4000.0;
        assert!((covered - 0.9).abs() < 4.0 * (0.09_f64 / 4000.0).sqrt(), "{covered}");
    }

    /// With one degree of freedom the distribution is Cauchy's: P(|t| > 1) = 1/2. With two,
    /// P(|t| > x) = 1 − x/√(2 + x²).
    #[test]
    fn p_values_are_those_of_the_closed_forms() {
        let of = |mean: f64, variance: f64, degrees: f64| MeanEstimate { mean, variance, degrees }.p_value();
        let close =
            |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found}, {expected}");
        close(of(-2.0, 4.0, 1.0), 0.5);
        close(of(3.0, 1.0, 2.0), 1.0 - 3.0 / 11_f64.sqrt());
        assert_eq!((of(0.0, 0.0, 2.0), of(1.0, 0.0, 2.0)), (1.0, 0.0));
    }

    /// Symmetric intervals of independent numbers: variances add. Of others each end has the distances that
    /// lead to it: 3 and 4 make 5, 5 and 12 make 13.
    #[test]
    fn the_difference_of_two_estimates_has_an_end_for_each_pair_of_distances() {
        let estimate = |value: f64, low: f64, high: f64| BoundedEstimate { value, low, high };
        let even = estimate(10.0, 7.0, 13.0).minus(estimate(4.0, 0.0, 8.0));
        assert_eq!(even, estimate(6.0, 1.0, 11.0));
        let skewed = estimate(20.0, 17.0, 32.0).minus(estimate(10.0, 5.0, 14.0));
        assert_eq!(skewed, estimate(10.0, 5.0, 23.0));
    }

    #[test]
    fn a_p_value_is_five_percent_where_the_interval_begins_at_zero() {
        let p = |value: f64, low: f64, high: f64| BoundedEstimate { value, low, high }.p_value();
        assert!((p(2.0, 0.0, 9.0) - 0.05).abs() < 1e-6);
        assert!((p(-2.0, -3.0, 0.0) - 0.05).abs() < 1e-6);
        assert!(p(2.0, 0.1, 2.1) < 0.05 && p(2.0, -0.1, 2.1) > 0.05);
        assert_eq!((p(0.0, -1.0, 1.0), p(1.0, 1.0, 1.0)), (1.0, 0.0));
    }

    /// Differences of numbers with exact and skewed intervals, those of the logarithm of an exponential mean
    /// by one value, are contained as often as the formula has it.
    #[test]
    fn differences_of_skewed_numbers_are_covered() {
        let mut state: u64 = 7;
        let mut exponential = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            -(((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64).ln()
        };
        // ln X of an exponential X of mean μ: ln μ lies between ln X − ln 3.689 and ln X − ln 0.02532 with 95
        // %.
        let mut estimate = || {
            let value = exponential().ln() + 0.366_512_921;
            BoundedEstimate {
                value,
                low: value - 0.366_512_921 - 1.305_375,
                high: value - 0.366_512_921 + 3.676_247,
            }
        };
        let covered = (0..4000).filter(|_| {
            let difference = estimate().minus(estimate());
            difference.low <= 0.0 && 0.0 <= difference.high
        });
        let share = covered.count() as f64 / 4000.0;
        // The ends lie √(1.672² + 3.310²) = 3.708 from the difference, which is logistic: it is within that
        // of the true one with tanh(3.708 / 2) = 0.952. Four standard deviations of a share of 4000 are
        // 0.014.
        assert!((share - 0.952).abs() < 0.014, "{share}");
    }

    /// Holm's steps: 0.01 against 0.05/4, then 0.02 against 0.05/3, where they end, though 0.03 were small
    /// enough by itself.
    #[test]
    fn several_comparisons_are_rejected_in_steps() {
        assert_eq!(holm(&[0.03, 0.01, 0.5, 0.02], 0.95), [false, true, false, false]);
        assert_eq!(holm(&[0.016, 0.012, 0.025, 0.049], 0.95), [true; 4]);
        assert_eq!(holm(&[], 0.95), [false; 0]);
    }

    /// 7 against 1, 2, 3: apart by 5, with the variance 1 · (1 + 1/3) and two degrees of freedom.
    #[test]
    fn one_number_has_the_spread_of_the_repeats() {
        let apart = MeanEstimate::one_against(7.0, &[1.0, 2.0, 3.0]).unwrap();
        let half_width = 0.9 * (2.0 / 0.19_f64).sqrt() * (4.0 / 3.0_f64).sqrt();
        assert_eq!(apart.mean, 5.0);
        assert!((apart.half_width(0.9) - half_width).abs() < 1e-6);
        assert_eq!(MeanEstimate::one_against(7.0, &[1.0, 1.0]), None);
        assert_eq!(MeanEstimate::one_against(1.0, &[1.0, 1.0]).map(|same| same.ends(0.9)), Some((0.0, 0.0)));
        assert_eq!(MeanEstimate::one_against(7.0, &[1.0]), None);
    }

    /// Three runs of 1,000 requests without a failure do not show that there are none: Poisson's upper end is
    /// 3.69 in 3,000. Where failures come one by one, the standard error is that of their number.
    #[test]
    fn shares_of_nothing_are_not_exact() {
        let none = variance_of_shares(&[0.0; 3], &[1000; 3]);
        let upper = 1.96 * none.sqrt() * 3000.0;
        assert!((3.6..3.8).contains(&upper), "{upper}");
        let estimate = MeanEstimate::of(&[0.0; 3]).expect("three numbers");
        assert_eq!(estimate.ends(0.95), (0.0, 0.0));
        let upper = estimate.with_variance_of_at_least(none).ends(0.95).1 * 3000.0;
        assert!((3.6..3.8).contains(&upper), "{upper}");
        let some = variance_of_shares(&[0.01, 0.03], &[10_000, 10_000]);
        assert!((some.sqrt() * 20_000.0 / 392.0_f64.sqrt() - 1.0).abs() < 0.01);
        // Where all fail, it is as where none does.
        assert_eq!(variance_of_shares(&[1.0; 3], &[1000; 3]), none);
        // Runs that differ by more keep what they show.
        let wide = MeanEstimate::of(&[0.01, 0.03]).expect("two numbers");
        assert_eq!(wide.with_variance_of_at_least(some), wide);
    }
}
