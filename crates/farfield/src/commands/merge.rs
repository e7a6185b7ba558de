//! `farfield merge`: the run that several parts are together.

use super::report;
use super::run::{new_directory, write_page};
use crate::exit::Exit;
use crate::flags::verbose::VerboseFlags;
use crate::flags::{Format, merge::MergeFlags};
use crate::output;
use crate::problem::Problem;
use farfield_engine::{MergeError, PartsOfRun, RunDirectory};
use farfield_measure::Summary;

/// Merges the parts in the directories that the flags name, and prints the run's result.
pub fn merge(flags: &MergeFlags) -> Result<Exit, Problem> {
    let parts = PartsOfRun::read(&flags.directories).map_err(Problem::usage)?;
    let created = match &flags.out {
        Some(out) => RunDirectory::create(out),
        None => new_directory("merged"),
    };
    let created = created.map_err(Problem::failed)?;
    let summary = parts.write(&created).map_err(|error| match error {
        MergeError::Unreadable { .. } => Problem::usage(error),
        error => Problem::failed(error),
    })?;
    write_page(&created);
    show_merged(&summary, &created, flags.format)?;
    Ok(Exit::of_run(&summary, false, false))
}

/// Prints the result of the run that parts are together.
pub(super) fn show_merged(summary: &Summary, created: &RunDirectory, format: Format) -> Result<(), Problem> {
    match format {
        Format::Text => {
            output::put_coloured(&report::shown(summary, created.path(), VerboseFlags::default()))
        }
        Format::Json => output::put(&summary.to_json()),
    }
}
