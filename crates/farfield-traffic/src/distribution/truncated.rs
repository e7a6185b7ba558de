//! A distribution between two thresholds: what is left of it where nothing outside of them is seen, or can
//! happen.

use super::{Distribution, Model, Univariate};
use farfield_base::random::Stream;
use std::sync::Arc;

/// The conditional distribution of another one, given that a value lies in [min, max]. Density f(x) /
/// (F(max) − F(min)) there; mean and variance by quadrature of its distribution function.
#[derive(Debug, Clone, PartialEq)]
pub struct Truncated {
    whole: Arc<Distribution>,
    min: f64,
    max: f64,
    mean: f64,
    variance: f64,
}

impl Truncated {
    /// A draw repeats until it lies between the thresholds: less of the whole than this there, and it would
    /// take too long.
    pub const SHARE_MIN: f64 = 0.01;

    /// `model` between `min` and `max`. `None` if less than a hundredth of it lies there.
    pub fn new(model: &Model, min: f64, max: f64) -> Option<Truncated> {
        let (below, above) = (model.cdf_and_tail(min), model.cdf_and_tail(max));
        let share = (above.0 - below.0).max(below.1 - above.1);
        if !(min.is_finite() && max.is_finite() && min < max && share >= Self::SHARE_MIN) {
            return None;
        }
        let mean = model.mean_between(min, max);
        let variance = (model.mean_square_between(min, max) - mean * mean).max(0.0);
        Some(Truncated { whole: Arc::new(model.distribution()), min, max, mean, variance })
    }
}

impl Univariate for Truncated {
    fn sample(&self, rng: &mut Stream) -> f64 {
        // A hundredth lies inside: so many misses in a row have a probability of e^-100.
        const TRIES: u32 = 10_000;
        let mut drawn = self.whole.sample(rng);
        for _ in 0..TRIES {
            if (self.min..=self.max).contains(&drawn) {
                break;
            }
            drawn = self.whole.sample(rng);
        }
        drawn.clamp(self.min, self.max)
    }
    fn mean(&self) -> f64 {
        self.mean
    }
    fn variance(&self) -> f64 {
        self.variance
    }
    fn support(&self) -> (f64, f64) {
        let (least, most) = (self.whole.minimum(), self.whole.maximum());
        (self.min.max(least), self.max.min(most))
    }
}
