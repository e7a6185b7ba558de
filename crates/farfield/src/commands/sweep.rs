//! `farfield sweep`: runs at many points, each repeated, and what moves the result.

pub mod plan;
pub mod runner;

use crate::commands::capacity::free_folder;
use crate::commands::child::ChildRuns;
use crate::commands::cluster::on;
use crate::commands::question::document::Question;
use crate::commands::question::evidence::Evidence;
use crate::exit::Exit;
use crate::flags::RunFlags;
use crate::flags::on::OnFlags;
use crate::flags::sweep::{DesignFlags, RepeatFlags, SweepFlags, SweepFormat};
use crate::flags::watch::RunFormat;
use crate::output;
use crate::problem::Problem;
use farfield_engine::interrupt;
use farfield_experiment::report::Ended;
use farfield_experiment::sweep::{Claim, SweepReport, Verdict};
use farfield_report::sweep::story::Story;
use farfield_report::sweep::{markdown, page, table, text};
use farfield_scenario::Overlay;
use runner::SweepRunner;
use std::path::Path;

/// The file with all of a sweep, in its folder.
const SWEEP_FILE: &str = "sweep.json";
/// The file with a row for each run.
const TABLE_FILE: &str = "table.csv";
/// The file with a row for each run, as Parquet.
const PARQUET_FILE: &str = "table.parquet";
/// The page.
const PAGE_FILE: &str = "sweep.html";

/// The request for a sweep.
pub struct SweepRequest<'a> {
    /// The URL or the scenario; farfield's built-in server if absent.
    pub what: Option<&'a str>,
    /// The keys that are laid over it in all runs.
    pub overlay: Overlay,
    /// The runs that there are to be.
    pub design: &'a DesignFlags,
    /// The runs' repeats.
    pub repeat: &'a RepeatFlags,
    /// The parts by which each run is made.
    pub on: &'a OnFlags,
    /// The name of such an experiment, also in the name of its folder.
    pub name: &'a str,
    /// The title of this one; after its scenario if absent.
    pub title: Option<&'a str>,
    /// The claims to judge.
    pub claims: &'a [Claim],
    /// Number of looks at undecided claims.
    pub looks: u32,
    /// The question with all that it says beside its runs.
    pub question: Option<&'a Question>,
}

/// Makes the runs, and prints what follows from them.
pub fn sweep(flags: &SweepFlags) -> Result<Exit, Problem> {
    let asked = SweepRequest {
        what: Some(&flags.what),
        overlay: flags.overlay(),
        design: &flags.design,
        repeat: &flags.repeat,
        on: &flags.on,
        name: "sweep",
        title: None,
        claims: &[],
        looks: 1,
        question: None,
    };
    made(&asked, flags.format, flags.quiet)
}

/// Repeats a run: a sweep of one point.
pub fn repeated(flags: &RunFlags) -> Result<Exit, Problem> {
    let watch = &flags.watch;
    let of_one_run = [
        ("--ui", watch.ui.is_some()),
        ("--metrics", watch.metrics.is_some()),
        ("--metrics-push", !watch.metrics_push.is_empty()),
        ("--metrics-otlp", !watch.metrics_otlp.is_empty()),
        ("--shell", flags.shell.is_some()),
        ("--show-scenario", flags.show_scenario),
        ("--format jsonl", flags.format == RunFormat::Jsonl),
    ];
    if let Some((flag, _)) = of_one_run.iter().find(|(_, given)| *given) {
        return Err(Problem::usage(format!("{flag} is of one run; leave out --repeats and --until")));
    }
    let mut flags = flags.clone();
    let design = DesignFlags { out: flags.result.out.take(), ..DesignFlags::default() };
    let asked = SweepRequest {
        what: flags.what.as_deref(),
        overlay: flags.overlay(),
        design: &design,
        repeat: &flags.repeat,
        on: &flags.on,
        name: "repeats",
        title: None,
        claims: &[],
        looks: 1,
        question: None,
    };
    let format = match flags.format {
        RunFormat::Json => SweepFormat::Json,
        RunFormat::Text | RunFormat::Jsonl => SweepFormat::Text,
    };
    made(&asked, format, flags.quiet)
}

