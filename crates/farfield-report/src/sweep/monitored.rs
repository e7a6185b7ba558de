//! Numbers of what monitors read of a run, as columns of a question: `monitor.WHO.METRIC.HOW`.
//!
//! WHO is a tier (`server`, or one of the scenario's) or another source (`generator`, `listener`, `network`,
//! `interface`, `machine`, `disk`, `prometheus`); METRIC a name of [`metric`], or `cpu_processors` for
//! processor time in user mode and in the kernel; HOW `mean`, `max` or `min` over the whole seconds of the
//! measured part. Several entries of one second, such as listeners, are summed. Numbers of single processes
//! do not count.

use crate::directory::{self, RunDirectory};
use farfield_measure::monitor::{self, MonitoredSeries, metric};
use std::collections::BTreeMap;
use std::path::Path;

/// Beginning of the names.
const PREFIX: &str = "monitor.";
/// Processor time of both modes.
const CPU: &str = "cpu_processors";
/// The file of a run.
const FILE: &str = "monitors.parquet";
/// Sources that are not tiers.
const SOURCES: [&str; 7] = ["generator", "listener", "network", "interface", "machine", "disk", "prometheus"];

/// A number of monitors, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MonitorNumber<'a> {
    who: &'a str,
    metric: &'a str,
    how: Aggregation,
}

/// One number of many seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aggregation {
    Mean,
    Max,
    Min,
}

