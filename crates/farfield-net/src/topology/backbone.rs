//! The linear backbone of IP-TNE (Williamson, Simmonds and Arlitt 2004, figure 3 and table 1): routers in a
//! row, a switch on each, hosts on each switch, the server at the row's left end.
//!
//! ```text
//! server ── r1 ── r2 ── … ── rN
//!           │     │           │
//!           s1    s2          sN
//!          ╱│╲   ╱│╲         ╱│╲
//! ```
//!
//! Links between the server and r1 and between routers take `delay` each, so that a host of subnetwork i has
//! a round trip of 2·i·`delay` and the local links': from 2 ms to 256 ms over the paper's levels, as it says.
//! The paper gives local links 0.1 ms and does not say which; its 160 transactions a second at i = 1 leave
//! 0.08 ms of local round trip, so only the hosts' own links take it and those of switches to routers take
//! none.

use super::{NodeId, Topology};
use crate::bit_rate::BitRate;
use crate::hop::NodeKind;
use crate::link::LinkSpec;
use crate::mtu::Mtu;
use crate::queue::QueueSpec;
use farfield_base::Duration;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The paper's network, with its defaults (table 1, in bold) for all but its size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Backbone {
    /// N: subnetworks, 1 to 65,536; the paper has 1 to 16. All hosts together are at most 2²⁴.
    #[serde(default = "four")]
    pub subnets: u32,
    /// H: hosts on each, 1 to 65,536; the paper has 1 to 1024.
    pub hosts: u32,
    /// C: the rate of a host's link to its switch.
    #[serde(default = "hundred_megabits")]
    pub access: BitRate,
    /// The rate from a host to its switch, where it is another (section 5.4.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_up: Option<BitRate>,
    /// The rate between routers, of switches to routers, and of the server's link.
    #[serde(default = "gigabit")]
    pub backbone: BitRate,
    /// D: the propagation delay of links between routers and of the server's link.
    #[serde(default = "millisecond")]
    pub delay: Duration,
    /// The propagation delay of a host's link.
    #[serde(default = "tenth_of_a_millisecond")]
    pub local_delay: Duration,
    /// The largest packet on any link.
    #[serde(default = "internets")]
    pub mtu: Mtu,
    /// Q: what waits at every link's entrance.
    #[serde(default)]
    pub queue: QueueSpec,
}

/// 2²⁴: what fits into memory with a name each.
const HOSTS_MOST: u64 = 1 << 24;

/// A backbone of no size, or too large a one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BackboneError {
    /// No subnetworks, no hosts, or too many in one.
    #[error("`{key}` of the backbone is {given}; write a number from 1 to 65536")]
    Size {
        /// `subnets` or `hosts`.
        key: &'static str,
        /// Number that was given.
        given: u32,
    },
    /// Too many hosts altogether.
    #[error("`subnets` times `hosts` of the backbone is {given}; write at most 16777216")]
    TooMany {
        /// The product.
        given: u64,
    },
}

fn four() -> u32 {
    4
}

fn megabits(count: u64) -> BitRate {
    BitRate::per_second(count * 1_000_000).expect("the paper's rates are above 0")
}

fn hundred_megabits() -> BitRate {
    megabits(100)
}

fn gigabit() -> BitRate {
    megabits(1000)
}

fn millisecond() -> Duration {
    Duration::from_ms(1)
}

fn tenth_of_a_millisecond() -> Duration {
    Duration::from_us(100)
}

fn internets() -> Mtu {
    Mtu::new(576).expect("576 is above 68")
}

impl Backbone {
    /// The paper's defaults, with `subnets` subnetworks of `hosts` hosts.
    pub fn new(subnets: u32, hosts: u32) -> Backbone {
        Backbone {
            subnets,
            hosts,
            access: hundred_megabits(),
            access_up: None,
            backbone: gigabit(),
            delay: millisecond(),
            local_delay: tenth_of_a_millisecond(),
            mtu: internets(),
            queue: QueueSpec::default(),
        }
    }

