//! Whittle's likelihood: periodogram ordinates of a stationary series are nearly independent exponentials,
//! each with the spectral density as its mean.
//!
//! The local estimator takes the lowest frequencies only, where any long memory looks like λ^(1−2H), and so
//! needs no model of the rest. The parametric one takes all of them and the density of fractional Gaussian
//! noise: far sharper, and wrong where the series is not such a noise.

use super::minimum::minimum;
use super::{HurstEstimate, HurstEstimator};
use crate::series::spectrum::periodogram;
use crate::series::{SeriesError, checked};
use std::f64::consts::{PI, TAU};

const LENGTH_MIN: usize = 128;

/// n^0.7 of n values: how many frequencies [`local_whittle`] takes by default. Fewer are less
/// exact, more let in what happens over short times.
pub fn local_whittle_bandwidth(n: usize) -> usize {
    (n as f64).powf(0.7) as usize
}

/// Estimate from the lowest `frequencies` (8 at least, half the series' length at most): Robinson (1995),
/// "Gaussian semiparametric estimation of long range dependence". The standard error is 1 / 2√frequencies
/// (theorem 2).
///
/// # Errors
/// A series that is too short or constant, or has a value that is not finite.
pub fn local_whittle(series: &[f64], frequencies: usize) -> Result<HurstEstimate, SeriesError> {
    checked(series, LENGTH_MIN)?;
    let mut ordinates = periodogram(series);
    ordinates.truncate(frequencies.max(8));
    let m = ordinates.len() as f64;
    let mean_log = ordinates.iter().map(|(frequency, _)| frequency.ln()).sum::<f64>() / m;
    let objective = |hurst: f64| {
        let power = 2.0 * hurst - 1.0;
        let scaled = ordinates.iter().map(|(frequency, i)| frequency.powf(power) * i);
        (scaled.sum::<f64>() / m).ln() - power * mean_log
    };
    let hurst = minimum(0.001, 0.999, objective);
    let standard_error = Some(0.5 / m.sqrt());
    Ok(HurstEstimate { method: HurstEstimator::LocalWhittle, hurst, standard_error })
}

/// Estimate from all frequencies, for fractional Gaussian noise (Fox and Taqqu 1986; Dahlhaus 1989; Beran
/// 1994, section 5.5). The standard error is that of the likelihood's curvature.
///
/// # Errors
/// A series that is too short or constant, or has a value that is not finite.
pub fn noise_whittle(series: &[f64]) -> Result<HurstEstimate, SeriesError> {
    checked(series, LENGTH_MIN)?;
    let ordinates = periodogram(series);
    let m = ordinates.len() as f64;
    let objective = |hurst: f64| {
        let (mut ratios, mut logs) = (0.0, 0.0);
        for (frequency, i) in &ordinates {
            let density = noise_density(*frequency, hurst);
            ratios += i / density;
            logs += density.ln();
        }
        (ratios / m).ln() + logs / m
    };
    let hurst = minimum(0.001, 0.999, objective);
    // The scale being free, each ordinate has as much information on H as the slope of ln f varies over
    // frequencies.
    const STEP: f64 = 1e-4;
    let slope = |frequency: f64| {
        let log = |hurst| noise_density(frequency, hurst).ln();
        (log(hurst + STEP) - log(hurst - STEP)) / (2.0 * STEP)
    };
    let slopes: Vec<f64> = ordinates.iter().map(|(frequency, _)| slope(*frequency)).collect();
    let standard_error = Some(1.0 / (crate::series::variance(&slopes) * m).sqrt());
    Ok(HurstEstimate { method: HurstEstimator::NoiseWhittle, hurst, standard_error })
}

/// The spectral density of fractional Gaussian noise of variance 1 at `frequency` in (0, π]: Γ(2H + 1)
/// sin(πH) / π · (1 − cos λ) Σ |λ + 2πk|^(−2H−1) over all whole k (Beran 1994, equation 2.17). The far terms
/// are summed by the formula of Euler and Maclaurin.
fn noise_density(frequency: f64, hurst: f64) -> f64 {
    const NEAR: i32 = 3;
    let power = -2.0 * hurst - 1.0;
    let tail = |sign: f64| -> f64 {
        let term = |k: f64| TAU * k + sign * frequency;
        let near: f64 = (1..NEAR).map(|k| term(f64::from(k)).powf(power)).sum();
        let last = term(f64::from(NEAR));
        let g = last.powf(power);
        // ∫ from the last on, half the last term, and a twelfth of the slope there.
        near + g * last / (TAU * 2.0 * hurst) + g / 2.0 - power * TAU * g / last / 12.0
    };
    let sum = frequency.powf(power) + tail(1.0) + tail(-1.0);
    // 1 − cos λ without cancelling.
    let front = 2.0 * (frequency / 2.0).sin().powi(2);
    front * sum * libm::tgamma(2.0 * hurst + 1.0) * (PI * hurst).sin() / PI
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_traffic::arrival::FractionalGaussianNoise;

    /// The density's Fourier coefficients are the autocovariances.
    #[test]
    fn the_noise_density_integrates_to_the_covariance() {
        const STEPS: u32 = 200_000;
        for hurst in [0.3, 0.5, 0.7] {
            for lag in [0, 1, 3] {
                // Steps in the fourth power of u resolve the pole at frequency zero.
                let integrand = |u: f64| {
                    let frequency = PI * u.powi(4);
                    noise_density(frequency, hurst)
                        * (f64::from(lag) * frequency).cos()
                        * 4.0
                        * PI
                        * u.powi(3)
                };
                let middle = |i: u32| (f64::from(i) + 0.5) / f64::from(STEPS);
                let sum: f64 = (0..STEPS).map(|i| integrand(middle(i))).sum();
                let found = 2.0 * sum / f64::from(STEPS);
                let wanted = FractionalGaussianNoise::autocovariance(hurst, lag as u64);
                assert!((found - wanted).abs() < 1e-4, "H {hurst}, lag {lag}: {found} not {wanted}");
            }
        }
    }
}
