//! Changes of a testbed to the network namespace of a server that runs already, checked and put into words
//! before anything is done.
//!
//! It adds an interface with a route for the clients' blocks alone, and takes both away again: the interface
//! is gone as soon as its last descriptor is closed, and so with a killed run, and the rest goes with the
//! interface. No setting of another interface, no default route and nothing of the namespace as a whole is
//! changed, except the settings that the scenario itself names, where the namespace is not the machine's.
//!
//! A server on a loopback address is reached as it is. IPv4 has a switch for it on each interface
//! (`route_localnet`). IPv6 has none: the kernel takes packets to ::1 from the loopback interface alone, and
//! so they are written there, while the answers leave by the route.

use super::settings::{self, WantedSetting};
use super::{HostNamespace, TestbedError, TestbedSpec};
use crate::gateway::Device;
use crate::gateway::blocks::{overlap, width};
use farfield_os::netlink::{AddressEntry, Netlink, RouteEntry};
use farfield_os::sock_diag::SocketTables;
use std::fmt;
use std::io;
use std::net::IpAddr;

/// Changes that a testbed makes for as long as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// Place of the changes, and that they are additions: the beginning of a sentence.
    pub heading: String,
    /// A line for each change.
    pub list: Vec<String>,
    /// Rest that stays as it is: the last line.
    pub ending: &'static str,
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Changes { heading, list, ending } = self;
        writeln!(f, "{heading}:")?;
        list.iter().try_for_each(|change| writeln!(f, "  {change}"))?;
        write!(f, "{ending}")
    }
}

/// The blocks that are routed to the gateway.
pub fn blocks(spec: &TestbedSpec) -> Vec<(IpAddr, u8)> {
    let v4 = (IpAddr::V4(spec.clients_v4.network()), spec.clients_v4.bits());
    let v6 = (IpAddr::V6(spec.clients_v6.network()), spec.clients_v6.bits());
    [v4, v6].into_iter().zip(spec.families).filter_map(|(block, used)| used.then_some(block)).collect()
}

/// Checks that nothing of the calling thread's namespace is in the clients' blocks, and says what would be
/// added.
pub(super) fn changes(host: &HostNamespace, spec: &TestbedSpec) -> Result<Changes, TestbedError> {
    let unread =
        |source| TestbedError::Interface { what: "place among the routes that are there".into(), source };
    let mut netlink = Netlink::open().map_err(unread)?;
    check_blocks(&mut netlink, host, spec)?;
    let wanted = wanted(host, spec)?;
    let name = (0..).map(|nth| format!("farfield{nth}")).find(|name| netlink.index_of(name).is_err());
    let name = name.expect("an interface has a free name among so many");
    let kind = if spec.device == Device::Packet { "veth" } else { "TUN" };
    let mut list = vec![format!("an interface {name} ({kind}), through which clients' packets come and go")];
    list.extend(
        blocks(spec).iter().map(|(to, bits)| format!("a route to {to}/{bits}, where clients are, by {name}")),
    );
    list.extend(added(spec).iter().map(|address| format!("the address {address} on {name}, for the server")));
    if is_at_loopback(spec)[0] {
        list.push(format!(
            "net.ipv4.conf.{name}.route_localnet = 1, so that they may go to {}",
            spec.server_v4
        ));
    }
    if is_at_loopback(spec)[1] {
        list.push(
            "packets to ::1 at the interface lo, since the kernel takes them from nowhere else".to_owned(),
        );
    }
    for WantedSetting { name, value, .. } in wanted {
        let now = settings::read(&name).unwrap_or_default();
        list.push(format!("{name} = {value}, which is {now} otherwise"));
    }
    Ok(Changes {
        heading: format!("while this runs, the network namespace of the server ({}) also has", host.name()),
        list,
        ending: "nothing else there is changed, and these are gone afterwards",
    })
}

/// Ends the connections of clients that are gone, in the calling thread's namespace: those of a run that has
/// ended would meet the next one's, which come from the same addresses and ports, and what they still send
/// would leave by another route once the interface is gone. A kernel that cannot do it lets them time out.
pub(super) fn end_connections(spec: &TestbedSpec) {
    let blocks = blocks(spec);
    let is_clients = |address| blocks.iter().any(|block| overlap(*block, (address, width(address))));
    let _ = SocketTables::open().and_then(|mut tables| tables.destroy(is_clients));
}

/// The server's addresses that its namespace does not have.
pub fn added(spec: &TestbedSpec) -> Vec<IpAddr> {
    let addresses = [IpAddr::V4(spec.server_v4), IpAddr::V6(spec.server_v6)];
    let all = addresses.into_iter().zip(spec.families).zip(spec.server_has);
    all.filter_map(|((address, used), has)| (used && !has).then_some(address)).collect()
}

