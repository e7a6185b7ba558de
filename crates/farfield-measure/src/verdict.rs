//! The verdict: whether the results of a run are valid.
//!
//! Each [`Check`] compares one possible fault of the generator with its limit. A run is valid if no check
//! failed. A check that does not apply to a run is not omitted but [skipped](CheckState::Skipped), with the
//! reason; so is a share or a percentile of too few values. The verdict does not judge the server's speed:
//! [thresholds](crate::threshold) do. But a server that is absent (`server`, `server_failing`), and requests
//! of which none succeed (`succeeded`), leave nothing to measure.
//!
//! A failed check has a remedy (`advice`) and names the failure that it follows from (`causes`), so that a
//! reader sees the first cause instead of its five symptoms: what would have had to be different for it to
//! pass (`counterfactual`).

mod advice;
mod capture;
mod causes;
mod counterfactual;
mod delivery;
pub(crate) mod disturbed;
mod limits;
mod machine;
mod programs;
mod rate;
mod response_time_law;
mod server;
mod server_failing;
mod server_processors;
mod server_receive;
mod succeeded;
mod timing;
mod unfinished;

pub use capture::CaptureAgreement;
pub use disturbed::Disturbed;
pub use limits::{ChangedLimit, VerdictLimits};

use crate::engine_stats::{Arrivals, EngineStats};
use crate::fold::Fold;
use crate::summary::SummaryContext;
use advice::RunView;
use farfield_base::{Duration, Instant, Outcome};
use machine::{BUSY, STEAL, THROTTLED};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use server_processors::APART;
use timing::{STALL, WORKER};

/// Fewer requests than this say nothing about Little's law.
const LITTLE_REQUESTS_MIN: u64 = 100;
/// Most of the measured part that may be set aside, by choice.
const SET_ASIDE_MOST: f64 = 0.5;

/// Unit of a measured number and its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Unit")]
pub enum LimitUnit {
    /// Nanoseconds.
    Ns,
    /// A part of a whole: 0.05 is 5 %.
    Share,
    /// Whole things.
    Count,
    /// A second.
    PerSecond,
}

/// Result of a check.
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
    /// Name of the check, stable between versions.
    pub name: String,
    /// The condition, in one sentence.
    pub what: String,
    /// The number found; absent where there is none.
    pub measured: Option<f64>,
    /// The largest number that passes, or the smallest where the sentence says "at least".
    pub limit: f64,
    /// The unit of both.
    pub unit: LimitUnit,
    /// The result.
    pub state: CheckState,
    /// The reason why it was skipped, or details of a failure.
    pub note: Option<String>,
    /// The remedy for a failure, with this run's numbers.
    #[serde(default)]
    pub advice: Option<String>,
    /// The check whose failure this failure follows from; null for a first cause, and where nothing failed.
    #[serde(default)]
    pub follows_from: Option<String>,
}

/// All checks of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// True if no check failed.
    pub valid: bool,
    /// The checks, in a fixed order: what may be the cause of another's failure stands before it.
    pub checks: Vec<Check>,
    /// Limits that the scenario changed: what the verdict was compared with instead of the defaults.
    #[serde(default)]
    pub changed_limits: Vec<ChangedLimit>,
    /// Effects of workers' stalls and of the machine's host on the run, and the figures that they can have
    /// moved; null if there were no long stalls, and too little was taken to move a percentile.
    #[serde(default)]
    pub disturbed: Option<Disturbed>,
}

