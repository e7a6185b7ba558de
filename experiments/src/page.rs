//! The page of a study: what the paper saw, what was seen here, and the numbers behind it, in Markdown, in the order of the
//! pages of experiments.

use crate::figure::Figure;
use std::fmt::Write;

/// What a study found, to be written down.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// Its heading.
    pub title: &'static str,
    /// Which part of which paper it is about.
    pub source: &'static str,
    /// The file of the study, from the folder of studies.
    pub file: &'static str,
    /// What the paper saw, in paragraphs.
    pub saw: String,
    /// How it was done here, in paragraphs.
    pub here: String,
    /// What the paper says, held against what came out.
    pub claims: Vec<Claim>,
    /// What else is to be seen, in paragraphs; may be empty.
    pub noticed: String,
    /// The numbers.
    pub tables: Vec<Table>,
    /// The figures.
    pub figures: Vec<Figure>,
}

/// A sentence of the paper, judged by the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// It, in our words.
    pub says: String,
    /// The numbers it was judged by.
    pub seen: String,
    /// Whether it holds.
    pub holds: bool,
}

impl Claim {
    /// `says`, judged by what was `seen`.
    pub fn new(says: impl Into<String>, seen: impl Into<String>, holds: bool) -> Claim {
        Claim { says: says.into(), seen: seen.into(), holds }
    }
}

/// Numbers in rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// A sentence above it.
    pub says: String,
    /// Above the columns. The first column is words, the others are numbers.
    pub heads: Vec<String>,
    /// As many cells in each as there are heads.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Without rows yet.
    pub fn new(says: impl Into<String>, heads: &[&str]) -> Table {
        let heads = heads.iter().map(|head| (*head).to_owned()).collect();
        Table { says: says.into(), heads, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn push(&mut self, cells: impl IntoIterator<Item = String>) {
        let row: Vec<String> = cells.into_iter().collect();
        assert_eq!(row.len(), self.heads.len(), "a row has a cell for each head");
        self.rows.push(row);
    }

    fn written(&self) -> String {
        let mut text = format!("{}\n\n| {} |\n| --- |", self.says, self.heads.join(" | "));
        text.push_str(&" ---: |".repeat(self.heads.len() - 1));
        text.push('\n');
        for row in &self.rows {
            writeln!(text, "| {} |", row.join(" | ")).expect("a String takes all");
        }
        text
    }
}

impl Page {
    /// The whole page of the study `name`; its figures lie beside it.
    pub fn written(&self, name: &str, is_quick: bool) -> String {
        let form = if is_quick {
            "This is the quick form: fewer and shorter series."
        } else {
            "This is the full form."
        };
        let tables: Vec<String> = self.tables.iter().map(Table::written).collect();
        format!(
            "# {}\n\n{}. The study is [studies/src/{file}](../../studies/src/{file}); \
             `cargo xtask study {name}` runs it and writes this page.\n\n\
             {}\
             ## What the paper saw\n\n{}\n\n\
             ## What was seen here\n\n{}{}\n\
             ## How it was done\n\n{}\n\n\
             All chance follows from seeds and all time is virtual: the same commit writes the same page, on any machine. \
             {form}\n\n\
             ## The numbers\n\n{}",
            self.title,
            self.source,
            self.figures_named(name),
            self.saw.trim(),
            self.claims_table(),
            paragraph(&self.noticed),
            self.here.trim(),
            tables.join("\n"),
            file = self.file,
        )
    }

    /// A table of what the paper says, and what became of it.
    pub fn claims_table(&self) -> String {
        let mut text = String::from("| claim | seen | |\n| --- | --- | --- |\n");
        for Claim { says, seen, holds } in &self.claims {
            let verdict = if *holds { "holds" } else { "**does not hold**" };
            writeln!(text, "| {says} | {seen} | {verdict} |").expect("a String takes all");
        }
        text
    }

    fn figures_named(&self, name: &str) -> String {
        let figure = |(number, figure): (usize, &Figure)| {
            format!("![{}]({})\n\n", figure.title, figure_file(name, number))
        };
        self.figures.iter().enumerate().map(figure).collect()
    }
}

/// The file of figure `number` of the study `name`, counted from 0.
pub fn figure_file(name: &str, number: usize) -> String {
    match number {
        0 => format!("{name}.svg"),
        _ => format!("{name}-{}.svg", number + 1),
    }
}

fn paragraph(text: &str) -> String {
    match text.trim() {
        "" => String::new(),
        text => format!("\n{text}\n"),
    }
}

/// A number with three digits that count, as tables want it.
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
    use crate::figure::tests::figure;

    fn page() -> Page {
        let mut table = Table::new("Rows.", &["law", "mean"]);
        table.push(["weibull".to_owned(), "3.00".to_owned()]);
        Page {
            title: "Title",
            source: "Paper, figure 1",
            file: "keepalive.rs",
            saw: "A line.\n".to_owned(),
            here: "Another line.".to_owned(),
            claims: vec![Claim::new("it grows", "1 to 2", true), Claim::new("it falls", "1 to 2", false)],
            noticed: "More.".to_owned(),
            tables: vec![table],
            figures: vec![figure(), figure()],
        }
    }

    #[test]
    fn the_page_has_all_parts() {
        let text = page().written("wagon", false);
        for part in [
            "# Title\n\nPaper, figure 1. The study is [studies/src/keepalive.rs](../../studies/src/keepalive.rs);",
            "![Figure](wagon.svg)\n\n![Figure](wagon-2.svg)\n\n## What the paper saw\n\nA line.\n\n",
            "| it grows | 1 to 2 | holds |\n| it falls | 1 to 2 | **does not hold** |\n\nMore.\n\n",
            "This is the full form.\n\n## The numbers\n\nRows.\n\n| law | mean |\n| --- | ---: |\n| weibull | 3.00 |\n",
        ] {
            assert!(text.contains(part), "`{part}` is not in:\n{text}");
        }
        assert!(page().written("wagon", true).contains("the quick form"));
    }

    #[test]
    fn numbers_have_three_digits() {
        let told = [0.0, 0.001234, 0.5, 12.345, 484.2, 13_000.0, -0.0456].map(digits);
        assert_eq!(told, ["0", "0.00123", "0.500", "12.3", "484", "13000", "-0.0456"]);
        assert_eq!(percent(0.0512), "5.1 %");
    }
}
