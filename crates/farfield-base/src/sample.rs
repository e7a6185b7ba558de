//! The sample: what is known of one request when it is over.
//!
//! A user records one for every request and for every attempt to connect that came to nothing; measure folds
//! them, and nothing on the way formats or drops one. A failed request is data like any other: what became
//! of it is its [`Outcome`], and whose fault that was is the outcome's [`Fault`].

use crate::http_stats::HttpStats;
use crate::time::{Duration, Instant};
use std::num::{NonZeroU8, NonZeroU32};

/// An instant that may never have come, in 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp(u64);

impl Stamp {
    /// It never happened.
    pub const NEVER: Stamp = Stamp(u64::MAX);

    /// It happened at `instant`.
    pub const fn at(instant: Instant) -> Stamp {
        Stamp(instant.as_ns())
    }

    /// Its instant, if it happened.
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
    /// When the model of load wanted it: the arrival, the end of the think time, or the reply that led to
    /// it.
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
    /// Its place in the user's page.
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

    /// Whether it is known which page it is of.
    pub const fn is_known(self) -> bool {
        !matches!(self, PagePart::Untracked)
    }

    /// Whether its page began with it.
    pub const fn begins(self) -> bool {
        matches!(self, PagePart::Begins | PagePart::Whole)
    }

    /// Whether it is the last of its page to end.
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
    /// Whether an earlier session of the user's was resumed.
    pub resumed: bool,
    /// Whether the request went within the handshake.
    pub early: EarlyData,
}

/// What became of a request within the handshake of its session (RFC 8446 section 2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum EarlyData {
    /// It went behind the handshake.
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
        user: 0,
        connection: Sample::NO_CONNECTION,
        number: 0,
        request: 0,
        class: 0,
        status: 0,
        outcome: Outcome::Unfinished,
        tcp: None,
        tls: None,
        http: HttpStats::UNKNOWN,
        page: PagePart::Untracked,
        session: Sample::NO_SESSION,
    };

    /// Response time: from due to done. What a user who wanted the object then has waited.
    pub fn response_time(&self) -> Duration {
        self.done.since(self.due)
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

    /// Whether its instants are in the order in which they can only have happened: due, sent, first byte,
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
        let happened = steps.into_iter().filter_map(Stamp::instant).chain([self.done]);
        happened
            .scan(self.due, |before, at| Some(std::mem::replace(before, at) <= at))
            .all(|in_order| in_order)
    }

    /// When the client first acted for this request: began a connection or wrote it; if neither, never.
    pub fn begun(&self) -> Option<Instant> {
        self.connect_begun.instant().or(self.sent.instant())
    }
}

/// Party at fault for an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// Nobody's: it went well.
    None,
    /// The server answered with an error or with something else than was asked for, or closed instead of
    /// answering.
    Server,
    /// The path, or the kernel at its other end.
    Network,
    /// A limit of this client: a timeout, a descriptor, the end of the run.
    Client,
    /// The reply was not HTTP as the RFCs have it.
    Protocol,
}

