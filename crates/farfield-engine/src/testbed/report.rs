//! What a testbed came to be, for the run directory: every value as the kernel gives it back.

use serde::{Deserialize, Serialize};

/// A testbed as built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestbedReport {
    /// Whose network namespace it is.
    pub namespace: String,
    /// "tun" or "packet".
    pub device: String,
    /// Why it is not the device that is tried first.
    pub instead_of_tun: Option<String>,
    /// The interface's name on the server's side.
    pub interface: String,
    /// How many queues the gateway has.
    pub queues: u32,
    /// How packets find their queue, with several.
    pub steering: Option<String>,
    /// Bytes.
    pub mtu: u32,
    /// Segments of up to 64 KiB, and checksums left to do.
    pub offload: bool,
    /// Packets in a queue towards clients, with TUN.
    pub queue_packets: Option<u32>,
    /// Bytes in a queue towards clients, with packet sockets.
    pub queue_bytes: Option<u64>,
    /// The queueing discipline before the device, if it could be chosen.
    pub qdisc: Option<String>,
    /// The server's addresses.
    pub server: Vec<String>,
    /// The prefixes routed to the gateway.
    pub clients: Vec<String>,
    /// The congestion control that the routes to clients ask for, if it was set; it outranks the kernel's setting.
    pub congestion_control: Option<String>,
    /// What the routes' initial congestion window is, in segments, if it was set.
    pub initial_window: Option<u32>,
    /// Processors that do the receive work for the server, if they were chosen.
    pub receive_processors: Vec<usize>,
    /// How that work gets there, in words.
    pub receive_work: String,
    /// Why it could not get there, if it was to and did not.
    pub receive_refused: Option<String>,
    /// The server's kernel settings: those that were set, and the others that decide how its TCP behaves.
    pub settings: Vec<ServerSetting>,
}

impl TestbedReport {
    /// What a placement came to be: that receive work could have no thread of its own is added.
    pub(crate) fn placed(&self, placement: &str) -> String {
        match self.receive_refused.as_deref() {
            Some(why) => format!("{placement}; receive work is done in the shards' writes, since {why}"),
            None => placement.to_owned(),
        }
    }
}

/// One kernel setting inside the testbed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerSetting {
    /// The name, with dots.
    pub name: String,
    /// What was asked for, if anything was.
    pub asked: Option<String>,
    /// What the kernel has, if it has it.
    pub value: Option<String>,
}

/// Packets that the gateway lost, which the emulated network did not mean to lose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GatewayDrops {
    /// From the server to clients: the emulator did not read fast enough.
    pub to_clients: u64,
    /// From clients to the server: the kernel took them and threw them away before TCP.
    pub to_server: u64,
}

impl GatewayDrops {
    /// What was lost since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &GatewayDrops) -> GatewayDrops {
        GatewayDrops {
            to_clients: self.to_clients.saturating_sub(earlier.to_clients),
            to_server: self.to_server.saturating_sub(earlier.to_server),
        }
    }
}
