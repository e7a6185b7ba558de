//! The verdict: may this run be believed?
//!
//! Each [`Check`] holds one thing that the generator could have got wrong against its limit. A run is
//! valid if no check failed. What does not apply to a run is not left out but
//! [skipped](CheckState::Skipped), with the reason. The verdict says nothing of the server: that is what
//! [thresholds](crate::threshold) are for. One check alone looks at what came back: where
//! nothing succeeded, nothing of what was asked for was measured.

mod response_time_law;
mod succeeded;
mod unfinished;

use crate::facts::EngineFacts;
use crate::fold::Fold;
use crate::histogram::Histogram;
use crate::quantile::Quantile;
use crate::summary::Asked;
use farfield_base::{Duration, Instant, Share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Fewer requests than this say nothing about Little's law.
const LITTLE_REQUESTS_MIN: u64 = 100;

/// How much may go wrong before a run is invalid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct VerdictLimits {
    /// The least share of the requests that must succeed, of those whose end was seen; 0 allows that none does.
    /// Default 0.01.
    pub succeeded: Share,
    /// The longest p99 of send lateness. Default 1 ms.
    pub lateness_p99: Duration,
    /// The longest p99 of event-loop lag. Default 5 ms.
    pub loop_lag_p99: Duration,
    /// The largest share of its time that any worker may compute. Default 0.9.
    pub worker_busy: Share,
    /// The largest relative error of the achieved rate. Default 0.01.
    pub rate_error: Share,
    /// The largest relative residual of Little's law. Default 0.05.
    pub littles_law: Share,
    /// The largest relative error of the interactive response time law, for a closed load. Default 0.1.
    pub response_time_law: Share,
    /// Arrivals that may be dropped. Default 0.
    pub dropped_arrivals: u64,
    /// The longest p99 of how late packets leave an emulated network for the server. Default 1 ms.
    pub departure_lateness_p99: Duration,
    /// The longest p99 of how late packets reach emulated clients. Default 1 ms.
    pub arrival_lateness_p99: Duration,
    /// The longest p99 of how late packets are taken over from another shard. Default 1 ms.
    pub crossing_lateness_p99: Duration,
}

impl Default for VerdictLimits {
    fn default() -> VerdictLimits {
        let share = |share| Share::new(share).expect("a literal from 0 to 1");
        VerdictLimits {
            succeeded: share(0.01),
            lateness_p99: Duration::from_ms(1),
            loop_lag_p99: Duration::from_ms(5),
            worker_busy: share(0.9),
            rate_error: share(0.01),
            littles_law: share(0.05),
            response_time_law: share(0.1),
            dropped_arrivals: 0,
            departure_lateness_p99: Duration::from_ms(1),
            arrival_lateness_p99: Duration::from_ms(1),
            crossing_lateness_p99: Duration::from_ms(1),
        }
    }
}

/// What a measured number and its limit are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// A part of a whole: 0.05 is 5 %.
    Share,
    /// Whole things.
    Count,
    /// A second.
    PerSecond,
}

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// Within its limit.
    Passed,
    /// Beyond its limit: the run is invalid.
    Failed,
    /// Does not apply; the note says why.
    Skipped,
}

/// One check of a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Its name, stable between versions.
    pub name: String,
    /// What it holds against what, in one sentence.
    pub what: String,
    /// The number found; absent where there is none.
    pub measured: Option<f64>,
    /// The largest number that passes, or the smallest where the sentence says "at least".
    pub limit: f64,
    /// The unit of both.
    pub unit: Unit,
    /// How it came out.
    pub state: CheckState,
    /// Why it was skipped, or more about a failure.
    pub note: Option<String>,
}

/// All checks of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// True if no check failed.
    pub valid: bool,
    /// The checks, in a fixed order.
    pub checks: Vec<Check>,
}

impl Verdict {
    /// Judges the run that ended (or has come) at `until`.
    pub fn judge(asked: Asked<'_>, fold: &Fold, facts: &EngineFacts, until: Instant) -> Verdict {
        let limits = asked.limits;
        let checks = vec![
            completed(facts, fold, until),
            something_measured(fold),
            succeeded::something_succeeded(asked, fold),
            lateness(facts, limits),
            loop_lag(facts, limits),
            worker_busy(facts, limits),
            achieved_rate(facts, limits),
            dropped_arrivals(facts, limits),
            littles_law(fold, facts, limits),
            response_time_law::response_time_law(asked, fold, facts, until),
            unfinished::unfinished(fold),
            samples_lost(facts),
            departure_lateness(facts, limits),
            arrival_lateness(facts, limits),
            crossing_lateness(facts, limits),
            gateway_overruns(facts),
        ];
        Verdict { valid: checks.iter().all(|check| check.state != CheckState::Failed), checks }
    }

