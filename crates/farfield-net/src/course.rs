//! Quantities that change with time as it was written: constant for a while, or along a straight line.
//!
//! A course is a function of the link's time and known from the start, so that a departure far ahead, behind
//! a long queue, is as exact as the next one, and no event is needed where a quantity changes. Delays are
//! whole nanoseconds, rounded down. Of rates the integral is kept, in whole numbers: what a link carries
//! while its rate rises or falls is exact to the bit, and departures are rounded down as those of a constant
//! rate are.

use crate::bit_rate::BitRate;
use crate::transmit::Passage;
use farfield_base::{Duration, Instant};

/// A quantity as a function of time, in whole numbers: pieces one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Course {
    /// In order, the first from zero on, the last without end.
    pieces: Vec<Piece>,
    /// The begin of the last change.
    changed_at_ns: Option<u64>,
}

/// A part of a course: `[from, until)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    from_ns: u64,
    until_ns: u64,
    first: u64,
    /// The value that it comes to at its end.
    last: u64,
}

/// Reasons for which a change has no place in a course.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CourseError {
    /// Two changes at once.
    #[error("it changes at {0} already; let one of the two be at another instant")]
    Twice(Duration),
    /// A change within the course of another.
    #[error(
        "the change before has not ended at {0}: its `over` or its `for` lasts longer; shorten that, or begin later"
    )]
    WithinAnother(Duration),
    /// A ramp that nobody sees the end of.
    #[error("a ramp takes {RAMP_MOST} at most; write a shorter `over`")]
    TooLong,
    /// More than a link keeps.
    #[error("it changes more than {PIECES_MOST} times; repeat fewer times")]
    TooMany,
    /// A rate that no ramp is exact for.
    #[error("a ramp is possible up to {RAMP_RATE_MOST} bit/s; write a lower rate, or leave out `over`")]
    TooFast,
}

/// Changes of a quantity of a link at most.
pub const PIECES_MOST: usize = 200_000;
/// The longest piece of a ramp; a longer one is several. With it and the largest rate of a ramp, products
/// stay below 2¹²⁷.
const RAMP_NS_MOST: u64 = 3_600_000_000_000;
/// The longest ramp: a year.
pub const RAMP_MOST: Duration = Duration::from_secs(366 * 24 * 3600);
/// The largest rate of a ramp, in bits a second.
pub const RAMP_RATE_MOST: u64 = 1 << 40;

impl Course {
    /// Always `value`.
    pub fn constant(value: u64) -> Course {
        let always = Piece { from_ns: 0, until_ns: u64::MAX, first: value, last: value };
        Course { pieces: vec![always], changed_at_ns: None }
    }

    /// Goes to `value` from `at` on, after all changes so far: at once, or along a straight line that takes
    /// `over`.
    ///
    /// # Errors
    /// If the course changes at that instant already or is still changing, has too many changes, or takes
    /// longer than [`RAMP_MOST`].
    pub fn change(&mut self, at: Instant, over: Duration, value: u64) -> Result<(), CourseError> {
        let at_ns = at.as_ns();
        let since_start = at.since(Instant::ZERO);
        let Some(last) = self.pieces.last_mut().filter(|_| self.changed_at_ns != Some(at_ns)) else {
            return Err(CourseError::Twice(since_start));
        };
        if last.from_ns > at_ns {
            return Err(CourseError::WithinAnother(since_start));
        }
        if over > RAMP_MOST {
            return Err(CourseError::TooLong);
        }
        self.changed_at_ns = Some(at_ns);
        let before = last.first;
        // The run begins here, or a ramp has ended.
        if last.from_ns == at_ns {
            self.pieces.pop();
        } else {
            last.until_ns = at_ns;
        }
        let parts = over.as_ns().div_ceil(RAMP_NS_MOST);
        let along = |nth: u64, whole: u64, [first, last]: [u64; 2]| {
            let sum = u128::from(first) * u128::from(whole - nth) + u128::from(last) * u128::from(nth);
            (sum / u128::from(whole)) as u64
        };
        for nth in 0..parts {
            let [from_ns, until_ns] =
                [nth, nth + 1].map(|nth| at_ns.saturating_add(along(nth, parts, [0, over.as_ns()])));
            let [first, last] = [nth, nth + 1].map(|nth| along(nth, parts, [before, value]));
            self.pieces.push(Piece { from_ns, until_ns, first, last });
        }
        let from_ns = at_ns.saturating_add(over.as_ns());
        self.pieces.push(Piece { from_ns, until_ns: u64::MAX, first: value, last: value });
        if self.pieces.len() > PIECES_MOST { Err(CourseError::TooMany) } else { Ok(()) }
    }

