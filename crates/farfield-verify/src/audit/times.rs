//! Response times with their mean, percentiles and extremes, each weighted alike.

use serde::Serialize;

/// A percentile of times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TimePercentile {
    /// Percent of the times that are at most this one.
    pub percent: f64,
    /// The time in nanoseconds.
    pub ns: u64,
}

/// Figures of a set of times, in nanoseconds. All are 0 where there is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Times {
    /// Count of the times.
    pub count: u64,
    /// The mean of the times.
    pub mean_ns: f64,
    /// The standard deviation of the times.
    pub sd_ns: f64,
    /// The shortest.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// Percentiles that every page shows.
    pub percentiles: Vec<TimePercentile>,
    /// The times in ascending order.
    #[serde(skip)]
    sorted: Vec<u64>,
}

/// Percentiles that every page shows.
const PERCENTS: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];

impl Times {
    /// The figures of times in any order.
    pub fn of(mut times: Vec<u64>) -> Times {
        times.sort_unstable();
        let count = times.len().max(1) as f64;
        let mean = times.iter().map(|ns| *ns as f64).sum::<f64>() / count;
        let variance = times.iter().map(|ns| (*ns as f64 - mean).powi(2)).sum::<f64>() / count;
        let mut found = Times {
            count: times.len() as u64,
            mean_ns: mean,
            sd_ns: variance.sqrt(),
            min_ns: times.first().copied().unwrap_or(0),
            max_ns: times.last().copied().unwrap_or(0),
            percentiles: Vec::new(),
            sorted: times,
        };
        let percentile = |percent| TimePercentile { percent, ns: found.at(percent) };
        found.percentiles = PERCENTS.map(percentile).to_vec();
        found
    }

    /// The percentile: the value at rank ceil(np).
    pub fn at(&self, percent: f64) -> u64 {
        let rank = (percent / 100.0 * self.sorted.len() as f64).ceil() as usize;
        self.sorted.get(rank.clamp(1, self.sorted.len().max(1)) - 1).copied().unwrap_or(0)
    }

    /// The times in ascending order, in nanoseconds.
    pub fn sorted(&self) -> &[u64] {
        &self.sorted
    }
}
