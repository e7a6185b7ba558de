//! The flags of `farfield doctor`.

use clap::{Args, ValueHint};

/// `farfield doctor`
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    farfield doctor\n  \
    farfield doctor --limit\n  \
    farfield doctor --limit shop.toml")]
pub struct DoctorFlags {
    /// Measure the highest load that farfield itself can offer here, before its own server: that at which one
    /// generator and two get the same
    #[arg(long)]
    pub limit: bool,
    /// The scenario whose load is offered, with its connections and its version of HTTP; one page a
    /// connection kept open if absent
    #[arg(value_name = "SCENARIO", requires = "limit", value_hint = ValueHint::FilePath)]
    pub what: Option<String>,
    /// The time for that
    #[arg(long, value_name = "TIME", default_value = "30s", requires = "limit")]
    pub budget: String,
}
