//! Settings of the plane of a run: plain data, resolved from the scenario.

use crate::emulated::{Emulated, SetUpError};
use crate::sockets::{PeerBook, SourceAddresses};
use farfield_base::{Bytes, Instant, StageSpan};
use farfield_emulator::capture::CapturePlan;
use farfield_emulator::layout::{Places, RoundTrips};
use farfield_emulator::{ClientId, NetworkPlan};
use farfield_http::tls::model::Offer;
use farfield_model::ServerPlan;
use farfield_net::LinkName;
use farfield_testbed::gateway::{AddressMap, CardSpec};
use farfield_testbed::live::FoundServer;
use farfield_testbed::{Changes, ServerSpec, Testbed, TestbedError, TestbedSpec};
use farfield_user::UnixAddress;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

/// The plane that carries the bytes, with its settings.
#[derive(Debug, Clone)]
pub enum Plane<S = SocketsPlane, E = Box<Emulated>, M = Box<SimulatedPlane>> {
    /// The kernel's own sockets.
    Sockets(S),
    /// Emulated clients, and a real server behind a gateway.
    Emulated(E),
    /// Emulated clients and a model of a server, in virtual time.
    Simulated(M),
}

/// A plane before its set-up: no namespace, gateway or server has been started.
pub type PreparedPlane = Plane<SocketsPlane, Box<EmulatedPlane>>;

/// The plane that carries the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlaneKind {
    /// The kernel's own sockets.
    #[default]
    Sockets,
    /// Emulated clients, each with an address, a TCP and a path of its own, against a real server.
    Emulated,
    /// Emulated clients against a model of a server, in virtual time.
    Simulated,
}

impl PlaneKind {
    /// The plane's name in scenarios and results.
    pub fn name(self) -> &'static str {
        match self {
            PlaneKind::Sockets => "sockets",
            PlaneKind::Emulated => "emulated",
            PlaneKind::Simulated => "simulated",
        }
    }
}

impl Plane {
    /// The parts of a run between changes of its network; none where it does not change.
    pub fn conditions(&self) -> &[StageSpan] {
        match self {
            Plane::Sockets(_) => &[],
            Plane::Emulated(plane) => &plane.network.conditions,
            Plane::Simulated(plane) => &plane.network.conditions,
        }
    }

    /// The times in which changes of its network let nothing through.
    pub fn outages(&self) -> &[(Instant, Instant)] {
        match self {
            Plane::Sockets(_) => &[],
            Plane::Emulated(plane) => &plane.network.outages,
            Plane::Simulated(plane) => &plane.network.outages,
        }
    }
}

impl<S, E, M> Plane<S, E, M> {
    /// The kind of the plane.
    pub fn kind(&self) -> PlaneKind {
        match self {
            Plane::Sockets(_) => PlaneKind::Sockets,
            Plane::Emulated(_) => PlaneKind::Emulated,
            Plane::Simulated(_) => PlaneKind::Simulated,
        }
    }
}

impl PreparedPlane {
    /// Sets up the namespace, the gateway and the server of the emulated plane, which logs into `directory`.
    /// The other planes need none.
    ///
    /// # Errors
    /// If the machine does not allow the one, or the server does not get ready in time.
    pub fn set_up(self, directory: &Path) -> Result<Plane, SetUpError> {
        Ok(match self {
            Plane::Sockets(sockets) => Plane::Sockets(sockets),
            Plane::Emulated(emulated) => Plane::Emulated(emulated.set_up(directory)?.into()),
            Plane::Simulated(simulated) => Plane::Simulated(simulated),
        })
    }
}

impl<E, M> Plane<SocketsPlane, E, M> {
    /// The addresses that connections go to, where they are several or change.
    pub(crate) fn peers(&self) -> Option<&Arc<PeerBook>> {
        match self {
            Plane::Sockets(sockets) => sockets.peers.as_ref(),
            Plane::Emulated(_) | Plane::Simulated(_) => None,
        }
    }
}

/// The sockets plane.
#[derive(Debug, Clone)]
pub struct SocketsPlane {
    /// The server.
    pub target: SocketAddr,
    /// The addresses that connections go to, where they are several or change; `target` alone if absent.
    pub peers: Option<Arc<PeerBook>>,
    /// The Unix socket that connections go to; `target` then stands for nothing but this machine.
    pub unix: Option<UnixAddress>,
    /// Addresses that clients connect from.
    pub sources: SourceAddresses,
    /// The capture of its packets, if there is one.
    pub capture: Option<KernelCapture>,
}

