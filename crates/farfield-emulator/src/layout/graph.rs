//! A graph of hosts, routers, switches and links into routes.
//!
//! A link that one client alone uses is its own, as far as its first router: routers count hops, and a packet
//! must meet each of them. If all clients of a class have the same links of their own, these become the
//! class's; if not, they are links of the clients' routes like all others, which costs an event more and
//! nothing else.

use super::{
    Block, CLASSES_MOST, Class, GraphPlaces, HOPS_MOST, Layout, LayoutError, LayoutSettings, Places,
    check_weights, deal, finish,
};
use crate::plan::{HopPlan, NodePlan, OtherServers, RoutePlan, Servers};
use crate::slots::SharedLinkId;
use farfield_net::topology::{Backbone, LinkId, NodeId, Routes, Stretch, collapse};
use farfield_net::{LinkModel, LinkName, LinkSpec, NodeKind, Topology};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

/// A graph with clients on it.
#[derive(Debug, Clone)]
pub struct Graph<'t> {
    /// Nodes and links.
    pub topology: &'t Topology<Arc<LinkModel>>,
    /// The ways through it.
    pub routes: &'t Routes,
    /// The host that is the first server.
    pub server: NodeId,
    /// Hosts that are servers beside it, with their addresses.
    pub others: Vec<(NodeId, Servers)>,
    /// Classes, whose own links and weights are found here, each with the hosts that are its clients.
    pub members: Vec<(Class, Vec<NodeId>)>,
}

/// The links that clients of a class use alone, towards the server and from it.
type ClassLinks = (Vec<Arc<LinkModel>>, Vec<Arc<LinkModel>>);

/// A client's way to a server, with the number of links at the client's end that are its own.
type ClientPath = (Stretch, Stretch);

impl Graph<'_> {
    /// Lays out the graph: every member is one client, and classes are dealt out as evenly as their sizes
    /// allow.
    ///
    /// # Errors
    /// See [`LayoutError`].
    pub fn lay_out(
        self,
        shards: NonZeroU32,
        servers: Servers,
        block: Option<Block>,
    ) -> Result<Layout, LayoutError> {
        let (mut classes, members): (Vec<Class>, Vec<Vec<NodeId>>) = self.members.into_iter().unzip();
        for (class, members) in classes.iter_mut().zip(&members) {
            class.weight = members.len() as f64;
        }
        check_weights(&classes)?;
        let weights: Vec<f64> = classes.iter().map(|class| class.weight).collect();
        let count: usize = members.iter().map(Vec::len).sum();
        let clients = NonZeroU32::new(count as u32).expect("no class is empty");
        let member_of = deal(&weights, clients.get());
        let mut dealt = vec![0; members.len()];
        let hosts: Vec<NodeId> = member_of
            .iter()
            .map(|&class| {
                let class = usize::from(class);
                dealt[class] += 1;
                members[class][dealt[class] - 1]
            })
            .collect();
        let ends: Vec<NodeId> =
            std::iter::once(self.server).chain(self.others.iter().map(|(host, _)| *host)).collect();
        // The ways of all clients to the first server, then those to the next.
        let mut ways: Vec<ClientPath> = Vec::new();
        for server in &ends {
            let flows: Vec<_> = hosts.iter().map(|&host| (host, *server)).collect();
            let mut own = collapse(self.topology, self.routes, &flows);
            check_length(self.topology, &hosts, &own)?;
            own.iter_mut().for_each(|way| end_at_router(self.topology, way));
            ways.append(&mut own);
        }
        begin_alike(&mut ways, hosts.len());
        let all_member_of = member_of.repeat(ends.len());
        let own = own_links(self.topology, &all_member_of, &mut ways, classes.len());
        for (class, own) in classes.iter_mut().zip(own) {
            (class.up, class.down) = own;
        }
        let mut plans =
            RoutePlans { topology: self.topology, shared: BTreeMap::new(), found: BTreeMap::new() };
        let all_hosts = hosts.iter().cycle();
        let route_of: Vec<u32> =
            ways.iter().zip(all_hosts).map(|(way, &host)| plans.route(host, way)).collect();
        let places = GraphPlaces {
            topology: self.topology.clone(),
            routes: self.routes.clone(),
            servers: ends.clone(),
            shared: plans.shared.clone(),
        };
        let (routes, shared) = plans.finish();
        let others = OtherServers {
            of_hosts: Vec::new(),
            ways: if ends.len() > 1 {
                ways_between(&route_of, hosts.len(), routes.len())
            } else {
                Vec::new()
            },
            servers: self.others.into_iter().map(|(_, servers)| servers).collect(),
            of_classes: Vec::new(),
        };
        let nodes = self.topology.nodes().map(|(_, node)| node.name.clone()).collect();
        let settings = LayoutSettings { clients, shards, servers, block };
        let mut layout = finish(
            classes,
            member_of,
            |number, _| route_of[number as usize],
            routes,
            shared,
            nodes,
            settings,
        )?;
        layout.network.others = others;
        layout.places = Places::Graph(Box::new(places));
        Ok(layout)
    }
}

