//! A sweep as a page of Markdown, with charts in files beside it: what a question asks, what its claims came
//! to, and the numbers behind them.

use super::cell;
use super::claims::{seen, word_on_page};
use super::names::ShortNames;
use super::story::{Story, TablePlan};
use farfield_experiment::report::Ended;
use farfield_experiment::sweep::{ClaimReport, PointReport, SweepReport};
use std::fmt::Write;

/// The page's file.
pub const PAGE: &str = "page.md";

/// Columns of a table unless a question says others.
const SHOWN: [&str; 4] = ["rate", "p50", "p99", "errors"];

/// The charts' files with their contents, and the page.
pub fn files(report: &SweepReport, story: &Story) -> Vec<(String, String)> {
    let charts = story.drawn(report);
    let mut files = vec![(PAGE.to_owned(), render(report, story))];
    files.extend(charts.iter().enumerate().map(|(number, chart)| (file_of(number), chart.svg())));
    files
}

/// The file of chart `number`, from 0.
fn file_of(number: usize) -> String {
    match number {
        0 => "chart.svg".to_owned(),
        _ => format!("chart-{}.svg", number + 1),
    }
}

/// The page.
pub fn render(report: &SweepReport, story: &Story) -> String {
    let mut page = format!("# {}\n\n", line(&report.experiment));
    let source = match story.source.trim() {
        "" => String::new(),
        source => format!("{}. ", line(source).trim_end_matches('.')),
    };
    let _ = writeln!(
        page,
        "{source}The question is [question.toml](question.toml); `{}` makes its runs and this page.\n",
        line(&story.command)
    );
    for (number, chart) in story.drawn(report).iter().enumerate() {
        let _ = writeln!(page, "![{}]({})\n", line(&chart.title), file_of(number));
    }
    section(&mut page, story.heading_of_saw(), &story.saw);
    page.push_str("## What was seen here\n\n");
    page.push_str(&claims(report));
    section(&mut page, "", &story.noticed);
    page.push_str(&earlier(report));
    let how = format!("{}\n\n{}\n\n{}", text(&story.here), text(&story.origin), runs(report));
    section(&mut page, "How it was done", &how);
    page.push_str("## The numbers\n\n");
    page.push_str(&tables(report, story));
    page.push_str(&unknown(report));
    page
}

/// Columns of the question that no point has, each with the reason.
fn unknown(report: &SweepReport) -> String {
    let mut text = String::new();
    for column in report.columns.iter().filter(|column| column.expression != column.name) {
        let own = report.points.iter().filter_map(|point| point.estimate(&column.name));
        let reasons: Vec<Option<&String>> =
            own.map(|estimate| estimate.unknown.as_ref().filter(|_| estimate.mean.is_none())).collect();
        if let (true, Some(Some(reason))) = (reasons.iter().all(Option::is_some), reasons.first()) {
            let _ = writeln!(text, "\nNothing is known of {}: {}.", line(&column.head), line(reason));
        }
    }
    text
}

/// A heading and paragraphs, unless there are none.
fn section(page: &mut String, heading: &str, paragraphs: &str) {
    let paragraphs = text(paragraphs);
    if !paragraphs.is_empty() {
        let heading = if heading.is_empty() { String::new() } else { format!("## {heading}\n\n") };
        let _ = writeln!(page, "{heading}{paragraphs}\n");
    }
}

/// Text without characters that a terminal would act on.
fn text(text: &str) -> String {
    let shown = |letter: &char| *letter == '\n' || !letter.is_control();
    text.trim().chars().filter(shown).collect()
}

/// Text in one line, as a heading or a cell has it.
fn line(words: &str) -> String {
    text(words).replace('\n', " ").replace('|', "\\|")
}

/// The claims, each with what was found.
fn claims(report: &SweepReport) -> String {
    if report.claims.is_empty() {
        return String::new();
    }
    let mut text = "| claim | seen | |\n| --- | --- | --- |\n".to_owned();
    for judged in &report.claims {
        let (says, seen) = (line(&judged.claim.says), line(&seen(report, judged)));
        let _ = writeln!(text, "| {says} | {seen} | {} |", verdict(judged));
    }
    text.push('\n');
    text
}

fn verdict(judged: &ClaimReport) -> String {
    let blocks = if judged.blocks == 1 { "1 pair" } else { &format!("{} pairs", judged.blocks) };
    match judged.claim.against {
        Some(_) if judged.blocks > 0 => format!("{}, {blocks}", word_on_page(judged)),
        _ => word_on_page(judged).to_owned(),
    }
}

