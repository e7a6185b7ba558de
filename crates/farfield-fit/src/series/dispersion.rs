//! The index of dispersion for counts: variance over mean, at one time scale after another.

use super::{SeriesError, aggregated, checked, mean, variance};

/// The index at one scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dispersion {
    /// Slots joined into one count.
    pub slots: usize,
    /// Variance over mean of those counts: 1 for a Poisson process, growing as a power of the scale, 2H − 1,
    /// for a self-similar one.
    pub index: f64,
    /// Interval of the index of a Poisson process in nineteen of twenty series.
    pub poisson: (f64, f64),
}

/// The index of dispersion of counts of `slots` slots each (Cox and Lewis 1966, section 4.3). Takes at least
/// 8 such counts.
///
/// Under Poisson, (k − 1) times the index is χ² with k − 1 degrees of freedom (the dispersion test, section
/// 6.3), here by the cube-root formula of Wilson and Hilferty (1931).
pub fn dispersion(series: &[f64], slots: usize) -> Result<Dispersion, SeriesError> {
    const COUNTS_MIN: usize = 8;
    let slots = slots.max(1);
    checked(series, slots.saturating_mul(COUNTS_MIN))?;
    let counts: Vec<f64> = aggregated(series, slots).iter().map(|mean| mean * slots as f64).collect();
    let degrees = counts.len() as f64 - 1.0;
    let quantile = |z: f64| {
        let spread = 2.0 / (9.0 * degrees);
        (1.0 - spread + z * spread.sqrt()).powi(3)
    };
    let index = variance(&counts) / mean(&counts);
    Ok(Dispersion { slots, index, poisson: (quantile(-1.96), quantile(1.96)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{ChiSquared, ContinuousCDF};

    #[test]
    fn the_index_is_variance_over_mean_of_sums() {
        let series: Vec<f64> = (0..32).map(|i| f64::from(i % 4 / 2 + i % 3)).collect();
        let sums: Vec<f64> = series.chunks(2).map(|pair| pair[0] + pair[1]).collect();
        let found = dispersion(&series, 2).expect("long enough").index;
        assert!((found - variance(&sums) / mean(&sums)).abs() < 1e-12);
    }

    #[test]
    fn the_poisson_range_is_that_of_chi_squared() {
        let series: Vec<f64> = (0..40).map(|i| f64::from(i % 5)).collect();
        let (low, high) = dispersion(&series, 1).expect("long enough").poisson;
        let exact = |p| ChiSquared::new(39.0).expect("good").inverse_cdf(p) / 39.0;
        assert!((low - exact(0.025)).abs() < 2e-3 && (high - exact(0.975)).abs() < 2e-3, "{low} to {high}");
    }
}
