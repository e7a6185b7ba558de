//! `farfield sweep`: runs at many points, each repeated, and what moves the result.

mod plan;
mod runner;

use crate::commands::capacity::free_folder;
use crate::commands::child::ChildRuns;
use crate::exit::Exit;
use crate::flags::sweep::{SweepFlags, SweepFormat};
use crate::output;
use crate::problem::Problem;
use farfield_engine::interrupt;
use farfield_experiment::report::Ended;
use farfield_experiment::sweep::SweepReport;
use farfield_report::sweep::{page, table, text};
use runner::SweepRunner;
use std::path::Path;

/// The file with all of a sweep, in its folder.
const SWEEP_FILE: &str = "sweep.json";
/// The file with a row for each run.
const TABLE_FILE: &str = "table.csv";
/// The same as Parquet.
const PARQUET_FILE: &str = "table.parquet";
/// The page.
const PAGE_FILE: &str = "sweep.html";

/// Makes the runs, and prints what follows from them.
pub fn sweep(flags: &SweepFlags) -> Result<Exit, Problem> {
    let overlay = flags.overlay();
    let read = super::run::read(Some(&flags.what), &overlay)?;
    let planned = plan::of(flags, &overlay, &read)?;
    let folder = flags.design.out.clone().unwrap_or_else(|| free_folder(&read.scenario().name, "sweep"));
    let opened = farfield_files::output::folder(&folder);
    opened
        .map_err(|error| Problem::failed(format!("cannot make the folder {}: {error}", folder.display())))?;
    let stop = interrupt::flag();
    let stop = stop.map_err(|error| Problem::failed(format!("cannot listen for signals: {error}")))?;
    let words = std::iter::once(flags.what.clone()).chain(overlay.words()).collect();
    let runner = SweepRunner {
        runs: ChildRuns { words, scenario: read.scenario().digest(), stop },
        metrics: planned.metrics,
        folder: folder.clone(),
        in_all: planned.plan.points.len() as u32 * planned.plan.repeats,
        quiet: flags.quiet,
    };
    let report = farfield_experiment::sweep::sweep(&planned.plan, &runner);
    if let (Ended::Failed(sentence), true) = (&report.ended, report.runs.is_empty()) {
        // Empty, as no run was made.
        let _ = std::fs::remove_dir(&folder);
        return Err(Problem::failed(sentence));
    }
    let rows = table::Table::of(&report);
    keep(&folder, &report, &rows)?;
    match flags.format {
        SweepFormat::Text => output::put(&text::render(&report, &folder))?,
        SweepFormat::Json => output::put(&json(&report))?,
        SweepFormat::Csv => output::put(&rows.csv())?,
    }
    Ok(exit(&report))
}

/// Writes what follows from the runs beside them.
fn keep(folder: &Path, report: &SweepReport, rows: &table::Table) -> Result<(), Problem> {
    let unwritten = |name: &str, why: &dyn std::fmt::Display| {
        Problem::failed(format!("cannot write {}: {why}", folder.join(name).display()))
    };
    let parquet = rows.parquet().map_err(|error| unwritten(PARQUET_FILE, &error))?;
    let files = [
        (SWEEP_FILE, json(report).into_bytes()),
        (TABLE_FILE, rows.csv().into_bytes()),
        (PARQUET_FILE, parquet),
        (PAGE_FILE, page::render(report, folder).into_bytes()),
    ];
    for (name, bytes) in files {
        farfield_files::output::put(&folder.join(name), &bytes).map_err(|error| unwritten(name, &error))?;
    }
    Ok(())
}

fn json(report: &SweepReport) -> String {
    serde_json::to_string_pretty(report).expect("names are strings and numbers are finite") + "\n"
}

fn exit(report: &SweepReport) -> Exit {
    match &report.ended {
        Ended::Interrupted => Exit::Interrupted,
        Ended::Failed(_) => Exit::Failed,
        Ended::Done if report.is_decided() => Exit::Fine,
        Ended::Done | Ended::BudgetOver | Ended::Disturbed(_) => Exit::Invalid,
    }
}
