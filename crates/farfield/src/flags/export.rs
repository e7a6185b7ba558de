//! `farfield export`

use super::scenario::KeyFlags;
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
    /// Write the sessions as httperf's --wsesslog reads them; not if absent
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub wsesslog: Option<PathBuf>,
    /// Write the gaps between the starts of sessions, in seconds, one on each line; not if absent
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub gaps: Option<PathBuf>,
    /// Write a CSV table with a row for each request; not if absent
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub csv: Option<PathBuf>,
    /// Length of the measured part; the scenario's if absent
    #[arg(short, long, value_name = "TIME")]
    pub duration: Option<String>,
    #[command(flatten)]
    pub keys: KeyFlags,
}

impl ExportFlags {
    /// The keys that the flags lay over the scenario.
    pub fn overlay(&self) -> Overlay {
        let mut overlay = Overlay::default();
        if let Some(duration) = &self.duration {
            overlay.set("run.duration", "--duration", duration.as_str());
        }
        self.keys.lay(&mut overlay);
        overlay
    }
}
