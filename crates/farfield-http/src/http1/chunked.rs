//! The chunked transfer coding, taken apart (RFC 9112, 7.1).
//!
//! A byte at a time through what stands between the chunks' data, with no buffer: sizes are added up as they
//! come, extensions and trailer fields are checked and dropped (7.1.1 and 7.1.2 let a recipient ignore both).
//! Data is not looked at. How long all this may go on is the caller's to limit.
//!
//! Lines of chunks end with CRLF and nothing else: the leave to take a bare LF for a line end (2.2) is for
//! start-lines and fields, so trailer fields have it.

use super::Malformed;
use farfield_base::Rule;

/// The reader's position in the coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunked {
    /// In `ChunkPosition::Data`: bytes of data to come. In `ChunkPosition::Size` and up to the line's end:
    /// the size so far.
    left: u64,
    step: ChunkPosition,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChunkPosition {
    /// Before the first digit of a size.
    SizeFirst,
    /// In a size.
    Size,
    /// In the blanks after a size, which only an extension should have; servers are known to pad with them.
    SizePadding,
    /// In an extension.
    Extension,
    /// Behind the CR of a size's line.
    SizeLf,
    /// In the data.
    Data,
    /// Behind the data, before its CR.
    DataCr,
    /// Behind that CR.
    DataLf,
    /// At the beginning of the trailer section.
    TrailerFirst,
    /// At the beginning of any later line of it.
    TrailerNext,
    /// In a field's name, behind its first character.
    TrailerName,
    /// In a field's value.
    TrailerValue,
    /// Behind the CR of a field's line.
    TrailerLf,
    /// Behind the CR of the last, empty line.
    LastLf,
    /// Behind the last line.
    Over,
}

/// The part of the body after the framing that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkPart {
    /// More of the framing.
    Framing,
    /// So many bytes of data, at least 1; pass [`Chunked::took`] how many were read.
    Data(u64),
    /// Nothing: the body is over.
    Over,
}

impl Chunked {
    /// At the beginning of a body.
    pub(super) const START: Chunked = Chunked { left: 0, step: ChunkPosition::SizeFirst };

    /// Reads framing up to the next data, the end of the body or the end of `bytes`: the bytes it took, and
    /// what comes after them.
    pub(super) fn skip(&mut self, bytes: &[u8]) -> Result<(usize, ChunkPart), Malformed> {
        let mut taken = 0;
        loop {
            match self.step {
                ChunkPosition::Data => return Ok((taken, ChunkPart::Data(self.left))),
                ChunkPosition::Over => return Ok((taken, ChunkPart::Over)),
                _ => {}
            }
            let Some(&byte) = bytes.get(taken) else { return Ok((taken, ChunkPart::Framing)) };
            self.step = self.after(byte).ok_or(Malformed::BadChunk)?;
            taken += 1;
        }
    }

    /// The rule that the first of `bytes` does not keep to which must not stand where it stands.
    pub(super) fn flaw_of(mut self, bytes: &[u8]) -> Rule {
        let is_wrong = bytes.iter().any(|byte| match self.after(*byte) {
            Some(step) => {
                self.step = step;
                false
            }
            None => true,
        });
        let (wrong, section) = match self.step {
            _ if !is_wrong => ("what stands between two chunks exceeds the limit of a head", "RFC 9112 §7.1"),
            ChunkPosition::SizeFirst | ChunkPosition::Size | ChunkPosition::SizePadding => {
                ("a chunk's size is no hexadecimal number of 64 bits", "RFC 9112 §7.1")
            }
            ChunkPosition::Extension => {
                ("a chunk's extension has a character that it cannot have", "RFC 9112 §7.1.1")
            }
            ChunkPosition::SizeLf => ("the line of a chunk's size does not end with CRLF", "RFC 9112 §7.1"),
            ChunkPosition::Data | ChunkPosition::DataCr | ChunkPosition::DataLf => {
                ("a chunk's data is not followed by CRLF", "RFC 9112 §7.1")
            }
            _ => ("the trailer section cannot be read", "RFC 9112 §7.1.2"),
        };
        Rule::new(wrong, section)
    }

    /// `bytes` of the data were read, at most as many as were left.
    pub(super) fn took(&mut self, bytes: u64) {
        self.left -= bytes;
        if self.left == 0 {
            self.step = ChunkPosition::DataCr;
        }
    }

    /// The step after `byte`; none if it must not stand here.
    fn after(&mut self, byte: u8) -> Option<ChunkPosition> {
        Some(match (self.step, byte) {
            // chunk = chunk-size [ chunk-ext ] CRLF chunk-data CRLF; chunk-size = 1*HEXDIG
            (ChunkPosition::SizeFirst | ChunkPosition::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                self.left = push_hex(self.left, byte)?;
                ChunkPosition::Size
            }
            (ChunkPosition::Size | ChunkPosition::SizePadding, b' ' | b'\t') => ChunkPosition::SizePadding,
            (ChunkPosition::Size | ChunkPosition::SizePadding, b';') => ChunkPosition::Extension,
            (ChunkPosition::Size | ChunkPosition::SizePadding | ChunkPosition::Extension, b'\r') => {
                ChunkPosition::SizeLf
            }
            (ChunkPosition::Extension, byte) if in_text(byte) => ChunkPosition::Extension,
            // last-chunk = 1*"0" [ chunk-ext ] CRLF
            (ChunkPosition::SizeLf, b'\n') if self.left == 0 => ChunkPosition::TrailerFirst,
            (ChunkPosition::SizeLf, b'\n') => ChunkPosition::Data,
            (ChunkPosition::DataCr, b'\r') => ChunkPosition::DataLf,
            (ChunkPosition::DataLf, b'\n') => ChunkPosition::SizeFirst,
            // trailer-section = *( field-line CRLF ), then a CRLF ends the body
            (ChunkPosition::TrailerFirst | ChunkPosition::TrailerNext, b'\r') => ChunkPosition::LastLf,
            (ChunkPosition::TrailerFirst | ChunkPosition::TrailerNext, b'\n') => ChunkPosition::Over,
            (ChunkPosition::LastLf, b'\n') => ChunkPosition::Over,
            // 5.2: obs-fold continues the field before it
            (ChunkPosition::TrailerNext, b' ' | b'\t') => ChunkPosition::TrailerValue,
            (ChunkPosition::TrailerFirst | ChunkPosition::TrailerNext | ChunkPosition::TrailerName, byte)
                if in_token(byte) =>
            {
                ChunkPosition::TrailerName
            }
            (ChunkPosition::TrailerName, b':') => ChunkPosition::TrailerValue,
            (ChunkPosition::TrailerValue, b'\r') => ChunkPosition::TrailerLf,
            (ChunkPosition::TrailerValue | ChunkPosition::TrailerLf, b'\n') => ChunkPosition::TrailerNext,
            (ChunkPosition::TrailerValue, byte) if in_text(byte) => ChunkPosition::TrailerValue,
            _ => return None,
        })
    }
}

/// RFC 9112, 7.1: a recipient MUST anticipate large numerals and keep them from overflowing.
fn push_hex(size: u64, digit: u8) -> Option<u64> {
    let digit = char::from(digit).to_digit(16)?;
    Some(size.checked_mul(16)? + u64::from(digit))
}

/// A blank, a visible character or obs-text: what may stand in a field's value (RFC 9110, 5.5).
pub(super) fn in_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// A character of a token (RFC 9110, 5.6.2).
pub(super) fn in_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
