//! Instants at which bytes arrived, by the kernel's timestamps.
//!
//! A worker reads a reply some time after its packet has arrived: the kernel wakes it, and other replies may
//! be read first. The kernel notes when each packet arrives; that is the instant of the reply, and the time
//! until it is read is not counted as the server's. The timestamps are of the wall clock, which somebody may
//! set during a run. So the offset to the run's clock is read again at each heartbeat, and a timestamp that
//! cannot be true, because it lies after the reading or before a poll that would have reported it, is
//! replaced by the instant of the reading.
//!
//! Bytes that one call reads have one timestamp, that of their last packet.

use farfield_base::Instant;
use farfield_os::clock::Clock;

/// Translates timestamps of arrivals into instants of the run.
#[derive(Debug)]
pub(crate) struct Arrivals {
    clock: Clock,
    /// The wall clock at the start of the run.
    start_unix_ns: u64,
    /// The instant before which all arrivals have been reported by an earlier poll.
    earliest: Instant,
    /// The instant at which the last poll began, and below, true if it reported all that was there.
    polled: Instant,
    reported_all: bool,
}

impl Arrivals {
    pub fn new(clock: Clock) -> Arrivals {
        let start_unix_ns = clock.start_unix_ns();
        Arrivals { clock, start_unix_ns, earliest: Instant::ZERO, polled: Instant::ZERO, reported_all: false }
    }

    /// Reads the offset of the wall clock again.
    pub fn heartbeat(&mut self) {
        self.start_unix_ns = self.clock.start_unix_ns();
    }

    /// A poll begins.
    pub fn begin_poll(&mut self, now: Instant) {
        if self.reported_all {
            self.earliest = self.polled;
        }
        self.polled = now;
    }

    /// The poll has ended; `all`: no event is left that it did not report.
    pub fn end_poll(&mut self, all: bool) {
        self.reported_all = all;
    }

    /// The instant at which bytes arrived that were read by `read`, with their timestamp if they have one.
    pub fn instant(&self, stamp_unix_ns: Option<u64>, read: Instant) -> Instant {
        let arrived = stamp_unix_ns.map(|ns| Instant::from_ns(ns.saturating_sub(self.start_unix_ns)));
        arrived.filter(|arrived| (self.earliest..=read).contains(arrived)).unwrap_or(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::Duration;

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    #[test]
    fn a_timestamp_that_cannot_be_true_is_not_used() {
        let mut arrivals = Arrivals::new(Clock::starting_in(Duration::ZERO));
        arrivals.start_unix_ns = 1_000_000;
        let stamp = |ns: u64| Some(1_000_000 + ns);
        // Before the second poll anything may have waited.
        arrivals.begin_poll(at(100));
        arrivals.end_poll(true);
        assert_eq!(arrivals.instant(stamp(7), at(120)), at(7));
        assert_eq!(arrivals.instant(None, at(120)), at(120));
        arrivals.begin_poll(at(200));
        arrivals.end_poll(false);
        assert_eq!(arrivals.instant(stamp(100), at(220)), at(100));
        assert_eq!(arrivals.instant(stamp(99), at(220)), at(220), "the first poll would have reported it");
        assert_eq!(arrivals.instant(stamp(221), at(220)), at(220), "it is in the future");
        assert_eq!(arrivals.instant(Some(5), at(220)), at(220), "the wall clock was set back");
        // The second poll left events over.
        arrivals.begin_poll(at(300));
        arrivals.end_poll(true);
        assert_eq!(arrivals.instant(stamp(150), at(320)), at(150));
        arrivals.begin_poll(at(400));
        assert_eq!(arrivals.instant(stamp(299), at(420)), at(420));
    }

    /// The offset is that of the machine's clocks: a timestamp of now is an instant of now.
    #[test]
    fn the_wall_clock_is_related_to_the_run() {
        let clock = Clock::starting_in(Duration::ZERO);
        let mut arrivals = Arrivals::new(clock);
        arrivals.heartbeat();
        let wall_ns = || farfield_os::clock::Readings::now().wall_ns.unsigned_abs();
        let before = clock.now();
        let stamp = wall_ns();
        let after = clock.now();
        let arrived = arrivals.instant(Some(stamp), clock.now());
        let error = Duration::from_us(1);
        assert!(before <= arrived + error && arrived <= after + error, "{before:?} {arrived:?} {after:?}");
    }
}
