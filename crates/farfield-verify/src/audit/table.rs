//! A plain table, for tools whose report is not read: CSV with a line of names and a row for each request.
//!
//! | column | is |
//! | --- | --- |
//! | `response_s`, `response_ms`, `response_us` or `response_ns` | its response time; needed |
//! | `start_s`, `start_ms`, `start_us` or `start_ns` | when it began, from any instant on |
//! | `status` | the reply's status; 0, empty, or 400 and above is an error |
//! | `bytes` | bytes received |
//!
//! Further columns are ignored. Rows whose time is no number are left out and counted in a note.

use super::reported::{Reported, Tool};
use super::rows::{self, ToolRow};
use super::text::whole;

const UNITS: [(&str, f64); 4] = [("_s", 1e9), ("_ms", 1e6), ("_us", 1e3), ("_ns", 1.0)];

/// Reads the table in `text`.
pub fn read(text: &str) -> Option<Reported> {
    let mut reader =
        csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(text.as_bytes());
    let names = reader.headers().ok()?.clone();
    let column = |name: &str| names.iter().position(|column| column == name);
    let with_unit = |name: &str| {
        UNITS.iter().find_map(|(unit, factor)| Some((column(&format!("{name}{unit}"))?, *factor)))
    };
    let (took, start) = (with_unit("response")?, with_unit("start"));
    let (status, bytes) = (column("status"), column("bytes"));
    let (mut rows, mut left_out) = (Vec::new(), 0u64);
    for row in reader.records() {
        let Ok(row) = row else {
            left_out += 1;
            continue;
        };
        let ns = |(at, factor): (usize, f64)| {
            let value: f64 = row.get(at)?.parse().ok()?;
            (value.is_finite() && value >= 0.0).then(|| (value * factor).round() as u64)
        };
        let Some(took_ns) = ns(took) else {
            left_out += 1;
            continue;
        };
        let code = status.map(|at| row.get(at).and_then(whole).unwrap_or(0));
        rows.push(ToolRow {
            start_ns: start.and_then(ns),
            took_ns,
            failed: code.is_some_and(|code| code == 0 || code >= 400),
            bytes: bytes.and_then(|at| row.get(at)).and_then(whole).unwrap_or(0),
            users: 0,
        });
    }
    let mut found = rows::report(Tool::Csv, &rows, 0)?;
    if status.is_none() {
        found.errors = None;
    }
    if left_out > 0 {
        found.note(&format!("{left_out} rows of the table have no response time and are left out"));
    }
    Some(found)
}
