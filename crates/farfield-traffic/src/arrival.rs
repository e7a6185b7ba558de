//! Arrival processes: the instants at which requests (open load) or sessions (hybrid load) come.
//!
//! A process with a known rate, constant or not, is one mechanism: events that are evenly spaced or Poisson
//! at rate one, put through the inverse of the cumulative rate (Çinlar 1975, "Introduction to Stochastic
//! Processes", section 4.7). So a ramp is exactly a ramp, nothing is thinned, and the n-th instant follows
//! from n or from one running sum of the unit process, never from a sum of rounded gaps: a billion arrivals
//! do not drift (an `f64` holds nanoseconds exactly for the first 104 days). Renewal processes and files of
//! instants stand beside it, and processes with structure: where the rate is itself random, the same
//! inversion is done step by step as the rate unfolds (fractional Gaussian noise, Markov-modulated, ON/OFF
//! sources, M/G/∞).
//!
//! Drawing an arrival allocates nothing (but where the number of sessions under way reaches a new height, or
//! one block of noise ends and the next is drawn). The random stream belongs to the process: any number of
//! workers that [share](Arrivals::share) it see together the arrivals that one would see.

mod carry;
mod course;
mod curve;
mod error;
mod fgn;
mod markov;
mod modulated;
mod noise;
mod onoff;
mod period;
mod profile;
mod sessions;
mod spec;
mod trace;

pub use error::ArrivalError;
pub use fgn::FractionalGaussianNoise;
pub use spec::ArrivalSpec;

use crate::distribution::Distribution;
use carry::Carry;
use course::ArrivalCourse;
use curve::Curve;
use farfield_base::random::Stream;
use farfield_base::{Instant, Rate, StageSpan};
use modulated::{Environment, Modulated};
use rand_distr::Distribution as _;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use trace::Trace;

/// Spacing of arrivals where the rate is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// Independent of each other: gaps are exponential.
    #[default]
    Poisson,
    /// Evenly: the n-th, from 0, comes where the cumulative rate reaches n + ½. Half a gap passes before the
    /// first, so that every window holds its share to within one arrival.
    Even,
}

/// An arrival process, ready to start any number of times. Cheap to clone.
///
/// ```
/// use farfield_traffic::random::{Purpose, Seed};
/// use farfield_traffic::{ArrivalProcess, Instant, Rate, arrival::Spacing};
///
/// let process = ArrivalProcess::steady(Rate::per_second(10.0)?, Spacing::Even);
/// let first: Vec<Instant> = process.start(Seed(1).stream(Purpose::Arrivals, 0)).take(3).collect();
/// assert_eq!(first, [50, 150, 250].map(|ms| Instant::from_ns(ms * 1_000_000)));
/// # Ok::<(), farfield_traffic::QuantityError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ArrivalProcess {
    process: Process,
    /// Stages of the process, if it has some.
    stages: Arc<[StageSpan]>,
}

#[derive(Debug, Clone, PartialEq)]
enum Process {
    /// Arrivals at a rate that follows a curve. With `gaps`, these, scaled to a mean of one, separate
    /// arrivals in units of the cumulative rate.
    Curve {
        curve: Arc<Curve>,
        spacing: Spacing,
        gaps: Option<Distribution>,
    },
    Renewal {
        gaps: Distribution,
    },
    Trace(Arc<Trace>),
    /// Arrivals at a random rate, times that of a course where there is one.
    Modulated {
        environment: Arc<Environment>,
        spacing: Spacing,
        course: Option<Arc<ArrivalCourse>>,
    },
}

impl From<Process> for ArrivalProcess {
    fn from(process: Process) -> ArrivalProcess {
        ArrivalProcess { process, stages: Arc::default() }
    }
}

impl ArrivalProcess {
    /// At `rate` for ever, spaced as said. At rate zero nothing ever comes.
    pub fn steady(rate: Rate, spacing: Spacing) -> ArrivalProcess {
        ArrivalProcess::along(Curve::steady(rate), spacing)
    }

    /// At these instants, once; they must not decrease.
    pub fn recorded(instants: Vec<Instant>) -> ArrivalProcess {
        Process::Trace(Arc::new(Trace::recorded(instants))).into()
    }

    fn along(curve: Curve, spacing: Spacing) -> ArrivalProcess {
        Process::Curve { curve: Arc::new(curve), spacing, gaps: None }.into()
    }

    /// A renewal process in operational time: `gaps`, with a finite mean above zero that is scaled to one,
    /// lie between arrivals where time is measured by the curve's own cumulative rate.
    fn renewal_along(curve: Curve, gaps: Distribution) -> ArrivalProcess {
        Process::Curve { curve: Arc::new(curve), spacing: Spacing::Poisson, gaps: Some(gaps) }.into()
    }

    /// Stages of the process, in order; none of a process without.
    pub fn stages(&self) -> &[StageSpan] {
        &self.stages
    }

    /// True if nothing but stages makes one instant another than the next: arrivals are Poisson, at
    /// one rate or at that of a stage.
    #[cfg(feature = "requests")]
    pub(crate) fn is_steady(&self) -> bool {
        match &self.process {
            Process::Curve { curve, spacing: Spacing::Poisson, gaps: None } => {
                curve.is_steady() || !self.stages.is_empty()
            }
            _ => false,
        }
    }

