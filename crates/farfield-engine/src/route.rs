//! The emulated network as a router between hosts that somebody else runs: `farfield route`, the delay router
//! of Banga and Druschel (1999, section 4.3) as a program.
//!
//! A [`Route`] is [planned](Route::plan), which changes nothing: it finds the hosts at both ends, places the
//! clients on the paths of a network, and knows what will be added. [Opened](Route::open) it diverts packets
//! between clients and the named targets, and [runs](OpenRoute::run) until it is asked to end. No packet to
//! or from any other address passes.

mod error;

pub use error::RouteError;
pub use farfield_emulator::layout::{Block, PlacedHosts};

use crate::plane::EmulatedNetwork;
use crate::shell::ends;
use crate::shell::forwarding::{Forwarding, ForwardingCounts};
use farfield_base::random::Seed;
use farfield_base::{Duration, NetworkDrops};
use farfield_emulator::{NetworkPlan, Router};
use farfield_measure::Histogram;
use farfield_os::clock::Clock;
use farfield_testbed::gateway::blocks::{in_words, width};
use farfield_testbed::gateway::{AddressMap, CardAddress, CardSpec, Device};
use farfield_testbed::live::Location;
use farfield_testbed::{HostNamespace, NamespaceNetwork, Testbed, TestbedSpec};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Time between two looks at the stop flag and the clock.
const LOOK: std::time::Duration = std::time::Duration::from_millis(20);

/// The location of clients or servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whereabouts {
    /// In a network namespace of this machine.
    Namespace(Location),
    /// On the link of an Ethernet interface of the network namespace that farfield runs in.
    Interface(String),
}

/// The hosts that a route is between, and the network between them.
#[derive(Debug, Clone)]
pub struct RouteSettings {
    /// The clients' location.
    pub clients: Whereabouts,
    /// The servers' location.
    pub server: Whereabouts,
    /// Addresses of the servers, at least one.
    pub targets: Vec<IpAddr>,
    /// The clients' addresses with their classes; the addresses of the clients' namespace, of the targets'
    /// families, on the path of the first class, if empty. On the link of an interface they must be given.
    pub placed: Vec<PlacedHosts>,
    /// Classes, links and routes.
    pub network: EmulatedNetwork,
    /// The devices of the gateways at both ends.
    pub device: Device,
    /// Kernels may hand over large packets.
    pub offload: bool,
    /// Packets that a queue towards either end holds.
    pub queue_packets: u32,
    /// The seed of the links.
    pub seed: Seed,
}

/// A route that is possible, before anything is changed.
#[derive(Debug)]
pub struct Route {
    clients: EndPlan,
    server: EndPlan,
    /// Addresses that clients send to.
    targets: Vec<IpAddr>,
    plan: Arc<NetworkPlan>,
    settings: RouteSettings,
}

/// One end of the route, planned.
#[derive(Debug)]
struct EndPlan {
    /// The hosts of this side, in words.
    whose: &'static str,
    spec: TestbedSpec,
    /// The addresses that are behind the route, as seen from here.
    far: Vec<(IpAddr, u8)>,
    place: EndLocation,
}

/// The place of an end.
#[derive(Debug)]
enum EndLocation {
    /// A namespace, and the name of the interface that it will have.
    Namespace { host: HostNamespace, interface: String },
    /// A network card.
    Card(CardSpec),
}

/// A route whose gateways stand.
#[derive(Debug)]
pub struct OpenRoute {
    clients: Testbed,
    server: Testbed,
    route: Route,
}

/// Packets so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RouteCounts {
    /// Packets of clients.
    pub up: u64,
    /// Packets of servers.
    pub down: u64,
    /// Packets that were not delivered.
    pub dropped: u64,
}

/// The figures of a route.
#[derive(Debug)]
pub struct RouteReport {
    /// Packets that clients sent.
    pub up: u64,
    /// Packets that servers sent.
    pub down: u64,
    /// Packets that the emulated network did not deliver.
    pub drops: NetworkDrops,
    /// Packets to or from addresses that were not named.
    pub strays: u64,
    /// Packets that a kernel did not take, or that were malformed.
    pub refused: u64,
    /// Packets that a gateway lost since they came faster than they were read.
    pub overrun: u64,
    /// Lateness of all packets at either end, against when the path has them arrive.
    pub lateness: Histogram,
    /// Processor time of the thread that passed packets on.
    pub cpu: Duration,
    /// The error that ended the forwarding, if it was not asked to end.
    pub failed: Option<io::Error>,
}

