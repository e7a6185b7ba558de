//! The users of one shard, their connections and what happens on them.
//!
//! A population is told what happened and when, and asks its [`Host`] for what follows. Nothing on the path of
//! a request allocates once tables and queues have grown, except a page's queue on a user's first page.

use crate::book::Book;
use crate::connection::{Connection, Exchange, Job, NO_DESCRIPTOR, State};
use crate::driver::Driver;
use crate::gauge::Gauge;
use crate::host::{ConnectionKey, Failure, Host, Wake};
use crate::policy::{Policy, Reuse};
use crate::table::Table;
use crate::user::User;
use farfield_base::random::Seed;
use farfield_base::{Fault, Instant, Outcome, Stamp, Window};
use farfield_http::http1::{Event, Limits, Reply};
use farfield_traffic::load::LoadModel;
use farfield_traffic::request::RequestSet;
use slab::Slab;
use std::collections::VecDeque;

/// All that a population follows.
#[derive(Debug, Clone)]
pub struct Plan {
    /// When users act.
    pub load: LoadModel,
    /// What they ask for.
    pub requests: RequestSet,
    /// The bytes they ask with.
    pub book: Book,
    /// How they use connections.
    pub policy: Policy,
    /// Where all chance comes from.
    pub seed: Seed,
    /// This worker's number, from 0.
    pub worker: u32,
    /// How many workers share the load.
    pub workers: u32,
    /// The measured part of the run.
    pub window: Window,
    /// Requests after which this worker's users begin no more pages.
    pub requests_max: Option<u64>,
}

/// What the model of load wanted in the measured window, and what came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Arrivals or attempts that were due in the window, those included that were never come to.
    pub scheduled: u64,
    /// Those of them that were begun before the window ended.
    pub begun: u64,
    /// Those of them that no user could take.
    pub dropped: u64,
    /// Requests sent again, on another connection, over the whole run: the connection they were first sent on
    /// closed without a word about them. The server may have seen them more than once.
    pub resent: u64,
}

/// The users of one shard.
#[derive(Debug)]
pub struct Population {
    pub(crate) plan: Plan,
    pub(crate) driver: Driver,
    pub(crate) users: Slab<User>,
    pub(crate) tally: Tally,
    /// No more pages, arrivals or attempts.
    pub(crate) finished: bool,
    table: Table,
    limits: Limits,
    connections_begun: u32,
    requests_left: u64,
    pub(crate) in_system: Gauge,
    deadline_armed: bool,
    /// Attempts to connect that are dropped if still unanswered at the instant, the oldest first.
    unanswered: VecDeque<(Instant, ConnectionKey)>,
}

impl Population {
    /// The users of `plan`, before the run.
    pub fn new(plan: Plan) -> Population {
        Population {
            driver: Driver::new(&plan),
            users: Slab::new(),
            tally: Tally::default(),
            finished: false,
            table: Table::new(),
            limits: plan.policy.limits(),
            connections_begun: 0,
            requests_left: plan.requests_max.unwrap_or(u64::MAX),
            in_system: Gauge::new(plan.window),
            deadline_armed: false,
            unanswered: VecDeque::new(),
            plan,
        }
    }

    /// Requests that are due and not over.
    pub fn in_system(&self) -> u64 {
        self.in_system.count()
    }

    /// Connections that are open or being opened.
    pub fn connections(&self) -> usize {
        self.table.len()
    }

    /// The integral of [`in_system`](Self::in_system) over the window, in request-nanoseconds.
    pub fn in_system_area(&mut self, now: Instant) -> u128 {
        self.in_system.area(now)
    }

    /// What was scheduled, begun and dropped in the window so far.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// True once no user will begin anything more and nothing is on its way.
    pub fn is_done(&self) -> bool {
        self.in_system.count() == 0 && (!self.goes_on() || self.load_is_over())
    }

