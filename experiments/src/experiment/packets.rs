//! Figures of a run, or of another load generator, by its packets: `verify.json` of a run with a capture,
//! and `audit.json` of an audit.
//!
//! The study of Hashemian, Krishnamurthy and Arlitt (2011) compares means: its absolute error is the
//! difference of the mean that a generator reports from that of the packets. A generator's own times and
//! those of the packets go from the first byte of a request to the last of its reply.

use super::detail::{Detail, Line};
use serde_json::Value;
use toml::Table;

/// Numbers that rest on packets. Absent ones were not captured, or are not in a tool's report.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Packets {
    /// The mean time of requests as the packets have it, in milliseconds.
    pub actual_ms: Option<f64>,
    /// The mean that the generator reports.
    pub reported_ms: Option<f64>,
    /// Mean by the packets, to compare with that: with the handshake where the generator counts it.
    counterpart_ms: Option<f64>,
    /// The largest error of a single request.
    pub error_max_ms: Option<f64>,
    /// The difference of the median that is reported from that of the packets, without its sign.
    pub median_error_ms: Option<f64>,
    /// Connections.
    pub connections: Option<f64>,
    /// The most of them open at the beginning of a second of the run, or at any instant of an audit.
    pub open_most: Option<f64>,
    /// The most requests on one.
    pub requests_most: Option<f64>,
}

impl Packets {
    /// True if a run of `scenario` captures packets and holds its samples against them.
    pub fn are_verified(scenario: &Table) -> bool {
        let capture = scenario.get("capture").and_then(toml::Value::as_table);
        let is = |key: &str| capture.and_then(|keys| keys.get(key)).and_then(toml::Value::as_bool);
        is("gateway") == Some(true) && is("verify") != Some(false)
    }

    /// Figures of `verify.json`. Times are left out of a capture at the gateway of an emulated network:
    /// there they lack the path.
    pub fn of_run(verification: &Value) -> Packets {
        let at_gateway = verification["capture"]["at_gateway"] == true;
        let service = service(verification).filter(|_| !at_gateway);
        let ms = |pointer: &str| milliseconds(service?, pointer);
        let open = verification["connections"].as_array();
        let open = open.into_iter().flatten().filter_map(|second| second["open"].as_f64());
        Packets {
            actual_ms: ms("/packets/mean_ns"),
            reported_ms: ms("/samples/mean_ns"),
            counterpart_ms: ms("/packets/mean_ns"),
            error_max_ms: ms("/max_absolute_ns"),
            median_error_ms: apart(ms("/samples/p50_ns"), ms("/packets/p50_ns")),
            connections: verification["capture"]["connections"].as_f64(),
            open_most: open.reduce(f64::max),
            requests_most: verification["requests_per_connection"]["max"].as_f64(),
        }
    }

    /// Figures of `audit.json`.
    pub fn of_audit(audit: &Value) -> Packets {
        let rows = audit["rows"].as_array();
        let ms = |figure: &str, side: &str| {
            let row = rows.into_iter().flatten().find(|row| row["figure"] == figure)?;
            Some(row[side].as_f64()? / 1e6)
        };
        let of_connections = |name: &str| audit["connections"][name].as_f64();
        Packets {
            actual_ms: milliseconds(audit, "/truth/times/mean_ns"),
            reported_ms: ms("mean", "reported"),
            counterpart_ms: ms("mean", "observed"),
            error_max_ms: None,
            median_error_ms: apart(ms("p50", "reported"), ms("p50", "observed")),
            connections: of_connections("accepted"),
            open_most: of_connections("open_max"),
            requests_most: of_connections("requests_max"),
        }
    }

    /// The study's absolute error: the mean that is reported, less that of the packets, without its sign.
    pub fn error_ms(&self) -> Option<f64> {
        apart(self.reported_ms, self.counterpart_ms)
    }

    /// Every number 1, and no error.
    #[cfg(test)]
    pub fn complete() -> Packets {
        let some = Some(1.0);
        Packets {
            actual_ms: some,
            reported_ms: some,
            counterpart_ms: some,
            error_max_ms: some,
            median_error_ms: some,
            connections: some,
            open_most: some,
            requests_most: some,
        }
    }
}

