//! The gateway of `farfield route` in a network namespace whose hosts are somebody else's: packets to some
//! blocks leave by an interface of ours, and packets from there come in by it.
//!
//! Nothing else of the namespace is changed, no connection in it is ended, and interface and routes are gone
//! with their last descriptor, and so with a run that is killed.

use super::settings;
use super::{Built, HostNamespace, Testbed, TestbedError, TestbedSpec, record, report};
use crate::gateway::blocks::{overlap, width};
use crate::gateway::{Equipment, Gateway};
use crate::record::TestbedRecord;
use farfield_os::netlink::{AddressEntry, Netlink, RouteEntry};
use std::io;
use std::net::IpAddr;

/// An address or a route of a namespace that leaves no room for another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InTheWay {
    /// The block that has no room.
    pub block: (IpAddr, u8),
    /// The address or the route, with its interface, in words.
    pub by: String,
}

/// Addresses, routes and forwarding of a namespace, as far as a diversion depends on them.
#[derive(Debug)]
pub struct NamespaceNetwork {
    addresses: Vec<AddressEntry>,
    routes: Vec<RouteEntry>,
    /// Names of interfaces, by their indices.
    names: Vec<(u32, String)>,
    /// The namespace forwards packets, by family: IPv4 and IPv6.
    forwards: [bool; 2],
    /// The first free name of an interface of ours.
    pub interface: String,
}

impl NamespaceNetwork {
    /// Reads what the namespace has.
    ///
    /// # Errors
    /// If it cannot be entered, or the kernel does not show its tables.
    pub fn of(host: &HostNamespace) -> io::Result<NamespaceNetwork> {
        host.namespace().inside(|| {
            let mut netlink = Netlink::open()?;
            let (addresses, routes) = (netlink.addresses()?, netlink.routes()?);
            let mut indices: Vec<u32> = addresses.iter().map(|entry| entry.interface).collect();
            indices.extend(routes.iter().filter_map(|entry| entry.interface));
            indices.sort_unstable();
            indices.dedup();
            let named = |index: u32| Some((index, netlink.name_of(index).ok()?));
            let names = indices.into_iter().filter_map(named).collect();
            let interface = (0..).map(|nth| format!("farfield{nth}"));
            let interface = interface.into_iter().find(|name| netlink.index_of(name).is_err());
            let is_on = |name| settings::read(name).is_some_and(|value| value != "0");
            let forwards = ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"].map(is_on);
            Ok(NamespaceNetwork {
                addresses,
                routes,
                names,
                forwards,
                interface: interface.expect("an interface has a free name among so many"),
            })
        })?
    }

    /// The addresses by which other machines know the namespace.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let is_known = |address: &IpAddr| match address {
            IpAddr::V4(v4) => !v4.is_loopback() && !v4.is_link_local(),
            IpAddr::V6(v6) => !v6.is_loopback() && !v6.is_unicast_link_local(),
        };
        self.addresses.iter().map(|entry| entry.address).filter(move |address| is_known(address))
    }

    /// True if the address is the namespace's own. All of 127.0.0.0/8 is, where a loopback interface is up.
    pub fn has(&self, address: IpAddr) -> bool {
        let is_own = |entry: &AddressEntry| {
            entry.address == address
                || address.is_loopback() && overlap((entry.address, entry.bits), (address, width(address)))
        };
        self.addresses.iter().any(is_own)
    }

    /// True if it passes packets of the family of `address` on.
    pub fn forwards(&self, address: IpAddr) -> bool {
        self.forwards[usize::from(address.is_ipv6())]
    }

    /// Obstacle to a route to one of `blocks`: an address in it, or a route to the same addresses or to some
    /// of them. A route to more of them stays as it is beside it.
    pub fn in_the_way(&self, blocks: &[(IpAddr, u8)]) -> Option<InTheWay> {
        blocks.iter().find_map(|block| {
            let address = self
                .addresses
                .iter()
                .find(|entry| overlap(*block, (entry.address, width(entry.address))))
                .map(|entry| (format!("the address {}", entry.address), Some(entry.interface)));
            let route = || {
                let is_within = |entry: &&RouteEntry| {
                    entry.bits >= block.1 && entry.bits > 0 && overlap(*block, (entry.to, entry.bits))
                };
                let entry = self.routes.iter().find(is_within)?;
                Some((format!("the route {}/{}", entry.to, entry.bits), entry.interface))
            };
            let (what, interface) = address.or_else(route)?;
            let name = self.names.iter().find(|(index, _)| Some(*index) == interface);
            let of = name.map(|(_, name)| format!(" of the interface {name}")).unwrap_or_default();
            Some(InTheWay { block: *block, by: format!("{what}{of}") })
        })
    }
}

