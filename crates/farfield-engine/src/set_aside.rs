//! Seconds of the measured part in which the machine was disturbed, which are set aside by choice; and the
//! load that goes on for as much longer.
//!
//! Workers watch themselves, and the collector the machine: each looks at a second once it is over, and what
//! it has found is the second's, whoever found it. What they look at is the machine's own: that a worker was
//! stopped, or was ready and found no processor, and what the host of a virtual machine took. No reply, no
//! time of a request and no number of either is looked at, and what a worker's own work delays is not
//! disturbed: a server that is slow, or too much load, leaves every second where it is. A server on this
//! machine may be what holds the workers' processors, or asks for those that the host takes: beside it, only
//! [`Disturbance::Stopped`] is found.
//!
//! A disturbance reaches a tenth of a second to either side: requests that were under way when it came, and
//! what it left behind, are the machine's as well.
//!
//! A worker that is [away](AWAY_MIN) is waited for no longer: the seconds that it has not looked at are
//! disturbed. So samples that wait until their second is decided are those of a few seconds.
//!
//! A second that is set aside makes the load last a second longer, as long as the end is not near: workers
//! must know it before they end. What is found later is set aside all the same, and that second is missing.

mod gate;
mod watcher;

use crate::worker_loop::AWAY_MIN;
use farfield_base::{Duration, Instant, Window};
use farfield_measure::set_aside::Disturbance;
pub(crate) use gate::Gate;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
pub(crate) use watcher::Watcher;

const SECOND: Duration = Duration::from_secs(1);
/// The load is not extended when its end is nearer than this: two heartbeats of a worker.
const NEAR_END: Duration = Duration::from_ms(200);
/// The reach of a disturbance to either side.
const REACH: Duration = Duration::from_ms(100);
/// Seconds that can be set aside at most: a year, at a byte each.
const SECONDS_MOST: u64 = 366 * 24 * 3600;

/// The record of disturbed seconds that all watchers share.
#[derive(Debug)]
pub(crate) struct SharedSeconds {
    from: Instant,
    asked: Duration,
    /// The server is on another machine, and cannot be what holds a processor.
    server_is_elsewhere: bool,
    /// Seconds by which the load may be longer.
    extra_most: u64,
    extra: AtomicU64,
    /// Disturbances found in each second, as bits.
    found: Vec<AtomicU8>,
    /// Number of seconds that each watcher has looked at.
    looked_at: Vec<AtomicU64>,
}

