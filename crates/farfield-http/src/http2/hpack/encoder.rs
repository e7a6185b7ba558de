//! Fields as header blocks have them (RFC 7541, 6). A string is Huffman-coded where that makes it shorter.

use super::static_table;
use crate::compression::{integer, put_string};

/// The use that the peer's table, and that of any intermediary, makes of a literal field (RFC 7541, 6.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http2) enum Literal {
    /// The field becomes the newest entry.
    Inserted,
    /// The field leaves the table as it is.
    NotInserted,
    /// The field is never inserted, not even by intermediaries that encode it again: a credential (7.1.3).
    Never,
}

/// Appends a field that an entry of either table has: the index counts the static table's entries first.
pub(in crate::http2) fn indexed(index: u32, out: &mut Vec<u8>) {
    integer::encode(index, 0x80, 7, out);
}

/// Appends a field: by its index where the static table has it and it is not to be inserted, as a literal
/// otherwise.
pub(in crate::http2) fn field(literal: Literal, name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    if literal == Literal::NotInserted
        && let Some(index) = static_table::find(name, value)
    {
        return indexed(index, out);
    }
    let (pattern, prefix_bits) = match literal {
        Literal::Inserted => (0x40, 6),
        Literal::NotInserted => (0x00, 4),
        Literal::Never => (0x10, 4),
    };
    let index = static_table::find_name(name);
    integer::encode(index.unwrap_or(0), pattern, prefix_bits, out);
    if index.is_none() {
        put_string(name, 0, 7, out);
    }
    put_string(value, 0, 7, out);
}

/// Appends a change of the dynamic table's size, which only other changes may stand before in a block.
pub(in crate::http2) fn size_update(size_bytes: u32, out: &mut Vec<u8>) {
    integer::encode(size_bytes, 0x20, 5, out);
}

/// True if the static table has the field as it is, so that a dynamic entry saves nothing.
pub(in crate::http2) fn is_static(name: &[u8], value: &[u8]) -> bool {
    static_table::find(name, value).is_some()
}