impl Testbed {
    /// Builds the gateway in the network namespace of hosts that run already, and routes `blocks` to it. Of
    /// `spec` the families, the server's own addresses at loopback with their maps, the device, its size and
    /// its queues count.
    ///
    /// # Errors
    /// As [`Testbed::join`].
    pub fn divert(
        host: &HostNamespace,
        spec: &TestbedSpec,
        blocks: &[(IpAddr, u8)],
    ) -> Result<Testbed, TestbedError> {
        record::clear_leftovers();
        super::check(spec)?;
        let namespace = host.namespace().clone();
        let record = TestbedRecord::write(&namespace, Some(host));
        let built = namespace.inside(|| {
            let mut gateway = Gateway::open(spec)?;
            let equipment = Equipment {
                servers: Vec::new(),
                blocks: blocks.to_vec(),
                ..Equipment::of_joined(&TestbedSpec { server_has: [true; 2], ..spec.clone() })
            };
            gateway.set_up(spec, &equipment)?;
            let report = report(spec, &gateway, &equipment, &[]);
            Ok(Built { gateway, report, server: Vec::new(), before: Vec::new() })
        });
        let refused = |source| TestbedError::NoRight { namespace: host.name().to_owned(), source };
        let built = built.map_err(refused)?.map_err(|error: TestbedError| error.of_joining(host))?;
        let whose = (host.name().to_owned(), false);
        let mut testbed = Testbed::of(namespace, built, record, whose, spec);
        testbed.leaves_connections = true;
        Ok(testbed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str) -> (IpAddr, u8) {
        let (address, bits) = text.split_once('/').unwrap();
        (address.parse().unwrap(), bits.parse().unwrap())
    }

    #[test]
    fn a_route_to_more_is_in_nobodys_way() {
        let surroundings = NamespaceNetwork {
            addresses: vec![
                AddressEntry { address: "10.0.0.1".parse().unwrap(), bits: 24, interface: 2 },
                AddressEntry { address: "127.0.0.1".parse().unwrap(), bits: 8, interface: 1 },
            ],
            routes: ["0.0.0.0/0", "10.0.0.0/24", "10.0.0.1/32", "192.168.7.7/32"]
                .map(|text| RouteEntry { to: block(text).0, bits: block(text).1, interface: Some(2) })
                .to_vec(),
            names: vec![(2, "eth0".to_owned())],
            forwards: [true, false],
            interface: "farfield0".to_owned(),
        };
        let by = |text: &str| surroundings.in_the_way(&[block(text)]).map(|in_the_way| in_the_way.by);
        assert_eq!(by("10.0.0.2/32"), None, "a host of a network that is there");
        assert_eq!(by("198.18.0.0/15"), None);
        let address = Some("the address 10.0.0.1 of the interface eth0".to_owned());
        assert_eq!(by("10.0.0.1/32"), address);
        assert_eq!(by("10.0.0.0/24"), address);
        assert_eq!(by("192.168.0.0/16"), Some("the route 192.168.7.7/32 of the interface eth0".to_owned()));
        let is_own = |text: &str| surroundings.has(text.parse().unwrap());
        assert_eq!(["127.0.0.9", "10.0.0.1", "10.0.0.2", "::1"].map(is_own), [true, true, false, false]);
        let known: Vec<IpAddr> = surroundings.addresses().collect();
        assert_eq!(known, ["10.0.0.1".parse::<IpAddr>().unwrap()]);
    }
}
