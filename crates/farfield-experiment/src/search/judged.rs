//! An answer held against the [length of its trials](crate::needs): where they are too short for it, what is
//! left is an upper bound, with its cause.

use super::Search;
use super::estimate::in_two_digits;
use crate::needs;
use crate::report::{Answer, Method, TrialRecord};
use crate::trial::GoalReading;
use farfield_base::Duration;

/// Lengths of a full trial that a search takes: full ones, short ones, and their warm-up.
pub const TRIALS_OF_SEARCH: u64 = 18;
/// Lengths of a trial that a search takes in which one of five has times beyond the limit.
const TRIALS_OF_BURSTS: u64 = 60;
/// Requests that may be beyond a percentile's limit in trials of which single ones are an answer.
const BEYOND_MIN: f64 = 10.0;

impl Search<'_> {
    /// Why trials below a load say nothing, if their requests were too few.
    pub(super) fn too_short_below(&self, load: f64) -> Option<String> {
        let records = self.journal.records().iter();
        let short = records.filter(|record| record.is_too_short() && record.load < load);
        let record = short.max_by(|a, b| a.load.total_cmp(&b.load).then(a.length_ns.cmp(&b.length_ns)))?;
        let cause = record.observed.validity.cause()?;
        let (length, unit) = (record.length(), &self.plan.unit);
        let load = if record.load >= 10.0 { record.load.round() } else { record.load };
        if record.is_still_rising() {
            return Some(format!("trials of {length} are too short: {cause}"));
        }
        Some(format!(
            "trials of {length} are too short with {load} {unit} ({cause}); make them longer with --duration"
        ))
    }

    /// An answer that trials are long enough for; what else may be said where they are not.
    pub(super) fn judged(&self, answer: Answer) -> Answer {
        let few = || self.few_beyond(&answer).or_else(|| self.few_failures(&answer));
        if let Some(because) = self.rare().or_else(few) {
            // A burst breaks goals at loads that keep them, and its lack keeps them where they are broken.
            return Answer::Undecided { low: None, high: None, because };
        }
        let is_grown = self.is_grown(&answer);
        let short = if is_grown { self.too_short(&answer) } else { self.drifting(&answer) };
        if short.is_none() && (!is_grown || matches!(answer, Answer::Found { .. })) {
            return answer;
        }
        let (low, high, own) = match &answer {
            Answer::Found { low, high, .. } => (Some(*low), Some(*high), None),
            Answer::AtLeast { value, because, .. } => (Some(*value), None, Some(because)),
            Answer::LessThan { value } => (None, Some(*value), None),
            Answer::Undecided { low, high, because } => (*low, *high, Some(because)),
        };
        // Loads that were served for good are a lower bound all the same, unless their times grow.
        let lasting = low.filter(|_| is_grown).and_then(|low| self.lasting(low));
        let low = lasting.map(|(load, share)| self.journal.rounded(load / (1.0 + share)));
        let because = match (short, &self.ceiling) {
            (Some(short), Some(ceiling)) => format!("{}; below, {short}", ceiling.because()),
            (Some(short), None) => short,
            // Trials are long enough: a load that one of two kept is no lower bound all the same.
            (None, _) => own.cloned().unwrap_or_default(),
        };
        Answer::Undecided { low: low.filter(|low| high.is_none_or(|high| *low < high)), high, because }
    }

    /// Why trials are too short for what they count.
    fn rare(&self) -> Option<String> {
        let (length, is_rare) = self.length_for_bursts()?;
        // Single trials count failures, and are few only where they say so themselves.
        if !is_rare && self.is_bound_by_failures() {
            return None;
        }
        let budget = length.times(TRIALS_OF_BURSTS);
        Some(format!(
            "{} come in bursts, which are rare in trials of {}; make them longer with --duration {length} --budget {budget}",
            if self.is_bound_by_failures() { "failures" } else { "times beyond the limit" },
            self.plan.length
        ))
    }

    /// Why trials between whose loads goals jump have too few requests for their percentiles. Users are the
    /// most of whom a trial keeps the goals, as RFC 9971 classifies loads, whatever its number of requests:
    /// of them it is said beside the answer.
    fn few_beyond(&self, answer: &Answer) -> Option<String> {
        let (allowed, length) = self.allowed_beyond(answer).filter(|_| !self.plan.whole)?;
        let would_do = in_two_digits(length.as_secs_f64() * BEYOND_MIN / allowed.max(1.0));
        let budget = would_do.times(TRIALS_OF_SEARCH);
        Some(format!(
            "of the requests in trials of {length} about {allowed:.0} may be beyond the percentile's limit, too few to go by; make them longer with --duration {would_do} --budget {budget}"
        ))
    }

    /// Why trials of which single ones broke a goal on a share have too few failures to go by.
    fn few_failures(&self, answer: &Answer) -> Option<String> {
        let deciding = self.deciding(answer).filter(|_| !self.plan.whole);
        let failures = deciding.filter_map(|record| {
            let goal = record.observed.binding().filter(|goal| goal.is_of_share() && !goal.kept)?;
            Some((goal.beyond_share? * record.observed.requests_of(goal) as f64, record.length()))
        });
        let (failures, length) = failures.min_by(|one, other| one.0.total_cmp(&other.0))?;
        let would_do = in_two_digits(length.as_secs_f64() * BEYOND_MIN / failures.max(1.0));
        let budget = would_do.times(TRIALS_OF_SEARCH);
        (failures < BEYOND_MIN).then(|| {
            format!(
                "{failures:.0} of the requests in a trial of {length} failed, too few to go by; make them longer with --duration {would_do} --budget {budget}"
            )
        })
    }

    /// True if most full trials are nearest to the limit of a share.
    fn is_bound_by_failures(&self) -> bool {
        let (mut all, mut of_share) = (0, 0);
        for record in self.journal.full(self.plan.length).filter(|record| record.design.block > 0) {
            all += 1;
            of_share += usize::from(record.observed.binding().is_some_and(GoalReading::is_of_share));
        }
        of_share * 2 > all
    }

    /// The full trials between the two loads of an answer that single trials decide.
    fn deciding(&self, answer: &Answer) -> impl Iterator<Item = &TrialRecord> {
        let [low, high] = match answer {
            Answer::Found { low, high, method: Method::Bounds, .. } => [*low, *high],
            _ => [f64::INFINITY; 2],
        };
        let full = self.journal.full(self.plan.length);
        full.filter(move |record| low <= record.load && record.load <= high)
    }

    /// Requests that may be beyond a percentile's limit in the trials between whose loads goals jump, and the
    /// length of these, if they are few.
    pub(super) fn allowed_beyond(&self, answer: &Answer) -> Option<(f64, Duration)> {
        let binding = self.deciding(answer).filter_map(|record| {
            let goal = record.observed.binding().filter(|goal| !goal.is_of_share())?;
            Some((goal.allowed_share? * record.observed.requests_of(goal) as f64, record.length()))
        });
        binding.min_by(|one, other| one.0.total_cmp(&other.0)).filter(|(allowed, _)| *allowed < BEYOND_MIN)
    }

    /// True if a queue that grows may have been taken for one that does not, so that the answer, or its lower
    /// end, is too high.
    fn is_grown(&self, answer: &Answer) -> bool {
        match answer {
            Answer::Found { .. } => self.overstating(answer) > needs::OVERSTATED_MAX,
            Answer::AtLeast { value, .. } | Answer::Undecided { low: Some(value), .. } => {
                let tried = self.counted().map(|record| record.load).filter(|load| load <= value);
                let tried = tried.reduce(f64::max).unwrap_or(*value);
                self.lasting(*value).is_none_or(|(lasting, _)| lasting < tried)
            }
            // Neither is a lower bound one where the time was over before the answer.
            Answer::Undecided { low: None, .. } | Answer::LessThan { .. } => false,
        }
    }

    /// Why trials are too short for this answer, if they are.
    fn too_short(&self, answer: &Answer) -> Option<String> {
        let (length, is_closed) = (self.plan.length, self.plan.whole);
        let would_do = self.plan.needs.would_do(is_closed, self.per_s(answer));
        let budget = would_do.times(TRIALS_OF_SEARCH);
        let limit = match self.plan.needs.limit {
            limit if limit.is_zero() => String::new(),
            limit => format!(", up to limits of {limit}"),
        };
        (would_do > length).then(|| {
            format!(
                "in trials of {length} a queue grows unseen{limit}; make them longer with --duration {would_do} --budget {budget}"
            )
        })
    }

    /// Why trials drift below this answer.
    fn drifting(&self, answer: &Answer) -> Option<String> {
        let Answer::Found { value, method: Method::Regression, .. } = answer else { return None };
        let length = self.plan.length;
        let kept = self.journal.full(length).filter(|record| record.load <= *value);
        let drift = needs::drift(kept.filter(|record| record.design.block > 0))?;
        Some(format!(
            "response times grow by {:.0} % within trials of {length}; make them longer with --duration",
            drift * 100.0
        ))
    }

    /// The highest load up to this one, below all that broke the goals, of a trial that leaves little room
    /// for a queue that grows, and the share by which it may be more than can be served for good. Of many
    /// trials with too much one keeps the goals by luck, but hardly all.
    fn lasting(&self, load: f64) -> Option<(f64, f64)> {
        let is_bound = self.is_bound_by_growth();
        let broken = self.counted().filter(|record| !record.observed.keeps_goals());
        let lowest = broken.map(|record| record.load).fold(f64::INFINITY, f64::min);
        let kept = self.counted().filter(|record| record.load <= load && record.load < lowest);
        let kept = kept.filter(|record| record.observed.keeps_goals());
        let shares = kept
            .map(|record| (record.load, self.plan.needs.beyond_served(record, self.plan.whole, is_bound)));
        let little = shares.filter(|(_, share)| *share <= needs::OVERSTATED_MAX);
        little.max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.total_cmp(&one.1)))
    }

    fn counted(&self) -> impl Iterator<Item = &TrialRecord> {
        self.journal.records().iter().filter(|record| record.counts())
    }

    fn is_bound_by_growth(&self) -> bool {
        self.plan.needs.is_bound_by_growth(self.counted())
    }

    /// Requests a second at the load of an answer.
    fn per_s(&self, answer: &Answer) -> f64 {
        let load = match answer {
            Answer::Found { value, .. } | Answer::AtLeast { value, .. } | Answer::LessThan { value } => {
                *value
            }
            Answer::Undecided { low, high, .. } => low.or(*high).unwrap_or(self.plan.from),
        };
        self.journal.requests_per_s(load).unwrap_or(load).max(f64::MIN_POSITIVE)
    }

    /// The share by which the capacity may be too high because trials are short.
    fn overstating(&self, answer: &Answer) -> f64 {
        let (length, is_closed) = (self.plan.length, self.plan.whole);
        match self.is_bound_by_growth() {
            true => self.plan.needs.overstated_by(length, is_closed, self.per_s(answer)),
            false => 0.0,
        }
    }

    pub(super) fn overstated_by(&self, answer: &Answer) -> Option<f64> {
        let share = self.overstating(answer);
        (matches!(answer, Answer::Found { .. }) && share > self.plan.precision).then_some(share)
    }
}
