//! Pauses of the collector for workers on the same processor.
//!
//! The scheduler switches from one busy thread to another only at its ticks, every few milliseconds. So the
//! collector sleeps for a moment after every few microseconds of work, and the worker runs. sched_yield(2)
//! does not help: a thread that has had less than its share is chosen again, or, since Linux 6.18, loses its
//! claim for tens of milliseconds. The further the collector falls behind, the longer it works between
//! pauses; before workers would have to wait for it, it stops pausing.

use crate::os::clock::Clock;
use crate::os::processors;
use farfield_base::{Duration, Instant};
use std::cell::Cell;

/// Work between pauses while no chunk waits: the most by which it delays a worker.
const WORK: Duration = Duration::from_us(25);
/// Chunks received without a wait between them after which the collector stops pausing.
const BEHIND: u32 = 16;

/// Time of the collector's last pause, and its backlog.
#[derive(Debug)]
pub(crate) struct Pace {
    /// `None` if no worker shares the processor.
    clock: Option<Clock>,
    worked_from: Cell<Instant>,
    backlog: Cell<u32>,
}

impl Pace {
    /// Pauses for workers that run by `clock`.
    pub fn beside_workers(clock: Clock) -> Pace {
        Pace { clock: Some(clock), ..Pace::alone() }
    }

    /// No pauses: there are no workers.
    pub fn alone() -> Pace {
        Pace { clock: None, worked_from: Cell::new(Instant::ZERO), backlog: Cell::new(0) }
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
        if behind < BEHIND && worked >= WORK.times(u64::from(behind) + 1) {
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
