//! `events.parquet`: the events of replies that are streams, in the order in which they came to the
//! collector.
//!
//! A row is what ended within one piece of a stream, such as a chunk: an event, and those `alongside` it.
//! Columns: `at_ns` in nanoseconds since the start of the run; `gap_ns`, the time from the event before, null
//! for the first of its stream; `alongside`; `user`, `connection`, `number`, `request`, `class` and `host` as
//! in the samples; `due_ns`, the instant at which the request was due.
//!
//! Rows are written 65,536 at a time, and the file is whole when the run has ended: unlike the samples, a run
//! that was killed leaves none that can be read.

use crate::table::{self, TableError, begin_differences, optional, required};
use farfield_base::{Duration, HostNumber, Instant, ReplyEvent};
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, RowGroupReader};
use parquet::file::writer::SerializedFileWriter;
use std::io::Write;

/// The file's name in a run directory.
pub const EVENTS_FILE: &str = "events.parquet";

const SCHEMA: &str = "message events { required int64 at_ns; optional int64 gap_ns; \
                      required int32 alongside (integer(32,false)); required int32 user (integer(32,false)); \
                      required int32 connection (integer(32,false)); \
                      required int32 number (integer(32,false)); \
                      required int32 request (integer(32,false)); \
                      required int32 class (integer(16,false)); \
                      required int32 host (integer(8,false)); \
                      required int64 due_ns; }";
/// Rows whose columns are in memory at once.
const GROUP_ROWS: usize = 1 << 16;

/// Writes the file while events come.
pub struct EventsWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    rows: Vec<ReplyEvent>,
}

impl<W: Write + Send> EventsWriter<W> {
    /// Begins a file without rows.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn begin(to: W) -> Result<EventsWriter<W>, ParquetError> {
        Ok(EventsWriter { file: begin_differences(SCHEMA, to)?, rows: Vec::new() })
    }

    /// Takes the next row.
    ///
    /// # Errors
    /// Those of the file.
    pub fn write(&mut self, event: &ReplyEvent) -> Result<(), ParquetError> {
        self.rows.push(*event);
        if self.rows.len() == GROUP_ROWS { self.flush() } else { Ok(()) }
    }

    /// Bytes that were written so far.
    pub fn bytes(&self) -> u64 {
        self.file.bytes_written() as u64
    }

    /// Ends the file.
    ///
    /// # Errors
    /// Those of the file.
    pub fn finish(mut self) -> Result<(), ParquetError> {
        self.flush()?;
        self.file.close().map(drop)
    }

    fn flush(&mut self) -> Result<(), ParquetError> {
        let rows = std::mem::take(&mut self.rows);
        if rows.is_empty() {
            return Ok(());
        }
        let rows = rows.as_slice();
        let mut group = self.file.next_row_group()?;
        required::<Int64Type, _, _>(&mut group, rows, |row| row.at.as_ns().cast_signed())?;
        optional::<Int64Type, _, _>(&mut group, rows, |row| row.gap.map(|gap| gap.as_ns().cast_signed()))?;
        required::<Int32Type, _, _>(&mut group, rows, |row| row.alongside.cast_signed())?;
        required::<Int32Type, _, _>(&mut group, rows, |row| row.user.cast_signed())?;
        required::<Int32Type, _, _>(&mut group, rows, |row| row.connection.cast_signed())?;
        required::<Int32Type, _, _>(&mut group, rows, |row| row.number.cast_signed())?;
        required::<Int32Type, _, _>(&mut group, rows, |row| row.request.cast_signed())?;
        required::<Int32Type, _, _>(&mut group, rows, |row| row.class.into())?;
        required::<Int32Type, _, _>(&mut group, rows, |row| row.host.0.into())?;
        required::<Int64Type, _, _>(&mut group, rows, |row| row.due.as_ns().cast_signed())?;
        group.close().map(drop)
    }
}

