//! Events of replies as they come, and users who leave a stream that goes on: after a time, after a number of
//! events, or at the end of the run.
//!
//! A stream that was left counts as a reply. Over HTTP/1 the connection is closed, and over HTTP/2 and HTTP/3
//! the stream is cancelled (RFC 9113 section 8.1, RFC 9114 section 4.1.1).

use crate::exchange::Exchange;
use crate::progress::EventBatch;
use crate::protocol::{exchange_of, place_of};
use crate::reaction::Reaction;
use crate::transport::{ConnectionKey, Transport, Wake};
use farfield_base::{HostNumber, Instant, Note, ReplyEvent};
use farfield_http::EventFormat;
use farfield_http::http1::{Answering, Reply};

impl<T: Transport> Reaction<'_, T> {
    /// The head of the reply to request `number` came, with a body of this format, if that is one of events.
    pub(crate) fn begin_progress(&mut self, key: ConnectionKey, number: u32, format: Option<EventFormat>) {
        let events = self.connections.events;
        let Some(connection) = self.connections.table.find(key) else { return };
        let Some(exchange) = exchange_of(&mut connection.in_flight, number) else { return };
        let at = exchange.end_at(self.now);
        let format = format.filter(|_| exchange.answering != Answering::Head);
        exchange.progress.begin(at, format, events.by);
        if let Some(stay) = events.leave_after.filter(|_| exchange.progress.events().is_some()) {
            let begun = exchange.first_byte.instant().unwrap_or(at);
            self.transport.wake_at(begun + stay, Wake::Leave(key));
        }
    }

    /// Bytes of the body of the reply to request `number` came; its user may leave it.
    pub(crate) fn note_progress(&mut self, key: ConnectionKey, number: u32, body: &[u8]) {
        let Some(connection) = self.connections.table.find(key) else { return };
        let Some(exchange) = exchange_of(&mut connection.in_flight, number) else { return };
        let at = exchange.end_at(self.now);
        let Some(came) = exchange.progress.take(at, body) else { return };
        let exchange = *exchange;
        let (user, serial, host) = (connection.user, connection.serial, connection.host);
        let has_streams = connection.has_streams();
        // A stream that gets on has all of its time limit again.
        if !has_streams {
            self.connections.table.start_limit(key.slot, self.now);
        }
        self.note_events((self.users[user].number, serial, host), &exchange, at, came);
        let seen = exchange.progress.events().map_or(0, |events| events.events);
        if self.connections.events.leave_at.is_some_and(|most| seen >= most.get()) {
            self.leave_stream(key, number);
        }
    }

    /// Notes events of the reply to a user's request on a connection.
    pub(crate) fn note_events(
        &mut self,
        (user, connection, host): (u32, u32, HostNumber),
        exchange: &Exchange,
        at: Instant,
        came: EventBatch,
    ) {
        self.transport.note(Note::Event(ReplyEvent {
            at,
            gap: came.gap,
            alongside: came.events - 1,
            user,
            connection,
            number: exchange.number,
            request: exchange.job.request,
            // The transport knows it.
            class: 0,
            host,
            due: exchange.job.due,
        }));
    }

    /// Users leave the streams on a connection that have gone on for as long as they stay.
    pub(crate) fn leave_streams(&mut self, key: ConnectionKey) {
        let Some(stay) = self.connections.events.leave_after else { return };
        let Some(connection) = self.connections.table.find(key) else { return };
        let seen_enough = |begun: Instant| begun + stay <= self.now;
        let of_streams = connection.in_flight.iter().filter(|own| own.progress.events().is_some());
        let left = of_streams.filter(|own| own.first_byte.instant().is_some_and(seen_enough));
        let left: Vec<u32> = left.map(|own| own.number).collect();
        for number in left {
            self.leave_stream(key, number);
        }
    }

    /// The user leaves the reply to request `number`, of which the head came.
    fn leave_stream(&mut self, key: ConnectionKey, number: u32) {
        let Some(connection) = self.connections.table.find(key) else { return };
        let Some(reply) = connection.protocol.so_far(&connection.in_flight, number) else { return };
        let Some(place) = place_of(&connection.in_flight, number) else { return };
        let exchange = &mut connection.in_flight[place];
        let now = exchange.end_at(self.now);
        exchange.progress.leave(now);
        let (at, sent) = (exchange.end_at(self.now), exchange.sent.instant().unwrap_or(self.now));
        if !connection.has_streams() {
            return self.at(at).complete(key.slot, Reply { persistent: false, ..reply }, false);
        }
        connection.protocol.cancel(number, sent);
        connection.protocol.retire_if_full(self.transport.backlog(key));
        self.end_stream(key, number, reply, None);
        if self.connections.table.find(key).is_some() {
            self.connections.flush_streams(self.transport, self.now, key.slot);
        }
    }
}
