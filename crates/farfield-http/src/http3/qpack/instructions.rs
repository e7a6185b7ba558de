//! The server's two streams of QPACK instructions (RFC 9204, 4.3 and 4.4), where neither side has a dynamic
//! table. Each is a reader of bytes in pieces of any size that keeps nothing but its place.

use farfield_base::Rule;
use std::fmt;

/// An instruction that a server without a dynamic table on either side cannot give. The connection ends with
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstructionError {
    /// The server inserts an entry, duplicates one, or sets a capacity, though none was advertised (RFC
    /// 9204, 3.2.2 and 3.2.3: QPACK_ENCODER_STREAM_ERROR).
    Insertion,
    /// The server acknowledges a section or an insertion that was never sent (RFC 9204, 4.4.1 and 4.4.3:
    /// QPACK_DECODER_STREAM_ERROR).
    Acknowledgement,
    /// The number of a cancelled stream has more than 62 bits (RFC 9204, 4.1.1:
    /// QPACK_DECODER_STREAM_ERROR).
    StreamNumber,
}

impl fmt::Display for InstructionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rule().wrong)
    }
}

impl std::error::Error for InstructionError {}

impl InstructionError {
    /// The rule that the instruction does not keep to.
    pub const fn rule(self) -> Rule {
        let (wrong, section) = match self {
            InstructionError::Insertion => {
                ("the server fills a dynamic table for which no capacity was advertised", "RFC 9204 §3.2.3")
            }
            InstructionError::Acknowledgement => {
                ("the server acknowledges table entries that were never sent", "RFC 9204 §4.4")
            }
            InstructionError::StreamNumber => {
                ("the server cancels a stream whose number exceeds 62 bits", "RFC 9204 §4.1.1")
            }
        };
        Rule::new(wrong, section)
    }

    /// The error code that closes the connection (RFC 9204, 6).
    pub const fn code(self) -> u64 {
        match self {
            InstructionError::Insertion => 0x201,
            InstructionError::Acknowledgement | InstructionError::StreamNumber => 0x202,
        }
    }
}

/// The server's encoder stream, which may set the table's capacity to zero and do nothing else.
#[derive(Debug, Clone, Copy, Default)]
pub struct EncoderStream;

impl EncoderStream {
    /// Reads the stream's next bytes, behind its type.
    ///
    /// # Errors
    /// [`InstructionError::Insertion`].
    pub fn read(&mut self, bytes: &[u8]) -> Result<(), InstructionError> {
        // 4.3.1: Set Dynamic Table Capacity, 001 and a prefix of 5 bits, here 0.
        if bytes.iter().all(|byte| *byte == 0x20) { Ok(()) } else { Err(InstructionError::Insertion) }
    }
}

/// The server's decoder stream, which may cancel streams and do nothing else.
#[derive(Debug, Clone, Copy, Default)]
pub struct DecoderStream {
    /// The bits so far of a stream's number that goes on in the next byte, and the place of the next ones.
    unfinished: Option<(u64, u32)>,
}

impl DecoderStream {
    /// Reads the stream's next bytes, behind its type.
    ///
    /// # Errors
    /// [`InstructionError::Acknowledgement`] and [`InstructionError::StreamNumber`]; the stream is of no
    /// further use then.
    pub fn read(&mut self, bytes: &[u8]) -> Result<(), InstructionError> {
        for &byte in bytes {
            self.unfinished = match self.unfinished {
                // 4.4.2: Stream Cancellation, 01 and a prefix of 6 bits.
                None => match byte {
                    0x40..0x7f => None,
                    0x7f => Some((0x3f, 0)),
                    _ => return Err(InstructionError::Acknowledgement),
                },
                Some((number, shift)) => {
                    let more = u64::from(byte & 0x7f);
                    // 62 bits end in the ninth byte behind the prefix.
                    if shift > 56 || number + (more << shift) >= 1 << 62 {
                        return Err(InstructionError::StreamNumber);
                    }
                    (byte & 0x80 != 0).then_some((number + (more << shift), shift + 7))
                }
            };
        }
        Ok(())
    }
}