    /// Adds a check that failed after the run was judged.
    pub fn fail(&mut self, name: &str, what: &str, why: String) {
        self.valid = false;
        self.checks.push(Check::at_most(name, what, 1.0, 0.0, Unit::Count).noted(Some(why)));
    }

    /// The checks that failed.
    pub fn failed(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| check.state == CheckState::Failed)
    }
}

impl Check {
    /// A check that passes up to `limit`.
    fn at_most(name: &str, what: &str, measured: f64, limit: f64, unit: Unit) -> Check {
        let state = if measured <= limit { CheckState::Passed } else { CheckState::Failed };
        let (name, what) = (name.to_owned(), what.to_owned());
        Check { name, what, measured: Some(measured), limit, unit, state, note: None }
    }

    /// A check that passes from `limit` on.
    fn at_least(name: &str, what: &str, measured: f64, limit: f64, unit: Unit) -> Check {
        let state = if measured >= limit { CheckState::Passed } else { CheckState::Failed };
        Check { state, ..Check::at_most(name, what, measured, limit, unit) }
    }

    fn skipped(name: &str, what: &str, limit: f64, unit: Unit, why: &str) -> Check {
        let (name, what, note) = (name.to_owned(), what.to_owned(), Some(why.to_owned()));
        Check { name, what, measured: None, limit, unit, state: CheckState::Skipped, note }
    }

    fn noted(self, note: Option<String>) -> Check {
        Check { note, ..self }
    }
}

fn completed(facts: &EngineFacts, fold: &Fold, until: Instant) -> Check {
    let what = "The run went to its end.";
    let window = fold.window();
    // A load that ended of its own closes the window; so does one whose window has no end.
    let short = !facts.load_ended && window.measure_to != Instant::MAX && until < window.measure_to;
    let note =
        facts.interrupted.clone().or_else(|| short.then(|| "the measured part is not over".to_owned()));
    Check::at_most("completed", what, f64::from(u8::from(note.is_some())), 0.0, Unit::Count).noted(note)
}

fn something_measured(fold: &Fold) -> Check {
    let what = "At least one request was due in the measured part.";
    Check::at_least("something-measured", what, fold.steady().requests() as f64, 1.0, Unit::Count)
}

fn p99_at_most(name: &str, what: &str, times: &Histogram, limit: Duration, none: &str) -> Check {
    let limit = limit.as_ns() as f64;
    match times.quantile(Quantile::P99) {
        Some(p99) => Check::at_most(name, what, p99.as_ns() as f64, limit, Unit::Ns),
        None => Check::skipped(name, what, limit, Unit::Ns, none),
    }
}

fn lateness(facts: &EngineFacts, limits: &VerdictLimits) -> Check {
    let what = "The p99 of how late the generator acted, against when it meant to, is small.";
    p99_at_most("send-lateness", what, &facts.lateness, limits.lateness_p99, "nothing was scheduled by time")
}

fn loop_lag(facts: &EngineFacts, limits: &VerdictLimits) -> Check {
    let what = "The p99 of how long a turn of an event loop took is small.";
    p99_at_most("loop-lag", what, &facts.loop_lag, limits.loop_lag_p99, "no turn of an event loop was timed")
}

fn worker_busy(facts: &EngineFacts, limits: &VerdictLimits) -> Check {
    let what = "The busiest worker had time to spare.";
    let limit = limits.worker_busy.as_f64();
    match facts.workers.iter().map(|worker| worker.busy()).max_by(f64::total_cmp) {
        Some(busiest) => Check::at_most("worker-cpu", what, busiest, limit, Unit::Share),
        None => Check::skipped("worker-cpu", what, limit, Unit::Share, "the plane has no workers to time"),
    }
}

const CLOSED_ONLY: &str = "users of this load do not come back when they are answered";
const CLOSED: &str = "a closed loop has no intended rate: its users come back when they are answered";