/// Settings of a capture by the kernel: see [`observe`](crate::observe).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelCapture {
    /// Bytes kept of each packet.
    pub snap: NonZeroU32,
    /// Size of the buffer between the kernel and the thread that writes.
    pub buffer: Bytes,
}

/// Clients and the links between them and the server.
#[derive(Debug, Clone)]
pub struct EmulatedNetwork {
    /// The network that shards are made of.
    pub plan: Arc<NetworkPlan>,
    /// Names of the nodes between clients and the server, by
    /// [`NodePlan::id`](farfield_emulator::NodePlan::id).
    pub nodes: Vec<String>,
    /// Names of the links that clients share, in the plan's order.
    pub links: Vec<LinkName>,
    /// The places of hosts.
    pub places: Places,
    /// Models of servers beside real ones, each with its number among the servers.
    pub models: Vec<(u16, Arc<ServerPlan>)>,
    /// Round trips of the nearest and the farthest client.
    pub round_trips: RoundTrips,
    /// The parts of a run between changes of its links; none of a network that does not change.
    pub conditions: Vec<StageSpan>,
    /// The times in which changes of its links let nothing through, in order, from one instant to another.
    pub outages: Vec<(Instant, Instant)>,
    /// Number of shards; the number of clients is a multiple of it.
    pub shards: NonZeroU32,
    /// The processors that shards run on, in turn; all that this process may use if empty.
    pub processors: Vec<usize>,
    /// Shards poll for the next event without sleeping.
    pub busy_poll: bool,
    /// Shards run at a real-time priority where each has a processor to itself and the system allows it.
    pub real_time: bool,
    /// The capture, if there is one.
    pub capture: Option<Capture>,
    /// The capture by the server's kernel, if there is one.
    pub kernel_capture: Option<KernelCapture>,
}

impl EmulatedNetwork {
    /// Lets programs in the places of `seats` reach one another, and the servers of `joined`, which says
    /// of each by its number whether it takes part.
    fn connect(&mut self, seats: &[ClientId], joined: &[bool]) {
        let plan = Arc::make_mut(&mut self.plan);
        self.places.connect(plan, &mut self.links, seats, joined);
    }

    /// Names of the programs that others reach, each with its number as a far end: its class, and which
    /// of the class's programs it is, from 1.
    pub(crate) fn names_of_programs(&self) -> Vec<(String, u16)> {
        let plan = &self.plan;
        let class = |client: &ClientId| plan.clients[client.index()].class;
        let seats = &plan.host_ways.seats;
        let name = |(nth, seat): (usize, &ClientId)| {
            let of_class = class(seat);
            let which = seats[..=nth].iter().filter(|seat| class(seat) == of_class).count();
            let label = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
            let class: String = plan.classes[usize::from(of_class)].name.chars().map(label).collect();
            Some((format!("{class}-{which}"), plan.far_of_seat(*seat)?))
        };
        seats.iter().enumerate().filter_map(name).collect()
    }
}

/// The emulated plane.
#[derive(Debug, Clone)]
pub struct EmulatedPlane {
    /// Clients and links.
    pub network: EmulatedNetwork,
    /// The namespace and the gateway, with a queue for each shard.
    pub testbed: TestbedSpec,
    /// The server inside it.
    pub server: Server,
    /// Servers beside it.
    pub others: Vec<OtherServer>,
    /// Real programs beside the users.
    pub programs: Vec<BesideProgram>,
    /// Names for programs and servers, each with its number as a far end.
    pub names: Vec<(String, u16)>,
}

/// A server beside the first, to be started in a namespace of its own.
#[derive(Debug, Clone)]
pub struct OtherServer {
    /// The server's name.
    pub name: String,
    /// The number among the servers.
    pub number: u16,
    /// The server's namespace and gateway, with a queue for each shard.
    pub testbed: TestbedSpec,
    /// The server. Its `log` is a path within the run directory.
    pub server: ServerSpec,
}

/// A program in the place of a client, beside the users of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BesideProgram {
    /// The client.
    pub client: ClientId,
    /// The client's class.
    pub class: String,
    /// A line for `sh`; absent for the user's shell, on farfield's terminal.
    pub command: Option<String>,
}

