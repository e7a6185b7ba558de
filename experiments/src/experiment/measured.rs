//! The numbers of a run: those of its summary, of its monitors and of its packets, and its verdict on itself.

use super::detail::{Detail, Line};
use super::monitored::Monitored;
use super::packets::Packets;
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Range;

/// SYNs that the kernel sent on behalf of any program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Syns {
    /// Connections begun, each with a first SYN.
    pub first: u64,
    /// SYNs sent again.
    pub again: u64,
}

impl Syns {
    /// Those sent since an earlier count.
    pub fn since(self, before: Syns) -> Syns {
        Syns {
            first: self.first.saturating_sub(before.first),
            again: self.again.saturating_sub(before.again),
        }
    }
}

/// The parts of a run's summary that an experiment reads.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// The measurements.
    pub measured: Measured,
    /// The measurements of each class of clients, by name.
    pub classes: BTreeMap<String, Measured>,
    /// The checks that failed of the run's verdict on itself.
    pub doubts: Vec<String>,
    /// The lines of charts of what happened inside of the run.
    pub lines: BTreeMap<Detail, Vec<Line>>,
}

/// The numbers of a run's steady part, of all clients or of a class. A class lacks the numbers that there are
/// of all clients alone, such as those of the generator.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Measured {
    /// Requests due in a second.
    pub offered_per_s: f64,
    /// Attempts to connect in a second.
    pub attempts_per_s: f64,
    /// SYNs that the kernel sent in a second; absent where it is not the clients' TCP.
    pub syns_per_s: Option<f64>,
    /// Replies in a second that completed with success.
    pub completed_per_s: f64,
    /// The share of requests whose attempt to connect was abandoned.
    pub abandoned: f64,
    /// The share of requests that went wrong; absent if no end was seen.
    pub errors: Option<f64>,
    /// The mean response time; absent if nothing succeeded.
    pub response_ms: Option<f64>,
    /// Its median.
    pub median_ms: Option<f64>,
    /// The mean number of requests in the system.
    pub open: Option<f64>,
    /// Bodies.
    pub body_mbit_per_s: f64,
    /// The 99th percentile of lateness; absent if nothing was scheduled.
    pub lateness_ms: Option<f64>,
    /// That of packets that left for the server; absent on a plane without a network.
    pub departure_ms: Option<f64>,
    /// That of packets that reached clients.
    pub arrival_ms: Option<f64>,
    /// The share of packets lost on the wire.
    pub lost: Option<f64>,
    /// Packets that found a queue full, of all that the server sent, over the whole run.
    pub overflow: Option<f64>,
    /// The busiest worker's share of time.
    pub busy: Option<f64>,
    /// The mean response time of pages; absent where requests have no pages, or none was completed.
    pub page_ms: Option<f64>,
    /// Their mean HTML latency.
    pub latency_ms: Option<f64>,
    /// The share of them with a failure.
    pub failed_pages: Option<f64>,
    /// Sessions begun; absent where none arrives.
    pub sessions_per_s: Option<f64>,
    /// Readings of monitors.
    pub server: Monitored,
    /// Figures of the packets.
    pub packets: Packets,
}

impl RunSummary {
    /// Reads a run's summary; `syns` are those that the kernel sent in the course of it.
    pub fn read(summary: &Value, syns: Option<Syns>) -> Result<RunSummary> {
        let classes = summary.pointer("/classes").and_then(Value::as_array);
        let class = |class: &Value| {
            let name = class["name"].as_str().context("a class without a name")?;
            Ok((name.to_owned(), Measured::of(class)?))
        };
        Ok(RunSummary {
            measured: Measured::read(summary, syns)?,
            classes: classes.into_iter().flatten().map(class).collect::<Result<_>>()?,
            doubts: doubts(summary),
            lines: BTreeMap::new(),
        })
    }
}

