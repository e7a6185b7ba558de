//! A distribution as a scenario writes it.
//!
//! A bare number or quantity is a constant: `think = "300ms"`. Everything else is a table that names its
//! distribution:
//!
//! ```toml
//! think = { distribution = "lognormal", mu = -0.5, sigma = 1.2 }
//! gaps  = { distribution = "exponential", rate = "50/s" }
//! pages = { distribution = "mixture", parts = [
//!     { weight = 9, of = { distribution = "geometric", mean = 4 } },
//!     { weight = 1, of = { distribution = "empirical", file = "robots.txt" } },
//! ] }
//! ```

use super::*;
use crate::alias::WeightError;
use crate::amount::{Amount, AmountError, Dimension};
use crate::file::{FileError, Load};
use crate::renamed::Renamed;
use farfield_base::{Rate, TextOrTable};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A distribution as written: its parameters are good, but a file it names has not been read.
#[derive(Debug, Clone, PartialEq)]
pub struct DistributionSpec {
    written: DistributionKeys,
    meaning: DistributionSource,
    /// Dimension of the values, by the units written.
    dimension: Option<Dimension>,
}

/// Error of an invalid distribution.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// A parameter is out of its distribution's range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A mixture's weights do not do.
    #[error("mixture distribution: {0}")]
    Weight(#[from] WeightError),
    /// Two keys say the same thing, or neither is there.
    #[error("the {distribution} distribution takes either `{one}` or `{other}`, and exactly one of them")]
    OneOf {
        /// The distribution.
        distribution: &'static str,
        /// One of the two keys.
        one: &'static str,
        /// The other of the two keys.
        other: &'static str,
    },
    /// An empirical distribution without values.
    #[error("`values` of the empirical distribution is empty; write at least one number")]
    NoValues,
    /// Some parameters are times, others sizes.
    #[error(
        "some of the {distribution} distribution's parameters are {one} and others {other}; write them in one kind of unit"
    )]
    Mixed {
        /// The distribution.
        distribution: &'static str,
        /// Dimension of the first.
        one: Dimension,
        /// Dimension of a later one.
        other: Dimension,
    },
    /// Sizes where times are wanted.
    #[error("these are sizes where times are wanted; write them like `300ms`, or as a number of seconds")]
    NotTimes,
    /// Times that would be negative, and not only now and then.
    #[error("these times would be negative; write parameters that keep them from 0 up")]
    NegativeTimes,
    /// A truncated distribution of what has no distribution function here.
    #[error(
        "`of` of the truncated distribution is exponential, normal, lognormal, weibull, pareto, inverse-gaussian or gamma, or a \
         mixture of these; write one of them"
    )]
    NotTruncated,
    /// Thresholds between which there is next to nothing.
    #[error(
        "less than a hundredth of the distribution lies between `min` and `max`; write `min` below `max`, and both where its values are"
    )]
    NothingBetween,
    /// Times or sizes where counts are wanted.
    #[error("these are {0} where counts are wanted; write them without a unit")]
    NotCounts(Dimension),
}

