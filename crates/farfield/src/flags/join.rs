//! The flags by which a run is a part of a rendezvous. They are no keys of the scenario, which comes from the
//! gatherer.

use super::heading::LOAD;
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// A part's way to its gatherer.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = LOAD)]
pub struct JoinFlags {
    /// Make a part of the run that `farfield gather` gathers at ADDRESS, which has the scenario; a run of its
    /// own if absent
    ///
    /// The ticket comes from the file of --ticket, or from the environment variable FARFIELD_TOKEN.
    #[arg(long, hide_short_help = true, value_name = "HOST:PORT")]
    pub join: Option<String>,
    /// File of the ticket that `farfield gather` made; FARFIELD_TOKEN if absent
    #[arg(long, hide_short_help = true, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "join")]
    pub ticket: Option<PathBuf>,
    /// Time for which the gatherer may not be there yet
    #[arg(long, hide_short_help = true, value_name = "TIME", default_value = "1m", requires = "join")]
    pub join_within: String,
}
