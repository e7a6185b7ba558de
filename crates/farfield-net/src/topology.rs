//! Topologies: hosts, routers and switches, and directed links between them.
//!
//! A topology holds links as their owner describes them (`L`: a specification, or the link itself); what it
//! needs of them is the propagation delay. [`Routes`] are computed once. What a topology does not do: move
//! packets.

mod backbone;
mod collapse;
mod routes;
mod spec;

pub use backbone::{Backbone, BackboneError};
pub use collapse::{Stretch, collapse};
pub use routes::{Metric, Routes, Unreachable};
pub use spec::{ConnectionSpec, TopologyError, TopologySpec};

use crate::hop::NodeKind;
use farfield_base::{Duration, index_type};

index_type! {
    /// A node of a topology: its index, from 0, in order of adding.
    pub struct NodeId;
}

index_type! {
    /// A directed link of a topology: its index, from 0, in order of adding.
    pub struct LinkId;
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Node {
    /// The node's name in the scenario.
    pub name: String,
    /// Switch, router or host.
    pub kind: NodeKind,
}

/// A directed link between two nodes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Edge<L> {
    /// Node where it begins.
    pub from: NodeId,
    /// Node where it ends.
    pub to: NodeId,
    /// The edge's propagation delay.
    pub delay: Duration,
    /// The owner's data.
    pub link: L,
}

/// Nodes, and directed links between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Topology<L> {
    nodes: Vec<Node>,
    edges: Vec<Edge<L>>,
}

impl<L> Default for Topology<L> {
    fn default() -> Topology<L> {
        Topology { nodes: Vec::new(), edges: Vec::new() }
    }
}

impl<L> Topology<L> {
    /// An empty one.
    pub fn new() -> Topology<L> {
        Topology::default()
    }

    /// Adds a node.
    pub fn add(&mut self, kind: NodeKind, name: impl Into<String>) -> NodeId {
        let id =
            NodeId::new(u32::try_from(self.nodes.len()).expect("a topology has fewer than 2^32 - 1 nodes"));
        self.nodes.push(Node { name: name.into(), kind });
        id
    }

    /// Adds a link in one direction, between nodes of this topology.
    ///
    /// # Panics
    /// If one of them has a number that this topology has not.
    pub fn connect(&mut self, from: NodeId, to: NodeId, delay: Duration, link: L) -> LinkId {
        assert!(from.index().max(to.index()) < self.nodes.len(), "links connect nodes of their topology");
        let id =
            LinkId::new(u32::try_from(self.edges.len()).expect("a topology has fewer than 2^32 - 1 links"));
        self.edges.push(Edge { from, to, delay, link });
        id
    }

    /// The node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The link.
    pub fn edge(&self, id: LinkId) -> &Edge<L> {
        &self.edges[id.index()]
    }

    /// The owner's data of the link.
    pub fn link_mut(&mut self, id: LinkId) -> &mut L {
        &mut self.edges[id.index()].link
    }

    /// All nodes, in order of adding.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(index, node)| (NodeId::at(index), node))
    }

    /// All links, in order of adding.
    pub fn edges(&self) -> impl ExactSizeIterator<Item = (LinkId, &Edge<L>)> {
        self.edges.iter().enumerate().map(|(index, edge)| (LinkId::at(index), edge))
    }

    /// The first node of that name.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.nodes().find(|(_, node)| node.name == name).map(|(id, _)| id)
    }
}