impl Route {
    /// Finds the hosts at both ends, and places the clients on their paths.
    ///
    /// # Errors
    /// If an end is not there, or something is in the way.
    pub fn plan(settings: RouteSettings) -> Result<Route, RouteError> {
        let (clients, server) = (RouteEnd::of(&settings.clients)?, RouteEnd::of(&settings.server)?);
        check_apart(&clients, &server)?;
        check_targets(&settings.targets, &server)?;
        let spec = spec_of(&settings);
        let targets: Vec<IpAddr> = settings.targets.iter().map(|own| shown(&spec, *own)).collect();
        let placed = match (settings.placed.as_slice(), &clients) {
            ([], RouteEnd::Namespace { host, around }) => addresses_of(host, around, &targets)?,
            ([], RouteEnd::Interface(interface)) => {
                return Err(RouteError::Unnamed { interface: interface.clone() });
            }
            (placed, _) => placed.iter().map(|placed| towards_shown(placed, &spec)).collect(),
        };
        if let Some(target) = targets.iter().find(|target| placed.iter().any(|p| p.block.contains(**target)))
        {
            return Err(RouteError::TargetIsClient { target: *target });
        }
        let leads_nowhere = |placed: &&PlacedHosts| {
            placed.towards.is_some_and(|block| !targets.iter().any(|target| block.contains(*target)))
        };
        if let Some(PlacedHosts { block, towards: Some(towards), .. }) = placed.iter().find(leads_nowhere) {
            return Err(RouteError::NoTarget { block: *block, towards: *towards });
        }
        let plan = settings.network.plan.with_hosts_at(&placed).map_err(RouteError::Placed)?;
        let single = |address: &IpAddr| (*address, if address.is_ipv4() { 32 } else { 128 });
        let near_servers: Vec<(IpAddr, u8)> = targets.iter().map(single).collect();
        let near_clients = outermost(&placed);
        let spec_of_clients = TestbedSpec { server_has: [false; 2], maps: Vec::new(), ..spec.clone() };
        let (from, to) = (&near_clients, &near_servers);
        Ok(Route {
            clients: EndPlan::plan("the clients", clients, spec_of_clients, (from, &[]), to)?,
            server: EndPlan::plan("the servers", server, spec, (to, &targets), from)?,
            targets,
            plan: Arc::new(plan),
            settings,
        })
    }

    /// Additions to either namespace for as long as the route is open, a line each.
    pub fn changes(&self) -> [String; 2] {
        [self.clients.change(), self.server.change()]
    }

    /// Addresses that clients send to: the targets, or what stands for one at a loopback address.
    pub fn targets(&self) -> &[IpAddr] {
        &self.targets
    }

    /// Builds the gateways at both ends.
    ///
    /// # Errors
    /// If the machine does not allow it; then nothing is left behind.
    pub fn open(self) -> Result<OpenRoute, RouteError> {
        // The servers' first: until clients' packets come, nobody needs it.
        let server = self.server.open()?;
        Ok(OpenRoute { clients: self.clients.open()?, server, route: self })
    }
}

/// An end that was found, before it is known what it will have.
enum RouteEnd {
    Namespace { host: HostNamespace, around: NamespaceNetwork },
    Interface(String),
}

impl RouteEnd {
    fn of(place: &Whereabouts) -> Result<RouteEnd, RouteError> {
        match place {
            Whereabouts::Interface(interface) => Ok(RouteEnd::Interface(interface.clone())),
            Whereabouts::Namespace(location) => {
                let host = location.open()?;
                let unread = |source| RouteError::Unread { namespace: host.name().to_owned(), source };
                let around = NamespaceNetwork::of(&host).map_err(unread)?;
                Ok(RouteEnd::Namespace { host, around })
            }
        }
    }
}

impl EndPlan {
    /// `near` are the addresses on this side, and those of them that are looked for at first; `far` are those
    /// that the route leads to.
    fn plan(
        whose: &'static str,
        found: RouteEnd,
        spec: TestbedSpec,
        (near, sought): (&[(IpAddr, u8)], &[IpAddr]),
        far: &[(IpAddr, u8)],
    ) -> Result<EndPlan, RouteError> {
        let far = far.to_vec();
        let place = match found {
            RouteEnd::Namespace { host, around } => {
                if let Some(found) = around.in_the_way(&far) {
                    let ((to, bits), namespace) = (found.block, host.name().to_owned());
                    let block = format!("{to}/{bits}");
                    return Err(RouteError::InTheWay { block, by: found.by, namespace });
                }
                EndLocation::Namespace { host, interface: around.interface }
            }
            RouteEnd::Interface(interface) => EndLocation::Card(CardSpec {
                interface,
                own: far.clone(),
                peers: near.to_vec(),
                servers: sought.to_vec(),
                next_hops: [None; 2],
                address: CardAddress::Own,
                answers: true,
            }),
        };
        Ok(EndPlan { whose, spec, far, place })
    }

