//! Parquet tables, written column by column: what the files of a run directory have in common.
//!
//! `samples.parquet` is not among them: it is written while the run goes on, by [`samples`](crate::samples).

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::io::Write;
use std::sync::Arc;

/// Begins a file with this schema, compressed with zstd.
///
/// # Errors
/// If the schema is none, or those of `to`.
pub fn begin<W: Write + Send>(schema: &str, to: W) -> Result<SerializedFileWriter<W>, ParquetError> {
    begin_with(compressed(), schema, to)
}

/// Begins a file of integers that differ little from row to row: their differences are written, where others
/// have a dictionary.
///
/// # Errors
/// As of [`begin`].
pub fn begin_differences<W: Write + Send>(
    schema: &str,
    to: W,
) -> Result<SerializedFileWriter<W>, ParquetError> {
    begin_with(
        compressed().set_dictionary_enabled(false).set_encoding(Encoding::DELTA_BINARY_PACKED),
        schema,
        to,
    )
}

fn compressed() -> WriterPropertiesBuilder {
    WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()))
}

fn begin_with<W: Write + Send>(
    properties: WriterPropertiesBuilder,
    schema: &str,
    to: W,
) -> Result<SerializedFileWriter<W>, ParquetError> {
    let schema = Arc::new(parse_message_type(schema)?);
    SerializedFileWriter::new(to, schema, Arc::new(properties.build()))
}

/// Writes the next column of a row group, in which every row has a value.
///
/// # Errors
/// Those of the writer.
///
/// # Panics
/// If the schema has no further column.
pub fn required<T: DataType, W: Write + Send, R>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[R],
    value: impl Fn(&R) -> T::T,
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.expect("as many columns as the schema has");
    let values: Vec<T::T> = rows.iter().map(value).collect();
    column.typed::<T>().write_batch(&values, None, None)?;
    column.close()
}

/// Writes the next column of a row group, which is null in rows without a value.
///
/// # Errors
/// Those of the writer.
///
/// # Panics
/// If the schema has no further column.
pub fn optional<T: DataType, W: Write + Send, R>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[R],
    value: impl Fn(&R) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.expect("as many columns as the schema has");
    let (mut values, mut there) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
    for value in rows.iter().map(value) {
        there.push(i16::from(value.is_some()));
        values.extend(value);
    }
    column.typed::<T>().write_batch(&values, Some(&there), None)?;
    column.close()
}

/// A value of a column of strings.
pub fn text(text: &str) -> ByteArray {
    ByteArray::from(text.as_bytes().to_vec())
}
