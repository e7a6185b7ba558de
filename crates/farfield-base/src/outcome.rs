//! Outcomes of requests, and whose fault each is.

use serde::{Deserialize, Serialize};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
    /// HTTP/2, HTTP/3 and WebSocket: a frame, header block, stream or window that the protocol forbids.
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
    /// WebSocket: the server answered with a status below 400 and did not upgrade the connection, or not in
    /// answer to the request's key.
    WebSocketRefused = 47,
    /// WebSocket: none was open, or the server closed it before the message came that was awaited.
    WebSocketClosed = 48,
}

impl Outcome {
    /// All of them, in order of their codes.
    pub const ALL: [Outcome; 49] = {
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
            WebSocketRefused,
            WebSocketClosed,
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

    /// True if a whole reply came, whatever its status and whatever was looked for in it.
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
                | WebSocketRefused
        )
    }

    /// True if the server's TLS, or the lack of it, ended the connection.
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
            | Flooded
            | WebSocketRefused
            | WebSocketClosed => Fault::Server,
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
            WebSocketRefused => "websocket-refused",
            WebSocketClosed => "websocket-closed",
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
mod tests {
    use super::*;

    #[test]
    fn codes_are_places_and_names_are_unique() {
        for (place, outcome) in Outcome::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(outcome.code()), place);
        }
        let mut names: Vec<_> = Outcome::ALL.iter().map(|o| o.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Outcome::ALL.len());
    }
}
