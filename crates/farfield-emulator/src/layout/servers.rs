//! Servers beside the first: behind the same edges, each behind a link of its own where it has one.

use super::{Bottleneck, Layout, round_trips};
use crate::plan::{ClientPlan, HopPlan, NodePlan, RoutePlan, Servers};
use crate::slots::SharedLinkId;
use farfield_net::LinkName;
use std::sync::Arc;

impl Layout {
    /// Adds a server called `name` where the first one stands, or behind `link` from there. For networks of
    /// classes: the servers of a graph are hosts of it.
    pub fn add_server(&mut self, name: &str, servers: Servers, link: Option<Bottleneck>) {
        let network = &mut self.network;
        let others = &mut network.others;
        if others.ways.is_empty() {
            others.ways.push((0..network.routes.len() as u32).collect());
        }
        let link = link.map(|Bottleneck { up, down }| {
            let ends = [("network".to_owned(), name.to_owned()), (name.to_owned(), "network".to_owned())];
            let named = ends.map(|(from, to)| LinkName::Between { from, to });
            named.into_iter().zip([up, down]).for_each(|(name, model)| {
                self.links.push(name);
                network.shared.push(model);
            });
            let [up, down] = [2, 1].map(|before| SharedLinkId::at(network.shared.len() - before));
            (up, down)
        });
        // The routes of the first server are the first ones.
        let bases = others.ways[0].iter().copied().max().map_or(0, |last| last + 1);
        let first = network.routes.len() as u32;
        let added: Vec<RoutePlan> =
            network.routes[..bases as usize].iter().map(|route| behind(route, link)).collect();
        network.routes.extend(added);
        // From where a route begins, whichever server it leads to.
        let base_of: Vec<u32> = (0..network.routes.len() as u32).map(|route| route % bases).collect();
        let to_server = |number: u32| base_of.iter().map(move |base| base + number * bases);
        let count = first / bases + 1;
        others.ways = (0..count).map(|number| to_server(number).collect()).collect();
        others.servers.push(servers);
    }

    /// Sets the server of the users of each class, by number.
    pub fn assign_servers(&mut self, of_classes: Vec<u16>) {
        let network = &mut self.network;
        let client = |client: &ClientPlan| {
            let server = of_classes.get(usize::from(client.class)).copied().unwrap_or(0);
            ClientPlan { route: network.route_to(client.route, server), ..*client }
        };
        let clients: Arc<[ClientPlan]> = network.clients.iter().map(client).collect();
        (network.clients, network.others.of_classes) = (clients, of_classes);
        self.round_trips = round_trips(network);
    }
}

/// The route to a server that stands behind a link, up and down, from where the first server stands.
fn behind(route: &RoutePlan, link: Option<(SharedLinkId, SharedLinkId)>) -> RoutePlan {
    let mut route = route.clone();
    let Some((up, down)) = link else { return route };
    let core = route.down.first().map_or(NodePlan::SERVER, |hop| hop.to);
    if let (Some(last), Some(first)) = (route.up.last_mut(), route.down.first_mut()) {
        debug_assert!(last.link.is_none() && first.link.is_none(), "the first server is where its router is");
        *last = HopPlan { link: Some(up), to: NodePlan::SERVER };
        *first = HopPlan { link: Some(down), to: core };
    }
    route
}
