//! The environment of a Markov-modulated Poisson process: a continuous-time Markov chain whose states have
//! each a rate (Fischer and Meier-Hellstern 1993, "The Markov-modulated Poisson process (MMPP) cookbook").

use super::course::ArrivalCourse;
use super::modulated::{Environment, RateStep};
use super::spec::{SegmentSpec, bounded};
use super::{ArrivalError, ArrivalProcess, Spacing};
use crate::alias::AliasTable;
use farfield_base::random::Stream;
use farfield_base::{Duration, Instant, Rate};
use rand_distr::{Distribution as _, Exp1};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The keys of `process = "markov-modulated"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MarkovSpec {
    rates: Vec<Rate>,
    /// Transition rates from the row's state to the column's.
    transitions: Vec<Vec<Rate>>,
    #[serde(default)]
    spacing: Spacing,
    /// Segments of a schedule, again and again, by which the rates are multiplied: only their shape counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    course: Option<Vec<SegmentSpec>>,
}

impl MarkovSpec {
    pub(super) fn process(&self) -> Result<ArrivalProcess, ArrivalError> {
        let states = self.rates.len();
        let square = self.transitions.len() == states && self.transitions.iter().all(|r| r.len() == states);
        let loops = self.transitions.iter().enumerate().any(|(i, row)| row.get(i) != Some(&Rate::ZERO));
        if states < 2 || !square || loops {
            return Err(ArrivalError::Transitions { states });
        }
        let rates = self.rates.iter().map(|rate| bounded(*rate)).collect::<Result<Vec<_>, _>>()?;
        let transitions: Vec<Vec<f64>> = self
            .transitions
            .iter()
            .map(|row| row.iter().map(|rate| rate.as_per_second()).collect())
            .collect();
        let chain = Markov::new(rates, &transitions).ok_or(ArrivalError::Stuck)?;
        if chain.mean_rate() > 0.0 {
            let course = ArrivalCourse::of(self.course.as_deref())?;
            Ok(Environment::Markov(chain).process_along(self.spacing, course))
        } else {
            Err(ArrivalError::NoRate)
        }
    }
}

/// The chain and its rates.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Markov {
    states: Arc<[MarkovState]>,
    /// Stationary distribution of the state.
    stationary: AliasTable,
    mean_rate: f64,
}

#[derive(Debug, Clone, PartialEq)]
struct MarkovState {
    rate: f64,
    /// Mean time in it, in seconds.
    stay_s: f64,
    next: AliasTable,
}

impl Markov {
    /// `None` unless every state can be reached from every other.
    fn new(rates: Vec<f64>, transitions: &[Vec<f64>]) -> Option<Markov> {
        let stationary = stationary(transitions)?;
        let mean_rate = rates.iter().zip(&stationary).map(|(rate, share)| rate * share).sum();
        let states = rates.into_iter().zip(transitions).map(|(rate, row)| {
            let stay_s = 1.0 / row.iter().sum::<f64>();
            Some(MarkovState { rate, stay_s, next: AliasTable::new(row).ok()? })
        });
        Some(Markov {
            states: states.collect::<Option<Vec<_>>>()?.into(),
            stationary: AliasTable::new(&stationary).ok()?,
            mean_rate,
        })
    }

    pub(super) fn mean_rate(&self) -> f64 {
        self.mean_rate
    }

    pub(super) fn start(&self, mut stream: Stream) -> ChainState {
        let state = self.stationary.sample(&mut stream);
        ChainState { states: Arc::clone(&self.states), stream, state, at: Instant::ZERO }
    }
}

/// The stationary probabilities by the elimination of Grassmann, Taksar and Heyman (1985), which subtracts
/// nothing and so cancels nothing; `None` for a chain that falls apart.
fn stationary(transitions: &[Vec<f64>]) -> Option<Vec<f64>> {
    let states = transitions.len();
    if !(connected(states, |i, j| transitions[i][j]) && connected(states, |i, j| transitions[j][i])) {
        return None;
    }
    let mut q = transitions.to_vec();
    for last in (1..states).rev() {
        let leaving: f64 = q[last][..last].iter().sum();
        let row = q[last][..last].to_vec();
        for from in &mut q[..last] {
            from[last] /= leaving;
            let through = from[last];
            from[..last].iter_mut().zip(&row).for_each(|(to, rate)| *to += through * rate);
        }
    }
    let mut shares = vec![1.0];
    while shares.len() < states {
        let state = shares.len();
        shares.push(shares.iter().zip(&q).map(|(share, row)| share * row[state]).sum());
    }
    let total: f64 = shares.iter().sum();
    total.is_finite().then(|| shares.iter().map(|share| share / total).collect())
}

/// True if every state is reached from the first.
fn connected(states: usize, rate: impl Fn(usize, usize) -> f64) -> bool {
    let mut reached = vec![false; states];
    reached[0] = true;
    let mut ahead = vec![0];
    while let Some(from) = ahead.pop() {
        for to in (0..states).filter(|to| rate(from, *to) > 0.0) {
            if !std::mem::replace(&mut reached[to], true) {
                ahead.push(to);
            }
        }
    }
    reached.into_iter().all(|reached| reached)
}

/// The chain under way.
#[derive(Debug, Clone)]
pub(super) struct ChainState {
    states: Arc<[MarkovState]>,
    stream: Stream,
    state: usize,
    at: Instant,
}

impl ChainState {
    pub(super) fn step(&mut self) -> RateStep {
        let MarkovState { rate, stay_s, next } = &self.states[self.state];
        let unit: f64 = Exp1.sample(&mut self.stream);
        self.at += Duration::from_secs_f64(stay_s * unit);
        self.state = next.sample(&mut self.stream);
        RateStep { until: self.at, rate: *rate }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stationary_probabilities_balance() {
        let transitions = vec![vec![0.0, 2.0, 0.5], vec![1e-3, 0.0, 4.0], vec![3.0, 1e-6, 0.0]];
        let shares = stationary(&transitions).expect("connected");
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        for state in 0..3 {
            let leaving: f64 = shares[state] * transitions[state].iter().sum::<f64>();
            let coming: f64 = (0..3).map(|from| shares[from] * transitions[from][state]).sum();
            assert!((leaving - coming).abs() < 1e-14, "state {state}: {leaving} leave, {coming} come");
        }
    }

    #[test]
    fn a_chain_that_gets_stuck_has_none() {
        assert_eq!(stationary(&[vec![0.0, 1.0], vec![0.0, 0.0]]), None);
        assert_eq!(stationary(&[vec![0.0, 0.0], vec![1.0, 0.0]]), None);
    }
}
