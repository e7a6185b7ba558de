//! The clients of a shard: their numbers in the plan, who acts on them, and what they are after a move.

use crate::client::Client;
use crate::plan::NetworkPlan;
use crate::slots::{ClientId, ClientSlot};
use farfield_base::random::Seed;
use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};

/// A shard's part of the clients of a network: number `shard`, `shard + shards`, ….
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientShare {
    pub shard: u32,
    pub shards: u32,
}

impl ClientShare {
    /// True if the client is of this shard.
    pub fn has(self, client: ClientId) -> bool {
        client.shard(self.shards) == self.shard
    }

    /// The slot of a client of this shard.
    pub fn slot_of(self, client: ClientId) -> ClientSlot {
        ClientSlot::of(client, self.shards)
    }

    /// The number of the client in `slot`.
    pub fn id_of(self, slot: ClientSlot) -> ClientId {
        slot.id(self.shard, self.shards)
    }
}

/// The clients of a shard.
#[derive(Debug)]
pub(crate) struct ClientTable {
    pub share: ClientShare,
    table: Box<[Client]>,
    /// Clients of the whole network that users act on.
    acting: u32,
    /// The clients that users act on, in order, where these are not all.
    with_users: Option<Box<[ClientId]>>,
    /// Clients that have moved, with what they are now.
    moved: BTreeMap<ClientSlot, ClientSlot>,
}

impl ClientTable {
    /// The clients of `plan` that are of this shard.
    pub fn new(plan: &NetworkPlan, seed: Seed, share: ClientShare) -> ClientTable {
        let own = (0..plan.clients.len()).map(ClientId::at).filter(|client| share.has(*client));
        let table = own.map(|number| {
            let client = &plan.clients[number.index()];
            Client::new(number, client, &plan.classes[usize::from(client.class)], seed)
        });
        ClientTable {
            share,
            table: table.collect(),
            acting: plan.acting() as u32,
            with_users: None,
            moved: BTreeMap::new(),
        }
    }

    /// The client in `slot`, if there is one.
    pub fn get(&self, slot: ClientSlot) -> Option<&Client> {
        self.table.get(slot.index())
    }

    /// Keeps users off these clients, of which there must be fewer than all.
    pub fn keep_users_off(&mut self, clients: &[ClientId]) {
        let numbers = self.table.iter().map(|client| client.number);
        let with_users: Box<[ClientId]> = numbers.filter(|number| !clients.contains(number)).collect();
        assert!(!with_users.is_empty(), "a shard whose users have no client");
        self.with_users = Some(with_users);
    }

    /// True if there are clients that no users act on.
    pub fn are_partly_without_users(&self) -> bool {
        self.with_users.is_some()
    }

    /// The number of the client that user `user` acts on, as it was at first.
    pub fn number_of_first(&self, user: u32) -> ClientId {
        match &self.with_users {
            None => ClientId::new(user % self.acting),
            // Users are dealt out over shards by number, as clients are.
            Some(clients) => clients[(user / self.share.shards) as usize % clients.len()],
        }
    }

    /// The client that user `user` acts on, as it was at first.
    pub fn first_of(&self, user: u32) -> ClientSlot {
        self.share.slot_of(self.number_of_first(user))
    }

    /// The client that user `user` acts on, as it is now.
    pub fn present_of(&self, user: u32) -> ClientSlot {
        let client = self.first_of(user);
        self.moved.get(&client).copied().unwrap_or(client)
    }

    /// Makes `to` what the client at `from` is from now on.
    pub fn move_to(&mut self, from: ClientSlot, to: ClientSlot) {
        self.moved.insert(from, to);
    }

    /// True if the client has moved: nobody is there any more.
    pub fn has_left(&self, client: ClientSlot) -> bool {
        self.moved.contains_key(&client)
    }
}

impl Index<ClientSlot> for ClientTable {
    type Output = Client;

    fn index(&self, slot: ClientSlot) -> &Client {
        &self.table[slot.index()]
    }
}

impl IndexMut<ClientSlot> for ClientTable {
    fn index_mut(&mut self, slot: ClientSlot) -> &mut Client {
        &mut self.table[slot.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_is_of_one_shard_and_has_a_slot_of_its_own_there() {
        for number in 0..20 {
            let client = ClientId::new(number);
            let shares = (0..3).map(|shard| ClientShare { shard, shards: 3 });
            let own: Vec<ClientShare> = shares.filter(|share| share.has(client)).collect();
            assert_eq!(own.len(), 1);
            assert_eq!(own[0].id_of(own[0].slot_of(client)), client);
        }
    }
}
