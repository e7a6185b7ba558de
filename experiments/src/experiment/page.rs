//! The page of an experiment: what the paper saw, what was seen here, and the numbers behind it, in Markdown.

use super::claim::Finding;
use super::column::{Column, Row};
use super::drive::Plane;
use super::plan::{Chart, Experiment, Length};
use std::fmt::Write;

/// Where the numbers come from.
#[derive(Debug, Clone)]
pub struct Provenance {
    /// How much was run.
    pub length: Length,
    /// On which machine.
    pub machine: String,
    /// How often a run that called itself invalid could be run in all.
    pub tries_max: u32,
    /// What else a reader should know of it, in a sentence.
    pub note: Option<String>,
}

/// The whole page; the figure lies beside it.
pub fn page(experiment: &Experiment, rows: &[Row], findings: &[Finding], provenance: &Provenance) -> String {
    let plan = &experiment.plan;
    let name = &experiment.name;
    format!(
        "# {}\n\n{}. The experiment is [experiments/{name}.toml](../../experiments/{name}.toml); \
         `cargo xtask experiment {name}` runs it and writes this page.\n\n\
         {}\
         ## What the paper saw\n\n{}\n\n\
         ## What was seen here\n\n{}{}\n\
         ## How it was run\n\n{}\n\n{}\n\n\
         ## The numbers\n\n{}",
        plan.title,
        plan.source,
        figures(experiment),
        plan.saw.trim(),
        claims(experiment, findings),
        doubtful(rows),
        plan.here.trim(),
        origin_of(experiment, provenance),
        table(experiment, rows),
    )
}

/// The file of figure `number`, counted from 0.
pub fn figure(experiment: &Experiment, number: usize) -> String {
    match number {
        0 => format!("{}.svg", experiment.name),
        _ => format!("{}-{}.svg", experiment.name, number + 1),
    }
}

fn figures(experiment: &Experiment) -> String {
    let plan = &experiment.plan;
    let shown = |(number, chart): (usize, &Chart)| {
        let (y, x) = (chart.y.head(&plan.label), chart.x.head(&plan.label));
        format!("![{y} against {x}]({})\n\n", figure(experiment, number))
    };
    plan.charts().iter().enumerate().map(shown).collect()
}

/// A table of what was claimed, and what became of it.
pub fn claims(experiment: &Experiment, findings: &[Finding]) -> String {
    let mut text = String::from("| claim | seen | |\n| --- | --- | --- |\n");
    for (claim, finding) in experiment.plan.claims.iter().zip(findings) {
        let verdict = match finding.holds {
            Some(true) => "holds",
            Some(false) => "**fails**",
            None => "not judged",
        };
        let doubt = match finding.invalid {
            0 => String::new(),
            invalid => format!(", by {invalid} invalid of {} runs", finding.rows),
        };
        writeln!(text, "| {} | {} | {verdict}{doubt} |", claim.says, finding.seen)
            .expect("a String takes all");
    }
    text
}

/// A table of what was measured, a row for each run.
pub fn table(experiment: &Experiment, rows: &[Row]) -> String {
    let plan = &experiment.plan;
    let columns: Vec<Column> = [Column::Value].iter().chain(&plan.show).copied().collect();
    let heads = columns.iter().map(|column| column.head(&plan.label)).collect::<Vec<_>>().join(" | ");
    let mut text =
        format!("| curve | {heads} | verdict |\n| --- |{} --- |\n", " ---: |".repeat(columns.len()));
    for row in rows {
        let cell =
            |column: &Column| column.of(row).map_or_else(|| "–".to_owned(), |number| column.written(number));
        let cells = columns.iter().map(cell).collect::<Vec<_>>().join(" | ");
        let curve = &plan.curves[row.curve].name;
        writeln!(text, "| {curve} | {cells} | {} |", verdict(row)).expect("a String takes all");
    }
    text
}

/// What the run said of itself.
fn verdict(row: &Row) -> String {
    let tries = match row.tries {
        1 => String::new(),
        tries => format!(", {tries} tries"),
    };
    if row.is_valid() {
        format!("valid{tries}")
    } else {
        format!("invalid: {}{tries}", row.doubts.join(", "))
    }
}

/// A paragraph on runs that call themselves invalid; nothing if there are none.
fn doubtful(rows: &[Row]) -> String {
    let invalid: Vec<&Row> = rows.iter().filter(|row| !row.is_valid()).collect();
    if invalid.is_empty() {
        return String::new();
    }
    let mut reasons: Vec<&str> = invalid.iter().flat_map(|row| &row.doubts).map(String::as_str).collect();
    reasons.sort_unstable();
    reasons.dedup();
    format!(
        "\n{} of {} runs call themselves invalid ({}); their points are hollow in the figure, and their rows below \
         say so. Claims were judged by all rows alike.\n",
        invalid.len(),
        rows.len(),
        reasons.join(", ")
    )
}

