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
//! `Keep-Alive` fields are not read. A machine is what the transport
//! [takes for one](crate::Transport::machine_of). What fails on an idle connection is nobody's failure.

use crate::slots::ConnectionSlot;
use crate::transport::ConnectionKey;
use farfield_base::{HostNumber, Instant};
use std::collections::{BTreeMap, VecDeque};

/// The stay of a connection in a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Idle {
    /// The machine whose pool holds it.
    pub machine: u32,
    /// The host that it leads to.
    pub host: HostNumber,
    pub since: Instant,
}

/// The pools of all machines.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    /// Idle connections by machine and host, the one that became idle last at the end.
    idle: BTreeMap<(u32, HostNumber), Vec<ConnectionSlot>>,
    /// Beginnings of stays, the oldest first, be the stay over or not.
    stays: VecDeque<(Instant, ConnectionKey)>,
}

impl Pools {
    /// The number of idle connections of a machine to a host.
    pub fn count(&self, machine: u32, host: HostNumber) -> usize {
        self.idle.get(&(machine, host)).map_or(0, Vec::len)
    }

    /// Puts a connection into the pool of `stay`; whether none was in any, so that none is waited for.
    pub fn put(&mut self, stay: Idle, key: ConnectionKey) -> bool {
        self.idle.entry((stay.machine, stay.host)).or_default().push(key.slot);
        let is_first = self.stays.is_empty();
        self.stays.push_back((stay.since, key));
        is_first
    }

    /// Takes the connection to a host out of a machine's pool that became idle last of those that `suits` it.
    pub fn take(
        &mut self,
        (machine, host): (u32, HostNumber),
        suits: impl Fn(&ConnectionSlot) -> bool,
    ) -> Option<ConnectionSlot> {
        let pool = self.idle.get_mut(&(machine, host))?;
        let place = pool.iter().rposition(suits)?;
        Some(pool.remove(place))
    }

    /// Takes a connection out of its pool.
    pub fn forget(&mut self, idle: Idle, slot: ConnectionSlot) {
        if let Some(pool) = self.idle.get_mut(&(idle.machine, idle.host)) {
            pool.retain(|held| *held != slot);
        }
    }

    /// The oldest stay, be it over or not.
    pub fn oldest(&self) -> Option<(Instant, ConnectionKey)> {
        self.stays.front().copied()
    }

    /// Forgets the oldest stay, which is over.
    pub fn end_oldest(&mut self) {
        self.stays.pop_front();
    }
}
