//! The page of an experiment or a study: what the paper saw, what was seen here, and the numbers behind it,
//! in Markdown.
//!
//! A page lies in the folder of its figure, as `page.md`, with its charts beside it.

use anyhow::{Context, Result};
use farfield_report::chart::Chart;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The results of an experiment or a study, to be written down.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The heading.
    pub title: String,
    /// Paper and figure.
    pub source: String,
    /// The paper's result, in paragraphs.
    pub saw: String,
    /// The method here, in paragraphs.
    pub here: String,
    /// The claims, judged.
    pub claims: Vec<Claim>,
    /// Further observations, in paragraphs; may be empty.
    pub noticed: String,
    /// The numbers.
    pub tables: Vec<Table>,
    /// The charts.
    pub charts: Vec<Chart>,
}

/// The origin of a page's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Runs of farfield that a `question.toml` asks for.
    Experiment,
    /// A computation, the code of which is in `study.rs`.
    Study,
}

/// A sentence about the numbers, judged by the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The sentence.
    pub says: String,
    /// The numbers that it was judged by, in a few words.
    pub seen: String,
    /// The judgement.
    pub state: State,
    /// The points that it follows from, and why they are not judged if they are not; may be empty.
    pub because: String,
}

/// The judgement of a claim, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// The numbers show it.
    Holds,
    /// The interval of a number contains its bound.
    Undecided,
    /// It rests on too few valid runs.
    NotJudged,
    /// The numbers show its opposite.
    Fails,
}

impl State {
    /// The words of the page, the first of a claim's last cell.
    pub fn words(self) -> &'static str {
        match self {
            State::Holds => "holds",
            State::Undecided => "**undecided**",
            State::NotJudged => "**not judged**",
            State::Fails => "**does not hold**",
        }
    }
}

impl Claim {
    /// A claim of a study: `says`, judged by what was `seen`.
    pub fn new(says: impl Into<String>, seen: impl Into<String>, holds: bool) -> Claim {
        let state = if holds { State::Holds } else { State::Fails };
        Claim { says: says.into(), seen: seen.into(), state, because: String::new() }
    }

    fn row(&self) -> String {
        let because = match self.because.as_str() {
            "" => String::new(),
            because => format!(": {because}"),
        };
        format!("| {} | {} | {}{because} |\n", self.says, self.seen, self.state.words())
    }
}

/// Numbers in rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// A sentence above it; may be empty.
    pub says: String,
    /// The heads of the columns. The first column is text, the others are numbers.
    pub heads: Vec<String>,
    /// As many cells in each as there are heads.
    pub rows: Vec<Vec<String>>,
    /// The last column is text, too.
    pub ends_in_text: bool,
}

impl Table {
    /// A table without rows.
    pub fn new(says: impl Into<String>, heads: &[&str]) -> Table {
        let heads = heads.iter().map(|head| (*head).to_owned()).collect();
        Table { says: says.into(), heads, rows: Vec::new(), ends_in_text: false }
    }

    /// Adds a row.
    pub fn push(&mut self, cells: impl IntoIterator<Item = String>) {
        let row: Vec<String> = cells.into_iter().collect();
        assert_eq!(row.len(), self.heads.len(), "a row has a cell for each head");
        self.rows.push(row);
    }

    /// The table in Markdown.
    pub fn markdown(&self) -> String {
        let numbers = self.heads.len() - 1 - usize::from(self.ends_in_text);
        let mut text = match self.says.as_str() {
            "" => String::new(),
            says => format!("{says}\n\n"),
        };
        let last = if self.ends_in_text { " --- |" } else { "" };
        let head = self.heads.join(" | ");
        writeln!(text, "| {head} |\n| --- |{}{last}", " ---: |".repeat(numbers)).expect("a String takes all");
        for row in &self.rows {
            writeln!(text, "| {} |", row.join(" | ")).expect("a String takes all");
        }
        text
    }
}

impl Method {
    /// The file of the folder that says what is done.
    pub fn file(self) -> &'static str {
        match self {
            Method::Experiment => "question.toml",
            Method::Study => "study.rs",
        }
    }

    /// The task of xtask that writes the page, and its name on the page.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Method::Experiment => ("experiment", "question"),
            Method::Study => ("study", "study"),
        }
    }
}

impl Page {
    /// The whole page of the figure `name`, such as `wasp/figure-9`. `origin` is a paragraph on where its
    /// numbers come from.
    pub fn markdown(&self, name: &str, method: Method, origin: &str) -> String {
        let (task, noun) = method.words();
        let file = method.file();
        let tables: Vec<String> = self.tables.iter().map(Table::markdown).collect();
        format!(
            "# {}\n\n{}. The {noun} is [{file}]({file}); `cargo xtask {task} {name}` runs it and writes this page.\n\n\
             {}\
             ## What the paper saw\n\n{}\n\n\
             ## What was seen here\n\n{}{}\n\
             ## How it was done\n\n{}\n\n{}\n{}",
            self.title,
            self.source,
            self.charts_named(),
            self.saw.trim(),
            self.claims_table(),
            paragraph(&self.noticed),
            self.here.trim(),
            origin.trim(),
            match tables.as_slice() {
                [] => String::new(),
                tables => format!("\n## The numbers\n\n{}", tables.join("\n")),
            },
        )
    }