    /// The addition, in a line.
    fn change(&self) -> String {
        let (far, whose) = (in_words(&self.far), self.whose);
        match &self.place {
            EndLocation::Namespace { host, interface } => {
                let kind = if self.spec.device == Device::Packet { "veth" } else { "TUN" };
                let host = host.name();
                format!(
                    "adds {interface} ({kind}) in the network namespace of {whose} ({host}), and a route to {far} by it"
                )
            }
            EndLocation::Card(card) => format!(
                "answers for {far} on the link of {}, where {whose} are, by ARP and neighbour discovery",
                card.interface
            ),
        }
    }

    fn open(&self) -> Result<Testbed, RouteError> {
        let opened = match &self.place {
            EndLocation::Namespace { host, .. } => Testbed::divert(host, &self.spec, &self.far),
            EndLocation::Card(card) => Testbed::on_card(card, &self.spec),
        };
        opened.map_err(RouteError::of_gateway)
    }
}

impl OpenRoute {
    /// Passes packets on until `stop` is set, `duration` is over or an end is gone. `each_second` gets the
    /// counts so far.
    pub fn run(
        &self,
        stop: &AtomicBool,
        duration: Option<Duration>,
        mut each_second: impl FnMut(RouteCounts),
    ) -> RouteReport {
        let Route { settings, plan, targets, .. } = &self.route;
        let router = Router::new(Arc::clone(plan), settings.seed);
        let (clients, server) = (self.clients.queues().remove(0), self.server.queues().remove(0));
        let clock = Clock::starting_in(Duration::ZERO);
        let counts = Arc::new(ForwardingCounts::default());
        let forwarding = Forwarding::new(router, vec![(None, clients)], vec![(0, server)], clock)
            .running(settings.network.busy_poll, settings.network.real_time)
            .to(targets.clone())
            .counting(Arc::clone(&counts));
        let ((), forwarded) = ends::during(forwarding, |halt| {
            let begun = clock.now();
            let mut second = 1;
            while ![stop, halt].iter().any(|flag| flag.load(Ordering::Relaxed)) {
                thread::park_timeout(LOOK);
                let now = clock.now();
                if duration.is_some_and(|duration| now.since(begun) >= duration) {
                    break;
                }
                if now.since(begun) >= Duration::from_secs(second) {
                    second += 1;
                    each_second(RouteCounts::of(&counts));
                }
            }
        });
        let overrun = [&self.clients, &self.server].map(|end| end.drops().unwrap_or_default().to_clients);
        RouteReport {
            up: forwarded.up,
            down: forwarded.down,
            drops: forwarded.drops,
            strays: forwarded.strays,
            refused: forwarded.refused,
            overrun: overrun.iter().sum(),
            lateness: forwarded.lateness,
            cpu: forwarded.cpu,
            failed: forwarded.failed,
        }
    }
}

impl RouteCounts {
    fn of(counts: &ForwardingCounts) -> RouteCounts {
        RouteCounts {
            up: counts.up.load(Ordering::Relaxed),
            down: counts.down.load(Ordering::Relaxed),
            dropped: counts.dropped.load(Ordering::Relaxed),
        }
    }
}

/// Refuses clients and servers in one place.
fn check_apart(clients: &RouteEnd, server: &RouteEnd) -> Result<(), RouteError> {
    let inode = |host: &HostNamespace| host.namespace().inode().ok();
    match (clients, server) {
        (RouteEnd::Namespace { host: one, .. }, RouteEnd::Namespace { host: other, .. }) => {
            match inode(one).is_some() && inode(one) == inode(other) {
                true => Err(RouteError::OneNamespace { namespace: one.name().to_owned() }),
                false => Ok(()),
            }
        }
        (RouteEnd::Interface(one), RouteEnd::Interface(other)) if one == other => {
            Err(RouteError::OneInterface { interface: one.clone() })
        }
        _ => Ok(()),
    }
}

