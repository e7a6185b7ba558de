//! A program in its namespace: its names, its resolver, its start.

use super::ShellError;
use super::ends::ProgramNamespace;
use super::names::{self, Resolver};
use farfield_emulator::NetworkPlan;
use farfield_os::mounts;
use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::process::{Child, Command, Stdio};

/// The surroundings of a program in its namespace.
#[derive(Debug, Clone)]
pub(crate) struct ProgramEnvironment {
    /// The server in `$FARFIELD_SERVER`.
    pub server: SocketAddr,
    /// Hosts by their names.
    pub hosts: Vec<(String, IpAddr)>,
}

impl ProgramEnvironment {
    /// The environment of a program inside, for the servers of `network`; `names` have the numbers of far
    /// ends.
    pub fn of(
        inside: &ProgramNamespace,
        network: &NetworkPlan,
        names: &[(String, u16)],
    ) -> ProgramEnvironment {
        let host =
            |(name, far): &(String, u16)| Some((name.clone(), network.address_of_far(*far, inside.address)?));
        let hosts = names.iter().filter_map(host).collect();
        ProgramEnvironment { server: network.server(0).of(&inside.address), hosts }
    }

    /// The resolver of the program's namespace; none where its port cannot be had, and then nothing is found
    /// but in `/etc/hosts`.
    pub fn resolver(&self, inside: &ProgramNamespace) -> Option<Resolver> {
        let hosts = self.hosts.clone();
        inside.testbed.inside(|| Resolver::bind(hosts)).and_then(|bound| bound).ok()
    }

    /// Starts a program inside.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(
        &self,
        inside: &ProgramNamespace,
        command: &[OsString],
        [input, output, error]: [Stdio; 3],
    ) -> Result<Child, ShellError> {
        let (name, arguments) = command.split_first().expect("a program");
        let failed = |source| ShellError::Start { program: name.clone(), source };
        let hosts = self.hosts.iter().map(|(name, address)| (*address, name.as_str())).collect::<Vec<_>>();
        let started = inside.testbed.inside(|| {
            // Where names cannot be added, the program still has the address. The files are needed until it
            // has started.
            let _files = mounts::add_names(&hosts, Some(names::ADDRESS));
            Command::new(name)
                .args(arguments)
                .env("FARFIELD_SERVER", self.server.to_string())
                .env("FARFIELD_CLIENT", inside.address.to_string())
                .stdin(input)
                .stdout(output)
                .stderr(error)
                .spawn()
        });
        started.and_then(|started| started).map_err(failed)
    }
}
