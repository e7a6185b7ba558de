//! Rescaled range: within a block of m values, the range R of the sums of what each differs from the block's
//! mean grows as m^H, in units of the values' deviation (Hurst 1951; Mandelbrot and Wallis 1969).
//!
//! The plain regression of ln R/S on ln m is far off at both ends, for two reasons that are part of the fit
//! here: the deviation S around the block's own mean is too small, by √(1 − m^(2H−2)), which for strong
//! memory is much and depends on m; and a range over m steps misses what lies between them. How much it
//! misses is known for independent values, whose mean R/S is exact (Anis and Lloyd 1976), and falls as m^(−H)
//! with memory. Theory has no interval.

use super::minimum::minimum;
use super::{HurstEstimate, HurstEstimator};
use crate::series::{SeriesError, checked, mean};
use std::f64::consts::PI;

/// Estimate from blocks of `from` values (at least 16; 64 or more where memory may be strong), doubled up to
/// an eighth of the series.
///
/// # Errors
/// A series that is too short or constant, or has a value that is not finite.
pub fn rescaled_range(series: &[f64], from: usize) -> Result<HurstEstimate, SeriesError> {
    const BLOCKS_MIN: usize = 8;
    let from = from.max(16);
    checked(series, from.saturating_mul(4 * BLOCKS_MIN))?;
    let sizes = std::iter::successors(Some(from), |m| m.checked_mul(2));
    let points: Vec<RangePoint> = sizes
        .take_while(|m| series.len() / m >= BLOCKS_MIN)
        .filter_map(|m| {
            let ratios: Vec<f64> = series.chunks_exact(m).filter_map(ratio).collect();
            (!ratios.is_empty()).then(|| RangePoint {
                size: m as f64,
                blocks: ratios.len() as f64,
                log_ratio: mean(&ratios).ln(),
                missed: missed_by_steps(m),
            })
        })
        .collect();
    if points.len() < 3 {
        return Err(SeriesError::Constant);
    }
    let hurst = minimum(0.01, 0.999, |hurst| misfit(&points, hurst));
    Ok(HurstEstimate { method: HurstEstimator::RescaledRange, hurst, standard_error: None })
}

struct RangePoint {
    size: f64,
    blocks: f64,
    log_ratio: f64,
    missed: f64,
}

/// The squares of what the distribution leaves over, weighted by the number of blocks, the level being free.
fn misfit(points: &[RangePoint], hurst: f64) -> f64 {
    let left_over = |p: &RangePoint| {
        let calmed = -((2.0 * hurst - 2.0) * p.size.ln()).exp_m1();
        let missed = p.missed * p.size.powf(0.5 - hurst);
        p.log_ratio - hurst * p.size.ln() + calmed.ln() / 2.0 - missed
    };
    let weight: f64 = points.iter().map(|p| p.blocks).sum();
    let level = points.iter().map(|p| p.blocks * left_over(p)).sum::<f64>() / weight;
    points.iter().map(|p| p.blocks * (left_over(p) - level).powi(2)).sum()
}

/// R/S of one block; `None` where all values are alike.
fn ratio(block: &[f64]) -> Option<f64> {
    let mean = mean(block);
    let (mut sum, mut low, mut high, mut squares) = (0.0f64, 0.0f64, 0.0f64, 0.0f64);
    for value in block {
        sum += value - mean;
        low = low.min(sum);
        high = high.max(sum);
        squares += (value - mean).powi(2);
    }
    let deviation = (squares / block.len() as f64).sqrt();
    (deviation > 0.0).then(|| (high - low) / deviation)
}

/// ln of the mean range over m steps of independent values, over √(πm/2), that of a Brownian bridge.
fn missed_by_steps(m: usize) -> f64 {
    let size = m as f64;
    of_independent(m).ln() + (1.0 - 1.0 / size).ln() / 2.0 - (PI * size / 2.0).ln() / 2.0
}

/// The mean R/S of m independent normal values: Γ((m−1)/2) / (√π Γ(m/2)) · Σ √((m−i)/i) over i < m.
fn of_independent(m: usize) -> f64 {
    let size = m as f64;
    let gammas = (libm::lgamma((size - 1.0) / 2.0) - libm::lgamma(size / 2.0)).exp();
    let sum: f64 = (1..m).map(|i| ((size - i as f64) / i as f64).sqrt()).sum();
    gammas / PI.sqrt() * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_of_a_block_is_that_of_its_definition() {
        // Differences −1, 1, 1, −1: sums −1, 0, 1, 0, deviation 1.
        assert_eq!(ratio(&[1.0, 3.0, 3.0, 1.0]), Some(2.0));
        assert_eq!(ratio(&[2.0, 2.0]), None);
    }

    #[test]
    fn two_independent_values_have_a_ratio_of_one() {
        // R = |a − b| / 2 and S = |a − b| / 2, whatever they are.
        assert!((of_independent(2) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn long_blocks_miss_little() {
        assert!(missed_by_steps(16) < -0.2 && missed_by_steps(1 << 14) > -0.02);
    }
}
