//! Goals that a load must keep, such as `p99<200ms,errors<0.1%`: thresholds of a run, held as upper limits.
//!
//! A goal compares a time or a share with a limit from above. What grows with the length of a run, such as a
//! number of requests, and what falls with load, such as a rate, is no goal: short trials would keep the one,
//! and any load break the other.

use crate::needs::Needs;
use farfield_base::Duration;
use farfield_measure::threshold::ThresholdError;
use farfield_measure::verdict::LimitUnit;
use farfield_measure::{Threshold, ThresholdResult};
use std::str::FromStr;

/// Largest margin of a reading, its limit over its value: 0 errors are not infinitely better than 0.1 %.
const MARGIN_MAX: f64 = 4.0;

/// One goal or several, all of which a load must keep.
#[derive(Debug, Clone, PartialEq)]
pub struct Goals(Vec<Threshold>);

/// Why goals could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GoalsError {
    /// There is none.
    #[error("no goal; write one or several with commas between, such as `p99<200ms,errors<0.1%`")]
    None,
    /// A goal cannot be read as a threshold.
    #[error(transparent)]
    Threshold(#[from] ThresholdError),
    /// A goal is no upper limit of a time or a share.
    #[error(
        "`{0}` is no goal of a search: a goal is an upper limit of a time or a share, such as `p99<200ms`"
    )]
    NoUpperLimit(String),
}

impl Goals {
    /// Adds `errors<1%` where no goal limits a share. Times are those of replies with success: without it a
    /// server that refuses nearly every request at once would keep any limit of them.
    pub fn with_errors_bounded(mut self) -> Goals {
        if self.0.iter().all(|goal| goal.unit() != LimitUnit::Share) {
            self.0.push("errors<1%".parse().expect("a threshold"));
        }
        self
    }

    /// The goals, in the order in which they were written.
    pub fn thresholds(&self) -> &[Threshold] {
        &self.0
    }

    /// The longest time among their limits; `None` where none is about times.
    pub fn longest_time(&self) -> Option<Duration> {
        let times = self.0.iter().filter(|goal| goal.unit() == LimitUnit::Ns);
        times.map(|goal| Duration::from_ns(goal.limit() as u64)).max()
    }

    /// Conditions on the length of trials, which become no longer than `length_max` for their requests.
    pub fn needs(&self, length_max: Duration) -> Needs {
        let is_timed = |(_, goal): &(usize, &Threshold)| goal.unit() == LimitUnit::Ns;
        Needs {
            requests: self.0.iter().map(Threshold::requests_needed).max().unwrap_or(1),
            limit: self.longest_time().unwrap_or(Duration::ZERO),
            timed: self.0.iter().enumerate().filter(is_timed).map(|(place, _)| place).collect(),
            length_max,
        }
    }

    /// The goals in words: `p99<200ms, errors<0.1%`.
    pub fn in_words(&self) -> String {
        self.0.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

impl FromStr for Goals {
    type Err = GoalsError;

    fn from_str(text: &str) -> Result<Goals, GoalsError> {
        let mut goals = Vec::new();
        for part in parts(text).into_iter().map(str::trim).filter(|part| !part.is_empty()) {
            let goal: Threshold = part.parse()?;
            if !(goal.is_upper_limit() && matches!(goal.unit(), LimitUnit::Ns | LimitUnit::Share)) {
                return Err(GoalsError::NoUpperLimit(part.to_owned()));
            }
            goals.push(goal);
        }
        if goals.is_empty() { Err(GoalsError::None) } else { Ok(Goals(goals)) }
    }
}

/// The parts between commas that stand in no braces: the name of a path may have some.
fn parts(text: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    text.split(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .collect()
}

/// The limit over the reading: above 1 where the goal is kept, 1 at the limit, towards 0 beyond it, and at
/// most 4. Where nothing could be measured, or only that the number is above some bound, at most 1.
///
/// Times of a queue that fills up grow as 1/(1 − ρ) with its utilisation ρ, so that this margin falls in
/// proportion to the load, with about the same spread at any.
pub fn margin(result: &ThresholdResult) -> f64 {
    let Some(measured) = result.measured else { return 0.0 };
    let margin = if measured > 0.0 { (result.limit / measured).min(MARGIN_MAX) } else { MARGIN_MAX };
    // A goal that is kept has a margin of 1 or more, and one that is broken of less, also exactly at the
    // limit.
    if result.passed { margin.max(1.0) } else { margin.min(1.0 - f64::EPSILON) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_thresholds_between_commas() {
        let goals: Goals = "p99<200ms, errors<0.1%".parse().expect("goals");
        assert_eq!(goals.in_words(), "p99<200ms, errors<0.1%");
        let goals: Goals = "status.5xx{/a,b}<1%".parse().expect("a goal of a path");
        assert_eq!(goals.thresholds().len(), 1);
    }

    #[test]
    fn failures_are_bounded_whatever_is_asked() {
        let bounded = |text: &str| text.parse::<Goals>().expect("goals").with_errors_bounded().in_words();
        assert_eq!(bounded("p99<200ms"), "p99<200ms, errors<1%");
        assert_eq!(bounded("p99<200ms,errors<20%"), "p99<200ms, errors<20%");
        assert_eq!(bounded("status.5xx<2%"), "status.5xx<2%");
    }

    #[test]
    fn what_is_no_upper_limit_is_refused() {
        for text in ["rate>100/s", "p99>1ms", "rate<100/s", "requests<10", "timed-out==0"] {
            let refused = text.parse::<Goals>();
            assert_eq!(refused, Err(GoalsError::NoUpperLimit(text.to_owned())));
        }
        assert_eq!(" , ".parse::<Goals>(), Err(GoalsError::None));
        assert!(matches!("p99".parse::<Goals>(), Err(GoalsError::Threshold(_))));
    }

    #[test]
    fn the_margin_is_one_at_the_limit() {
        let result = |measured: Option<f64>, passed: bool| ThresholdResult {
            text: "p99<200ms".to_owned(),
            measured,
            is_lower_bound: false,
            interval: None,
            limit: 200e6,
            unit: LimitUnit::Ns,
            beyond_share: None,
            requests: None,
            passed,
        };
        assert_eq!(margin(&result(Some(100e6), true)), 2.0);
        assert_eq!(margin(&result(Some(400e6), false)), 0.5);
        assert!(margin(&result(Some(200e6), false)) < 1.0);
        assert_eq!((margin(&result(Some(0.0), true)), margin(&result(None, false))), (4.0, 0.0));
    }
}