    /// Begins no more load. What is on its way goes on.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// Ends what is still on its way, which is recorded as cut.
    pub fn cut<H: Host>(&mut self, host: &mut H, now: Instant) {
        self.finished = true;
        self.count_missed(now);
        let slots: Vec<u32> = self.table.slots().collect();
        for slot in slots {
            let connection = self.drop_connection(host, slot);
            for exchange in &connection.in_flight {
                let number = self.users[connection.user as usize].number;
                let sample = connection.sample_unfinished(exchange, number, now, Outcome::Cut);
                self.in_system.leave(now);
                host.record(sample);
            }
        }
        let waiting: Vec<(u32, Job)> = self
            .users
            .iter()
            .flat_map(|(_, user)| user.waiting.iter().map(|job| (user.number, *job)))
            .collect();
        for (number, job) in waiting {
            self.in_system.leave(now);
            host.record(never_begun(job, number, now, Outcome::Cut));
        }
        self.users.clear();
    }

    /// What was asked for with [`Host::wake_at`] for `due` has come.
    pub fn handle_wake<H: Host>(&mut self, host: &mut H, now: Instant, due: Instant, wake: Wake) {
        match wake {
            Wake::Deadline => self.end_overdue(host, now),
            Wake::Unanswered => self.abandon_unanswered(host, now),
            _ => self.drive(host, now, due, wake),
        }
    }

    /// The connection is established.
    pub fn handle_connected<H: Host>(&mut self, host: &mut H, now: Instant, key: ConnectionKey) {
        let Some(connection) = self.table.find(key) else { return };
        if connection.state == State::Open {
            return;
        }
        connection.state = State::Open;
        connection.connected = Stamp::at(now);
        let (user, descriptor) = (connection.user, connection.descriptor);
        connection.descriptor = NO_DESCRIPTOR;
        self.table.start_limit(key.slot, now);
        self.send_last_bound(host, key.slot);
        if descriptor != NO_DESCRIPTOR {
            self.attempt_answered(host, now, descriptor);
        }
        self.pump(host, now, user);
    }

    /// Bytes came on the connection.
    pub fn handle_received<H: Host>(&mut self, host: &mut H, now: Instant, key: ConnectionKey, bytes: &[u8]) {
        let mut rest = bytes;
        // Every turn looks the connection up: completing a reply may close it.
        while let Some(connection) = self.table.find(key) {
            let Some(exchange) = connection.in_flight.first_mut() else {
                if !rest.is_empty() {
                    self.lose(host, now, key.slot, Outcome::Unasked);
                }
                return;
            };
            if exchange.first_byte == Stamp::NEVER && !rest.is_empty() {
                exchange.first_byte = Stamp::at(now);
            }
            match connection.reader.read(rest, exchange.answering, &self.limits) {
                Ok((used, event)) => {
                    rest = &rest[used..];
                    match event {
                        Event::NeedMore => return,
                        // The first byte that counts is the final reply's.
                        Event::Interim(_) => exchange.first_byte = Stamp::NEVER,
                        Event::Head(_) | Event::Body(_) => {}
                        Event::Done(reply) => {
                            // Line ends behind a body are put up with (RFC 9112 section 2.2).
                            let more = rest.iter().any(|byte| !matches!(byte, b'\r' | b'\n'));
                            let unasked = more && connection.in_flight.len() == 1;
                            self.complete(host, now, key.slot, reply, unasked);
                        }
                    }
                }
                Err(malformed) => return self.lose(host, now, key.slot, malformed.outcome()),
            }
        }
    }

    /// The peer closed in good order.
    pub fn handle_closed<H: Host>(&mut self, host: &mut H, now: Instant, key: ConnectionKey) {
        let Some(connection) = self.table.find(key) else { return };
        match connection.reader.finish() {
            Ok(Some(reply)) => self.complete(host, now, key.slot, reply, false),
            Ok(None) => self.lose(host, now, key.slot, Outcome::ClosedUnanswered),
            Err(malformed) => self.lose(host, now, key.slot, malformed.outcome()),
        }
    }

    /// The connection, or the attempt at one, failed.
    pub fn handle_failed<H: Host>(
        &mut self,
        host: &mut H,
        now: Instant,
        key: ConnectionKey,
        failure: Failure,
    ) {
        let Some(connection) = self.table.find(key) else { return };
        // A descriptor whose attempt failed tries again when its time T has passed.
        connection.descriptor = NO_DESCRIPTOR;
        self.lose(host, now, key.slot, failure.outcome());
    }

