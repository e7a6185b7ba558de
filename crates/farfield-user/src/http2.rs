//! Requests and replies over HTTP/2 (RFC 9113): streams of a user's connection.
//!
//! A request is a stream, and its reply is found by the stream's number, which follows from the place of the
//! request on its connection: 2n + 1 for the request of number n. Frames are collected until what led to them
//! is over, and handed to the transport as one: requests that become due together leave together, and so do
//! what the protocol asks for beside them (acknowledgements, windows).
//!
//! How requests end that fail, and their time limits, are in the module `streams`.

use crate::connection::{Exchange, State};
use crate::population::Population;
use crate::secure::send_of;
use crate::slots::ConnectionSlot;
use crate::stalls::Stalls;
use crate::streams::exchange_of;
use crate::transport::{ConnectionKey, Transport};
use farfield_base::{Detail, Ending, HttpStats, Instant, Outcome, Stamp};
use farfield_http::http2::{
    self, ConnectionError, ErrorCode, Event, Limits, Reply, Settings, StreamError, StreamId,
};
use farfield_http::tls;
use std::sync::Arc;

/// A connection's streams, and the frames that wait to be handed over.
#[derive(Debug)]
pub(crate) struct Multiplexer {
    core: http2::Connection,
    /// Frames that are not handed to the transport yet.
    to_send: Vec<u8>,
    /// Requests in `to_send` have this number or a greater one.
    unsent_from: u32,
    stalls: Stalls,
    /// When bytes last came.
    pub heard: Option<Instant>,
    /// No more requests are sent: the server fell silent.
    pub is_retired: bool,
    /// The server was sent its error.
    is_broken: bool,
    /// What the server's GOAWAY says, if that is an error.
    error: Option<Arc<Detail>>,
}

impl Multiplexer {
    pub fn new(limits: Limits) -> Multiplexer {
        let mut to_send = Vec::new();
        let core = http2::Connection::new(&Settings { limits, ..Settings::default() }, &mut to_send);
        Multiplexer {
            core,
            to_send,
            unsent_from: 0,
            stalls: Stalls::default(),
            heard: None,
            is_retired: false,
            is_broken: false,
            error: None,
        }
    }

    /// Whether a further request can be sent now.
    pub fn has_room(&self) -> bool {
        !self.is_retired && self.core.room() > 0
    }

    /// Frames that are not handed to the transport yet.
    pub fn unsent(&self) -> &[u8] {
        &self.to_send
    }

    /// The server has the frames that would be handed to the transport next.
    pub fn forget_unsent(&mut self) {
        self.to_send.clear();
        self.unsent_from = 1;
    }

    /// Whether no further request is sent on it.
    pub fn is_over(&self) -> bool {
        self.is_retired || self.core.is_closing()
    }

    /// The stream of request `number` on the connection, for its sample, at `now`.
    pub fn stats(&self, number: u32, now: Instant) -> HttpStats {
        HttpStats::of_http2(StreamId::of_request(number).number(), self.stalls.us_of(number, now))
    }

    /// What came of the reply to request `number`.
    pub fn so_far(&self, number: u32) -> Option<Reply> {
        self.core.so_far(StreamId::of_request(number))
    }

    /// Whether the server goes away and has processed something: it gets on with what is asked, however
    /// slowly.
    pub fn gets_on(&self) -> bool {
        self.core.last_processed().is_some()
    }

    /// Gives request `number` up.
    pub fn cancel(&mut self, number: u32) {
        self.core.cancel(StreamId::of_request(number), &mut self.to_send);
    }

    /// Counts how long bodies have waited for windows, and which wait further.
    pub fn count_stalls(&mut self, now: Instant) {
        self.stalls.count(now, |number| self.core.is_stalled(StreamId::of_request(number)));
    }

    /// Forgets what is kept for request `number`, which is over.
    pub fn forget(&mut self, number: u32) {
        self.stalls.forget(number);
    }

