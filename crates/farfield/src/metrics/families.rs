//! The metrics of a run, whatever form they are sent in: names, what they mean, labels and numbers.
//!
//! The number of series is bounded: outcomes are a closed list, classes of clients are capped with the rest
//! added up, and names have at most [`NAME_MAX`] characters. Names that would become equal by that are kept
//! apart by a number, since two series of one name are an error for whoever reads them.

use super::snapshot::{Buckets, PartTotals, Snapshot};
use farfield_base::printable;
use farfield_engine::Run;
use std::collections::BTreeSet;
use std::path::Path;

/// Characters of the value of a label.
const NAME_MAX: usize = 100;
/// The name of the classes that have no figures of their own.
const FURTHER: &str = "(further classes)";
/// The name of the paths that have no figures of their own.
const FURTHER_PATHS: &str = "(further paths)";
/// Values of the label `phase`.
const PHASES: [&str; 2] = ["warm-up", "measured"];

/// Labels that identify a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunLabels {
    pub run: String,
    pub scenario: String,
    target: String,
    load: String,
    plane: String,
    planned_s: u64,
}

impl RunLabels {
    /// The labels of the run with this directory.
    pub fn of(run: &Run, directory: &Path) -> RunLabels {
        let Run { settings, plane } = run;
        let name = directory.file_name().unwrap_or(directory.as_os_str()).to_string_lossy();
        let planned = settings.warm_up + settings.duration + settings.users.end.cool_down;
        RunLabels {
            run: short(&name),
            scenario: short(&settings.heading.scenario),
            target: short(&settings.heading.target),
            load: short(&settings.heading.load_words),
            plane: plane.kind().name().to_owned(),
            planned_s: planned.as_secs_f64().round() as u64,
        }
    }
}

/// The type of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricType {
    /// A total, which only grows.
    Counter,
    Gauge,
    /// Counts by buckets, which only grow.
    Histogram,
}

/// All series of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    pub name: &'static str,
    pub help: &'static str,
    /// By the Unified Code for Units of Measure.
    pub unit: &'static str,
    pub kind: MetricType,
    pub points: Vec<MetricPoint>,
}

/// One series at one instant.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricPoint {
    pub labels: Vec<(&'static str, String)>,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Number(f64),
    Histogram(Buckets),
}

/// `text` as the value of a label.
fn short(text: &str) -> String {
    printable(text, &[]).chars().take(NAME_MAX).collect()
}

/// Names as values of a label, no two of them equal.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken = BTreeSet::from([FURTHER.to_owned(), FURTHER_PATHS.to_owned()]);
    let mut values = Vec::new();
    for name in names {
        let name = short(name);
        let numbered = (2..).map(|number| format!("{name} ({number})"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|value| !taken.contains(value));
        let value = free.expect("numbers do not run out");
        taken.insert(value.clone());
        values.push(value);
    }
    values
}

/// The metrics of a run at the instant of `snapshot`.
pub fn families(run: &RunLabels, snapshot: &Snapshot) -> Vec<Family> {
    let mut all = about_the_run(run, snapshot);
    all.extend(events(snapshot));
    all.extend(by_phase(snapshot));
    all.push(by_status(snapshot));
    all.push(by_path(snapshot));
    all.extend(by_class(snapshot));
    all.extend(by_flow(snapshot));
    all.extend(by_host(snapshot));
    all.retain(|family| !family.points.is_empty());
    all
}

