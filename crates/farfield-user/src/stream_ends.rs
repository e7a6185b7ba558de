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

use crate::egress::Egress;
use crate::exchange::{Exchange, Job};
use crate::protocol::place_of;
use crate::reaction::Reaction;
use crate::slots::ConnectionSlot;
use crate::transport::{ConnectionKey, Transport};
use farfield_base::{Ending, Instant, Outcome};
use farfield_http::http1::Reply;

/// Number of times that a request is sent again which the server refused without processing it. Clients
/// differ: Go's sends it six times more, and curl five.
pub(crate) const REFUSALS_MAX: u8 = 5;

/// A reply of which nothing came.
const NOTHING: Reply = Reply { status: 0, persistent: false, body_bytes: 0, reply_bytes: 0 };

impl<T: Transport> Egress<'_, T> {
    /// Closes a connection on which nothing is asked any more, or gives it to the pool if users share
    /// connections.
    fn end_if_unused(&mut self, slot: ConnectionSlot) {
        let connection = self.connections.table.at(slot);
        if !connection.in_flight.is_empty() {
            return;
        }
        if connection.protocol.is_over() || connection.requests >= self.connections.policy.requests_max() {
            self.drop_connection(slot);
        } else {
            self.give_back(slot);
        }
    }
}

impl<T: Transport> Reaction<'_, T> {
    /// The request of this number failed, with what came of its reply and the outcome. What the server has
    /// `refused` and not processed is sent again.
    pub(crate) fn fail_stream(
        &mut self,
        key: ConnectionKey,
        number: u32,
        (reply, ending): (Reply, Ending),
        refused: bool,
    ) {
        let connection = self.connections.table.at_mut(key.slot);
        let Some(place) = place_of(&connection.in_flight, number) else { return };
        let job = connection.in_flight[place].job;
        let refusals = job.refusals + u8::from(!connection.protocol.gets_on());
        if !refused || refusals > REFUSALS_MAX {
            return self.end_stream(key, number, reply, Some(ending));
        }
        connection.in_flight.remove(place);
        let user = connection.user;
        self.counters.load.refused += 1;
        self.users[user].wanted.waiting.push_front(Job { refusals, ..job });
        self.egress().end_if_unused(key.slot);
    }

    /// The request of this number is over: with `failure`, or a complete reply.
    pub(crate) fn end_stream(
        &mut self,
        key: ConnectionKey,
        number: u32,
        reply: Reply,
        failure: Option<Ending>,
    ) {
        let connection = self.connections.table.at_mut(key.slot);
        let Some(place) = place_of(&connection.in_flight, number) else { return };
        let mut exchange = connection.in_flight.remove(place);
        let (user, serial) = (connection.user, connection.serial);
        let done = exchange.end_at(self.now);
        let last = match failure {
            None => exchange.progress.finish(done),
            Some(_) => {
                exchange.progress.give_up(done);
                None
            }
        };
        let host = connection.host;
        let mut sample = connection.sample(&exchange, self.users[user].number, done);
        sample.status = reply.status;
        sample.body_bytes = reply.body_bytes;
        sample.reply_bytes = reply.reply_bytes;
        sample.tcp = self.transport.tcp_stats(key);
        let status = failure.is_none().then_some(reply.status);
        connection.answered += u32::from(failure.is_none());
        let ending = failure.unwrap_or_else(|| Outcome::of_status(reply.status).into());
        connection.protocol.forget(exchange.number);
        self.at(done).egress().end_if_unused(key.slot);
        if let Some(came) = last {
            self.note_events((self.users[user].number, serial, host), &exchange, done, came);
        }
        self.at(done).settle((user, exchange.job), (status, ending), sample);
    }

    /// Ends the requests on a connection whose time limit has come, and watches for the next.
    pub(crate) fn end_overdue_streams(&mut self, slot: ConnectionSlot) {
        let key = self.connections.table.key(slot);
        self.connections.table.unwatch(slot);
        while let Some(connection) = self.connections.table.find(key) {
            // One that waits for the server to allow a stream has waited since it was due. A stream of events
            // has all of its limit again with each of them.
            let secured = connection.secured.map_or(Instant::ZERO, |tls| tls.secured);
            let from = |own: &Exchange| {
                let sent = own.sent.instant().unwrap_or_else(|| own.job.due.max(secured));
                own.progress.last_event().map_or(sent, |event| event.max(sent))
            };
            let Some(oldest) = connection.in_flight.iter().min_by_key(|own| from(own)) else { return };
            let sent = from(oldest);
            if sent + self.connections.policy.request_timeout() > self.now {
                self.connections.table.watch(slot, sent);
                self.connections.flush_streams(self.transport, self.now, slot);
                return;
            }
            let number = oldest.number;
            let reply = connection.protocol.so_far(&connection.in_flight, number).unwrap_or(NOTHING);
            connection.protocol.cancel(number, sent);
            connection.protocol.retire_if_full(self.transport.backlog(key));
            self.end_stream(key, number, reply, Some(Outcome::TimedOut.into()));
        }
    }
}
