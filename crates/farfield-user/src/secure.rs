//! TLS between the transport and the readers of replies, where the scheme is https: the handshake, and what
//! comes sealed.
//!
//! A request waits for the handshake as it waits for the connection, within the same time limit. Sealing
//! allocates nothing beside what the library does.

use crate::connection::ConnectionState;
use crate::connections::Connections;
use crate::egress::Egress;
use crate::reaction::Reaction;
use crate::slots::{ConnectionSlot, UserSlot};
use crate::transport::{ConnectionKey, Transport};
use farfield_base::{Detail, Ending, Outcome, Rule};
use farfield_http::tls::{Session, TlsFailure};
use std::sync::Arc;

impl Connections {
    /// Says on a connection that is about to be closed that nothing more is asked, and that nothing more is
    /// sent (RFC 8446 section 6.1), unless the server has closed already.
    pub(crate) fn say_goodbye<T: Transport>(&mut self, transport: &mut T, slot: ConnectionSlot) {
        self.close_websocket(transport, slot);
        self.close_streams(transport, slot);
        let key = self.table.key(slot);
        let connection = self.table.at_mut(slot);
        if let (Some(session), false) = (&mut connection.tls, connection.ending) {
            session.close();
            self.buffers.send_records(session, transport, key);
        }
    }
}

impl<T: Transport> Egress<'_, T> {
    /// Begins the handshake on a connection that is established.
    pub(crate) fn begin_securing(&mut self, key: ConnectionKey) {
        let Connections { table, hosts, .. } = &mut *self.connections;
        let Some(connection) = table.find(key) else { return };
        let Some(client) = hosts[connection.host.index()].client_of(connection) else { return };
        let user = self.users[connection.user].number;
        let session = connection.tls.insert(client.begin(self.now, user));
        connection.state = ConnectionState::Securing;
        self.counters.count_handshake(self.now, || session.take_spent());
        let is_early = self.connections.seal_early(self.users, key.slot);
        let Some(session) = &mut self.connections.table.at_mut(key.slot).tls else { return };
        let sent = self.connections.buffers.send_records(session, self.transport, key);
        if is_early {
            self.connections.note_early(key.slot, sent);
        }
    }

    /// Forgets the tickets of a user who leaves, and what it knows of the server's versions, or who comes
    /// back as a visitor that the server has not seen.
    pub(crate) fn forget_tickets(&mut self, slot: UserSlot) {
        let user = &mut self.users[slot];
        user.profiles.clear();
        self.connections.hosts.iter().for_each(|host| host.forget(user.number));
    }
}

impl<T: Transport> Reaction<'_, T> {
    /// Bytes came on a connection with a session.
    pub(crate) fn handle_sealed(&mut self, key: ConnectionKey, bytes: &[u8]) {
        let Connections { table, hosts, readers, buffers, .. } = &mut *self.connections;
        let Some(connection) = table.find(key) else { return };
        let Some(client) = hosts[connection.host.index()].client_of(connection) else { return };
        let Some(session) = &mut connection.tls else { return };
        let mut plain = std::mem::take(&mut readers.plain);
        let received = session.receive(client, self.now, bytes, &mut plain);
        if connection.state == ConnectionState::Securing {
            self.counters.count_handshake(self.now, || session.take_spent());
        }
        let closed = session.is_closed_by_peer();
        connection.ending |= closed;
        let secured =
            received.is_ok() && session.is_secured() && connection.state == ConnectionState::Securing;
        if !secured {
            connection.answers.count(buffers.take_records(session));
            buffers.send_records(session, self.transport, key);
        } else {
            // The end of the handshake goes with the request, unless that went before.
            connection.state = ConnectionState::Open;
            connection.secured = Some(session.stats(self.now));
            let spoken = *connection.spoken.get_or_insert(session.spoken());
            let (user, host) = (connection.user, connection.host);
            if !connection.upgrades {
                self.egress().note_version(user, host, spoken);
            }
            self.connections.table.start_limit(key.slot, self.now);
            self.egress().go_on_behind_handshake(key.slot);
            self.egress().pump(user);
        }
        if !plain.is_empty() {
            self.handle_plain(key, &plain);
        }
        plain.clear();
        self.connections.readers.plain = plain;
        match received {
            Err(failure) => self.fail_session(key, failure),
            // The end of what the server sends: the end of the connection may not come behind it.
            Ok(()) if closed => self.handle_closed(key),
            Ok(()) => self.end_if_unread(key),
        }
    }

    /// Ends a connection whose server has answers pile up that it does not read.
    pub(crate) fn end_if_unread(&mut self, key: ConnectionKey) {
        let Some(connection) = self.connections.table.find(key) else { return };
        if connection.answers.are_too_many(|| self.transport.backlog(key)) {
            // Nobody would read a word of farewell.
            connection.ending = true;
            let wrong = "answers pile up that the server does not read";
            let ending = Ending::because(Outcome::Flooded, Detail::broken(Rule::new(wrong, "")));
            self.lose(key.slot, ending);
        }
    }

    /// The session cannot go on. What came before in good order is read.
    fn fail_session(&mut self, key: ConnectionKey, failure: TlsFailure) {
        if let Some(connection) = self.connections.table.find(key) {
            let detail = connection.tls.as_ref().and_then(Session::detail).cloned();
            let ending = Ending { outcome: failure.outcome(), detail: detail.map(Arc::new) };
            self.lose(key.slot, ending);
        }
    }
}
