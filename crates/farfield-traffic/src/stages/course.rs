//! Users over time: which of them are there, and since when.
//!
//! The level is a line from stage to stage. User k, from 0, is there while the level is at least k + ½: at a
//! level that is a whole number n, just the users below n are, and in between the nearest number is. Instants
//! are exact: users are counted in halves, and times in whole nanoseconds, rounded down.

use super::Stages;
use farfield_base::{Duration, Instant};
use std::num::NonZeroU32;

/// The number of users over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsersCourse {
    begins_with: u32,
    legs: Vec<Leg>,
    most: NonZeroU32,
}

/// A stage on the run's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Leg {
    begins: Instant,
    lasts: Duration,
    from: u32,
    to: u32,
}

/// A time during which a user is there, half open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stay {
    /// Number of the stay among the user's, from 0.
    pub number: u32,
    /// The user's begin.
    pub from: Instant,
    /// Instant from which on it begins no more.
    pub until: Instant,
}

impl Leg {
    /// Instant at which the level passes user `user`, between its two ends.
    fn passes(&self, user: u32) -> Instant {
        let half = i64::from(user) * 2 + 1;
        let (from, to) = (i64::from(self.from) * 2, i64::from(self.to) * 2);
        let (part, whole) = (half.abs_diff(from), to.abs_diff(from));
        let ns = u128::from(self.lasts.as_ns()) * u128::from(part) / u128::from(whole);
        self.begins + Duration::from_ns(ns as u64)
    }
}

impl UsersCourse {
    /// The course from `begins_with` users on along `stages`.
    pub fn new(begins_with: u32, stages: &Stages<u32>) -> UsersCourse {
        let (mut begins, mut from) = (Instant::ZERO, begins_with);
        let mut legs = Vec::new();
        for stage in stages.iter() {
            legs.push(Leg { begins, lasts: stage.lasts, from, to: stage.to });
            (begins, from) = (begins + stage.lasts, stage.to);
        }
        let most = legs.iter().map(|leg| leg.to).max().unwrap_or(0).max(begins_with);
        UsersCourse { begins_with, legs, most: NonZeroU32::new(most).unwrap_or(NonZeroU32::MIN) }
    }

    /// The most users that are there at once, one at least.
    pub fn most(&self) -> NonZeroU32 {
        self.most
    }

    /// Instant at which the last stage ends, and with it the load.
    pub fn ends(&self) -> Instant {
        self.legs.last().map_or(Instant::ZERO, |leg| leg.begins + leg.lasts)
    }

    /// The number of users that are there at `instant`.
    pub fn at(&self, instant: Instant) -> u32 {
        if instant >= self.ends() {
            return 0;
        }
        let leg = self.legs.iter().rfind(|leg| leg.begins <= instant && !leg.lasts.is_zero());
        let Some(leg) = leg else { return self.begins_with };
        // Users are in order: those below the first that is not there are.
        let (mut low, mut high) = (leg.from.min(leg.to), leg.from.max(leg.to));
        while low < high {
            let user = low + (high - low) / 2;
            let is_there = (leg.passes(user) <= instant) == (leg.to > leg.from);
            (low, high) = if is_there { (user + 1, high) } else { (low, user) };
        }
        low
    }