/// True for IPv4, and for IPv6, if clients reach the server at a loopback address.
pub fn is_at_loopback(spec: &TestbedSpec) -> [bool; 2] {
    let [v4, v6] = [0, 1].map(|family| spec.families[family] && spec.server_has[family]);
    [v4 && spec.server_v4.is_loopback(), v6 && spec.server_v6.is_loopback()]
}

/// The settings of the namespace that the scenario names.
pub(super) fn wanted(host: &HostNamespace, spec: &TestbedSpec) -> Result<Vec<WantedSetting>, TestbedError> {
    let asked = settings::asked(&spec.tcp);
    if !host.is_machines() {
        return Ok(asked);
    }
    // Routes have a congestion control of their own.
    if let Some(name) = &spec.tcp.congestion_control
        && !settings::is_available(name)
    {
        let source = io::Error::from(io::ErrorKind::NotFound);
        let remedy = "load it first: modprobe tcp_ and its name";
        let name = settings::CONGESTION_CONTROL.to_owned();
        let value = spec.tcp.congestion_control.clone().unwrap_or_default();
        return Err(TestbedError::Setting { name, value, source, remedy });
    }
    match asked.into_iter().find(|setting| setting.name != settings::CONGESTION_CONTROL) {
        Some(WantedSetting { name, value, .. }) => Err(TestbedError::SettingOfMachine { name, value }),
        None => Ok(Vec::new()),
    }
}

/// Refuses blocks in which the namespace has an address, or a route other than a default one.
fn check_blocks(netlink: &mut Netlink, host: &HostNamespace, spec: &TestbedSpec) -> Result<(), TestbedError> {
    let unread =
        |source| TestbedError::Interface { what: "place among the routes that are there".into(), source };
    let (routes, addresses) = (netlink.routes().map_err(unread)?, netlink.addresses().map_err(unread)?);
    for (to, bits) in blocks(spec) {
        let Some((by, interface)) = conflict((to, bits), &addresses, &routes) else { continue };
        let name = interface.and_then(|interface| netlink.name_of(interface).ok());
        let of = name.as_ref().map(|name| format!(" of the interface {name}")).unwrap_or_default();
        let ours = name.is_some_and(|name| name.starts_with("farfield"));
        let of_a_run = if ours { ", which is another run's" } else { "" };
        return Err(TestbedError::Taken {
            block: format!("{to}/{bits}"),
            by: format!("{by}{of}{of_a_run}"),
            namespace: host.name().to_owned(),
        });
    }
    Ok(())
}

/// Address or route of the namespace that overlaps the block, with its interface.
fn conflict(
    block: (IpAddr, u8),
    addresses: &[AddressEntry],
    routes: &[RouteEntry],
) -> Option<(String, Option<u32>)> {
    /// A default route, or half of one, as VPNs have them.
    const DEFAULT_BITS: u8 = 1;
    let address = addresses.iter().find(|entry| overlap(block, (entry.address, width(entry.address))));
    if let Some(entry) = address {
        return Some((format!("the address {}", entry.address), Some(entry.interface)));
    }
    let is_taken = |entry: &&RouteEntry| entry.bits > DEFAULT_BITS && overlap(block, (entry.to, entry.bits));
    let entry = routes.iter().find(is_taken)?;
    Some((format!("the route {}/{}", entry.to, entry.bits), entry.interface))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str) -> (IpAddr, u8) {
        let (address, bits) = text.split_once('/').unwrap();
        (address.parse().unwrap(), bits.parse().unwrap())
    }

    #[test]
    fn default_routes_and_their_halves_are_in_nobodys_way() {
        let route = |text: &str| RouteEntry { to: block(text).0, bits: block(text).1, interface: Some(2) };
        let routes = ["0.0.0.0/0", "128.0.0.0/1", "10.0.0.0/8"].map(route);
        let clients = block("198.18.0.0/15");
        assert_eq!(conflict(clients, &[], &routes), None);
        let routes = ["0.0.0.0/0", "192.0.0.0/4"].map(route);
        assert_eq!(conflict(clients, &[], &routes), Some(("the route 192.0.0.0/4".to_owned(), Some(2))));
        let address = AddressEntry { address: "198.18.3.4".parse().unwrap(), bits: 8, interface: 3 };
        let found = conflict(clients, std::slice::from_ref(&address), &routes);
        assert_eq!(found, Some(("the address 198.18.3.4".to_owned(), Some(3))));
    }
}
