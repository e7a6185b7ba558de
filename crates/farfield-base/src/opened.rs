//! A connection that a user began, with the addresses by which packets of it are recognised.

use crate::time::Instant;
use std::net::SocketAddr;

/// The beginning of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened {
    /// The connection, as in [`Sample::connection`](crate::Sample::connection).
    pub connection: u32,
    /// The user that it was opened for, as in [`Sample::user`](crate::Sample::user).
    pub user: u32,
    /// Instant at which it was begun.
    pub at: Instant,
    /// The client's address and port.
    pub client: SocketAddr,
    /// The server's address and port.
    pub server: SocketAddr,
}