/// The keys and values, for writing them back. A `Constant` is written bare.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "distribution", rename_all = "kebab-case", deny_unknown_fields)]
enum DistributionKeys {
    Constant {
        value: Amount,
    },
    Uniform {
        min: Amount,
        max: Amount,
    },
    Exponential {
        #[serde(skip_serializing_if = "Option::is_none")]
        mean: Option<Amount>,
        #[serde(skip_serializing_if = "Option::is_none")]
        rate: Option<Rate>,
    },
    Normal {
        mean: Amount,
        sigma: Amount,
    },
    Lognormal {
        mu: f64,
        sigma: f64,
    },
    Weibull {
        shape: f64,
        scale: Amount,
    },
    Pareto {
        shape: f64,
        scale: Amount,
    },
    BoundedPareto {
        shape: f64,
        min: Amount,
        max: Amount,
    },
    InverseGaussian {
        mean: Amount,
        shape: Amount,
    },
    Gamma {
        shape: f64,
        scale: Amount,
    },
    Geometric {
        #[serde(skip_serializing_if = "Option::is_none")]
        mean: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        p: Option<f64>,
    },
    Zipf {
        n: u64,
        exponent: f64,
    },
    Empirical {
        #[serde(skip_serializing_if = "Option::is_none")]
        file: Option<PathBuf>,
        #[serde(skip_serializing_if = "Option::is_none")]
        values: Option<Vec<Amount>>,
    },
    Mixture {
        parts: Vec<WeightedSpec>,
    },
    Truncated {
        of: Box<DistributionSpec>,
        min: Amount,
        max: Amount,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WeightedSpec {
    weight: f64,
    of: DistributionSpec,
}

#[derive(Debug, Clone, PartialEq)]
enum DistributionSource {
    Ready(Distribution),
    File(PathBuf),
    Mixture(Vec<(f64, DistributionSpec)>),
}

impl DistributionSpec {
    /// Always `amount`.
    pub fn constant(amount: Amount) -> DistributionSpec {
        DistributionSpec {
            written: DistributionKeys::Constant { value: amount },
            meaning: DistributionSource::Ready(Distribution::Constant(Constant::of(amount))),
            dimension: amount.dimension(),
        }
    }

    /// Trials to the first success, with the given mean, from 1.
    pub fn geometric(mean: f64) -> Result<DistributionSpec, SpecError> {
        DistributionSpec::build(DistributionKeys::Geometric { mean: Some(mean), p: None })
    }

    /// The distribution itself, with the files it names read through `load`.
    ///
    /// # Errors
    /// A file that cannot be read or is no list of values.
    pub fn resolve(&self, load: &mut Load<'_>) -> Result<Distribution, FileError> {
        match &self.meaning {
            DistributionSource::Ready(distribution) => Ok(distribution.clone()),
            DistributionSource::File(path) => Empirical::read(path, load).map(Distribution::Empirical),
            DistributionSource::Mixture(parts) => {
                let mut distributions = Vec::with_capacity(parts.len());
                for (weight, part) in parts {
                    distributions.push((*weight, part.resolve(load)?));
                }
                let mixture =
                    Mixture::new(distributions).expect("the weights were good when the spec was read");
                Ok(Distribution::Mixture(mixture))
            }
        }
    }

    /// Dimension of the values, by the units written, if there are any.
    pub fn dimension(&self) -> Option<Dimension> {
        self.dimension
    }

    /// The distribution, if no file stands between: if [`file`](Self::file) has none, then this has some.
    pub(crate) fn ready(&self) -> Option<&Distribution> {
        match &self.meaning {
            DistributionSource::Ready(distribution) => Some(distribution),
            DistributionSource::File(_) | DistributionSource::Mixture(_) => None,
        }
    }

    /// The first file it names.
    pub(crate) fn file(&self) -> Option<&Path> {
        match &self.meaning {
            DistributionSource::Ready(_) => None,
            DistributionSource::File(path) => Some(path),
            DistributionSource::Mixture(parts) => parts.iter().find_map(|(_, part)| part.file()),
        }
    }

    /// The distribution function, where one is known.
    fn model(&self) -> Option<Model> {
        if let DistributionKeys::Mixture { parts } = &self.written {
            let parts: Option<Vec<_>> =
                parts.iter().map(|part| Some((part.weight, part.of.component()?))).collect();
            return Model::mixture(parts?);
        }
        self.component().map(Model::single)
    }

    fn component(&self) -> Option<Component> {
        let (family, theta) = match &self.written {
            DistributionKeys::Exponential { .. } => (Family::Exponential, [self.ready()?.mean(), 0.0]),
            DistributionKeys::Normal { mean, sigma } => (Family::Normal, [mean.value(), sigma.value()]),
            DistributionKeys::Lognormal { mu, sigma } => (Family::Lognormal, [*mu, *sigma]),
            DistributionKeys::Weibull { shape, scale } => (Family::Weibull, [*shape, scale.value()]),
            DistributionKeys::Pareto { shape, scale } => (Family::Pareto, [*shape, scale.value()]),
            DistributionKeys::InverseGaussian { mean, shape } => {
                (Family::InverseGaussian, [mean.value(), shape.value()])
            }
            DistributionKeys::Gamma { shape, scale } => (Family::Gamma, [*shape, scale.value()]),
            _ => return None,
        };
        Component::new(family, theta).ok()
    }

    fn build(written: DistributionKeys) -> Result<DistributionSpec, SpecError> {
        let dimension = written.dimension()?;
        let meaning = written.meaning()?;
        Ok(DistributionSpec { written, meaning, dimension })
    }
}

impl FromStr for DistributionSpec {
    type Err = AmountError;

    /// Reads a bare number or quantity: a constant.
    fn from_str(text: &str) -> Result<DistributionSpec, AmountError> {
        text.parse().map(DistributionSpec::constant)
    }
}

impl From<Duration> for DistributionSpec {
    /// Always `time`.
    fn from(time: Duration) -> DistributionSpec {
        DistributionSpec::constant(Amount::Time(time))
    }
}

impl DistributionKeys {
    fn meaning(&self) -> Result<DistributionSource, SpecError> {
        let distribution = match self {
            DistributionKeys::Constant { value } => Distribution::Constant(Constant::of(*value)),
            DistributionKeys::Uniform { min, max } => {
                Distribution::Uniform(Uniform::new(min.value(), max.value())?)
            }
            DistributionKeys::Exponential { mean, rate } => Distribution::Exponential(match (mean, rate) {
                (Some(mean), None) => Exponential::with_mean(mean.value())?,
                (None, Some(rate)) => Exponential::with_rate(rate.as_per_second())?,
                _ => {
                    return Err(SpecError::OneOf { distribution: "exponential", one: "mean", other: "rate" });
                }
            }),
            DistributionKeys::Normal { mean, sigma } => {
                Distribution::Normal(Normal::new(mean.value(), sigma.value())?)
            }
            DistributionKeys::Lognormal { mu, sigma } => {
                Distribution::Lognormal(Lognormal::new(*mu, *sigma)?)
            }
            DistributionKeys::Weibull { shape, scale } => {
                Distribution::Weibull(Weibull::new(*shape, scale.value())?)
            }
            DistributionKeys::Pareto { shape, scale } => {
                Distribution::Pareto(Pareto::new(*shape, scale.value())?)
            }
            DistributionKeys::BoundedPareto { shape, min, max } => {
                Distribution::BoundedPareto(BoundedPareto::new(*shape, min.value(), max.value())?)
            }
            DistributionKeys::InverseGaussian { mean, shape } => {
                Distribution::InverseGaussian(InverseGaussian::new(mean.value(), shape.value())?)
            }
            DistributionKeys::Gamma { shape, scale } => {
                Distribution::Gamma(Gamma::new(*shape, scale.value())?)
            }
            DistributionKeys::Geometric { mean, p } => Distribution::Geometric(match (mean, p) {
                (Some(mean), None) => Geometric::with_mean(*mean)?,
                (None, Some(p)) => Geometric::with_p(*p)?,
                _ => return Err(SpecError::OneOf { distribution: "geometric", one: "mean", other: "p" }),
            }),
            DistributionKeys::Zipf { n, exponent } => Distribution::Zipf(Zipf::new(*n, *exponent)?),
            DistributionKeys::Empirical { file, values } => match (file, values) {
                (Some(path), None) => return Ok(DistributionSource::File(path.clone())),
                (None, Some(values)) => {
                    let values = values.iter().map(|v| v.value()).collect();
                    Distribution::Empirical(Empirical::new(values).ok_or(SpecError::NoValues)?)
                }
                _ => {
                    return Err(SpecError::OneOf { distribution: "empirical", one: "file", other: "values" });
                }
            },
            DistributionKeys::Mixture { parts } => return mixture(parts),
            DistributionKeys::Truncated { of, min, max } => {
                let model = of.model().ok_or(SpecError::NotTruncated)?;
                let (least, most) = (min.value(), max.value());
                Distribution::Truncated(Truncated::new(&model, least, most).ok_or(SpecError::NothingBetween)?)
            }
        };
        Ok(DistributionSource::Ready(distribution))
    }

    /// Dimension by the units; an error if they disagree.
    fn dimension(&self) -> Result<Option<Dimension>, SpecError> {
        let mut found = None;
        let mut meet = |dimension: Option<Dimension>| match (found, dimension) {
            (Some(one), Some(other)) if one != other => {
                Err(SpecError::Mixed { distribution: self.name(), one, other })
            }
            _ => {
                found = found.or(dimension);
                Ok(())
            }
        };
        match self {
            DistributionKeys::Constant { value: amount }
            | DistributionKeys::Weibull { scale: amount, .. }
            | DistributionKeys::Pareto { scale: amount, .. }
            | DistributionKeys::Gamma { scale: amount, .. } => meet(amount.dimension())?,
            DistributionKeys::Uniform { min: one, max: other }
            | DistributionKeys::BoundedPareto { min: one, max: other, .. }
            | DistributionKeys::Normal { mean: one, sigma: other }
            | DistributionKeys::InverseGaussian { mean: one, shape: other } => {
                meet(one.dimension())?;
                meet(other.dimension())?;
            }
            DistributionKeys::Exponential { mean, rate } => {
                meet(mean.and_then(Amount::dimension))?;
                meet(rate.map(|_| Dimension::Time))?;
            }
            DistributionKeys::Empirical { values, .. } => {
                values.iter().flatten().try_for_each(|amount| meet(amount.dimension()))?;
            }
            DistributionKeys::Mixture { parts } => {
                parts.iter().try_for_each(|part| meet(part.of.dimension))?
            }
            DistributionKeys::Truncated { of, min, max } => {
                meet(of.dimension)?;
                meet(min.dimension())?;
                meet(max.dimension())?;
            }
            DistributionKeys::Lognormal { .. }
            | DistributionKeys::Geometric { .. }
            | DistributionKeys::Zipf { .. } => {}
        }
        Ok(found)
    }

    fn name(&self) -> &'static str {
        match self {
            DistributionKeys::Constant { .. } => "constant",
            DistributionKeys::Uniform { .. } => "uniform",
            DistributionKeys::Exponential { .. } => "exponential",
            DistributionKeys::Normal { .. } => "normal",
            DistributionKeys::Lognormal { .. } => "lognormal",
            DistributionKeys::Weibull { .. } => "weibull",
            DistributionKeys::Pareto { .. } => "pareto",
            DistributionKeys::BoundedPareto { .. } => "bounded-pareto",
            DistributionKeys::InverseGaussian { .. } => "inverse-gaussian",
            DistributionKeys::Gamma { .. } => "gamma",
            DistributionKeys::Geometric { .. } => "geometric",
            DistributionKeys::Zipf { .. } => "zipf",
            DistributionKeys::Empirical { .. } => "empirical",
            DistributionKeys::Mixture { .. } => "mixture",
            DistributionKeys::Truncated { .. } => "truncated",
        }
    }
}

fn mixture(parts: &[WeightedSpec]) -> Result<DistributionSource, SpecError> {
    // Weights are checked now, whatever the distributions are, so that only a file can fail later.
    let weights: Vec<f64> = parts.iter().map(|part| part.weight).collect();
    crate::alias::AliasTable::new(&weights)?;
    let ready: Option<Vec<_>> =
        parts.iter().map(|part| Some((part.weight, part.of.ready()?.clone()))).collect();
    Ok(match ready {
        Some(distributions) => DistributionSource::Ready(Distribution::Mixture(Mixture::new(distributions)?)),
        None => {
            DistributionSource::Mixture(parts.iter().map(|part| (part.weight, part.of.clone())).collect())
        }
    })
}

impl Serialize for DistributionSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.written {
            DistributionKeys::Constant { value } => value.serialize(serializer),
            table => table.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for DistributionSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<DistributionSpec, D::Error> {
        TextOrTable {
            expected: "a number, a quantity such as \"300ms\", or a table such as { distribution = \"exponential\", mean = \"1s\" }",
            text: |text| text.parse().map_err(|error: <DistributionSpec as FromStr>::Err| error.to_string()),
            number: Some(|number| {
                let amount = Amount::number(number).map_err(|error| error.to_string())?;
                Ok(DistributionSpec::constant(amount))
            }),
            table: |Renamed(written): Renamed<DistributionKeys>| DistributionSpec::build(written).map_err(|error| error.to_string()),
        }
        .read(deserializer)
    }
}
