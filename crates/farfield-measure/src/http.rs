//! Requests by the version of HTTP that their connections spoke; on streams, what the server refused of
//! them, and the time that their bodies waited for it to allow more (flow control, RFC 9113 section 5.2, RFC
//! 9000 section 4).

use crate::engine_stats::EngineStats;
use farfield_base::{AlternativeCounts, Sample, SpokenVersion};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

farfield_base::mergeable! {
    /// Requests of one version that ended in a part of the run.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    struct VersionCounts {
        requests: u64,
        /// Requests whose body waited for the server's windows.
        stalled: u64,
        /// The time that these waited, in microseconds.
        stalled_us: u64,
    }
}

farfield_base::mergeable! {
    /// Requests that ended in a part of the run.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    pub struct HttpCounts {
        /// In the order of [`SpokenVersion::ALL`].
        versions: [VersionCounts; SpokenVersion::ALL.len()] => each,
        /// Requests that ended before a version was agreed on.
        unknown: u64,
    }
}

/// The versions of HTTP in the measured part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HttpSummary {
    /// Requests that ended in the measured part, for each version that was spoken, the oldest first.
    pub versions: Vec<VersionSummary>,
    /// Requests that ended in the measured part before a version was agreed on: most of them had no
    /// connection.
    pub unknown: u64,
    /// Attempts at HTTP/3 that a server's Alt-Svc led to, over the whole run; null where there were none.
    pub alternatives: Option<AlternativeCounts>,
}

/// Requests over one version of HTTP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VersionSummary {
    /// The version: `HTTP/1.0`, `HTTP/1.1`, `HTTP/2` or `HTTP/3`.
    pub version: String,
    /// Requests that ended in the measured part.
    pub requests: u64,
    /// Requests whose body waited for the server to allow more of it (flow control); of versions without
    /// streams 0.
    pub stalled_requests: u64,
    /// The time that these waited on average, in nanoseconds; null if there were none.
    pub stalled_mean_ns: Option<f64>,
}

/// Requests over HTTP/2.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Http2Summary {
    /// Requests that ended in the measured part.
    pub requests: u64,
    /// Requests whose body waited for the server to allow more of it (flow control).
    pub stalled_requests: u64,
    /// The time that these waited on average, in nanoseconds; null if there were none.
    pub stalled_mean_ns: Option<f64>,
    /// Times that the server refused a request without processing it and it was sent again, over the whole
    /// run; over HTTP/3 as well.
    pub refused: u64,
}

impl VersionCounts {
    fn stalled_mean_ns(&self) -> Option<f64> {
        (self.stalled > 0).then(|| self.stalled_us as f64 * 1000.0 / self.stalled as f64)
    }
}

impl HttpCounts {
    /// Counts the request of a sample.
    pub fn record(&mut self, sample: &Sample) {
        let Some(version) = sample.http.version() else {
            self.unknown += 1;
            return;
        };
        let counts = &mut self.versions[place(version)];
        let stalled_us = u64::from(sample.http.stalled_us().unwrap_or(0));
        counts.requests += 1;
        counts.stalled += u64::from(stalled_us > 0);
        counts.stalled_us += stalled_us;
    }

    /// The summary of all versions, unless nothing was spoken at all.
    pub fn summary(&self, stats: &EngineStats) -> Option<HttpSummary> {
        let summary = |(version, counts): (SpokenVersion, &VersionCounts)| {
            (counts.requests > 0).then(|| VersionSummary {
                version: version.name().to_owned(),
                requests: counts.requests,
                stalled_requests: counts.stalled,
                stalled_mean_ns: counts.stalled_mean_ns(),
            })
        };
        let versions: Vec<_> =
            SpokenVersion::ALL.into_iter().zip(&self.versions).filter_map(summary).collect();
        let alternatives = Some(stats.counts.alternatives).filter(|own| *own != AlternativeCounts::default());
        let is_spoken = !versions.is_empty() || alternatives.is_some();
        is_spoken.then_some(HttpSummary { versions, unknown: self.unknown, alternatives })
    }

    /// The summary of HTTP/2, if there were requests over it.
    pub fn http2(&self, stats: &EngineStats) -> Option<Http2Summary> {
        let counts = &self.versions[place(SpokenVersion::Http2)];
        (counts.requests > 0 || stats.counts.refused > 0).then_some(Http2Summary {
            requests: counts.requests,
            stalled_requests: counts.stalled,
            stalled_mean_ns: counts.stalled_mean_ns(),
            refused: stats.counts.refused,
        })
    }
}

fn place(version: SpokenVersion) -> usize {
    SpokenVersion::ALL.iter().position(|own| *own == version).expect("all versions are among them")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::scene::sample;
    use farfield_base::{HttpStats, LoadCounts, Merge};

    #[test]
    fn requests_are_counted_by_version_and_stalls_are_averaged() {
        let mut counts = HttpCounts::default();
        for stalled_us in [0, 100, 300] {
            counts.record(&Sample { http: HttpStats::of_http2(1, stalled_us), ..sample(0, 10) });
        }
        for http in [HttpStats::of_http3(4, 700), HttpStats::of(SpokenVersion::Http3), HttpStats::UNKNOWN] {
            counts.record(&Sample { http, ..sample(0, 10) });
        }
        let mut twice = counts;
        twice.merge(&counts);
        let alternatives = AlternativeCounts { tried: 3, refused: 1, unanswered: 1, ..Default::default() };
        let stats = EngineStats {
            counts: LoadCounts { refused: 5, alternatives, ..LoadCounts::default() },
            ..EngineStats::default()
        };
        let expected =
            Http2Summary { requests: 6, stalled_requests: 4, stalled_mean_ns: Some(200_000.0), refused: 5 };
        assert_eq!(twice.http2(&stats), Some(expected));
        let summary = twice.summary(&stats).expect("a summary");
        let seen: Vec<_> = summary.versions.iter().map(|own| (own.version.as_str(), own.requests)).collect();
        assert_eq!((seen, summary.unknown), (vec![("HTTP/2", 6), ("HTTP/3", 4)], 2));
        assert_eq!(summary.versions[1].stalled_mean_ns, Some(700_000.0));
        let alternatives = summary.alternatives.expect("they were tried");
        assert_eq!((alternatives.tried, alternatives.fallbacks()), (3, 2));
        assert_eq!(HttpCounts::default().http2(&EngineStats::default()), None);
        assert_eq!(HttpCounts::default().summary(&EngineStats::default()), None);
    }
}
