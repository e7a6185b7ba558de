//! The gateway's device: TUN, packet sockets on a veth pair, or a network card, with addresses, routes and
//! queues.

use super::card::link::CardPort;
use super::card::{Card, CardSpec};
use super::joined;
use super::settings::{self, WantedSetting};
use crate::os::namespace::Namespace;
use crate::os::netlink::{Netlink, Route, VethEnd};
use crate::os::packet_socket;
use crate::os::tun::{Tun, TunOptions};
use crate::os::{receive_steering, receive_thread};
use crate::testbed::queue::Framing;
use crate::testbed::{AddressMap, Device, GatewayDrops, Queue, TestbedError, TestbedSpec};
use rustix::fd::OwnedFd;
use rustix::time::Timespec;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// The next hop of all routes to clients, so that the kernel keeps one neighbour for all of them.
const NEXT_HOP_V4: Ipv4Addr = Ipv4Addr::new(169, 254, 0, 1);
const NEXT_HOP_V6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);

/// Locally administered addresses. The next hop's differs from that of the veth pair's far end, so that the
/// stack at that end drops the frames as another host's, after the packet socket has received them.
const SERVER_ETHERNET: [u8; 6] = [0x02, 0, 0, 0, 0, 1];
const NEXT_HOP_ETHERNET: [u8; 6] = [0x02, 0, 0, 0, 0, 2];
const FAR_END_ETHERNET: [u8; 6] = [0x02, 0, 0, 0, 0, 3];

/// Approximate kernel memory of a packet in a full queue: most hold one MSS.
const BYTES_OF_A_PACKET: usize = 2_048;

/// The threads that do the kernel's receive work on packets for the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReceiveWork {
    /// The thread that writes a packet.
    Writer,
    /// The thread that writes a packet, since kernel threads are not available, with the reason.
    NoThreads(String),
    /// Threads of the kernel's, on the receive processors.
    Threads,
    /// The receive processors, to which each packet is steered.
    Steered,
}

impl ReceiveWork {
    /// A description for the report.
    pub fn description(&self) -> &'static str {
        match self {
            ReceiveWork::Writer | ReceiveWork::NoThreads(_) => "in the write",
            ReceiveWork::Threads => "in a thread for each queue",
            ReceiveWork::Steered => "steered packet by packet",
        }
    }

    /// The reason why kernel threads, though wanted, do not do it.
    pub fn refused(&self) -> Option<String> {
        match self {
            ReceiveWork::NoThreads(why) => Some(format!("it can have no thread of its own ({why})")),
            _ => None,
        }
    }
}

/// A device that is up, with its queues.
#[derive(Debug)]
pub(super) struct Gateway {
    /// Socket in the server's namespace.
    netlink: Netlink,
    interface: u32,
    pub name: String,
    queues: Vec<Arc<OwnedFd>>,
    framing: Framing,
    pub instead_of_tun: Option<String>,
    pub qdisc: Option<String>,
    pub queue_bytes: Option<u64>,
    /// The threads that do the kernel's receive work, once set up.
    pub receive: ReceiveWork,
    /// Packets that packet sockets dropped until the last reading, which resets their counters.
    dropped_before: u64,
    /// Whether the device outlives its queues, so that it must be removed by name.
    remains: bool,
    /// Where packets to a server at ::1 are written.
    loopback: Option<Arc<OwnedFd>>,
    /// Other addresses of the server.
    maps: Vec<AddressMap>,
    /// The network card, if the device is one.
    card: Option<Card>,
}

/// What an interface is given.
#[derive(Debug, Clone)]
pub(super) struct Equipment {
    /// Addresses that clients send to.
    pub servers: Vec<IpAddr>,
    /// Those of them that the interface gets.
    pub added: Vec<IpAddr>,
    /// Blocks that are routed to it, with their lengths in bits.
    pub blocks: Vec<(IpAddr, u8)>,
    /// Whether the namespace is not the run's own: then its connections forget what others measured because
    /// the route says so, instead of the namespace.
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
        Equipment { added: servers.clone(), servers, blocks: joined::blocks(&spec), joins: false, settings }
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
    /// Makes the device in the calling thread's network namespace.
    pub fn open(spec: &TestbedSpec) -> Result<Gateway, TestbedError> {
        match spec.device {
            Device::Tun => Gateway::tun(spec),
            Device::Packet | Device::Route => Gateway::packet(spec),
            Device::Auto => Gateway::tun(spec).or_else(|refused| {
                let mut gateway = Gateway::packet(spec)?;
                gateway.instead_of_tun = Some(refused.to_string());
                Ok(gateway)
            }),
        }
    }

