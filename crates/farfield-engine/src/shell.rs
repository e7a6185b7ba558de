//! A program of this machine behind an emulated path: a network namespace whose only way out is the way of
//! one client of a scenario, up to the scenario's server.
//!
//! A [`Shell`] is set up from an emulated plane and one of its clients. It has two testbeds: the server's,
//! as in a run, and one whose "server" is the program and whose "clients" are everybody else. Between them
//! a thread passes packets on, by the clock and the [`Router`].

mod forwarding;
mod packet_port;

use crate::emulated::{Emulated, SetUpError};
use crate::os::clock::Clock;
use crate::os::mounts;
use crate::plane::{EmulatedNetwork, EmulatedPlane};
use crate::testbed::{Prefix, Testbed, TestbedSpec};
use farfield_base::Duration;
use farfield_base::random::Seed;
pub use farfield_emulator::Drops;
use farfield_emulator::{ClientId, ClientPlan, NetworkPlan, Router, Servers};
use farfield_measure::Histogram;
use forwarding::Forwarding;
use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Time between two checks of the program and of the stop flag.
const LOOK: std::time::Duration = std::time::Duration::from_millis(20);
/// Time that the program gets to end when it is asked to.
const GRACE: Duration = Duration::from_secs(2);
/// Ethernet's MTU, which a client's first link may be below.
const MTU_MAX: u32 = 1500;
/// Other than any server's: the program has no path for IPv6 unless its client's address is one.
const UNUSED_V4: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 8);
const UNUSED_V6: Ipv6Addr = Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 1);

/// A path, set up: its server is ready.
#[derive(Debug)]
pub struct Shell {
    network: Arc<NetworkPlan>,
    /// The address of the program.
    pub client: IpAddr,
    /// The program's testbed. It is dropped before the server's.
    inside: Testbed,
    server: Emulated,
    directory: PathBuf,
}

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Program {
    /// The program and its arguments; at least the program.
    pub command: Vec<OsString>,
    /// Names of the server, for the program alone.
    pub names: Vec<String>,
}

/// How a program ended, and what its path did.
#[derive(Debug)]
pub struct ShellReport {
    /// How it ended.
    pub status: ExitStatus,
    /// Packets that the program's kernel sent.
    pub up: u64,
    /// Packets that the server's kernel sent.
    pub down: u64,
    /// Packets that the emulated network did not deliver.
    pub drops: Drops,
    /// Packets that a kernel did not take, or that were malformed.
    pub refused: u64,
    /// Lateness of all packets at either end, against when the path has them arrive.
    pub lateness: Histogram,
    /// Processes that the program left behind. They have been killed.
    pub left_behind: usize,
    /// What ended the forwarding before the program, if anything did.
    pub failed: Option<io::Error>,
}

/// A class that no client is of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no clients are of the class `{asked}`; there are {}", .classes.join(", "))]
pub struct NoSuchClass {
    /// The name that was given.
    pub asked: String,
    /// The names that there are.
    pub classes: Vec<String>,
}

/// The first client of `class`, or of all classes.
///
/// # Errors
/// If no client is of that class.
pub fn client_of(network: &EmulatedNetwork, class: Option<&str>) -> Result<ClientId, NoSuchClass> {
    let plan = &network.plan;
    let is_of =
        |client: &ClientPlan| class.is_none_or(|class| plan.classes[usize::from(client.class)].name == class);
    plan.clients.iter().position(is_of).map(|number| ClientId::new(number as u32)).ok_or_else(|| {
        NoSuchClass {
            asked: class.unwrap_or_default().to_owned(),
            classes: plan.classes.iter().map(|class| class.name.clone()).collect(),
        }
    })
}

/// Why a program did not run behind its path.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// It cannot be started.
    #[error("{} cannot be started: {source}", .program.display())]
    Start {
        /// The program.
        program: OsString,
        /// The system's error.
        source: io::Error,
    },
    /// It cannot be waited for.
    #[error("the program cannot be waited for: {0}")]
    Wait(io::Error),
}

impl Shell {
    /// Builds both testbeds and starts the server, whose log goes into `directory`, which must
    /// outlive the program. The program will be at the address of client `client`.
    ///
    /// # Errors
    /// If the machine does not allow the testbeds, or the server does not get ready in time.
    pub fn set_up(mut plane: EmulatedPlane, client: ClientId, directory: &Path) -> Result<Shell, SetUpError> {
        // A real host's packets pass as they are: none that another kernel would have to finish.
        plane.testbed.offload = false;
        plane.testbed.queues = NonZeroU32::MIN;
        plane.show_off_loopback();
        let network = Arc::clone(&plane.network.plan);
        let address = network.address(client);
        let inside = spec_inside(&plane.testbed, &network, client);
        let server = plane.set_up(directory)?;
        let inside = Testbed::build(&inside)?;
        Ok(Shell { network, client: address, inside, server, directory: directory.to_owned() })
    }

