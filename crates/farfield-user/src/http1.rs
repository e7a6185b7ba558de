//! Replies over HTTP/1 (RFC 9112): one after another, in the order of their requests, so that what comes is
//! of the first request that is on its way.

use crate::exchange::Exchange;
use crate::protocol::{Protocol, ReplyContext};
use farfield_base::{Ending, Instant, Outcome, Stamp};
use farfield_http::http1::{Fields, Limits, Malformed, Reply, ReplyReader};
use farfield_http::{Event, Heads, tls};
use std::sync::Arc;

/// A connection's reader of replies.
#[derive(Debug, Default)]
pub(crate) struct Http1 {
    pub reader: ReplyReader,
    /// The server has sent something, if only the end of a line.
    spoken: bool,
}

impl Http1 {
    /// Instant at which bytes that came at `now` answer the first request, if they may be of its reply.
    fn answered_at(&self, in_flight: &[Exchange], now: Instant) -> Option<Instant> {
        in_flight.first()?.answered_at(now, self.reader.is_in_reply())
    }
}

impl Protocol for Http1 {
    fn read<'b>(
        &mut self,
        reading: &mut ReplyContext<'_>,
        in_flight: &mut [Exchange],
        now: Instant,
        bytes: &'b [u8],
    ) -> Result<(usize, Event<'b>), Ending> {
        let at = self.answered_at(in_flight, now);
        let (Some(at), Some(exchange)) = (at, in_flight.first_mut()) else {
            return Ok((bytes.len(), Event::NeedMore));
        };
        let limits: &Limits = reading.limits;
        let is_first = !self.spoken;
        self.spoken |= !bytes.is_empty();
        let read = self.reader.read_with(reading.known_head, bytes, exchange.answering, limits);
        if exchange.first_byte == Stamp::NEVER && (self.reader.is_in_reply() || read.is_err()) {
            exchange.first_byte = Stamp::at(at);
        }
        match read {
            Ok((used, event)) => Ok((used, event.of_request(exchange.number))),
            Err(malformed) => {
                let of_tls = is_first && tls::answers_plaintext(bytes);
                let detail = self.reader.detail_of(malformed, bytes).filter(|_| !of_tls);
                let outcome = if of_tls { Outcome::TlsExpected } else { malformed.outcome() };
                Err(Ending { outcome, detail: detail.map(Arc::new) })
            }
        }
    }

    fn fields<'a>(&'a self, _heads: &'a Heads, taken: &'a [u8]) -> Fields<'a> {
        self.reader.fields(taken)
    }

    fn so_far(&self, in_flight: &[Exchange], number: u32) -> Option<Reply> {
        let first = in_flight.first()?;
        (first.number == number).then(|| self.reader.so_far())
    }

    fn finish(&mut self) -> Result<Option<Reply>, Malformed> {
        self.reader.finish()
    }

    fn awaits_reply(&self, in_flight: &[Exchange], now: Instant) -> bool {
        self.answered_at(in_flight, now).is_some()
    }

    fn has_streams(&self) -> bool {
        false
    }

    /// Requests that are sent again are never pipelined (RFC 9112 section 9.3.2).
    fn takes_more(&self, in_flight: &[Exchange]) -> bool {
        in_flight.iter().all(|exchange| !exchange.job.again)
    }
}
