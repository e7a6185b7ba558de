//! `farfield report`: the result again, and a run's files for other programs, from the directory alone.

use crate::exit::Exit;
use crate::flags::report::{ReportFlags, ReportFormat};
use crate::flags::verbose::VerboseFlags;
use crate::output;
use crate::problem::Problem;
use farfield_measure::Summary;
use farfield_measure::set_aside::SecondAside;
use farfield_measure::summary::Phases;
use farfield_report::export::{self, ExportError, RowFormat, SamplesExported};
use farfield_report::{Look, ReportError, RunDirectory, page};
use std::io::{IsTerminal, Write};
use std::path::Path;

/// The name of the page in a run directory.
pub const PAGE: &str = "report.html";

/// Prints the result of a run, or exports a part of it.
pub fn report(flags: &ReportFlags) -> Result<Exit, Problem> {
    let run = RunDirectory::open(&flags.directory);
    let (directory, out) = (&flags.directory, flags.out.as_deref());
    let phases = run.as_ref().ok().map(|run| run.summary().phases);
    let aside = run.as_ref().ok().and_then(|run| run.summary().set_aside.clone());
    let aside = aside.map_or_else(Vec::new, |aside| aside.seconds);
    match flags.format {
        ReportFormat::Csv => {
            exported(flags, run, |to| samples(directory, RowFormat::Csv, phases, &aside, to))
        }
        ReportFormat::Jsonl => {
            exported(flags, run, |to| samples(directory, RowFormat::JsonLines, phases, &aside, to))
        }
        ReportFormat::Hdr => exported(flags, run, |to| export::interval_log(directory, to)),
        ReportFormat::Hgrm => exported(flags, run, |to| export::percentiles(directory, &flags.histogram, to)),
        ReportFormat::Text => of_summary(directory, run, |run| match out {
            None => output::put_coloured(&shown(run.summary(), directory, flags.verbose)),
            Some(out) => to_file(out, &text(run.summary(), directory, flags.verbose, false)),
        }),
        ReportFormat::Json => of_summary(directory, run, |run| put(out, run.json())),
        ReportFormat::Junit => {
            of_summary(directory, run, |run| put(out, &export::junit::render(run.summary())))
        }
        ReportFormat::Html => of_summary(directory, run, |run| put(out, &page::render(run))),
        ReportFormat::Markdown => {
            of_summary(directory, run, |run| put(out, &export::markdown::render(run.summary())))
        }
    }
}

/// The summary as the terminal shows it: coloured where that is seen and not unwanted (no-color.org).
pub fn shown(summary: &Summary, directory: &Path, flags: VerboseFlags) -> String {
    let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    text(summary, directory, flags, colour)
}

fn text(summary: &Summary, directory: &Path, flags: VerboseFlags, colour: bool) -> String {
    // The page is named if the run has one.
    let page = directory.join(PAGE).is_file().then_some(PAGE);
    let directory = directory.to_string_lossy();
    let look = Look { colour, directory: Some(&directory), page, verbose: flags.verbose };
    farfield_report::render(summary, look)
}

/// Prints a form that is made of the summary alone. Without it, the other files of the run may still be
/// readable.
fn of_summary(
    directory: &Path,
    run: Result<RunDirectory, ReportError>,
    print: impl FnOnce(&RunDirectory) -> Result<(), Problem>,
) -> Result<Exit, Problem> {
    let run = run.map_err(|error| {
        let there = export::readable(directory).into_iter();
        let there: Vec<String> = there.map(|(name, format)| format!("{name} by `{format}`")).collect();
        match there.is_empty() {
            true => Problem::usage(error),
            false => Problem::usage(format_args!("{error}; still readable: {}", there.join(", "))),
        }
    })?;
    print(&run)?;
    Ok(Exit::of_run(run.summary(), false, false))
}

/// Exports another file of the run. A summary that cannot be read is reported after it.
fn exported(
    flags: &ReportFlags,
    run: Result<RunDirectory, ReportError>,
    write: impl Fn(&mut dyn Write) -> Result<(), ExportError>,
) -> Result<Exit, Problem> {
    let written = match &flags.out {
        None => output::put_export(&write),
        Some(out) => farfield_files::replace(out, &write),
    };
    match (written, run) {
        (Ok(()), Ok(run)) => Ok(Exit::of_run(run.summary(), false, false)),
        // Nothing is there to be exported: the summary, or rather its absence, says why.
        (Err(error), Err(why)) if error.is_absent() => Err(Problem::usage(why)),
        (Err(error @ ExportError::Write(_)), _) => Err(Problem::failed(error)),
        (Err(error), _) => Err(Problem::usage(error)),
        (Ok(()), Err(why)) => Err(Problem::usage(why)),
    }
}

/// Exports samples; what the file does not have is said on standard error.
fn samples(
    directory: &Path,
    layout: RowFormat,
    phases: Option<Phases>,
    aside: &[SecondAside],
    to: &mut dyn Write,
) -> Result<(), ExportError> {
    let SamplesExported { rows, left_out, complete } = export::samples(directory, layout, phases, aside, to)?;
    if left_out > 0 {
        output::put_error(format_args!(
            "farfield: {left_out} further samples of the run were not kept (`output.samples`, `output.disk-budget` or \
             a full disk); {rows} were exported\n"
        ));
    }
    if !complete {
        output::put_error(format_args!(
            "farfield: the run did not go to its end; these are its {rows} samples up to the last checkpoint\n"
        ));
    }
    Ok(())
}

fn put(out: Option<&Path>, text: &str) -> Result<(), Problem> {
    match out {
        None => output::put(text),
        Some(out) => to_file(out, text),
    }
}

fn to_file(out: &Path, text: &str) -> Result<(), Problem> {
    farfield_files::output::put(out, text.as_bytes())
        .map_err(|error| Problem::failed(format_args!("`{}`: {error}", out.display())))
}
