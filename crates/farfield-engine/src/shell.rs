//! Programs of this machine behind emulated paths: each in a network namespace whose only way out is the way
//! of one client of a scenario, up to the scenario's server.
//!
//! A [`Shell`] is set up from an emulated plane and some of its clients. It has the server's testbed, as in a
//! run, and one for each program, whose "server" is the program and whose "clients" are everybody else.
//! Between them a thread passes packets on, by the clock and the [`Router`](farfield_emulator::Router). All
//! programs are on one network: where their ways share a link, they share it.

pub(crate) mod child;
mod clients;
pub(crate) mod ends;
pub(crate) mod forwarding;
pub(crate) mod names;
pub(crate) mod packet_port;
pub(crate) mod seat;

use crate::emulated::{Emulated, SetUpError};
use crate::plane::EmulatedPlane;
use child::Children;
pub use clients::{NoClient, clients_of};
use ends::{ProgramNamespace, forwarding_during};
use farfield_base::random::Seed;
use farfield_base::{Duration, NetworkDrops};
use farfield_emulator::{ClientId, Servers};
use farfield_measure::Histogram;
use farfield_testbed::Testbed;
use names::Resolver;
use seat::ProgramEnvironment;
use std::ffi::OsString;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Paths, set up: their server is ready.
#[derive(Debug)]
pub struct Shell {
    /// The programs' testbeds. They are dropped before the server's.
    insides: Vec<ProgramNamespace>,
    server: Emulated,
}

/// A program to run.
#[derive(Debug, Clone)]
pub struct Program {
    /// The program and its arguments; at least the program.
    pub command: Vec<OsString>,
}

/// The ends of programs, and the figures of their paths.
#[derive(Debug)]
pub struct ShellReport {
    /// The exit status of the first.
    pub status: ExitStatus,
    /// The exit status of each beside it, absent for one that was still running when the first ended, and
    /// was ended.
    pub beside: Vec<Option<ExitStatus>>,
    /// Packets that the programs' kernels sent.
    pub up: u64,
    /// Packets that the server's kernel sent.
    pub down: u64,
    /// Packets that the emulated network did not deliver.
    pub drops: NetworkDrops,
    /// Packets that a kernel did not take, or that were malformed.
    pub refused: u64,
    /// Lookups of names that are not there.
    pub unknown_names: u64,
    /// Lateness of all packets at either end, against when the path has them arrive.
    pub lateness: Histogram,
    /// Processor time of the thread that passed packets on.
    pub cpu: Duration,
    /// Processes that the programs left behind. They have been killed.
    pub left_behind: usize,
    /// The error that ended the forwarding before the program, if there was one.
    pub failed: Option<io::Error>,
}

/// Why a program did not run behind its path.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// The program cannot be started.
    #[error("{} cannot be started: {source}", .program.display())]
    Start {
        /// The program.
        program: OsString,
        /// The system's error.
        source: io::Error,
    },
    /// The program cannot be waited for.
    #[error("the program cannot be waited for: {0}")]
    Wait(io::Error),
}

impl Shell {
    /// Builds all testbeds and starts the server, whose log goes into `directory`, which must outlive the
    /// programs. A program will be at the address of each of `clients`.
    ///
    /// # Errors
    /// If the machine does not allow the testbeds, or the server does not get ready in time.
    pub fn set_up(
        mut plane: EmulatedPlane,
        clients: &[ClientId],
        directory: &Path,
    ) -> Result<Shell, SetUpError> {
        ends::prepare(&mut plane);
        let spec = plane.testbed.clone();
        let server = plane.set_up_around(clients, directory)?;
        let inside = |client: &ClientId| ProgramNamespace::build(&spec, &server.network.plan, *client);
        let insides = clients.iter().map(inside).collect::<Result<Vec<_>, _>>()?;
        Ok(Shell { insides, server })
    }

    /// The server's addresses.
    pub fn servers(&self) -> Servers {
        self.server.network.plan.servers
    }

    /// The addresses of the programs.
    pub fn clients(&self) -> impl Iterator<Item = IpAddr> {
        self.insides.iter().map(|inside| inside.address)
    }

    /// The names by which the programs know one another, in order.
    pub fn names_of_programs(&self) -> Vec<String> {
        self.server.network.names_of_programs().into_iter().map(|(name, _)| name).collect()
    }

    /// Runs `programs`, one for each client, with this process's input and output, until the first ends,
    /// `stop` is set or the path is gone; then it is asked to end, and killed two seconds later. Those beside
    /// it end with it. `seed` is that of the links.
    ///
    /// # Errors
    /// If a program cannot be started; then none runs.
    pub fn run(
        &self,
        programs: &[Program],
        seed: Seed,
        stop: &AtomicBool,
    ) -> Result<ShellReport, ShellError> {
        let resolvers: Vec<Option<Resolver>> = self
            .insides
            .iter()
            .zip(programs)
            .map(|(inside, _)| self.surroundings(inside).resolver(inside))
            .collect();
        let testbeds: Vec<(u16, &Testbed)> = self.server.testbeds().collect();
        let (network, insides) = (&self.server.network, &self.insides);
        let models = &network.models;
        let (ended, forwarded) = forwarding_during(network, insides, &testbeds, models, seed, |halt| {
            thread::scope(|scope| {
                for resolver in resolvers.iter().flatten() {
                    scope.spawn(|| resolver.serve_datagrams(halt));
                    scope.spawn(|| resolver.serve_connections(halt));
                }
                let ended = self.run_programs(programs, [stop, halt]);
                halt.store(true, Ordering::Relaxed);
                ended
            })
        });
        let ended = ended?;
        let unknown = |resolver: &Resolver| resolver.unknown.load(Ordering::Relaxed);
        Ok(ShellReport {
            status: ended.first,
            beside: ended.beside,
            up: forwarded.up,
            down: forwarded.down,
            drops: NetworkDrops { nobody: forwarded.drops.nobody + forwarded.strays, ..forwarded.drops },
            refused: forwarded.refused,
            unknown_names: resolvers.iter().flatten().map(unknown).sum(),
            lateness: forwarded.lateness,
            cpu: forwarded.cpu,
            left_behind: self.insides.iter().map(|inside| inside.testbed.kill_processes()).sum(),
            failed: forwarded.failed,
        })
    }

    /// Runs the programs until the first ends; one of `stops` ends it.
    fn run_programs(
        &self,
        programs: &[Program],
        stops: [&AtomicBool; 2],
    ) -> Result<child::Endings, ShellError> {
        let mut started: Vec<Child> = Vec::new();
        // Those beside the first are there when it starts.
        for (nth, program) in programs.iter().enumerate().rev() {
            match self.start(nth, program) {
                Ok(child) => started.push(child),
                Err(error) => {
                    if let Some(first) = started.pop() {
                        drop(Children::new(first, started));
                    }
                    return Err(error);
                }
            }
        }
        let first = started.pop().expect("a program at least");
        started.reverse();
        Children::new(first, started).wait(stops).map_err(ShellError::Wait)
    }

    fn surroundings(&self, inside: &ProgramNamespace) -> ProgramEnvironment {
        ProgramEnvironment::of(inside, &self.server.network.plan, &self.server.names)
    }

    fn start(&self, nth: usize, program: &Program) -> Result<Child, ShellError> {
        let inside = &self.insides[nth];
        let own = || [Stdio::inherit(), Stdio::inherit(), Stdio::inherit()];
        self.surroundings(inside).start(inside, &program.command, own())
    }
}
