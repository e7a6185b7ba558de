//! Requests onto connections: which connection takes which request, when one is opened, and when one is given
//! up.

use crate::connection::{Connection, Job, State};
use crate::host::{ConnectionKey, Host, Wake};
use crate::population::Population;
use crate::slots::{ConnectionSlot, DescriptorSlot, UserSlot};
use farfield_base::{Instant, Outcome, Stamp};

impl Population {
    /// Sends what waits: over connections that are idle, as far as the policy allows over new ones, and then,
    /// where it pipelines, behind other requests.
    pub(crate) fn pump<H: Host>(&mut self, host: &mut H, now: Instant, slot: UserSlot) {
        // The user may have left while a completed page was looked after.
        while let Some(user) = self.users.get_mut(slot.index()) {
            let Some(&job) = user.waiting.front() else { return };
            let parallel = usize::from(self.policy.parallel.get());
            let open = user.connections.len();
            let at_once = |at: &ConnectionSlot| open >= parallel || self.table.at(*at).in_flight.is_empty();
            if let Some(connection) = self.ready_connection(slot, job.again).filter(at_once) {
                self.bind(connection, now, job);
                self.send_last_bound(host, connection);
            } else if open < parallel {
                self.open(host, now, slot, job, None);
            } else if let Some(idle) = self.idle_connection(slot) {
                self.drop_connection(host, idle);
                self.open(host, now, slot, job, None);
            } else {
                return;
            }
            self.users[slot.index()].waiting.pop_front();
        }
    }

    /// The user's open connection with the fewest requests on it, if any takes one more. What is sent `again`
    /// is not sent a third time (RFC 9112 section 9.3.1), so it takes no connection that was idle when the
    /// other one failed: the server may be closing that as well. It takes a new one, or one that has answered
    /// what was sent again before it. Nothing goes behind it before it is answered: it may be what the server
    /// closes for (section 9.3.2).
    fn ready_connection(&self, slot: UserSlot, again: bool) -> Option<ConnectionSlot> {
        let (depth, max) = (self.policy.depth(), self.policy.requests_max());
        let takes_more = |connection: &&ConnectionSlot| {
            let connection = self.table.at(**connection);
            let alone = connection.in_flight.iter().any(|exchange| exchange.job.again);
            let open = connection.state == State::Open && !connection.ending && !alone;
            let suits = !again || connection.repeats && connection.in_flight.is_empty();
            open && suits && connection.in_flight.len() < depth && connection.requests < max
        };
        let connections = &self.users[slot.index()].connections;
        connections.iter().filter(takes_more).min_by_key(|at| self.table.at(**at).in_flight.len()).copied()
    }

    /// An open connection of the user's that nothing is asked on.
    fn idle_connection(&self, slot: UserSlot) -> Option<ConnectionSlot> {
        let idle = |connection: &&ConnectionSlot| {
            let connection = self.table.at(**connection);
            connection.state == State::Open && connection.in_flight.is_empty()
        };
        self.users[slot.index()].connections.iter().find(idle).copied()
    }

    fn bind(&mut self, connection: ConnectionSlot, now: Instant, job: Job) {
        let answering = self.itinerary.answering(&job);
        let bound = self.table.at_mut(connection);
        bound.bind(job, answering);
        if bound.in_flight.len() == 1 {
            self.table.start_limit(connection, now);
        }
    }

    /// Opens a connection for `job`.
    pub(crate) fn open<H: Host>(
        &mut self,
        host: &mut H,
        now: Instant,
        slot: UserSlot,
        job: Job,
        descriptor: Option<DescriptorSlot>,
    ) -> ConnectionKey {
        let serial =
            self.connections_begun.wrapping_mul(self.worker.workers).wrapping_add(self.worker.number);
        self.connections_begun = self.connections_begun.wrapping_add(1);
        let key = self.table.insert(Connection::new(serial, slot, descriptor));
        self.bind(key.slot, now, job);
        let user = &mut self.users[slot.index()];
        user.connections.push(key.slot);
        self.table.at_mut(key.slot).connect_begun = host.connect(key, user.number);
        if descriptor.is_none()
            && let Some(limit) = self.policy.abandon_after
        {
            if self.unanswered.is_empty() {
                host.wake_at(now + limit, Wake::Unanswered);
            }
            self.unanswered.push_back((now + limit, key));
        }
        if !self.deadline_armed {
            self.deadline_armed = true;
            host.wake_at(now + self.policy.request_timeout(), Wake::Deadline);
        }
        key
    }

    /// Sends the request that was bound last.
    pub(crate) fn send_last_bound<H: Host>(&mut self, host: &mut H, slot: ConnectionSlot) {
        let key = self.table.key(slot);
        let max = self.policy.requests_max();
        let connection = self.table.at_mut(slot);
        let exchange = connection.in_flight.last_mut().expect("a request was bound to the connection");
        let bytes = self.itinerary.bytes(&exchange.job, exchange.number + 1 < max);
        exchange.sent = Stamp::at(host.send(key, bytes));
    }

    /// Closes all of a user's connections and lets it go.
    pub(crate) fn retire<H: Host>(&mut self, host: &mut H, slot: UserSlot) {
        self.abandon_session(slot);
        self.close_all(host, slot);
        self.users.remove(slot.index());
    }

    /// Closes all of a user's connections.
    pub(crate) fn close_all<H: Host>(&mut self, host: &mut H, slot: UserSlot) {
        while let Some(connection) = self.users[slot.index()].connections.last().copied() {
            self.drop_connection(host, connection);
        }
    }

    /// Closes a connection and takes it out of its user's hands.
    pub(crate) fn drop_connection<H: Host>(&mut self, host: &mut H, slot: ConnectionSlot) -> Connection {
        let key = self.table.key(slot);
        let tcp = host.tcp_stats(key);
        host.close(key);
        let connection = Connection { tcp, ..self.table.remove(slot) };
        self.forget(&connection, slot);
        connection
    }

    pub(crate) fn forget(&mut self, connection: &Connection, slot: ConnectionSlot) {
        self.users[connection.user.index()].connections.retain(|own| *own != slot);
    }

    /// Drops an attempt to connect without telling the server, and records it as abandoned.
    pub(crate) fn abandon<H: Host>(&mut self, host: &mut H, now: Instant, key: ConnectionKey) {
        let mut connection = self.table.remove(key.slot);
        connection.tcp = host.tcp_stats(key);
        host.abandon(key);
        self.forget(&connection, key.slot);
        self.fail_exchanges(host, now, &connection, Outcome::ConnectAbandoned);
    }

    /// Ends the requests whose time limit has come.
    pub(crate) fn end_overdue<H: Host>(&mut self, host: &mut H, now: Instant) {
        self.deadline_armed = false;
        while let Some((slot, from)) = self.table.oldest_limit() {
            let deadline = from + self.policy.request_timeout();
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
            host.wake_at(now + self.policy.request_timeout(), Wake::Deadline);
        }
    }

    /// Drops the attempts that have gone unanswered for too long. All have the same limit, so they lie in
    /// order.
    pub(crate) fn abandon_unanswered<H: Host>(&mut self, host: &mut H, now: Instant) {
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
}
