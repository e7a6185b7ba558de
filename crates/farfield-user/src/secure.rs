//! TLS between the transport and the readers of replies, where the scheme is https: the handshake, and what
//! comes sealed.
//!
//! A request waits for the handshake as it waits for the connection, within the same time limit. Sealing
//! allocates nothing beside what the library does.

use crate::connection::State;
use crate::outgoing::Outgoing;
use crate::population::Population;
use crate::slots::{ConnectionSlot, UserSlot};
use crate::transport::{ConnectionKey, Transport};
use farfield_base::{Detail, Ending, Instant, Outcome, Rule, SpokenVersion};
use farfield_http::tls::{Session, TlsFailure};
use std::sync::Arc;

/// Hands what the session has to send to the transport, through `sealed`; returns when that was, if there was
/// anything.
pub(crate) fn send_of<T: Transport>(
    session: &mut Session,
    transport: &mut T,
    key: ConnectionKey,
    sealed: &mut Vec<u8>,
    outgoing: &mut Outgoing,
) -> Option<Instant> {
    session.take_to_send(sealed);
    let sent = (!sealed.is_empty()).then(|| transport.send(key, &outgoing.keep(sealed)));
    sealed.clear();
    sent
}

impl Population {
    /// Begins the handshake on a connection that is established.
    pub(crate) fn begin_securing<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
    ) {
        let (Some(client), Some(connection)) = (&self.tls, self.table.find(key)) else { return };
        let user = self.users[connection.user.index()].number;
        let session = connection.tls.insert(client.begin(now, user));
        connection.state = State::Securing;
        if self.window.contains(now) {
            self.tally.handshake_cpu = self.tally.handshake_cpu + session.take_spent();
        }
        let is_early = self.seal_early(key.slot);
        let Some(session) = &mut self.table.at_mut(key.slot).tls else { return };
        let sent = send_of(session, transport, key, &mut self.sealed, &mut self.outgoing);
        if is_early {
            self.note_early(key.slot, sent);
        }
    }

    /// Bytes came on a connection with a session.
    pub(crate) fn handle_sealed<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
        bytes: &[u8],
    ) {
        let (Some(client), Some(connection)) = (&self.tls, self.table.find(key)) else { return };
        let Some(session) = &mut connection.tls else { return };
        let mut plain = std::mem::take(&mut self.plain);
        let received = session.receive(client, now, bytes, &mut plain);
        if connection.state == State::Securing && self.window.contains(now) {
            self.tally.handshake_cpu = self.tally.handshake_cpu + session.take_spent();
        }
        let closed = session.is_closed_by_peer();
        connection.ending |= closed;
        let secured = received.is_ok() && session.is_secured() && connection.state == State::Securing;
        if !secured {
            session.take_to_send(&mut self.sealed);
            connection.answers.count(self.sealed.len());
            send_of(session, transport, key, &mut self.sealed, &mut self.outgoing);
        } else {
            // The end of the handshake goes with the request, unless that went before.
            connection.state = State::Open;
            connection.secured = Some(session.stats(now));
            let agreed = if session.speaks_http2() { SpokenVersion::Http2 } else { SpokenVersion::Http11 };
            let spoken = *connection.spoken.get_or_insert(agreed);
            let user = connection.user;
            self.note_version(user, spoken);
            self.table.start_limit(key.slot, now);
            self.go_on_behind_handshake(transport, now, key.slot);
            self.pump(transport, now, user);
        }
        if !plain.is_empty() {
            self.handle_plain(transport, now, key, &plain);
        }
        plain.clear();
        self.plain = plain;
        match received {
            Err(failure) => self.fail_session(transport, now, key, failure),
            // The end of what the server sends: the end of the connection may not come behind it.
            Ok(()) if closed => self.handle_closed(transport, now, key),
            Ok(()) => self.end_if_unread(transport, now, key),
        }
    }

    /// Ends a connection whose server has answers pile up that it does not read.
    pub(crate) fn end_if_unread<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
    ) {
        let Some(connection) = self.table.find(key) else { return };
        if connection.answers.are_too_many(|| transport.backlog(key)) {
            // Nobody would read a word of farewell.
            connection.ending = true;
            let wrong = "answers pile up that the server does not read";
            let ending = Ending::because(Outcome::Flooded, Detail::broken(Rule::new(wrong, "")));
            self.lose(transport, now, key.slot, ending);
        }
    }

    /// The session cannot go on. What came before in good order is read.
    fn fail_session<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
        failure: TlsFailure,
    ) {
        if let Some(connection) = self.table.find(key) {
            let detail = connection.tls.as_ref().and_then(Session::detail).cloned();
            let ending = Ending { outcome: failure.outcome(), detail: detail.map(Arc::new) };
            self.lose(transport, now, key.slot, ending);
        }
    }

    /// Says on a connection that is about to be closed that nothing more is asked, and that nothing more is
    /// sent (RFC 8446 section 6.1), unless the server has closed already.
    pub(crate) fn say_goodbye<T: Transport>(&mut self, transport: &mut T, slot: ConnectionSlot) {
        self.send_goaway(transport, slot);
        self.close_quic(transport, slot);
        if self.tls.is_none() {
            return;
        }
        let key = self.table.key(slot);
        let connection = self.table.at_mut(slot);
        if let (Some(session), false) = (&mut connection.tls, connection.ending) {
            session.close();
            send_of(session, transport, key, &mut self.sealed, &mut self.outgoing);
        }
    }

    /// Forgets the tickets of a user who leaves, and what it knows of the server's versions, or who comes
    /// back as a visitor that the server has not seen.
    pub(crate) fn forget_tickets(&mut self, slot: UserSlot) {
        let user = &mut self.users[slot.index()];
        user.profile = None;
        let user = user.number;
        if let Some(client) = &self.tls {
            client.forget(user);
        }
        if let Some(client) = &self.http3 {
            client.forget(user);
        }
    }
}
