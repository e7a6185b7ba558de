//! Aggregated variance: averages over m values vary as m^(2H−2) (Taqqu, Teverovsky and Willinger 1995,
//! "Estimators for long-range dependence", section 3.1).
//!
//! The variance of k averages around their common mean misses what that mean itself varies by, a share of
//! k^(2H−2), which is large where H is and made the plain regression come out low. It is part of the fit
//! here. Theory has no simple interval for this method: its variances depend on each other.

use super::minimum::minimum;
use super::{HurstEstimate, HurstEstimator};
use crate::series::{SeriesError, aggregated, checked, variance};

/// Estimate from blocks of `from` values (at least 1; more, where short times should not count), doubled up
/// to a sixteenth of the series.
///
/// # Errors
/// A series that is too short or constant, or has a value that is not finite.
pub fn aggregated_variance(series: &[f64], from: usize) -> Result<HurstEstimate, SeriesError> {
    const BLOCKS_MIN: usize = 16;
    const SCALES_MIN: u32 = 3;
    let from = from.max(1);
    checked(series, from.saturating_mul(BLOCKS_MIN << (SCALES_MIN - 1)))?;
    let scales = std::iter::successors(Some(from), |m| m.checked_mul(2));
    let points: Vec<VariancePoint> = scales
        .take_while(|m| series.len() / m >= BLOCKS_MIN)
        .filter_map(|m| {
            let averages = aggregated(series, m);
            let log_variance = variance(&averages).ln();
            // A scale at which all averages are alike, as in a series with a short period, has no variance to
            // fit.
            log_variance.is_finite().then(|| VariancePoint {
                log_size: (m as f64).ln(),
                log_variance,
                blocks: averages.len() as f64,
            })
        })
        .collect();
    if points.len() < SCALES_MIN as usize {
        return Err(SeriesError::Constant);
    }
    let hurst = minimum(0.01, 0.999, |hurst| misfit(&points, hurst));
    Ok(HurstEstimate { method: HurstEstimator::AggregatedVariance, hurst, standard_error: None })
}

struct VariancePoint {
    log_size: f64,
    log_variance: f64,
    blocks: f64,
}

/// The squares of what the distribution leaves over, weighted by the number of blocks, the level being free.
fn misfit(points: &[VariancePoint], hurst: f64) -> f64 {
    let power = 2.0 * hurst - 2.0;
    let left_over = |p: &VariancePoint| {
        let seen = -(power * p.blocks.ln()).exp_m1() * p.blocks / (p.blocks - 1.0);
        p.log_variance - power * p.log_size - seen.ln()
    };
    let weight: f64 = points.iter().map(|p| p.blocks).sum();
    let level = points.iter().map(|p| p.blocks * left_over(p)).sum::<f64>() / weight;
    points.iter().map(|p| p.blocks * (left_over(p) - level).powi(2)).sum()
}
