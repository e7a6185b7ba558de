//! Clients, as a server knows them: their ports with connections, and how much they have asked for.

use crate::slots::{ClientId, ServedSlot, WaitSlot};
use smallvec::SmallVec;
use std::ops::{Index, IndexMut};

/// The connection on a port of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeerPort {
    Open(ServedSlot),
    TimeWait(WaitSlot),
}

/// A client, as the server knows it.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    /// The client's ports with connections, in order.
    ports: SmallVec<[(u16, PeerPort); 1]>,
    /// Requests that it made.
    pub requests: u32,
}

/// The clients of a server.
#[derive(Debug)]
pub(crate) struct PeerTable {
    table: Vec<Peer>,
}

impl PeerTable {
    /// A table of so many clients, without connections.
    pub fn new(clients: usize) -> PeerTable {
        let mut table = Vec::new();
        table.resize_with(clients, Peer::default);
        PeerTable { table }
    }
}

impl Index<ClientId> for PeerTable {
    type Output = Peer;

    fn index(&self, client: ClientId) -> &Peer {
        &self.table[client.index()]
    }
}

impl IndexMut<ClientId> for PeerTable {
    fn index_mut(&mut self, client: ClientId) -> &mut Peer {
        &mut self.table[client.index()]
    }
}

impl Peer {
    pub fn find(&self, port: u16) -> Option<PeerPort> {
        self.position(port).ok().map(|at| self.ports[at].1)
    }

    pub fn set(&mut self, port: u16, own: PeerPort) {
        match self.position(port) {
            Ok(at) => self.ports[at].1 = own,
            Err(at) => self.ports.insert(at, (port, own)),
        }
    }

    pub fn forget(&mut self, port: u16) {
        if let Ok(at) = self.position(port) {
            self.ports.remove(at);
            if self.ports.is_empty() {
                self.ports.shrink_to_fit();
            }
        }
    }

    fn position(&self, port: u16) -> Result<usize, usize> {
        self.ports.binary_search_by_key(&port, |(port, _)| *port)
    }
}
