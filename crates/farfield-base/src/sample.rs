//! The sample: what is known of one request when it is over.
//!
//! A user records one for every request and for every attempt to connect that came to nothing; measure folds
//! them, and nothing on the way formats or drops one. A failed request is data like any other: what became
//! of it is its [`Outcome`], and whose fault that was is the outcome's [`Fault`](crate::Fault).

use crate::event_stats::EventStats;
use crate::host::HostNumber;
use crate::http_stats::HttpStats;
use crate::outcome::Outcome;
use crate::time::{Duration, Instant};
use std::num::{NonZeroU8, NonZeroU32};

/// An instant that may never have come, in 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp(u64);

impl Stamp {
    /// The stamp of what never happened.
    pub const NEVER: Stamp = Stamp(u64::MAX);

    /// The stamp of what happened at `instant`.
    pub const fn at(instant: Instant) -> Stamp {
        Stamp(instant.as_ns())
    }

    /// Instant of the stamp, if it came.
    pub const fn instant(self) -> Option<Instant> {
        match self.0 {
            u64::MAX => None,
            ns => Some(Instant::from_ns(ns)),
        }
    }
}

/// One request, from the instant it was due to the instant its fate was known.
///
/// `due <= connect_begun <= connected <= sent <= first_byte <= done`, as far as each happened; `sent` may
/// lie before `connected` of no other request, since connect times stand only on a connection's first
/// request. A session of TLS is secured between `connected` and `sent`, and between `sent` and `first_byte`
/// where the request went ahead of that, as early data; over QUIC such a request is sent before the
/// connection counts as established, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Instant at which the model of load wanted it: the arrival, the end of the think time, or the reply
    /// that led to it.
    pub due: Instant,
    /// Instant at which its connection was begun, if it was opened for this request.
    pub connect_begun: Stamp,
    /// Instant at which that connection was established.
    pub connected: Stamp,
    /// Instant at which its first byte was passed to the transport.
    pub sent: Stamp,
    /// Instant at which the first byte of the (final) reply arrived. On the sockets plane bytes that were
    /// read together arrived with the last of them, by the kernel's timestamp, or, without one, when they
    /// were read.
    pub first_byte: Stamp,
    /// Instant at which the last byte of the reply arrived or, without success, the outcome was known.
    pub done: Instant,
    /// Bytes of the reply's body, transfer codings removed.
    pub body_bytes: u64,
    /// All bytes of the reply: heads, framing and body.
    pub reply_bytes: u64,
    /// The longest time in the midst of the reply in which nothing of it came: no event where it is a stream
    /// of [events](Sample::events), else no byte of its body. Where the reply did not end, the time from the
    /// last of it to `done` is one of these. Zero where no head came, or all at once.
    pub longest_gap: Duration,
    /// The user, by number; in an open load, the arrival.
    pub user: u32,
    /// The connection, counted over the run; [`Sample::NO_CONNECTION`] if none was ever begun.
    pub connection: u32,
    /// Index of the request on its connection, from 0.
    pub number: u32,
    /// Index of the request in the scenario's request set, from 0.
    pub request: u32,
    /// The class of client, from 0.
    pub class: u16,
    /// The host that was asked.
    pub host: HostNumber,
    /// The reply's status, 0 if no head came.
    pub status: u16,
    /// Outcome of the request.
    pub outcome: Outcome,
    /// TCP statistics of its connection, if the plane has them.
    pub tcp: Option<TcpStats>,
    /// The session of TLS that it opened, with its connection, once the handshake was done.
    pub tls: Option<TlsStats>,
    /// The version of HTTP of its connection, and its stream.
    pub http: HttpStats,
    /// The events of its reply, if that is a stream of events.
    pub events: Option<EventStats>,
    /// Place of the request in the user's page.
    pub page: PagePart,
    /// The user's session, counted over the run; [`Sample::NO_SESSION`] where users are in no sessions.
    pub session: u32,
}