/// Outcome of a request. A closed enum, so that every report counts the same outcomes under the same names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Outcome {
    /// A complete reply with a status below 400.
    Ok = 0,
    /// A complete reply with a status of 400 to 499.
    Status4xx = 1,
    /// A complete reply with a status of 500 and more.
    Status5xx = 2,
    /// The server closed the connection in good order without a byte of reply.
    ClosedUnanswered = 3,
    /// The connection was refused (RST to a SYN).
    ConnectRefused = 4,
    /// The kernel gave up connecting.
    ConnectTimedOut = 5,
    /// No route, or an ICMP error.
    Unreachable = 6,
    /// The connection was reset.
    Reset = 7,
    /// The attempt was not answered within T and dropped without a word (S-Client).
    ConnectAbandoned = 8,
    /// The reply was not complete within the request's time limit.
    TimedOut = 9,
    /// No descriptor was left for a connection.
    NoDescriptor = 10,
    /// No local address or port was left for a connection.
    NoAddress = 11,
    /// The arrival found every user that the scenario allows busy, and was dropped.
    Dropped = 12,
    /// Still open when the run ended, after the drain. `done` is the end of the run, so times up to it are
    /// ages.
    Unfinished = 13,
    /// The reply's head cannot be read.
    BadHead = 14,
    /// The reply's head exceeds the limit.
    HeadTooLarge = 15,
    /// The reply's length is contradictory or not a number.
    BadLength = 16,
    /// The reply's chunked coding is malformed.
    BadChunk = 17,
    /// The connection closed in the middle of a reply.
    Truncated = 18,
    /// A complete reply with bytes behind it that belong to no request, on a connection that was to be kept.
    Unasked = 19,
    /// The reply's body exceeds the limit.
    BodyTooLarge = 20,
    /// A complete reply, of which something that the session asks for does not hold.
    CheckFailed = 21,
    /// A complete reply without a value that the session takes from it.
    ExtractFailed = 22,
    /// A redirect behind as many as are followed.
    RedirectLoop = 23,
    /// A redirect to another server, or to what is not HTTP: it was not followed.
    RedirectElsewhere = 24,
    /// A link or form that leads to another server, or to what is not HTTP: it was not asked for.
    LinkElsewhere = 25,
    /// A complete reply whose content is not in the coding that its head names, or in one that is not known.
    BadCoding = 26,
    /// TLS: the server's certificate does not verify.
    TlsUntrusted = 27,
    /// TLS: the server's certificate is for other names.
    TlsNameMismatch = 28,
    /// TLS: the server refuses the protocols that are offered (ALPN), or chooses another.
    TlsAlpnRefused = 29,
    /// TLS: no version, cipher suite or key exchange in common.
    TlsIncompatible = 30,
    /// TLS: the server ended the session with an alert.
    TlsAlert = 31,
    /// TLS was asked for, and the server answered in another protocol, such as plain HTTP.
    NotTls = 32,
    /// Plain HTTP was asked for, and the server answered with TLS.
    TlsExpected = 33,
    /// TLS: a record or message cannot be read.
    BadRecord = 34,
    /// TLS: the connection closed in the middle of the handshake or of a record, or of a reply that only the
    /// end of the connection ends.
    TlsTruncated = 35,
    /// TLS: the server wants a certificate of the client's, or does not accept the one that it has.
    TlsCertificateRefused = 36,
    /// HTTP/2 and HTTP/3: the server reset the request's stream.
    StreamReset = 37,
    /// HTTP/2 and HTTP/3: the server refused the request's stream without processing it, as often as it was
    /// sent.
    StreamRefused = 38,
    /// The server ended the connection with an error code: of HTTP/2 in GOAWAY, of HTTP/3 or QUIC in
    /// CONNECTION_CLOSE.
    GoneAway = 39,
    /// HTTP/2 and HTTP/3: a frame, header block, stream or window that the protocol forbids.
    BadFrame = 40,
    /// HTTP/2 was asked for, and the server answered in another protocol, such as HTTP/1.1.
    NotHttp2 = 41,
    /// QUIC: the server speaks no version in common.
    NoQuicVersion = 42,
    /// QUIC: nothing came on the connection for as long as both ends had agreed to wait.
    QuicIdle = 43,
    /// QUIC: packets or frames that the protocol forbids.
    BadQuic = 44,
    /// The client left the network that its connection was on, such as Wi-Fi.
    NetworkChanged = 45,
    /// The server sent frames, records or packets that lead to nothing without end, or had answers to such
    /// pile up that it does not read: the connection was ended.
    Flooded = 46,
}

impl Outcome {
    /// All of them, in order of their codes.
    pub const ALL: [Outcome; 47] = {
        use Outcome::*;
        [
            Ok,
            Status4xx,
            Status5xx,
            ClosedUnanswered,
            ConnectRefused,
            ConnectTimedOut,
            Unreachable,
            Reset,
            ConnectAbandoned,
            TimedOut,
            NoDescriptor,
            NoAddress,
            Dropped,
            Unfinished,
            BadHead,
            HeadTooLarge,
            BadLength,
            BadChunk,
            Truncated,
            Unasked,
            BodyTooLarge,
            CheckFailed,
            ExtractFailed,
            RedirectLoop,
            RedirectElsewhere,
            LinkElsewhere,
            BadCoding,
            TlsUntrusted,
            TlsNameMismatch,
            TlsAlpnRefused,
            TlsIncompatible,
            TlsAlert,
            NotTls,
            TlsExpected,
            BadRecord,
            TlsTruncated,
            TlsCertificateRefused,
            StreamReset,
            StreamRefused,
            GoneAway,
            BadFrame,
            NotHttp2,
            NoQuicVersion,
            QuicIdle,
            BadQuic,
            NetworkChanged,
            Flooded,
        ]
    };

