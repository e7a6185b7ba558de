//! Real hosts in the places of a network's clients: at addresses that somebody else has given out, each with
//! the links of the class that it is placed in.
//!
//! Of blocks that lie in one another, the smaller one counts for its addresses, as in a table of routes. A
//! block may count for some far ends alone; of those that fit a pair, the smallest of the near end counts,
//! and among these the smallest of the far end.

use super::Block;
use crate::plan::{ClassPlan, ClientPlan, HostWays, NetworkPlan};
use farfield_net::Mtu;

/// The most addresses that hosts can have: each has links of its own.
pub const PLACED_MOST: u32 = 1 << 16;

/// Hosts of one class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedHosts {
    /// The hosts' addresses, all of the block.
    pub block: Block,
    /// The far ends that they have the links of this class for; all if absent.
    pub towards: Option<Block>,
    /// The hosts' class; the network's first if absent.
    pub class: Option<String>,
}

/// Why hosts cannot be placed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlacedError {
    /// No such class.
    #[error("there is no class `{asked}` of clients; there are {}", .classes.join(", "))]
    NoClass {
        /// The name that was given.
        asked: String,
        /// The names that there are.
        classes: Vec<String>,
    },
    /// A path for each of so many hosts.
    #[error(
        "{block} makes more than {PLACED_MOST} addresses, each of which would have a path of its own; write smaller blocks, \
         or single addresses"
    )]
    TooMany {
        /// The block with which they became too many.
        block: Block,
    },
    /// A block is given twice.
    #[error("{block} is given twice; give it one class")]
    Twice {
        /// The block.
        block: Block,
    },
    /// An MTU that IPv6 does not allow.
    #[error(
        "{block} is of IPv6, and class `{class}` has a link with an MTU of {mtu}; IPv6 needs at least 1280 (RFC 8200)"
    )]
    MtuOfV6 {
        /// The block.
        block: Block,
        /// The class.
        class: String,
        /// The MTU.
        mtu: u32,
    },
}

impl NetworkPlan {
    /// The network with hosts at the addresses of `placed`, in place of its clients. Of a class whose clients
    /// have several routes, hosts get them in turn.
    ///
    /// # Errors
    /// See [`PlacedError`].
    pub fn with_hosts_at(&self, placed: &[PlacedHosts]) -> Result<NetworkPlan, PlacedError> {
        let mut placed: Vec<&PlacedHosts> = placed.iter().collect();
        // A directory finds the first of several.
        let bits = |placed: &&PlacedHosts| (placed.block.bits(), placed.towards.map(|block| block.bits()));
        placed.sort_by_key(|placed| std::cmp::Reverse(bits(placed)));
        let (mut classes, mut clients) = (Vec::new(), Vec::new());
        for (nth, PlacedHosts { block, towards, class }) in placed.iter().copied().enumerate() {
            if placed[..nth].iter().any(|other| (other.block, other.towards) == (*block, *towards)) {
                return Err(PlacedError::Twice { block: *block });
            }
            let of = self.class_named(class.as_deref())?;
            let plan = &self.classes[usize::from(of)];
            check_mtu(block, plan)?;
            let taken = clients.len() as u128;
            if block.size().saturating_add(taken) > u128::from(PLACED_MOST) {
                return Err(PlacedError::TooMany { block: *block });
            }
            let routes: Vec<u32> =
                self.clients.iter().filter(|client| client.class == of).map(|client| client.route).collect();
            let class = classes.len() as u16;
            classes.push(ClassPlan { first_address: block.network(), ..plan.clone() });
            clients.extend((0..block.size() as u32).map(|rank| ClientPlan {
                class,
                route: routes[rank as usize % routes.len()],
                rank,
            }));
        }
        let towards = placed.iter().map(|placed| placed.towards).collect();
        let host_ways = HostWays { towards, ..self.host_ways.clone() };
        // Real hosts move by themselves.
        Ok(NetworkPlan { classes, clients: clients.into(), moves: Vec::new(), host_ways, ..self.clone() })
    }

    fn class_named(&self, name: Option<&str>) -> Result<u16, PlacedError> {
        let found = match name {
            None => Some(0),
            Some(name) => self.classes.iter().position(|class| class.name == name),
        };
        found.map(|class| class as u16).ok_or_else(|| PlacedError::NoClass {
            asked: name.unwrap_or_default().to_owned(),
            classes: self.classes.iter().map(|class| class.name.clone()).collect(),
        })
    }
}

