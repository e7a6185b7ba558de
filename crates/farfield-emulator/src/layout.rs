//! From what a scenario says of a network to the [`NetworkPlan`] that shards are made of: which client is of
//! which class, which address it has, and which links are its own.
//!
//! Everything here is a pure function of its input: the same network has the same clients at the same
//! addresses wherever it is laid out.

mod addresses;
mod block;
mod deal;
mod graph;
mod placed;
mod places;
mod servers;

pub use block::{Block, BlockError};
pub use deal::deal;
pub use graph::{Graph, subnets, with_models};
pub use placed::{PLACED_MOST, PlacedError, PlacedHosts};
pub use places::{GraphPlaces, Places};

use crate::plan::{
    ClassPlan, ClientPlan, HopPlan, HostWays, MovePlan, NetworkPlan, NodePlan, OtherServers, RoutePlan,
    Servers,
};
use crate::slots::{ClientId, SharedLinkId};
use addresses::Addressing;
use farfield_base::{Duration, Instant};
use farfield_net::{LinkModel, LinkName, Mtu, NodeKind};
use farfield_tcp::Config;
use farfield_tcp::config::{DEFAULT_MSS_IPV4, DEFAULT_MSS_IPV6};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

/// The most classes a network can have: each is counted on its own in results.
pub const CLASSES_MOST: usize = 64;

/// Links and routers on the way between a client and the server at most, in one direction.
const HOPS_MOST: usize = 120;

/// A class of clients, as a scenario has it once files are read.
#[derive(Debug, Clone)]
pub struct Class {
    /// The class's name in results.
    pub name: String,
    /// The class's part of all clients is `weight` over the sum of all weights; above zero, unless clients of
    /// others move to it.
    pub weight: f64,
    /// The configuration of its clients' TCP; its MSS is replaced unless `mss_is_given`.
    pub tcp: Config,
    /// False: the MSS follows from the MTU of the clients' own link and the family of their addresses.
    pub mss_is_given: bool,
    /// A client's own links towards the server, its own end first.
    pub up: Vec<Arc<LinkModel>>,
    /// A client's own links from the edge, the edge's end first.
    pub down: Vec<Arc<LinkModel>>,
    /// The block of its clients' addresses; a part of the default block if absent.
    pub pool: Option<Block>,
    /// The class whose links its clients move to, as an index of classes.
    pub moves_to: Option<u16>,
}

/// A link that all clients share between their edge and the server.
#[derive(Debug, Clone)]
pub struct Bottleneck {
    /// Towards the server.
    pub up: Arc<LinkModel>,
    /// From the server.
    pub down: Arc<LinkModel>,
}

/// Parameters of the network as a whole.
#[derive(Debug, Clone, Copy)]
pub struct LayoutSettings {
    /// Clients.
    pub clients: NonZeroU32,
    /// Shards that they are dealt out over by number.
    pub shards: NonZeroU32,
    /// The server's addresses.
    pub servers: Servers,
    /// The block in which classes without a pool have their addresses, one after the other; 198.18.0.0/15, or
    /// 100.64.0.0/10 for many clients, if absent.
    pub block: Option<Block>,
}

/// A network that is laid out.
#[derive(Debug, Clone)]
pub struct Layout {
    /// The plan that shards are made from.
    pub network: NetworkPlan,
    /// The round trips of its clients.
    pub round_trips: RoundTrips,
    /// Names of the nodes between clients and the server, by [`NodePlan::id`].
    pub nodes: Vec<String>,
    /// Names of the shared links, in the order of [`NetworkPlan::shared`].
    pub links: Vec<LinkName>,
    /// The block that all IPv4 clients are in, if there are any: what is to be routed to the gateway.
    pub clients_v4: Option<Block>,
    /// The block of IPv6 addresses.
    pub clients_v6: Option<Block>,
    /// The places of hosts.
    pub places: Places,
}

/// The times that a packet of no size takes to the server and back where nothing else is on the way:
/// propagation, at any instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrips {
    /// The round trip of the nearest client.
    pub least: Duration,
    /// The round trip of the farthest client.
    pub largest: Duration,
}

