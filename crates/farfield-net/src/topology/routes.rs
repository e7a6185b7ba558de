//! Shortest paths from everywhere to everywhere, computed once (Dijkstra 1959).
//!
//! Among equally short paths the one with fewer hops (by delay) or less delay (by hops) is taken, and among
//! those the one whose next link was added first: the same topology has the same routes wherever it is
//! computed.
//!
//! Hosts forward nothing. A host that hangs on one switch or router by a link each way is no row and no
//! column of the table: it has the routes of where it hangs. So ten thousand clients behind ten routers cost
//! ten squared.

use super::{LinkId, NodeId, Topology};
use crate::hop::NodeKind;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The metric of paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// The number of links.
    #[default]
    Hops,
    /// The sum of propagation delays.
    Delay,
}

/// Hosts that cannot reach one another. Names at most four pairs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}; add a link in that direction", .pairs.iter().map(|(from, to)| format!("host `{from}` cannot reach host `{to}`")).collect::<Vec<_>>().join(", "), if *.more { ", and there are more" } else { "" })]
#[non_exhaustive]
pub struct Unreachable {
    /// From, and to.
    pub pairs: Vec<(String, String)>,
    /// There are more.
    pub more: bool,
}

const FAR: Length = (u64::MAX, u64::MAX);

/// The next link from every node to every node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routes {
    positions: Vec<Position>,
    /// Rows are where a packet is, columns where it goes, both by number in the core; `None` where they are
    /// one node, or where there is no path.
    next: Vec<Option<LinkId>>,
    core: usize,
}

/// The position of a node, in the table or beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// In the table, by its number there.
    Core(u32),
    /// Beside a node of the table.
    Leaf { at: u32, up: LinkId, down: LinkId },
}

impl Routes {
    /// The shortest paths. Every host must reach every other.
    ///
    /// # Errors
    /// [`Unreachable`] if some host cannot reach another, with at most four pairs.
    pub fn compute<L>(topology: &Topology<L>, metric: Metric) -> Result<Routes, Unreachable> {
        let (positions, members) = positions_of(topology);
        let core = members.len();
        let mut routes = Routes { positions, next: vec![None; core * core], core };
        let links = CoreLinks::of(topology, &routes.positions, metric);
        for to in 0..core {
            let distances = distances(topology, &members, &links, to);
            for (from, &distance) in distances.iter().enumerate() {
                routes.next[from * core + to] =
                    links.next(from, to, distance, &distances, topology, &members);
            }
        }
        routes.check(topology).map(|()| routes)
    }

    /// The link that a packet takes which is at `at` and goes to `to`; `None` at its goal.
    pub fn next(&self, at: NodeId, to: NodeId) -> Option<LinkId> {
        if at == to {
            return None;
        }
        let from = match self.positions[at.index()] {
            Position::Leaf { up, .. } => return Some(up),
            Position::Core(number) => number,
        };
        let (column, arrives_by) = match self.positions[to.index()] {
            Position::Core(number) => (number, None),
            Position::Leaf { at, down, .. } => (at, Some(down)),
        };
        if from == column {
            return arrives_by;
        }
        self.in_core(from, column)
    }

    /// The links from `from` to `to`, in order; empty if there is no way, or none needed.
    pub fn path<L>(&self, topology: &Topology<L>, from: NodeId, to: NodeId) -> Vec<LinkId> {
        let mut at = from;
        let step = || {
            let link = self.next(at, to)?;
            at = topology.edge(link).to;
            Some(link)
        };
        std::iter::from_fn(step).collect()
    }

    fn in_core(&self, from: u32, to: u32) -> Option<LinkId> {
        self.next[from as usize * self.core + to as usize]
    }

    fn check<L>(&self, topology: &Topology<L>) -> Result<(), Unreachable> {
        // All hosts at one node of the core reach what one of them reaches; the first stands for them.
        let mut standing: BTreeMap<u32, &str> = BTreeMap::new();
        for (id, node) in topology.nodes().filter(|(_, node)| node.kind == NodeKind::Host) {
            let (Position::Core(at) | Position::Leaf { at, .. }) = self.positions[id.index()];
            standing.entry(at).or_insert(&node.name);
        }
        let mut pairs = Vec::new();
        for (&from, from_name) in &standing {
            for (&to, to_name) in standing.iter().filter(|(to, _)| **to != from) {
                if self.in_core(from, to).is_none() {
                    pairs.push(((*from_name).to_owned(), (*to_name).to_owned()));
                }
                if pairs.len() > 4 {
                    pairs.truncate(4);
                    return Err(Unreachable { pairs, more: true });
                }
            }
        }
        if pairs.is_empty() { Ok(()) } else { Err(Unreachable { pairs, more: false }) }
    }
}

