//! Phases of a run, and a worker's use of its processor in the measured part.

use crate::set_aside::SharedSeconds;
use farfield_base::{Duration, Instant, Tenths, Window};
use farfield_measure::engine_stats::WorkerStats;
use farfield_measure::set_aside::Disturbance;
use farfield_os::clock::{thread_cpu, thread_waited};
use std::sync::Arc;

/// Begin and end of a run's phases.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Phases {
    pub window: Window,
    /// Requests that are still open at this instant are unfinished.
    pub drain_until: Instant,
    /// The end of the load: that of the measured part, or of a cool-down after it.
    pub load_until: Instant,
}

/// Stalls below this length are neither examined for their cause nor added up.
const EXAMINED_STALL_MIN: Duration = Duration::from_ms(20);
/// Waits for a processor between two heartbeats that together are no longer than this delay nothing for
/// long.
const HELD_MIN: Duration = Duration::from_ms(1);
/// A stretch of work is examined once it has lasted so long.
const STRETCH_MIN: Duration = Duration::from_ms(10);
/// Tenths of a stretch that a worker's own work must take, so that what comes meanwhile waits for that.
const CROWDED_TENTHS: u64 = 9;
/// A shorter sleep ends no stretch of work.
const NAP_MIN: Duration = Duration::from_us(100);

/// Time after the end of the load in which a late worker begins what was due before: it loses no arrival by
/// a late wake, and a worker that is too slow for its load does not drive the server all through the drain.
const CATCH_UP_MAX: Duration = Duration::from_secs(1);

impl Phases {
    /// True if no more load is begun at `now`: the load is over, and what was due before its end, of which
    /// the next is due at `next`, has been begun or is too late.
    pub fn load_has_ended(&self, now: Instant, next: Option<Instant>) -> bool {
        let end = self.load_until;
        now >= end && (next.is_none_or(|next| next >= end) || now >= end + CATCH_UP_MAX)
    }
}

/// Processor time and sleep of a worker, read at both ends of the measured window.
#[derive(Debug)]
pub(crate) struct Meters {
    edges: [Instant; 2],
    readings: [Option<MeterReading>; 2],
    /// Total sleep of the worker so far.
    pub slept: Duration,
    window: Window,
    /// Stalls of the worker so far.
    pub stalls: Stalls,
    /// The worker's time in seconds that are set aside.
    aside: ExcludedTime,
    /// The record of disturbed seconds, if they are set aside.
    shared: Option<Arc<SharedSeconds>>,
    disturbed: Tenths,
    /// At the last heartbeat.
    beat: Option<Beat>,
    /// The thread's processor time and its wait for a processor, at the last heartbeat or examined stall.
    before: ThreadTime,
    /// Begin of the stretch of work that goes on, and the worker's sleep by then.
    awake_since: (Instant, Duration),
    /// Times as in `before`, at the last heartbeat or end of a stretch.
    before_stretch: ThreadTime,
}

/// Times for which a worker was kept from its events in the measured part.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stalls {
    longest: Duration,
    /// The wait for a processor in the longest stall.
    waited: Option<Duration>,
    stalled: Duration,
    stopped: Duration,
    held: Option<Duration>,
    /// Work of the worker's own, in long stretches without a pause.
    pub crowded: Duration,
}

/// A worker's time and processor time in seconds that are set aside.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ExcludedTime {
    pub wall: Duration,
    pub cpu: Duration,
    pub waited: Duration,
    pub slept: Duration,
}

/// A worker's wait for a processor up to a heartbeat.
#[derive(Debug, Clone, Copy)]
struct Beat {
    at: Instant,
    waited: Option<Duration>,
}

/// A thread's time on its processor, and its wait for one, so far.
#[derive(Debug, Clone, Copy, Default)]
struct ThreadTime {
    cpu: Duration,
    waited: Option<Duration>,
}

