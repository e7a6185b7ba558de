//! The reasons why a network card is no gateway, or is one no longer, each with what to do.

use farfield_wire::EthernetAddress;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// The reason why a network card is no gateway.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CardError {
    /// No interface of that name.
    #[error("there is no interface {interface} here: write one that `ip link` shows")]
    NoInterface {
        /// The name that was given.
        interface: String,
    },
    /// A TUN, a tunnel, a loopback interface.
    #[error(
        "{interface} is no Ethernet interface: clients' addresses can live on an Ethernet card, a bridge or a veth alone; a \
         server on this machine is reached without --interface"
    )]
    NotEthernet {
        /// The interface.
        interface: String,
    },
    /// Nobody has set it up.
    #[error("the interface {interface} is down: `ip link set {interface} up`")]
    Down {
        /// The interface.
        interface: String,
    },
    /// The cable is out.
    #[error("the interface {interface} has no link: plug its cable in, or set its other end up")]
    NoCarrier {
        /// The interface.
        interface: String,
    },
    /// The interface was there.
    #[error("the interface {interface} is gone or down: something other than farfield has taken it away")]
    Gone {
        /// The interface.
        interface: String,
    },
    /// No packet socket.
    #[error(
        "farfield may open no packet socket on {interface} (Operation not permitted): run it as root (`sudo farfield …`), or \
         give it CAP_NET_RAW"
    )]
    NoRight {
        /// The interface.
        interface: String,
    },
    /// Anything else of the system's.
    #[error("the interface {interface} cannot be used: {reason}")]
    System {
        /// The interface.
        interface: String,
        /// The system's error.
        reason: String,
    },
    /// Too many blocks for a filter.
    #[error(
        "{blocks} blocks of addresses are more than a filter of the kernel takes: write fewer, larger ones"
    )]
    TooManyBlocks {
        /// The number of blocks.
        blocks: usize,
    },
    /// The kernel would pass packets on.
    #[error(
        "this machine passes packets on ({setting} is set), and with the Ethernet address of {interface} itself it would get \
         those for clients, too: leave out network.mac, so that clients have one of their own, or set it to 0"
    )]
    Forwards {
        /// The interface.
        interface: String,
        /// The kernel's setting.
        setting: String,
    },
    /// Somebody else has an address.
    #[error(
        "{by} on the link of {interface} has the address {address}, which farfield answers for: give clients others with \
         network.addresses, such as a part of the network that nobody else uses, or keep the links of a route apart"
    )]
    Conflict {
        /// The interface.
        interface: String,
        /// The address.
        address: IpAddr,
        /// Ethernet address of the machine that has it.
        by: EthernetAddress,
    },
    /// An address of this machine.
    #[error(
        "{address} is this machine's own address, on {interface}, and would be a client's: give clients others with \
         network.addresses"
    )]
    OwnAddress {
        /// The address.
        address: IpAddr,
        /// The address's interface.
        interface: String,
    },
    /// A server on this machine.
    #[error(
        "{address} is an address of this machine: leave out --interface, and clients reach the server here"
    )]
    Here {
        /// The server's address.
        address: IpAddr,
    },
    /// Nothing listens.
    #[error("{server} refuses connections: nothing listens there, or a firewall of its machine says so")]
    Refused {
        /// The server.
        server: SocketAddr,
    },
    /// The server's answers do not come back.
    #[error(
        "{server} does not answer {client}, though its machine is there: its machine needs a way back to clients, such as \
         `ip route add {block} dev eth0` there (eth0 being its card on this link), and a firewall may drop them"
    )]
    NoWayBack {
        /// The server.
        server: SocketAddr,
        /// The interface here.
        interface: String,
        /// Client that asked.
        client: IpAddr,
        /// The clients' block.
        block: String,
    },
    /// Two say to have the address that packets to the server go to.
    #[error(
        "{server} does not answer, and {} and {} on the link of {interface} both say to have the address {address}: look \
         which of them has it, and end or disconnect the other", by[0], by[1]
    )]
    Disputed {
        /// The server.
        server: SocketAddr,
        /// The interface here.
        interface: String,
        /// The server's address, or that of the router to it.
        address: IpAddr,
        /// The two Ethernet addresses that claim the address.
        by: [EthernetAddress; 2],
    },
    /// Nobody has the server's address.
    #[error(
        "nobody on the link of {interface} answers for {}{address}: check the address and the interface{}",
        if *.hop { "the next hop " } else { "" },
        if *.hop { ", or name another with network.next-hop" } else {
            ", or name the router to it with network.next-hop"
        }
    )]
    Silent {
        /// The interface.
        interface: String,
        /// Machine that was asked for.
        address: IpAddr,
        /// True if it is a router.
        hop: bool,
    },
}

impl CardError {
    /// The error of opening the card.
    pub(super) fn of_opening(interface: &str, source: io::Error) -> CardError {
        let interface = interface.to_owned();
        match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => CardError::NoRight { interface },
            Some(libc::ENETDOWN) => CardError::Down { interface },
            Some(libc::ENODEV | libc::ENXIO) => CardError::Gone { interface },
            _ => CardError::System { interface, reason: source.to_string() },
        }
    }

    /// The error of using it.
    pub fn of_running(interface: &str, source: io::Error) -> CardError {
        match source.raw_os_error() {
            Some(libc::ENETDOWN | libc::ENODEV | libc::ENXIO) => {
                CardError::Gone { interface: interface.to_owned() }
            }
            _ => CardError::of_opening(interface, source),
        }
    }
}
