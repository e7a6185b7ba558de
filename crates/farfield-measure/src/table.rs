//! Parquet tables, written and read column by column: what the files of a run directory have in common.
//!
//! `samples.parquet` is not among them: it is written while the run goes on, by [`samples`](crate::samples).

use crate::parquet_bounds::{self, OutOfBounds};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{ByteArray, DataType};
pub use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::reader::{ChunkReader, FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::io::Write;
use std::panic::{self, AssertUnwindSafe};
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

/// The error of reading a table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// A column is absent, or of another type.
    #[error("it has no column `{0}` of the type that this farfield knows")]
    Column(&'static str),
    /// The table's pages are damaged.
    #[error("its pages are damaged")]
    Pages,
    /// The table claims more than its reader is let hold.
    #[error(transparent)]
    OutOfBounds(#[from] OutOfBounds),
    /// The bytes are not Parquet as they should be.
    #[error("its Parquet is damaged: {0}")]
    Parquet(#[from] ParquetError),
}

/// Calls `take` for each row group of a table, in order.
///
/// # Errors
/// If the file is damaged, or `take` fails.
pub fn read<R: ChunkReader + 'static>(
    source: R,
    mut take: impl FnMut(&dyn RowGroupReader) -> Result<(), TableError>,
) -> Result<(), TableError> {
    // Parquet's decoders panic on some damaged pages; that must not end the reader of a report.
    let read = panic::catch_unwind(AssertUnwindSafe(|| {
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&source)?;
        metadata.row_groups().iter().try_for_each(|group| parquet_bounds::check(&source, group))?;
        let reader = SerializedFileReader::new(source)?;
        (0..reader.num_row_groups()).try_for_each(|at| take(&*reader.get_row_group(at)?))
    }));
    read.unwrap_or(Err(TableError::Pages))
}

/// The values of a column of a row group, row by row.
///
/// # Errors
/// If there is no such column of this type, or its pages are damaged.
pub fn column<T: DataType>(
    group: &dyn RowGroupReader,
    name: &'static str,
) -> Result<Vec<Option<T::T>>, TableError> {
    let metadata = group.metadata();
    let is_it = |column: &parquet::file::metadata::ColumnChunkMetaData| {
        column.column_path().string() == name && column.column_type() == T::get_physical_type()
    };
    let at = metadata.columns().iter().position(is_it).ok_or(TableError::Column(name))?;
    let can_be_null = metadata.column(at).column_descr().max_def_level() > 0;
    let rows = usize::try_from(metadata.num_rows()).map_err(|_| TableError::Pages)?;
    let mut reader = get_typed_column_reader::<T>(group.get_column_reader(at)?);
    let (mut values, mut present) = (Vec::new(), Vec::new());
    let (read, ..) = reader.read_records(rows, can_be_null.then_some(&mut present), None, &mut values)?;
    if read < rows {
        return Err(TableError::Pages);
    }
    let mut values = values.into_iter();
    Ok(match can_be_null {
        true => present.iter().map(|level| if *level == 0 { None } else { values.next() }).collect(),
        false => values.map(Some).collect(),
    })
}
