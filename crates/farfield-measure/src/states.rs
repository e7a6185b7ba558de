//! The states of sessions: outcomes and times of each one's requests in the measured part.
//!
//! A state's requests are its own and the redirects that these led to; what its page embeds is not counted
//! here. Redirects count as requests, since each is asked and answered on its own. A histogram is 304 KiB:
//! only a state that users reach has one, and no more than [`States::MAX`] states are counted separately.

use crate::batches::Batches;
use crate::censored::{self, CensoredAges};
use crate::fold::PhaseStats;
use crate::histogram::Histogram;
use crate::kaplan_meier::Estimate;
use crate::outcomes::OutcomeCounts;
use crate::statuses::StatusCounts;
use crate::timing::Timing;
use farfield_base::{Instant, Outcome, Sample};
use serde::{Deserialize, Serialize};

/// The names of states, by number, and the requests that are theirs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StateNames {
    names: Vec<String>,
    /// Rows of states: the number of the request of the first, and how many there are.
    rows: Vec<(u32, usize)>,
}

impl StateNames {
    /// The states of these `names`, in rows each of whose states has the request behind the one before it:
    /// of each row the number of its first request, and how many states it has.
    pub fn new(names: Vec<String>, rows: Vec<(u32, usize)>) -> StateNames {
        StateNames { names, rows }
    }

    /// The names, by number.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of the state that has this request.
    fn state_of(&self, request: u32) -> Option<usize> {
        let mut before = 0;
        for (first, states) in &self.rows {
            match request.checked_sub(*first) {
                Some(nth) if (nth as usize) < *states => return Some(before + nth as usize),
                _ => before += states,
            }
        }
        None
    }
}

impl From<Vec<String>> for StateNames {
    /// The states of one row: the number of each is that of its request.
    fn from(names: Vec<String>) -> StateNames {
        StateNames { rows: vec![(0, names.len())], names }
    }
}

farfield_base::mergeable! {
    /// The states of a run.
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct States {
        names: StateNames => same,
        /// The beginning of the measured part.
        from: Instant => same,
        /// By number; nothing as long as a state was not asked for.
        counted: Vec<Option<Box<StateCount>>>,
        left_out: usize => same,
    }
}

farfield_base::mergeable! {
    /// Statistics of a state.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct StateCount {
        /// Requests due in the measured part, by the [code](Outcome::code) of what became of them.
        pub outcomes: OutcomeCounts,
        /// Replies to them, by status code.
        pub statuses: StatusCounts,
        /// Response times of those that went well.
        pub response: Histogram,
        /// Ages of those that were given up or were open at the end of the run.
        pub censored: CensoredAges,
        /// Counts by batch of time, for intervals.
        pub batches: Batches,
    }
}

impl StateCount {
    /// Nothing yet, of a measured part that begins at `from`.
    fn new(from: Instant) -> StateCount {
        StateCount {
            outcomes: OutcomeCounts::default(),
            statuses: StatusCounts::default(),
            response: Histogram::default(),
            censored: CensoredAges::default(),
            batches: Batches::new(from),
        }
    }

    /// Requests due in the measured part.
    pub fn requests(&self) -> u64 {
        self.outcomes.sum()
    }

    /// Requests that ended so.
    pub fn count(&self, outcome: Outcome) -> u64 {
        self.outcomes.of(outcome)
    }

    /// The estimated distribution of the response time where some of its values are censored; `None` where
    /// none is.
    pub fn estimate(&self) -> Option<Estimate> {
        Estimate::of(&self.response, self.censored.histogram()?)
    }

    /// The share that went wrong, as [`PhaseStats::error_share`] has it.
    pub fn error_share(&self, ignores_unfinished: bool) -> Option<f64> {
        PhaseStats::error_share_of(&self.outcomes, ignores_unfinished)
    }
}

impl States {
    /// Upper bound on states counted separately: the first ones.
    pub const MAX: usize = 100;

    /// States with these names, of a measured part that begins at `from`.
    pub fn named(mut names: StateNames, from: Instant) -> States {
        let left_out = names.names.len().saturating_sub(States::MAX);
        names.names.truncate(States::MAX);
        States { counted: vec![None; names.names.len()], names, from, left_out }
    }

