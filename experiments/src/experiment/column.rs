//! What is read of a run: its numbers by name, and what it says of itself.

use super::plan::Number;
use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A number that each run has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Column {
    /// What the varied key was set to.
    Value,
    /// Requests due in a second.
    Offered,
    /// Attempts to connect in a second.
    Attempts,
    /// SYNs in a second: the attempts, and those that the kernel sent again.
    Syns,
    /// Replies in a second that completed with success.
    Completed,
    /// The share of requests whose attempt to connect was abandoned after T.
    Abandoned,
    /// The share of requests that went wrong in any way.
    Errors,
    /// The mean response time of successful requests, in milliseconds.
    Response,
    /// Its median, in milliseconds.
    Median,
    /// The mean number of requests on their way, or waiting.
    Open,
    /// The mean response time by Little's law, in milliseconds: those open, divided by those completed. Unlike the mean of
    /// what was seen, it counts requests that outlast the run.
    Little,
    /// Bodies, in megabits a second.
    Body,
    /// The 99th percentile of how late the generator acted, in milliseconds.
    Lateness,
    /// The 99th percentile of how late packets left the emulated network for the server, in milliseconds.
    Departure,
    /// The 99th percentile of how late packets reached emulated clients, in milliseconds.
    Arrival,
    /// The share of packets that the emulated network lost on the wire.
    Lost,
    /// Packets that found a queue full, of all that the server sent.
    Overflow,
    /// The share of its time that the busiest worker of the generator computed.
    Busy,
    /// The mean time from when a page was due to the end of the last of its requests, in milliseconds; of pages without
    /// a failure.
    Page,
    /// The mean HTML latency, to the first byte of the last object of a page, in milliseconds.
    Latency,
    /// The share of pages with a request that went wrong.
    FailedPages,
    /// Sessions begun in a second, where these arrive.
    Sessions,
}

/// One run: a point of a curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The place of its curve.
    pub curve: usize,
    /// What the varied key was set to.
    pub value: Number,
    /// What it measured.
    pub measured: Measured,
    /// The same of each class of clients, by name.
    pub classes: BTreeMap<String, Measured>,
    /// The checks that failed, by name, of the run's verdict on itself; none if it is valid.
    pub doubts: Vec<String>,
    /// How many runs it took; all before the last one were invalid.
    pub tries: u32,
}

/// The parts of a run's summary that an experiment reads.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// What it measured.
    pub measured: Measured,
    /// The same of each class of clients, by name.
    pub classes: BTreeMap<String, Measured>,
    /// The checks that failed of the run's verdict on itself.
    pub doubts: Vec<String>,
}

/// The numbers of a run's steady part, of all clients or of a class. A class lacks the numbers that there are of all clients
/// alone, such as those of the generator.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Measured {
    /// Requests due in a second.
    pub offered_per_s: f64,
    /// Attempts to connect in a second.
    pub attempts_per_s: f64,
    /// SYNs that the kernel sent again in a second, over the whole run; absent where it is not the clients' TCP.
    pub syns_again_per_s: Option<f64>,
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
}

impl Column {
    /// Its head in the table and its name on an axis; `label` is what the varied key is called.
    pub fn head(self, label: &str) -> String {
        let head = match self {
            Column::Value => label,
            Column::Offered => "requests due, 1/s",
            Column::Attempts => "attempts, 1/s",
            Column::Syns => "SYNs, 1/s",
            Column::Completed => "completed, 1/s",
            Column::Abandoned => "abandoned",
            Column::Errors => "errors",
            Column::Response => "mean response",
            Column::Median => "median response",
            Column::Open => "requests open",
            Column::Little => "response by Little's law",
            Column::Body => "bodies, Mbit/s",
            Column::Lateness => "lateness p99",
            Column::Departure => "departures late p99",
            Column::Arrival => "arrivals late p99",
            Column::Lost => "packets lost",
            Column::Overflow => "lost in queues",
            Column::Busy => "emulator busy",
            Column::Page => "page response",
            Column::Latency => "HTML latency",
            Column::FailedPages => "pages failed",
            Column::Sessions => "sessions, 1/s",
        };
        head.to_owned()
    }

