//! `connections.parquet`: which connection of the samples had which addresses and ports, so that packets can
//! be assigned to it.
//!
//! One row for each connection that was begun, in the order of their numbers. A connection whose beginning
//! failed at once, without a packet, has none. Columns: `connection` and `user` as in the samples,
//! `opened_ns` in nanoseconds since the start of the run, `client` and `server` as text (`192.0.2.1:80`,
//! `[2001:db8::1]:80`).

use crate::parquet_bounds::{self, OutOfBounds};
use crate::table::{begin, required, text};
use farfield_base::{Instant, Opened};
use parquet::data_type::{ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::record::{Row, RowAccessor};
use std::io::Write;
use std::net::SocketAddr;

/// The file's name in a run directory.
pub const CONNECTIONS_FILE: &str = "connections.parquet";

const SCHEMA: &str = "message connections { required int32 connection (integer(32,false)); \
                      required int32 user (integer(32,false)); \
                      required int64 opened_ns (integer(64,false)); \
                      required binary client (string); required binary server (string); }";
/// Rows whose columns are in memory at once.
const GROUP_ROWS: usize = 1 << 16;

/// The error of reading the file.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionsError {
    /// The file is no Parquet, is damaged, or lacks a column.
    #[error("connections.parquet cannot be read: {0}")]
    Parquet(#[from] ParquetError),
    /// The file claims more than its reader is let hold.
    #[error("connections.parquet: {0}")]
    OutOfBounds(#[from] OutOfBounds),
    /// A row has no address and port where one belongs.
    #[error("connections.parquet has {found:?} in place of an address and port")]
    Address {
        /// The text found.
        found: String,
    },
}

/// Writes `rows`.
///
/// # Errors
/// Those of `to`.
pub fn write_parquet<W: Write + Send>(rows: &[Opened], to: W) -> Result<(), ParquetError> {
    let mut file = begin(SCHEMA, to)?;
    for rows in rows.chunks(GROUP_ROWS) {
        let mut group = file.next_row_group()?;
        // Parquet stores unsigned integers by their bits.
        required::<Int32Type, _, _>(&mut group, rows, |row| row.connection.cast_signed())?;
        required::<Int32Type, _, _>(&mut group, rows, |row| row.user.cast_signed())?;
        required::<Int64Type, _, _>(&mut group, rows, |row| row.at.as_ns().cast_signed())?;
        required::<ByteArrayType, _, _>(&mut group, rows, |row| text(&row.client.to_string()))?;
        required::<ByteArrayType, _, _>(&mut group, rows, |row| text(&row.server.to_string()))?;
        group.close()?;
    }
    file.close()?;
    Ok(())
}

/// Reads the rows of a file.
///
/// # Errors
/// If it is none that [`write_parquet`] could have written: see [`ConnectionsError`].
pub fn read_parquet<R: ChunkReader + 'static>(from: R) -> Result<Vec<Opened>, ConnectionsError> {
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&from)?;
    metadata.row_groups().iter().try_for_each(|group| parquet_bounds::check(&from, group))?;
    SerializedFileReader::new(from)?.get_row_iter(None)?.map(|row| opened(&row?)).collect()
}

fn opened(row: &Row) -> Result<Opened, ConnectionsError> {
    let address = |column| -> Result<SocketAddr, ConnectionsError> {
        let text = row.get_string(column)?;
        text.parse().map_err(|_| ConnectionsError::Address { found: text.clone() })
    };
    Ok(Opened {
        connection: row.get_uint(0)?,
        user: row.get_uint(1)?,
        at: Instant::from_ns(row.get_ulong(2)?),
        client: address(3)?,
        server: address(4)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn row(number: u32) -> Opened {
        let client = if number.is_multiple_of(2) { "127.9.8.7" } else { "[2001:db8::7]" };
        Opened {
            // Numbers that fit no signed integer.
            connection: u32::MAX - number,
            user: number,
            at: Instant::from_ns(u64::from(number) << 33),
            client: format!("{client}:{}", 1 + number % 65_535).parse().unwrap(),
            server: "[::1]:80".parse().unwrap(),
        }
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        for count in [0, 1, GROUP_ROWS as u32 + 1] {
            let rows: Vec<_> = (0..count).map(row).collect();
            let mut file = Vec::new();
            write_parquet(&rows, &mut file).unwrap();
            assert!(read_parquet(Bytes::from(file)).unwrap() == rows, "{count} rows");
        }
    }

    #[test]
    fn what_is_no_such_file_is_refused() {
        let mut file = Vec::new();
        write_parquet(&[row(1), row(2)], &mut file).unwrap();
        for bytes in [Vec::new(), b"PAR1".to_vec(), file[..file.len() - 9].to_vec()] {
            let refused = read_parquet(Bytes::from(bytes)).unwrap_err();
            assert!(matches!(refused, ConnectionsError::Parquet(_)), "{refused}");
        }
        let mut series = Vec::new();
        crate::series::write_parquet([crate::series::SeriesRow::default()], &mut series).unwrap();
        read_parquet(Bytes::from(series)).unwrap_err();
    }
}