    /// The server's addresses.
    pub fn servers(&self) -> Servers {
        self.network.servers
    }

    /// Runs the program, with this process's input and output, until it ends or `stop` is set; then it is
    /// asked to end, and killed two seconds later. `seed` is that of the links.
    ///
    /// # Errors
    /// If the program cannot be started.
    pub fn run(&self, program: &Program, seed: Seed, stop: &AtomicBool) -> Result<ShellReport, ShellError> {
        let halt = AtomicBool::new(false);
        let router = Router::new(Arc::clone(&self.network), seed);
        let (inside, server) = (self.inside.queues().remove(0), self.server.testbed.queues().remove(0));
        let forwarding = Forwarding::new(router, inside, server, Clock::starting_in(Duration::ZERO));
        let (ended, forwarded) = thread::scope(|scope| {
            let forwarding = scope.spawn(|| forwarding.run(&halt));
            let ended = self.start(program).and_then(|child| wait(child, stop));
            halt.store(true, Ordering::Relaxed);
            (ended, forwarding.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        Ok(ShellReport {
            status: ended?,
            up: forwarded.up,
            down: forwarded.down,
            drops: forwarded.drops,
            refused: forwarded.refused,
            lateness: forwarded.lateness,
            left_behind: self.inside.kill_processes(),
            failed: forwarded.failed,
        })
    }

    fn start(&self, program: &Program) -> Result<Child, ShellError> {
        let (name, arguments) = program.command.split_first().expect("a program");
        let failed = |source| ShellError::Start { program: name.clone(), source };
        let server = self.network.servers.of(&self.client);
        let hosts = program.names.iter().map(|host| (server.ip(), host.as_str())).collect::<Vec<_>>();
        let started = self.inside.inside(|| {
            // Where names cannot be added, the program still has the address.
            let _ = mounts::add_hosts(&hosts, &self.directory.join("hosts"));
            Command::new(name)
                .args(arguments)
                .env("FARFIELD_SERVER", server.to_string())
                .env("FARFIELD_CLIENT", self.client.to_string())
                .spawn()
        });
        started.and_then(|started| started).map_err(failed)
    }
}

/// The testbed of the program: it is at the client's address, and everything else lies beyond the gateway.
fn spec_inside(server: &TestbedSpec, network: &NetworkPlan, client: ClientId) -> TestbedSpec {
    let class = &network.classes[usize::from(network.clients[client.index()].class)];
    let first_link = class.up.first().map_or(MTU_MAX, |link| link.mtu_of_link().as_bytes());
    let (v4, v6) = match network.address(client) {
        IpAddr::V4(v4) => (v4, UNUSED_V6),
        IpAddr::V6(v6) => (UNUSED_V4, v6),
    };
    TestbedSpec {
        server_v4: v4,
        server_v6: v6,
        clients_v4: Prefix::new(Ipv4Addr::UNSPECIFIED, 0).expect("no bits are set"),
        clients_v6: Prefix::new(Ipv6Addr::UNSPECIFIED, 0).expect("no bits are set"),
        mtu: first_link.min(MTU_MAX),
        offload: false,
        device: server.device,
        queue_packets: server.queue_packets,
        ..TestbedSpec::default()
    }
}

/// Waits for the program. Once `stop` is set it is asked to end, and later killed.
fn wait(mut child: Child, stop: &AtomicBool) -> Result<ExitStatus, ShellError> {
    let clock = Clock::starting_in(Duration::ZERO);
    let mut asked = None;
    loop {
        if let Some(status) = child.try_wait().map_err(ShellError::Wait)? {
            return Ok(status);
        }
        if stop.load(Ordering::Relaxed) {
            let asked_at = *asked.get_or_insert_with(|| {
                let _ = ask_to_end(&child);
                clock.now()
            });
            if clock.now().since(asked_at) > GRACE {
                // It may have ended meanwhile.
                let _ = child.kill();
            }
        }
        thread::park_timeout(LOOK);
    }
}

fn ask_to_end(child: &Child) -> rustix::io::Result<()> {
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    pid.map_or(Ok(()), |pid| rustix::process::kill_process(pid, rustix::process::Signal::TERM))
}
