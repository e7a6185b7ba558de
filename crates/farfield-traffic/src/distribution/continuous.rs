//! The continuous distributions with light or middling tails. Samplers are those of rand_distr where they
//! hold up over the whole range of parameters; forms and moments as in Johnson, Kotz and Balakrishnan,
//! "Continuous Univariate Distributions", volumes 1 and 2.

use super::{ParameterCheck, ParameterError, Univariate};
use crate::amount::Amount;
use farfield_base::random::Stream;
use rand::RngExt;
use rand_distr::{Distribution as _, StandardNormal};

/// Always `value`. Mean `value`, variance 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constant {
    value: f64,
}

impl Constant {
    /// Always `amount`, in its plain unit.
    pub fn of(amount: Amount) -> Constant {
        Constant { value: amount.value() }
    }
}

impl Univariate for Constant {
    fn sample(&self, _: &mut Stream) -> f64 {
        self.value
    }
    fn mean(&self) -> f64 {
        self.value
    }
    fn variance(&self) -> f64 {
        0.0
    }
    fn support(&self) -> (f64, f64) {
        (self.value, self.value)
    }
}

/// Density 1 / (max − min) on [min, max]. Mean (min + max) / 2, variance (max − min)² / 12.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Uniform {
    min: f64,
    width: f64,
}

impl Uniform {
    /// Between `min` and `max`, both finite, `min` below `max`.
    pub fn new(min: f64, max: f64) -> Result<Uniform, ParameterError> {
        let check = ParameterCheck("uniform");
        check.finite("min", min)?;
        let holds = max > min && (max - min).is_finite();
        check.require("max", max, holds, "write a number above `min`")?;
        Ok(Uniform { min, width: max - min })
    }
}

impl Univariate for Uniform {
    fn sample(&self, rng: &mut Stream) -> f64 {
        self.min + self.width * rng.random::<f64>()
    }
    fn mean(&self) -> f64 {
        self.min + self.width / 2.0
    }
    fn variance(&self) -> f64 {
        self.width * self.width / 12.0
    }
    fn support(&self) -> (f64, f64) {
        (self.min, self.min + self.width)
    }
}

/// Density e^(−x/mean) / mean on x ≥ 0; the rate is 1 / mean. Mean `mean`, variance mean².
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exponential {
    mean: f64,
}

impl Exponential {
    /// With the given mean, above 0.
    pub fn with_mean(mean: f64) -> Result<Exponential, ParameterError> {
        Ok(Exponential { mean: ParameterCheck("exponential").positive("mean", mean)? })
    }

    /// With the given rate, above 0, in events a unit.
    pub fn with_rate(rate: f64) -> Result<Exponential, ParameterError> {
        let check = ParameterCheck("exponential");
        check.require("rate", rate, rate > 0.0 && (1.0 / rate).is_finite(), "write a rate above 0")?;
        Ok(Exponential { mean: 1.0 / rate })
    }
}

impl Univariate for Exponential {
    fn sample(&self, rng: &mut Stream) -> f64 {
        let unit: f64 = rand_distr::Exp1.sample(rng);
        self.mean * unit
    }
    fn mean(&self) -> f64 {
        self.mean
    }
    fn variance(&self) -> f64 {
        self.mean * self.mean
    }
    fn support(&self) -> (f64, f64) {
        (0.0, f64::INFINITY)
    }
}

/// Density e^(−(x−mean)²/2σ²) / (σ√2π) on all numbers. Mean `mean`, variance σ².
///
/// As a time it is clipped at zero, which moves its mean up: keep the mean at several σ, or use another
/// distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Normal {
    mean: f64,
    sigma: f64,
}

impl Normal {
    /// With the given mean, finite, and standard deviation `sigma`, above 0.
    pub fn new(mean: f64, sigma: f64) -> Result<Normal, ParameterError> {
        let check = ParameterCheck("normal");
        Ok(Normal { mean: check.finite("mean", mean)?, sigma: check.positive("sigma", sigma)? })
    }
}

impl Univariate for Normal {
    fn sample(&self, rng: &mut Stream) -> f64 {
        self.mean + self.sigma * standard_normal(rng)
    }
    fn mean(&self) -> f64 {
        self.mean
    }
    fn variance(&self) -> f64 {
        self.sigma * self.sigma
    }
    fn support(&self) -> (f64, f64) {
        (f64::NEG_INFINITY, f64::INFINITY)
    }
}

/// The exponential of a normal: density e^(−(ln x−μ)²/2σ²) / (xσ√2π) on x > 0, where μ and σ are the mean and
/// standard deviation of ln x. Mean e^(μ+σ²/2), variance (e^σ² − 1) e^(2μ+σ²).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lognormal {
    mu: f64,
    sigma: f64,
}

impl Lognormal {
    /// With ln x of mean `mu`, finite, and standard deviation `sigma`, above 0.
    pub fn new(mu: f64, sigma: f64) -> Result<Lognormal, ParameterError> {
        let check = ParameterCheck("lognormal");
        Ok(Lognormal { mu: check.finite("mu", mu)?, sigma: check.positive("sigma", sigma)? })
    }
}

