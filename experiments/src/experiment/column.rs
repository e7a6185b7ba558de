//! The numbers of a run by name, its verdict on itself, and the points that several runs make.

use super::measured::{Measured, RunSummary};
use super::plan::Number;
use farfield_measure::interval::MeanEstimate;
use serde::Deserialize;
use std::collections::BTreeSet;

/// A number that each run has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Column {
    /// The value of the varied key.
    Value,
    /// Requests due in a second.
    Offered,
    /// Attempts to connect in a second.
    Attempts,
    /// SYNs in a second: the attempts, times the SYNs that the kernel counted for each over the whole run,
    /// connections begun and SYNs sent again.
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
    /// The mean response time by Little's law, in milliseconds: those open, divided by those completed.
    /// Unlike the mean of what was seen, it counts requests that outlast the run.
    Little,
    /// Bodies, in megabits a second.
    Body,
    /// The bodies of a second divided by its completed replies, in kilobytes.
    Size,
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
    /// The mean time from when a page was due to the end of the last of its requests, in milliseconds; of
    /// pages without a failure.
    Page,
    /// The mean HTML latency, to the first byte of the last object of a page, in milliseconds.
    Latency,
    /// The share of pages with a request that went wrong.
    FailedPages,
    /// Sessions begun in a second, where these arrive.
    Sessions,
    /// Processors that the server took.
    ServerCpu,
    /// Processors that the load generator took.
    GeneratorCpu,
    /// The server's processes, in the mean.
    Processes,
    /// The most processes that the server had.
    ProcessesMost,
    /// The most memory that the server's processes had resident; what they share counts for each.
    Memory,
    /// The most connections that waited to be accepted.
    Queue,
    /// Connections that were established at the server, in the mean.
    Established,
    /// The mean time of requests by packets, from the first byte of the request to the last of the reply.
    Actual,
    /// The mean time of requests that the load generator reports.
    Reported,
    /// The difference of that mean from the one that packets have for it.
    Error,
    /// The largest error of a single request, where the load generator keeps them.
    ErrorMax,
    /// The difference of the median that is reported from that of packets.
    MedianError,
    /// Connections by packets.
    Connections,
    /// The most of them open at once.
    OpenMost,
    /// The most requests on one of them.
    RequestsMost,
}

/// Probability of the intervals of a page.
pub const LEVEL: f64 = 0.9;
/// The least number of valid repeats with which a point has an interval, and claims on it are judged.
pub const VALID_MIN: usize = 3;

