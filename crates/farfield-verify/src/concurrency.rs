//! Connections over time, and the requests on each: by samples and by packets.
//!
//! A connection is *in use* from the end of its handshake to the last byte of its last reply, which both
//! sides know; it is *open* until somebody sends a FIN or a RST, which packets alone show.
//!
//! Requests per connection are listed in the order in which connections closed, as in figure 7 of Hashemian,
//! Krishnamurthy and Arlitt 2011.

use crate::errors::Sides;
use farfield_base::Sample;
use farfield_capture::{Connection, End};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Connections that are listed in order of closing.
const LISTED: usize = 10_000;

/// The connections at the beginning of a second of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionsAt {
    /// The second.
    pub second: u64,
    /// Open, by the packets.
    pub open: u64,
    /// In use, by the packets.
    pub in_use: u64,
    /// In use, by the samples.
    pub in_use_samples: u64,
}

/// Requests on connections.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestsPerConnection {
    /// Connections with at least one request, by the packets.
    pub connections: u64,
    /// Requests on each, in the mean; null without connections.
    pub mean: Option<f64>,
    /// On the busiest.
    pub max: u32,
    /// Matched connections on which samples and packets have different numbers of requests.
    pub differing: u64,
    /// Requests on the first 10,000 connections that closed, in the order in which they did.
    pub in_order_of_closing: Vec<u32>,
}

/// The instant at which somebody first closed or reset the connection, in nanoseconds of the run's time.
pub fn closed_ns(sides: Sides<'_>, connection: &Connection) -> Option<i64> {
    match connection.end {
        End::Open => None,
        End::Fin { at, .. } | End::Reset { at, .. } => Some(sides.frame.run_ns(at)),
    }
}

/// The connections of the run at the beginning of each of its seconds.
pub fn over_time(sides: Sides<'_>) -> Vec<ConnectionsAt> {
    let seconds = (sides.run.end.as_ns() / 1_000_000_000) as usize + 1;
    let mut open = Steps::new(seconds);
    let mut in_use = Steps::new(seconds);
    let mut in_use_samples = Steps::new(seconds);
    let mut last_reply: BTreeMap<u32, i64> = BTreeMap::new();
    for transaction in &sides.capture.transactions {
        if let Some(at) = transaction.reply_last {
            let last = last_reply.entry(transaction.connection).or_insert(i64::MIN);
            *last = (*last).max(sides.frame.run_ns(at));
        }
    }
    for captured in sides.matching.connections.values() {
        let connection = &sides.capture.connections[*captured as usize];
        let Some(from) = connection.syn_ack.map(|at| sides.frame.run_ns(at)) else { continue };
        open.between(from, closed_ns(sides, connection).unwrap_or(i64::MAX));
        if let Some(to) = last_reply.get(captured) {
            in_use.between(from, *to);
        }
    }
    for (from, to) in used_by_samples(sides) {
        in_use_samples.between(from, to);
    }
    let counts = open.counts().into_iter().zip(in_use.counts()).zip(in_use_samples.counts());
    let at = |(second, ((open, in_use), in_use_samples))| ConnectionsAt {
        second: second as u64,
        open,
        in_use,
        in_use_samples,
    };
    counts.enumerate().map(at).collect()
}

/// From when to when each matched connection is in use by the samples.
fn used_by_samples(sides: Sides<'_>) -> Vec<(i64, i64)> {
    let mut used: BTreeMap<u32, (Option<i64>, i64)> = BTreeMap::new();
    for sample in sides.samples.iter().filter(|s| sides.matching.connections.contains_key(&s.connection)) {
        let entry = used.entry(sample.connection).or_insert((None, i64::MIN));
        if let Some(connected) = sample.connected.instant() {
            entry.0 = Some(connected.as_ns() as i64);
        }
        if sample.first_byte.instant().is_some() {
            entry.1 = entry.1.max(sample.done.as_ns() as i64);
        }
    }
    used.into_values().filter_map(|(from, to)| Some((from?, to))).filter(|(from, to)| from <= to).collect()
}

/// Counts intervals that contain the beginnings of seconds.
struct Steps(Vec<i64>);

impl Steps {
    fn new(seconds: usize) -> Steps {
        Steps(vec![0; seconds + 1])
    }

    fn between(&mut self, from: i64, to: i64) {
        let second = |ns: i64| (ns.max(0) as u64).div_ceil(1_000_000_000) as usize;
        let last = self.0.len() - 1;
        let (from, to) = (second(from).min(last), second(to).min(last));
        if from < to {
            self.0[from] += 1;
            self.0[to] -= 1;
        }
    }

    fn counts(self) -> Vec<u64> {
        let seconds = self.0.len() - 1;
        let running = self.0.into_iter().scan(0_i64, |sum, step| {
            *sum += step;
            Some(*sum as u64)
        });
        running.take(seconds).collect()
    }
}

/// The requests on the matched connections.
pub fn requests_per_connection(sides: Sides<'_>) -> RequestsPerConnection {
    let mut of_samples: BTreeMap<u32, u32> = BTreeMap::new();
    for sample in
        sides.samples.iter().filter(|s| s.sent.instant().is_some() && s.connection != Sample::NO_CONNECTION)
    {
        let last = of_samples.entry(sample.connection).or_default();
        *last = (*last).max(sample.number.saturating_add(1));
    }
    let (mut found, mut sum) = (RequestsPerConnection::default(), 0_u64);
    let mut closed = Vec::new();
    for (number, captured) in &sides.matching.connections {
        let connection = &sides.capture.connections[*captured as usize];
        let requests = connection.requests;
        if sides.run.all_kept && requests != of_samples.get(number).copied().unwrap_or(0) {
            found.differing += 1;
        }
        if requests > 0 {
            found.connections += 1;
            sum += u64::from(requests);
            found.max = found.max.max(requests);
        }
        closed.extend(closed_ns(sides, connection).map(|at| (at, *captured, requests)));
    }
    closed.sort_unstable();
    found.mean = (found.connections > 0).then(|| sum as f64 / found.connections as f64);
    found.in_order_of_closing = closed.into_iter().take(LISTED).map(|(.., requests)| requests).collect();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_counts_at_the_seconds_that_begin_in_it() {
        let mut steps = Steps::new(4);
        steps.between(-5, 1_000_000_000); // contains the beginning of second 0 alone
        steps.between(1, 2_000_000_001); // of seconds 1 and 2
        steps.between(2_000_000_001, 2_999_999_999); // of none
        steps.between(3_000_000_000, i64::MAX);
        assert_eq!(steps.counts(), [1, 1, 1, 1]);
    }
}