    /// The value from the last change on.
    pub fn end(&self) -> u64 {
        self.pieces.last().map_or(0, |piece| piece.last)
    }

    /// The value at an instant: that of a step at the instant of the step.
    pub fn at(&self, instant: Instant) -> u64 {
        let ns = instant.as_ns();
        let next = self.pieces.partition_point(|piece| piece.from_ns <= ns);
        self.pieces[next.saturating_sub(1)].at(ns)
    }

    /// The least value, and the largest.
    pub fn range(&self) -> (u64, u64) {
        let ends = || self.pieces.iter().flat_map(|piece| [piece.first, piece.last]);
        (ends().min().unwrap_or(0), ends().max().unwrap_or(0))
    }
}

impl Piece {
    fn at(&self, ns: u64) -> u64 {
        if self.first == self.last {
            return self.first;
        }
        let (length, passed) = (u128::from(self.until_ns - self.from_ns), u128::from(ns - self.from_ns));
        let sum = u128::from(self.first) * (length - passed) + u128::from(self.last) * passed;
        (sum / length) as u64
    }

    /// Twice the work that is done within `passed_ns` from its begin on: a unit of work is a bit a second for
    /// a nanosecond. Rounded down.
    fn work(&self, passed_ns: u64) -> u128 {
        let passed = i128::from(passed_ns);
        if self.first == self.last {
            return (2 * i128::from(self.first) * passed) as u128;
        }
        (self.work_times_length(passed_ns) / i128::from(self.until_ns - self.from_ns)) as u128
    }

    /// Twice a ramp's work within `passed_ns`, times the ramp's length in nanoseconds: a whole number.
    fn work_times_length(&self, passed_ns: u64) -> i128 {
        let [first, last, passed] = [self.first, self.last, passed_ns].map(i128::from);
        let length = i128::from(self.until_ns - self.from_ns);
        2 * first * passed * length + (last - first) * passed * passed
    }

    /// The most nanoseconds within which no more than `work` (twice) is done.
    fn time_of(&self, work: u128) -> u64 {
        if self.first == self.last {
            let ns = work / (2 * u128::from(self.first.max(1)));
            return u64::try_from(ns).unwrap_or(u64::MAX);
        }
        let length = self.until_ns - self.from_ns;
        let Some(most) = i128::try_from(work).ok().and_then(|work| work.checked_mul(length.into())) else {
            return length;
        };
        let does = |ns: u64| self.work_times_length(ns) <= most;
        // The root in floating point, and the whole number that it stands for.
        let (first, slope) = (self.first as f64, (self.last as f64 - self.first as f64) / length as f64);
        let root = work as f64 / (first + (first * first + slope * work as f64).max(0.0).sqrt());
        let near = (root as u64).min(length);
        let (mut low, mut high) = (near.saturating_sub(2), (near + 2).min(length));
        if !does(low) {
            low = 0;
        }
        if does(high) {
            high = length;
        }
        if does(high) {
            return high;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            *(if does(middle) { &mut low } else { &mut high }) = middle;
        }
        low
    }
}

/// A rate that changes with time, in bits a second.
#[derive(Debug, Clone, PartialEq)]
pub struct RateCourse {
    course: Course,
    /// Twice the work that was done before each piece began.
    work: Vec<u128>,
}

impl RateCourse {
    /// The rate that follows `course`, each of whose values is a rate.
    ///
    /// # Errors
    /// If a ramp is of rates beyond [`RAMP_RATE_MOST`].
    pub fn new(course: Course) -> Result<RateCourse, CourseError> {
        let mut work = Vec::with_capacity(course.pieces.len());
        let mut sum = 0u128;
        for piece in &course.pieces {
            work.push(sum);
            let is_ramp = piece.first != piece.last;
            if is_ramp && piece.first.max(piece.last) > RAMP_RATE_MOST {
                return Err(CourseError::TooFast);
            }
            if piece.until_ns < u64::MAX {
                sum += u128::from(piece.first + piece.last) * u128::from(piece.until_ns - piece.from_ns);
            }
        }
        Ok(RateCourse { course, work })
    }