    /// The arrivals from the start of the run on, with `stream` for what is random about them. They end where
    /// the schedule or the file does, if it is not repeated.
    pub fn start(&self, stream: Stream) -> Arrivals {
        let running = match &self.process {
            Process::Curve { curve, spacing, gaps } => {
                let units = match (spacing, gaps) {
                    (_, Some(gaps)) => {
                        let unit = 1.0 / gaps.mean();
                        Units::Renewal { gaps: gaps.clone(), unit, stream, whole: 0, part: 0.0 }
                    }
                    (Spacing::Poisson, None) => Units::Poisson { stream, whole: 0, part: 0.0 },
                    (Spacing::Even, None) => Units::Even { next: 0 },
                };
                ProcessState::Curve { curve: Arc::clone(curve), units, latest: Instant::ZERO }
            }
            Process::Renewal { gaps } => {
                ProcessState::Renewal { gaps: gaps.clone(), stream, at: Some(Carry::default()) }
            }
            Process::Trace(trace) => ProcessState::Trace { trace: Arc::clone(trace), next: 0 },
            Process::Modulated { environment, spacing, course } => {
                ProcessState::Modulated(Modulated::start(environment, *spacing, course.clone(), stream))
            }
        };
        Arrivals { running }
    }

    /// Arrivals a second over the whole schedule or file (over one round, if it repeats), or in the long run;
    /// `None` where it is not known: infinite mean gaps, or gaps that are partly clipped at zero.
    pub fn mean_rate(&self) -> Option<Rate> {
        match &self.process {
            Process::Curve { curve, .. } => curve.mean_rate(),
            Process::Renewal { gaps } if gaps.minimum() >= 0.0 && gaps.mean().is_finite() => {
                Rate::per_second(1.0 / gaps.mean()).ok()
            }
            Process::Renewal { .. } => None,
            Process::Trace(trace) => trace.mean_rate(),
            Process::Modulated { environment, .. } => Rate::per_second(environment.mean_rate()).ok(),
        }
    }

    /// The rate at `instant`, zero after the end; `None` for processes that have none of their own, renewals
    /// and files, and where it is random.
    pub fn rate_at(&self, instant: Instant) -> Option<Rate> {
        match &self.process {
            Process::Curve { curve, .. } => Rate::per_second(curve.rate_at(instant)).ok(),
            Process::Renewal { .. } | Process::Trace(_) | Process::Modulated { .. } => None,
        }
    }

    /// The Hurst parameter of the counts, as theory has it: ½ without memory over long times. `None` where
    /// there is none: the rate follows a curve, the instants a file, or gaps have an infinite
    /// variance.
    pub fn hurst(&self) -> Option<f64> {
        match &self.process {
            Process::Modulated { environment, course: None, .. } => Some(environment.hurst()),
            Process::Renewal { gaps } if gaps.variance().is_finite() => Some(0.5),
            Process::Curve { curve, gaps: None, .. } if curve.is_steady() => Some(0.5),
            Process::Curve { .. }
            | Process::Renewal { .. }
            | Process::Trace(_)
            | Process::Modulated { .. } => None,
        }
    }

    /// True if all parts of a run of any length are alike: the rate follows no course, and the instants no
    /// file.
    pub fn is_stationary(&self) -> bool {
        match &self.process {
            Process::Curve { curve, .. } => curve.is_steady(),
            Process::Renewal { .. } | Process::Modulated { course: None, .. } => true,
            Process::Trace(_) | Process::Modulated { course: Some(_), .. } => false,
        }
    }

    /// True if arrivals are a Poisson process, with a constant rate or one that follows a curve: the expected
    /// numbers between neighbours are then independent and exponential with mean 1.
    pub fn is_poisson(&self) -> bool {
        matches!(&self.process, Process::Curve { spacing: Spacing::Poisson, gaps: None, .. })
    }

    /// Expected number of arrivals in [`from`, `to`): the integral of the rate; of a file, the count itself;
    /// of a renewal process, what its mean rate gives in the long run; of a random rate, what its mean gives,
    /// along its course if it has one, from the start on, around which a self-similar process may stay for a
    /// long time. `None` where that is not known.
    pub fn expected(&self, from: Instant, to: Instant) -> Option<f64> {
        match &self.process {
            Process::Curve { curve, .. } => Some((curve.cumulative(to) - curve.cumulative(from)).max(0.0)),
            Process::Modulated { environment, course: Some(course), .. } => {
                Some(environment.mean_rate() * (course.seconds(to) - course.seconds(from)).max(0.0))
            }
            Process::Renewal { .. } | Process::Modulated { .. } => {
                Some(self.mean_rate()?.as_per_second() * to.since(from).as_secs_f64())
            }
            Process::Trace(trace) => {
                Some(trace.count_before(to).saturating_sub(trace.count_before(from)) as f64)
            }
        }
    }
}

/// The arrivals of one run, in order of time.
#[derive(Debug, Clone)]
pub struct Arrivals {
    running: ProcessState,
}

