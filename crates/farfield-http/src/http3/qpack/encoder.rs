//! Fields as field sections have them (RFC 9204, 4.5). A string is Huffman-coded where that makes it shorter.

use super::static_table;
use crate::compression::{integer, put_string};

/// The use that intermediaries which encode a field again may make of it (RFC 9204, 4.5.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Literal {
    /// Intermediaries may insert the field in their tables.
    Insertable,
    /// Intermediaries never insert the field: a credential (RFC 9204, 7.1.3).
    Never,
}

/// Appends the prefix of a field section without dynamic references (RFC 9204, 4.5.1). Fields follow.
pub fn begin(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0]);
}

/// Appends a field, its name in lower case: by its index where the static table has it, otherwise as a
/// literal, with the index of its name where the table has that. What is never inserted is always a literal.
pub fn encode(literal: Literal, name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    let never = literal == Literal::Never;
    if !never && let Some(index) = static_table::find(name, value) {
        return integer::encode(index, 0xc0, 6, out);
    }
    match static_table::find_name(name) {
        Some(index) => integer::encode(index, if never { 0x70 } else { 0x50 }, 4, out),
        None => put_string(name, if never { 0x30 } else { 0x20 }, 3, out),
    }
    put_string(value, 0, 7, out);
}