/// Claims that were others once, or came to something else.
fn earlier(report: &SweepReport) -> String {
    let changed: Vec<&ClaimReport> = report.claims.iter().filter(|own| !own.claim.was.is_empty()).collect();
    if changed.is_empty() {
        return String::new();
    }
    let mut text = "## Claims that changed\n\n| claim | it was | seen then | verdict then | since |\n\
                    | --- | --- | --- | --- | --- |\n"
        .to_owned();
    for (judged, was) in changed.iter().flat_map(|own| own.claim.was.iter().map(move |was| (own, was))) {
        let says = was.says.as_deref().unwrap_or("in the same words");
        let now = match was.why.as_str() {
            "" => format!("{}, {}", seen(report, judged), word_on_page(judged).trim_matches('*')),
            why => format!("{}, {}: {why}", seen(report, judged), word_on_page(judged).trim_matches('*')),
        };
        let cells = [&judged.claim.says, says, &was.seen, &was.verdict, &now].map(line);
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text.push('\n');
    text
}

/// The number of runs, the way they were made, and their end.
fn runs(report: &SweepReport) -> String {
    let invalid = report.runs.iter().filter(|run| !run.counts()).count();
    let invalid = match invalid {
        0 => "all of them valid".to_owned(),
        count => format!("{count} of them not valid, which count for nothing"),
    };
    let blocks = report.runs.iter().map(|run| run.design.block).max().unwrap_or(0);
    let ended = match &report.ended {
        Ended::Done => String::new(),
        Ended::BudgetOver => " The time was over before all runs were made.".to_owned(),
        Ended::Interrupted => " It was interrupted.".to_owned(),
        Ended::Disturbed(cause) | Ended::Failed(cause) => format!(" It ended early: {}.", line(cause)),
    };
    let level = report.claims.first().map_or(String::new(), |first| {
        format!(
            " A claim is judged by its {:.2} % interval: it holds if all of it does, and fails if none of it does. Of a claim about several \
             values stands the one that decides; undecided claims got more blocks.",
            first.level * 100.0
        )
    });
    format!(
        "{} points, {} runs, {invalid}, in up to {blocks} blocks: a block has a run of every point, all with one seed, in an order that is \
         drawn, and points are compared by pairs of runs of one block.{ended} Behind ± stands how far the 95 % interval of the mean reaches \
         (Student's t), as a share of it; means of times and rates are geometric.{level}",
        report.points.len(),
        report.runs.len()
    )
}

fn tables(report: &SweepReport, story: &Story) -> String {
    let all = |names: Vec<String>| vec![TablePlan { says: String::new(), columns: names }];
    let own: Vec<String> = report.columns.iter().map(|column| column.name.clone()).collect();
    let is_metric = |name: &String| report.column(name).is_some_and(|column| column.expression == *name);
    let columns: Vec<String> = own.iter().filter(|name| !is_metric(name)).cloned().collect();
    let plans = match (story.tables.as_slice(), columns.is_empty()) {
        ([], true) => all(SHOWN.map(str::to_owned).to_vec()),
        ([], false) => all(columns),
        (plans, _) => plans.to_vec(),
    };
    let tables: Vec<String> = plans.iter().map(|plan| table(report, plan)).collect();
    tables.join("\n")
}

fn table(report: &SweepReport, plan: &TablePlan) -> String {
    let names = ShortNames::of_sweep(report);
    let keys = super::text::keys_of(report);
    let mut text = match plan.says.trim() {
        "" => String::new(),
        says => format!("{}\n\n", line(says)),
    };
    let head = |name: &String| report.column(name).map_or(name.clone(), |column| column.head.clone());
    let heads = keys.iter().map(|key| names.key(key).to_owned()).chain(plan.columns.iter().map(head));
    let heads: Vec<String> = heads.map(|head| line(&head)).collect();
    let rules = " --- |".repeat(keys.len()) + &" ---: |".repeat(plan.columns.len());
    let _ = writeln!(text, "| {} | runs |\n|{rules} --- |", heads.join(" | "));
    for point in &report.points {
        let value = |key: &&str| {
            let own = point.settings.iter().find(|setting| setting.key == **key);
            own.map_or("–".to_owned(), |own| own.value.clone())
        };
        let cells = keys.iter().map(value).chain(plan.columns.iter().map(|name| cell(report, point, name)));
        let cells: Vec<String> = cells.map(|cell| line(&cell)).collect();
        let _ = writeln!(text, "| {} | {} |", cells.join(" | "), line(&counted(point)));
    }
    text
}

/// The number of runs of a point that count, and what speaks against them: checks that others failed, checks
/// that the question does without, warnings, and doubts of intervals.
fn counted(point: &PointReport) -> String {
    let all = point.runs + point.invalid;
    let mut words = match point.invalid {
        0 => format!("{all} valid"),
        _ => format!("{} of {all} valid: {}", point.runs, point.causes.join(", ")),
    };
    if !point.relaxed.is_empty() {
        let _ = write!(words, "; without {}", point.relaxed.join(", "));
    }
    if point.warned > 0 {
        let _ = write!(words, "; {} with warnings", point.warned);
    }
    words
}
