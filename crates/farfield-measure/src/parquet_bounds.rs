//! Bounds on the memory of Parquet's decoders: a file of a few kilobytes can claim pages of gigabytes and
//! values by the billion, and they make room for all of that before they look for it.
//!
//! The headers of pages are read here before the decoders are, from the file's own bytes: structures of
//! Thrift's compact protocol, as Parquet's format has them (`PageHeader` in `parquet.thrift`).

use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::ChunkReader;

/// Rows of a row group. Our own have 131,072, those of other writers a million.
pub const GROUP_ROWS_MAX: u64 = 1 << 22;
/// Bytes of a page, decompressed. Writers make them of one megabyte.
const PAGE_BYTES_MAX: u64 = 64 << 20;
/// Bytes of a page's header: with the least and the greatest value of the page, if it has them.
const HEADER_BYTES: [u64; 2] = [4 << 10, 64 << 10];
/// The least that a value in a dictionary takes.
const DICTIONARY_VALUE_BYTES: u64 = 4;
/// Structures within structures.
const DEPTH_MAX: u32 = 8;

/// A file that its reader is not let begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OutOfBounds {
    /// A row group has more rows than are read at once.
    #[error("a row group has {found} rows, more than the {GROUP_ROWS_MAX} that are read at once")]
    Rows {
        /// Rows of the row group.
        found: i64,
    },
    /// A page claims more than it can have.
    #[error("the column `{column}` has a page that is damaged, or claims more than it has")]
    Page {
        /// The column, by its place in the schema.
        column: usize,
    },
}

/// Looks through the headers of all pages of a row group.
///
/// # Errors
/// If it has too many rows, or a page that cannot be what it claims.
pub fn check<R: ChunkReader>(source: &R, group: &RowGroupMetaData) -> Result<(), OutOfBounds> {
    let rows = rows_within(group.num_rows())?;
    for (column, chunk) in group.columns().iter().enumerate() {
        check_pages(source, chunk, rows).ok_or(OutOfBounds::Page { column })?;
    }
    Ok(())
}

/// The rows of a group, if they are as many as are read at once.
fn rows_within(found: i64) -> Result<u64, OutOfBounds> {
    let rows = u64::try_from(found).ok().filter(|rows| *rows <= GROUP_ROWS_MAX);
    rows.ok_or(OutOfBounds::Rows { found })
}

fn check_pages<R: ChunkReader>(source: &R, chunk: &ColumnChunkMetaData, rows: u64) -> Option<()> {
    let begin = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
    let mut at = u64::try_from(begin).ok()?;
    let end = at.checked_add(u64::try_from(chunk.compressed_size()).ok()?)?;
    while at < end {
        let header_at = |most: u64| {
            let bytes = source.get_bytes(at, most.min(end - at) as usize).ok()?;
            PageHeader::read(&bytes)
        };
        let header = HEADER_BYTES.into_iter().find_map(header_at)?;
        if !header.is_within(rows) {
            return None;
        }
        at = at.checked_add(header.bytes)?.checked_add(header.compressed)?;
    }
    Some(())
}

/// The header of a page, as far as the decoders make room for it.
#[derive(Debug, Default, PartialEq, Eq)]
struct PageHeader {
    /// Bytes of the header.
    bytes: u64,
    uncompressed: u64,
    compressed: u64,
    values: u64,
    is_dictionary: bool,
}

impl PageHeader {
    /// True if a page of a row group of so many rows can be what it claims.
    fn is_within(&self, rows: u64) -> bool {
        let values_max = if self.is_dictionary { self.uncompressed / DICTIONARY_VALUE_BYTES } else { rows };
        self.uncompressed <= PAGE_BYTES_MAX && self.values <= values_max
    }

    /// The header at the beginning of `bytes`, if all of it is there.
    fn read(bytes: &[u8]) -> Option<PageHeader> {
        const UNCOMPRESSED: i64 = 2;
        const COMPRESSED: i64 = 3;
        /// `DataPageHeader`, `IndexPageHeader`, `DictionaryPageHeader` and `DataPageHeaderV2`, whose first
        /// field is the number of values.
        const OF_KINDS: std::ops::RangeInclusive<i64> = 5..=8;
        const DICTIONARY: i64 = 7;
        let mut header = PageHeader::default();
        let mut compact = Compact { rest: bytes };
        compact.fields(0, |compact, field, kind| {
            match (field, kind) {
                (UNCOMPRESSED, I32) => header.uncompressed = compact.size()?,
                (COMPRESSED, I32) => header.compressed = compact.size()?,
                (kind_of_page, STRUCT) if OF_KINDS.contains(&kind_of_page) => {
                    header.is_dictionary |= kind_of_page == DICTIONARY;
                    compact.fields(1, |compact, field, kind| {
                        if (field, kind) != (1, I32) {
                            return compact.skip(kind, 2);
                        }
                        header.values = header.values.max(compact.size()?);
                        Some(())
                    })?;
                }
                _ => compact.skip(kind, 1)?,
            }
            Some(())
        })?;
        Some(PageHeader { bytes: (bytes.len() - compact.rest.len()) as u64, ..header })
    }
}

/// Types of Thrift's compact protocol.
const STOP: u8 = 0;
const I8: u8 = 3;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const STRUCT: u8 = 12;

