//! Slots of a server's tables. They are used again once what they held is gone.

pub(crate) use farfield_base::ClientId;

use farfield_base::index_type;

index_type! {
    /// A connection of the server.
    pub(crate) struct ServedSlot;
}

index_type! {
    /// A connection of the server in TIME-WAIT.
    pub(crate) struct WaitSlot;
}
