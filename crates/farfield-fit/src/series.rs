//! Statistics of a series of request counts: dispersion, memory, and whether arrivals are Poisson.
//!
//! A series is a slice of numbers, one for each slot of time, in order; [`counts`] makes one of instants.
//! Numbers that are not counts (noise, bytes) are valid as well. Every estimator documents its assumptions
//! and its source, and gives an interval where theory has one; none draws random numbers.

mod autocorrelation;
mod dispersion;
pub mod hurst;
mod marginal;
mod poisson;
mod spectrum;

pub use autocorrelation::{autocorrelation, white_noise_band};
pub use dispersion::{Dispersion, dispersion, joined};
pub use marginal::Marginal;
pub use poisson::{PoissonTest, poisson_test};

use farfield_base::{Duration, Instant};

/// Reason for which an estimator refuses a series.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SeriesError {
    /// Too few values.
    #[error(
        "a series of {given} values is too short: this takes {needed} at least; take shorter slots or a longer series"
    )]
    TooShort {
        /// Number of values.
        given: usize,
        /// Number of values needed.
        needed: usize,
    },
    /// All values are alike.
    #[error("all values of the series are alike, so that there is nothing to estimate")]
    Constant,
    /// A value that is not finite.
    #[error("value {index} of the series is not a finite number")]
    NotFinite {
        /// Index of the value, from 0.
        index: usize,
    },
}

/// Number of `arrivals` in each of `slots` slots from `from` on; those outside are left out.
pub fn counts(
    arrivals: impl IntoIterator<Item = Instant>,
    from: Instant,
    slot: Duration,
    slots: usize,
) -> Vec<f64> {
    let mut counts = vec![0.0; slots];
    for at in arrivals.into_iter().filter(|at| *at >= from) {
        let index = at.since(from).as_ns() / slot.as_ns().max(1);
        if let Some(count) = usize::try_from(index).ok().and_then(|index| counts.get_mut(index)) {
            *count += 1.0;
        }
    }
    counts
}

/// The mean of each `size` values in turn; what is left over at the end is left out.
pub fn aggregated(series: &[f64], size: usize) -> Vec<f64> {
    series.chunks_exact(size.max(1)).map(mean).collect()
}

/// The mean; not a number for an empty series.
pub fn mean(series: &[f64]) -> f64 {
    series.iter().sum::<f64>() / series.len() as f64
}

/// The variance around the series' own mean, with divisor n − 1. It is unbiased for independent values only:
/// a series with memory stays on one side of its mean for long, and looks calmer than it is.
pub fn variance(series: &[f64]) -> f64 {
    let mean = mean(series);
    series.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (series.len() as f64 - 1.0)
}

/// Refuses what no estimator can take.
fn checked(series: &[f64], needed: usize) -> Result<(), SeriesError> {
    if series.len() < needed {
        return Err(SeriesError::TooShort { given: series.len(), needed });
    }
    if let Some(index) = series.iter().position(|value| !value.is_finite()) {
        return Err(SeriesError::NotFinite { index });
    }
    if series.iter().all(|value| *value == series[0]) {
        return Err(SeriesError::Constant);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_fall_into_slots() {
        let at = [0, 5, 10, 19, 20, 39, 40].map(Instant::from_ns);
        assert_eq!(counts(at, Instant::from_ns(10), Duration::from_ns(10), 3), [2.0, 1.0, 1.0]);
    }

    #[test]
    fn moments_are_those_of_the_definition() {
        let series = [1.0, 2.0, 4.0, 9.0, 7.0];
        assert_eq!((mean(&series), variance(&series)), (4.6, 11.3));
        assert_eq!(aggregated(&series, 2), [1.5, 6.5]);
    }

    #[test]
    fn what_cannot_be_estimated_is_refused() {
        assert_eq!(checked(&[1.0], 2), Err(SeriesError::TooShort { given: 1, needed: 2 }));
        assert_eq!(checked(&[1.0, 1.0], 2), Err(SeriesError::Constant));
        assert_eq!(checked(&[1.0, f64::NAN], 2), Err(SeriesError::NotFinite { index: 1 }));
    }
}
