//! Parts on hosts that the system's ssh reaches: the program is copied where it is missing, and started with
//! the ticket on its standard input, where no list of processes shows it.

use super::super::gather::GatherRequest;
use super::ssh::{Program, Ssh, Start};
use super::started::{PartStart, gathered};
use crate::exit::Exit;
use crate::flags::cluster::ClusterRunFlags;
use crate::metrics::listen;
use crate::problem::Problem;
use farfield_base::Part;
use farfield_engine::interrupt;
use std::net::TcpListener;

/// Makes one run on the hosts that the flags name.
pub fn run(flags: &ClusterRunFlags) -> Result<Exit, Problem> {
    if flags.hosts.len() < 2 {
        return Err(Problem::usage("--hosts: name two parts at least; `farfield run` makes a run of one"));
    }
    if let Some(odd) = flags.hosts.iter().find(|host| host.is_empty() || host.starts_with('-')) {
        return Err(Problem::usage(format!("--hosts: `{odd}` is no host")));
    }
    if let Some(odd) = flags.address.iter().find(|address| !address.chars().all(is_of_address)) {
        return Err(Problem::usage(format!("--address: `{odd}` is no address")));
    }
    let stop =
        interrupt::flag().map_err(|error| Problem::failed(format!("cannot listen for signals: {error}")))?;
    let listener = listen_for_parts(flags.listen.as_deref(), "--listen")?;
    let program = Program::own()?;
    let request = GatherRequest::of(&flags.what, &flags.rendezvous)?;
    gathered(request, flags.hosts.len() as u32, listener, &stop, |at, parts| {
        let by_ssh = |(host, part): (&String, &Part)| PartStart::Ssh {
            ssh: Ssh { host: host.clone(), command: flags.ssh.clone() },
            program: program.clone(),
            start: Start { port: at.port(), part: *part, address: flags.address.clone() },
        };
        flags.hosts.iter().zip(parts).map(by_ssh).collect()
    })
}

/// Listens where parts come in: at `given`, or at any address of either family, since the ssh of a host may
/// come over either.
pub fn listen_for_parts(given: Option<&str>, flag: &str) -> Result<TcpListener, Problem> {
    match given {
        Some(given) => listen(given, flag),
        // A kernel without IPv6 has IPv4 alone.
        None => listen("[::]:0", flag).or_else(|_| listen("0.0.0.0:0", flag)),
    }
}

fn is_of_address(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || ".:-_%".contains(letter)
}