impl ThreadTime {
    fn read() -> ThreadTime {
        ThreadTime { cpu: thread_cpu(), waited: thread_waited() }
    }

    fn waited_since(&self, earlier: &ThreadTime) -> Option<Duration> {
        self.waited.zip(earlier.waited).map(|(now, before)| now - before)
    }
}

#[derive(Debug, Clone, Copy)]
struct MeterReading {
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
            stalls: Stalls::default(),
            aside: ExcludedTime::default(),
            shared: None,
            disturbed: Tenths::default(),
            beat: None,
            before: ThreadTime::default(),
            awake_since: (Instant::ZERO, Duration::ZERO),
            before_stretch: ThreadTime::default(),
        }
    }

    /// Reads the meters if an end of the window has come.
    pub fn read(&mut self, now: Instant) {
        for (reading, edge) in self.readings.iter_mut().zip(self.edges) {
            if reading.is_none() && now >= edge {
                *reading = Some(MeterReading {
                    at: now,
                    cpu: thread_cpu(),
                    slept: self.slept,
                    waited: thread_waited(),
                });
            }
        }
    }

    /// Reads the worker's wait for a processor so far. Regular readings show how much of a long stall was
    /// such a wait, and in which tenths of a second a worker was held.
    pub fn heartbeat(&mut self, now: Instant) {
        let used = ThreadTime::read();
        (self.before, self.before_stretch) = (used, used);
        let beat = Beat { at: now, waited: used.waited };
        if let Some(last) = self.beat.replace(beat) {
            self.count_beat(last, beat);
        }
    }

    /// Counts the time between two heartbeats, if all of it is in the window.
    fn count_beat(&mut self, last: Beat, beat: Beat) {
        let wall = beat.at.since(last.at);
        let Some((now, before)) = beat.waited.zip(last.waited) else { return };
        if self.window.overlap(last.at, beat.at) != wall {
            return;
        }
        let is_held = now - before > HELD_MIN;
        let held = if is_held { now - before } else { Duration::ZERO };
        self.stalls.held = Some(self.stalls.held.unwrap_or_default() + held);
        if is_held {
            self.note_disturbed(last.at, beat.at);
        }
    }

    /// Records that the worker has had something to do until `now`; what it has then done without a pause
    /// may have kept waiting what came meanwhile.
    pub fn work_until(&mut self, now: Instant) {
        if now.since(self.awake_since.0) >= STRETCH_MIN {
            let used = ThreadTime::read();
            self.count_stretch(now, used);
            self.before_stretch = used;
            self.awake_since = (now, self.slept);
        }
    }

    /// Counts the stretch of work that has come to `now`, if nearly all of it was the worker's own.
    fn count_stretch(&mut self, now: Instant, used: ThreadTime) {
        let (from, slept) = self.awake_since;
        let wall = self.window.overlap(from, now);
        let waited = used.waited_since(&self.before_stretch).unwrap_or_default();
        let computed = wall - (self.slept - slept) - waited;
        let computed = computed.min(used.cpu - self.before_stretch.cpu);
        if computed.times(10) >= wall.times(CROWDED_TENTHS) {
            self.stalls.crowded = self.stalls.crowded + computed;
        }
    }

    /// Records that the worker slept from `from` to `to`, which ends a stretch of work if it was long
    /// enough.
    pub fn slept_from(&mut self, from: Instant, to: Instant) {
        self.slept = self.slept + to.since(from);
        if to.since(from) >= NAP_MIN {
            self.awake_since = (to, self.slept);
        }
    }

    fn note_disturbed(&mut self, from: Instant, to: Instant) {
        self.disturbed.add(from);
        self.disturbed.add_between(from, to);
        self.disturbed.add(to);
    }

    /// Records that a turn of the worker took from `from` to `to`; only the part in the window counts.
    pub fn record_turn(&mut self, from: Instant, to: Instant) {
        self.record_stall(from, to, |used, before| used.cpu - before.cpu);
    }

    /// Records that the worker was to wake at `from`, and woke at `to`: it has not computed meanwhile.
    pub fn record_late_wake(&mut self, from: Instant, to: Instant) {
        self.record_stall(from, to, |_, _| Duration::ZERO);
    }

    /// Records that the worker handled no events from `from` to `to`, and computed for `computed` at most.
    fn record_stall(
        &mut self,
        from: Instant,
        to: Instant,
        computed: impl FnOnce(&ThreadTime, &ThreadTime) -> Duration,
    ) {
        let stall = self.window.overlap(from, to);
        if stall >= EXAMINED_STALL_MIN {
            let used = ThreadTime::read();
            let waited = used.waited_since(&self.before);
            let stopped = stall - waited.unwrap_or_default() - computed(&used, &self.before);
            self.before = used;
            self.stalls.stalled = self.stalls.stalled + stall;
            if stopped >= EXAMINED_STALL_MIN {
                self.stalls.stopped = self.stalls.stopped + stopped;
                self.note_disturbed(from, to);
                // Without that count, what waited for a processor would pass for stopped.
                if waited.is_some() {
                    self.find(from, to, Disturbance::Stopped);
                }
            }
            if waited.is_some_and(|waited| waited >= EXAMINED_STALL_MIN) {
                self.find(from, to, Disturbance::Held);
            }
            if stall > self.stalls.longest {
                self.stalls.waited = waited;
            }
        }
        self.stalls.longest = self.stalls.longest.max(stall);
    }

    fn find(&self, from: Instant, to: Instant, disturbance: Disturbance) {
        if let Some(shared) = &self.shared {
            shared.find_between(from, to, disturbance, to);
        }
    }

    /// Sets where disturbed seconds are found.
    pub fn finding(self, shared: Option<Arc<SharedSeconds>>) -> Meters {
        Meters { shared, ..self }
    }

    /// Takes back what the worker measured in a second that is set aside: what had kept it from its events
    /// before that, and what it used in it.
    pub fn set_aside(&mut self, before: Stalls, used: ExcludedTime) {
        self.stalls = before;
        let aside = &mut self.aside;
        aside.wall = aside.wall + used.wall;
        aside.cpu = aside.cpu + used.cpu;
        aside.waited = aside.waited + used.waited;
        aside.slept = aside.slept + used.slept;
    }

    /// The measured part goes on until `end`.
    pub fn extend_to(&mut self, end: Instant) {
        (self.window.measure_to, self.edges[1]) = (end, end);
    }

    /// The worker's statistics over the window, or from its start if the window never began.
    pub fn stats(&self, now: Instant) -> WorkerStats {
        let end = self.readings[1].unwrap_or(MeterReading {
            at: now,
            cpu: thread_cpu(),
            slept: self.slept,
            waited: thread_waited(),
        });
        let nothing = MeterReading {
            at: Instant::ZERO,
            cpu: Duration::ZERO,
            slept: Duration::ZERO,
            waited: Some(Duration::ZERO),
        };
        let start = self.readings[0].unwrap_or(nothing);
        WorkerStats {
            cpu: end.cpu - start.cpu - self.aside.cpu,
            wall: end.at.since(start.at) - self.aside.wall,
            slept: end.slept - start.slept - self.aside.slept,
            waited: end.waited.zip(start.waited).map(|(end, start)| end - start - self.aside.waited),
            stall: Some(self.stalls.longest),
            stall_waited: self.stalls.waited,
            stalled: self.stalls.stalled,
            stopped: self.stalls.stopped,
            held: self.stalls.held,
            crowded: self.stalls.crowded,
            disturbed: self.disturbed.clone(),
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
            meters.record_late_wake(at(from), at(to));
        }
        let stats = meters.stats(at(9500));
        // Of the first 150 ms are within, and of the last 10.
        assert_eq!((stats.stall, stats.stalled), (Some(Duration::from_ms(150)), Duration::from_ms(250)));
    }

    /// A thread that was neither waiting nor computing while it was away was stopped.
    #[test]
    fn a_stall_without_a_wait_is_a_stop() {
        let at = |ms| Instant::ZERO + Duration::from_ms(ms);
        let mut meters = Meters::new(Window { measure_from: at(0), measure_to: at(9000) });
        meters.heartbeat(at(1000));
        // This test's thread has had its processor, or waited for it, for far less than these seconds.
        meters.record_late_wake(at(1000), at(5000));
        meters.record_turn(at(6000), at(8000));
        let stats = meters.stats(at(9000));
        assert_eq!(stats.stalled, Duration::from_secs(6));
        assert!(stats.stopped > Duration::from_secs(5), "{stats:?}");
        let [first, second] = stats.disturbed.stretches()[..] else { panic!("{stats:?}") };
        assert_eq!((first.0, second.0), (at(1000), at(6000)));
    }

    /// Waits of a tenth that are short together delay nothing.
    #[test]
    fn tenths_are_held_by_more_than_moments() {
        let at = |ms| Instant::ZERO + Duration::from_ms(ms);
        let mut meters = Meters::new(Window { measure_from: at(1000), measure_to: at(9000) });
        let beat = |at_ms, waited_us| Beat { at: at(at_ms), waited: Some(Duration::from_us(waited_us)) };
        // Across the beginning of the window, short waits, 40 ms, and nothing to speak of.
        let beats =
            [beat(950, 0), beat(1050, 90_000), beat(1150, 90_900), beat(1250, 130_900), beat(1350, 131_000)];
        for pair in beats.windows(2) {
            meters.count_beat(pair[0], pair[1]);
        }
        let stats = meters.stats(at(1350));
        assert_eq!(stats.held, Some(Duration::from_ms(40)));
        assert_eq!(stats.disturbed.stretches(), [(at(1100), Duration::from_ms(200))]);
    }

    /// A stretch of work without a sleep is crowded if it was the worker's own: not if it slept again and
    /// again, waited for its processor, or was stopped.
    #[test]
    fn stretches_of_own_work_are_crowded() {
        let at = |ms| Instant::ZERO + Duration::from_ms(ms);
        let crowded = |slept_ms: u64, waited_ms: u64, cpu_ms: u64| {
            let mut meters = Meters::new(Window { measure_from: at(0), measure_to: at(9000) });
            meters.slept_from(at(0), at(50));
            meters.before_stretch =
                ThreadTime { cpu: Duration::from_ms(7), waited: Some(Duration::from_ms(3)) };
            meters.slept = meters.slept + Duration::from_ms(slept_ms);
            let waited = Some(Duration::from_ms(3 + waited_ms));
            meters.count_stretch(at(150), ThreadTime { cpu: Duration::from_ms(7 + cpu_ms), waited });
            meters.stalls.crowded.as_ns() / 1_000_000
        };
        assert_eq!([crowded(0, 0, 100), crowded(5, 3, 92), crowded(5, 0, 100)], [100, 92, 95]);
        assert_eq!([crowded(20, 0, 100), crowded(0, 20, 80), crowded(0, 0, 40)], [0, 0, 0]);
    }

    #[test]
    fn what_was_due_before_the_end_is_begun_after_it_for_a_while() {
        let at = |ms| Instant::ZERO + Duration::from_ms(ms);
        let window = Window { measure_from: at(0), measure_to: at(2000) };
        let phases = Phases { window, load_until: at(2000), drain_until: at(7000) };
        assert!(!phases.load_has_ended(at(1999), None));
        assert!(phases.load_has_ended(at(2000), None) && phases.load_has_ended(at(2000), Some(at(2000))));
        assert!(!phases.load_has_ended(at(2999), Some(at(1999))));
        assert!(phases.load_has_ended(at(3000), Some(at(1999))));
    }
}
