//! The variance of a sum over a correlated series: the spectrum at frequency zero, by regression of the log
//! periodogram (Heidelberger and Welch 1981, "A spectral method for confidence interval generation and run
//! length control in simulations", Communications of the ACM 24).
//!
//! The variance of the sum of m neighbouring values of a stationary series is m·p(0) for large m, with the
//! spectrum p at frequency zero, whatever the correlations. The periodogram at zero is useless, since the
//! mean is taken off there; the logarithms of the averages of two neighbouring ordinates above it have a
//! variance that is known and hardly any skew, and a polynomial through the first [`PAIRS`] of them, of
//! second degree, gives the logarithm of p(0). Their mean is below the logarithm of the spectrum by 0.270,
//! their variance is 0.645. For 25 averages and the second degree, the estimate times [`UNBIASED`] has the
//! right mean and about the distribution of a χ² with seven degrees of freedom (C2 in table I there).
//!
//! It takes the spectrum for smooth at zero. That of a long-range dependent series has a pole there, and the
//! variance is then estimated too low: [`rises_to_zero`] looks for one.

use std::f64::consts::TAU;

/// Averages of two ordinates of the periodogram, from the lowest frequency on: K in the paper.
const PAIRS: usize = 25;
/// Values that a series has at least: the frequencies used are then below half of the highest.
pub const VALUES_MIN: usize = 4 * PAIRS;
/// Expected value of the logarithm of the average of two ordinates, less that of the spectrum.
const LOG_BIAS: f64 = -0.270;
/// Variance of the logarithm of the average of two ordinates.
const LOG_VARIANCE: f64 = 0.645;
/// The factor C1 for 25 averages and the second degree.
const UNBIASED: f64 = 0.882;
/// Degrees of freedom of the estimate.
pub const DEGREES: f64 = 7.0;
/// The quantile at 97.5 % of Student's distribution with seven degrees of freedom: half the width of a 95 %
/// interval in estimated standard deviations.
pub const HALF_WIDTH: f64 = 2.364_624_251;

/// The variance of the sum of neighbouring values of `series`, whose mean is 0, for each of them. `None` for
/// fewer than [`VALUES_MIN`] values; 0 if they do not vary. Takes about 50·m steps for m values.
pub fn variance_per_value(series: &[f64]) -> Option<f64> {
    if series.len() < VALUES_MIN {
        return None;
    }
    Some(logs(series).map_or(0.0, |logs| UNBIASED * intercept(&logs).exp()))
}

/// True if the spectrum of `series`, whose mean is 0, rises as a power of the frequency towards zero, as
/// that of a long-range dependent series does: the slope of the logarithms against that of the frequency
/// (Geweke and Porter-Hudak 1983) is below 0 by more than two standard deviations. So it is for 2.3 % of
/// series without correlation, and for most with a Hurst exponent of 0.8. False for fewer than
/// [`VALUES_MIN`].
pub fn rises_to_zero(series: &[f64]) -> bool {
    if series.len() < VALUES_MIN {
        return false;
    }
    let Some(logs) = logs(series) else { return false };
    let at = |n: usize| ((4 * n + 3) as f64).ln();
    let mean = (0..PAIRS).map(at).sum::<f64>() / PAIRS as f64;
    let squares: f64 = (0..PAIRS).map(|n| (at(n) - mean).powi(2)).sum();
    let products: f64 = logs.iter().enumerate().map(|(n, log)| (at(n) - mean) * log).sum();
    products / squares < -2.0 * (LOG_VARIANCE / squares).sqrt()
}

/// Logarithms of the averages of two ordinates, less their bias; `None` if the series does not vary.
fn logs(series: &[f64]) -> Option<Vec<f64>> {
    let ordinates = periodogram(series);
    let total: f64 = series.iter().map(|value| value * value).sum();
    // Ordinates this small beside the variance are rounding errors, or a series without any noise.
    let least = total / series.len() as f64 * 1e-12;
    if total == 0.0 || ordinates.iter().all(|ordinate| *ordinate <= least) {
        return None;
    }
    let log = |pair: &[f64]| f64::midpoint(pair[0], pair[1]).max(least).ln() - LOG_BIAS;
    Some(ordinates.chunks_exact(2).map(log).collect())
}

/// The first two times [`PAIRS`] ordinates above frequency zero: |Σ x(t) e^{-iωt}|² / m, by the recursion of
/// Goertzel (1958), for all frequencies at once.
fn periodogram(series: &[f64]) -> [f64; 2 * PAIRS] {
    let step = TAU / series.len() as f64;
    let factors: [f64; 2 * PAIRS] = std::array::from_fn(|k| 2.0 * (step * (k + 1) as f64).cos());
    let (mut last, mut before) = ([0.0; 2 * PAIRS], [0.0; 2 * PAIRS]);
    for value in series {
        for k in 0..2 * PAIRS {
            let next = value + factors[k] * last[k] - before[k];
            before[k] = last[k];
            last[k] = next;
        }
    }
    let power = |k: usize| last[k] * last[k] + before[k] * before[k] - factors[k] * last[k] * before[k];
    std::array::from_fn(|k| power(k).max(0.0) / series.len() as f64)
}

