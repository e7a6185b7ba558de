//! Requests onto connections: which connection takes which request, when one is opened, and when one is given
//! up.

use crate::alt_svc;
use crate::connection::{Attempt, Connection, ConnectionState};
use crate::egress::Egress;
use crate::exchange::Job;
use crate::reaction::Reaction;
use crate::slots::{ConnectionSlot, DescriptorSlot, FlowNumber, UserSlot};
use crate::transport::{ConnectionKey, Transport, Wake};
use crate::user::User;
use farfield_base::{HostNumber, Outcome, SpokenVersion, Stamp};
use farfield_traffic::session::websocket::SocketStep;
use smallvec::SmallVec;

impl<T: Transport> Egress<'_, T> {
    /// Sends what waits: over connections that are idle, as far as the policy allows over new ones, and then,
    /// where it pipelines, behind other requests. On a connection whose replies are being read it leaves once
    /// they are.
    pub(crate) fn pump(&mut self, slot: UserSlot) {
        self.dispatch(slot);
        let mut place = 0;
        while self.connections.may_have_streams()
            && let Some(connection) = self.users.find(slot).and_then(|user| user.connections.get(place))
        {
            if self.connections.reading != Some(self.connections.table.key(*connection)) {
                self.connections.flush_streams(self.transport, self.now, *connection);
            }
            place += 1;
        }
    }

    fn dispatch(&mut self, slot: UserSlot) {
        // Hosts whose connections take no more, so that what waits for them waits on.
        let mut full = 0_u32;
        let all = self.connections.hosts.len() as u32;
        let mut place = 0;
        // The user may have left while a completed page was looked after.
        while let Some(user) = self.users.find(slot)
            && let Some(&job) = user.wanted.waiting.get(place)
            && full.count_ones() < all
        {
            let is_full = full & 1 << job.host.0 != 0;
            if !is_full && self.send_or_wait(slot, job) {
                self.users[slot].wanted.waiting.remove(place);
            } else {
                full |= 1 << job.host.0;
                place += 1;
            }
        }
        if full != 0 {
            self.watch_waiting(slot, full);
        }
    }

    /// Sends a request of the user's to its host, or opens a connection for it; false if it has to wait.
    fn send_or_wait(&mut self, slot: UserSlot, job: Job) -> bool {
        match self.users.itinerary.socket_step(&job) {
            None => {}
            Some(SocketStep::Open) => {
                self.open(slot, job, None);
                return true;
            }
            Some(step) => return self.send_message(slot, job, step),
        }
        let (user, host) = (&self.users[slot], job.host);
        let parallel = self.connections.parallel(user, host);
        let takes_place = |at: &&ConnectionSlot| {
            let connection = self.connections.table.at(**at);
            connection.host == host
                && !connection.protocol.is_over()
                && connection.attempt != Some(Attempt::Overtaken)
        };
        let open = user.connections.iter().filter(takes_place).count();
        let at_once =
            |at: &ConnectionSlot| open >= parallel || self.connections.table.at(*at).in_flight.is_empty();
        if let Some(connection) = self.ready_connection(slot, host, job.again).filter(at_once) {
            self.bind(connection, job);
            self.send_last_bound(connection);
        } else if open < parallel {
            // Requests that are sent again take no connection that was idle; see `ready_connection`.
            let idle = if job.again { None } else { self.take_idle(slot, host) };
            match idle {
                Some(connection) => {
                    self.bind(connection, job);
                    self.send_last_bound(connection);
                }
                None => {
                    self.open(slot, job, None);
                }
            }
        } else if let Some(idle) = self.idle_connection(slot, host) {
            self.drop_connection(idle);
            self.open(slot, job, None);
        } else {
            return false;
        }
        true
    }

    /// The user's open connection to `host` with the fewest requests on it, if any takes one more. What is
    /// sent `again` is not sent a third time (RFC 9112 section 9.3.1), so it takes no connection that was
    /// idle when the other one failed: the server may be closing that as well. It takes a new one, or one
    /// that has answered what was sent again before it. Nothing goes behind it before it is answered: it may
    /// be what the server closes for (section 9.3.2); on streams replies do not wait for each other.
    fn ready_connection(&self, slot: UserSlot, host: HostNumber, again: bool) -> Option<ConnectionSlot> {
        let max = self.connections.policy.requests_max();
        let takes_more = |connection: &&ConnectionSlot| {
            let connection = self.connections.table.at(**connection);
            let takes_more =
                connection.withheld.is_none() && connection.protocol.takes_more(&connection.in_flight);
            let is_there = connection.host == host && connection.state == ConnectionState::Open;
            let open = is_there && !connection.ending && takes_more;
            let suits = !again || connection.repeats && connection.in_flight.is_empty();
            open && suits
                && connection.in_flight.len() < self.connections.depth(connection)
                && connection.requests < max
        };
        let connections = self.users[slot].connections.iter().filter(takes_more);
        // A connection of QUIC beside others is one that an alternative led to.
        let rank = |at: &&ConnectionSlot| {
            let connection = self.connections.table.at(**at);
            (!connection.is_over_quic(), connection.in_flight.len())
        };
        connections.min_by_key(rank).copied()
    }

    /// An open connection of the user's to `host` that nothing is asked on, though the server lets it.
    fn idle_connection(&self, slot: UserSlot, host: HostNumber) -> Option<ConnectionSlot> {
        let idle = |connection: &&ConnectionSlot| {
            let connection = self.connections.table.at(**connection);
            let waits = connection.protocol.waits_for_room();
            let is_there = connection.host == host && connection.state == ConnectionState::Open;
            is_there && connection.in_flight.is_empty() && !waits && !connection.protocol.is_websocket()
        };
        self.users[slot].connections.iter().find(idle).copied()
    }

    pub(crate) fn bind(&mut self, connection: ConnectionSlot, job: Job) {
        let answering = self.users.itinerary.answering(&job);
        let bound = self.connections.table.at_mut(connection);
        bound.bind(job, answering);
        if bound.has_streams() {
            self.connections.table.watch(connection, self.now);
        } else if bound.in_flight.len() == 1 {
            self.connections.table.start_limit(connection, self.now);
        }
    }

    /// Opens a connection for `job`.
    pub(crate) fn open(
        &mut self,
        slot: UserSlot,
        job: Job,
        descriptor: Option<DescriptorSlot>,
    ) -> ConnectionKey {
        let host = job.host;
        let upgrades = self.users.itinerary.socket_step(&job) == Some(SocketStep::Open);
        let may_be_quic = descriptor.is_none() && !upgrades;
        let alternative = if may_be_quic { self.alternative(slot, host) } else { None };
        let mut connection = self.connections.next(slot, host, descriptor);
        connection.upgrades = upgrades;
        connection.spoken = match alternative {
            // The upgrade is one of HTTP/1.1 (RFC 6455 section 4.1), whatever else the host speaks.
            None if upgrades => Some(SpokenVersion::Http11),
            None => self.connections.host(host).version.of_connections(),
            Some(_) => Some(alt_svc::VERSION),
        };
        let is_quic = connection.is_over_quic();
        let key = self.connections.table.insert(connection);
        self.bind(key.slot, job);
        let user = &mut self.users[slot];
        user.connections.push(key.slot);
        let number = user.number;
        let begun = match is_quic {
            false => self.transport.connect(key, number, host),
            true => self.begin_quic(key, number, alternative),
        };
        self.connections.table.at_mut(key.slot).connect_begun = begun;
        if alternative.is_some() {
            self.begin_attempt_at(key, begun);
        }
        if descriptor.is_none()
            && let Some(limit) = self.connections.policy.abandon_after
        {
            if self.connections.unanswered.is_empty() {
                self.transport.wake_at(self.now + limit, Wake::Unanswered(FlowNumber::default()));
            }
            self.connections.unanswered.push_back((self.now + limit, key));
        }
        self.arm_deadline();
        key
    }

    /// Asks to be woken when a time limit ends that begins now.
    pub(crate) fn arm_deadline(&mut self) {
        if self.connections.arm_deadline() {
            self.transport.wake_at(
                self.now + self.connections.policy.request_timeout(),
                Wake::Deadline(FlowNumber::default()),
            );
        }
    }

    /// Sends the request that was bound last; on a stream it leaves with what else becomes due now.
    pub(crate) fn send_last_bound(&mut self, slot: ConnectionSlot) {
        self.connections.count_sent();
        if self.connections.table.at(slot).has_streams() {
            return self.connections.write_request(&mut self.users.itinerary, slot);
        }
        let key = self.connections.table.key(slot);
        let max = self.connections.policy.requests_max();
        let withheld = self.connections.withheld_bytes(&self.users.itinerary, slot);
        let connection = self.connections.table.at_mut(slot);
        let exchange = connection.in_flight.last_mut().expect("a request was bound to the connection");
        let bytes = self.users.itinerary.bytes(&exchange.job, exchange.number + 1 < max);
        let parts = (withheld > 0).then(|| {
            let at = bytes.len() - withheld;
            (bytes.slice(..at), bytes.slice(at..))
        });
        let bytes = parts.as_ref().map_or(bytes, |(head, _)| head);
        let sent = match &mut connection.tls {
            None => self.transport.send(key, bytes),
            Some(session) => {
                session.seal(bytes);
                self.connections
                    .buffers
                    .send_records(session, self.transport, key)
                    .expect("a sealed request has bytes")
            }
        };
        exchange.sent = Stamp::at(sent);
        if let Some((_, content)) = parts {
            self.connections.withhold(self.transport, slot, content, sent);
        }
    }

    /// Sends the first request of a connection that is ready for it.
    pub(crate) fn begin_requests(&mut self, slot: ConnectionSlot) {
        if let Some(spoken) = self.connections.table.at(slot).spoken.filter(|own| own.has_streams()) {
            self.connections.begin_streams(self.now, slot, spoken);
        }
        self.send_last_bound(slot);
    }

    /// Closes all of a user's connections and lets it go.
    pub(crate) fn retire(&mut self, slot: UserSlot) {
        self.users.abandon_session(slot);
        self.close_all(slot);
        self.forget_tickets(slot);
        self.users.unwatch_waiting(slot);
        self.users.remove(slot);
    }

    /// Closes all of a user's connections.
    pub(crate) fn close_all(&mut self, slot: UserSlot) {
        while let Some(connection) = self.users[slot].connections.last().copied() {
            self.drop_connection(connection);
        }
    }

    /// Closes all of a user's connections but its WebSocket.
    pub(crate) fn close_requests(&mut self, slot: UserSlot) {
        let User { connections, websocket, .. } = &self.users[slot];
        let of_requests = connections.iter().copied().filter(|own| Some(*own) != *websocket);
        for connection in of_requests.collect::<SmallVec<[ConnectionSlot; 2]>>() {
            self.drop_connection(connection);
        }
    }

    /// Closes a connection and takes it out of its user's hands, or out of its pool.
    pub(crate) fn drop_connection(&mut self, slot: ConnectionSlot) -> Connection {
        let key = self.connections.table.key(slot);
        self.connections.say_goodbye(self.transport, slot);
        let tcp = self.transport.tcp_stats(key);
        if self.connections.table.at(slot).flooded {
            self.transport.abandon(key);
        } else {
            self.transport.close(key);
        }
        self.connections.release_quic(slot);
        let connection = Connection { tcp, ..self.connections.table.remove(slot) };
        self.forget(&connection, slot);
        connection
    }

    pub(crate) fn forget(&mut self, connection: &Connection, slot: ConnectionSlot) {
        match connection.idle {
            Some(idle) => {
                if let Some(pools) = &mut self.connections.pools {
                    pools.forget(idle, slot);
                }
            }
            None => {
                let user = &mut self.users[connection.user];
                user.connections.retain(|own| *own != slot);
                user.websocket.take_if(|own| *own == slot);
            }
        }
    }
}

