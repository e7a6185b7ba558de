//! The emulated internet, a shard at a time: clients with an IP address, a TCP and a path each, and the users
//! on them.
//!
//! A [`Shard`] owns clients, their connections, their own links and its part of the shared ones. It does no
//! I/O and reads no clock: packets from the server are handed in ([`Shard::handle_packet`]), time is let pass
//! ([`Shard::step`]), packets for the server are taken out ([`Shard::poll_departure`]). Who is at the other
//! end, a kernel behind a gateway or a [model of a server](farfield_model), it does not know. A [`Router`] is
//! the network alone, between real hosts at both ends; beside users, real hosts have [seats](Shard::seat)
//! among the clients of a shard.
//!
//! Everything happens at the instant at which it was meant to happen, however late the shard comes to it:
//! being late once makes nothing else late. How late it was is counted ([`Lateness`]).
//!
//! Systems of this kind in the papers: IP-TNE (Williamson, Simmonds and Arlitt 2004), the delay router of
//! Banga and Druschel (1999), WASP (Nahum et al. 2001).

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod bindings;
pub mod capture;
mod client;
mod client_event;
mod client_side;
mod clients;
pub mod cross_traffic;
mod datagrams;
mod directory;
mod edge;
mod five_tuple;
mod flight;
mod forward;
pub mod framed;
mod hosts;
mod icmp;
pub mod lag;
pub mod lateness;
pub mod layout;
pub mod link_counts;
mod links;
mod models;
mod moves;
pub mod offload;
pub mod packet;
pub mod path;
pub mod plan;
mod prefetch;
mod real_hosts;
mod receive;
mod records;
mod router;
mod server;
mod shard;
mod shared;
pub mod simulation;
mod slots;
mod tcp_sockets;
mod time_wait;
mod transit;
mod transport;
mod upcalls;

pub use capture::{CaptureFilter, CapturePlan, CapturedPacket};
pub use cross_traffic::CrossFlow;
pub use directory::Directory;
pub use farfield_model::ServerPlan;
pub use framed::{Framed, Head};
pub use lateness::Lateness;
pub use link_counts::LinkCounts;
pub use packet::{Packet, PacketPayload, Tcp, Udp};
pub use plan::{
    ClassPlan, ClientPlan, HopPlan, HostWays, MovePlan, NetworkPlan, NodePlan, OtherServers, RoutePlan,
    Servers,
};
pub use router::Router;
pub use server::ServerModel;
pub use shard::Shard;
pub use shared::SharedLinks;
pub use simulation::{Simulated, Simulation, simulate};
pub use slots::{ClientId, SharedLinkId};
pub use transit::{Crossing, Departure};