    fn tun(spec: &TestbedSpec) -> Result<Gateway, TestbedError> {
        let options = TunOptions {
            name: "farfield%d",
            queues: spec.queues.get() as usize,
            offload: spec.offload,
            waiting_bytes: (spec.queue_packets as usize * BYTES_OF_A_PACKET).max(4 << 20),
            threads: !spec.receive_processors.is_empty(),
        };
        let tun = Tun::open(options).map_err(|source| TestbedError::Tun { source })?;
        if tun.queues.len() > 1 {
            tun.steer(&spec.steering())
                .map_err(|source| TestbedError::Steering { queues: spec.queues.get(), source })?;
        }
        let mut netlink = Netlink::open().map_err(|source| TestbedError::Tun { source })?;
        let interface = netlink.index_of(&tun.name).map_err(|source| TestbedError::Tun { source })?;
        Ok(Gateway {
            netlink,
            interface,
            name: tun.name,
            queues: tun.queues.into_iter().map(Arc::new).collect(),
            framing: Framing::None,
            instead_of_tun: None,
            qdisc: None,
            queue_bytes: None,
            receive: ReceiveWork::Writer,
            dropped_before: 0,
            remains: false,
            loopback: None,
            maps: spec.maps.clone(),
            card: None,
        })
    }

    fn packet(spec: &TestbedSpec) -> Result<Gateway, TestbedError> {
        Gateway::veth(spec).map_err(|source| TestbedError::Packet { source })
    }

    /// Makes a veth pair with packet sockets. The pair's far end is in a namespace of its own, which is
    /// removed, together with the pair, when the last socket in it is closed.
    fn veth(spec: &TestbedSpec) -> io::Result<Gateway> {
        let far_namespace = Namespace::make()?;
        let mut netlink = Netlink::open()?;
        let name = (0..)
            .map(|nth| format!("farfield{nth}"))
            .find(|name| netlink.index_of(name).is_err())
            .expect("an interface has a free name among so many");
        let near = VethEnd { name: &name, address: SERVER_ETHERNET };
        let far = VethEnd { name: "gateway", address: FAR_END_ETHERNET };
        netlink.add_veth(near, far, rustix::fd::AsFd::as_fd(&far_namespace))?;
        let interface = netlink.index_of(&name)?;
        if !spec.offload {
            packet_socket::switch_offload_off(&name)?;
        }
        let bytes = (spec.queue_packets as usize * BYTES_OF_A_PACKET).min(1 << 30);
        let sockets = far_namespace.inside(|| sockets_at_far_end(far.name, spec, bytes))??;
        let queue_bytes = rustix::net::sockopt::socket_recv_buffer_size(&sockets[0])?;
        Ok(Gateway {
            netlink,
            interface,
            name,
            queues: sockets.into_iter().map(Arc::new).collect(),
            framing: Framing::Ethernet { server: SERVER_ETHERNET, gateway: NEXT_HOP_ETHERNET },
            instead_of_tun: None,
            qdisc: None,
            queue_bytes: Some(queue_bytes as u64),
            receive: ReceiveWork::Writer,
            dropped_before: 0,
            remains: true,
            loopback: None,
            maps: spec.maps.clone(),
            card: None,
        })
    }

    /// Opens a network card in the calling thread's network namespace. It needs no further setting up.
    pub fn on_card(card: &CardSpec, spec: &TestbedSpec) -> Result<Gateway, TestbedError> {
        let bytes = (spec.queue_packets as usize * BYTES_OF_A_PACKET).min(1 << 30);
        let (card, sockets) = Card::open(card, spec, bytes)?;
        let failed = |source| TestbedError::Packet { source };
        let queue_bytes = rustix::net::sockopt::socket_recv_buffer_size(&sockets[0])
            .map_err(|errno| failed(errno.into()))?;
        Ok(Gateway {
            netlink: Netlink::open().map_err(failed)?,
            interface: card.entry.index,
            name: card.link.name.clone(),
            queues: sockets.into_iter().map(Arc::new).collect(),
            framing: Framing::Ethernet { server: [0; 6], gateway: card.link.own.0 },
            instead_of_tun: None,
            qdisc: None,
            queue_bytes: Some(queue_bytes as u64),
            receive: ReceiveWork::Writer,
            dropped_before: 0,
            remains: false,
            loopback: None,
            maps: Vec::new(),
            card: Some(card),
        })
    }

    /// The MTU of the network card, if the device is one.
    pub fn mtu_of_card(&self) -> Option<u32> {
        self.card.as_ref().map(|card| card.entry.mtu)
    }

