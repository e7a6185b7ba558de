//! Barrier at which threads wait for each other at the end of a window: briefly, and so without sleeping.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Turns before a thread that waits lets others have its processor.
const SPINS: u32 = 4_000;

#[derive(Debug)]
pub(crate) struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    opened: AtomicU64,
    broken: AtomicBool,
}

/// Breaks the barrier if its thread panics, so that no other waits for ever.
#[derive(Debug)]
pub(crate) struct BarrierGuard<'a>(pub &'a Barrier);

impl Drop for BarrierGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Release);
        }
    }
}

impl Barrier {
    pub fn new(threads: usize) -> Barrier {
        Barrier {
            threads,
            arrived: AtomicUsize::new(0),
            opened: AtomicU64::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// Waits until all threads have come. The last does `reset` before the others go on.
    pub fn wait(&self, reset: impl FnOnce()) {
        let turn = self.opened.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            reset();
            self.opened.store(turn + 1, Ordering::Release);
            return;
        }
        let mut spins = 0;
        while self.opened.load(Ordering::Acquire) == turn {
            assert!(!self.broken.load(Ordering::Relaxed), "another thread of the simulation panicked");
            spins += 1;
            if spins < SPINS {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_thread_is_a_turn_ahead() {
        let (barrier, count) = (Barrier::new(3), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for turn in 0..500 {
                        count.fetch_add(1, Ordering::Relaxed);
                        barrier.wait(|| assert_eq!(count.load(Ordering::Relaxed), 3 * (turn + 1)));
                    }
                });
            }
        });
        assert_eq!(count.into_inner(), 1500);
    }
}
