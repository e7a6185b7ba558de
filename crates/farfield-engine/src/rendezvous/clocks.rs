//! The distance of a part's monotonic clock from the gatherer's, by ping-pong.
//!
//! The gatherer reads its clock, asks, and reads it again when the answer is there, which has the part's
//! clock: that was read between the two. Taken as read half-way, it is wrong by half of the round trip at
//! most (Cristian, "Probabilistic clock synchronization", 1989). The ping with the least error counts. Clocks
//! drift apart: an older measurement is worse by [`DRIFT`] of its age. Wall clocks are left out of it: they
//! can be set at any time, also between a measurement and the start.

use farfield_measure::parts::PartClock;
use std::collections::VecDeque;

/// Rate at which two clocks that are kept by crystals may drift apart: 100 millionths.
const DRIFT: u64 = 10_000;
/// Measurements that are kept.
const KEPT: usize = 32;

/// Measurements of one part's clock.
#[derive(Debug, Default)]
pub(crate) struct Measurements {
    kept: VecDeque<Measurement>,
}

#[derive(Debug, Clone, Copy)]
struct Measurement {
    /// When, by the gatherer's clock.
    at_ns: i64,
    offset_ns: i64,
    error_ns: u64,
}

impl Measurement {
    /// The error at a later time.
    fn error_at(&self, now_ns: i64) -> u64 {
        self.error_ns + now_ns.abs_diff(self.at_ns) / DRIFT
    }
}

impl Measurements {
    /// Takes an answer: asked and answered by the gatherer's clock, and the part's clock in between.
    pub(crate) fn add(&mut self, asked_ns: i64, answered_ns: i64, part_ns: i64) {
        let round_trip = answered_ns.saturating_sub(asked_ns);
        if round_trip < 0 {
            return;
        }
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        let half = round_trip / 2;
        let offset_ns = part_ns.saturating_sub(asked_ns).saturating_sub(half);
        self.kept.push_back(Measurement {
            at_ns: answered_ns,
            offset_ns,
            error_ns: (round_trip - half).unsigned_abs(),
        });
    }

    /// The best of all, by its error at `now_ns`.
    pub(crate) fn best(&self, now_ns: i64) -> Option<PartClock> {
        let best = self.kept.iter().min_by_key(|measured| measured.error_at(now_ns))?;
        Some(PartClock { offset_ns: best.offset_ns, error_ns: best.error_at(now_ns) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR: i64 = 3_600_000_000_000;

    #[test]
    fn the_shortest_round_trip_counts_until_it_is_old() {
        let mut clocks = Measurements::default();
        assert_eq!(clocks.best(0), None);
        clocks.add(1_000, 2_000, 1_500 + HOUR);
        clocks.add(10_000, 10_100, 10_050 + HOUR);
        clocks.add(20_000, 29_000, 24_500 + HOUR);
        assert_eq!(clocks.best(29_000), Some(PartClock { offset_ns: HOUR, error_ns: 51 }));
        // A clock that drifted by 50 millionths in ten seconds.
        let (late, drift) = (10_000_000_000, 500_000);
        clocks.add(late, late + 1_000, late + 500 + HOUR + drift);
        assert_eq!(clocks.best(late + 1_000), Some(PartClock { offset_ns: HOUR + drift, error_ns: 500 }));
        clocks.add(late, late - 1, 7);
        assert_eq!(clocks.best(late + 1_000).map(|best| best.offset_ns), Some(HOUR + drift));
    }

    proptest! {
        /// The way there and the way back are of any length, and the clock is off by anything.
        #[test]
        fn no_measurement_is_farther_off_than_it_says(
            offset in -HOUR..HOUR,
            ways in prop::collection::vec((0..5_000_000_i64, 0..5_000_000_i64), 1..50),
        ) {
            let (mut clocks, mut now) = (Measurements::default(), HOUR);
            for (there, back) in ways {
                clocks.add(now, now + there + back, now + there + offset);
                now += there + back + 1_000;
            }
            let best = clocks.best(now).expect("one measurement");
            prop_assert!(best.offset_ns.abs_diff(offset) <= best.error_ns, "{best:?} of {offset}");
        }
    }
}
