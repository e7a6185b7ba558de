//! Errors of building a testbed, with their remedies.

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
    /// The interface or a route cannot be set.
    #[error("the gateway's {what} cannot be set ({source})")]
    Interface {
        /// What was being set, with the value.
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
