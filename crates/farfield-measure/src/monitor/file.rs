//! `monitors.parquet`: one row a number.

use super::{Reading, SeriesName};
use crate::table::{begin, optional, required, text};
use parquet::data_type::{ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedRowGroupWriter;
use std::io::Write;
use std::sync::Arc;

/// Rows of a row group: it is encoded in memory.
const GROUP_ROWS: usize = 1 << 18;

const SCHEMA: &str = "message monitors {
    required int64 second (integer(64,false));
    required int64 at_ns (integer(64,false));
    required binary source (string);
    required binary tier (string);
    required binary name (string);
    optional int64 pid (integer(64,false));
    required binary metric (string);
    required double value;
}";

/// The numbers of a [`MonitorLog`](super::MonitorLog) at one time, which it shares.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(super) series: Vec<Arc<SeriesName>>,
    pub(super) readings: Vec<Arc<Reading>>,
}

/// One row of the file.
struct Row<'a> {
    reading: &'a Reading,
    series: &'a SeriesName,
    value: f64,
}

/// Writes the numbers as a Parquet file of eight columns: `second`, `at_ns`, `source`, `tier`, `name`, `pid`
/// (null where the series is of no process), `metric`, `value`.
///
/// # Errors
/// Of the writer `to`.
pub fn write_parquet<W: Write + Send>(snapshot: &Snapshot, to: W) -> Result<(), ParquetError> {
    let mut file = begin(SCHEMA, to)?;
    let mut readings = snapshot.readings.as_slice();
    while !readings.is_empty() {
        let mut rows = 0;
        let fitting = readings.iter().take_while(|reading| {
            rows += reading.values.len();
            rows <= GROUP_ROWS
        });
        let (now, rest) = readings.split_at(fitting.count().max(1));
        readings = rest;
        let mut group = file.next_row_group()?;
        write_group(&mut group, &rows_of(snapshot, now))?;
        group.close()?;
    }
    file.close()?;
    Ok(())
}

fn rows_of<'a>(snapshot: &'a Snapshot, readings: &'a [Arc<Reading>]) -> Vec<Row<'a>> {
    let of_reading = |reading: &'a Arc<Reading>| {
        let row = |(id, value): &(super::SeriesId, f64)| Row {
            reading,
            series: &snapshot.series[id.0 as usize],
            value: *value,
        };
        reading.values.iter().map(row)
    };
    readings.iter().flat_map(of_reading).collect()
}

fn write_group<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[Row<'_>],
) -> Result<(), ParquetError> {
    required::<Int64Type, _, _>(group, rows, |row| row.reading.second.cast_signed())?;
    required::<Int64Type, _, _>(group, rows, |row| row.reading.at.as_ns().cast_signed())?;
    required::<ByteArrayType, _, _>(group, rows, |row| text(row.series.source.name()))?;
    required::<ByteArrayType, _, _>(group, rows, |row| text(&row.series.tier))?;
    required::<ByteArrayType, _, _>(group, rows, |row| text(&row.series.name))?;
    optional::<Int64Type, _, _>(group, rows, |row| row.series.pid.map(i64::from))?;
    required::<ByteArrayType, _, _>(group, rows, |row| text(&row.series.metric))?;
    required::<DoubleType, _, _>(group, rows, |row| row.value)
}

#[cfg(test)]
mod tests {
    use super::super::{MonitorLog, Source};
    use super::*;
    use farfield_base::Instant;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    #[test]
    fn parquet_gives_back_what_went_in() {
        let mut log = MonitorLog::default();
        let name = |source, pid: Option<u32>, metric: &str| SeriesName {
            source,
            tier: "web".to_owned(),
            name: "nginx".to_owned(),
            pid,
            metric: metric.to_owned(),
        };
        let of_process = log.series(name(Source::Process, Some(7), "threads")).expect("a series");
        let of_tier = log.series(name(Source::Tier, None, "cpu_user_processors")).expect("a series");
        log.begin(0, Instant::from_ns(1_000_000_001));
        log.put(of_process, 3.0);
        log.put(of_tier, 0.25);
        log.begin(1, Instant::from_ns(2_000_000_002));
        log.put(of_tier, 0.5);
        log.end();
        let mut file = Vec::new();
        write_parquet(&log.snapshot(), &mut file).expect("memory takes all");
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).expect("a Parquet file");
        let rows: Vec<Vec<Field>> = reader
            .get_row_iter(None)
            .expect("rows")
            .map(|row| row.expect("a row").get_column_iter().map(|(_, field)| field.clone()).collect())
            .collect();
        let text = |text: &str| Field::Str(text.to_owned());
        let row = |second, at, source, pid, metric, value| {
            let head = [Field::ULong(second), Field::ULong(at), text(source), text("web"), text("nginx")];
            head.into_iter().chain([pid, text(metric), Field::Double(value)]).collect::<Vec<_>>()
        };
        let cpu = "cpu_user_processors";
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[0], row(0, 1_000_000_001, "process", Field::ULong(7), "threads", 3.0));
        assert_eq!(rows[1], row(0, 1_000_000_001, "tier", Field::Null, cpu, 0.25));
        assert_eq!(rows[2], row(1, 2_000_000_002, "tier", Field::Null, cpu, 0.5));
    }

    #[test]
    fn a_log_without_readings_is_a_file_too() {
        let mut file = Vec::new();
        write_parquet(&MonitorLog::default().snapshot(), &mut file).expect("memory takes all");
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).expect("a Parquet file");
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
    }
}
