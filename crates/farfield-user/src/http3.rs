//! Requests and replies over HTTP/3 (RFC 9114): streams of a user's connection of QUIC.
//!
//! A request is a stream, and its reply is found by the request's number on its connection. What is written
//! to streams leaves in datagrams (the module `quic`) once what led to it is over, so that requests which
//! become due together leave together. How requests end that fail, and their time limits, are in the module
//! `stream_ends`.

use crate::exchange::Exchange;
use crate::itinerary::Itinerary;
use crate::protocol::{Carriage, Protocol, ReplyContext, note_reply_begun};
use crate::stalls::Stalls;
use farfield_base::{Ending, HttpStats, Instant, Outcome, SpokenVersion, Stamp};
use farfield_http::Event;
use farfield_http::http1::{Fields, Reply};
use farfield_http::http2::Heads;
use farfield_http::http3;
use farfield_http::quic::StreamId;
use std::sync::Arc;

/// A connection's streams.
#[derive(Debug)]
pub(crate) struct Http3 {
    pub core: http3::Connection,
    /// Requests with this number or a greater one are not written yet.
    unwritten_from: u32,
    /// Requests with this number or a greater one, if written, are not handed to the transport yet.
    unsent_from: u32,
    /// Instant of the last datagrams that came.
    heard: Option<Instant>,
    /// No more requests are sent: the server fell silent.
    is_retired: bool,
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

    /// True if request `number` is still to be written: the server allows no stream for it yet.
    fn is_unwritten(&self, number: u32) -> bool {
        number >= self.unwritten_from
    }
}

impl Protocol for Http3 {
    /// The bytes are in datagrams, which were handed in before.
    fn read<'b>(
        &mut self,
        reading: &mut ReplyContext<'_>,
        in_flight: &mut [Exchange],
        now: Instant,
        _bytes: &'b [u8],
    ) -> Result<(usize, Event<'b>), Ending> {
        match self.core.next_event(reading.heads) {
            Ok(event) => {
                if event == Event::NeedMore {
                    while let Some(number) = self.core.take_begun() {
                        note_reply_begun(in_flight, number, now);
                    }
                }
                Ok((0, event))
            }
            Err(lost) => Err(Ending { outcome: lost.outcome(), detail: self.core.detail().map(Arc::new) }),
        }
    }

    fn fields<'a>(&'a self, heads: &'a Heads, _taken: &'a [u8]) -> Fields<'a> {
        heads.fields()
    }

    fn so_far(&self, _in_flight: &[Exchange], number: u32) -> Option<Reply> {
        self.core.so_far(number)
    }

    /// As over HTTP/2, what comes behind other bytes did not arrive before them.
    fn hear(&mut self, now: Instant) -> Instant {
        *self.heard.insert(self.heard.map_or(now, |heard| now.max(heard)))
    }

    fn carriage(&self) -> Carriage {
        Carriage::Datagrams
    }

    /// With those before it that are not written yet, as far as the server allows streams.
    fn write(&mut self, itinerary: &mut Itinerary, in_flight: &[Exchange]) {
        if self.is_retired {
            return;
        }
        let from = self.unwritten_from;
        for exchange in in_flight.iter().filter(|exchange| exchange.number >= from) {
            if !self.core.has_room() {
                return;
            }
            let parts = itinerary.for_http3(&exchange.job);
            let number = self.core.request(parts, exchange.answering);
            debug_assert_eq!(number, Some(exchange.number));
            self.unwritten_from = exchange.number + 1;
        }
    }

    fn write_waiting(&mut self, itinerary: &mut Itinerary, in_flight: &[Exchange]) {
        self.write(itinerary, in_flight);
    }

    fn begin_early(&mut self) -> bool {
        self.core.begin_early()
    }

    /// Requests that the server allowed no stream for are not among those that were written.
    fn note_sent(&mut self, in_flight: &mut [Exchange], _end: u32, sent: Instant) {
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

    fn say_goodbye(&mut self, _ending: bool) -> bool {
        // The time that the connection was last handed: its own does not go back.
        self.core.close(Instant::ZERO);
        true
    }

    /// A server that allows no stream yet is waited for by one request, within its time limit.
    fn takes_more(&self, in_flight: &[Exchange]) -> bool {
        !self.is_retired && self.core.has_room() || !self.is_over() && in_flight.is_empty()
    }

    fn is_over(&self) -> bool {
        self.is_retired || self.core.is_closing()
    }

    fn gets_on(&self) -> bool {
        self.core.processed_any()
    }

    fn is_unsent(&self, number: u32) -> bool {
        number >= self.unsent_from
    }

    /// The version alone where the request was never written, and nothing before the handshake is over.
    fn stats(&self, number: u32, now: Instant) -> Option<HttpStats> {
        let written = !self.is_unwritten(number);
        let stream =
            || HttpStats::of_http3(StreamId::of_request(number).number(), self.stalls.us_of(number, now));
        let stats = if written { stream() } else { HttpStats::of(SpokenVersion::Http3) };
        self.core.is_secured().then_some(stats)
    }

    /// A reply that had begun is cut off.
    fn ending_of(&self, exchange: &Exchange, ending: &Ending) -> Ending {
        match ending.outcome {
            Outcome::ClosedUnanswered if exchange.first_byte != Stamp::NEVER => {
                Ending { outcome: Outcome::Truncated, ..ending.clone() }
            }
            _ => ending.clone(),
        }
    }

    fn count_stalls(&mut self, now: Instant) {
        self.stalls.count(now, |number| self.core.is_stalled(number));
    }

    fn forget(&mut self, number: u32) {
        self.stalls.forget(number);
    }

    fn cancel(&mut self, number: u32, sent: Instant) {
        // The number of one that was never written is no stream's, and cannot be left out.
        self.is_retired |= self.heard.is_none_or(|heard| heard <= sent) || self.is_unwritten(number);
        self.core.cancel(number);
    }
}
