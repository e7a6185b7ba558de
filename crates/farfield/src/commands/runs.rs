//! `farfield runs`: the runs of a folder, and the removal of old ones.

pub mod held;
mod prune;

use crate::commands::compare::{look, refused};
use crate::exit::Exit;
use crate::flags::compare::RunsFlags;
use crate::output;
use crate::problem::Problem;

/// Columns of a list of runs where it is not seen on a terminal.
const COLUMNS_ELSEWHERE: usize = 300;
/// Columns of a terminal.
const COLUMNS: usize = 80;

/// Lists the runs of a folder, or removes old ones.
pub fn runs(flags: &RunsFlags) -> Result<Exit, Problem> {
    if flags.prune {
        return prune::prune(flags);
    }
    let columns = if output::is_terminal() { COLUMNS } else { COLUMNS_ELSEWHERE };
    let text = farfield_report::runs::render(&flags.folder, columns, look()).map_err(refused)?;
    output::put_coloured(&text)?;
    Ok(Exit::Fine)
}
