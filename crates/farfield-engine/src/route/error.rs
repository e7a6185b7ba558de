//! The reasons why a route is not opened, each with what to do.

use farfield_emulator::layout::{Block, PlacedError};
use farfield_testbed::TestbedError;
use farfield_testbed::live::LiveError;
use std::io;
use std::net::IpAddr;

/// The reason why a route is not opened.
#[derive(Debug, thiserror::Error)]
pub enum RouteError {
    /// An end is not there, or may not be entered.
    #[error(transparent)]
    End(#[from] LiveError),
    /// Clients and servers are in one network namespace.
    #[error(
        "clients and servers are in one network namespace ({namespace}), where packets between them never leave the kernel: \
         give one of them a namespace of its own, or run the client with `farfield shell`"
    )]
    OneNamespace {
        /// The owner of the namespace, in words.
        namespace: String,
    },
    /// Clients and servers are on one link.
    #[error(
        "clients and servers are on one link ({interface}), where packets need no route: name two interfaces"
    )]
    OneInterface {
        /// The interface.
        interface: String,
    },
    /// Clients that are to be routed are not known.
    #[error(
        "who the clients on the link of {interface} are is not known: name their addresses, such as with --client 10.0.1.0/24"
    )]
    Unnamed {
        /// The interface.
        interface: String,
    },
    /// A target that no link has.
    #[error("{target} is a loopback address, which no link has: name an address of the server's card")]
    Loopback {
        /// The target.
        target: IpAddr,
    },
    /// The kernel does not show its tables.
    #[error("the addresses and routes of the network namespace ({namespace}) cannot be read: {source}")]
    Unread {
        /// The owner of the namespace, in words.
        namespace: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// A target that is not there.
    #[error(
        "{target} is no address of the servers' network namespace ({namespace}), which passes no packets on: name one that \
         it has ({others}), or set its ip_forward if the server is behind it"
    )]
    Elsewhere {
        /// The target.
        target: IpAddr,
        /// The owner of the namespace, in words.
        namespace: String,
        /// Addresses that there are.
        others: String,
    },
    /// Nobody to route.
    #[error(
        "the clients' network namespace ({namespace}) has no address of the target's family: add one, such as with \
         `ip address add 198.18.0.1/32 dev lo` there, or name the clients' addresses with --client"
    )]
    NoAddress {
        /// The owner of the namespace, in words.
        namespace: String,
    },
    /// A target among the clients.
    #[error("{target} is a target and a client: leave it out of --client")]
    TargetIsClient {
        /// The address.
        target: IpAddr,
    },
    /// A path to nowhere.
    #[error("--client {block},{towards}: no TARGET is in {towards}; name one there, or leave out this path")]
    NoTarget {
        /// The clients.
        block: Block,
        /// The block that the path leads to.
        towards: Block,
    },
    /// Clients that cannot be placed.
    #[error("--client: {0}")]
    Placed(PlacedError),
    /// An address or a route that leaves no room.
    #[error(
        "{block} would be routed to farfield in the network namespace ({namespace}), which has {by}: remove that first, or \
         name other addresses"
    )]
    InTheWay {
        /// The block.
        block: String,
        /// The address or the route, in words.
        by: String,
        /// The owner of the namespace, in words.
        namespace: String,
    },
    /// Nothing may be added.
    #[error(
        "farfield may not add an interface to the network namespace ({namespace}): {source}; run it as root (`sudo farfield …`)"
    )]
    NoRight {
        /// The owner of the namespace, in words.
        namespace: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// A gateway cannot be built.
    #[error(transparent)]
    Gateway(TestbedError),
}

impl RouteError {
    /// The error of building a gateway.
    pub(super) fn of_gateway(error: TestbedError) -> RouteError {
        match error {
            TestbedError::NoRight { namespace, source } => RouteError::NoRight { namespace, source },
            other => RouteError::Gateway(other),
        }
    }

    /// True if what was asked for is wrong, not what is there.
    pub fn is_usage(&self) -> bool {
        match self {
            RouteError::End(error) => error.is_usage(),
            RouteError::OneNamespace { .. }
            | RouteError::OneInterface { .. }
            | RouteError::Unnamed { .. }
            | RouteError::Loopback { .. }
            | RouteError::TargetIsClient { .. }
            | RouteError::NoTarget { .. }
            | RouteError::Placed(_)
            | RouteError::Elsewhere { .. } => true,
            RouteError::Unread { .. }
            | RouteError::NoAddress { .. }
            | RouteError::InTheWay { .. }
            | RouteError::NoRight { .. }
            | RouteError::Gateway(_) => false,
        }
    }
}
