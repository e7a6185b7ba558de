//! Requests on streams, of HTTP/2 and HTTP/3 alike: how they are written, and how they leave.
//!
//! Bytes for streams are collected until what led to them is over, and handed to the transport as one:
//! requests that become due together leave together, and so does what the protocol asks for beside them.

use crate::any_protocol::AnyProtocol;
use crate::connection::ConnectionState;
use crate::connections::Connections;
use crate::http2::Http2;
use crate::itinerary::Itinerary;
use crate::slots::ConnectionSlot;
use crate::transport::Transport;
use farfield_base::Instant;

impl Connections {
    /// Writes the request that was bound last to a connection with streams. It leaves with
    /// [`flush_streams`](Self::flush_streams).
    pub fn write_request(&mut self, itinerary: &mut Itinerary, slot: ConnectionSlot) {
        match self.table.at(slot).protocol {
            AnyProtocol::Http1(_) | AnyProtocol::WebSocket(_) => {}
            AnyProtocol::Http2(_) => self.write_frames(itinerary, slot),
            AnyProtocol::Http3(_) => self.write_bound(itinerary, slot),
        }
    }

    /// Writes requests that are bound to the connection and waited for the server to allow streams.
    pub fn write_waiting(&mut self, itinerary: &mut Itinerary, slot: ConnectionSlot) {
        if let AnyProtocol::Http3(_) = self.table.at(slot).protocol {
            self.write_bound(itinerary, slot);
        }
    }

    /// Hands what was written to streams to the transport, and what the protocol asks for beside it.
    pub fn flush_streams<T: Transport>(&mut self, transport: &mut T, now: Instant, slot: ConnectionSlot) {
        match self.table.at(slot).protocol {
            AnyProtocol::Http1(_) | AnyProtocol::WebSocket(_) => {}
            AnyProtocol::Http2(_) => self.flush_frames(transport, slot),
            AnyProtocol::Http3(_) => self.flush_datagrams(transport, now, slot),
        }
    }

    /// Begins HTTP/2 on a connection that requests can be sent on from now on.
    pub fn begin_http2(&mut self, now: Instant, slot: ConnectionSlot) {
        self.table.stop_limit(slot);
        let connection = self.table.at_mut(slot);
        if connection.protocol.http2().is_none() {
            connection.protocol = AnyProtocol::Http2(Box::new(Http2::new(self.readers.limits)));
        }
        self.table.watch(slot, now);
    }

    /// Writes the request that was bound last. It leaves with [`flush_frames`](Self::flush_frames).
    fn write_frames(&mut self, itinerary: &mut Itinerary, slot: ConnectionSlot) {
        let connection = self.table.at_mut(slot);
        let Some(own) = connection.protocol.http2() else { return };
        let exchange = connection.in_flight.last().expect("a request was bound to the connection");
        let number = itinerary.with_stream(&exchange.job, |block, body| own.write(block, body));
        debug_assert_eq!(number, Some(exchange.number));
    }

    /// Hands the frames that were written to the transport, and notes when that was.
    pub fn flush_frames<T: Transport>(&mut self, transport: &mut T, slot: ConnectionSlot) {
        let key = self.table.key(slot);
        let connection = self.table.at_mut(slot);
        let Some(own) = connection.protocol.http2() else { return };
        // Within the handshake it is not known yet whether the server takes what went early.
        if own.unsent().is_empty() || connection.state != ConnectionState::Open {
            return;
        }
        let sent = match &mut connection.tls {
            None => Some(self.buffers.send(transport, key, own.unsent())),
            Some(session) => {
                session.seal(own.unsent());
                self.buffers.send_records(session, transport, key)
            }
        };
        connection.answers.count(own.end_sending());
        if let Some(sent) = sent {
            own.note_sent(&mut connection.in_flight, connection.requests, sent);
        }
    }

    /// Tells the server, on a connection that is about to be closed, that no more is asked (RFC 9113 section
    /// 6.8) or what is wrong.
    pub fn send_goaway<T: Transport>(&mut self, transport: &mut T, slot: ConnectionSlot) {
        let connection = self.table.at_mut(slot);
        if let (Some(own), false) = (connection.protocol.http2(), connection.ending) {
            own.say_goodbye();
            self.flush_frames(transport, slot);
        }
    }

    /// Writes the requests that are bound to a connection and not written yet, as far as the server allows
    /// streams. They leave with [`flush_datagrams`](Self::flush_datagrams).
    pub fn write_bound(&mut self, itinerary: &mut Itinerary, slot: ConnectionSlot) {
        let connection = self.table.at_mut(slot);
        if let Some(own) = connection.protocol.http3() {
            own.write(itinerary, &connection.in_flight);
        }
    }
}
