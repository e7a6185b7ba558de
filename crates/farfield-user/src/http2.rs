//! Requests and replies over HTTP/2 (RFC 9113): streams of a user's connection.
//!
//! A request is a stream, and its reply is found by the stream's number, which follows from the place of the
//! request on its connection: 2n + 1 for the request of number n. Frames are collected until what led to them
//! is over, and handed to the transport as one: requests that become due together leave together, and so do
//! what the protocol asks for beside them (acknowledgements, windows).
//!
//! Requests leave in the module `streams`; ends of those that fail, and their time limits, are in the module
//! `stream_ends`.

use crate::exchange::Exchange;
use crate::itinerary::Itinerary;
use crate::protocol::{Carriage, Protocol, ReplyContext, note_reply_begun};
use crate::stalls::Stalls;
use crate::transport::Backlog;
use bytes::Bytes;
use farfield_base::{Detail, Ending, HttpStats, Instant, Outcome, Stamp};
use farfield_http::http2::{
    self, ConnectionError, ErrorCode, Fields, Heads, Limits, Reply, RequestBlock, Settings, StreamId,
};
use farfield_http::{Event, tls};
use std::sync::Arc;

/// A connection's streams, and the frames that wait to be handed over.
#[derive(Debug)]
pub(crate) struct Http2 {
    core: http2::Connection,
    /// Frames that are not handed to the transport yet.
    to_send: Vec<u8>,
    /// Requests in `to_send` have this number or a greater one.
    unsent_from: u32,
    stalls: Stalls,
    /// Instant of the last bytes that came.
    heard: Option<Instant>,
    /// No more requests are sent: the server fell silent.
    is_retired: bool,
    /// The server was sent its error.
    is_broken: bool,
    /// Error in the server's GOAWAY, if it is one.
    error: Option<Arc<Detail>>,
}

