//! Readings of a server by the monitors of its run, by second: `monitors.parquet`.

use super::detail::{Detail, Line};
use anyhow::{Context, Result};
use farfield_measure::monitor::metric;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::path::Path;

/// The tier of the server that farfield started, or that it sends to.
const SERVER: &str = "server";

/// A quantity that is monitored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gauge {
    /// Processors that the server took.
    ServerCpu,
    /// Processors that farfield took.
    GeneratorCpu,
    /// Processes of the server.
    Processes,
    /// Their resident memory in bytes; what processes share counts for each.
    Memory,
    /// Connections that wait to be accepted, of all listeners.
    AcceptQueue,
    /// Connections that are established in the server's network namespace.
    Established,
}

/// The numbers of a run's monitors, by second.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Monitors(BTreeMap<Gauge, BTreeMap<i64, f64>>);

/// Numbers of the steady part of a run. Absent where monitors read none.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Monitored {
    /// Processors that the server took, in the mean.
    pub server_cpu: Option<f64>,
    /// Processors that the generator took, in the mean.
    pub generator_cpu: Option<f64>,
    /// The server's processes, in the mean.
    pub processes: Option<f64>,
    /// The most of them.
    pub processes_most: Option<f64>,
    /// The most memory that they had resident, in megabytes; what they share counts for each.
    pub memory_mb: Option<f64>,
    /// The most connections that waited to be accepted.
    pub queue_most: Option<f64>,
    /// Connections that are established, in the mean.
    pub established: Option<f64>,
}

impl Monitors {
    /// Reads a file of monitors.
    pub fn read(path: &Path) -> Result<Monitors> {
        let failed = || format!("cannot read {}", path.display());
        let reader =
            SerializedFileReader::new(File::open(path).with_context(failed)?).with_context(failed)?;
        let mut monitors = Monitors::default();
        for row in reader.get_row_iter(None).with_context(failed)? {
            let row = row.with_context(failed)?;
            let fields: BTreeMap<&str, &Field> =
                row.get_column_iter().map(|(name, field)| (name.as_str(), field)).collect();
            monitors.add(&fields).with_context(failed)?;
        }
        Ok(monitors)
    }

    /// Adds the number of a row; several of one second that belong to a gauge, such as time in the kernel and
    /// outside of it, are summed.
    fn add(&mut self, fields: &BTreeMap<&str, &Field>) -> Result<()> {
        let text = |name: &str| match fields.get(name) {
            Some(Field::Str(text)) => Ok(text.as_str()),
            _ => Err(anyhow::anyhow!("a row of monitors lacks `{name}`")),
        };
        let whole = matches!(fields.get("pid"), Some(Field::Null));
        let Some(gauge) = gauge(text("source")?, text("tier")?, text("metric")?).filter(|_| whole) else {
            return Ok(());
        };
        let (Some(Field::ULong(second)), Some(Field::Double(value))) =
            (fields.get("second"), fields.get("value"))
        else {
            anyhow::bail!("a row of monitors lacks its second or its value");
        };
        *self.0.entry(gauge).or_default().entry(second.cast_signed()).or_default() += value;
        Ok(())
    }

