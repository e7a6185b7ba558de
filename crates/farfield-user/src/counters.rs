//! Counters of a population: what became of its load, what is in the system, and when bytes came.

use crate::gauge::Gauge;
use farfield_base::{Duration, Instant, LoadCounts, Tenths, Window};

/// Counters of the users of one shard. They decide nothing.
#[derive(Debug)]
pub(crate) struct Counters {
    pub load: LoadCounts,
    /// Requests that are due and not over.
    pub in_system: Gauge,
    /// The measured part of the run.
    window: Window,
    last_received: Option<Instant>,
    received: Tenths,
}

impl Counters {
    /// Nothing yet.
    pub fn new(window: Window) -> Counters {
        Counters {
            load: LoadCounts::default(),
            in_system: Gauge::new(window),
            window,
            last_received: None,
            received: Tenths::default(),
        }
    }

    /// The window goes on until `end`.
    pub fn extend_to(&mut self, end: Instant) {
        self.window.measure_to = end;
        self.in_system.extend_to(end);
    }

    /// The measured part of the run.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Instant of the last byte from the server; `None` if none ever came.
    pub fn last_received(&self) -> Option<Instant> {
        self.last_received
    }

    /// Tenths of a second in which bytes came from the server.
    pub fn received(&self) -> &Tenths {
        &self.received
    }

    /// Bytes came from the server.
    pub fn note_received(&mut self, now: Instant) {
        self.last_received = Some(now);
        self.received.add(now);
    }

    /// Counts the processor time that handshakes have `spent` so far, in the window.
    pub fn count_handshake(&mut self, now: Instant, spent: impl FnOnce() -> Duration) {
        if self.window.contains(now) {
            self.load.handshake_cpu = self.load.handshake_cpu + spent();
        }
    }

    /// Counts load that was scheduled for `due` and is begun.
    pub fn count_begun(&mut self, due: Instant) {
        let counts = u64::from(self.window.contains(due));
        self.load.scheduled += counts;
        self.load.begun += counts;
    }

    /// Counts who begins load in the later half of the window, when there have been visitors for long.
    pub fn count_visitor(&mut self, due: Instant, newcomer: bool) {
        let window = self.window;
        let half = Duration::from_ns(window.measure_to.since(window.measure_from).as_ns() / 2);
        if window.contains(due) && due >= window.measure_from + half {
            self.load.begun_later += 1;
            self.load.newcomers_later += u64::from(newcomer);
        }
    }
}
