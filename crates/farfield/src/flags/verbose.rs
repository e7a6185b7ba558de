//! The flag for diagnostics, of commands that print the result of a run.

use clap::Args;

/// The extent of a result that is printed.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct VerboseFlags {
    /// Print diagnostics too: lateness, threads and packets of farfield itself
    #[arg(short, long)]
    pub verbose: bool,
}
