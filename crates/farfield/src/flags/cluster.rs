//! The flags of `farfield cluster`.

use super::gather::RendezvousFlags;
use super::heading::{LOAD, OUTPUT, SERVER};
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

/// `farfield cluster`
#[derive(Debug, Args)]
pub struct ClusterFlags {
    #[command(subcommand)]
    pub what: ClusterCommand,
}

#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Make one run on several hosts, which are reached by ssh.
    Run(Box<ClusterRunFlags>),
    /// Print what Kubernetes needs to make one run by several pods.
    Manifest(ManifestFlags),
}

/// `farfield cluster run`
#[derive(Debug, Args)]
#[command(after_help = "Exit codes:\n  \
    0    the run is valid, and keeps its thresholds\n  \
    1    the run was not made: a host was not reached, or could not run its part\n  \
    3    the run is invalid: a part was lost, or was invalid, or the sum is\n  \
    99   a threshold does not hold\n  \
    130  interrupted; what was measured is kept\n\n\
Examples:\n  \
    farfield cluster run scenario.toml --hosts a,b,c -o out")]
pub struct ClusterRunFlags {
    /// A URL, or a scenario file
    #[arg(value_name = "URL|SCENARIO", value_hint = ValueHint::FilePath)]
    pub what: String,
    #[command(flatten)]
    pub rendezvous: RendezvousFlags,
    /// Hosts of the parts, as ssh names them; a host that is named twice makes two parts
    #[arg(long, value_name = "LIST", value_delimiter = ',', required = true, help_heading = SERVER)]
    pub hosts: Vec<String>,
    /// The command that reaches a host
    #[arg(long, hide_short_help = true, value_name = "COMMAND", default_value = "ssh", help_heading = SERVER)]
    pub ssh: String,
    /// Listen for parts here; at any address and a free port if absent
    #[arg(long, hide_short_help = true, value_name = "ADDRESS:PORT", help_heading = SERVER)]
    pub listen: Option<String>,
    /// Address of this machine that parts connect to; the one that they see their ssh come from if absent
    #[arg(long, hide_short_help = true, value_name = "HOST", help_heading = SERVER)]
    pub address: Option<String>,
}

/// `farfield cluster manifest`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    farfield cluster manifest scenario.toml -n 8 --image registry.example/farfield:0.2.0 -o run.json\n  \
    kubectl apply -f run.json\n  \
    kubectl logs -f job/farfield-gather\n  \
    kubectl delete -f run.json")]
pub struct ManifestFlags {
    /// A scenario file, which names no other files
    #[arg(value_name = "SCENARIO", value_hint = ValueHint::FilePath)]
    pub what: String,
    /// Number of parts, a pod each
    #[arg(short = 'n', long, value_name = "COUNT", help_heading = LOAD, value_parser = clap::value_parser!(u32).range(2..=4096))]
    pub parts: u32,
    /// The image, which has farfield as its entry point
    #[arg(long, value_name = "IMAGE", help_heading = SERVER)]
    pub image: String,
    /// Name of all objects
    #[arg(long, value_name = "NAME", default_value = "farfield", help_heading = OUTPUT)]
    pub name: String,
    /// Claim of a persistent volume that the result is written to; it goes with the pod if absent
    #[arg(long, value_name = "NAME", help_heading = OUTPUT)]
    pub claim: Option<String>,
    /// Write into this new file, which its owner alone may read; standard output if absent
    ///
    /// It holds a key, and the scenario with its passwords: standard output is refused where it is a file
    /// that others may read.
    #[arg(short = 'o', long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    pub out: Option<PathBuf>,
}
