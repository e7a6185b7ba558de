//! Connections that pass from user to user, through the pool of their machine (the module `pool`).

use crate::connection::{Connection, State};
use crate::policy::Reuse;
use crate::pool::Idle;
use crate::population::Population;
use crate::slots::{ConnectionSlot, UserSlot};
use crate::transport::{Transport, Wake};
use farfield_base::Instant;

impl Population {
    /// Gives a connection of a user's, which is open and on which nothing is asked, to the pool of the user's
    /// machine, where users share connections.
    pub(crate) fn give_back<T: Transport>(&mut self, transport: &mut T, now: Instant, slot: ConnectionSlot) {
        let Connection { user, ending, .. } = *self.table.at(slot);
        // What the server closes is about to fail; an attempt of the overload model has a connection of its
        // own.
        if self.policy.policy != Reuse::SharedPool || ending || self.model.is_single() {
            return;
        }
        let machine = transport.machine_of(self.users[user.index()].number);
        let pool = self.pools.idle.entry(machine).or_default();
        if pool.len() >= usize::from(self.policy.pool_idle) {
            self.drop_connection(transport, slot);
            return;
        }
        pool.push(slot);
        self.users[user.index()].connections.retain(|own| *own != slot);
        self.table.at_mut(slot).idle = Some(Idle { machine, since: now });
        if self.pools.stays.is_empty() {
            transport.wake_at(now + self.policy.pool_keep_alive, Wake::Idle);
        }
        self.pools.stays.push_back((now, self.table.key(slot)));
    }

    /// Makes the connection that became idle last in the pool of the user's machine the user's; `None` if
    /// there is none that is open on both sides.
    pub(crate) fn take_idle<T: Transport>(
        &mut self,
        transport: &T,
        slot: UserSlot,
    ) -> Option<ConnectionSlot> {
        if self.policy.policy != Reuse::SharedPool {
            return None;
        }
        let user = &mut self.users[slot.index()];
        let pool = self.pools.idle.get_mut(&transport.machine_of(user.number))?;
        let table = &self.table;
        let open = |at: &ConnectionSlot| table.at(*at).state == State::Open && !table.at(*at).ending;
        let taken = pool.remove(pool.iter().rposition(open)?);
        user.connections.push(taken);
        let connection = self.table.at_mut(taken);
        (connection.user, connection.idle) = (slot, None);
        Some(taken)
    }

    /// Closes the connections that have been idle for too long. All may be for as long, so stays lie in
    /// order.
    pub(crate) fn close_idle<T: Transport>(&mut self, transport: &mut T, now: Instant) {
        while let Some((since, key)) = self.pools.stays.front().copied() {
            let until = since + self.policy.pool_keep_alive;
            let connection = self.table.find(key);
            let stays =
                connection.and_then(|connection| connection.idle).is_some_and(|idle| idle.since == since);
            if stays && until > now {
                return transport.wake_at(until, Wake::Idle);
            }
            if stays {
                self.drop_connection(transport, key.slot);
            }
            self.pools.stays.pop_front();
        }
    }
}
