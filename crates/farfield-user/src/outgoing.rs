//! Bytes on their way to the transport, which keeps what cannot go at once.
//!
//! They lie one behind another in a buffer that is used again once the transport has let go of all that was
//! in it, so that what is sent allocates nothing of its own.

use bytes::{Bytes, BytesMut};

/// Bytes that are allocated at a time.
const BUFFER_BYTES: usize = 64 * 1024;

/// The buffer.
#[derive(Debug, Default)]
pub struct Outgoing {
    buffer: BytesMut,
}

impl Outgoing {
    /// A handle of `bytes` that the transport may keep.
    pub fn keep(&mut self, bytes: &[u8]) -> Bytes {
        if self.buffer.capacity() < bytes.len() {
            self.buffer.reserve(bytes.len().max(BUFFER_BYTES));
        }
        self.buffer.extend_from_slice(bytes);
        self.buffer.split().freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Buffers that were let go of are used again: a million bytes lie in no more than two.
    #[test]
    fn a_buffer_is_used_again() {
        let mut outgoing = Outgoing::default();
        let mut places = std::collections::BTreeSet::new();
        for number in 0..10_000u32 {
            let text = [number as u8; 100];
            let kept = outgoing.keep(&text);
            assert_eq!(kept, text.as_slice());
            places.insert(kept.as_ptr());
        }
        assert!(places.len() <= 2 * BUFFER_BYTES / 100 + 2, "{} places", places.len());
    }

    #[test]
    fn what_is_kept_is_not_written_over() {
        let mut outgoing = Outgoing::default();
        let kept: Vec<Bytes> =
            (0..3000u32).map(|number| outgoing.keep(&number.to_be_bytes().repeat(20))).collect();
        for (number, bytes) in kept.iter().enumerate() {
            assert_eq!(*bytes, (number as u32).to_be_bytes().repeat(20));
        }
        let large = outgoing.keep(&[1; 1_000_000]);
        assert_eq!(large.len(), 1_000_000);
    }
}
