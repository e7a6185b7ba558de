//! Sequence numbers, which wrap (RFC 9293, section 3.4).

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A TCP sequence number: a place on a circle of 2^32.
///
/// `<` and its kin compare as the RFC does, modulo 2^32, so that `snd_una < seg_ack && seg_ack <= snd_nxt`
/// reads as it is written there. That is an order only among numbers less than 2^31 apart, as the numbers of
/// one window are; two that are exactly 2^31 apart do not compare, and there is deliberately no `Ord` to sort
/// with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct SeqNumber(pub u32);

/// A place in one direction of a connection, which does not wrap: the SYN is at 0, the first byte of data at
/// 1. Negative for a number that lies before the connection (an old duplicate).
pub type Position = i64;

impl SeqNumber {
    /// Steps forward from `earlier` to this number, 0 to 2^32 - 1.
    pub const fn since(self, earlier: SeqNumber) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }

    /// The signed way from `other` to this number: negative if this one comes before.
    pub const fn offset_from(self, other: SeqNumber) -> i32 {
        self.since(other) as i32
    }

    /// True if this number is one of the `length` that begin at `start`.
    pub const fn is_within(self, start: SeqNumber, length: u32) -> bool {
        self.since(start) < length
    }

    /// The number of `position` in a direction whose SYN has this number.
    pub const fn at(self, position: Position) -> SeqNumber {
        SeqNumber(self.0.wrapping_add(position as u32)) // `as` keeps the low 32 bits: modulo 2³²
    }

    /// The position of this number in a direction whose SYN has number `origin`: the one of its possible
    /// places that is nearest to `near`, at most 2³¹ away.
    pub const fn position(self, origin: SeqNumber, near: Position) -> Position {
        near + self.0.wrapping_sub(origin.at(near).0) as i32 as i64
    }

    /// The later of two numbers of one window.
    pub fn later(self, other: SeqNumber) -> SeqNumber {
        if self < other { other } else { self }
    }

    /// The earlier of two numbers of one window.
    pub fn earlier(self, other: SeqNumber) -> SeqNumber {
        if other < self { other } else { self }
    }
}

impl PartialOrd for SeqNumber {
    fn partial_cmp(&self, other: &SeqNumber) -> Option<Ordering> {
        match self.offset_from(*other) {
            i32::MIN => None,
            offset => Some(offset.cmp(&0)),
        }
    }
}

impl Add<u32> for SeqNumber {
    type Output = SeqNumber;
    fn add(self, steps: u32) -> SeqNumber {
        SeqNumber(self.0.wrapping_add(steps))
    }
}

impl AddAssign<u32> for SeqNumber {
    fn add_assign(&mut self, steps: u32) {
        *self = *self + steps;
    }
}

impl Sub<u32> for SeqNumber {
    type Output = SeqNumber;
    fn sub(self, steps: u32) -> SeqNumber {
        SeqNumber(self.0.wrapping_sub(steps))
    }
}

impl fmt::Display for SeqNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_number_after_the_last_is_zero() {
        let last = SeqNumber(u32::MAX);
        assert_eq!(last + 1, SeqNumber(0));
        assert_eq!(SeqNumber(0) - 1, last);
        assert!(last < SeqNumber(0) && SeqNumber(5) > last && last <= last);
        assert_eq!(SeqNumber(2).since(last), 3);
        assert_eq!(last.offset_from(SeqNumber(2)), -3);
        assert_eq!(last.later(SeqNumber(2)), SeqNumber(2));
        assert_eq!(last.earlier(SeqNumber(2)), last);
    }

    #[test]
    fn opposite_numbers_do_not_compare() {
        let (here, there) = (SeqNumber(7), SeqNumber(7) + (1 << 31));
        assert_eq!(here.partial_cmp(&there), None);
        assert_eq!(there.partial_cmp(&here), None);
    }

    #[test]
    fn positions_do_not_wrap() {
        let origin = SeqNumber(u32::MAX);
        assert_eq!(origin.at(1), SeqNumber(0));
        assert_eq!(SeqNumber(0).position(origin, 0), 1);
        assert_eq!(SeqNumber(u32::MAX - 1).position(origin, 0), -1);
    }

    proptest! {
        #[test]
        fn a_near_position_is_found_again(origin: u32, near in 0..1i64 << 48, off in -(1i64 << 31)..1i64 << 31) {
            let origin = SeqNumber(origin);
            prop_assert_eq!(origin.at(near + off).position(origin, near), near + off);
        }

        /// Within half the circle, comparing is comparing the distances from any common start.
        #[test]
        fn orders_as_distances_do(start: u32, a in 0u32..1 << 31, b in 0u32..1 << 31) {
            let (x, y) = (SeqNumber(start) + a, SeqNumber(start) + b);
            prop_assert_eq!(x.partial_cmp(&y), Some(a.cmp(&b)));
            prop_assert_eq!(x.is_within(SeqNumber(start), b), a < b);
            prop_assert_eq!(x.later(y).since(SeqNumber(start)), a.max(b));
        }
    }
}
