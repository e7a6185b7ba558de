//! Figures of a list of requests, one row each, as JMeter and a plain table have them.

use super::reported::{Reported, Time, Tool};

/// A request as a tool recorded it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ToolRow {
    /// Start of the request, in nanoseconds since any instant.
    pub start_ns: Option<u64>,
    /// Length of the request, in nanoseconds.
    pub took_ns: u64,
    /// The request failed.
    pub failed: bool,
    /// Bytes received.
    pub bytes: u64,
    /// Users at work at its end.
    pub users: u64,
}

/// Percentiles that are computed where every request is known.
const PERCENTS: [f64; 6] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9];

/// The report of a tool that gave `rows`, with times to the step of `step_ns`. Percentiles are the values
/// at rank ceil(np).
pub(super) fn report(tool: Tool, rows: &[ToolRow], step_ns: u64) -> Option<Reported> {
    let mut times: Vec<u64> = rows.iter().map(|row| row.took_ns).collect();
    times.sort_unstable();
    let (shortest, longest) = (*times.first()?, *times.last()?);
    let count = times.len() as f64;
    let mean = times.iter().map(|ns| *ns as f64).sum::<f64>() / count;
    let variance = times.iter().map(|ns| (*ns as f64 - mean).powi(2)).sum::<f64>() / count;
    let time = |ns: u64| Some(Time { ns, step_ns });
    let mut found = Reported::nothing(tool);
    found.requests = Some(rows.len() as u64);
    found.errors = Some(rows.iter().filter(|row| row.failed).count() as u64);
    found.bytes = Some(rows.iter().map(|row| row.bytes).sum()).filter(|bytes| *bytes > 0);
    found.concurrency = rows.iter().map(|row| row.users).max().filter(|users| *users > 0);
    (found.mean, found.sd) = (time(mean.round() as u64), time(variance.sqrt().round() as u64));
    (found.min, found.max) = (time(shortest), time(longest));
    for percent in PERCENTS {
        let rank = (percent / 100.0 * count).ceil() as usize;
        found.push_percentile(percent, time(times[rank.clamp(1, times.len()) - 1]));
    }
    if let Some(ns) = duration(rows).filter(|ns| *ns > 0) {
        found.duration = time(ns);
        found.rate_per_s = Some(count / (ns as f64 / 1e9));
    }
    found.if_any()
}

/// From the first begin to the last end, if all rows have a begin.
fn duration(rows: &[ToolRow]) -> Option<u64> {
    let starts: Option<Vec<u64>> = rows.iter().map(|row| row.start_ns).collect();
    let first = starts?.into_iter().min()?;
    let last = rows.iter().filter_map(|row| Some(row.start_ns?.saturating_add(row.took_ns))).max()?;
    last.checked_sub(first)
}
