//! The decoder of header blocks (RFC 7541, 3 and 6).

use super::dynamic_table::{DynamicTable, Name};
use super::static_table::ENTRIES;
use super::{DEFAULT_TABLE_BYTES, HpackError};
use crate::compression::{Scratch, integer, take_string};

/// The decoding side of one connection.
#[derive(Debug)]
pub struct Decoder {
    pub(super) table: DynamicTable,
    /// The size that the peer may give the table.
    advertised_bytes: u32,
    /// The peer has yet to shrink its table to what was advertised (RFC 7541, 4.2).
    shrinks: bool,
    /// The last block used the dynamic table, or changed it.
    used_table: bool,
}

impl Decoder {
    /// A decoder that has advertised a dynamic table of this size in the connection's first SETTINGS.
    pub const fn new(advertised_bytes: u32) -> Decoder {
        let shrinks = advertised_bytes < DEFAULT_TABLE_BYTES;
        Decoder { table: DynamicTable::new(), advertised_bytes, shrinks, used_table: false }
    }

    /// Decodes a whole block, and passes each field's name and value to `field`, as they are on the wire.
    ///
    /// # Errors
    /// [`HpackError`]; the decoder is of no further use then.
    pub fn decode(
        &mut self,
        block: &[u8],
        scratch: &mut Scratch,
        field: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<(), HpackError> {
        let mut rest = block;
        let mut fields_begun = false;
        self.used_table = false;
        while let Some(&first) = rest.first() {
            // 6.3: dynamic table size update, 001 and a prefix of 5 bits.
            if first & 0xe0 == 0x20 {
                let size = integer::decode(&mut rest, 5)?;
                self.resize(size, fields_begun)?;
                continue;
            }
            fields_begun = true;
            if self.shrinks {
                return Err(HpackError::SizeUpdateMissing);
            }
            if first & 0x80 != 0 {
                // 6.1: indexed field, 1 and a prefix of 7 bits.
                let index = integer::decode(&mut rest, 7)?;
                let (name, value) = self.entry(index)?;
                field(name, value);
            } else {
                self.decode_literal(&mut rest, scratch, field)?;
            }
        }
        Ok(())
    }

    /// Whether the last block says the same to every decoder, and says it again if it comes again.
    pub(in crate::http2) fn is_constant(&self) -> bool {
        !self.used_table && !self.shrinks
    }

    /// Whether a block that is constant can be skipped here.
    pub(in crate::http2) fn may_skip(&self) -> bool {
        !self.shrinks
    }

    fn resize(&mut self, size_bytes: u32, fields_begun: bool) -> Result<(), HpackError> {
        if fields_begun {
            return Err(HpackError::SizeUpdateLate);
        }
        if size_bytes > self.advertised_bytes {
            return Err(HpackError::TableTooLarge);
        }
        self.shrinks = false;
        self.used_table = true;
        self.table.resize(size_bytes);
        Ok(())
    }

    /// 6.2: a literal, inserted with 01 and a prefix of 6 bits; not inserted with 0000 or, never by anyone,
    /// 0001, and a prefix of 4.
    fn decode_literal(
        &mut self,
        rest: &mut &[u8],
        scratch: &mut Scratch,
        field: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<(), HpackError> {
        let inserted = rest.first().is_some_and(|first| first & 0x40 != 0);
        let index = integer::decode(rest, if inserted { 6 } else { 4 })?;
        let own_name = if index == 0 { Some(take_string(rest, 7, &mut scratch.name)?) } else { None };
        let value = take_string(rest, 7, &mut scratch.value)?;
        let name = match own_name {
            Some(name) => Name::Text(name),
            None if index as usize <= ENTRIES.len() => Name::Text(ENTRIES[index as usize - 1].0),
            None => Name::Entry(index as usize - ENTRIES.len() - 1),
        };
        match name {
            Name::Text(name) => field(name, value),
            Name::Entry(number) => {
                self.used_table = true;
                let (name, _) = self.table.entry(number).ok_or(HpackError::UnknownIndex)?;
                field(name, value);
            }
        }
        if inserted {
            self.used_table = true;
            self.table.insert(name, value);
        }
        Ok(())
    }

    /// 2.3.3: the static table's entries come first, then the dynamic one's, the newest first.
    fn entry(&mut self, index: u32) -> Result<(&[u8], &[u8]), HpackError> {
        let number = (index as usize).checked_sub(1).ok_or(HpackError::UnknownIndex)?;
        if let Some(entry) = ENTRIES.get(number) {
            return Ok(*entry);
        }
        self.used_table = true;
        self.table.entry(number - ENTRIES.len()).ok_or(HpackError::UnknownIndex)
    }
}
