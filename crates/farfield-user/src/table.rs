//! The connections of a population, and which of them runs out of time first.
//!
//! All requests have the same time limit, so the order in which limits begin is the order in which they end: a
//! list linked through the connections themselves keeps it, and costs a few words a connection and nothing a
//! request. A timer for each request would leave millions of dead ones behind in the wheel.

use crate::connection::{Connection, Link};
use crate::host::ConnectionKey;
use farfield_base::Instant;
use slab::Slab;

const NIL: u32 = u32::MAX;

#[derive(Debug)]
pub(crate) struct Table {
    connections: Slab<Connection>,
    first: u32,
    last: u32,
}

impl Table {
    pub fn new() -> Table {
        Table { connections: Slab::new(), first: NIL, last: NIL }
    }

    pub fn insert(&mut self, connection: Connection) -> ConnectionKey {
        let serial = connection.serial;
        ConnectionKey { slot: self.connections.insert(connection) as u32, serial }
    }

    /// The connection that `key` names, unless it is gone.
    pub fn find(&mut self, key: ConnectionKey) -> Option<&mut Connection> {
        self.connections.get_mut(key.slot as usize).filter(|connection| connection.serial == key.serial)
    }

    pub fn key(&self, slot: u32) -> ConnectionKey {
        ConnectionKey { slot, serial: self.at(slot).serial }
    }

    pub fn at(&self, slot: u32) -> &Connection {
        &self.connections[slot as usize]
    }

    pub fn at_mut(&mut self, slot: u32) -> &mut Connection {
        &mut self.connections[slot as usize]
    }

    pub fn remove(&mut self, slot: u32) -> Connection {
        self.stop_limit(slot);
        self.connections.remove(slot as usize)
    }

    pub fn len(&self) -> usize {
        self.connections.len()
    }

    pub fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        self.connections.iter().map(|(slot, _)| slot as u32)
    }

    /// The connection whose time limit began first, and when.
    pub fn oldest_limit(&self) -> Option<(u32, Instant)> {
        (self.first != NIL).then(|| (self.first, self.at(self.first).limit.from))
    }

    /// Begins the time limit of a connection anew. `now` never goes back, so the list stays in order.
    pub fn start_limit(&mut self, slot: u32, now: Instant) {
        self.stop_limit(slot);
        let before = self.last;
        self.at_mut(slot).limit = Link { listed: true, from: now, before, after: NIL };
        match before {
            NIL => self.first = slot,
            _ => self.at_mut(before).limit.after = slot,
        }
        self.last = slot;
    }

    /// No limit runs on an idle connection.
    pub fn stop_limit(&mut self, slot: u32) {
        let Link { listed, before, after, .. } = std::mem::replace(&mut self.at_mut(slot).limit, Link::OUT);
        if !listed {
            return;
        }
        match before {
            NIL => self.first = after,
            _ => self.at_mut(before).limit.after = after,
        }
        match after {
            NIL => self.last = before,
            _ => self.at_mut(after).limit.before = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::NO_DESCRIPTOR;
    use proptest::prelude::*;

    proptest! {
        /// Against a plain vector in order of beginning.
        #[test]
        fn limits_end_in_the_order_they_began(steps in prop::collection::vec((0u32..8, any::<bool>()), 1..200)) {
            let mut table = Table::new();
            for serial in 0..8 {
                table.insert(Connection::new(serial, 0, NO_DESCRIPTOR));
            }
            let mut model: Vec<(u32, Instant)> = Vec::new();
            for (time, (slot, start)) in steps.into_iter().enumerate() {
                let now = Instant::from_ns(time as u64);
                model.retain(|(listed, _)| *listed != slot);
                if start {
                    table.start_limit(slot, now);
                    model.push((slot, now));
                } else {
                    table.stop_limit(slot);
                }
                prop_assert_eq!(table.oldest_limit(), model.first().copied());
            }
        }
    }
}
