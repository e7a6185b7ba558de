//! Interfaces, addresses, routes and neighbours through rtnetlink(7): the few requests that a testbed needs,
//! each sent and acknowledged before the call returns.

mod card;
mod notices;
mod tables;

pub use card::CardEntry;
pub use notices::{Notice, Notices};
pub use tables::{AddressEntry, RouteEntry};

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};
use std::io;
use std::net::IpAddr;

const REQUEST: u16 = 0x1;
const ACKNOWLEDGE: u16 = 0x4;
const REPLACE: u16 = 0x100;
const EXCLUSIVE: u16 = 0x200;
const CREATE: u16 = 0x400;

const HEADER_LEN: usize = 16;
const LINK_HEADER_LEN: usize = 16;
const NESTED: u16 = 0x8000;
const VETH_INFO_PEER: u16 = 1;
const ROUTE_METRIC_LOCK: u16 = 1;
const ROUTE_METRIC_INITCWND: u16 = 11;
const ROUTE_METRIC_CONGESTION: u16 = 16;
/// The metrics that the kernel's TCP keeps of a connection for the next to the same address: RTT, its
/// variation, the slow start threshold, and reordering (rtnetlink(7), RTAX_*).
const ROUTE_METRICS_KEPT: u32 = 1 << 4 | 1 << 5 | 1 << 6 | 1 << 9;
const ROUTE_ON_LINK: u32 = 4;
const QDISC_ROOT: u32 = 0xffff_ffff;

/// A socket to the kernel's tables of the network namespace in which it was opened.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
}

/// Counters of an interface (`struct rtnl_link_stats64`). Received packets come from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkStats {
    /// Packets that the kernel took in.
    pub received: u64,
    /// Packets that the kernel handed to the device.
    pub sent: u64,
    /// Packets that the kernel dropped on their way in.
    pub receive_dropped: u64,
    /// Packets that the device or its queue dropped on their way out.
    pub send_dropped: u64,
    /// Packets that came in damaged.
    pub receive_errors: u64,
    /// Packets that could not go out.
    pub send_errors: u64,
}

/// A route to a prefix.
#[derive(Debug, Clone)]
pub struct Route {
    /// The prefix' address.
    pub to: IpAddr,
    /// The prefix' length in bits.
    pub to_bits: u8,
    /// The interface.
    pub interface: u32,
    /// The next hop on the interface, else every address is on the link itself.
    pub gateway: Option<IpAddr>,
    /// The source address of packets whose socket has none; the kernel's choice if absent.
    pub source: Option<IpAddr>,
    /// No connection that takes the route starts from what an earlier one has measured.
    pub forgets: bool,
    /// The initial congestion window of connections that take the route, in segments.
    pub initial_window: Option<u32>,
    /// Congestion control of connections that take the route, by name.
    pub congestion_control: Option<String>,
}

/// One end of a veth pair.
#[derive(Debug, Clone, Copy)]
pub struct VethEnd<'a> {
    /// The name.
    pub name: &'a str,
    /// The Ethernet address.
    pub address: [u8; 6],
}

impl Netlink {
    /// Opens a socket in the calling thread's network namespace.
    ///
    /// # Errors
    /// When the kernel has no netlink or no descriptor is left.
    pub fn open() -> io::Result<Netlink> {
        // Protocol 0 is rtnetlink.
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        Ok(Netlink { socket, sequence: 0, buffer: vec![0; 32 << 10] })
    }

    /// The index of the interface `name`.
    ///
    /// # Errors
    /// `ENODEV` if there is none.
    pub fn index_of(&mut self, name: &str) -> io::Result<u32> {
        let reply = self.look_at(Message::link(libc::RTM_GETLINK, 0, 0).text(libc::IFLA_IFNAME, name))?;
        reply.get(4..8).and_then(|index| index.try_into().ok()).map(u32::from_ne_bytes).ok_or_else(malformed)
    }