    /// Begins the user's next page, or the next few where it pipelines.
    pub(crate) fn begin_page<H: Host>(&mut self, host: &mut H, now: Instant, due: Instant, slot: u32) {
        let clients = self.driver.clients();
        let user = &mut self.users[slot as usize];
        let pages = match self.plan.policy.policy {
            Reuse::Pipelined => self.plan.policy.depth() as u64,
            _ => 1,
        };
        for _ in 0..pages.min(self.requests_left) {
            let (client, turn) = (u64::from(user.number), u64::from(user.turn));
            let page = self.plan.requests.page(client, clients, turn, &mut user.chance);
            user.waiting.push_back(Job { request: page.main.0, due, again: false });
            user.turn += 1;
            user.unfinished += 1;
            self.in_system.enter(now, due);
            self.requests_left -= 1;
        }
        if user.unfinished == 0 {
            self.retire(host, slot);
        } else {
            self.pump(host, now, slot);
        }
    }

    /// Begins one request on a connection that descriptor `descriptor` waits for.
    pub(crate) fn begin_attempt<H: Host>(
        &mut self,
        host: &mut H,
        now: Instant,
        due: Instant,
        slot: u32,
        descriptor: u32,
    ) -> ConnectionKey {
        let user = &mut self.users[slot as usize];
        let page = self.plan.requests.page(u64::from(user.number), 1, 0, &mut user.chance);
        let job = Job { request: page.main.0, due, again: false };
        user.unfinished += 1;
        self.in_system.enter(now, due);
        self.requests_left = self.requests_left.saturating_sub(1);
        self.open(host, now, slot, job, descriptor)
    }

    /// True while users may begin more.
    pub(crate) fn goes_on(&self) -> bool {
        !self.finished && self.requests_left > 0
    }

    /// True if the count of requests has ended the load.
    pub(crate) fn requests_ran_out(&self) -> bool {
        self.requests_left == 0
    }

    /// True if `key` still tries to connect.
    pub(crate) fn is_connecting(&mut self, key: ConnectionKey) -> bool {
        self.table.find(key).is_some_and(|connection| connection.state == State::Connecting)
    }

    /// Drops an attempt to connect without a word, and records it so.
    pub(crate) fn abandon<H: Host>(&mut self, host: &mut H, now: Instant, key: ConnectionKey) {
        let connection = self.table.remove(key.slot);
        host.abandon(key);
        self.forget(&connection, key.slot);
        self.fail_exchanges(host, now, &connection, Outcome::ConnectAbandoned);
    }

    /// Closes all of a user's connections and lets it go.
    pub(crate) fn retire<H: Host>(&mut self, host: &mut H, slot: u32) {
        self.close_all(host, slot);
        self.users.remove(slot as usize);
    }

    /// Closes all of a user's connections.
    pub(crate) fn close_all<H: Host>(&mut self, host: &mut H, slot: u32) {
        while let Some(connection) = self.users[slot as usize].connections.last().copied() {
            self.drop_connection(host, connection);
        }
    }

    /// Sends what waits, over connections that are ready or, as far as the policy allows, new ones.
    fn pump<H: Host>(&mut self, host: &mut H, now: Instant, slot: u32) {
        // The user may have left while a completed page was looked after.
        while let Some(user) = self.users.get_mut(slot as usize) {
            let Some(&job) = user.waiting.front() else { return };
            let parallel = usize::from(self.plan.policy.parallel.get());
            let open = user.connections.len();
            if let Some(connection) = self.ready_connection(slot) {
                self.bind(connection, now, job);
                self.send_last_bound(host, connection);
            } else if open < parallel {
                self.open(host, now, slot, job, NO_DESCRIPTOR);
            } else {
                return;
            }
            self.users[slot as usize].waiting.pop_front();
        }
    }

    /// The user's open connection with the fewest requests on it, if any takes one more.
    fn ready_connection(&self, slot: u32) -> Option<u32> {
        let (depth, max) = (self.plan.policy.depth(), self.plan.policy.requests_max());
        let takes_more = |connection: &&u32| {
            let connection = self.table.at(**connection);
            connection.state == State::Open && connection.in_flight.len() < depth && connection.requests < max
        };
        let connections = &self.users[slot as usize].connections;
        connections.iter().filter(takes_more).min_by_key(|at| self.table.at(**at).in_flight.len()).copied()
    }

    fn bind(&mut self, connection: u32, now: Instant, job: Job) {
        let answering = self.plan.book.entry(job.request).answering;
        let bound = self.table.at_mut(connection);
        bound.bind(job, answering);
        if bound.in_flight.len() == 1 {
            self.table.start_limit(connection, now);
        }
    }

