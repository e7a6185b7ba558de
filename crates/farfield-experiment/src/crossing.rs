//! The load at which a margin that falls with load crosses 1, with its interval: inverse regression.
//!
//! A straight line is fitted to margins by least squares over a narrow range of loads. The interval is that
//! of Fieller (1954, "Some problems in interval estimation"): all loads at which the line is not shown to
//! differ from 1. It is bounded only if the slope is shown to differ from 0.

use farfield_measure::interval::student_quantile;

/// A load with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// Where the fitted line crosses 1.
    pub load: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The change of the margin over the relative change of the load, there.
    pub relative_slope: f64,
}

impl Crossing {
    /// Half the interval's width.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// A variance that was estimated, with its degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Variance {
    /// The estimate.
    pub value: f64,
    /// Degrees of freedom.
    pub degrees: f64,
}

/// A straight line through points, by least squares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    count: f64,
    centre: f64,
    squares: f64,
    mean: f64,
    slope: f64,
    /// The variance of points about the line.
    pub residual: Variance,
}

impl Line {
    /// Fits a line to (load, margin); `None` for fewer than four, and for those of one load.
    pub fn of(points: &[(f64, f64)]) -> Option<Line> {
        let count = points.len() as f64;
        let centre = points.iter().map(|(load, _)| load).sum::<f64>() / count;
        let mean = points.iter().map(|(_, margin)| margin).sum::<f64>() / count;
        let (mut squares, mut products) = (0.0, 0.0);
        for (load, margin) in points {
            squares += (load - centre).powi(2);
            products += (load - centre) * (margin - mean);
        }
        if points.len() < 4 || squares == 0.0 {
            return None;
        }
        let slope = products / squares;
        let off = |(load, margin): &(f64, f64)| (margin - mean - slope * (load - centre)).powi(2);
        let degrees = count - 2.0;
        let residual = Variance { value: points.iter().map(off).sum::<f64>() / degrees, degrees };
        Some(Line { count, centre, squares, mean, slope, residual })
    }

    /// Where it crosses 1 from above, with an interval that contains the true load with probability `level`
    /// if points have this variance; `None` where no bounded interval follows.
    ///
    /// With the residual variance of some of the points, from which it followed how many there are to be, the
    /// probability is exact all the same (Stein 1945, "A two-sample test for a linear hypothesis whose power
    /// is independent of the variance"); with that of all points it would be too low.
    pub fn crossing(&self, variance: Variance, level: f64) -> Option<Crossing> {
        let Line { count, centre, squares, mean, slope, .. } = *self;
        let spread = student_quantile(level, variance.degrees).powi(2) * variance.value;
        // (mean − 1 + slope u)² ≤ spread (1/n + u²/squares), of which u lies between two roots.
        let bend = slope.powi(2) - spread / squares;
        if slope >= 0.0 || bend <= 0.0 {
            return None;
        }
        let excess = mean - 1.0;
        let root = (spread * (excess.powi(2) / squares + bend / count)).max(0.0).sqrt();
        let end = |sign: f64| centre + (-slope * excess + sign * root) / bend;
        let load = centre - excess / slope;
        Some(Crossing { load, low: end(-1.0), high: end(1.0), relative_slope: slope * load })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crossing(points: &[(f64, f64)], level: f64) -> Option<Crossing> {
        let line = Line::of(points)?;
        line.crossing(line.residual, level)
    }

    /// Margins on a line have no spread: 2 at 90 and 0 at 110 cross 1 at 100.
    #[test]
    fn a_line_crosses_exactly() {
        let line: Vec<(f64, f64)> = [90.0, 95.0, 105.0, 110.0].map(|load| (load, 11.0 - load / 10.0)).into();
        let found = crossing(&line, 0.95).expect("a crossing");
        assert!((found.load - 100.0).abs() < 1e-9 && found.half_width() < 1e-6, "{found:?}");
        assert!((found.relative_slope + 10.0).abs() < 1e-9);
    }

    /// The ends are those at which t = |line − 1| / its standard error is the quantile.
    #[test]
    fn the_ends_are_fiellers() {
        let points = [(90.0, 2.2), (90.0, 1.8), (110.0, 0.1), (110.0, -0.1), (100.0, 1.1), (100.0, 0.9)];
        let found = crossing(&points, 0.95).expect("a crossing");
        let residuals: f64 = points.iter().map(|(load, margin)| (margin - 11.0 + load / 10.0).powi(2)).sum();
        for end in [found.low, found.high] {
            let error = (residuals / 4.0 * (1.0 / 6.0 + (end - 100.0).powi(2) / 400.0)).sqrt();
            let t = (11.0 - end / 10.0 - 1.0).abs() / error;
            assert!((t - student_quantile(0.95, 4.0)).abs() < 1e-6, "{end}: {t}");
        }
    }

    #[test]
    fn what_does_not_fall_has_no_crossing() {
        assert_eq!(crossing(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (4.0, 4.0)], 0.95), None);
        assert_eq!(crossing(&[(1.0, 2.0), (1.0, 1.0), (1.0, 0.0), (1.0, 1.0)], 0.95), None);
        assert_eq!(crossing(&[(1.0, 2.0), (2.0, 0.0)], 0.95), None);
    }
}