    /// The ending of a request whose connection ended with `ending`: after an error of the server's it is
    /// that, and a reply that had begun is cut off.
    pub fn ending_of(&self, exchange: &Exchange, ending: &Ending) -> Ending {
        match (ending.outcome, &self.error) {
            (Outcome::ClosedUnanswered | Outcome::Reset, Some(error)) => {
                Ending { outcome: Outcome::GoneAway, detail: Some(Arc::clone(error)) }
            }
            (Outcome::ClosedUnanswered, None) if exchange.first_byte != Stamp::NEVER => {
                Outcome::Truncated.into()
            }
            _ => ending.clone(),
        }
    }

    /// Appends GOAWAY to what is sent, unless the server knows already that the connection is over.
    fn say_goodbye(&mut self) {
        if !self.is_broken {
            self.core.close(&mut self.to_send);
        }
    }
}

/// The stream that an event is about.
fn stream_of(event: &Event<'_>) -> Option<StreamId> {
    match event {
        Event::Interim(stream, _)
        | Event::Head(stream, _)
        | Event::Body(stream, _)
        | Event::Done(stream, _)
        | Event::Failed(stream, ..) => Some(*stream),
        Event::NeedMore | Event::GoingAway(_) => None,
    }
}

/// What the failure of a connection, on reading `bytes`, is to its requests.
fn outcome_of_connection(error: ConnectionError, bytes: &[u8], over_tls: bool) -> Outcome {
    match error {
        ConnectionError::NotHttp2 if !over_tls && tls::answers_plaintext(bytes) => Outcome::TlsExpected,
        ConnectionError::NotHttp2 => Outcome::NotHttp2,
        ConnectionError::BlockTooLarge => Outcome::HeadTooLarge,
        ConnectionError::Flood => Outcome::Flooded,
        _ => Outcome::BadFrame,
    }
}

impl Population {
    /// Begins HTTP/2 on a connection that requests can be sent on from now on.
    pub(crate) fn begin_http2(&mut self, now: Instant, slot: ConnectionSlot) {
        self.table.stop_limit(slot);
        let limits = self.limits;
        self.table.at_mut(slot).http2.get_or_insert_with(|| Box::new(Multiplexer::new(limits)));
        self.table.watch(slot, now);
    }

    /// Writes the request that was bound last. It leaves with [`Population::flush_frames`].
    pub(crate) fn write_frames(&mut self, slot: ConnectionSlot) {
        let connection = self.table.at_mut(slot);
        let Some(own) = &mut connection.http2 else { return };
        let exchange = connection.in_flight.last().expect("a request was bound to the connection");
        let stream = self
            .itinerary
            .with_stream(&exchange.job, |block, body| own.core.request(block, body, &mut own.to_send));
        debug_assert_eq!(stream.map(StreamId::request), Ok(exchange.number));
    }

    /// Hands the frames that were written to the transport, and notes when that was.
    pub(crate) fn flush_frames<T: Transport>(&mut self, transport: &mut T, slot: ConnectionSlot) {
        let key = self.table.key(slot);
        let connection = self.table.at_mut(slot);
        let Some(own) = &mut connection.http2 else { return };
        // Within the handshake it is not known yet whether the server takes what went early.
        if own.to_send.is_empty() || connection.state != State::Open {
            return;
        }
        let sent = match &mut connection.tls {
            None => Some(transport.send(key, &self.outgoing.keep(&own.to_send))),
            Some(session) => {
                session.seal(&own.to_send);
                send_of(session, transport, key, &mut self.sealed, &mut self.outgoing)
            }
        };
        own.to_send.clear();
        connection.answers.count(own.core.take_answer_bytes());
        let Some(sent) = sent else { return };
        let first = own.unsent_from;
        for exchange in connection.in_flight.iter_mut().rev().take_while(|own| own.number >= first) {
            exchange.sent = Stamp::at(sent);
            if own.core.is_stalled(StreamId::of_request(exchange.number)) {
                own.stalls.begin(exchange.number, sent);
            }
        }
        own.unsent_from = connection.requests;
    }