/// Why a network cannot be laid out.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LayoutError {
    /// No class at all, or too many.
    #[error("there are {0} classes; write from 1 to {CLASSES_MOST}")]
    Classes(usize),
    /// A weight that is no share.
    #[error(
        "the share {weight} is not above 0; write a number such as `60`, of which each class has its part"
    )]
    Weight {
        /// The class, as an index of classes.
        class: usize,
        /// The weight as given.
        weight: f64,
    },
    /// A share so small that no client has it.
    #[error(
        "class `{name}` has no client among {clients}; give it a larger share, or the network more clients"
    )]
    Empty {
        /// The class.
        class: usize,
        /// The class's name.
        name: String,
        /// Clients in all.
        clients: u32,
    },
    /// Clients that cannot be dealt out evenly.
    #[error(
        "{clients} clients cannot be dealt out over {shards} shards; the nearest number that can is {nearest}"
    )]
    Shards {
        /// Clients in all.
        clients: u32,
        /// Shards.
        shards: u32,
        /// A multiple of them.
        nearest: u32,
    },
    /// More clients than addresses.
    #[error("{block} has {holds} addresses for the {needs} that class `{name}` needs; write a larger block")]
    PoolTooSmall {
        /// The class.
        class: usize,
        /// The class's name.
        name: String,
        /// The class's pool.
        block: Block,
        /// Addresses in it.
        holds: u128,
        /// Addresses that are needed.
        needs: u128,
    },
    /// An address that two clients would have.
    #[error(
        "{block} of class `{name}` overlaps {other_block} of class `{other}`; give each addresses of its own"
    )]
    PoolsOverlap {
        /// The later class.
        class: usize,
        /// The later class's name.
        name: String,
        /// The later class's pool.
        block: Block,
        /// The earlier class's name.
        other: String,
        /// The earlier class's pool.
        other_block: Block,
    },
    /// The server's address among the clients'.
    #[error(
        "{block} holds the server's address {server}; write another block, or another address of the server"
    )]
    PoolHoldsServer {
        /// The class.
        class: usize,
        /// The pool.
        block: Block,
        /// The server.
        server: IpAddr,
    },
    /// The server's address between those of the clients, which are routed as one block.
    #[error(
        "{around} lies around the addresses of all clients, is routed as one, and holds the server's address \
             {server}; write blocks that are closer together, such as parts of 198.18.0.0/15"
    )]
    PoolsApart {
        /// The last class of the family.
        class: usize,
        /// The block around all of its family.
        around: Block,
        /// The server.
        server: IpAddr,
    },
    /// An MTU that IPv6 does not allow.
    #[error(
        "class `{name}` has IPv6 addresses and a link with an MTU of {mtu}; IPv6 needs at least 1280 (RFC 8200)"
    )]
    MtuOfV6 {
        /// The class.
        class: usize,
        /// The class's name.
        name: String,
        /// The MTU.
        mtu: u32,
    },
    /// A way that is too long.
    #[error("the way between `{host}` and the server has {hops} links; at most {HOPS_MOST} can be emulated")]
    TooFar {
        /// The host.
        host: String,
        /// Links in one direction.
        hops: usize,
    },
}

impl LayoutError {
    /// The class whose fault it is, as an index of classes, if it is one class's.
    pub fn class(&self) -> Option<usize> {
        match self {
            LayoutError::Weight { class, .. }
            | LayoutError::Empty { class, .. }
            | LayoutError::PoolTooSmall { class, .. }
            | LayoutError::PoolsOverlap { class, .. }
            | LayoutError::PoolHoldsServer { class, .. }
            | LayoutError::PoolsApart { class, .. }
            | LayoutError::MtuOfV6 { class, .. } => Some(*class),
            LayoutError::Classes(_) | LayoutError::Shards { .. } | LayoutError::TooFar { .. } => None,
        }
    }
}

