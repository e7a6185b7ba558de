//! Lists of tables as rows of the form. A row is the values of its table's fields; `from` is the number of
//! the table in the text that it was read from, whose other keys it keeps wherever it is moved.

use super::{lay_over, values_of};
use crate::workbench::fields::{Rows, RowsWritten, SOURCES};
use crate::workbench::refusal::KeyRefusal;
use serde_json::{Value as Json, json};
use toml::{Table, Value};

/// The member of a row that has the number of its table in the text.
const FROM: &str = "from";

/// The rows of a value, in order; none where the value is no list of such tables.
pub fn read(rows: &Rows, value: &Value) -> Option<Json> {
    let row = |(number, table): (usize, Table)| {
        let mut values = values_of(&table, rows.fields.iter());
        values.insert(FROM.to_owned(), json!(number));
        Json::Object(values)
    };
    Some(tables_of(rows.written, value)?.into_iter().enumerate().map(row).collect())
}

/// The tables of `key` with the rows laid over them; none if there is no row with anything in it.
pub fn write(
    rows: &Rows,
    given: &Json,
    before: Option<&Value>,
    key: &str,
) -> Result<Option<Value>, KeyRefusal> {
    let known = before.and_then(|before| tables_of(rows.written, before)).unwrap_or_default();
    let mut tables: Vec<Table> = Vec::new();
    for row in given.as_array().into_iter().flatten().filter_map(Json::as_object) {
        let number = row.get(FROM).and_then(Json::as_u64).and_then(|number| usize::try_from(number).ok());
        let from = number.and_then(|number| known.get(number));
        let mut table = from.cloned().unwrap_or_default();
        lay_over(&mut table, rows.fields.iter(), row, &format!("{key}[{}].", tables.len()))?;
        if from.is_some() || !table.is_empty() {
            tables.push(table);
        }
    }
    if tables.is_empty() {
        return Ok(None);
    }
    match rows.written {
        RowsWritten::List | RowsWritten::Stages => {
            Ok(Some(Value::Array(tables.into_iter().map(Value::Table).collect())))
        }
        RowsWritten::Extracts => extracts(tables, key).map(Some),
    }
}

/// The tables that a value has, as their fields are named; none where it is none of these.
fn tables_of(written: RowsWritten, value: &Value) -> Option<Vec<Table>> {
    match (written, value) {
        (RowsWritten::Stages, Value::String(text)) => text.split(',').map(stage).collect(),
        (RowsWritten::Extracts, Value::Table(all)) => {
            all.iter().map(|(name, value)| extract(name, value.as_table()?)).collect()
        }
        (RowsWritten::List | RowsWritten::Stages, Value::Array(all)) => {
            all.iter().map(|one| one.as_table().cloned()).collect()
        }
        _ => None,
    }
}

/// A stage in short, `1m:100`.
fn stage(text: &str) -> Option<Table> {
    let (lasts, to) = text.split_once(':')?;
    let to = super::scalar(to.trim());
    Some(Table::from_iter([("for".to_owned(), Value::from(lasts.trim())), ("to".to_owned(), to)]))
}

/// A value from a reply as a row: its name, how it is found, and by what.
fn extract(name: &str, table: &Table) -> Option<Table> {
    let mut by = SOURCES.iter().filter(|source| table.contains_key(**source));
    let (Some(source), None) = (by.next(), by.next()) else { return None };
    if ["name", "by", "what"].into_iter().any(|key| table.contains_key(key)) {
        return None;
    }
    let mut row = table.clone();
    let what = row.remove(*source).filter(Value::is_str)?;
    row.extend([
        ("name".to_owned(), Value::from(name)),
        ("by".to_owned(), Value::from(*source)),
        ("what".to_owned(), what),
    ]);
    Some(row)
}

/// Rows as values from a reply, by their names.
fn extracts(rows: Vec<Table>, key: &str) -> Result<Value, KeyRefusal> {
    let mut all = Table::new();
    for (number, mut row) in rows.into_iter().enumerate() {
        let refused =
            |field: &str, sentence: &str| Err(KeyRefusal::at(format!("{key}[{number}].{field}"), sentence));
        let Some(Value::String(name)) = row.remove("name") else {
            return refused("name", "a value has a name, by which later steps have it; write one");
        };
        let what = row.remove("what");
        match row.remove("by") {
            Some(Value::String(source)) => row.extend(what.map(|what| (source, what))),
            _ => return refused("by", "choose how the value is found"),
        }
        if all.contains_key(&name) {
            return refused("name", "another value has this name; write another");
        }
        all.insert(name, Value::Table(row));
    }
    Ok(Value::Table(all))
}
