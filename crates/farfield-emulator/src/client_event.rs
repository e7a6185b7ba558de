//! Events of clients and their users, on the wheel of their shard.

use crate::slots::SocketSlot;
use farfield_net::timeout_queue::Owner;
use farfield_user::Wake;

/// An event of clients and their users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientEvent {
    /// Users asked for it.
    Wake(Wake),
    /// A timer of a connection may be due.
    Timer(Owner<SocketSlot>),
    /// Timers of a timeout queue may be due.
    Timeouts(u16),
    /// The client of this place among the [moves](crate::NetworkPlan::moves) moves.
    Move(u32),
}
