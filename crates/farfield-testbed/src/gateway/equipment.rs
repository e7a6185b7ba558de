//! Equipment of a gateway's interface: its size, addresses, routes to clients and receive work.

use super::blocks::width;
use super::queue::QueueFraming;
use super::receive_work::receive_work;
use super::veth::NEXT_HOP_ETHERNET;
use super::{Door, Gateway, InterfaceState};
use crate::settings::{self, WantedSetting};
use crate::{TestbedError, TestbedSpec, joined};
use farfield_os::netlink::{Netlink, Route};
use farfield_os::packet_socket;
use rustix::fd::OwnedFd;
use rustix::time::Timespec;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// The next hop of all routes to clients, so that the kernel keeps one neighbour for all of them.
const NEXT_HOP_V4: Ipv4Addr = Ipv4Addr::new(169, 254, 0, 1);
const NEXT_HOP_V6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);

/// Equipment of an interface.
#[derive(Debug, Clone)]
pub(crate) struct Equipment {
    /// Addresses that clients send to.
    pub servers: Vec<IpAddr>,
    /// Addresses of `servers` that the interface gets.
    pub added: Vec<IpAddr>,
    /// Blocks that are routed to it, with their lengths in bits.
    pub blocks: Vec<(IpAddr, u8)>,
    /// The namespace is not the run's own: then its connections forget what others measured because the route
    /// says so, instead of the namespace.
    pub joins: bool,
    /// Settings of the interface, applied before it is up.
    pub settings: fn(&str, &TestbedSpec) -> Vec<WantedSetting>,
}

impl Equipment {
    /// In a namespace of the run's own; with IPv6 if `v6`.
    pub fn of_own_namespace(spec: &TestbedSpec, v6: bool) -> Equipment {
        let servers = addresses(spec, v6);
        let spec = TestbedSpec { families: [true, v6], ..spec.clone() };
        let settings = |_: &str, _: &TestbedSpec| Vec::new();
        let beyond = spec.beyond.iter().filter(|address| v6 || address.is_ipv4());
        let beyond = beyond.map(|address| (*address, width(*address)));
        let blocks = joined::blocks(&spec).into_iter().chain(beyond).collect();
        Equipment { added: servers.clone(), servers, blocks, joins: false, settings }
    }

    /// In the namespace of a server that runs already.
    pub fn of_joined(spec: &TestbedSpec) -> Equipment {
        let all = [IpAddr::V4(spec.server_v4), IpAddr::V6(spec.server_v6)];
        let used = all.into_iter().zip(spec.families).filter(|(_, used)| *used);
        Equipment {
            servers: used.map(|(address, _)| address).collect(),
            added: joined::added(spec),
            blocks: joined::blocks(spec),
            joins: true,
            settings: |interface, spec| {
                settings::of_interface(interface, spec.families[1], joined::is_at_loopback(spec)[0])
            },
        }
    }
}

impl Gateway {
    /// Gives the interface its size, the server's addresses and the routes to clients, and brings it up.
    pub fn set_up(&mut self, spec: &TestbedSpec, equipment: &Equipment) -> Result<(), TestbedError> {
        let failed = |what: String| move |source| TestbedError::Interface { what, source };
        let (netlink, interface) = (&mut self.netlink, self.interface);
        let tun = matches!(self.framing, QueueFraming::None);
        let queue_len = tun.then_some(spec.queue_packets);
        netlink
            .size(interface, spec.mtu, queue_len)
            .map_err(failed(format!("mtu = {} and queue of {} packets", spec.mtu, spec.queue_packets)))?;
        // Packets are never delayed here, so that a queueing discipline would only cost its lock.
        self.qdisc = netlink.set_qdisc(interface, "noqueue").is_ok().then(|| "noqueue".to_owned());
        settings::apply(&(equipment.settings)(&self.name, spec))?;
        for address in &equipment.added {
            let what = failed(format!("address {address}"));
            netlink.add_address(interface, *address).map_err(what)?;
        }
        netlink.up(interface).map_err(failed(format!("interface {}", self.name)))?;
        self.receive = receive_work(&self.name, spec, tun)
            .map_err(failed(format!("receive processors {:?}", spec.receive_processors)))?;
        let routes = routes(spec, interface, equipment);
        let next_hops = routes.iter().filter_map(|route| route.gateway).filter(|_| !tun).collect();
        for route in routes {
            let what = format!("route to {}/{}", route.to, route.to_bits);
            if let (false, Some(next_hop)) = (tun, route.gateway) {
                netlink
                    .add_neighbour(interface, next_hop, NEXT_HOP_ETHERNET)
                    .map_err(failed(format!("neighbour {next_hop}")))?;
            }
            netlink.add_route(&route).map_err(failed(what))?;
        }
        self.watched = Some(InterfaceState {
            interface,
            name: self.name.clone(),
            blocks: equipment.blocks.clone(),
            addresses: equipment.added.clone(),
            neighbours: next_hops,
        });
        for address in &equipment.servers {
            wait_until_local(netlink, *address).map_err(failed(format!("address {address}")))?;
        }
        if equipment.joins {
            self.check_routes(&equipment.blocks)?;
            self.loopback = self.open_loopback(spec).map_err(failed("way to ::1".to_owned()))?;
        }
        self.doors = doors(spec, equipment, self.queues.len());
        Ok(())
    }

