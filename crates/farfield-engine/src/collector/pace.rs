//! How the collector stands back for workers that share its processor.
//!
//! A worker that is busy all the time lets others on at ticks of the scheduler alone, every few milliseconds, and then up to the
//! next. So the collector sleeps for a moment after every few microseconds of work, and the worker goes on. To yield would
//! not do: a thread that has had less than its share is chosen again, or, since Linux 6.18, loses its claim for tens of
//! milliseconds. The more the collector falls behind, the longer it works before it pauses; before workers would have to
//! wait for it, it pauses no more.

use crate::os::clock::Clock;
use crate::os::processors;
use farfield_base::{Duration, Instant};
use std::cell::Cell;

/// Work without a pause while nothing waits: so much later than meant may a worker send.
const WORK: Duration = Duration::from_us(25);
/// Chunks that may come without a wait between them before the collector pauses no more.
const BEHIND: u32 = 16;

/// When the collector paused last, and whether it has time to.
#[derive(Debug)]
pub(crate) struct Pace {
    /// None where nobody waits.
    clock: Option<Clock>,
    worked_from: Cell<Instant>,
    at_once: Cell<u32>,
}

impl Pace {
    /// Beside workers whose clock this is.
    pub fn beside_workers(clock: Clock) -> Pace {
        Pace { clock: Some(clock), ..Pace::alone() }
    }

    /// With no worker to stand back for: it never pauses.
    pub fn alone() -> Pace {
        Pace { clock: None, worked_from: Cell::new(Instant::ZERO), at_once: Cell::new(0) }
    }

    /// A chunk came while the last one was looked at.
    pub fn came_at_once(&self) {
        self.at_once.set(self.at_once.get().saturating_add(1));
    }

    /// How many chunks came without a wait between them.
    pub fn at_once(&self) -> u32 {
        self.at_once.get()
    }

    /// There was nothing to do for a while.
    pub fn rested(&self) {
        self.at_once.set(0);
        self.work_begins();
    }

    /// Called between any two small pieces of work: pauses if it is time to.
    pub fn breathe(&self) {
        let Some(clock) = self.clock else { return };
        let behind = self.at_once.get();
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
