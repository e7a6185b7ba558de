//! The version of HTTP as browsers choose it, and what a user's browser remembers of the server: whether its
//! connections of TCP have streams, and whether it names HTTP/3 as an alternative (Alt-Svc, RFC 7838).
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

use crate::alt_svc::Named;
use crate::book::HttpVersion;
use crate::connection::{Attempt, State};
use crate::population::Population;
use crate::slots::{ConnectionSlot, UserSlot};
use crate::transport::{ConnectionKey, Transport, Wake};
use crate::user::User;
use farfield_base::{Duration, Instant, Outcome, SpokenVersion};
use smallvec::SmallVec;

/// The time after which a connection of TCP is opened beside an attempt.
const SLOW: Duration = Duration::from_ms(300);
/// The time after which an attempt of which nothing came is given up.
const GIVES_UP: Duration = Duration::from_secs(10);

impl Population {
    /// Connections that the user may have at once: one, as long as it may have streams, where the version is
    /// as browsers choose it.
    pub(crate) fn parallel(&self, user: &User) -> usize {
        let speaks_http1 = || user.profile.as_ref().and_then(|own| own.multiplexes) == Some(false);
        match self.version == HttpVersion::Auto && !speaks_http1() {
            true => 1,
            false => usize::from(self.policy.parallel.get()),
        }
    }

    /// The version that the user's connections of TCP had last.
    pub(crate) fn remembered(&self, slot: UserSlot) -> Option<SpokenVersion> {
        let multiplexes = self.users[slot.index()].profile.as_ref()?.multiplexes?;
        Some(if multiplexes { SpokenVersion::Http2 } else { SpokenVersion::Http11 })
    }

    /// A session was secured, and the server chose `spoken`.
    pub(crate) fn note_version(&mut self, slot: UserSlot, spoken: SpokenVersion) {
        if self.version == HttpVersion::Auto {
            let profile = self.users[slot.index()].profile.get_or_insert_default();
            profile.multiplexes = Some(spoken == SpokenVersion::Http2);
        }
    }

    /// Whether users look for alternatives in replies.
    pub(crate) fn looks_for_alternatives(&self) -> bool {
        self.version == HttpVersion::Auto && self.http3.is_some()
    }

    /// The head of a reply to the user says this of alternatives.
    pub(crate) fn note_alternative(&mut self, now: Instant, slot: UserSlot, found: Named) {
        self.users[slot.index()].profile.get_or_insert_default().note_alternative(now, found);
        self.tally.alternatives.elsewhere += u64::from(found == Named::Elsewhere);
    }

    /// The port of the alternative that the user's next connection tries.
    pub(crate) fn alternative(&self, now: Instant, slot: UserSlot) -> Option<u16> {
        let user = &self.users[slot.index()];
        let port = user.profile.as_ref()?.alternative(now)?;
        let is_tried = user.connections.iter().any(|at| self.table.at(*at).attempt.is_some());
        (!is_tried).then_some(port)
    }

    /// A connection of QUIC that an alternative led to was begun at `begun`.
    pub(crate) fn begin_attempt_at<T: Transport>(
        &mut self,
        transport: &mut T,
        key: ConnectionKey,
        begun: Instant,
    ) {
        self.tally.alternatives.tried += 1;
        self.table.at_mut(key.slot).attempt = Some(Attempt::Ahead);
        transport.wake_at(begun + SLOW, Wake::Alternative(key));
    }

    /// An attempt has taken long, if it is not over.
    pub(crate) fn handle_attempt<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        key: ConnectionKey,
    ) {
        let Some(connection) = self.table.find(key) else { return };
        let (user, begun) = (connection.user, connection.connect_begun);
        match connection.attempt {
            None => {}
            Some(Attempt::Ahead) => {
                connection.attempt = Some(Attempt::Overtaken);
                transport.wake_at(begun + GIVES_UP, Wake::Alternative(key));
                let overtaken = self.take_back(key.slot);
                self.tally.alternatives.overtaken += u64::from(overtaken);
                self.pump(transport, now, user);
            }
            Some(Attempt::Overtaken) => self.fall_back(transport, now, key.slot, Outcome::ConnectTimedOut),
        }
    }

    /// The handshake of an attempt is over: what waits for connections of TCP that are not ready goes over
    /// this one.
    pub(crate) fn end_attempt<T: Transport>(&mut self, transport: &mut T, slot: ConnectionSlot) {
        let connection = self.table.at_mut(slot);
        if connection.attempt.take().is_none() {
            return;
        }
        let user = connection.user;
        self.tally.alternatives.secured += 1;
        let user = &mut self.users[user.index()];
        if let Some(profile) = &mut user.profile {
            profile.note_success();
        }
        let is_rival = |at: &&ConnectionSlot| {
            let connection = self.table.at(**at);
            let is_unsent = connection.in_flight.iter().all(|exchange| exchange.sent.instant().is_none());
            connection.state != State::Open && connection.attempt.is_none() && is_unsent
        };
        let rivals: SmallVec<[ConnectionSlot; 2]> =
            user.connections.iter().filter(is_rival).copied().collect();
        for rival in rivals {
            self.take_back(rival);
            self.drop_connection(transport, rival);
        }
    }

    /// An attempt failed with `outcome`: what was asked on it goes over TCP.
    pub(crate) fn fall_back<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        slot: ConnectionSlot,
        outcome: Outcome,
    ) {
        let connection = self.table.at_mut(slot);
        connection.attempt = None;
        let user = connection.user;
        let counts = &mut self.tally.alternatives;
        match outcome {
            Outcome::ConnectRefused | Outcome::Unreachable => counts.refused += 1,
            Outcome::ConnectTimedOut | Outcome::TimedOut => counts.unanswered += 1,
            _ => counts.failed += 1,
        }
        if let Some(profile) = &mut self.users[user.index()].profile {
            profile.note_failure(now);
        }
        if outcome == Outcome::TimedOut {
            // The time limit of its request, which has none left for another connection.
            return self.lose(transport, now, slot, outcome);
        }
        self.take_back(slot);
        self.drop_connection(transport, slot);
        self.pump(transport, now, user);
    }

    /// Takes what is asked on a connection, and was not sent, back to its user, ahead of all that waits;
    /// whether there was anything.
    fn take_back(&mut self, slot: ConnectionSlot) -> bool {
        self.table.stop_limit(slot);
        self.table.unwatch(slot);
        let connection = self.table.at_mut(slot);
        let bound = std::mem::take(&mut connection.in_flight);
        (connection.requests, connection.repeats) = (0, true);
        let user = &mut self.users[connection.user.index()];
        for exchange in bound.iter().rev() {
            user.waiting.push_front(exchange.job);
        }
        !bound.is_empty()
    }
}
