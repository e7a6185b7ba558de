//! Requests on streams, of HTTP/2 and HTTP/3 alike: how each ends, whatever becomes of the others on its
//! connection.
//!
//! A request that the server says it has not processed (of HTTP/2 REFUSED_STREAM, of HTTP/3
//! H3_REQUEST_REJECTED, of either what its GOAWAY leaves out) is sent again whatever its method (RFC 9113
//! section 8.7, RFC 9114 section 4.1.1): a few times at most, unless the server goes away behind requests
//! that it has processed, as after a number of them. One that ends with its connection is sent again once,
//! if it is idempotent, nothing of a reply came, and the connection had been used before: a reply had come
//! over it. All that are on their way then are treated alike, whatever the order of their streams.
//!
//! Each request has its own time limit. One whose limit passes is cancelled, and the connection goes on,
//! unless nothing at all has come on it since the request was sent: then it takes no more requests.

use crate::connection::{Connection, Exchange, Job};
use crate::population::Population;
use crate::slots::ConnectionSlot;
use crate::transport::{Backlog, ConnectionKey, Transport};
use farfield_base::{Detail, Ending, Instant, Outcome, Stamp};
use farfield_http::http1::Reply;
use farfield_http::http2::Head;
use std::sync::Arc;

/// How often a request is sent again that the server refused without processing it. Clients differ: Go's
/// sends it six times more, and curl five.
pub(crate) const REFUSALS_MAX: u8 = 5;

/// Bytes that may wait to leave a connection on which a request was given up, so that further ones are sent.
const BACKLOG_MAX: u64 = 1 << 20;

/// What came of a reply of which nothing came.
const NOTHING: Reply = Reply { status: 0, persistent: false, body_bytes: 0, reply_bytes: 0 };

/// The exchange of request `number`, of those that are in the order of their numbers.
pub(crate) fn exchange_of(in_flight: &mut [Exchange], number: u32) -> Option<&mut Exchange> {
    let place = place_of(in_flight, number)?;
    in_flight.get_mut(place)
}

fn place_of(in_flight: &[Exchange], number: u32) -> Option<usize> {
    in_flight.binary_search_by_key(&number, |exchange| exchange.number).ok()
}

impl Population {
    /// Requests on the way at most on one connection.
    pub(crate) fn depth(&self, connection: &Connection) -> usize {
        if connection.has_streams() { usize::from(self.policy.streams.get()) } else { self.policy.depth() }
    }

    /// Requests on the way at most on a connection of the version that users speak, or may.
    pub(crate) fn depth_at_most(&self) -> usize {
        match self.version.may_have_streams() {
            true => usize::from(self.policy.streams.get()),
            false => self.policy.depth(),
        }
    }

    /// Writes the request that was bound last to a connection with streams. It leaves with
    /// [`Population::flush_streams`].
    pub(crate) fn write_request(&mut self, slot: ConnectionSlot) {
        match self.table.at(slot).http3 {
            None => self.write_frames(slot),
            Some(_) => self.write_bound(slot),
        }
    }

