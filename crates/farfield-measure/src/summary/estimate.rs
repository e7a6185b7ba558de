//! A time in a summary as it is estimated where some of its values are censored.

use super::timing::QUANTILES;
use crate::fold::PhaseStats;
use crate::kaplan_meier::Estimate;
use crate::quantile::Quantile;
use crate::timing::Timings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A number of an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EstimatedTime {
    /// The time.
    pub value_ns: u64,
    /// True if the number is only known to be more than that.
    pub is_lower_bound: bool,
}

/// A percentile of an estimate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EstimatedQuantile {
    /// Name, such as "p99.9".
    pub name: String,
    /// Value of the percentile.
    #[serde(flatten)]
    pub time: EstimatedTime,
}

/// The product-limit estimate of one of the five times (Kaplan and Meier 1958), from the times of successful
/// requests and the ages of those that were given up (timed out) or still open at the end of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EstimateSummary {
    /// Requests of which only an age is known.
    pub censored: u64,
    /// The mean; a lower bound is the mean restricted to the largest age.
    pub mean: EstimatedTime,
    /// The percentiles that every timing has.
    pub quantiles: Vec<EstimatedQuantile>,
}

impl EstimateSummary {
    /// Estimates of all times of `part`.
    pub(super) fn of_all(part: &PhaseStats, pause: &dyn Fn()) -> Timings<Option<EstimateSummary>> {
        part.censored.map_timed(|timing, ages| {
            pause();
            let estimate = part.estimate(timing)?;
            Some(EstimateSummary::of(&estimate, ages.count()))
        })
    }

    fn of(estimate: &Estimate, censored: u64) -> EstimateSummary {
        let time = |bound: crate::kaplan_meier::Bound| EstimatedTime {
            value_ns: bound.time().as_ns(),
            is_lower_bound: bound.is_beyond(),
        };
        let quantile = |quantile: Quantile| EstimatedQuantile {
            name: quantile.to_string(),
            time: time(estimate.quantile(quantile)),
        };
        let quantiles = QUANTILES.into_iter().map(quantile).collect();
        EstimateSummary { censored, mean: time(estimate.mean()), quantiles }
    }

    /// A percentile that the summary holds.
    pub fn quantile(&self, quantile: Quantile) -> Option<EstimatedTime> {
        let name = quantile.to_string();
        self.quantiles.iter().find(|held| held.name == name).map(|held| held.time)
    }
}
