//! Arrivals at a rate that is itself random: doubly stochastic processes (Cox 1955).
//!
//! An environment holds a rate for a while, then another: states of a Markov chain, slots of a noise, the
//! number of sources that are on, the number of sessions under way. Events of rate one, Poisson or even, are
//! put through the inverse of the cumulative rate as it unfolds, so that
//! peaks are never cut.
//!
//! Every environment starts in its stationary distribution: the expected rate is the mean from the first
//! instant on, and there is no warming up. Steps end on whole nanoseconds and time is counted from the step's
//! begin, so that nothing drifts. Drawing allocates only where a table must grow, or where a new block of
//! noise begins.

use super::course::ArrivalCourse;
use super::markov::{ChainState, Markov};
use super::noise::{Blocks, NoiseRate};
use super::onoff::{OnOff, OnOffSources};
use super::sessions::{SessionDistribution, UnderWay};
use super::{ArrivalProcess, Process, Spacing};
use farfield_base::random::Stream;
use farfield_base::{Duration, Instant};
use rand::SeedableRng;
use rand_distr::{Distribution as _, Exp1};
use std::sync::Arc;

/// A rate that is held.
#[derive(Debug, Clone, Copy)]
pub(super) struct RateStep {
    /// Start of the next step; [`Instant::MAX`] if there is none.
    pub(super) until: Instant,
    /// Arrivals a second.
    pub(super) rate: f64,
}

/// Process that modulates the rate, ready to start.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Environment {
    Noise(NoiseRate),
    Markov(Markov),
    OnOff(OnOff),
    Sessions(SessionDistribution),
}

impl Environment {
    /// Arrivals with this environment.
    pub(super) fn process(self, spacing: Spacing) -> ArrivalProcess {
        self.process_along(spacing, None)
    }

    /// Arrivals with this environment, whose rate is multiplied by that of the course.
    pub(super) fn process_along(self, spacing: Spacing, course: Option<ArrivalCourse>) -> ArrivalProcess {
        let process =
            Process::Modulated { environment: Arc::new(self), spacing, course: course.map(Arc::new) };
        process.into()
    }

    /// The expected rate at any instant, in arrivals a second.
    pub(super) fn mean_rate(&self) -> f64 {
        match self {
            Environment::Noise(noise) => noise.mean_rate(),
            Environment::Markov(chain) => chain.mean_rate(),
            Environment::OnOff(sources) => sources.mean_rate(),
            Environment::Sessions(sessions) => sessions.mean_rate(),
        }
    }

    /// The Hurst parameter of the counts, as theory has it.
    pub(super) fn hurst(&self) -> f64 {
        match self {
            Environment::Noise(noise) => noise.hurst(),
            Environment::Markov(_) => 0.5,
            Environment::OnOff(sources) => sources.hurst(),
            Environment::Sessions(sessions) => sessions.hurst(),
        }
    }

    fn start(&self, stream: Stream) -> EnvironmentState {
        match self {
            Environment::Noise(noise) => EnvironmentState::Noise(Box::new(noise.start(stream))),
            Environment::Markov(chain) => EnvironmentState::Markov(Box::new(chain.start(stream))),
            Environment::OnOff(sources) => EnvironmentState::OnOff(Box::new(sources.start(stream))),
            Environment::Sessions(sessions) => EnvironmentState::Sessions(Box::new(sessions.start(stream))),
        }
    }
}

/// An environment under way. Boxed, because an arrival process of another kind should not carry its size.
#[derive(Debug, Clone)]
enum EnvironmentState {
    Noise(Box<Blocks>),
    Markov(Box<ChainState>),
    OnOff(Box<OnOffSources>),
    Sessions(Box<UnderWay>),
}

impl EnvironmentState {
    fn step(&mut self) -> RateStep {
        match self {
            EnvironmentState::Noise(blocks) => blocks.step(),
            EnvironmentState::Markov(walk) => walk.step(),
            EnvironmentState::OnOff(sources) => sources.step(),
            EnvironmentState::Sessions(sessions) => sessions.step(),
        }
    }
}

/// The arrivals of one run.
#[derive(Debug, Clone)]
pub(super) struct Modulated {
    environment: EnvironmentState,
    gaps: UnitGaps,
    course: Option<Arc<ArrivalCourse>>,
    begins: Instant,
    until: Instant,
    rate: f64,
    /// The latest arrival in the step and the end of the step, in seconds from its begin: of the course,
    /// where there is one.
    at_s: f64,
    length_s: f64,
}

impl Modulated {
    pub(super) fn start(
        environment: &Environment,
        spacing: Spacing,
        course: Option<Arc<ArrivalCourse>>,
        mut stream: Stream,
    ) -> Modulated {
        // Two streams out of the process's one: spacing must not move the environment's luck.
        let environment = environment.start(Stream::from_rng(&mut stream));
        let gaps = match spacing {
            Spacing::Poisson => UnitGaps::Poisson(stream),
            Spacing::Even => UnitGaps::Even { next: 0.5 },
        };
        let begins = Instant::ZERO;
        Modulated { environment, gaps, course, begins, until: begins, rate: 0.0, at_s: 0.0, length_s: 0.0 }
    }

    pub(super) fn next(&mut self) -> Option<Instant> {
        let mut need = self.gaps.next();
        loop {
            let room = self.rate * (self.length_s - self.at_s);
            if need < room {
                self.at_s += need / self.rate;
                return Some(self.instant()?.min(self.until));
            }
            need -= room;
            if self.until == Instant::MAX {
                self.at_s = self.length_s;
                return None;
            }
            let step = self.environment.step();
            self.begins = self.until;
            self.until = step.until.max(self.begins);
            self.rate = step.rate;
            self.at_s = 0.0;
            self.length_s = match &self.course {
                None => self.until.since(self.begins).as_secs_f64(),
                Some(course) => (course.seconds(self.until) - course.seconds(self.begins)).max(0.0),
            };
        }
    }

    /// Instant of the latest arrival.
    fn instant(&self) -> Option<Instant> {
        match &self.course {
            None => Some(self.begins + Duration::from_secs_f64(self.at_s)),
            // Rounding must not turn time back behind the step's begin.
            Some(course) => Some(course.instant(course.seconds(self.begins) + self.at_s)?.max(self.begins)),
        }
    }
}

/// Gaps between events of rate one.
#[derive(Debug, Clone)]
enum UnitGaps {
    Poisson(Stream),
    /// A half before the first, so that every stretch holds its share to within one arrival.
    Even {
        next: f64,
    },
}

impl UnitGaps {
    fn next(&mut self) -> f64 {
        match self {
            UnitGaps::Poisson(stream) => Exp1.sample(stream),
            UnitGaps::Even { next } => std::mem::replace(next, 1.0),
        }
    }
}
