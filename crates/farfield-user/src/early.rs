//! Early data of TLS 1.3 (0-RTT, RFC 8446 section 2.3): the request that a connection was opened for goes
//! with the client's first message, where the user has a ticket that allows it.
//!
//! Anybody who records such a message can send it to the server once more (section 8), so only requests with
//! safe methods go early, and none that was sent before. One that the server passes over goes again behind
//! the handshake, the same bytes: the server has not read them. The request counts as sent when it went
//! first. Over HTTP/2 the connection's preface and settings go with it. Over HTTP/3 it is a stream of QUIC's
//! 0-RTT packets (RFC 9001 section 4.6), beside the client's own streams; there is as much room as the
//! server's windows were when it gave the ticket, and the rest follows.

use crate::any_protocol::AnyProtocol;
use crate::connection::Connection;
use crate::connections::Connections;
use crate::egress::Egress;
use crate::exchange::Exchange;
use crate::itinerary::Itinerary;
use crate::slots::ConnectionSlot;
use crate::transport::Transport;
use crate::users::Users;
use farfield_base::{EarlyData, Instant, Stamp};

impl Connection {
    /// Fate of its first request within the handshake, which is over.
    fn early(&self) -> EarlyData {
        self.secured.map_or(EarlyData::Unsent, |secured| secured.early)
    }
}

impl Connections {
    /// Seals the request that waits for the handshake, which has begun, if it may go with the first message;
    /// whether it does.
    pub(crate) fn seal_early(&mut self, users: &mut Users, slot: ConnectionSlot) -> bool {
        let connection = self.table.at_mut(slot);
        let (Some(session), Some(exchange)) = (&mut connection.tls, connection.in_flight.first()) else {
            return false;
        };
        let (room, job, user) = (session.early_room(), exchange.job, connection.user);
        let host = connection.host;
        let waits = users.itinerary.expecting_bytes(&job) > 0;
        if room == 0 || waits || job.again || job.refusals > 0 || !users.itinerary.is_safe(&job) {
            return false;
        }
        // A server takes early data only for the protocol that the ticket is of (RFC 8446 section 4.2.10).
        let Some(spoken) = connection.spoken.or_else(|| users.remembered(user, host)) else { return false };
        let connection = self.table.at_mut(slot);
        let (Some(session), Some(exchange)) = (&mut connection.tls, connection.in_flight.first()) else {
            return false;
        };
        if !spoken.has_streams() {
            let max = self.policy.requests_max();
            let bytes = users.itinerary.bytes(&job, exchange.number + 1 < max);
            let fits = bytes.len() <= room;
            if fits {
                session.seal_early(bytes);
            }
            return fits;
        }
        connection.protocol = AnyProtocol::over_tcp(spoken, self.readers.limits);
        self.write_request(&mut users.itinerary, slot);
        let connection = self.table.at_mut(slot);
        let Some(session) = &mut connection.tls else { return false };
        let fits = connection.protocol.unsent().len() <= room;
        if fits {
            // The bytes are kept, for a server that passes over them.
            session.seal_early(connection.protocol.unsent());
        } else {
            connection.protocol = AnyProtocol::default();
        }
        fits
    }

    /// Writes the request that a connection of QUIC was opened for within its handshake, if it may go there.
    pub(crate) fn write_early(&mut self, itinerary: &mut Itinerary, slot: ConnectionSlot) {
        let connection = self.table.at_mut(slot);
        let Some(Exchange { job, .. }) = connection.in_flight.first() else { return };
        let may_go = !job.again && job.refusals == 0 && itinerary.is_safe(job);
        if may_go && connection.protocol.begin_early() {
            self.write_request(itinerary, slot);
        }
    }

    /// The request that went with the first message was sent at `sent`.
    pub(crate) fn note_early(&mut self, slot: ConnectionSlot, sent: Option<Instant>) {
        if let (Some(exchange), Some(sent)) = (self.table.at_mut(slot).in_flight.first_mut(), sent) {
            exchange.sent = Stamp::at(sent);
        }
    }

    /// Hands the client's last message of the handshake to the transport.
    fn end_handshake<T: Transport>(&mut self, transport: &mut T, slot: ConnectionSlot) {
        let key = self.table.key(slot);
        if let Some(session) = &mut self.table.at_mut(slot).tls {
            self.buffers.send_records(session, transport, key);
        }
    }
}

impl<T: Transport> Egress<'_, T> {
    /// The handshake is over: sends the request behind it, unless the server has it.
    pub(crate) fn go_on_behind_handshake(&mut self, slot: ConnectionSlot) {
        let connection = self.connections.table.at_mut(slot);
        let early = connection.early();
        let sent = connection.in_flight.first().map(|exchange| exchange.sent);
        let of_streams = connection.spoken.filter(|own| own.has_streams());
        if of_streams.is_none() {
            // Early requests may have been of another version than the server chose now.
            connection.protocol = AnyProtocol::default();
        }
        let is_written = connection.has_streams();
        match (early, of_streams) {
            (EarlyData::Unsent, _) => return self.begin_requests(slot),
            (EarlyData::Rejected, None) => self.send_last_bound(slot),
            (EarlyData::Accepted, None) => self.connections.end_handshake(self.transport, slot),
            (EarlyData::Accepted | EarlyData::Rejected, Some(_)) if !is_written => {
                self.begin_requests(slot);
                self.connections.flush_streams(self.transport, self.now, slot);
            }
            (EarlyData::Accepted | EarlyData::Rejected, Some(spoken)) => {
                self.connections.begin_streams(self.now, slot, spoken);
                if early == EarlyData::Accepted {
                    self.connections.table.at_mut(slot).protocol.forget_unsent();
                }
                self.connections.end_handshake(self.transport, slot);
                self.connections.flush_streams(self.transport, self.now, slot);
            }
        }
        self.connections.note_early(slot, sent.and_then(Stamp::instant));
    }
}
