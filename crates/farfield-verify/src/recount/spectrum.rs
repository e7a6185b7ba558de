//! The spectrum of a series at frequency zero, from its definition: the periodogram as sums of waves, and the
//! parabola through the logarithms by elimination about their centre.
//!
//! docs/statistics.md has the method and its sources. The numbers that go with it (25 averages, their bias
//! and variance, the factor of the estimate) are the method's, so they are the same as in what is checked;
//! the arithmetic is not.

use std::f64::consts::TAU;

/// Averages of two ordinates.
const PAIRS: usize = 25;
/// Values that a series has at least.
pub const VALUES_MIN: usize = 100;
/// Expected logarithm of an average of two ordinates, less that of the spectrum (Heidelberger and Welch
/// 1981).
const LOG_BIAS: f64 = -0.270;
/// Variance of an average's logarithm.
const LOG_VARIANCE: f64 = 0.645;
/// C1 in table I there, for 25 averages and a parabola.
const UNBIASED: f64 = 0.882;

/// The variance of a sum over the series for each of its values; 0 where it does not vary.
pub fn variance_per_value(series: &[f64]) -> f64 {
    logarithms(series).map_or(0.0, |logs| UNBIASED * at_zero(&logs).exp())
}

/// True if the spectrum rises as a power of the frequency towards zero.
pub fn rises_to_zero(series: &[f64]) -> bool {
    let Some(logs) = logarithms(series) else { return false };
    let at: Vec<f64> = (1..=PAIRS).map(|n| ((4 * n - 1) as f64).ln()).collect();
    let mean = at.iter().sum::<f64>() / PAIRS as f64;
    let squares: f64 = at.iter().map(|x| (x - mean) * (x - mean)).sum();
    let slope = at.iter().zip(&logs).map(|(x, log)| (x - mean) * log).sum::<f64>() / squares;
    slope < -2.0 * (LOG_VARIANCE / squares).sqrt()
}

fn logarithms(series: &[f64]) -> Option<Vec<f64>> {
    let n = series.len() as f64;
    let waves: Vec<(f64, f64)> = (0..series.len()).map(|turn| (TAU * turn as f64 / n).sin_cos()).collect();
    let power = |k: usize| {
        let (mut sines, mut cosines) = (0.0, 0.0);
        for (t, value) in series.iter().enumerate() {
            // The angle without its whole turns.
            let (sine, cosine) = waves[k * t % series.len()];
            (sines, cosines) = (sines + value * sine, cosines + value * cosine);
        }
        (cosines * cosines + sines * sines) / n
    };
    let ordinates: Vec<f64> = (1..=2 * PAIRS).map(power).collect();
    let squares: f64 = series.iter().map(|value| value * value).sum();
    let least = squares / n * 1e-12;
    if squares == 0.0 || ordinates.iter().all(|ordinate| *ordinate <= least) {
        return None;
    }
    let average = |pair: &[f64]| ((pair[0] + pair[1]) / 2.0).max(least).ln() - LOG_BIAS;
    Some(ordinates.chunks(2).map(average).collect())
}

/// The value at frequency zero of the parabola through logarithms at the frequencies 3, 7, 11 ….
fn at_zero(logs: &[f64]) -> f64 {
    let highest = (4 * logs.len() - 1) as f64;
    let at: Vec<f64> = (1..=logs.len()).map(|n| (4 * n - 1) as f64 / highest).collect();
    let centre = at.iter().sum::<f64>() / at.len() as f64;
    let moment = |power: i32| at.iter().map(|x| (x - centre).powi(power)).sum::<f64>();
    let product =
        |power: i32| at.iter().zip(logs).map(|(x, log)| (x - centre).powi(power) * log).sum::<f64>();
    let (n, s2, s3, s4) = (at.len() as f64, moment(2), moment(3), moment(4));
    let (p0, p1, p2) = (product(0), product(1), product(2));
    // a·n + c·s2 = p0, b·s2 + c·s3 = p1, a·s2 + b·s3 + c·s4 = p2.
    let c = (p2 - p0 * s2 / n - p1 * s3 / s2) / (s4 - s2 * s2 / n - s3 * s3 / s2);
    let b = (p1 - c * s3) / s2;
    let a = (p0 - c * s2) / n;
    a - b * centre + c * centre * centre
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parabola_is_met_at_zero() {
        let logs: Vec<f64> =
            (1..=25).map(|n| f64::from(4 * n - 1)).map(|x| 3.0 - 0.2 * x + 0.01 * x * x).collect();
        assert!((at_zero(&logs) - 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_constant_does_not_vary() {
        assert_eq!(variance_per_value(&[0.0; 200]), 0.0);
        assert!(!rises_to_zero(&[0.0; 200]));
    }
}
