//! The M/G/∞ input process: sessions arrive as a Poisson process, each lasts for a time of a given
//! distribution and sends at a constant rate meanwhile. The number under way is Poisson, with covariance λ
//! ∫ₕ^∞ P(length > x) dx at a distance h; a tail with index α between 1 and 2 makes H = (3 − α) / 2 (Cox
//! 1984, "Long-range dependence: a review"; Parulekar and Makowski 1997).

use super::modulated::{Environment, RateStep};
use super::period::{Period, PeriodSpec};
use super::spec::above_zero;
use super::{ArrivalError, ArrivalProcess, Spacing};
use farfield_base::random::Stream;
use farfield_base::{Duration, Instant, Rate};
use rand_distr::{Distribution as _, Exp1, Poisson};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The keys of `process = "m-g-infinity"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionsSpec {
    rate: Rate,
    sessions: Rate,
    #[serde(deserialize_with = "crate::renamed::read")]
    length: PeriodSpec,
    #[serde(default)]
    spacing: Spacing,
}

impl SessionsSpec {
    const AT_ONCE_MAX: f64 = 1e6;

    pub(super) fn process(&self) -> Result<ArrivalProcess, ArrivalError> {
        let rate = above_zero(self.rate)?.as_per_second();
        let sessions = above_zero(self.sessions)?.as_per_second();
        let length = self.length.period("length")?;
        let at_once = sessions * length.mean_s();
        if at_once > SessionsSpec::AT_ONCE_MAX {
            return Err(ArrivalError::AtOnce(at_once));
        }
        Ok(Environment::Sessions(SessionDistribution { rate, sessions, length }).process(self.spacing))
    }
}

/// The distribution of sessions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SessionDistribution {
    rate: f64,
    /// Sessions a second.
    sessions: f64,
    length: Period,
}

impl SessionDistribution {
    pub(super) fn mean_rate(&self) -> f64 {
        self.rate
    }

    pub(super) fn hurst(&self) -> f64 {
        self.length.hurst()
    }

    pub(super) fn start(&self, mut stream: Stream) -> UnderWay {
        let at_once = self.sessions * self.length.mean_s();
        let under_way: f64 = Poisson::new(at_once).map_or(0.0, |poisson| poisson.sample(&mut stream));
        let rest = |_| Reverse(Instant::ZERO + self.length.draw_rest(&mut stream));
        let ends: BinaryHeap<_> = (0..under_way as u64).map(rest).collect();
        let mut running = UnderWay {
            length: self.length.clone(),
            stream,
            each: self.rate / at_once,
            gap_s: 1.0 / self.sessions,
            arrives: Instant::ZERO,
            ends,
        };
        running.next_session();
        running
    }
}

/// The sessions under way, 8 bytes each.
#[derive(Debug, Clone)]
pub(super) struct UnderWay {
    length: Period,
    stream: Stream,
    /// The rate of one session.
    each: f64,
    gap_s: f64,
    /// Arrival of the next session.
    arrives: Instant,
    /// Ends of those under way, the earliest on top.
    ends: BinaryHeap<Reverse<Instant>>,
}

impl UnderWay {
    fn next_session(&mut self) {
        let unit: f64 = Exp1.sample(&mut self.stream);
        self.arrives += Duration::from_secs_f64(self.gap_s * unit);
    }

    pub(super) fn step(&mut self) -> RateStep {
        let rate = self.ends.len() as f64 * self.each;
        let until = match self.ends.peek() {
            Some(Reverse(end)) if *end <= self.arrives => *end,
            _ => self.arrives,
        };
        if until == self.arrives {
            self.ends.push(Reverse(until + self.length.draw(&mut self.stream)));
            self.next_session();
        } else {
            self.ends.pop();
        }
        RateStep { until, rate }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed};

    const SESSIONS: f64 = 20.0;
    const RUNS: u64 = 4_000;

    /// Number of sessions of length Pareto(1.4, 100 ms) are under way at each of `at_s`.
    fn under_way<const N: usize>(run: u64, at_s: [f64; N]) -> [f64; N] {
        let length = PeriodSpec::Pareto { shape: 1.4, scale: Some(Duration::from_ms(100)), mean: None };
        let length = length.period("length").expect("a good distribution");
        let sessions = SessionDistribution { rate: SESSIONS * length.mean_s(), sessions: SESSIONS, length };
        let mut running = sessions.start(Seed(8).stream(Purpose::Arrivals, run));
        let mut step = running.step();
        at_s.map(|at_s| {
            while step.until <= Instant::ZERO + Duration::from_secs_f64(at_s) {
                step = running.step();
            }
            step.rate // one a second each
        })
    }

    /// At any instant the number is Poisson of mean λ E X = 7, and its covariance is that of the module's
    /// head.
    #[test]
    fn the_number_under_way_is_poisson_and_remembers_by_the_tail() {
        let at_s = [0.0, 0.5, 3.0];
        let runs: Vec<[f64; 3]> = (0..RUNS).map(|run| under_way(run, at_s)).collect();
        let n = RUNS as f64;
        let mean = SESSIONS * 0.35;
        for (i, at) in at_s.iter().enumerate() {
            let found = runs.iter().map(|run| run[i]).sum::<f64>() / n;
            assert!((found - mean).abs() < 5.0 * (mean / n).sqrt(), "at {at} s the mean is {found}");
            // Factorial moments E N (N − 1) … distinguish distributions of counts: a Poisson
            // distribution's are powers.
            let second = runs.iter().map(|run| run[i] * (run[i] - 1.0)).sum::<f64>() / n;
            let spread = (4.0 * mean.powi(3) + 2.0 * mean * mean) / n;
            assert!((second - mean * mean).abs() < 5.0 * spread.sqrt(), "at {at} s E N(N-1) is {second}");
            // λ ∫ₕ^∞ (k / x)^α dx = λ k^α h^(1−α) / (α − 1), for h above k.
            let wanted = if *at > 0.1 { SESSIONS * 0.1f64.powf(1.4) * at.powf(-0.4) / 0.4 } else { mean };
            let covariance = runs.iter().map(|run| (run[0] - mean) * (run[i] - mean)).sum::<f64>() / n;
            let limit = 5.0 * ((2.0 * mean * mean + mean) / n).sqrt();
            assert!((covariance - wanted).abs() < limit, "over {at} s: {covariance} not {wanted}");
        }
    }
}