    /// The rate at an instant.
    pub fn at(&self, instant: Instant) -> BitRate {
        BitRate::per_second(self.course.at(instant).max(1)).expect("not 0")
    }

    /// The largest rate of all, in bits a second.
    pub fn most_bits(&self) -> u64 {
        self.course.range().1
    }

    /// The mean rate from the start until `end`, in bits a second; the first rate if that is the start.
    pub fn mean_bits(&self, end: Instant) -> f64 {
        let ns = end.as_ns();
        if ns == 0 {
            return self.at(end).as_bits() as f64;
        }
        let place = self.course.pieces.partition_point(|piece| piece.from_ns <= ns).saturating_sub(1);
        let piece = &self.course.pieces[place];
        let twice_the_work = self.work[place] + piece.work(ns - piece.from_ns);
        twice_the_work as f64 / (2.0 * ns as f64)
    }
}

/// A transmitter whose rate changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub busy_until: Instant,
    /// Twice the work that the link could have done by the end of its last packet, with the fraction of a
    /// nanosecond that `busy_until` leaves out.
    done: u128,
    /// The piece of the course in which that is.
    piece: usize,
}

impl Progress {
    /// Transmits `bytes` (below 2³¹) that came at `ready`, after all before.
    pub fn carry(&mut self, rate: &RateCourse, ready: Instant, bytes: u64) -> Passage {
        let pieces = &rate.course.pieces;
        if ready > self.busy_until {
            while pieces[self.piece].until_ns <= ready.as_ns() && self.piece + 1 < pieces.len() {
                self.piece += 1;
            }
            let piece = &pieces[self.piece];
            (self.busy_until, self.done) =
                (ready, rate.work[self.piece] + piece.work(ready.as_ns() - piece.from_ns));
        }
        let start = self.busy_until;
        self.done += u128::from(bytes) * 16_000_000_000;
        while rate.work.get(self.piece + 1).is_some_and(|work| *work <= self.done) {
            self.piece += 1;
        }
        let piece = &pieces[self.piece];
        let passed = piece.time_of(self.done - rate.work[self.piece]);
        self.busy_until = Instant::from_ns(piece.from_ns.saturating_add(passed)).max(start);
        Passage { start, end: self.busy_until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn a_step_is_at_its_instant_and_a_ramp_a_straight_line() {
        let mut course = Course::constant(40);
        course.change(at_ms(10), Duration::ZERO, 100).unwrap();
        course.change(at_ms(20), Duration::from_ms(10), 200).unwrap();
        let values = [0, 9, 10, 19, 20, 25, 29, 30, 1_000_000].map(|ms| course.at(at_ms(ms)));
        assert_eq!(values, [40, 40, 100, 100, 100, 150, 190, 200, 200]);
        assert_eq!(course.at(Instant::from_ns(9_999_999)), 40);
        assert_eq!((course.range(), course.end()), ((40, 200), 200));
    }

    #[test]
    fn changes_have_an_order() {
        let mut course = Course::constant(1);
        course.change(at_ms(10), Duration::from_ms(10), 5).unwrap();
        let within = course.clone().change(at_ms(15), Duration::ZERO, 7);
        assert_eq!(within, Err(CourseError::WithinAnother(Duration::from_ms(15))));
        let too_long = course.clone().change(at_ms(40), Duration::MAX, 7);
        assert_eq!(too_long, Err(CourseError::TooLong));
        course.change(at_ms(20), Duration::from_ms(5), 7).unwrap();
        assert_eq!(course.at(at_ms(20)), 5, "a ramp may begin where another ends");
        assert_eq!(course.at(at_ms(25)), 7);
        course.change(at_ms(30), Duration::ZERO, 9).unwrap();
        let twice = course.change(at_ms(30), Duration::ZERO, 8);
        assert_eq!(twice, Err(CourseError::Twice(Duration::from_ms(30))));
        // At the start as anywhere else, and where the first of the two changed nothing.
        let mut course = Course::constant(1);
        course.change(Instant::ZERO, Duration::ZERO, 1).unwrap();
        let twice = course.change(Instant::ZERO, Duration::ZERO, 8);
        assert_eq!(twice, Err(CourseError::Twice(Duration::ZERO)));
    }

    /// A ramp of five hours is five of an hour, and as straight.
    #[test]
    fn a_long_ramp_is_a_straight_line() {
        let mut course = Course::constant(1_000_000);
        let hours = |hours: u64| Duration::from_secs(3600 * hours);
        course.change(Instant::ZERO + hours(1), hours(5), 6_000_000).unwrap();
        let rates = [0, 1, 2, 4, 6, 7].map(|after| course.at(Instant::ZERO + hours(after)));
        assert_eq!(rates, [1_000_000, 1_000_000, 2_000_000, 4_000_000, 6_000_000, 6_000_000]);
    }

    /// The instant at which `bits` have left since `from`, by bisection over the integral in floating point.
    fn left_at_ns(course: &Course, from_ns: u64, bits: f64) -> f64 {
        let carried = |until: f64| -> f64 {
            let piece = |piece: &Piece| {
                let (from, to) = (piece.from_ns.max(from_ns) as f64, (piece.until_ns as f64).min(until));
                if to <= from {
                    return 0.0;
                }
                let slope =
                    (piece.last as f64 - piece.first as f64) / (piece.until_ns - piece.from_ns) as f64;
                let rate = |ns: f64| piece.first as f64 + slope * (ns - piece.from_ns as f64);
                (rate(from) + rate(to)) / 2.0 * (to - from) / 1e9
            };
            course.pieces.iter().map(piece).sum()
        };
        let (mut low, mut high) = (from_ns as f64, from_ns as f64 + 1e13);
        for _ in 0..90 {
            let middle = (low + high) / 2.0;
            *(if carried(middle) < bits { &mut low } else { &mut high }) = middle;
        }
        high
    }

    proptest! {
        /// A saturated link carries the integral of its rate, whichever packets it is made up of.
        #[test]
        fn a_saturated_link_carries_the_integral(
            first in 1_000u64..2_000_000_000,
            changes in prop::collection::vec((1u64..400, 0u64..400, 1_000u64..2_000_000_000), 0..5),
            packets in prop::collection::vec(40u64..1500, 1..60),
        ) {
            let mut course = Course::constant(first);
            let mut at = 0;
            for (gap_ms, over_ms, rate) in changes {
                at += gap_ms;
                course.change(at_ms(at), Duration::from_ms(over_ms), rate).unwrap();
                at += over_ms;
            }
            let rate = RateCourse::new(course.clone()).unwrap();
            let (mut progress, mut bits, mut before) = (Progress::default(), 0.0, Instant::ZERO);
            for bytes in packets {
                let Passage { start, end } = progress.carry(&rate, Instant::ZERO, bytes);
                bits += bytes as f64 * 8.0;
                prop_assert!(start == before && end >= start);
                before = end;
                let exact = left_at_ns(&course, 0, bits);
                let off = exact - end.as_ns() as f64;
                prop_assert!((-1e-3 * exact.sqrt() - 0.01..1.01 + 1e-3 * exact.sqrt()).contains(&off), "{} and {exact}", end.as_ns());
            }
        }
    }

    /// From 1 to 9 Mbit/s within 8 s: after t seconds t + t²/2 Mbit have left. 4 Mbit take 2 s, and all 40
    /// Mbit 8 s, in whatever pieces they come.
    #[test]
    fn a_ramp_is_exact() {
        let mut course = Course::constant(1_000_000);
        course.change(Instant::ZERO, Duration::from_secs(8), 9_000_000).unwrap();
        let rate = RateCourse::new(course).unwrap();
        let mut progress = Progress::default();
        for _ in 0..400 {
            progress.carry(&rate, Instant::ZERO, 1250);
        }
        assert_eq!(progress.busy_until, at_ms(2_000));
        for _ in 0..36_000 {
            progress.carry(&rate, Instant::ZERO, 125);
        }
        assert_eq!(progress.busy_until, at_ms(8_000));
        assert_eq!(progress.carry(&rate, Instant::ZERO, 1125).end, at_ms(8_001));
    }

    #[test]
    fn a_packet_that_is_under_way_feels_the_change() {
        let mut course = Course::constant(1_000_000);
        course.change(at_ms(4), Duration::ZERO, 500_000).unwrap();
        let rate = RateCourse::new(course).unwrap();
        let mut progress = Progress::default();
        // 1,000 B: half of them in the first 4 ms, the other half at half the rate.
        assert_eq!(progress.carry(&rate, Instant::ZERO, 1000).end, at_ms(12));
        assert_eq!(progress.carry(&rate, at_ms(100), 1000), Passage { start: at_ms(100), end: at_ms(116) });
    }
}
