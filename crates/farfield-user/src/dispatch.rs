//! Requests onto connections: which connection takes which request, when one is opened, and when one is given
//! up.

use crate::connection::{Attempt, Connection, State};
use crate::exchange::Job;
use crate::population::Population;
use crate::secure::send_of;
use crate::slots::{ConnectionSlot, DescriptorSlot, UserSlot};
use crate::transport::{ConnectionKey, Transport, Wake};
use farfield_base::{Instant, Outcome, SpokenVersion, Stamp};

impl Population {
    /// Sends what waits: over connections that are idle, as far as the policy allows over new ones, and then,
    /// where it pipelines, behind other requests. On a connection whose replies are being read it leaves once
    /// they are.
    pub(crate) fn pump<T: Transport>(&mut self, transport: &mut T, now: Instant, slot: UserSlot) {
        self.dispatch(transport, now, slot);
        let mut place = 0;
        while self.version.may_have_streams()
            && let Some(connection) =
                self.users.get(slot.index()).and_then(|user| user.connections.get(place))
        {
            if self.reading != Some(self.table.key(*connection)) {
                self.flush_streams(transport, now, *connection);
            }
            place += 1;
        }
    }

    fn dispatch<T: Transport>(&mut self, transport: &mut T, now: Instant, slot: UserSlot) {
        // The user may have left while a completed page was looked after.
        while let Some(user) = self.users.get(slot.index()) {
            let Some(&job) = user.waiting.front() else { return };
            let parallel = self.parallel(user);
            let takes_place = |at: &&ConnectionSlot| {
                let connection = self.table.at(**at);
                !connection.protocol.is_over() && connection.attempt != Some(Attempt::Overtaken)
            };
            let open = user.connections.iter().filter(takes_place).count();
            let at_once = |at: &ConnectionSlot| open >= parallel || self.table.at(*at).in_flight.is_empty();
            if let Some(connection) = self.ready_connection(slot, job.again).filter(at_once) {
                self.bind(connection, now, job);
                self.send_last_bound(transport, connection);
            } else if open < parallel {
                // What is sent again takes no connection that was idle; see `ready_connection`.
                let idle = if job.again { None } else { self.take_idle(transport, slot) };
                match idle {
                    Some(connection) => {
                        self.bind(connection, now, job);
                        self.send_last_bound(transport, connection);
                    }
                    None => {
                        self.open(transport, now, slot, job, None);
                    }
                }
            } else if let Some(idle) = self.idle_connection(slot) {
                self.drop_connection(transport, idle);
                self.open(transport, now, slot, job, None);
            } else {
                return self.watch_waiting(transport, now, slot);
            }
            self.users[slot.index()].waiting.pop_front();
        }
    }

    /// The user's open connection with the fewest requests on it, if any takes one more. What is sent `again`
    /// is not sent a third time (RFC 9112 section 9.3.1), so it takes no connection that was idle when the
    /// other one failed: the server may be closing that as well. It takes a new one, or one that has answered
    /// what was sent again before it. Nothing goes behind it before it is answered: it may be what the server
    /// closes for (section 9.3.2); on streams replies do not wait for each other.
    fn ready_connection(&self, slot: UserSlot, again: bool) -> Option<ConnectionSlot> {
        let max = self.policy.requests_max();
        let takes_more = |connection: &&ConnectionSlot| {
            let connection = self.table.at(**connection);
            let takes_more =
                connection.withheld.is_none() && connection.protocol.takes_more(&connection.in_flight);
            let open = connection.state == State::Open && !connection.ending && takes_more;
            let suits = !again || connection.repeats && connection.in_flight.is_empty();
            open && suits && connection.in_flight.len() < self.depth(connection) && connection.requests < max
        };
        let connections = self.users[slot.index()].connections.iter().filter(takes_more);
        // Where there is one of HTTP/3 beside others, an alternative led to it.
        let rank = |at: &&ConnectionSlot| {
            let connection = self.table.at(**at);
            (connection.spoken != Some(SpokenVersion::Http3), connection.in_flight.len())
        };
        connections.min_by_key(rank).copied()
    }

