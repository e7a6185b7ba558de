//! Superposed ON/OFF sources: each is silent, then sends at a constant rate, in periods whose lengths have
//! heavy tails. Their sum is asymptotically self-similar with H = (3 − α) / 2, α being the heavier of the two
//! tails (Willinger, Taqqu, Sherman and Wilson 1997, "Self-similarity through high-variability", theorem 1).

use super::modulated::{Environment, RateStep};
use super::period::{Period, PeriodSpec};
use super::spec::{above_zero, bounded};
use super::{ArrivalError, ArrivalProcess, Spacing};
use farfield_base::random::Stream;
use farfield_base::{Instant, Rate};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The keys of `process = "on-off"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OnOffSpec {
    rate: Rate,
    sources: u32,
    #[serde(deserialize_with = "crate::renamed::read")]
    on: PeriodSpec,
    #[serde(deserialize_with = "crate::renamed::read")]
    off: PeriodSpec,
    #[serde(default)]
    spacing: Spacing,
}

impl OnOffSpec {
    const SOURCES_MAX: u32 = 1_000_000;

    pub(super) fn process(&self) -> Result<ArrivalProcess, ArrivalError> {
        let rate = above_zero(self.rate)?.as_per_second();
        if !(1..=OnOffSpec::SOURCES_MAX).contains(&self.sources) {
            return Err(ArrivalError::Sources(self.sources));
        }
        let (on, off) = (self.on.period("on")?, self.off.period("off")?);
        let share_on = on.mean_s() / (on.mean_s() + off.mean_s());
        bounded(Rate::per_second(rate / share_on)?)?;
        let sources = OnOff { rate, sources: self.sources, share_on, on, off };
        Ok(Environment::OnOff(sources).process(self.spacing))
    }
}

/// The sources' distribution.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OnOff {
    rate: f64,
    sources: u32,
    share_on: f64,
    on: Period,
    off: Period,
}

impl OnOff {
    pub(super) fn mean_rate(&self) -> f64 {
        self.rate
    }

    pub(super) fn hurst(&self) -> f64 {
        self.on.hurst().max(self.off.hurst())
    }

    pub(super) fn start(&self, mut stream: Stream) -> OnOffSources {
        let mut is_on = Vec::with_capacity(self.sources as usize);
        let mut changes = Vec::with_capacity(self.sources as usize);
        for source in 0..self.sources {
            let on = stream.random::<f64>() < self.share_on;
            let rest = if on { &self.on } else { &self.off }.draw_rest(&mut stream);
            is_on.push(on);
            changes.push(Reverse((Instant::ZERO + rest, source)));
        }
        OnOffSources {
            each: self.rate / (self.share_on * f64::from(self.sources)),
            on_count: is_on.iter().filter(|on| **on).count() as u32,
            is_on,
            changes: changes.into(),
            on: self.on.clone(),
            off: self.off.clone(),
            stream,
        }
    }
}

/// The sources under way. Nothing allocates after the start: each source has one change ahead, always.
#[derive(Debug, Clone)]
pub(super) struct OnOffSources {
    on: Period,
    off: Period,
    stream: Stream,
    /// The rate of one source that is on.
    each: f64,
    on_count: u32,
    is_on: Vec<bool>,
    /// Next change of each source, the earliest on top; by number where instants meet.
    changes: BinaryHeap<Reverse<(Instant, u32)>>,
}

impl OnOffSources {
    pub(super) fn step(&mut self) -> RateStep {
        let rate = f64::from(self.on_count) * self.each;
        let mut top = self.changes.peek_mut().expect("there is at least one source");
        let Reverse((until, source)) = *top;
        let turns_on = !self.is_on[source as usize];
        self.is_on[source as usize] = turns_on;
        let lasts = if turns_on {
            self.on_count += 1;
            self.on.draw(&mut self.stream)
        } else {
            self.on_count -= 1;
            self.off.draw(&mut self.stream)
        };
        *top = Reverse((until + lasts, source));
        RateStep { until, rate }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::Duration;
    use farfield_base::random::{Purpose, Seed};

    const SOURCES: u32 = 10;
    const RUNS: u64 = 4_000;

    /// Number of sources that are on at each of `at_s`.
    fn on<const N: usize>(spec: &OnOff, run: u64, at_s: [f64; N]) -> [f64; N] {
        let mut running = spec.start(Seed(8).stream(Purpose::Arrivals, run));
        let mut step = running.step();
        at_s.map(|at_s| {
            while step.until <= Instant::ZERO + Duration::from_secs_f64(at_s) {
                step = running.step();
            }
            step.rate / running.each
        })
    }

    fn sources(on: PeriodSpec, off: PeriodSpec) -> OnOff {
        let (on, off) =
            (on.period("on").expect("a good distribution"), off.period("off").expect("a good distribution"));
        let share_on = on.mean_s() / (on.mean_s() + off.mean_s());
        OnOff { rate: 100.0, sources: SOURCES, share_on, on, off }
    }

    fn pareto(shape: f64, mean_ms: u64) -> PeriodSpec {
        PeriodSpec::Pareto { shape, scale: None, mean: Some(Duration::from_ms(mean_ms)) }
    }

    /// From the start on, each source is on with the probability that its means give, heavy tails or not.
    #[test]
    fn the_number_on_is_binomial_at_any_instant() {
        let at_s = [0.0, 0.3, 2.0, 9.0];
        let spec = sources(pareto(1.2, 300), pareto(1.6, 700));
        let runs: Vec<[f64; 4]> = (0..RUNS).map(|run| on(&spec, run, at_s)).collect();
        let (n, draws) = (RUNS as f64, (RUNS * u64::from(SOURCES)) as f64);
        for (i, at) in at_s.iter().enumerate() {
            let share = runs.iter().map(|run| run[i]).sum::<f64>() / draws;
            assert!((share - 0.3).abs() < 5.0 * (0.21 / draws).sqrt(), "at {at} s a share of {share} is on");
            let variance = runs.iter().map(|run| (run[i] - 3.0).powi(2)).sum::<f64>() / n;
            assert!(
                (variance - 2.1).abs() < 5.0 * 2.1 * (2.0 / n).sqrt(),
                "at {at} s a variance of {variance}"
            );
        }
    }

    /// With exponential periods a source is a Markov chain of two states.
    #[test]
    fn exponential_sources_forget_exponentially() {
        let exponential = |ms| PeriodSpec::Exponential { mean: Duration::from_ms(ms) };
        let spec = sources(exponential(300), exponential(700));
        let runs: Vec<[f64; 3]> = (0..RUNS).map(|run| on(&spec, run, [0.0, 0.1, 0.4])).collect();
        for (i, at) in [0.0, 0.1, 0.4].iter().enumerate() {
            let covariance =
                runs.iter().map(|run| (run[0] - 3.0) * (run[i] - 3.0)).sum::<f64>() / RUNS as f64;
            let wanted = 2.1 * (-(1.0f64 / 0.3 + 1.0 / 0.7) * at).exp();
            let limit = 5.0 * 2.1 * (2.0 / RUNS as f64).sqrt();
            assert!((covariance - wanted).abs() < limit, "over {at} s: {covariance} not {wanted}");
        }
    }
}
