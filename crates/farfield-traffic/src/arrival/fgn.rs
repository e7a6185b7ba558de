//! Fractional Gaussian noise, exactly, by circulant embedding.
//!
//! The covariance of n values of a stationary Gaussian series is continued to a circle of 2n values, whose
//! eigenvalues are the Fourier transform of its first row. For fractional Gaussian noise none of them is
//! negative (Craigmile 2003, "Simulating a class of stationary Gaussian processes using the Davies–Harte
//! algorithm"), so that independent normals, scaled by their roots and transformed back, have exactly the
//! wanted covariance: nothing but rounding is approximate (Davies and Harte 1987, "Tests for Hurst
//! effect", appendix; Wood and Chan 1994).

use farfield_base::random::Stream;
use rand_distr::{Distribution as _, StandardNormal};
use rustfft::FftPlanner;
use rustfft::num_complex::Complex;
use std::fmt;

/// Fractional Gaussian noise of mean 0 and variance 1: the increments of fractional Brownian motion.
#[derive(Clone, PartialEq)]
pub struct FractionalGaussianNoise {
    hurst: f64,
    count: usize,
    /// √(λₖ / 2n) for the eigenvalues λₖ of the circulant matrix.
    amplitudes: Vec<f64>,
}

impl FractionalGaussianNoise {
    /// Series of `count` values, at least 1, with the Hurst parameter `hurst`, above 0 and below 1; `None`
    /// outside of these. Takes 16 bytes a value, 64 while it is built or drawn from, the count rounded up to
    /// a power of two.
    pub fn new(hurst: f64, count: usize) -> Option<FractionalGaussianNoise> {
        if !(hurst > 0.0 && hurst < 1.0) || count == 0 {
            return None;
        }
        let half = count.checked_next_power_of_two()?;
        let circle = half.checked_mul(2)?;
        let covariance = |k: usize| FractionalGaussianNoise::autocovariance(hurst, k.min(circle - k) as u64);
        let mut row: Vec<Complex<f64>> = (0..circle).map(|k| Complex::new(covariance(k), 0.0)).collect();
        FftPlanner::new().plan_fft_forward(circle).process(&mut row);
        // Never negative but by rounding.
        let amplitudes = row.iter().map(|value| (value.re.max(0.0) / circle as f64).sqrt()).collect();
        Some(FractionalGaussianNoise { hurst, count, amplitudes })
    }

    /// γ(k) = (|k+1|²ᴴ − 2|k|²ᴴ + |k−1|²ᴴ) / 2, the covariance of two values k apart.
    pub fn autocovariance(hurst: f64, k: u64) -> f64 {
        let power = |x: f64| x.powf(2.0 * hurst);
        match k as f64 {
            0.0 => 1.0,
            // Far out, the differences of large powers cancel: the series of the second difference takes
            // over.
            k if k > 1e4 => {
                let h = 2.0 * hurst;
                h * (h - 1.0) / 2.0 * k.powf(h - 2.0) * (1.0 + (h - 2.0) * (h - 3.0) / (12.0 * k * k))
            }
            k => (power(k + 1.0) - 2.0 * power(k) + power(k - 1.0)) / 2.0,
        }
    }

    /// The Hurst parameter.
    pub fn hurst(&self) -> f64 {
        self.hurst
    }

    /// Draws a series, independent of any other.
    pub fn sample(&self, stream: &mut Stream) -> Vec<f64> {
        let mut circle: Vec<Complex<f64>> = self
            .amplitudes
            .iter()
            .map(|amplitude| {
                let (re, im): (f64, f64) = (StandardNormal.sample(stream), StandardNormal.sample(stream));
                Complex::new(amplitude * re, amplitude * im)
            })
            .collect();
        FftPlanner::new().plan_fft_forward(circle.len()).process(&mut circle);
        circle.truncate(self.count);
        circle.iter().map(|value| value.re).collect()
    }
}

impl fmt::Debug for FractionalGaussianNoise {
    /// Without the amplitudes, which follow from the rest and may be millions.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("FractionalGaussianNoise");
        fields.field("hurst", &self.hurst).field("count", &self.count).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed};

    #[test]
    fn the_covariance_far_out_meets_the_one_near_by() {
        for hurst in [0.3, 0.5, 0.7, 0.95] {
            let near = FractionalGaussianNoise::autocovariance(hurst, 10_000);
            let far = FractionalGaussianNoise::autocovariance(hurst, 10_001);
            assert!((near - far).abs() <= 2e-4 * near.abs() + 1e-12, "H {hurst}: {near} then {far}");
        }
    }

    /// Over many short series, products of values k apart average to γ(k).
    #[test]
    fn short_series_have_the_covariance_of_the_formula() {
        const SERIES: usize = 40_000;
        for hurst in [0.3, 0.5, 0.8, 0.95] {
            let noise = FractionalGaussianNoise::new(hurst, 6).expect("good parameters");
            let mut stream = Seed(11).stream(Purpose::Arrivals, 0);
            let mut products = [0.0; 6];
            for _ in 0..SERIES {
                let values = noise.sample(&mut stream);
                products.iter_mut().zip(&values).for_each(|(sum, value)| *sum += values[0] * value);
            }
            for (k, sum) in products.iter().enumerate() {
                let wanted = FractionalGaussianNoise::autocovariance(hurst, k as u64);
                // The product of two standard normals with covariance γ varies by 1 + γ².
                let limit = 5.0 * ((1.0 + wanted * wanted) / SERIES as f64).sqrt();
                let found = sum / SERIES as f64;
                assert!((found - wanted).abs() < limit, "H {hurst}, {k} apart: {found} not {wanted}");
            }
        }
    }

    #[test]
    fn what_is_no_noise_is_refused() {
        for (hurst, count) in [(0.0, 8), (1.0, 8), (f64::NAN, 8), (0.7, 0)] {
            assert!(FractionalGaussianNoise::new(hurst, count).is_none());
        }
    }
}
