//! Nodes and the packets that are not for them: routers count hops, switches do not.

use serde::{Deserialize, Serialize};

/// The kind of a node of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// An end: it sends and receives, and forwards nothing.
    Host,
    /// A router: it forwards packets, decrements their TTL, and answers those that it may not forward with an
    /// error.
    Router,
    /// A switch: it forwards frames; packets pass as they are.
    Switch,
}

/// The fate of a packet on its way through a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passing {
    /// The packet goes on, with this TTL.
    On(u8),
    /// The packet's TTL has run out: it is dropped, and its sender sent "time exceeded" (RFC 792; RFC 4443,
    /// section 3.3).
    Expired,
    /// A host does not forward.
    Refused,
}

impl NodeKind {
    /// The fate of a packet with this TTL (or hop limit) that is for somebody else (RFC 1812, section
    /// 5.3.1; RFC 8200, section 3): a router forwards none whose TTL would become zero.
    pub const fn pass(self, ttl: u8) -> Passing {
        match (self, ttl) {
            (NodeKind::Host, _) => Passing::Refused,
            (NodeKind::Switch, ttl) => Passing::On(ttl),
            (NodeKind::Router, 0 | 1) => Passing::Expired,
            (NodeKind::Router, ttl) => Passing::On(ttl - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_routers_count() {
        assert_eq!(NodeKind::Router.pass(64), Passing::On(63));
        assert_eq!(NodeKind::Router.pass(2), Passing::On(1));
        assert_eq!(NodeKind::Router.pass(1), Passing::Expired);
        assert_eq!(NodeKind::Router.pass(0), Passing::Expired);
        assert_eq!(NodeKind::Switch.pass(1), Passing::On(1));
        assert_eq!(NodeKind::Host.pass(64), Passing::Refused);
    }
}
