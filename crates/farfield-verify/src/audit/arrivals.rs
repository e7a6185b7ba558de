//! The arrival process of a tool: the gaps between its requests, and whether they wait for replies.
//!
//! Gaps are compared with an exponential distribution, as independent users make them, by the test of
//! Anderson and Darling on stretches of 50 gaps ([`SessionArrivals`]), and against a constant gap by their
//! coefficient of variation. A request *follows* if it is not the first of its connection; where almost all
//! follow, soon after the reply before, the load is closed: a slow server is asked less often.

use super::truth::Exchange;
use farfield_fit::arrivals::SessionArrivals;
use serde::Serialize;

/// The arrival process as packets show it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Arrivals {
    /// Gaps between one request and the next, over all connections.
    pub gaps: u64,
    /// The mean gap, in nanoseconds.
    pub mean_gap_ns: f64,
    /// The standard deviation of the gaps over their mean: 0 for a constant gap, 1 for a Poisson process.
    pub variation: f64,
    /// Correlation of a gap with the next, where there are enough gaps.
    pub correlation: Option<f64>,
    /// Share of stretches whose gaps the test of Anderson and Darling does not reject as exponential at 5
    /// %; 0.95 for a Poisson process.
    pub exponential_passed: Option<f64>,
    /// Class of the arrival process.
    pub process: Process,
    /// Requests that followed another one on their connection.
    pub following: u64,
    /// Median time between the reply before and these, in nanoseconds; those sent before it have 0.
    pub follow_after_ns: u64,
    /// Mean and largest number of requests under way.
    pub under_way_mean: f64,
    /// Largest number of requests under way.
    pub under_way_max: u64,
}

/// Class of an arrival process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Process {
    /// Too few requests to say.
    Unknown,
    /// Each connection sends its next request as soon as the reply to the one before has come.
    Closed,
    /// Gaps are all alike.
    Constant,
    /// Gaps are exponential and independent.
    Poisson,
    /// None of these.
    Other,
}

/// Requests fewer than this say nothing of a process.
const REQUESTS_MIN: usize = 20;
/// A closed load follows sooner than this, which is below any think time of people.
const FOLLOWS_SOON_NS: u64 = 20_000_000;
/// Share of requests that follow in a closed load.
const FOLLOWING: f64 = 0.5;
/// A constant gap varies by less than this.
const CONSTANT: f64 = 0.1;

impl Arrivals {
    /// The process of `exchanges`, in the order in which they were sent.
    pub(super) fn of(exchanges: &[Exchange]) -> Arrivals {
        let gaps: Vec<f64> =
            exchanges.windows(2).map(|pair| (pair[1].sent - pair[0].sent) as f64 / 1e9).collect();
        let count = gaps.len().max(1) as f64;
        let mean = gaps.iter().sum::<f64>() / count;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / count;
        let tested = SessionArrivals::of(&gaps);
        let mut follow = follow_times(exchanges);
        follow.sort_unstable();
        let variation = if mean > 0.0 { variance.sqrt() / mean } else { 0.0 };
        let after_ns = follow.get(follow.len() / 2).copied().unwrap_or(0);
        let (under_way_mean, under_way_max) = under_way(exchanges);
        let process = match tested {
            _ if exchanges.len() < REQUESTS_MIN => Process::Unknown,
            _ if variation < CONSTANT => Process::Constant,
            Some(tested) if tested.is_poisson_enough() && variation > 0.5 => Process::Poisson,
            _ if follow.len() as f64 > FOLLOWING * exchanges.len() as f64 && after_ns < FOLLOWS_SOON_NS => {
                Process::Closed
            }
            _ => Process::Other,
        };
        Arrivals {
            gaps: gaps.len() as u64,
            mean_gap_ns: mean * 1e9,
            variation,
            correlation: tested.map(|tested| tested.correlation),
            exponential_passed: tested.map(|tested| tested.exponential_passed),
            process,
            following: follow.len() as u64,
            follow_after_ns: after_ns,
            under_way_mean,
            under_way_max,
        }
    }
}

/// For each request that is not its connection's first: how long after the end of the one before it was
/// sent.
fn follow_times(exchanges: &[Exchange]) -> Vec<u64> {
    let mut by_connection: Vec<&Exchange> = exchanges.iter().collect();
    by_connection.sort_by_key(|exchange| (exchange.connection, exchange.number));
    by_connection
        .windows(2)
        .filter(|pair| pair[0].connection == pair[1].connection)
        .map(|pair| pair[1].sent.saturating_sub(pair[0].ended))
        .collect()
}

/// Mean and largest number of requests under way, from the first request to the last end.
fn under_way(exchanges: &[Exchange]) -> (f64, u64) {
    let mut changes: Vec<(u64, i64)> =
        exchanges.iter().flat_map(|exchange| [(exchange.sent, 1), (exchange.ended, -1)]).collect();
    // At one instant the end comes first.
    changes.sort_unstable();
    let (mut now, mut most) = (0i64, 0i64);
    for (_, change) in &changes {
        now += change;
        most = most.max(now);
    }
    let span = changes.last().zip(changes.first()).map_or(0, |(last, first)| last.0 - first.0);
    let total: f64 = exchanges.iter().map(|exchange| (exchange.ended - exchange.sent) as f64).sum();
    (if span == 0 { 0.0 } else { total / span as f64 }, most.max(0) as u64)
}
