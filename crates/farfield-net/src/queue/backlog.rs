//! Packets that wait before a transmitter whose departures are known: a ring of when each will start to
//! leave.

use farfield_base::Instant;
use std::collections::VecDeque;

/// Packets that have not started to leave, in order. Grows to the queue's limit and allocates no more.
#[derive(Debug, Clone, Default)]
pub(crate) struct Backlog {
    waiting: VecDeque<(Instant, u32)>,
    bytes: u64,
    emptied_at: Instant,
}

impl Backlog {
    /// Forgets those that have started to leave by `now`.
    pub fn settle(&mut self, now: Instant) {
        while let Some(&(start, bytes)) = self.waiting.front() {
            if start > now {
                return;
            }
            self.waiting.pop_front();
            self.bytes -= u64::from(bytes);
            self.emptied_at = start;
        }
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.bytes = 0;
    }

    /// Adds a packet that waits until `start`.
    pub fn push(&mut self, start: Instant, bytes: u32) {
        self.waiting.push_back((start, bytes));
        self.bytes += u64::from(bytes);
    }

    /// Notes a packet that has come at `now` and found that none waits.
    pub fn passed(&mut self, now: Instant) {
        self.emptied_at = now;
    }

    /// Packets that wait.
    pub fn packets(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Instant at which the last that waited started to leave, or the last came that found none, while none
    /// waits.
    pub fn emptied_at(&self) -> Instant {
        self.emptied_at
    }
}
