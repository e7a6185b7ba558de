//! What a run needs to know of the plane that carries it: plain data, resolved from the scenario.

use crate::testbed::{ServerSpec, TestbedSpec};
use farfield_base::Duration;
use farfield_emulator::NetworkPlan;
use farfield_emulator::capture::CapturePlan;
use farfield_emulator::layout::RoundTrips;
use farfield_emulator::server::{Objects, Workers};
use farfield_traffic::Distribution;
use std::num::NonZeroU32;
use std::sync::Arc;

/// What carries the bytes, with what it needs.
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