/// Refuses targets that are nowhere behind the servers' namespace. Of a link it shows when they are looked
/// for.
fn check_targets(targets: &[IpAddr], server: &RouteEnd) -> Result<(), RouteError> {
    let RouteEnd::Namespace { host: server, around } = server else {
        return match targets.iter().find(|target| target.is_loopback()) {
            Some(target) => Err(RouteError::Loopback { target: *target }),
            None => Ok(()),
        };
    };
    let is_reached =
        |target: &IpAddr| around.has(*target) || !target.is_loopback() && around.forwards(*target);
    match targets.iter().find(|target| !is_reached(target)) {
        None => Ok(()),
        Some(target) => {
            let others: Vec<String> = around.addresses().map(|address| address.to_string()).collect();
            let (target, namespace) = (*target, server.name().to_owned());
            Err(RouteError::Elsewhere { target, namespace, others: others.join(", ") })
        }
    }
}

/// The gateway at the servers' end: of one at a loopback address, clients know another.
fn spec_of(settings: &RouteSettings) -> TestbedSpec {
    let usual = TestbedSpec::default();
    let has = |v6: bool| settings.targets.iter().any(|target| target.is_ipv6() == v6);
    let mut spec = TestbedSpec {
        families: [has(false), has(true)],
        server_has: [true; 2],
        device: settings.device,
        offload: settings.offload,
        queue_packets: settings.queue_packets,
        ..usual.clone()
    };
    for target in settings.targets.iter().filter(|target| target.is_loopback()) {
        match *target {
            IpAddr::V4(own) if !spec.server_v4.is_loopback() => {
                spec.maps.push(AddressMap { shown: usual.server_v4.into(), own: own.into() });
                spec.server_v4 = own;
            }
            IpAddr::V6(own) if !spec.server_v6.is_loopback() => {
                spec.maps.push(AddressMap { shown: usual.server_v6.into(), own: own.into() });
                spec.server_v6 = own;
            }
            _ => {}
        }
    }
    spec
}

/// The address by which clients know the target `own`.
fn shown(spec: &TestbedSpec, own: IpAddr) -> IpAddr {
    spec.maps.iter().find(|map| map.own == own).map_or(own, |map| map.shown)
}

/// A path with the address by which clients know its target.
fn towards_shown(placed: &PlacedHosts, spec: &TestbedSpec) -> PlacedHosts {
    let shown_block = |block: Block| {
        let is_own = |map: &&AddressMap| block.contains(map.own) && block.bits() == width(map.own);
        let map = spec.maps.iter().find(is_own);
        map.and_then(|map| Block::around(map.shown, block.bits())).unwrap_or(block)
    };
    PlacedHosts { towards: placed.towards.map(shown_block), ..placed.clone() }
}

/// The clients' namespace's own addresses, of the families of `targets`, as places of the first class.
fn addresses_of(
    clients: &HostNamespace,
    around: &NamespaceNetwork,
    targets: &[IpAddr],
) -> Result<Vec<PlacedHosts>, RouteError> {
    let is_of_a_target =
        |address: &IpAddr| targets.iter().any(|target| target.is_ipv4() == address.is_ipv4());
    let mut addresses: Vec<IpAddr> = around.addresses().filter(is_of_a_target).collect();
    addresses.sort_unstable();
    addresses.dedup();
    if addresses.is_empty() {
        return Err(RouteError::NoAddress { namespace: clients.name().to_owned() });
    }
    let place = |address: IpAddr| {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        Block::around(address, bits).map(|block| PlacedHosts { block, towards: None, class: None })
    };
    Ok(addresses.into_iter().filter_map(place).collect())
}

/// The blocks of `placed` that lie in no other.
fn outermost(placed: &[PlacedHosts]) -> Vec<(IpAddr, u8)> {
    let lies_in = |inner: &Block, outer: &Block| {
        inner != outer && outer.bits() <= inner.bits() && outer.contains(inner.network())
    };
    let blocks = placed.iter().map(|placed| placed.block);
    let outer = blocks.filter(|block| !placed.iter().any(|other| lies_in(block, &other.block)));
    let mut outer: Vec<_> = outer.map(|block| (block.network(), block.bits())).collect();
    outer.sort_unstable();
    outer.dedup();
    outer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_within_others_are_routed_once() {
        let placed = ["10.0.0.0/24", "10.0.0.7/32", "10.0.1.0/24", "fd00::/120"].map(|block| PlacedHosts {
            block: block.parse().unwrap(),
            towards: None,
            class: None,
        });
        let blocks = outermost(&placed);
        assert_eq!(in_words(&blocks), "10.0.0.0/24, 10.0.1.0/24, fd00::/120");
        let many: Vec<_> = (0..6).map(|nth| (IpAddr::from([10, 0, 0, nth]), 32)).collect();
        assert!(in_words(&many).ends_with("10.0.0.3/32 and 2 more"));
    }
}
