//! A row for each run: its place in the design, what it set, its verdict, the metrics, and every number of
//! its summary. As CSV and as Parquet, for any program that reads tables.
//!
//! Numbers of the summary have the names of their keys, with dots between; in lists they have the names of
//! their entries, such as `steady.times.response.p99.value_ns`. Times are in nanoseconds. Lists without names
//! are left out, but for intervals, which become `.low` and `.high`.

use crate::directory::RunDirectory;
use farfield_experiment::sweep::{RunRecord, SweepReport};
use parquet::basic::{Compression, ConvertedType, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Columns at most: a summary with thousands of paths has no end.
const COLUMNS_MAX: usize = 4_000;
/// Tables of the summary that say what was asked for, or are drawn from elsewhere.
const LEFT_OUT: [&str; 4] = ["heading", "topology", "placement", "schema_version"];

/// A table with a name for each column.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    names: Vec<String>,
    rows: Vec<Vec<Option<Cell>>>,
}

/// The content of a cell.
#[derive(Debug, Clone, PartialEq)]
enum Cell {
    Text(String),
    Whole(i64),
    Number(f64),
    Truth(bool),
}

/// A table as it grows: a row has values by the names of columns, which appear as they are first used.
#[derive(Default)]
struct Builder {
    names: Vec<String>,
    places: BTreeMap<String, usize>,
    rows: Vec<Vec<Option<Cell>>>,
}

impl Builder {
    fn put(&mut self, name: &str, cell: Cell) {
        let place = match self.places.get(name) {
            Some(place) => *place,
            None if self.names.len() < COLUMNS_MAX => {
                self.names.push(name.to_owned());
                self.places.insert(name.to_owned(), self.names.len() - 1);
                self.names.len() - 1
            }
            None => return,
        };
        let row = self.rows.last_mut().expect("a row was begun");
        if row.len() <= place {
            row.resize(place + 1, None);
        }
        row[place] = Some(cell);
    }

    /// Every number below `value`.
    fn put_all(&mut self, name: &str, value: &Value) {
        let below = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
        match value {
            Value::Bool(truth) => self.put(name, Cell::Truth(*truth)),
            Value::Number(number) => match number.as_i64() {
                Some(whole) => self.put(name, Cell::Whole(whole)),
                None => self.put(name, Cell::Number(number.as_f64().unwrap_or(f64::NAN))),
            },
            Value::Object(keys) => {
                for (key, value) in keys.iter().filter(|(key, _)| !LEFT_OUT.contains(&key.as_str())) {
                    self.put_all(&below(key), value);
                }
            }
            Value::Array(entries) => match entries.as_slice() {
                [low @ Value::Number(_), high @ Value::Number(_)] => {
                    self.put_all(&below("low"), low);
                    self.put_all(&below("high"), high);
                }
                entries => {
                    for entry in entries {
                        if let Some(own) = entry.get("name").and_then(Value::as_str) {
                            // Percentiles are known by their names alone.
                            let of_list = name.strip_suffix(".quantiles").unwrap_or(name);
                            self.put_all(&format!("{of_list}.{own}"), entry);
                        }
                    }
                }
            },
            Value::Null | Value::String(_) => {}
        }
    }
}

impl Table {
    /// The table of a sweep, whose run directories in `folder` are read. Of one that cannot be read the row
    /// has what the sweep knows.
    pub fn of(report: &SweepReport, folder: &Path) -> Table {
        let mut table = Builder::default();
        for run in &report.runs {
            table.rows.push(Vec::new());
            put_run(&mut table, report, run);
            let summary = RunDirectory::open(folder.join(&run.directory));
            if let Ok(Ok(summary)) = summary.map(|run| serde_json::from_str::<Value>(run.json())) {
                table.put_all("", &summary);
            }
        }
        let Builder { names, mut rows, .. } = table;
        for row in &mut rows {
            row.resize(names.len(), None);
        }
        Table { names, rows }
    }

