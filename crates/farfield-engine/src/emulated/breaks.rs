//! A worker at a real-time priority leaves its processor to others regularly.
//!
//! At that priority nothing of normal priority takes the worker's processor from it: a process that wakes there, such as
//! another program, the collector or a thread of the kernel, would otherwise hold it until the next tick of the scheduler,
//! up to 4 ms. But a worker that always has something due would keep the processor for good. Others would starve, until
//! the kernel takes it away for tens of milliseconds at a time (its fair server, Linux 6.12; before that the limit on
//! real-time threads). So a worker that found no time to sleep takes a break: often and short, so that nothing is late for it,
//! and together long enough that the kernel need not step in.

use crate::os::processors;
use farfield_base::{Duration, Instant};

/// The longest time without leaving the processor.
const STRETCH: Duration = Duration::from_us(500);
/// How long a break is: with what waking costs, others get at least a tenth of the processor.
const BREAK: Duration = Duration::from_us(60);
/// A shorter sleep lets nobody else get on.
const SLEEP_LEAST: Duration = Duration::from_us(20);

/// When a worker left its processor to others last.
#[derive(Debug)]
pub(crate) struct Breaks {
    /// Whether it must: nobody takes the processor from it.
    real_time: bool,
    last: Instant,
}

impl Breaks {
    /// None, for a worker at a normal priority.
    pub fn none() -> Breaks {
        Breaks { real_time: false, last: Instant::ZERO }
    }

    /// Those of the calling thread, which from now on has a real-time priority, if it may.
    pub fn at_real_time_priority() -> Breaks {
        Breaks { real_time: processors::set_real_time().is_ok(), last: Instant::ZERO }
    }

    /// Notes that the worker slept from `since` until `now`.
    pub fn slept(&mut self, since: Instant, now: Instant) {
        if now.since(since) >= SLEEP_LEAST {
            self.last = now;
        }
    }

    /// Whether a break is due.
    fn is_due(&self, now: Instant) -> bool {
        self.real_time && now.since(self.last) >= STRETCH
    }

    /// Takes a break if one is due `now`; `clock` tells when it is over.
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