/// A request's place in a page: what a user asked for, and all that this led to. A user has one page at a
/// time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum PagePart {
    /// Pages are not tracked.
    #[default]
    Untracked = 0,
    /// The first request of its page.
    Begins = 1,
    /// Something that its page led to.
    Inside = 2,
    /// The last to end of what its page led to.
    Ends = 3,
    /// The first request of its page, and the last to end.
    Whole = 4,
}

impl PagePart {
    /// All of them, in order of their codes.
    pub const ALL: [PagePart; 5] =
        [PagePart::Untracked, PagePart::Begins, PagePart::Inside, PagePart::Ends, PagePart::Whole];

    /// The part of a request that begins or ends its page, or both.
    pub const fn of(begins: bool, ends: bool) -> PagePart {
        match (begins, ends) {
            (true, true) => PagePart::Whole,
            (true, false) => PagePart::Begins,
            (false, true) => PagePart::Ends,
            (false, false) => PagePart::Inside,
        }
    }

    /// The code in samples files: the variant's number.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// True if it is known which page it is of.
    pub const fn is_known(self) -> bool {
        !matches!(self, PagePart::Untracked)
    }

    /// True if its page began with it.
    pub const fn begins(self) -> bool {
        matches!(self, PagePart::Begins | PagePart::Whole)
    }

    /// True if it is the last of its page to end.
    pub const fn ends(self) -> bool {
        matches!(self, PagePart::Ends | PagePart::Whole)
    }
}

/// Statistics of a client's TCP connection, from its beginning to the end of a request on it. Counts
/// saturate. The struct is packed to keep samples small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(Rust, packed(2))]
pub struct TcpStats {
    /// SYNs sent, the first among them.
    pub syn_tries: NonZeroU8,
    /// Segments with data or FIN that the client sent again.
    pub retransmits: u16,
    /// Segments of the server's that came before one that should have come first: behind one that was lost,
    /// or overtaken.
    pub out_of_order: u16,
    /// The smoothed round trip (RFC 6298) in microseconds, once one was measured.
    pub srtt_us: Option<NonZeroU32>,
}

/// The handshake of a session of TLS. The struct is packed to keep samples small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(Rust, packed(2))]
pub struct TlsStats {
    /// Instant at which the last message of the handshake that the client awaited had arrived.
    pub secured: Instant,
    /// The version that was agreed on.
    pub version: TlsVersion,
    /// An earlier session of the user's was resumed.
    pub resumed: bool,
    /// Fate of the request if it went within the handshake.
    pub early: EarlyData,
}

/// Fate of a request within the handshake of its session (RFC 8446 section 2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum EarlyData {
    /// The request went once the handshake was over.
    #[default]
    Unsent = 0,
    /// The server took it.
    Accepted = 1,
    /// The server passed over it, and it was sent again behind the handshake.
    Rejected = 2,
}

impl EarlyData {
    /// All of them, in order of their codes.
    pub const ALL: [EarlyData; 3] = [EarlyData::Unsent, EarlyData::Accepted, EarlyData::Rejected];

    /// The code in samples files: the variant's number.
    pub const fn code(self) -> u8 {
        self as u8
    }
}

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum TlsVersion {
    /// RFC 5246.
    Tls12,
    /// RFC 8446.
    Tls13,
}

impl TlsVersion {
    /// All of them.
    pub const ALL: [TlsVersion; 2] = [TlsVersion::Tls12, TlsVersion::Tls13];

    /// The number in a handshake, and in samples files.
    pub const fn number(self) -> u16 {
        match self {
            TlsVersion::Tls12 => 0x0303,
            TlsVersion::Tls13 => 0x0304,
        }
    }
}

impl Sample {
    /// The connection of a request that never had one.
    pub const NO_CONNECTION: u32 = u32::MAX;

    /// The session of a request outside of sessions.
    pub const NO_SESSION: u32 = u32::MAX;

