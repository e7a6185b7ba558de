//! The power laws: sizes of files, lengths of transfers, quiet times (Crovella and Bestavros 1997).

use super::{ParameterCheck, ParameterError, Univariate, power};
use farfield_base::random::Stream;
use rand::RngExt;
use rand_distr::Distribution as _;

/// P(X > x) = (scale / x)^shape on x ≥ scale, with the shape also called α and the scale x_m or k. Mean
/// shape · scale / (shape − 1), infinite for shape ≤ 1; variance shape · scale² / ((shape − 1)² (shape − 2)),
/// infinite for shape ≤ 2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pareto {
    shape: f64,
    scale: f64,
}

impl Pareto {
    /// With `shape` and `scale`, both above 0.
    pub fn new(shape: f64, scale: f64) -> Result<Pareto, ParameterError> {
        let check = ParameterCheck("pareto");
        Ok(Pareto { shape: check.positive("shape", shape)?, scale: check.positive("scale", scale)? })
    }
}

impl Univariate for Pareto {
    /// ln (x / scale) is exponential. Unlike the power of a uniform number, its tail does not end at 2⁻⁵³.
    fn sample(&self, rng: &mut Stream) -> f64 {
        let unit: f64 = rand_distr::Exp1.sample(rng);
        self.scale * (unit / self.shape).exp()
    }
    fn mean(&self) -> f64 {
        match self.shape {
            shape if shape > 1.0 => shape * self.scale / (shape - 1.0),
            _ => f64::INFINITY,
        }
    }
    fn variance(&self) -> f64 {
        match self.shape {
            shape if shape > 2.0 => shape * (self.scale / (shape - 1.0)).powi(2) / (shape - 2.0),
            _ => f64::INFINITY,
        }
    }
    fn support(&self) -> (f64, f64) {
        (self.scale, f64::INFINITY)
    }
}

/// The Pareto distribution cut off at `max` and scaled up to a probability: density shape · min^shape
/// x^(−shape−1) / (1 − (min/max)^shape) on [min, max]. Its j-th moment is the integral of xʲ times that
/// density, its variance the second moment less the squared mean (Harchol-Balter, Crovella and Murta 1999,
/// section 2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundedPareto {
    shape: f64,
    min: f64,
    max: f64,
    /// 1 − (min/max)^shape: what the unbounded distribution has within the bounds.
    within: f64,
}

impl BoundedPareto {
    /// With `shape` above 0, between `min` above 0 and a finite `max` above `min`.
    pub fn new(shape: f64, min: f64, max: f64) -> Result<BoundedPareto, ParameterError> {
        let check = ParameterCheck("bounded-pareto");
        check.positive("shape", shape)?;
        check.positive("min", min)?;
        check.require("max", max, max.is_finite() && max > min, "write a finite number above `min`")?;
        let within = -(-shape * (max / min).ln()).exp_m1();
        Ok(BoundedPareto { shape, min, max, within })
    }

    /// The j-th moment in units of minʲ.
    fn moment(&self, j: f64) -> f64 {
        self.shape * power::integral(j - self.shape - 1.0, 1.0, self.max / self.min) / self.within
    }
}

impl Univariate for BoundedPareto {
    /// Inverts the distribution function.
    fn sample(&self, rng: &mut Stream) -> f64 {
        let logarithm = (-rng.random::<f64>() * self.within).ln_1p();
        (self.min * (-logarithm / self.shape).exp()).clamp(self.min, self.max)
    }
    fn mean(&self) -> f64 {
        self.min * self.moment(1.0)
    }
    fn variance(&self) -> f64 {
        let first = self.moment(1.0);
        self.min * self.min * (self.moment(2.0) - first * first).max(0.0)
    }
    fn support(&self) -> (f64, f64) {
        (self.min, self.max)
    }
}