/// A reader of Thrift's compact protocol.
struct Compact<'b> {
    rest: &'b [u8],
}

impl Compact<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn take(&mut self, bytes: u64) -> Option<()> {
        self.rest = self.rest.get(usize::try_from(bytes).ok()?..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn integer(&mut self) -> Option<i64> {
        let zigzag = self.varint()?;
        Some((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
    }

    /// An integer that is a size.
    fn size(&mut self) -> Option<u64> {
        u64::try_from(self.integer()?).ok()
    }

    /// Goes through the fields of a structure: `take` is handed the number and the type of each, and takes
    /// its value.
    fn fields(&mut self, depth: u32, mut take: impl FnMut(&mut Self, i64, u8) -> Option<()>) -> Option<()> {
        let mut field = 0;
        if depth > DEPTH_MAX {
            return None;
        }
        loop {
            let byte = self.byte()?;
            let (step, kind) = (byte >> 4, byte & 0xf);
            if kind == STOP {
                return Some(());
            }
            field = if step == 0 { self.integer()? } else { field + i64::from(step) };
            take(self, field, kind)?;
        }
    }

    /// Passes over a value.
    fn skip(&mut self, kind: u8, depth: u32) -> Option<()> {
        match kind {
            // Booleans are in the type, but for those of lists.
            1 | 2 => Some(()),
            I8 => self.take(1),
            4..=I64 => self.varint().map(drop),
            DOUBLE => self.take(8),
            BINARY => {
                let bytes = self.varint()?;
                self.take(bytes)
            }
            LIST | SET => {
                let byte = self.byte()?;
                let (kind, short) = (byte & 0xf, u64::from(byte >> 4));
                let count = if short == 15 { self.varint()? } else { short };
                for _ in 0..count {
                    // Each takes a byte at least, so that the bytes bound the work.
                    if kind <= 2 { self.take(1)? } else { self.skip(kind, depth + 1)? }
                }
                Some(())
            }
            STRUCT => self.fields(depth, |compact, _, kind| compact.skip(kind, depth + 1)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header as writers make it: a page of 12,345 values in 4,000 bytes of 64,000.
    const DATA: [u8; 18] =
        [0x15, 0, 0x15, 0x80, 0xe8, 0x07, 0x15, 0xc0, 0x3e, 0x2c, 0x15, 0xf2, 0xc0, 0x01, 0x15, 0, 0, 0];

    #[test]
    fn headers_are_read_with_what_is_not_asked_for() {
        let expected = PageHeader {
            bytes: 18,
            uncompressed: 64_000,
            compressed: 4_000,
            values: 12_345,
            is_dictionary: false,
        };
        assert_eq!(PageHeader::read(&DATA), Some(expected));
        for cut in 0..DATA.len() {
            assert_eq!(PageHeader::read(&DATA[..cut]), None, "{cut}");
        }
        // A dictionary, and a binary value and a list of structures that are not asked for.
        let dictionary = [0x15, 4, 0x15, 0x20, 0x15, 0x20, 0x4c, 0x15, 6, 0x15, 0, 0, 0x18, 2, 9, 9];
        let more = [&dictionary[..], &[0x19, 0x2c, 0x15, 2, 0, 0, 0]].concat();
        let read = PageHeader::read(&more).expect("a header");
        assert_eq!((read.values, read.is_dictionary, read.bytes), (3, true, more.len() as u64));
    }

    #[test]
    fn pages_are_held_against_bounds() {
        let page = |uncompressed: u64, values: u64, rows: u64, is_dictionary: bool| {
            PageHeader { bytes: 18, uncompressed, compressed: 10, values, is_dictionary }.is_within(rows)
        };
        assert!(page(PAGE_BYTES_MAX, 7, 7, false) && !page(PAGE_BYTES_MAX + 1, 7, 7, false));
        assert!(page(80, 7, 7, false) && !page(80, 8, 7, false));
        assert!(page(80, 20, 7, true) && !page(80, 21, 7, true));
        for (rows, is_within) in
            [(0, true), (4_194_304, true), (4_194_305, false), (-1, false), (i64::MAX, false)]
        {
            assert_eq!(rows_within(rows).is_ok(), is_within, "{rows} rows");
        }
    }

    #[test]
    fn no_list_and_no_depth_is_followed_beyond_the_bytes() {
        // A list of 2^63 structures, and structures in structures.
        let list = [[0x19, 0xfc].to_vec(), vec![0xff; 9], vec![1]].concat();
        assert_eq!(PageHeader::read(&list), None);
        assert_eq!(PageHeader::read(&[0x1c; 10_000]), None);
    }

    /// An input that the fuzzer found: 2.5 kB whose dictionary claims 1,116,015,124 values, for which 8.7 GB
    /// were made room for.
    #[test]
    fn a_dictionary_of_a_billion_values_is_refused_unread() {
        let path = "../../fuzz/corpus/run_series/dictionary-of-a-billion";
        let file = std::fs::File::open(path).expect("the fuzzer's find");
        let error = crate::series::read_parquet(file).expect_err("it claims too much");
        let crate::table::TableError::OutOfBounds(found) = error else { panic!("{error}") };
        assert_eq!(found, OutOfBounds::Page { column: 0 });
    }
}
