//! The numbers of a log, by what they are about.

use crate::monitor::{MonitorLog, SeriesName, SeriesSource};
use std::collections::{BTreeMap, BTreeSet};

/// Readings in a row in which a condition must hold.
const IN_A_ROW: usize = 3;

/// The values of a series by second.
pub(super) type Values = BTreeMap<u64, f64>;

/// All series of the examined seconds.
pub(super) struct ExaminedSeries<'a> {
    series: Vec<(&'a SeriesName, Values)>,
}

/// Period in which a condition held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConditionPeriod {
    /// The second from which it held in a row.
    pub second: u64,
    /// Readings from then on in which it held.
    pub readings: u64,
}

impl<'a> ExaminedSeries<'a> {
    /// The numbers of seconds below `until`.
    pub fn of(log: &'a MonitorLog, until: u64) -> ExaminedSeries<'a> {
        let values = log.by_series();
        let series = log.names().zip(values).map(|((_, name), values)| {
            (name, values.into_iter().filter(|(second, _)| *second < until).collect())
        });
        ExaminedSeries { series: series.collect() }
    }

    /// The number of seconds in which something of a server was read.
    pub fn seconds(&self) -> u64 {
        let of_server =
            |source| matches!(source, SeriesSource::Tier | SeriesSource::Listener | SeriesSource::Prometheus);
        let found = self.series.iter().filter(|(name, _)| of_server(name.source));
        found.flat_map(|(_, values)| values.keys()).collect::<BTreeSet<_>>().len() as u64
    }

    /// Names of the tiers.
    pub fn tiers(&self) -> Vec<&'a str> {
        let tiers = self.series.iter().filter(|(name, _)| name.source == SeriesSource::Tier);
        tiers.map(|(name, _)| name.tier.as_str()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The series of a source and metric.
    pub fn each(
        &self,
        source: SeriesSource,
        metric: &str,
    ) -> impl Iterator<Item = (&'a SeriesName, &Values)> {
        let wanted = move |name: &SeriesName| name.source == source && name.metric == metric;
        self.series.iter().filter(move |(name, _)| wanted(name)).map(|(name, values)| (*name, values))
    }

    /// The series of a tier.
    pub fn of_tier(&self, tier: &str, metric: &str) -> Option<&Values> {
        self.each(SeriesSource::Tier, metric).find(|(name, _)| name.tier == tier).map(|(_, values)| values)
    }

    /// The only series of a source and metric.
    pub fn only(&self, source: SeriesSource, metric: &str) -> Option<&Values> {
        self.each(source, metric).next().map(|(_, values)| values)
    }

    /// The series of the same thing as `name`, with another metric.
    pub fn beside(&self, name: &SeriesName, metric: &str) -> Option<&Values> {
        let same = |other: &SeriesName| {
            (other.source, &other.tier, &other.name, other.pid)
                == (name.source, &name.tier, &name.name, name.pid)
        };
        self.each(name.source, metric).find(|(other, _)| same(other)).map(|(_, values)| values)
    }
}

/// The sum of two series in the seconds that have both.
pub(super) fn sum(one: Option<&Values>, other: Option<&Values>) -> Values {
    let (Some(one), Some(other)) = (one, other) else { return Values::new() };
    one.iter().filter_map(|(second, value)| Some((*second, value + other.get(second)?))).collect()
}

/// The last value at or before `second`, else the first.
pub(super) fn at(values: &Values, second: u64) -> Option<f64> {
    let before = values.range(..=second).next_back();
    before.or_else(|| values.iter().next()).map(|(_, value)| *value)
}

/// The period in which `holds` was true of `values` in a row; `None` if it never was for long enough.
pub(super) fn held(values: &Values, holds: impl Fn(u64, f64) -> bool) -> Option<ConditionPeriod> {
    let held: Vec<(u64, bool)> =
        values.iter().map(|(second, value)| (*second, holds(*second, *value))).collect();
    let row = IN_A_ROW.min(held.len());
    if row == 0 {
        return None;
    }
    let first = held.windows(row).position(|row| row.iter().all(|(_, holds)| *holds))?;
    let readings = held[first..].iter().filter(|(_, holds)| *holds).count() as u64;
    Some(ConditionPeriod { second: held[first].0, readings })
}

/// The mean from `second` on.
pub(super) fn mean_from(values: &Values, second: u64) -> f64 {
    let (sum, count) =
        values.range(second..).fold((0.0, 0_u32), |(sum, count), (_, value)| (sum + value, count + 1));
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}

/// The largest value from `second` on.
pub(super) fn max_from(values: &Values, second: u64) -> f64 {
    values.range(second..).map(|(_, value)| *value).fold(0.0, f64::max)
}
