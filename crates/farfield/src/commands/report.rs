//! `farfield report`: the summary again, from the directory alone.

use crate::exit::Exit;
use crate::flags::{Format, ReportFlags};
use crate::output;
use crate::problem::Problem;
use farfield_measure::Summary;
use farfield_report::{Look, RunDirectory};
use std::io::IsTerminal;
use std::path::Path;

/// Prints the result of a run.
pub fn report(flags: &ReportFlags) -> Result<Exit, Problem> {
    let run = RunDirectory::open(&flags.directory).map_err(Problem::usage)?;
    match flags.format {
        Format::Text => output::put_coloured(&shown(run.summary(), &flags.directory))?,
        Format::Json => output::put(run.json())?,
    }
    Ok(Exit::of_run(run.summary(), false, false))
}

/// The summary as the terminal shows it: coloured where that is seen and not unwanted (no-color.org).
pub fn shown(summary: &Summary, directory: &Path) -> String {
    let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let directory = directory.to_string_lossy();
    farfield_report::render(summary, Look { colour, directory: Some(&directory) })
}