    /// The counters of the interface.
    ///
    /// # Errors
    /// `ENODEV` if there is none.
    pub fn stats(&mut self, interface: u32) -> io::Result<LinkStats> {
        let reply = self.look_at(Message::link(libc::RTM_GETLINK, 0, interface))?;
        let counters = attribute(&reply[LINK_HEADER_LEN..], libc::IFLA_STATS64).ok_or_else(malformed)?;
        let counter = |nth: usize| {
            counters
                .get(8 * nth..8 * nth + 8)
                .map_or(0, |bytes| u64::from_ne_bytes(bytes.try_into().unwrap_or_default()))
        };
        Ok(LinkStats {
            received: counter(0),
            sent: counter(1),
            receive_errors: counter(4),
            send_errors: counter(5),
            receive_dropped: counter(6),
            send_dropped: counter(7),
        })
    }

    /// Sets the interface's MTU in bytes, and the length of its queue in packets.
    ///
    /// # Errors
    /// `EINVAL` for an MTU that the device cannot have, `ENOMEM` for too long a queue.
    pub fn size(&mut self, interface: u32, mtu: u32, queue_len: Option<u32>) -> io::Result<()> {
        let mut message = Message::link(libc::RTM_NEWLINK, 0, interface).word(libc::IFLA_MTU, mtu);
        if let Some(packets) = queue_len {
            message = message.word(libc::IFLA_TXQLEN, packets);
        }
        self.order(message)
    }

    /// Brings the interface up.
    ///
    /// # Errors
    /// Those of the device.
    pub fn up(&mut self, interface: u32) -> io::Result<()> {
        let mut message = Message::link(libc::RTM_NEWLINK, 0, interface);
        let up = (libc::IFF_UP as u32).to_ne_bytes();
        message.bytes[HEADER_LEN + 8..HEADER_LEN + 12].copy_from_slice(&up);
        message.bytes[HEADER_LEN + 12..HEADER_LEN + 16].copy_from_slice(&up);
        self.order(message)
    }

