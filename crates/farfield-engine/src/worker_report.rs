//! Reports of workers at the end of a run.

use crate::emulated::hosts::HostReport;
use farfield_base::{CrossCounts, Instant, LoadCounts, NetworkDrops, Opened, PacketCounts, Tenths};
use farfield_emulator::LinkCounts;
use farfield_measure::engine_stats::WorkerStats;
use farfield_measure::{GeneratorCounts, Histogram, PacketLateness};
use std::io;

/// The report of one worker, on any plane.
#[derive(Debug)]
pub(crate) struct WorkerReport {
    /// The end of its work.
    pub ended: Instant,
    pub stats: WorkerStats,
    /// Lateness of the wakes that begin load.
    pub lateness: Histogram,
    /// Durations of the turns of the event loop.
    pub turns: Histogram,
    pub counts: LoadCounts,
    pub generator: GeneratorCounts,
    /// Instant of the last byte received from the server.
    pub last_received: Option<Instant>,
    /// Tenths of a second in which bytes were received from it.
    pub received: Tenths,
    pub in_system_area: u128,
    /// Connections begun, if they were noted.
    pub opened: Vec<Opened>,
    /// The emulated plane's part of the report.
    pub network: Option<NetworkReport>,
}

impl WorkerReport {
    /// Takes the connections out.
    pub fn take_opened(&mut self) -> Vec<Opened> {
        std::mem::take(&mut self.opened)
    }
}

/// The report of one worker about its shard of an emulated network.
#[derive(Debug)]
pub(crate) struct NetworkReport {
    pub lateness: PacketLateness<Histogram>,
    /// Packets that passed its gateway ports.
    pub packets: PacketCounts,
    pub drops: NetworkDrops,
    /// Counters of each flow of cross traffic.
    pub cross: Vec<CrossCounts>,
    /// Counters of each shared link that is here.
    pub links: Vec<LinkCounts>,
    /// Real hosts in the places of some of its clients.
    pub hosts: Vec<HostReport>,
    /// Error that ended the worker early.
    pub failed: Option<io::Error>,
}
