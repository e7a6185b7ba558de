//! Errors of building a testbed, with their remedies.

use super::HostNamespace;
use crate::gateway::CardError;
use std::io;

/// The reason why a testbed could not be built.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// A network namespace cannot be made.
    #[error(
        "no network namespace can be made ({source}): run farfield as root, or allow user namespaces: \
         sysctl -w user.max_user_namespaces=1000 user.max_net_namespaces=1000, and where AppArmor restricts them \
         sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
    )]
    Namespace {
        /// The kernel's error.
        source: io::Error,
    },
    /// A user namespace cannot be entered.
    #[error(
        "no user namespace can be entered ({source}): run farfield as root, or allow them: \
         sysctl -w user.max_user_namespaces=1000 kernel.unprivileged_userns_clone=1"
    )]
    UserNamespace {
        /// The kernel's error.
        source: io::Error,
    },
    /// The network namespace of a running server cannot be entered.
    #[error(
        "the network namespace of process {pid} cannot be entered ({source}): run farfield as root, and see that the process runs"
    )]
    Process {
        /// The process.
        pid: u32,
        /// The kernel's error.
        source: io::Error,
    },
    /// The network namespace of a running server cannot be entered, or may not be changed.
    #[error(
        "clients far away reach a server that runs already through an interface in its network namespace ({namespace}), \
         which farfield may not add ({source}): run it as root (`sudo farfield …`), or let it start the server in a \
         namespace of its own with --server COMMAND"
    )]
    NoRight {
        /// The owner of the namespace, in words.
        namespace: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// Something is in the clients' block already.
    #[error(
        "clients would have addresses in {block}, where the server's network namespace ({namespace}) has {by}: give them \
         others with network.addresses, such as --set network.addresses=10.99.0.0/16"
    )]
    Taken {
        /// The clients' block.
        block: String,
        /// The route or the address.
        by: String,
        /// The owner of the namespace, in words.
        namespace: String,
    },
    /// Packets to clients leave elsewhere.
    #[error(
        "packets to clients in {block} leave by {to}, not by farfield's interface {interface}: a rule of `ip rule` comes \
         before the main table; add one for {block} before it, or give clients other addresses with network.addresses"
    )]
    Diverted {
        /// The clients' block.
        block: String,
        /// The interface that the kernel chooses.
        to: String,
        /// The gateway's.
        interface: String,
    },
    /// A setting of the whole machine.
    #[error(
        "{name} = {value:?} would be set for the whole machine, since the server runs in its network namespace: set it with \
         sysctl and leave the key out of [server], or run the server in a namespace of its own"
    )]
    SettingOfMachine {
        /// The setting's name, with dots.
        name: String,
        /// The requested value.
        value: String,
    },
    /// No IPv6 for clients that have it.
    #[error("clients have IPv6 addresses, and the server's network namespace ({namespace}) has no IPv6{why}")]
    NoIpv6 {
        /// The owner of the namespace, in words.
        namespace: String,
        /// More words.
        why: &'static str,
    },
    /// The server does not answer through the gateway.
    #[error(
        "{server} does not answer packets that come in by {interface}, though it listens: a firewall may drop them; let \
         them in, such as with `iptables -I INPUT -i farfield+ -j ACCEPT` or a rule of nftables for that interface"
    )]
    Silent {
        /// The server's address.
        server: std::net::SocketAddr,
        /// The gateway's interface.
        interface: String,
    },
    /// The server refuses connections through the gateway.
    #[error(
        "{server} refuses connections that come in by {interface}: nothing listens there any more, or it listens on \
         another interface or another family of addresses alone"
    )]
    Refused {
        /// The server's address.
        server: std::net::SocketAddr,
        /// The gateway's interface.
        interface: String,
    },
    /// A TUN interface cannot be made.
    #[error(
        "no TUN interface can be made ({source}): run farfield as root, or modprobe tun, or set network.gateway = \"packet\""
    )]
    Tun {
        /// The kernel's error.
        source: io::Error,
    },
    /// Packet sockets on a veth pair cannot be made.
    #[error(
        "no packet sockets can be opened on a veth pair ({source}): modprobe veth af_packet, or set network.gateway = \"tun\""
    )]
    Packet {
        /// The kernel's error.
        source: io::Error,
    },
    /// The kernel does not load the program that assigns packets to queues.
    #[error(
        "the kernel does not let packets be steered over {queues} TUN queues ({source}): run farfield as root outside \
         containers, or set network.gateway = \"packet\", or one shard"
    )]
    Steering {
        /// Requested number of queues.
        queues: u32,
        /// The kernel's error.
        source: io::Error,
    },
    /// A network card is no gateway.
    #[error(transparent)]
    Card(#[from] CardError),
    /// The interface or a route cannot be set.
    #[error("the gateway's {what} cannot be set ({source})")]
    Interface {
        /// Setting that was made, with the value.
        what: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// A kernel setting cannot be set.
    #[error("{name} = {value:?} cannot be set for the server ({source}); {remedy}")]
    Setting {
        /// The setting's name, with dots.
        name: String,
        /// The requested value.
        value: String,
        /// The kernel's error.
        source: io::Error,
        /// The remedy.
        remedy: &'static str,
    },
    /// An MTU below what the protocol needs.
    #[error("an MTU of {mtu} bytes is not between 68 and 65535: set mtu")]
    Mtu {
        /// The requested MTU.
        mtu: u32,
    },
    /// The server's address is also a client's.
    #[error("the server's address {address} lies among the clients' ({clients}): set one of them elsewhere")]
    Overlap {
        /// The server's address.
        address: String,
        /// The clients' prefix.
        clients: String,
    },
}

impl TestbedError {
    /// The error as one of building a gateway in a server's namespace: where the kernel does not allow it,
    /// what would allow it there.
    pub(super) fn of_joining(self, host: &HostNamespace) -> TestbedError {
        match self {
            TestbedError::Tun { source }
            | TestbedError::Packet { source }
            | TestbedError::Interface { source, .. }
                if source.kind() == io::ErrorKind::PermissionDenied =>
            {
                TestbedError::NoRight { namespace: host.name().to_owned(), source }
            }
            other => other,
        }
    }
}
