//! The wavelet estimator: the energy of wavelet coefficients grows from octave to octave as 2^((2H−1)j) (Abry
//! and Veitch 1998, "Wavelet analysis of long-range-dependent traffic"; Veitch and Abry 1999, "A
//! wavelet-based joint estimator of the parameters of long-range dependence").
//!
//! Daubechies' wavelet with three vanishing moments: straight and parabolic trends do not touch it.
//! Coefficients that the series' ends touch are left out.

use super::{HurstEstimate, HurstEstimator};
use crate::series::{SeriesError, checked};
use farfield_traffic::distribution::special::{digamma, trigamma};
use std::f64::consts::LN_2;

/// The scaling filter with three vanishing moments (Daubechies 1992, table 6.1), of sum √2.
const SCALING: [f64; 6] = [
    0.332_670_552_950_082_5,
    0.806_891_509_311_092_4,
    0.459_877_502_118_491_4,
    -0.135_011_020_010_254_6,
    -0.085_441_273_882_026_7,
    0.035_226_291_885_709_5,
];

/// Energy of one octave.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Octave {
    /// j, from 1: coefficients at a scale of 2ʲ values.
    pub octave: u32,
    /// Number of coefficients.
    pub coefficients: usize,
    /// log₂ of their mean square, corrected for the bias of a logarithm.
    pub log_energy: f64,
    /// Standard error, for Gaussian coefficients.
    pub standard_error: f64,
}

/// Energy by octave. A straight line over the coarse octaves is long memory; where it begins, short-time
/// structure ends.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LogscaleDiagram {
    /// Octaves in order, from 1.
    pub octaves: Vec<Octave>,
}

impl LogscaleDiagram {
    /// The diagram of a series of 128 values at least.
    ///
    /// # Errors
    /// A series that is too short or constant, or has a value that is not finite.
    pub fn of(series: &[f64]) -> Result<LogscaleDiagram, SeriesError> {
        const COEFFICIENTS_MIN: usize = 6;
        checked(series, 128)?;
        let mut octaves = Vec::new();
        let mut approximation = series.to_vec();
        for octave in 1.. {
            let (next, details) = split(&approximation);
            if details.len() < COEFFICIENTS_MIN {
                break;
            }
            let energy = details.iter().map(|d| d * d).sum::<f64>() / details.len() as f64;
            if energy > 0.0 {
                octaves.push(Octave::of(octave, details.len(), energy));
            }
            approximation = next;
        }
        Ok(LogscaleDiagram { octaves })
    }

    /// H from a weighted line over the octaves from `from` on: Veitch and Abry (1999), section II.B. `None`
    /// if fewer than three are left.
    pub fn hurst(&self, from: u32) -> Option<HurstEstimate> {
        let used = || self.octaves.iter().filter(|octave| octave.octave >= from);
        if used().count() < 3 {
            return None;
        }
        let (mut s, mut sx, mut sxx, mut sy, mut sxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for octave in used() {
            let (x, y) = (f64::from(octave.octave), octave.log_energy);
            let weight = octave.standard_error.powi(-2);
            s += weight;
            sx += weight * x;
            sxx += weight * x * x;
            sy += weight * y;
            sxy += weight * x * y;
        }
        let determinant = s * sxx - sx * sx;
        let slope = (s * sxy - sx * sy) / determinant;
        let standard_error = Some(0.5 * (s / determinant).sqrt());
        Some(HurstEstimate { method: HurstEstimator::Wavelet, hurst: (1.0 + slope) / 2.0, standard_error })
    }
}

impl Octave {
    /// For n independent Gaussian coefficients, log₂ of the mean square is low by ψ(n/2)/ln 2 − log₂(n/2) in
    /// the mean, and varies by ζ(2, n/2) / ln² 2.
    fn of(octave: u32, coefficients: usize, energy: f64) -> Octave {
        let half = coefficients as f64 / 2.0;
        let bias = digamma(half) / LN_2 - half.log2();
        Octave {
            octave,
            coefficients,
            log_energy: energy.log2() - bias,
            standard_error: trigamma(half).sqrt() / LN_2,
        }
    }
}

/// H from the octaves from `from` on; 3 leaves out what the discrete begin of the transform distorts, more
/// what is special to short times.
///
/// # Errors
/// A series that is too short or constant, or has a value that is not finite.
pub fn wavelet(series: &[f64], from: u32) -> Result<HurstEstimate, SeriesError> {
    let needed = 128usize << from.min(32);
    LogscaleDiagram::of(series)?.hurst(from).ok_or(SeriesError::TooShort { given: series.len(), needed })
}

/// Approximation and details one octave up.
fn split(values: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let windows = || values.windows(SCALING.len()).step_by(2);
    let low = |window: &[f64]| SCALING.iter().zip(window).map(|(h, x)| h * x).sum();
    // The filter backwards, every other coefficient with its sign changed.
    let high = |window: &[f64]| {
        let sign = |k: usize| if k.is_multiple_of(2) { 1.0 } else { -1.0 };
        SCALING.iter().rev().zip(window).enumerate().map(|(k, (h, x))| sign(k) * h * x).sum()
    };
    (windows().map(low).collect(), windows().map(high).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_is_orthonormal_and_blind_to_parabolas() {
        for shift in [0, 2, 4] {
            let product: f64 = SCALING.iter().zip(&SCALING[shift..]).map(|(a, b)| a * b).sum();
            let wanted = if shift == 0 { 1.0 } else { 0.0 };
            assert!((product - wanted).abs() < 1e-12, "shifted by {shift}: {product}");
        }
        let parabola: Vec<f64> = (0..40).map(|t| 3.0 + f64::from(t) - 0.2 * f64::from(t * t)).collect();
        let (_, details) = split(&parabola);
        assert!(details.iter().all(|d| d.abs() < 1e-9), "{details:?}");
    }
}
