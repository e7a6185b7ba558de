//! The plan of an emulated network, before any shard is made of it: classes of clients, their addresses,
//! their own links, and the routes of shared links between them and the server.
//!
//! A client is a number. Its class says how its TCP behaves and what its own links are like; its route says
//! which shared links its packets take between the *edge*, the node at the far end of its own links, and the
//! server.

mod host_ways;

pub use host_ways::HostWays;

use crate::cross_traffic::CrossFlow;
use crate::slots::{ClientId, SharedLinkId};
use farfield_base::{HostNumber, Instant};
use farfield_net::{LinkModel, NodeKind};
use farfield_tcp::Config;
use farfield_wire::Addresses;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

/// All clients and all links between them and the server.
#[derive(Debug, Clone)]
pub struct NetworkPlan {
    /// Addresses at which the first server listens, by family; clients of a family need it to have an
    /// address of it.
    pub servers: Servers,
    /// Kinds of clients.
    pub classes: Vec<ClassPlan>,
    /// Ways between edges and the server.
    pub routes: Vec<RoutePlan>,
    /// Directed links that the packets of several clients may take.
    pub shared: Vec<Arc<LinkModel>>,
    /// Packets of nobody's on these links.
    pub cross_traffic: Vec<CrossFlow>,
    /// Every client, by its number. Where some move, the second half are the doubles of the first: what each
    /// is after it moved, on links and at an address of its new class.
    pub clients: Arc<[ClientPlan]>,
    /// The clients that move from one access network to another, and when.
    pub moves: Vec<MovePlan>,
    /// Servers beside the first.
    pub others: OtherServers,
    /// Ways between real hosts.
    pub host_ways: HostWays,
}

/// A client that leaves its access network for another, as a phone leaves Wi-Fi: what it sends from then on
/// is sent by its [double](NetworkPlan::double).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MovePlan {
    /// The client.
    pub client: ClientId,
    /// The instant of its move.
    pub at: Instant,
}

/// Servers beside the first, which has number 0: their addresses, and the ways to them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OtherServers {
    /// The servers' addresses, from number 1 on.
    pub servers: Vec<Servers>,
    /// For each server, the first included, and each route: the route from the same edge to that server.
    /// Empty where there is one server.
    pub ways: Vec<Box<[u32]>>,
    /// The server of the users of each class; the first where a class has none.
    pub of_classes: Vec<u16>,
    /// The server of each host that users ask beside the target, from number 1 on.
    pub of_hosts: Vec<u16>,
}

/// The server's addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Servers {
    /// For clients with IPv4 addresses.
    pub v4: Ipv4Addr,
    /// For clients with IPv6 addresses.
    pub v6: Ipv6Addr,
    /// The port that it listens on.
    pub port: u16,
}

/// A kind of clients.
#[derive(Debug, Clone)]
pub struct ClassPlan {
    /// The class's name in results.
    pub name: String,
    /// The configuration of its clients' TCP.
    pub tcp: Arc<Config>,
    /// A client's own links towards the server, its own end first.
    pub up: Vec<Arc<LinkModel>>,
    /// A client's own links from the edge, the edge's end first.
    pub down: Vec<Arc<LinkModel>>,
    /// The address of its first client; the others follow in the order of their numbers.
    pub first_address: IpAddr,
}

/// A client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientPlan {
    /// The client's class, as an index of [`NetworkPlan::classes`].
    pub class: u16,
    /// The route to the server of the client's users, as an index of [`NetworkPlan::routes`].
    pub route: u32,
    /// The client's number within its class, from 0.
    pub rank: u32,
}

/// The shared part of the way between an edge and the server, both directions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutePlan {
    /// From the server: the last hop ends at the edge.
    pub down: Vec<HopPlan>,
    /// From the edge: the last hop ends at the server.
    pub up: Vec<HopPlan>,
}

/// One hop of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HopPlan {
    /// The shared link; none takes no time.
    pub link: Option<SharedLinkId>,
    /// The node at its end.
    pub to: NodePlan,
}

/// A node between clients and the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodePlan {
    /// The node's number, the same wherever routes meet.
    pub id: u32,
    /// Switch, router or host.
    pub kind: NodeKind,
}

impl NodePlan {
    /// The server, the end of every route.
    pub const SERVER: NodePlan = NodePlan { id: u32::MAX, kind: NodeKind::Host };

    /// The address that a router answers from: 10/8 and fd00::/8 by its number, of the family of `of`.
    pub fn address(&self, of: &Addresses) -> IpAddr {
        match of {
            Addresses::V4 { .. } => Ipv4Addr::from_bits(0x0a00_0001 + (self.id & 0x00ff_ffff)).into(),
            Addresses::V6 { .. } => Ipv6Addr::from_bits((0xfd00 << 112) + 1 + u128::from(self.id)).into(),
        }
    }
}

