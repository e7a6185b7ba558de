//! The emulated network in a summary.

use super::TimingSummary;
use crate::engine_stats::{CrossTrafficStats, NetworkStats, ProgramStats, TopologyStats};
use crate::packet_lateness::PacketLateness;
use farfield_base::{Duration, HostCounts, MoveCounts, NetworkDrops, PacketCounts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The emulated network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkSummary {
    /// Clients.
    pub clients: u64,
    /// Shards that they were dealt out over.
    pub shards: u64,
    /// The gateway's device; null if the server is a model.
    pub gateway: Option<String>,
    /// The unloaded round trip of the nearest client.
    pub round_trip_ns_least: u64,
    /// The round trip of the farthest client.
    pub round_trip_ns_largest: u64,
    /// Lateness of packets.
    #[serde(flatten)]
    pub lateness: PacketLateness<Option<TimingSummary>>,
    /// Packets that passed the gateway.
    #[serde(flatten)]
    pub packets: PacketCounts,
    /// Packets that the network did not deliver: the scenario's doing.
    pub drops: NetworkDrops,
    /// Connections of clients that moved.
    #[serde(flatten)]
    pub moves: MoveCounts,
    /// Flows of cross traffic on the links that clients share, which are nobody's requests.
    #[serde(default)]
    pub cross_traffic: Vec<CrossTrafficStats>,
    /// Links that clients share, and what is at their ends.
    #[serde(default)]
    pub topology: TopologyStats,
    /// Real programs beside the users.
    #[serde(default)]
    pub programs: Vec<ProgramSummary>,
    /// Packets that capturing lost.
    pub capture_drops: u64,
}

/// A real program in the place of a client, beside the users. Its requests are in no other figure of the
/// summary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramSummary {
    /// The client's class.
    pub class: String,
    /// The client's address.
    pub address: String,
    /// The command; null for the user's shell.
    pub command: Option<String>,
    /// The file in the run directory with what it printed; null where that is not kept.
    pub log: Option<String>,
    /// Exit code of the program, or 128 and the number of the signal that ended it; null if it ran until the
    /// run was over, and was ended then.
    pub code: Option<u8>,
    /// End of the program, since the start of the run; null if it ran until the run was over.
    pub ended_ns: Option<u64>,
    /// Its packets.
    #[serde(flatten)]
    pub packets: HostCounts,
    /// Lateness of the packets that came to it; null if none did.
    pub lateness: Option<TimingSummary>,
    /// True if the program's interface vanished during the run.
    pub cut_off: bool,
}

impl ProgramSummary {
    fn of(stats: &ProgramStats) -> ProgramSummary {
        ProgramSummary {
            class: stats.class.clone(),
            address: stats.address.clone(),
            command: stats.command.clone(),
            log: stats.log.clone(),
            code: stats.code,
            ended_ns: stats.ended.map(|at| at.as_ns()),
            packets: stats.packets,
            lateness: TimingSummary::of(&stats.lateness),
            cut_off: stats.cut_off,
        }
    }
}

impl NetworkSummary {
    pub(super) fn of(stats: &NetworkStats, moves: MoveCounts, lasted: Duration) -> NetworkSummary {
        let mut topology = stats.topology.clone();
        for link in &mut topology.links {
            let can = link.bits_per_second.map(|bits| bits / 8.0 * lasted.as_secs_f64());
            link.load = can.filter(|can| *can > 0.0).map(|can| link.bytes as f64 / can);
        }
        NetworkSummary {
            topology,
            clients: stats.clients,
            shards: stats.shards,
            gateway: stats.gateway.clone(),
            round_trip_ns_least: stats.round_trip_least.as_ns(),
            round_trip_ns_largest: stats.round_trip_largest.as_ns(),
            lateness: stats.lateness.map(TimingSummary::of),
            packets: stats.packets,
            drops: stats.drops,
            moves,
            cross_traffic: stats.cross_traffic.clone(),
            programs: stats.programs.iter().map(ProgramSummary::of).collect(),
            capture_drops: stats.capture_drops,
        }
    }
}
