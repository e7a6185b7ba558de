//! Pickup: how long a packet from the server's kernel waits at the gateway until its shard reads it.
//!
//! A queue of the gateway keeps no times. What is read now came after the queue was last seen empty, so that
//! it has waited for no longer than since then; and where the worker has slept, for no longer than since the
//! packet woke it: the time for which the thread was ready to run and had no processor. The longest time
//! that a packet can have waited is recorded for each read. Work that keeps the processor from a worker
//! therefore shows even if nothing else was due.

use crate::os::run_delay::RunDelay;
use farfield_base::{Duration, Instant, Window};
use farfield_measure::Histogram;

/// What is known of one queue's packets.
#[derive(Debug)]
pub(crate) struct Pickup {
    window: Window,
    /// What is in the queue came later.
    empty_at: Instant,
    /// The longest that what each read returned can have waited.
    pub lateness: Histogram,
}

impl Pickup {
    pub fn new(window: Window) -> Pickup {
        Pickup { window, empty_at: Instant::ZERO, lateness: Histogram::new() }
    }

    /// Records that a read returned a packet, by `now`.
    #[inline]
    pub fn read(&mut self, now: Instant) {
        if self.window.contains(now) {
            self.lateness.record(now.since(self.empty_at));
        }
    }

    /// Notes that a read that began at `looked`, or later, found nothing.
    #[inline]
    pub fn found_empty(&mut self, looked: Instant) {
        self.empty_at = looked;
    }

    /// Notes that nothing has come before `since`.
    pub fn nothing_before(&mut self, since: Instant) {
        self.empty_at = self.empty_at.max(since);
    }
}

/// The worker's sleep: how long it was ready to run and did not, each time.
#[derive(Debug, Default)]
pub(crate) struct Waking {
    delay: Option<RunDelay>,
    asleep: Option<Duration>,
}

impl Waking {
    /// Of the calling thread.
    pub fn of_this_thread() -> Waking {
        Waking { delay: RunDelay::of_this_thread(), asleep: None }
    }

    /// The thread is about to sleep.
    pub fn sleeps(&mut self) {
        self.asleep = self.delay.as_mut().and_then(RunDelay::read);
    }

    /// When it was woken, having run again by `now`: nothing that was to wake it has come before. Where the
    /// kernel does not count the wait for a processor, `now`.
    pub fn woken(&mut self, now: Instant) -> Instant {
        let ready = self.delay.as_mut().and_then(RunDelay::read);
        let waited = ready.zip(self.asleep).map(|(ready, asleep)| ready - asleep);
        Instant::from_ns(now.as_ns().saturating_sub(waited.unwrap_or_default().as_ns()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    fn most_us(pickup: &Pickup) -> u64 {
        pickup.lateness.max().expect("a read").as_ns() / 1000
    }

    #[test]
    fn a_packet_has_waited_since_its_queue_was_empty_at_most() {
        let mut pickup = Pickup::new(Window { measure_from: at(1_000), measure_to: at(1_000_000) });
        pickup.found_empty(at(900));
        pickup.read(at(990));
        assert_eq!(pickup.lateness.count(), 0, "before the window");
        pickup.read(at(1_100));
        assert_eq!(most_us(&pickup), 200);
        // A queue that has not been empty for long may hold what came then.
        pickup.read(at(3_900));
        assert_eq!(most_us(&pickup), 3_000);
        pickup.found_empty(at(4_000));
        pickup.read(at(4_010));
        assert_eq!((pickup.lateness.count(), pickup.lateness.min().map(Duration::as_ns)), (3, Some(10_000)));
    }

    #[test]
    fn what_wakes_a_worker_has_waited_since_then() {
        let mut pickup = Pickup::new(Window { measure_from: at(0), measure_to: at(1_000_000) });
        pickup.found_empty(at(1_000));
        pickup.nothing_before(at(90_000));
        pickup.read(at(94_000));
        assert_eq!(most_us(&pickup), 4_000);
        // A wake by something else, earlier than what is known.
        pickup.nothing_before(at(20_000));
        pickup.read(at(94_500));
        assert_eq!(most_us(&pickup), 4_500);
    }

    /// A thread that waits for a processor is woken before it runs: by as long as the kernel says.
    #[test]
    fn a_thread_is_woken_before_it_runs() {
        let mut waking = Waking::of_this_thread();
        assert!(waking.delay.is_some(), "this kernel counts");
        waking.sleeps();
        let woken = waking.woken(at(5_000_000));
        assert!(woken <= at(5_000_000) && woken > at(1_000_000), "{woken:?}");
        let mut uncounted = Waking::default();
        uncounted.sleeps();
        assert_eq!(uncounted.woken(at(7)), at(7));
    }
}
