//! Sequence numbers: 32 bits that wrap on the wire, and positions that do not, inside.
//!
//! RFC 9293 §3.4 compares sequence numbers modulo 2³². Here that happens in one place: a number from the wire
//! becomes a [`Position`], counted from the initial sequence number of its direction, by being taken as the
//! number nearest to one already known. All else is plain integers, so nothing else can get the wrap wrong.

use std::fmt;

/// A sequence number as it stands in a segment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SeqNumber(pub u32);

/// A place in one direction of a connection: the SYN is at 0, the first byte of data at 1. May be negative for a
/// number that lies before the connection (an old duplicate).
pub type Position = i64;

impl SeqNumber {
    /// The number of `position` in a direction whose SYN has this number.
    pub const fn at(self, position: Position) -> SeqNumber {
        SeqNumber(self.0.wrapping_add(position as u32)) // `as` keeps the low 32 bits: modulo 2³²
    }

    /// The position of this number in a direction whose SYN has number `origin`: the one of its possible places
    /// that is nearest to `near`, at most 2³¹ away.
    pub const fn position(self, origin: SeqNumber, near: Position) -> Position {
        near + self.0.wrapping_sub(origin.at(near).0) as i32 as i64
    }
}

impl fmt::Debug for SeqNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_wrap_is_one_step() {
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
    }
}