/// The rows of a file, in their order.
///
/// # Errors
/// If it is damaged, or lacks a column.
///
/// `None` if there are more than `most`, which are not read to their end.
pub fn read_parquet<R: ChunkReader + 'static>(
    from: R,
    most: u64,
) -> Result<Option<Vec<ReplyEvent>>, TableError> {
    let (mut events, mut count) = (Vec::new(), 0_u64);
    table::read(from, |group| {
        count = count.saturating_add(group.metadata().num_rows().max(0).cast_unsigned());
        if count > most {
            return Ok(());
        }
        let at = table::column::<Int64Type>(group, "at_ns")?;
        let gap = table::column::<Int64Type>(group, "gap_ns")?;
        let alongside = numbers(group, "alongside")?;
        let user = numbers(group, "user")?;
        let connection = numbers(group, "connection")?;
        let number = numbers(group, "number")?;
        let request = numbers(group, "request")?;
        let class = numbers(group, "class")?;
        // Files of before there were several have none.
        let host = numbers(group, "host").unwrap_or_else(|_| vec![0; at.len()]);
        // Older files do not say it: as if it had been the start of the run.
        let due = table::column::<Int64Type>(group, "due_ns").unwrap_or_else(|_| vec![Some(0); at.len()]);
        for row in 0..at.len() {
            let host = usize::try_from(host[row]).ok().filter(|number| *number < HostNumber::MOST);
            count = count.saturating_add(alongside[row].into());
            events.push(ReplyEvent {
                at: Instant::from_ns(at[row].ok_or(TableError::Column("at_ns"))?.cast_unsigned()),
                gap: gap[row].map(|ns| Duration::from_ns(ns.cast_unsigned())),
                alongside: alongside[row],
                user: user[row],
                connection: connection[row],
                number: number[row],
                request: request[row],
                class: u16::try_from(class[row]).map_err(|_| TableError::Column("class"))?,
                host: HostNumber::at(host.ok_or(TableError::Column("host"))?),
                due: Instant::from_ns(due[row].ok_or(TableError::Column("due_ns"))?.cast_unsigned()),
            });
        }
        Ok(())
    })?;
    Ok(Some(events).filter(|_| count <= most))
}

/// The values of a column in which every row has one.
fn numbers(group: &dyn RowGroupReader, name: &'static str) -> Result<Vec<u32>, TableError> {
    let column: Vec<Option<<Int32Type as DataType>::T>> = table::column::<Int32Type>(group, name)?;
    let values = column.into_iter().map(|value| value.map(i32::cast_unsigned));
    values.collect::<Option<Vec<u32>>>().ok_or(TableError::Column(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn event(number: u32) -> ReplyEvent {
        ReplyEvent {
            at: Instant::from_ns(u64::from(number) << 30),
            gap: (!number.is_multiple_of(3)).then(|| Duration::from_ns(u64::from(number) << 20)),
            alongside: number % 2,
            // Numbers that fit no signed integer.
            user: u32::MAX - number,
            connection: number / 4,
            number: number % 4,
            request: number % 5,
            class: (number % 7) as u16,
            host: HostNumber((number % 3) as u8),
            due: Instant::from_ns(u64::from(number) << 29),
        }
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        for count in [0, 1, GROUP_ROWS as u32 + 1] {
            let events: Vec<ReplyEvent> = (0..count).map(event).collect();
            let mut file = Vec::new();
            let mut writer = EventsWriter::begin(&mut file).unwrap();
            events.iter().for_each(|event| writer.write(event).unwrap());
            writer.finish().unwrap();
            let all: u64 = events.iter().map(ReplyEvent::events).sum();
            let read = |most| read_parquet(Bytes::from(file.clone()), most).unwrap();
            assert!(read(all).as_ref() == Some(&events), "{count} rows");
            assert!(all == 0 || read(all - 1).is_none(), "{count} rows");
        }
    }

    #[test]
    fn what_is_no_such_file_is_refused() {
        let mut series = Vec::new();
        crate::series::write_parquet([crate::series::SeriesRow::default()], &mut series).unwrap();
        let refused = read_parquet(Bytes::from(series), 9).unwrap_err();
        assert!(matches!(refused, TableError::Column("at_ns")), "{refused}");
        read_parquet(Bytes::from(b"PAR1".to_vec()), 9).unwrap_err();
    }
}