    /// The user's first stay that ends after `now`; `None` if there is none.
    pub fn stay(&self, user: u32, now: Instant) -> Option<Stay> {
        let mut since = (self.begins_with > user).then_some(Instant::ZERO);
        let mut number = 0;
        let mut ended = |since: Instant, until: Instant| {
            let stay = Stay { number, from: since, until };
            // One of no time is none.
            number += u32::from(since < until);
            (since < until && until > now).then_some(stay)
        };
        for leg in &self.legs {
            match since {
                None if leg.to > user => since = Some(leg.passes(user)),
                Some(begun) if leg.to <= user => {
                    if let Some(stay) = ended(begun, leg.passes(user)) {
                        return Some(stay);
                    }
                    since = None;
                }
                _ => {}
            }
        }
        ended(since?, self.ends())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn course(begins_with: u32, text: &str) -> UsersCourse {
        UsersCourse::new(begins_with, &text.parse().expect("stages"))
    }

    fn at_ms(ms: u64) -> Instant {
        Instant::from_ns(ms * 1_000_000)
    }

    #[test]
    fn users_come_and_go_along_the_line() {
        let course = course(0, "10s:10,5s:10,10s:0");
        assert_eq!((course.most().get(), course.ends()), (10, at_ms(25_000)));
        // The level is one after a second: user 0 came when it was a half.
        let stay = |user, now| course.stay(user, at_ms(now));
        assert_eq!(stay(0, 0), Some(Stay { number: 0, from: at_ms(500), until: at_ms(24_500) }));
        assert_eq!(stay(9, 0), Some(Stay { number: 0, from: at_ms(9_500), until: at_ms(15_500) }));
        assert_eq!(stay(9, 15_500), None);
        assert_eq!(stay(10, 0), None);
        let counts = [0, 499, 500, 5_000, 9_500, 15_499, 15_500, 24_499, 24_500, 25_000];
        assert_eq!(counts.map(|ms| course.at(at_ms(ms))), [0, 0, 1, 5, 10, 10, 9, 1, 0, 0]);
    }

    #[test]
    fn users_come_back_and_steps_are_steps() {
        let course = course(2, "1s:2,0s:5,1s:5,0s:1,1s:1,0s:4,1s:4");
        let stays = |user| {
            let mut now = Instant::ZERO;
            let mut all = Vec::new();
            while let Some(stay) = course.stay(user, now) {
                now = stay.until;
                all.push((stay.number, stay.from, stay.until));
            }
            all
        };
        assert_eq!(stays(0), [(0, at_ms(0), at_ms(4_000))]);
        assert_eq!(stays(1), [(0, at_ms(0), at_ms(2_000)), (1, at_ms(3_000), at_ms(4_000))]);
        assert_eq!(stays(3), [(0, at_ms(1_000), at_ms(2_000)), (1, at_ms(3_000), at_ms(4_000))]);
        assert_eq!(stays(4), [(0, at_ms(1_000), at_ms(2_000))]);
        assert_eq!([0, 999, 1_000, 2_000, 3_000, 3_999].map(|ms| course.at(at_ms(ms))), [2, 2, 5, 1, 4, 4]);
    }

    proptest! {
        /// The number of users is that of the stays, at any instant, of any stages.
        #[test]
        fn stays_add_up_to_the_level(
            begins_with in 0_u32..6,
            legs in prop::collection::vec((0_u64..4, 0_u32..9), 1..7),
            instants in prop::collection::vec(0_u64..20_000_000_000, 20),
        ) {
            let text: Vec<String> = legs.iter().map(|(s, to)| format!("{s}s:{to}")).collect();
            let Ok(stages) = text.join(",").parse() else { return Ok(()) };
            let course = UsersCourse::new(begins_with, &stages);
            for at in instants.into_iter().map(Instant::from_ns) {
                let is_there = |user: &u32| course.stay(*user, at).is_some_and(|stay| stay.from <= at);
                let there = (0..course.most().get()).filter(is_there).count();
                prop_assert_eq!(course.at(at) as usize, there, "at {:?} of {:?}", at, course);
                // In the middle of a stage, the line is no further than a half.
                if let Some(leg) = course.legs.iter().find(|leg| leg.begins <= at && at < leg.begins + leg.lasts) {
                    let share = at.since(leg.begins).as_secs_f64() / leg.lasts.as_secs_f64();
                    let line = f64::from(leg.from) + (f64::from(leg.to) - f64::from(leg.from)) * share;
                    prop_assert!((line - there as f64).abs() <= 0.5 + 1e-6);
                }
            }
        }
    }
}
