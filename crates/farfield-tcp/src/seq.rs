//! Sequence numbers: 32 bits that wrap on the wire, and positions that do not, inside.
//!
//! RFC 9293 §3.4 compares sequence numbers modulo 2³². Here that happens in one place: a number from the wire
//! becomes a [`Position`], counted from the initial sequence number of its direction, by being taken as the
//! number nearest to one already known. All else is plain integers, so nothing else can get the wrap wrong.

pub use farfield_wire::{Position, SeqNumber};
