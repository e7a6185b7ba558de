//! Length of trials that suffices to judge a load by its goals.
//!
//! A trial that is too short errs to one side: it keeps goals that the load does not.
//!
//! - **Requests.** The p99 of fewer than a hundred requests is their largest time, and that of none is
//!   nothing. Such a trial counts for nothing ([`Validity::TooShort`](crate::Validity)), and is made again,
//!   longer, as far as there is room for that.
//! - **Growth.** Above its capacity a server's queue grows, at first slowly. A load that exceeds it by the
//!   share ε has delayed requests by εT after a trial of length T, so that it keeps a limit of L up to about
//!   ε = L/T; and below, a queue that was empty at first takes long to become as long as it will be. Searches
//!   before M/M/1 with a p99 of 50 ms came out 20, 8 and 4 % too high with trials of 0.3, 1 and 2 s, which is
//!   about twice L/T. Users of a closed load wait for each other, and their queue cannot grow beyond them.
//! - **Backlog.** Growth can be counted: of n requests that were due, εn have no answer at the end. Where
//!   these are more than three standard deviations of n and what a slow path holds back, the load is
//!   not served, whatever its goals say, which shows ε from about 6/√n on; a goal that is kept up to there
//!   may be broken a little below, by some 5/(λL) of the load λ.
//! - **Drift.** Response times at loads that are said to be kept must not grow from the first half of trials
//!   to the second.

use crate::report::TrialRecord;
use farfield_base::Duration;
use farfield_measure::interval::MeanEstimate;

/// Trials become longer than their requests would need on average: numbers of arrivals vary.
const MARGIN: f64 = 1.2;
/// The share by which a capacity comes out too high, in units of limit over length.
const GROWTH: f64 = 2.0;
/// A percentile of one trial shows that a load is kept if it is shorter than its limit by this factor: in
/// trials of twenty limits, before M/M/1, it was on average 0.70 of what it is in the long run.
const SHORTENED: f64 = 1.5;
/// Largest such share at which there is an estimate: trials are twenty times as long as the limit.
pub(crate) const OVERSTATED_MAX: f64 = 0.1;
/// A backlog is shown from this many times 1/√n on.
const SHOWN: f64 = 6.0;
/// The load at which a queue's p99 is L is below what is served by this over L: ln 100, and a little.
const BELOW_SERVED: f64 = 5.0;
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

    /// The share by which a capacity of so many requests a second may come out too high, by trials of this
    /// length; 1 where nothing can be said.
    pub(crate) fn overstated_by(&self, length: Duration, is_closed: bool, per_s: f64) -> f64 {
        match is_closed {
            true if length < self.limit.times(TIMES_OF_USERS) => 1.0,
            true => 0.0,
            false => self.grown(self.limit, length).min(self.unshown(length, per_s)).min(1.0),
        }
    }

    /// The share of a load by which a queue may have grown in a trial whose longest time among the goals was
    /// `time`. Nothing bounds it where none is about times.
    fn grown(&self, time: Duration, length: Duration) -> f64 {
        let times = GROWTH * time.as_secs_f64() / length.as_secs_f64();
        if self.timed.is_empty() { f64::INFINITY } else { times }
    }

    /// The share by which a load may be more than keeps the goals while no backlog is shown.
    fn unshown(&self, length: Duration, per_s: f64) -> f64 {
        let below =
            if self.timed.is_empty() { 0.0 } else { BELOW_SERVED / (self.limit.as_secs_f64() * per_s) };
        SHOWN / (length.as_secs_f64() * per_s).sqrt() + below
    }

    /// The share by which the load of a trial that kept its goals may be more than can be served for good: by
    /// its times, or by its backlog. Zero of one without goals about times, if growth broke no other.
    pub(crate) fn beyond_served(&self, trial: &TrialRecord, is_closed: bool, is_bound: bool) -> f64 {
        match (is_closed, self.timed.is_empty() && !is_bound) {
            (_, true) => return 0.0,
            (true, _) => return self.overstated_by(trial.length(), true, 0.0),
            (false, false) => {}
        }
        let margins = self.timed.iter().filter_map(|place| trial.observed.goals.get(*place));
        if margins.clone().any(|reading| reading.allowed_share.is_some() && reading.margin < SHORTENED) {
            return f64::INFINITY;
        }
        let margin = margins.map(|reading| reading.margin).fold(f64::INFINITY, f64::min);
        let time = Duration::from_ns((self.limit.as_ns() as f64 / margin) as u64);
        self.grown(time, trial.length()).min(self.unshown(trial.length(), trial.observed.offered_per_s))
    }

    /// The length of trials that would do before a server that answers so many requests a second.
    pub(crate) fn would_do(&self, is_closed: bool, per_s: f64) -> Duration {
        if is_closed {
            return self.limit.times(TIMES_OF_USERS);
        }
        let shown_s = ((SHOWN / OVERSTATED_MAX).powi(2) / per_s).ceil().clamp(1.0, 1e9);
        match self.timed.is_empty() {
            true => Duration::from_secs(shown_s as u64),
            false => self.limit.times((GROWTH / OVERSTATED_MAX).round() as u64),
        }
    }

    /// True if a queue that grows is what broke a trial: a goal about times, or a load that was not served.
    pub(crate) fn is_bound_by_growth<'r>(&self, mut trials: impl Iterator<Item = &'r TrialRecord>) -> bool {
        let is_broken = |trial: &TrialRecord, place: &usize| {
            trial.observed.goals.get(*place).is_some_and(|reading| !reading.kept)
        };
        let by_backlog = |trial: &TrialRecord| {
            trial.observed.backlog_share > 0.0 && trial.observed.goals.iter().all(|goal| goal.kept)
        };
        trials.any(|trial| by_backlog(trial) || self.timed.iter().any(|place| is_broken(trial, place)))
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
        let needs = Needs { limit: Duration::from_ms(50), timed: vec![0], ..Needs::default() };
        let of = |ms, is_closed| needs.overstated_by(Duration::from_ms(ms), is_closed, 100.0);
        assert_eq!([of(1000, false), of(10_000, false), of(50, false)], [0.1, 0.01, 1.0]);
        assert_eq!([of(249, true), of(250, true)], [1.0, 0.0]);
        assert_eq!(needs.would_do(false, 100.0), Duration::from_secs(1));
    }

    /// A load that is a twentieth too much shows where 20,000 requests are due, though no time has reached
    /// its limit; and so it does where no goal is about times.
    #[test]
    fn many_requests_show_what_is_not_served() {
        let second = Needs { limit: Duration::from_secs(1), timed: vec![0], ..Needs::default() };
        let of = |needs: &Needs, per_s| needs.overstated_by(Duration::from_secs(5), false, per_s);
        assert!((0.04..0.05).contains(&of(&second, 4000.0)), "{}", of(&second, 4000.0));
        assert!(of(&second, 40.0) > 0.3);
        assert!((0.04..0.05).contains(&of(&Needs::default(), 4000.0)));
        assert_eq!(Needs::default().would_do(false, 1000.0), Duration::from_secs(4));
    }
}