fn number(labels: Vec<(&'static str, String)>, value: f64) -> MetricPoint {
    MetricPoint { labels, value: Value::Number(value) }
}

fn gauge(name: &'static str, unit: &'static str, help: &'static str, points: Vec<MetricPoint>) -> Family {
    Family { name, help, unit, kind: MetricType::Gauge, points }
}

fn about_the_run(run: &RunLabels, snapshot: &Snapshot) -> Vec<Family> {
    let facts = [
        ("scenario", &run.scenario),
        ("target", &run.target),
        ("load", &run.load),
        ("plane", &run.plane),
        ("run", &run.run),
    ];
    let mut labels: Vec<_> = facts.into_iter().map(|(name, value)| (name, value.clone())).collect();
    labels.push(("version", env!("CARGO_PKG_VERSION").to_owned()));
    let alone = |value: f64| vec![number(Vec::new(), value)];
    let quantiles = snapshot.response_ns.iter().map(|(quantile, ns)| {
        let label = quantile.as_f64().to_string();
        number(vec![("quantile", label)], *ns as f64 / 1e9)
    });
    let checks = snapshot.failed_checks.iter().map(|name| number(vec![("check", name.clone())], 1.0));
    vec![
        gauge("farfield_run_info", "", "Description of the run; always 1.", vec![number(labels, 1.0)]),
        gauge(
            "farfield_run_elapsed_seconds",
            "s",
            "Time since the start of the run.",
            alone(snapshot.now.as_ns() as f64 / 1e9),
        ),
        gauge(
            "farfield_run_planned_seconds",
            "s",
            "Length of the warm-up and the measured part.",
            alone(run.planned_s as f64),
        ),
        gauge(
            "farfield_run_ended",
            "",
            "1 once the run has ended.",
            alone(f64::from(u8::from(snapshot.ended))),
        ),
        gauge(
            "farfield_requests_in_system",
            "",
            "Requests that are due and not done.",
            alone(snapshot.in_system as f64),
        ),
        gauge("farfield_connections_open", "", "Open connections.", alone(snapshot.connections as f64)),
        gauge(
            "farfield_response_quantile_seconds",
            "s",
            "Percentiles of the response times of the measured part so far, from when requests were due.",
            quantiles.collect(),
        ),
        gauge(
            "farfield_check_failed",
            "",
            "1 for each check of the verdict that has failed so far: the run is invalid.",
            checks.collect(),
        ),
    ]
}

fn events(snapshot: &Snapshot) -> Vec<Family> {
    let total = |name, unit, help, of: fn(&farfield_measure::fold::EventCounts) -> u64| {
        let phases = PHASES.iter().zip(&snapshot.events);
        let points =
            phases.map(|(phase, events)| number(vec![("phase", (*phase).to_owned())], of(events) as f64));
        Family { name, help, unit, kind: MetricType::Counter, points: points.collect() }
    };
    vec![
        total("farfield_offered_total", "", "Requests due in the phase.", |events| events.offered),
        total("farfield_sent_total", "", "Requests sent in the phase.", |events| events.sent),
        total(
            "farfield_completed_total",
            "",
            "Whole replies in the phase, whatever their status.",
            |events| events.completed,
        ),
        total("farfield_succeeded_total", "", "Successful replies in the phase.", |events| events.succeeded),
        total("farfield_connects_total", "", "Attempts to connect in the phase.", |events| {
            events.connects_begun
        }),
        total("farfield_connected_total", "", "Connections established in the phase.", |events| {
            events.connected
        }),
        total("farfield_body_bytes_total", "By", "Bytes of bodies of replies.", |events| events.body_bytes),
        total("farfield_reply_bytes_total", "By", "All bytes of replies.", |events| events.reply_bytes),
    ]
}

/// Replies by status code: at most a thousand series for each phase.
fn by_status(snapshot: &Snapshot) -> Family {
    let points = PHASES.iter().zip(&snapshot.parts).flat_map(|(phase, totals)| {
        totals.statuses.iter().map(move |(status, count)| {
            number(vec![("phase", (*phase).to_owned()), ("status", status.to_string())], *count as f64)
        })
    });
    Family {
        name: "farfield_replies_total",
        unit: "",
        help: "Replies to requests that were due in the phase, by status code.",
        kind: MetricType::Counter,
        points: points.collect(),
    }
}

/// Replies of the measured part by path and status code: at most [`PATHS_MAX`](super::snapshot::PATHS_MAX)
/// paths, and what others are together.
fn by_path(snapshot: &Snapshot) -> Family {
    let names = distinct(snapshot.paths.iter().map(|(path, _)| path.as_str()));
    let further = snapshot.further_paths.iter().map(|statuses| (FURTHER_PATHS.to_owned(), statuses));
    let all = names.into_iter().zip(snapshot.paths.iter().map(|(_, statuses)| statuses)).chain(further);
    let points = all.flat_map(|(path, statuses)| {
        statuses.iter().map(move |(status, count)| {
            number(vec![("path", path.clone()), ("status", status.to_string())], *count as f64)
        })
    });
    Family {
        name: "farfield_path_replies_total",
        unit: "",
        help: "Replies to requests for a path in the measured part, by status code.",
        kind: MetricType::Counter,
        points: points.collect(),
    }
}

fn by_phase(snapshot: &Snapshot) -> Vec<Family> {
    let parts = PHASES.iter().map(|phase| (*phase).to_owned()).zip(&snapshot.parts).collect::<Vec<_>>();
    apart(
        "phase",
        &parts,
        [
            ("farfield_requests_total", "Requests that were due in the phase and have ended, by outcome."),
            (
                "farfield_response_seconds",
                "Times of successful requests from when they were due; failed ones are counted in farfield_requests_total.",
            ),
            ("farfield_service_seconds", "Times of successful requests from when they were sent."),
        ],
    )
}

fn by_class(snapshot: &Snapshot) -> Vec<Family> {
    let mut parts = named(&snapshot.classes);
    parts.extend(snapshot.further_classes.iter().map(|totals| (FURTHER.to_owned(), totals)));
    apart(
        "class",
        &parts,
        [
            (
                "farfield_class_requests_total",
                "Requests of a class of clients in the measured part that have ended, by outcome.",
            ),
            (
                "farfield_class_response_seconds",
                "Response times of the class in the measured part, of successful requests.",
            ),
            (
                "farfield_class_service_seconds",
                "Service times of the class in the measured part, of successful requests.",
            ),
        ],
    )
}

fn by_flow(snapshot: &Snapshot) -> Vec<Family> {
    apart(
        "flow",
        &named(&snapshot.flows),
        [
            (
                "farfield_flow_requests_total",
                "Requests of a flow of users in the measured part that have ended, by outcome.",
            ),
            (
                "farfield_flow_response_seconds",
                "Response times of the flow in the measured part, of successful requests.",
            ),
            (
                "farfield_flow_service_seconds",
                "Service times of the flow in the measured part, of successful requests.",
            ),
        ],
    )
}

fn by_host(snapshot: &Snapshot) -> Vec<Family> {
    apart(
        "host",
        &named(&snapshot.hosts),
        [
            (
                "farfield_host_requests_total",
                "Requests for a host in the measured part that have ended, by outcome.",
            ),
            (
                "farfield_host_response_seconds",
                "Response times of the host in the measured part, of successful requests.",
            ),
            (
                "farfield_host_service_seconds",
                "Service times of the host in the measured part, of successful requests.",
            ),
        ],
    )
}

/// Parts, each with a name of its own that a label can have.
fn named(parts: &[(String, PartTotals)]) -> Vec<(String, &PartTotals)> {
    let names = distinct(parts.iter().map(|(name, _)| name.as_str()));
    names.into_iter().zip(parts.iter().map(|(_, totals)| totals)).collect()
}

/// Requests by outcome, response and service times, for each value of a label; names with what they mean.
fn apart(
    label: &'static str,
    parts: &[(String, &PartTotals)],
    [requests, response, service]: [(&'static str, &'static str); 3],
) -> Vec<Family> {
    let outcomes = parts.iter().flat_map(|(value, totals)| {
        totals.outcomes.iter().map(move |(outcome, count)| {
            let labels = vec![
                (label, value.clone()),
                ("outcome", outcome.name().to_owned()),
                ("fault", outcome.fault().name().to_owned()),
            ];
            number(labels, *count as f64)
        })
    });
    let times = |(name, help), of: fn(&PartTotals) -> &Buckets| {
        let points = parts.iter().map(|(value, totals)| MetricPoint {
            labels: vec![(label, value.clone()), ("outcome", "ok".to_owned())],
            value: Value::Histogram(of(totals).clone()),
        });
        Family { name, help, unit: "s", kind: MetricType::Histogram, points: points.collect() }
    };
    let (name, help) = requests;
    vec![
        Family { name, help, unit: "", kind: MetricType::Counter, points: outcomes.collect() },
        times(response, |totals| &totals.response),
        times(service, |totals| &totals.service),
    ]
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use farfield_base::{Instant, Outcome};
    use farfield_measure::Quantile;

    /// Four requests of 3 ms in the measured part, one that timed out, and two classes.
    pub fn snapshot() -> Snapshot {
        let up_to: Vec<u64> =
            Buckets::bounds().map(|bound| if bound.as_ns() >= 3_000_000 { 4 } else { 0 }).collect();
        let times = Buckets { up_to, count: 4, sum_ns: 12_000_000 };
        let measured = PartTotals {
            outcomes: vec![(Outcome::Ok, 4), (Outcome::TimedOut, 1)],
            statuses: vec![(200, 4)],
            response: times.clone(),
            service: times,
        };
        Snapshot {
            unix_ms: 1_700_000_000_123,
            now: Instant::from_ns(2_500_000_000),
            parts: [PartTotals::default(), measured.clone()],
            flows: vec![("api".to_owned(), measured.clone())],
            hosts: vec![("cdn.test".to_owned(), measured.clone())],
            classes: vec![("a\"\\\n".to_owned(), measured), ("b".to_owned(), PartTotals::default())],
            connections: 7,
            in_system: 3,
            response_ns: vec![(Quantile::P99, 3_000_000)],
            failed_checks: vec!["lateness".to_owned()],
            ..Snapshot::default()
        }
    }

    pub fn labels() -> RunLabels {
        RunLabels {
            run: "2026-01-31-run".to_owned(),
            scenario: "shop".to_owned(),
            target: "http://127.0.0.1/".to_owned(),
            load: "open".to_owned(),
            plane: "sockets".to_owned(),
            planned_s: 11,
        }
    }

    #[test]
    fn names_that_become_equal_are_kept_apart() {
        let long = "x".repeat(150);
        let longer = format!("{}y", "x".repeat(149));
        let values =
            distinct([long.as_str(), longer.as_str(), "a\u{1}", "a\\u0001", FURTHER, "a"].into_iter());
        let unique: BTreeSet<&String> = values.iter().collect();
        assert_eq!(unique.len(), values.len(), "{values:?}");
        assert!(
            values.iter().all(|value| value != FURTHER && value.chars().count() <= NAME_MAX + 8),
            "{values:?}"
        );
        assert_eq!(values[5], "a");
    }

    #[test]
    fn a_run_that_has_measured_nothing_has_totals_of_zero() {
        let all = families(&labels(), &Snapshot::default());
        assert!(all.iter().any(|family| family.name == "farfield_offered_total"));
        assert!(
            !all.iter().any(|family| family.name == "farfield_requests_total"),
            "no outcome has occurred"
        );
    }
}
