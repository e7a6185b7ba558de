//! What the engine tells of itself: all that the verdict needs and the samples cannot say.

use crate::histogram::Histogram;
use farfield_base::{Duration, Tenths};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The engine's own account of a run, over the steady part where nothing else is said.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EngineStats {
    /// The plane that carried the bytes, by name: `sockets`, `emulated`, `simulated`.
    pub plane: String,
    /// Processors the workers were bound to, by the system's numbers; empty if they were not bound.
    pub processors: Vec<u32>,
    /// Who runs on which processors and why, in words, where that was chosen.
    #[serde(default)]
    pub placement: Option<String>,
    /// One entry a worker.
    pub workers: Vec<WorkerStats>,
    /// How long after the instant it was due each scheduled wake was handled.
    pub lateness: Histogram,
    /// How long each turn of an event loop kept later events waiting.
    pub loop_lag: Histogram,
    /// The arrivals of an open load; `None` where users come back by themselves.
    pub arrivals: Option<Arrivals>,
    /// ∫ N(t) dt over the steady part, in request-nanoseconds, N being the requests due and not yet done,
    /// as counted while running and not from samples. Divided by the length of the steady part it is
    /// Little's L.
    pub in_system_ns: u64,
    /// How often a worker had to wait for, or skip, a full writer of samples, over the whole run.
    pub writer_stalls: u64,
    /// Requests that were sent again because their connection closed without a word about them, over the whole run.
    /// Each is one sample; the server may have seen it more often.
    pub resent: u64,
    /// Connections that users gave up because bytes came on them that no request had asked for, over the whole run.
    pub unasked: u64,
    /// Bytes of content that sessions took a content coding off, over the whole run.
    pub coded_bytes: u64,
    /// What they were without it.
    pub decoded_bytes: u64,
    /// Objects that were not fetched because their page embeds too many, over the whole run.
    pub objects_left_out: u64,
    /// Forms that were sent with fields or a button that their page does not have, over the whole run.
    pub forms_unlike: u64,
    /// Samples that should have been written or folded and were not, over the whole run. Those left out
    /// on request are not lost.
    pub samples_lost: u64,
    /// Why samples were lost, if they were: what happened, and what to do.
    pub samples_refused: Option<String>,
    /// Connections open in each second from the start of the run: the most seen in it.
    pub connections_open: Vec<u64>,
    /// Why the run was ended before its time, if it was.
    pub interrupted: Option<String>,
    /// The load came to an end of its own: its count of requests was reached, or its arrivals ran out. The measured
    /// part then is as long as it lasted.
    pub load_ended: bool,
    /// What a reader should know: one sentence each.
    pub warnings: Vec<String>,
    /// The emulated network; `None` on a plane that has none.
    pub network: Option<NetworkStats>,
    /// When the last byte came from the server, since the start of the run; `None` if none ever came.
    pub last_received: Option<Duration>,
    /// Tenths of a second in which bytes came from the server.
    #[serde(default)]
    pub received: Tenths,
    /// The server's process, where it is known.
    pub server: Option<ServerStatus>,
    /// When memory was short first and how much of it was left, in words, if it was.
    #[serde(default)]
    pub memory_short: Option<String>,
    /// What else the machine did during the run; `None` where that is not known.
    pub machine: Option<MachineStats>,
    /// What limits of the server did; `None` where it has none.
    pub server_limits: Option<ServerLimits>,
}

/// A server whose process is known to the engine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerStatus {
    /// How it ended before the run did; `None` if it did not.
    pub ended: Option<ServerEnd>,
}

/// The end of a server in mid-run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerEnd {
    /// When, since the start of the run, if that is known.
    pub at: Option<Duration>,
    /// How: "exit status: 1".
    pub status: String,
    /// The end of what it wrote, in one line and without control characters; empty if there is none.
    pub last_words: String,
    /// What the kernel killed it for, as far as that is known.
    #[serde(default)]
    pub out_of_memory: Option<OutOfMemory>,
}

/// Which memory was used up when the kernel killed a process for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OutOfMemory {
    /// The server's, as the run limited it.
    Limit,
    /// The machine's, or a control group's that the run did not make.
    Machine,
}

/// What the machine did beside the run, as shares of the time of all processors that the run may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineStats {
    /// Processors that the run may use.
    pub processors: u32,
    /// The load average of the last minute, at the end of the run.
    pub load: Option<f64>,
    /// What other processes took: neither farfield nor the server that it started.
    pub others: f64,
    /// What the host of a virtual machine gave to other machines (steal).
    pub stolen: f64,
    /// That share of the processors that the workers may use alone; `None` if not known.
    pub stolen_from_workers: Option<f64>,
    /// Processes that the kernel killed because memory ran out, on the whole machine, but for those that the run's own
    /// limits on its server cost.
    #[serde(default)]
    pub oom_kills: u64,
}

