//! The flags of `farfield ui`.

use clap::{Args, ValueHint};
use std::path::PathBuf;

/// `farfield ui`
#[derive(Debug, Args)]
#[command(after_help = "Whoever has the URL that it prints can start runs, and so any command, as you. \
    It listens on the loopback interface only; for another machine:\n  \
    ssh -L 8400:127.0.0.1:8400 machine farfield ui --listen 8400\n\n\
Examples:\n  \
    farfield ui\n  \
    farfield ui results --read-only\n  \
    farfield ui results --scenarios scenarios --listen 8400")]
pub struct UiFlags {
    /// The folder of run directories
    #[arg(default_value = "farfield-runs", value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
    /// The folder of scenario files
    #[arg(long, default_value = ".", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub scenarios: PathBuf,
    /// A port of the loopback interface, a free one by default; or an address and a port, which other
    /// machines may reach
    #[arg(long, default_value = "0", value_name = "[ADDRESS:]PORT")]
    pub listen: String,
    /// Show runs and compare them; save no scenario, and start and stop no run
    #[arg(long)]
    pub read_only: bool,
}