    /// The graph: `server`, routers `r1` …, switches `s1` …, hosts `h1-1` … (subnetwork, host). Links that
    /// are alike share their specification. Subnetwork by subnetwork, nodes and links are added in the order
    /// of that list.
    ///
    /// # Errors
    /// No subnetworks or hosts, or more than there is room for.
    pub fn topology<J>(&self) -> Result<Topology<Arc<LinkSpec<J>>>, BackboneError> {
        for (key, given) in [("subnets", self.subnets), ("hosts", self.hosts)] {
            if !(1..=65_536).contains(&given) {
                return Err(BackboneError::Size { key, given });
            }
        }
        let given = u64::from(self.subnets) * u64::from(self.hosts);
        if given > HOSTS_MOST {
            return Err(BackboneError::TooMany { given });
        }
        let link = |rate, delay| {
            Arc::new(LinkSpec { queue: self.queue, mtu: self.mtu, ..LinkSpec::of(rate, delay) })
        };
        let trunk = link(self.backbone, self.delay);
        let stem = link(self.backbone, Duration::ZERO);
        let down = link(self.access, self.local_delay);
        let up = link(self.access_up.unwrap_or(self.access), self.local_delay);

        let mut topology = Topology::new();
        let mut before = topology.add(NodeKind::Host, "server");
        for subnet in 1..=self.subnets {
            let router = topology.add(NodeKind::Router, format!("r{subnet}"));
            join(&mut topology, before, router, &trunk, &trunk);
            let switch = topology.add(NodeKind::Switch, format!("s{subnet}"));
            join(&mut topology, router, switch, &stem, &stem);
            for host in 1..=self.hosts {
                let host = topology.add(NodeKind::Host, format!("h{subnet}-{host}"));
                join(&mut topology, switch, host, &down, &up);
            }
            before = router;
        }
        Ok(topology)
    }
}

/// A link each way, the one there added first.
fn join<J>(
    topology: &mut Topology<Arc<LinkSpec<J>>>,
    from: NodeId,
    to: NodeId,
    there: &Arc<LinkSpec<J>>,
    back: &Arc<LinkSpec<J>>,
) {
    topology.connect(from, to, there.delay, Arc::clone(there));
    topology.connect(to, from, back.delay, Arc::clone(back));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::NoJitter;
    use crate::topology::{Metric, Routes, Stretch, collapse};

    fn graph(backbone: &Backbone) -> Topology<Arc<LinkSpec>> {
        backbone.topology().unwrap()
    }

    fn round_trip(backbone: &Backbone, host: &str) -> Duration {
        let topology = graph(backbone);
        let routes = Routes::compute(&topology, Metric::Hops).unwrap();
        let (server, host) = (topology.find("server").unwrap(), topology.find(host).unwrap());
        let links =
            routes.path(&topology, server, host).into_iter().chain(routes.path(&topology, host, server));
        links.fold(Duration::ZERO, |sum, link| sum + topology.edge(link).delay)
    }

    #[test]
    fn round_trips_span_what_the_paper_says() {
        let local = Duration::from_us(200);
        let near = Backbone::new(4, 8);
        assert_eq!(round_trip(&near, "h1-8"), Duration::from_ms(2) + local);
        let far = Backbone { delay: Duration::from_ms(32), ..Backbone::new(4, 8) };
        assert_eq!(round_trip(&far, "h4-1"), Duration::from_ms(256) + local);
    }

    #[test]
    fn four_lines_make_a_thousand_hosts() {
        let text = "subnets = 4\nhosts = 256\ndelay = '4ms'\nqueue = '8KiB'";
        let backbone: Backbone = toml::from_str(text).unwrap();
        let topology = graph(&backbone);
        assert_eq!(topology.nodes().len(), 1 + 4 * (2 + 256));
        assert_eq!(topology.edges().len(), 2 * (4 * 2 + 4 * 256));
        assert_eq!(toml::from_str::<Backbone>(&toml::to_string(&backbone).unwrap()).unwrap(), backbone);
        assert!(toml::from_str::<Backbone>("subnets = 4\nhosts = 1\nqueues = '1KiB'").is_err());
        let refused = |subnets, hosts| Backbone::new(subnets, hosts).topology::<NoJitter>().err();
        assert_eq!(refused(0, 1), Some(BackboneError::Size { key: "subnets", given: 0 }));
        assert_eq!(refused(65_536, 257), Some(BackboneError::TooMany { given: 65_536 * 257 }));
    }

    /// A host's own link is private; where a subnetwork has but one host, so is the way to its router; and
    /// with one subnetwork, everything.
    #[test]
    fn what_one_host_uses_is_its_own() {
        let private = |backbone: Backbone| {
            let topology = graph(&backbone);
            let routes = Routes::compute(&topology, Metric::Hops).unwrap();
            let server = topology.find("server").unwrap();
            let is_client = |name: &str| name.starts_with('h');
            let clients = topology.nodes().filter(|(_, node)| is_client(&node.name));
            let flows: Vec<_> = clients.map(|(client, _)| (client, server)).collect();
            let own = |(up, down): (Stretch, Stretch)| {
                assert_eq!(up.private, down.private);
                assert_eq!(up.split_up().0.len(), down.split_down().1.len());
                up.private
            };
            collapse(&topology, &routes, &flows).into_iter().map(own).collect::<Vec<_>>()
        };
        assert_eq!(private(Backbone::new(2, 2)), [1, 1, 1, 1]);
        assert_eq!(private(Backbone::new(3, 1)), [2, 2, 3]);
        assert_eq!(private(Backbone::new(1, 1)), [3]);
    }
}
