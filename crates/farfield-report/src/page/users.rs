//! Users over time: how many had a request under way in each second, from when it was due until it was done.
//!
//! Memory: 8 bytes a user, up to a bound that follows from the number of samples, and 8 a second.

use farfield_base::Sample;

/// Users that are followed; of a run with more, the line is left out.
const USERS_MAX: usize = 4_000_000;
/// Users that are followed however few samples there are.
const USERS_LEAST: usize = 100_000;
/// Seconds of the longest series: a week.
const SECONDS_MAX: u32 = 7 * 24 * 3600;
const NONE: (u32, u32) = (u32::MAX, 0);

/// Users with a request, second by second.
#[derive(Debug, Default)]
pub(super) struct ActiveUsers {
    /// The latest stretch of seconds in which each user had requests: its first and its last.
    latest: Vec<(u32, u32)>,
    /// Users more than in the second before.
    changes: Vec<i64>,
    users_max: usize,
    are_too_many: bool,
}

impl ActiveUsers {
    /// Room for as many users as there are samples.
    pub(super) fn of(samples: u64) -> ActiveUsers {
        let users_max = usize::try_from(samples).unwrap_or(USERS_MAX).clamp(USERS_LEAST, USERS_MAX);
        ActiveUsers { users_max, ..ActiveUsers::default() }
    }

    pub(super) fn take(&mut self, sample: &Sample) {
        let user = sample.user as usize;
        if user >= self.users_max {
            self.are_too_many = true;
            return;
        }
        let second = |ns: u64| (ns / 1_000_000_000).min(u64::from(SECONDS_MAX)) as u32;
        let from = second(sample.due.as_ns());
        // A directory from elsewhere may have any order of the two.
        let to = second(sample.done.as_ns()).max(from);
        if user >= self.latest.len() {
            self.latest.resize(user + 1, NONE);
        }
        let (first, last) = self.latest[user];
        let is_apart = first > last || from > last + 1 || to + 1 < first;
        if is_apart {
            self.latest[user] = (from, to);
            return self.count(from, to);
        }
        self.latest[user] = (first.min(from), last.max(to));
        if from < first {
            self.count(from, first - 1);
        }
        if to > last {
            self.count(last + 1, to);
        }
    }

    fn count(&mut self, from: u32, to: u32) {
        let (from, behind) = (from as usize, to as usize + 1);
        if behind >= self.changes.len() {
            self.changes.resize(behind + 1, 0);
        }
        self.changes[from] += 1;
        self.changes[behind] -= 1;
    }

    /// Users in each second; nothing of too many, and where there were none.
    pub(super) fn by_second(&self) -> Vec<(f64, f64)> {
        if self.are_too_many {
            return Vec::new();
        }
        let mut users = 0;
        let counts = self.changes.iter().enumerate().map(|(second, change)| {
            users += change;
            (second as f64, users as f64)
        });
        let mut counts: Vec<(f64, f64)> = counts.collect();
        // The last change takes the last user away.
        counts.pop();
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::scene::Scene;
    use farfield_base::Instant;

    /// Requests of users by their tenths of a second, from due to done, in any order.
    fn counted(requests: &[(u32, u64, u64)]) -> Vec<u64> {
        let like = Scene::good().samples.swap_remove(0);
        let mut users = ActiveUsers::of(10);
        for (user, due, done) in requests {
            let at = |tenths: u64| Instant::from_ns(tenths * 100_000_000);
            users.take(&Sample { user: *user, due: at(*due), done: at(*done), ..like });
        }
        users.by_second().iter().map(|(_, users)| *users as u64).collect()
    }

    #[test]
    fn a_user_counts_once_in_each_second_with_a_request() {
        assert_eq!(counted(&[(0, 1, 2), (0, 3, 4), (1, 5, 6)]), [2]);
        assert_eq!(counted(&[(0, 5, 25), (0, 26, 28), (0, 41, 42)]), [1, 1, 1, 0, 1]);
        // The objects of a page overlap, and end in another order than they began.
        assert_eq!(counted(&[(7, 25, 29), (7, 11, 45), (7, 12, 13)]), [0, 1, 1, 1, 1]);
        assert_eq!(counted(&[]), [0; 0]);
        assert_eq!(counted(&[(0, 0, 5), (USERS_LEAST as u32, 0, 5)]), [0; 0]);
    }
    /// A directory that somebody else wrote may have requests that are done before they were due.
    #[test]
    fn a_request_that_is_done_before_it_was_due_counts_in_its_first_second() {
        assert_eq!(counted(&[(0, 35, 5)]), [0, 0, 0, 1]);
        assert_eq!(
            counted(&[(0, 35, 5), (0, 31, 32), (1, 90, 0), (1, 5, 15)]),
            [1, 1, 0, 1, 0, 0, 0, 0, 0, 1]
        );
    }
}
