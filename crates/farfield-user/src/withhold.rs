//! Content that is withheld from the server until it asks for it, or the time for that is over (the module
//! `expect`).

use crate::connections::Connections;
use crate::egress::Egress;
use crate::expect::Withheld;
use crate::itinerary::Itinerary;
use crate::slots::ConnectionSlot;
use crate::transport::{ConnectionKey, Transport, Wake};
use bytes::Bytes;
use farfield_base::{Instant, SpokenVersion};

impl Connections {
    /// The bytes of content, the last of the request, that wait for the server's word on this connection.
    pub(crate) fn withheld_bytes(&self, itinerary: &Itinerary, slot: ConnectionSlot) -> usize {
        let connection = self.table.at(slot);
        let waits = connection.spoken == Some(SpokenVersion::Http11) && !self.policy.expect_timeout.is_zero();
        match connection.in_flight.last() {
            Some(exchange) if waits => itinerary.expecting_bytes(&exchange.job),
            _ => 0,
        }
    }

    /// Keeps the `content` of the request that was bound last, whose head was sent at `sent`.
    pub(crate) fn withhold<T: Transport>(
        &mut self,
        transport: &mut T,
        slot: ConnectionSlot,
        content: Bytes,
        sent: Instant,
    ) {
        let until = sent + self.policy.expect_timeout;
        let connection = self.table.at_mut(slot);
        let number = connection.in_flight.last().map_or(0, |exchange| exchange.number);
        connection.withheld = Some(Box::new(Withheld { number, until, content }));
        transport.wake_at(until, Wake::Continue(self.table.key(slot)));
    }
}

impl<T: Transport> Egress<'_, T> {
    /// The server has asked for the content of the request with this number on its connection.
    pub(crate) fn handle_continue(&mut self, key: ConnectionKey, number: u32) {
        let waits = |withheld: &Withheld| withheld.number == number;
        let Some(connection) = self.connections.table.find(key) else { return };
        if connection.withheld.as_deref().is_some_and(waits) {
            self.send_withheld(key);
        }
    }

    /// Content may have waited for as long as it is to: it goes, unless the final status has come.
    pub(crate) fn end_waiting_for_word(&mut self, key: ConnectionKey) {
        let Some(connection) = self.connections.table.find(key) else { return };
        let Some(withheld) = connection.withheld.as_deref().filter(|own| own.until <= self.now) else {
            return;
        };
        let so_far = connection.protocol.so_far(&connection.in_flight, withheld.number);
        if so_far.is_none_or(|reply| !is_final(reply.status)) {
            self.counters.load.unasked_content += 1;
            self.send_withheld(key);
        }
    }

    fn send_withheld(&mut self, key: ConnectionKey) {
        let Some(connection) = self.connections.table.find(key) else { return };
        let Some(withheld) = connection.withheld.take() else { return };
        let user = connection.user;
        match &mut connection.tls {
            None => {
                self.transport.send(key, &withheld.content);
            }
            Some(session) => {
                session.seal(&withheld.content);
                self.connections.buffers.send_records(session, self.transport, key);
            }
        }
        // Requests that waited behind it may go now.
        self.pump(user);
    }
}

/// True if this is the status of a final reply: 101 is the last of this protocol (RFC 9110 section 15.2.2).
const fn is_final(status: u16) -> bool {
    status >= 200 || status == 101
}
