//! Data that the application has written and the peer has not acknowledged.
//!
//! A queue of shared chunks: writing a request that is a view of a template copies nothing, and a
//! retransmission reads the same bytes again. The first chunk lies in the buffer itself, so that a connection
//! which writes one request after the other allocates nothing; a segment that spans chunks is put together in
//! a new one. Offsets count from the first byte of the connection.

use bytes::{Buf, Bytes, BytesMut};
use std::collections::VecDeque;
use std::ops::Range;

#[derive(Debug, Default)]
pub(crate) struct SendBuffer {
    /// The first chunk; empty only if nothing is held.
    front: Bytes,
    /// The chunks after it.
    rest: VecDeque<Bytes>,
    /// Offset of the first byte held.
    start: u64,
    /// Offset after the last byte written.
    end: u64,
}

impl SendBuffer {
    pub(crate) fn push(&mut self, chunk: Bytes) {
        if !chunk.is_empty() {
            self.end += chunk.len() as u64;
            if self.front.is_empty() {
                self.front = chunk;
            } else {
                self.rest.push_back(chunk);
            }
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
        let mut gone = until.min(self.end).saturating_sub(self.start) as usize;
        self.start += gone as u64;
        while gone > 0 && gone >= self.front.len() {
            gone -= self.front.len();
            self.front = self.rest.pop_front().unwrap_or_default();
        }
        self.front.advance(gone);
        if self.rest.is_empty() {
            // An idle connection holds no table, and no template alive.
            self.rest = VecDeque::new();
        }
    }

    /// The bytes of `range`, which must lie in what is held, in pieces.
    pub(crate) fn pieces(&self, range: Range<u64>) -> impl Iterator<Item = &[u8]> {
        let mut at = self.start;
        std::iter::once(&self.front).chain(&self.rest).filter_map(move |chunk| {
            let from = range.start.clamp(at, at + chunk.len() as u64) - at;
            let to = range.end.clamp(at, at + chunk.len() as u64) - at;
            at += chunk.len() as u64;
            (from < to).then(|| &chunk[from as usize..to as usize])
        })
    }

    /// The bytes of `range`, which must lie in what is held, as one: shared if one chunk holds them all, else
    /// copied.
    pub(crate) fn bytes(&self, range: Range<u64>) -> Bytes {
        let mut at = self.start;
        for chunk in std::iter::once(&self.front).chain(&self.rest) {
            let end = at + chunk.len() as u64;
            if at <= range.start && range.end <= end && range.start <= range.end {
                return chunk.slice((range.start - at) as usize..(range.end - at) as usize);
            }
            at = end;
        }
        let mut whole = BytesMut::with_capacity(range.end.saturating_sub(range.start) as usize);
        self.pieces(range).for_each(|piece| whole.extend_from_slice(piece));
        whole.freeze()
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
            prop_assert_eq!(&buffer.bytes(from..to)[..], &flat[from as usize..to as usize]);
            prop_assert_eq!(buffer.len(), len - first);
        }
    }

    #[test]
    fn what_one_chunk_holds_is_shared() {
        let template = Bytes::from_static(b"GET / HTTP/1.1");
        let mut buffer = SendBuffer::default();
        buffer.push(template.clone());
        buffer.push(Bytes::from_static(b"more"));
        assert_eq!(buffer.bytes(4..9).as_ptr(), template[4..].as_ptr());
        assert_eq!(buffer.bytes(12..16), b".1mo"[..]);
    }
}