impl EmulatedPlane {
    /// Gives a server at a loopback address another, for programs behind the gateway, which have loopback
    /// addresses of their own: the addresses that servers have otherwise.
    pub fn show_off_loopback(&mut self) {
        let usual = TestbedSpec::default();
        let spec = &mut self.testbed;
        let servers = &mut Arc::make_mut(&mut self.network.plan).servers;
        if spec.server_v4.is_loopback() {
            servers.v4 = usual.server_v4;
            spec.maps.push(AddressMap { shown: usual.server_v4.into(), own: spec.server_v4.into() });
        }
        if spec.server_v6.is_loopback() {
            servers.v6 = usual.server_v6;
            spec.maps.push(AddressMap { shown: usual.server_v6.into(), own: spec.server_v6.into() });
        }
    }

    /// Lets programs in the places of `seats` reach one another, and servers that are started for the
    /// run: these get routes to one another, and the names of all.
    pub(crate) fn connect_hosts(&mut self, seats: &[ClientId]) {
        let is_started = matches!(self.server, Server::Started(_));
        // Before the network of a server that runs already, answers to other hosts might leave by it.
        let mut joined = vec![false; usize::from(self.network.plan.servers_count())];
        joined[0] = is_started;
        self.others.iter().for_each(|other| joined[usize::from(other.number)] = true);
        self.network.connect(seats, &joined);
        self.names.extend(self.network.names_of_programs());
        let plan = &self.network.plan;
        let like = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let like_v6 = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        let reached =
            |far: u16, by: u16| far != by && joined.get(usize::from(far)).is_none_or(|joined| *joined);
        let hosts = |by: u16| -> Vec<(String, IpAddr)> {
            let known = self.names.iter().filter(|(_, far)| reached(*far, by));
            let host = |(name, far): &(String, u16)| {
                let address = plan.address_of_far(*far, like).or_else(|| plan.address_of_far(*far, like_v6));
                Some((name.clone(), address?))
            };
            known.filter_map(host).collect()
        };
        let beyond = |by: u16| -> Vec<IpAddr> {
            let fars = (0..plan.servers_count()).filter(|far| reached(*far, by));
            fars.flat_map(|far| [like, like_v6].map(|like| plan.server(far).of(&like).ip())).collect()
        };
        let of_first = (hosts(0), beyond(0));
        let of_others: Vec<_> =
            self.others.iter().map(|other| (hosts(other.number), beyond(other.number))).collect();
        if let Server::Started(spec) = &mut self.server {
            (spec.hosts, self.testbed.beyond) = of_first;
        }
        for (other, of_other) in self.others.iter_mut().zip(of_others) {
            (other.server.hosts, other.testbed.beyond) = of_other;
        }
    }

    /// Additions of the plane to the network namespace of a server that runs already, before they are made;
    /// `None` where the namespace is the run's own.
    ///
    /// # Errors
    /// If the clients' addresses are in use there, or the namespace cannot be entered.
    pub fn changes(&self) -> Result<Option<Changes>, TestbedError> {
        match &self.server {
            Server::Started(_) => Ok(None),
            Server::Running(found) => Testbed::changes(&found.host, &self.testbed).map(Some),
            Server::Elsewhere(card) => Ok(Some(card.changes())),
        }
    }
}

/// The server of the emulated plane.
#[derive(Debug, Clone)]
pub enum Server {
    /// A server to be started, in a namespace of its own. Its `log` is a path within the run directory.
    Started(Box<ServerSpec>),
    /// A server that runs already. The gateway is added to its namespace.
    Running(Box<FoundServer>),
    /// A server on another machine, before which the gateway is on a network card.
    Elsewhere(Box<CardSpec>),
}

/// The simulated plane.
#[derive(Debug, Clone)]
pub struct SimulatedPlane {
    /// Clients and links.
    pub network: EmulatedNetwork,
    /// The model of the server.
    pub server: Arc<ServerPlan>,
    /// The clients' offer of TLS without cryptography; absent where the scheme is http.
    pub offer: Option<Arc<Offer>>,
}

/// Settings of a capture.
#[derive(Debug, Clone)]
pub struct Capture {
    /// The points of capture, and which packets.
    pub plan: CapturePlan,
    /// Bytes kept of each packet; all if absent.
    pub snap: Option<u32>,
}