/// A point of a curve: its repeats, each with a server that was started anew.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The place of its curve.
    pub curve: usize,
    /// The value of the varied key.
    pub value: Number,
    /// Every run of the point, in the order in which they were made.
    pub repeats: Vec<RunSummary>,
    /// Why the point is unknown in spite of its repeats, such as that of another curve on which it rests.
    pub unknown: Option<String>,
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
            Column::Size => "mean body",
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
            Column::ServerCpu => "server, processors",
            Column::GeneratorCpu => "generator, processors",
            Column::Processes => "server processes",
            Column::ProcessesMost => "most processes",
            Column::Memory => "server memory",
            Column::Queue => "longest accept queue",
            Column::Established => "connections established",
            Column::Actual => "mean by packets",
            Column::Reported => "mean reported",
            Column::Error => "error of the mean",
            Column::ErrorMax => "largest error",
            Column::MedianError => "error of the median",
            Column::Connections => "connections",
            Column::OpenMost => "most open",
            Column::RequestsMost => "most requests on one",
        };
        head.to_owned()
    }

    /// The numbers of a point's valid repeats if it is valid, and else of all: a rate, a share or
    /// milliseconds of each. Absent if one of them lacks the number, since the mean of the others would be
    /// that of survivors.
    pub fn numbers(self, row: &Row) -> Option<Vec<f64>> {
        let counted = row.repeats.iter().filter(|run| run.doubts.is_empty() || !row.is_valid());
        counted.map(|run| self.of(row.value, &run.measured)).collect()
    }

    /// The mean over a point's repeats, with its interval where the point is valid.
    pub fn estimate(self, row: &Row) -> Option<MeanEstimate> {
        if self == Column::Value {
            return Some(MeanEstimate::constant(row.value.as_f64()));
        }
        let numbers = self.numbers(row)?;
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        match row.is_valid() {
            true => MeanEstimate::of(&numbers),
            false => (!numbers.is_empty()).then_some(MeanEstimate::constant(mean)),
        }
    }

    /// The number of a run, where it has one: a rate, a share or milliseconds.
    fn of(self, value: Number, measured: &Measured) -> Option<f64> {
        match self {
            Column::Value => Some(value.as_f64()),
            Column::Offered => Some(measured.offered_per_s),
            Column::Attempts => Some(measured.attempts_per_s),
            Column::Syns => measured.syns_per_s,
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
            Column::Size if measured.completed_per_s > 0.0 => {
                Some(measured.body_mbit_per_s * 1e3 / 8.0 / measured.completed_per_s)
            }
            Column::Size => None,
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
            Column::ServerCpu => measured.server.server_cpu,
            Column::GeneratorCpu => measured.server.generator_cpu,
            Column::Processes => measured.server.processes,
            Column::ProcessesMost => measured.server.processes_most,
            Column::Memory => measured.server.memory_mb,
            Column::Queue => measured.server.queue_most,
            Column::Established => measured.server.established,
            Column::Actual => measured.packets.actual_ms,
            Column::Reported => measured.packets.reported_ms,
            Column::Error => measured.packets.error_ms(),
            Column::ErrorMax => measured.packets.error_max_ms,
            Column::MedianError => measured.packets.median_error_ms,
            Column::Connections => measured.packets.connections,
            Column::OpenMost => measured.packets.open_most,
            Column::RequestsMost => measured.packets.requests_most,
        }
    }

    /// A number of this column, as the table has it, with half the width of its interval behind `±`.
    pub fn written(self, number: f64, half_width: Option<f64>) -> String {
        let (times, decimals, unit) = match self {
            Column::Value => return number.to_string(),
            Column::Abandoned | Column::Errors | Column::Lost | Column::FailedPages => (100.0, 1, " %"),
            Column::Overflow => (100.0, 3, " %"),
            Column::Busy => (100.0, 0, " %"),
            Column::Response
            | Column::Median
            | Column::Little
            | Column::Lateness
            | Column::Departure
            | Column::Arrival
            | Column::Page
            | Column::Latency => (1.0, if number < 10.0 { 2 } else { 0 }, " ms"),
            Column::Actual | Column::Reported | Column::Error | Column::ErrorMax | Column::MedianError => {
                (1.0, 3, " ms")
            }
            Column::Size => (1.0, 2, " kB"),
            Column::Memory => (1.0, 0, " MB"),
            Column::ServerCpu | Column::GeneratorCpu => (1.0, 2, ""),
            Column::Connections | Column::OpenMost | Column::RequestsMost => (1.0, 0, ""),
            Column::Sessions => (1.0, 2, ""),
            _ => (1.0, 1, ""),
        };
        let digits = |number: f64| format!("{:.decimals$}", number * times);
        let interval = half_width.map(|half_width| format!(" ± {}", digits(half_width))).unwrap_or_default();
        format!("{}{interval}{unit}", digits(number))
    }
}

impl Row {
    /// The runs that say of themselves that they may be believed.
    pub fn valid(&self) -> usize {
        self.repeats.iter().filter(|run| run.doubts.is_empty()).count()
    }

    /// True if the point has enough valid repeats for an interval, and claims on it can be judged.
    pub fn is_valid(&self) -> bool {
        self.unknown.is_none() && self.valid() >= VALID_MIN
    }

    /// The checks that failed in its repeats, by name, each once.
    pub fn doubts(&self) -> Vec<&str> {
        let doubts: BTreeSet<&str> =
            self.repeats.iter().flat_map(|run| &run.doubts).map(String::as_str).collect();
        doubts.into_iter().collect()
    }

