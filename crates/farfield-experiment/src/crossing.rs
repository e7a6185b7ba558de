//! The load at which a goal's number, in units of its limit, grows beyond 1, with its interval: inverse
//! regression.
//!
//! A [straight line](FittedLine) is fitted over a narrow range of loads, from which the number follows by a
//! [`Link`]: the line falls with load, and is 1 where the number is. The interval is that of
//! Fieller (1954, "Some problems in interval estimation"): all loads at which the line is not shown to
//! differ from 1. It is bounded only if the slope is shown to differ from 0.

use farfield_measure::interval::student_quantile;

/// A load with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// The load at which the fitted line crosses 1.
    pub load: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The change of the line's height over the relative change of the load, there.
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

/// The way from a goal's number, in units of its limit, to a height that is linear in the load; with it goes
/// how the number varies (generalised linear models, McCullagh and Nelder 1989).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// The height is the margin, 1 over the number, and the number varies in proportion to itself: times of a
    /// queue that fills (the gamma family with its canonical link, chapter 8). An inverse of each trial's
    /// number would be too large on average.
    Inverse,
    /// The height is 1 less the logarithm of the number, whose variance is in proportion to it: shares of
    /// times beyond a limit, which come in bursts (quasi-likelihood, chapter 9).
    Log,
}

impl Link {
    fn height(self, number: f64) -> f64 {
        match self {
            Link::Inverse => 1.0 / number,
            Link::Log => 1.0 - number.ln(),
        }
    }

    fn number(self, height: f64) -> f64 {
        match self {
            Link::Inverse => 1.0 / height,
            Link::Log => (1.0 - height).exp(),
        }
    }

    /// The derivative of the height by the number.
    fn slope(self, number: f64) -> f64 {
        match self {
            Link::Inverse => -number.powi(-2),
            Link::Log => -1.0 / number,
        }
    }

    /// The variance of a number, but for a factor.
    fn variance(self, number: f64) -> f64 {
        match self {
            Link::Inverse => number.powi(2),
            Link::Log => number,
        }
    }

    /// Numbers as far as they say something about where they are 1.
    fn bounded(self, number: f64) -> f64 {
        match self {
            Link::Inverse => number.clamp(0.25, 20.0),
            Link::Log => number.clamp(0.0, 100.0),
        }
    }

    /// Heights of the line, as far as one differs from nothing and from plenty.
    fn bounded_height(self, height: f64) -> f64 {
        let ends = if self == Link::Log { [100.0, 0.02] } else { [20.0, 0.25] };
        let [least, most] = ends.map(|end| self.height(end));
        height.clamp(least, most)
    }
}

/// A goal's number over load, as a straight line of its heights, fitted to what single trials found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FittedLine {
    link: Link,
    /// Sum of weights.
    weights: f64,
    /// The load at which slope and height are independent.
    centre: f64,
    /// Weighted sum of squared distances from there.
    squares: f64,
    /// The height there.
    mean: f64,
    slope: f64,
    /// The variance of trials about the line, but for the link's.
    pub residual: Variance,
}

/// Steps of the fit; it moves by less than a millionth after a few.
const STEPS: usize = 25;

impl FittedLine {
    /// Fits a line to (load, number); `None` for fewer than four, and for those of one load.
    pub fn of(points: &[(f64, f64)], link: Link) -> Option<FittedLine> {
        let numbers: Vec<(f64, f64)> =
            points.iter().map(|(load, number)| (*load, link.bounded(*number))).collect();
        let first = points.first()?.0;
        if points.len() < 4 || points.iter().all(|(load, _)| *load == first) {
            return None;
        }
        let mean = numbers.iter().map(|(_, number)| number).sum::<f64>() / numbers.len() as f64;
        let mean = link.bounded_height(link.height(mean));
        let residual = Variance { value: 0.0, degrees: points.len() as f64 - 2.0 };
        let mut line =
            FittedLine { link, weights: 1.0, centre: first, squares: 1.0, mean, slope: 0.0, residual };
        for _ in 0..STEPS {
            line = line.closer(&numbers);
        }
        let off = |(load, number): &(f64, f64)| {
            let fitted = line.fitted(*load);
            (number - fitted).powi(2) / link.variance(fitted)
        };
        line.residual.value = numbers.iter().map(off).sum::<f64>() / residual.degrees;
        Some(line)
    }

    /// The line's link.
    pub fn link(&self) -> Link {
        self.link
    }

    /// The number at a load.
    fn fitted(&self, load: f64) -> f64 {
        self.link.number(self.link.bounded_height(self.mean + self.slope * (load - self.centre)))
    }

    /// One step of iteratively reweighted least squares.
    fn closer(self, numbers: &[(f64, f64)]) -> FittedLine {
        let weighed = numbers.iter().map(|(load, number)| {
            let fitted = self.fitted(*load);
            let slope = self.link.slope(fitted);
            let height = self.link.height(fitted) + (number - fitted) * slope;
            (*load, height, 1.0 / (self.link.variance(fitted) * slope.powi(2)))
        });
        let (mut weights, mut loads, mut heights) = (0.0, 0.0, 0.0);
        for (load, height, weight) in weighed.clone() {
            weights += weight;
            loads += weight * load;
            heights += weight * height;
        }
        let (centre, mean) = (loads / weights, heights / weights);
        let (mut squares, mut products) = (0.0, 0.0);
        for (load, height, weight) in weighed {
            squares += weight * (load - centre).powi(2);
            products += weight * (load - centre) * (height - mean);
        }
        FittedLine { weights, centre, squares, mean, slope: products / squares, ..self }
    }