#[derive(Debug, Clone)]
enum ProcessState {
    Curve {
        curve: Arc<Curve>,
        units: Units,
        latest: Instant,
    },
    Renewal {
        gaps: Distribution,
        stream: Stream,
        /// `None` once an arrival would lie beyond the end of time.
        at: Option<Carry>,
    },
    Trace {
        trace: Arc<Trace>,
        next: u64,
    },
    Modulated(Modulated),
}

impl Arrivals {
    /// The part of these arrivals that is `worker`'s, one of `workers`: those whose index modulo `workers` is
    /// `worker`, each with its index in the whole. Every worker draws all of them, so that together they have
    /// exactly what one worker would have.
    ///
    /// # Panics
    /// Unless `worker` is below `workers`.
    pub fn share(self, worker: u32, workers: u32) -> WorkerArrivals {
        assert!(worker < workers, "worker {worker} is not one of {workers}");
        WorkerArrivals { arrivals: self, index: 0, worker: worker.into(), workers: workers.into() }
    }
}

impl Iterator for Arrivals {
    type Item = Instant;

    fn next(&mut self) -> Option<Instant> {
        match &mut self.running {
            ProcessState::Curve { curve, units, latest } => {
                // Rounding, in a search or where two rounds of a schedule meet, must not turn time back.
                *latest = curve.instant_of(units.next())?.max(*latest);
                Some(*latest)
            }
            ProcessState::Renewal { gaps, stream, at } => {
                *at = at.and_then(|at| at.after(gaps.sample(stream)));
                at.map(Carry::instant)
            }
            ProcessState::Trace { trace, next } => {
                let instant = trace.nth(*next)?;
                *next += 1;
                Some(instant)
            }
            ProcessState::Modulated(modulated) => modulated.next(),
        }
    }
}

/// Arrivals of one worker, each with its index among all of them.
#[derive(Debug, Clone)]
pub struct WorkerArrivals {
    arrivals: Arrivals,
    index: u64,
    worker: u64,
    workers: u64,
}

impl Iterator for WorkerArrivals {
    type Item = (u64, Instant);

    fn next(&mut self) -> Option<(u64, Instant)> {
        loop {
            let instant = self.arrivals.next()?;
            let index = self.index;
            self.index += 1;
            if index % self.workers == self.worker {
                return Some((index, instant));
            }
        }
    }
}

/// Events of rate one: where the cumulative rate is when the next arrival comes.
#[derive(Debug, Clone)]
enum Units {
    Even {
        next: u64,
    },
    /// The running sum of exponential gaps is split, because a plain sum in the billions would round them.
    Poisson {
        stream: Stream,
        whole: u64,
        part: f64,
    },
    /// Gaps of another distribution, `unit` times as large, which has their mean at one; their sum is split
    /// likewise.
    Renewal {
        gaps: Distribution,
        unit: f64,
        stream: Stream,
        whole: u64,
        part: f64,
    },
}

impl Units {
    fn next(&mut self) -> f64 {
        match self {
            Units::Even { next } => {
                let count = *next as f64 + 0.5;
                *next += 1;
                count
            }
            Units::Poisson { stream, whole, part } => {
                let gap: f64 = rand_distr::Exp1.sample(stream);
                split_sum(whole, part, gap)
            }
            Units::Renewal { gaps, unit, stream, whole, part } => {
                split_sum(whole, part, (*unit * gaps.sample(stream)).max(0.0))
            }
        }
    }
}

/// Adds `gap` to a sum that is kept in two.
fn split_sum(whole: &mut u64, part: &mut f64, gap: f64) -> f64 {
    *part += gap;
    *whole += part.trunc() as u64;
    *part = part.fract();
    *whole as f64 + *part
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed};

    #[test]
    fn the_billionth_arrival_at_a_constant_rate_is_where_it_belongs() {
        let index = 1_000_000_000u64;
        for rate in [300u64, 7_001, 1_000_000] {
            let curve = Curve::steady(Rate::per_second(rate as f64).expect("a rate"));
            let mut units = Units::Even { next: index };
            let exact = (2 * u128::from(index) + 1) * 1_000_000_000 / (2 * u128::from(rate));
            let ns = curve.instant_of(units.next()).expect("it never ends").as_ns();
            assert!(u128::from(ns).abs_diff(exact) <= 1, "{ns} instead of {exact}");
        }
    }

    #[test]
    fn the_poisson_sum_keeps_its_gaps_when_it_is_large() {
        let stream = || Seed(3).stream(Purpose::Arrivals, 0);
        let mut near = Units::Poisson { stream: stream(), whole: 0, part: 0.0 };
        let mut far = Units::Poisson { stream: stream(), whole: 1 << 40, part: 0.0 };
        for _ in 0..100_000 {
            near.next();
            far.next();
        }
        let (Units::Poisson { whole: one, part: a, .. }, Units::Poisson { whole: other, part: b, .. }) =
            (near, far)
        else {
            unreachable!("both are Poisson");
        };
        assert_eq!((one + (1 << 40), a), (other, b));
    }
}
