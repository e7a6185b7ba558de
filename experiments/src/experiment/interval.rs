//! Confidence intervals of means over few repeats, by Student's t distribution.
//!
//! The mean of n independent, normally distributed numbers lies within t·s/√n of the true one with the
//! probability that the quantile t of n − 1 degrees of freedom is taken for (Student 1908); s is the standard
//! deviation of the numbers. The difference of two means has the sum of their variances, and the degrees of
//! freedom of Welch (1947, "The generalization of Student's problem when several different population
//! variances are involved"). There is no correction for the number of intervals that a page has, nor for
//! numbers that are not normal.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The probability of an interval, half of the rest of which lies on either side.
pub const LEVEL: f64 = 0.9;

/// A mean, and what its interval follows from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// The squared standard error of the mean; 0 for a constant.
    variance: f64,
    /// Degrees of freedom; infinite for a constant.
    degrees: f64,
}

impl Estimate {
    /// A number that is known.
    pub fn constant(number: f64) -> Estimate {
        Estimate { mean: number, variance: 0.0, degrees: f64::INFINITY }
    }

    /// The mean of `numbers`; absent if there are fewer than two, which have no standard deviation.
    pub fn of(numbers: &[f64]) -> Option<Estimate> {
        if numbers.len() < 2 {
            return None;
        }
        let count = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / count;
        let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
        Some(Estimate { mean, variance: squares / (count - 1.0) / count, degrees: count - 1.0 })
    }

    /// `times` the estimate `plus` a constant.
    pub fn scaled(self, times: f64, plus: f64) -> Estimate {
        Estimate { mean: self.mean * times + plus, variance: self.variance * times * times, ..self }
    }

    /// The difference from an independent estimate.
    pub fn minus(self, other: Estimate) -> Estimate {
        let variance = self.variance + other.variance;
        let parts = [self, other].map(|part| part.variance.powi(2) / part.degrees);
        let degrees = if variance > 0.0 { variance.powi(2) / (parts[0] + parts[1]) } else { f64::INFINITY };
        Estimate { mean: self.mean - other.mean, variance, degrees }
    }

    /// Half the width of the interval of probability [`LEVEL`].
    pub fn half_width(&self) -> f64 {
        if self.variance == 0.0 {
            return 0.0;
        }
        quantile(self.degrees) * self.variance.sqrt()
    }

    /// Both ends of the interval.
    pub fn ends(&self) -> (f64, f64) {
        let half_width = self.half_width();
        (self.mean - half_width, self.mean + half_width)
    }
}

/// The quantile of Student's t that leaves half of 1 − [`LEVEL`] above it; `degrees` is above 0.
fn quantile(degrees: f64) -> f64 {
    let t = StudentsT::new(0.0, 1.0, degrees).expect("degrees of freedom are above 0");
    t.inverse_cdf(f64::midpoint(LEVEL, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Closed forms of the quantile at 0.95: with one degree of freedom the distribution is Cauchy's,
    /// tan(0.45 π); with two it is 0.9 √(2 / (1 − 0.9²)).
    #[test]
    fn quantiles_are_those_of_the_closed_forms() {
        let close = |found: f64, expected: f64| {
            assert!((found - expected).abs() < 1e-6 * expected, "{found} is not {expected}");
        };
        close(quantile(1.0), (0.45 * std::f64::consts::PI).tan());
        close(quantile(2.0), 0.9 * (2.0 / (1.0 - 0.81_f64)).sqrt());
    }

    /// Student's table: 2.353 with 3 degrees of freedom, 2.132 with 4, 1.812 with 10.
    #[test]
    fn quantiles_are_those_of_the_table() {
        for (degrees, expected) in [(3.0, 2.353), (4.0, 2.132), (10.0, 1.812)] {
            assert!((quantile(degrees) - expected).abs() < 6e-4, "{degrees}");
        }
    }

    /// Of 1, 2, 3: s = 1, so that the interval is 2.920/√3 to either side.
    #[test]
    fn the_interval_is_that_of_the_formula() {
        let estimate = Estimate::of(&[1.0, 2.0, 3.0]).unwrap();
        let half_width = 0.9 * (2.0 / 0.19_f64).sqrt() / 3f64.sqrt();
        assert_eq!(estimate.mean, 2.0);
        assert!((estimate.half_width() - half_width).abs() < 1e-6);
        let scaled = estimate.scaled(-2.0, 5.0);
        assert_eq!(scaled.mean, 1.0);
        assert!((scaled.half_width() - 2.0 * half_width).abs() < 1e-6);
        assert_eq!(Estimate::of(&[4.0, 4.0, 4.0]).unwrap().ends(), (4.0, 4.0));
        assert_eq!((Estimate::of(&[1.0]), Estimate::of(&[])), (None, None));
    }

    /// Two samples of the same size and variance have the sum of their degrees of freedom: 4, of t = 2.132. A
    /// constant adds nothing.
    #[test]
    fn a_difference_has_welchs_degrees_of_freedom() {
        let (a, b) = (Estimate::of(&[1.0, 2.0, 3.0]).unwrap(), Estimate::of(&[11.0, 12.0, 13.0]).unwrap());
        let difference = b.minus(a);
        assert!((difference.mean - 10.0).abs() < 1e-12 && (difference.degrees - 4.0).abs() < 1e-9);
        assert!((difference.half_width() - 2.1318 * (2.0 / 3.0_f64).sqrt()).abs() < 1e-3);
        let half_width = a.minus(Estimate::constant(7.0)).half_width();
        assert!((half_width - a.half_width()).abs() < 1e-12);
        assert_eq!(Estimate::constant(7.0).minus(Estimate::constant(5.0)).ends(), (2.0, 2.0));
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
        let means = (0..4000).map(|_| Estimate::of(&[normal(), normal(), normal()]).unwrap());
        let covered = means.filter(|mean| contains(mean.ends())).count() as f64 / 4000.0;
        assert!((covered - 0.9).abs() < 4.0 * (0.09_f64 / 4000.0).sqrt(), "{covered}");
    }
}
