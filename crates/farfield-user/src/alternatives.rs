//! The version of HTTP as browsers choose it, and what a user's browser remembers of the server: whether its
//! connections of TCP have streams, and whether it names HTTP/3 as an alternative (Alt-Svc, RFC 7838).
//!
//! A user that knows of an alternative begins its next connection with QUIC. If the handshake is not over
//! after [`SLOW`], what was asked goes over a connection of TCP that is opened beside it, and whichever is
//! ready first is used: Chrome delays its connections of TCP so where it knows nothing of the round trip. An
//! attempt that fails, or that nothing has come of after [`GIVES_UP`], is a fallback: it is counted by its
//! cause, its requests go over TCP, and the user does not try again for [`BROKEN`], twice as long after each
//! further failure.
//!
//! An alternative is taken on the same host alone, on any port; of others is counted how often they were
//! named. What is asked on connections that are open stays on them. Early data does not go with such an
//! attempt.

use crate::book::HttpVersion;
use crate::connection::{Attempt, State};
use crate::population::Population;
use crate::slots::{ConnectionSlot, UserSlot};
use crate::transport::{ConnectionKey, Transport, Wake};
use crate::user::User;
use farfield_base::{Duration, Instant, Outcome, SpokenVersion};
use farfield_http::http1::Fields;
use smallvec::SmallVec;

/// The time after which a connection of TCP is opened beside an attempt.
const SLOW: Duration = Duration::from_ms(300);
/// The time after which an attempt of which nothing came is given up.
const GIVES_UP: Duration = Duration::from_secs(10);
/// The time for which an alternative is not tried again after it failed.
const BROKEN: Duration = Duration::from_secs(300);
/// The doublings of that time at most: two days.
const DOUBLINGS_MAX: u32 = 9;
/// The age of an alternative that says none (RFC 7838 section 3.1).
const AGE: u64 = 24 * 3600;
/// The longest age, so that instants can be reckoned with: ten years.
const AGE_MAX: u64 = 10 * 365 * 24 * 3600;

/// What a user's browser remembers of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Profile {
    /// Whether its connections of TCP have streams, once one was secured.
    multiplexes: Option<bool>,
    alternative: Option<Alternative>,
    /// Failures of the alternative in a row, and until when it is not tried.
    broken: Option<(u32, Instant)>,
}

/// What a reply's Alt-Svc says of HTTP/3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    /// Nothing, or that what was said before is over (`clear`).
    Nothing,
    /// It is on other hosts alone.
    Elsewhere,
    /// It is on this port of the same host, for so long.
    Here(u16, Duration),
}