impl Verdict {
    /// Judges the run that ended (or has come) at `until`.
    pub fn judge(context: SummaryContext<'_>, fold: &Fold, stats: &EngineStats, until: Instant) -> Verdict {
        let limits = context.limits;
        let run = RunView { context, fold, stats, until };
        let silent = server::silent(&run);
        let failing = server_failing::failing(&run, silent.state);
        let mut checks = vec![
            completed(stats, fold, until),
            generator_lacked(fold, stats, limits),
            server::ended(stats),
            server_receive::taken(&run),
            silent,
            failing,
            machine::throttled(&run),
            machine::busy(&run),
            machine::steal(&run),
            timing::worker_busy(&run),
            timing::longest_stall(&run),
            timing::loop_lag(&run),
            timing::send_lateness(&run),
            timing::departure_lateness(&run),
            delivery::lateness(&run),
            timing::pickup_lateness(&run),
            timing::arrival_lateness(&run),
            timing::crossing_lateness(&run),
            timing::gateway_overruns(&run),
            dropped_arrivals(stats, limits),
            rate::achieved(&run),
            samples_lost(stats),
            littles_law(fold, stats, limits),
            something_measured(fold),
            succeeded::something_succeeded(context, fold),
            response_time_law::response_time_law(context, fold, stats, until),
            unfinished::unfinished(fold, until),
        ];
        checks.extend(set_aside(fold, until));
        checks.extend(programs::ran(stats));
        // Before what may be late because of it.
        let at = checks.iter().position(|check| check.name == BUSY).unwrap_or(0);
        checks.splice(at..at, server_processors::checks(&run));
        let explains = |cause: &str, check: &str| {
            rate::explains(&run, cause, check).unwrap_or_else(|| match cause {
                server_receive::NAME => server_receive::explains(&run, check),
                // An interruption of the run has not silenced its server.
                "completed" if check != "something-measured" => stats.network_taken,
                _ => true,
            })
        };
        let mut findings = counterfactual::findings(&run, &checks);
        // Workers that computed all the time would not have begun a rate that is far too high.
        findings.retain(|finding| finding.check != rate::NAME || !explains(rate::NAME, ""));
        counterfactual::apply(&run, &mut checks, &findings, |cause| {
            machine::is_judged_by_itself(&run, cause)
        });
        server_receive::excuse_without_effect(&mut checks, explains);
        causes::note_causes(&mut checks, &findings, explains);
        let valid = checks.iter().all(|check| check.state != CheckState::Failed);
        let disturbed = disturbed::disturbed(&run);
        Verdict { valid, checks, changed_limits: limits.changed(), disturbed }
    }

    /// Adds a check that failed after the run was judged, with what to do.
    pub fn fail(&mut self, name: &str, what: &str, why: String, advice: &str) {
        self.valid = false;
        let check = Check::at_most(name, what, 1.0, 0.0, LimitUnit::Count).noted(Some(why));
        self.checks.push(check.advised(|| advice.to_owned()));
    }

    /// Adds a check on the parts of a run: how many things were found, and how many there may be.
    pub(crate) fn add_counted(
        &mut self,
        name: &str,
        what: &str,
        (found, most): (f64, f64),
        note: Option<String>,
        advice: &str,
    ) {
        self.add(Check::at_most(name, what, found, most, LimitUnit::Count).noted(note), advice);
    }

    /// Adds the check that parts started together.
    pub(crate) fn add_skew(&mut self, skew: Duration, most: Duration, advice: &str) {
        let what =
            "The parts of the run started together, by their wall clocks, as closely as the load needs it.";
        let (skew, most) = (skew.as_ns() as f64, most.as_ns() as f64);
        self.add(Check::at_most("start-skew", what, skew, most, LimitUnit::Ns), advice);
    }

    fn add(&mut self, check: Check, advice: &str) {
        self.valid &= check.state != CheckState::Failed;
        let check =
            if check.state == CheckState::Failed { check.advised(|| advice.to_owned()) } else { check };
        // What may be the cause of another's failure stands before it.
        self.checks.insert(0, check);
    }

    /// The checks that failed.
    pub fn failed(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| check.state == CheckState::Failed)
    }

    /// True if a failed check says that no request succeeded up to the end of the load.
    pub(crate) fn judges_the_end(&self) -> bool {
        self.failed().any(|check| ["server-silent", server_failing::NAME].contains(&check.name.as_str()))
    }

    /// The failed check that the others, or most of them, follow from.
    pub fn first_cause(&self) -> Option<&Check> {
        self.failed().find(|check| check.follows_from.is_none())
    }
}

