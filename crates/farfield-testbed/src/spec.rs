//! Specification of a testbed.

use crate::gateway::{AddressMap, Device};
use crate::{Prefix, SettingName};
use farfield_base::Bytes;
use farfield_os::steering::Steering;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU32;

/// The server's addresses and TCP, and the gateway in front of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestbedSpec {
    /// The server's IPv4 address.
    pub server_v4: Ipv4Addr,
    /// The server's IPv6 address.
    pub server_v6: Ipv6Addr,
    /// Prefix of the IPv4 clients' addresses; the gateway gets all packets to it.
    pub clients_v4: Prefix<Ipv4Addr>,
    /// Prefix of the IPv6 clients' addresses.
    pub clients_v6: Prefix<Ipv6Addr>,
    /// Other hosts that the gateway leads to, from a namespace of the run's own.
    pub beyond: Vec<IpAddr>,
    /// Clients have addresses, by family: IPv4 and IPv6. Before a server that runs already there are routes
    /// for these families alone; a namespace of the run's own has both.
    pub families: [bool; 2],
    /// The namespace of a server that runs already has the server's address, by family. Others are added.
    pub server_has: [bool; 2],
    /// Other addresses by which the server is known behind the gateway.
    pub maps: Vec<AddressMap>,
    /// Number of the gateway's queues. The kernel puts a packet into the queue that
    /// [`queue_of`](Self::queue_of) gives for its destination.
    pub queues: NonZeroU32,
    /// MTU of the server's interface, in bytes: from 68 to 65,535. Below 1280 there is no IPv6 (RFC 8200,
    /// section 5).
    pub mtu: u32,
    /// The server's kernel may send TCP segments and rows of UDP datagrams of up to 64 KiB, and packets may
    /// lack checksums in both directions.
    pub offload: bool,
    /// Packets that a queue towards clients holds; those beyond are counted in
    /// [`GatewayDrops`](crate::GatewayDrops).
    pub queue_packets: u32,
    /// The gateway's device.
    pub device: Device,
    /// Processors that do the kernel's work on packets for the server, in threads of the kernel's (threaded
    /// NAPI) or else by receive packet steering; empty to leave it to the threads that write them.
    pub receive_processors: Vec<usize>,
    /// The scenario names them: if not, and there are no kernel threads, the writing threads do the work.
    pub receive_asked: bool,
    /// The server's TCP.
    pub tcp: ServerTcp,
}

impl Default for TestbedSpec {
    /// Addresses that are set aside for documentation (RFC 5737, RFC 3849) for the server, and for
    /// benchmarks (RFC 2544 appendix C.2.2, RFC 5180 section 8) for clients.
    fn default() -> TestbedSpec {
        let clients_v4 = Prefix::new(Ipv4Addr::new(198, 18, 0, 0), 15);
        let clients_v6 = Prefix::new(Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0), 48);
        TestbedSpec {
            server_v4: Ipv4Addr::new(192, 0, 2, 1),
            server_v6: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
            clients_v4: clients_v4.expect("no bits are set past the 15th"),
            clients_v6: clients_v6.expect("no bits are set past the 48th"),
            beyond: Vec::new(),
            families: [true; 2],
            server_has: [false; 2],
            maps: Vec::new(),
            queues: NonZeroU32::MIN,
            mtu: 1500,
            offload: true,
            queue_packets: 32_768,
            device: Device::Auto,
            receive_processors: Vec::new(),
            receive_asked: false,
            tcp: ServerTcp::default(),
        }
    }
}

impl TestbedSpec {
    /// The queue in which the kernel puts packets to `client`: the low 32 bits of its index in its prefix,
    /// modulo the number of queues.
    pub fn queue_of(&self, client: IpAddr) -> usize {
        let index = match client {
            IpAddr::V4(client) => self.clients_v4.index(client),
            IpAddr::V6(client) => self.clients_v6.index(client),
        };
        self.steering().queue(index as u32) as usize
    }

    /// The last address of the clients of a family: but one, since the last of IPv4 is a block's broadcast
    /// address.
    pub fn last_client(&self, v4: bool) -> IpAddr {
        if v4 {
            self.clients_v4.address(self.clients_v4.host_mask().saturating_sub(1)).into()
        } else {
            self.clients_v6.address(self.clients_v6.host_mask().saturating_sub(1)).into()
        }
    }

    /// The last address of the clients of a family whose packets are steered to this queue, but one; none if
    /// the clients have fewer addresses than there are queues.
    pub fn last_client_of(&self, queue: usize, v4: bool) -> Option<IpAddr> {
        let mask = if v4 { self.clients_v4.host_mask() } else { self.clients_v6.host_mask() };
        let address = |index| match v4 {
            true => IpAddr::V4(self.clients_v4.address(index)),
            false => IpAddr::V6(self.clients_v6.address(index)),
        };
        let back = 0..u128::from(self.queues.get());
        let mut last = back.filter_map(|back| mask.checked_sub(1 + back)).map(address);
        last.find(|client| self.queue_of(*client) == queue)
    }

    pub(crate) fn steering(&self) -> Steering {
        Steering {
            host_mask_v4: self.clients_v4.host_mask() as u32,
            host_mask_v6: self.clients_v6.host_mask() as u32,
            queues: self.queues.get(),
        }
    }
}

/// TCP settings of the server's kernel. Absent ones keep the kernel's default for a new network namespace.
///
/// Saving metrics of one connection for the next is always switched off (`tcp_no_metrics_save`): it would
/// make later clients faster or slower than the first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ServerTcp {
    /// The congestion control's name: "cubic", "reno", "bbr".
    pub congestion_control: Option<String>,
    /// Selective acknowledgements (RFC 2018).
    pub sack: Option<bool>,
    /// Timestamps (RFC 7323).
    pub timestamps: Option<bool>,
    /// Window scaling (RFC 7323).
    pub window_scaling: Option<bool>,
    /// The initial congestion window in segments (RFC 6928), set on the routes to clients.
    pub initial_window: Option<u32>,
    /// The longest accept queue that `listen` can ask for.
    pub somaxconn: Option<u32>,
    /// Half-open connections that a listener remembers.
    pub syn_backlog: Option<u32>,
    /// SYN cookies when that is full (RFC 4987).
    pub syn_cookies: Option<bool>,
    /// Number of times that a SYN-ACK is sent again.
    pub syn_ack_retries: Option<u8>,
    /// A full accept queue answers with a reset, not with silence.
    pub abort_on_overflow: Option<bool>,
    /// Largest receive buffer of a connection.
    pub receive_buffer_max: Option<Bytes>,
    /// Largest send buffer of a connection.
    pub send_buffer_max: Option<Bytes>,
    /// Any other setting of the network namespace, by its name with dots: `"net.ipv4.tcp_fin_timeout" =
    /// "20"`.
    pub settings: BTreeMap<SettingName, String>,
}