/// Makes the runs of what is asked, and prints what follows from them.
pub fn made(asked: &SweepRequest, format: SweepFormat, quiet: bool) -> Result<Exit, Problem> {
    let read = super::run::read(asked.what, &asked.overlay)?;
    super::run::refuse_part(&read, "a sweep, or a run that is repeated,")?;
    let planned = plan::of(asked, &read)?;
    let stop = interrupt::flag();
    let stop = stop.map_err(|error| Problem::failed(format!("cannot listen for signals: {error}")))?;
    on::check(asked.on, &stop)?;
    let folder = asked.design.out.clone().unwrap_or_else(|| free_folder(&read.scenario().name, asked.name));
    let opened = farfield_files::output::folder(&folder);
    opened
        .map_err(|error| Problem::failed(format!("cannot make the folder {}: {error}", folder.display())))?;
    let runner = SweepRunner {
        runs: ChildRuns {
            what: asked.what.map(str::to_owned),
            words: words(asked),
            scenario: read.scenario().digest(),
            on: asked.on.on.clone(),
            stop,
        },
        request_timeout: read.scenario().connections.request_timeout,
        columns: planned.columns,
        curves: asked.question.map_or_else(Vec::new, |question| question.curves.clone()),
        relaxed: asked.question.map_or_else(Vec::new, |question| question.relaxed.clone()),
        folder: folder.clone(),
        quiet,
    };
    let report = farfield_experiment::sweep::sweep(&planned.plan, &runner);
    if let (Ended::Failed(sentence), true) = (&report.ended, report.runs.is_empty()) {
        // Empty, as no run was made.
        let _ = std::fs::remove_dir(&folder);
        return Err(Problem::failed(sentence));
    }
    if let Some(question) = asked.question {
        let evidence = Evidence::of(&report, question, planned.is_simulated)?;
        evidence.keep(&folder, question)?;
        let rows = keep(&folder, &report, Some(&evidence.story(question)))?;
        return answer(&report, &rows, &folder, format);
    }
    let rows = keep(&folder, &report, None)?;
    answer(&report, &rows, &folder, format)
}

/// Prints a report, and says how it ended.
pub fn answer(
    report: &SweepReport,
    rows: &table::Table,
    folder: &Path,
    format: SweepFormat,
) -> Result<Exit, Problem> {
    match format {
        SweepFormat::Text => output::put(&text::render(report, folder))?,
        SweepFormat::Json => output::put(&json(report))?,
        SweepFormat::Csv => output::put(&rows.csv())?,
    }
    Ok(exit(report))
}

/// The flags that all runs have in common. Samples of so many runs are kept where that is asked for.
fn words(asked: &SweepRequest) -> Vec<String> {
    let of_overlay = asked.overlay.words();
    let is_said =
        of_overlay.iter().any(|word| word.contains("output.samples=") || word.starts_with("--samples"));
    let samples = (!is_said).then(|| "--set=output.samples=none".to_owned());
    of_overlay.into_iter().chain(samples).chain(asked.on.words()).collect()
}

/// Writes what follows from the runs beside them; of a question also the page in Markdown. The table is
/// returned.
pub fn keep(folder: &Path, report: &SweepReport, story: Option<&Story>) -> Result<table::Table, Problem> {
    let rows = table::Table::of(report, folder);
    let unwritten = |name: &str, why: &dyn std::fmt::Display| {
        Problem::failed(format!("cannot write {}: {why}", folder.join(name).display()))
    };
    let parquet = rows.parquet().map_err(|error| unwritten(PARQUET_FILE, &error))?;
    let page = page::render(report, story.unwrap_or(&Story::default()));
    let mut files = vec![
        (SWEEP_FILE.to_owned(), json(report).into_bytes()),
        (TABLE_FILE.to_owned(), rows.csv().into_bytes()),
        (PARQUET_FILE.to_owned(), parquet),
        (PAGE_FILE.to_owned(), page.into_bytes()),
    ];
    let of_page = story.map_or_else(Vec::new, |story| markdown::files(report, story));
    files.extend(of_page.into_iter().map(|(name, text)| (name, text.into_bytes())));
    for (name, bytes) in files {
        farfield_files::output::put(&folder.join(&name), &bytes).map_err(|error| unwritten(&name, &error))?;
    }
    Ok(rows)
}

fn json(report: &SweepReport) -> String {
    serde_json::to_string_pretty(report).expect("names are strings and numbers are finite") + "\n"
}

fn exit(report: &SweepReport) -> Exit {
    let fails = report.claims.iter().any(|claim| claim.verdict == Verdict::Fails);
    match &report.ended {
        Ended::Interrupted => Exit::Interrupted,
        Ended::Failed(_) => Exit::Failed,
        Ended::Done if report.misses_thresholds() || fails => Exit::Threshold,
        Ended::Done if report.claims.iter().any(|claim| claim.verdict == Verdict::Undecided) => Exit::Invalid,
        Ended::Done if report.is_decided() => Exit::Fine,
        Ended::Done | Ended::BudgetOver | Ended::Disturbed(_) => Exit::Invalid,
    }
}
