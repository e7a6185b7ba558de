//! The emulated plane: users on emulated clients, across an emulated network, against the real kernel of a server.
//!
//! A `worker` is one thread with its shard of the network and its own queue of the gateway; workers share
//! nothing but the channel on which samples leave. The `gateway_port` is the shard's side of the gateway: packets out
//! with how late they were, packets in as the kernel hands them over. Where clients of several shards share links,
//! the `exchange` hands packets to the worker that holds these, and back.

pub(crate) mod breaks;
pub(crate) mod exchange;
pub(crate) mod gateway_port;
pub(crate) mod worker;

use crate::os::init;
use crate::os::processors;
use crate::placement::{Placement, Requested};
use crate::plane::{EmulatedNetwork, EmulatedPlane, Server};
use crate::testbed::{RunningServer, ServerError, Testbed, TestbedError};
use rustix::fd::OwnedFd;
use std::path::Path;

/// The emulated plane, set up: its server is ready.
#[derive(Debug)]
pub struct Emulated {
    /// Clients and links.
    pub network: EmulatedNetwork,
    /// Who runs on which processors.
    pub placement: Placement,
    /// The server's process, if it was started for the run. It goes before its testbed does.
    pub server: Option<RunningServer>,
    /// The server's process, if it ran already.
    pub joined: Option<JoinedServer>,
    /// Where the server is, with as many queues as there are workers.
    pub testbed: Testbed,
}

/// A server that ran before the run did: nothing is known of it but whether it is still there.
#[derive(Debug)]
pub struct JoinedServer {
    /// Its process.
    pub pid: u32,
    descriptor: OwnedFd,
}

impl JoinedServer {
    /// The process with this number; `None` if it has gone in the meantime.
    fn of(pid: u32) -> Option<JoinedServer> {
        init::descriptor_of(pid).ok().map(|descriptor| JoinedServer { pid, descriptor })
    }

    /// Whether it runs still.
    pub fn runs(&self) -> bool {
        !init::has_ended(&self.descriptor)
    }
}

/// Why the emulated plane cannot be set up. Nothing is left of what was begun.
#[derive(Debug, thiserror::Error)]
pub enum SetUpError {
    /// There is no testbed for the server.
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
    /// When the machine does not allow the one, or the other does not get ready in time.
    pub fn set_up(mut self, directory: &Path) -> Result<Emulated, SetUpError> {
        let placement = self.choose_placement();
        self.testbed.receive_processors.clone_from(&placement.receive);
        let (testbed, server, joined) = match self.server {
            Server::Running(pid) => (Testbed::of_process(pid, &self.testbed)?, None, JoinedServer::of(pid)),
            Server::Started(mut spec) => {
                let testbed = Testbed::build(&self.testbed)?;
                spec.log = directory.join(&spec.log);
                spec.processors.clone_from(&placement.server);
                let server = testbed.start_server(&spec)?;
                (testbed, Some(server), None)
            }
        };
        Ok(Emulated { network: self.network, placement, server, joined, testbed })
    }

    /// Who runs where, from what this process may use and what is asked for.
    fn choose_placement(&self) -> Placement {
        let shards = self.network.shards.get() as usize;
        // Without a word from the system nothing is bound.
        let processors = processors::allowed().unwrap_or_default();
        if processors.is_empty() {
            return Placement::unbound(shards);
        }
        let server = match &self.server {
            Server::Started(spec) => spec.processors.as_slice(),
            Server::Running(_) => &[],
        };
        let receive = self.testbed.receive_asked.then_some(self.testbed.receive_processors.as_slice());
        let server_runs = matches!(self.server, Server::Running(_));
        let real_time = self.network.real_time && processors::may_be_real_time();
        let asked = Requested { shards: &self.network.processors, server, receive, server_runs, real_time };
        Placement::choose(&processors, shards, asked)
    }
}