impl Measured {
    /// Reads a run's summary; `syns` are those that the kernel sent in the course of it.
    fn read(summary: &Value, syns: Option<Syns>) -> Result<Measured> {
        let phase_s = |phase: &str| number(summary, &format!("/phases/{phase}_ns")).map(|ns| ns / 1e9);
        let (warm_up_s, steady_s, drain_s) = (phase_s("warm_up")?, phase_s("steady")?, phase_s("drain")?);
        let sessions = summary.pointer("/generator/arrivals/begun").and_then(Value::as_f64);
        let per_attempt = syns.map(|syns| {
            // No connection is begun in the drain; SYNs of earlier ones are still sent again.
            let begun_s = warm_up_s + steady_s;
            let again = syns.again as f64 * begun_s / (begun_s + drain_s);
            Ok::<f64, anyhow::Error>(
                (syns.first as f64 + again) / number(summary, "/connections/attempts")?.max(1.0),
            )
        });
        let per_attempt = per_attempt.transpose()?;
        let all = Measured::of(summary)?;
        Ok(Measured {
            syns_per_s: per_attempt.map(|syns| syns * all.attempts_per_s),
            open: summary.pointer("/generator/in_system_mean").and_then(Value::as_f64),
            lateness_ms: quantile_ms(summary, "/generator/lateness", "p99"),
            departure_ms: quantile_ms(summary, "/network/departure_lateness", "p99"),
            arrival_ms: quantile_ms(summary, "/network/arrival_lateness", "p99"),
            lost: lost(summary),
            overflow: overflow(summary),
            busy: busiest(summary),
            sessions_per_s: sessions.map(|begun| begun / steady_s),
            ..all
        })
    }

    /// Reads the numbers of requests and pages from a summary, or from a class's part of it.
    fn of(part: &Value) -> Result<Measured> {
        let per_s = |rate: &str| number(part, &format!("/steady/rates/{rate}_per_s"));
        let ms = |pointer: &str| Some(part.pointer(pointer)?.as_f64()? / 1e6);
        let requests = number(part, "/steady/requests")?;
        let pages = |counted: &str| part.pointer(&format!("/pages/{counted}")).and_then(Value::as_f64);
        let failed = || Some(pages("failed")? / (pages("completed")? + pages("failed")?).max(1.0));
        Ok(Measured {
            offered_per_s: per_s("offered")?,
            attempts_per_s: per_s("connects")?,
            completed_per_s: per_s("succeeded")?,
            abandoned: ended(part, "connect-abandoned") / requests.max(1.0),
            errors: part.pointer("/steady/error_share").and_then(Value::as_f64),
            response_ms: ms("/steady/times/response/mean_ns"),
            median_ms: quantile_ms(part, "/steady/times/response", "p50"),
            body_mbit_per_s: per_s("body_bytes")? * 8.0 / 1e6,
            page_ms: ms("/pages/response/mean_ns"),
            latency_ms: ms("/pages/html_latency/mean_ns"),
            failed_pages: failed(),
            ..Measured::default()
        })
    }
}

/// The checks that failed of the verdict in a run's summary, by name.
fn doubts(summary: &Value) -> Vec<String> {
    let checks = summary.pointer("/verdict/checks").and_then(Value::as_array);
    let failed = checks.into_iter().flatten().filter(|check| check["state"] == "failed");
    failed.filter_map(|check| check["name"].as_str().map(str::to_owned)).collect()
}

/// The seconds of the run in which its steady part lies.
pub fn steady(summary: &Value) -> Result<Range<f64>> {
    let begin_s = number(summary, "/phases/warm_up_ns")? / 1e9;
    Ok(begin_s..begin_s + number(summary, "/phases/steady_ns")? / 1e9)
}

fn number(summary: &Value, pointer: &str) -> Result<f64> {
    let number = summary.pointer(pointer).and_then(Value::as_f64);
    number.with_context(|| format!("no number at {pointer} of the summary"))
}

/// Requests of the steady part with this outcome.
fn ended(summary: &Value, outcome: &str) -> f64 {
    let outcomes = summary.pointer("/steady/outcomes").and_then(Value::as_array);
    let mut named = outcomes.into_iter().flatten().filter(|counted| counted["name"] == outcome);
    named.next().and_then(|counted| counted["count"].as_f64()).unwrap_or(0.0)
}

