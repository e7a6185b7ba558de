//! What a run needs to know of the plane that carries it: plain data, resolved from the scenario.

use crate::emulated::{Emulated, SetUpError};
use crate::sockets::Sources;
use crate::testbed::{ServerSpec, TestbedSpec};
use farfield_base::Duration;
use farfield_emulator::NetworkPlan;
use farfield_emulator::capture::CapturePlan;
use farfield_emulator::layout::RoundTrips;
use farfield_emulator::server::{Objects, Workers};
use farfield_traffic::Distribution;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

/// What carries the bytes of a run, with what is known of each plane at some stage: `S` on the kernel's sockets, `E` for
/// emulated clients before a real server, `M` for emulated clients before a model of one. The defaults are those of a run
/// under way.
#[derive(Debug, Clone)]
pub enum Plane<S = SocketsPlane, E = Box<Emulated>, M = Box<SimulatedPlane>> {
    /// The kernel's own sockets.
    Sockets(S),
    /// Emulated clients, and a real server behind a gateway.
    Emulated(E),
    /// Emulated clients and a model of a server, in virtual time.
    Simulated(M),
}

/// A plane before its set-up: no namespace, gateway or server has been started.
pub type PreparedPlane = Plane<SocketsPlane, Box<EmulatedPlane>>;

/// Which plane carries the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlaneKind {
    /// The kernel's own sockets.
    #[default]
    Sockets,
    /// Emulated clients, each with an address, a TCP and a path of its own, against a real server.
    Emulated,
    /// The same clients against a model of a server, in virtual time.
    Simulated,
}

impl PlaneKind {
    /// Its name in scenarios and results.
    pub fn name(self) -> &'static str {
        match self {
            PlaneKind::Sockets => "sockets",
            PlaneKind::Emulated => "emulated",
            PlaneKind::Simulated => "simulated",
        }
    }
}

impl<S, E, M> Plane<S, E, M> {
    /// Which plane it is.
    pub fn kind(&self) -> PlaneKind {
        match self {
            Plane::Sockets(_) => PlaneKind::Sockets,
            Plane::Emulated(_) => PlaneKind::Emulated,
            Plane::Simulated(_) => PlaneKind::Simulated,
        }
    }
}

impl PreparedPlane {
    /// Sets up the namespace, the gateway and the server of the emulated plane, which logs into `directory`. The other planes
    /// need none.
    ///
    /// # Errors
    /// If the machine does not allow the one, or the server does not get ready in time.
    pub fn set_up(self, directory: &Path) -> Result<Plane, SetUpError> {
        Ok(match self {
            Plane::Sockets(sockets) => Plane::Sockets(sockets),
            Plane::Emulated(emulated) => Plane::Emulated(emulated.set_up(directory)?.into()),
            Plane::Simulated(simulated) => Plane::Simulated(simulated),
        })
    }
}

/// The sockets plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketsPlane {
    /// The server.
    pub target: SocketAddr,
    /// Addresses that clients connect from.
    pub sources: Sources,
}

/// Clients and the links between them and the server.
#[derive(Debug, Clone)]
pub struct EmulatedNetwork {
    /// What shards are made of.
    pub plan: Arc<NetworkPlan>,
    /// Names of the nodes between clients and the server, by [`NodePlan::id`](farfield_emulator::NodePlan::id).
    pub nodes: Vec<String>,
    /// The nearest and the farthest client.
    pub round_trips: RoundTrips,
    /// Shards; clients are a multiple of them.
    pub shards: NonZeroU32,
    /// The processors that shards run on, in turn; all that this process may use if empty.
    pub processors: Vec<usize>,
    /// Whether shards wait awake for what comes next.
    pub busy_poll: bool,
    /// Whether shards run at a real-time priority where each has a processor to itself and the system allows it.
    pub real_time: bool,
    /// What is captured, if anything is.
    pub capture: Option<Capture>,
}

/// The emulated plane.
#[derive(Debug, Clone)]
pub struct EmulatedPlane {
    /// Clients and links.
    pub network: EmulatedNetwork,
    /// The namespace and the gateway, with a queue for each shard.
    pub testbed: TestbedSpec,
    /// Who serves in it.
    pub server: Server,
}

/// The server of the emulated plane.
#[derive(Debug, Clone)]
pub enum Server {
    /// It is started, in a namespace of its own. Its `log` is a path within the run directory.
    Started(Box<ServerSpec>),
    /// It runs already: the process with this number, in whose namespace the gateway is set up.
    Running(u32),
}

/// The simulated plane.
#[derive(Debug, Clone)]
pub struct SimulatedPlane {
    /// Clients and links.
    pub network: EmulatedNetwork,
    /// The server.
    pub server: ServerModel,
}

/// A server as a queueing model: an accept queue, workers, and a law of how long they take.
#[derive(Debug, Clone)]
pub struct ServerModel {
    /// Who serves, and how many.
    pub workers: Workers,
    /// Objects whose sizes and costs are known.
    pub objects: Arc<Objects>,
    /// Seconds that a worker takes for a request.
    pub service_time: Distribution,
    /// The longest accept queue; what finds it full is not answered.
    pub backlog: u32,
    /// How long a connection may be idle before it is closed; zero closes it after each reply, `None` never.
    pub keep_alive_timeout: Option<Duration>,
    /// How long a process that closes first waits for the client to close as well; zero if not at all.
    pub linger: Duration,
    /// Bytes of the body of a reply to any other path.
    pub reply_size: Distribution,
}

/// What is captured, and how much of each packet.
#[derive(Debug, Clone)]
pub struct Capture {
    /// Where, and which packets.
    pub plan: CapturePlan,
    /// Bytes kept of each packet; all if absent.
    pub snap: Option<u32>,
}
