//! The sockets plane: users over the kernel's own TCP, for raw load on a LAN or loopback.
//!
//! A [worker] is one thread with its own event loop (epoll, edge-triggered), event wheel, users and sockets;
//! workers share nothing but the channel of samples.

pub(crate) mod arrivals;
mod failures;
pub mod peers;
pub mod sources;
pub mod transport;
mod unsent;
pub mod worker;

pub use peers::PeerBook;
pub use sources::{SourceAddresses, SourcesError};
