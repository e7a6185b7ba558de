//! Statistics that the engine records about itself: all that the verdict needs beside the samples.

mod network;

use crate::bottleneck::Bottleneck;
use crate::histogram::Histogram;
use farfield_base::{Duration, LoadCounts, Merge, Tenths};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use network::{AttachedStats, CrossTrafficStats, LinkStats, NetworkStats, ProgramStats, TopologyStats};

farfield_base::mergeable! {
    /// The engine's statistics of a run, by default over the steady part.
    ///
    /// They merge as those of parts of a run, in the order of the parts: what is one machine's is that of the
    /// first.
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct EngineStats {
        /// The plane that carried the bytes, by name: `sockets`, `emulated`, `simulated`.
        pub plane: String => kept,
        /// Processors the workers were bound to, by the system's numbers; empty if they were not bound.
        pub processors: Vec<u32> => append,
        /// The placement on processors and its reason, in words, if one was chosen.
        #[serde(default)]
        pub placement: Option<String> => agreed,
        /// Statistics of each worker.
        pub workers: Vec<WorkerStats> => append,
        /// Lateness of each scheduled wake, against the instant at which it was due. In a closed load over
        /// sockets, also the time from an event that users answer at once, a reply or a connection, until
        /// their request left for it.
        pub lateness: Histogram,
        /// Duration of each turn of an event loop, in which later events wait.
        pub loop_lag: Histogram,
        /// The arrivals of an open load; `None` where users come back by themselves.
        pub arrivals: Option<Arrivals> => both,
        /// ∫ N(t) dt over the steady part, in request-nanoseconds, N being the requests due and not yet done,
        /// as counted while running and not from samples. Divided by the length of the steady part it is
        /// Little's L.
        pub in_system_ns: u64 => saturating,
        /// Counters of users.
        #[serde(default)]
        pub counts: LoadCounts,
        /// Counters of the generator's own losses.
        #[serde(flatten)]
        pub generator: GeneratorCounts,
        /// Counts of each address of the server's, where connections go to several, over the whole run.
        #[serde(default)]
        pub addresses: Vec<AddressStats> => AddressStats::by_address,
        /// The reason why samples were lost, if they were, with the remedy.
        pub samples_refused: Option<String> => first,
        /// Connections open in each second from the start of the run: the most seen in it.
        pub connections_open: Vec<u64>,
        /// The reason why the run ended early, if it did.
        pub interrupted: Option<String> => first,
        /// True if the run ended early because something else on the machine took a part of its network away.
        #[serde(default)]
        pub network_taken: bool => or,
        /// The load came to an end of its own: its count of requests was reached, or its arrivals ran out.
        /// The measured part then is as long as it lasted.
        pub load_ended: bool => and,
        /// Warnings for the reader, one sentence each.
        pub warnings: Vec<String> => append,
        /// The emulated network; `None` on a plane that has none.
        pub network: Option<NetworkStats>,
        /// Time of the last byte from the server, since the start of the run; `None` if there was none.
        pub last_received: Option<Duration> => most,
        /// Tenths of a second in which bytes came from the server.
        #[serde(default)]
        pub received: Tenths,
        /// The server's process, where it is known.
        pub server: Option<ServerStatus>,
        /// The first time at which memory was short, and how much was free, in words, if it was.
        #[serde(default)]
        pub memory_short: Option<String> => first,
        /// Other load of the machine during the run; `None` if not known.
        pub machine: Option<MachineStats> => kept,
        /// The processes of that load that took the most, the first first, as far as they can be seen.
        #[serde(default)]
        pub other_processes: Vec<OtherProcess> => kept,
        /// The server's own time; `None` if its processes are not known.
        #[serde(default)]
        pub server_time: Option<ServerTime> => kept,
        /// Threads of the server's that may run on a worker's processor; `None` if its processes are not
        /// known, or no worker has a processor to itself.
        #[serde(default)]
        pub server_beside: Option<ServerBeside> => kept,
        /// Users are those of a closed load and ask again as soon as they are answered, without a think time.
        #[serde(default)]
        pub asks_at_once: bool => and,
        /// The server's limits and their effects; `None` if it has none.
        pub server_limits: Option<ServerLimits> => kept,
        /// The resource that gave out first; `None` if nothing of a server was monitored.
        #[serde(default)]
        pub bottleneck: Option<Bottleneck> => kept,
        /// The end of the last worker, since the start of the run; `None` while the run goes on.
        #[serde(default)]
        pub ended: Option<Duration> => most,
        /// The run's clock beside the wall clock; `None` in virtual time.
        #[serde(default)]
        pub clock: Option<RunClock> => kept,
        /// The captures that were taken.
        #[serde(default)]
        pub captures: Vec<CaptureStats> => kept,
    }
}