/// The percentile `name` of the times at `pointer`, in milliseconds.
fn quantile_ms(summary: &Value, pointer: &str, name: &str) -> Option<f64> {
    let quantiles = summary.pointer(pointer)?["quantiles"].as_array()?;
    Some(quantiles.iter().find(|quantile| quantile["name"] == name)?["value_ns"].as_f64()? / 1e6)
}

/// The share of packets lost on the wire, of those and of all that reached the server or were taken from it.
fn lost(summary: &Value) -> Option<f64> {
    let network = summary.get("network")?;
    let lost = network.pointer("/drops/lost")?.as_f64()?;
    // Those lost on the way up are not among the packets up; those lost on the way down are among those down.
    let all = network["packets_up"].as_f64()? + network["packets_down"].as_f64()? + lost / 2.0;
    Some(lost / all.max(1.0))
}

fn overflow(summary: &Value) -> Option<f64> {
    let network = summary.get("network")?;
    let full = network.pointer("/drops/queue_full")?.as_f64()?;
    Some(full / network["packets_down"].as_f64()?.max(1.0))
}

fn busiest(summary: &Value) -> Option<f64> {
    let shares = summary.pointer("/generator/worker_busy")?.as_array()?;
    shares.iter().filter_map(Value::as_f64).reduce(f64::max)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A run that has every number.
    pub fn complete() -> Measured {
        let some = Some(1.0);
        Measured {
            offered_per_s: 1.0,
            attempts_per_s: 1.0,
            syns_per_s: some,
            completed_per_s: 1.0,
            abandoned: 1.0,
            errors: some,
            response_ms: some,
            median_ms: some,
            open: some,
            body_mbit_per_s: 1.0,
            lateness_ms: some,
            departure_ms: some,
            arrival_ms: some,
            lost: some,
            overflow: some,
            busy: some,
            page_ms: some,
            latency_ms: some,
            failed_pages: some,
            sessions_per_s: some,
            server: Monitored::complete(),
            packets: Packets::complete(),
        }
    }

    pub fn summary() -> Value {
        serde_json::json!({
            "phases": { "warm_up_ns": 1e9, "steady_ns": 8e9, "drain_ns": 1e9 },
            "connections": { "attempts": 216 },
            "verdict": { "checks": [
                { "name": "completed", "state": "passed" }, { "name": "send-lateness", "state": "failed" } ] },
            "steady": {
                "requests": 200, "error_share": 0.5,
                "rates": { "offered_per_s": 25.0, "connects_per_s": 24.0, "succeeded_per_s": 12.5,
                    "body_bytes_per_s": 125_000.0 },
                "times": { "response": { "mean_ns": 12e6, "quantiles": [ { "name": "p50", "value_ns": 3_000_000 } ] } },
                "outcomes": [ { "name": "ok", "count": 100 }, { "name": "connect-abandoned", "count": 50 } ] },
            "generator": { "lateness": { "quantiles": [ { "name": "p99", "value_ns": 1_500_000 } ] },
                "in_system_mean": 7.5, "worker_busy": [0.25, 0.5], "arrivals": { "begun": 20 } },
            "pages": { "completed": 30, "failed": 10, "response": { "mean_ns": 2_500_000_000u64 },
                "html_latency": { "mean_ns": 8_000_000 } },
            "classes": [ { "name": "modem",
                "steady": { "requests": 4, "rates": { "offered_per_s": 0.5, "connects_per_s": 0.5, "succeeded_per_s": 0.25,
                    "body_bytes_per_s": 0.0 } },
                "pages": { "completed": 1, "failed": 0, "response": { "mean_ns": 7_000_000_000u64 } } } ],
            "network": {
                "packets_up": 480, "packets_down": 500, "drops": { "lost": 40, "queue_full": 6 },
                "departure_lateness": { "quantiles": [ { "name": "p99", "value_ns": 20_000 } ] },
                "arrival_lateness": null },
        })
    }

    #[test]
    fn what_is_missing_is_named() {
        let mut summary = summary();
        summary["steady"]["rates"] = Value::Null;
        let error = RunSummary::read(&summary, None).unwrap_err().to_string();
        assert!(error.contains("/steady/rates/offered_per_s"), "{error}");
    }
}
