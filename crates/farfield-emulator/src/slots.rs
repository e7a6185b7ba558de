//! Numbers of clients, and slots of a side's tables. Slots are used again once what they held is gone.

pub use farfield_base::ClientId;

use farfield_base::index_type;

index_type! {
    /// A client in the table of its shard.
    pub(crate) struct ClientSlot;
}

impl ClientSlot {
    /// The slot of `client` in its shard, among `shards`.
    pub fn of(client: ClientId, shards: u32) -> ClientSlot {
        ClientSlot::new(client.get() / shards)
    }

    /// The client in this slot of shard `shard` among `shards`.
    pub fn id(self, shard: u32, shards: u32) -> ClientId {
        ClientId::new(self.get() * shards + shard)
    }
}

index_type! {
    /// A connection of a client, in the table of its shard.
    pub(crate) struct SocketSlot;
}

index_type! {
    /// A packet under way, in the table of the side that it is on.
    pub(crate) struct FlightSlot;
}

index_type! {
    /// A shared link: its place in [`NetworkPlan::shared`](crate::NetworkPlan::shared).
    pub struct SharedLinkId;
}
