//! The chunked coding (RFC 9112, section 7.1), byte by byte in its lines and by length in its data.
//!
//! Not by httparse, whose `parse_chunk_size` wants a line in one piece, however long its extension, and takes
//! a line without a digit for a size of 0 and a line feed for a part of an extension. A test holds this
//! reader against it.

/// A chunked body being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chunked {
    /// In the digits of a size, or ahead of the first.
    Size { size: u64, is_begun: bool },
    /// Behind the digits, in extensions up to the end of the line.
    Extension { size: u64 },
    /// The number of bytes of data that are left.
    Data(u64),
    /// In the line end behind data.
    DataEnd,
    /// In the trailer section: at the beginning of a line, or inside one.
    Trailer { inside: bool },
}

/// The result of a step over bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChunkProgress {
    /// So many bytes were taken, of which so many are body.
    Taken { bytes: usize, body: u64 },
    /// The body ended with the last of so many bytes.
    Ended { bytes: usize },
    /// The bytes are not in the coding.
    Broken,
}

impl Chunked {
    pub const BEGIN: Chunked = Chunked::Size { size: 0, is_begun: false };

    /// Takes some of `bytes`, which are not empty.
    pub fn step(&mut self, bytes: &[u8]) -> ChunkProgress {
        if let Chunked::Data(left) = *self {
            let body = left.min(bytes.len() as u64);
            *self = if body == left { Chunked::DataEnd } else { Chunked::Data(left - body) };
            return ChunkProgress::Taken { bytes: body as usize, body };
        }
        for (index, &byte) in bytes.iter().enumerate() {
            let taken = index + 1;
            *self = match (*self, byte) {
                (Chunked::Size { size, .. }, _) if byte.is_ascii_hexdigit() => {
                    let digit = u64::from((byte as char).to_digit(16).unwrap_or_default());
                    let Some(size) = size.checked_mul(16) else { return ChunkProgress::Broken };
                    Chunked::Size { size: size | digit, is_begun: true }
                }
                (Chunked::Size { is_begun: false, .. }, _) => return ChunkProgress::Broken,
                (Chunked::Size { size, .. } | Chunked::Extension { size }, b'\n') => match size {
                    0 => Chunked::Trailer { inside: false },
                    size => {
                        *self = Chunked::Data(size);
                        return ChunkProgress::Taken { bytes: taken, body: 0 };
                    }
                },
                (Chunked::Size { size, .. }, b'\r' | b';' | b' ' | b'\t') => Chunked::Extension { size },
                (Chunked::Size { .. }, _) => return ChunkProgress::Broken,
                (Chunked::Extension { size }, _) => Chunked::Extension { size },
                (Chunked::DataEnd, b'\n') => Chunked::BEGIN,
                (Chunked::DataEnd, b'\r') => Chunked::DataEnd,
                (Chunked::DataEnd, _) => return ChunkProgress::Broken,
                (Chunked::Trailer { inside: false }, b'\n') => return ChunkProgress::Ended { bytes: taken },
                (Chunked::Trailer { inside: false }, b'\r') => Chunked::Trailer { inside: false },
                (Chunked::Trailer { .. }, b'\n') => Chunked::Trailer { inside: false },
                (Chunked::Trailer { .. }, _) => Chunked::Trailer { inside: true },
                (Chunked::Data(_), _) => unreachable!("data was taken above"),
            };
        }
        ChunkProgress::Taken { bytes: bytes.len(), body: 0 }
    }

    /// Passes over `len` bytes without their content, if they are all data.
    pub fn pass(&mut self, len: u64) -> bool {
        match self {
            Chunked::Data(left) if len <= *left => {
                *left -= len;
                if *left == 0 {
                    *self = Chunked::DataEnd;
                }
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bytes taken, bytes of body, and whether the body ended; `None` if the coding is broken.
    fn read(text: &[u8], piece: usize) -> Option<(usize, u64, bool)> {
        let (mut state, mut taken, mut sum) = (Chunked::BEGIN, 0, 0);
        while taken < text.len() {
            match state.step(&text[taken..text.len().min(taken + piece)]) {
                ChunkProgress::Taken { bytes, body } => (taken, sum) = (taken + bytes, sum + body),
                ChunkProgress::Ended { bytes } => return Some((taken + bytes, sum, true)),
                ChunkProgress::Broken => return None,
            }
        }
        Some((taken, sum, false))
    }

    #[test]
    fn chunks_are_summed_however_they_are_cut() {
        for piece in [1, 2, 3, 100] {
            assert_eq!(read(b"5\r\nhello\r\n0\r\n\r\nnext", piece), Some((15, 5, true)));
            assert_eq!(
                read(b"a;x=y\r\n0123456789\r\n0\r\nA: b\r\nC: d\r\n\r\n", piece),
                Some((36, 10, true))
            );
            assert_eq!(read(b"5\r\nhel", piece), Some((6, 3, false)));
            assert_eq!(read(b"x\r\n", piece), None);
            assert_eq!(read(b"2\r\nabX", piece), None);
            assert_eq!(read(b"00000000000000000000\r\n\r\n", piece), Some((24, 0, true)));
            assert_eq!(read(b"ffffffffffffffff\r\n", piece), Some((18, 0, false)));
            assert_eq!(read(b"10000000000000000\r\n", piece), None);
            assert_eq!(read(b"\r\n", piece), None);
        }
    }

    #[test]
    fn only_data_is_passed_over() {
        let mut state = Chunked::Data(10);
        assert!(state.pass(4) && state.pass(6) && state == Chunked::DataEnd);
        assert!(!state.pass(1));
        assert!(!Chunked::Data(3).pass(4));
    }
    proptest! {
        /// Sizes with blanks and extensions are what httparse makes of them.
        #[test]
        fn sizes_are_those_of_httparse(
            size in "[0-9a-fA-F]{1,16}", blanks in "[ \t]{0,2}", extension in "(;[ -~\t\u{e4}]{0,20})?",
        ) {
            let line = format!("{size}{blanks}{extension}\r\n");
            let mut state = Chunked::BEGIN;
            let taken = state.step(line.as_bytes());
            let size = match state {
                Chunked::Data(size) => size,
                Chunked::Trailer { inside: false } => 0,
                _ => return Err(TestCaseError::fail(format!("{state:?} behind {line:?}"))),
            };
            prop_assert_eq!(taken, ChunkProgress::Taken { bytes: line.len(), body: 0 });
            let known = httparse::parse_chunk_size(line.as_bytes());
            prop_assert_eq!(known, Ok(httparse::Status::Complete((line.len(), size))));
        }
    }
}
