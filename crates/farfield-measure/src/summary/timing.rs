//! A histogram of times in a summary: moments and percentiles with their intervals.

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
    /// Which: "p99.9".
    pub name: String,
    /// Its value, above the true one by less than 0.1 %.
    pub value_ns: u64,
    /// The 95 % confidence interval, for independent samples; null where there are too few to tell.
    pub interval_ns: Option<[u64; 2]>,
}

/// One of the five times, or of the generator's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimingSummary {
    /// How many were measured.
    pub count: u64,
    /// How many of them exceeded 24 hours and count as that.
    pub clamped: u64,
    /// The mean.
    pub mean_ns: u64,
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
    /// `None` for a histogram that holds nothing.
    pub fn of(times: &Histogram) -> Option<TimingSummary> {
        // The checkpoint of a run asks for these every second, between requests: one way through the bins does.
        let count = times.count();
        let wanted = QUANTILES.map(|quantile| {
            let (low, high) = quantile.interval_ranks(count).unwrap_or((0, 0));
            [quantile.rank(count).unwrap_or(0), low, high]
        });
        let found = times.at_ranks(wanted.as_flattened());
        let ns = |time: Option<Duration>| time.map(Duration::as_ns);
        let summarize = |(quantile, found): (Quantile, &[Option<Duration>])| {
            Some(QuantileSummary {
                name: quantile.to_string(),
                value_ns: ns(found[0])?,
                interval_ns: ns(found[1]).zip(ns(found[2])).map(<[u64; 2]>::from),
            })
        };
        Some(TimingSummary {
            count: times.count(),
            clamped: times.clamped(),
            mean_ns: times.mean()?.as_ns(),
            sd_ns: times.standard_deviation().map(Duration::as_ns),
            min_ns: times.min()?.as_ns(),
            max_ns: times.max()?.as_ns(),
            quantiles: QUANTILES.into_iter().zip(found.chunks(3)).filter_map(summarize).collect(),
        })
    }

    /// The value of a percentile that the summary holds, in nanoseconds.
    pub fn quantile_ns(&self, quantile: Quantile) -> Option<u64> {
        let name = quantile.to_string();
        self.quantiles.iter().find(|held| held.name == name).map(|held| held.value_ns)
    }
}
