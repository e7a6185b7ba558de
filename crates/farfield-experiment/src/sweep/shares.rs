//! Shares of errors in repeats. Where failures are rare, all repeats may have none, and agree exactly: that
//! is no sign that none can come.

use super::make::Reading;
use farfield_measure::interval::variance_of_shares;

/// The squared standard error that the mean of these readings has at least; 0 of numbers that are no shares
/// of requests.
pub(super) fn variance<'r>(readings: impl Iterator<Item = &'r Reading>) -> f64 {
    let of_requests = readings.filter_map(|reading| Some((reading.value?, reading.requests?)));
    let (shares, requests): (Vec<f64>, Vec<u64>) = of_requests.unzip();
    if shares.is_empty() { 0.0 } else { variance_of_shares(&shares, &requests) }
}
