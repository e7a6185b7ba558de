//! Shares of errors in repeats. Where failures are rare, all repeats may have none, and agree exactly: that
//! is no sign that none can come.

use super::make::Reading;
use super::scale::Scale;
use crate::report::LEVEL;
use farfield_measure::interval::{MeanEstimate, variance_of_shares};

/// The squared standard error that the mean of these readings has at least, on their scale; 0 of numbers that
/// are no shares of requests.
pub(super) fn variance<'r>(readings: impl Iterator<Item = &'r Reading>) -> f64 {
    let mut is_ratio = false;
    let of_requests = readings.filter_map(|reading| {
        is_ratio |= reading.scale == Scale::Ratio;
        Some((reading.value?, reading.requests?))
    });
    let (shares, requests): (Vec<f64>, Vec<u64>) = of_requests.unzip();
    if shares.is_empty() {
        return 0.0;
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    // Of a logarithm the standard error is that of the number, over the number.
    variance_of_shares(&shares, &requests) / if is_ratio { mean.powi(2) } else { 1.0 }
}

/// Half the width of the interval of a mean with at least this squared standard error.
pub(super) fn half_width(variance: f64) -> f64 {
    MeanEstimate::constant(0.0).with_variance_of_at_least(variance).half_width(LEVEL)
}

/// The count of runs like these that an interval of at most this half-width takes; 0 of numbers that are no
/// shares of requests.
pub(super) fn needed<'r>(readings: impl Iterator<Item = &'r Reading>, half: f64, most: u32) -> u32 {
    let (mut failed, mut requests, mut runs) = (0.0, 0, 0_u32);
    for reading in readings {
        let (Some(share), Some(own)) = (reading.value, reading.requests) else { continue };
        (failed, requests, runs) = (failed + share * own as f64, requests + own, runs + 1);
    }
    if requests == 0 {
        return 0;
    }
    let (share, each) = (failed / requests as f64, requests / u64::from(runs));
    let is_narrow = |count: &u32| {
        half_width(variance_of_shares(&[share], &[each.saturating_mul(u64::from(*count))])) <= half
    };
    (runs..=most).find(is_narrow).unwrap_or(most)
}
