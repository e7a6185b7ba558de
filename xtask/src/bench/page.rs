//! The pages of results: tables in Markdown, and the places in pages of `docs/` where they stand.

use anyhow::{Context, Result, bail};
use std::fs;

/// The page that keeps the results of the bench `name`.
fn page_of(name: &str) -> &'static str {
    match name {
        "memory-hour" | "memory-virtual" | "memory-virtual-hour" => "docs/memory.md",
        "capacity-simulated" | "capacity-served" => "docs/capacity.md",
        "compare-errors" => "docs/compare.md",
        "floods" => "docs/limits.md",
        "fits" | "fits-memory" => "docs/statistics.md",
        "beside-loops" | "verify-planted" => "docs/accuracy.md",
        "first-commands" | "first-requests" => "docs/lab/first-runs.md",
        "before-after" => "docs/lab/before-after.md",
        "keep-alive" | "one-request" | "tls-keep-alive" | "http2" | "http3" | "tls-handshakes" => {
            "docs/lab/closed-loop.md"
        }
        "open-loop" | "capture" | "watched" | "overload" => "docs/lab/open-loop.md",
        "simulated" | "simulated-backbone" | "simulated-shards" => "docs/lab/simulated.md",
        "shell" | "shell-users" | "route" => "docs/lab/programs.md",
        "users-memory" | "tls-memory" | "samples-memory" => "docs/lab/memory.md",
        "sweep" | "report" => "docs/lab/reports.md",
        _ => "docs/lab/emulated.md",
    }
}

/// A table in Markdown; the first column to the left, the others to the right.
#[derive(Debug, Clone)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these heads and no rows.
    pub fn new(heads: &[&str]) -> Table {
        Table { rows: vec![heads.iter().map(|&head| head.to_owned()).collect()] }
    }

    /// Adds a row, as wide as the heads.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells: Vec<String> = cells.into_iter().collect();
        assert_eq!(cells.len(), self.rows[0].len(), "a row is as wide as the heads");
        self.rows.push(cells);
    }

    /// The text, its columns aligned, so that it reads well in a terminal too.
    pub fn to_markdown(&self) -> String {
        let width =
            |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.rows[0].len()).map(width).collect();
        let mut text = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
                if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            text.push_str(&format!("| {} |\n", cells.collect::<Vec<_>>().join(" | ")));
            if number == 0 {
                let rules = widths.iter().enumerate().map(|(column, &width)| {
                    if column == 0 { "-".repeat(width) } else { format!("{}:", "-".repeat(width.max(2) - 1)) }
                });
                text.push_str(&format!("| {} |\n", rules.collect::<Vec<_>>().join(" | ")));
            }
        }
        text
    }
}

/// Puts `body` into the page, at the place of the bench `name`.
pub fn keep(name: &str, body: &str) -> Result<()> {
    let path = page_of(name);
    let page = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    let page = replace(&page, name, body).with_context(|| format!("in {path}"))?;
    fs::write(path, page).with_context(|| format!("cannot write {path}"))
}

/// `page` with what stands between the marks of `name` replaced by `body`.
fn replace(page: &str, name: &str, body: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- bench {name} begins -->\n"), format!("<!-- bench {name} ends -->"));
    for mark in [&begin, &end] {
        if page.matches(mark.as_str()).count() != 1 {
            bail!("`{}` must stand there exactly once", mark.trim_end());
        }
    }
    let (before, rest) = page.split_once(&begin).context("the mark is there")?;
    let (_, after) = rest.split_once(&end).with_context(|| format!("`{end}` stands before its beginning"))?;
    Ok(format!("{before}{begin}\n{}\n\n{end}{after}", body.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Page\n<!-- bench a begins -->\nold\n<!-- bench a ends -->\ntail\n";

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let page = replace(PAGE, "a", "new\n").unwrap();
        assert_eq!(page, "# Page\n<!-- bench a begins -->\n\nnew\n\n<!-- bench a ends -->\ntail\n");
        assert_eq!(replace(&page, "a", "new").unwrap(), page);
    }

    #[test]
    fn missing_doubled_and_swapped_marks_are_reported() {
        assert!(replace(PAGE, "b", "x").unwrap_err().to_string().contains("bench b begins"));
        assert!(replace(&PAGE.repeat(2), "a", "x").is_err());
        let swapped = "<!-- bench a ends -->\n<!-- bench a begins -->\n";
        assert!(replace(swapped, "a", "x").unwrap_err().to_string().contains("before its beginning"));
    }

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(&["generator", "µs"]);
        table.row(["wrk".to_owned(), "12.5".to_owned()]);
        let text = "| generator |   µs |\n| --------- | ---: |\n| wrk       | 12.5 |\n";
        assert_eq!(table.to_markdown(), text);
    }

    #[test]
    fn the_kept_pages_have_a_place_for_each_bench() {
        for bench in crate::bench::BENCHES {
            let path = std::path::Path::new("..").join(page_of(bench.name));
            let page = fs::read_to_string(&path).unwrap();
            replace(&page, bench.name, "x").unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
}
