//! A row group in the making: the pages of batch after batch, column by column.
//!
//! Parquet wants the pages of a column side by side, but each page stands for itself (no dictionaries here).
//! So batches are encoded once, as they fill, and a row group is the mere concatenation of their pages,
//! which can be put into the file at any time, together with a batch that has only begun.

use super::batch::EncodedBatch;
use parquet::errors::Result;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData, RowGroupMetaDataPtr};

/// The pages so far. Its buffers are kept from group to group.
#[derive(Default)]
pub(super) struct RowGroup {
    columns: Vec<ColumnPages>,
    rows: u64,
    /// Properties of all batches: each column's type, encodings and compression.
    pattern: Option<RowGroupMetaDataPtr>,
}

#[derive(Default)]
struct ColumnPages {
    bytes: Vec<u8>,
    bytes_uncompressed: i64,
}

/// A state of a group to return to.
pub(super) struct Mark {
    columns: Vec<(usize, i64)>,
    rows: u64,
}

impl RowGroup {
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Length of the row group in the file.
    pub(super) fn bytes(&self) -> u64 {
        self.columns.iter().map(|column| column.bytes.len() as u64).sum()
    }

    /// Takes the pages of one more batch. `pause` is called between pieces of work.
    pub(super) fn absorb(&mut self, pages: &EncodedBatch, pause: &dyn Fn()) {
        self.columns.resize_with(pages.metadata.num_columns(), ColumnPages::default);
        for (column, chunk) in self.columns.iter_mut().zip(pages.metadata.columns()) {
            let (start, length) = chunk.byte_range();
            column.bytes.extend_from_slice(&pages.bytes[start as usize..(start + length) as usize]);
            column.bytes_uncompressed += chunk.uncompressed_size();
            pause();
        }
        self.rows += pages.metadata.num_rows() as u64;
        self.pattern = Some(pages.metadata.clone());
    }

    pub(super) fn mark(&self) -> Mark {
        let columns = self.columns.iter().map(|c| (c.bytes.len(), c.bytes_uncompressed)).collect();
        Mark { columns, rows: self.rows }
    }

    /// Forgets all batches since `mark`.
    pub(super) fn rewind(&mut self, mark: &Mark) {
        for (place, column) in self.columns.iter_mut().enumerate() {
            let (length, bytes_uncompressed) = mark.columns.get(place).copied().unwrap_or_default();
            column.bytes.truncate(length);
            column.bytes_uncompressed = bytes_uncompressed;
        }
        self.rows = mark.rows;
    }

    pub(super) fn clear(&mut self) {
        self.rewind(&Mark { columns: Vec::new(), rows: 0 });
    }

    /// The bytes of the row group in the file, one column's after the other's.
    pub(super) fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.columns.iter().map(|column| column.bytes.as_slice())
    }

    /// The metadata of the group if the first of its [`parts`](Self::parts) begins at `offset` in the file;
    /// `None` if it has no rows.
    pub(super) fn lay_out(&self, offset: u64) -> Result<Option<RowGroupMetaData>> {
        let Some(pattern) = self.pattern.as_ref().filter(|_| self.rows > 0) else { return Ok(None) };
        let mut group = RowGroupMetaData::builder(pattern.schema_descr_ptr())
            .set_num_rows(self.rows as i64)
            .set_total_byte_size(self.columns.iter().map(|column| column.bytes_uncompressed).sum())
            .set_file_offset(offset as i64);
        let mut at = offset;
        for (column, chunk) in self.columns.iter().zip(pattern.columns()) {
            let placed = ColumnChunkMetaData::builder(chunk.column_descr_ptr())
                .set_encodings_mask(*chunk.encodings_mask())
                .set_compression_codec(chunk.compression_codec())
                .set_num_values(self.rows as i64)
                .set_total_compressed_size(column.bytes.len() as i64)
                .set_total_uncompressed_size(column.bytes_uncompressed)
                .set_data_page_offset(at as i64)
                .build()?;
            group = group.add_column_metadata(placed);
            at += column.bytes.len() as u64;
        }
        group.build().map(Some)
    }
}
