//! A count that goes up and down, and its time average over the measured window.
//!
//! This is the `L` of Little's law, kept apart from the samples that give `λ` and `W`, so that the two can
//! disagree.

use farfield_base::{Instant, Window};

/// A count over time.
#[derive(Debug, Clone)]
pub struct Gauge {
    window: Window,
    count: u64,
    since: Instant,
    /// Integral of the count over the window so far, in count-nanoseconds.
    area: u128,
}

impl Gauge {
    /// Nothing yet.
    pub fn new(window: Window) -> Gauge {
        Gauge { window, count: 0, since: Instant::ZERO, area: 0 }
    }

    /// The window goes on until `end`, which it has not come to.
    pub fn extend_to(&mut self, end: Instant) {
        self.window.measure_to = end;
    }

    /// The count now.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Counts one more, from `due` on, which is no later than `now`.
    pub fn enter(&mut self, now: Instant, due: Instant) {
        self.settle(now);
        self.area += u128::from(self.window.overlap(due, self.since).as_ns());
        self.count += 1;
    }

    /// Counts one less from `now` on, which may be earlier than what was counted last: replies are handed on
    /// a moment after they were read, and wakes come in between.
    pub fn leave(&mut self, now: Instant) {
        self.settle(now);
        self.area -= u128::from(self.window.overlap(now, self.since).as_ns());
        self.count -= 1;
    }

    /// The integral over the window up to `now`, in count-nanoseconds.
    pub fn area(&mut self, now: Instant) -> u128 {
        self.settle(now);
        self.area
    }

    fn settle(&mut self, now: Instant) {
        let lasted = self.window.overlap(self.since, now);
        self.area += u128::from(lasted.as_ns()) * u128::from(self.count);
        self.since = self.since.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reply that is read at 120 and handed on after a wake at 150 counts until 120; load that is begun at
    /// 130 in between counts from 110, when it was due.
    #[test]
    fn what_is_handed_on_late_counts_from_its_own_instant() {
        let at = Instant::from_ns;
        let mut gauge = Gauge::new(Window { measure_from: at(100), measure_to: at(200) });
        gauge.enter(at(100), at(100));
        gauge.enter(at(150), at(150));
        gauge.leave(at(120));
        gauge.enter(at(130), at(110));
        gauge.leave(at(170));
        gauge.leave(at(180));
        assert_eq!(gauge.area(at(500)), 20 + 20 + 70);
    }

    #[test]
    fn integrates_inside_the_window_only() {
        let at = Instant::from_ns;
        let mut gauge = Gauge::new(Window { measure_from: at(100), measure_to: at(200) });
        gauge.enter(at(0), at(0));
        gauge.enter(at(155), at(150));
        gauge.leave(at(180));
        // One from 100 to 200, another from 150 to 180; what comes after 200 does not count.
        assert_eq!(gauge.area(at(500)), 100 + 30);
    }
}
