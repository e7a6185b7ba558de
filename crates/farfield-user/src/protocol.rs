//! The protocol of a connection: a version of HTTP, of which each has a file that says what is its own.
//!
//! Bytes that a connection has read become events of one type, with the number of the request, and the module
//! `replies` makes the same of them whatever the version. What is asked on streams is written by the protocol
//! too, and the module `streams` hands it over by its [`Carriage`]. A further version is a file and a line in
//! [`AnyProtocol`](crate::any_protocol::AnyProtocol).

use crate::exchange::Exchange;
use crate::itinerary::Itinerary;
use crate::transport::Backlog;
use farfield_base::{Ending, HttpStats, Instant, Stamp};
use farfield_http::http1::{Fields, KnownHead, Limits, Malformed, Reply};
use farfield_http::{Event, Heads};

/// Means with which the connections of a population read replies.
#[derive(Debug)]
pub(crate) struct ReplyContext<'a> {
    /// The head of HTTP/1 that came last.
    pub known_head: &'a mut KnownHead,
    /// Buffers for heads on streams.
    pub heads: &'a mut Heads,
    pub limits: &'a Limits,
    /// The bytes come out of a session of TLS.
    pub over_tls: bool,
}

/// The way of what a protocol has written to the transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carriage {
    /// Each request leaves as it is sent.
    AtOnce,
    /// As bytes of the connection, which collect and which TLS may seal.
    Bytes,
    /// In datagrams of QUIC.
    Datagrams,
}

/// A version of HTTP on one connection. The requests that are on their way come with each call, in the order
/// of their numbers.
pub(crate) trait Protocol {
    /// Takes the next step through `bytes`: how many of them it took, and what that led to.
    ///
    /// # Errors
    /// The connection is over, and this is the ending of what is asked on it.
    fn read<'b>(
        &mut self,
        reading: &mut ReplyContext<'_>,
        in_flight: &mut [Exchange],
        now: Instant,
        bytes: &'b [u8],
    ) -> Result<(usize, Event<'b>), Ending>;

    /// The fields of the head that the last step led to, which took the bytes `taken`.
    fn fields<'a>(&'a self, heads: &'a Heads, taken: &'a [u8]) -> Fields<'a>;

    /// The reply to request `number`, as far as it came.
    fn so_far(&self, in_flight: &[Exchange], number: u32) -> Option<Reply>;

    /// The peer has closed in good order: the reply that this ends.
    ///
    /// # Errors
    /// It cuts a reply off.
    fn finish(&mut self) -> Result<Option<Reply>, Malformed> {
        Ok(None)
    }

    /// True if bytes that come at `now` may be of a reply; if not, nothing was asked.
    fn awaits_reply(&self, _in_flight: &[Exchange], _now: Instant) -> bool {
        true
    }

    /// Bytes came at `now`: when they count as having come.
    fn hear(&mut self, now: Instant) -> Instant {
        now
    }

    /// True if requests are on streams, so that their replies do not wait for each other.
    fn has_streams(&self) -> bool {
        true
    }

    /// The way that what is on its streams leaves.
    fn carriage(&self) -> Carriage {
        Carriage::AtOnce
    }

    /// Writes the request that was bound last, of those in flight, to a stream.
    fn write(&mut self, _itinerary: &mut Itinerary, _in_flight: &[Exchange]) {}

    /// Writes requests in flight that waited for the server to allow streams.
    fn write_waiting(&mut self, _itinerary: &mut Itinerary, _in_flight: &[Exchange]) {}

    /// Begins to write within the handshake, if that is allowed; whether it is.
    fn begin_early(&mut self) -> bool {
        false
    }

    /// Bytes that were written, and not handed to the transport yet.
    fn unsent(&self) -> &[u8] {
        &[]
    }

    /// The server has the bytes that would be handed to the transport next.
    fn forget_unsent(&mut self) {}

    /// The bytes were handed to the transport; returns how many of them answer the server's.
    fn end_sending(&mut self) -> usize {
        0
    }

    /// Notes that the requests that were written so far, before number `end`, were sent at `sent`.
    fn note_sent(&mut self, _in_flight: &mut [Exchange], _end: u32, _sent: Instant) {}

    /// Writes that no more is asked, or what is wrong, on a connection that is about to be closed, and whose
    /// server has closed its side if it is `ending`; false if nothing is to leave.
    fn say_goodbye(&mut self, _ending: bool) -> bool {
        false
    }

    /// True if it takes a further request now, beside those in flight.
    fn takes_more(&self, in_flight: &[Exchange]) -> bool;

    /// True if a server that allows no request now is waited for.
    fn waits_for_room(&self) -> bool {
        false
    }

    /// True if no further request is sent on it.
    fn is_over(&self) -> bool {
        false
    }

    /// True if the server goes away and has processed something: it gets on with its requests, however
    /// slowly.
    fn gets_on(&self) -> bool {
        false
    }

    /// True if request `number` was not handed to the transport yet.
    fn is_unsent(&self, _number: u32) -> bool {
        false
    }

    /// The version and the stream of request `number` at `now`, for its sample; `None` where the version says
    /// it all, or is not settled.
    fn stats(&self, _number: u32, _now: Instant) -> Option<HttpStats> {
        None
    }

    /// The ending of a request whose connection ended with `ending`.
    fn ending_of(&self, _exchange: &Exchange, ending: &Ending) -> Ending {
        ending.clone()
    }

    /// Counts how long bodies have waited for windows, and which wait further.
    fn count_stalls(&mut self, _now: Instant) {}

    /// Forgets what is kept for request `number`, which is over.
    fn forget(&mut self, _number: u32) {}

    /// Gives request `number` up, which was sent at `sent`. If nothing came since, what is asked next had
    /// better go over another connection.
    fn cancel(&mut self, _number: u32, _sent: Instant) {}

    /// A request was given up: no more are sent where too much that was given up waits to leave.
    fn retire_if_full(&mut self, _backlog: Backlog) {}
}

/// The exchange of request `number`, of those that are in the order of their numbers.
pub(crate) fn exchange_of(in_flight: &mut [Exchange], number: u32) -> Option<&mut Exchange> {
    let place = place_of(in_flight, number)?;
    in_flight.get_mut(place)
}

/// The place of request `number` among those in flight.
pub(crate) fn place_of(in_flight: &[Exchange], number: u32) -> Option<usize> {
    in_flight.binary_search_by_key(&number, |exchange| exchange.number).ok()
}

/// The reply to request `number` comes, and may have begun now. Returns the request.
pub(crate) fn note_reply_begun(in_flight: &mut [Exchange], number: u32, now: Instant) -> Option<Exchange> {
    let exchange = exchange_of(in_flight, number)?;
    if exchange.first_byte == Stamp::NEVER
        && let Some(sent) = exchange.sent.instant()
    {
        exchange.first_byte = Stamp::at(now.max(sent));
    }
    Some(*exchange)
}