    /// The table as CSV (RFC 4180), with names in the first line.
    pub fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let words = |cell: &Option<Cell>| cell.as_ref().map_or(String::new(), Cell::words);
        let mut written = writer.write_record(&self.names);
        for row in &self.rows {
            written = written.and_then(|()| writer.write_record(row.iter().map(words)));
        }
        written.expect("memory takes all");
        let bytes = writer.into_inner().expect("memory takes all");
        String::from_utf8(bytes).expect("of texts")
    }

    /// The table as a Parquet file.
    ///
    /// # Errors
    /// If the encoder refuses.
    pub fn parquet(&self) -> Result<Vec<u8>, ParquetError> {
        let kinds: Vec<ColumnType> = (0..self.names.len()).map(|column| self.kind(column)).collect();
        let fields: Result<Vec<_>, _> =
            self.names.iter().zip(&kinds).map(|(name, kind)| kind.field(name).map(Arc::new)).collect();
        let schema = Type::group_type_builder("runs").with_fields(fields?).build()?;
        let level = ZstdLevel::try_new(3)?;
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
        let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
        let mut group = writer.next_row_group()?;
        let mut column = 0;
        while let Some(mut to) = group.next_column()? {
            self.write(column, kinds[column], &mut to)?;
            to.close()?;
            column += 1;
        }
        group.close()?;
        writer.into_inner()
    }

    fn kind(&self, column: usize) -> ColumnType {
        let cells = || self.rows.iter().filter_map(move |row| row[column].as_ref());
        match () {
            () if cells().all(|cell| matches!(cell, Cell::Truth(_))) => ColumnType::Truth,
            () if cells().all(|cell| matches!(cell, Cell::Whole(_))) => ColumnType::Whole,
            () if cells().all(|cell| matches!(cell, Cell::Whole(_) | Cell::Number(_))) => ColumnType::Number,
            () => ColumnType::Text,
        }
    }

    fn write(
        &self,
        column: usize,
        kind: ColumnType,
        to: &mut SerializedColumnWriter,
    ) -> Result<(), ParquetError> {
        let cells = self.rows.iter().map(|row| row[column].as_ref());
        let present: Vec<i16> = cells.clone().map(|cell| i16::from(cell.is_some())).collect();
        let cells = cells.flatten();
        match kind {
            ColumnType::Truth => {
                let values: Vec<bool> = cells.map(|cell| *cell == Cell::Truth(true)).collect();
                to.typed::<BoolType>().write_batch(&values, Some(&present), None)?;
            }
            ColumnType::Whole => {
                let values: Vec<i64> = cells.map(|cell| cell.number() as i64).collect();
                to.typed::<Int64Type>().write_batch(&values, Some(&present), None)?;
            }
            ColumnType::Number => {
                let values: Vec<f64> = cells.map(Cell::number).collect();
                to.typed::<DoubleType>().write_batch(&values, Some(&present), None)?;
            }
            ColumnType::Text => {
                let values: Vec<ByteArray> = cells.map(|cell| cell.words().as_str().into()).collect();
                to.typed::<ByteArrayType>().write_batch(&values, Some(&present), None)?;
            }
        }
        Ok(())
    }
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ColumnType {
    Truth,
    Whole,
    Number,
    Text,
}

impl ColumnType {
    fn field(self, name: &str) -> Result<Type, ParquetError> {
        let (physical, converted) = match self {
            ColumnType::Truth => (PhysicalType::BOOLEAN, ConvertedType::NONE),
            ColumnType::Whole => (PhysicalType::INT64, ConvertedType::NONE),
            ColumnType::Number => (PhysicalType::DOUBLE, ConvertedType::NONE),
            ColumnType::Text => (PhysicalType::BYTE_ARRAY, ConvertedType::UTF8),
        };
        let builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
        builder.with_converted_type(converted).build()
    }
}

impl Cell {
    fn number(&self) -> f64 {
        match self {
            Cell::Whole(number) => *number as f64,
            Cell::Number(number) => *number,
            Cell::Text(_) | Cell::Truth(_) => f64::NAN,
        }
    }

    fn words(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Whole(number) => number.to_string(),
            Cell::Number(number) => number.to_string(),
            Cell::Truth(truth) => truth.to_string(),
        }
    }
}

/// Puts the sweep's own columns of a run.
fn put_run(table: &mut Builder, report: &SweepReport, run: &RunRecord) {
    let design = &run.design;
    table.put("experiment", Cell::Text(report.experiment.clone()));
    for (name, number) in [
        ("run", i64::from(design.number)),
        ("point", run.point as i64 + 1),
        ("repeat", i64::from(design.repeat)),
        ("block", i64::from(design.block)),
        ("attempt", i64::from(run.attempt)),
        ("seed", i64::try_from(design.seed).unwrap_or(i64::MAX)),
    ] {
        table.put(name, Cell::Whole(number));
    }
    for setting in &report.points[run.point].settings {
        table.put(&setting.key, Cell::Text(setting.value.clone()));
    }
    table.put("counts", Cell::Truth(run.counts()));
    if let Some(cause) = run.validity.cause() {
        table.put("cause", Cell::Text(cause.to_owned()));
    }
    if !run.missed.is_empty() {
        table.put("missed", Cell::Text(run.missed.join(", ")));
    }
    if !run.relaxed.is_empty() {
        table.put("relaxed", Cell::Text(run.relaxed.join(", ")));
    }
    table.put("warnings", Cell::Whole(i64::from(run.warnings)));
    table.put("took_s", Cell::Number(run.took_s));
    table.put("directory", Cell::Text(run.directory.display().to_string()));
    for reading in &run.readings {
        if let Some(value) = reading.value {
            table.put(&reading.metric, Cell::Number(value));
        }
    }
}

#[cfg(test)]
mod tests;