    /// A request of which nothing is known, and that was never begun: other samples are written as
    /// `Sample { due, ..Sample::EMPTY }`, so that a new field is named only where it says something.
    pub const EMPTY: Sample = Sample {
        due: Instant::ZERO,
        connect_begun: Stamp::NEVER,
        connected: Stamp::NEVER,
        sent: Stamp::NEVER,
        first_byte: Stamp::NEVER,
        done: Instant::ZERO,
        body_bytes: 0,
        reply_bytes: 0,
        longest_gap: Duration::ZERO,
        user: 0,
        connection: Sample::NO_CONNECTION,
        number: 0,
        request: 0,
        class: 0,
        host: HostNumber::TARGET,
        status: 0,
        outcome: Outcome::Unfinished,
        tcp: None,
        tls: None,
        http: HttpStats::UNKNOWN,
        events: None,
        page: PagePart::Untracked,
        session: Sample::NO_SESSION,
    };

    /// Response time: from due to done. What a user who wanted the object then has waited.
    pub fn response_time(&self) -> Duration {
        self.done.since(self.due)
    }

    /// True if its user left its reply, a stream that went on: what lasted as long as the user stayed is no
    /// time of the server's.
    pub fn is_left(&self) -> bool {
        self.events.is_some_and(|events| events.left)
    }

    /// The response time of a success that the server ended: not if its user left before.
    pub fn success_time(&self) -> Option<Duration> {
        (self.outcome == Outcome::Ok && !self.is_left()).then(|| self.response_time())
    }

    /// Service time: from sent to done, if it was sent.
    pub fn service_time(&self) -> Option<Duration> {
        self.sent.instant().map(|sent| self.done.since(sent))
    }

    /// Connect time, if this request opened a connection and it was established.
    pub fn connect_time(&self) -> Option<Duration> {
        Some(self.connected.instant()?.since(self.connect_begun.instant()?))
    }

    /// Handshake time of TLS: from connected to secured, if this request opened a session.
    pub fn handshake_time(&self) -> Option<Duration> {
        Some(self.tls?.secured.since(self.connected.instant()?))
    }

    /// Reply time: from sent to the first byte of the reply (Hashemian et al. 2011, figure 2).
    pub fn reply_time(&self) -> Option<Duration> {
        Some(self.first_byte.instant()?.since(self.sent.instant()?))
    }

    /// Transfer time: from the first byte of the reply to its last.
    pub fn transfer_time(&self) -> Option<Duration> {
        self.first_byte.instant().map(|first| self.done.since(first))
    }

    /// First-event time: from due to the first event of the reply, if one came.
    pub fn first_event_time(&self) -> Option<Duration> {
        Some({ self.events?.first }.instant()?.since(self.due))
    }

    /// True if its instants are in the order in which they can only have happened: due, sent, first byte,
    /// last byte, and those of its connection between the first two.
    pub fn is_ordered(&self) -> bool {
        let secured = self.tls.map_or(Stamp::NEVER, |tls| Stamp::at(tls.secured));
        let in_quic = self.sent.instant() < self.connected.instant();
        let steps = match self.tls.map_or(EarlyData::Unsent, |tls| tls.early) {
            // Of a handshake that failed it is not known whether the request went within it.
            EarlyData::Unsent if !in_quic || self.tls.is_some() || self.outcome == Outcome::Ok => {
                [self.connect_begun, self.connected, secured, self.sent, self.first_byte]
            }
            _ if in_quic => [self.connect_begun, self.sent, self.connected, secured, self.first_byte],
            _ => [self.connect_begun, self.connected, self.sent, secured, self.first_byte],
        };
        let events = self.events.map_or([Stamp::NEVER; 2], |events| [events.first, events.last]);
        let happened = steps.into_iter().chain(events).filter_map(Stamp::instant).chain([self.done]);
        happened
            .scan(self.due, |before, at| Some(std::mem::replace(before, at) <= at))
            .all(|in_order| in_order)
    }

    /// Instant at which the client first acted for this request: began a connection or wrote it; if neither,
    /// never.
    pub fn begun(&self) -> Option<Instant> {
        self.connect_begun.instant().or(self.sent.instant())
    }
}

#[cfg(test)]
mod tests;
