//! `farfield export`

use clap::{Args, ValueHint};
use farfield_scenario::Overlay;
use std::path::PathBuf;

/// `farfield export`
#[derive(Debug, Args)]
#[command(
    after_help = "The sessions must not depend on replies: the load is open or hybrid, or a recording."
)]
pub struct ExportFlags {
    /// The scenario file
    #[arg(value_name = "SCENARIO", value_hint = ValueHint::FilePath)]
    pub scenario: String,
    /// Write the sessions as httperf's --wsesslog reads them
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub wsesslog: Option<PathBuf>,
    /// Write the gaps between the starts of sessions, in seconds, one on each line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub gaps: Option<PathBuf>,
    /// Write a CSV table with a row for each request
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub csv: Option<PathBuf>,
    /// Length of the measured part
    #[arg(short, long, value_name = "TIME")]
    pub duration: Option<String>,
    /// Seed of all random numbers
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Set any key of the scenario; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
}

impl ExportFlags {
    /// What the flags set in the scenario.
    pub fn overlay(&self) -> Overlay {
        Overlay {
            duration: self.duration.clone(),
            seed: self.seed,
            sets: self.sets.clone(),
            ..Overlay::default()
        }
    }
}
