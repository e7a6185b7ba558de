//! The flags of `farfield path`.

use super::values::{ACCESS, GATEWAYS, Suggested};
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
    /// Scenario with the network; its server and its load are not used
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub scenario: Option<PathBuf>,
    /// The class of clients whose path is measured; all, one after the other, if absent
    #[arg(long = "as", value_name = "CLASS")]
    pub class: Option<String>,
    /// The access link, such as dsl, fibre, 4g or modem-56k
    #[arg(long, value_name = "KIND", value_parser = Suggested(ACCESS))]
    pub access: Option<String>,
    /// Round-trip time to the server
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub rtt: Option<String>,
    /// Kind of gateway at both ends of the path: auto, tun or packet
    #[arg(long, value_name = "DEVICE", value_parser = Suggested(GATEWAYS))]
    pub gateway: Option<String>,
    /// Seed of the links' random numbers
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Set any key of the scenario; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
}

impl PathFlags {
    /// The flags that are short for keys of the scenario.
    pub fn overlay(&self) -> Overlay {
        Overlay {
            plane: Some("emulated".to_owned()),
            access: self.access.clone(),
            rtt: self.rtt.clone(),
            gateway: self.gateway.clone(),
            seed: self.seed,
            sets: self.sets.clone(),
            no_monitor: true,
            ..Overlay::default()
        }
    }
}
