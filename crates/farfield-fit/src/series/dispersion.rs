//! The index of dispersion for counts, variance over mean, and the Allan factor, at one time scale after
//! another.

use super::{SeriesError, aggregated, autocorrelation, checked, mean, variance};

/// The index at one scale.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Dispersion {
    /// Slots joined into one count.
    pub slots: usize,
    /// Number of those counts.
    pub counts: usize,
    /// Variance over mean of those counts: 1 for a Poisson process, growing as a power of the scale, 2H − 1,
    /// for a self-similar one.
    pub index: f64,
    /// The Allan factor: half the mean square of the differences of neighbouring counts, over their mean. 1
    /// for a Poisson process; a course that is slow beside the scale hardly touches it.
    pub allan: f64,
    /// Standard error of ln `index`, from the counts' own memory and tails.
    pub error: f64,
    /// Interval of the index of a Poisson process in nineteen of twenty series.
    pub poisson: (f64, f64),
}

/// The index of dispersion of counts of `slots` slots each (Cox and Lewis 1966, "The Statistical Analysis of
/// Series of Events", section 4.3), and the Allan factor (Allan 1966, "Statistics of atomic frequency
/// standards"; for point processes Lowen and Teich 2005, "Fractal-Based Point Processes", chapter 3). Takes
/// at least 8 such counts, not all of them 0.
///
/// Under Poisson, (k − 1) times the index is χ² with k − 1 degrees of freedom (the dispersion test, section
/// 6.3), here by the cube-root formula of Wilson and Hilferty (1931).
///
/// # Errors
/// A series that is too short or constant, whose whole blocks are all zero, or with a value that is not
/// finite.
pub fn dispersion(series: &[f64], slots: usize) -> Result<Dispersion, SeriesError> {
    const COUNTS_MIN: usize = 8;
    let slots = slots.max(1);
    checked(series, slots.saturating_mul(COUNTS_MIN))?;
    let counts = joined(series, slots);
    let degrees = counts.len() as f64 - 1.0;
    let quantile = |z: f64| {
        let spread = 2.0 / (9.0 * degrees);
        (1.0 - spread + z * spread.sqrt()).powi(3)
    };
    let mean = mean(&counts);
    // All that was counted may lie in what is left over at the end.
    if mean == 0.0 {
        return Err(SeriesError::Constant);
    }
    let steps: f64 = counts.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    Ok(Dispersion {
        slots,
        counts: counts.len(),
        index: variance(&counts) / mean,
        allan: steps / (2.0 * degrees * mean),
        error: error(&counts),
        poisson: (quantile(-1.96), quantile(1.96)),
    })
}

/// The sums of each `slots` values in turn; what is left over at the end is left out.
pub fn joined(series: &[f64], slots: usize) -> Vec<f64> {
    aggregated(series, slots).iter().map(|mean| mean * slots as f64).collect()
}

/// Standard error of ln s² of values with memory: var s² / σ⁴ is 2/n Σ ρ(k)² over all lags for Gaussian
/// values (Bartlett 1946, "On the theoretical specification and sampling properties of autocorrelated
/// time-series"), and their excess kurtosis over n besides. Lags count up to the first at which
/// the correlation is within what independent values have.
fn error(counts: &[f64]) -> f64 {
    const LAGS: usize = 1_000;
    let n = counts.len() as f64;
    let lags = LAGS.min(counts.len() / 2);
    let Ok(correlations) = autocorrelation(counts, lags) else { return (2.0 / n).sqrt() };
    let remembered = correlations[1..].iter().take_while(|r| **r > 2.0 / n.sqrt());
    let squares = 1.0 + 2.0 * remembered.map(|r| r * r).sum::<f64>();
    let (mean, variance) = (mean(counts), variance(counts));
    let fourth = counts.iter().map(|count| (count - mean).powi(4)).sum::<f64>() / n;
    let excess = (fourth / (variance * variance) - 3.0).max(0.0);
    ((2.0 * squares + excess) / n).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed};
    use rand::RngExt;
    use statrs::distribution::{ChiSquared, ContinuousCDF};

    #[test]
    fn the_index_is_variance_over_mean_of_sums() {
        let series: Vec<f64> = (0..32).map(|i| f64::from(i % 4 / 2 + i % 3)).collect();
        let sums: Vec<f64> = series.chunks(2).map(|pair| pair[0] + pair[1]).collect();
        let found = dispersion(&series, 2).expect("long enough").index;
        assert!((found - variance(&sums) / mean(&sums)).abs() < 1e-12);
    }

    /// Two neighbouring counts differ by (N₁ − N₂)² = 2 N₁² + 2 N₂² − (N₁ + N₂)², so that the Allan factor is
    /// 2 F(T) − F(2T), up to what the ends do.
    #[test]
    fn the_allan_factor_is_that_of_two_indices() {
        let mut rng = Seed(3).stream(Purpose::Arrivals, 0);
        let mut level = 0.0;
        let series: Vec<f64> = (0..40_000)
            .map(|_| {
                level = 0.9 * level + rng.random::<f64>();
                level
            })
            .collect();
        let [one, two] = [4, 8].map(|slots| dispersion(&series, slots).expect("long enough"));
        let wanted = 2.0 * one.index - two.index;
        assert!((one.allan / wanted - 1.0).abs() < 0.05, "{} and {wanted}", one.allan);
    }

    /// Over 200 series with memory, ln of the index scatters by the error that each of them states.
    #[test]
    fn the_error_is_the_scatter_of_the_index() {
        let logs: Vec<(f64, f64)> = (0..200)
            .map(|number| {
                let mut rng = Seed(4).stream(Purpose::Arrivals, number);
                let mut level = 5.0;
                let series: Vec<f64> = (0..400)
                    .map(|_| {
                        level = 0.8 * level + rng.random::<f64>();
                        level
                    })
                    .collect();
                let found = dispersion(&series, 1).expect("long enough");
                (found.index.ln(), found.error)
            })
            .collect();
        let indices: Vec<f64> = logs.iter().map(|(index, _)| *index).collect();
        let stated = logs.iter().map(|(_, error)| error).sum::<f64>() / 200.0;
        let scatter = variance(&indices).sqrt();
        assert!((stated / scatter - 1.0).abs() < 0.25, "{stated} stated, {scatter} found");
    }

    #[test]
    fn the_poisson_range_is_that_of_chi_squared() {
        let series: Vec<f64> = (0..40).map(|i| f64::from(i % 5)).collect();
        let (low, high) = dispersion(&series, 1).expect("long enough").poisson;
        let exact = |p| ChiSquared::new(39.0).expect("good").inverse_cdf(p) / 39.0;
        assert!((low - exact(0.025)).abs() < 2e-3 && (high - exact(0.975)).abs() < 2e-3, "{low} to {high}");
    }
}
