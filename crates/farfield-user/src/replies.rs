//! Replies as they come, over any version of HTTP: what a connection has read, step by step, and what its
//! user makes of that.

use crate::alt_svc::alternative_in;
use crate::exchange::Job;
use crate::population::Population;
use crate::protocol::{Reading, exchange_of, note_reply_begun};
use crate::slots::UserSlot;
use crate::transport::{ConnectionKey, Transport};
use farfield_base::{Detail, Ending, Instant, Outcome};
use farfield_http::{Body, Event, Head};
use std::sync::Arc;

impl Population {
    /// Bytes of replies came on a connection, in the clear; none where its protocol has been handed them, or
    /// a timer of it has led to something. What follows on the connection leaves together, behind the last.
    pub(crate) fn handle_replies<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
        bytes: &[u8],
    ) {
        let Some(connection) = self.table.find(key) else { return };
        let has_streams = connection.has_streams();
        self.reading = Some(key);
        self.read_replies(transport, now, key, bytes);
        self.reading = None;
        if has_streams && self.table.find(key).is_some() {
            self.flush_streams(transport, now, key.slot);
            self.end_if_unread(transport, now, key);
        }
    }

    /// Handles what the bytes say. What follows on streams is written and not yet sent.
    fn read_replies<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
        bytes: &[u8],
    ) {
        let mut rest = bytes;
        let mut waits = None;
        // Every turn looks the connection up: the end of a reply may close it.
        while let Some(connection) = self.table.find(key) {
            let protocol = &mut connection.protocol;
            if !protocol.awaits_reply(&connection.in_flight, now) {
                return self.handle_unasked(transport, now, key, rest);
            }
            waits = (protocol.has_streams() && connection.idle.is_none()).then_some(connection.user);
            let mut reading = Reading {
                known_head: &mut self.known_head,
                heads: &mut self.heads,
                limits: &self.limits,
                over_tls: connection.tls.is_some(),
            };
            let (used, event) = match protocol.read(&mut reading, &mut connection.in_flight, now, rest) {
                Ok(found) => found,
                Err(ending) => {
                    let first = connection.in_flight.first().filter(|_| !protocol.has_streams());
                    let at = first.map_or(now, |first| first.end_at(now));
                    return self.lose(transport, at, key.slot, ending);
                }
            };
            let (taken, behind) = rest.split_at(used);
            rest = behind;
            if event == Event::NeedMore {
                protocol.count_stalls(now);
                break;
            }
            self.handle_event(transport, now, key, event, (taken, rest));
        }
        if let Some(user) = waits {
            if self.table.find(key).is_some() {
                self.write_waiting(key.slot);
            }
            // The server's settings, or the end of a stream, may have made room.
            self.pump(transport, now, user);
        }
    }

    /// One thing happened on a connection, which goes on: the bytes `taken` said so, and those `behind` are
    /// still to be read.
    fn handle_event<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
        event: Event<'_>,
        (taken, behind): (&[u8], &[u8]),
    ) {
        let Some(connection) = self.table.find(key) else { return };
        if event.request().is_some_and(|number| connection.protocol.is_unsent(number)) {
            // A server that answers what it has not been asked: the reply is behind the request all the same.
            self.flush_streams(transport, now, key.slot);
        }
        let Some(connection) = self.table.find(key) else { return };
        match event {
            Event::NeedMore => {}
            Event::Secured => self.handle_quic_secured(transport, now, key.slot),
            Event::Interim(number, status) => {
                let Some(exchange) = exchange_of(&mut connection.in_flight, number) else { return };
                exchange.note_interim();
                let at = exchange.end_at(now);
                if status == 100 {
                    self.handle_continue(transport, at, key, number);
                }
            }
            Event::Head(number, head) => self.handle_head(now, key, number, head, taken),
            Event::Body(number, body) => self.handle_body(transport, now, key, number, &body),
            Event::Done(number, reply) => {
                let Some(exchange) = note_reply_begun(&mut connection.in_flight, number, now) else { return };
                if connection.has_streams() {
                    return self.end_stream(transport, now, key, number, reply, None);
                }
                let unasked = !is_blank(behind) && connection.in_flight.len() == 1;
                self.complete(transport, exchange.end_at(now), key.slot, reply, unasked);
            }
            Event::Failed(number, reply, error) => {
                let ending = self.ending_of_stream(error.outcome(), || error.detail());
                self.fail_stream(transport, now, key, number, (reply, ending), error.is_unprocessed());
            }
            Event::GoingAway => {
                if connection.in_flight.is_empty() {
                    self.drop_connection(transport, key.slot);
                }
            }
        }
    }

    /// The head of the reply to request `number` came, in or behind the bytes `taken`.
    fn handle_head(&mut self, now: Instant, key: ConnectionKey, number: u32, head: Head, taken: &[u8]) {
        let looks_for_alternatives = self.looks_for_alternatives();
        let Some(connection) = self.table.find(key) else { return };
        let Some(exchange) = note_reply_begun(&mut connection.in_flight, number, now) else { return };
        if exchange.job.pending.is_none() && !looks_for_alternatives {
            return;
        }
        let (slot, at) = (connection.user, exchange.end_at(now));
        let fields = connection.protocol.fields(&self.heads, taken);
        if looks_for_alternatives && let Some(named) = alternative_in(fields, self.itinerary.host()) {
            self.note_alternative(at, slot, named);
        }
        if exchange.job.pending.is_some() {
            let fields = self.table.at(key.slot).protocol.fields(&self.heads, taken);
            self.itinerary.head(&mut self.users[slot.index()], exchange.job, at, head, fields);
        }
    }

    /// Bytes of the body of the reply to request `number` came.
    fn handle_body<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
        number: u32,
        body: &Body<'_>,
    ) {
        let Some(connection) = self.table.find(key) else { return };
        if let Some(exchange) = note_reply_begun(&mut connection.in_flight, number, now)
            && exchange.job.pending.is_some()
        {
            let slot = connection.user;
            self.receive_body(transport, exchange.end_at(now), slot, exchange.job, body);
        }
    }

    /// Bytes of the body of a reply came to a user in a session: what they embed is asked for.
    fn receive_body<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        slot: UserSlot,
        job: Job,
        body: &[u8],
    ) {
        let user = &mut self.users[slot.index()];
        let before = (user.unfinished, user.held_back());
        self.itinerary.body(user, job, now, body);
        let queued = user.unfinished - before.0;
        if queued > 0 {
            let held = user.held_back() - before.1;
            self.count_queued(now, queued, held);
            self.begin_off_times(transport, now, slot);
            self.pump(transport, now, slot);
        }
    }

    /// Bytes came on a connection on which no reply is awaited. Line ends behind a body are put up with (RFC
    /// 9112 section 2.2); any others could be a reply to what is asked next, so nothing more is asked there.
    fn handle_unasked<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
        bytes: &[u8],
    ) {
        if !is_blank(bytes) {
            self.tally.unasked += 1;
            // What was sent meanwhile is lost as on a connection that the server closed.
            self.lose(transport, now, key.slot, Outcome::ClosedUnanswered);
        }
    }

    /// The ending of a request whose stream failed with `outcome`: what its head has wrong, if that is it,
    /// or what else is known.
    fn ending_of_stream(&mut self, outcome: Outcome, detail: impl FnOnce() -> Option<Detail>) -> Ending {
        let flaw =
            self.heads.take_flaw().filter(|_| matches!(outcome, Outcome::BadHead | Outcome::BadLength));
        Ending { outcome, detail: flaw.or_else(detail).map(Arc::new) }
    }
}

/// Line ends and nothing else.
fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| matches!(byte, b'\r' | b'\n'))
}
