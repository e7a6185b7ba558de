//! What the application has written and the peer has not acknowledged.
//!
//! A queue of shared chunks: writing a request that is a view of a template copies nothing, and a retransmission
//! reads the same bytes again. Offsets count from the first byte of the connection.

use bytes::Bytes;
use std::collections::VecDeque;
use std::ops::Range;

#[derive(Debug, Default)]
pub(crate) struct SendBuffer {
    chunks: VecDeque<Bytes>,
    /// Offset of the first byte held.
    start: u64,
    /// Offset after the last byte written.
    end: u64,
}

impl SendBuffer {
    pub(crate) fn push(&mut self, chunk: Bytes) {
        if !chunk.is_empty() {
            self.end += chunk.len() as u64;
            self.chunks.push_back(chunk);
        }
    }

    /// Offset after the last byte written.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Bytes held.
    pub(crate) fn len(&self) -> u64 {
        self.end - self.start
    }

    /// Forgets what lies before `until`.
    pub(crate) fn release(&mut self, until: u64) {
        let mut gone = until.min(self.end).saturating_sub(self.start);
        self.start += gone;
        while gone > 0 {
            let front = self.chunks.front_mut().expect("chunks cover start to end");
            if (front.len() as u64) > gone {
                *front = front.slice(gone as usize..);
                return;
            }
            gone -= front.len() as u64;
            self.chunks.pop_front();
        }
        if self.chunks.is_empty() {
            // An idle connection holds no table.
            self.chunks = VecDeque::new();
        }
    }

    /// The bytes of `range`, which must lie in what is held, in pieces.
    pub(crate) fn pieces(&self, range: Range<u64>) -> impl Iterator<Item = &[u8]> {
        let mut at = self.start;
        self.chunks.iter().filter_map(move |chunk| {
            let from = range.start.clamp(at, at + chunk.len() as u64) - at;
            let to = range.end.clamp(at, at + chunk.len() as u64) - at;
            at += chunk.len() as u64;
            (from < to).then(|| &chunk[from as usize..to as usize])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against one flat vector.
        #[test]
        fn reads_what_was_written(
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 0..9),
            release in 0u64..80, a in 0u64..80, b in 0u64..80,
        ) {
            let flat = chunks.concat();
            let mut buffer = SendBuffer::default();
            chunks.iter().for_each(|chunk| buffer.push(Bytes::from(chunk.clone())));
            buffer.release(release);
            let len = flat.len() as u64;
            let first = release.min(len);
            let (from, to) = (a.min(b).clamp(first, len), a.max(b).clamp(first, len));
            let read: Vec<u8> = buffer.pieces(from..to).flatten().copied().collect();
            prop_assert_eq!(&read[..], &flat[from as usize..to as usize]);
            prop_assert_eq!(buffer.len(), len - first);
        }
    }
}
