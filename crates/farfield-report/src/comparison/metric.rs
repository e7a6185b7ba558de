//! The metrics of a comparison: a rate, a share, or a time, under the names that thresholds have.

use super::measured::{Measured, Share};
use crate::directory::RunDirectory;
use farfield_base::Duration;
use farfield_experiment::sweep::{Need, Scale};
use farfield_measure::batches::interval::{BEYOND_MIN, EVENTS_MIN, MEAN_MIN, NoInterval, NoIntervalReason};
use farfield_measure::interval::BoundedEstimate;
use farfield_measure::summary::TimingSummary;
use farfield_measure::{Quantile, Timing};
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A number that each run has, of its measured part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Successful replies a second.
    Rate,
    /// Share of requests that went wrong or were unfinished at the end of the run.
    Errors,
    /// A time's mean or percentile, in nanoseconds.
    Time(Statistic, Timing),
}

/// The statistic that sums a time up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// The mean.
    Mean,
    /// A percentile.
    Quantile(Quantile),
}

/// The name of no metric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no metric that runs are compared by; there are rate, errors, mean, p50, p90, p95, p99, p99.9 and \
     p99.99, the times also as p99(service), p99(connect), p99(reply) or p99(transfer)"
)]
pub struct MetricError(pub String);

/// Why a run has no number.
const NOTHING: &str = "a run has measured nothing of it";
/// The most that rounding may move a number by, as a share of it.
const ROUNDING: f64 = 0.002;

/// A measured part of less than two milliseconds becomes so many times as long.
const TOO_SHORT_BY: u64 = 10;

/// The percentiles that every summary has.
const QUANTILES: [&str; 6] = ["p50", "p90", "p95", "p99", "p99.9", "p99.99"];

impl Metric {
    /// The metrics that are compared unless more is asked for.
    pub const DEFAULT: [Metric; 7] = [
        Metric::Rate,
        Metric::Errors,
        Metric::Time(Statistic::Mean, Timing::Response),
        Metric::Time(Statistic::Quantile(Quantile::P50), Timing::Response),
        Metric::Time(Statistic::Quantile(Quantile::P90), Timing::Response),
        Metric::Time(Statistic::Quantile(Quantile::P99), Timing::Response),
        Metric::Time(Statistic::Quantile(Quantile::P99_9), Timing::Response),
    ];

    /// The scale on which its numbers are compared.
    pub fn scale(self) -> Scale {
        match self {
            Metric::Errors => Scale::Difference,
            Metric::Rate | Metric::Time(..) => Scale::Ratio,
        }
    }

    /// True if more of it is better.
    pub fn is_better_high(self) -> bool {
        self == Metric::Rate
    }

    /// The metric's number in each run, or the reason why a run has none.
    pub fn of_runs(self, runs: &[RunDirectory]) -> Result<Vec<f64>, &'static str> {
        runs.iter().map(|run| self.of_run(run)).collect()
    }

    /// The metric's number in a run, or the reason why it has none.
    pub fn of_run(self, run: &RunDirectory) -> Result<f64, &'static str> {
        self.of(Measured::whole(run))
    }

    /// The metric's number in what was measured, or the reason why there is none.
    pub(super) fn of(self, measured: Measured<'_>) -> Result<f64, &'static str> {
        let (statistic, timing) = match self {
            Metric::Rate => return measured.rate().value.ok_or(NOTHING),
            Metric::Errors => return measured.errors().value.ok_or(NOTHING),
            Metric::Time(statistic, timing) => (statistic, timing),
        };
        if let Some(estimate) = measured.estimate(timing) {
            let time = match statistic {
                Statistic::Mean => Some(estimate.mean),
                Statistic::Quantile(quantile) => estimate.quantile(quantile),
            };
            return match time.ok_or(NOTHING)? {
                time if time.is_lower_bound => Err("too many requests of a run were never answered"),
                time => Ok(time.value_ns as f64),
            };
        }
        let times = measured.times(timing).ok_or(NOTHING)?;
        match statistic {
            Statistic::Mean => Ok(times.mean_ns as f64),
            Statistic::Quantile(quantile) => {
                if quantile.interval_ranks(times.count).is_none() {
                    return Err("a run has too few requests for it");
                }
                times.quantile_ns(quantile).map(|ns| ns as f64).ok_or(NOTHING)
            }
        }
    }
}