/// Clients' own links must be the first on their way to every server: where they are not alike, a client has
/// none.
fn begin_alike(ways: &mut [ClientPath], clients: usize) {
    for client in 0..clients {
        let own = |way: &ClientPath| (way.0.split_up().0.to_vec(), way.1.split_down().1.to_vec());
        let first = own(&ways[client]);
        let of_client = || (client..ways.len()).step_by(clients);
        if of_client().any(|way| own(&ways[way]) != first) {
            of_client().for_each(|way| (ways[way].0.private, ways[way].1.private) = (0, 0));
        }
    }
}

/// For each server and each route, the route from the same edge to that server.
fn ways_between(route_of: &[u32], clients: usize, routes: usize) -> Vec<Box<[u32]>> {
    let to_server = |to: &[u32]| {
        let mut ways: Box<[u32]> = (0..routes as u32).collect();
        for from in route_of.chunks(clients) {
            from.iter().zip(to).for_each(|(from, to)| ways[*from as usize] = *to);
        }
        ways
    };
    route_of.chunks(clients).map(to_server).collect()
}

/// The clients of IP-TNE's backbone by class: one for each subnetwork or, where there are too many of them to
/// be distinguished in results, one for all, subnetwork after subnetwork in turn.
pub fn subnets<L>(topology: &Topology<L>, backbone: &Backbone) -> Vec<(String, Vec<NodeId>)> {
    // The first host is the server; the others follow subnetwork by subnetwork.
    let hosts = topology.nodes().filter(|(_, node)| node.kind == NodeKind::Host).skip(1);
    let hosts: Vec<NodeId> = hosts.map(|(id, _)| id).collect();
    let size = backbone.hosts as usize;
    if backbone.subnets as usize <= CLASSES_MOST {
        let named = |(at, hosts): (usize, &[NodeId])| (format!("subnet-{}", at + 1), hosts.to_vec());
        return hosts.chunks(size).enumerate().map(named).collect();
    }
    let in_turn = (0..size).flat_map(|host| hosts.iter().copied().skip(host).step_by(size));
    vec![("hosts".to_owned(), in_turn.collect())]
}

/// The graph with the model of each link: `resolve` makes it of what is written, once for all links alike.
///
/// # Errors
/// The first that `resolve` has, with the link's two ends.
pub fn with_models<J: PartialEq, E>(
    topology: &Topology<Arc<LinkSpec<J>>>,
    mut resolve: impl FnMut(&LinkSpec<J>) -> Result<LinkModel, E>,
) -> Result<Topology<Arc<LinkModel>>, (E, LinkId)> {
    let mut known: Vec<(&Arc<LinkSpec<J>>, Arc<LinkModel>)> = Vec::new();
    let mut models = Topology::new();
    for (_, node) in topology.nodes() {
        models.add(node.kind, node.name.clone());
    }
    for (id, edge) in topology.edges() {
        let alike = |spec: &Arc<LinkSpec<J>>| Arc::ptr_eq(spec, &edge.link) || *spec == edge.link;
        let model = match known.iter().find(|(spec, _)| alike(spec)) {
            Some((_, model)) => Arc::clone(model),
            None => {
                let model = Arc::new(resolve(&edge.link).map_err(|error| (error, id))?);
                known.push((&edge.link, Arc::clone(&model)));
                model
            }
        };
        models.connect(edge.from, edge.to, edge.delay, model);
    }
    Ok(models)
}

fn check_length<L>(topology: &Topology<L>, hosts: &[NodeId], ways: &[ClientPath]) -> Result<(), LayoutError> {
    let hops = |(up, down): &ClientPath| up.links.len().max(down.links.len());
    match ways.iter().position(|way| hops(way) > HOPS_MOST) {
        Some(at) => {
            Err(LayoutError::TooFar { host: topology.node(hosts[at]).name.clone(), hops: hops(&ways[at]) })
        }
        None => Ok(()),
    }
}

