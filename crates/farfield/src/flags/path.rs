//! The flags of `farfield path`.

use super::scenario::{KeyFlags, NetworkFlags, network_alone};
use clap::{Args, ValueHint};
use farfield_scenario::Overlay;
use std::path::PathBuf;

/// `farfield path`
#[derive(Debug, Args)]
#[command(
    after_help = "Pings, hops and the goodput of one TCP connection each way, for each class of clients. The exit code\n\
is 3 if a figure is farther from what was asked for than its tolerance.\n\n\
Examples:\n  \
    farfield path --access 4g\n  \
    farfield path --scenario wan.toml --as home"
)]
pub struct PathFlags {
    /// Scenario with the network; its server and its load are not used; only flags if absent
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub scenario: Option<PathBuf>,
    /// The class of clients whose path is measured; all, one after the other, if absent
    #[arg(long = "as", value_name = "CLASS")]
    pub class: Option<String>,
    #[command(flatten)]
    pub network: NetworkFlags,
    #[command(flatten)]
    pub keys: KeyFlags,
}

impl PathFlags {
    /// The keys that the flags lay over a scenario.
    pub fn overlay(&self) -> Overlay {
        let mut overlay = network_alone("farfield path");
        self.network.lay(&mut overlay);
        self.keys.lay(&mut overlay);
        overlay
    }
}
