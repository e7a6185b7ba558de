//! The flags of `farfield merge`.

use super::Format;
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// `farfield merge`
#[derive(Debug, Args)]
#[command(after_help = "Exit codes:\n  \
    0   the run is valid, and keeps its thresholds\n  \
    2   the directories are not the parts of one run\n  \
    3   the run is invalid: a part is missing, or was invalid, or the sum is\n  \
    99  a threshold does not hold\n\n\
Examples:\n  \
    farfield run scenario.toml --part 1/2 --start-at 2026-12-01T09:30:00Z -o one\n  \
    farfield run scenario.toml --part 2/2 --start-at 2026-12-01T09:30:00Z -o two\n  \
    farfield merge one two -o whole")]
pub struct MergeFlags {
    /// The run directories of the parts
    #[arg(required = true, value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub directories: Vec<PathBuf>,
    /// Where to put the run directory of the whole; farfield-runs/TIME-NAME if absent
    ///
    /// It must hold no run yet.
    #[arg(short = 'o', long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}