/// Cuts a client's own links at its first router, and both directions at the same node.
fn end_at_router<L>(topology: &Topology<L>, (up, down): &mut ClientPath) {
    let ends = |id: &LinkId| topology.edge(*id).to;
    let is_router = |node: NodeId| topology.node(node).kind == NodeKind::Router;
    let own = up.links.iter().take(up.private).position(|id| is_router(ends(id)));
    up.private = own.map_or(up.private, |at| at + 1);
    while up.private > 0 {
        let edge = ends(&up.links[up.private - 1]);
        let begins = |id: &&LinkId| topology.edge(**id).from != edge;
        let beyond = down.links.iter().rev().take(down.private).take_while(begins).count();
        if beyond < down.private {
            down.private = beyond + 1;
            return;
        }
        up.private -= 1;
    }
    down.private = 0;
}

/// The links that every client of a class has alike; where they differ, a class has none, and its clients'
/// ways become all shared.
fn own_links(
    topology: &Topology<Arc<LinkModel>>,
    member_of: &[u16],
    ways: &mut [ClientPath],
    classes: usize,
) -> Vec<ClassLinks> {
    let models = |links: &[LinkId]| -> Vec<Arc<LinkModel>> {
        links.iter().map(|&id| Arc::clone(&topology.edge(id).link)).collect()
    };
    let same = |a: &[Arc<LinkModel>], b: &[Arc<LinkModel>]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| Arc::ptr_eq(a, b))
    };
    let mut own: Vec<Option<Option<ClassLinks>>> = vec![None; classes];
    for ((up, down), &class) in ways.iter().zip(member_of) {
        let links = (models(up.split_up().0), models(down.split_down().1));
        let of_class = &mut own[usize::from(class)];
        *of_class = match of_class.take() {
            None => Some(Some(links)),
            Some(Some(first)) if same(&first.0, &links.0) && same(&first.1, &links.1) => Some(Some(first)),
            Some(_) => Some(None),
        };
    }
    for ((up, down), &class) in ways.iter_mut().zip(member_of) {
        if matches!(own[usize::from(class)], Some(None)) {
            (up.private, down.private) = (0, 0);
        }
    }
    own.into_iter().map(|own| own.flatten().unwrap_or_default()).collect()
}

/// Routes as they are found, each kept once, and the links they take.
struct RoutePlans<'t> {
    topology: &'t Topology<Arc<LinkModel>>,
    /// Links by their number in the plan.
    shared: BTreeMap<LinkId, SharedLinkId>,
    found: BTreeMap<(Vec<LinkId>, Vec<LinkId>), (u32, RoutePlan)>,
}

impl RoutePlans<'_> {
    fn route(&mut self, host: NodeId, (up, down): &ClientPath) -> u32 {
        let (up, down) = (up.split_up().1, down.split_down().0);
        let key = (up.to_vec(), down.to_vec());
        if let Some((number, _)) = self.found.get(&key) {
            return *number;
        }
        let number = self.found.len() as u32;
        let mut plan = RoutePlan {
            down: down.iter().map(|&id| self.hop(id)).collect(),
            up: up.iter().map(|&id| self.hop(id)).collect(),
        };
        if let Some(last) = plan.up.last_mut() {
            last.to = NodePlan::SERVER;
        }
        if let Some(last) = plan.down.last_mut()
            && last.to.id == host.index() as u32
        {
            // The client itself is the edge: its host lets its own packets pass.
            last.to.kind = NodeKind::Switch;
        }
        self.found.insert(key, (number, plan));
        number
    }

    fn hop(&mut self, id: LinkId) -> HopPlan {
        let next = SharedLinkId::at(self.shared.len());
        let to = self.topology.edge(id).to;
        let kind = self.topology.node(to).kind;
        HopPlan {
            link: Some(*self.shared.entry(id).or_insert(next)),
            to: NodePlan { id: to.index() as u32, kind },
        }
    }

    fn finish(self) -> (Vec<RoutePlan>, Vec<(LinkName, Arc<LinkModel>)>) {
        let mut routes: Vec<(u32, RoutePlan)> = self.found.into_values().collect();
        routes.sort_by_key(|(number, _)| *number);
        let mut links: Vec<(SharedLinkId, LinkId)> =
            self.shared.into_iter().map(|(id, number)| (number, id)).collect();
        links.sort_unstable();
        let node = |id| self.topology.node(id).name.clone();
        let named = |(_, id): (SharedLinkId, LinkId)| {
            let edge = self.topology.edge(id);
            (LinkName::Between { from: node(edge.from), to: node(edge.to) }, Arc::clone(&edge.link))
        };
        (routes.into_iter().map(|(_, plan)| plan).collect(), links.into_iter().map(named).collect())
    }
}
