//! Content that is withheld from the server until it asks for it, or the time for that is over (the module
//! `expect`).

use crate::expect::Withheld;
use crate::population::Population;
use crate::secure::send_of;
use crate::slots::ConnectionSlot;
use crate::transport::{ConnectionKey, Transport, Wake};
use bytes::Bytes;
use farfield_base::{Instant, SpokenVersion};

impl Population {
    /// The bytes of content, the last of the request, that wait for the server's word on this connection.
    pub(crate) fn withheld_bytes(&self, slot: ConnectionSlot) -> usize {
        let connection = self.table.at(slot);
        let waits = connection.spoken == Some(SpokenVersion::Http11) && !self.policy.expect_timeout.is_zero();
        match connection.in_flight.last() {
            Some(exchange) if waits => self.itinerary.expecting_bytes(&exchange.job),
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

    /// The server has asked for the content of the request with this number on its connection.
    pub(crate) fn handle_continue<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
        number: u32,
    ) {
        let waits = |withheld: &Withheld| withheld.number == number;
        let Some(connection) = self.table.find(key) else { return };
        if connection.withheld.as_deref().is_some_and(waits) {
            self.send_withheld(transport, now, key);
        }
    }

    /// Content may have waited for as long as it is to: it goes, unless the final status has come.
    pub(crate) fn end_waiting_for_word<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
    ) {
        let Some(connection) = self.table.find(key) else { return };
        let Some(withheld) = connection.withheld.as_deref().filter(|own| own.until <= now) else { return };
        let so_far = connection.protocol.so_far(&connection.in_flight, withheld.number);
        if so_far.is_none_or(|reply| !is_final(reply.status)) {
            self.tally.unasked_content += 1;
            self.send_withheld(transport, now, key);
        }
    }

    fn send_withheld<T: Transport>(&mut self, transport: &mut T, now: Instant, key: ConnectionKey) {
        let Some(connection) = self.table.find(key) else { return };
        let Some(withheld) = connection.withheld.take() else { return };
        let user = connection.user;
        match &mut connection.tls {
            None => {
                transport.send(key, &withheld.content);
            }
            Some(session) => {
                session.seal(&withheld.content);
                send_of(session, transport, key, &mut self.sealed, &mut self.outgoing);
            }
        }
        // What waited behind it may go now.
        self.pump(transport, now, user);
    }
}

/// Whether this is the status of a final reply: 101 is the last of this protocol (RFC 9110 section 15.2.2).
const fn is_final(status: u16) -> bool {
    status >= 200 || status == 101
}
