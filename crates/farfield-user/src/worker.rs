//! The place of a worker among all that share a load, and its part of what is dealt out to them.

use std::num::NonZeroU32;

/// The worker of a plan, among all that share its load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Worker {
    /// From 0.
    pub number: u32,
    pub workers: u32,
}

impl Worker {
    /// The worker's part of `total` things dealt out one by one.
    pub fn share(self, total: u32) -> u32 {
        (total + self.workers - 1 - self.number) / self.workers
    }

    /// The worker's part of `total` requests. Where the load has a number of users, they are dealt out to the
    /// users one by one: a worker has those of its own, and none if it has no user.
    pub fn requests(self, total: u64, users: Option<NonZeroU32>) -> u64 {
        let [workers, number] = [self.workers, self.number].map(u64::from);
        let dealt = |things: u64| things / workers + u64::from(number < things % workers);
        match users.map(|users| u64::from(users.get())) {
            None => dealt(total),
            Some(users) => total / users * dealt(users) + dealt(total % users),
        }
    }

    /// The worker's part of a limit, at least 1.
    pub fn share_of_limit(self, limit: Option<NonZeroU32>) -> usize {
        limit.map_or(usize::MAX, |limit| self.share(limit.get()).max(1) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::Part;

    /// However many workers and parts there are, also where some have no user.
    #[test]
    fn requests_add_up() {
        let parts = |list: &[(&str, u32)]| -> Vec<Worker> {
            let of_part = |(part, workers): &(&str, u32)| {
                let (part, all): (Part, u32) = (part.parse().unwrap(), *workers);
                (0..all)
                    .map(move |own| part.worker(own, all))
                    .map(|(number, workers)| Worker { number, workers })
            };
            list.iter().flat_map(of_part).collect()
        };
        let divisions = [
            parts(&[("1/1", 1)]),
            parts(&[("1/1", 3)]),
            parts(&[("1/4", 1), ("2/4", 3), ("3/4", 1), ("4/4", 2)]),
        ];
        for workers in &divisions {
            for users in [None, NonZeroU32::new(1), NonZeroU32::new(2), NonZeroU32::new(10)] {
                for total in [1, 7, 1_000, u64::MAX / 2] {
                    let shares = workers.iter().map(|worker| worker.requests(total, users));
                    assert_eq!(shares.sum::<u64>(), total, "{users:?}, {workers:?}");
                }
                for worker in
                    workers.iter().filter(|own| users.is_some_and(|users| own.share(users.get()) == 0))
                {
                    assert_eq!(worker.requests(1_000, users), 0, "nobody would ask for them");
                }
            }
        }
    }

    #[test]
    fn shares_add_up() {
        for total in 0..40 {
            for workers in 1..7 {
                let sum: u32 = (0..workers).map(|number| Worker { number, workers }.share(total)).sum();
                assert_eq!(sum, total);
            }
        }
    }
}
