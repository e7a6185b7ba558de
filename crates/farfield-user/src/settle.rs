//! Pages and their requests, from their beginning to the sample that each request ends as.

use crate::connection::Connection;
use crate::exchange::{Exchange, Job};
use crate::policy::Reuse;
use crate::population::Population;
use crate::slots::{ConnectionSlot, DescriptorSlot, UserSlot};
use crate::transport::{ConnectionKey, Transport};
use crate::user::User;
use farfield_base::{Detail, Ending, Fault, HttpStats, Instant, Outcome, PagePart, Sample, Stamp};
use farfield_http::http1::Reply;
use std::sync::Arc;

impl Population {
    /// Begins the user's next page, or the next few where it pipelines.
    pub(crate) fn begin_page<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        due: Instant,
        slot: UserSlot,
    ) {
        let clients = self.clients();
        let pages = match self.policy.policy {
            Reuse::Pipelined | Reuse::Multiplexed => self.itinerary.pages_at_once(self.depth_at_most()),
            _ => 1,
        };
        self.note_begin(transport, due, slot);
        let user = &mut self.users[slot.index()];
        let mut impossible = None;
        for _ in 0..pages.min(self.requests_left) {
            let (request, written) = self.itinerary.page(user, clients, now);
            user.turn += 1;
            self.requests_left -= 1;
            let pending = written.unwrap_or_default();
            let job = Job { request, pending, due, again: false, refusals: 0, first: true };
            match written {
                Ok(_) => {
                    user.queue(job);
                    self.in_system.enter(now, due);
                }
                Err(outcome) => impossible = Some((job, user.number, outcome)),
            }
        }
        if let Some((job, number, outcome)) = impossible {
            // As after a connection that failed, the user does not go on at once: others might not let it,
            // either.
            self.users[slot.index()].failed = true;
            let sample = never_begun(job, number, now, outcome);
            transport.record(Sample {
                page: PagePart::Whole,
                session: self.users[slot.index()].session,
                ..sample
            });
            self.hand_notes(transport);
            self.after_page(transport, now, slot);
        } else if user.unfinished == 0 {
            self.retire(transport, slot);
        } else {
            self.pump(transport, now, slot);
        }
    }

    /// Begins one request on a connection that descriptor `descriptor` waits for.
    pub(crate) fn begin_attempt<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        due: Instant,
        slot: UserSlot,
        descriptor: DescriptorSlot,
    ) -> ConnectionKey {
        let user = &mut self.users[slot.index()];
        let request = self.itinerary.first_page(user.number, &mut user.rng);
        let job = Job { request, pending: None, due, again: false, refusals: 0, first: true };
        user.unfinished += 1;
        self.in_system.enter(now, due);
        self.requests_left = self.requests_left.saturating_sub(1);
        self.open(transport, now, slot, job, Some(descriptor))
    }

    /// The reply to the connection's first request is complete. What came `unasked` behind it must not be
    /// taken for the reply to a request that is sent from now on (RFC 9112 section 6.3), so the connection is
    /// given up. Where it was to be closed after this reply anyway, what follows is of no matter.
    pub(crate) fn complete<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        slot: ConnectionSlot,
        reply: Reply,
        unasked: bool,
    ) {
        let max = self.policy.requests_max();
        let connection = self.table.at_mut(slot);
        let exchange = connection.in_flight.remove(0);
        let user = connection.user;
        let mut sample = connection.sample(&exchange, self.users[user.index()].number, now);
        sample.status = reply.status;
        sample.body_bytes = reply.body_bytes;
        sample.reply_bytes = reply.reply_bytes;
        sample.tcp = transport.tcp_stats(ConnectionKey { slot, serial: connection.serial });
        // What the server would read next is the content that it was not sent.
        let is_whole = connection.withheld.as_ref().is_none_or(|own| own.number != exchange.number);
        let kept = reply.persistent && exchange.number + 1 < max && is_whole;
        let unasked = unasked && kept;
        self.tally.unasked += u64::from(unasked);
        if unasked || !kept {
            // The server said that it would read no further, so those behind were not served.
            let gone = self.drop_connection(transport, slot);
            self.put_back(gone.user, &gone.in_flight);
        } else if connection.in_flight.is_empty() {
            self.table.stop_limit(slot);
            self.give_back(transport, now, slot);
        } else {
            self.table.start_limit(slot, now);
        }
        let outcome = if unasked { Outcome::Unasked } else { Outcome::of_status(reply.status) };
        self.settle(transport, now, (user, exchange.job), (Some(reply.status), outcome.into()), sample);
    }

    /// A user's request is over, with this ending, and a complete reply of `status` or without one: goes on
    /// with what follows from it.
    pub(crate) fn settle<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        (user, job): (UserSlot, Job),
        (status, ending): (Option<u16>, Ending),
        mut sample: Sample,
    ) {
        (sample.outcome, sample.page) = self.led_to(now, user, job, status, &ending);
        sample.session = self.users[user.index()].session;
        self.note_silence(&sample);
        record(transport, sample);
        self.hand_notes(transport);
        self.in_system.leave(now);
        self.request_over(transport, now, user, sample.outcome);
    }

    /// The connection is lost: its first request ends so, unless the server may not have read it,
    /// and so do those behind it that must not be sent twice. The others are sent again.
    pub(crate) fn lose<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        slot: ConnectionSlot,
        ending: impl Into<Ending>,
    ) {
        let mut ending = ending.into();
        if ending.detail.is_none() {
            let server = transport.server_of(self.table.key(slot));
            ending.detail = server.map(|server| Arc::new(Detail::at(server)));
        }
        let outcome = ending.outcome;
        if self.table.at(slot).attempt.is_some() {
            return self.fall_back(transport, now, slot, outcome);
        }
        self.table.at_mut(slot).flooded = outcome == Outcome::Flooded;
        let mut lost = self.drop_connection(transport, slot);
        if lost.idle.is_some() {
            return;
        }
        let unread = matches!(outcome, Outcome::ClosedUnanswered | Outcome::Reset | Outcome::NetworkChanged);
        let (itinerary, first) = (&self.itinerary, lost.in_flight.first().map(|first| first.number));
        // Over HTTP/1 only the first can have been answered in part; on streams any of them.
        let only_first = !lost.has_streams();
        let goes_again = |exchange: &Exchange| {
            itinerary.is_idempotent(&exchange.job)
                && (only_first && Some(exchange.number) != first || unread && lost.may_repeat(exchange))
        };
        let (again, failing): (Vec<_>, Vec<_>) = lost.in_flight.iter().copied().partition(goes_again);
        self.put_back(lost.user, &again);
        lost.in_flight = failing.into();
        self.fail_exchanges(transport, now, &lost, &ending);
        self.pump(transport, now, lost.user);
    }

    /// Queues requests whose connection is gone, ahead of all that wait. What is sent again is never
    /// pipelined, so none comes here twice.
    fn put_back(&mut self, user: UserSlot, gone: &[Exchange]) {
        let user = &mut self.users[user.index()];
        for exchange in gone.iter().rev() {
            let sent = exchange.sent != Stamp::NEVER;
            self.tally.resent += u64::from(sent);
            user.waiting.push_front(Job { again: sent || exchange.job.again, ..exchange.job });
        }
    }

    pub(crate) fn fail_exchanges<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        gone: &Connection,
        ending: &Ending,
    ) {
        let number = self.users[gone.user.index()].number;
        for exchange in &gone.in_flight {
            let ending = gone.protocol.ending_of(exchange, ending);
            let outcome = ending.outcome;
            let mut sample = gone.sample_unfinished(exchange, number, now, outcome);
            let done = sample.done;
            (_, sample.page) = self.led_to(done, gone.user, exchange.job, None, &ending);
            sample.session = self.users[gone.user.index()].session;
            self.note_silence(&sample);
            record(transport, sample);
            self.hand_notes(transport);
            self.in_system.leave(done);
            self.request_over(transport, done, gone.user, outcome);
        }
    }

    /// Gives a load by count up whose server has been silent for too long.
    fn note_silence(&mut self, sample: &Sample) {
        if let Some(silent) = self.silence.note(sample, self.last_received()) {
            self.tally.given_up.get_or_insert(silent);
        }
    }

    /// A request ended so, with a reply of this status or without one: what became of it, and its place in
    /// its page. Requests that follow from it are queued.
    fn led_to(
        &mut self,
        now: Instant,
        slot: UserSlot,
        job: Job,
        status: Option<u16>,
        ending: &Ending,
    ) -> (Outcome, PagePart) {
        let user = &mut self.users[slot.index()];
        let before = (user.unfinished, user.held_back());
        // The load of an S-Client is its attempts: each is for one object.
        let alone = self.model.is_single();
        let outcome = self.itinerary.over(user, job, now, status, ending, alone);
        let (queued, held) = (user.unfinished - before.0, user.held_back() - before.1);
        user.unfinished -= 1;
        let page = match self.records_pages {
            true => PagePart::of(job.first, user.unfinished == 0),
            false => PagePart::Untracked,
        };
        self.count_queued(now, queued, held);
        (outcome, page)
    }

    /// Counts requests that follow from a reply: `queued` in all, due now but for those that are `held` back.
    pub(crate) fn count_queued(&mut self, now: Instant, queued: u32, held: u32) {
        for _ in held..queued {
            self.in_system.enter(now, now);
        }
        self.held_back += u64::from(held);
        self.requests_left = self.requests_left.saturating_sub(u64::from(queued));
    }

    /// A request of a user's page is over: go on with what waits, or after the page.
    fn request_over<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        slot: UserSlot,
        outcome: Outcome,
    ) {
        let user = &mut self.users[slot.index()];
        user.failed |= outcome.fault() == Fault::Network
            || outcome.is_of_tls()
            || matches!(outcome, Outcome::NoDescriptor | Outcome::NoAddress | Outcome::ClosedUnanswered)
            || matches!(outcome, Outcome::GoneAway | Outcome::NotHttp2 | Outcome::StreamRefused)
            || matches!(outcome, Outcome::NoQuicVersion | Outcome::BadQuic);
        if user.unfinished == 0 {
            if self.policy.policy.closes_early() {
                self.close_all(transport, slot);
            }
            self.after_page(transport, now, slot);
        } else {
            self.begin_off_times(transport, now, slot);
            self.pump(transport, now, slot);
        }
    }

    /// Ends the run: what is still open, and what was due and never begun, is recorded as unfinished at
    /// `now`.
    pub fn cut<T: Transport>(&mut self, transport: &mut T, now: Instant) {
        self.finished = true;
        self.record_missed(transport, now);
        let slots: Vec<ConnectionSlot> = self.table.slots().collect();
        for slot in slots {
            let connection = self.drop_connection(transport, slot);
            for exchange in &connection.in_flight {
                let User { number, session, .. } = self.users[connection.user.index()];
                let sample = connection.sample_unfinished(exchange, number, now, Outcome::Unfinished);
                self.in_system.leave(now);
                record(transport, Sample { page: self.page_left_open(exchange.job), session, ..sample });
            }
        }
        let waiting: Vec<(u32, u32, Job)> = self
            .users
            .iter()
            .flat_map(|(_, user)| user.waiting.iter().map(|job| (user.number, user.session, *job)))
            .collect();
        for (number, session, job) in waiting {
            self.in_system.leave(now);
            let sample = never_begun(job, number, now, Outcome::Unfinished);
            transport.record(Sample { page: self.page_left_open(job), session, ..sample });
        }
        self.users.clear();
    }

    /// The place of an unfinished request in its page, which is not over either.
    fn page_left_open(&self, job: Job) -> PagePart {
        if self.records_pages { PagePart::of(job.first, false) } else { PagePart::Untracked }
    }
}

/// Hands a sample to the transport.
fn record<T: Transport>(transport: &mut T, sample: Sample) {
    debug_assert!(sample.is_ordered(), "out of order: {sample:?}");
    transport.record(sample);
}

/// The sample of a request that never reached a connection.
pub(crate) fn never_begun(job: Job, user: u32, now: Instant, outcome: Outcome) -> Sample {
    Sample {
        due: job.due,
        connect_begun: Stamp::NEVER,
        connected: Stamp::NEVER,
        sent: Stamp::NEVER,
        first_byte: Stamp::NEVER,
        done: now,
        body_bytes: 0,
        reply_bytes: 0,
        user,
        connection: Sample::NO_CONNECTION,
        number: 0,
        request: job.request,
        class: 0,
        status: 0,
        outcome,
        tcp: None,
        tls: None,
        http: HttpStats::UNKNOWN,
        page: PagePart::Untracked,
        session: Sample::NO_SESSION,
    }
}
