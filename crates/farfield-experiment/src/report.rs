//! Report of a search for capacity: the answer, the curve, and every trial.

use crate::limit::GeneratorCheck;
use crate::trial::{Design, Observed, Trial, Validity};
use farfield_base::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of [`CapacityReport`]'s schema.
pub const SCHEMA_VERSION: u32 = 1;

/// The probability with which intervals contain the true value.
pub const LEVEL: f64 = 0.95;

/// Method by which an interval was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// From trials on both sides of the limit, by inverse regression: a confidence interval.
    Regression,
    /// Between the highest load that kept the goals and the lowest that broke them.
    Bounds,
    /// The mean of repeats at the load with the most throughput, made after it was selected. The interval
    /// is that of the maximum: its upper end is the highest of those of all loads that may have more.
    Repeats,
}

/// The throughput whose maximum a peak is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Throughput {
    /// Successful replies a second.
    #[default]
    Requests,
    /// Bytes of bodies a second, of whole replies.
    Bytes,
}

/// The answer of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Answer {
    /// The capacity.
    Found {
        /// The capacity, in the load's unit; of a peak, successful replies or bytes of bodies a second.
        value: f64,
        /// The lower end of its interval.
        low: f64,
        /// The upper end.
        high: f64,
        /// The method by which both were found.
        method: Method,
        /// The load at which it was found: of a peak, the one with the most throughput.
        at_load: f64,
    },
    /// No load was reached that the server did not take.
    AtLeast {
        /// The highest load that was taken; of a peak, successful replies or bytes of bodies a second.
        value: f64,
        /// Why no more could be offered.
        because: String,
        /// The generator had no more to give.
        generator_full: bool,
    },
    /// No load kept the goals.
    LessThan {
        /// The lowest load that broke them.
        value: f64,
    },
    /// Not known within what was asked for.
    Undecided {
        /// The highest load that kept the goals, or the lower end of an interval; null if there is none.
        low: Option<f64>,
        /// The lowest load that broke them, or the upper end; null if there is none.
        high: Option<f64>,
        /// Why no more is known.
        because: String,
    },
}

/// One trial with its place, its load and what was observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRecord {
    /// The load.
    pub load: f64,
    /// Length of the measured part.
    pub length_ns: u64,
    /// The trial's place in the experiment.
    pub design: Design,
    /// Observations of the trial.
    pub observed: Observed,
}

impl TrialRecord {
    pub(crate) fn of(trial: Trial, observed: Observed) -> TrialRecord {
        TrialRecord { load: trial.load, length_ns: trial.length.as_ns(), design: trial.design, observed }
    }

    /// True if the trial counts.
    pub fn counts(&self) -> bool {
        matches!(self.observed.validity, Validity::Valid | Validity::Overwhelmed { .. })
    }

    /// True if too few requests were due in it to judge by, or its load was still becoming more.
    pub fn is_too_short(&self) -> bool {
        matches!(self.observed.validity, Validity::TooShort { .. }) || self.is_still_rising()
    }

    /// True if its load was still becoming more.
    pub fn is_still_rising(&self) -> bool {
        matches!(self.observed.validity, Validity::StillRising { .. })
    }

    /// Length of the measured part.
    pub fn length(&self) -> Duration {
        Duration::from_ns(self.length_ns)
    }
}

/// A load of the curve: all trials with it that count, long and short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint {
    /// The load.
    pub load: f64,
    /// Trials that count.
    pub trials: u32,
    /// Trials that count and kept the goals.
    pub kept: u32,
    /// Trials that were invalid.
    pub invalid: u32,
    /// Trials in which too few requests were due to judge by.
    #[serde(default)]
    pub too_short: u32,
    /// The mean of successful replies a second; null if no trial counts.
    pub achieved_per_s: Option<f64>,
    /// The mean of bytes of bodies a second; null if no trial counts.
    #[serde(default)]
    pub body_bytes_per_s: Option<f64>,
    /// The mean of the 99th percentiles of the response time.
    pub p99_ns: Option<f64>,
    /// The mean share of requests that went wrong.
    pub error_share: Option<f64>,
}

/// The bounds of one goal by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoalBounds {
    /// The goal.
    pub goal: String,
    /// The highest load that kept it; null if there is none.
    pub lower: Option<f64>,
    /// The lowest load that broke it; null if there is none.
    pub upper: Option<f64>,
}

/// Why a search ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// The answer is as narrow as was asked for, or can be no narrower.
    Done,
    /// The time was over.
    BudgetOver,
    /// Ctrl-C.
    Interrupted,
    /// No run was valid; the check that failed.
    Disturbed(String),
    /// A run could not be made; a sentence.
    Failed(String),
}