/// The lines of a chart that `verify.json` has; none if it lacks them.
pub fn lines_of_run(verification: &Value, detail: Detail) -> Vec<Line> {
    let numbers = |pointer: &str| verification.pointer(pointer).and_then(Value::as_array);
    match detail {
        Detail::ConnectionsOpen => {
            let point = |at: &Value| Some((at["second"].as_f64()?, at["open"].as_f64()?));
            vec![Line::new("", numbers("/connections").into_iter().flatten().filter_map(point))]
        }
        Detail::RequestsInOrder => in_order(numbers("/requests_per_connection/in_order_of_closing")),
        Detail::Distribution => {
            let Some(service) = service(verification) else { return Vec::new() };
            let line = |name, side: &str| Line::new(name, named_percentiles(&service[side]));
            vec![line("reported", "samples"), line("packets", "packets")]
        }
        _ => Vec::new(),
    }
}

/// The lines of a chart that `audit.json` has; none if it lacks them.
pub fn lines_of_audit(audit: &Value, detail: Detail) -> Vec<Line> {
    match detail {
        Detail::ConnectionsOpen => {
            let seconds = audit.pointer("/connections/open_by_second").and_then(Value::as_array);
            let open = seconds.into_iter().flatten().filter_map(Value::as_f64).enumerate();
            vec![Line::new("", open.map(|(second, open)| (second as f64, open)))]
        }
        Detail::RequestsInOrder => {
            in_order(audit.pointer("/connections/in_order_of_closing").and_then(Value::as_array))
        }
        Detail::Distribution => {
            let point = |one: &Value, time: &str| {
                Some((one.pointer(time)?.as_f64()? / 1e6, one["percent"].as_f64()? / 100.0))
            };
            let line = |name, pointer: &str, time: &str| {
                let all = audit.pointer(pointer).and_then(Value::as_array);
                Line::new(name, all.into_iter().flatten().filter_map(|one| point(one, time)))
            };
            let lines = [
                line("reported", "/reported/percentiles", "/time/ns"),
                line("packets", "/truth/times/percentiles", "/ns"),
            ];
            lines.into_iter().filter(|line| !line.points.is_empty()).collect()
        }
        _ => Vec::new(),
    }
}

/// Most connections that a chart shows one by one.
const DRAWN_MAX: usize = 500;

/// Requests on each connection, by the place in which it closed, from 1; of more connections than a chart
/// has room for, every second one or fewer.
fn in_order(requests: Option<&Vec<Value>>) -> Vec<Line> {
    let requests: Vec<f64> = requests.into_iter().flatten().filter_map(Value::as_f64).collect();
    let every = requests.len().div_ceil(DRAWN_MAX).max(1);
    let places = requests.into_iter().enumerate().step_by(every);
    vec![Line::new("", places.map(|(place, requests)| (place as f64 + 1.0, requests)))]
}

/// The errors of service times: from the first byte of a request, whenever it was due.
fn service(verification: &Value) -> Option<&Value> {
    verification["times"].as_array()?.iter().find(|time| time["time"] == "service")
}

/// The points of a distribution function that a distribution's named percentiles are: milliseconds and
/// shares.
fn named_percentiles(distribution: &Value) -> impl Iterator<Item = (f64, f64)> {
    const NAMED: [(&str, f64); 6] = [
        ("min_ns", 0.0),
        ("p50_ns", 0.5),
        ("p90_ns", 0.9),
        ("p99_ns", 0.99),
        ("p99_9_ns", 0.999),
        ("max_ns", 1.0),
    ];
    NAMED.into_iter().filter_map(|(name, share)| Some((distribution[name].as_f64()? / 1e6, share)))
}

fn apart(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    Some((one? - other?).abs())
}

