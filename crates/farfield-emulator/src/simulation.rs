//! The simulated plane: users, network and a model of a server in virtual time, on any number of threads.
//!
//! A simulation is made of *partitions* that share nothing: up to sixteen of clients, each with their own
//! links, TCP and users, and the *hub*, which holds the shared links and the server. Where the delay of the
//! first link away from the server allows it, the shared links behind that one are a partition of their own,
//! the *far side*, which halves what one thread must do at most and makes windows longer. What the partitions
//! are follows from the plan alone; how many threads turn them does not matter to anything that happens. That
//! is why the same seed gives the same bytes on one thread and on three.
//!
//! Time goes on in [windows](window). In each, every partition does what is due before the window's end, and
//! packets between partitions are handed over at the end of it: propagation delay keeps any from being due
//! before (conservative synchronization with lookahead; Chandy and Misra 1979, as in IP-TNE's parallel
//! kernel). Packets that reach the hub at the same instant are taken in the order of partitions, and of their
//! sending in each.
//!
//! Samples leave as the simulation goes on, in [batches](Batch): nothing is held for longer than it is under
//! way. A batch ends with a window, so that what comes later also ended later: how large batches are, which
//! depends on the machine, leaves no trace in their sequence.
//!
//! Answers of routers to clients about their own links are the one exception to the lookahead: they may be
//! handed on late by up to a window, the same in every run.

mod barrier;
mod hub;
mod partition;
mod sink;
mod turn;
pub mod window;

use crate::plan::NetworkPlan;
use crate::shared::Extent;
use crate::{ClientId, Directory, LinkCounts, Packet};
use farfield_base::{CrossCounts, Instant, LoadCounts, NetworkDrops, Opened, Part, Sample, Tenths, Window};
use farfield_http::tls::Sessions;
use farfield_http::tls::model::Offer;
use farfield_model::{ServerCounters, ServerPlan};
use farfield_user::{Flow, Plan, UserSettings};
pub use sink::{Batch, Remote, SimulationGauges, Sink};
use std::num::NonZeroU32;
use std::sync::Arc;
use window::Windows;

/// The parameters of a simulation.
#[derive(Debug, Clone)]
pub struct Simulation {
    /// Clients and links.
    pub network: Arc<NetworkPlan>,
    /// The server.
    pub server: Arc<ServerPlan>,
    /// The flows of users, one at least and [`Flow::MOST`] at most.
    pub flows: Vec<Flow>,
    /// Settings of the users of all flows.
    pub users: UserSettings,
    /// TLS of their connections, to a server that has it too; absent where the scheme is http.
    pub tls: Option<Arc<Offer>>,
    /// The measured part of the run.
    pub window: Window,
    /// The end of the drain: requests still open then are unfinished.
    pub drain_until: Instant,
    /// Threads.
    pub shards: NonZeroU32,
    /// The part of the run that is simulated here, before a server of its own.
    pub part: Part,
}

/// Why there is nothing to simulate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SimulationError {
    /// The plan has no clients.
    #[error("there are no clients; give a class of clients a share above 0")]
    NoClients,
    /// Packets would get from clients to the server and back in no time.
    #[error("no time passes between clients and the server; give a link on every way a `delay`")]
    NoDelay,
    /// A client would be of two parts.
    #[error("{clients} clients cannot be dealt out over {of} parts; write a multiple of {of}")]
    Parts {
        /// Clients that users act on.
        clients: u32,
        /// Units of the run.
        of: u32,
    },
}

/// The result of a simulation.
#[derive(Debug)]
pub struct Simulated {
    /// Every request, in order of its end, its user and its number on its connection; empty where a [`Sink`]
    /// took them.
    pub samples: Vec<Sample>,
    /// Counters of load that was scheduled, begun and dropped.
    pub counts: LoadCounts,
    /// The integral over the window of requests due and not over, in request-nanoseconds.
    pub in_system_area: u128,
    /// Connections that clients began.
    pub connects: u64,
    /// The connections that clients began, in the order of their numbers, if there was a tap that looked.
    pub opened: Vec<Opened>,
    /// Tenths of a second in which bytes came from the server.
    pub received: Tenths,
    /// Packets that did not arrive.
    pub drops: NetworkDrops,
    /// Counters of each flow of cross traffic.
    pub cross: Vec<CrossCounts>,
    /// Counters of each shared link.
    pub links: Vec<LinkCounts>,
    /// Counters of the server.
    pub server: ServerCounters,
    /// The instant of its end.
    pub ended: Instant,
    /// Events done: packets, timers, users.
    pub events: u64,
    /// Events that were a packet at the end of a hop: at the next link that takes time, at its client, at the
    /// server. A client's own links in a row are one hop where they [are one](farfield_net::Compound); a hop
    /// that takes no time is none, unless the packet changes threads there: the edge, on the way down.
    pub packet_events: u64,
    /// Windows that time went on in.
    pub windows: u64,
}

