//! Links that clients share in the statistics of a run: which nodes they join, and what is at their ends.

use crate::plane::EmulatedNetwork;
use farfield_base::{Instant, Merge};
use farfield_emulator::{LinkCounts, RoutePlan};
use farfield_measure::engine_stats::{AttachedStats, LinkStats, TopologyStats};
use farfield_net::LinkName;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Links, and groups of clients, that a summary lists at most.
const LISTED_MOST: usize = 256;

/// The node behind clients' own links where a scenario draws no topology.
const CLIENTS: &str = "clients";
/// The node where its first server is.
const NETWORK: &str = "network";

/// Adds the counters of one worker, link by link; links are named once all workers have reported.
pub(super) fn add(all: &mut Vec<LinkStats>, part: &[LinkCounts]) {
    if all.len() < part.len() {
        all.resize(part.len(), LinkStats::default());
    }
    for (all, LinkCounts { packets, bytes, impairments }) in all.iter_mut().zip(part) {
        all.packets += packets;
        all.bytes += bytes;
        all.impairments.merge(impairments);
    }
}

/// Names the links and what is at their ends, and says what they could carry until the run ended at `end`.
pub(super) fn describe(topology: &mut TopologyStats, network: &EmulatedNetwork, end: Instant) {
    let of_plan = network.links.iter().zip(&network.plan.shared);
    for (link, (name, model)) in topology.links.iter_mut().zip(of_plan) {
        let (from, to) = ends(name);
        (link.from, link.to) = (from.to_owned(), to.to_owned());
        link.bits_per_second = model.speed().mean_bits_until(end);
        link.delay_ns = model.propagation().as_ns();
        link.bytes += link.packets * u64::from(model.overhead_bytes());
    }
    topology.links = most(std::mem::take(&mut topology.links), |link| link.bytes).1;
    // Links without counters are among these.
    topology.links_left_out = (network.plan.shared.len() - topology.links.len()) as u64;

    let (left_out, kept) = most(attached(network), |group| group.clients);
    topology.clients_left_out = left_out.iter().map(|group| group.clients).sum();
    topology.attached = kept;
    let servers: BTreeSet<&str> =
        network.plan.routes.iter().map(|route| server_of(route, &network.links)).collect();
    topology.servers = servers.into_iter().take(LISTED_MOST).map(str::to_owned).collect();
}

/// The nodes that a link joins.
fn ends(name: &LinkName) -> (&str, &str) {
    match name {
        LinkName::SharedUp => (CLIENTS, NETWORK),
        LinkName::SharedDown => (NETWORK, CLIENTS),
        LinkName::Between { from, to } => (from, to),
    }
}

/// The items left out and those kept: the first by `size`, in the order in which they were.
fn most<T>(all: Vec<T>, size: impl Fn(&T) -> u64) -> (Vec<T>, Vec<T>) {
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|at| Reverse(size(&all[*at])));
    let kept: BTreeSet<usize> = order.into_iter().take(LISTED_MOST).collect();
    let (kept, left_out): (Vec<_>, Vec<_>) =
        all.into_iter().enumerate().partition(|(at, _)| kept.contains(at));
    let plain = |numbered: Vec<(usize, T)>| numbered.into_iter().map(|(_, one)| one).collect();
    (plain(left_out), plain(kept))
}

/// Groups of clients by class and by the node where their own links end.
fn attached(network: &EmulatedNetwork) -> Vec<AttachedStats> {
    let mut groups: BTreeMap<(u16, &str), u64> = BTreeMap::new();
    let node_of: Vec<&str> = network.plan.routes.iter().map(|route| edge_of(route, &network.links)).collect();
    for client in &network.plan.clients[..network.plan.acting()] {
        *groups.entry((client.class, node_of[client.route as usize])).or_default() += 1;
    }
    let group = |((class, node), clients): ((u16, &str), u64)| AttachedStats {
        class: network.plan.classes[usize::from(class)].name.clone(),
        node: node.to_owned(),
        clients,
    };
    groups.into_iter().map(group).collect()
}

/// The node where the first shared link of a route begins.
fn edge_of<'a>(route: &RoutePlan, links: &'a [LinkName]) -> &'a str {
    let first = route.up.iter().find_map(|hop| hop.link);
    first.and_then(|link| links.get(link.index())).map_or(NETWORK, |link| ends(link).0)
}

/// The node where the last shared link of a route ends.
fn server_of<'a>(route: &RoutePlan, links: &'a [LinkName]) -> &'a str {
    let last = route.up.iter().rev().find_map(|hop| hop.link);
    last.and_then(|link| links.get(link.index())).map_or(NETWORK, |link| ends(link).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_are_kept_in_their_order() {
        let sizes: Vec<u64> = (0..300).map(|number| number * 7 % 300).collect();
        let (left_out, kept) = most(sizes.clone(), |size| *size);
        let expected: Vec<u64> = sizes.iter().copied().filter(|size| *size >= 44).collect();
        assert_eq!((kept, left_out.len()), (expected, 44));
    }
}
