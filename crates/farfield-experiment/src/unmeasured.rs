//! The warm-up and the cool-down of a search's trials, as long as the trials before show they must be.
//!
//! A trial says when its response times had settled, and whether they differ at its end
//! ([`farfield_measure::settling`]). One trial's answer varies, so half of at least three that kept their
//! goals decide, and those that follow get twice as long as these took on average. Trials that broke their
//! goals say nothing: their queues may grow to the end. For a cool-down ends count at which times become
//! shorter, as they do where the load is over: those of a queue that grows it would not mend. The result
//! depends on the trials alone, so that a search that goes on where it was comes to the same.

use crate::trial::Observed;
use farfield_base::Duration;

/// Trials that decide.
const TRIALS: usize = 3;
/// Warm-ups become so many times as long as trials took to settle on average.
const LONGER: u64 = 2;
/// A warm-up is this part of the measured part by default, and at most as long as that.
const QUARTER: u64 = 4;

/// The warm-ups of trials.
#[derive(Debug, Clone, Default)]
pub struct WarmUps {
    /// The user's own, which stays as it is.
    given: Option<Duration>,
    /// The warm-up found so far; zero at first.
    found: Duration,
    /// Trials since the warm-up was found: when each had settled, and the warm-up that it had.
    settled: Vec<(u64, u64)>,
}

impl WarmUps {
    /// Warm-ups as long as the user says; found from the trials if nothing is said.
    pub fn of(given: Option<Duration>) -> WarmUps {
        WarmUps { given, ..WarmUps::default() }
    }

    /// The warm-up of a trial whose measured part is so long.
    pub fn next(&self, measured: Duration) -> Duration {
        let quarter = Duration::from_ns(measured.as_ns() / QUARTER);
        self.given.unwrap_or_else(|| self.found.min(measured).max(quarter))
    }

    /// Takes note of a trial that was made.
    pub fn note(&mut self, observed: &Observed) {
        let Some(settled_ns) = observed.settled_ns.filter(|_| observed.keeps_goals()) else { return };
        self.settled.push((settled_ns, observed.warm_up_ns));
        let late = self.settled.iter().filter(|(settled, warm_up)| settled > warm_up).count();
        if self.settled.len() >= TRIALS && late * 2 > self.settled.len() {
            let sum: u128 = self.settled.iter().map(|(settled, _)| u128::from(*settled)).sum();
            let mean = (sum / self.settled.len() as u128) as u64;
            self.found = self.found.max(Duration::from_ns(mean.saturating_mul(LONGER)));
            self.settled.clear();
        }
    }
}

/// Ends that differ count from this part of a trial's load on: shorter ones the rule cuts off anything.
const END: u64 = 32;

/// The cool-downs of trials, for which their load goes on after the measured part.
#[derive(Debug, Clone, Default)]
pub struct CoolDowns {
    /// The user's own, which stays as it is.
    given: Option<Duration>,
    /// The cool-down found so far; zero at first.
    found: Duration,
    /// Ends at which response times differed, of the trials since the cool-down was found.
    ends: Vec<u64>,
}

impl CoolDowns {
    /// Cool-downs as long as the user says; found from the trials if nothing is said.
    pub fn of(given: Option<Duration>) -> CoolDowns {
        CoolDowns { given, ..CoolDowns::default() }
    }

    /// The cool-down of a trial whose measured part is so long.
    pub fn next(&self, measured: Duration) -> Duration {
        self.given.unwrap_or_else(|| self.found.min(measured))
    }