/// Sees packets on their way into the server and out of it, in order.
pub trait Tap: Send {
    /// False if it sees nothing: packets need not be shown to it.
    fn looks(&self) -> bool {
        true
    }

    /// A packet of `client`, at `at`, for the server (`inbound`) or from it.
    fn see(&mut self, at: Instant, inbound: bool, client: ClientId, packet: &Packet);
}

/// A tap that sees nothing.
impl Tap for () {
    fn looks(&self) -> bool {
        false
    }

    fn see(&mut self, _at: Instant, _inbound: bool, _client: ClientId, _packet: &Packet) {}
}

/// The most partitions of clients: enough to balance on several processors, few enough to turn through.
const PARTITIONS_MAX: u32 = 16;
/// Clients that make a partition of their own worth its while.
const CLIENTS_A_PARTITION: u32 = 64;

/// The number of partitions of `clients` clients. It divides theirs, so that a user's client is in the user's
/// partition however many users there are.
fn partitions_of(clients: u32) -> u32 {
    let most = (clients / CLIENTS_A_PARTITION).clamp(1, PARTITIONS_MAX);
    (1..=most).rev().find(|partitions| clients.is_multiple_of(*partitions)).unwrap_or(1)
}

/// The number of partitions of a part of a run of `clients` clients, which parts must divide.
fn partitions_of_part(clients: u32, part: Part) -> Result<u32, SimulationError> {
    if !clients.is_multiple_of(part.of()) {
        return Err(SimulationError::Parts { clients, of: part.of() });
    }
    // As many for each unit, so that all of the run's divide its clients.
    Ok(partitions_of(clients / part.of()) * part.own().len() as u32)
}

/// Simulates from the start of the load to the end of the drain.
pub fn simulate(simulation: &Simulation) -> Result<Simulated, SimulationError> {
    simulate_with(simulation, ())
}

/// Simulates as [`simulate`] does, with a tap on the packets.
pub fn simulate_with(
    simulation: &Simulation,
    tap: impl Tap + std::fmt::Debug,
) -> Result<Simulated, SimulationError> {
    let mut samples = Vec::new();
    let mut simulated = simulate_into(simulation, tap, &mut samples, &Remote::default())?;
    simulated.samples = samples;
    Ok(simulated)
}

/// Simulates as [`simulate_with`] does, with a sink that takes the samples as they come, and may end the
/// simulation.
pub fn simulate_into(
    simulation: &Simulation,
    tap: impl Tap + std::fmt::Debug,
    sink: &mut dyn Sink,
    remote: &Remote,
) -> Result<Simulated, SimulationError> {
    let network = &simulation.network;
    let clients = network.acting() as u32;
    if clients == 0 {
        return Err(SimulationError::NoClients);
    }
    let windows = Windows::of(network).ok_or(SimulationError::NoDelay)?;
    let partitions = partitions_of_part(clients, simulation.part)?;
    let directory = Arc::new(Directory::new(network));
    let partition = |number| {
        let plan = simulation.plan(number, partitions);
        let mut partition = partition::Partition::new(simulation, plan, &directory);
        if tap.looks() {
            partition.shard.note_connections();
        }
        partition
    };
    let partitions = (0..partitions).map(partition).collect();
    let far = windows.has_far_side().then(|| hub::Links::new(simulation, Extent::FAR));
    let extent = if far.is_some() { Extent::NEAR_HUB } else { Extent::HUB };
    let hub = hub::Hub::new(simulation, &directory, extent, tap);
    Ok(turn::turn(partitions, hub, far, windows, simulation, sink, remote))
}

impl Simulation {
    /// The plan of the users of one partition.
    fn plan(&self, partition: u32, partitions: u32) -> Plan {
        let (worker, workers) = self.part.worker(partition, partitions);
        Plan {
            flows: self.flows.iter().map(Flow::for_worker).collect(),
            users: self.users.clone(),
            tls: vec![self.tls.clone().map(Sessions::Modelled)],
            worker,
            workers,
            window: self.window,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_divide_the_clients() {
        for clients in 1..3000 {
            let partitions = partitions_of(clients);
            assert!(
                clients % partitions == 0 && partitions <= PARTITIONS_MAX,
                "{clients} clients in {partitions}"
            );
        }
        assert_eq!(
            (partitions_of(1), partitions_of(4096), partitions_of(1_000_000), partitions_of(10_007)),
            (1, 16, 16, 1)
        );
    }
}