farfield_base::mergeable! {
    /// Losses and waits of the generator itself, over the whole run.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub struct GeneratorCounts {
        /// Number of times that a worker waited for the collector of samples.
        pub writer_stalls: u64,
        /// Samples lost.
        // They should have been written or folded; those left out on request are not lost.
        pub samples_lost: u64,
        /// Datagrams that found no room in the receive buffers of the generator's sockets, over the whole
        /// run: to QUIC they are lost as on a path.
        #[serde(default)]
        pub datagrams_lost: u64,
    }
}

farfield_base::mergeable! {
    /// An address of the server's name that connections went to.
    #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
    pub struct AddressStats {
        /// The address and the port; `others` for all beyond the first 256.
        pub address: String => same,
        /// Connections begun.
        pub connections: u64,
        /// Connections that were established.
        pub established: u64,
        /// Requests that ended on connections to the address, whenever they were due.
        pub requests: u64,
        /// Requests that failed; one that the end of the run cut is none.
        pub failed: u64,
    }
}

impl AddressStats {
    /// Merges the counts of each address with those of the same one.
    fn by_address(whole: &mut Vec<AddressStats>, part: &[AddressStats]) {
        for part in part {
            match whole.iter_mut().find(|own| own.address == part.address) {
                Some(own) => own.merge(part),
                None => whole.push(part.clone()),
            }
        }
    }

    /// True if nothing was counted.
    pub fn is_nothing(&self) -> bool {
        let AddressStats { address: _, connections, established, requests, failed } = self;
        [*connections, *established, *requests, *failed] == [0; 4]
    }
}

/// The run's clock beside the wall clock (`CLOCK_REALTIME`) of the same machine: an instant of the run is
/// `start_unix_ns` later since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunClock {
    /// Wall-clock time of the start of the run, in nanoseconds since 1970, to a tenth of a microsecond.
    pub start_unix_ns: u64,
    /// Nanoseconds by which the wall clock has advanced more than the run's clock from the start to the end:
    /// other than about zero only if somebody set it.
    pub drift_ns: i64,
}

/// A capture of packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaptureStats {
    /// The file in the run directory.
    pub file: String,
    /// The interface by name; null for packets of emulated clients, whose interfaces the file lists.
    pub interface: Option<String>,
    /// Packets in the file.
    pub packets: u64,
    /// Packets that the capture lost, for want of room in memory or on the disk.
    pub lost: u64,
    /// Processor time of the thread that wrote the file.
    pub cpu_ns: u64,
}

farfield_base::mergeable! {
    /// A server whose process is known to the engine.
    #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct ServerStatus {
        /// End of the server; `None` if it outlived the run.
        pub ended: Option<ServerEnd> => first,
    }
}

/// The end of a server in mid-run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerEnd {
    /// Time of the end, since the start of the run, if known.
    pub at: Option<Duration>,
    /// Exit status, in words: "exit status: 1".
    pub status: String,
    /// The end of its log, in one line and without control characters; empty if there is none.
    pub last_words: String,
    /// The memory that was used up when the kernel killed it, if known.
    #[serde(default)]
    pub out_of_memory: Option<OutOfMemory>,
}

/// The memory that was used up when the kernel killed a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OutOfMemory {
    /// The server's, as the run limited it.
    Limit,
    /// The machine's, or a control group's that the run did not make.
    Machine,
}

/// Other load of the machine, as shares of the time of all processors that the run may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineStats {
    /// Processors that the run may use.
    pub processors: u32,
    /// The load average of the last minute, at the end of the run.
    pub load: Option<f64>,
    /// Share of other processes: all but farfield and the server, if its processes are known.
    pub others: f64,
    /// Share of the server; 0 if its processes are not known.
    #[serde(default)]
    pub server: f64,
    /// Share that the host of a virtual machine gave to other machines (steal).
    pub stolen: f64,
    /// Steal of the workers' processors alone; `None` if not known.
    pub stolen_from_workers: Option<f64>,
    /// Processes that the kernel killed because memory ran out, on the whole machine, but for those that the
    /// run's own limits on its server cost.
    #[serde(default)]
    pub oom_kills: u64,
    /// The quota of farfield's own control groups on processor time, in processors; `None` without one.
    #[serde(default)]
    pub quota: Option<f64>,
    /// Time for which the kernel kept one of these groups from running because its quota was used up
    /// (throttled), of that where it was longest, added up over processors; `None` without a quota.
    #[serde(default)]
    pub throttled: Option<Duration>,
}

/// A process that is neither farfield's nor the server's, over the whole run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OtherProcess {
    /// Name of the process, as the kernel has it.
    pub name: String,
    /// Number of the process.
    pub pid: u32,
    /// Processors that it used on average, with those of its children that ended: 0.5 is half of one.
    pub processors: f64,
}

