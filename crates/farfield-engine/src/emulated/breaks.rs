//! Breaks of a worker at a real-time priority, in which it leaves its processor to other threads.
//!
//! At a real-time priority no thread of normal priority preempts the worker. At normal priority a thread
//! that wakes there, of another program, the collector or the kernel, would hold the processor until the
//! next tick of the scheduler, up to 4 ms. But a real-time worker that always has something due would keep
//! the processor for good, and other threads would starve until the kernel takes it away for tens of
//! milliseconds at a time (the fair server, Linux 6.12; before that the limit on real-time threads). So a
//! worker that has had no time to sleep takes breaks: short and frequent, so that nothing is late for them,
//! and together long enough that the kernel does not intervene.

use farfield_base::{Duration, Instant};
use farfield_os::processors;

/// Longest time without a break.
const STRETCH: Duration = Duration::from_us(500);
/// Length of a break: with the cost of waking, other threads get at least a tenth of the processor.
const BREAK: Duration = Duration::from_us(60);
/// Sleeps below this length do not count as breaks.
const SLEEP_LEAST: Duration = Duration::from_us(20);

/// Time of a worker's last break.
#[derive(Debug)]
pub(crate) struct Breaks {
    /// The worker needs breaks: no other thread preempts it.
    real_time: bool,
    last: Instant,
}

impl Breaks {
    /// No breaks, for a worker at normal priority.
    pub fn none() -> Breaks {
        Breaks { real_time: false, last: Instant::ZERO }
    }

    /// Gives the calling thread a real-time priority, if the system allows it, and takes breaks for it.
    pub fn at_real_time_priority() -> Breaks {
        Breaks { real_time: processors::set_real_time().is_ok(), last: Instant::ZERO }
    }

    /// Records that the worker slept from `since` until `now`.
    pub fn slept(&mut self, since: Instant, now: Instant) {
        if now.since(since) >= SLEEP_LEAST {
            self.last = now;
        }
    }

    /// True if a break is due.
    fn is_due(&self, now: Instant) -> bool {
        self.real_time && now.since(self.last) >= STRETCH
    }

    /// Takes a break if one is due `now`; `clock` is read after it.
    pub fn take_if_due(&mut self, now: Instant, clock: impl Fn() -> Instant) {
        if self.is_due(now) {
            processors::yield_for(BREAK);
            self.last = clock();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_break_is_due_where_the_worker_did_not_sleep() {
        let at = |us| Instant::ZERO + Duration::from_us(us);
        let mut breaks = Breaks { real_time: true, last: Instant::ZERO };
        assert!(!breaks.is_due(at(499)));
        assert!(breaks.is_due(at(500)));
        breaks.slept(at(400), at(410));
        assert!(breaks.is_due(at(500)));
        breaks.slept(at(400), at(430));
        assert!(!breaks.is_due(at(900)));
        assert!(breaks.is_due(at(930)));
        breaks.take_if_due(at(930), || at(1_000));
        assert!(!breaks.is_due(at(1_499)));
        breaks.real_time = false;
        assert!(!breaks.is_due(at(5_000)));
    }
}
