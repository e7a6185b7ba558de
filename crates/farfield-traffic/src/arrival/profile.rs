//! Rates that follow the clock or an event: a day's profile, again and again, and a flash crowd. Both are
//! curves, so that their expected counts and their arrivals are exact.

use super::curve::{Curve, Shape};
use super::spec::{above_zero, bounded};
use super::{ArrivalError, ArrivalProcess, Spacing};
use crate::distribution::TimesSpec;
use farfield_base::{Duration, Rate};
use serde::{Deserialize, Serialize};

/// The keys of `process = "diurnal"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DiurnalSpec {
    /// The mean over a day.
    rate: Rate,
    /// Rates in any unit at equal distances, the first at the day's begin: 24 of them are hours.
    profile: Vec<f64>,
    /// Length of a day: shorter than 24 h to run through one in less.
    #[serde(default = "a_day")]
    day: Duration,
    #[serde(default)]
    spacing: Spacing,
    /// Gaps between arrivals where the rate is its mean, of any length: scaled to the rate's own gaps.
    /// With these arrivals are a renewal process in operational time, and `spacing` has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gaps: Option<TimesSpec>,
}

fn a_day() -> Duration {
    Duration::from_secs(24 * 3600)
}

impl DiurnalSpec {
    /// Between points the rate goes linearly, from the last back to the first.
    pub(super) fn process(&self) -> Result<ArrivalProcess, ArrivalError> {
        let rate = above_zero(self.rate)?.as_per_second();
        let points = &self.profile;
        let (n, total) = (points.len() as u64, points.iter().sum::<f64>());
        if points.len() < 2 || points.iter().any(|point| *point < 0.0) || !(total > 0.0 && total.is_finite())
        {
            return Err(ArrivalError::Profile);
        }
        if self.day.as_ns() < n {
            return Err(ArrivalError::NoDay);
        }
        let point = |i: usize| -> Result<f64, ArrivalError> {
            bounded(Rate::per_second(points[i % points.len()] / total * n as f64 * rate)?)
        };
        // Differences of rounded instants, so that the hours add up to the day.
        let begins = |i: u64| (u128::from(self.day.as_ns()) * u128::from(i) / u128::from(n)) as u64;
        let ramp = |i: u64| {
            let length = Duration::from_ns(begins(i + 1) - begins(i));
            let (from, to) = (point(i as usize)?, point(i as usize + 1)?);
            Ok((length, Shape::Ramp { from, to, length_s: length.as_secs_f64() }))
        };
        let ramps = (0..n).map(ramp).collect::<Result<Vec<_>, ArrivalError>>()?;
        let curve = Curve::schedule(&ramps, true).ok_or(ArrivalError::Profile)?;
        let Some(gaps) = &self.gaps else { return Ok(ArrivalProcess::along(curve, self.spacing)) };
        let gaps = gaps.ready().ok_or(ArrivalError::CourseGaps)?;
        if !(gaps.mean().is_finite() && gaps.mean() > 1e-9) {
            return Err(ArrivalError::CourseGaps);
        }
        Ok(ArrivalProcess::renewal_along(curve, gaps.clone()))
    }
}

/// The keys of `process = "flash-crowd"`: from a usual rate to a peak, on which it stays, and back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FlashCrowdSpec {
    from: Rate,
    to: Rate,
    /// Start of the rise.
    at: Duration,
    /// Duration of the rise; a step by default.
    within: Duration,
    stay: Duration,
    /// Duration of the decay to the usual rate, where it stays.
    decay: Duration,
    #[serde(default)]
    spacing: Spacing,
}

impl FlashCrowdSpec {
    /// Three phases, each linear: ramp-up, sustained, ramp-down (Ari, Hong, Miller, Brandt and Long 2003,
    /// "Managing flash crowds on the Internet", section 3).
    pub(super) fn process(&self) -> Result<ArrivalProcess, ArrivalError> {
        let (from, to) = (bounded(self.from)?, bounded(above_zero(self.to)?)?);
        if to <= from {
            return Err(ArrivalError::NoCrowd { from: self.from, to: self.to });
        }
        let ramp =
            |from, to, length: Duration| (length, Shape::Ramp { from, to, length_s: length.as_secs_f64() });
        let phases = [
            (self.at, Shape::Hold { rate: from }),
            ramp(from, to, self.within),
            (self.stay, Shape::Hold { rate: to }),
            ramp(to, from, self.decay),
            (Duration::MAX, Shape::Hold { rate: from }),
        ];
        let phases: Vec<_> = phases.into_iter().filter(|(length, _)| !length.is_zero()).collect();
        let curve = Curve::schedule(&phases, false).ok_or(ArrivalError::NoRate)?;
        Ok(ArrivalProcess::along(curve, self.spacing))
    }
}