impl Http2 {
    pub fn new(limits: Limits) -> Http2 {
        let mut to_send = Vec::new();
        let core = http2::Connection::new(&Settings { limits, ..Settings::default() }, &mut to_send);
        Http2 {
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

    /// True if a further request can be sent now.
    fn has_room(&self) -> bool {
        !self.is_retired && self.core.room() > 0
    }

    /// Writes a request onto a stream; returns its number on the connection, if there was room.
    fn write_frames(&mut self, block: &RequestBlock, body: &Bytes) -> Option<u32> {
        self.core.request(block, body, &mut self.to_send).ok().map(StreamId::request)
    }
}

/// Bytes that may wait to leave a connection on which a request was given up, so that further ones are sent.
const BACKLOG_MAX: u64 = 1 << 20;

impl Protocol for Http2 {
    fn read<'b>(
        &mut self,
        reading: &mut ReplyContext<'_>,
        in_flight: &mut [Exchange],
        now: Instant,
        bytes: &'b [u8],
    ) -> Result<(usize, Event<'b>), Ending> {
        match self.core.read(reading.heads, bytes, &mut self.to_send) {
            Ok((used, event)) => {
                match event {
                    Event::NeedMore => {
                        if let Some(stream) = self.core.reading() {
                            let _ = note_reply_begun(in_flight, stream.request(), now);
                        }
                    }
                    Event::GoingAway if self.error.is_none() && self.core.goaway() != ErrorCode::NO_ERROR => {
                        self.error = Some(Arc::new(self.core.detail_of_goaway()));
                    }
                    _ => {}
                }
                Ok((used, event))
            }
            Err(error) => {
                self.is_broken = true;
                let outcome = outcome_of_connection(error, bytes, reading.over_tls);
                Err(Ending::because(outcome, self.core.detail_of(error, bytes)))
            }
        }
    }

    fn fields<'a>(&'a self, heads: &'a Heads, _taken: &'a [u8]) -> Fields<'a> {
        heads.fields()
    }

    fn so_far(&self, _in_flight: &[Exchange], number: u32) -> Option<Reply> {
        self.core.so_far(StreamId::of_request(number))
    }

    /// Bytes that come behind others did not arrive before them, even if their instant says so: a transport
    /// may know the arrival of some bytes and only the reading of others.
    fn hear(&mut self, now: Instant) -> Instant {
        *self.heard.insert(self.heard.map_or(now, |heard| now.max(heard)))
    }

    fn carriage(&self) -> Carriage {
        Carriage::Bytes
    }

    fn write(&mut self, itinerary: &mut Itinerary, in_flight: &[Exchange]) {
        let exchange = in_flight.last().expect("a request was bound to the connection");
        let number = itinerary.with_stream(&exchange.job, |block, body| self.write_frames(block, body));
        debug_assert_eq!(number, Some(exchange.number));
    }

    fn unsent(&self) -> &[u8] {
        &self.to_send
    }

    fn forget_unsent(&mut self) {
        self.to_send.clear();
        self.unsent_from = 1;
    }

    fn end_sending(&mut self) -> usize {
        self.to_send.clear();
        self.core.take_answer_bytes()
    }

    fn note_sent(&mut self, in_flight: &mut [Exchange], end: u32, sent: Instant) {
        let first = self.unsent_from;
        for exchange in in_flight.iter_mut().rev().take_while(|own| own.number >= first) {
            exchange.sent = Stamp::at(sent);
            if self.core.is_stalled(StreamId::of_request(exchange.number)) {
                self.stalls.begin(exchange.number, sent);
            }
        }
        self.unsent_from = end;
    }

    /// GOAWAY (RFC 9113 section 6.8), unless the server knows already that the connection is over.
    fn say_goodbye(&mut self, ending: bool) -> bool {
        if !ending && !self.is_broken {
            self.core.close(&mut self.to_send);
        }
        !ending
    }

    fn takes_more(&self, _in_flight: &[Exchange]) -> bool {
        self.has_room()
    }

    /// A server that allows no stream would allow none elsewhere, either.
    fn waits_for_room(&self) -> bool {
        !self.is_over() && !self.has_room()
    }

    fn is_over(&self) -> bool {
        self.is_retired || self.core.is_closing()
    }

    fn gets_on(&self) -> bool {
        self.core.last_processed().is_some()
    }

    fn is_unsent(&self, number: u32) -> bool {
        number >= self.unsent_from
    }

    fn stats(&self, number: u32, now: Instant) -> Option<HttpStats> {
        let stalled_us = self.stalls.us_of(number, now);
        Some(HttpStats::of_http2(StreamId::of_request(number).number(), stalled_us))
    }

    /// After an error of the server's it is that, and a reply that had begun is cut off.
    fn ending_of(&self, exchange: &Exchange, ending: &Ending) -> Ending {
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

    fn count_stalls(&mut self, now: Instant) {
        self.stalls.count(now, |number| self.core.is_stalled(StreamId::of_request(number)));
    }

    fn forget(&mut self, number: u32) {
        self.stalls.forget(number);
    }

    fn cancel(&mut self, number: u32, sent: Instant) {
        self.is_retired |= self.heard.is_none_or(|heard| heard <= sent);
        self.core.cancel(StreamId::of_request(number), &mut self.to_send);
    }

    /// The server says something on the connection and does not read.
    fn retire_if_full(&mut self, backlog: Backlog) {
        self.is_retired |= backlog.kept > BACKLOG_MAX;
    }
}

/// Outcome of a connection's requests when it fails on reading `bytes`.
fn outcome_of_connection(error: ConnectionError, bytes: &[u8], over_tls: bool) -> Outcome {
    match error {
        ConnectionError::NotHttp2 if !over_tls && tls::answers_plaintext(bytes) => Outcome::TlsExpected,
        ConnectionError::NotHttp2 => Outcome::NotHttp2,
        ConnectionError::BlockTooLarge => Outcome::HeadTooLarge,
        ConnectionError::Flood => Outcome::Flooded,
        _ => Outcome::BadFrame,
    }
}
