//! The sample autocorrelation function.

use super::{SeriesError, checked, mean};
use rustfft::FftPlanner;
use rustfft::num_complex::Complex;

/// r(0) = 1, r(1), … r(`lags`): Σ (xₜ − x̄)(xₜ₊ₖ − x̄) / Σ (xₜ − x̄)² (Box and Jenkins 1976, section 2.1.5).
/// By way of the Fourier transform, so that many lags cost no more than one.
///
/// # Errors
/// A series that is too short or constant, or has a value that is not finite.
pub fn autocorrelation(series: &[f64], lags: usize) -> Result<Vec<f64>, SeriesError> {
    checked(series, lags.saturating_add(2))?;
    let mean = mean(series);
    // Zeros behind the series keep its end from meeting its begin.
    let length = (series.len() + lags).next_power_of_two();
    let mut values: Vec<Complex<f64>> = series.iter().map(|x| Complex::new(x - mean, 0.0)).collect();
    values.resize(length, Complex::new(0.0, 0.0));
    let mut planner = FftPlanner::new();
    planner.plan_fft_forward(length).process(&mut values);
    values.iter_mut().for_each(|value| *value = Complex::new(value.norm_sqr(), 0.0));
    planner.plan_fft_inverse(length).process(&mut values);
    Ok(values[..=lags].iter().map(|value| value.re / values[0].re).collect())
}

/// ±1.96 / √n: nineteen of twenty autocorrelations of n independent values lie within (Bartlett 1946).
pub fn white_noise_band(n: usize) -> f64 {
    1.96 / (n as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_transform_gives_the_sums(series in proptest::collection::vec(0.0..100.0f64, 12..80)) {
            let found = autocorrelation(&series, 10).expect("good values");
            let mean = mean(&series);
            let sum = |k: usize| -> f64 {
                series.iter().zip(&series[k..]).map(|(a, b)| (a - mean) * (b - mean)).sum()
            };
            for (k, r) in found.iter().enumerate() {
                prop_assert!((r - sum(k) / sum(0)).abs() < 1e-9, "lag {}", k);
            }
        }
    }
}
