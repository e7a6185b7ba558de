//! Rows that sessions take from files: a user's name and password, terms to search for.
//!
//! The row of a session follows from the session's number, and that from the user's, so that any number of
//! workers use the same rows. A file is CSV (its first line names the columns) or JSON lines (an
//! object each).

use super::template::is_name;
use crate::file::{self, FileError, Load};
use farfield_base::random::{Purpose, Seed};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// `[[session.data]]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DataSpec {
    /// The file: `.csv`, or `.jsonl`, `.ndjson` or `.json` for JSON lines.
    pub file: PathBuf,
    /// The columns of a CSV file whose first line does not name them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// Order of the rows.
    #[serde(default)]
    pub order: DataOrder,
    /// Reaction once all rows have been used; by default `stop` for unique rows, else `go-round`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_up: Option<UsedUp>,
    /// Owner of a row.
    #[serde(default)]
    pub per: Per,
}

/// Order of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DataOrder {
    /// Order of the file.
    #[default]
    InOrder,
    /// Random order, by the seed.
    Shuffled,
    /// Order of the file, each row once.
    Unique,
}

/// Reaction once all rows have been used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UsedUp {
    /// Rows are used again, from the first.
    GoRound,
    /// No further session begins.
    Stop,
}

/// Owner of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// Each session.
    #[default]
    Session,
    /// Each user, for all of its sessions.
    User,
}

/// Rows, in the order in which they are handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Data {
    columns: Vec<String>,
    rows: Vec<Box<[Box<str>]>>,
    used_up: UsedUp,
    per: Per,
}

impl DataSpec {
    /// The rows, read through `load`; shuffled by `seed`, as the `number`-th file of the session.
    pub fn resolve(&self, load: &mut Load<'_>, seed: Seed, number: u64) -> Result<Data, FileError> {
        let text = file::read(&self.file, load)?;
        let whole = |problem: &str| FileError::Whole { path: self.file.clone(), problem: problem.to_owned() };
        let extension = self.file.extension().and_then(|end| end.to_str()).unwrap_or_default();
        let (columns, mut rows) = match extension.to_ascii_lowercase().as_str() {
            "csv" => of_csv(&self.file, &text, &self.columns)?,
            "jsonl" | "ndjson" | "json" => of_json(&self.file, &text)?,
            _ => return Err(whole("is neither `.csv` nor `.jsonl`; name it so")),
        };
        if let Some(bad) = columns.iter().find(|name| !is_name(name)) {
            return Err(whole(&format!(
                "`{bad}` is no name for a column; write letters, digits, `-`, `_` and `.`"
            )));
        }
        if rows.is_empty() {
            return Err(whole("has no rows; write at least one"));
        }
        if self.order == DataOrder::Shuffled {
            let mut rng = seed.stream(Purpose::Site, 1 << 43 | number);
            for last in (1..rows.len()).rev() {
                rows.swap(last, rng.random_range(0..=last));
            }
        }
        let default = if self.order == DataOrder::Unique { UsedUp::Stop } else { UsedUp::GoRound };
        Ok(Data { columns, rows, used_up: self.used_up.unwrap_or(default), per: self.per })
    }
}

impl Data {
    /// The names of its columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The row of a user's session; nothing if all have been handed out and no more are.
    pub fn row(&self, user: u64, session: u64) -> Option<u32> {
        let number = match self.per {
            Per::Session => session,
            Per::User => user,
        };
        let rows = self.rows.len() as u64;
        match self.used_up {
            UsedUp::GoRound => Some((number % rows) as u32),
            UsedUp::Stop => (number < rows).then_some(number as u32),
        }
    }

    /// The value in a row and a column, which must be there.
    pub fn value(&self, row: u32, column: u16) -> &str {
        &self.rows[row as usize][usize::from(column)]
    }
}

/// The mark at the beginning of a text that says that it is UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

type Rows = (Vec<String>, Vec<Box<[Box<str>]>>);

fn of_csv(path: &Path, text: &[u8], columns: &[String]) -> Result<Rows, FileError> {
    let text = text.strip_prefix(MARK).unwrap_or(text);
    let line =
        |line: u64, problem: String| FileError::Line { path: path.to_owned(), line: line as usize, problem };
    let mut reader =
        csv::ReaderBuilder::new().has_headers(columns.is_empty()).trim(csv::Trim::Headers).from_reader(text);
    // The reader's place of a record is before the empty lines that it passes over.
    let line_at = |position: Option<&csv::Position>| {
        let Some(position) = position else { return 1 };
        let behind = text.get(position.byte() as usize..).unwrap_or_default();
        let ends = behind.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
        position.line() + ends.filter(|byte| **byte == b'\n').count() as u64
    };
    let line_error = |error: &csv::Error| {
        let at = line_at(error.position());
        match error.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                line(at, format!("has {len} fields where the first line has {expected_len}"))
            }
            csv::ErrorKind::Utf8 { .. } => line(at, "is not UTF-8 text".to_owned()),
            _ => line(at, error.to_string()),
        }
    };
    let names: Vec<String> = match columns.is_empty() {
        true => reader.headers().map_err(|error| line_error(&error))?.iter().map(str::to_owned).collect(),
        false => columns.to_vec(),
    };
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| line_error(&error))?;
        if record.len() != names.len() {
            let at = line_at(record.position());
            return Err(line(at, format!("has {} fields for {} columns", record.len(), names.len())));
        }
        rows.push(record.iter().map(Box::from).collect());
    }
    Ok((names, rows))
}

