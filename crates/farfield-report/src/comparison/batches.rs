//! A single run in ten parts of equal length, as if they were repeats (the method of batch means: Law,
//! "Simulation Modeling and Analysis", section 9.5.3).
//!
//! Requests belong to the part in which they were due, and replies, for the rate, to that in which they
//! ended. Parts must be long against a response, so that they hardly depend on each other; a percentile needs
//! requests beyond it in each part. A trend, or neighbours that are alike, is found by the correlation of
//! neighbouring parts, and said.

use super::metric::{Metric, Statistic};
use crate::directory::{self, RunDirectory};
use crate::export::SAMPLES_FILE;
use farfield_base::{Duration, Instant, Outcome, Sample, Window};
use farfield_measure::Timing;
use farfield_measure::samples::{Keep, SamplesError, SamplesFile};
use std::io::ErrorKind;

/// Parts of a run.
const PARTS: usize = 10;
/// The least requests that a part has beyond a percentile, on average.
const BEYOND_MIN: f64 = 5.0;
/// The least length of a part, in mean response times.
const RESPONSES_MIN: f64 = 5.0;
/// A correlation of neighbouring parts above 1.96/√10 is significant at the level of 5 %.
const CORRELATION_MAX: f64 = 0.62;

/// The numbers of a run's parts.
#[derive(Debug)]
pub(super) struct Batches {
    /// For each metric its number in each part, or the reason why there are none.
    pub numbers: Vec<Result<Vec<f64>, &'static str>>,
    /// Doubts about them, one sentence each.
    pub doubts: Vec<String>,
}

/// The parts of `run`, in `metrics`.
pub(super) fn of(run: &RunDirectory, metrics: &[Metric]) -> Batches {
    match read(run, metrics) {
        Ok(parts) => parts.batches(run, metrics),
        Err(Unread { reason, doubt }) => {
            Batches { numbers: vec![Err(reason); metrics.len()], doubts: doubt.into_iter().collect() }
        }
    }
}

/// What each part counted.
struct Parts {
    length: Duration,
    completed: [u64; PARTS],
    ended: [u64; PARTS],
    failed: [u64; PARTS],
    /// The times of each part that metrics are of, each kind once, in nanoseconds.
    times: Vec<(Timing, [Vec<u64>; PARTS])>,
}

/// Why a run has no parts.
struct Unread {
    reason: &'static str,
    /// What is wrong with its file, if that is damaged.
    doubt: Option<String>,
}

impl From<&'static str> for Unread {
    fn from(reason: &'static str) -> Unread {
        Unread { reason, doubt: None }
    }
}

fn read(run: &RunDirectory, metrics: &[Metric]) -> Result<Parts, Unread> {
    let damaged = |error: SamplesError| Unread {
        reason: match error {
            SamplesError::Newer { .. } => "the samples.parquet of a run is of a later version of farfield",
            _ => "the samples.parquet of a run cannot be read",
        },
        doubt: Some(format!("{SAMPLES_FILE}: {error}")),
    };
    let phases = run.summary().phases;
    let window = Window {
        measure_from: Instant::from_ns(phases.warm_up_ns),
        measure_to: Instant::from_ns(phases.warm_up_ns + phases.steady_ns),
    };
    let length = Duration::from_ns(phases.steady_ns / PARTS as u64);
    if length.is_zero() {
        return Err("a run has no measured part".into());
    }
    let source = directory::open(&run.path().join(SAMPLES_FILE)).map_err(|error| Unread {
        reason: "a run has no samples.parquet",
        doubt: (error.kind() != ErrorKind::NotFound).then(|| format!("{SAMPLES_FILE}: {error}")),
    })?;
    let file = SamplesFile::open(source).map_err(damaged)?;
    if file.keep() != Keep::All || file.left_out() > 0 {
        return Err("a run has not kept all its samples".into());
    }
    let mut parts = Parts::new(length, metrics);
    for sample in file.samples() {
        parts.count(&sample.map_err(damaged)?, window);
    }
    Ok(parts)
}

impl Parts {
    fn new(length: Duration, metrics: &[Metric]) -> Parts {
        let mut times: Vec<(Timing, [Vec<u64>; PARTS])> = Vec::new();
        for timing in metrics.iter().filter_map(|metric| metric.timing()) {
            if times.iter().all(|(known, _)| *known != timing) {
                times.push((timing, Default::default()));
            }
        }
        Parts { length, completed: [0; PARTS], ended: [0; PARTS], failed: [0; PARTS], times }
    }

    /// The part of an instant, if it lies in the measured part.
    fn part(&self, at: Instant, window: Window) -> Option<usize> {
        let inside = at >= window.measure_from && at < window.measure_to;
        let part = at.since(window.measure_from).as_ns() / self.length.as_ns();
        inside.then(|| (part as usize).min(PARTS - 1))
    }