/// Processor time of the server, added up over its threads, over the whole run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerTime {
    /// Time for which they ran.
    pub ran: Duration,
    /// Time for which they were ready to run and had no processor.
    pub waited: Duration,
    /// The part of that for which others held their processors: neither the server itself nor farfield.
    pub held_up: Duration,
}

impl ServerTime {
    /// The share of the time in which the server could have run that others held its processors; 0 if it had
    /// nothing to do.
    pub fn held_up_share(&self) -> f64 {
        let ready = (self.ran + self.held_up).as_secs_f64();
        if ready > 0.0 { self.held_up.as_secs_f64() / ready } else { 0.0 }
    }
}

/// Threads of the server's that may run on a worker's processor, though that worker has it to itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerBeside {
    /// Threads that bound themselves, or were bound, to processors of which one is a worker's.
    pub threads: u32,
    /// The workers' processors that they may use.
    pub processors: Vec<u32>,
    /// The name of one of them.
    pub name: String,
    /// True if one of the threads goes first there, by a real-time priority or a negative nice value.
    pub goes_first: bool,
}

/// Limits of a server and their effects, over the whole run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerLimits {
    /// Processor time a second, in processors; null if it was not limited.
    pub cpu: Option<f64>,
    /// The period over which that is counted.
    pub period_ns: Option<u64>,
    /// Periods in which the server had something to do.
    pub periods: u64,
    /// Periods in which it used up its time and was kept from running (throttled).
    pub throttled_periods: u64,
    /// Time for which it was throttled, added up over processors.
    pub throttled_ns: u64,
    /// Bytes of memory; null if it was not limited.
    pub memory_bytes: Option<u64>,
    /// The most that it held at once; null if the kernel does not say.
    pub memory_bytes_max: Option<u64>,
    /// Processes of the server that the kernel killed because its memory was used up.
    pub oom_kills: u64,
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
    /// The longest time for which it was away from its events: a turn of its loop, or a sleep beyond what it
    /// meant to sleep.
    pub stall: Option<Duration>,
    /// The most of that time in which it can have been ready without a processor, where the kernel counts
    /// that.
    pub stall_waited: Option<Duration>,
    /// All such times of 20 ms at least together.
    #[serde(default)]
    pub stalled: Duration,
    /// The part of these in which it neither computed nor waited for a processor: it was stopped, swapped
    /// out, or its processor was.
    #[serde(default)]
    pub stopped: Duration,
    /// The part of the time in which it was ready and had no processor that fell into tenths of a second
    /// with more than a millisecond of it, where the kernel counts that. Many short waits delay nothing for
    /// long.
    #[serde(default)]
    pub held: Option<Duration>,
    /// The part of the time that its own work took that fell into stretches of 10 ms and more without a
    /// sleep, of which that took nine tenths: what came meanwhile had to wait for it.
    #[serde(default)]
    pub crowded: Duration,
    /// Tenths of a second of the run in which it was held or stopped.
    #[serde(default)]
    pub disturbed: Tenths,
    /// The part of the processor time that handshakes of TLS took.
    #[serde(default)]
    pub handshakes: Duration,
}

impl WorkerStats {
    /// The share of the time in which the worker had something to do, whether or not it had a processor to
    /// do it on; 0 if no time passed. A worker that others keep from its processor is busy, and cannot do
    /// more.
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

    /// The share of the time that handshakes of TLS took; 0 if no time passed.
    pub fn handshake_share(&self) -> f64 {
        if self.wall.is_zero() { 0.0 } else { self.handshakes.as_secs_f64() / self.wall.as_secs_f64() }
    }

    /// The share of the time that its own work took: what it was busy, without waiting for a processor. Where
    /// it waited when it was to wake, that is in neither its sleep nor its work, and its processor time says
    /// what that was.
    pub fn computing(&self) -> f64 {
        if self.wall.is_zero() {
            return 0.0;
        }
        let cpu = self.cpu.as_secs_f64() / self.wall.as_secs_f64();
        (self.busy() - self.waited_share().unwrap_or(0.0)).max(cpu.min(self.busy()))
    }
}

farfield_base::mergeable! {
    /// Arrivals of an open load: requests in an open loop, sessions in a hybrid one, attempts in overload.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[schemars(rename = "ArrivalsSummary")]
    pub struct Arrivals {
        /// Expected number in the steady part, if the arrival process has one.
        pub expected: Option<f64> => both,
        /// Number due in the steady part of this run, whether or not the engine handled them.
        pub scheduled: u64,
        /// Number of those that were begun, at any time.
        pub begun: u64,
        /// Number of those that were dropped because of the bound on users.
        pub dropped: u64,
    }
}