/// What a server was allowed of the machine, and what that did to it, over the whole run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerLimits {
    /// Processor time a second, in processors; null if it was not limited.
    pub cpu: Option<f64>,
    /// The period over which that is counted.
    pub period_ns: Option<u64>,
    /// Periods in which the server had something to do.
    pub periods: u64,
    /// Those in which it used up its time and was kept from running (throttled).
    pub throttled_periods: u64,
    /// How long it was, added up over processors.
    pub throttled_ns: u64,
    /// Bytes of memory; null if it was not limited.
    pub memory_bytes: Option<u64>,
    /// The most that it held at once; null if the kernel does not say.
    pub memory_bytes_max: Option<u64>,
    /// Processes of the server that the kernel killed because its memory was used up.
    pub oom_kills: u64,
}

/// What an emulated network tells of itself. Lateness is of the steady part, counts are of the whole run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkStats {
    /// Clients.
    pub clients: u64,
    /// Shards that they were dealt out over.
    pub shards: u64,
    /// What the gateway is made of, `tun` or `packet`; `None` where the server is a model.
    pub gateway: Option<String>,
    /// The unloaded round trip of the nearest client: propagation.
    pub round_trip_least: Duration,
    /// That of the farthest.
    pub round_trip_largest: Duration,
    /// How long after the instant meant for it each packet left for the server.
    pub departure_lateness: Histogram,
    /// How long after the instant meant for it each packet reached its client.
    pub arrival_lateness: Histogram,
    /// How long after the instant meant for it each packet was taken over from another shard; empty where shards share
    /// no links.
    pub crossing_lateness: Histogram,
    /// Packets handed to the server.
    pub packets_up: u64,
    /// Packets taken from it, large segments as the packets they stand for.
    pub packets_down: u64,
    /// Packets that the gateway lost or refused: the emulator's fault, not the network's.
    pub overruns: u64,
    /// Packets that the network did not deliver: what the scenario asks for.
    pub drops: NetworkDrops,
    /// Packets that capturing lost, which changed nothing for anybody else.
    pub capture_drops: u64,
}

/// Packets that a network did not deliver, by cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkDrops {
    /// Lost on the wire.
    pub lost: u64,
    /// Found a queue full.
    pub queue_full: u64,
    /// Dropped early by RED.
    pub early: u64,
    /// Dropped by CoDel for their delay.
    pub delayed: u64,
    /// Ran out of hops.
    pub expired: u64,
    /// Too big for a link.
    pub too_big: u64,
    /// Damaged on the way and refused by the client.
    pub damaged: u64,
    /// For an address that no client has.
    pub nobody: u64,
}

impl NetworkDrops {
    /// All causes with their names, in order.
    pub fn by_cause(&self) -> [(&'static str, u64); 8] {
        [
            ("lost", self.lost),
            ("queue-full", self.queue_full),
            ("early", self.early),
            ("delayed", self.delayed),
            ("expired", self.expired),
            ("too-big", self.too_big),
            ("damaged", self.damaged),
            ("nobody", self.nobody),
        ]
    }
}

/// One worker thread.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerStats {
    /// Processor time it took.
    pub cpu: Duration,
    /// Time that passed meanwhile.
    pub wall: Duration,
    /// The part of it in which the worker had nothing to do and waited for the next event.
    pub slept: Duration,
    /// The part of it in which the worker was ready and had no processor, where the kernel counts that.
    pub waited: Option<Duration>,
    /// The longest time for which it was away from its events: a turn of its loop, or a sleep beyond what it meant to
    /// sleep.
    pub stall: Option<Duration>,
    /// The most of that time in which it can have been ready without a processor, where the kernel counts that.
    pub stall_waited: Option<Duration>,
}

impl WorkerStats {
    /// The share of the time in which the worker had something to do, whether or not it had a processor to do it
    /// on; 0 if no time passed. A worker that others keep from its processor is busy, and cannot do more.
    pub fn busy(&self) -> f64 {
        if self.wall.is_zero() {
            0.0
        } else {
            (self.wall - self.slept).as_secs_f64() / self.wall.as_secs_f64()
        }
    }

    /// The share of the time in which it was ready and had no processor; `None` if that is not known.
    pub fn waited_share(&self) -> Option<f64> {
        let waited = self.waited.filter(|_| !self.wall.is_zero())?;
        Some((waited.as_secs_f64() / self.wall.as_secs_f64()).min(1.0))
    }

    /// The share of the time that its own work took: what it was busy, without waiting for a processor.
    pub fn computing(&self) -> f64 {
        (self.busy() - self.waited_share().unwrap_or(0.0)).max(0.0)
    }
}

/// Arrivals of an open load: requests in an open loop, sessions in a hybrid one, attempts in overload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Arrivals {
    /// How many the arrival process has in the steady part on average, if that is known.
    pub expected: Option<f64>,
    /// How many it had due in the steady part this time, whether or not the engine came to them.
    pub scheduled: u64,
    /// How many of those were begun, whenever that was.
    pub begun: u64,
    /// How many of those were dropped because no more users were allowed.
    pub dropped: u64,
}