/// The value at frequency zero of the least-squares parabola through `logs`, the n-th of which, from 1, is at
/// the frequency 4n − 1, in units of half the lowest frequency.
fn intercept(logs: &[f64]) -> f64 {
    // Scaled to 1 at the highest, which leaves the intercept as it is.
    let highest = (4 * logs.len() - 1) as f64;
    let at = |n: usize| (4 * (n + 1) - 1) as f64 / highest;
    let mut powers = [0.0; 5];
    let mut products = [0.0; 3];
    for (n, log) in logs.iter().enumerate() {
        let x = at(n);
        (0..5).for_each(|power| powers[power] += x.powi(power as i32));
        (0..3).for_each(|power| products[power] += x.powi(power as i32) * log);
    }
    let [s0, s1, s2, s3, s4] = powers;
    let column = |a: [f64; 3], b: [f64; 3], c: [f64; 3]| {
        a[0] * (b[1] * c[2] - b[2] * c[1]) - b[0] * (a[1] * c[2] - a[2] * c[1])
            + c[0] * (a[1] * b[2] - a[2] * b[1])
    };
    // Cramer's rule for the first coefficient.
    column(products, [s1, s2, s3], [s2, s3, s4]) / column([s0, s1, s2], [s1, s2, s3], [s2, s3, s4])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers with a variance of 1 and no correlation, from a linear congruential generator (Knuth's MMIX).
    fn white(count: usize, seed: u64) -> Vec<f64> {
        let mut state = seed;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..count).map(|_| (0..12).map(|_| uniform()).sum::<f64>() - 6.0).collect()
    }

    fn centred(mut series: Vec<f64>) -> Vec<f64> {
        let mean = series.iter().sum::<f64>() / series.len() as f64;
        series.iter_mut().for_each(|value| *value -= mean);
        series
    }

    /// Against the sums of the definition, written out.
    #[test]
    fn ordinates_are_those_of_the_definition() {
        let series = centred(white(150, 1));
        for (k, ordinate) in periodogram(&series).into_iter().enumerate() {
            let angle = |t: usize| TAU * ((k + 1) * t) as f64 / 150.0;
            let part = |wave: fn(f64) -> f64| {
                series.iter().enumerate().map(|(t, value)| value * wave(angle(t))).sum::<f64>()
            };
            let expected = (part(f64::cos).powi(2) + part(f64::sin).powi(2)) / 150.0;
            assert!((ordinate - expected).abs() < 1e-9 * expected.max(1.0), "{k}: {ordinate} {expected}");
        }
    }

    /// A parabola is its own best fit.
    #[test]
    fn a_parabola_is_met_at_zero() {
        let logs: Vec<f64> =
            (1..=25).map(|n| f64::from(4 * n - 1)).map(|x| 3.0 - 0.2 * x + 0.01 * x * x).collect();
        assert!((intercept(&logs) - 3.0).abs() < 1e-9);
    }

    /// The mean of 400 estimates: 1 without correlation; with x(t) = 0.5 x(t − 1) + e(t), 1/(1 − 0.5)² = 4.
    /// A χ² of 7 degrees has a standard deviation of √(2/7) of its mean, 2.7 % for 400.
    #[test]
    fn the_variance_is_that_of_the_process() {
        let mean = |coefficient: f64| {
            let estimate = |seed| {
                let mut last = 0.0;
                let series = white(300, seed).into_iter().map(|noise| {
                    last = coefficient * last + noise;
                    last
                });
                variance_per_value(&centred(series.skip(50).collect())).expect("long enough")
            };
            (1..=400).map(estimate).sum::<f64>() / 400.0
        };
        let (independent, correlated) = (mean(0.0), mean(0.5));
        assert!((independent - 1.0).abs() < 0.12, "{independent}");
        assert!((correlated / 4.0 - 1.0).abs() < 0.15, "{correlated}");
    }

    /// In 2.3 % of white noise the slope looks like a pole, within four standard deviations of a binomial
    /// count of 400; a spectrum that falls as the frequency to the power −0.6, built of waves, has one.
    #[test]
    fn noise_has_no_pole() {
        let found = (1..=400).filter(|seed| rises_to_zero(&centred(white(250, *seed)))).count();
        assert!(found <= 22, "{found} of 400");
        let wave = |t: usize| {
            let at = |k: usize| (k as f64).powf(-0.3) * (TAU * (k * t) as f64 / 250.0 + (k * k) as f64).cos();
            (1..125).map(at).sum::<f64>()
        };
        assert!(rises_to_zero(&(0..250).map(wave).collect::<Vec<_>>()));
    }

    #[test]
    fn a_constant_has_no_variance_and_few_values_have_none_known() {
        assert_eq!(variance_per_value(&[0.0; 200]), Some(0.0));
        assert_eq!(variance_per_value(&[1.0; VALUES_MIN - 1]), None);
    }
}