/// True if a name is one of these numbers, or is meant to be.
pub fn is_one(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// The fault of a name that is none of these numbers, if it begins like one.
pub fn fault(name: &str) -> Option<String> {
    (is_one(name) && MonitorNumber::read(name).is_none()).then(|| {
        "write a number of monitors as monitor.WHO.METRIC.mean (or max, min), such as monitor.server.cpu_processors.mean"
            .to_owned()
    })
}

/// The number of a run.
///
/// # Errors
/// Why there is none, as a clause.
pub fn of_run(run: &RunDirectory, name: &str) -> Result<f64, String> {
    let asked = MonitorNumber::read(name).ok_or_else(|| format!("{name} is no number of monitors"))?;
    let phases = run.summary().phases;
    let (begin, end) = (phases.warm_up_ns, phases.warm_up_ns + phases.steady_ns);
    let whole = begin.div_ceil(1_000_000_000)..end / 1_000_000_000;
    let by_second = read(&run.path().join(FILE), &asked)?;
    let numbers: Vec<f64> =
        by_second.into_iter().filter(|(second, _)| whole.contains(second)).map(|(_, value)| value).collect();
    asked
        .how
        .of(&numbers)
        .ok_or_else(|| format!("monitors read no {} of {} in a run", asked.metric, asked.who))
}

/// The sum of the entries of each second.
fn read(path: &Path, asked: &MonitorNumber) -> Result<BTreeMap<u64, f64>, String> {
    let file = directory::open(path).map_err(|error| format!("a run has no {FILE}: {error}"))?;
    let metrics = asked.metrics();
    let source = if SOURCES.contains(&asked.who) { asked.who } else { "tier" };
    let wanted: Vec<(&str, &str)> = metrics.iter().map(|metric| (source, *metric)).collect();
    let series = monitor::read_parquet(file, &wanted).map_err(|error| format!("{FILE} of a run: {error}"))?;
    let is_asked = |watched: &MonitoredSeries| source != "tier" || watched.tier == asked.who;
    let mut by_second = BTreeMap::new();
    for (_, values) in series.into_iter().filter(|(watched, _)| is_asked(watched)) {
        for (second, value) in values {
            *by_second.entry(second).or_default() += value;
        }
    }
    Ok(by_second)
}

impl<'a> MonitorNumber<'a> {
    fn read(name: &'a str) -> Option<MonitorNumber<'a>> {
        let (rest, how) = name.strip_prefix(PREFIX)?.rsplit_once('.')?;
        let (who, metric) = rest.rsplit_once('.')?;
        let how = match how {
            "mean" => Aggregation::Mean,
            "max" => Aggregation::Max,
            "min" => Aggregation::Min,
            _ => return None,
        };
        (!who.is_empty() && !metric.is_empty()).then_some(MonitorNumber { who, metric, how })
    }

    /// The metrics that are summed.
    fn metrics(&self) -> Vec<&'a str> {
        match self.metric {
            CPU => vec![metric::CPU_USER, metric::CPU_SYSTEM],
            metric => vec![metric],
        }
    }
}

impl Aggregation {
    fn of(self, numbers: &[f64]) -> Option<f64> {
        let numbers = || numbers.iter().copied();
        match self {
            Aggregation::Mean => {
                numbers().reduce(|sum, number| sum + number).map(|sum| sum / numbers().len() as f64)
            }
            Aggregation::Max => numbers().reduce(f64::max),
            Aggregation::Min => numbers().reduce(f64::min),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::Instant;
    use farfield_measure::monitor::{MonitorLog, SeriesName, SeriesSource, write_parquet};

    /// Two listeners and two tiers over three seconds, as farfield writes them.
    fn written(path: &Path) {
        let mut log = MonitorLog::default();
        for (second, processes, queue) in [(0, 2.0, 0.0), (1, 4.0, 6.0), (2, 3.0, 1.0)] {
            log.begin(second, Instant::from_ns((second + 1) * 1_000_000_000));
            let mut put = |source, tier: &str, name: &str, pid, metric: &str, value| {
                let (tier, name, metric) = (tier.to_owned(), name.to_owned(), metric.to_owned());
                let series = log.series(SeriesName { source, tier, name, pid, metric }).expect("a series");
                log.put(series, value);
            };
            put(SeriesSource::Tier, "server", "", None, metric::CPU_USER, 0.25);
            put(SeriesSource::Tier, "server", "", None, metric::CPU_SYSTEM, 0.5);
            put(SeriesSource::Process, "server", "nginx", Some(7), metric::CPU_USER, 0.25);
            put(SeriesSource::Tier, "server", "", None, metric::PROCESSES, processes);
            put(SeriesSource::Tier, "database.one", "", None, metric::PROCESSES, 90.0);
            put(SeriesSource::Listener, "server", "0.0.0.0:80", None, metric::ACCEPT_QUEUE, queue);
            put(SeriesSource::Listener, "server", "[::]:80", None, metric::ACCEPT_QUEUE, 1.0);
        }
        log.end();
        write_parquet(&log.snapshot(), std::fs::File::create(path).expect("own file")).expect("a file");
    }

    fn number(path: &Path, name: &str) -> Option<f64> {
        let asked = MonitorNumber::read(name).expect("a name");
        let numbers: Vec<f64> = read(path, &asked).expect("a file").into_values().skip(1).collect();
        asked.how.of(&numbers)
    }

    #[test]
    fn tiers_and_sources_have_numbers() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(FILE);
        written(&path);
        for (name, expected) in [
            ("monitor.server.cpu_processors.mean", Some(0.75)),
            ("monitor.server.cpu_user_processors.max", Some(0.25)),
            ("monitor.server.processes.mean", Some(3.5)),
            ("monitor.server.processes.min", Some(3.0)),
            ("monitor.database.one.processes.max", Some(90.0)),
            ("monitor.listener.accept_queue.max", Some(7.0)),
            ("monitor.server.nothing.mean", None),
            ("monitor.other.processes.mean", None),
        ] {
            assert_eq!(number(&path, name), expected, "{name}");
        }
        let none =
            read(&folder.path().join("none"), &MonitorNumber::read("monitor.a.b.mean").expect("a name"));
        assert!(none.expect_err("no file").starts_with("a run has no monitors.parquet"));
    }

    #[test]
    fn other_names_are_none() {
        for name in
            ["monitor.server.processes", "monitor..x.mean", "monitor.server.processes.p99", "monitor.mean"]
        {
            assert!(fault(name).is_some_and(|fault| fault.contains("monitor.WHO.METRIC")), "{name}");
        }
        assert_eq!(fault("monitor.server.processes.max"), None);
        assert!(!is_one("steady.rates.offered_per_s") && fault("p99").is_none());
    }
}