impl Metric {
    /// The metric's number in a run with the 95 % interval that the run has of it, or the reason why it has
    /// none.
    ///
    /// Where requests were never answered, the number is an estimate that counts these by their ages, and has
    /// no interval of its own. It has that of the answered ones, in proportion, as long as it lies within:
    /// the others then move it by less than what is not known anyway.
    pub(super) fn estimate_of(self, measured: Measured<'_>) -> Result<BoundedEstimate, &'static str> {
        let value = self.of(measured)?;
        let [low, high] = self.interval_of(measured)?;
        // Percentiles of histograms are rounded, and so are ends of intervals.
        let rounding = value.abs() * ROUNDING;
        if value < low - rounding || high + rounding < value {
            return Err("too many requests of a run were never answered for an interval");
        }
        // An end that stayed where it is would be the nearer, the more requests were never answered.
        let moved = self.answered(measured).map_or(1.0, |answered| value / answered);
        let (low, high) = (low * moved, high * moved);
        Ok(BoundedEstimate { value, low: low.min(value), high: high.max(value) })
    }

    /// The number of the answered requests alone, where that of the run is an estimate.
    fn answered(self, measured: Measured<'_>) -> Option<f64> {
        let Metric::Time(statistic, timing) = self else { return None };
        measured.estimate(timing)?;
        let times = measured.times(timing)?;
        let ns = match statistic {
            Statistic::Mean => times.mean_ns,
            Statistic::Quantile(quantile) => times.quantile_ns(quantile)?,
        };
        (ns > 0).then_some(ns as f64)
    }

    /// The need of a run for an interval of its own; none where it has one, and where no length of run is
    /// known to matter: repeats of self-similar arrivals are independent, though no part of a run shows their
    /// mean.
    pub fn need_of(self, run: &RunDirectory) -> Option<Need> {
        let none = self.no_interval(run)?;
        let lasted = Duration::from_ns(run.summary().phases.steady_ns);
        let beside = |least: f64, of: &str| {
            let found = none.needs_ns.map_or(0.0, |needs| least * lasted.as_ns() as f64 / needs as f64);
            format!("{self} needs {least} {of}, and a run of {lasted} has {found:.0}")
        };
        let lacks = match (none.reason, self) {
            (NoIntervalReason::NotKept | NoIntervalReason::NotEnded, _) => return None,
            (NoIntervalReason::TooCorrelated, Metric::Rate) if none.needs_ns.is_none() => return None,
            (NoIntervalReason::TooFewSessions, _) => format!("a run of {lasted} is shorter than 50 sessions"),
            (NoIntervalReason::TooShort, _) => {
                let length_ns = Some(lasted.as_ns().saturating_mul(TOO_SHORT_BY));
                return Some(Need {
                    length_ns,
                    lacks: format!("a run of {lasted} is too short for any interval"),
                });
            }
            (_, Metric::Rate) => beside(EVENTS_MIN as f64, "replies"),
            (_, Metric::Errors) => "no request was due".to_owned(),
            (_, Metric::Time(Statistic::Mean, _)) => beside(MEAN_MIN, "independent requests"),
            (_, Metric::Time(Statistic::Quantile(_), _)) => {
                beside(BEYOND_MIN, "independent requests beyond it")
            }
        };
        Some(Need { length_ns: none.needs_ns, lacks })
    }

    /// Why a run has no interval of a number; none where it has one, or measured nothing of it.
    fn no_interval(self, run: &RunDirectory) -> Option<NoInterval> {
        let measured = Measured::whole(run);
        match self {
            Metric::Rate => measured.rate().no_interval,
            Metric::Errors => measured.errors().no_interval,
            Metric::Time(statistic, timing) => {
                let times = measured.times(timing)?;
                match statistic {
                    Statistic::Mean => times.no_mean_interval,
                    Statistic::Quantile(quantile) => times.quantile(quantile)?.no_interval,
                }
            }
        }
    }

    fn interval_of(self, measured: Measured<'_>) -> Result<[f64; 2], &'static str> {
        let share = |share: Share| share.interval.ok_or_else(|| why(share.no_interval));
        let (statistic, timing) = match self {
            Metric::Rate => return share(measured.rate()),
            Metric::Errors => return share(measured.errors()),
            Metric::Time(statistic, timing) => (statistic, timing),
        };
        let times = measured.times(timing).ok_or(NOTHING)?;
        if is_older(times) {
            return Err("a run is of an older farfield, whose intervals took requests for independent");
        }
        let (interval, none) = match statistic {
            Statistic::Mean => (times.mean_interval_ns, times.no_mean_interval),
            Statistic::Quantile(quantile) => {
                let held = times.quantile(quantile).ok_or(NOTHING)?;
                (held.interval_ns, held.no_interval)
            }
        };
        Ok(interval.ok_or_else(|| why(none))?.map(|ns| ns as f64))
    }
}

/// True if these are times of a summary from before intervals allowed for requests that are alike.
fn is_older(times: &TimingSummary) -> bool {
    times.mean_interval_ns.is_none() && times.no_mean_interval.is_none()
}

/// Why a run has no interval of a number.
fn why(none: Option<NoInterval>) -> &'static str {
    match none.map(|none| none.reason) {
        Some(NoIntervalReason::TooFew) => "a run has too few requests for its interval",
        Some(NoIntervalReason::TooCorrelated) => {
            "requests of a run are too alike for its interval: measure for longer"
        }
        Some(NoIntervalReason::TooFewSessions) => {
            "a run is shorter than 50 of its sessions, too short for its interval: measure for longer"
        }
        Some(NoIntervalReason::TooShort) => "the measured part of a run is too short for its interval",
        Some(NoIntervalReason::NotKept | NoIntervalReason::NotEnded) | None => "a run has no interval of it",
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Metric::Rate => f.write_str("rate"),
            Metric::Errors => f.write_str("errors"),
            Metric::Time(statistic, timing) => {
                match statistic {
                    Statistic::Mean => f.write_str("mean")?,
                    Statistic::Quantile(quantile) => write!(f, "{quantile}")?,
                }
                match timing {
                    Timing::Response => Ok(()),
                    timing => write!(f, "({})", timing.name()),
                }
            }
        }
    }
}

