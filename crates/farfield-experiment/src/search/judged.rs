//! An answer held against the [length of its trials](crate::needs): where they are too short for it, what is
//! left is an upper bound, with its cause.

use super::Search;
use crate::needs;
use crate::report::{Answer, Method};

impl Search<'_> {
    /// Why trials below a load say nothing, if their requests were too few.
    pub(super) fn too_short_below(&self, load: f64) -> Option<String> {
        let records = self.journal.records().iter();
        let short = records.filter(|record| record.is_too_short() && record.load < load);
        let record = short.max_by(|a, b| a.load.total_cmp(&b.load).then(a.length_ns.cmp(&b.length_ns)))?;
        let cause = record.observed.validity.cause()?;
        let (length, unit) = (record.length(), &self.plan.unit);
        let load = if record.load >= 10.0 { record.load.round() } else { record.load };
        Some(format!(
            "trials of {length} are too short with {load} {unit} ({cause}); make them longer with --duration"
        ))
    }

    /// An answer that trials are long enough for; what else may be said where they are not.
    pub(super) fn judged(&self, answer: Answer) -> Answer {
        let high = match &answer {
            Answer::Found { high, .. } => Some(*high),
            Answer::AtLeast { .. } => None,
            // Neither is a lower bound one where the time was over before the answer.
            Answer::Undecided { low: Some(_), high, .. } | Answer::Undecided { high: high @ Some(_), .. } => {
                *high
            }
            Answer::LessThan { .. } | Answer::Undecided { .. } => return answer,
        };
        match self.too_short(&answer) {
            Some(because) => Answer::Undecided { low: None, high, because },
            None => answer,
        }
    }

    /// Why trials are too short for this answer.
    fn too_short(&self, answer: &Answer) -> Option<String> {
        let (length, is_closed) = (self.plan.length, self.plan.whole);
        if self.overstating(answer) > needs::OVERSTATED_MAX {
            let would_do = self.plan.needs.would_do(is_closed);
            return Some(format!(
                "in trials of {length} a queue grows unseen, up to limits of {}; make them longer with --duration {would_do}, and --budget with them",
                self.plan.needs.limit
            ));
        }
        let Answer::Found { value, method: Method::Regression, .. } = answer else { return None };
        let kept = self.journal.full(length).filter(|record| record.load <= *value);
        let drift = needs::drift(kept.filter(|record| record.design.block > 0))?;
        Some(format!(
            "response times grow by {:.0} % within trials of {length}; make them longer with --duration",
            drift * 100.0
        ))
    }

    /// The share by which the capacity may be too high because trials are short.
    fn overstating(&self, answer: &Answer) -> f64 {
        let full = self.journal.full(self.plan.length);
        let is_bound = matches!(answer, Answer::AtLeast { .. }) || self.plan.needs.is_bound_by_times(full);
        if is_bound { self.plan.needs.overstated_by(self.plan.length, self.plan.whole) } else { 0.0 }
    }

    pub(super) fn overstated_by(&self, answer: &Answer) -> Option<f64> {
        let share = self.overstating(answer);
        (matches!(answer, Answer::Found { .. }) && share > self.plan.precision).then_some(share)
    }
}