/// HTTP/3 on a port of the same host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Alternative {
    port: u16,
    until: Instant,
}

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
        let profile = self.users[slot.index()].profile.get_or_insert_default();
        // What a reply says replaces all that was said before (RFC 7838 section 3.1).
        profile.alternative = None;
        match found {
            Named::Here(port, age) => profile.alternative = Some(Alternative { port, until: now + age }),
            Named::Elsewhere => self.tally.alternatives.elsewhere += 1,
            Named::Nothing => {}
        }
    }

    /// The port of the alternative that the user's next connection tries.
    pub(crate) fn alternative(&self, now: Instant, slot: UserSlot) -> Option<u16> {
        let user = &self.users[slot.index()];
        let profile = user.profile.as_ref()?;
        let alternative = profile.alternative.filter(|own| own.until > now)?;
        let is_broken = profile.broken.is_some_and(|(_, until)| until > now);
        let is_tried = || user.connections.iter().any(|at| self.table.at(*at).attempt.is_some());
        (!is_broken && !is_tried()).then_some(alternative.port)
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
            profile.broken = None;
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
            let times = profile.broken.map_or(0, |(times, _)| times);
            let rests = Duration::from_ns(BROKEN.as_ns() << times.min(DOUBLINGS_MAX));
            profile.broken = Some((times.saturating_add(1), now + rests));
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

/// What the head of a reply from `host` says of alternatives, if it says anything.
pub(crate) fn alternative_in(fields: Fields<'_>, host: &str) -> Option<Named> {
    let mut found = None;
    for value in fields.named("alt-svc") {
        let named = http3_in(value, host);
        found = match (found, named) {
            (Some(Named::Here(..)), _) | (Some(Named::Elsewhere), Named::Nothing) => found,
            _ => Some(named),
        };
    }
    found
}

/// What a value of Alt-Svc from `host` says of HTTP/3; of several alternatives on the same host it is the
/// first.
fn http3_in(value: &[u8], host: &str) -> Named {
    let text = std::str::from_utf8(value).unwrap_or_default();
    let mut named = split_outside_quotes(text, ',').filter_map(|alternative| {
        let mut parts = split_outside_quotes(alternative, ';').map(str::trim);
        let (protocol, authority) = parts.next()?.split_once('=')?;
        let authority = authority.trim().strip_prefix('"')?.strip_suffix('"')?;
        let (named, port) = authority.rsplit_once(':')?;
        let is_here = named.is_empty() || named.eq_ignore_ascii_case(name_of(host));
        let port = port.parse().ok().filter(|port| *port > 0)?;
        let age = parts.find_map(|part| {
            let (name, age) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("ma").then(|| age.trim().trim_matches('"').parse::<u64>().ok())
        });
        let age = age.map_or(AGE, |age| age.unwrap_or(0)).min(AGE_MAX);
        let here = Named::Here(port, Duration::from_secs(age));
        (protocol.trim() == "h3").then_some(if is_here { here } else { Named::Elsewhere })
    });
    let first = named.next().unwrap_or(Named::Nothing);
    let is_here = |own: &Named| matches!(own, Named::Here(..));
    if is_here(&first) { first } else { named.find(is_here).unwrap_or(first) }
}

/// The name or address in a Host field, without the port.
fn name_of(host: &str) -> &str {
    let port = host.rfind(':').filter(|at| host[at + 1..].bytes().all(|byte| byte.is_ascii_digit()));
    port.filter(|at| !host[..*at].contains(':') || host[..*at].ends_with(']')).map_or(host, |at| &host[..at])
}

fn split_outside_quotes(text: &str, at: char) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    text.split(move |character| {
        quoted ^= character == '"';
        character == at && !quoted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_are_read_as_the_rfc_has_them() {
        let check = |value: &str, port: u16, seconds: u64| {
            let expected = match port {
                0 => Named::Nothing,
                port => Named::Here(port, Duration::from_secs(seconds)),
            };
            assert_eq!(http3_in(value.as_bytes(), "shop.example:8443"), expected, "{value}");
        };
        check("h3=\":443\"; ma=2592000,h3-29=\":443\"; ma=2592000", 443, 2_592_000);
        check("h2=\"alt.example:443\", h3 = \":8443\" ; persist=1 ; ma=60", 8443, 60);
        check("h3=\":443\"", 443, 24 * 3600);
        check("h3=\"SHOP.example:444\"; ma=\"7\"", 444, 7);
        check("h3=\"a,b;c:1\", h3=\":2\"", 2, 24 * 3600);
        check("h3=\":443\"; ma=99999999999999999", 443, AGE_MAX);
        check("h3=\":443\"; ma=-1", 443, 0);
        for none in ["clear", "", "h3-29=\":443\"", "h3=\":0\"", "h3=\":99999\"", "h3=:443"] {
            check(none, 0, 0);
        }
        assert_eq!(http3_in(b"h3=\"\xff:443\"", "a"), Named::Nothing);
        let elsewhere = b"h3-29=\":443\", h3=\"other.example:443\"";
        assert_eq!(http3_in(elsewhere, "shop.example"), Named::Elsewhere);
        check("h3=\"other.example:443\", h3=\":444\"; ma=1", 444, 1);
    }

    #[test]
    fn hosts_are_compared_without_their_ports() {
        for (host, name) in
            [("a", "a"), ("a:443", "a"), ("[::1]:443", "[::1]"), ("[::1]", "[::1]"), ("::1", "::1")]
        {
            assert_eq!(name_of(host), name);
        }
    }
}