fn achieved_rate(facts: &EngineFacts, limits: &VerdictLimits) -> Check {
    let what = "As many arrivals were begun as the load scheduled.";
    let limit = limits.rate_error.as_f64();
    let skip = |why| Check::skipped("achieved-rate", what, limit, Unit::Share, why);
    match facts.arrivals {
        None => skip(CLOSED),
        Some(arrivals) if arrivals.scheduled == 0 && arrivals.begun == 0 => skip("no arrival was scheduled"),
        Some(arrivals) => {
            let (begun, scheduled) = (arrivals.begun as f64, arrivals.scheduled as f64);
            let error = (begun - scheduled).abs() / scheduled.max(1.0);
            let note = (error > limit).then(|| format!("{begun} of {scheduled} arrivals were begun"));
            Check::at_most("achieved-rate", what, error, limit, Unit::Share).noted(note)
        }
    }
}

fn dropped_arrivals(facts: &EngineFacts, limits: &VerdictLimits) -> Check {
    let what = "No arrival was dropped for want of users.";
    let limit = limits.dropped_arrivals as f64;
    match facts.arrivals {
        Some(arrivals) => {
            Check::at_most("dropped-arrivals", what, arrivals.dropped as f64, limit, Unit::Count)
        }
        None => Check::skipped("dropped-arrivals", what, limit, Unit::Count, CLOSED),
    }
}

/// L = λW (Little 1961), as |L − λW| / L over the steady part.
///
/// L comes from a count kept while running. λW is a sum over samples, of failed requests too, of the time
/// from due to done **as far as it lies inside the part**: that cuts off what requests of the warm-up and
/// of the drain reach in from either edge, so that the law holds exactly for any load, also for a queue
/// that grows. What remains is samples lost, made up or wrongly timed.
fn littles_law(fold: &Fold, facts: &EngineFacts, limits: &VerdictLimits) -> Check {
    let what = "Little's law holds: the requests counted in the system are those that the samples tell of.";
    let limit = limits.littles_law.as_f64();
    let skip = |why: &str| Check::skipped("littles-law", what, limit, Unit::Share, why);
    let residence = fold.residence();
    if residence.requests < LITTLE_REQUESTS_MIN {
        return skip(&format!("fewer than {LITTLE_REQUESTS_MIN} requests were in the system"));
    }
    let (counted, sampled) = (facts.in_system_ns as f64, residence.total_ns as f64);
    let residual = (counted - sampled).abs() / counted.max(1.0);
    Check::at_most("littles-law", what, residual, limit, Unit::Share)
}

fn samples_lost(facts: &EngineFacts) -> Check {
    let what = "No sample was lost on its way to the record.";
    Check::at_most("samples-lost", what, facts.samples_lost as f64, 0.0, Unit::Count)
        .noted(facts.samples_refused.clone())
}

const NO_NETWORK: &str = "the plane has no emulated network";

fn departure_lateness(facts: &EngineFacts, limits: &VerdictLimits) -> Check {
    let what = "The p99 of how late packets left for the server, against when they were meant to, is small.";
    let (name, limit) = ("departure-lateness", limits.departure_lateness_p99);
    match &facts.network {
        Some(network) => p99_at_most(name, what, &network.departure_lateness, limit, "no packet left"),
        None => Check::skipped(name, what, limit.as_ns() as f64, Unit::Ns, NO_NETWORK),
    }
}

fn arrival_lateness(facts: &EngineFacts, limits: &VerdictLimits) -> Check {
    let what = "The p99 of how late packets reached clients, against when they were meant to, is small.";
    let (name, limit) = ("arrival-lateness", limits.arrival_lateness_p99);
    match &facts.network {
        Some(network) => p99_at_most(name, what, &network.arrival_lateness, limit, "no packet arrived"),
        None => Check::skipped(name, what, limit.as_ns() as f64, Unit::Ns, NO_NETWORK),
    }
}

fn crossing_lateness(facts: &EngineFacts, limits: &VerdictLimits) -> Check {
    let what = "The p99 of how late packets were taken over from another shard is small.";
    let (name, limit) = ("crossing-lateness", limits.crossing_lateness_p99);
    match &facts.network {
        Some(network) => {
            p99_at_most(name, what, &network.crossing_lateness, limit, "shards share no links in real time")
        }
        None => Check::skipped(name, what, limit.as_ns() as f64, Unit::Ns, NO_NETWORK),
    }
}

/// What the network itself drops is what the scenario asks for, and is not judged.
fn gateway_overruns(facts: &EngineFacts) -> Check {
    let what = "The gateway lost no packet of its own.";
    match &facts.network {
        Some(network) => Check::at_most("gateway-overruns", what, network.overruns as f64, 0.0, Unit::Count),
        None => Check::skipped("gateway-overruns", what, 0.0, Unit::Count, NO_NETWORK),
    }
}

#[cfg(test)]
pub(crate) mod scene;
#[cfg(test)]
mod tests;
