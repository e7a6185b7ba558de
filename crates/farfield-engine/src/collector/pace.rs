//! Pauses of the collector for workers on the same processor.
//!
//! The scheduler switches from one busy thread to another only at its ticks, every few milliseconds. So the
//! collector sleeps for a moment after every few microseconds of work, and the worker runs. sched_yield(2)
//! does not help: a thread that has had less than its share is chosen again, or, since Linux 6.18, loses its
//! claim for tens of milliseconds. The further the collector falls behind, the longer it works between
//! pauses; before workers would have to wait for it, it stops pausing. Once they end it pauses no more: on a
//! machine that is busy with other work each pause lasts for milliseconds, which would add up to a minute.

use farfield_base::{Duration, Instant};
use farfield_os::clock::Clock;
use farfield_os::processors;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Work between pauses while no chunk waits: the most by which it delays a worker.
const WORK: Duration = Duration::from_us(25);
/// Chunks received without a wait between them after which the collector stops pausing.
const BEHIND: u32 = 16;

/// Time of the collector's last pause, and its backlog.
#[derive(Debug)]
pub(crate) struct Pace {
    /// `None` if no worker shares the processor.
    clock: Option<Clock>,
    /// Set when the workers end.
    halt: Arc<AtomicBool>,
    worked_from: Cell<Instant>,
    backlog: Cell<u32>,
}

impl Pace {
    /// Pauses for workers that run by `clock`, until `halt` is set.
    pub fn beside_workers(clock: Clock, halt: Arc<AtomicBool>) -> Pace {
        Pace { clock: Some(clock), halt, ..Pace::alone() }
    }

    /// No pauses: there are no workers.
    pub fn alone() -> Pace {
        Pace {
            clock: None,
            halt: Arc::default(),
            worked_from: Cell::new(Instant::ZERO),
            backlog: Cell::new(0),
        }
    }

    /// Counts a chunk that was there without a wait.
    pub fn count_immediate(&self) {
        self.backlog.set(self.backlog.get().saturating_add(1));
    }

    /// Number of chunks received without a wait between them.
    pub fn backlog(&self) -> u32 {
        self.backlog.get()
    }

    /// Notes that the collector has waited for a chunk.
    pub fn count_wait(&self) {
        self.backlog.set(0);
        self.work_begins();
    }

    /// Pauses if it is time to; called between any two small pieces of work.
    pub fn pause_if_due(&self) {
        let Some(clock) = self.clock else { return };
        let behind = self.backlog.get();
        let worked = clock.now().since(self.worked_from.get());
        let is_due = behind < BEHIND && worked >= WORK.times(u64::from(behind) + 1);
        if is_due && !self.halt.load(Ordering::Relaxed) {
            processors::yield_briefly();
            self.work_begins();
        }
    }

    fn work_begins(&self) {
        if let Some(clock) = self.clock {
            self.worked_from.set(clock.now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_pauses_once_the_workers_end() {
        let (clock, halt) = (Clock::starting_in(Duration::ZERO), Arc::<AtomicBool>::default());
        let pace = Pace::beside_workers(clock, Arc::clone(&halt));
        // A pause ends with the time from which work is counted anew.
        let pauses = || {
            let from = pace.worked_from.get();
            while clock.now().since(from) < WORK {}
            pace.pause_if_due();
            pace.worked_from.get() != from
        };
        assert!(pauses());
        halt.store(true, Ordering::Relaxed);
        assert!(!pauses());
    }
}
