//! A metric of a whole run, or of a part of it: `p99`, `p99(connect){mobile}`.

use super::measured::Measured;
use super::metric::{Metric, MetricError};
use super::side::ComparisonSide;
use crate::directory::RunDirectory;
use farfield_base::printable;
use farfield_measure::interval::{BoundedEstimate, variance_of_shares};
use serde::{Serialize, Serializer};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// A metric, and the part of the run that it is of, as thresholds name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopedMetric {
    /// The metric.
    pub metric: Metric,
    /// The name of a class, a flow, a host, a stage or a state; `None` for the whole run.
    pub part: Option<String>,
}

/// Why a part has no number.
const NO_PART: &str = "a run has no class, flow, host, stage or state of this name";

impl ScopedMetric {
    /// The metric's number in each run, or the reason why a run has none.
    pub(super) fn of_runs(&self, runs: &[RunDirectory]) -> Result<Vec<f64>, &'static str> {
        runs.iter().map(|run| self.of_run(run)).collect()
    }

    /// The metric's number in a run, or the reason why it has none.
    pub(crate) fn of_run(&self, run: &RunDirectory) -> Result<f64, &'static str> {
        self.metric.of(self.measured(run)?)
    }

    /// The metric's number in a run with its interval, or the reason why it has none.
    pub(super) fn estimate_of(&self, run: &RunDirectory) -> Result<BoundedEstimate, &'static str> {
        self.metric.estimate_of(self.measured(run)?)
    }

    /// The requests of a run that it is the share of errors of; `None` of other metrics.
    pub(crate) fn requests_of(&self, run: &RunDirectory) -> Option<u64> {
        let is_share = self.metric == Metric::Errors;
        self.measured(run).ok().filter(|_| is_share).map(Measured::requests)
    }

    /// The squared standard error that the mean of these numbers of runs has at least: that of a share of
    /// errors, 0 of other metrics.
    pub(super) fn variance_of_mean(&self, runs: &[&RunDirectory], numbers: &[f64]) -> f64 {
        if self.metric != Metric::Errors {
            return 0.0;
        }
        let requests = runs.iter().filter_map(|run| self.requests_of(run));
        variance_of_shares(numbers, &requests.collect::<Vec<_>>())
    }

    fn measured<'a>(&self, run: &'a RunDirectory) -> Result<Measured<'a>, &'static str> {
        match &self.part {
            None => Ok(Measured::whole(run)),
            Some(name) => {
                let mut parts = Measured::parts(run);
                parts.find(|(own, _)| own == name).map(|(_, measured)| measured).ok_or(NO_PART)
            }
        }
    }

    /// Refuses a part that no run of `sides` has: a slip of the hand, not a finding.
    ///
    /// # Errors
    /// Names the parts that there are.
    pub fn check(&self, sides: &[ComparisonSide]) -> Result<(), NoPart> {
        let Some(part) = &self.part else { return Ok(()) };
        let runs = sides.iter().flat_map(ComparisonSide::runs);
        let names: BTreeSet<&str> = runs.flat_map(Measured::parts).map(|(name, _)| name).collect();
        if names.contains(part.as_str()) {
            return Ok(());
        }
        let shown = |name: &str| printable(name, &[]).into_owned();
        let there = match names.len() {
            0 => "none has any".to_owned(),
            _ => format!(
                "there are {}",
                names.into_iter().take(PARTS_SHOWN).map(shown).collect::<Vec<_>>().join(", ")
            ),
        };
        Err(NoPart { part: shown(part), there })
    }
}

/// Names of parts that a message has at most.
const PARTS_SHOWN: usize = 20;

/// The part of a metric is in no run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no run has a class, flow, host, stage or state `{part}`; {there}")]
pub struct NoPart {
    part: String,
    there: String,
}

impl From<Metric> for ScopedMetric {
    fn from(metric: Metric) -> ScopedMetric {
        ScopedMetric { metric, part: None }
    }
}

impl fmt::Display for ScopedMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.part {
            None => self.metric.fmt(f),
            Some(part) => write!(f, "{}{{{}}}", self.metric, printable(part, &[])),
        }
    }
}

impl FromStr for ScopedMetric {
    type Err = MetricError;

    fn from_str(text: &str) -> Result<ScopedMetric, MetricError> {
        let Some((metric, part)) = text.split_once('{') else { return Ok(text.parse::<Metric>()?.into()) };
        let is_name = |part: &&str| !part.is_empty() && !part.contains(|c: char| c == '}' || c.is_control());
        let part = part.strip_suffix('}').map(str::trim).filter(is_name);
        let part = part.ok_or_else(|| MetricError(text.to_owned()))?;
        let metric = metric.trim().parse().map_err(|_| MetricError(text.to_owned()))?;
        Ok(ScopedMetric { metric, part: Some(part.to_owned()) })
    }
}

impl Serialize for ScopedMetric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_stands_in_braces() {
        for name in ["p99", "p99{cdn}", "p99.9(connect){a-b + c}", "rate{3..5}"] {
            assert_eq!(name.parse::<ScopedMetric>().expect(name).to_string(), name);
        }
        let spaced: ScopedMetric = "p99 { cdn }".parse().expect("blanks are none of the name");
        assert_eq!(spaced.part.as_deref(), Some("cdn"));
        for name in [
            "p99{",
            "p99{}",
            "p99{ }",
            "p99{a}b}",
            "p99{a\u{1b}[2Jb}",
            "p99{a}b",
            "max{a}",
            "{a}",
            "rate(connect){a}",
        ] {
            assert_eq!(name.parse::<ScopedMetric>(), Err(MetricError(name.to_owned())), "{name}");
        }
    }
}