    /// The number, where the run has one: a rate, a share or milliseconds.
    pub fn of(self, row: &Row) -> Option<f64> {
        let measured = &row.measured;
        match self {
            Column::Value => Some(row.value.as_f64()),
            Column::Offered => Some(measured.offered_per_s),
            Column::Attempts => Some(measured.attempts_per_s),
            Column::Syns => measured.syns_again_per_s.map(|again| measured.attempts_per_s + again),
            Column::Completed => Some(measured.completed_per_s),
            Column::Abandoned => Some(measured.abandoned),
            Column::Errors => measured.errors,
            Column::Response => measured.response_ms,
            Column::Median => measured.median_ms,
            Column::Open => measured.open,
            Column::Little if measured.completed_per_s > 0.0 => {
                measured.open.map(|open| open / measured.completed_per_s * 1e3)
            }
            Column::Little => None,
            Column::Body => Some(measured.body_mbit_per_s),
            Column::Lateness => measured.lateness_ms,
            Column::Departure => measured.departure_ms,
            Column::Arrival => measured.arrival_ms,
            Column::Lost => measured.lost,
            Column::Overflow => measured.overflow,
            Column::Busy => measured.busy,
            Column::Page => measured.page_ms,
            Column::Latency => measured.latency_ms,
            Column::FailedPages => measured.failed_pages,
            Column::Sessions => measured.sessions_per_s,
        }
    }

    /// A number of this column, as the table has it.
    pub fn written(self, number: f64) -> String {
        match self {
            Column::Value => number.to_string(),
            Column::Abandoned | Column::Errors | Column::Lost | Column::FailedPages => {
                format!("{:.1} %", number * 100.0)
            }
            Column::Overflow => format!("{:.3} %", number * 100.0),
            Column::Busy => format!("{:.0} %", number * 100.0),
            Column::Response
            | Column::Median
            | Column::Little
            | Column::Lateness
            | Column::Departure
            | Column::Arrival
            | Column::Page
            | Column::Latency => {
                let decimals = if number < 10.0 { 2 } else { 0 };
                format!("{number:.decimals$} ms")
            }
            Column::Sessions => format!("{number:.2}"),
            _ => format!("{number:.1}"),
        }
    }
}

impl Row {
    /// Whether the run says of itself that it may be believed.
    pub fn is_valid(&self) -> bool {
        self.doubts.is_empty()
    }
}

impl RunSummary {
    /// Reads a run's summary; the kernel sent `syns_again` SYNs again in the course of it.
    pub fn read(summary: &Value, syns_again: Option<u64>) -> Result<RunSummary> {
        let classes = summary.pointer("/classes").and_then(Value::as_array);
        let class = |class: &Value| {
            let name = class["name"].as_str().context("a class without a name")?;
            Ok((name.to_owned(), Measured::of(class)?))
        };
        Ok(RunSummary {
            measured: Measured::read(summary, syns_again)?,
            classes: classes.into_iter().flatten().map(class).collect::<Result<_>>()?,
            doubts: doubts(summary),
        })
    }
}