    /// Opens a connection for `job`.
    fn open<H: Host>(
        &mut self,
        host: &mut H,
        now: Instant,
        slot: u32,
        job: Job,
        descriptor: u32,
    ) -> ConnectionKey {
        let serial = self.connections_begun.wrapping_mul(self.plan.workers).wrapping_add(self.plan.worker);
        self.connections_begun = self.connections_begun.wrapping_add(1);
        let key = self.table.insert(Connection::new(serial, slot, descriptor));
        self.bind(key.slot, now, job);
        let user = &mut self.users[slot as usize];
        user.connections.push(key.slot);
        self.table.at_mut(key.slot).connect_begun = host.connect(key, user.number);
        if descriptor == NO_DESCRIPTOR
            && let Some(limit) = self.plan.policy.abandon_after
        {
            if self.unanswered.is_empty() {
                host.wake_at(now + limit, Wake::Unanswered);
            }
            self.unanswered.push_back((now + limit, key));
        }
        if !self.deadline_armed {
            self.deadline_armed = true;
            host.wake_at(now + self.plan.policy.request_timeout, Wake::Deadline);
        }
        key
    }

    /// Sends the request that was bound last.
    fn send_last_bound<H: Host>(&mut self, host: &mut H, slot: u32) {
        let key = self.table.key(slot);
        let max = self.plan.policy.requests_max();
        let connection = self.table.at_mut(slot);
        let exchange = connection.in_flight.last_mut().expect("a request was bound to the connection");
        let entry = self.plan.book.entry(exchange.job.request);
        let bytes = if exchange.number + 1 >= max { &entry.last } else { &entry.persistent };
        exchange.sent = Stamp::at(host.send(key, bytes));
    }

    /// The reply to the connection's first request is complete. What came `unasked` behind it must not be taken for
    /// the reply to a request that is sent from now on (RFC 9112 section 6.3), so the connection is given up.
    fn complete<H: Host>(&mut self, host: &mut H, now: Instant, slot: u32, reply: Reply, unasked: bool) {
        let max = self.plan.policy.requests_max();
        let connection = self.table.at_mut(slot);
        let exchange = connection.in_flight.remove(0);
        let user = connection.user;
        let mut sample = connection.sample(&exchange, self.users[user as usize].number, now);
        sample.status = reply.status;
        sample.outcome = if unasked { Outcome::Unasked } else { Outcome::of_status(reply.status) };
        sample.body_bytes = reply.body_bytes;
        sample.reply_bytes = reply.reply_bytes;
        if unasked || !reply.persistent || exchange.number + 1 >= max {
            // The server said it would read no further, so those behind were not served: no blind retry.
            let gone = self.drop_connection(host, slot);
            self.put_back(gone.user, &gone.in_flight, false);
        } else if connection.in_flight.is_empty() {
            self.table.stop_limit(slot);
        } else {
            self.table.start_limit(slot, now);
        }
        host.record(sample);
        self.in_system.leave(now);
        self.request_over(host, now, user, exchange.job.request, sample.outcome);
    }

    /// The connection is lost: its first request ends with `outcome`, unless the server may not have read it, and so
    /// do those behind it that must not be sent twice. The others are sent again.
    fn lose<H: Host>(&mut self, host: &mut H, now: Instant, slot: u32, outcome: Outcome) {
        let mut lost = self.drop_connection(host, slot);
        let unread = matches!(outcome, Outcome::ClosedUnanswered | Outcome::Reset);
        let (book, first) = (&self.plan.book, lost.in_flight.first().map(|first| first.number));
        let goes_again = |exchange: &Exchange| {
            book.entry(exchange.job.request).idempotent
                && (Some(exchange.number) != first || (unread && lost.may_repeat(exchange)))
        };
        let (again, failing): (Vec<_>, Vec<_>) = lost.in_flight.iter().copied().partition(goes_again);
        self.put_back(lost.user, &again, true);
        lost.in_flight = failing.into();
        self.fail_exchanges(host, now, &lost, outcome);
        self.pump(host, now, lost.user);
    }