    /// An open connection of the user's that nothing is asked on, though the server lets it.
    fn idle_connection(&self, slot: UserSlot) -> Option<ConnectionSlot> {
        let idle = |connection: &&ConnectionSlot| {
            let connection = self.table.at(**connection);
            let waits = connection.protocol.waits_for_room();
            connection.state == State::Open && connection.in_flight.is_empty() && !waits
        };
        self.users[slot.index()].connections.iter().find(idle).copied()
    }

    fn bind(&mut self, connection: ConnectionSlot, now: Instant, job: Job) {
        let answering = self.itinerary.answering(&job);
        let bound = self.table.at_mut(connection);
        bound.bind(job, answering);
        if bound.has_streams() {
            self.table.watch(connection, now);
        } else if bound.in_flight.len() == 1 {
            self.table.start_limit(connection, now);
        }
    }

    /// Opens a connection for `job`.
    pub(crate) fn open<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        slot: UserSlot,
        job: Job,
        descriptor: Option<DescriptorSlot>,
    ) -> ConnectionKey {
        let serial =
            self.connections_begun.wrapping_mul(self.worker.workers).wrapping_add(self.worker.number);
        self.connections_begun = self.connections_begun.wrapping_add(1);
        let alternative = if descriptor.is_none() { self.alternative(now, slot) } else { None };
        let mut connection = Connection::new(serial, slot, descriptor);
        connection.spoken = match alternative {
            None => self.version.of_connections(),
            Some(_) => Some(SpokenVersion::Http3),
        };
        let is_quic = connection.spoken == Some(SpokenVersion::Http3);
        let key = self.table.insert(connection);
        self.bind(key.slot, now, job);
        let user = &mut self.users[slot.index()];
        user.connections.push(key.slot);
        let number = user.number;
        let begun = match is_quic {
            false => transport.connect(key, number),
            true => self.begin_quic(transport, now, key, number, alternative),
        };
        self.table.at_mut(key.slot).connect_begun = begun;
        if alternative.is_some() {
            self.begin_attempt_at(transport, key, begun);
        }
        if descriptor.is_none()
            && let Some(limit) = self.policy.abandon_after
        {
            if self.unanswered.is_empty() {
                transport.wake_at(now + limit, Wake::Unanswered);
            }
            self.unanswered.push_back((now + limit, key));
        }
        self.arm_deadline(transport, now);
        key
    }

    /// Asks to be woken when a time limit ends that begins now.
    pub(crate) fn arm_deadline<T: Transport>(&mut self, transport: &mut T, now: Instant) {
        if !self.deadline_armed {
            self.deadline_armed = true;
            transport.wake_at(now + self.policy.request_timeout(), Wake::Deadline);
        }
    }

    /// Sends the request that was bound last; on a stream it leaves with what else becomes due now.
    pub(crate) fn send_last_bound<T: Transport>(&mut self, transport: &mut T, slot: ConnectionSlot) {
        self.requests_sent += 1;
        if self.table.at(slot).has_streams() {
            return self.write_request(slot);
        }
        let key = self.table.key(slot);
        let max = self.policy.requests_max();
        let withheld = self.withheld_bytes(slot);
        let connection = self.table.at_mut(slot);
        let exchange = connection.in_flight.last_mut().expect("a request was bound to the connection");
        let bytes = self.itinerary.bytes(&exchange.job, exchange.number + 1 < max);
        let parts = (withheld > 0).then(|| {
            let at = bytes.len() - withheld;
            (bytes.slice(..at), bytes.slice(at..))
        });
        let bytes = parts.as_ref().map_or(bytes, |(head, _)| head);
        let sent = match &mut connection.tls {
            None => transport.send(key, bytes),
            Some(session) => {
                session.seal(bytes);
                send_of(session, transport, key, &mut self.sealed, &mut self.outgoing)
                    .expect("a sealed request has bytes")
            }
        };
        exchange.sent = Stamp::at(sent);
        if let Some((_, content)) = parts {
            self.withhold(transport, slot, content, sent);
        }
    }

    /// Closes all of a user's connections and lets it go.
    pub(crate) fn retire<T: Transport>(&mut self, transport: &mut T, slot: UserSlot) {
        self.abandon_session(slot);
        self.close_all(transport, slot);
        self.forget_tickets(slot);
        self.unwatch_waiting(slot);
        self.users.remove(slot.index());
    }

    /// Closes all of a user's connections.
    pub(crate) fn close_all<T: Transport>(&mut self, transport: &mut T, slot: UserSlot) {
        while let Some(connection) = self.users[slot.index()].connections.last().copied() {
            self.drop_connection(transport, connection);
        }
    }

    /// Closes a connection and takes it out of its user's hands, or out of its pool.
    pub(crate) fn drop_connection<T: Transport>(
        &mut self,
        transport: &mut T,
        slot: ConnectionSlot,
    ) -> Connection {
        let key = self.table.key(slot);
        self.say_goodbye(transport, slot);
        let tcp = transport.tcp_stats(key);
        if self.table.at(slot).flooded {
            transport.abandon(key);
        } else {
            transport.close(key);
        }
        self.release_quic(slot);
        let connection = Connection { tcp, ..self.table.remove(slot) };
        self.forget(&connection, slot);
        connection
    }

    pub(crate) fn forget(&mut self, connection: &Connection, slot: ConnectionSlot) {
        match connection.idle {
            Some(idle) => self.pools.forget(idle, slot),
            None => self.users[connection.user.index()].connections.retain(|own| *own != slot),
        }
    }

    /// Drops an attempt to connect without telling the server, and records it as abandoned.
    pub(crate) fn abandon<T: Transport>(&mut self, transport: &mut T, now: Instant, key: ConnectionKey) {
        self.release_quic(key.slot);
        let mut connection = self.table.remove(key.slot);
        connection.tcp = transport.tcp_stats(key);
        transport.abandon(key);
        self.forget(&connection, key.slot);
        self.fail_exchanges(transport, now, &connection, &Outcome::ConnectAbandoned.into());
    }

    /// Ends the requests whose time limit has come.
    pub(crate) fn end_overdue<T: Transport>(&mut self, transport: &mut T, now: Instant) {
        self.deadline_armed = false;
        let timeout = self.policy.request_timeout();
        // Before the streams end that they wait for: they would take these, for as long again.
        self.end_overdue_waiting(transport, now);
        while let Some((slot, from)) = self.table.oldest_limit()
            && from + timeout <= now
        {
            self.lose(transport, now, slot, Outcome::TimedOut);
        }
        while let Some((slot, from)) = self.table.oldest_watched()
            && from + timeout <= now
        {
            self.end_overdue_streams(transport, now, slot);
        }
        let limits = [self.table.oldest_limit(), self.table.oldest_watched()];
        let limits = limits.into_iter().flatten().map(|(_, from)| from);
        let next = limits.chain(self.waiting.first().map(|(from, _)| *from)).min();
        if self.table.len() > 0 || next.is_some() {
            // A limit that begins from now on ends after this wake.
            self.deadline_armed = true;
            transport.wake_at(next.unwrap_or(now) + timeout, Wake::Deadline);
        }
    }

    /// Drops the attempts that have gone unanswered for too long. All have the same limit, so they lie in
    /// order.
    pub(crate) fn abandon_unanswered<T: Transport>(&mut self, transport: &mut T, now: Instant) {
        while let Some((limit, key)) = self.unanswered.front().copied() {
            if limit > now && self.is_connecting(key) {
                transport.wake_at(limit, Wake::Unanswered);
                return;
            }
            // Abandoning may begin the next attempt, which goes to the back: the wake is on its way then.
            if self.is_connecting(key) {
                self.abandon(transport, now, key);
            }
            self.unanswered.pop_front();
        }
    }
}
