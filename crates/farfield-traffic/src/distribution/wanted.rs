//! Distributions of what is wanted where they stand: times here, counts there.

use super::{Distribution, DistributionSpec, SpecError};
use crate::amount::Dimension;
use farfield_base::Duration;
use serde::{Deserialize, Serialize};
use std::ops::Deref;

/// A distribution of times as written, in seconds where no unit stands: of no sizes, and with values from
/// zero up, but for the tail of a distribution that reaches below (a draw from there is clipped to zero).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "DistributionSpec")]
pub struct TimesSpec(DistributionSpec);

/// A distribution of counts as written: of no times and no sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "DistributionSpec")]
pub struct CountsSpec(DistributionSpec);

impl TryFrom<DistributionSpec> for TimesSpec {
    type Error = SpecError;

    fn try_from(spec: DistributionSpec) -> Result<TimesSpec, SpecError> {
        match (spec.dimension(), spec.ready()) {
            (Some(Dimension::Size), _) => Err(SpecError::NotTimes),
            (_, Some(distribution)) if mostly_negative(distribution) => Err(SpecError::NegativeTimes),
            _ => Ok(TimesSpec(spec)),
        }
    }
}

impl TryFrom<DistributionSpec> for CountsSpec {
    type Error = SpecError;

    fn try_from(spec: DistributionSpec) -> Result<CountsSpec, SpecError> {
        match spec.dimension() {
            Some(dimension) => Err(SpecError::NotCounts(dimension)),
            None => Ok(CountsSpec(spec)),
        }
    }
}

impl From<Duration> for TimesSpec {
    /// Always `time`.
    fn from(time: Duration) -> TimesSpec {
        TimesSpec(time.into())
    }
}

impl Deref for TimesSpec {
    type Target = DistributionSpec;

    fn deref(&self) -> &DistributionSpec {
        &self.0
    }
}

impl Deref for CountsSpec {
    type Target = DistributionSpec;

    fn deref(&self) -> &DistributionSpec {
        &self.0
    }
}

/// True below zero in the mean, or with a bound there that only parameters or values can have set.
fn mostly_negative(distribution: &Distribution) -> bool {
    distribution.mean() < 0.0 || (distribution.minimum().is_finite() && distribution.minimum() < 0.0)
}