    /// The load at which the line crosses 1, and its slope there relative to the load; `None` if it does not
    /// fall.
    pub fn root(&self) -> Option<(f64, f64)> {
        let load = self.centre - (self.mean - 1.0) / self.slope;
        (self.slope < 0.0 && load > 0.0).then_some((load, self.slope * load))
    }

    /// The height in the middle of the trials.
    pub fn middle(&self) -> f64 {
        self.mean
    }

    /// The load at which the line crosses 1 from above, with an interval that contains the true load with
    /// probability `level` if points have this variance; `None` where no bounded interval follows.
    ///
    /// With the residual variance of some of the trials, from which it followed how many there are to be, the
    /// probability is exact all the same (Stein 1945, "A two-sample test for a linear hypothesis whose power
    /// is independent of the variance"); with that of all points it would be too low.
    pub fn crossing(&self, variance: Variance, level: f64) -> Option<Crossing> {
        let FittedLine { weights, centre, squares, mean, slope, .. } = *self;
        let spread = student_quantile(level, variance.degrees).powi(2) * variance.value;
        // (mean − 1 + slope u)² ≤ spread (1/weights + u²/squares), of which u lies between two roots.
        let bend = slope.powi(2) - spread / squares;
        if slope >= 0.0 || bend <= 0.0 {
            return None;
        }
        let excess = mean - 1.0;
        let root = (spread * (excess.powi(2) / squares + bend / weights)).max(0.0).sqrt();
        let end = |sign: f64| centre + (-slope * excess + sign * root) / bend;
        let load = centre - excess / slope;
        Some(Crossing { load, low: end(-1.0), high: end(1.0), relative_slope: slope * load })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of margins.
    fn numbers(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
        points.iter().map(|(load, margin)| (*load, 1.0 / margin)).collect()
    }

    fn crossing(points: &[(f64, f64)], level: f64) -> Option<Crossing> {
        let line = FittedLine::of(&numbers(points), Link::Inverse)?;
        line.crossing(line.residual, level)
    }

    /// Margins on a line have no spread: 2 at 90 and 0.1 at 109 cross 1 at 100.
    #[test]
    fn a_line_crosses_exactly() {
        let line: Vec<(f64, f64)> = [90.0, 95.0, 105.0, 109.0].map(|load| (load, 11.0 - load / 10.0)).into();
        let found = crossing(&line, 0.95).expect("a crossing");
        assert!((found.load - 100.0).abs() < 1e-6 && found.half_width() < 1e-4, "{found:?}");
        assert!((found.relative_slope + 10.0).abs() < 1e-6);
    }

    /// The ends are those at which the line's distance from 1 over its standard error, which follows from
    /// the weights of the fit, is the quantile of Student's distribution.
    #[test]
    fn the_ends_are_fiellers() {
        let points = [(90.0, 2.2), (90.0, 1.8), (107.0, 0.4), (107.0, 0.3), (100.0, 1.1), (100.0, 0.9)];
        let line = FittedLine::of(&numbers(&points), Link::Inverse).expect("a line");
        let found = line.crossing(line.residual, 0.95).expect("a crossing");
        let at = |load: f64| line.mean + line.slope * (load - line.centre);
        let weights: Vec<f64> = points.map(|(load, _)| at(load).powi(-2)).into();
        let sum: f64 = weights.iter().sum();
        let centre = points.iter().zip(&weights).map(|((load, _), weight)| load * weight).sum::<f64>() / sum;
        let squares: f64 =
            points.iter().zip(&weights).map(|((load, _), weight)| weight * (load - centre).powi(2)).sum();
        let residuals: f64 = points.iter().map(|(load, margin)| (at(*load) / margin - 1.0).powi(2)).sum();
        for end in [found.low, found.high] {
            let error = (residuals / 4.0 * (1.0 / sum + (end - centre).powi(2) / squares)).sqrt();
            let t = (at(end) - 1.0).abs() / error;
            assert!((t - student_quantile(0.95, 4.0)).abs() < 1e-3, "{end}: {t}");
        }
    }

    /// Shares that grow by a factor of e over 5 %, and of which most trials of a kind have none: their means
    /// are on the line, and single trials far from it.
    #[test]
    fn shares_cross_where_their_mean_does() {
        let mean = |load: f64| ((load - 100.0) / 5.0).exp();
        let rare = |load: f64| [(load, 5.0 * mean(load)), (load, 0.0), (load, 0.0), (load, 0.0), (load, 0.0)];
        let points: Vec<(f64, f64)> =
            [94.0, 98.0, 102.0, 106.0].repeat(20).into_iter().flat_map(rare).collect();
        let line = FittedLine::of(&points, Link::Log).expect("a line");
        let found = line.crossing(line.residual, 0.95).expect("a crossing");
        assert!((found.load - 100.0).abs() < 1e-3, "{found:?}");
        assert!((found.relative_slope + 20.0).abs() < 1e-2, "{found:?}");
        assert!(found.half_width() > 0.5, "{found:?}");
        // Of trials with nothing beyond the limit it is known that they are below it.
        let none =
            FittedLine::of(&points.iter().map(|(load, _)| (*load, 0.0)).collect::<Vec<_>>(), Link::Log);
        assert!(none.expect("a line").middle() > 2.0);
    }

    #[test]
    fn what_does_not_fall_has_no_crossing() {
        assert_eq!(crossing(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (4.0, 4.0)], 0.95), None);
        assert_eq!(crossing(&[(1.0, 2.0), (1.0, 1.0), (1.0, 0.0), (1.0, 1.0)], 0.95), None);
        assert_eq!(crossing(&[(1.0, 2.0), (2.0, 0.0)], 0.95), None);
    }
}
