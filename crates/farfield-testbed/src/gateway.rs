//! The gateway: the device that passes packets between this process and the kernel of a server or of a
//! program, or the other machines of a network card.
//!
//! It is one of three [devices](Device), each in a file of its own: a TUN interface (`tun`), packet sockets
//! at the far end of a veth pair (`veth`), or packet sockets on a network card (`card`). Whichever it is, its
//! packets come and go by [queues](Queue). What its interface is given in the namespace that it is in (size,
//! addresses, routes) is its `equipment`; namespaces and servers are the [testbed](crate)'s.

mod address_map;
pub mod blocks;
pub mod card;
mod chunks;
mod door;
mod equipment;
mod queue;
mod receive_work;
mod tun;
mod veth;

pub use address_map::AddressMap;
pub use blocks::blocks_from;
pub use card::{CardAddress, CardError, CardSpec};
pub use farfield_wire::EthernetAddressError;
pub use queue::Queue;

pub use chunks::Chunks;
pub use door::{DatagramNumbers, Door};
pub(crate) use equipment::Equipment;
pub(crate) use receive_work::ReceiveWork;

use crate::{GatewayDrops, TestbedError, TestbedSpec};
use card::Card;
use card::link::CardPort;
use farfield_os::netlink::Netlink;
use farfield_os::packet_socket;
pub use queue::QueueFraming;
use rustix::fd::OwnedFd;
use serde::{Deserialize, Serialize};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Approximate kernel memory of a packet in a full queue: most hold one MSS.
const BYTES_OF_A_PACKET: usize = 2_048;

/// The device of a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Device {
    /// TUN, else packet sockets.
    #[default]
    Auto,
    /// A TUN interface.
    Tun,
    /// Packet sockets: on one end of a veth pair, or on a network card.
    Packet,
    /// Packet sockets on a network card to whose own address others route the clients' block.
    Route,
}

/// Properties of a gateway's interface that must stay while a run lasts.
#[derive(Debug, Clone)]
pub struct InterfaceState {
    /// The interface.
    pub interface: u32,
    /// The interface's name.
    pub name: String,
    /// Blocks that are routed to it, with their lengths in bits.
    pub blocks: Vec<(IpAddr, u8)>,
    /// The interface's addresses.
    pub addresses: Vec<IpAddr>,
    /// Next hops whose neighbour entries were made.
    pub neighbours: Vec<IpAddr>,
}

/// A device that is up, with its queues.
#[derive(Debug)]
pub(crate) struct Gateway {
    /// Socket in the server's namespace.
    netlink: Netlink,
    interface: u32,
    pub name: String,
    queues: Vec<Arc<OwnedFd>>,
    framing: QueueFraming,
    /// The device takes rows of UDP datagrams as one packet.
    rows: bool,
    pub instead_of_tun: Option<String>,
    pub qdisc: Option<String>,
    pub queue_bytes: Option<u64>,
    /// The threads that do the kernel's receive work, once set up.
    pub receive: ReceiveWork,
    /// Packets that packet sockets dropped until the last reading, which resets their counters.
    dropped_before: u64,
    /// The device outlives its queues, so that it must be removed by name.
    remains: bool,
    /// Interface that packets to a server at ::1 are written to.
    loopback: Option<Arc<OwnedFd>>,
    /// Sockets at the server's address for each queue, where they can be had.
    doors: Vec<Option<Arc<Door>>>,
    /// Other addresses of the server.
    maps: Vec<AddressMap>,
    /// The network card, if the device is one.
    card: Option<Card>,
    /// Properties given to the interface; `None` for a network card, which has them from others.
    pub watched: Option<InterfaceState>,
}

impl Gateway {
    /// Makes the device in the calling thread's network namespace.
    pub fn open(spec: &TestbedSpec) -> Result<Gateway, TestbedError> {
        match spec.device {
            Device::Tun => tun::open(spec),
            Device::Packet | Device::Route => Gateway::packet(spec),
            Device::Auto => tun::open(spec).or_else(|refused| {
                let mut gateway = Gateway::packet(spec)?;
                gateway.instead_of_tun = Some(refused.to_string());
                Ok(gateway)
            }),
        }
    }

    fn packet(spec: &TestbedSpec) -> Result<Gateway, TestbedError> {
        veth::open(spec).map_err(|source| TestbedError::Packet { source })
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
            framing: QueueFraming::Ethernet { server: [0; 6], gateway: card.link.own.0 },
            rows: false,
            instead_of_tun: None,
            qdisc: None,
            queue_bytes: Some(queue_bytes as u64),
            receive: ReceiveWork::Writer,
            dropped_before: 0,
            remains: false,
            loopback: None,
            doors: Vec::new(),
            maps: Vec::new(),
            card: Some(card),
            watched: None,
        })
    }

    /// The MTU of the network card, if the device is one.
    pub fn mtu_of_card(&self) -> Option<u32> {
        self.card.as_ref().map(|card| card.entry.mtu)
    }

    /// Why `server`, which a network card leads to, may not answer: two say to be it, or the router to it.
    pub fn dispute_about(&self, server: SocketAddr) -> Option<CardError> {
        let card = self.card.as_ref()?;
        let (address, by) = card.link.dispute_on_the_way_to(server.ip())?;
        Some(CardError::Disputed { server, interface: card.link.name.clone(), address, by })
    }

    pub fn queues(&self) -> Vec<Queue> {
        let queue = |queue: &Arc<OwnedFd>| Queue::new(queue.clone(), self.framing).with_rows(self.rows);
        let card = || self.card.as_ref().map(|card| CardPort::new(Arc::clone(&card.link)));
        let equipped = |each: &Arc<OwnedFd>| {
            queue(each).with_loopback(self.loopback.clone()).on_card(card()).with_maps(&self.maps)
        };
        let doors = self.doors.iter().cloned().chain(std::iter::repeat(None));
        self.queues.iter().map(equipped).zip(doors).map(|(queue, door)| queue.with_door(door)).collect()
    }

    /// Packets that the device has lost since it was made.
    pub fn drops(&mut self) -> io::Result<GatewayDrops> {
        if matches!(self.framing, QueueFraming::Ethernet { .. }) {
            for socket in &self.queues {
                self.dropped_before += u64::from(packet_socket::dropped(socket)?);
            }
        }
        if let Some(card) = &self.card {
            // Packets of others that the card loses are not ours.
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
