//! Readings of monitors while a run went on: the server's processes, sockets and machine, and the
//! generator's.
//!
//! A [`MonitorLog`] holds numbers by second, each of a named series. Its file, `monitors.parquet`, has one
//! row a number (long form), since series come and go with processes. The log is bounded: past a number of
//! readings every second one is dropped and later ones are kept half as often, so a run of any length is
//! covered to its end; and there are at most a few thousand series. What gave out first is found by
//! [`bottleneck`](crate::bottleneck).
//!
//! This module reads nothing from the system; that is the engine's part.

mod file;
pub mod metric;
mod readings;

pub use file::{MonitoredSeries, Snapshot, read_parquet, write_parquet};

use farfield_base::Instant;
use readings::{MonitorReading, Readings};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Most numbers that a log keeps before it is thinned, in 4 to 18 MB: three hours of a machine and a server
/// of a few processes, second by second.
const NUMBERS_MAX: usize = 2_000_000;
/// Most series of a log. The numbers of further ones are counted, not kept.
const SERIES_MAX: usize = 4_096;
/// Characters of a name that are kept: labels may be of any length.
const NAME_MAX: usize = 160;

/// The kind of thing that a series is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SeriesSource {
    /// All processes of a tier.
    Tier,
    /// One process of a tier.
    Process,
    /// A listening socket; its name is the address.
    Listener,
    /// TCP and UDP in the server's network namespace.
    Network,
    /// A network interface in the server's network namespace.
    Interface,
    /// The machine that farfield runs on.
    Machine,
    /// A disk of that machine.
    Disk,
    /// The process of farfield.
    Generator,
    /// A thread of farfield.
    Thread,
    /// A Prometheus exporter; its tier is the exporter's name, its name the labels.
    Prometheus,
}

impl SeriesSource {
    /// Name of the source in the file.
    pub fn name(self) -> &'static str {
        match self {
            SeriesSource::Tier => "tier",
            SeriesSource::Process => "process",
            SeriesSource::Listener => "listener",
            SeriesSource::Network => "network",
            SeriesSource::Interface => "interface",
            SeriesSource::Machine => "machine",
            SeriesSource::Disk => "disk",
            SeriesSource::Generator => "generator",
            SeriesSource::Thread => "thread",
            SeriesSource::Prometheus => "prometheus",
        }
    }
}

impl fmt::Display for SeriesSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name of a series.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeriesName {
    /// Subject of the series.
    pub source: SeriesSource,
    /// The tier of servers, such as `server`, `web`, `database`; empty for what is not of a tier.
    pub tier: String,
    /// The process's, interface's or disk's name, a listener's address, or labels; may be empty.
    pub name: String,
    /// The process or thread; `None` where it is about neither.
    pub pid: Option<u32>,
    /// The quantity, with its unit: one of [`metric`], or an exporter's own name.
    pub metric: String,
}

/// The index of a series in its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesId(u32);

/// Readings of a run.
#[derive(Debug, Clone)]
pub struct MonitorLog {
    series: Vec<Arc<SeriesName>>,
    ids: BTreeMap<Arc<SeriesName>, SeriesId>,
    readings: Readings,
    open: MonitorReading,
    numbers_max: usize,
    /// Only seconds that are multiples of this are kept.
    every: u64,
    left_out: u64,
    notes: Vec<String>,
}

impl Default for MonitorLog {
    fn default() -> MonitorLog {
        MonitorLog {
            series: Vec::new(),
            ids: BTreeMap::new(),
            readings: Readings::default(),
            open: MonitorReading::default(),
            numbers_max: NUMBERS_MAX,
            every: 1,
            left_out: 0,
            notes: Vec::new(),
        }
    }
}

impl MonitorLog {
    /// The series of this name, new or not; `None` if there are too many.
    pub fn series(&mut self, mut name: SeriesName) -> Option<SeriesId> {
        for text in [&mut name.tier, &mut name.name, &mut name.metric] {
            if let Some((end, _)) = text.char_indices().nth(NAME_MAX) {
                text.truncate(end);
            }
        }
        if let Some(id) = self.ids.get(&name) {
            return Some(*id);
        }
        if self.series.len() == SERIES_MAX {
            self.left_out += 1;
            return None;
        }
        let (id, name) = (SeriesId(self.series.len() as u32), Arc::new(name));
        self.series.push(Arc::clone(&name));
        self.ids.insert(name, id);
        Some(id)
    }

    /// Begins a reading of the second of the run that starts `second` seconds after its start; it was taken
    /// `at` an instant after the second's end.
    pub fn begin(&mut self, second: u64, at: Instant) {
        self.end();
        (self.open.second, self.open.at) = (second, at);
    }

    /// Adds a number to the reading. Numbers that are not finite are left out.
    pub fn put(&mut self, series: SeriesId, value: f64) {
        if value.is_finite() {
            self.open.values.push((series, value));
        }
    }

