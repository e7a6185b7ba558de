//! The connections of a population, and which of them runs out of time first.
//!
//! All requests have the same time limit, so the order in which limits begin is the order in which they end:
//! a list linked through the connections themselves keeps it, and costs a few words a connection and nothing
//! a request. A timer for each request would leave millions of dead ones behind in the wheel.
//!
//! Over HTTP/2 and HTTP/3 each request on a connection has its own limit, and they do not end in the order
//! in which they began. Such a connection is watched instead: it lies in a set by an instant no later than
//! the oldest of its requests was sent, and is looked at when the limit from there is over. That costs a
//! request nothing.

use crate::connection::{Connection, Link};
use crate::slots::ConnectionSlot;
use crate::transport::ConnectionKey;
use farfield_base::Instant;
use slab::Slab;
use std::collections::BTreeSet;

#[derive(Debug)]
pub(crate) struct ConnectionSlots {
    connections: Slab<Connection>,
    first: Option<ConnectionSlot>,
    last: Option<ConnectionSlot>,
    /// Connections with streams that are watched, by the instant that their limit counts from.
    watched: BTreeSet<(Instant, ConnectionSlot)>,
}

impl ConnectionSlots {
    pub fn new() -> ConnectionSlots {
        ConnectionSlots { connections: Slab::new(), first: None, last: None, watched: BTreeSet::new() }
    }

    pub fn insert(&mut self, connection: Connection) -> ConnectionKey {
        let serial = connection.serial;
        ConnectionKey { slot: ConnectionSlot::at(self.connections.insert(connection)), serial }
    }

    /// The connection that `key` names, unless it is gone.
    pub fn find(&mut self, key: ConnectionKey) -> Option<&mut Connection> {
        self.connections.get_mut(key.slot.index()).filter(|connection| connection.serial == key.serial)
    }

    pub fn key(&self, slot: ConnectionSlot) -> ConnectionKey {
        ConnectionKey { slot, serial: self.at(slot).serial }
    }

    pub fn at(&self, slot: ConnectionSlot) -> &Connection {
        &self.connections[slot.index()]
    }

    pub fn at_mut(&mut self, slot: ConnectionSlot) -> &mut Connection {
        &mut self.connections[slot.index()]
    }

    pub fn remove(&mut self, slot: ConnectionSlot) -> Connection {
        self.stop_limit(slot);
        self.unwatch(slot);
        self.connections.remove(slot.index())
    }

    pub fn len(&self) -> usize {
        self.connections.len()
    }

    pub fn slots(&self) -> impl Iterator<Item = ConnectionSlot> + '_ {
        self.connections.iter().map(|(slot, _)| ConnectionSlot::at(slot))
    }

    /// The connection whose time limit began first, and when.
    pub fn oldest_limit(&self) -> Option<(ConnectionSlot, Instant)> {
        self.first.map(|first| (first, self.at(first).limit.from))
    }

    /// The watched connection to be looked at first, and the instant that its limit counts from.
    pub fn oldest_watched(&self) -> Option<(ConnectionSlot, Instant)> {
        self.watched.first().map(|(from, slot)| (*slot, *from))
    }

    /// Watches a connection with streams whose oldest request was sent at `from` or later, unless it is
    /// watched.
    pub fn watch(&mut self, slot: ConnectionSlot, from: Instant) {
        let connection = self.at_mut(slot);
        if connection.watched.is_none() {
            connection.watched = Some(from);
            self.watched.insert((from, slot));
        }
    }

    /// Watches a connection no longer.
    pub fn unwatch(&mut self, slot: ConnectionSlot) {
        if let Some(from) = self.at_mut(slot).watched.take() {
            self.watched.remove(&(from, slot));
        }
    }

    /// Begins the time limit of a connection anew. `now` never goes back, so the list stays in order.
    pub fn start_limit(&mut self, slot: ConnectionSlot, now: Instant) {
        self.stop_limit(slot);
        let before = self.last;
        self.at_mut(slot).limit = Link { listed: true, from: now, before, after: None };
        match before {
            None => self.first = Some(slot),
            Some(before) => self.at_mut(before).limit.after = Some(slot),
        }
        self.last = Some(slot);
    }

    /// No limit runs on an idle connection.
    pub fn stop_limit(&mut self, slot: ConnectionSlot) {
        let Link { listed, before, after, .. } = std::mem::replace(&mut self.at_mut(slot).limit, Link::OUT);
        if !listed {
            return;
        }
        match before {
            None => self.first = after,
            Some(before) => self.at_mut(before).limit.after = after,
        }
        match after {
            None => self.last = before,
            Some(after) => self.at_mut(after).limit.before = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slots::UserSlot;
    use farfield_base::HostNumber;
    use proptest::prelude::*;

    proptest! {
        /// Against a plain vector in order of beginning.
        #[test]
        fn limits_end_in_the_order_they_began(steps in prop::collection::vec((0u32..8, any::<bool>()), 1..200)) {
            let mut table = ConnectionSlots::new();
            for serial in 0..8 {
                table.insert(Connection::new(serial, (UserSlot::new(0), HostNumber::TARGET), None));
            }
            let mut model: Vec<(ConnectionSlot, Instant)> = Vec::new();
            for (time, (slot, start)) in steps.into_iter().enumerate() {
                let (slot, now) = (ConnectionSlot::new(slot), Instant::from_ns(time as u64));
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
