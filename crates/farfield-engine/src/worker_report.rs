//! What is left of a worker when its part of a run is over.

use farfield_base::{Instant, Tenths};
use farfield_emulator::Drops;
use farfield_measure::Histogram;
use farfield_measure::engine_stats::WorkerStats;
use farfield_user::Tally;
use std::io;

/// What a worker says of itself, on any plane.
#[derive(Debug)]
pub(crate) struct WorkerReport {
    pub stats: WorkerStats,
    /// How late load was begun.
    pub lateness: Histogram,
    /// How long turns of the event loop took.
    pub turns: Histogram,
    pub tally: Tally,
    /// When the last byte came from the server.
    pub last_received: Option<Instant>,
    /// Tenths of a second in which bytes came from it.
    pub received: Tenths,
    pub in_system_area: u128,
    pub stalls: u64,
    /// On the emulated plane.
    pub network: Option<NetworkReport>,
}

/// What a worker says of its part of an emulated network.
#[derive(Debug)]
pub(crate) struct NetworkReport {
    /// How late packets left for the server.
    pub departed: Histogram,
    /// How late packets reached clients.
    pub arrived: Histogram,
    /// How late packets were taken over from other workers, where these share links.
    pub crossed: Histogram,
    pub port: PortCounts,
    pub drops: Drops,
    /// Why the worker ended before its time.
    pub failed: Option<io::Error>,
}

/// Packets that passed a worker's side of the gateway, over the whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PortCounts {
    /// Handed to the server's kernel.
    pub sent: u64,
    /// Refused by it: the emulator's fault.
    pub refused: u64,
    /// Taken from it, large segments as the packets they stand for.
    pub received: u64,
    /// Handed over and not understood.
    pub malformed: u64,
}