impl SharedSeconds {
    /// Seconds of a measured part that begins at `from`, of which so much is `asked` for, and which may last
    /// for `longest` with what is set aside.
    pub fn new(
        window: Window,
        longest: Duration,
        watchers: usize,
        server_is_elsewhere: bool,
    ) -> SharedSeconds {
        let asked = window.measure_to.since(window.measure_from);
        let extra_most = (longest - asked).as_ns() / SECOND.as_ns();
        let seconds = (asked.as_ns() / SECOND.as_ns() + 1 + extra_most).min(SECONDS_MOST);
        SharedSeconds {
            from: window.measure_from,
            asked,
            server_is_elsewhere,
            extra_most,
            extra: AtomicU64::new(0),
            found: (0..seconds).map(|_| AtomicU8::new(0)).collect(),
            looked_at: (0..watchers).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// The end of the load, as far as it is known.
    pub fn end(&self) -> Instant {
        let extra = self.extra.load(Ordering::Acquire).min(self.extra_most);
        self.from + self.asked + SECOND.times(extra)
    }

    /// The second of the measured part in which an instant lies; `None` before it.
    pub fn second(&self, at: Instant) -> Option<u64> {
        (at >= self.from).then(|| at.since(self.from).as_ns() / SECOND.as_ns())
    }

    /// The number of seconds that are over at `now`, and that nothing reaches that comes later.
    pub fn settled(&self, now: Instant) -> u64 {
        now.since(self.from + REACH).as_ns() / SECOND.as_ns()
    }

    /// The beginning of a second.
    pub fn begin_of(&self, second: u64) -> Instant {
        self.from + SECOND.times(second)
    }

    /// The end of a second.
    pub fn end_of(&self, second: u64) -> Instant {
        self.from + SECOND.times(second + 1)
    }

    /// Records at `now` that something was found in a second.
    pub fn find(&self, second: u64, disturbance: Disturbance, now: Instant) {
        if disturbance != Disturbance::Stopped && !self.server_is_elsewhere {
            return;
        }
        let Some(found) = self.found.get(second as usize) else { return };
        let is_first = found.fetch_or(disturbance.bit(), Ordering::AcqRel) == 0;
        let end = self.end();
        if is_first && self.begin_of(second) < end && now + NEAR_END < end {
            self.extra.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Records at `now` that something was found between two instants, in all seconds that it reaches.
    pub fn find_between(&self, from: Instant, to: Instant, disturbance: Disturbance, now: Instant) {
        let from = Instant::from_ns(from.as_ns().saturating_sub(REACH.as_ns()));
        let to = to + REACH;
        if to <= self.from {
            return;
        }
        let last = self.second(to).unwrap_or(0).min(self.found.len() as u64);
        (self.second(from).unwrap_or(0)..=last).for_each(|second| self.find(second, disturbance, now));
    }

    /// Disturbances found in a second so far, as bits.
    pub fn found(&self, second: u64) -> u8 {
        self.found.get(second as usize).map_or(0, |found| found.load(Ordering::Acquire))
    }

    /// Records that a watcher has looked at so many seconds.
    pub fn look_at(&self, watcher: usize, seconds: u64) {
        self.looked_at[watcher].store(seconds, Ordering::Release);
    }

    /// The number of seconds that are decided at `now`, of which those before `from` were so already: all
    /// watchers have looked at them, so that nothing more will be found, or one has been away since.
    pub fn decide(&self, from: u64, now: Instant) -> u64 {
        let looked_at = self.looked_at.iter().map(|seconds| seconds.load(Ordering::Acquire)).min();
        let looked_at = looked_at.unwrap_or(u64::MAX);
        let overdue = self.settled(now).saturating_sub(AWAY_MIN.as_ns() / SECOND.as_ns());
        (looked_at.max(from)..overdue).for_each(|second| self.find(second, Disturbance::Stopped, now));
        looked_at.max(overdue)
    }

    /// The number of seconds of the measured part, the last of which may be shorter.
    fn seconds(&self) -> u64 {
        self.end().since(self.from).as_ns().div_ceil(SECOND.as_ns())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    fn three_seconds(longest_s: u64) -> SharedSeconds {
        let window = Window { measure_from: at(1_000), measure_to: at(4_000) };
        SharedSeconds::new(window, Duration::from_secs(longest_s), 2, true)
    }

    #[test]
    fn a_disturbed_second_makes_the_load_longer_once() {
        let shared = three_seconds(6);
        shared.find(0, Disturbance::Held, at(2_000));
        shared.find(0, Disturbance::Stolen, at(2_000));
        assert_eq!((shared.end(), shared.seconds()), (at(5_000), 4));
        assert_eq!(shared.found(0), Disturbance::Held.bit() | Disturbance::Stolen.bit());
        // Two seconds at once, the second of which is one of the extension.
        shared.find_between(at(3_900), at(4_100), Disturbance::Stopped, at(4_100));
        assert_eq!(shared.end(), at(7_000));
        // No more than is allowed.
        shared.find(4, Disturbance::Held, at(6_000));
        assert_eq!((shared.end(), shared.found(4) != 0), (at(7_000), true));
    }

    #[test]
    fn what_is_found_near_the_end_or_beyond_it_makes_nothing_longer() {
        let shared = three_seconds(60);
        shared.find(2, Disturbance::Held, at(3_850));
        assert_eq!((shared.end(), shared.found(2) != 0), (at(4_000), true));
        shared.find(3, Disturbance::Held, at(3_000));
        shared.find_between(at(10), at(890), Disturbance::Held, at(890));
        shared.find(1_000_000, Disturbance::Held, at(3_000));
        assert_eq!((shared.end(), shared.found(0)), (at(4_000), 0));
    }

    /// Seconds are found by where a worker was away, however many at once, and by what is near them.
    #[test]
    fn a_disturbance_is_of_all_seconds_that_it_reaches() {
        let seconds = |from_ms, to_ms| {
            let shared = three_seconds(6);
            shared.find_between(at(from_ms), at(to_ms), Disturbance::Stopped, at(to_ms));
            (0..6).filter(|second| shared.found(*second) != 0).collect::<Vec<u64>>()
        };
        assert_eq!(seconds(1_500, 1_800), [0]);
        assert_eq!(seconds(2_050, 2_300), [0, 1], "what was under way when it came");
        assert_eq!(seconds(1_500, 1_950), [0, 1], "what it left behind");
        assert_eq!(seconds(1_500, 3_500), [0, 1, 2], "a worker that was away for long");
        assert_eq!(seconds(500, 950), [0]);
    }

    /// The second watcher never looks: the first second is decided, as disturbed, three seconds later.
    #[test]
    fn a_watcher_that_is_away_is_not_waited_for() {
        let shared = three_seconds(6);
        shared.look_at(0, 4);
        assert_eq!((shared.decide(0, at(5_099)), shared.found(0)), (0, 0));
        assert_eq!(shared.decide(0, at(5_100)), 1);
        assert_eq!([0, 1].map(|second| shared.found(second)), [Disturbance::Stopped.bit(), 0]);
        assert_eq!(shared.decide(1, at(6_500)), 2);
        assert_ne!(shared.found(1), 0);
    }

    /// A server on this machine may be what holds the processor, or asks for it.
    #[test]
    fn beside_a_server_only_stops_are_found() {
        let window = Window { measure_from: at(1_000), measure_to: at(4_000) };
        let shared = SharedSeconds::new(window, Duration::from_secs(6), 2, false);
        shared.find_between(at(1_500), at(2_500), Disturbance::Held, at(2_500));
        assert_eq!((shared.found(0), shared.found(1), shared.end()), (0, 0, at(4_000)));
        shared.find_between(at(1_500), at(1_700), Disturbance::Stopped, at(2_500));
        assert_ne!(shared.found(0), 0);
        shared.find(1, Disturbance::Stolen, at(2_500));
        assert_eq!(shared.found(1), 0);
    }

    #[test]
    fn a_second_is_decided_once_all_have_looked_at_it() {
        let shared = three_seconds(6);
        shared.look_at(0, 3);
        assert_eq!(shared.decide(0, at(4_100)), 0);
        shared.look_at(1, 2);
        assert_eq!(shared.decide(0, at(4_100)), 2);
        // A disturbance that begins just after a second still reaches it.
        assert_eq!([900, 2_000, 2_099, 2_100, 4_100].map(|ms| shared.settled(at(ms))), [0, 0, 0, 1, 3]);
    }
}
