//! Report of a testbed for the run directory: every value as the kernel reports it.

use serde::{Deserialize, Serialize};

/// The settings of a testbed in effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestbedReport {
    /// Origin of the network namespace, in words.
    pub namespace: String,
    /// "tun", "packet" or "card".
    pub device: String,
    /// The reason why it is not TUN, which is tried first.
    pub instead_of_tun: Option<String>,
    /// The interface's name on the server's side.
    pub interface: String,
    /// Number of the gateway's queues.
    pub queues: u32,
    /// The rule that assigns packets to queues, if there are several.
    pub steering: Option<String>,
    /// MTU in bytes.
    pub mtu: u32,
    /// Segments of up to 64 KiB and packets without checksums pass.
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
    /// Congestion control set on the routes to clients, if any; it takes precedence over the kernel's
    /// setting.
    pub congestion_control: Option<String>,
    /// Initial congestion window set on the routes, in segments, if any.
    pub initial_window: Option<u32>,
    /// Processors that do the receive work for the server, if they were chosen.
    pub receive_processors: Vec<usize>,
    /// Means by which that work is moved there, in words.
    pub receive_work: String,
    /// The reason why it could not be moved there, if it should have been.
    pub receive_refused: Option<String>,
    /// The server's kernel settings: those that were set, and the others that determine the behaviour of its
    /// TCP.
    pub settings: Vec<ServerSetting>,
}

impl TestbedReport {
    /// The description of a placement, with a note if receive work has no thread of its own.
    pub fn placed(&self, placement: &str) -> String {
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
    /// The requested value, if there is one.
    pub asked: Option<String>,
    /// The value in effect, if the kernel has the setting.
    pub value: Option<String>,
}

/// Packets lost by the gateway, and not by the emulated network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GatewayDrops {
    /// From the server to clients: the emulator did not read fast enough.
    pub to_clients: u64,
    /// From clients to the server: the kernel accepted them and dropped them before TCP.
    pub to_server: u64,
}

impl GatewayDrops {
    /// Packets lost since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &GatewayDrops) -> GatewayDrops {
        GatewayDrops {
            to_clients: self.to_clients.saturating_sub(earlier.to_clients),
            to_server: self.to_server.saturating_sub(earlier.to_server),
        }
    }
}