fn check_mtu(block: &Block, class: &ClassPlan) -> Result<(), PlacedError> {
    let least = class.up.iter().chain(&class.down).map(|link| link.mtu_of_link()).min().unwrap_or_default();
    if block.is_v6() && least < Mtu::IPV6_LEAST {
        let (class, mtu) = (class.name.clone(), least.as_bytes());
        return Err(PlacedError::MtuOfV6 { block: *block, class, mtu });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Class, LayoutSettings, lay_out};
    use crate::{Directory, Servers};
    use farfield_base::Duration;
    use farfield_net::LinkModel;
    use farfield_tcp::Config;
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
    use std::num::NonZeroU32;
    use std::sync::Arc;

    fn network() -> NetworkPlan {
        let class = |name: &str| Class {
            name: name.to_owned(),
            weight: 1.0,
            tcp: Config::linux(),
            mss_is_given: false,
            up: vec![Arc::new(LinkModel::ideal(Duration::from_ms(1)))],
            down: vec![Arc::new(LinkModel::ideal(Duration::from_ms(1)))],
            pool: None,
            moves_to: None,
        };
        let servers = Servers { v4: Ipv4Addr::new(192, 0, 2, 1), v6: Ipv6Addr::LOCALHOST, port: 80 };
        let clients = NonZeroU32::new(4).expect("not 0");
        let settings = LayoutSettings { clients, shards: NonZeroU32::MIN, servers, block: None };
        lay_out(vec![class("dsl"), class("modem")], None, settings).expect("a network").network
    }

    fn placed(block: &str, class: Option<&str>) -> PlacedHosts {
        PlacedHosts { block: block.parse().expect(block), towards: None, class: class.map(str::to_owned) }
    }

    #[test]
    fn each_address_has_the_class_of_the_smallest_block_around_it() {
        let plan = network()
            .with_hosts_at(&[
                placed("10.0.0.0/24", Some("dsl")),
                placed("10.0.0.7/32", Some("modem")),
                placed("fd00::/120", None),
            ])
            .unwrap();
        let directory = Directory::new(&plan);
        let of = |address: &str| {
            let address: IpAddr = address.parse().unwrap();
            let client = directory.find(address)?;
            assert_eq!(plan.address(client), address);
            let client = plan.clients[client.index()];
            // The edge of each class is a router of its own.
            Some((plan.classes[usize::from(client.class)].name.clone(), client.route))
        };
        assert_eq!(of("10.0.0.7"), Some(("modem".to_owned(), 1)));
        for address in ["10.0.0.0", "10.0.0.8", "10.0.0.255", "fd00::ff"] {
            assert_eq!(of(address), Some(("dsl".to_owned(), 0)), "{address}");
        }
        for address in ["10.0.1.0", "9.255.255.255", "fd00::100", "198.18.0.1"] {
            assert_eq!(of(address), None, "{address}");
        }
    }

    #[test]
    fn a_pair_has_the_path_of_the_smallest_blocks_around_it() {
        let towards = |block: &str, far: &str, class| PlacedHosts {
            towards: Some(far.parse().expect(far)),
            ..placed(block, Some(class))
        };
        let plan = network()
            .with_hosts_at(&[
                placed("10.0.0.0/24", Some("dsl")),
                towards("10.0.0.0/24", "10.9.0.0/16", "modem"),
                towards("10.0.0.0/24", "10.9.9.0/24", "dsl"),
                towards("10.0.0.7/32", "10.9.0.1/32", "dsl"),
                towards("10.0.1.0/24", "10.9.0.1/32", "modem"),
            ])
            .unwrap();
        let directory = Directory::new(&plan);
        let of = |near: &str, far: &str| {
            let client = directory.find_pair(near.parse().unwrap(), far.parse().unwrap())?;
            assert_eq!(plan.address(client).to_string(), near);
            Some(plan.classes[usize::from(plan.clients[client.index()].class)].name.clone())
        };
        for (near, far, class) in [
            ("10.0.0.1", "10.8.0.1", Some("dsl")),
            ("10.0.0.1", "10.9.0.1", Some("modem")),
            ("10.0.0.1", "10.9.9.1", Some("dsl")),
            ("10.0.0.7", "10.9.0.1", Some("dsl")),
            ("10.0.0.7", "10.9.0.2", Some("modem")),
            ("10.0.1.1", "10.9.0.1", Some("modem")),
            ("10.0.1.1", "10.9.0.2", None),
        ] {
            assert_eq!(of(near, far).as_deref(), class, "{near} to {far}");
        }
        let twice = towards("10.0.0.0/24", "10.9.0.0/16", "modem");
        assert!(network().with_hosts_at(&[twice.clone(), twice]).unwrap_err().to_string().contains("twice"));
    }

    #[test]
    fn what_cannot_be_placed_is_refused() {
        let refused = |blocks: &[PlacedHosts]| network().with_hosts_at(blocks).unwrap_err().to_string();
        assert!(refused(&[placed("10.0.0.0/24", Some("lan"))]).contains("there are dsl, modem"));
        assert!(refused(&[placed("10.0.0.0/8", None)]).contains("10.0.0.0/8 makes more than 65536"));
        assert!(refused(&[placed("::/0", None)]).contains("smaller blocks"));
        let two = [placed("10.0.0.0/24", Some("dsl")), placed("10.0.0.0/24", None)];
        assert!(refused(&two).contains("twice"));
        assert!(network().with_hosts_at(&[placed("10.0.0.0/16", None)]).is_ok());
    }
}