fn milliseconds(of: &Value, pointer: &str) -> Option<f64> {
    Some(of.pointer(pointer)?.as_f64()? / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn verification(at_gateway: bool) -> Value {
        let side = |mean: f64| json!({ "mean_ns": mean, "min_ns": 1e6, "p50_ns": 2e6, "max_ns": 9e6 });
        json!({
            "capture": { "at_gateway": at_gateway, "connections": 3 },
            "times": [
                { "time": "reply" },
                { "time": "service", "max_absolute_ns": 250_000, "samples": side(2.5e6), "packets": side(2.4e6) } ],
            "connections": [ { "second": 0, "open": 0 }, { "second": 1, "open": 2 }, { "second": 2, "open": 1 } ],
            "requests_per_connection": { "max": 7, "in_order_of_closing": [5, 7, 1] },
        })
    }

    #[test]
    fn a_scenario_says_whether_it_is_verified() {
        let is = |text: &str| Packets::are_verified(&text.parse().unwrap());
        assert!(is("capture.gateway = true") && !is("") && !is("capture.gateway = false"));
        assert!(!is("capture = { gateway = true, verify = false }"));
    }

    #[test]
    fn a_verification_is_read() {
        let found = Packets::of_run(&verification(false));
        assert!((found.error_ms().unwrap() - 0.1).abs() < 1e-9);
        assert_eq!(
            (found.actual_ms, found.error_max_ms, found.median_error_ms),
            (Some(2.4), Some(0.25), Some(0.0))
        );
        assert_eq!(
            (found.connections, found.open_most, found.requests_most),
            (Some(3.0), Some(2.0), Some(7.0))
        );
        let lines = |detail| lines_of_run(&verification(false), detail);
        assert_eq!(lines(Detail::ConnectionsOpen)[0].points, [(0.0, 0.0), (1.0, 2.0), (2.0, 1.0)]);
        assert_eq!(lines(Detail::RequestsInOrder)[0].points, [(1.0, 5.0), (2.0, 7.0), (3.0, 1.0)]);
        let [reported, packets] = lines(Detail::Distribution).try_into().unwrap();
        assert_eq!((reported.name, packets.name), ("reported", "packets"));
        assert_eq!(reported.points, [(1.0, 0.0), (2.0, 0.5), (9.0, 1.0)]);
    }

    #[test]
    fn a_chart_has_room_for_some_hundred_connections() {
        let requests: Vec<Value> = (0..2_500).map(Value::from).collect();
        let [line] = in_order(Some(&requests)).try_into().unwrap();
        assert_eq!((line.points.len(), line.points[1]), (500, (6.0, 5.0)), "every fifth, in its place");
    }

    /// At the gateway packets are seen behind the path: the difference is the path's, not an error.
    #[test]
    fn times_at_a_gateway_are_left_out() {
        let found = Packets::of_run(&verification(true));
        assert_eq!((found.actual_ms, found.error_ms(), found.error_max_ms), (None, None, None));
        assert_eq!(found.connections, Some(3.0));
    }

    /// A tool that counts handshakes is held against times with them; what servers did is without.
    #[test]
    fn an_audit_is_read() {
        let audit = json!({
            "truth": { "times": { "mean_ns": 2e6, "percentiles": [{ "percent": 50.0, "ns": 1_500_000 }] } },
            "reported": { "percentiles": [{ "percent": 99.0, "time": { "ns": 8_000_000 } }] },
            "rows": [ { "figure": "rate", "reported": 1.0 }, { "figure": "mean", "reported": 4e6, "observed": 2.5e6 },
                { "figure": "p50", "reported": 1e6, "observed": 1.5e6 } ],
            "connections": { "accepted": 9, "open_max": 4, "requests_max": 3, "open_by_second": [4, 2],
                "in_order_of_closing": [3, 3] },
        });
        let found = Packets::of_audit(&audit);
        assert_eq!((found.actual_ms, found.reported_ms, found.error_ms()), (Some(2.0), Some(4.0), Some(1.5)));
        assert_eq!(found.median_error_ms, Some(0.5));
        assert_eq!(
            (found.connections, found.open_most, found.requests_most),
            (Some(9.0), Some(4.0), Some(3.0))
        );
        let points =
            |detail| lines_of_audit(&audit, detail).into_iter().map(|line| line.points).collect::<Vec<_>>();
        assert_eq!(points(Detail::Distribution), [[(8.0, 0.99)], [(1.5, 0.5)]]);
        assert_eq!(points(Detail::ConnectionsOpen), [[(0.0, 4.0), (1.0, 2.0)]]);
        assert_eq!(points(Detail::RequestsInOrder), [[(1.0, 3.0), (2.0, 3.0)]]);
        let silent = Packets::of_audit(&json!({ "rows": [] }));
        assert_eq!(silent, Packets::default(), "what a tool does not report is no error of 0");
    }
}