fn of_json(path: &Path, text: &[u8]) -> Result<Rows, FileError> {
    let text = text.strip_prefix(MARK).unwrap_or(text);
    let mut names: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for (number, text) in text.split(|byte| *byte == b'\n').enumerate() {
        if text.trim_ascii().is_empty() {
            continue;
        }
        let line = |problem: String| FileError::Line { path: path.to_owned(), line: number + 1, problem };
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(text)
            .map_err(|_| line("is no JSON object; write one such as {\"name\": \"x\"}".to_owned()))?;
        if rows.is_empty() {
            names = object.keys().cloned().collect();
        }
        let value = |name: &String| match object.get(name) {
            Some(serde_json::Value::String(text)) => Ok(Box::from(text.as_str())),
            Some(other) => Ok(other.to_string().into()),
            None => Err(line(format!("has no `{name}`, which the first line has"))),
        };
        rows.push(names.iter().map(value).collect::<Result<_, _>>()?);
    }
    Ok((names, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(name: &str, text: &str, more: &str) -> Result<Data, String> {
        let spec: DataSpec = toml::from_str(&format!("file = '{name}'\n{more}")).expect("a spec");
        spec.resolve(&mut |_| Ok(text.as_bytes().to_vec()), Seed(1), 0).map_err(|error| error.to_string())
    }

    fn column(data: &Data, number: u16) -> Vec<&str> {
        (0..data.rows.len() as u32).map(|row| data.value(row, number)).collect()
    }

    #[test]
    fn both_formats_give_rows() {
        let csv = data("u.csv", "name,pass\nann,\"a,b\"\nbob,x\n", "").expect("rows");
        assert_eq!(csv.columns(), ["name", "pass"]);
        assert_eq!((column(&csv, 0), column(&csv, 1)), (vec!["ann", "bob"], vec!["a,b", "x"]));
        let json =
            data("u.jsonl", "{\"a\": \"x\", \"n\": 5}\n\n{\"n\": [1], \"a\": \"y\"}", "").expect("rows");
        assert_eq!(json.columns(), ["a", "n"]);
        assert_eq!((column(&json, 0), column(&json, 1)), (vec!["x", "y"], vec!["5", "[1]"]));
        let bare = data("u.csv", "ann,x\n", "columns = ['name', 'pass']").expect("rows");
        assert_eq!(column(&bare, 0), ["ann"]);
        // A mark of UTF-8, as spreadsheets write it, is no part of the first.
        for (name, text, more) in [
            ("u.csv", "\u{feff}name\nann\n", ""),
            ("u.csv", "\u{feff}ann\n", "columns = ['name']"),
            ("u.jsonl", "\u{feff}{\"name\": \"ann\"}\n", ""),
        ] {
            let marked = data(name, text, more).expect("rows");
            assert_eq!(
                (marked.columns(), column(&marked, 0)),
                (&["name".to_owned()][..], vec!["ann"]),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_line() {
        let error_of = |name, text, more| data(name, text, more).expect_err(text);
        assert_eq!(
            error_of("u.csv", "a,b\n1,2\n3\n", ""),
            "u.csv:3: has 1 fields where the first line has 2"
        );
        let behind_empty_lines = error_of("u.csv", "a,b\n1,2\n\r\n\n3\n", "");
        assert!(behind_empty_lines.starts_with("u.csv:5: has 1 fields"), "{behind_empty_lines}");
        let with_columns = error_of("u.csv", "1,2\n\n3,4\n", "columns = ['a']");
        assert!(with_columns.starts_with("u.csv:1: has 2 fields for 1 columns"), "{with_columns}");
        assert_eq!(
            error_of("u.jsonl", "{\"a\": 1}\n{\"b\": 1}", ""),
            "u.jsonl:2: has no `a`, which the first line has"
        );
        assert!(error_of("u.jsonl", "{\"a\": 1}\nx", "").starts_with("u.jsonl:2: is no JSON object"));
        assert!(error_of("u.csv", "a b\n1\n", "").contains("`a b` is no name"));
        assert_eq!(error_of("u.csv", "a\n", ""), "u.csv: has no rows; write at least one");
        assert!(error_of("u.txt", "a\n1\n", "").contains("neither"));
    }

    #[test]
    fn rows_follow_from_numbers() {
        let text = "n\n0\n1\n2\n3\n4\n5\n6\n7\n";
        let unique = data("u.csv", text, "order = 'unique'").expect("rows");
        assert_eq!((unique.row(0, 7), unique.row(0, 8)), (Some(7), None));
        let round = data("u.csv", text, "order = 'unique'\nused-up = 'go-round'").expect("rows");
        assert_eq!(round.row(0, 8), Some(0));
        let user = data("u.csv", text, "per = 'user'").expect("rows");
        assert_eq!((user.row(3, 100), user.row(11, 0)), (Some(3), Some(3)));
        let shuffled = data("u.csv", text, "order = 'shuffled'").expect("rows");
        let mut values = column(&shuffled, 0);
        assert_ne!(values, column(&round, 0));
        values.sort_unstable();
        assert_eq!(values, column(&round, 0));
    }
}
