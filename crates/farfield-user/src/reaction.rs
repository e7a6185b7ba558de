//! Reactions of a population to what is handed to it: a wake, or what happened on a connection.
//!
//! Either may end requests, and the end of a request may begin the next page, so that a [`Reaction`] may
//! touch all that a population has. What only leaves is an [`Egress`], which touches less, and what touches
//! one owner is a method of that owner. The reactions to reports of connections are here; what follows from
//! them is in the modules `driver`, `settle`, `replies`, `stream_ends`, `messages`, `off`, `waiting` and
//! `unmade`.

use crate::connection::ConnectionState;
use crate::connections::Connections;
use crate::counters::Counters;
use crate::egress::Egress;
use crate::offered_load::OfferedLoad;
use crate::transport::{ConnectionKey, Failure, Transport, Wake};
use crate::users::Users;
use farfield_base::{Instant, Outcome, Stamp};

/// All that a population has at one instant, with the transport that carries it.
pub(crate) struct Reaction<'a, T> {
    pub load: &'a mut OfferedLoad,
    pub users: &'a mut Users,
    pub connections: &'a mut Connections,
    pub counters: &'a mut Counters,
    pub transport: &'a mut T,
    pub now: Instant,
}

impl<T: Transport> Reaction<'_, T> {
    /// Itself at another instant: what is handed on may have happened before or after what it came with.
    pub fn at(&mut self, now: Instant) -> Reaction<'_, T> {
        Reaction {
            load: self.load,
            users: self.users,
            connections: self.connections,
            counters: self.counters,
            transport: self.transport,
            now,
        }
    }

    /// All but the load.
    pub fn egress(&mut self) -> Egress<'_, T> {
        Egress {
            users: self.users,
            connections: self.connections,
            counters: self.counters,
            transport: self.transport,
            now: self.now,
        }
    }

    /// Handles a wake that was asked for with [`Transport::wake_at`] for `due`.
    pub fn handle_wake(&mut self, due: Instant, wake: Wake) {
        match wake {
            Wake::Deadline(_) => self.end_overdue(),
            Wake::Unanswered(_) => self.abandon_unanswered(),
            Wake::Idle(_) => self.egress().close_idle(),
            Wake::Quic(key) => self.handle_quic_timer(key),
            Wake::Alternative(key) => self.handle_attempt(key),
            Wake::Leave(key) => {
                if !self.end_unawaited(key) {
                    self.leave_streams(key);
                }
            }
            Wake::Continue(key) => self.egress().end_waiting_for_word(key),
            Wake::Load { item, turn } => self.begin_load(due, item, turn),
            Wake::Start { user } => self.begin_load(due, user, 0),
            Wake::Think { slot, turn } | Wake::Resume { slot, turn } => self.go_on(due, slot, turn),
            Wake::Off { slot, turn } => self.end_off_time(due, slot, turn),
        }
    }

    /// The connection is established.
    pub fn handle_connected(&mut self, key: ConnectionKey) {
        let Some(connection) = self.connections.table.find(key) else { return };
        if connection.state != ConnectionState::Connecting {
            return;
        }
        let host = connection.host;
        match &self.connections.host(host).tunnel {
            Some(_) => self.connections.begin_tunnel(self.transport, key),
            None => self.handle_reached(key),
        }
    }

    /// The server is reached.
    pub(crate) fn handle_reached(&mut self, key: ConnectionKey) {
        let Some(connection) = self.connections.table.find(key) else { return };
        connection.state = ConnectionState::Open;
        connection.connected = Stamp::at(self.now);
        let (user, host, descriptor) = (connection.user, connection.host, connection.descriptor.take());
        self.connections.table.start_limit(key.slot, self.now);
        match self.connections.host(host).tls.is_some() {
            true => self.egress().begin_securing(key),
            false => self.egress().begin_requests(key.slot),
        }
        if let Some(descriptor) = descriptor {
            self.handle_answered(descriptor);
        }
        self.egress().pump(user);
    }

    /// Bytes came on the connection.
    pub fn handle_received(&mut self, key: ConnectionKey, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.counters.note_received(self.now);
        }
        if self.connections.is_tunnelling(key) {
            return self.handle_tunnel(key, bytes);
        }
        match self.connections.is_sealed(key) {
            true => self.handle_sealed(key, bytes),
            false => self.handle_plain(key, bytes),
        }
    }

    /// Bytes of replies came on the connection, in the clear.
    pub(crate) fn handle_plain(&mut self, key: ConnectionKey, bytes: &[u8]) {
        if let Some(connection) = self.connections.table.find(key) {
            let at = connection.protocol.hear(self.now);
            self.at(at).handle_replies(key, bytes);
        }
    }

    /// The peer closed in good order.
    pub fn handle_closed(&mut self, key: ConnectionKey) {
        if self.connections.is_tunnelling(key) {
            return self.handle_closed_tunnel(key);
        }
        let Some(connection) = self.connections.table.find(key) else { return };
        let ended = connection.protocol.finish();
        if let Some(session) = &connection.tls {
            // Without the peer's word, the end of the connection may not be the end of the reply.
            let cut = matches!(ended, Ok(Some(_))) && !session.is_closed_by_peer();
            if cut || !session.may_end() {
                return self.lose(key.slot, Outcome::TlsTruncated);
            }
        }
        if self.keeps_messages(key) {
            return;
        }
        match ended {
            Ok(Some(reply)) => self.complete(key.slot, reply, false),
            Ok(None) => self.lose(key.slot, Outcome::ClosedUnanswered),
            Err(malformed) => self.lose(key.slot, malformed.outcome()),
        }
    }

    /// The connection, or the attempt at one, failed.
    pub fn handle_failed(&mut self, key: ConnectionKey, failure: Failure) {
        if failure == Failure::Reset && self.connections.is_tunnelling(key) {
            return self.handle_reset_tunnel(key);
        }
        let Some(connection) = self.connections.table.find(key) else { return };
        // A descriptor whose attempt failed tries again when its time T has passed.
        connection.descriptor = None;
        self.counters.load.moves.broken += u64::from(failure == Failure::NetworkChanged);
        self.lose(key.slot, failure.ending());
    }
}