    /// Ends the reading, which is dropped if it has no numbers.
    pub fn end(&mut self) {
        let next = Vec::with_capacity(self.open.values.len());
        let values = std::mem::replace(&mut self.open.values, next);
        if values.is_empty() || !self.open.second.is_multiple_of(self.every) {
            return;
        }
        self.readings.push(MonitorReading { second: self.open.second, at: self.open.at, values });
        while self.readings.numbers() > self.numbers_max && self.readings.len() > 1 {
            self.every *= 2;
            self.readings = self.readings.thinned(self.every);
        }
    }

    /// Drops the reading that was begun.
    pub fn discard(&mut self) {
        self.open.values.clear();
    }

    /// Notes what could not be read, in a sentence; once if it is repeated, and at most twenty.
    pub fn note(&mut self, sentence: String) {
        if self.notes.len() < 20 && !self.notes.contains(&sentence) {
            self.notes.push(sentence);
        }
    }

    /// Remarks on numbers that could not be read or were left out.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        if self.left_out > 0 {
            notes.push(format!(
                "monitors keep {SERIES_MAX} series; {} numbers of further ones were left out",
                self.left_out
            ));
        }
        if self.every > 1 {
            notes.push(format!("monitors keep one reading in {} s of a run this long", self.every));
        }
        notes
    }

    /// True if nothing was read.
    pub fn is_empty(&self) -> bool {
        self.readings.len() == 0
    }

    /// All series with what they are called, in the order in which they appeared.
    pub fn names(&self) -> impl Iterator<Item = (SeriesId, &SeriesName)> {
        self.series.iter().enumerate().map(|(at, name)| (SeriesId(at as u32), &**name))
    }

    /// The values of every series by second, from the first to the last: `values[series][…] = (second,
    /// value)`. If a second has several, the last one holds.
    pub(crate) fn by_series(&self) -> Vec<Vec<(u64, f64)>> {
        let mut values: Vec<Vec<(u64, f64)>> = vec![Vec::new(); self.series.len()];
        self.readings.for_each(|reading| {
            for (series, value) in &reading.values {
                let of = &mut values[series.0 as usize];
                match of.last_mut() {
                    Some(last) if last.0 == reading.second => last.1 = *value,
                    _ => of.push((reading.second, *value)),
                }
            }
        });
        values
    }

    /// The values of all series of a source and metric, in the order in which they were read.
    pub fn values_of(&self, source: SeriesSource, metric: &str) -> Vec<f64> {
        let wanted = |id: &SeriesId| {
            let name = &self.series[id.0 as usize];
            name.source == source && name.metric == metric
        };
        let mut values = Vec::new();
        self.readings.for_each(|reading| {
            values.extend(reading.values.iter().filter(|(id, _)| wanted(id)).map(|(_, value)| *value));
        });
        values
    }

    /// A copy of the numbers so far, to be encoded elsewhere. It shares them with the log.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { series: self.series.clone(), readings: self.readings.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(metric: &str, pid: u32) -> SeriesName {
        let (tier, name) = ("server".to_owned(), "nginx".to_owned());
        SeriesName { source: SeriesSource::Process, tier, name, pid: Some(pid), metric: metric.to_owned() }
    }

    #[test]
    fn a_series_has_one_id_and_there_are_not_too_many() {
        let mut log = MonitorLog::default();
        let first = log.series(name("threads", 0));
        assert!(first.is_some());
        assert_eq!(log.series(name("threads", 0)), first);
        for pid in 1..SERIES_MAX as u32 {
            assert!(log.series(name("threads", pid)).is_some());
        }
        assert_eq!(log.series(name("threads", 1 << 20)), None);
        assert_eq!(log.series(name("threads", 0)), first, "those that are there stay");
        assert!(log.notes()[0].contains("1 numbers of further ones"), "{:?}", log.notes());
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        let mut log = MonitorLog::default();
        log.series(name(&"ü".repeat(10_000), 1));
        let (_, name) = log.names().next().expect("a series");
        assert_eq!(name.metric.chars().count(), NAME_MAX);
    }

    /// A log that is full covers the run to its end, at equal distances, and is bounded all the time.
    #[test]
    fn a_long_run_is_thinned_and_not_cut() {
        let mut log = MonitorLog { numbers_max: 100, ..MonitorLog::default() };
        let id = log.series(name("threads", 1)).expect("a series");
        for second in 0..10_000 {
            log.begin(second, Instant::from_ns(second));
            log.put(id, second as f64);
            log.put(id, f64::NAN);
            log.end();
            assert!(log.readings.len() <= 100);
        }
        let kept = &log.by_series()[0];
        assert!(kept.len() > 50, "{}", kept.len());
        let gaps: Vec<u64> = kept.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        assert!(gaps.iter().all(|gap| *gap == log.every), "{gaps:?}");
        assert!(kept.iter().all(|(second, value)| *value == *second as f64));
        assert!(kept.last().expect("readings").0 + log.every >= 10_000);
        assert!(log.notes()[0].contains("one reading in 128 s"), "{:?}", log.notes());
    }
}