    /// Takes note of a trial that was made.
    pub fn note(&mut self, observed: &Observed, measured: Duration) {
        if !observed.keeps_goals() {
            return;
        }
        let is_long = observed.end_ns >= (observed.warm_up_ns + measured.as_ns()) / END;
        let falls = observed.halves_ratio.is_some_and(|ratio| ratio < 1.0);
        self.ends.push(if is_long && falls { observed.end_ns } else { 0 });
        let differing = self.ends.iter().filter(|end| **end > 0).count();
        if self.ends.len() >= TRIALS && differing * 2 > self.ends.len() {
            let mean = self.ends.iter().sum::<u64>() / self.ends.len() as u64;
            self.found = self.found + Duration::from_ns(mean.saturating_mul(LONGER));
            self.ends.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::Validity;

    fn observed(settled_ms: Option<u64>, warm_up: Duration, validity: Validity) -> Observed {
        Observed {
            validity,
            offered_per_s: 1.0,
            body_bytes_per_s: 0.0,
            achieved_per_s: 1.0,
            requests: 1,
            median_ns: None,
            p99_ns: None,
            error_share: None,
            goals: Vec::new(),
            backlog_share: 0.0,
            gave_out: None,
            warm_up_ns: warm_up.as_ns(),
            settled_ns: settled_ms.map(|ms| ms * 1_000_000),
            end_ns: 0,
            halves_ratio: None,
            directory: std::path::PathBuf::new(),
            took_s: 1.0,
        }
    }

    #[test]
    fn warm_ups_follow_what_half_of_the_trials_show() {
        let (long, short) = (Duration::from_secs(4), Duration::from_secs(1));
        let mut warm_ups = WarmUps::of(None);
        assert_eq!([warm_ups.next(long), warm_ups.next(short)], [1000, 250].map(Duration::from_ms));
        let ill = Validity::Overwhelmed { cause: "unfinished".to_owned() };
        for (settled_ms, validity) in [(9000, ill), (1200, Validity::Valid), (1500, Validity::Valid)] {
            warm_ups.note(&observed(Some(settled_ms), Duration::from_secs(1), validity));
            assert_eq!(warm_ups.next(long), Duration::from_secs(1));
        }
        warm_ups.note(&observed(None, Duration::from_secs(1), Validity::Valid));
        assert_eq!(warm_ups.next(long), Duration::from_secs(1));
        warm_ups.note(&observed(Some(0), Duration::from_secs(1), Validity::Valid));
        assert_eq!([warm_ups.next(long), warm_ups.next(short)], [1800, 1000].map(Duration::from_ms));
        // Those that settle within it change nothing any more.
        for _ in 0..9 {
            warm_ups.note(&observed(Some(1000), warm_ups.next(long), Validity::Valid));
        }
        assert_eq!(warm_ups.next(long), Duration::from_ms(1800));
        assert_eq!(WarmUps::of(Some(Duration::ZERO)).next(long), Duration::ZERO);
    }

    /// Loads of 5 s whose last second differs get two more; an end of a hundredth is none, nor is one that a
    /// third of the trials have.
    #[test]
    fn cool_downs_follow_what_half_of_the_trials_show() {
        let (measured, warm_up) = (Duration::from_secs(4), Duration::from_secs(1));
        let ending = |end_ms: u64, ratio| Observed {
            end_ns: end_ms * 1_000_000,
            halves_ratio: Some(ratio),
            ..observed(Some(0), warm_up, Validity::Valid)
        };
        let after_of = |ends_ms: &[u64], ratio| {
            let mut cool_downs = CoolDowns::default();
            ends_ms.iter().for_each(|end_ms| cool_downs.note(&ending(*end_ms, ratio), measured));
            cool_downs.next(measured)
        };
        let after = |ends_ms: &[u64]| after_of(ends_ms, 0.9);
        assert_eq!(after_of(&[1000; 12], 1.1), Duration::ZERO);
        assert_eq!(after(&[1000, 1000]), Duration::ZERO);
        assert_eq!(after(&[1000, 500, 0]), Duration::from_ms(1000));
        assert_eq!(after(&[50, 50, 50]), Duration::ZERO);
        assert_eq!(after(&[1000, 0, 0, 1000, 0, 0]), Duration::ZERO);
        // No longer than what is measured.
        assert_eq!(after(&[1000; 12]), measured);
        assert_eq!(CoolDowns::of(Some(warm_up)).next(measured), warm_up);
    }
}
