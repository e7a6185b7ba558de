//! Statistics of an emulated network: its shards, links, drops, moves and programs.

use crate::histogram::Histogram;
use crate::packet_lateness::PacketLateness;
use farfield_base::{CrossCounts, Duration, HostCounts, LinkImpairments, NetworkDrops, PacketCounts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

farfield_base::mergeable! {
    /// Statistics of an emulated network: lateness over the steady part, counts over the whole run.
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct NetworkStats {
        /// Clients: every part lays all of them out, and acts for its own.
        pub clients: u64 => kept,
        /// Shards that clients are distributed over.
        pub shards: u64,
        /// The gateway's device, `tun` or `packet`; `None` if the server is a model.
        pub gateway: Option<String> => kept,
        /// The unloaded round trip of the nearest client: propagation.
        pub round_trip_least: Duration => kept,
        /// The unloaded round trip of the farthest client.
        pub round_trip_largest: Duration => kept,
        /// Lateness of packets.
        #[serde(flatten)]
        pub lateness: PacketLateness<Histogram>,
        /// Packets that passed the gateway.
        #[serde(flatten)]
        pub packets: PacketCounts,
        /// Processors of the threads that do the receive work of the server's kernel; empty if the writer of
        /// a packet, or nobody in particular, does that work.
        #[serde(default)]
        pub receive_threads: Vec<u32> => kept,
        /// Packets that the network did not deliver: what the scenario asks for.
        pub drops: NetworkDrops,
        /// Flows of cross traffic; parts share no links, and have none.
        #[serde(default)]
        pub cross_traffic: Vec<CrossTrafficStats> => kept,
        /// Links that clients share, and what is at their ends.
        #[serde(default)]
        pub topology: TopologyStats => kept,
        /// Real programs beside the users.
        #[serde(default)]
        pub programs: Vec<ProgramStats> => append,
        /// Packets that capturing lost, which changed nothing for anybody else.
        pub capture_drops: u64,
    }
}

/// A real program in the place of a client, beside the users, over the whole run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgramStats {
    /// The client's class.
    pub class: String,
    /// The client's address.
    pub address: String,
    /// The command; `None` for the user's shell.
    pub command: Option<String>,
    /// The file in the run directory with what it printed, where that is kept.
    pub log: Option<String>,
    /// Exit code of the program, or 128 and the number of the signal that ended it; `None` if it ran until
    /// the run was over, and was ended then.
    pub code: Option<u8>,
    /// End of the program, since the start of the run.
    pub ended: Option<Duration>,
    /// Its packets.
    #[serde(flatten)]
    pub packets: HostCounts,
    /// Lateness of the packets that came to it, against their intended instants.
    pub lateness: Histogram,
    /// True if the program's interface vanished during the run.
    pub cut_off: bool,
}

impl ProgramStats {
    /// The command, or `the shell`, for a reader.
    pub fn name(&self) -> &str {
        self.command.as_deref().unwrap_or("the shell")
    }

    /// Why it was not there as asked for, if it was not. The exit code of a shell is that of whatever ran
    /// last in it.
    pub fn failure(&self) -> Option<String> {
        if self.cut_off {
            return Some("its interface vanished".to_owned());
        }
        let code = self.code.filter(|code| *code > 0 && self.command.is_some())?;
        let at = self.ended.map(|at| format!(" after {:.1} s", at.as_secs_f64())).unwrap_or_default();
        Some(format!("it ended with {code}{at}"))
    }
}

/// A flow of cross traffic on a link, over the whole run: packets of nobody's, counted apart from those of
/// clients.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CrossTrafficStats {
    /// The link, as the scenario names it.
    pub link: String,
    /// Bits a second that the scenario asks for.
    pub bits_per_second: u64,
    /// Bytes of each packet.
    pub packet_bytes: u64,
    /// Its packets.
    #[serde(flatten)]
    pub counts: CrossCounts,
}

/// The links that clients share, over the whole run, and what is at their ends.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TopologyStats {
    /// Links, each in one direction: those that carried the most, at most 256, in the scenario's order.
    pub links: Vec<LinkStats>,
    /// Further links, which are not among them.
    pub links_left_out: u64,
    /// Nodes at which clients' own links end: at most 256 groups of clients, the largest.
    pub attached: Vec<AttachedStats>,
    /// Clients of further groups.
    pub clients_left_out: u64,
    /// Nodes at which servers are.
    pub servers: Vec<String>,
}

/// A link that clients share, in one direction. Its packets are those of clients and of cross traffic.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkStats {
    /// The node where it begins. Where a scenario draws no topology, `clients` is behind clients' own links,
    /// and `network` is where the first server is.
    pub from: String,
    /// The node where it ends.
    pub to: String,
    /// Bits a second that it can carry, in the mean of its trace if it has one; null if nothing limits it.
    pub bits_per_second: Option<f64>,
    /// Propagation delay.
    pub delay_ns: u64,
    /// Packets that it carried.
    pub packets: u64,
    /// Bytes that it carried, with what it adds to each packet.
    pub bytes: u64,
    /// The share of what it can carry that it did carry, over the whole run with its warm-up and its drain;
    /// null if nothing limits it.
    pub load: Option<f64>,
    /// Packets that it marked, and others that it did not carry.
    #[serde(flatten)]
    pub impairments: LinkImpairments,
}

/// Clients of one class whose own links end at one node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttachedStats {
    /// The class.
    pub class: String,
    /// The node.
    pub node: String,
    /// Clients.
    pub clients: u64,
}