    /// Checks that packets to clients leave by the interface, whatever rules the namespace has.
    fn check_routes(&mut self, blocks: &[(IpAddr, u8)]) -> Result<(), TestbedError> {
        for (to, bits) in blocks {
            let interface = self.netlink.interface_towards(*to);
            if interface.as_ref().ok() == Some(&self.interface) {
                continue;
            }
            let to_name = interface.and_then(|interface| self.netlink.name_of(interface));
            return Err(TestbedError::Diverted {
                block: format!("{to}/{bits}"),
                to: to_name.unwrap_or_else(|error| format!("no interface ({error})")),
                interface: self.name.clone(),
            });
        }
        Ok(())
    }

    /// The packet socket for packets to a server at ::1, if it is there.
    fn open_loopback(&mut self, spec: &TestbedSpec) -> io::Result<Option<Arc<OwnedFd>>> {
        if !joined::is_at_loopback(spec)[1] {
            return Ok(None);
        }
        let loopback = self.netlink.index_of("lo")?;
        packet_socket::open_to_loopback(loopback).map(Arc::new).map(Some)
    }
}

/// A door for each queue, at the first of the server's addresses. Nothing depends on them: where one cannot
/// be had, nobody looks.
fn doors(spec: &TestbedSpec, equipment: &Equipment, queues: usize) -> Vec<Option<Arc<Door>>> {
    let Some(server) = equipment.servers.first() else { return Vec::new() };
    let is_v4 = server.is_ipv4();
    let door = |queue| match spec.last_client_of(queue, is_v4) {
        Some(client) => Door::open(client, *server).map(Door::with_marks),
        None => Door::open(spec.last_client(is_v4), *server),
    };
    (0..queues).map(|queue| door(queue).ok().map(Arc::new)).collect()
}

/// Waits until the kernel accepts packets to `address`: a kernel worker makes a new IPv6 address local a
/// moment later.
fn wait_until_local(netlink: &mut Netlink, address: IpAddr) -> io::Result<()> {
    const BETWEEN_LOOKS: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
    const LOOKS: u32 = 5_000;
    for _ in 0..LOOKS {
        // Until then there may be no route to it at all.
        if netlink.is_local(address).unwrap_or(false) {
            return Ok(());
        }
        rustix::event::poll(&mut [], Some(&BETWEEN_LOOKS))?;
    }
    Err(io::ErrorKind::TimedOut.into())
}

fn addresses(spec: &TestbedSpec, v6: bool) -> Vec<IpAddr> {
    let v6 = v6.then_some(IpAddr::V6(spec.server_v6));
    std::iter::once(IpAddr::V4(spec.server_v4)).chain(v6).collect()
}

fn routes(spec: &TestbedSpec, interface: u32, equipment: &Equipment) -> Vec<Route> {
    let congestion_control = spec.tcp.congestion_control.clone().filter(|name| settings::is_available(name));
    let route = |&(to, to_bits): &(IpAddr, u8)| Route {
        to,
        to_bits,
        interface,
        gateway: Some(if to.is_ipv4() { NEXT_HOP_V4.into() } else { NEXT_HOP_V6.into() }),
        source: equipment.added.iter().copied().find(|address| address.is_ipv4() == to.is_ipv4()),
        forgets: equipment.joins,
        initial_window: spec.tcp.initial_window,
        congestion_control: congestion_control.clone(),
    };
    equipment.blocks.iter().map(route).collect()
}
