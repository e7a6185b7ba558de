//! The flags of `farfield gather`.

use super::Format;
use super::heading::{LOAD, OUTPUT};
use super::scenario::{KeyFlags, LoadFlags, TargetFlags};
use clap::{Args, ValueHint};
use farfield_scenario::Overlay;
use std::path::PathBuf;

/// `farfield gather`
#[derive(Debug, Clone, Args)]
#[command(after_help = "Exit codes:\n  \
    0    the run is valid, and keeps its thresholds\n  \
    1    the run was not made: a part did not come, or could not run\n  \
    3    the run is invalid: a part was lost, or was invalid, or the sum is\n  \
    99   a threshold does not hold\n  \
    130  interrupted; what was measured is kept\n\n\
Examples:\n  \
    farfield gather scenario.toml --parts 3 --listen 0.0.0.0:9009 --ticket ticket -o out\n  \
    farfield run --join gatherer:9009 --ticket ticket")]
pub struct GatherFlags {
    /// A URL, or a scenario file
    #[arg(value_name = "URL|SCENARIO", value_hint = ValueHint::FilePath)]
    pub what: String,
    #[command(flatten)]
    pub rendezvous: RendezvousFlags,
    /// Listen for parts here: at a port of the loopback interface, or at the address given
    #[arg(long, value_name = "[ADDRESS:]PORT", default_value = "127.0.0.1:0", help_heading = OUTPUT)]
    pub listen: String,
    /// Write the ticket of the parts into this new file; it is printed if absent
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    pub ticket: Option<PathBuf>,
    /// File of the gatherer's key, as `farfield cluster manifest` makes it; a new one if absent
    #[arg(long, hide_short_help = true, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    pub key: Option<PathBuf>,
    /// Number of parts; by --weights if absent
    #[arg(long, value_name = "COUNT", help_heading = LOAD, value_parser = clap::value_parser!(u32).range(2..=4096), required_unless_present = "weights")]
    pub parts: Option<u32>,
    /// Weights of parts that are not equal, such as 3,1,1, in place of their number; all equal if absent
    #[arg(long, hide_short_help = true, value_name = "LIST", help_heading = LOAD, value_delimiter = ',', conflicts_with = "parts")]
    pub weights: Vec<u32>,
}

/// Flags of every command that gathers parts.
#[derive(Debug, Clone, Args)]
pub struct RendezvousFlags {
    #[command(flatten)]
    pub load: LoadFlags,
    #[command(flatten)]
    pub target: TargetFlags,
    #[command(flatten)]
    pub keys: KeyFlags,
    /// Time for all parts to come and be ready
    #[arg(long, value_name = "TIME", default_value = "5m", help_heading = LOAD)]
    pub wait: String,
    /// Where to put the run directory of the whole; farfield-runs/TIME-NAME if absent
    ///
    /// It must hold no run yet. Those of the parts are in it, in `parts`.
    #[arg(short = 'o', long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath, help_heading = OUTPUT)]
    pub out: Option<PathBuf>,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = OUTPUT)]
    pub format: Format,
    /// Print no progress; parts that are lost are named all the same
    #[arg(short, long, help_heading = OUTPUT)]
    pub quiet: bool,
}

impl RendezvousFlags {
    /// The keys that the flags lay over a scenario.
    pub fn overlay(&self) -> Overlay {
        let mut overlay = Overlay::default();
        self.load.lay(&mut overlay);
        self.target.lay(&mut overlay);
        self.keys.lay(&mut overlay);
        overlay
    }
}
