//! `[network]`: emulated clients and the links between them and the server, as written.

use super::network_change::ChangeSpec;
use super::simulated::SimulatedSpec;
use super::tcp::TcpSpec;
use farfield_base::Duration;
use farfield_emulator::layout::{Block, BlockError};
use farfield_engine::PlaneKind;
use farfield_net::topology::{Backbone, TopologySpec};
use farfield_net::{Access, CrossTraffic, LinkSpec};
use farfield_testbed::Command;
use farfield_testbed::gateway::{CardAddress, Device, EthernetAddressError};
use farfield_traffic::distribution::TimesSpec;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::{NonZeroU16, NonZeroU32};
use std::path::PathBuf;

/// A link in one direction; its jitter is any distribution of times.
pub type Link = LinkSpec<TimesSpec>;

/// `[network]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct NetworkSpec {
    /// Clients, each with an address of its own. Absent: as many as a closed load has users, else 1,000;
    /// those of a backbone or a topology are its hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<NonZeroU32>,
    /// The block of the clients' addresses, where their class has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Pool>,
    /// Threads that clients are dealt out over.
    pub shards: NonZeroU32,
    /// The processors that shards run on; all it may use if empty.
    pub processors: Vec<usize>,
    /// Shards poll instead of sleeping, each on a processor of its own: packets leave and are taken more
    /// precisely.
    pub busy_poll: bool,
    /// Shards run at a real-time priority, where each has a processor to itself and the system allows it.
    /// They leave at least a tenth of it to others.
    pub real_time: bool,
    /// The device of the gateway to the server's kernel.
    pub gateway: Device,
    /// The network card by which a server on another machine is reached, and on which the clients' addresses
    /// live for the time of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The router on that card's link to the server; that of the kernel's own route, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_hop: Option<IpAddr>,
    /// The Ethernet address that clients have on it.
    #[serde(skip_serializing_if = "Mac::is_default")]
    pub mac: Mac,
    /// Segments of up to 64 KiB pass the gateway whole.
    pub offload: bool,
    /// Length of the gateway's queue towards clients, in packets.
    pub gateway_queue: NonZeroU32,
    /// The clients' TCP, where their class has none.
    pub tcp: TcpSpec,
    /// The access link of all clients, where there are no classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// Round trip of all clients, where there are no classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Duration>,
    /// A link that all clients of all classes share before the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<PathSpec>,
    /// Kinds of clients.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub class: Vec<ClassSpec>,
    /// IP-TNE's linear backbone, in place of classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backbone: Option<Backbone>,
    /// Any graph, whose hosts are clients of the classes that name them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology: Option<TopologySpec<TimesSpec>>,
    /// Packets of nobody's on links that clients share.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cross_traffic: Vec<CrossTraffic>,
    /// Conditions that change while the run goes on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub change: Vec<ChangeSpec>,
    /// Servers beside that of `[server]`, each in a network namespace of its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<OtherServerSpec>,
    /// Real programs of this machine, each in the place of a client, beside the users.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub program: Vec<ProgramSpec>,
}

/// `[[network.server]]`: a server beside that of `[server]`, in a network namespace of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct OtherServerSpec {
    /// The server's name, by which classes and programs know it.
    pub name: String,
    /// The command that starts it; the built-in server if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
    /// A model of a server in place of a real one, with the keys of `[simulated]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<SimulatedSpec>,
    /// The folder that the command runs in; where farfield runs if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// The port it listens on.
    #[serde(default = "http_port")]
    pub port: NonZeroU16,
    /// IPv4 address; the next behind those of the servers before it if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<Ipv4Addr>,
    /// IPv6 address; the next behind those of the servers before it if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<Ipv6Addr>,
    /// In a topology, the host that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Elsewhere, round trip of a link of its own, half of it each way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Duration>,
    /// Elsewhere, a link of its own towards it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<Link>,
    /// Elsewhere, a link of its own from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<Link>,
}

fn http_port() -> NonZeroU16 {
    NonZeroU16::new(80).expect("not 0")
}

/// `[[network.program]]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProgramSpec {
    /// The class of the client.
    pub class: String,
    /// A line for `sh`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The user's shell on farfield's terminal, in place of a command.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shell: bool,
}

/// `[[network.class]]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ClassSpec {
    /// Name in results.
    pub name: String,
    /// Weight: the class's share of clients, relative to the other classes' weights.
    #[serde(default = "one")]
    pub share: f64,
    /// A ready-made access link, for each direction that is not written out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// Round trip of the class's links, half of it each way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Duration>,
    /// The link from each client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<Link>,
    /// The link to each client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<Link>,
    /// A second link of each client's own, behind the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<PathSpec>,
    /// The block of the clients' addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Pool>,
    /// The clients' TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpSpec>,
    /// Each client moves to the links of another class once, as a phone that leaves Wi-Fi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migrate: Option<MigrateSpec>,
    /// In a topology, the hosts that are its clients.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The server of its users, by its name in `network.server`; that of `[server]` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

/// `migrate` of a class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MigrateSpec {
    /// The class that has the links that clients move to.
    pub to: String,
    /// The time from the start of the run to the move of a client.
    pub after: TimesSpec,
}

/// A link in both directions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct PathSpec {
    /// The round trip, half of it each way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Duration>,
    /// Towards the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<Link>,
    /// From the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down: Option<Link>,
}

/// The Ethernet address of clients on a network card: `own`, `card`, or one that is written out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mac(pub CardAddress);

impl Mac {
    fn is_default(&self) -> bool {
        *self == Mac::default()
    }
}

impl TryFrom<String> for Mac {
    type Error = EthernetAddressError;

    fn try_from(text: String) -> Result<Mac, EthernetAddressError> {
        Ok(Mac(match text.as_str() {
            "own" => CardAddress::Own,
            "card" => CardAddress::Cards,
            written => CardAddress::Given(written.parse()?),
        }))
    }
}

impl From<Mac> for String {
    fn from(mac: Mac) -> String {
        match mac.0 {
            CardAddress::Own => "own".to_owned(),
            CardAddress::Cards => "card".to_owned(),
            CardAddress::Given(address) => address.to_string(),
        }
    }
}

/// A block of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pool(pub Block);

impl Default for NetworkSpec {
    fn default() -> NetworkSpec {
        NetworkSpec {
            clients: None,
            addresses: None,
            shards: NonZeroU32::MIN,
            processors: Vec::new(),
            busy_poll: false,
            real_time: true,
            gateway: Device::default(),
            interface: None,
            next_hop: None,
            mac: Mac::default(),
            offload: true,
            gateway_queue: NonZeroU32::new(32_768).expect("not 0"),
            tcp: TcpSpec::default(),
            access: None,
            rtt: None,
            shared: None,
            class: Vec::new(),
            backbone: None,
            topology: None,
            cross_traffic: Vec::new(),
            change: Vec::new(),
            server: Vec::new(),
            program: Vec::new(),
        }
    }
}

impl NetworkSpec {
    /// Number of shards that clients and their addresses are dealt out over. In virtual time nothing but
    /// speed may depend on how many threads there are.
    pub(crate) fn dealt_over(&self, plane: PlaneKind) -> NonZeroU32 {
        if plane == PlaneKind::Simulated { NonZeroU32::MIN } else { self.shards }
    }
}

impl TryFrom<String> for Pool {
    type Error = BlockError;

    fn try_from(text: String) -> Result<Pool, BlockError> {
        text.parse().map(Pool)
    }
}

impl From<Pool> for String {
    fn from(pool: Pool) -> String {
        pool.0.to_string()
    }
}

fn one() -> f64 {
    1.0
}
