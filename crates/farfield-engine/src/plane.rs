//! Settings of the plane of a run: plain data, resolved from the scenario.

use crate::testbed::{ServerSpec, TestbedSpec};
use farfield_base::Duration;
use farfield_emulator::NetworkPlan;
use farfield_emulator::capture::CapturePlan;
use farfield_emulator::layout::RoundTrips;
use farfield_emulator::server::{Objects, Workers};
use farfield_traffic::Distribution;
use std::num::NonZeroU32;
use std::sync::Arc;

/// The plane that carries the bytes, with its settings.
#[derive(Debug, Clone)]
pub enum PlaneSettings {
    /// The kernel's own sockets.
    Sockets,
    /// Emulated clients, and a real server behind a gateway.
    Emulated(Box<EmulatedPlane>),
    /// Emulated clients and a model of a server, in virtual time.
    Simulated(Box<SimulatedPlane>),
}

/// Clients and the links between them and the server.
#[derive(Debug, Clone)]
pub struct EmulatedNetwork {
    /// The network that shards are made of.
    pub plan: Arc<NetworkPlan>,
    /// Names of the nodes between clients and the server, by
    /// [`NodePlan::id`](farfield_emulator::NodePlan::id).
    pub nodes: Vec<String>,
    /// Round trips of the nearest and the farthest client.
    pub round_trips: RoundTrips,
    /// Number of shards; the number of clients is a multiple of it.
    pub shards: NonZeroU32,
    /// The processors that shards run on, in turn; all that this process may use if empty.
    pub processors: Vec<usize>,
    /// Whether shards poll for the next event without sleeping.
    pub busy_poll: bool,
    /// Whether shards run at a real-time priority where each has a processor to itself and the system allows
    /// it.
    pub real_time: bool,
    /// The capture, if there is one.
    pub capture: Option<Capture>,
}

/// The emulated plane.
#[derive(Debug, Clone)]
pub struct EmulatedPlane {
    /// Clients and links.
    pub network: EmulatedNetwork,
    /// The namespace and the gateway, with a queue for each shard.
    pub testbed: TestbedSpec,
    /// The server inside it.
    pub server: Server,
}

/// The server of the emulated plane.
#[derive(Debug, Clone)]
pub enum Server {
    /// A server to be started, in a namespace of its own. Its `log` is a path within the run directory.
    Started(Box<ServerSpec>),
    /// A server that runs already: its process number. The gateway is set up in its namespace.
    Running(u32),
}

/// The simulated plane.
#[derive(Debug, Clone)]
pub struct SimulatedPlane {
    /// Clients and links.
    pub network: EmulatedNetwork,
    /// The model of the server.
    pub server: ServerModel,
}

/// A server as a queueing model: an accept queue, workers, and the distribution of their service times.
#[derive(Debug, Clone)]
pub struct ServerModel {
    /// The kind and number of its workers.
    pub workers: Workers,
    /// Objects with known sizes and costs.
    pub objects: Arc<Objects>,
    /// Service time of a request, in seconds.
    pub service_time: Distribution,
    /// Length of the accept queue; a connection that finds it full is not answered.
    pub backlog: u32,
    /// Idle time after which a connection is closed; zero closes it after each reply, `None` never.
    pub keep_alive_timeout: Option<Duration>,
    /// Time that a process that closes first waits for the client to close as well; zero for no wait.
    pub linger: Duration,
    /// Body size of a reply to any other path, in bytes.
    pub reply_size: Distribution,
}

/// Settings of a capture.
#[derive(Debug, Clone)]
pub struct Capture {
    /// The points of capture, and which packets.
    pub plan: CapturePlan,
    /// Bytes kept of each packet; all if absent.
    pub snap: Option<u32>,
}