/// All of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityReport {
    /// The version of this schema.
    pub schema_version: u32,
    /// The goals; empty for a peak.
    pub goals: Vec<String>,
    /// The throughput whose maximum was searched for; without meaning where there are goals.
    #[serde(default)]
    pub peak_of: Throughput,
    /// The key that sets the load.
    pub key: String,
    /// The unit of loads: "requests/s", "users".
    pub unit: String,
    /// The answer.
    pub answer: Answer,
    /// The probability with which its interval contains the true value.
    pub level: f64,
    /// Bounds of each goal by itself.
    pub goal_bounds: Vec<GoalBounds>,
    /// Successful requests a second at the highest load that kept the goals, in the trial with the fewest:
    /// the conditional throughput of RFC 9971; null if there is none.
    pub conditional_per_s: Option<f64>,
    /// The resource that gave out at the server at the loads that broke the goals; null where none is known.
    pub gave_out: Option<String>,
    /// Why the search ended.
    pub ended: Ended,
    /// The gain from more time; null where there would be none.
    pub more_time: Option<String>,
    /// The loads that were tried, from low to high.
    pub curve: Vec<CurvePoint>,
    /// All trials, in the order in which they were made.
    pub trials: Vec<TrialRecord>,
    /// Seconds that they took.
    pub spent_s: f64,
    /// Length of the measured part of a full trial. A search that goes on with more time keeps it.
    #[serde(default)]
    pub length_ns: u64,
    /// The length up to which trials with too few requests are lengthened.
    #[serde(default)]
    pub length_max_ns: u64,
    /// The time for all trials of the search that began, which this one may have gone on with.
    #[serde(default)]
    pub first_budget_ns: u64,
    /// The share by which the capacity may be too high because trials end before a queue that grows slowly
    /// has reached the goals' limits; null where that is no more than what was asked for.
    #[serde(default)]
    pub overstated_by: Option<f64>,
    /// Requests that may be beyond a percentile's limit in a trial of those on both sides of the answer,
    /// where they are fewer than ten and single trials decided: of other trials it would be another. Null
    /// elsewhere.
    #[serde(default)]
    pub few_beyond: Option<f64>,
    /// The generator held against two at the load of the answer; null where there is no such answer, its
    /// limit was known, or the load is made in virtual time.
    #[serde(default)]
    pub generator: Option<GeneratorCheck>,
}

impl CapacityReport {
    /// The load of an estimate.
    pub fn found_at(&self) -> Option<f64> {
        match self.answer {
            Answer::Found { at_load, .. } => Some(at_load),
            _ => None,
        }
    }

    /// The report with its generator checked: a number that the generator may have bounded is none of the
    /// server, and at least as much is what is left of it.
    pub fn with_generator(mut self, check: GeneratorCheck) -> CapacityReport {
        if let (Answer::Found { low, .. }, Some(false)) = (&self.answer, check.is_same) {
            let because = check.because.clone().unwrap_or_default();
            let because = format!("the generator was full: {because}, before farfield's own server");
            self.answer = Answer::AtLeast { value: *low, because, generator_full: true };
            (self.overstated_by, self.few_beyond, self.more_time) = (None, None, None);
        }
        self.generator = Some(check);
        self
    }
}

/// The JSON schema of [`CapacityReport`].
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(CapacityReport).to_value()
}

/// The curve of all trials.
pub(crate) fn curve(trials: &[TrialRecord]) -> Vec<CurvePoint> {
    let mut by_load: BTreeMap<u64, Vec<&TrialRecord>> = BTreeMap::new();
    for trial in trials {
        // Positive numbers are ordered as their bits are.
        by_load.entry(trial.load.to_bits()).or_default().push(trial);
    }
    by_load.into_values().map(|trials| point(&trials)).collect()
}

fn point(trials: &[&TrialRecord]) -> CurvePoint {
    let counted: Vec<&Observed> =
        trials.iter().filter(|trial| trial.counts()).map(|trial| &trial.observed).collect();
    let mean = |number: &dyn Fn(&Observed) -> Option<f64>| {
        let numbers: Vec<f64> = counted.iter().filter_map(|observed| number(observed)).collect();
        (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
    };
    let too_short = trials.iter().filter(|trial| trial.is_too_short()).count() as u32;
    CurvePoint {
        load: trials[0].load,
        trials: counted.len() as u32,
        kept: counted.iter().filter(|observed| observed.keeps_goals()).count() as u32,
        invalid: (trials.len() - counted.len()) as u32 - too_short,
        too_short,
        achieved_per_s: mean(&|observed| Some(observed.achieved_per_s)),
        body_bytes_per_s: mean(&|observed| Some(observed.body_bytes_per_s)),
        p99_ns: mean(&|observed| observed.p99_ns),
        error_share: mean(&|observed| observed.error_share),
    }
}
