//! Requests that wait for the server's word before their content: `Expect: 100-continue` (RFC 9110 section
//! 10.1.1), over HTTP/1.1.
//!
//! The head goes, and the content behind it once the server sends 100 (Continue), or after a time that the
//! policy bounds, since a server or an intermediary may know nothing of expectations. A final status before
//! that ends the request without its content. The server may take what comes next on the connection for that
//! content, of which the head has said how long it is (RFC 9112 section 6.3), so nothing more is sent there:
//! the connection is closed behind the reply. 417 (Expectation Failed) is a status like any other; the
//! request is not repeated without the field.
//!
//! HTTP/1.0 has no expectations (RFC 9110 section 10.1.1), and over HTTP/2 and HTTP/3 the field is sent and
//! the content behind it at once.

use crate::population::Population;
use crate::secure::send_of;
use crate::slots::ConnectionSlot;
use crate::transport::{ConnectionKey, Transport, Wake};
use bytes::Bytes;
use farfield_base::{Instant, SpokenVersion};
use farfield_http::http1::RequestError;

/// Content that waits for the server's word.
#[derive(Debug)]
pub(crate) struct Withheld {
    /// Which request on the connection it belongs to.
    pub number: u32,
    /// It waits no longer than until then.
    until: Instant,
    content: Bytes,
}

/// Whether a field asks for 100 (Continue). Names and this value have no case.
pub(crate) fn is_expectation(name: &[u8], value: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"expect") && value.trim_ascii().eq_ignore_ascii_case(b"100-continue")
}

/// Refuses an expectation of a request that has no content: a client must not send one (RFC 9110 section
/// 10.1.1).
pub(crate) fn check_expectation(headers: &[(String, String)], has_content: bool) -> Result<(), RequestError> {
    let expects = headers.iter().any(|(name, value)| is_expectation(name.as_bytes(), value.as_bytes()));
    if expects && !has_content { Err(RequestError::ExpectsWithoutContent) } else { Ok(()) }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expectation_has_no_case_and_needs_content() {
        for (name, value, expects) in [
            ("Expect", "100-continue", true),
            ("EXPECT", " 100-Continue ", true),
            ("Expect", "100", false),
            ("Expect", "", false),
            ("X-Expect", "100-continue", false),
        ] {
            assert_eq!(is_expectation(name.as_bytes(), value.as_bytes()), expects, "{name}: {value}");
            let headers = [(name.to_owned(), value.to_owned())];
            assert_eq!(check_expectation(&headers, true), Ok(()));
            assert_eq!(check_expectation(&headers, false).is_err(), expects, "{name}: {value}");
        }
    }
}