impl Measured {
    /// Reads a run's summary; the kernel sent `syns_again` SYNs again in the course of it.
    fn read(summary: &Value, syns_again: Option<u64>) -> Result<Measured> {
        let phases = ["warm_up_ns", "steady_ns", "drain_ns"].map(|phase| format!("/phases/{phase}"));
        let lasted_ns = phases.iter().map(|phase| number(summary, phase)).sum::<Result<f64>>()?;
        let sessions = summary.pointer("/generator/arrivals/begun").and_then(Value::as_f64);
        let steady_s = number(summary, "/phases/steady_ns")? / 1e9;
        Ok(Measured {
            syns_again_per_s: syns_again.map(|count| count as f64 / (lasted_ns / 1e9)),
            open: summary.pointer("/generator/in_system_mean").and_then(Value::as_f64),
            lateness_ms: quantile_ms(summary, "/generator/lateness", "p99"),
            departure_ms: quantile_ms(summary, "/network/departure_lateness", "p99"),
            arrival_ms: quantile_ms(summary, "/network/arrival_lateness", "p99"),
            lost: lost(summary),
            overflow: overflow(summary),
            busy: busiest(summary),
            sessions_per_s: sessions.map(|begun| begun / steady_s),
            ..Measured::of(summary)?
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
            completed_per_s: per_s("completed")?,
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

    /// A row of curve `curve` that completed and attempted so many requests a second.
    pub fn row(curve: usize, value: u32, attempts_per_s: f64, completed_per_s: f64) -> Row {
        let measured = Measured {
            offered_per_s: attempts_per_s,
            attempts_per_s,
            syns_again_per_s: Some(0.0),
            completed_per_s,
            abandoned: 0.25,
            ..Measured::default()
        };
        let (classes, doubts) = (BTreeMap::new(), Vec::new());
        Row { curve, value: Number::Whole(value), measured, classes, doubts, tries: 1 }
    }

    fn summary() -> Value {
        serde_json::json!({
            "phases": { "warm_up_ns": 1e9, "steady_ns": 8e9, "drain_ns": 1e9 },
            "verdict": { "checks": [
                { "name": "completed", "state": "passed" }, { "name": "send-lateness", "state": "failed" } ] },
            "steady": {
                "requests": 200, "error_share": 0.5,
                "rates": { "offered_per_s": 25.0, "connects_per_s": 24.0, "completed_per_s": 12.5,
                    "body_bytes_per_s": 125_000.0 },
                "times": { "response": { "mean_ns": 12e6, "quantiles": [ { "name": "p50", "value_ns": 3_000_000 } ] } },
                "outcomes": [ { "name": "ok", "count": 100 }, { "name": "connect-abandoned", "count": 50 } ] },
            "generator": { "lateness": { "quantiles": [ { "name": "p99", "value_ns": 1_500_000 } ] },
                "in_system_mean": 7.5, "worker_busy": [0.25, 0.5], "arrivals": { "begun": 20 } },
            "pages": { "completed": 30, "failed": 10, "response": { "mean_ns": 2_500_000_000u64 },
                "html_latency": { "mean_ns": 8_000_000 } },
            "classes": [ { "name": "modem",
                "steady": { "requests": 4, "rates": { "offered_per_s": 0.5, "connects_per_s": 0.5, "completed_per_s": 0.25,
                    "body_bytes_per_s": 0.0 } },
                "pages": { "completed": 1, "failed": 0, "response": { "mean_ns": 7_000_000_000u64 } } } ],
            "network": {
                "packets_up": 480, "packets_down": 500, "drops": { "lost": 40, "queue_full": 6 },
                "departure_lateness": { "quantiles": [ { "name": "p99", "value_ns": 20_000 } ] },
                "arrival_lateness": null },
        })
    }

    #[test]
    fn a_summary_is_read() {
        let RunSummary { measured, classes, doubts } = RunSummary::read(&summary(), Some(30)).unwrap();
        let row = Row { measured, classes, doubts, ..row(0, 64, 0.0, 0.0) };
        let of = |column: Column| column.of(&row).map(|number| column.written(number));
        for (column, expected) in [
            (Column::Value, Some("64")),
            (Column::Offered, Some("25.0")),
            (Column::Attempts, Some("24.0")),
            (Column::Syns, Some("27.0")),
            (Column::Completed, Some("12.5")),
            (Column::Abandoned, Some("25.0 %")),
            (Column::Errors, Some("50.0 %")),
            (Column::Response, Some("12 ms")),
            (Column::Median, Some("3.00 ms")),
            (Column::Open, Some("7.5")),
            (Column::Little, Some("600 ms")),
            (Column::Body, Some("1.0")),
            (Column::Lateness, Some("1.50 ms")),
            (Column::Departure, Some("0.02 ms")),
            (Column::Arrival, None),
            (Column::Lost, Some("4.0 %")),
            (Column::Overflow, Some("1.200 %")),
            (Column::Busy, Some("50 %")),
            (Column::Page, Some("2500 ms")),
            (Column::Latency, Some("8.00 ms")),
            (Column::FailedPages, Some("25.0 %")),
            (Column::Sessions, Some("2.50")),
        ] {
            assert_eq!(of(column).as_deref(), expected, "{column:?}");
        }
        let modem = row.classes["modem"];
        assert_eq!((modem.page_ms, modem.latency_ms, modem.failed_pages), (Some(7000.0), None, Some(0.0)));
        assert_eq!((modem.completed_per_s, modem.open, modem.sessions_per_s), (0.25, None, None));
        assert_eq!(row.doubts, ["send-lateness"]);
        assert!(!row.is_valid());
    }

    #[test]
    fn what_is_missing_is_named() {
        let mut summary = summary();
        summary["steady"]["rates"] = Value::Null;
        let error = RunSummary::read(&summary, None).unwrap_err().to_string();
        assert!(error.contains("/steady/rates/offered_per_s"), "{error}");
    }
}