    /// The code in samples files: the variant's number.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The outcome of a complete reply with `status`.
    pub const fn of_status(status: u16) -> Outcome {
        match status {
            0..400 => Outcome::Ok,
            400..500 => Outcome::Status4xx,
            _ => Outcome::Status5xx,
        }
    }

    /// Whether a whole reply came, whatever its status and whatever was looked for in it.
    pub const fn is_reply(self) -> bool {
        use Outcome::*;
        matches!(
            self,
            Ok | Status4xx
                | Status5xx
                | Unasked
                | CheckFailed
                | ExtractFailed
                | RedirectLoop
                | RedirectElsewhere
                | BadCoding
        )
    }

    /// Whether the server's TLS, or the lack of it, ended the connection.
    pub const fn is_of_tls(self) -> bool {
        let (first, last) = (Outcome::TlsUntrusted.code(), Outcome::TlsCertificateRefused.code());
        first <= self.code() && self.code() <= last
    }

    /// The party at fault.
    pub const fn fault(self) -> Fault {
        use Outcome::*;
        match self {
            Ok => Fault::None,
            Status4xx
            | Status5xx
            | ClosedUnanswered
            | CheckFailed
            | ExtractFailed
            | RedirectLoop
            | RedirectElsewhere
            | LinkElsewhere
            | TlsUntrusted
            | TlsNameMismatch
            | TlsAlpnRefused
            | TlsIncompatible
            | TlsAlert
            | TlsCertificateRefused
            | StreamReset
            | StreamRefused
            | GoneAway
            | NoQuicVersion
            | Flooded => Fault::Server,
            ConnectRefused | ConnectTimedOut | Unreachable | Reset | QuicIdle | NetworkChanged => {
                Fault::Network
            }
            ConnectAbandoned | TimedOut | NoDescriptor | NoAddress | Dropped | Unfinished => Fault::Client,
            BadHead | HeadTooLarge | BadLength | BadChunk | Truncated | Unasked | BodyTooLarge
            | BadCoding | NotTls | TlsExpected | BadRecord | TlsTruncated | BadFrame | NotHttp2 | BadQuic => {
                Fault::Protocol
            }
        }
    }

    /// The name in every output.
    pub const fn name(self) -> &'static str {
        use Outcome::*;
        match self {
            Ok => "ok",
            Status4xx => "status-4xx",
            Status5xx => "status-5xx",
            ClosedUnanswered => "closed-unanswered",
            ConnectRefused => "connect-refused",
            ConnectTimedOut => "connect-timed-out",
            Unreachable => "unreachable",
            Reset => "reset",
            ConnectAbandoned => "connect-abandoned",
            TimedOut => "timed-out",
            NoDescriptor => "no-descriptor",
            NoAddress => "no-address",
            Dropped => "dropped",
            Unfinished => "unfinished",
            BadHead => "bad-head",
            HeadTooLarge => "head-too-large",
            BadLength => "bad-length",
            BadChunk => "bad-chunk",
            Truncated => "truncated",
            Unasked => "unasked",
            BodyTooLarge => "body-too-large",
            CheckFailed => "check-failed",
            ExtractFailed => "extract-failed",
            RedirectLoop => "redirect-loop",
            RedirectElsewhere => "redirect-elsewhere",
            LinkElsewhere => "link-elsewhere",
            BadCoding => "bad-coding",
            TlsUntrusted => "tls-untrusted",
            TlsNameMismatch => "tls-name-mismatch",
            TlsAlpnRefused => "tls-alpn-refused",
            TlsIncompatible => "tls-incompatible",
            TlsAlert => "tls-alert",
            NotTls => "not-tls",
            TlsExpected => "tls-expected",
            BadRecord => "bad-record",
            TlsTruncated => "tls-truncated",
            TlsCertificateRefused => "tls-certificate-refused",
            StreamReset => "stream-reset",
            StreamRefused => "stream-refused",
            GoneAway => "gone-away",
            BadFrame => "bad-frame",
            NotHttp2 => "not-http2",
            NoQuicVersion => "no-quic-version",
            QuicIdle => "quic-idle",
            BadQuic => "bad-quic",
            NetworkChanged => "network-changed",
            Flooded => "flooded",
        }
    }
}

impl Fault {
    /// The name in every output.
    pub const fn name(self) -> &'static str {
        match self {
            Fault::None => "none",
            Fault::Server => "server",
            Fault::Network => "network",
            Fault::Client => "client",
            Fault::Protocol => "protocol",
        }
    }
}

#[cfg(test)]
mod tests;