impl Check {
    /// A check that passes up to `limit`.
    fn at_most(name: &str, what: &str, measured: f64, limit: f64, unit: LimitUnit) -> Check {
        let state = if measured <= limit { CheckState::Passed } else { CheckState::Failed };
        let (name, what) = (name.to_owned(), what.to_owned());
        Check {
            name,
            what,
            measured: Some(measured),
            limit,
            unit,
            state,
            note: None,
            advice: None,
            follows_from: None,
        }
    }

    /// A check that passes from `limit` on.
    fn at_least(name: &str, what: &str, measured: f64, limit: f64, unit: LimitUnit) -> Check {
        let state = if measured >= limit { CheckState::Passed } else { CheckState::Failed };
        Check { state, ..Check::at_most(name, what, measured, limit, unit) }
    }

    fn skipped(name: &str, what: &str, limit: f64, unit: LimitUnit, why: &str) -> Check {
        let (name, what, note) = (name.to_owned(), what.to_owned(), Some(why.to_owned()));
        let state = CheckState::Skipped;
        Check { name, what, measured: None, limit, unit, state, note, advice: None, follows_from: None }
    }

    fn noted(self, note: Option<String>) -> Check {
        Check { note, ..self }
    }

    /// Makes a failure that had no effect, for the reason `why`, one that does not apply.
    fn take_back(&mut self, why: &str) {
        (self.state, self.advice) = (CheckState::Skipped, None);
        let note = self.note.take().unwrap_or_default();
        self.note = Some(format!("{note}, {why}"));
    }

    /// The check with what to do, if it failed.
    fn advised(self, advice: impl FnOnce() -> String) -> Check {
        let advice = (self.state == CheckState::Failed).then(advice);
        Check { advice, ..self }
    }
}

fn completed(stats: &EngineStats, fold: &Fold, until: Instant) -> Check {
    let what = "The run went to its end.";
    let window = fold.window();
    // A load that ended of its own closes the window; so does one whose window has no end.
    let short = !stats.load_ended && window.measure_to != Instant::MAX && until < window.measure_to;
    let note =
        stats.interrupted.clone().or_else(|| short.then(|| "the measured part is not over".to_owned()));
    let check = Check::at_most("completed", what, f64::from(u8::from(note.is_some())), 0.0, LimitUnit::Count);
    check.noted(note).advised(|| "run again, and let it go to its end".to_owned())
}

/// The check that as much is left as is set aside; `None` if no seconds may be set aside.
fn set_aside(fold: &Fold, until: Instant) -> Option<Check> {
    fold.aside()?;
    let what = "Half of the measured part or more was undisturbed and is left.";
    let all = fold.window().elapsed(until);
    let aside = all - fold.lasted(until);
    let share = if all.is_zero() { 0.0 } else { aside.as_secs_f64() / all.as_secs_f64() };
    let check = Check::at_most("set-aside", what, share, SET_ASIDE_MOST, LimitUnit::Share);
    let is_too_much = check.state == CheckState::Failed;
    let note = is_too_much.then(|| format!("of {all} of load, {aside} are set aside"));
    let advice =
        "measure on a quieter machine: what is left is what happened to be calm, not what the server does";
    Some(check.noted(note).advised(|| advice.to_owned()))
}

fn something_measured(fold: &Fold) -> Check {
    let what = "At least one request was due, or one event of a stream came, in the measured part.";
    let measured = fold.steady().requests() + fold.steady().streams.events;
    let check = Check::at_least("something-measured", what, measured as f64, 1.0, LimitUnit::Count);
    check.advised(|| "measure for longer with `--duration`, or offer more".to_owned())
}

const CLOSED_ONLY: &str = "users of this load do not come back when they are answered";

