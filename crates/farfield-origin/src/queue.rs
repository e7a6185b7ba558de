//! The queue before `m` equal servers, first come, first served, as arithmetic: no clock, no waiting.
//!
//! A server is remembered by the instant until which it is busy. A request starts when it has come and the
//! earliest server is free, and ends its service time later; that instant is known the moment it comes. So
//! a waiting task may wake late without making the next one late, and the capacity is `m / S` exactly,
//! however coarse the timers. (The recursion is Kiefer and Wolfowitz's, 1955, kept as instants, not as
//! workloads.)

use farfield_base::{Duration, Instant};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU32;

/// `m` servers and the requests they have promised to serve.
#[derive(Debug)]
pub struct ServiceQueue {
    servers: usize,
    /// Instants at which the servers used so far become free, the earliest on top; at most `servers` of
    /// them.
    busy_until: BinaryHeap<Reverse<Instant>>,
}

impl ServiceQueue {
    /// Idle servers.
    pub fn new(servers: NonZeroU32) -> ServiceQueue {
        ServiceQueue { servers: servers.get() as usize, busy_until: BinaryHeap::new() }
    }

    /// Takes in a request that comes at `now` and needs `service`; returns when it will have been served.
    ///
    /// Requests are served in the order of these calls; `now` should not go back between them.
    pub fn admit(&mut self, now: Instant, service: Duration) -> Instant {
        self.admit_with(now, |start| start + service)
    }

    /// [`ServiceQueue::admit`] of a request whose service, begun at an instant, ends at `end` of it, which
    /// must not be earlier.
    pub fn admit_with(&mut self, now: Instant, end: impl FnOnce(Instant) -> Instant) -> Instant {
        let earliest = self.busy_until.peek().map(|Reverse(instant)| *instant);
        let start = match earliest {
            Some(free) if free <= now || self.busy_until.len() == self.servers => {
                self.busy_until.pop();
                now.max(free)
            }
            _ => now, // a server that was never used
        };
        let end = end(start);
        self.busy_until.push(Reverse(end));
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed};
    use proptest::prelude::*;
    use rand_distr::{Distribution, Exp};

    fn queue(servers: u32) -> ServiceQueue {
        ServiceQueue::new(NonZeroU32::new(servers).unwrap())
    }

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn one_server_serves_one_after_the_other() {
        let mut queue = queue(1);
        let come_and_gone = [(0, 10), (0, 20), (5, 30), (29, 40), (100, 110)];
        for (come, gone) in come_and_gone {
            assert_eq!(queue.admit(ms(come), Duration::from_ms(10)), ms(gone), "came at {come} ms");
        }
    }

    #[test]
    fn the_third_of_two_servers_waits_for_the_first_free() {
        let mut queue = queue(2);
        assert_eq!(queue.admit(ms(0), Duration::from_ms(30)), ms(30));
        assert_eq!(queue.admit(ms(0), Duration::from_ms(10)), ms(10));
        assert_eq!(queue.admit(ms(1), Duration::from_ms(5)), ms(15));
        assert_eq!(queue.admit(ms(1), Duration::from_ms(5)), ms(20));
    }

    /// Under any overload the k-th departure of m servers is at floor(k / m + 1) services, to the
    /// nanosecond.
    #[test]
    fn capacity_is_exact() {
        for servers in [1, 3, 8] {
            let mut queue = queue(servers);
            let service = Duration::from_ns(1_234_567);
            for k in 0..10_000 {
                let due = Instant::ZERO + service.times(k / u64::from(servers) + 1);
                assert_eq!(
                    queue.admit(Instant::from_ns(k), service).since(due),
                    Duration::from_ns(k % u64::from(servers))
                );
            }
        }
    }

    /// M/D/1: the mean wait is rho S / 2 (1 - rho) (Pollaczek-Khinchine with no variance of service).
    #[test]
    fn mean_wait_of_m_d_1_is_pollaczek_and_khinchines() {
        const REQUESTS: u64 = 1_000_000;
        let (service, rho) = (Duration::from_ms(10), 0.8);
        let gap = Exp::new(rho / service.as_secs_f64()).unwrap();
        let mut random = Seed(3).stream(Purpose::Arrivals, 0);
        let (mut now, mut queue, mut waited) = (Instant::ZERO, queue(1), 0.0);
        for _ in 0..REQUESTS {
            now += Duration::from_secs_f64(gap.sample(&mut random));
            waited += (queue.admit(now, service).since(now) - service).as_secs_f64();
        }
        let mean = waited / REQUESTS as f64;
        let theory = rho * service.as_secs_f64() / (2.0 * (1.0 - rho));
        assert!((mean / theory - 1.0).abs() < 0.03, "waited {mean} s, theory {theory} s");
    }

    proptest! {
        /// Waits equal those of Kiefer and Wolfowitz's vector of workloads.
        #[test]
        fn agrees_with_the_workload_recursion(
            servers in 1..6u32,
            requests in prop::collection::vec((0..50u64, 0..100u64), 1..200),
        ) {
            let mut queue = queue(servers);
            let mut workloads = vec![0u64; servers as usize];
            let mut now = 0;
            for (gap, service) in requests {
                now += gap;
                for workload in &mut workloads {
                    *workload = workload.saturating_sub(gap);
                }
                workloads.sort_unstable();
                workloads[0] += service;
                let end = queue.admit(Instant::from_ns(now), Duration::from_ns(service));
                prop_assert_eq!(end, Instant::from_ns(now + workloads[0]));
            }
        }
    }
}