impl Univariate for Lognormal {
    fn sample(&self, rng: &mut Stream) -> f64 {
        (self.mu + self.sigma * standard_normal(rng)).exp()
    }
    fn mean(&self) -> f64 {
        (self.mu + self.sigma * self.sigma / 2.0).exp()
    }
    fn variance(&self) -> f64 {
        let squared = self.sigma * self.sigma;
        squared.exp_m1() * (2.0 * self.mu + squared).exp()
    }
    fn support(&self) -> (f64, f64) {
        (0.0, f64::INFINITY)
    }
}

/// Distribution function 1 − e^(−(x/scale)^shape) on x ≥ 0; shape 1 is the exponential, below 1 the tail is
/// heavier. Mean scale Γ(1 + 1/shape), variance scale² (Γ(1 + 2/shape) − Γ(1 + 1/shape)²).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weibull {
    shape: f64,
    scale: f64,
}

impl Weibull {
    /// With `shape` and `scale`, both above 0.
    pub fn new(shape: f64, scale: f64) -> Result<Weibull, ParameterError> {
        let check = ParameterCheck("weibull");
        Ok(Weibull { shape: check.positive("shape", shape)?, scale: check.positive("scale", scale)? })
    }
}

impl Univariate for Weibull {
    /// (x / scale)^shape is exponential.
    fn sample(&self, rng: &mut Stream) -> f64 {
        let unit: f64 = rand_distr::Exp1.sample(rng);
        self.scale * unit.powf(1.0 / self.shape)
    }
    fn mean(&self) -> f64 {
        self.scale * libm::tgamma(1.0 + 1.0 / self.shape)
    }
    fn variance(&self) -> f64 {
        let first = libm::tgamma(1.0 + 1.0 / self.shape);
        let second = libm::tgamma(1.0 + 2.0 / self.shape);
        if second.is_finite() {
            self.scale * self.scale * (second - first * first).max(0.0)
        } else {
            f64::INFINITY
        }
    }
    fn support(&self) -> (f64, f64) {
        (0.0, f64::INFINITY)
    }
}

/// Density √(shape / 2πx³) e^(−shape (x−mean)² / 2 mean² x) on x > 0 (also called Wald). Mean `mean`,
/// variance mean³ / shape. Hosts' response sizes and pages a session follow it (Huberman et al. 1998).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InverseGaussian {
    mean: f64,
    shape: f64,
}

impl InverseGaussian {
    /// With `mean` and `shape` (λ), both above 0.
    pub fn new(mean: f64, shape: f64) -> Result<InverseGaussian, ParameterError> {
        let check = ParameterCheck("inverse-gaussian");
        Ok(InverseGaussian { mean: check.positive("mean", mean)?, shape: check.positive("shape", shape)? })
    }
}

impl Univariate for InverseGaussian {
    /// The method of Michael, Schucany and Haas (1976). Their smaller root is written without a difference:
    /// where mean / shape is large, the difference cancels to zero, and a draw would be infinite.
    fn sample(&self, rng: &mut Stream) -> f64 {
        let normal = standard_normal(rng);
        let w = self.mean / self.shape * normal * normal / 2.0;
        let smaller = self.mean / (1.0 + w + (w * (2.0 + w)).sqrt());
        if rng.random::<f64>() * (self.mean + smaller) <= self.mean {
            smaller
        } else {
            self.mean * (self.mean / smaller)
        }
    }
    fn mean(&self) -> f64 {
        self.mean
    }
    fn variance(&self) -> f64 {
        self.mean * self.mean * (self.mean / self.shape)
    }
    fn support(&self) -> (f64, f64) {
        (0.0, f64::INFINITY)
    }
}

/// Density x^(shape−1) e^(−x/scale) / (Γ(shape) scale^shape) on x ≥ 0; for a whole shape, the sum of so many
/// exponentials (Erlang). Mean shape · scale, variance shape · scale².
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gamma {
    shape: f64,
    scale: f64,
    unit: rand_distr::Gamma<f64>,
}

impl Gamma {
    /// With `shape` and `scale`, both above 0.
    pub fn new(shape: f64, scale: f64) -> Result<Gamma, ParameterError> {
        let check = ParameterCheck("gamma");
        let scale = check.positive("scale", scale)?;
        let unit =
            rand_distr::Gamma::new(check.positive("shape", shape)?, 1.0).map_err(|_| ParameterError {
                distribution: "gamma",
                parameter: "shape",
                given: shape,
                expected: "write a number above 0",
            })?;
        Ok(Gamma { shape, scale, unit })
    }
}

impl Univariate for Gamma {
    fn sample(&self, rng: &mut Stream) -> f64 {
        self.scale * self.unit.sample(rng)
    }
    fn mean(&self) -> f64 {
        self.shape * self.scale
    }
    fn variance(&self) -> f64 {
        self.shape * self.scale * self.scale
    }
    fn support(&self) -> (f64, f64) {
        (0.0, f64::INFINITY)
    }
}

fn standard_normal(rng: &mut Stream) -> f64 {
    StandardNormal.sample(rng)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed};

    /// λ far below μ: the textbook's difference of roots cancels to 0 here and gives infinite draws.
    #[test]
    fn an_extreme_inverse_gaussian_stays_finite_and_positive() {
        let distribution = InverseGaussian::new(1e9, 1e-9).expect("good parameters");
        let mut rng = Seed(1).stream(Purpose::User, 0);
        for _ in 0..100_000 {
            let drawn = distribution.sample(&mut rng);
            assert!(drawn.is_finite() && drawn > 0.0, "{drawn}");
        }
    }
}