/// Position of each node, and the nodes of the core by number.
fn positions_of<L>(topology: &Topology<L>) -> (Vec<Position>, Vec<NodeId>) {
    let mut ups = vec![Vec::new(); topology.nodes.len()];
    let mut downs = ups.clone();
    for (id, edge) in topology.edges() {
        ups[edge.from.index()].push(id);
        downs[edge.to.index()].push(id);
    }
    let hangs = |id: NodeId| {
        let ([up], [down]) = (&ups[id.index()][..], &downs[id.index()][..]) else { return None };
        let (at, back) = (topology.edge(*up).to, topology.edge(*down).from);
        let by_host = topology.node(at).kind == NodeKind::Host;
        (topology.node(id).kind == NodeKind::Host && at == back && !by_host).then_some((at, *up, *down))
    };
    let members: Vec<NodeId> = topology.nodes().map(|(id, _)| id).filter(|&id| hangs(id).is_none()).collect();
    let number = |id: NodeId| members.binary_search(&id).expect("what hosts hang on is in the core") as u32;
    let position = |id| match hangs(id) {
        Some((at, up, down)) => Position::Leaf { at: number(at), up, down },
        None => Position::Core(number(id)),
    };
    (topology.nodes().map(|(id, _)| position(id)).collect(), members)
}

/// The length of a path: by the metric, and then by the other measure.
type Length = (u64, u64);

/// A link that leaves a node of the core: which, to whom by number, and how long.
type Leaving = (LinkId, usize, Length);

/// The links between nodes of the core, by number.
struct CoreLinks {
    leaving: Vec<Vec<Leaving>>,
    coming: Vec<Vec<(usize, Length)>>,
}

impl CoreLinks {
    fn of<L>(topology: &Topology<L>, positions: &[Position], metric: Metric) -> CoreLinks {
        let core = positions.iter().filter(|position| matches!(position, Position::Core(_))).count();
        let mut links = CoreLinks { leaving: vec![Vec::new(); core], coming: vec![Vec::new(); core] };
        for (id, edge) in topology.edges() {
            let (Position::Core(from), Position::Core(to)) =
                (positions[edge.from.index()], positions[edge.to.index()])
            else {
                continue;
            };
            let length = match metric {
                Metric::Hops => (1, edge.delay.as_ns()),
                Metric::Delay => (edge.delay.as_ns(), 1),
            };
            links.leaving[from as usize].push((id, to as usize, length));
            links.coming[to as usize].push((from as usize, length));
        }
        links
    }

    /// The first link from `from` that is on a shortest path to `to`.
    fn next<L>(
        &self,
        from: usize,
        to: usize,
        distance: Length,
        distances: &[Length],
        topology: &Topology<L>,
        members: &[NodeId],
    ) -> Option<LinkId> {
        if from == to || distance == FAR {
            return None;
        }
        let on_the_way = |&&(_, by, length): &&Leaving| {
            let forwards = by == to || topology.node(members[by]).kind != NodeKind::Host;
            forwards && distances[by] != FAR && add(distances[by], length) == distance
        };
        self.leaving[from].iter().find(on_the_way).map(|&(link, ..)| link)
    }
}

/// The lengths of the paths from each node of the core to `to`.
fn distances<L>(topology: &Topology<L>, members: &[NodeId], links: &CoreLinks, to: usize) -> Vec<Length> {
    let mut distances = vec![FAR; members.len()];
    let mut frontier = BinaryHeap::from([Reverse(((0, 0), to))]);
    distances[to] = (0, 0);
    while let Some(Reverse((distance, node))) = frontier.pop() {
        let forwards = node == to || topology.node(members[node]).kind != NodeKind::Host;
        if distance > distances[node] || !forwards {
            continue;
        }
        for &(from, length) in &links.coming[node] {
            let longer = add(distance, length);
            if longer < distances[from] {
                distances[from] = longer;
                frontier.push(Reverse((longer, from)));
            }
        }
    }
    distances
}

