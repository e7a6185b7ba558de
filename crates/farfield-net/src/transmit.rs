//! Transmission: bits leave at once, at a constant rate, at one that changes with time, or when a recorded
//! trace lets them.
//!
//! First in, first out, and so without any event: when a packet's transmission starts and ends follows from
//! the one before it. At a constant rate the end is exact in fractions of a nanosecond, so that a saturated
//! link carries its rate and not a rounding of it; the instants returned are rounded down.

use crate::bit_rate::BitRate;
use crate::course::{Progress, RateCourse};
use crate::trace::{Cursor, Trace};
use farfield_base::Instant;
use std::sync::Arc;

/// The speed of a link.
#[derive(Debug, Clone, PartialEq)]
pub enum Speed {
    /// Every packet leaves as it comes.
    Unlimited,
    /// A number of bits a second.
    Rate(BitRate),
    /// A number of bits a second that changes with time.
    Course(Arc<RateCourse>),
    /// Delivery opportunities, as they were recorded.
    Trace(Arc<Trace>),
}

impl Speed {
    /// Bits a second in the long run, of a rate that changes its largest; `None` without a limit.
    pub fn mean_bits(&self) -> Option<f64> {
        match self {
            Speed::Unlimited => None,
            Speed::Rate(rate) => Some(rate.as_bits() as f64),
            Speed::Course(course) => Some(course.most_bits() as f64),
            Speed::Trace(trace) => Some(trace.mean_bits()),
        }
    }

    /// Bits a second on average from the start until `end`, of a trace in the long run; `None` without a
    /// limit.
    pub fn mean_bits_until(&self, end: Instant) -> Option<f64> {
        match self {
            Speed::Course(course) => Some(course.mean_bits(end)),
            Speed::Unlimited | Speed::Rate(_) | Speed::Trace(_) => self.mean_bits(),
        }
    }
}

/// One packet's time at the transmitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Passage {
    /// Instant at which its first bit leaves, and so when it no longer waits.
    pub start: Instant,
    /// Instant at which its last bit has left.
    pub end: Instant,
}

/// State of a link's transmitter.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Transmitter {
    Unlimited,
    /// Busy until `busy_until` and `owed / rate` nanoseconds (less than one) more.
    Rate {
        busy_until: Instant,
        owed: u64,
    },
    Course(Progress),
    Trace(Cursor),
}

impl Transmitter {
    pub fn new(speed: &Speed) -> Transmitter {
        match speed {
            Speed::Unlimited => Transmitter::Unlimited,
            Speed::Rate(_) => Transmitter::Rate { busy_until: Instant::ZERO, owed: 0 },
            Speed::Course(_) => Transmitter::Course(Progress::default()),
            Speed::Trace(_) => Transmitter::Trace(Cursor::default()),
        }
    }

    /// Instant at which the transmission of a packet would start that came at `ready` and is next in line.
    pub fn next_start(&self, speed: &Speed, ready: Instant) -> Instant {
        match (self, speed) {
            (Transmitter::Rate { busy_until, .. }, _) => ready.max(*busy_until),
            (Transmitter::Course(progress), _) => ready.max(progress.busy_until),
            (Transmitter::Trace(cursor), Speed::Trace(trace)) => cursor.next_start(trace, ready),
            _ => ready,
        }
    }

    /// Transmits `bytes` (below 2³¹) that came at `ready`, after all before.
    pub fn carry(&mut self, speed: &Speed, ready: Instant, bytes: u64) -> Passage {
        match (self, speed) {
            (Transmitter::Rate { busy_until, owed }, Speed::Rate(rate)) => {
                // Idle before `ready`: the fraction has run out. At `ready` itself it may not have.
                if ready > *busy_until {
                    (*busy_until, *owed) = (ready, 0);
                }
                let start = *busy_until;
                let work = bytes.saturating_mul(8_000_000_000).saturating_add(*owed);
                let took_ns = work / rate.as_bits();
                *owed = work - took_ns * rate.as_bits();
                *busy_until = Instant::from_ns(start.as_ns().saturating_add(took_ns));
                Passage { start, end: *busy_until }
            }
            (Transmitter::Course(progress), Speed::Course(rate)) => progress.carry(rate, ready, bytes),
            (Transmitter::Trace(cursor), Speed::Trace(trace)) => cursor.carry(trace, ready, bytes),
            _ => Passage { start: ready, end: ready },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The k-th departure from a saturated link is at ⌊bits sent so far / rate⌋, however odd the rate.
    #[test]
    fn a_saturated_link_carries_exactly_its_rate() {
        for bits in [56_000, 33_333, 1_500_001, 999_999_937, 1_000_000_000, 7_777_777_777] {
            let speed = Speed::Rate(BitRate::per_second(bits).unwrap());
            let mut transmitter = Transmitter::new(&speed);
            let mut sent_bits = 0u128;
            for n in 0..20_000u64 {
                let bytes = 40 + n * 7919 % 1461;
                sent_bits += u128::from(bytes) * 8;
                let end = transmitter.carry(&speed, Instant::ZERO, bytes).end;
                assert_eq!(u128::from(end.as_ns()), sent_bits * 1_000_000_000 / u128::from(bits));
            }
        }
    }

    #[test]
    fn an_idle_link_starts_at_once() {
        let speed = Speed::Rate("8Mbit".parse().unwrap());
        let mut transmitter = Transmitter::new(&speed);
        let at = Instant::from_ns;
        let check = |passage, start, end| assert_eq!(passage, Passage { start: at(start), end: at(end) });
        check(transmitter.carry(&speed, at(500), 1000), 500, 1_000_500);
        check(transmitter.carry(&speed, at(600), 1000), 1_000_500, 2_000_500);
        check(transmitter.carry(&speed, at(9_000_000), 1), 9_000_000, 9_001_000);
    }
}
