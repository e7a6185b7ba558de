//! The emulated plane: users on emulated clients, across an emulated network, against the real kernel of a
//! server.
//!
//! A `worker` is one thread with its shard of the network and its own queue of the gateway; workers share
//! nothing but the channel of samples. The `gateway_port` is the shard's side of the gateway: packets out
//! with their lateness, packets in as the kernel sends them. If clients of several shards share links, the
//! `exchange` sends packets to the worker that holds these links, and back. Programs beside the users are
//! `hosts` of their shards.

pub(crate) mod at_work;
pub(crate) mod breaks;
pub(crate) mod delivery;
pub(crate) mod exchange;
pub(crate) mod gateway_port;
pub(crate) mod hosts;
pub(crate) mod pickup;
pub(crate) mod worker;

use crate::beside::BesidePrograms;
use crate::placement::{Placement, PlacementRequest};
use crate::plane::{EmulatedNetwork, EmulatedPlane, OtherServer, Server};
use crate::server_threads::ServerThreads;
use farfield_base::Duration;
use farfield_emulator::ClientId;
use farfield_os::init;
use farfield_os::processors;
use farfield_testbed::gateway::{CardError, CardSpec};
use farfield_testbed::live::FoundServer;
use farfield_testbed::probe::{self, ProbeAnswer};
use farfield_testbed::{RunningServer, ServerError, Testbed, TestbedError, TestbedSpec};
use rustix::fd::OwnedFd;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// The emulated plane, set up: its server is ready.
#[derive(Debug)]
pub struct Emulated {
    /// Programs beside the users, whose namespaces are removed before the server's.
    pub beside: BesidePrograms,
    /// Names for programs, each with its number as a far end.
    pub names: Vec<(String, u16)>,
    /// Clients and links.
    pub network: EmulatedNetwork,
    /// The processors of each part.
    pub placement: Placement,
    /// The server's process, if it was started for the run. It is dropped before its testbed.
    pub server: Option<RunningServer>,
    /// The server's processes, if it ran already.
    pub joined: Option<JoinedServer>,
    /// The server's testbed, with as many queues as there are workers.
    pub testbed: Testbed,
    /// Servers beside the first.
    pub others: Vec<RunningOther>,
}

impl Emulated {
    /// The testbeds of all real servers, the first's first, each with the number of its server.
    pub(crate) fn testbeds(&self) -> impl Iterator<Item = (u16, &Testbed)> {
        let others = self.others.iter().map(|other| (other.number, &other.testbed));
        std::iter::once((0, &self.testbed)).chain(others)
    }
}

/// A server beside the first, with its testbed.
#[derive(Debug)]
pub struct RunningOther {
    /// The server's name.
    pub name: String,
    /// The number among the servers.
    pub number: u16,
    /// The server's process, which is dropped before its testbed.
    pub server: RunningServer,
    /// The server's testbed, with as many queues as there are workers.
    pub testbed: Testbed,
}

impl OtherServer {
    fn set_up(mut self, placement: &Placement, directory: &Path) -> Result<RunningOther, SetUpError> {
        self.testbed.receive_processors.clone_from(&placement.receive);
        let testbed = Testbed::build(&self.testbed)?;
        self.server.log = directory.join(&self.server.log);
        self.server.processors.clone_from(&placement.server);
        let server = testbed.start_server(&self.server)?;
        Ok(RunningOther { name: self.name, number: self.number, server, testbed })
    }
}

/// A server that ran before the run.
#[derive(Debug)]
pub struct JoinedServer {
    /// Processes of the server that could be seen, the one that made the others first.
    pub processes: Vec<u32>,
    /// The first of them.
    descriptor: Option<OwnedFd>,
}

impl JoinedServer {
    fn of(found: &FoundServer) -> JoinedServer {
        let processes = found.processes.clone();
        let descriptor = processes.first().and_then(|pid| init::descriptor_of(*pid).ok());
        JoinedServer { processes, descriptor }
    }

    /// Processor time of its processes, and of those of their children that have ended.
    pub fn cpu(&self) -> Duration {
        farfield_testbed::cpu_of(&self.processes)
    }

    /// True if its first process runs still; `None` if none could be seen.
    pub fn runs(&self) -> Option<bool> {
        self.descriptor.as_ref().map(|process| !init::has_ended(process))
    }
}

/// Joins the gateway to the server's namespace, and sees to it that the server answers through it.
fn join(found: &FoundServer, spec: &TestbedSpec) -> Result<(Testbed, JoinedServer), TestbedError> {
    // Opened first: a process that ends from now on is missed.
    let joined = JoinedServer::of(found);
    let testbed = Testbed::join(&found.host, spec)?;
    let servers = [IpAddr::V4(found.v4), IpAddr::V6(found.v6)].into_iter().zip(spec.families);
    for (address, _) in servers.filter(|(_, used)| *used) {
        let server = SocketAddr::new(address, found.port);
        let interface = || testbed.report().interface.clone();
        let failed = |source| TestbedError::Interface { what: format!("way to {server}"), source };
        let map = spec.maps.iter().find(|map| map.own == address);
        let shown = SocketAddr::new(map.map_or(address, |map| map.shown), found.port);
        match probe::ask(&testbed, spec, shown).map_err(failed)? {
            ProbeAnswer::Accepted => {}
            ProbeAnswer::Refused => return Err(TestbedError::Refused { server, interface: interface() }),
            ProbeAnswer::Silence => return Err(TestbedError::Silent { server, interface: interface() }),
        }
    }
    Ok((testbed, joined))
}

