//! Requests and replies over HTTP/3 (RFC 9114): streams of a user's connection of QUIC.
//!
//! A request is a stream, and its reply is found by the request's number on its connection. What is written
//! to streams leaves in datagrams (the module `quic`) once what led to it is over, so that requests which
//! become due together leave together. How requests end that fail, and their time limits, are in the module
//! `streams`.

use crate::connection::{Connection, Exchange, State};
use crate::population::Population;
use crate::slots::ConnectionSlot;
use crate::stalls::Stalls;
use crate::streams::exchange_of;
use crate::transport::{ConnectionKey, Transport};
use farfield_base::{Ending, HttpStats, Instant, Outcome, SpokenVersion, Stamp};
use farfield_http::http1::Reply;
use farfield_http::http3::{self, Event, StreamError};
use farfield_http::quic::StreamId;
use std::sync::Arc;

/// A connection's streams.
#[derive(Debug)]
pub(crate) struct Http3 {
    pub core: http3::Connection,
    /// Requests with this number or a greater one are not written yet.
    unwritten_from: u32,
    /// Those that were written and have this number or a greater one are not handed to the transport yet.
    unsent_from: u32,
    /// When datagrams last came.
    pub heard: Option<Instant>,
    /// No more requests are sent: the server fell silent.
    pub is_retired: bool,
    /// For when the transport was last asked for a wake, if that is still to come.
    pub wakes_at: Option<Instant>,
    stalls: Stalls,
}

impl Http3 {
    pub fn new(core: http3::Connection) -> Http3 {
        Http3 {
            core,
            unwritten_from: 0,
            unsent_from: 0,
            heard: None,
            is_retired: false,
            wakes_at: None,
            stalls: Stalls::default(),
        }
    }

    /// Whether a further request can be sent now.
    pub fn has_room(&self) -> bool {
        !self.is_retired && self.core.has_room()
    }

    /// Whether request `number` is still to be written: the server allows no stream for it yet.
    pub fn is_unwritten(&self, number: u32) -> bool {
        number >= self.unwritten_from
    }

    /// Whether no further request is sent on it.
    pub fn is_over(&self) -> bool {
        self.is_retired || self.core.is_closing()
    }

    /// Whether the server goes away and has processed something: it gets on with what is asked, however
    /// slowly.
    pub fn gets_on(&self) -> bool {
        self.core.processed_any()
    }

    /// What came of the reply to request `number`.
    pub fn so_far(&self, number: u32) -> Option<Reply> {
        self.core.so_far(number)
    }

    /// The stream of request `number` on the connection, for its sample, at `now`; the version alone where
    /// the request was never written.
    pub fn stats(&self, number: u32, now: Instant) -> HttpStats {
        if self.is_unwritten(number) {
            return HttpStats::of(SpokenVersion::Http3);
        }
        HttpStats::of_http3(StreamId::of_request(number).number(), self.stalls.us_of(number, now))
    }

    /// Counts how long bodies have waited for windows, and which wait further.
    pub fn count_stalls(&mut self, now: Instant) {
        self.stalls.count(now, |number| self.core.is_stalled(number));
    }

    /// Forgets what is kept for request `number`, which is over.
    pub fn forget(&mut self, number: u32) {
        self.stalls.forget(number);
    }

    /// Gives request `number` up.
    pub fn cancel(&mut self, number: u32) {
        self.core.cancel(number);
    }

    /// The ending of a request whose connection ended with `ending`: a reply that had begun is cut off.
    pub fn ending_of(&self, exchange: &Exchange, ending: &Ending) -> Ending {
        match ending.outcome {
            Outcome::ClosedUnanswered if exchange.first_byte != Stamp::NEVER => {
                Ending { outcome: Outcome::Truncated, ..ending.clone() }
            }
            _ => ending.clone(),
        }
    }

    /// Notes that the requests that were written so far were sent at `sent`.
    pub fn note_sent(&mut self, in_flight: &mut [Exchange], sent: Instant) {
        let unsent = self.unsent_from..self.unwritten_from;
        for exchange in in_flight.iter_mut().rev().take_while(|own| own.number >= unsent.start) {
            if unsent.contains(&exchange.number) {
                exchange.sent = Stamp::at(sent);
                if self.core.is_stalled(exchange.number) {
                    self.stalls.begin(exchange.number, sent);
                }
            }
        }
        self.unsent_from = self.unwritten_from;
    }
}