    /// Gives the interface its size, the server's addresses and the routes to clients, and brings it up.
    pub fn set_up(&mut self, spec: &TestbedSpec, equipment: &Equipment) -> Result<(), TestbedError> {
        let failed = |what: String| move |source| TestbedError::Interface { what, source };
        let (netlink, interface) = (&mut self.netlink, self.interface);
        let tun = matches!(self.framing, Framing::None);
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
        for route in routes(spec, interface, equipment) {
            let what = format!("route to {}/{}", route.to, route.to_bits);
            if let (false, Some(next_hop)) = (tun, route.gateway) {
                netlink
                    .add_neighbour(interface, next_hop, NEXT_HOP_ETHERNET)
                    .map_err(failed(format!("neighbour {next_hop}")))?;
            }
            netlink.add_route(&route).map_err(failed(what))?;
        }
        for address in &equipment.servers {
            wait_until_local(netlink, *address).map_err(failed(format!("address {address}")))?;
        }
        if equipment.joins {
            self.check_routes(&equipment.blocks)?;
            self.loopback = self.open_loopback(spec).map_err(failed("way to ::1".to_owned()))?;
        }
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

    pub fn queues(&self) -> Vec<Queue> {
        let queue = |queue: &Arc<OwnedFd>| Queue::new(queue.clone(), self.framing);
        let card = || self.card.as_ref().map(|card| CardPort::new(Arc::clone(&card.link)));
        let equipped = |each: &Arc<OwnedFd>| {
            queue(each).with_loopback(self.loopback.clone()).on_card(card()).with_maps(&self.maps)
        };
        self.queues.iter().map(equipped).collect()
    }

    /// Packets that the device has lost since it was made.
    pub fn drops(&mut self) -> io::Result<GatewayDrops> {
        if matches!(self.framing, Framing::Ethernet { .. }) {
            for socket in &self.queues {
                self.dropped_before += u64::from(packet_socket::dropped(socket)?);
            }
        }
        if let Some(card) = &self.card {
            // What the card loses of others is not ours.
            let (to_clients, to_server) = (self.dropped_before, card.link.unresolved());
            return Ok(GatewayDrops { to_clients, to_server });
        }
        let stats = self.netlink.stats(self.interface)?;
        Ok(GatewayDrops {
            to_clients: stats.send_dropped + stats.send_errors + self.dropped_before,
            to_server: stats.receive_dropped + stats.receive_errors,
        })
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if self.remains {
            // If it cannot be removed, it is removed with its namespaces.
            let _ = self.netlink.remove(self.interface);
        }
    }
}

/// Moves the kernel's receive work to the receive processors. If the scenario does not name them, the
/// writing threads do the work where kernel threads are not available.
fn receive_work(interface: &str, spec: &TestbedSpec, tun: bool) -> io::Result<ReceiveWork> {
    let processors = &spec.receive_processors;
    if processors.is_empty() {
        return Ok(ReceiveWork::Writer);
    }
    if tun {
        match receive_thread::start_on(interface, spec.queues.get() as usize, processors) {
            Ok(()) => return Ok(ReceiveWork::Threads),
            // Steering a packet to another processor costs as much as receiving it, so it is used only on
            // request.
            Err(error) if !spec.receive_asked => return Ok(ReceiveWork::NoThreads(error.to_string())),
            Err(_) => {}
        }
    } else if !spec.receive_asked {
        return Ok(ReceiveWork::NoThreads("the gateway is made of packet sockets".to_owned()));
    }
    let queues = if tun { spec.queues.get() } else { 1 };
    receive_steering::steer_to(interface, queues, processors)?;
    Ok(ReceiveWork::Steered)
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

/// Brings the far end up, silent, with a socket for each queue.
fn sockets_at_far_end(name: &str, spec: &TestbedSpec, bytes: usize) -> io::Result<Vec<OwnedFd>> {
    let quiet = ["all", "default"].map(|which| WantedSetting {
        name: format!("net.ipv6.conf.{which}.disable_ipv6"),
        value: "1".into(),
        asked: false,
    });
    settings::apply(&quiet).expect("none of these was asked for");
    let mut netlink = Netlink::open()?;
    let interface = netlink.index_of(name)?;
    netlink.size(interface, spec.mtu, None)?;
    netlink.up(interface)?;
    let sockets: Vec<OwnedFd> =
        (0..spec.queues.get()).map(|_| packet_socket::open(interface, bytes)).collect::<io::Result<_>>()?;
    if sockets.len() > 1 {
        packet_socket::spread(&sockets, &spec.steering())?;
    }
    Ok(sockets)
}

pub(super) fn addresses(spec: &TestbedSpec, v6: bool) -> Vec<IpAddr> {
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