fn dropped_arrivals(stats: &EngineStats, limits: &VerdictLimits) -> Check {
    let what = "No arrival was dropped for want of users.";
    let limit = limits.dropped_arrivals as f64;
    match stats.arrivals {
        Some(arrivals) => {
            let check =
                Check::at_most("dropped-arrivals", what, arrivals.dropped as f64, limit, LimitUnit::Count);
            check.advised(|| {
                let Arrivals { scheduled, dropped, .. } = arrivals;
                format!(
                    "{dropped} of {scheduled} arrivals found all users busy: raise `load.users-max`, offer less, or \
                     allow for them in `verdict.dropped-arrivals`"
                )
            })
        }
        None => Check::skipped("dropped-arrivals", what, limit, LimitUnit::Count, rate::CLOSED),
    }
}

/// L = λW (Little 1961), as |L − λW| / L over the steady part.
///
/// L comes from a count kept while running. λW is a sum over samples, of failed requests too, of the time
/// from due to done **as far as it lies inside the part**: that cuts off what requests of the warm-up and
/// of the drain reach in from either edge, so that the law holds exactly for any load, also for a queue
/// that grows. What remains is samples lost, made up or wrongly timed.
fn littles_law(fold: &Fold, stats: &EngineStats, limits: &VerdictLimits) -> Check {
    let what = "Little's law holds: the requests counted in the system agree with the samples.";
    let limit = limits.littles_law.as_f64();
    let skip = |why: &str| Check::skipped("littles-law", what, limit, LimitUnit::Share, why);
    let residence = fold.residence();
    if stats.workers.is_empty() && stats.in_system_ns == 0 {
        return skip("workers report what they counted at the end of the run");
    }
    if residence.requests < LITTLE_REQUESTS_MIN {
        return skip(&format!("fewer than {LITTLE_REQUESTS_MIN} requests were in the system"));
    }
    let (counted, sampled) = (stats.in_system_ns as f64, residence.total_ns as f64);
    let residual = (counted - sampled).abs() / counted.max(1.0);
    Check::at_most("littles-law", what, residual, limit, LimitUnit::Share).advised(|| {
        "the counts kept while running and the recorded samples disagree: report this with the run directory"
            .to_owned()
    })
}

fn samples_lost(stats: &EngineStats) -> Check {
    let what = "No sample was lost on its way to the record.";
    let lost = stats.generator.samples_lost as f64;
    let check = Check::at_most("samples-lost", what, lost, 0.0, LimitUnit::Count);
    check.noted(stats.samples_refused.clone()).advised(|| {
        "free the disk, or keep fewer samples with `output.samples` or `output.disk-budget`".to_owned()
    })
}

/// Requests that failed for want of something on this machine, in the warm-up as well: users were not who
/// they were meant to be.
fn generator_lacked(fold: &Fold, stats: &EngineStats, limits: &VerdictLimits) -> Check {
    let what = "No request failed for want of a descriptor or a local address, and memory was not short.";
    let both = |outcome| fold.warm_up().count(outcome) + fold.steady().count(outcome);
    let [descriptors, addresses] = [Outcome::NoDescriptor, Outcome::NoAddress].map(both);
    let short = stats.memory_short.as_deref();
    let lacked = (descriptors + addresses + u64::from(short.is_some())) as f64;
    let limit = limits.generator_lacked as f64;
    let check = Check::at_most("generator-lacked", what, lacked, limit, LimitUnit::Count);
    if check.state == CheckState::Passed {
        return check;
    }
    let found = match (descriptors, addresses) {
        (0, 0) => short.unwrap_or_default().to_owned(),
        (_, 0) => format!("{descriptors} requests found no descriptor"),
        (0, _) => format!("{addresses} requests found no local address and port"),
        _ => format!("{descriptors} requests found no descriptor, and {addresses} no local address and port"),
    };
    check.noted(Some(found)).advised(|| {
        if descriptors + addresses == 0 {
            return "free memory, or ask for fewer users or smaller replies: what runs here is slowed while the kernel \
                    looks for memory, and killed when it finds none"
                .to_owned();
        }
        let most = if addresses > descriptors { Outcome::NoAddress } else { Outcome::NoDescriptor };
        succeeded::remedy(most).to_owned()
    })
}

#[cfg(test)]
pub(crate) mod scene;
#[cfg(test)]
mod tests;
