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
    /// The last block depends on the dynamic table, or it changed the table's size.
    used_table: bool,
    /// Bytes of the entries that the last block inserted, as the table counts.
    inserted_bytes: u32,
    /// Entries that were inserted last, if all of them were by blocks that are equal.
    repeated: Repeated,
}

/// Entries that one block inserted over and over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Repeated {
    /// The block's mark; 0 if there is none.
    mark: u64,
    bytes: u32,
}

impl Repeated {
    const NOTHING: Repeated = Repeated { mark: 0, bytes: 0 };
}

impl Decoder {
    /// A decoder that has advertised a dynamic table of this size in the connection's first SETTINGS.
    pub const fn new(advertised_bytes: u32) -> Decoder {
        let shrinks = advertised_bytes < DEFAULT_TABLE_BYTES;
        Decoder {
            table: DynamicTable::new(),
            advertised_bytes,
            shrinks,
            used_table: false,
            inserted_bytes: 0,
            repeated: Repeated::NOTHING,
        }
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
        (self.used_table, self.inserted_bytes) = (false, 0);
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

    /// Decodes a block whose fields are known, with this mark, since later blocks may refer to what it
    /// inserts.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    pub(in crate::http2) fn decode_known(
        &mut self,
        mark: u64,
        block: &[u8],
        scratch: &mut Scratch,
    ) -> Result<(), HpackError> {
        let before = self.repeated;
        self.decode(block, scratch, &mut |_, _| ())?;
        let bytes = if before.mark == mark { before.bytes } else { 0 };
        self.repeated = Repeated { mark, bytes: bytes.saturating_add(self.inserted_bytes) };
        Ok(())
    }

    /// True if the last block says the same to every decoder, and says it again if it comes again.
    pub(in crate::http2) fn is_constant(&self) -> bool {
        !self.used_table && !self.shrinks
    }

    /// Bytes of the entries that the last block inserted.
    pub(in crate::http2) fn inserted_bytes(&self) -> u32 {
        self.inserted_bytes
    }

    /// True if a block that is constant and inserts nothing can be skipped here.
    pub(in crate::http2) fn may_skip(&self) -> bool {
        !self.shrinks
    }

    /// True if the table has no room for more than what the block with this mark has inserted over and over:
    /// then it stays as it is when the block comes again.
    pub(in crate::http2) fn is_filled_by(&self, mark: u64) -> bool {
        self.repeated.mark == mark && self.repeated.bytes >= self.table.size_max_bytes()
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
        self.repeated = Repeated::NOTHING;
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
            self.repeated = Repeated::NOTHING;
            self.inserted_bytes = self.inserted_bytes.saturating_add(self.table.insert(name, value));
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