impl RoutePlan {
    /// The route of clients whose own links end at a router of number `id` that stands before the server.
    pub fn direct(id: u32) -> RoutePlan {
        let edge = NodePlan { id, kind: NodeKind::Router };
        RoutePlan {
            down: vec![HopPlan { link: None, to: edge }],
            up: vec![HopPlan { link: None, to: NodePlan::SERVER }],
        }
    }
}

impl Servers {
    /// The server's address for clients of this family.
    pub fn of(&self, client: &IpAddr) -> SocketAddr {
        match client {
            IpAddr::V4(_) => (self.v4, self.port).into(),
            IpAddr::V6(_) => (self.v6, self.port).into(),
        }
    }
}

impl NetworkPlan {
    /// Clients that users act on: all but the doubles of those that move.
    pub fn acting(&self) -> usize {
        if self.moves.is_empty() { self.clients.len() } else { self.clients.len() / 2 }
    }

    /// The network as it is at `at`, always.
    #[must_use]
    pub fn frozen(&self, at: Instant) -> NetworkPlan {
        let freeze = |links: &mut Vec<Arc<LinkModel>>| {
            for link in links.iter_mut().filter(|link| link.changes()) {
                *link = Arc::new(link.frozen(at));
            }
        };
        let mut plan = self.clone();
        for class in &mut plan.classes {
            freeze(&mut class.up);
            freeze(&mut class.down);
        }
        freeze(&mut plan.shared);
        plan
    }

    /// The client that a client becomes by its move.
    pub fn double(&self, client: ClientId) -> ClientId {
        ClientId::at(client.index() + self.acting())
    }

    /// The address of a client.
    pub fn address(&self, client: ClientId) -> IpAddr {
        let client = &self.clients[client.index()];
        match self.classes[usize::from(client.class)].first_address {
            IpAddr::V4(first) => Ipv4Addr::from_bits(first.to_bits().wrapping_add(client.rank)).into(),
            IpAddr::V6(first) => Ipv6Addr::from_bits(first.to_bits().wrapping_add(client.rank.into())).into(),
        }
    }

    /// Addresses of what users on a client send to their server.
    pub fn addresses(&self, client: ClientId) -> Addresses {
        self.addresses_to(client, self.number_of_server(self.clients[client.index()].class))
    }

    /// Addresses of what users on a client send to server `number`.
    pub fn addresses_to(&self, client: ClientId, number: u16) -> Addresses {
        let servers = self.server(number);
        match self.address(client) {
            IpAddr::V4(source) => Addresses::V4 { source, destination: servers.v4 },
            IpAddr::V6(source) => Addresses::V6 { source, destination: servers.v6 },
        }
    }

    /// Addresses of server `number`.
    pub fn server(&self, number: u16) -> &Servers {
        usize::from(number).checked_sub(1).map_or(&self.servers, |other| &self.others.servers[other])
    }

    /// The number of the server of a class's users.
    pub fn number_of_server(&self, class: u16) -> u16 {
        self.others.of_classes.get(usize::from(class)).copied().unwrap_or(0)
    }

    /// The number of the server that users of a class ask for `host`.
    pub fn server_for(&self, class: u16, host: HostNumber) -> u16 {
        match host.index().checked_sub(1) {
            None => self.number_of_server(class),
            Some(beside) => self.others.of_hosts.get(beside).copied().unwrap_or(0),
        }
    }

    /// The server of a class's users.
    pub fn servers_of(&self, class: u16) -> &Servers {
        self.server(self.number_of_server(class))
    }

    /// The addresses of all servers.
    pub fn server_addresses(&self) -> Vec<IpAddr> {
        let all = std::iter::once(&self.servers).chain(&self.others.servers);
        all.flat_map(|servers| [IpAddr::V4(servers.v4), IpAddr::V6(servers.v6)]).collect()
    }

    /// The number of the server that has `address`.
    pub fn server_at(&self, address: IpAddr) -> Option<u16> {
        let has = |servers: &Servers| match address {
            IpAddr::V4(address) => servers.v4 == address,
            IpAddr::V6(address) => servers.v6 == address,
        };
        let all = std::iter::once(&self.servers).chain(&self.others.servers);
        all.zip(0..).find(|(servers, _)| has(servers)).map(|(_, number)| number)
    }

    /// The route to server `number` from where `route` begins.
    pub fn route_to(&self, route: u32, number: u16) -> u32 {
        self.others.ways.get(usize::from(number)).map_or(route, |ways| ways[route as usize])
    }
}
