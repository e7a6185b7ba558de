//! A histogram of times in a summary: moments and percentiles with their intervals.

use crate::batches::interval::{NoInterval, NoIntervalReason, TimeIntervals};
use crate::histogram::Histogram;
use crate::quantile::Quantile;
use farfield_base::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The percentiles that every timing has, first to last.
pub(crate) const QUANTILES: [Quantile; 6] =
    [Quantile::P50, Quantile::P90, Quantile::P95, Quantile::P99, Quantile::P99_9, Quantile::P99_99];

/// A percentile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuantileSummary {
    /// Name, such as "p99.9".
    pub name: String,
    /// Value of the percentile, above the true one by less than 0.1 %.
    pub value_ns: u64,
    /// The 95 % confidence interval, which allows for correlated requests; null if there is none.
    pub interval_ns: Option<[u64; 2]>,
    /// Why there is no interval; null if there is one, and in a summary by an older farfield, whose
    /// intervals took requests for independent.
    #[serde(default)]
    pub no_interval: Option<NoInterval>,
}

/// Statistics of one of the five times, or of one of the generator's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimingSummary {
    /// Number of values.
    pub count: u64,
    /// Number of values above 24 hours, which count as 24 hours.
    pub clamped: u64,
    /// The mean.
    pub mean_ns: u64,
    /// The 95 % confidence interval of the mean; null if there is none.
    #[serde(default)]
    pub mean_interval_ns: Option<[u64; 2]>,
    /// Why the mean has no interval; null if it has one, and in a summary by an older farfield.
    #[serde(default)]
    pub no_mean_interval: Option<NoInterval>,
    /// The sample standard deviation; null for one value.
    pub sd_ns: Option<u64>,
    /// The shortest.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The percentiles p50, p90, p95, p99, p99.9 and p99.99, by nearest rank.
    pub quantiles: Vec<QuantileSummary>,
}

impl TimingSummary {
    /// Without intervals; `None` for a histogram that holds nothing.
    pub fn of(times: &Histogram) -> Option<TimingSummary> {
        let none = NoInterval::because(NoIntervalReason::NotKept);
        TimingSummary::with_intervals(times, Err(none), &|| {})
    }

    /// With the intervals of the same times, or the reason why there are none. `pause` is called between
    /// pieces of work.
    pub fn with_intervals(
        times: &Histogram,
        intervals: Result<TimeIntervals<'_>, NoInterval>,
        pause: &dyn Fn(),
    ) -> Option<TimingSummary> {
        let intervals = intervals.as_ref().map_err(|none| *none);
        let ranks = QUANTILES.map(|quantile| {
            pause();
            intervals.and_then(|intervals| intervals.ranks(quantile))
        });
        let mean_factors = intervals.and_then(TimeIntervals::mean_factors);
        // One way through the bins does for all percentiles and their intervals.
        let count = times.count();
        let wanted: [[u64; 3]; 6] = std::array::from_fn(|at| {
            let [low, high] = ranks[at].unwrap_or([0, 0]);
            [QUANTILES[at].rank(count).unwrap_or(0), low, high]
        });
        let found = times.at_ranks(wanted.as_flattened());
        let quantiles =
            QUANTILES.iter().zip(found.chunks(3)).zip(&ranks).filter_map(|((quantile, found), ranks)| {
                let interval =
                    found[1].zip(found[2]).map(|(low, high)| [times.lower_end(low).as_ns(), high.as_ns()]);
                Some(QuantileSummary {
                    name: quantile.to_string(),
                    value_ns: found[0]?.as_ns(),
                    interval_ns: interval,
                    no_interval: ranks.err(),
                })
            });
        let mean = times.mean()?.as_ns();
        let at_factor = |factor: f64| (mean as f64 * factor).round() as u64;
        Some(TimingSummary {
            count,
            clamped: times.clamped(),
            mean_ns: mean,
            mean_interval_ns: mean_factors.ok().map(|factors| factors.map(at_factor)),
            no_mean_interval: mean_factors.err(),
            sd_ns: times.standard_deviation().map(Duration::as_ns),
            min_ns: times.min()?.as_ns(),
            max_ns: times.max()?.as_ns(),
            quantiles: quantiles.collect(),
        })
    }

    /// A percentile that the summary holds.
    pub fn quantile(&self, quantile: Quantile) -> Option<&QuantileSummary> {
        let name = quantile.to_string();
        self.quantiles.iter().find(|held| held.name == name)
    }

    /// The value of a percentile that the summary holds, in nanoseconds.
    pub fn quantile_ns(&self, quantile: Quantile) -> Option<u64> {
        self.quantile(quantile).map(|held| held.value_ns)
    }
}