    /// Bytes of frames came on the connection.
    pub(crate) fn handle_frames<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
        bytes: &[u8],
    ) {
        let Some(own) = self.table.find(key).and_then(|connection| connection.http2.as_mut()) else { return };
        // What comes behind other bytes did not arrive before them, even if its instant says so: a transport
        // may know the arrival of some bytes and only the reading of others.
        let now = own.heard.map_or(now, |heard| now.max(heard));
        own.heard = Some(now);
        self.reading = Some(key);
        self.read_frames(transport, now, key, bytes);
        self.reading = None;
        if self.table.find(key).is_some() {
            self.flush_frames(transport, key.slot);
            self.end_if_unread(transport, now, key);
        }
    }

    /// Handles what the frames say. What follows on this connection is written and not yet sent.
    fn read_frames<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
        bytes: &[u8],
    ) {
        let mut rest = bytes;
        let mut user = None;
        // Every turn looks the connection up: the end of a reply may close it.
        while let Some(connection) = self.table.find(key) {
            let Some(own) = &mut connection.http2 else { return };
            user = connection.idle.is_none().then_some(connection.user);
            let (used, event) = match own.core.read(&mut self.heads, rest, &mut own.to_send) {
                Ok(found) => found,
                Err(error) => {
                    own.is_broken = true;
                    let outcome = outcome_of_connection(error, rest, connection.tls.is_some());
                    let ending = Ending::because(outcome, own.core.detail_of(error, rest));
                    return self.lose(transport, now, key.slot, ending);
                }
            };
            rest = &rest[used..];
            let unsent_from = own.unsent_from;
            if stream_of(&event).is_some_and(|stream| stream.request() >= unsent_from) {
                // A server that answers what it has not been asked: the reply is behind the request all the
                // same.
                self.flush_frames(transport, key.slot);
            }
            let Some(connection) = self.table.find(key) else { return };
            let Some(own) = &mut connection.http2 else { return };
            match event {
                Event::NeedMore => {
                    connection.count_stalls(now);
                    if let Some(stream) = connection.http2.as_ref().and_then(|own| own.core.reading()) {
                        let _ = connection.note_reply_begun(stream.request(), now);
                    }
                    break;
                }
                Event::Interim(stream, _) => {
                    if let Some(exchange) = exchange_of(&mut connection.in_flight, stream.request()) {
                        exchange.note_interim();
                    }
                }
                Event::Head(stream, head) => {
                    let begun = connection.note_reply_begun(stream.request(), now);
                    self.handle_stream_head(now, key, begun, head);
                }
                Event::Body(stream, body) => {
                    if let Some(exchange) = connection.note_reply_begun(stream.request(), now)
                        && exchange.job.pending.is_some()
                    {
                        let at = exchange.sent.instant().map_or(now, |sent| now.max(sent));
                        let slot = connection.user;
                        self.receive_body(transport, at, slot, exchange.job, body);
                    }
                }
                Event::Done(stream, reply) => {
                    self.end_stream(transport, now, key, stream.request(), reply, None);
                }
                Event::Failed(stream, reply, error) => {
                    let refused = error == StreamError::Refused;
                    let ending = self.ending_of_stream(error.outcome(), || error.detail());
                    self.fail_stream(transport, now, key, stream.request(), (reply, ending), refused);
                }
                Event::GoingAway(code) => {
                    if code != ErrorCode::NO_ERROR && own.error.is_none() {
                        own.error = Some(Arc::new(own.core.detail_of_goaway(code)));
                    }
                    if connection.in_flight.is_empty() {
                        self.drop_connection(transport, key.slot);
                    }
                }
            }
        }
        if let Some(user) = user {
            // The server's settings, or the end of a stream, may have made room.
            self.pump(transport, now, user);
        }
    }

    /// Tells the server, on a connection that is about to be closed, that no more is asked (RFC 9113 section
    /// 6.8) or what is wrong.
    pub(crate) fn send_goaway<T: Transport>(&mut self, transport: &mut T, slot: ConnectionSlot) {
        let connection = self.table.at_mut(slot);
        if let (Some(own), false) = (&mut connection.http2, connection.ending) {
            own.say_goodbye();
            self.flush_frames(transport, slot);
        }
    }
}
