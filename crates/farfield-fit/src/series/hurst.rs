//! The Hurst parameter of a series, which measures its memory: ½ for independent values, towards 1 the
//! longer the memory. Five estimators, which look at different things and fail in different ways; where they
//! disagree, the series is not self-similar over the scales that were looked at, or not stationary.

mod aggregation;
pub(crate) mod minimum;
mod rescaled;
mod wavelet;
mod whittle;

pub use aggregation::aggregated_variance;
pub use rescaled::rescaled_range;
pub use wavelet::{LogscaleDiagram, Octave, wavelet};
pub use whittle::{local_whittle, local_whittle_bandwidth, noise_whittle};

/// Estimator of the Hurst parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HurstEstimator {
    /// The variance of averages over longer and longer blocks.
    AggregatedVariance,
    /// The range of sums over their deviation.
    RescaledRange,
    /// The likelihood of the lowest frequencies.
    LocalWhittle,
    /// The likelihood of all frequencies, for fractional Gaussian noise.
    NoiseWhittle,
    /// The energy of wavelet coefficients, octave by octave.
    Wavelet,
}

/// An estimate of the Hurst parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HurstEstimate {
    /// The estimator.
    pub method: HurstEstimator,
    /// The estimate.
    pub hurst: f64,
    /// Standard error where theory has one.
    pub standard_error: Option<f64>,
}

impl HurstEstimate {
    /// The interval that holds the true value in nineteen of twenty series, where theory has one.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.standard_error.map(|error| (self.hurst - 1.96 * error, self.hurst + 1.96 * error))
    }
}
