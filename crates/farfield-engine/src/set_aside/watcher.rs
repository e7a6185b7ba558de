//! A worker that watches itself: what it measured in each second, until that is decided for it.

use super::SharedSeconds;
use crate::meters::{ExcludedTime, Meters, Phases, Stalls};
use farfield_base::{Duration, Instant, Merge};
use farfield_measure::Histogram;
use farfield_measure::set_aside::Disturbance;
use farfield_os::clock::{thread_cpu, thread_waited};
use std::sync::Arc;

/// A second is disturbed in which a worker waited for its processor for more than this, in however many
/// parts.
const HELD_MOST: Duration = Duration::from_ms(100);

/// A worker's watch over its seconds.
pub(crate) struct Watcher {
    shared: Arc<SharedSeconds>,
    number: usize,
    /// The second that goes on.
    second: u64,
    /// The thread's use of its processor when the second began; `None` before the measured part.
    begun: Option<MeterSnapshot>,
    lateness: Histogram,
    turns: Histogram,
}

#[derive(Debug, Clone, Copy)]
struct MeterSnapshot {
    at: Instant,
    cpu: Duration,
    waited: Duration,
    slept: Duration,
    stalls: Stalls,
}

impl MeterSnapshot {
    fn read(at: Instant, meters: &Meters) -> MeterSnapshot {
        let waited = thread_waited().unwrap_or_default();
        MeterSnapshot { at, cpu: thread_cpu(), waited, slept: meters.slept, stalls: meters.stalls }
    }
}

impl Watcher {
    /// The watcher of worker `number`.
    pub fn new(shared: Arc<SharedSeconds>, number: usize) -> Watcher {
        let (lateness, turns) = (Histogram::new(), Histogram::new());
        Watcher { shared, number, second: 0, begun: None, lateness, turns }
    }

    /// Looks at the seconds that are over at `now`. What the worker measured in those that are set aside is
    /// taken from its `meters` and histograms, and what it measured in the others is kept.
    pub fn look(&mut self, now: Instant, meters: &mut Meters, timings: [&mut Histogram; 2]) {
        let Some(begun) = self.begun else {
            if now >= self.shared.begin_of(0) {
                self.begun = Some(MeterSnapshot::read(now, meters));
            }
            return;
        };
        let last = self.shared.settled(now);
        if last > self.second {
            self.begun = Some(self.end_seconds(last, begun, now, meters, timings));
            self.second = last;
            self.shared.look_at(self.number, self.second);
        }
    }

    /// Ends the seconds that are over, up to `next`; returns what that begins with. They are several where
    /// the worker was away: each is disturbed then, and what the worker measured is that of all.
    fn end_seconds(
        &mut self,
        next: u64,
        begun: MeterSnapshot,
        now: Instant,
        meters: &mut Meters,
        timings: [&mut Histogram; 2],
    ) -> MeterSnapshot {
        let used = MeterSnapshot::read(now, meters);
        let over = self.second..next;
        if used.waited - begun.waited > HELD_MOST {
            over.clone().for_each(|second| self.shared.find(second, Disturbance::Held, now));
        }
        let timings = timings.map(std::mem::take);
        let is_aside =
            |second: u64| self.shared.found(second) != 0 && self.shared.begin_of(second) < self.shared.end();
        if over.into_iter().any(is_aside) {
            let aside = ExcludedTime {
                wall: used.at.since(begun.at),
                cpu: used.cpu - begun.cpu,
                waited: used.waited - begun.waited,
                slept: used.slept - begun.slept,
            };
            meters.set_aside(begun.stalls, aside);
        } else {
            self.lateness.merge(&timings[0]);
            self.turns.merge(&timings[1]);
        }
        MeterSnapshot { stalls: meters.stalls, ..used }
    }

    /// True if a disturbance was found in the second of an instant.
    pub fn is_disturbed(&self, at: Instant) -> bool {
        self.shared.second(at).is_some_and(|second| self.shared.found(second) != 0)
    }

    /// Moves the end of the load where it was extended; returns it then.
    pub fn extend(&self, phases: &mut Phases, meters: &mut Meters) -> Option<Instant> {
        let end = self.shared.end();
        let longer = end.since(phases.window.measure_to);
        if longer.is_zero() {
            return None;
        }
        phases.window.measure_to = end;
        phases.load_until += longer;
        phases.drain_until += longer;
        meters.extend_to(end);
        Some(end)
    }

    /// Ends the watch with the worker; returns its lateness and its turns in the seconds that are left.
    pub fn end(mut self, now: Instant, meters: &mut Meters, timings: [&mut Histogram; 2]) -> [Histogram; 2] {
        let [lateness, turns] = timings;
        self.look(now, meters, [&mut *lateness, &mut *turns]);
        if let Some(begun) = self.begun {
            self.end_seconds(self.second + 1, begun, now, meters, [lateness, turns]);
        }
        self.shared.look_at(self.number, u64::MAX);
        [self.lateness, self.turns]
    }
}
