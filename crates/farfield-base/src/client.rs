//! The number of a client of an emulated network.

use crate::index_type;

index_type! {
    /// A client of an emulated network: its place in the plan, and its number on every side of it.
    pub struct ClientId;
}

impl ClientId {
    /// The shard that has the client, among `shards`.
    pub fn shard(self, shards: u32) -> u32 {
        self.get() % shards
    }
}
