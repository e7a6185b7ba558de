//! Bytes of one connection that the kernel did not accept, in order.
//!
//! Small pieces are copied together: they are cut from buffers that many connections share, and each would
//! keep one of those alive.

use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;

/// Pieces of fewer bytes are copied.
const SMALL_BYTES: usize = 4 << 10;

/// The queue.
#[derive(Debug, Default)]
pub(crate) struct Unsent {
    pieces: VecDeque<Bytes>,
    /// Small pieces, behind the others.
    tail: BytesMut,
    bytes: u64,
}

impl Unsent {
    /// Bytes in it.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    pub fn push(&mut self, piece: &Bytes) {
        self.bytes += piece.len() as u64;
        if piece.len() < SMALL_BYTES {
            return self.tail.extend_from_slice(piece);
        }
        if !self.tail.is_empty() {
            self.pieces.push_back(self.tail.split().freeze());
        }
        self.pieces.push_back(piece.clone());
    }

    /// Puts the rest of a piece back that was [taken](Self::pop).
    pub fn put_back(&mut self, rest: Bytes) {
        self.bytes += rest.len() as u64;
        self.pieces.push_front(rest);
    }

    /// Takes the next piece.
    pub fn pop(&mut self) -> Option<Bytes> {
        let next = self.pieces.pop_front();
        let piece = next.or_else(|| (!self.tail.is_empty()).then(|| self.tail.split().freeze()))?;
        self.bytes -= piece.len() as u64;
        Some(piece)
    }

    pub fn clear(&mut self) {
        *self = Unsent::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However it is filled and emptied, what comes out is what went in, in order, and is counted.
        #[test]
        fn bytes_leave_in_order(
            steps in prop::collection::vec((0usize..3, prop_oneof![1usize..50, 4000usize..9000]), 1..60),
        ) {
            let (mut unsent, mut expected) = (Unsent::default(), VecDeque::new());
            let mut next = 0u8;
            for (step, length) in steps {
                if step < 2 {
                    let piece: Vec<u8> = (0..length).map(|at| next.wrapping_add(at as u8)).collect();
                    next = next.wrapping_add(length as u8);
                    expected.extend(piece.iter().copied());
                    unsent.push(&piece.into());
                } else if let Some(piece) = unsent.pop() {
                    // The kernel takes a part of it.
                    let sent = length.min(piece.len());
                    let went: Vec<u8> = expected.drain(..sent).collect();
                    prop_assert_eq!(&went[..], &piece[..sent]);
                    if sent < piece.len() {
                        unsent.put_back(piece.slice(sent..));
                    }
                }
                prop_assert_eq!(unsent.bytes(), expected.len() as u64);
                prop_assert_eq!(unsent.is_empty(), expected.is_empty());
            }
            let mut rest = Vec::new();
            while let Some(piece) = unsent.pop() {
                rest.extend_from_slice(&piece);
            }
            prop_assert_eq!(rest, Vec::from(expected));
        }
    }

    /// A thousand acknowledgements, each cut from a buffer of its own, keep none of these alive.
    #[test]
    fn small_pieces_keep_no_buffers_alive() {
        let mut unsent = Unsent::default();
        for _ in 0..1000 {
            let buffer = Bytes::from(vec![7; 64 << 10]);
            let piece = buffer.slice(100..117);
            unsent.push(&piece);
            drop(piece);
            assert!(buffer.is_unique());
        }
        assert_eq!((unsent.bytes(), unsent.pop().map(|all| all.len())), (17_000, Some(17_000)));
    }
}
