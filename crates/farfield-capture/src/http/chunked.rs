//! The chunked coding (RFC 9112, section 7.1), byte by byte in its lines and by length in its data.

/// Hexadecimal digits of a size; 16 would be all that 64 bits hold.
const DIGITS_MAX: u8 = 15;

/// A chunked body being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chunked {
    /// In the digits of a size.
    Size { size: u64, digits: u8 },
    /// Behind the digits, in extensions up to the end of the line.
    Extension { size: u64 },
    /// So many bytes of data are left.
    Data(u64),
    /// In the line end behind data.
    DataEnd,
    /// In the trailer section: at the beginning of a line, or inside one.
    Trailer { inside: bool },
}

/// What a step over bytes led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// So many bytes were taken, of which so many are body.
    Taken { bytes: usize, body: u64 },
    /// The body ended with the last of so many bytes.
    Ended { bytes: usize },
    /// This is not the coding.
    Broken,
}

impl Chunked {
    pub const BEGIN: Chunked = Chunked::Size { size: 0, digits: 0 };

    /// Takes some of `bytes`, which are not empty.
    pub fn step(&mut self, bytes: &[u8]) -> Step {
        if let Chunked::Data(left) = *self {
            let body = left.min(bytes.len() as u64);
            *self = if body == left { Chunked::DataEnd } else { Chunked::Data(left - body) };
            return Step::Taken { bytes: body as usize, body };
        }
        for (index, &byte) in bytes.iter().enumerate() {
            let taken = index + 1;
            *self = match (*self, byte) {
                (Chunked::Size { size, digits }, _) if byte.is_ascii_hexdigit() && digits < DIGITS_MAX => {
                    let digit = (byte as char).to_digit(16).unwrap_or_default();
                    Chunked::Size { size: size << 4 | u64::from(digit), digits: digits + 1 }
                }
                (Chunked::Size { digits: 0, .. }, _) => return Step::Broken,
                (Chunked::Size { size, .. } | Chunked::Extension { size }, b'\n') => match size {
                    0 => Chunked::Trailer { inside: false },
                    size => {
                        *self = Chunked::Data(size);
                        return Step::Taken { bytes: taken, body: 0 };
                    }
                },
                (Chunked::Size { size, .. }, b'\r' | b';' | b' ' | b'\t') => Chunked::Extension { size },
                (Chunked::Size { .. }, _) => return Step::Broken,
                (Chunked::Extension { size }, _) => Chunked::Extension { size },
                (Chunked::DataEnd, b'\n') => Chunked::BEGIN,
                (Chunked::DataEnd, b'\r') => Chunked::DataEnd,
                (Chunked::DataEnd, _) => return Step::Broken,
                (Chunked::Trailer { inside: false }, b'\n') => return Step::Ended { bytes: taken },
                (Chunked::Trailer { inside: false }, b'\r') => Chunked::Trailer { inside: false },
                (Chunked::Trailer { .. }, b'\n') => Chunked::Trailer { inside: false },
                (Chunked::Trailer { .. }, _) => Chunked::Trailer { inside: true },
                (Chunked::Data(_), _) => unreachable!("data was taken above"),
            };
        }
        Step::Taken { bytes: bytes.len(), body: 0 }
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

    /// Bytes taken, bytes of body, and whether the body ended; `None` if the coding is broken.
    fn read(text: &[u8], piece: usize) -> Option<(usize, u64, bool)> {
        let (mut state, mut taken, mut sum) = (Chunked::BEGIN, 0, 0);
        while taken < text.len() {
            match state.step(&text[taken..text.len().min(taken + piece)]) {
                Step::Taken { bytes, body } => (taken, sum) = (taken + bytes, sum + body),
                Step::Ended { bytes } => return Some((taken + bytes, sum, true)),
                Step::Broken => return None,
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
            assert_eq!(read(b"1234567890123456\r\n", piece), None);
        }
    }

    #[test]
    fn only_data_is_passed_over() {
        let mut state = Chunked::Data(10);
        assert!(state.pass(4) && state.pass(6) && state == Chunked::DataEnd);
        assert!(!state.pass(1));
        assert!(!Chunked::Data(3).pass(4));
    }
}
