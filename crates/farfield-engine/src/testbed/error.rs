//! Why there is no testbed, and what would mend that.

use std::io;

/// Why a testbed could not be built.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// No network namespace.
    #[error(
        "no network namespace can be made ({source}): run farfield as root, or allow user namespaces: \
         sysctl -w user.max_user_namespaces=1000 user.max_net_namespaces=1000, and where AppArmor restricts them \
         sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
    )]
    Namespace {
        /// What the kernel said.
        source: io::Error,
    },
    /// No user namespace.
    #[error(
        "no user namespace can be entered ({source}): run farfield as root, or allow them: \
         sysctl -w user.max_user_namespaces=1000 kernel.unprivileged_userns_clone=1"
    )]
    UserNamespace {
        /// What the kernel said.
        source: io::Error,
    },
    /// The network namespace of a running server is closed to us.
    #[error(
        "the network namespace of process {pid} cannot be entered ({source}): run farfield as root, and see that the process runs"
    )]
    Process {
        /// The process.
        pid: u32,
        /// What the kernel said.
        source: io::Error,
    },
    /// No TUN interface.
    #[error(
        "no TUN interface can be made ({source}): run farfield as root, or modprobe tun, or set network.gateway = \"packet\""
    )]
    Tun {
        /// What the kernel said.
        source: io::Error,
    },
    /// No packet sockets on a veth pair.
    #[error(
        "no packet sockets can be had on a veth pair ({source}): modprobe veth af_packet, or set network.gateway = \"tun\""
    )]
    Packet {
        /// What the kernel said.
        source: io::Error,
    },
    /// Packets cannot be told which queue to take.
    #[error(
        "the kernel does not let packets be steered over {queues} TUN queues ({source}): run farfield as root outside \
         containers, or set network.gateway = \"packet\", or one shard"
    )]
    Steering {
        /// How many were asked for.
        queues: u32,
        /// What the kernel said.
        source: io::Error,
    },
    /// The interface or a route is not to be had.
    #[error("the gateway's {what} cannot be set ({source})")]
    Interface {
        /// What was being set, with the value.
        what: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// A kernel setting.
    #[error("{name} = {value:?} cannot be set for the server ({source}); {remedy}")]
    Setting {
        /// Its name, with dots.
        name: String,
        /// What it was to be.
        value: String,
        /// What the kernel said.
        source: io::Error,
        /// What would help.
        remedy: &'static str,
    },
    /// An MTU below what the protocol needs.
    #[error("an MTU of {mtu} bytes is not between 68 and 65535: set mtu")]
    Mtu {
        /// What was asked for.
        mtu: u32,
    },
    /// The server's address is also a client's.
    #[error("the server's address {address} lies among the clients' ({clients}): set one of them elsewhere")]
    Overlap {
        /// The server's.
        address: String,
        /// The prefix.
        clients: String,
    },
}
