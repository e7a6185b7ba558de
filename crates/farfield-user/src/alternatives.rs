//! The version of HTTP as browsers choose it, and what a user's browser remembers of the server: the version
//! of its connections of TCP, and whether it names HTTP/3 as an alternative (Alt-Svc, RFC 7838).
//!
//! A user that knows of an alternative begins its next connection with QUIC. If the handshake is not over
//! after [`SLOW`], what was asked goes over a connection of TCP that is opened beside it, and whichever is
//! ready first is used: Chrome delays its connections of TCP so where it knows nothing of the round trip. An
//! attempt that fails, or that nothing has come of after [`GIVES_UP`], is a fallback: it is counted by its
//! cause, its requests go over TCP, and the user does not try again for five minutes, twice as long after
//! each further failure.
//!
//! An alternative is taken on the same host alone, on any port; of others is counted how often they were
//! named. What is asked on connections that are open stays on them. Early data does not go with such an
//! attempt.

use crate::connection::{Attempt, ConnectionState};
use crate::egress::Egress;
use crate::reaction::Reaction;
use crate::slots::{ConnectionSlot, UserSlot};
use crate::transport::{ConnectionKey, Transport, Wake};
use crate::version::HttpVersion;
use farfield_base::{Duration, HostNumber, Instant, Outcome, SpokenVersion};
use smallvec::SmallVec;

/// The time after which a connection of TCP is opened beside an attempt.
const SLOW: Duration = Duration::from_ms(300);
/// The time after which an attempt of which nothing came is given up.
const GIVES_UP: Duration = Duration::from_secs(10);

impl<T: Transport> Egress<'_, T> {
    /// A session with `host` was secured, which chose `spoken`.
    pub(crate) fn note_version(&mut self, slot: UserSlot, host: HostNumber, spoken: SpokenVersion) {
        if self.connections.host(host).version == HttpVersion::Auto {
            self.users[slot].profiles.of_mut(host).spoken = Some(spoken);
        }
    }

    /// The port of the alternative that the user's next connection to `host` tries.
    pub(crate) fn alternative(&self, slot: UserSlot, host: HostNumber) -> Option<u16> {
        let user = &self.users[slot];
        let port = user.profiles.of(host)?.alternative(self.now)?;
        let is_tried = user.connections.iter().any(|at| {
            let connection = self.connections.table.at(*at);
            connection.host == host && connection.attempt.is_some()
        });
        (!is_tried).then_some(port)
    }

    /// A connection of QUIC that an alternative led to was begun at `begun`.
    pub(crate) fn begin_attempt_at(&mut self, key: ConnectionKey, begun: Instant) {
        self.counters.load.alternatives.tried += 1;
        self.connections.table.at_mut(key.slot).attempt = Some(Attempt::Ahead);
        self.transport.wake_at(begun + SLOW, Wake::Alternative(key));
    }

    /// The handshake of an attempt is over: what waits for connections of TCP that are not ready goes over
    /// this one.
    pub(crate) fn end_attempt(&mut self, slot: ConnectionSlot) {
        let connection = self.connections.table.at_mut(slot);
        if connection.attempt.take().is_none() {
            return;
        }
        let (user, host) = (connection.user, connection.host);
        self.counters.load.alternatives.secured += 1;
        let user = &mut self.users[user];
        user.profiles.of_mut(host).note_success();
        let is_rival = |at: &&ConnectionSlot| {
            let connection = self.connections.table.at(**at);
            if connection.host != host {
                return false;
            }
            let is_unsent = connection.in_flight.iter().all(|exchange| exchange.sent.instant().is_none());
            connection.state != ConnectionState::Open && connection.attempt.is_none() && is_unsent
        };
        let rivals: SmallVec<[ConnectionSlot; 2]> =
            user.connections.iter().filter(is_rival).copied().collect();
        for rival in rivals {
            self.take_back(rival);
            self.drop_connection(rival);
        }
    }

    /// Takes what is asked on a connection, and was not sent, back to its user, ahead of all that waits;
    /// whether there was anything.
    fn take_back(&mut self, slot: ConnectionSlot) -> bool {
        self.connections.table.stop_limit(slot);
        self.connections.table.unwatch(slot);
        let connection = self.connections.table.at_mut(slot);
        let bound = std::mem::take(&mut connection.in_flight);
        (connection.requests, connection.repeats) = (0, true);
        let user = &mut self.users[connection.user];
        for exchange in bound.iter().rev() {
            user.wanted.waiting.push_front(exchange.job);
        }
        !bound.is_empty()
    }
}

impl<T: Transport> Reaction<'_, T> {
    /// An attempt has taken long, if it is not over.
    pub(crate) fn handle_attempt(&mut self, key: ConnectionKey) {
        let Some(connection) = self.connections.table.find(key) else { return };
        let (user, begun) = (connection.user, connection.connect_begun);
        match connection.attempt {
            None => {}
            Some(Attempt::Ahead) => {
                connection.attempt = Some(Attempt::Overtaken);
                self.transport.wake_at(begun + GIVES_UP, Wake::Alternative(key));
                let overtaken = self.egress().take_back(key.slot);
                self.counters.load.alternatives.overtaken += u64::from(overtaken);
                self.egress().pump(user);
            }
            Some(Attempt::Overtaken) => self.fall_back(key.slot, Outcome::ConnectTimedOut),
        }
    }

    /// An attempt failed with `outcome`: what was asked on it goes over TCP.
    pub(crate) fn fall_back(&mut self, slot: ConnectionSlot, outcome: Outcome) {
        let connection = self.connections.table.at_mut(slot);
        connection.attempt = None;
        let (user, host) = (connection.user, connection.host);
        let counts = &mut self.counters.load.alternatives;
        match outcome {
            Outcome::ConnectRefused | Outcome::Unreachable => counts.refused += 1,
            Outcome::ConnectTimedOut | Outcome::TimedOut => counts.unanswered += 1,
            _ => counts.failed += 1,
        }
        self.users[user].profiles.of_mut(host).note_failure(self.now);
        if outcome == Outcome::TimedOut {
            // The time limit of its request, which has none left for another connection.
            return self.lose(slot, outcome);
        }
        self.egress().take_back(slot);
        self.egress().drop_connection(slot);
        self.egress().pump(user);
    }
}