fn add(a: Length, b: Length) -> Length {
    (a.0.saturating_add(b.0), a.1.saturating_add(b.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::Duration;
    use proptest::prelude::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_ms(ms)
    }

    /// `h0 - r1 - r2 - h3`, and a detour `r1 - r4 - r2` that is shorter in time.
    fn detour() -> Topology<()> {
        let mut topology = Topology::new();
        let kinds = [NodeKind::Host, NodeKind::Router, NodeKind::Router, NodeKind::Host, NodeKind::Router];
        let nodes: Vec<NodeId> =
            (0..).zip(kinds).map(|(i, kind)| topology.add(kind, format!("n{i}"))).collect();
        for (a, b, delay) in [(0, 1, 1), (1, 2, 50), (2, 3, 1), (1, 4, 5), (4, 2, 5)] {
            topology.connect(nodes[a], nodes[b], ms(delay), ());
            topology.connect(nodes[b], nodes[a], ms(delay), ());
        }
        topology
    }

    fn walk(metric: Metric) -> String {
        let topology = detour();
        let routes = Routes::compute(&topology, metric).unwrap();
        let path = routes.path(&topology, NodeId::new(0), NodeId::new(3));
        path.iter().map(|&link| topology.node(topology.edge(link).to).name.as_str()).collect()
    }

    #[test]
    fn the_metric_chooses_the_path() {
        assert_eq!(walk(Metric::Hops), "n1n2n3");
        assert_eq!(walk(Metric::Delay), "n1n4n2n3");
    }

    #[test]
    fn hosts_that_nothing_reaches_are_named() {
        let mut topology = detour();
        let (lonely, router) = (topology.add(NodeKind::Host, "lonely"), NodeId::new(1));
        topology.connect(lonely, router, ms(1), ());
        let error = Routes::compute(&topology, Metric::Hops).unwrap_err();
        assert!(error.to_string().contains("host `n0` cannot reach host `lonely`"), "{error}");
        assert!(!error.pairs.iter().any(|(from, _)| from == "lonely"), "it reaches all: {error}");
        topology.connect(router, lonely, ms(1), ());
        assert!(Routes::compute(&topology, Metric::Hops).is_ok());
    }

    #[test]
    fn hosts_do_not_forward() {
        let mut topology: Topology<()> = Topology::new();
        let hosts = ["a", "between", "b"].map(|name| topology.add(NodeKind::Host, name));
        for pair in hosts.windows(2) {
            topology.connect(pair[0], pair[1], ms(1), ());
            topology.connect(pair[1], pair[0], ms(1), ());
        }
        let error = Routes::compute(&topology, Metric::Hops).unwrap_err();
        assert_eq!(error.pairs, [("a".into(), "b".into()), ("b".into(), "a".into())]);
    }

    /// The length of the path that the routes take, or `None` if they do not arrive.
    fn length(topology: &Topology<()>, routes: &Routes, from: NodeId, to: NodeId) -> Option<u64> {
        let path = routes.path(topology, from, to);
        let arrives = path.last().is_some_and(|&link| topology.edge(link).to == to);
        arrives.then(|| path.iter().map(|&link| topology.edge(link).delay.as_ns()).sum())
    }

    proptest! {
        /// Against Floyd and Warshall: every pair of nodes, on random graphs of routers with hosts hanging on
        /// them.
        #[test]
        fn paths_are_as_short_as_floyd_and_warshall_find_them(
            links in prop::collection::vec((0usize..7, 0usize..7, 1u64..20), 0..25),
        ) {
            let mut topology: Topology<()> = Topology::new();
            let routers: Vec<NodeId> = (0..7).map(|i| topology.add(NodeKind::Router, format!("r{i}"))).collect();
            for i in 0..7 {
                let (a, b) = (routers[i], routers[(i + 1) % 7]);
                topology.connect(a, b, Duration::from_ns(30), ());
            }
            for &(a, b, delay) in &links {
                topology.connect(routers[a], routers[b], Duration::from_ns(delay), ());
            }
            for &router in &routers {
                let host = topology.add(NodeKind::Host, "h");
                topology.connect(host, router, Duration::from_ns(1), ());
                topology.connect(router, host, Duration::from_ns(2), ());
            }
            let count = topology.nodes().len();
            let mut shortest = vec![vec![u64::MAX / 4; count]; count];
            for (_, edge) in topology.edges() {
                let entry = &mut shortest[edge.from.index()][edge.to.index()];
                *entry = (*entry).min(edge.delay.as_ns());
            }
            for by in 0..count {
                for from in 0..count {
                    for to in 0..count {
                        let through = shortest[from][by] + shortest[by][to];
                        shortest[from][to] = shortest[from][to].min(through);
                    }
                }
            }
            let routes = Routes::compute(&topology, Metric::Delay).unwrap();
            for (from, _) in topology.nodes() {
                for (to, _) in topology.nodes().filter(|(to, _)| *to != from) {
                    let expected = Some(shortest[from.index()][to.index()]);
                    prop_assert_eq!(length(&topology, &routes, from, to), expected);
                }
            }
        }
    }
}
