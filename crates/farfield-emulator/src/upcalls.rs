//! Upcalls: what happened to connections, for their users.
//!
//! They are queued, and made once users and their hosts have returned. The sockets plane has a smaller set of
//! its own (`sockets/transport.rs` of farfield-engine), since there the kernel keeps received bytes until
//! they are read.

use bytes::Bytes;
use farfield_base::TcpStats;
use farfield_user::{ConnectionKey, Failure};
use farfield_wire::Ecn;
use std::collections::VecDeque;

/// Something that happened to a connection.
#[derive(Debug)]
pub(crate) enum Upcall {
    Connected(ConnectionKey),
    Received(ConnectionKey, Bytes),
    Datagram(ConnectionKey, Ecn, Bytes),
    Closed(ConnectionKey),
    /// The connection's datagrams take another path from now on.
    Moved(ConnectionKey),
    /// With the connection's counters, if it was ever begun.
    Failed(ConnectionKey, Failure, Option<TcpStats>),
}

/// The upcalls that are to be made, in order.
#[derive(Debug, Default)]
pub(crate) struct Upcalls {
    queue: VecDeque<Upcall>,
    /// Counters of the connection whose failure a user is being called about.
    failed: Option<(ConnectionKey, TcpStats)>,
}

impl Upcalls {
    pub fn push(&mut self, upcall: Upcall) {
        self.queue.push_back(upcall);
    }

    /// The next upcall, which is made now.
    pub fn pop(&mut self) -> Option<Upcall> {
        let upcall = self.queue.pop_front()?;
        if let Upcall::Failed(key, _, counters) = &upcall {
            self.failed = counters.map(|counters| (*key, counters));
        }
        Some(upcall)
    }

    /// The number of upcalls that wait.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Puts an upcall in, ahead of all but the first `ahead`.
    pub fn insert(&mut self, ahead: usize, upcall: Upcall) {
        self.queue.insert(ahead, upcall);
    }

    /// True if the next upcall says that the connection has ended.
    pub fn end_next(&self, key: ConnectionKey) -> bool {
        let next = self.queue.front();
        matches!(next, Some(Upcall::Closed(of) | Upcall::Failed(of, ..)) if *of == key)
    }

    /// Counters of a connection that has failed, while its user is called about that.
    pub fn counters_of_failed(&self, key: ConnectionKey) -> Option<TcpStats> {
        self.failed.filter(|(of, _)| *of == key).map(|(_, counters)| counters)
    }
}