    /// The numbers of the seconds that lie in `steady`.
    pub fn within(&self, steady: Range<f64>) -> Monitored {
        let numbers = |gauge: Gauge| -> Vec<f64> {
            let seconds = self.0.get(&gauge).into_iter().flatten();
            let inside = |second: i64| steady.start <= second as f64 && (second + 1) as f64 <= steady.end;
            seconds.filter(|(second, _)| inside(**second)).map(|(_, value)| *value).collect()
        };
        let mean = |gauge| {
            let numbers = numbers(gauge);
            (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
        };
        let most = |gauge| numbers(gauge).into_iter().reduce(f64::max);
        Monitored {
            server_cpu: mean(Gauge::ServerCpu),
            generator_cpu: mean(Gauge::GeneratorCpu),
            processes: mean(Gauge::Processes),
            processes_most: most(Gauge::Processes),
            memory_mb: most(Gauge::Memory).map(|bytes| bytes / 1e6),
            queue_most: most(Gauge::AcceptQueue),
            established: mean(Gauge::Established),
        }
    }

    /// The line of a chart over the seconds of the run; none where it is not of monitors, or was not read.
    pub fn lines(&self, detail: Detail) -> Vec<Line> {
        let gauge = match detail {
            Detail::Processes => Gauge::Processes,
            Detail::AcceptQueue => Gauge::AcceptQueue,
            Detail::Memory => Gauge::Memory,
            _ => return Vec::new(),
        };
        let unit = if gauge == Gauge::Memory { 1e6 } else { 1.0 };
        let seconds = self.0.get(&gauge).into_iter().flatten();
        // A state is as of the end of its second.
        let points = seconds.map(|(second, value)| ((second + 1) as f64, value / unit));
        vec![Line::new("", points)]
    }
}

impl Monitored {
    /// Every number 1.
    #[cfg(test)]
    pub fn complete() -> Monitored {
        let some = Some(1.0);
        Monitored {
            server_cpu: some,
            generator_cpu: some,
            processes: some,
            processes_most: some,
            memory_mb: some,
            queue_most: some,
            established: some,
        }
    }
}

/// The quantity of a number that is of no single process.
fn gauge(source: &str, tier: &str, name: &str) -> Option<Gauge> {
    let is_cpu = [metric::CPU_USER, metric::CPU_SYSTEM].contains(&name);
    match (source, tier) {
        ("tier", SERVER) if is_cpu => Some(Gauge::ServerCpu),
        ("tier", SERVER) if name == metric::PROCESSES => Some(Gauge::Processes),
        ("tier", SERVER) if name == metric::RESIDENT => Some(Gauge::Memory),
        ("generator", _) if is_cpu => Some(Gauge::GeneratorCpu),
        ("listener", SERVER) if name == metric::ACCEPT_QUEUE => Some(Gauge::AcceptQueue),
        ("network", _) if name == "tcp_connections" => Some(Gauge::Established),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::Instant;
    use farfield_measure::monitor::{MonitorLog, SeriesName, SeriesSource, write_parquet};

    /// Two seconds of a server with two processes, then four, as farfield writes them.
    fn written() -> (tempfile::TempDir, Monitors) {
        let mut log = MonitorLog::default();
        let put = |log: &mut MonitorLog, source, tier: &str, pid, metric: &str, value| {
            let name =
                SeriesName { source, tier: tier.into(), name: String::new(), pid, metric: metric.into() };
            let series = log.series(name).unwrap();
            log.put(series, value);
        };
        for (second, processes, queue) in [(0, 2.0, 0.0), (1, 4.0, 6.0), (2, 3.0, 1.0)] {
            log.begin(second, Instant::from_ns((second + 1) * 1_000_000_000));
            put(&mut log, SeriesSource::Tier, SERVER, None, metric::CPU_USER, 0.25);
            put(&mut log, SeriesSource::Tier, SERVER, None, metric::CPU_SYSTEM, 0.5);
            put(&mut log, SeriesSource::Process, SERVER, Some(7), metric::CPU_USER, 0.25);
            put(&mut log, SeriesSource::Tier, SERVER, None, metric::PROCESSES, processes);
            put(&mut log, SeriesSource::Tier, SERVER, None, metric::RESIDENT, processes * 1e6);
            put(&mut log, SeriesSource::Tier, "database", None, metric::PROCESSES, 90.0);
            put(&mut log, SeriesSource::Listener, SERVER, None, metric::ACCEPT_QUEUE, queue);
            put(&mut log, SeriesSource::Network, "", None, "tcp_connections", processes);
            put(&mut log, SeriesSource::Generator, "", None, metric::CPU_SYSTEM, 0.125);
        }
        log.end();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("monitors.parquet");
        write_parquet(&log.snapshot(), File::create(&path).unwrap()).unwrap();
        let monitors = Monitors::read(&path).unwrap();
        (folder, monitors)
    }

    #[test]
    fn a_file_is_read_and_only_the_steady_part_counts() {
        let (_folder, monitors) = written();
        let steady = monitors.within(1.0..3.0);
        assert_eq!((steady.processes, steady.processes_most), (Some(3.5), Some(4.0)));
        assert_eq!((steady.server_cpu, steady.generator_cpu), (Some(0.75), Some(0.125)));
        assert_eq!(
            (steady.memory_mb, steady.queue_most, steady.established),
            (Some(4.0), Some(6.0), Some(3.5))
        );
        assert_eq!(monitors.within(0.5..1.5), Monitored::default(), "no whole second lies within");
        assert_eq!(monitors.lines(Detail::AcceptQueue)[0].points, [(1.0, 0.0), (2.0, 6.0), (3.0, 1.0)]);
        assert_eq!(monitors.lines(Detail::Memory)[0].points[1], (2.0, 4.0));
        assert!(monitors.lines(Detail::Distribution).is_empty());
    }

    #[test]
    fn a_file_of_something_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("monitors.parquet");
        std::fs::write(&path, "nothing").unwrap();
        let error = Monitors::read(&path).unwrap_err().to_string();
        assert!(error.contains("monitors.parquet"), "{error}");
    }
}