impl<T: Transport> Reaction<'_, T> {
    /// Drops an attempt to connect without telling the server, and records it as abandoned.
    pub(crate) fn abandon(&mut self, key: ConnectionKey) {
        self.connections.release_quic(key.slot);
        let mut connection = self.connections.table.remove(key.slot);
        connection.tcp = self.transport.tcp_stats(key);
        self.transport.abandon(key);
        self.egress().forget(&connection, key.slot);
        self.fail_exchanges(&connection, &Outcome::ConnectAbandoned.into());
    }

    /// Ends the requests whose time limit has come.
    pub(crate) fn end_overdue(&mut self) {
        self.connections.disarm_deadline();
        let timeout = self.connections.policy.request_timeout();
        // Before the streams end that they wait for: they would take these, for as long again.
        self.end_overdue_waiting();
        while let Some((slot, from)) = self.connections.table.oldest_limit()
            && from + timeout <= self.now
        {
            self.lose(slot, Outcome::TimedOut);
        }
        while let Some((slot, from)) = self.connections.table.oldest_watched()
            && from + timeout <= self.now
        {
            self.end_overdue_streams(slot);
        }
        let limits = [self.connections.table.oldest_limit(), self.connections.table.oldest_watched()];
        let limits = limits.into_iter().flatten().map(|(_, from)| from);
        let next = limits.chain(self.users.oldest_waiting().map(|(_, from)| from)).min();
        if self.connections.table.len() > 0 || next.is_some() {
            // A limit that begins from now on ends after this wake.
            self.connections.arm_deadline();
            self.transport.wake_at(next.unwrap_or(self.now) + timeout, Wake::Deadline(FlowNumber::default()));
        }
    }

    /// Drops the attempts that have gone unanswered for too long. All have the same limit, so they lie in
    /// order.
    pub(crate) fn abandon_unanswered(&mut self) {
        while let Some((limit, key)) = self.connections.unanswered.front().copied() {
            if limit > self.now && self.connections.is_connecting(key) {
                self.transport.wake_at(limit, Wake::Unanswered(FlowNumber::default()));
                return;
            }
            // Abandoning may begin the next attempt, which goes to the back: the wake is on its way then.
            if self.connections.is_connecting(key) {
                self.abandon(key);
            }
            self.connections.unanswered.pop_front();
        }
    }
}
