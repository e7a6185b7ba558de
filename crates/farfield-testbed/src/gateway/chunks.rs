//! Memory for received packets: chunks that are filled one after the other, and again once no packet in them
//! is under way, so that packets cost no allocation and chunks no page faults.

use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;

/// Bytes of a chunk.
const CHUNK: usize = 1 << 20;

/// Chunks of one queue.
pub struct Chunks {
    /// The room that is left in the present chunk.
    room: BytesMut,
    /// Full ones, the oldest first.
    full: VecDeque<BytesMut>,
    /// Full ones that are kept to be used again.
    kept: usize,
}

impl Chunks {
    /// Chunks of which `kept`, of 1 MiB each, are kept once they are full.
    pub fn new(kept: usize) -> Chunks {
        Chunks { room: BytesMut::zeroed(CHUNK), full: VecDeque::with_capacity(kept + 1), kept }
    }

    /// Room for `bytes`, at most a chunk.
    pub fn room(&mut self, bytes: usize) -> &mut [u8] {
        if self.room.len() < bytes {
            let next = self.next();
            let full = std::mem::replace(&mut self.room, next);
            self.full.push_back(full);
            if self.full.len() > self.kept {
                self.full.pop_front();
            }
        }
        &mut self.room
    }

    /// The first `length` bytes of the room.
    pub fn take(&mut self, length: usize) -> Bytes {
        self.room.split_to(length).freeze()
    }

    /// An empty chunk: the oldest, if nothing of it is under way any more.
    fn next(&mut self) -> BytesMut {
        if let Some(oldest) = self.full.front_mut() {
            oldest.clear();
            if oldest.try_reclaim(CHUNK)
                && let Some(mut oldest) = self.full.pop_front()
            {
                oldest.resize(CHUNK, 0);
                return oldest;
            }
        }
        BytesMut::zeroed(CHUNK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chunks that are under way stay as they are, and others make room.
    #[test]
    fn chunks_are_used_again() {
        let mut chunks = Chunks::new(32);
        let held: Vec<Bytes> = (0..40u8)
            .map(|nth| {
                chunks.room(CHUNK / 2).fill(nth);
                chunks.take(CHUNK / 2)
            })
            .collect();
        assert!(held.iter().zip(0..).all(|(bytes, nth): (_, u8)| bytes.iter().all(|byte| *byte == nth)));
        assert_eq!(chunks.full.len(), 19);
        drop(held);
        let at = chunks.full[0].as_ptr();
        chunks.room(CHUNK);
        let again = chunks.take(CHUNK);
        assert!((at as usize - again.as_ptr() as usize) <= CHUNK, "the oldest chunk, from its front");
        assert_eq!(chunks.full.len(), 19);
    }

    #[test]
    fn chunks_beyond_those_kept_are_given_back() {
        let mut chunks = Chunks::new(1);
        let packets: Vec<Bytes> = (0..5)
            .map(|_| {
                chunks.room(CHUNK);
                chunks.take(CHUNK)
            })
            .collect();
        assert_eq!((packets.len(), chunks.full.len()), (5, 1));
    }
}
