//! Phases of a run, and a worker's use of its processor in the measured part.

use crate::os::clock::{thread_cpu, thread_waited};
use farfield_base::{Duration, Instant, Window};
use farfield_measure::engine_stats::WorkerStats;

/// Begin and end of a run's phases.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Phases {
    pub window: Window,
    /// Requests that are still open at this instant are unfinished.
    pub drain_until: Instant,
}

/// Stalls below this length are neither examined for their cause nor added up.
const EXAMINED_STALL_MIN: Duration = Duration::from_ms(20);

/// Time after the end of the load in which a late worker begins what was due before: it loses no arrival by
/// a late wake, and a worker that is too slow for its load does not drive the server all through the drain.
const CATCH_UP_MAX: Duration = Duration::from_secs(1);

impl Phases {
    /// Whether no more load is begun at `now`: the load is over, and what was due before its end, of which
    /// the next is due at `next`, has been begun or is too late.
    pub fn load_has_ended(&self, now: Instant, next: Option<Instant>) -> bool {
        let end = self.window.measure_to;
        now >= end && (next.is_none_or(|next| next >= end) || now >= end + CATCH_UP_MAX)
    }
}

/// Processor time and sleep of a worker, read at both ends of the measured window.
#[derive(Debug)]
pub(crate) struct Meters {
    edges: [Instant; 2],
    readings: [Option<Reading>; 2],
    /// Total sleep of the worker so far.
    pub slept: Duration,
    window: Window,
    stall: Duration,
    stall_waited: Option<Duration>,
    stalled: Duration,
    waited_before: Option<Duration>,
}

#[derive(Debug, Clone, Copy)]
struct Reading {
    at: Instant,
    cpu: Duration,
    slept: Duration,
    waited: Option<Duration>,
}

impl Meters {
    pub fn new(window: Window) -> Meters {
        let edges = [window.measure_from, window.measure_to];
        Meters {
            edges,
            readings: [None; 2],
            slept: Duration::ZERO,
            window,
            stall: Duration::ZERO,
            stall_waited: None,
            stalled: Duration::ZERO,
            waited_before: None,
        }
    }

    /// Reads the meters if an end of the window has come.
    pub fn read(&mut self, now: Instant) {
        for (reading, edge) in self.readings.iter_mut().zip(self.edges) {
            if reading.is_none() && now >= edge {
                *reading =
                    Some(Reading { at: now, cpu: thread_cpu(), slept: self.slept, waited: thread_waited() });
            }
        }
    }

    /// Reads the worker's total wait for a processor so far. Regular readings show how much of a long stall
    /// was such a wait.
    pub fn heartbeat(&mut self) {
        self.waited_before = thread_waited();
    }

    /// Records that the worker handled no events from `from` to `to`; only the part in the window counts.
    pub fn record_stall(&mut self, from: Instant, to: Instant) {
        let stall = self.window.overlap(from, to);
        if stall >= EXAMINED_STALL_MIN {
            self.stalled = self.stalled + stall;
        }
        if stall <= self.stall {
            return;
        }
        self.stall = stall;
        if stall >= EXAMINED_STALL_MIN {
            self.stall_waited = thread_waited().zip(self.waited_before).map(|(now, before)| now - before);
        }
    }

    /// The worker's statistics over the window, or from its start if the window never began.
    pub fn stats(&self, now: Instant) -> WorkerStats {
        let end = self.readings[1].unwrap_or(Reading {
            at: now,
            cpu: thread_cpu(),
            slept: self.slept,
            waited: thread_waited(),
        });
        let nothing = Reading {
            at: Instant::ZERO,
            cpu: Duration::ZERO,
            slept: Duration::ZERO,
            waited: Some(Duration::ZERO),
        };
        let start = self.readings[0].unwrap_or(nothing);
        WorkerStats {
            cpu: end.cpu - start.cpu,
            wall: end.at.since(start.at),
            slept: end.slept - start.slept,
            waited: end.waited.zip(start.waited).map(|(end, start)| end - start),
            stall: Some(self.stall),
            stall_waited: self.stall_waited,
            stalled: self.stalled,
            handshakes: Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_are_measured_within_the_window_and_added_up() {
        let at = |ms| Instant::ZERO + Duration::from_ms(ms);
        let mut meters = Meters::new(Window { measure_from: at(1000), measure_to: at(9000) });
        for (from, to) in [(900, 1150), (2000, 2019), (3000, 3100), (8990, 9500)] {
            meters.record_stall(at(from), at(to));
        }
        let stats = meters.stats(at(9500));
        // Of the first 150 ms are within, and of the last 10.
        assert_eq!((stats.stall, stats.stalled), (Some(Duration::from_ms(150)), Duration::from_ms(250)));
    }

    #[test]
    fn what_was_due_before_the_end_is_begun_after_it_for_a_while() {
        let at = |ms| Instant::ZERO + Duration::from_ms(ms);
        let window = Window { measure_from: at(0), measure_to: at(2000) };
        let phases = Phases { window, drain_until: at(7000) };
        assert!(!phases.load_has_ended(at(1999), None));
        assert!(phases.load_has_ended(at(2000), None) && phases.load_has_ended(at(2000), Some(at(2000))));
        assert!(!phases.load_has_ended(at(2999), Some(at(1999))));
        assert!(phases.load_has_ended(at(3000), Some(at(1999))));
    }
}