impl FromStr for Metric {
    type Err = MetricError;

    fn from_str(text: &str) -> Result<Metric, MetricError> {
        let unknown = || MetricError(text.to_owned());
        let (name, timing) = match text.split_once('(') {
            None => (text, Timing::Response),
            Some((name, rest)) => {
                let timing = rest.strip_suffix(')').ok_or_else(unknown)?.trim();
                let known = Timing::ALL.into_iter().find(|known| known.name() == timing);
                (name.trim(), known.ok_or_else(unknown)?)
            }
        };
        match name {
            "rate" | "errors" if text != name => Err(unknown()),
            "rate" => Ok(Metric::Rate),
            "errors" => Ok(Metric::Errors),
            "mean" => Ok(Metric::Time(Statistic::Mean, timing)),
            name if QUANTILES.contains(&name) => {
                let quantile = name.parse().map_err(|_| unknown())?;
                Ok(Metric::Time(Statistic::Quantile(quantile), timing))
            }
            _ => Err(unknown()),
        }
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_printed() {
        for name in ["rate", "errors", "mean", "p99", "p99.9(service)", "mean(connect)"] {
            assert_eq!(name.parse::<Metric>().expect(name).to_string(), name);
        }
        for name in ["", "p98", "p99(", "p99(x)", "rate(service)", "max", "p99 "] {
            assert_eq!(name.parse::<Metric>(), Err(MetricError(name.to_owned())));
        }
    }
}
