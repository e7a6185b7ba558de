//! `monitors.parquet`: one row a number.

use super::readings::Readings;
use super::{SeriesId, SeriesName};
use crate::table::{self, TableError, begin, optional, required, text};
use farfield_base::Instant;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::ChunkReader;
use parquet::file::writer::SerializedFileWriter;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

/// Rows of a row group, and those of a reading more: it is encoded in memory.
const GROUP_ROWS: usize = 1 << 13;

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
    pub(super) readings: Readings,
}

/// One row of the file.
#[derive(Debug, Clone, Copy)]
struct MonitorRow {
    second: u64,
    at: Instant,
    series: SeriesId,
    value: f64,
}

/// The columns of a series: all its rows share them.
struct Texts {
    source: ByteArray,
    tier: ByteArray,
    name: ByteArray,
    pid: Option<i64>,
    metric: ByteArray,
}

impl Texts {
    fn of(series: &SeriesName) -> Texts {
        Texts {
            source: text(series.source.name()),
            tier: text(&series.tier),
            name: text(&series.name),
            pid: series.pid.map(i64::from),
            metric: text(&series.metric),
        }
    }
}

/// Writes the numbers as a Parquet file of eight columns: `second`, `at_ns`, `source`, `tier`, `name`, `pid`
/// (null where the series is of no process), `metric`, `value`.
///
/// # Errors
/// Of the writer `to`.
pub fn write_parquet<W: Write + Send>(snapshot: &Snapshot, to: W) -> Result<(), ParquetError> {
    let mut file = begin(SCHEMA, to)?;
    let texts: Vec<Texts> = snapshot.series.iter().map(|series| Texts::of(series)).collect();
    let mut rows = Vec::new();
    let mut written = Ok(());
    snapshot.readings.for_each(|reading| {
        if written.is_err() {
            return;
        }
        let row = |(series, value): &(SeriesId, f64)| MonitorRow {
            second: reading.second,
            at: reading.at,
            series: *series,
            value: *value,
        };
        rows.extend(reading.values.iter().map(row));
        if rows.len() >= GROUP_ROWS {
            written = write_group(&mut file, &rows, &texts);
            rows.clear();
        }
    });
    written?;
    if !rows.is_empty() {
        write_group(&mut file, &rows, &texts)?;
    }
    file.close()?;
    Ok(())
}

fn write_group<W: Write + Send>(
    file: &mut SerializedFileWriter<W>,
    rows: &[MonitorRow],
    texts: &[Texts],
) -> Result<(), ParquetError> {
    let of = |row: &MonitorRow| &texts[row.series.0 as usize];
    let mut group = file.next_row_group()?;
    required::<Int64Type, _, _>(&mut group, rows, |row| row.second.cast_signed())?;
    required::<Int64Type, _, _>(&mut group, rows, |row| row.at.as_ns().cast_signed())?;
    required::<ByteArrayType, _, _>(&mut group, rows, |row| of(row).source.clone())?;
    required::<ByteArrayType, _, _>(&mut group, rows, |row| of(row).tier.clone())?;
    required::<ByteArrayType, _, _>(&mut group, rows, |row| of(row).name.clone())?;
    optional::<Int64Type, _, _>(&mut group, rows, |row| of(row).pid)?;
    required::<ByteArrayType, _, _>(&mut group, rows, |row| of(row).metric.clone())?;
    required::<DoubleType, _, _>(&mut group, rows, |row| row.value)?;
    group.close()?;
    Ok(())
}

/// A series that was read back, by its names as they stand in the file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MonitoredSeries {
    /// The column `source`.
    pub source: String,
    /// The column `tier`.
    pub tier: String,
    /// The column `name`.
    pub name: String,
    /// The column `metric`.
    pub metric: String,
}

/// Reads the series of these `(source, metric)`, each as seconds and values in the order of the file. Rows of
/// single processes and threads are passed over.
///
/// # Errors
/// If the file is damaged, or lacks a column.
pub fn read_parquet<R: ChunkReader + 'static>(
    source: R,
    wanted: &[(&str, &str)],
) -> Result<BTreeMap<MonitoredSeries, Vec<(u64, f64)>>, TableError> {
    let mut found: BTreeMap<MonitoredSeries, Vec<(u64, f64)>> = BTreeMap::new();
    let words = |cell: Option<ByteArray>| {
        cell.map(|bytes| String::from_utf8_lossy(bytes.data()).into_owned()).unwrap_or_default()
    };
    table::read(source, |group| {
        let seconds = table::column::<Int64Type>(group, "second")?;
        let values = table::column::<DoubleType>(group, "value")?;
        let pids = table::column::<Int64Type>(group, "pid")?;
        let mut columns = ["source", "tier", "name", "metric"].into_iter();
        let mut next = || {
            let name = columns.next().expect("four are read");
            Ok::<_, TableError>(table::column::<ByteArrayType>(group, name)?.into_iter().map(words))
        };
        let (sources, tiers, names, metrics) = (next()?, next()?, next()?, next()?);
        let rows = sources.zip(tiers).zip(names.zip(metrics)).zip(seconds.into_iter().zip(values)).zip(pids);
        for ((((source, tier), (name, metric)), (second, value)), pid) in rows {
            let (Some(second), Some(value), None) = (second, value, pid) else { continue };
            if wanted.contains(&(source.as_str(), metric.as_str())) && value.is_finite() {
                let series = MonitoredSeries { source, tier, name, metric };
                found.entry(series).or_default().push((second.cast_unsigned(), value));
            }
        }
        Ok(())
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::{MonitorLog, SeriesSource};
    use super::*;
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
        let of_process = log.series(name(SeriesSource::Process, Some(7), "threads")).expect("a series");
        let of_tier = log.series(name(SeriesSource::Tier, None, "cpu_user_processors")).expect("a series");
        log.begin(0, Instant::from_ns(1_000_000_001));
        log.put(of_process, 3.0);
        log.put(of_tier, 0.25);
        log.begin(1, Instant::from_ns(2_000_000_002));
        log.put(of_tier, 0.5);
        log.end();
        let mut file = Vec::new();
        write_parquet(&log.snapshot(), &mut file).expect("memory takes all");
        let file = bytes::Bytes::from(file);
        let wanted = [("tier", "cpu_user_processors"), ("process", "threads")];
        let read = super::read_parquet(file.clone(), &wanted).expect("our own file");
        let values: Vec<_> =
            read.iter().map(|(series, values)| (series.tier.as_str(), values.clone())).collect();
        assert_eq!(
            values,
            [("web", vec![(0, 0.25), (1, 0.5)])],
            "the tier's alone: the other is a process's"
        );
        let reader = SerializedFileReader::new(file).expect("a Parquet file");
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
