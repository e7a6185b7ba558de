//! HPACK, the compression of header fields in HTTP/2 (RFC 7541).
//!
//! A [`Decoder`] reads the header blocks of one connection, in their order: each may depend on all before it.
//! To encode, a caller appends one field after another to a block, and says of each whether the peer's table
//! is to take it; which entries that table has is the caller's to know.

mod decoder;
mod dynamic_table;
pub(super) mod encoder;
mod static_table;

use crate::compression::CodingError;
use farfield_base::Rule;
use std::fmt;

pub use crate::compression::Scratch;
pub use decoder::Decoder;

/// The size of a dynamic table before anything is said of it (RFC 9113, 6.5.2), in bytes.
pub(super) const DEFAULT_TABLE_BYTES: u32 = 4096;

/// Bytes that an entry of a table counts beside its name and value (RFC 7541, 4.1).
pub(super) const ENTRY_OVERHEAD_BYTES: u32 = 32;

/// Why a header block cannot be decoded. The table's state is lost with it, and so is the connection (RFC
/// 9113, 4.3: COMPRESSION_ERROR).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HpackError {
    /// The block ends in the middle of a field.
    Truncated,
    /// An integer has more bytes or a greater value than any that is of use (RFC 7541, 5.1).
    IntegerTooLarge,
    /// A string is no Huffman code, contains EOS, or is badly padded (RFC 7541, 5.2).
    BadHuffman,
    /// An index of 0 where a field should be, or of no entry (RFC 7541, 6.1).
    UnknownIndex,
    /// The dynamic table is to be larger than was advertised (RFC 7541, 6.3).
    TableTooLarge,
    /// The dynamic table's size changes behind a field (RFC 7541, 4.2).
    SizeUpdateLate,
    /// A smaller dynamic table was advertised, and the first block does not shrink it (RFC 7541, 4.2).
    SizeUpdateMissing,
}

impl HpackError {
    /// The rule that the block does not keep to.
    pub const fn rule(self) -> Rule {
        let (wrong, section) = match self {
            HpackError::Truncated => ("a header block ends in the middle of a field", "RFC 7541 §6"),
            HpackError::IntegerTooLarge => {
                ("an integer in a header block exceeds the limit", "RFC 7541 §5.1")
            }
            HpackError::BadHuffman => ("a string in a header block is no Huffman code", "RFC 7541 §5.2"),
            HpackError::UnknownIndex => {
                ("a header block refers to an entry that the table does not have", "RFC 7541 §2.3.3")
            }
            HpackError::TableTooLarge => {
                ("a header block makes the dynamic table larger than was advertised", "RFC 7541 §6.3")
            }
            HpackError::SizeUpdateLate => {
                ("a header block changes the dynamic table's size behind a field", "RFC 7541 §4.2")
            }
            HpackError::SizeUpdateMissing => (
                "the first header block does not shrink the dynamic table to what was advertised",
                "RFC 7541 §4.2",
            ),
        };
        Rule::new(wrong, section)
    }
}

impl fmt::Display for HpackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rule().wrong)
    }
}

impl std::error::Error for HpackError {}

impl From<CodingError> for HpackError {
    fn from(error: CodingError) -> HpackError {
        match error {
            CodingError::Truncated => HpackError::Truncated,
            CodingError::IntegerTooLarge => HpackError::IntegerTooLarge,
            CodingError::BadHuffman => HpackError::BadHuffman,
        }
    }
}

#[cfg(test)]
mod tests;
