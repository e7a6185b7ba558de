//! Requests on streams, of every version that has them: how they are written, and how they leave.
//!
//! Bytes for streams are collected until what led to them is over, and handed to the transport as one:
//! requests that become due together leave together, and so does what the protocol asks for beside them.

use crate::any_protocol::AnyProtocol;
use crate::connection::ConnectionState;
use crate::connections::Connections;
use crate::itinerary::Itinerary;
use crate::protocol::Carriage;
use crate::slots::ConnectionSlot;
use crate::transport::Transport;
use farfield_base::{Instant, SpokenVersion};

impl Connections {
    /// Begins `spoken`, which has streams, on a connection of TCP that requests can be sent on from now on.
    pub fn begin_streams(&mut self, now: Instant, slot: ConnectionSlot, spoken: SpokenVersion) {
        self.table.stop_limit(slot);
        let connection = self.table.at_mut(slot);
        if !connection.has_streams() {
            connection.protocol = AnyProtocol::over_tcp(spoken, self.readers.limits);
        }
        self.table.watch(slot, now);
    }

    /// Writes the request that was bound last to a connection with streams. It leaves with
    /// [`flush_streams`](Self::flush_streams).
    pub fn write_request(&mut self, itinerary: &mut Itinerary, slot: ConnectionSlot) {
        let connection = self.table.at_mut(slot);
        connection.protocol.write(itinerary, &connection.in_flight);
    }

    /// Writes requests that are bound to the connection and waited for the server to allow streams.
    pub fn write_waiting(&mut self, itinerary: &mut Itinerary, slot: ConnectionSlot) {
        let connection = self.table.at_mut(slot);
        connection.protocol.write_waiting(itinerary, &connection.in_flight);
    }

    /// Hands what was written to streams to the transport, and what the protocol asks for beside it.
    pub fn flush_streams<T: Transport>(&mut self, transport: &mut T, now: Instant, slot: ConnectionSlot) {
        match self.table.at(slot).protocol.carriage() {
            Carriage::AtOnce => {}
            Carriage::Bytes => self.flush_bytes(transport, slot),
            Carriage::Datagrams => self.flush_datagrams(transport, now, slot),
        }
    }

    /// Hands the bytes that were written to the transport, and notes when that was.
    fn flush_bytes<T: Transport>(&mut self, transport: &mut T, slot: ConnectionSlot) {
        let key = self.table.key(slot);
        let connection = self.table.at_mut(slot);
        let protocol = &mut connection.protocol;
        // Within the handshake it is not known yet whether the server takes what went early.
        if protocol.unsent().is_empty() || connection.state != ConnectionState::Open {
            return;
        }
        let sent = match &mut connection.tls {
            None => Some(self.buffers.send(transport, key, protocol.unsent())),
            Some(session) => {
                session.seal(protocol.unsent());
                self.buffers.send_records(session, transport, key)
            }
        };
        connection.answers.count(protocol.end_sending());
        if let Some(sent) = sent {
            protocol.note_sent(&mut connection.in_flight, connection.requests, sent);
        }
    }

    /// Tells the server, on a connection that is about to be closed, that no more is asked or what is wrong.
    pub fn close_streams<T: Transport>(&mut self, transport: &mut T, slot: ConnectionSlot) {
        let connection = self.table.at_mut(slot);
        if connection.protocol.say_goodbye(connection.ending) {
            // The time that a connection of QUIC was last handed: its own does not go back.
            self.flush_streams(transport, Instant::ZERO, slot);
        }
    }
}