/// Opens the gateway on a network card, and sees to it that the server answers through it.
fn before_other_machine(card: &CardSpec, spec: &TestbedSpec, port: u16) -> Result<Testbed, TestbedError> {
    let testbed = Testbed::on_card(card, spec)?;
    for ip in &card.servers {
        let (server, interface) = (SocketAddr::new(*ip, port), card.interface.clone());
        let failed = |source| TestbedError::Interface { what: format!("way to {server}"), source };
        let is_of_family = |(own, _): &&(IpAddr, u8)| own.is_ipv6() == ip.is_ipv6();
        let Some((client, bits)) = card.own.iter().find(is_of_family) else { continue };
        match probe::ask_from(&testbed, spec, *client, server).map_err(failed)? {
            ProbeAnswer::Accepted => {}
            ProbeAnswer::Refused => return Err(CardError::Refused { server }.into()),
            ProbeAnswer::Silence => {
                if let Some(dispute) = testbed.dispute_about(server) {
                    return Err(dispute.into());
                }
                let around = [
                    (spec.clients_v4.network().into(), spec.clients_v4.bits()),
                    (spec.clients_v6.network().into(), spec.clients_v6.bits()),
                ];
                let (to, bits) = around
                    .into_iter()
                    .find(|(to, _): &(IpAddr, u8)| to.is_ipv6() == ip.is_ipv6())
                    .unwrap_or((*client, *bits));
                let block = format!("{to}/{bits}");
                return Err(CardError::NoWayBack { server, interface, client: *client, block }.into());
            }
        }
    }
    Ok(testbed)
}

/// The reason why the emulated plane cannot be set up. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum SetUpError {
    /// The testbed cannot be built.
    #[error(transparent)]
    Testbed(#[from] TestbedError),
    /// The server does not get ready.
    #[error(transparent)]
    Server(#[from] ServerError),
}

impl EmulatedPlane {
    /// Builds the testbed and starts the server, whose log goes into `directory`.
    ///
    /// # Errors
    /// If the machine does not allow the testbed, or the server is not ready in time.
    pub fn set_up(self, directory: &Path) -> Result<Emulated, SetUpError> {
        let seats: Vec<ClientId> = self.programs.iter().map(|program| program.client).collect();
        self.set_up_around(&seats, directory)
    }

    /// Sets up as [`set_up`](Self::set_up) does, with programs in the places of `seats`.
    pub(crate) fn set_up_around(
        mut self,
        seats: &[ClientId],
        directory: &Path,
    ) -> Result<Emulated, SetUpError> {
        let placement = self.choose_placement();
        self.testbed.receive_processors.clone_from(&placement.receive);
        if !self.programs.is_empty() {
            self.show_off_loopback();
        }
        self.connect_hosts(seats);
        let (testbed, server, joined) = match self.server {
            Server::Running(found) => {
                let (testbed, joined) = join(&found, &self.testbed)?;
                (testbed, None, Some(joined))
            }
            Server::Elsewhere(card) => {
                let port = self.network.plan.servers.port;
                (before_other_machine(&card, &self.testbed, port)?, None, None)
            }
            Server::Started(mut spec) => {
                let testbed = Testbed::build(&self.testbed)?;
                spec.log = directory.join(&spec.log);
                spec.processors.clone_from(&placement.server);
                let server = testbed.start_server(&spec)?;
                (testbed, Some(server), None)
            }
        };
        let others = self.others.into_iter().map(|other| other.set_up(&placement, directory));
        let others = others.collect::<Result<_, _>>()?;
        let beside =
            BesidePrograms::build(self.programs, self.names.clone(), &self.testbed, &self.network.plan)?;
        Ok(Emulated {
            beside,
            names: self.names,
            network: self.network,
            placement,
            server,
            joined,
            testbed,
            others,
        })
    }

    /// The placement, from the processors that this process may use and the scenario's requests.
    fn choose_placement(&self) -> Placement {
        let shards = self.network.shards.get() as usize;
        // If the system does not report its processors, nothing is bound.
        let processors = processors::allowed().unwrap_or_default();
        if processors.is_empty() {
            return Placement::unbound(shards);
        }
        let server = match &self.server {
            Server::Started(spec) => spec.processors.clone(),
            Server::Running(found) => bound_to(&found.processes, &processors),
            Server::Elsewhere(_) => Vec::new(),
        };
        let receive = self.testbed.receive_asked.then_some(self.testbed.receive_processors.as_slice());
        let server_runs = matches!(self.server, Server::Running(_));
        let bound = !server.is_empty();
        // Where shards have no room beside a server that is bound, they share its processors as it asks for.
        let has_room = server.len() + shards <= processors.len();
        let server = if server_runs && !has_room { Vec::new() } else { server };
        let real_time = self.network.real_time && processors::may_be_real_time();
        let real_time = real_time && (has_room || !(server_runs && bound));
        let asked = PlacementRequest {
            shards: &self.network.processors,
            server: &server,
            receive,
            server_runs,
            real_time,
        };
        Placement::choose(&processors, shards, asked)
    }
}

/// The `processors` to which threads of a server that runs already are bound; none if all are free to use
/// any. Such a thread and a shard on its processor would wait for one another.
fn bound_to(processes: &[u32], processors: &[usize]) -> Vec<usize> {
    let own = ServerThreads::read(processes).bound(processors);
    processors.iter().copied().filter(|processor| own.contains(processor)).collect()
}
