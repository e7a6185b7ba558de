//! The reasons why a server that runs already is not found, each with what to do.

use crate::TestbedError;
use crate::reach::ReachError;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// The reason why a server is not found.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The namespace cannot be entered.
    #[error(transparent)]
    Namespace(TestbedError),
    /// There is no namespace of that name.
    #[error(
        "the network namespace `{name}` cannot be entered ({source}): write a name that `ip netns list` shows, or the path \
         of a file such as /proc/7/ns/net, and run farfield as root"
    )]
    NoNamespace {
        /// The name or the path.
        name: String,
        /// The system's error.
        source: io::Error,
    },
    /// The target's name does not resolve.
    #[error(transparent)]
    Name(ReachError),
    /// The kernel does not show its tables.
    #[error("the listeners of the network namespace ({namespace}) cannot be read: {source}")]
    Tables {
        /// The owner of the namespace, in words.
        namespace: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// The target is elsewhere.
    #[error(
        "{host} is no address of the network namespace of the server ({namespace}), and clients far away reach nothing else: \
         write an address on which the server listens there, or say where it is with --container, --server-netns or \
         --server-pid"
    )]
    Elsewhere {
        /// The target's host.
        host: String,
        /// The owner of the namespace, in words.
        namespace: String,
    },
    /// No clients have addresses of the target's family.
    #[error(
        "the server's address {address} in the network namespace ({namespace}) is not of the family of the clients' \
         addresses, {clients}: give them others with --set network.addresses={block}"
    )]
    Family {
        /// The target's address.
        address: IpAddr,
        /// The owner of the namespace, in words.
        namespace: String,
        /// The clients' family.
        clients: &'static str,
        /// A block of the other.
        block: &'static str,
    },
    /// Nothing listens.
    #[error(
        "nothing listens at {at} in the network namespace of the server ({namespace}){others}: start the server first, or \
         check the address and the port"
    )]
    NothingListens {
        /// The address that clients would connect to.
        at: SocketAddr,
        /// The owner of the namespace, in words.
        namespace: String,
        /// Addresses where something listens at that port.
        others: String,
    },
    /// No program of a container runtime.
    #[error(
        "the container {name} cannot be looked up: none of docker, podman, nerdctl and crictl is on the PATH; give the number \
         of one of its processes with --server-pid instead"
    )]
    NoRuntime {
        /// The container.
        name: String,
    },
    /// No such container.
    #[error("there is no container {name}: {said}; write a name or an id that `docker ps` or its like shows")]
    NoContainer {
        /// The container.
        name: String,
        /// Errors of the programs.
        said: String,
    },
    /// A container without processes.
    #[error("the container {name} is not running ({state}, says {program}): start it first")]
    NotRunning {
        /// The container.
        name: String,
        /// The container's state.
        state: String,
        /// The program that was asked.
        program: &'static str,
    },
    /// A program's answer that cannot be read.
    #[error(
        "what `{program} inspect` says of the container {name} has no number of a process: give it with --server-pid instead"
    )]
    Unreadable {
        /// The container.
        name: String,
        /// The program that was asked.
        program: &'static str,
    },
}

impl LiveError {
    /// True if the request is wrong, not the machine.
    pub fn is_usage(&self) -> bool {
        matches!(self, LiveError::Elsewhere { .. } | LiveError::Family { .. })
    }
}