    /// A table of the claims and their verdicts.
    pub fn claims_table(&self) -> String {
        let rows: String = self.claims.iter().map(Claim::row).collect();
        format!("| claim | seen | |\n| --- | --- | --- |\n{rows}")
    }

    fn charts_named(&self) -> String {
        let shown = |(number, chart): (usize, &Chart)| format!("![{}]({})\n\n", chart.title, file_of(number));
        self.charts.iter().enumerate().map(shown).collect()
    }

    /// Writes the page and its charts into the folder of `name` below `folder`.
    pub fn keep(&self, folder: &Path, name: &str, method: Method, origin: &str) -> Result<()> {
        let folder = folder.join(name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let mut files = vec![("page.md".to_owned(), self.markdown(name, method, origin))];
        let charts = self.charts.iter().enumerate();
        files.extend(charts.map(|(number, chart)| (file_of(number), chart.svg())));
        remove_charts(&folder)?;
        for (name, text) in files {
            let file = folder.join(name);
            fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
            eprintln!("{}", file.display());
        }
        Ok(())
    }
}

/// Removes the charts of an earlier page, which may have had more of them.
fn remove_charts(folder: &Path) -> Result<()> {
    let cannot = || format!("cannot remove the charts in {}", folder.display());
    for entry in fs::read_dir(folder).with_context(cannot)? {
        let file = entry.with_context(cannot)?.path();
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("chart") && name.ends_with(".svg") {
            fs::remove_file(&file).with_context(cannot)?;
        }
    }
    Ok(())
}

/// The file of chart `number`, counted from 0.
fn file_of(number: usize) -> String {
    match number {
        0 => "chart.svg".to_owned(),
        _ => format!("chart-{}.svg", number + 1),
    }
}

fn paragraph(text: &str) -> String {
    match text.trim() {
        "" => String::new(),
        text => format!("\n{text}\n"),
    }
}

/// A number with three significant digits, as tables have it.
pub fn digits(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return format!("{number}");
    }
    let magnitude = number.abs().log10().floor() as i32;
    let decimals = (2 - magnitude).clamp(0, 6) as usize;
    format!("{number:.decimals$}")
}

/// A share as percents.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_report::chart::Axis;

    fn page() -> Page {
        let mut table = Table::new("Rows.", &["distribution", "mean"]);
        table.push(["weibull".to_owned(), "3.00".to_owned()]);
        let chart = Chart::new("A chart", Axis::linear("x"), Axis::linear("y"), Vec::new());
        Page {
            title: "Title".to_owned(),
            source: "Paper, figure 1".to_owned(),
            saw: "A line.\n".to_owned(),
            here: "Another line.".to_owned(),
            claims: vec![
                Claim::new("it grows", "1 to 2", true),
                Claim { because: "a at 2".to_owned(), ..Claim::new("it falls", "1 to 2", false) },
                Claim { state: State::NotJudged, ..Claim::new("it stays", "nothing", true) },
            ],
            noticed: "More.".to_owned(),
            tables: vec![table],
            charts: vec![chart.clone(), chart],
        }
    }

    #[test]
    fn the_page_has_all_parts() {
        let text = page().markdown("wagon/figure-1", Method::Study, "From seeds.");
        for part in [
            "# Title\n\nPaper, figure 1. The study is [study.rs](study.rs); `cargo xtask study wagon/figure-1` runs",
            "![A chart](chart.svg)\n\n![A chart](chart-2.svg)\n\n## What the paper saw\n\nA line.\n\n",
            "| it grows | 1 to 2 | holds |\n| it falls | 1 to 2 | **does not hold**: a at 2 |\n",
            "| it stays | nothing | **not judged** |\n\nMore.\n\n## How it was done\n\nAnother line.\n\nFrom seeds.\n\n",
            "## The numbers\n\nRows.\n\n| distribution | mean |\n| --- | ---: |\n| weibull | 3.00 |\n",
        ] {
            assert!(text.contains(part), "`{part}` is not in:\n{text}");
        }
        let text = page().markdown("wasp/figure-9", Method::Experiment, "Measured.");
        let command =
            "The question is [question.toml](question.toml); `cargo xtask experiment wasp/figure-9` runs";
        assert!(text.contains(command), "{text}");
    }

    #[test]
    fn a_table_may_end_in_text() {
        let mut table = Table { ends_in_text: true, ..Table::new("", &["curve", "users", "verdict"]) };
        table.push(["plain", "1", "valid"].map(str::to_owned));
        let expected = "| curve | users | verdict |\n| --- | ---: | --- |\n| plain | 1 | valid |\n";
        assert_eq!(table.markdown(), expected);
    }

    #[test]
    fn numbers_have_three_digits() {
        let texts = [0.0, 0.001234, 0.5, 12.345, 484.2, 13_000.0, -0.0456].map(digits);
        assert_eq!(texts, ["0", "0.00123", "0.500", "12.3", "484", "13000", "-0.0456"]);
        assert_eq!(percent(0.0512), "5.1 %");
    }
}
