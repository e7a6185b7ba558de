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
use farfield_base::Instant;
use std::collections::{BTreeMap, VecDeque};

/// The stay of a connection in a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Idle {
    /// The machine whose pool holds it.
    pub machine: u32,
    pub since: Instant,
}

/// The pools of all machines.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    /// Idle connections by machine, the one that became idle last at the end.
    pub idle: BTreeMap<u32, Vec<ConnectionSlot>>,
    /// When each stay began, the oldest first, be it over or not.
    pub stays: VecDeque<(Instant, ConnectionKey)>,
}

impl Pools {
    /// Takes a connection out of its pool.
    pub fn forget(&mut self, idle: Idle, slot: ConnectionSlot) {
        if let Some(pool) = self.idle.get_mut(&idle.machine) {
            pool.retain(|held| *held != slot);
        }
    }
}
