//! Connections that the users of a machine share: a connection whose reply is complete goes into the
//! machine's pool, and whichever user asks next takes it.
//!
//! So does Java's HTTP client, and with it the load generators that are made of it: HttpURLConnection keeps
//! at most `http.maxConnections` idle connections to a server, 5 by default, and gives the one that became
//! idle last to the next request, of whichever thread and session; what becomes idle beyond those is closed,
//! and so is what has been idle for 5 s, unless the server says otherwise ("Networking Properties", Java
//! SE). A server sees sessions that share connections, and fewer connections than sessions: Hashemian,
//! Krishnamurthy and Arlitt 2011 find that such a generator takes a server's behaviour for another.
//!
//! Here an idle connection is closed when its time is over, where Java looks every 5 s; servers'
//! `Keep-Alive` fields are not read. A machine is what the [transport](Transport::machine_of) takes for one.
//! What fails on an idle connection is nobody's failure.

use crate::connection::{Connection, State};
use crate::policy::Reuse;
use crate::population::Population;
use crate::slots::{ConnectionSlot, UserSlot};
use crate::transport::{ConnectionKey, Transport, Wake};
use farfield_base::Instant;
use std::collections::{BTreeMap, VecDeque};

/// The stay of a connection in a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Idle {
    /// The machine whose pool holds it.
    machine: u32,
    since: Instant,
}

/// The pools of all machines.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    /// Idle connections by machine, the one that became idle last at the end.
    idle: BTreeMap<u32, Vec<ConnectionSlot>>,
    /// When each stay began, the oldest first, be it over or not.
    stays: VecDeque<(Instant, ConnectionKey)>,
}

impl Pools {
    /// Takes a connection out of its pool.
    pub fn forget(&mut self, idle: Idle, slot: ConnectionSlot) {
        if let Some(pool) = self.idle.get_mut(&idle.machine) {
            pool.retain(|held| *held != slot);
        }
    }
}

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
