//! The setup of a server: its plan, its clients, and the rules that follow from them alone.

use super::{ServerPlan, Workers};
use crate::ClientAddresses;
use crate::slots::ClientId;
use farfield_base::random::Seed;
use farfield_base::{Duration, Instant};
use farfield_tcp::{Numbers, SeqNumber};
use std::net::IpAddr;
use std::sync::Arc;

/// The longest wait for the first request of a connection (nginx: `client_header_timeout`).
const FIRST_REQUEST: Duration = Duration::from_secs(60);

/// The setup of a server, which does not change.
#[derive(Debug)]
pub(crate) struct ServerSetup {
    pub plan: Arc<ServerPlan>,
    /// The port at which it listens.
    pub port: u16,
    pub clients: Arc<dyn ClientAddresses>,
    pub seed: Seed,
}

impl ServerSetup {
    /// The number of the client at `address`.
    pub fn client_at(&self, address: IpAddr) -> Option<ClientId> {
        self.clients.client_at(address)
    }

    /// True if a worker is a process that holds one connection.
    pub fn is_prefork(&self) -> bool {
        matches!(self.plan.workers, Workers::Processes(_))
    }

    /// True if a connection is closed after so many replies.
    pub fn ends_after(&self, answered: u32) -> bool {
        self.plan.keep_alive.is_none() || self.plan.requests_max.is_some_and(|max| answered >= max.get())
    }

    /// The longest wait for a request on a connection with so many replies.
    pub fn longest_wait_after(&self, answered: u32) -> Duration {
        if answered == 0 { FIRST_REQUEST } else { self.plan.keep_alive.unwrap_or(FIRST_REQUEST) }
    }

    /// The numbers that a connection begins with; see RFC 9293 §3.4.1.
    pub fn numbers(&self, now: Instant, client: ClientId, port: u16) -> Numbers {
        let key = u64::from(client.get()) << 16 | u64::from(port);
        let hash = (self.seed.0 ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let isn = SeqNumber((hash >> 32) as u32).at((now.as_ns() / 4_000) as i64);
        Numbers { isn, timestamp_offset: client.get().wrapping_mul(0x85eb_ca6b) }
    }
}
