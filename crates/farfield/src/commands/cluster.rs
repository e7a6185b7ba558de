//! `farfield cluster`: doors to engines that start processes elsewhere. Each starts parts, and nothing more:
//! the rendezvous is that of `farfield gather`.

mod hosts;
mod manifest;
pub mod on;
mod ssh;
mod started;

use crate::exit::Exit;
use crate::flags::cluster::ClusterCommand;
use crate::problem::Problem;

/// Does what the flags ask for.
pub fn cluster(what: &ClusterCommand) -> Result<Exit, Problem> {
    match what {
        ClusterCommand::Run(flags) => hosts::run(flags),
        ClusterCommand::Manifest(flags) => manifest::print(flags),
    }
}
