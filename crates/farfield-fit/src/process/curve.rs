//! The index of dispersion of a stationary process as a function of the time counted over, what a log of
//! limited length shows of it, and how far that is from what the log has.

use super::scales::ScaleDispersion;

/// Variance around the log's own mean that shows for an index F where `windows` windows of `over_s` seconds
/// cover the log: (n F(t) − F(n t)) / (n − 1). For uncorrelated counts that is F(t); with memory the log
/// stays on one side of its mean, and looks calmer.
pub(crate) fn shown(index: f64, index_of_the_whole: f64, windows: f64) -> f64 {
    ((windows * index - index_of_the_whole) / (windows - 1.0)).max(1e-9)
}

/// Standard deviations between a variance and its expectation, if `ratio` of the two is χ² with `degrees`
/// degrees of freedom over their number: by the cube root of Wilson and Hilferty (1931, "The distribution of
/// chi-square").
pub(crate) fn deviations(ratio: f64, degrees: f64) -> f64 {
    let spread = 2.0 / (9.0 * degrees);
    (ratio.cbrt() - (1.0 - spread)) / spread.sqrt()
}

/// Comparison of a log's dispersion with that of a process, which may follow a course.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Misfit<'a> {
    /// Dispersion of the log at each scale.
    scales: &'a [ScaleDispersion],
    /// Variance over mean of the course at each scale; empty without one.
    course: &'a [f64],
    /// The mean square of the course over its squared mean.
    square: f64,
}

impl<'a> Misfit<'a> {
    /// The comparison with processes at one mean rate.
    pub(crate) fn plain(scales: &'a [ScaleDispersion]) -> Misfit<'a> {
        Misfit { scales, course: &[], square: 1.0 }
    }

    /// The comparison with processes whose rate is multiplied by a course: `course` is its variance over mean
    /// at each scale, `rate` the sessions in a window of the least.
    pub(crate) fn along(scales: &'a [ScaleDispersion], course: &'a [f64], rate: f64) -> Misfit<'a> {
        let square = 1.0 + course.first().map_or(0.0, |least| least / rate);
        Misfit { scales, course, square }
    }

    /// The index of a process of index `plain`, if it follows the course: the sum of both variances, that of
    /// the process in proportion to the square of the rate.
    pub(crate) fn with_course(&self, scale: usize, plain: f64) -> f64 {
        1.0 + self.course.get(scale).copied().unwrap_or(0.0) + self.square * (plain - 1.0)
    }

    /// Each scale with the index that a process has there.
    fn pairs(&self, plain: impl Iterator<Item = f64>) -> impl Iterator<Item = (&'a ScaleDispersion, f64)> {
        let of = |(at, (scale, plain))| (scale, self.with_course(at, plain));
        self.scales.iter().zip(plain).enumerate().map(of)
    }

    /// A factor between two indices that is next to nothing.
    pub(crate) const NIL: f64 = 1.2;
    /// A factor that no index may be off by, however uncertain the log's own is.
    pub(crate) const MOST: f64 = 1.5;
    /// Every scale counts, and none so much that it outweighs the rest: errors are at least this.
    const ERROR_MIN: f64 = 0.1;

    /// From this factor on a scale counts by more than its error: a scenario must vary as this log does, and
    /// not as the mean of others, where its parameters can make it.
    const NEAR: f64 = 1.3;
    /// The weight of what lies beyond.
    const BEYOND: f64 = 300.0;

    /// The mean square of ln of the ratios, in units of the log's errors.
    pub(crate) fn square(&self, plain: impl Iterator<Item = f64>) -> f64 {
        let squares = self.pairs(plain).map(|(scale, expected)| {
            let off = (scale.index / expected).ln();
            let beyond = (off.abs() - Misfit::NEAR.ln()).max(0.0);
            off * off / (scale.error * scale.error + Misfit::ERROR_MIN * Misfit::ERROR_MIN)
                + Misfit::BEYOND * beyond * beyond
        });
        squares.sum::<f64>() / self.scales.len() as f64
    }

    /// The largest factor between the log's index and the process's.
    pub(crate) fn factor(&self, plain: &[f64]) -> f64 {
        let pairs = self.pairs(plain.iter().copied());
        pairs.map(|(scale, expected)| (scale.index / expected).ln().abs()).fold(0.0, f64::max).exp()
    }

    /// True if the process has the log's dispersion at every scale, within the log's own error (two of them,
    /// but never more than the factor [`Misfit::MOST`]).
    pub(crate) fn explains(&self, plain: &[f64]) -> bool {
        self.pairs(plain.iter().copied()).all(|(scale, expected)| {
            let limit = (2.0 * scale.error).clamp(Misfit::NIL.ln(), Misfit::MOST.ln());
            (scale.index / expected).ln().abs() <= limit
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_are_those_of_chi_squared() {
        use statrs::distribution::{ChiSquared, ContinuousCDF};
        for (degrees, share, wanted) in [(9.0, 0.001_35, -3.0), (9.0, 0.998_65, 3.0), (99.0, 0.5, 0.0)] {
            let ratio = ChiSquared::new(degrees).expect("good").inverse_cdf(share) / degrees;
            assert!((deviations(ratio, degrees) - wanted).abs() < 0.1, "{degrees} at {share}: {ratio}");
        }
    }

    /// The variance around the mean of n values whose sums vary as the 2H-th power of their number misses
    /// n^(2H−2).
    #[test]
    fn a_short_log_looks_calmer() {
        let index = |t: f64| t.powf(0.6);
        let found = shown(index(10.0), index(200.0), 20.0) / index(10.0);
        let wanted = 20.0 / 19.0 * (1.0 - 20.0f64.powf(-0.4));
        assert!((found - wanted).abs() < 1e-12, "{found} and {wanted}");
        assert_eq!(shown(1.0, 1.0, 20.0), 1.0, "a Poisson process looks as it is");
    }
}