impl Population {
    /// Writes the requests that are bound to a connection and not written yet, as far as the server allows
    /// streams. They leave with [`Population::flush_datagrams`].
    pub(crate) fn write_bound(&mut self, slot: ConnectionSlot) {
        let connection = self.table.at_mut(slot);
        let Some(own) = connection.http3.as_mut().filter(|own| !own.is_retired) else { return };
        let from = own.unwritten_from;
        for exchange in connection.in_flight.iter().filter(|exchange| exchange.number >= from) {
            if !own.core.has_room() {
                return;
            }
            let parts = self.itinerary.for_http3(&exchange.job);
            let number = own.core.request(parts, exchange.answering);
            debug_assert_eq!(number, Some(exchange.number));
            own.unwritten_from = exchange.number + 1;
        }
    }

    /// Handles what came on a connection of HTTP/3, or what its timers led to, and sends what follows.
    pub(crate) fn handle_streams<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
    ) {
        self.reading = Some(key);
        self.read_streams(transport, now, key);
        self.reading = None;
        if self.table.find(key).is_some() {
            self.flush_datagrams(transport, now, key.slot);
        }
    }

    /// Handles what happened. What follows on this connection is written and not yet sent.
    fn read_streams<T: Transport>(&mut self, transport: &mut T, now: Instant, key: ConnectionKey) {
        let mut user = None;
        // Every turn looks the connection up: the end of a reply may close it.
        while let Some(connection) = self.table.find(key) {
            let Some(own) = &mut connection.http3 else { return };
            user = connection.idle.is_none().then_some(connection.user);
            let Some(event) = own.core.next_event(&mut self.heads) else {
                connection.note_replies_begun(now);
                connection.count_stalls(now);
                break;
            };
            match event {
                Event::Lost(lost) => {
                    let detail = own.core.detail().map(Arc::new);
                    let ending = Ending { outcome: lost.outcome(), detail };
                    return self.lose(transport, now, key.slot, ending);
                }
                event => self.handle_event(transport, now, key, event),
            }
        }
        if self.table.find(key).is_some() {
            // The server may have allowed more streams.
            self.write_bound(key.slot);
        }
        if let Some(user) = user {
            self.pump(transport, now, user);
        }
    }

    /// One thing happened on a connection, which goes on.
    fn handle_event<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
        event: Event,
    ) {
        let unsent_from = self.table.find(key).and_then(|own| own.http3.as_ref()).map(|own| own.unsent_from);
        if request_of(&event).is_some_and(|number| unsent_from.is_some_and(|from| number >= from)) {
            // A server that answers what it has not been asked: the reply is behind the request all the same.
            self.flush_datagrams(transport, now, key.slot);
        }
        let Some(connection) = self.table.find(key) else { return };
        match event {
            Event::Secured => {
                connection.state = State::Open;
                connection.secured = connection.http3.as_ref().map(|own| own.core.stats(now));
                self.table.stop_limit(key.slot);
                self.table.watch(key.slot, now);
                self.write_bound(key.slot);
                self.end_attempt(transport, key.slot);
            }
            Event::Interim(number, _) => {
                if let Some(exchange) = exchange_of(&mut connection.in_flight, number) {
                    exchange.note_interim();
                }
            }
            Event::Head(number, head) => {
                let begun = connection.note_reply_begun(number, now);
                self.handle_stream_head(now, key, begun, head);
            }
            Event::Body(number, body) => {
                if let Some(exchange) = connection.note_reply_begun(number, now)
                    && exchange.job.pending.is_some()
                {
                    let at = exchange.sent.instant().map_or(now, |sent| now.max(sent));
                    let slot = connection.user;
                    self.receive_body(transport, at, slot, exchange.job, &body);
                }
            }
            Event::Done(number, reply) => {
                connection.note_reply_begun(number, now);
                self.end_stream(transport, now, key, number, reply, None);
            }
            Event::Failed(number, reply, error) => {
                let refused = error == StreamError::Rejected;
                let ending = self.ending_of_stream(error.outcome(), || error.detail());
                self.fail_stream(transport, now, key, number, (reply, ending), refused);
            }
            Event::GoingAway => {
                if connection.in_flight.is_empty() {
                    self.drop_connection(transport, key.slot);
                }
            }
            Event::Lost(_) => {}
        }
    }
}

/// The number of the request that an event is about.
fn request_of(event: &Event) -> Option<u32> {
    match event {
        Event::Interim(number, _)
        | Event::Head(number, _)
        | Event::Body(number, _)
        | Event::Done(number, _)
        | Event::Failed(number, ..) => Some(*number),
        Event::Secured | Event::GoingAway | Event::Lost(_) => None,
    }
}

impl Connection {
    /// Notes the replies that have begun in the middle of a head.
    fn note_replies_begun(&mut self, now: Instant) {
        while let Some(number) = self.http3.as_mut().and_then(|own| own.core.take_begun()) {
            self.note_reply_begun(number, now);
        }
    }
}
