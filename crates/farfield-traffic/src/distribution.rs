//! Distributions of think times, gaps and counts, as values.
//!
//! A [`DistributionSpec`] is the form of a scenario; [resolved](DistributionSpec::resolve), it is a
//! [`Distribution`], which draws. A [`Model`] is a parametric distribution or mixture as functions: density,
//! distribution function and tail. Every distribution documents its density, parameters, mean, variance and
//! support, and is tested against them. A draw allocates nothing; random numbers come from the stream passed
//! in.
//!
//! Times are in seconds and sizes in bytes: a distribution has numbers only.

mod continuous;
mod discrete;
mod empirical;
mod family;
mod mixture;
mod model;
mod power;
mod quadrature;
mod spec;
pub mod special;
mod tails;
mod truncated;
mod wanted;

pub use continuous::{Constant, Exponential, Gamma, InverseGaussian, Lognormal, Normal, Uniform, Weibull};
pub use discrete::{Geometric, Zipf};
pub use empirical::Empirical;
pub use family::{Component, Family};
pub use mixture::Mixture;
pub use model::{Model, probability};
pub use quadrature::{GAUSS_2, GAUSS_4, integrated};
pub use spec::{DistributionSpec, SpecError};
pub use tails::{BoundedPareto, Pareto};
pub use truncated::Truncated;
pub use wanted::{CountsSpec, TimesSpec};

use crate::amount::Amount;
use farfield_base::random::Stream;
use farfield_base::{Bytes, Duration};

/// A distribution of one variable: draws, moments, support.
pub trait Univariate {
    /// Draws one value, within [`support`](Univariate::support).
    fn sample(&self, rng: &mut Stream) -> f64;
    /// The mean; infinite where it is.
    fn mean(&self) -> f64;
    /// The variance; infinite where it, or the mean, is.
    fn variance(&self) -> f64;
    /// The least and the largest value, infinite where there is none.
    fn support(&self) -> (f64, f64);
}

/// A parameter that its distribution does not allow.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("`{parameter}` of the {distribution} distribution is {given}; {expected}")]
#[non_exhaustive]
pub struct ParameterError {
    /// The distribution.
    pub distribution: &'static str,
    /// The parameter, as a scenario spells it.
    pub parameter: &'static str,
    /// The value given.
    pub given: f64,
    /// Values that are valid.
    pub expected: &'static str,
}

/// A distribution with its parameters, ready to draw. Cheap to clone.
#[derive(Debug, Clone, PartialEq)]
pub enum Distribution {
    /// A single value.
    Constant(Constant),
    /// Uniform between two bounds.
    Uniform(Uniform),
    /// Exponential, memoryless.
    Exponential(Exponential),
    /// The bell curve.
    Normal(Normal),
    /// The exponential of a normal.
    Lognormal(Lognormal),
    /// The stretched exponential.
    Weibull(Weibull),
    /// A power law above a scale.
    Pareto(Pareto),
    /// A power law between two bounds.
    BoundedPareto(BoundedPareto),
    /// First passage of a drifting random walk.
    InverseGaussian(InverseGaussian),
    /// Sums of exponentials, and between.
    Gamma(Gamma),
    /// Trials to the first success.
    Geometric(Geometric),
    /// Ranks by popularity.
    Zipf(Zipf),
    /// Measured values.
    Empirical(Empirical),
    /// Several distributions, each with its probability.
    Mixture(Mixture),
    /// Another distribution between two thresholds.
    Truncated(Truncated),
}

impl Distribution {
    /// Draws one value.
    pub fn sample(&self, rng: &mut Stream) -> f64 {
        self.univariate().sample(rng)
    }

    /// Draws a time: seconds, rounded to the nanosecond, negative ones clipped to zero.
    pub fn sample_duration(&self, rng: &mut Stream) -> Duration {
        Duration::from_secs_f64(self.sample(rng))
    }

    /// Draws a count: rounded, at least 1.
    pub fn sample_count(&self, rng: &mut Stream) -> u64 {
        (self.sample(rng).round() as u64).max(1) // `as` saturates, and takes NaN to zero
    }

    /// The mean; infinite where it is. Of the values as drawn, before any clipping.
    pub fn mean(&self) -> f64 {
        self.univariate().mean()
    }

    /// The variance; infinite where it, or the mean, is.
    pub fn variance(&self) -> f64 {
        self.univariate().variance()
    }

    /// The least value, or minus infinity.
    pub fn minimum(&self) -> f64 {
        self.univariate().support().0
    }

    /// The largest value, or infinity.
    pub fn maximum(&self) -> f64 {
        self.univariate().support().1
    }

    fn univariate(&self) -> &dyn Univariate {
        match self {
            Distribution::Constant(distribution) => distribution,
            Distribution::Uniform(distribution) => distribution,
            Distribution::Exponential(distribution) => distribution,
            Distribution::Normal(distribution) => distribution,
            Distribution::Lognormal(distribution) => distribution,
            Distribution::Weibull(distribution) => distribution,
            Distribution::Pareto(distribution) => distribution,
            Distribution::BoundedPareto(distribution) => distribution,
            Distribution::InverseGaussian(distribution) => distribution,
            Distribution::Gamma(distribution) => distribution,
            Distribution::Geometric(distribution) => distribution,
            Distribution::Zipf(distribution) => distribution,
            Distribution::Empirical(distribution) => distribution,
            Distribution::Mixture(distribution) => distribution,
            Distribution::Truncated(distribution) => distribution,
        }
    }
}

impl From<Duration> for Distribution {
    /// Always `time`.
    fn from(time: Duration) -> Distribution {
        Distribution::Constant(Constant::of(Amount::Time(time)))
    }
}

impl From<Bytes> for Distribution {
    /// Always `size`.
    fn from(size: Bytes) -> Distribution {
        Distribution::Constant(Constant::of(Amount::Size(size)))
    }
}

/// Refusals that several distributions share. Each names the distribution and the parameter.
struct ParameterCheck(&'static str);

impl ParameterCheck {
    fn require(
        &self,
        parameter: &'static str,
        given: f64,
        holds: bool,
        expected: &'static str,
    ) -> Result<f64, ParameterError> {
        if holds {
            Ok(given)
        } else {
            Err(ParameterError { distribution: self.0, parameter, given, expected })
        }
    }

    fn finite(&self, parameter: &'static str, given: f64) -> Result<f64, ParameterError> {
        self.require(parameter, given, given.is_finite(), "write a finite number")
    }

    fn positive(&self, parameter: &'static str, given: f64) -> Result<f64, ParameterError> {
        self.require(parameter, given, given.is_finite() && given > 0.0, "write a number above 0")
    }
}
