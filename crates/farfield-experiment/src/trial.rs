//! A trial: one run with a load, a length and a seed, what was observed of it, and who makes it.

use crate::crossing::Link;
use crate::report::Throughput;
use farfield_base::Duration;
use farfield_measure::verdict::LimitUnit;
use farfield_measure::{Threshold, ThresholdResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The file in a run directory with its [`Design`].
pub const DESIGN_FILE: &str = "design.json";

/// A run of a search that is to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// The load: arrivals a second, or users.
    pub load: f64,
    /// Length of the measured part.
    pub length: Duration,
    /// The trial's place in the experiment.
    pub design: Design,
}

/// The place of a run in its experiment, as its directory keeps it (`design.json`). Runs with the same
/// experiment and repeat number belong together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Design {
    /// The experiment's name.
    pub experiment: String,
    /// The run's number among all runs of the experiment, from 1, in the order in which they were made.
    pub number: u32,
    /// The point: its load, with the key that sets it.
    pub point: String,
    /// The number of the run among those of its point and length, from 1.
    pub repeat: u32,
    /// The number of the block, within which the order of runs was drawn; 0 for the first ones, whose
    /// order follows from their results.
    pub block: u32,
    /// The seed of the run.
    pub seed: u64,
}

/// The validity of a run: it counts, or it does not, by whose doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Validity {
    /// The run counts.
    Valid,
    /// The run is invalid because the server did not cope, which is an answer: goals are broken.
    Overwhelmed {
        /// The check that failed.
        cause: String,
    },
    /// The run is invalid because of farfield or its machine, and counts for nothing.
    Invalid {
        /// The check that failed first.
        cause: String,
        /// True if the generator itself had no more to give, rather than that something disturbed it.
        is_full: bool,
    },
    /// Too few requests were due in it for its goals: it says nothing of the server, and counts for nothing.
    TooShort {
        /// The shortage, as a clause: "12 requests were due, and p99 takes 100".
        cause: String,
    },
    /// The run's load, of sessions that arrive by themselves, was still becoming more, at whatever rate they
    /// arrive: what it kept it need not keep in the long run, and it counts for nothing.
    StillRising {
        /// The time that sessions last, and the way out, as a clause.
        cause: String,
    },
}

impl Validity {
    /// The check that failed; `None` for a run that counts.
    pub fn cause(&self) -> Option<&str> {
        match self {
            Validity::Valid => None,
            Validity::Overwhelmed { cause }
            | Validity::Invalid { cause, .. }
            | Validity::TooShort { cause }
            | Validity::StillRising { cause } => Some(cause),
        }
    }
}

/// Share beyond a percentile above which few requests do not change the mean.
const FEW: f64 = 0.100_001;

/// The result of one goal in a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct GoalReading {
    /// The goal.
    pub goal: String,
    /// The number found, in nanoseconds or as a share; null if there was nothing to measure.
    pub measured: Option<f64>,
    /// The limit over the number found, at most 4: above 1 where the goal is kept.
    pub margin: f64,
    /// True if it was kept.
    pub kept: bool,
    /// The share of times beyond the limit, of a percentile, and of requests that are of the kind that a goal
    /// on a share limits; null of any other goal.
    #[serde(default)]
    pub beyond_share: Option<f64>,
    /// The share that may be: of a p99, one in a hundred.
    #[serde(default)]
    pub allowed_share: Option<f64>,
    /// Requests without which its number says nothing: a hundred for a p99.
    #[serde(default)]
    pub requests_needed: u64,
    /// The requests that it is of, such as those of its class; null where they are all.
    #[serde(default)]
    pub requests: Option<u64>,
}

impl GoalReading {
    /// The reading of a threshold's result.
    pub fn of(result: &ThresholdResult) -> GoalReading {
        let margin = crate::goal::margin(result);
        let goal: Option<Threshold> = result.text.parse().ok();
        // What such a goal limits is a share already.
        let is_share =
            goal.as_ref().is_some_and(|goal| goal.unit() == LimitUnit::Share && goal.is_upper_limit());
        GoalReading {
            goal: result.text.clone(),
            measured: result.measured,
            margin,
            kept: result.passed,
            beyond_share: if is_share { result.measured } else { result.beyond_share },
            allowed_share: match is_share {
                true => Some(result.limit).filter(|limit| *limit > 0.0),
                false => goal.as_ref().and_then(Threshold::allowed_share),
            },
            requests_needed: goal.as_ref().map_or(1, Threshold::requests_needed),
            requests: result.requests.filter(|_| goal.is_some_and(|goal| goal.scope().is_some())),
        }
    }

    /// True of a goal on a share, of which what is counted are requests, such as failures.
    pub(crate) fn is_of_share(&self) -> bool {
        self.beyond_share.is_some() && self.beyond_share == self.measured
    }