fn origin_of(experiment: &Experiment, provenance: &Provenance) -> String {
    let length = match provenance.length {
        Length::Full => "the full form",
        Length::Quick => "the quick form: fewer points, shorter runs",
        Length::Smoke => "the smoke form: two points a curve for two seconds",
    };
    let tries = match provenance.tries_max {
        1 => "each point was run once".to_owned(),
        most => format!("a run that called itself invalid was run again, up to {most} runs in all"),
    };
    let note = provenance.note.as_ref().map(|note| format!(" {note}")).unwrap_or_default();
    let ways: Vec<String> = experiment.planes().into_iter().map(|plane| way(plane, provenance)).collect();
    format!("{} This is {length}; {tries}.{note}", ways.join(" "))
}

/// How the runs on a plane are made.
fn way(plane: Plane, provenance: &Provenance) -> String {
    let machine = &provenance.machine;
    match plane {
        Plane::Sockets => {
            format!(
                "Measured over loopback on {machine}: the server on one processor, the generator on another."
            )
        }
        Plane::Emulated => format!(
            "Measured through the emulated network on {machine}: the server and its kernel's receive work on one processor, \
             the generator on another."
        ),
        Plane::Simulated => {
            "Computed in virtual time, before a model of a server: the same numbers come out on any \
                             machine, however busy it is."
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::column::tests::row;
    use crate::experiment::plan::tests::TEXT;

    fn rows() -> Vec<Row> {
        let late = Row { doubts: vec!["send-lateness".to_owned()], tries: 2, ..row(1, 4, 200.0, 99.5) };
        vec![row(0, 1, 50.5, 50.0), late]
    }

    #[test]
    fn each_run_is_a_row_with_its_verdict() {
        let experiment = Experiment::parse("e", TEXT).unwrap();
        let expected = "| curve | users | attempts, 1/s | completed, 1/s | verdict |\n\
                        | --- | ---: | ---: | ---: | --- |\n\
                        | plain | 1 | 50.5 | 50.0 | valid |\n\
                        | other | 4 | 200.0 | 99.5 | invalid: send-lateness, 2 tries |\n";
        assert_eq!(table(&experiment, &rows()), expected);
    }

    #[test]
    fn each_figure_has_a_file() {
        let one = "chart = { x = \"value\", y = \"attempts\", level = { name = \"capacity\", at = 100 } }";
        let two = "chart = [{ x = \"value\", y = \"attempts\" }, { x = \"value\", y = \"open\" }]";
        let experiment = Experiment::parse("e", &TEXT.replace(one, two)).unwrap();
        let expected = "![attempts, 1/s against users](e.svg)\n\n![requests open against users](e-2.svg)\n\n";
        assert_eq!(figures(&experiment), expected);
        assert!(Experiment::parse("e", &TEXT.replace(one, "chart = []")).is_err());
    }

    #[test]
    fn the_page_has_all_parts() {
        let experiment = Experiment::parse("e", TEXT).unwrap();
        let findings: Vec<Finding> =
            experiment.plan.claims.iter().map(|claim| claim.judge(&experiment.plan, &rows())).collect();
        let provenance = Provenance {
            length: Length::Quick,
            machine: "a machine".to_owned(),
            tries_max: 2,
            note: Some("It was busy.".to_owned()),
        };
        let page = page(&experiment, &rows(), &findings, &provenance);
        for part in [
            "# Title\n\nPaper, figure 1. ",
            "![attempts, 1/s against users](e.svg)",
            "## What the paper saw\n\nA line.\n",
            "| attempts are what was asked for | off by +1.0 % at worst | holds, by 1 invalid of 2 runs |",
            "\n\n1 of 2 runs call themselves invalid (send-lateness);",
            "## How it was run\n\nAnother line.\n\nMeasured over loopback on a machine: the server",
            "This is the quick form",
            "up to 2 runs in all. It was busy.\n",
            "## The numbers\n\n| curve |",
        ] {
            assert!(page.contains(part), "`{part}` is not in:\n{page}");
        }
    }

    #[test]
    fn valid_runs_need_no_excuse() {
        assert_eq!(doubtful(&[row(0, 1, 50.0, 50.0)]), "");
    }
}