    /// Queues requests whose connection is gone, ahead of all that wait.
    fn put_back(&mut self, user: u32, gone: &[Exchange], again: bool) {
        let user = &mut self.users[user as usize];
        for exchange in gone.iter().rev() {
            self.tally.resent += u64::from(exchange.sent != Stamp::NEVER);
            user.waiting.push_front(Job { again: again || exchange.job.again, ..exchange.job });
        }
    }

    fn fail_exchanges<H: Host>(&mut self, host: &mut H, now: Instant, gone: &Connection, outcome: Outcome) {
        let number = self.users[gone.user as usize].number;
        for exchange in &gone.in_flight {
            let sample = gone.sample_unfinished(exchange, number, now, outcome);
            host.record(sample);
            self.in_system.leave(now);
            self.request_over(host, now, gone.user, exchange.job.request, outcome);
        }
    }

    /// A request of a user's page is over: go on with what it led to, or after the page.
    fn request_over<H: Host>(
        &mut self,
        host: &mut H,
        now: Instant,
        slot: u32,
        request: u32,
        outcome: Outcome,
    ) {
        let user = &mut self.users[slot as usize];
        user.unfinished -= 1;
        user.failed |= outcome.fault() == Fault::Network
            || matches!(outcome, Outcome::NoDescriptor | Outcome::NoAddress | Outcome::ClosedUnanswered);
        // The load of an S-Client is its attempts: each is for one object.
        if outcome == Outcome::Ok && !matches!(self.driver, Driver::Attempting { .. }) {
            for &embedded in &self.plan.book.entry(request).embedded {
                user.waiting.push_back(Job { request: embedded, due: now, again: false });
                user.unfinished += 1;
                self.in_system.enter(now, now);
                self.requests_left = self.requests_left.saturating_sub(1);
            }
        }
        if user.unfinished == 0 {
            if self.plan.policy.policy == Reuse::EarlyClose {
                self.close_all(host, slot);
            }
            self.after_page(host, now, slot);
        } else {
            self.pump(host, now, slot);
        }
    }

    /// Ends the requests whose time limit has come.
    fn end_overdue<H: Host>(&mut self, host: &mut H, now: Instant) {
        self.deadline_armed = false;
        while let Some((slot, from)) = self.table.oldest_limit() {
            let deadline = from + self.plan.policy.request_timeout;
            if deadline > now {
                self.deadline_armed = true;
                host.wake_at(deadline, Wake::Deadline);
                return;
            }
            self.lose(host, now, slot, Outcome::TimedOut);
        }
        if self.table.len() > 0 {
            // A limit that begins from now on ends after this wake.
            self.deadline_armed = true;
            host.wake_at(now + self.plan.policy.request_timeout, Wake::Deadline);
        }
    }

    /// Drops the attempts that have gone unanswered for too long. All have the same limit, so they lie in order.
    fn abandon_unanswered<H: Host>(&mut self, host: &mut H, now: Instant) {
        while let Some((limit, key)) = self.unanswered.front().copied() {
            if limit > now && self.is_connecting(key) {
                host.wake_at(limit, Wake::Unanswered);
                return;
            }
            // Abandoning may begin the next attempt, which goes to the back: the wake is on its way then.
            if self.is_connecting(key) {
                self.abandon(host, now, key);
            }
            self.unanswered.pop_front();
        }
    }

    /// Closes a connection and takes it out of its user's hands.
    fn drop_connection<H: Host>(&mut self, host: &mut H, slot: u32) -> Connection {
        host.close(self.table.key(slot));
        let connection = self.table.remove(slot);
        self.forget(&connection, slot);
        connection
    }

    fn forget(&mut self, connection: &Connection, slot: u32) {
        self.users[connection.user as usize].connections.retain(|own| *own != slot);
    }
}

/// The sample of a request that never reached a connection.
pub(crate) fn never_begun(job: Job, user: u32, now: Instant, outcome: Outcome) -> farfield_base::Sample {
    farfield_base::Sample {
        due: job.due,
        connect_begun: Stamp::NEVER,
        connected: Stamp::NEVER,
        sent: Stamp::NEVER,
        first_byte: Stamp::NEVER,
        done: now,
        body_bytes: 0,
        reply_bytes: 0,
        user,
        connection: farfield_base::Sample::NO_CONNECTION,
        number: 0,
        request: job.request,
        class: 0,
        status: 0,
        outcome,
    }
}