    /// Times beyond the limit, or failures, in units of how many may be; of goals that leave few.
    fn beyond(&self) -> Option<f64> {
        let allowed = self.allowed_share.filter(|allowed| *allowed <= FEW)?;
        Some(self.beyond_share? / allowed)
    }
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observed {
    /// The validity: the run counts only if it is valid.
    pub validity: Validity,
    /// Requests that were due, a second.
    pub offered_per_s: f64,
    /// Requests that were due in the measured part.
    #[serde(default)]
    pub requests: u64,
    /// Successful replies a second.
    pub achieved_per_s: f64,
    /// Bytes of bodies a second, of whole replies.
    #[serde(default)]
    pub body_bytes_per_s: f64,
    /// The median response time; null if there is none.
    #[serde(default)]
    pub median_ns: Option<f64>,
    /// The 99th percentile of the response time; null if there is none.
    pub p99_ns: Option<f64>,
    /// The share of requests that went wrong; null if there were none.
    pub error_share: Option<f64>,
    /// The share of requests due by which those without an answer became more in the measured part, as far as
    /// that is no accident: the load is more than is served. Zero of a closed load, whose users wait.
    #[serde(default)]
    pub backlog_share: f64,
    /// The results of the goals.
    pub goals: Vec<GoalReading>,
    /// The resource that gave out at the server, in words; null where none did, or nothing was monitored.
    pub gave_out: Option<String>,
    /// Length of the warm-up.
    #[serde(default)]
    pub warm_up_ns: u64,
    /// From the start of the load until response times had settled; null if they had not by its middle, or if
    /// that is not known.
    #[serde(default)]
    pub settled_ns: Option<u64>,
    /// At the end of the measured part, the time in which response times differ from the rest; 0 if they do
    /// not.
    #[serde(default)]
    pub end_ns: u64,
    /// The mean response time of the second half of the measured part over that of the first; null if either
    /// had none.
    #[serde(default)]
    pub halves_ratio: Option<f64>,
    /// The run directory.
    pub directory: PathBuf,
    /// Seconds that it took on the wall clock, with start and end.
    pub took_s: f64,
}

impl Observed {
    /// True if all goals were kept, by a server that coped with the load.
    pub fn keeps_goals(&self) -> bool {
        self.validity == Validity::Valid
            && self.backlog_share == 0.0
            && self.goals.iter().all(|goal| goal.kept)
    }

    /// The throughput of this kind.
    pub fn throughput(&self, of: Throughput) -> f64 {
        match of {
            Throughput::Requests => self.achieved_per_s,
            Throughput::Bytes => self.body_bytes_per_s,
        }
    }

    /// The link of the goal with the smallest margin: of a percentile times beyond its limit are counted,
    /// where the run says how many there were, and of a share failures.
    pub(crate) fn link(&self) -> Link {
        if self.binding().and_then(GoalReading::beyond).is_some() { Link::Log } else { Link::Inverse }
    }

    /// The requests that a goal is of.
    pub(crate) fn requests_of(&self, goal: &GoalReading) -> u64 {
        goal.requests.unwrap_or(self.requests)
    }

    /// The goal with the smallest margin.
    pub(crate) fn binding(&self) -> Option<&GoalReading> {
        self.goals.iter().min_by(|one, other| one.margin.total_cmp(&other.margin))
    }

    /// The number of its goals in units of their limits, the largest: 1 at the limit. With [`Link::Log`] that
    /// of percentiles and shares is the share beyond them, and other goals count where they are broken.
    pub(crate) fn number(&self, link: Link) -> f64 {
        let by_margin = 1.0 / self.margin().max(f64::MIN_POSITIVE);
        if link == Link::Inverse {
            return by_margin;
        }
        let beyond = self.goals.iter().filter_map(GoalReading::beyond).fold(0.0, f64::max);
        let is_other = |goal: &&GoalReading| goal.beyond().is_none() && !goal.kept;
        let is_served = self.backlog_share == 0.0 && self.validity == Validity::Valid;
        if is_served && !self.goals.iter().any(|goal| is_other(&goal)) {
            beyond
        } else {
            beyond.max(by_margin)
        }
    }

    /// The smallest margin of its goals; of a load that is not served, at most the share that is.
    pub fn margin(&self) -> f64 {
        let served = if self.backlog_share > 0.0 { 1.0 - self.backlog_share } else { f64::INFINITY };
        let smallest = self.goals.iter().map(|goal| goal.margin).fold(served, f64::min);
        if self.validity == Validity::Valid { smallest } else { smallest.min(1.0 - f64::EPSILON) }
    }
}

/// Why a runner made no run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// The time that was given to the search would be over before the run is.
    #[error("the time is over")]
    BudgetOver,
    /// No run at all was valid, though the generator was not full: its machine is disturbed.
    #[error("no run was valid: {0}")]
    Disturbed(String),
    /// The run could not be made at all; a sentence.
    #[error("{0}")]
    Failed(String),
}

/// Makes runs.
pub trait Runner {
    /// Makes the run, or reads it back if it was made already.
    ///
    /// # Errors
    /// If it was interrupted, or could not be made.
    fn run(&mut self, trial: &Trial) -> Result<Observed, Stop>;
}
