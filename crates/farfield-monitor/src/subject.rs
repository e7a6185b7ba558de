//! Something that numbers are recorded of: a tier, a process, a disk.

use farfield_measure::monitor::{MonitorLog, SeriesId, SeriesName, SeriesSource};

/// A source with its names, and the series that it has so far: recording allocates only the first time.
#[derive(Debug)]
pub(crate) struct Subject {
    source: SeriesSource,
    tier: String,
    name: String,
    pid: Option<u32>,
    series: Vec<(&'static str, Option<SeriesId>)>,
}

impl Subject {
    pub fn new(source: SeriesSource, tier: &str, name: &str, pid: Option<u32>) -> Subject {
        Subject { source, tier: tier.to_owned(), name: name.to_owned(), pid, series: Vec::new() }
    }

    /// The machine, the network or another thing of which there is one.
    pub fn only(source: SeriesSource) -> Subject {
        Subject::new(source, "", "", None)
    }

    /// Name of the subject.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Records `value` in the reading that `log` has begun.
    pub fn put(&mut self, log: &mut MonitorLog, metric: &'static str, value: f64) {
        let known = self.series.iter().find(|(name, _)| *name == metric).map(|(_, id)| *id);
        let id = known.unwrap_or_else(|| {
            let id = log.series(SeriesName {
                source: self.source,
                tier: self.tier.clone(),
                name: self.name.clone(),
                pid: self.pid,
                metric: metric.to_owned(),
            });
            self.series.push((metric, id));
            id
        });
        if let Some(id) = id {
            log.put(id, value);
        }
    }

    /// Records `value`, if there is one.
    pub fn put_some(&mut self, log: &mut MonitorLog, metric: &'static str, value: Option<f64>) {
        if let Some(value) = value {
            self.put(log, metric, value);
        }
    }
}
