//! Numbers of clients, and slots of a side's tables. Slots are used again once what they held is gone.

use farfield_base::index_type;

index_type! {
    /// A client: its place in [`NetworkPlan::clients`](crate::NetworkPlan::clients), and its number on every
    /// side.
    pub struct ClientId;
}

impl ClientId {
    /// The shard that has the client, among `shards`.
    pub fn shard(self, shards: u32) -> u32 {
        self.get() % shards
    }

    /// The client's slot in its shard.
    pub(crate) fn slot(self, shards: u32) -> ClientSlot {
        ClientSlot::new(self.get() / shards)
    }
}

index_type! {
    /// A client in the table of its shard.
    pub(crate) struct ClientSlot;
}

impl ClientSlot {
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

index_type! {
    /// A connection of a model of a server.
    pub(crate) struct ServedSlot;
}

index_type! {
    /// A connection in TIME-WAIT of a model of a server.
    pub(crate) struct WaitSlot;
}