    /// Hands what was written to streams to the transport, and what the protocol asks for beside it.
    pub(crate) fn flush_streams<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        slot: ConnectionSlot,
    ) {
        match self.table.at(slot).http3 {
            None => self.flush_frames(transport, slot),
            Some(_) => self.flush_datagrams(transport, now, slot),
        }
    }

    /// The head of the reply to `exchange` came on a stream; its fields are in the buffers for heads.
    pub(crate) fn handle_stream_head(
        &mut self,
        now: Instant,
        key: ConnectionKey,
        exchange: Option<Exchange>,
        head: Head,
    ) {
        let (Some(exchange), Some(connection)) = (exchange, self.table.find(key)) else { return };
        let slot = connection.user;
        let at = exchange.sent.instant().map_or(now, |sent| now.max(sent));
        if self.looks_for_alternatives() {
            let heads = std::mem::take(&mut self.heads);
            self.note_alternatives(at, slot, heads.fields());
            self.heads = heads;
        }
        if exchange.job.pending.is_some() {
            let user = &mut self.users[slot.index()];
            self.itinerary.head(user, exchange.job, at, head.into(), self.heads.fields());
        }
    }

    /// The ending of a request whose stream failed with `outcome`: what its head has wrong, if that is it,
    /// or what else is known.
    pub(crate) fn ending_of_stream(
        &mut self,
        outcome: Outcome,
        detail: impl FnOnce() -> Option<Detail>,
    ) -> Ending {
        let flaw =
            self.heads.take_flaw().filter(|_| matches!(outcome, Outcome::BadHead | Outcome::BadLength));
        Ending { outcome, detail: flaw.or_else(detail).map(Arc::new) }
    }

    /// The request of this number failed, with what came of its reply and the outcome. What the server has
    /// `refused` and not processed is sent again.
    pub(crate) fn fail_stream<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
        number: u32,
        (reply, ending): (Reply, Ending),
        refused: bool,
    ) {
        let connection = self.table.at_mut(key.slot);
        let Some(place) = place_of(&connection.in_flight, number) else { return };
        let job = connection.in_flight[place].job;
        let refusals = job.refusals + u8::from(!connection.gets_on());
        if !refused || refusals > REFUSALS_MAX {
            return self.end_stream(transport, now, key, number, reply, Some(ending));
        }
        connection.in_flight.remove(place);
        let user = connection.user;
        self.tally.refused += 1;
        self.users[user.index()].waiting.push_front(Job { refusals, ..job });
        self.end_if_unused(transport, now, key.slot);
    }

    /// The request of this number is over: with `failure`, or a complete reply.
    pub(crate) fn end_stream<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
        number: u32,
        reply: Reply,
        failure: Option<Ending>,
    ) {
        let connection = self.table.at_mut(key.slot);
        let Some(place) = place_of(&connection.in_flight, number) else { return };
        let exchange = connection.in_flight.remove(place);
        let user = connection.user;
        let done = exchange.end_at(now);
        let mut sample = connection.sample(&exchange, self.users[user.index()].number, done);
        sample.status = reply.status;
        sample.body_bytes = reply.body_bytes;
        sample.reply_bytes = reply.reply_bytes;
        sample.tcp = transport.tcp_stats(key);
        let status = failure.is_none().then_some(reply.status);
        connection.answered += u32::from(failure.is_none());
        let ending = failure.unwrap_or_else(|| Outcome::of_status(reply.status).into());
        connection.forget(exchange.number);
        self.end_if_unused(transport, done, key.slot);
        self.settle(transport, done, (user, exchange.job), (status, ending), sample);
    }

    /// Closes a connection on which nothing is asked any more, or gives it to the pool if users share
    /// connections.
    fn end_if_unused<T: Transport>(&mut self, transport: &mut T, now: Instant, slot: ConnectionSlot) {
        let connection = self.table.at(slot);
        if !connection.in_flight.is_empty() {
            return;
        }
        if connection.is_over() || connection.requests >= self.policy.requests_max() {
            self.drop_connection(transport, slot);
        } else {
            self.give_back(transport, now, slot);
        }
    }

    /// Ends the requests on a connection whose time limit has come, and watches for the next.
    pub(crate) fn end_overdue_streams<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        slot: ConnectionSlot,
    ) {
        let key = self.table.key(slot);
        self.table.unwatch(slot);
        while let Some(connection) = self.table.find(key) {
            let Some(oldest) = connection.in_flight.first() else { return };
            // One that waits for the server to allow a stream has waited since it was due.
            let secured = connection.secured.map_or(Instant::ZERO, |tls| tls.secured);
            let sent = oldest.sent.instant().unwrap_or_else(|| oldest.job.due.max(secured));
            if sent + self.policy.request_timeout() > now {
                self.table.watch(slot, sent);
                self.flush_streams(transport, now, slot);
                return;
            }
            let number = oldest.number;
            let reply = connection.cancel(number, sent).unwrap_or(NOTHING);
            connection.retire_if_full(transport.backlog(key));
            self.end_stream(transport, now, key, number, reply, Some(Outcome::TimedOut.into()));
        }
    }
}

impl Connection {
    /// Whether the server goes away and has processed something.
    fn gets_on(&self) -> bool {
        self.http2.as_ref().is_some_and(|own| own.gets_on())
            || self.http3.as_ref().is_some_and(|own| own.gets_on())
    }

    /// Counts how long bodies have waited for windows, and which wait further.
    pub(crate) fn count_stalls(&mut self, now: Instant) {
        if let Some(own) = &mut self.http2 {
            own.count_stalls(now);
        }
        if let Some(own) = &mut self.http3 {
            own.count_stalls(now);
        }
    }

    /// Forgets what is kept for request `number`, which is over.
    fn forget(&mut self, number: u32) {
        if let Some(own) = &mut self.http2 {
            own.forget(number);
        }
        if let Some(own) = &mut self.http3 {
            own.forget(number);
        }
    }

    /// Gives request `number` up, which was sent at `sent`. If nothing came since, what is asked next had
    /// better go over another connection. Returns what came of its reply.
    fn cancel(&mut self, number: u32, sent: Instant) -> Option<Reply> {
        let is_silent = |heard: Option<Instant>| heard.is_none_or(|heard| heard <= sent);
        let mut reply = None;
        if let Some(own) = &mut self.http2 {
            own.is_retired |= is_silent(own.heard);
            reply = own.so_far(number);
            own.cancel(number);
        }
        if let Some(own) = &mut self.http3 {
            // The number of one that was never written is no stream's, and cannot be left out.
            own.is_retired |= is_silent(own.heard) || own.is_unwritten(number);
            reply = own.so_far(number);
            own.cancel(number);
        }
        reply
    }

    /// A request was given up: no more are sent where too many that were given up wait to leave, on a
    /// connection that the server says something on and does not read.
    fn retire_if_full(&mut self, backlog: Backlog) {
        if let Some(own) = &mut self.http2 {
            own.is_retired |= backlog.kept > BACKLOG_MAX;
        }
    }

    /// The reply to request `number` comes, and may have begun now. Returns the request.
    pub(crate) fn note_reply_begun(&mut self, number: u32, now: Instant) -> Option<Exchange> {
        let exchange = exchange_of(&mut self.in_flight, number)?;
        if exchange.first_byte == Stamp::NEVER
            && let Some(sent) = exchange.sent.instant()
        {
            exchange.first_byte = Stamp::at(now.max(sent));
        }
        Some(*exchange)
    }
}