    /// Counts a `sample` of the measured part, if it is a state's. The ages of unfinished ones count unless
    /// they are ignored.
    pub fn record(&mut self, sample: &Sample, ignores_unfinished: bool) {
        let state = self.names.state_of(sample.request);
        let Some(state) = state.and_then(|state| self.counted.get_mut(state)) else { return };
        let state = state.get_or_insert_with(|| Box::new(StateCount::new(self.from)));
        state.batches.record_response(sample, ignores_unfinished);
        state.outcomes.add(sample.outcome);
        state.statuses.record(sample);
        if let Some(time) = sample.success_time() {
            state.response.record(time);
        }
        let ignored = ignores_unfinished && sample.outcome == Outcome::Unfinished;
        if censored::is_censored(sample.outcome)
            && !ignored
            && let Some(age) = censored::age(Timing::Response, sample)
        {
            state.censored.record(age);
        }
    }

    /// The states in order, each with its name; nothing for one that was not asked for.
    pub fn counted(&self) -> impl ExactSizeIterator<Item = (&str, Option<&StateCount>)> {
        self.names.names.iter().map(String::as_str).zip(self.counted.iter().map(Option::as_deref))
    }

    /// The counts of the state of this name; empty if it was not asked for, and `None` if it is not counted
    /// by itself.
    pub fn state(&self, name: &str) -> Option<StateCount> {
        let (_, state) = self.counted().find(|(own, _)| *own == name)?;
        Some(state.cloned().unwrap_or_else(|| StateCount::new(self.from)))
    }

    /// Number of states beyond the first [`States::MAX`].
    pub fn left_out(&self) -> usize {
        self.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::Fold;
    use crate::fold::scene::{sample, window};
    use farfield_base::{Duration, Merge};

    const MS: u64 = 1_000_000;

    fn samples() -> Vec<Sample> {
        let of =
            |due, took, request, outcome| Sample { request, outcome, ..sample(due * MS, (due + took) * MS) };
        vec![
            of(5, 1, 0, Outcome::Ok),
            of(11, 3, 0, Outcome::Ok),
            of(12, 5, 0, Outcome::Ok),
            of(13, 9, 0, Outcome::CheckFailed),
            of(14, 1, 0, Outcome::Unfinished),
            of(15, 7, 2, Outcome::Ok),
            of(16, 7, 3, Outcome::Ok),
            of(25, 1, 2, Outcome::Ok),
        ]
    }

    fn fold(samples: &[Sample]) -> Fold {
        let names = ["home", "never", "buy"].map(str::to_owned).to_vec();
        let mut fold = Fold::new(window(10, 20)).naming_states(names);
        samples.iter().for_each(|sample| fold.record(sample));
        fold
    }

    /// Four requests of the first state were due in the window, one of which is unfinished; what has another
    /// number is no state's.
    #[test]
    fn a_state_counts_its_requests_of_the_measured_part() {
        let fold = fold(&samples());
        let counted: Vec<_> = fold.states().counted().collect();
        let shown = counted.iter().map(|(name, state)| {
            let state = state.map(|state| (state.requests(), state.error_share(false), state.response.max()));
            (*name, state)
        });
        let ms = |ms| Some(Duration::from_ms(ms));
        assert_eq!(
            shown.collect::<Vec<_>>(),
            [("home", Some((4, Some(0.5), ms(5)))), ("never", None), ("buy", Some((1, Some(0.0), ms(7))))]
        );
    }

    #[test]
    fn merging_is_counting_together() {
        let samples = samples();
        for cut in 0..samples.len() {
            let mut merged = fold(&samples[cut..]);
            merged.merge(&fold(&samples[..cut]));
            assert_eq!(merged.states(), fold(&samples).states());
        }
    }

    #[test]
    fn too_many_states_are_left_out_and_counted() {
        let states = States::named((0..130).map(|n| n.to_string()).collect::<Vec<_>>().into(), Instant::ZERO);
        assert_eq!((states.counted().len(), states.left_out()), (States::MAX, 30));
    }
}
