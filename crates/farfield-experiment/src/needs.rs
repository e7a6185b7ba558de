//! Length of trials that suffices to judge a load by its goals.
//!
//! A trial that is too short errs to one side: it keeps goals that the load does not.
//!
//! - **Requests.** The p99 of fewer than a hundred requests is their largest time, and one of none is nothing.
//!   Such a trial counts for nothing ([`Validity::TooShort`](crate::Validity)), and is made again, longer, as
//!   far as there is room for that.
//! - **Growth.** Above its capacity a server's queue grows, at first slowly. A load that exceeds it by the
//!   share ε has delayed requests by εT after a trial of length T, so that it keeps a limit of L up to about
//!   ε = L/T; and below, a queue that was empty at first takes long to become as long as it will be. Searches
//!   before M/M/1 with a p99 of 50 ms came out 20, 8 and 4 % too high with trials of 0.3, 1 and 2 s, which is
//!   about twice L/T. Users of a closed load wait for each other, and their queue cannot grow beyond them.
//! - **Drift.** Response times at loads that are said to be kept must not grow from the first half of trials
//!   to the second.

use crate::report::TrialRecord;
use farfield_base::Duration;
use farfield_measure::interval::MeanEstimate;

/// Trials become longer than their requests would need on average: numbers of arrivals vary.
const MARGIN: f64 = 1.2;
/// The share by which a capacity comes out too high, in units of limit over length.
const GROWTH: f64 = 2.0;
/// Largest such share at which there is an estimate: trials are twenty times as long as the limit.
pub(crate) const OVERSTATED_MAX: f64 = 0.1;
/// A closed load's trials are so many times as long as the limit, at least.
const TIMES_OF_USERS: u64 = 5;
/// Probability of calling trials drifting if none is.
const FALSE_ALARMS: f64 = 0.01;
/// Growth from half to half that matters, however exactly it is known.
const DRIFT_MIN: f64 = 0.1;
/// Trials that a drift is shown by at least.
const DRIFT_TRIALS: usize = 4;

/// Conditions on the length of trials.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Needs {
    /// Requests that must be due in a trial: of a p99, a hundred.
    pub requests: u64,
    /// The longest time among the goals' limits; zero where none is about times.
    pub limit: Duration,
    /// The places of the goals that are about times.
    pub timed: Vec<usize>,
    /// Trials in which too few requests are due become longer, up to this.
    pub length_max: Duration,
}

impl Needs {
    /// The length of a trial that has enough requests, of which so many a second are due, from `length` up.
    pub(crate) fn long_enough(&self, length: Duration, requests_per_s: f64) -> Duration {
        let needed_s = self.requests as f64 * MARGIN / requests_per_s;
        // In whole milliseconds; what is not finite is longer than there is room for.
        let needed = Duration::from_ms((needed_s * 1e3).ceil().min(1e12) as u64);
        length.max(needed.min(self.length_max))
    }

    /// The share by which a capacity may come out too high, by trials of this length; 1 where nothing can be
    /// said.
    pub(crate) fn overstated_by(&self, length: Duration, is_closed: bool) -> f64 {
        match is_closed {
            true if length < self.limit.times(TIMES_OF_USERS) => 1.0,
            true => 0.0,
            false => (GROWTH * self.limit.as_secs_f64() / length.as_secs_f64()).min(1.0),
        }
    }

    /// The length of trials that would do.
    pub(crate) fn would_do(&self, is_closed: bool) -> Duration {
        let times = if is_closed { TIMES_OF_USERS } else { (GROWTH / OVERSTATED_MAX).round() as u64 };
        self.limit.times(times)
    }

    /// True if a goal about times was broken: only such a one is broken by a queue that grows.
    pub(crate) fn is_bound_by_times<'r>(&self, mut trials: impl Iterator<Item = &'r TrialRecord>) -> bool {
        let is_broken = |trial: &TrialRecord, place: &usize| {
            trial.observed.goals.get(*place).is_some_and(|reading| !reading.kept)
        };
        trials.any(|trial| self.timed.iter().any(|place| is_broken(trial, place)))
    }
}

/// The share by which response times grow from the first half of trials to the second, if they are shown to.
pub(crate) fn drift<'r>(trials: impl Iterator<Item = &'r TrialRecord>) -> Option<f64> {
    let logs = trials.filter_map(|trial| trial.observed.halves_ratio).map(f64::ln);
    let logs: Vec<f64> = logs.filter(|log| log.is_finite()).collect();
    let mean = MeanEstimate::of(&logs).filter(|_| logs.len() >= DRIFT_TRIALS)?;
    // Of one side.
    let is_shown = mean.p_value() / 2.0 < FALSE_ALARMS && mean.mean > DRIFT_MIN.ln_1p();
    is_shown.then(|| mean.mean.exp_m1())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_is_as_long_as_its_percentile_asks() {
        let second = Duration::from_secs(1);
        let needs = Needs { requests: 100, length_max: Duration::from_secs(30), ..Needs::default() };
        assert_eq!(needs.long_enough(second, 1000.0), second);
        assert_eq!(needs.long_enough(second, 10.0), Duration::from_secs(12));
        assert_eq!(needs.long_enough(second, 0.0), Duration::from_secs(30));
        assert_eq!(needs.long_enough(Duration::from_secs(60), 0.1), Duration::from_secs(60));
        assert_eq!(Needs::default().long_enough(second, 0.0), second);
    }

    #[test]
    fn short_trials_overstate_by_their_limit() {
        let needs = Needs { limit: Duration::from_ms(50), ..Needs::default() };
        let of = |ms, is_closed| needs.overstated_by(Duration::from_ms(ms), is_closed);
        assert_eq!([of(1000, false), of(10_000, false), of(50, false)], [0.1, 0.01, 1.0]);
        assert_eq!([of(249, true), of(250, true)], [1.0, 0.0]);
        assert_eq!(needs.would_do(false), Duration::from_secs(1));
        assert_eq!(Needs::default().overstated_by(Duration::from_ms(1), false), 0.0);
    }
}
