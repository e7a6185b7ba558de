//! The queries in docs/run-directory.md, run as a reader would: copied out of the page, in the directory of a
//! run, with the libraries that they name; and its table of outcomes against those that there are.

use crate::common::{Place, skip};
use farfield_base::Outcome;
use std::path::Path;
use std::process::Command;

const PAGE: &str = include_str!("../../../../docs/run-directory.md");

/// The blocks of the page in this language that name a file, in order.
fn blocks(language: &str, file: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    let after_fences = PAGE.split(fence.as_str()).skip(1);
    let blocks = after_fences.map(|text| text.split("\n```").next().expect("a fence that ends"));
    blocks.filter(|block| block.contains(file)).collect()
}

/// A new outcome is one that a reader meets in every output, and looks up there.
#[test]
fn the_page_names_every_outcome_with_its_fault() {
    let section = PAGE.split("\n## Outcomes\n").nth(1).expect("a section on outcomes");
    let section = section.split("\n## ").next().expect("text");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let rows: Vec<(&str, &str)> = rows
        .map(|row| {
            let (name, rest) = row.split_once("` | ").expect("a name");
            (name, rest.split(" | ").next().expect("a fault"))
        })
        .collect();
    let outcomes = Outcome::ALL.map(|outcome| (outcome.name(), outcome.fault().name()));
    for outcome in outcomes {
        assert_eq!(rows.iter().filter(|row| **row == outcome).count(), 1, "{outcome:?} has one row");
    }
    assert_eq!(rows.len(), outcomes.len(), "{rows:?}");
}

/// Output of a script in `directory`, run by the Python that has these modules; `None`, with the test
/// skipped, where there is none.
fn python(test: &str, modules: &str, directory: &Path, script: &str) -> Option<String> {
    let interpreter = std::env::var_os("FARFIELD_PYTHON").unwrap_or_else(|| "python3".into());
    let importable = Command::new(&interpreter).args(["-c", &format!("import {modules}")]).output();
    if !importable.is_ok_and(|output| output.status.success()) {
        skip(test, &format!("python3 cannot import {modules}"));
        return None;
    }
    let output = Command::new(&interpreter).args(["-c", script]).current_dir(directory).output();
    let output = output.expect("it was there");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}\n{complaint}");
    Some(String::from_utf8(output.stdout).expect("text"))
}

/// A DuckDB query as a script that prints a line for each row, with commas between its values.
fn duckdb(query: &str) -> String {
    format!("import duckdb\nfor row in duckdb.sql(\"\"\"{query}\"\"\").fetchall():\n    print(*row, sep=',')")
}

/// A run in virtual time, the same each time: 10 users for 5 s.
fn virtual_run(place: &Place) -> crate::common::Ended {
    place.run("--plane simulated -c 10 --think 20ms -d 5s --warm-up 1s").exits(0)
}

/// A number as the libraries' interpolated percentile has it, beside ours of the nearest rank.
fn is_near(found: f64, expected_ns: u64) -> bool {
    let expected = expected_ns as f64 / 1e6;
    (found - expected).abs() <= 0.02 * expected
}

fn p99_ns(ended: &crate::common::Ended) -> u64 {
    let times = ended.summary().steady.times.response.expect("response times");
    times.quantile_ns(farfield_measure::Quantile::P99).expect("a p99")
}

#[test]
fn pandas_finds_the_p99_of_the_summary() {
    let (place, test) = (Place::new(), "pandas_finds_the_p99_of_the_summary");
    let ended = virtual_run(&place);
    let [query] = blocks("python", "pandas.read_parquet(\"samples.parquet\")")[..] else {
        panic!("one query")
    };
    let Some(found) = python(test, "pandas, pyarrow", &ended.directory, query) else { return };
    let found: f64 = found.trim().trim_end_matches(" ms").parse().expect("a number");
    assert!(is_near(found, p99_ns(&ended)), "{found} {}", p99_ns(&ended));
}

#[test]
fn polars_counts_the_outcomes_of_the_summary() {
    let (place, test) = (Place::new(), "polars_counts_the_outcomes_of_the_summary");
    let ended = virtual_run(&place);
    let [query] = blocks("python", "polars.scan_parquet")[..] else { panic!("one query") };
    let Some(found) = python(test, "polars", &ended.directory, query) else { return };
    let requests = ended.summary().steady.requests.to_string();
    assert!(found.contains("ok") && found.contains(&requests), "{found}");
}

#[test]
fn duckdb_agrees_with_the_summary() {
    let (place, test) = (Place::new(), "duckdb_agrees_with_the_summary");
    let ended = virtual_run(&place);
    let [query] = blocks("sql", "samples.parquet")[..] else { panic!("one query") };
    let Some(found) = python(test, "duckdb", &ended.directory, &duckdb(query)) else { return };
    let cells: Vec<&str> = found.trim().split(',').collect();
    let summary = ended.summary();
    assert_eq!(cells[..2], ["ok", &summary.steady.requests.to_string()], "{found}");
    assert!(is_near(cells[2].parse().expect("a number"), p99_ns(&ended)), "{found}");

    let [query] = blocks("sql", "series.parquet")[..] else { panic!("one query") };
    let found = python(test, "duckdb", &ended.directory, &duckdb(query)).expect("it was there");
    let completed = |line: &str| line.split(',').nth(1).expect("a column").parse::<f64>().expect("a number");
    let seconds: Vec<f64> = found.lines().map(completed).collect();
    let rate = summary.steady.rates.expect("rates").succeeded_per_s;
    assert_eq!(seconds[..5].iter().sum::<f64>() / 5.0, rate, "{found}");
}

#[test]
fn pandas_lays_monitors_beside_replies() {
    let (place, test) = (Place::new(), "pandas_lays_monitors_beside_replies");
    let server = place.serve("");
    let ended = place.run(&format!("{}/bytes/1 -c 2 --think 5ms -d 4s", server.url));
    let [query] = blocks("python", "monitors.parquet")[..] else { panic!("one query") };
    let Some(found) = python(test, "pandas, pyarrow", &ended.directory, query) else { return };
    assert!(found.contains("cpu_user_processors") && found.contains("completed"), "{found}");
    assert!(found.lines().count() >= 4, "{found}");
}

/// Every block of a language with a query in it is run by a test here.
#[test]
fn no_query_is_left_out() {
    let all = ["python", "sql"].map(|language| blocks(language, "parquet").len());
    assert_eq!(all, [3, 2], "a query was added: test it here");
}
