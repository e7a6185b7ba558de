//! When a run's parts begin and end, and what a worker used in the part that is measured.

use crate::os::clock::thread_cpu;
use farfield_base::{Duration, Instant, Window};
use farfield_measure::facts::WorkerFacts;

/// When the parts of a run begin and end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Phases {
    pub window: Window,
    /// What is still open then is unfinished.
    pub drain_until: Instant,
}

/// A worker that is held up as the load ends gets so long to begin what was due before: it loses no arrival by a late wake,
/// and one that is too slow for its load is not driving the server all through the drain.
const CATCH_UP: Duration = Duration::from_secs(1);

impl Phases {
    /// True once no more load is to be begun at `now`: the load is over, and what was due before its end, of which the
    /// next is due at `next`, has been begun or had its time.
    pub fn load_has_ended(&self, now: Instant, next: Option<Instant>) -> bool {
        let end = self.window.measure_to;
        now >= end && (next.is_none_or(|next| next >= end) || now >= end + CATCH_UP)
    }
}

/// Processor time and sleep of a worker, read at both ends of the measured window.
#[derive(Debug)]
pub(crate) struct Meters {
    edges: [Instant; 2],
    readings: [Option<Reading>; 2],
    /// All sleep of the worker so far.
    pub slept: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Reading {
    at: Instant,
    cpu: Duration,
    slept: Duration,
}

impl Meters {
    pub fn new(window: Window) -> Meters {
        let edges = [window.measure_from, window.measure_to];
        Meters { edges, readings: [None; 2], slept: Duration::ZERO }
    }

    /// Reads the meters if an end of the window has come.
    pub fn read(&mut self, now: Instant) {
        for (reading, edge) in self.readings.iter_mut().zip(self.edges) {
            if reading.is_none() && now >= edge {
                *reading = Some(Reading { at: now, cpu: thread_cpu(), slept: self.slept });
            }
        }
    }

    /// What the worker used in the window, or from its start if the window never began.
    pub fn facts(&self, now: Instant) -> WorkerFacts {
        let end = self.readings[1].unwrap_or(Reading { at: now, cpu: thread_cpu(), slept: self.slept });
        let nothing = Reading { at: Instant::ZERO, cpu: Duration::ZERO, slept: Duration::ZERO };
        let start = self.readings[0].unwrap_or(nothing);
        WorkerFacts { cpu: end.cpu - start.cpu, wall: end.at.since(start.at), slept: end.slept - start.slept }
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
