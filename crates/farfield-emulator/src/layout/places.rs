//! Places of a network's hosts, kept for ways between real ones: programs, which join a network that is laid
//! out, and servers.

use crate::plan::{HopPlan, NetworkPlan, NodePlan, RoutePlan};
use crate::slots::{ClientId, SharedLinkId};
use farfield_net::topology::{LinkId, NodeId, Routes};
use farfield_net::{LinkModel, LinkName, NodeKind, Topology};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The places of a network's hosts.
#[derive(Debug, Clone, Default)]
pub enum Places {
    /// Clients behind edges, which meet before the servers.
    #[default]
    Edges,
    /// Hosts of a graph.
    Graph(Box<GraphPlaces>),
}

/// The graph that a network was laid out from.
#[derive(Debug, Clone)]
pub struct GraphPlaces {
    pub(super) topology: Topology<Arc<LinkModel>>,
    pub(super) routes: Routes,
    /// The hosts that are servers, by number.
    pub(super) servers: Vec<NodeId>,
    /// Links by their number in the plan.
    pub(super) shared: BTreeMap<LinkId, SharedLinkId>,
}

impl Places {
    /// Adds to `plan` the ways between programs in the places of `seats`, and those between the servers of
    /// `joined`, which says of each by its number whether it takes part. Links that nobody used so far are
    /// added to `plan` and their names to `links`.
    pub fn connect(
        &mut self,
        plan: &mut NetworkPlan,
        links: &mut Vec<LinkName>,
        seats: &[ClientId],
        joined: &[bool],
    ) {
        let pairs = |count: usize| (0..count).flat_map(move |from| (0..count).map(move |to| (from, to)));
        let mut between_seats = Vec::new();
        for (nth, other) in pairs(seats.len()) {
            let [from, to] = [nth, other].map(|seat| plan.clients[seats[seat].index()].route);
            let mut there = self.between_edges(plan, links, from, to);
            let mut back = self.between_edges(plan, links, to, from);
            if there.is_empty() {
                // One edge for both: packets pass it once, on the way out of the one and into the other.
                let NodePlan { id, kind } = plan.routes[from as usize].edge();
                let kind = if nth < other { kind } else { NodeKind::Switch };
                there.push(HopPlan { link: None, to: NodePlan { id, kind: NodeKind::Switch } });
                back.push(HopPlan { link: None, to: NodePlan { id, kind } });
            }
            between_seats.push(add(plan, RoutePlan { up: there, down: back }));
        }
        let mut between_servers = Vec::new();
        for (from, to) in pairs(joined.len()) {
            if from == to || !joined[from] || !joined[to] {
                between_servers.push(None);
                continue;
            }
            let mut there = self.between_servers(plan, links, from as u16, to as u16);
            let mut back = self.between_servers(plan, links, to as u16, from as u16);
            if let (Some(end), Some(begin)) = (there.last_mut(), back.last_mut()) {
                end.to = NodePlan::SERVER;
                // The sender's own host lets its packets pass.
                begin.to.kind = NodeKind::Switch;
            }
            between_servers.push(Some(add(plan, RoutePlan { up: there, down: back })));
        }
        plan.host_ways.seats = seats.to_vec();
        (plan.host_ways.between_seats, plan.host_ways.between_servers) = (between_seats, between_servers);
    }

    /// The hops from the edge where route `from` begins to the edge where route `to` begins.
    fn between_edges(
        &mut self,
        plan: &mut NetworkPlan,
        links: &mut Vec<LinkName>,
        from: u32,
        to: u32,
    ) -> Vec<HopPlan> {
        let node = |route: u32| plan.routes[route as usize].edge();
        match self {
            Places::Edges => {
                let base = |route| &plan.routes[plan.route_to(route, 0) as usize];
                meeting(base(from), base(to))
            }
            Places::Graph(graph) => {
                let ends = [node(from), node(to)].map(|node| NodeId::new(node.id));
                graph.hops(plan, links, ends)
            }
        }
    }

    /// The hops from server `from` to server `to`.
    fn between_servers(
        &mut self,
        plan: &mut NetworkPlan,
        links: &mut Vec<LinkName>,
        from: u16,
        to: u16,
    ) -> Vec<HopPlan> {
        match self {
            Places::Edges => {
                // Each stands where the first one stands, or behind a link from there.
                let of_anybody = plan.clients[0].route;
                let [out, into] = [from, to].map(|number| plan.route_to(of_anybody, number) as usize);
                let (out, into) = (&plan.routes[out].down, &plan.routes[into].up);
                out.first().into_iter().chain(into.last()).copied().map(|hop| end_at_core(hop, out)).collect()
            }
            Places::Graph(graph) => {
                let ends = [graph.servers[usize::from(from)], graph.servers[usize::from(to)]];
                graph.hops(plan, links, ends)
            }
        }
    }
}

/// The hop with a node that has the number of the router before the servers, where it would end at a server.
fn end_at_core(hop: HopPlan, out: &[HopPlan]) -> HopPlan {
    let core = out.first().map_or(NodePlan::SERVER, |hop| hop.to);
    if hop.to == NodePlan::SERVER { HopPlan { to: core, ..hop } } else { hop }
}

/// The hops between the edges of two routes to the first server, by the first node that both pass.
fn meeting(from: &RoutePlan, to: &RoutePlan) -> Vec<HopPlan> {
    for gone in 0..=from.up.len() {
        let at = gone.checked_sub(1).map_or(from.edge(), |last| from.up[last].to);
        if at == NodePlan::SERVER {
            break;
        }
        if let Some(met) = to.down.iter().rposition(|hop| hop.to == at) {
            return from.up[..gone].iter().chain(&to.down[met + 1..]).copied().collect();
        }
    }
    // Nothing but the server is common to both, and what leads to it takes no time: the edges are neighbours.
    let before = from.up.len().saturating_sub(1);
    from.up[..before].iter().chain(&to.down).copied().collect()
}

fn add(plan: &mut NetworkPlan, route: RoutePlan) -> u32 {
    plan.routes.push(route);
    plan.routes.len() as u32 - 1
}

impl GraphPlaces {
    fn hops(
        &mut self,
        plan: &mut NetworkPlan,
        links: &mut Vec<LinkName>,
        [from, to]: [NodeId; 2],
    ) -> Vec<HopPlan> {
        let path = self.routes.path(&self.topology, from, to);
        path.into_iter().map(|id| self.hop(plan, links, id)).collect()
    }

    fn hop(&mut self, plan: &mut NetworkPlan, links: &mut Vec<LinkName>, id: LinkId) -> HopPlan {
        let edge = self.topology.edge(id);
        let link = *self.shared.entry(id).or_insert_with(|| {
            let name = |node: NodeId| self.topology.node(node).name.clone();
            plan.shared.push(Arc::clone(&edge.link));
            links.push(LinkName::Between { from: name(edge.from), to: name(edge.to) });
            SharedLinkId::at(plan.shared.len() - 1)
        });
        // A host at the end of a way is no node that packets pass, and one at its beginning is the
        // sender's own.
        let kind = match self.topology.node(edge.to).kind {
            NodeKind::Host => NodeKind::Switch,
            kind => kind,
        };
        HopPlan { link: Some(link), to: NodePlan { id: edge.to.index() as u32, kind } }
    }
}