    fn count(&mut self, sample: &Sample, window: Window) {
        let succeeded = sample.outcome == Outcome::Ok;
        if let (true, Some(part)) = (succeeded, self.part(sample.done, window)) {
            self.completed[part] += 1;
        }
        let Some(part) = self.part(sample.due, window) else { return };
        self.ended[part] += 1;
        self.failed[part] += u64::from(!succeeded);
        if !succeeded {
            return;
        }
        for (timing, times) in &mut self.times {
            times[part].extend(timing.of(sample).map(Duration::as_ns));
        }
    }

    fn batches(mut self, run: &RunDirectory, metrics: &[Metric]) -> Batches {
        let response = run.summary().steady.times.response.as_ref().map_or(0, |times| times.mean_ns);
        if (self.length.as_ns() as f64) < RESPONSES_MIN * response as f64 {
            let reason = "a run is too short: a tenth of it is less than five response times";
            return Batches { numbers: vec![Err(reason); metrics.len()], doubts: Vec::new() };
        }
        let mut doubts = Vec::new();
        let mut numbers = Vec::new();
        for metric in metrics {
            let found = match *metric {
                Metric::Rate => {
                    Ok(self.completed.map(|completed| completed as f64 / self.length.as_secs_f64()).to_vec())
                }
                Metric::Errors => self.errors(),
                Metric::Time(statistic, timing) => {
                    let times = self.times.iter_mut().find(|(known, _)| *known == timing);
                    times.map_or(Err(FEW), |(_, parts)| of_times(statistic, parts))
                }
            };
            if let Some(doubt) = found.as_ref().ok().and_then(|numbers| correlated(*metric, numbers)) {
                doubts.push(doubt);
            }
            numbers.push(found);
        }
        Batches { numbers, doubts }
    }

    fn errors(&self) -> Result<Vec<f64>, &'static str> {
        let shares = self.ended.iter().zip(self.failed);
        shares
            .map(|(&ended, failed)| (ended > 0).then(|| failed as f64 / ended as f64))
            .collect::<Option<_>>()
            .ok_or(FEW)
    }
}

const FEW: &str = "a run has too few requests for it";

fn of_times(statistic: Statistic, parts: &mut [Vec<u64>; PARTS]) -> Result<Vec<f64>, &'static str> {
    parts.iter_mut().map(|times| of_part(statistic, times)).collect::<Option<_>>().ok_or(FEW)
}

/// The statistic of a part's times, which are put into another order.
fn of_part(statistic: Statistic, times: &mut [u64]) -> Option<f64> {
    match statistic {
        Statistic::Mean => {
            let sum: u128 = times.iter().map(|ns| u128::from(*ns)).sum();
            (!times.is_empty()).then(|| sum as f64 / times.len() as f64)
        }
        Statistic::Quantile(quantile) => {
            let beyond = times.len() as f64 * (1.0 - quantile.as_f64());
            let rank = quantile.rank(times.len() as u64)? as usize - 1;
            (beyond >= BEYOND_MIN).then(|| *times.select_nth_unstable(rank).1 as f64)
        }
    }
}

/// The doubt about numbers of which neighbours are alike.
fn correlated(metric: Metric, numbers: &[f64]) -> Option<String> {
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    let products: f64 = numbers.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    (products > CORRELATION_MAX * squares && squares > 0.0).then(|| {
        format!("{metric} changes slowly in the course of the run, so that its interval is too narrow")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_measure::Quantile;

    #[test]
    fn a_percentile_needs_requests_beyond_it() {
        let hundred = || (1..=100).rev().collect::<Vec<u64>>();
        assert_eq!(of_part(Statistic::Quantile(Quantile::P90), &mut hundred()), Some(90.0));
        assert_eq!(of_part(Statistic::Quantile(Quantile::P99), &mut hundred()), None);
        assert_eq!(of_part(Statistic::Mean, &mut hundred()), Some(50.5));
        assert_eq!(of_part(Statistic::Mean, &mut []), None);
    }

    /// A ramp is nothing but trend; numbers that go up and down in turn are correlated negatively.
    #[test]
    fn a_trend_is_said() {
        let ramp: Vec<f64> = (0..10).map(f64::from).collect();
        assert!(correlated(Metric::Rate, &ramp).is_some());
        let turns: Vec<f64> = (0..10).map(|at| f64::from(at % 2)).collect();
        assert_eq!(correlated(Metric::Rate, &turns), None);
        assert_eq!(correlated(Metric::Rate, &[5.0; 10]), None);
    }
}
