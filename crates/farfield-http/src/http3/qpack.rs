//! QPACK, the compression of header fields in HTTP/3 (RFC 9204), with the static table only.
//!
//! The client advertises a dynamic table of no bytes (SETTINGS_QPACK_MAX_TABLE_CAPACITY 0, RFC 9204, 5) and
//! uses none of the server's. Each field section then stands alone: [`decode`] and [`encode`] need no state
//! of the connection, and no stream waits for another. Of the two streams of instructions,
//! [`EncoderStream`] and [`DecoderStream`] accept what a correct server may send nevertheless.

mod decoder;
mod encoder;
mod instructions;
mod static_table;

use crate::compression::CodingError;
use farfield_base::Rule;
use std::fmt;

pub use crate::compression::Scratch;
pub use decoder::decode;
pub use encoder::{Literal, begin, encode};
pub use instructions::{DecoderStream, EncoderStream, InstructionError};

/// Why a field section cannot be decoded. The connection ends with it (RFC 9204, 2.2:
/// QPACK_DECOMPRESSION_FAILED).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum QpackError {
    /// The section ends in its prefix or in the middle of a field.
    Truncated,
    /// An integer has more bytes or a greater value than any that is of use (RFC 9204, 4.1.1).
    IntegerTooLarge,
    /// A string is no Huffman code, contains EOS, or is badly padded (RFC 9204, 4.1.2).
    BadHuffman,
    /// An index above the static table's last entry (RFC 9204, 3.1).
    UnknownIndex,
    /// A reference to the dynamic table, or a Required Insert Count above zero, though the table may hold
    /// nothing (RFC 9204, 2.2.3 and 4.5.1.1).
    DynamicReference,
    /// The Base is negative (RFC 9204, 4.5.1.2).
    NegativeBase,
}

impl QpackError {
    /// The rule that the section does not keep to.
    pub const fn rule(self) -> Rule {
        let (wrong, section) = match self {
            QpackError::Truncated => ("a field section ends in the middle of a field", "RFC 9204 §4.5"),
            QpackError::IntegerTooLarge => {
                ("an integer in a field section exceeds the limit", "RFC 9204 §4.1.1")
            }
            QpackError::BadHuffman => ("a string in a field section is no Huffman code", "RFC 9204 §4.1.2"),
            QpackError::UnknownIndex => {
                ("a field section refers to an entry that the static table does not have", "RFC 9204 §3.1")
            }
            QpackError::DynamicReference => (
                "a field section refers to the dynamic table, for which no capacity was advertised",
                "RFC 9204 §2.2.3",
            ),
            QpackError::NegativeBase => ("a field section has a negative Base", "RFC 9204 §4.5.1.2"),
        };
        Rule::new(wrong, section)
    }
}

impl fmt::Display for QpackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rule().wrong)
    }
}

impl std::error::Error for QpackError {}

impl From<CodingError> for QpackError {
    fn from(error: CodingError) -> QpackError {
        match error {
            CodingError::Truncated => QpackError::Truncated,
            CodingError::IntegerTooLarge => QpackError::IntegerTooLarge,
            CodingError::BadHuffman => QpackError::BadHuffman,
        }
    }
}

#[cfg(test)]
mod tests;
