//! Requests over HTTP/2: their number, what the server refused of them, and the time that their bodies waited
//! for it to allow more (flow control, RFC 9113 section 5.2).

use crate::engine_stats::EngineStats;
use farfield_base::Sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Requests over HTTP/2 that ended in a part of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Http2Counts {
    /// Requests.
    pub requests: u64,
    /// Those of them whose body waited for the server's windows.
    pub stalled: u64,
    /// The time that these waited, in microseconds.
    pub stalled_us: u64,
}

/// Requests over HTTP/2.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Http2Summary {
    /// Requests that ended in the measured part.
    pub requests: u64,
    /// Those of them whose body waited for the server to allow more of it (flow control).
    pub stalled_requests: u64,
    /// The time that these waited on average, in nanoseconds; null if there were none.
    pub stalled_mean_ns: Option<f64>,
    /// Times that the server refused a request without processing it and it was sent again, over the whole
    /// run; over HTTP/3 as well.
    pub refused: u64,
}

impl Http2Counts {
    /// Counts the request of a sample.
    pub fn record(&mut self, sample: &Sample) {
        let Some(http2) = sample.http2 else { return };
        self.requests += 1;
        self.stalled += u64::from(http2.stalled_us > 0);
        self.stalled_us += u64::from(http2.stalled_us);
    }

    /// Adds the counts of another part.
    pub fn merge(&mut self, other: &Http2Counts) {
        self.requests += other.requests;
        self.stalled += other.stalled;
        self.stalled_us += other.stalled_us;
    }

    /// The summary, if there were requests over HTTP/2.
    pub fn summary(&self, stats: &EngineStats) -> Option<Http2Summary> {
        let stalled_mean_ns =
            (self.stalled > 0).then(|| self.stalled_us as f64 * 1000.0 / self.stalled as f64);
        (self.requests > 0 || stats.refused > 0).then_some(Http2Summary {
            requests: self.requests,
            stalled_requests: self.stalled,
            stalled_mean_ns,
            refused: stats.refused,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::scene::sample;
    use farfield_base::Http2Stats;
    use std::num::NonZeroU32;

    #[test]
    fn stalls_are_counted_and_averaged() {
        let mut counts = Http2Counts::default();
        let stream = NonZeroU32::MIN;
        for stalled_us in [0, 100, 300] {
            counts.record(&Sample { http2: Some(Http2Stats { stream, stalled_us }), ..sample(0, 10) });
        }
        counts.record(&sample(0, 10));
        let mut twice = counts;
        twice.merge(&counts);
        let stats = EngineStats { refused: 5, ..EngineStats::default() };
        let expected =
            Http2Summary { requests: 6, stalled_requests: 4, stalled_mean_ns: Some(200_000.0), refused: 5 };
        assert_eq!(twice.summary(&stats), Some(expected));
        assert_eq!(Http2Counts::default().summary(&EngineStats::default()), None);
    }
}