    /// The validity of the point: how many of its runs count, and why others do not.
    pub fn verdict(&self) -> String {
        let (valid, all) = (self.valid(), self.repeats.len());
        match (&self.unknown, valid == all) {
            (Some(reason), _) => format!("**not known**: {reason}"),
            (None, true) if self.is_valid() => format!("{valid} valid"),
            (None, true) => format!("**{valid} valid**, too few"),
            (None, false) => {
                let count = format!("{valid} of {all} valid");
                let count = if self.is_valid() { count } else { format!("**{count}**") };
                format!("{count}: {}", self.doubts().join(", "))
            }
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::experiment::measured::Syns;
    use crate::experiment::measured::tests::summary;
    use std::collections::BTreeMap;

    /// A point of three valid repeats, all of which completed and attempted so many requests a second.
    pub fn row(curve: usize, value: u32, attempts_per_s: f64, completed_per_s: f64) -> Row {
        spread_row(curve, value, attempts_per_s, [completed_per_s; 3])
    }

    /// A point of valid repeats, each of which completed its number of requests a second.
    pub fn spread_row<const N: usize>(curve: usize, value: u32, attempts: f64, completed: [f64; N]) -> Row {
        let repeat = |completed_per_s| {
            let measured = Measured {
                offered_per_s: attempts,
                attempts_per_s: attempts,
                syns_per_s: Some(attempts),
                completed_per_s,
                abandoned: 0.25,
                ..Measured::default()
            };
            RunSummary { measured, classes: BTreeMap::new(), doubts: Vec::new(), lines: BTreeMap::new() }
        };
        let repeats = completed.into_iter().map(repeat).collect();
        Row { curve, value: Number::Whole(value), repeats, unknown: None }
    }

    /// The point with its first repeats invalid, as many as `count`.
    pub fn doubted(mut row: Row, count: usize) -> Row {
        for run in &mut row.repeats[..count] {
            run.doubts = vec!["send-lateness".to_owned()];
        }
        row
    }

    #[test]
    fn a_summary_is_read() {
        let run = RunSummary::read(&summary(), Some(Syns { first: 225, again: 30 })).unwrap();
        let of = |column: Column| {
            let number = column.of(Number::Whole(64), &run.measured);
            number.map(|number| column.written(number, None))
        };
        for (column, expected) in [
            (Column::Value, Some("64")),
            (Column::Offered, Some("25.0")),
            (Column::Attempts, Some("24.0")),
            // Of 216 attempts there were 225 first SYNs, and 27 again in the 9 s in which users begin.
            (Column::Syns, Some("28.0")),
            (Column::Completed, Some("12.5")),
            (Column::Abandoned, Some("25.0 %")),
            (Column::Errors, Some("50.0 %")),
            (Column::Response, Some("12 ms")),
            (Column::Median, Some("3.00 ms")),
            (Column::Open, Some("7.5")),
            (Column::Little, Some("600 ms")),
            (Column::Body, Some("1.0")),
            (Column::Size, Some("10.00 kB")),
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
        let modem = run.classes["modem"];
        assert_eq!((modem.page_ms, modem.latency_ms, modem.failed_pages), (Some(7000.0), None, Some(0.0)));
        assert_eq!((modem.completed_per_s, modem.open, modem.sessions_per_s), (0.25, None, None));
        assert_eq!(run.doubts, ["send-lateness"]);
    }

    #[test]
    fn a_point_needs_three_valid_repeats() {
        let four = spread_row(0, 1, 50.0, [40.0, 10.0, 20.0, 30.0]);
        assert_eq!(four.verdict(), "4 valid");
        let three = doubted(four.clone(), 1);
        assert_eq!((three.is_valid(), three.verdict().as_str()), (true, "3 of 4 valid: send-lateness"));
        assert_eq!(
            Column::Completed.numbers(&three),
            Some(vec![10.0, 20.0, 30.0]),
            "the invalid one is left out"
        );
        let estimate = Column::Completed.estimate(&three).unwrap();
        assert_eq!(Column::Completed.written(estimate.mean, Some(estimate.half_width(LEVEL))), "20.0 ± 16.9");
        let two = doubted(four, 2);
        assert_eq!((two.is_valid(), two.verdict().as_str()), (false, "**2 of 4 valid**: send-lateness"));
        let estimate = Column::Completed.estimate(&two).unwrap();
        assert_eq!(
            (estimate.mean, estimate.half_width(LEVEL)),
            (25.0, 0.0),
            "of all, and without an interval"
        );
        assert_eq!(spread_row(0, 1, 50.0, [1.0]).verdict(), "**1 valid**, too few");
        let unknown = Row { unknown: Some("others".to_owned()), ..row(0, 1, 50.0, 40.0) };
        assert_eq!((unknown.is_valid(), unknown.verdict().as_str()), (false, "**not known**: others"));
    }

    /// A mean of the repeats in which something succeeded is one of survivors.
    #[test]
    fn a_number_that_a_repeat_lacks_is_missing() {
        let mut row = row(0, 1, 50.0, 40.0);
        assert_eq!(Column::Response.numbers(&row), None);
        row.repeats[1].measured.response_ms = Some(7.0);
        assert_eq!(Column::Response.numbers(&row), None);
        row.repeats[0].doubts = vec!["late".to_owned()];
        row.repeats[2].measured.response_ms = Some(9.0);
        row.repeats.push(row.repeats[2].clone());
        assert_eq!(Column::Response.numbers(&row), Some(vec![7.0, 9.0, 9.0]));
    }
}
