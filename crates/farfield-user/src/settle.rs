//! Pages and their requests, from their beginning to the sample that each request ends as.

use crate::connection::Connection;
use crate::exchange::{Exchange, Job};
use crate::policy::Reuse;
use crate::reaction::Reaction;
use crate::slots::{ConnectionSlot, DescriptorSlot, UserSlot};
use crate::transport::{ConnectionKey, Transport};
use crate::user::User;
use crate::users::Following;
use farfield_base::{Detail, Ending, EventStats, Fault, Instant, Outcome, PagePart, Sample, Stamp};
use farfield_http::http1::Reply;
use farfield_traffic::session::websocket::SocketStep;
use std::sync::Arc;

impl<T: Transport> Reaction<'_, T> {
    /// Begins the user's next page, or the next few where it pipelines.
    pub(crate) fn begin_page(&mut self, due: Instant, slot: UserSlot) {
        let clients = self.load.clients();
        let pages = match self.connections.policy.policy {
            Reuse::Pipelined | Reuse::Multiplexed => {
                self.users.itinerary.pages_at_once(self.connections.depth_at_most())
            }
            _ => 1,
        };
        self.users.note_begin(self.transport, due, slot);
        let mut impossible = None;
        for _ in 0..pages.min(self.load.requests_left()) {
            let (request, written) = self.users.next_page(slot, clients, self.now);
            self.load.take_requests(1);
            let pending = written.unwrap_or_default();
            let host = self.users.itinerary.host_of(request, pending);
            let job = Job { request, host, pending, due, again: false, refusals: 0, first: true };
            match written {
                Ok(_) => {
                    self.users[slot].wanted.queue(job);
                    self.counters.in_system.enter(self.now, due);
                }
                Err(outcome) => impossible = Some((job, outcome)),
            }
        }
        if let Some((job, outcome)) = impossible {
            // As after a connection that failed, the user does not go on at once: others might not let it,
            // either.
            self.users[slot].failed = true;
            let sample = never_begun(job, self.users[slot].number, self.now, outcome);
            self.transport.record(Sample {
                page: PagePart::Whole,
                session: self.users[slot].session,
                ..sample
            });
            self.users.hand_notes(self.transport);
            self.after_page(slot);
        } else if self.users[slot].wanted.unfinished == 0 {
            self.egress().retire(slot);
        } else {
            self.egress().pump(slot);
        }
    }

    /// Begins one request on a connection that descriptor `descriptor` waits for.
    pub(crate) fn begin_attempt(
        &mut self,
        due: Instant,
        slot: UserSlot,
        descriptor: DescriptorSlot,
    ) -> ConnectionKey {
        let request = self.users.first_request(slot);
        let host = self.users.itinerary.host_of(request, None);
        let job = Job { request, host, pending: None, due, again: false, refusals: 0, first: true };
        self.counters.in_system.enter(self.now, due);
        self.load.take_requests(1);
        self.egress().open(slot, job, Some(descriptor))
    }

    /// The reply to the connection's first request is complete. What came `unasked` behind it must not be
    /// taken for the reply to a request that is sent from now on (RFC 9112 section 6.3), so the connection is
    /// given up. Where it was to be closed after this reply anyway, what follows is of no matter.
    pub(crate) fn complete(&mut self, slot: ConnectionSlot, reply: Reply, unasked: bool) {
        let max = self.connections.policy.requests_max();
        let connection = self.connections.table.at_mut(slot);
        let mut exchange = connection.in_flight.remove(0);
        let (user, serial, host) = (connection.user, connection.serial, connection.host);
        let last = exchange.progress.finish(self.now);
        let done = exchange.came.instant().map_or(self.now, |came| came.max(exchange.job.due));
        let mut sample = connection.sample(&exchange, self.users[user].number, done);
        sample.status = reply.status;
        sample.body_bytes = reply.body_bytes;
        sample.reply_bytes = reply.reply_bytes;
        sample.tcp = self.transport.tcp_stats(ConnectionKey { slot, serial: connection.serial });
        // The server would next read the content that it was not sent.
        let is_whole = connection.withheld.as_ref().is_none_or(|own| own.number != exchange.number);
        let is_websocket = connection.protocol.is_websocket();
        let upgrades = reply.status == 101 && self.users.itinerary.upgrades(&exchange.job);
        let is_plain = !is_websocket && !upgrades;
        // A connection that was opened for an upgrade takes no requests.
        let takes_more = !connection.upgrades && exchange.number + 1 < max && is_whole;
        let kept = upgrades || reply.persistent && (is_websocket || takes_more);
        // What comes behind an upgrade is the server's first message.
        let unasked = unasked && kept && is_plain;
        self.counters.load.unasked += u64::from(unasked);
        let mut unserved = None;
        if unasked || !kept {
            let mut gone = self.egress().drop_connection(slot);
            // The server said that it would read no further, so those behind were not served. Where the user
            // left, it said nothing, and may have read them.
            let left = exchange.progress.events().is_some_and(|events| events.left);
            let itinerary = &self.users.itinerary;
            let goes_again =
                |own: &Exchange| !left || own.sent == Stamp::NEVER || itinerary.is_idempotent(&own.job);
            let (again, failing): (Vec<_>, Vec<_>) = gone.in_flight.iter().copied().partition(goes_again);
            self.users.put_back(self.counters, gone.user, &again);
            gone.in_flight = failing.into();
            unserved = Some(gone).filter(|gone| !gone.in_flight.is_empty());
        } else if connection.in_flight.is_empty() {
            self.connections.table.stop_limit(slot);
            match is_plain {
                true => self.egress().give_back(slot),
                false if upgrades => self.egress().begin_websocket(slot),
                false => {}
            }
        } else {
            self.connections.table.start_limit(slot, self.now);
        }
        if let Some(came) = last {
            self.note_events((self.users[user].number, serial, host), &exchange, self.now, came);
        }
        let outcome = if unasked { Outcome::Unasked } else { Outcome::of_status(reply.status) };
        if let Some(gone) = unserved {
            self.fail_exchanges(&gone, &Outcome::ClosedUnanswered.into());
        }
        self.settle((user, exchange.job), (Some(reply.status), outcome.into()), sample);
    }

    /// A user's request is over, with this ending, and a complete reply of `status` or without one: goes on
    /// with what follows from it.
    pub(crate) fn settle(
        &mut self,
        (user, job): (UserSlot, Job),
        (status, ending): (Option<u16>, Ending),
        mut sample: Sample,
    ) {
        (sample.outcome, sample.page) = self.led_to(user, job, status, &ending);
        sample.session = self.users[user].session;
        self.load.note_silence(&sample, self.counters.last_received());
        record(self.transport, sample);
        self.users.hand_notes(self.transport);
        self.counters.in_system.leave(sample.done);
        self.request_over(user, sample.outcome);
    }

    /// The connection is lost: its first request ends so, unless the server may not have read it,
    /// and so do those behind it that must not be sent twice. The others are sent again.
    pub(crate) fn lose(&mut self, slot: ConnectionSlot, ending: impl Into<Ending>) {
        let mut ending = ending.into();
        if ending.detail.is_none() {
            let server = self.transport.server_of(self.connections.table.key(slot));
            ending.detail = server.map(|server| Arc::new(Detail::at(server)));
        }
        let outcome = ending.outcome;
        if self.connections.table.at(slot).attempt.is_some() {
            return self.fall_back(slot, outcome);
        }
        self.connections.table.at_mut(slot).flooded = outcome == Outcome::Flooded;
        self.count_closed_websocket(slot, outcome);
        let mut lost = self.egress().drop_connection(slot);
        if lost.idle.is_some() {
            return;
        }
        let unread = matches!(outcome, Outcome::ClosedUnanswered | Outcome::Reset | Outcome::NetworkChanged);
        let (itinerary, first) = (&self.users.itinerary, lost.in_flight.first().map(|first| first.number));
        // Over HTTP/1 only the first can have been answered in part; on streams any of them.
        let only_first = !lost.has_streams();
        let goes_again = |exchange: &Exchange| {
            itinerary.is_idempotent(&exchange.job)
                && (only_first && Some(exchange.number) != first || unread && lost.may_repeat(exchange))
        };
        let (again, failing): (Vec<_>, Vec<_>) = lost.in_flight.iter().copied().partition(goes_again);
        self.users.put_back(self.counters, lost.user, &again);
        lost.in_flight = failing.into();
        self.fail_exchanges(&lost, &ending);
        self.egress().pump(lost.user);
    }

    pub(crate) fn fail_exchanges(&mut self, gone: &Connection, ending: &Ending) {
        let number = self.users[gone.user].number;
        for exchange in &gone.in_flight {
            let ending = gone.protocol.ending_of(exchange, ending);
            let outcome = ending.outcome;
            let mut sample = gone.sample_unfinished(exchange, number, self.now, outcome);
            let done = sample.done;
            (_, sample.page) = self.at(done).led_to(gone.user, exchange.job, None, &ending);
            sample.session = self.users[gone.user].session;
            self.load.note_silence(&sample, self.counters.last_received());
            record(self.transport, sample);
            self.users.hand_notes(self.transport);
            self.counters.in_system.leave(done);
            self.at(done).request_over(gone.user, outcome);
        }
    }

    /// A request ended so, with a reply of this status or without one: what became of it, and its place in
    /// its page. Requests that follow from it are queued.
    fn led_to(
        &mut self,
        slot: UserSlot,
        job: Job,
        status: Option<u16>,
        ending: &Ending,
    ) -> (Outcome, PagePart) {
        // The load of an S-Client is its attempts: each is for one object.
        let alone = self.load.model.is_single();
        let (outcome, page, following) = self.users.end_request(slot, job, self.now, (status, ending), alone);
        self.count_following(following);
        (outcome, page)
    }

    /// Counts requests that follow from a reply, due now but for those that are held back.
    pub(crate) fn count_following(&mut self, following: Following) {
        for _ in following.held..following.queued {
            self.counters.in_system.enter(self.now, self.now);
        }
        self.load.take_requests(u64::from(following.queued));
    }

    /// A request of a user's page is over: go on with what waits, or after the page.
    fn request_over(&mut self, slot: UserSlot, outcome: Outcome) {
        let user = &mut self.users[slot];
        user.failed |= outcome.fault() == Fault::Network
            || outcome.is_of_tls()
            || matches!(outcome, Outcome::NoDescriptor | Outcome::NoAddress | Outcome::ClosedUnanswered)
            || matches!(outcome, Outcome::GoneAway | Outcome::NotHttp2 | Outcome::StreamRefused)
            || matches!(outcome, Outcome::NoQuicVersion | Outcome::BadQuic);
        if user.wanted.unfinished == 0 {
            if self.connections.policy.policy.closes_early() {
                self.egress().close_requests(slot);
            }
            self.after_page(slot);
        } else {
            self.begin_off_times(slot);
            self.egress().pump(slot);
        }
    }

    /// Ends the run: what is still open, and what was due and never begun, is recorded as unfinished at
    /// `now`.
    pub fn cut(&mut self) {
        self.load.finish();
        self.record_missed();
        let slots: Vec<ConnectionSlot> = self.connections.table.slots().collect();
        for slot in slots {
            let connection = self.egress().drop_connection(slot);
            for exchange in &connection.in_flight {
                let User { number, session, .. } = self.users[connection.user];
                let mut sample =
                    connection.sample_unfinished(exchange, number, self.now, Outcome::Unfinished);
                // A stream goes on for ever, if it may: that it is left open is no failure.
                if let Some(events) = &mut sample.events
                    && exchange.progress.is_stream()
                    && events.events > 0
                {
                    events.left = true;
                    sample.outcome = Outcome::of_status(sample.status);
                }
                // Nobody answers a message that is only sent: no reply to it is missing.
                if self.users.itinerary.socket_step(&exchange.job) == Some(SocketStep::Send) {
                    sample.events = Some(EventStats { left: true, ..EventStats::NONE });
                }
                self.counters.in_system.leave(self.now);
                record(
                    self.transport,
                    Sample { page: self.users.page_left_open(exchange.job), session, ..sample },
                );
            }
        }
        let waiting: Vec<(u32, u32, Job)> = self
            .users
            .iter()
            .flat_map(|user| user.wanted.waiting.iter().map(|job| (user.number, user.session, *job)))
            .collect();
        for (number, session, job) in waiting {
            self.counters.in_system.leave(self.now);
            let sample = never_begun(job, number, self.now, Outcome::Unfinished);
            self.transport.record(Sample { page: self.users.page_left_open(job), session, ..sample });
        }
        self.users.clear();
    }
}

/// Hands a sample to the transport.
fn record<T: Transport>(transport: &mut T, sample: Sample) {
    debug_assert!(sample.is_ordered(), "out of order: {sample:?}");
    transport.record(sample);
}

/// The sample of a request that never reached a connection.
pub(crate) fn never_begun(job: Job, user: u32, now: Instant, outcome: Outcome) -> Sample {
    let Job { due, request, host, .. } = job;
    Sample { due, done: now, user, request, host, outcome, ..Sample::EMPTY }
}
