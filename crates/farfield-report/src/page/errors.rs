//! Failures by path and status code, and when.

use super::{NAMES, escaped, table};
use crate::chart::{Axis, Chart, Mark, Series, Spacing};
use crate::figures::{count, percent};
use crate::page::thin::{Stays, thinned};
use farfield_measure::Summary;
use farfield_measure::series::SeriesRow;
use farfield_measure::summary::PathSummary;
use std::collections::BTreeMap;

/// Columns of codes and outcomes before the others are one.
const COLUMNS: usize = 8;

/// A party at fault, and its number of requests in a second.
type PartyLine = (&'static str, fn(&SeriesRow) -> u64);

/// A line for each party at fault; nothing where all went well.
pub(super) fn over_time(rows: &[SeriesRow]) -> Option<Chart> {
    let faults: [PartyLine; 4] = [
        ("by the server", |row| row.failed_server),
        ("by the network", |row| row.failed_network),
        ("by a limit of this client", |row| row.failed_client),
        ("no HTTP", |row| row.failed_protocol),
    ];
    let line = |(name, value): PartyLine| {
        let points: Vec<(f64, f64)> = rows.iter().map(|row| (row.second as f64, value(row) as f64)).collect();
        Series::new(name, Mark::Line, thinned(&points, Stays::Extremes))
    };
    let any = faults.into_iter().filter(|(_, value)| rows.iter().any(|row| value(row) > 0));
    let lines: Vec<Series> = any.map(line).collect();
    let up = Axis { label: "requests in the second".to_owned(), spacing: Spacing::FromZero };
    let across = Axis::linear("second of the run");
    (!lines.is_empty()).then(|| Chart::new("Failed requests", across, up, lines))
}

/// Paths by what became of their requests, those with most errors first; nothing where all went well.
pub(super) fn by_path(page: &mut String, summary: &Summary) {
    let shown = PathSummary::telling(&summary.paths);
    if shown.is_empty() {
        return;
    }
    let mut totals = BTreeMap::<String, u64>::new();
    let of_path: Vec<BTreeMap<String, u64>> = shown.iter().map(|path| ends(path)).collect();
    for (end, requests) in of_path.iter().flatten() {
        *totals.entry(end.clone()).or_default() += requests;
    }
    // Codes in order, and outcomes without one behind them.
    let mut columns: Vec<String> = totals.keys().cloned().collect();
    columns.sort_by_key(|end| std::cmp::Reverse(totals[end]));
    let others = columns.split_off(columns.len().min(COLUMNS));
    columns.sort();
    let number = |requests: u64| match requests {
        0 => "<span class=\"none\">0</span>".to_owned(),
        requests => count(requests),
    };
    let row = |(path, ends): (&&PathSummary, &BTreeMap<String, u64>)| {
        let mut cells = vec![
            format!("<span class=\"name\">{}</span>", escaped(&path.path)),
            count(path.requests),
            path.error_share.map_or_else(|| "–".to_owned(), percent),
        ];
        cells.extend(columns.iter().map(|end| number(ends.get(end).copied().unwrap_or(0))));
        if !others.is_empty() {
            cells.push(number(others.iter().filter_map(|end| ends.get(end)).sum()));
        }
        cells
    };
    let mut rows: Vec<Vec<String>> = shown.iter().zip(&of_path).take(NAMES).map(row).collect();
    if let Some(rest) = shown.len().checked_sub(NAMES).filter(|rest| *rest > 0) {
        rows.push(vec![format!("{rest} more paths, in summary.json")]);
    }
    let mut head = vec!["path".to_owned(), "requests".to_owned(), "errors".to_owned()];
    head.extend(columns.iter().map(|end| escaped(end)));
    head.extend((!others.is_empty()).then(|| "others".to_owned()));
    page.push_str("<h3>By path and status code</h3>\n");
    table(page, &head.iter().map(String::as_str).collect::<Vec<_>>(), &rows);
}

/// Requests of a path by status code, and by outcome where no whole reply came.
fn ends(path: &PathSummary) -> BTreeMap<String, u64> {
    let codes = path.statuses.iter().map(|own| (own.status.to_string(), own.count));
    let is_code = |name: &str| name == "ok" || name.starts_with("status-");
    let outcomes = path.outcomes.iter().filter(|own| !is_code(&own.name));
    codes.chain(outcomes.map(|own| (own.name.clone(), own.count))).collect()
}