/// Lays out clients that each have a way of their own to an edge router, a router for each class; behind the
/// edges stands the server or, where there is one, a bottleneck that all of them share, with a router at its
/// far end.
///
/// Clients are dealt to classes so that among any first clients each class has its part within one client.
///
/// # Errors
/// See [`LayoutError`].
pub fn lay_out(
    classes: Vec<Class>,
    bottleneck: Option<Bottleneck>,
    settings: LayoutSettings,
) -> Result<Layout, LayoutError> {
    check_weights(&classes)?;
    let weights: Vec<f64> = classes.iter().map(|class| class.weight).collect();
    let member_of = with_doubles(&classes, deal(&weights, settings.clients.get()));
    let edges = 0..classes.len() as u32;
    let routes = edges.clone().map(|id| match &bottleneck {
        None => RoutePlan::direct(id),
        Some(_) => behind_bottleneck(id, edges.end),
    });
    let routes = routes.collect();
    let mut nodes: Vec<String> = classes.iter().map(|class| format!("edge of {}", class.name)).collect();
    let shared = match bottleneck {
        None => Vec::new(),
        Some(Bottleneck { up, down }) => {
            nodes.push("core".to_owned());
            vec![(LinkName::SharedUp, up), (LinkName::SharedDown, down)]
        }
    };
    let route_of = |_: u32, class: u16| u32::from(class);
    finish(classes, member_of, route_of, routes, shared, nodes, settings)
}

/// Links 0 (up) and 1 (down) between the edge and the router `core`, which stands before the server.
fn behind_bottleneck(edge: u32, core: u32) -> RoutePlan {
    let router = |id| NodePlan { id, kind: NodeKind::Router };
    let [up, down] = [0, 1].map(|number| Some(SharedLinkId::new(number)));
    RoutePlan {
        down: vec![HopPlan { link: None, to: router(core) }, HopPlan { link: down, to: router(edge) }],
        up: vec![HopPlan { link: up, to: router(core) }, HopPlan { link: None, to: NodePlan::SERVER }],
    }
}

fn check_weights(classes: &[Class]) -> Result<(), LayoutError> {
    if !(1..=CLASSES_MOST).contains(&classes.len()) {
        return Err(LayoutError::Classes(classes.len()));
    }
    let is_moved_to = |class: usize| classes.iter().any(|own| own.moves_to == Some(class as u16));
    let good = |class: usize| {
        let weight = classes[class].weight;
        weight.is_finite() && (weight > 0.0 || weight == 0.0 && is_moved_to(class))
    };
    let bad = (0..classes.len()).find(|class| !good(*class));
    // Somebody must be somewhere at first.
    let bad = bad.or_else(|| classes.iter().all(|class| class.weight == 0.0).then_some(0));
    bad.map_or(Ok(()), |class| Err(LayoutError::Weight { class, weight: classes[class].weight }))
}

/// The classes of all clients and, where some move, of their doubles behind them, in the same order: so a
/// client and its double are in one shard, however many there are. The double of one that does not move is
/// nobody.
fn with_doubles(classes: &[Class], mut member_of: Vec<u16>) -> Vec<u16> {
    let Some(somewhere) = classes.iter().find_map(|class| class.moves_to) else { return member_of };
    let doubles: Vec<u16> =
        member_of.iter().map(|of| classes[usize::from(*of)].moves_to.unwrap_or(somewhere)).collect();
    member_of.extend(doubles);
    member_of
}

/// Gives addresses and MSS, and measures round trips. `route_of` returns the route of a client of a class.
fn finish(
    classes: Vec<Class>,
    member_of: Vec<u16>,
    route_of: impl Fn(u32, u16) -> u32,
    routes: Vec<RoutePlan>,
    shared: Vec<(LinkName, Arc<LinkModel>)>,
    nodes: Vec<String>,
    settings: LayoutSettings,
) -> Result<Layout, LayoutError> {
    check_shards(settings)?;
    let Addressing { first, ranks, clients_v4, clients_v6 } =
        addresses::assign(&classes, &member_of, settings)?;
    let moves = moves_of(&classes, &member_of);
    let plan = |(class, of): (usize, Class)| class_plan(class, of, first[class]);
    let classes: Vec<ClassPlan> = classes.into_iter().enumerate().map(plan).collect::<Result<_, _>>()?;
    let client = |(number, (class, rank)): (usize, (u16, u32))| ClientPlan {
        class,
        route: route_of(number as u32, class),
        rank,
    };
    let clients: Arc<[ClientPlan]> = member_of.into_iter().zip(ranks).enumerate().map(client).collect();
    let (models, links) = shared.into_iter().map(|(name, model)| (model, name)).unzip();
    let network = NetworkPlan {
        servers: settings.servers,
        classes,
        routes,
        shared: models,
        cross_traffic: Vec::new(),
        clients,
        moves,
        others: OtherServers::default(),
        host_ways: HostWays::default(),
    };
    let round_trips = round_trips(&network);
    Ok(Layout { network, round_trips, nodes, links, clients_v4, clients_v6, places: Places::Edges })
}

