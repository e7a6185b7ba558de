//! Datagrams of QUIC connections (RFC 9000), on which users speak HTTP/3: from the transport to the streams
//! and back, with the timers.
//!
//! A connection begins with its socket: there is no handshake of the transport's own. It counts as connected
//! when the first packet of the server's has come, and as secured when the handshake is over, which is often
//! the same datagram. What waits for a handshake of TCP and TLS waits for this one, within the same limits.
//!
//! Timers are not cancelled: the earliest that was asked for fires, and the connection is asked again.

use crate::any_protocol::AnyProtocol;
use crate::connection::ConnectionState;
use crate::connections::Connections;
use crate::egress::Egress;
use crate::http3::Http3;
use crate::protocol::Protocol;
use crate::reaction::Reaction;
use crate::slots::ConnectionSlot;
use crate::transport::{ConnectionKey, Failure, Transport, Wake};
use farfield_base::{Instant, Stamp};
use farfield_http::http3;

impl Connections {
    /// Hands the datagrams that are due to the transport, notes when requests left, and asks for a wake for
    /// the next timer.
    pub(crate) fn flush_datagrams<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        slot: ConnectionSlot,
    ) {
        let key = self.table.key(slot);
        let connection = self.table.at_mut(slot);
        let Some(own) = connection.protocol.http3() else { return };
        let sent = self.buffers.send_datagrams(&mut own.core.quic, transport, now, key);
        // Bytes that wait for the congestion window have been handed over as well: waiting for it is the
        // transport's time.
        own.note_sent(&mut connection.in_flight, connection.requests, sent.unwrap_or(now));
        self.wake_for_timers(transport, slot);
    }

    fn wake_for_timers<T: Transport>(&mut self, transport: &mut T, slot: ConnectionSlot) {
        let key = self.table.key(slot);
        let Some(own) = self.table.at_mut(slot).protocol.http3() else { return };
        if let Some(at) = own.core.quic.next_timeout()
            && own.wakes_at.is_none_or(|wakes_at| at < wakes_at)
        {
            own.wakes_at = Some(at);
            transport.wake_at(at, Wake::Quic(key));
        }
    }

    /// Lets go of what the connection has in common with others; nothing more is sent on it.
    pub(crate) fn release_quic(&mut self, slot: ConnectionSlot) {
        let connection = self.table.at_mut(slot);
        let client = &mut self.hosts[connection.host.index()].quic;
        if let (Some(client), Some(own)) = (client, connection.protocol.http3()) {
            client.release(&mut own.core.quic);
        }
    }
}

impl<T: Transport> Egress<'_, T> {
    /// Begins a connection of QUIC for the user of this number, to another port of its host's where one is
    /// named; returns when its socket was opened.
    pub(crate) fn begin_quic(&mut self, key: ConnectionKey, user: u32, port: Option<u16>) -> Instant {
        let host = self.connections.table.at(key.slot).host;
        let at = self.transport.open_datagrams(key, user, (host, port));
        let Some(client) = &mut self.connections.hosts[host.index()].quic else { return at };
        let begun = client.begin(at.max(self.now), user);
        let connection = self.connections.table.at_mut(key.slot);
        connection.protocol = AnyProtocol::Http3(Box::new(Http3::new(http3::Connection::new(
            begun,
            self.connections.readers.limits,
        ))));
        // An attempt may be overtaken, and what went with it would be sent twice.
        if port.is_none() {
            self.connections.write_early(&mut self.users.itinerary, key.slot);
        }
        self.count_handshake(key.slot);
        self.connections.flush_datagrams(self.transport, at.max(self.now), key.slot);
        at
    }

    /// The handshake is over: requests can be sent.
    pub(crate) fn handle_quic_secured(&mut self, slot: ConnectionSlot) {
        let connection = self.connections.table.at_mut(slot);
        connection.state = ConnectionState::Open;
        connection.secured = connection.protocol.http3().map(|own| own.core.stats(self.now));
        self.connections.table.stop_limit(slot);
        self.connections.table.watch(slot, self.now);
        self.connections.write_waiting(&mut self.users.itinerary, slot);
        self.end_attempt(slot);
    }

    /// Counts the processor time that the handshake took, in the window.
    fn count_handshake(&mut self, slot: ConnectionSlot) {
        if let Some(own) = self.connections.table.at_mut(slot).protocol.http3() {
            let spent = own.core.quic.take_spent();
            self.counters.count_handshake(self.now, || spent);
        }
    }
}

impl<T: Transport> Reaction<'_, T> {
    /// Datagrams came on a socket that [`Transport::open_datagrams`] opened. All have `segment_bytes` bytes,
    /// at least one, but for the last, which may have fewer, and the same codepoint `ecn` (RFC 3168 section
    /// 5).
    pub fn handle_datagrams(&mut self, key: ConnectionKey, ecn: u8, segment_bytes: usize, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.counters.note_received(self.now);
        }
        let Connections { table, hosts, .. } = &mut *self.connections;
        let Some(connection) = table.find(key) else { return };
        let Some(client) = &mut hosts[connection.host.index()].quic else { return };
        let Some(own) = connection.protocol.http3() else { return };
        let now = own.hear(self.now);
        for datagram in bytes.chunks(segment_bytes.max(1)) {
            client.receive(&mut own.core.quic, now, ecn, datagram);
        }
        let is_heard = own.core.quic.is_heard();
        let mut heard = self.at(now);
        heard.egress().count_handshake(key.slot);
        if is_heard {
            heard.note_answered(key);
        }
        heard.handle_replies(key, &[]);
    }

    /// The server has answered: its first packet has come.
    fn note_answered(&mut self, key: ConnectionKey) {
        let Some(connection) = self.connections.table.find(key) else { return };
        if connection.state != ConnectionState::Connecting {
            return;
        }
        connection.state = ConnectionState::Securing;
        connection.connected = Stamp::at(self.now);
        let descriptor = connection.descriptor.take();
        self.connections.table.start_limit(key.slot, self.now);
        if let Some(descriptor) = descriptor {
            self.handle_answered(descriptor);
        }
    }

    /// The client of a connection has moved: datagrams take another path from now on, from another address.
    /// The connection goes on there (RFC 9000 section 9), unless its handshake is not over.
    pub fn handle_moved(&mut self, key: ConnectionKey) {
        let Some(connection) = self.connections.table.find(key) else { return };
        let Some(own) = connection.protocol.http3().filter(|_| connection.state == ConnectionState::Open)
        else {
            return self.handle_failed(key, Failure::NetworkChanged);
        };
        own.core.quic.change_path(self.now);
        self.counters.load.moves.migrated += 1;
        self.connections.flush_datagrams(self.transport, self.now, key.slot);
    }

    /// A timer of a connection may have come to its end.
    pub(crate) fn handle_quic_timer(&mut self, key: ConnectionKey) {
        let Connections { table, hosts, .. } = &mut *self.connections;
        let Some(connection) = table.find(key) else { return };
        let Some(client) = &mut hosts[connection.host.index()].quic else { return };
        let Some(own) = connection.protocol.http3() else { return };
        // An earlier wake was asked for since, and has come; or this one is stale.
        if own.wakes_at.is_none_or(|at| at > self.now) {
            return;
        }
        own.wakes_at = None;
        if own.core.quic.next_timeout().is_some_and(|at| at <= self.now) {
            client.handle_timeout(&mut own.core.quic, self.now);
            return self.handle_replies(key, &[]);
        }
        self.connections.wake_for_timers(self.transport, key.slot);
    }
}
