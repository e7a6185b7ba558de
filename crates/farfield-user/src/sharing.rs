//! Connections that pass from user to user, through the pool of their machine (the module `pool`).

use crate::connection::{Connection, ConnectionState};
use crate::egress::Egress;
use crate::pool::{Idle, Pools};
use crate::slots::{ConnectionSlot, FlowNumber, UserSlot};
use crate::transport::{Transport, Wake};
use farfield_base::HostNumber;

impl<T: Transport> Egress<'_, T> {
    /// Gives a connection of a user's, which is open and on which nothing is asked, to the pool of the user's
    /// machine, where users share connections.
    pub(crate) fn give_back(&mut self, slot: ConnectionSlot) {
        let Connection { user, host, ending, .. } = *self.connections.table.at(slot);
        // Connections that the server closes are about to fail.
        let Some(pools) = self.connections.pools.as_mut().filter(|_| !ending) else { return };
        let machine = self.transport.machine_of(self.users[user].number);
        let stay = Idle { machine, host, since: self.now };
        if pools.count(machine, host) >= usize::from(self.connections.policy.pool_idle) {
            self.drop_connection(slot);
            return;
        }
        if pools.put(stay, self.connections.table.key(slot)) {
            self.transport.wake_at(
                self.now + self.connections.policy.pool_keep_alive,
                Wake::Idle(FlowNumber::default()),
            );
        }
        self.users[user].connections.retain(|own| *own != slot);
        self.connections.table.at_mut(slot).idle = Some(stay);
    }

    /// Makes the connection to `host` that became idle last in the pool of the user's machine the user's;
    /// `None` if there is none that is open on both sides.
    pub(crate) fn take_idle(&mut self, slot: UserSlot, host: HostNumber) -> Option<ConnectionSlot> {
        let pools = self.connections.pools.as_mut()?;
        let user = &mut self.users[slot];
        let table = &self.connections.table;
        let is_open =
            |at: &ConnectionSlot| table.at(*at).state == ConnectionState::Open && !table.at(*at).ending;
        let taken = pools.take((self.transport.machine_of(user.number), host), is_open)?;
        user.connections.push(taken);
        let connection = self.connections.table.at_mut(taken);
        (connection.user, connection.idle) = (slot, None);
        Some(taken)
    }

    /// Closes the connections that have been idle for too long. All may be for as long, so stays lie in
    /// order.
    pub(crate) fn close_idle(&mut self) {
        while let Some((since, key)) = self.connections.pools.as_ref().and_then(Pools::oldest) {
            let until = since + self.connections.policy.pool_keep_alive;
            let connection = self.connections.table.find(key);
            let stays =
                connection.and_then(|connection| connection.idle).is_some_and(|idle| idle.since == since);
            if stays && until > self.now {
                return self.transport.wake_at(until, Wake::Idle(FlowNumber::default()));
            }
            if stays {
                self.drop_connection(key.slot);
            }
            if let Some(pools) = &mut self.connections.pools {
                pools.end_oldest();
            }
        }
    }
}
