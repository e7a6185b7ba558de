//! When a run's parts begin and end, and what a worker used in the part that is measured.

use crate::os::clock::{thread_cpu, thread_waited};
use farfield_base::{Duration, Instant, Window};
use farfield_measure::engine_stats::WorkerStats;

/// When the parts of a run begin and end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Phases {
    pub window: Window,
    /// What is still open then is unfinished.
    pub drain_until: Instant,
}

/// The cause of a shorter stall is not looked for.
const EXAMINED_STALL_MIN: Duration = Duration::from_ms(20);

/// A worker that is held up as the load ends gets so long to begin what was due before: it loses no arrival by a late wake,
/// and one that is too slow for its load is not driving the server all through the drain.
const CATCH_UP_MAX: Duration = Duration::from_secs(1);

impl Phases {
    /// True once no more load is to be begun at `now`: the load is over, and what was due before its end, of which the
    /// next is due at `next`, has been begun or had its time.
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
    /// All sleep of the worker so far.
    pub slept: Duration,
    window: Window,
    stall: Duration,
    stall_waited: Option<Duration>,
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

    /// Reads how long the worker has waited for a processor so far; done now and then, so that of a long stall it is known
    /// how much of it was such a wait.
    pub fn heartbeat(&mut self) {
        self.waited_before = thread_waited();
    }

    /// Notes that the worker did not look at its events from `from` to `to`, of which the part in the window counts.
    pub fn record_stall(&mut self, from: Instant, to: Instant) {
        let stall = self.window.overlap(from, to);
        if stall <= self.stall {
            return;
        }
        self.stall = stall;
        if stall >= EXAMINED_STALL_MIN {
            self.stall_waited = thread_waited().zip(self.waited_before).map(|(now, before)| now - before);
        }
    }

    /// What the worker used in the window, or from its start if the window never began.
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
