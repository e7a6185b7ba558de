//! The periodogram.

use rustfft::FftPlanner;
use rustfft::num_complex::Complex;
use std::f64::consts::TAU;

/// I(λⱼ) = |Σ xₜ e^(−itλⱼ)|² / 2πn at λⱼ = 2πj / n for j = 1 … ⌊(n−1)/2⌋, each with its λⱼ. The mean, at
/// frequency zero, is left out. Any length does; powers of two are quickest.
pub(super) fn periodogram(series: &[f64]) -> Vec<(f64, f64)> {
    let n = series.len();
    let mut values: Vec<Complex<f64>> = series.iter().map(|value| Complex::new(*value, 0.0)).collect();
    FftPlanner::new().plan_fft_forward(n).process(&mut values);
    let ordinate = |j: usize| (TAU * j as f64 / n as f64, values[j].norm_sqr() / (TAU * n as f64));
    (1..=(n - 1) / 2).map(ordinate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wave_stands_at_its_frequency() {
        const N: usize = 96;
        let wave: Vec<f64> = (0..N).map(|t| 5.0 + (TAU * 7.0 * t as f64 / N as f64).cos()).collect();
        let ordinates = periodogram(&wave);
        assert_eq!(ordinates.len(), 47);
        for (j, (frequency, power)) in (1..).zip(ordinates) {
            let wanted = if j == 7 { N as f64 / 4.0 / TAU } else { 0.0 };
            assert!((frequency - TAU * f64::from(j) / N as f64).abs() < 1e-12);
            assert!((power - wanted).abs() < 1e-9, "{power} at {j}");
        }
    }
}