    /// True if the kernel takes packets to `address` for its own.
    ///
    /// # Errors
    /// If the kernel has no route to the address, or no such family.
    pub fn is_local(&mut self, address: IpAddr) -> io::Result<bool> {
        const ROUTE_TYPE_AT: usize = 7;
        let header = [family(address), bits(address), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let message = Message::new(libc::RTM_GETROUTE, 0, &header).address(libc::RTA_DST, address);
        Ok(self.look_at(message)?.get(ROUTE_TYPE_AT) == Some(&libc::RTN_LOCAL))
    }

    /// The interface on which packets to `address` leave.
    ///
    /// # Errors
    /// `ENETUNREACH` if the kernel has no route to the address, or no such family.
    pub fn interface_towards(&mut self, address: IpAddr) -> io::Result<u32> {
        let header = [family(address), bits(address), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let message = Message::new(libc::RTM_GETROUTE, 0, &header).address(libc::RTA_DST, address);
        let reply = self.look_at(message)?;
        let index = reply.get(header.len()..).and_then(|rest| attribute(rest, libc::RTA_OIF));
        index.and_then(|index| index.try_into().ok()).map(u32::from_ne_bytes).ok_or_else(malformed)
    }

    /// The name of the interface with this index.
    ///
    /// # Errors
    /// `ENODEV` if there is none.
    pub fn name_of(&mut self, interface: u32) -> io::Result<String> {
        let reply = self.look_at(Message::link(libc::RTM_GETLINK, 0, interface))?;
        let name = attribute(&reply[LINK_HEADER_LEN..], libc::IFLA_IFNAME).ok_or_else(malformed)?;
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(String::from_utf8_lossy(name).into_owned())
    }

    /// Makes a veth pair, the one end here, the other in the network namespace `far_namespace`.
    ///
    /// # Errors
    /// `EEXIST` if a name is taken, `EOPNOTSUPP` from a kernel without veth.
    pub fn add_veth(
        &mut self,
        near: VethEnd<'_>,
        far: VethEnd<'_>,
        far_namespace: BorrowedFd<'_>,
    ) -> io::Result<()> {
        let peer = Message { bytes: vec![0; LINK_HEADER_LEN] }
            .text(libc::IFLA_IFNAME, far.name)
            .put(libc::IFLA_ADDRESS, &far.address)
            .word(libc::IFLA_NET_NS_FD, far_namespace.as_raw_fd() as u32);
        let data = Message { bytes: Vec::new() }.put(VETH_INFO_PEER | NESTED, &peer.bytes);
        let info = Message { bytes: Vec::new() }
            .text(libc::IFLA_INFO_KIND, "veth")
            .put(libc::IFLA_INFO_DATA | NESTED, &data.bytes);
        let message = Message::link(libc::RTM_NEWLINK, CREATE | EXCLUSIVE, 0)
            .text(libc::IFLA_IFNAME, near.name)
            .put(libc::IFLA_ADDRESS, &near.address)
            .put(libc::IFLA_LINKINFO | NESTED, &info.bytes);
        self.order(message)
    }

    /// Removes an interface, and the other end of a veth pair with it.
    ///
    /// # Errors
    /// `ENODEV` if there is none.
    pub fn remove(&mut self, interface: u32) -> io::Result<()> {
        self.order(Message::link(libc::RTM_DELLINK, 0, interface))
    }

    /// Gives the interface an address, alone in its prefix, usable at once.
    ///
    /// # Errors
    /// `EEXIST` if it has it.
    pub fn add_address(&mut self, interface: u32, address: IpAddr) -> io::Result<()> {
        let header = [
            [family(address), bits(address), libc::IFA_F_NODAD as u8, libc::RT_SCOPE_UNIVERSE].as_slice(),
            &interface.to_ne_bytes(),
        ]
        .concat();
        let message = Message::new(libc::RTM_NEWADDR, CREATE | EXCLUSIVE, &header)
            .address(libc::IFA_LOCAL, address)
            .address(libc::IFA_ADDRESS, address);
        self.order(message)
    }

    /// Adds a route to the main table.
    ///
    /// # Errors
    /// `EEXIST` if there is one to the prefix, `ENETUNREACH` or `EINVAL` if the gateway cannot be one.
    pub fn add_route(&mut self, route: &Route) -> io::Result<()> {
        let scope = if route.gateway.is_some() { libc::RT_SCOPE_UNIVERSE } else { libc::RT_SCOPE_LINK };
        let flags = if route.gateway.is_some() { ROUTE_ON_LINK } else { 0 };
        let header = [
            [family(route.to), route.to_bits, 0, 0].as_slice(),
            &[libc::RT_TABLE_MAIN, libc::RTPROT_STATIC, scope, libc::RTN_UNICAST],
            &flags.to_ne_bytes(),
        ]
        .concat();
        let mut message = Message::new(libc::RTM_NEWROUTE, CREATE | EXCLUSIVE, &header)
            .address(libc::RTA_DST, route.to)
            .word(libc::RTA_OIF, route.interface);
        if let Some(source) = route.source {
            message = message.address(libc::RTA_PREFSRC, source);
        }
        if let Some(gateway) = route.gateway {
            message = message.address(libc::RTA_GATEWAY, gateway);
        }
        let mut metrics = Message { bytes: Vec::new() };
        if route.forgets {
            metrics = metrics.word(ROUTE_METRIC_LOCK, ROUTE_METRICS_KEPT);
        }
        if let Some(segments) = route.initial_window {
            metrics = metrics.word(ROUTE_METRIC_INITCWND, segments);
        }
        if let Some(name) = &route.congestion_control {
            metrics = metrics.text(ROUTE_METRIC_CONGESTION, name);
        }
        if !metrics.bytes.is_empty() {
            message = message.put(libc::RTA_METRICS | NESTED, &metrics.bytes);
        }
        self.order(message)
    }

    /// Adds a permanent neighbour entry: the Ethernet address of `address`.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn add_neighbour(&mut self, interface: u32, address: IpAddr, ethernet: [u8; 6]) -> io::Result<()> {
        let header = [
            [family(address), 0, 0, 0].as_slice(),
            &interface.to_ne_bytes(),
            &libc::NUD_PERMANENT.to_ne_bytes(),
            &[0, 0],
        ]
        .concat();
        let message = Message::new(libc::RTM_NEWNEIGH, CREATE | REPLACE, &header)
            .address(libc::NDA_DST, address)
            .put(libc::NDA_LLADDR, &ethernet);
        self.order(message)
    }

    /// Sets the queueing discipline of the interface to `kind`.
    ///
    /// # Errors
    /// `ENOENT` if the kernel has none of that name.
    pub fn set_qdisc(&mut self, interface: u32, kind: &str) -> io::Result<()> {
        let mut header = [0; 20];
        header[4..8].copy_from_slice(&interface.to_ne_bytes());
        header[12..16].copy_from_slice(&QDISC_ROOT.to_ne_bytes());
        let message = Message::new(libc::RTM_NEWQDISC, CREATE | REPLACE, &header).text(libc::TCA_KIND, kind);
        self.order(message)
    }

    fn order(&mut self, message: Message) -> io::Result<()> {
        self.exchange(message).map(drop)
    }

    /// The one object that `message` asks for, without its header.
    fn look_at(&mut self, message: Message) -> io::Result<Vec<u8>> {
        self.exchange(message)?.filter(|reply| reply.len() >= LINK_HEADER_LEN).ok_or_else(malformed)
    }

    /// Sends a request and reads until its acknowledgement; what came before that is the reply.
    fn exchange(&mut self, mut message: Message) -> io::Result<Option<Vec<u8>>> {
        self.sequence += 1;
        let length = message.bytes.len() as u32;
        message.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        message.bytes[8..12].copy_from_slice(&self.sequence.to_ne_bytes());
        sendto(self.socket.as_fd(), &message.bytes, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        let mut reply = None;
        loop {
            let (count, _) = recv(self.socket.as_fd(), &mut self.buffer[..], RecvFlags::empty())?;
            let mut rest = &self.buffer[..count];
            while rest.len() >= HEADER_LEN {
                let length = number(rest, 0) as usize;
                let body = rest.get(HEADER_LEN..length).ok_or_else(malformed)?;
                let kind = u16::from_ne_bytes([rest[4], rest[5]]);
                if number(rest, 8) == self.sequence {
                    if i32::from(kind) != libc::NLMSG_ERROR {
                        reply = Some(body.to_vec());
                    } else if body.len() >= 4 {
                        return match number(body, 0) as i32 {
                            0 => Ok(reply),
                            error => Err(io::Error::from_raw_os_error(-error)),
                        };
                    }
                }
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            }
        }
    }
}

/// A request, or the attributes of one, being written.
struct Message {
    bytes: Vec<u8>,
}

impl Message {
    fn new(kind: u16, flags: u16, header: &[u8]) -> Message {
        let mut bytes = vec![0; HEADER_LEN];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(REQUEST | ACKNOWLEDGE | flags).to_ne_bytes());
        bytes.extend_from_slice(header);
        Message { bytes }
    }

    /// Message about an interface, or a new one if 0.
    fn link(kind: u16, flags: u16, interface: u32) -> Message {
        let mut header = [0; LINK_HEADER_LEN];
        header[4..8].copy_from_slice(&interface.to_ne_bytes());
        Message::new(kind, flags, &header)
    }

    fn put(mut self, kind: u16, value: &[u8]) -> Message {
        self.bytes.extend_from_slice(&(4 + value.len() as u16).to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }

    fn word(self, kind: u16, value: u32) -> Message {
        self.put(kind, &value.to_ne_bytes())
    }

    fn text(self, kind: u16, value: &str) -> Message {
        self.put(kind, &[value.as_bytes(), &[0]].concat())
    }

    fn address(self, kind: u16, address: IpAddr) -> Message {
        match address {
            IpAddr::V4(address) => self.put(kind, &address.octets()),
            IpAddr::V6(address) => self.put(kind, &address.octets()),
        }
    }
}

fn family(address: IpAddr) -> u8 {
    (if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 }) as u8
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The value of the first attribute of a kind.
fn attribute(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    while attributes.len() >= 4 {
        let length = usize::from(u16::from_ne_bytes([attributes[0], attributes[1]]));
        let kind = u16::from_ne_bytes([attributes[2], attributes[3]]) & !NESTED;
        if kind == wanted {
            return attributes.get(4..length);
        }
        attributes = attributes.get(length.max(4).next_multiple_of(4)..)?;
    }
    None
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the kernel's netlink answer is malformed")
}
