//! Replies as they come, over any version of HTTP: what a connection has read, step by step, and what its
//! user makes of that.

use crate::alt_svc::alternative_in;
use crate::connections::Connections;
use crate::exchange::Job;
use crate::protocol::{exchange_of, note_reply_begun};
use crate::reaction::Reaction;
use crate::slots::UserSlot;
use crate::transport::{ConnectionKey, Transport};
use farfield_base::{Detail, Ending, Outcome};
use farfield_http::{Body, Event, Head};
use std::sync::Arc;

impl Connections {
    /// The ending of a request whose stream failed with `outcome`: what its head has wrong, if that is it,
    /// or what else is known.
    fn ending_of_stream(&mut self, outcome: Outcome, detail: impl FnOnce() -> Option<Detail>) -> Ending {
        let flaw = self
            .readers
            .heads
            .take_flaw()
            .filter(|_| matches!(outcome, Outcome::BadHead | Outcome::BadLength));
        Ending { outcome, detail: flaw.or_else(detail).map(Arc::new) }
    }
}

impl<T: Transport> Reaction<'_, T> {
    /// Bytes of replies came on a connection, in the clear; none where its protocol has been handed them, or
    /// a timer of it has led to something. What follows on the connection leaves together, behind the last.
    pub(crate) fn handle_replies(&mut self, key: ConnectionKey, bytes: &[u8]) {
        let Some(connection) = self.connections.table.find(key) else { return };
        let has_streams = connection.has_streams();
        self.connections.reading = Some(key);
        self.read_replies(key, bytes);
        self.connections.reading = None;
        if has_streams && self.connections.table.find(key).is_some() {
            self.connections.flush_streams(self.transport, self.now, key.slot);
            self.end_if_unread(key);
        }
    }

    /// Handles what the bytes say. What follows on streams is written and not yet sent.
    fn read_replies(&mut self, key: ConnectionKey, bytes: &[u8]) {
        let mut rest = bytes;
        let mut waits = None;
        // Every turn looks the connection up: the end of a reply may close it.
        while let Some(connection) = self.connections.table.find(key) {
            let protocol = &mut connection.protocol;
            if !protocol.awaits_reply(&connection.in_flight, self.now) {
                return self.handle_unasked(key, rest);
            }
            waits = (protocol.has_streams() && connection.idle.is_none()).then_some(connection.user);
            let mut reading = self.connections.readers.reading(connection.tls.is_some());
            let (used, event) = match protocol.read(&mut reading, &mut connection.in_flight, self.now, rest) {
                Ok(found) => found,
                Err(ending) => {
                    let first = connection.in_flight.first().filter(|_| !protocol.has_streams());
                    let at = first.map_or(self.now, |first| first.end_at(self.now));
                    return self.at(at).lose(key.slot, ending);
                }
            };
            let (taken, behind) = rest.split_at(used);
            rest = behind;
            if event == Event::NeedMore {
                protocol.count_stalls(self.now);
                break;
            }
            self.handle_event(key, event, (taken, rest));
        }
        if let Some(user) = waits {
            if self.connections.table.find(key).is_some() {
                self.connections.write_waiting(&mut self.users.itinerary, key.slot);
            }
            // The server's settings, or the end of a stream, may have made room.
            self.egress().pump(user);
        }
    }

    /// Handles an event on a connection, which goes on: the bytes `taken` said so, and those `behind` are
    /// still to be read.
    fn handle_event(&mut self, key: ConnectionKey, event: Event<'_>, (taken, behind): (&[u8], &[u8])) {
        let Some(connection) = self.connections.table.find(key) else { return };
        if event.request().is_some_and(|number| connection.protocol.is_unsent(number)) {
            // A server that answers what it has not been asked: the reply is behind the request all the same.
            self.connections.flush_streams(self.transport, self.now, key.slot);
        }
        let Some(connection) = self.connections.table.find(key) else { return };
        match event {
            Event::NeedMore => {}
            Event::Secured => self.egress().handle_quic_secured(key.slot),
            Event::Interim(number, status) => {
                let Some(exchange) = exchange_of(&mut connection.in_flight, number) else { return };
                exchange.note_interim();
                let at = exchange.end_at(self.now);
                if status == 100 {
                    self.at(at).egress().handle_continue(key, number);
                }
            }
            Event::Head(number, head) => self.handle_head(key, number, head, taken),
            Event::Body(number, body) => self.handle_body(key, number, &body),
            Event::Done(number, reply) => {
                let Some(exchange) = note_reply_begun(&mut connection.in_flight, number, self.now) else {
                    return;
                };
                if connection.has_streams() {
                    return self.end_stream(key, number, reply, None);
                }
                let unasked = !is_blank(behind) && connection.in_flight.len() == 1;
                self.at(exchange.end_at(self.now)).complete(key.slot, reply, unasked);
            }
            Event::Failed(number, reply, error) => {
                let ending = self.connections.ending_of_stream(error.outcome(), || error.detail());
                self.fail_stream(key, number, (reply, ending), error.is_unprocessed());
            }
            Event::Message(message) => self.handle_message(key, message),
            Event::Ping => self.handle_ping(key),
            Event::Close(code) => self.handle_close(key, code),
            Event::GoingAway => {
                if connection.in_flight.is_empty() {
                    self.egress().drop_connection(key.slot);
                }
            }
        }
    }

    /// The head of the reply to request `number` came, in or behind the bytes `taken`.
    fn handle_head(&mut self, key: ConnectionKey, number: u32, head: Head, taken: &[u8]) {
        let Some(host) = self.connections.table.find(key).map(|own| own.host) else { return };
        let looks_for_alternatives = self.connections.host(host).looks_for_alternatives();
        let Some(connection) = self.connections.table.find(key) else { return };
        if note_reply_begun(&mut connection.in_flight, number, self.now).is_none() {
            return;
        }
        self.begin_progress(key, number, head.events);
        let Some(connection) = self.connections.table.find(key) else { return };
        let Some(exchange) = exchange_of(&mut connection.in_flight, number).copied() else { return };
        if exchange.job.pending.is_none() && !looks_for_alternatives {
            return;
        }
        let (slot, at) = (connection.user, exchange.end_at(self.now));
        let fields = connection.protocol.fields(&self.connections.readers.heads, taken);
        if looks_for_alternatives && let Some(named) = alternative_in(fields, self.users.itinerary.host(host))
        {
            self.users.note_alternative(self.counters, at, (slot, host), named);
        }
        if exchange.job.pending.is_some() {
            let fields =
                self.connections.table.at(key.slot).protocol.fields(&self.connections.readers.heads, taken);
            self.users.receive_head(slot, exchange.job, at, head, fields);
        }
    }

    /// Bytes of the body of the reply to request `number` came.
    fn handle_body(&mut self, key: ConnectionKey, number: u32, body: &Body<'_>) {
        let Some(connection) = self.connections.table.find(key) else { return };
        if let Some(exchange) = note_reply_begun(&mut connection.in_flight, number, self.now)
            && exchange.job.pending.is_some()
        {
            let slot = connection.user;
            self.at(exchange.end_at(self.now)).receive_body(slot, exchange.job, body);
        }
        self.note_progress(key, number, body);
    }

    /// Bytes of the body of a reply came to a user in a session: what they embed is asked for.
    fn receive_body(&mut self, slot: UserSlot, job: Job, body: &[u8]) {
        let following = self.users.receive_body(slot, job, self.now, body);
        if following.queued > 0 {
            self.count_following(following);
            self.begin_off_times(slot);
            self.egress().pump(slot);
        }
    }

    /// Bytes came on a connection on which no reply is awaited. Line ends behind a body are put up with (RFC
    /// 9112 section 2.2); any others could be a reply to what is asked next, so nothing more is asked there.
    fn handle_unasked(&mut self, key: ConnectionKey, bytes: &[u8]) {
        if !is_blank(bytes) {
            self.counters.load.unasked += 1;
            // Requests that were sent meanwhile are lost as on a connection that the server closed.
            self.lose(key.slot, Outcome::ClosedUnanswered);
        }
    }
}

/// Line ends and nothing else.
fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| matches!(byte, b'\r' | b'\n'))
}