/// The clients that move, at an instant that is still to be set.
fn moves_of(classes: &[Class], member_of: &[u16]) -> Vec<MovePlan> {
    if classes.iter().all(|class| class.moves_to.is_none()) {
        return Vec::new();
    }
    let acting = member_of[..member_of.len() / 2].iter().enumerate();
    let moving = acting.filter(|(_, class)| classes[usize::from(**class)].moves_to.is_some());
    moving.map(|(number, _)| MovePlan { client: ClientId::at(number), at: Instant::MAX }).collect()
}

fn check_shards(settings: LayoutSettings) -> Result<(), LayoutError> {
    let (clients, shards) = (settings.clients.get(), settings.shards.get());
    if clients.is_multiple_of(shards) {
        return Ok(());
    }
    Err(LayoutError::Shards { clients, shards, nearest: nearest_multiple(clients, shards) })
}

/// The multiple of `of` that is nearest to `number`, at least `of` itself; the greater of two.
pub fn nearest_multiple(number: u32, of: u32) -> u32 {
    let below = number - number % of;
    let above = below.saturating_add(of);
    if below > 0 && number - below < above - number { below } else { above }
}

fn class_plan(index: usize, class: Class, first_address: IpAddr) -> Result<ClassPlan, LayoutError> {
    let Class { name, mut tcp, mss_is_given, up, down, .. } = class;
    let least = |links: &mut dyn Iterator<Item = &Arc<LinkModel>>| links.map(|link| link.mtu_of_link()).min();
    // The host sees the MTU of its own interface only: that of the links at its end.
    let own = least(&mut up.first().into_iter().chain(down.last())).unwrap_or_default();
    let anywhere = least(&mut up.iter().chain(&down)).unwrap_or_default();
    if first_address.is_ipv6() && anywhere < Mtu::IPV6_LEAST {
        return Err(LayoutError::MtuOfV6 { class: index, name, mtu: anywhere.as_bytes() });
    }
    let (headers, default_mss) =
        if first_address.is_ipv4() { (40, DEFAULT_MSS_IPV4) } else { (60, DEFAULT_MSS_IPV6) };
    tcp.default_mss = default_mss;
    if !mss_is_given {
        // RFC 9293 §3.7.1: what is left of the MTU after the headers without options.
        tcp.mss = own.as_bytes().saturating_sub(headers) as u16;
    }
    Ok(ClassPlan { name, tcp: Arc::new(tcp), up, down, first_address })
}

impl Layout {
    /// Measures the round trips again, once links have been changed.
    pub fn measure_round_trips(&mut self) {
        self.round_trips = round_trips(&self.network);
    }
}

fn round_trips(network: &NetworkPlan) -> RoundTrips {
    let mut kinds: Vec<(u16, u32)> =
        network.clients.iter().map(|client| (client.class, client.route)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let links = |&(class, route): &(u16, u32)| {
        let (class, route) = (&network.classes[usize::from(class)], &network.routes[route as usize]);
        let hops = route.up.iter().chain(&route.down).filter_map(|hop| hop.link);
        let shared = hops.map(|link| &network.shared[link.index()]);
        class.up.iter().chain(&class.down).chain(shared).cloned().collect::<Vec<_>>()
    };
    let sum = |kind: &(u16, u32), of_link: fn(&LinkModel) -> Duration| {
        links(kind).iter().fold(Duration::ZERO, |sum, link| sum + of_link(link))
    };
    let least = kinds.iter().map(|kind| sum(kind, LinkModel::propagation)).min();
    let largest = kinds.iter().map(|kind| sum(kind, LinkModel::propagation_most)).max();
    RoundTrips { least: least.unwrap_or_default(), largest: largest.unwrap_or_default() }
}

#[cfg(test)]
mod tests;
