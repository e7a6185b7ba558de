//! A graph as a scenario writes it: nodes by name, and what connects them.
//!
//! ```toml
//! hosts = ["server", "home"]
//! routers = ["edge", "core"]
//! links = [
//!     { from = "server", to = "core", link = { rate = "1Gbit", delay = "1ms" } },
//!     { from = "core", to = "edge", link = { rate = "100Mbit", delay = "20ms" } },
//!     { from = "edge", to = "home", link = { rate = "8Mbit" }, back = { rate = "1Mbit" } },
//! ]
//! ```
//!
//! A link goes both ways; `back` is the other direction where it differs, and `one-way` leaves it out.

use super::{Metric, NodeId, Topology};
use crate::hop::NodeKind;
use crate::link::{LinkSpec, NoJitter};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A graph as written; `J` is how a distribution of jitter is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[serde(bound(serialize = "J: Serialize", deserialize = "J: Deserialize<'de>"))]
pub struct TopologySpec<J = NoJitter> {
    /// The host that is the server.
    #[serde(default = "server")]
    pub server: String,
    /// Names of hosts.
    pub hosts: Vec<String>,
    /// Names of routers.
    #[serde(default)]
    pub routers: Vec<String>,
    /// Names of switches.
    #[serde(default)]
    pub switches: Vec<String>,
    /// The metric of paths.
    #[serde(default)]
    pub routing: Metric,
    /// The links between them.
    pub links: Vec<ConnectionSpec<J>>,
}

/// The links between two nodes, as written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[serde(bound(serialize = "J: Serialize", deserialize = "J: Deserialize<'de>"))]
pub struct ConnectionSpec<J = NoJitter> {
    /// The node at one end.
    pub from: String,
    /// The node at the other end.
    pub to: String,
    /// From `from` to `to`.
    #[serde(default)]
    pub link: LinkSpec<J>,
    /// From `to` to `from`, where it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<LinkSpec<J>>,
    /// There is no way back.
    #[serde(default)]
    pub one_way: bool,
}

/// Reasons for which a graph is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// Two nodes of one name.
    #[error("there are two nodes called `{0}`; give each a name of its own")]
    SameName(String),
    /// A link from or to nowhere.
    #[error("a link names `{0}`, which is no host, router or switch; add it to one of those lists")]
    NoSuchNode(String),
    /// A link from a node to itself.
    #[error("a link connects `{0}` with itself; write another node in `to`")]
    ToItself(String),
    /// A way back that is not to be.
    #[error("the link from `{from}` to `{to}` has both `back` and `one-way`; remove one of them")]
    BackOneWay {
        /// The node at one end.
        from: String,
        /// The node at the other end.
        to: String,
    },
}

fn server() -> String {
    "server".to_owned()
}

impl<J: Clone> TopologySpec<J> {
    /// The graph that is meant. Whether all hosts reach one another is for [`Routes`](super::Routes) to say.
    ///
    /// # Errors
    /// A name that two nodes share, or a link from or to no node, to its own, or with `back` and `one-way`.
    pub fn topology(&self) -> Result<Topology<Arc<LinkSpec<J>>>, TopologyError> {
        let mut topology = Topology::new();
        let mut names: BTreeMap<&str, NodeId> = BTreeMap::new();
        let kinds = [
            (NodeKind::Host, &self.hosts),
            (NodeKind::Router, &self.routers),
            (NodeKind::Switch, &self.switches),
        ];
        for (kind, list) in kinds {
            for name in list {
                if names.insert(name, topology.add(kind, name)).is_some() {
                    return Err(TopologyError::SameName(name.clone()));
                }
            }
        }
        let find = |name: &String| {
            names.get(name.as_str()).copied().ok_or_else(|| TopologyError::NoSuchNode(name.clone()))
        };
        for connection in &self.links {
            let (from, to) = (find(&connection.from)?, find(&connection.to)?);
            if from == to {
                return Err(TopologyError::ToItself(connection.from.clone()));
            }
            let link = Arc::new(connection.link.clone());
            topology.connect(from, to, link.delay, Arc::clone(&link));
            match (&connection.back, connection.one_way) {
                (Some(_), true) => {
                    let (from, to) = (connection.from.clone(), connection.to.clone());
                    return Err(TopologyError::BackOneWay { from, to });
                }
                (None, true) => {}
                (back, false) => {
                    let back = back.as_ref().map_or(link, |back| Arc::new(back.clone()));
                    topology.connect(to, from, back.delay, back);
                }
            }
        }
        Ok(topology)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Routes;

    const HOME: &str = "
        hosts = ['server', 'home']
        routers = ['edge', 'core']
        links = [
            { from = 'server', to = 'core', link = { rate = '1Gbit', delay = '1ms' } },
            { from = 'core', to = 'edge', link = { rate = '100Mbit', delay = '20ms' } },
            { from = 'edge', to = 'home', link = { rate = '8Mbit' }, back = { rate = '1Mbit', delay = '3ms' } },
        ]";

    fn read(text: &str) -> Result<Topology<Arc<LinkSpec>>, String> {
        let spec: TopologySpec = toml::from_str(text).map_err(|error| error.to_string())?;
        let written = toml::to_string(&spec).unwrap();
        assert_eq!(toml::from_str::<TopologySpec>(&written).unwrap(), spec, "{written}");
        spec.topology().map_err(|error| error.to_string())
    }

    #[test]
    fn links_go_both_ways_each_in_its_own() {
        let topology = read(HOME).unwrap();
        let routes = Routes::compute(&topology, Metric::Hops).unwrap();
        let (server, home) = (topology.find("server").unwrap(), topology.find("home").unwrap());
        let last = |from, to| {
            let path = routes.path(&topology, from, to);
            path.iter().map(|&link| topology.edge(link).link.rate.unwrap().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(last(server, home), ["1Gbit", "100Mbit", "8Mbit"]);
        assert_eq!(last(home, server), ["1Mbit", "100Mbit", "1Gbit"]);
    }

    #[test]
    fn mistakes_name_the_node() {
        let refuse = |from: &str, to: &str, hint: &str| {
            let error = read(&HOME.replace(from, to)).expect_err(to);
            assert!(error.contains(hint), "{error}");
        };
        refuse("'edge', 'core'", "'edge', 'server'", "two nodes called `server`");
        refuse("'edge', 'core'", "'edge', 'kore'", "`core`");
        refuse("from = 'core', to = 'edge'", "from = 'core', to = 'core'", "with itself");
        refuse("'8Mbit' }", "'8Mbit' }, one-way = true", "one-way");
        refuse("'8Mbit' }", "'8Mbit' }, twice = true", "twice");
    }
}
