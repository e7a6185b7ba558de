//! The hops of a client's path that no other client uses, so that they can be one
//! [`Compound`](crate::Compound).

use super::{LinkId, NodeId, Routes, Topology};
use std::collections::BTreeMap;

/// One direction of a client's path to its server, cut where others join.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stretch {
    /// All links in the order in which a packet takes them.
    pub links: Vec<LinkId>,
    /// The number of links at the client's end that only this client uses: the first ones on the way up, the
    /// last ones on the way down.
    pub private: usize,
}

impl Stretch {
    /// On the way up: the client's own links, then the shared ones.
    pub fn split_up(&self) -> (&[LinkId], &[LinkId]) {
        self.links.split_at(self.private)
    }

    /// On the way down: the shared links, then the client's own.
    pub fn split_down(&self) -> (&[LinkId], &[LinkId]) {
        self.links.split_at(self.links.len() - self.private)
    }
}

/// For each flow of a client and its server, the way up and the way down. A link is a client's own if no
/// other client's flows take it, in either direction.
pub fn collapse<L>(
    topology: &Topology<L>,
    routes: &Routes,
    flows: &[(NodeId, NodeId)],
) -> Vec<(Stretch, Stretch)> {
    let paths = |&(client, server): &(NodeId, NodeId)| {
        (client, routes.path(topology, client, server), routes.path(topology, server, client))
    };
    let flows: Vec<(NodeId, Vec<LinkId>, Vec<LinkId>)> = flows.iter().map(paths).collect();
    // The link's only client, or none where there are several.
    let mut users: BTreeMap<LinkId, Option<NodeId>> = BTreeMap::new();
    for (client, up, down) in &flows {
        for &link in up.iter().chain(down) {
            let user = users.entry(link).or_insert(Some(*client));
            if *user != Some(*client) {
                *user = None;
            }
        }
    }
    let cut = |(client, up, down): (NodeId, Vec<LinkId>, Vec<LinkId>)| {
        let own = |link: &&LinkId| users[*link] == Some(client);
        let private = (up.iter().take_while(own).count(), down.iter().rev().take_while(own).count());
        (Stretch { links: up, private: private.0 }, Stretch { links: down, private: private.1 })
    };
    flows.into_iter().map(cut).collect()
}
