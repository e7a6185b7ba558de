//! Ends of a connection, grouped by what a user can do about them.

use crate::tls::TlsFailure;
use farfield_base::{Detail, Outcome, Sender, Signal};
use quinn_proto::ConnectionError;

/// Why a connection is over, other than because the client closed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuicFailure {
    /// The handshake of TLS.
    #[error("{0}")]
    Tls(TlsFailure),
    /// The server speaks no version of QUIC that the client speaks (RFC 9000 section 6.2).
    #[error("the server speaks no version of QUIC in common")]
    NoVersion,
    /// The server does not know the connection (RFC 9000 section 10.3): it was started again, perhaps.
    #[error("the server reset the connection, which it does not know")]
    Reset,
    /// Nothing came for as long as both ends had agreed to wait (RFC 9000 section 10.1).
    #[error("nothing came on the connection for as long as both ends had agreed to wait")]
    Idle,
    /// Nothing came for as long before the handshake was over.
    #[error("nothing came in answer to the handshake")]
    Unanswered,
    /// The server takes no new connection (RFC 9000 section 20.1, CONNECTION_REFUSED).
    #[error("the server refused the connection")]
    Refused,
    /// The server closed without an error.
    #[error("the server closed the connection")]
    Closed,
    /// The server closed with an error code: of QUIC, or of HTTP/3 if it is by its application.
    #[error("the server closed the connection with error {code:#x}")]
    ClosedWith {
        /// The code.
        code: u64,
        /// The code is the application's.
        by_application: bool,
    },
    /// The server does what the protocol forbids.
    #[error("the server violates the protocol (error {0:#x})")]
    Violated(u64),
}

/// H3_NO_ERROR (RFC 9114, 8.1), which ends a connection in good order.
const H3_NO_ERROR: u64 = 0x100;
/// CONNECTION_REFUSED (RFC 9000 section 20.1).
const CONNECTION_REFUSED: u64 = 0x2;
/// The codes that carry an alert of TLS, by their second byte (RFC 9001 section 4.8).
const ALERTS: std::ops::Range<u64> = 0x100..0x200;

impl QuicFailure {
    /// The failure that the library reports, where the certificate was `refused` as said, and the handshake
    /// is or is not over.
    pub(super) fn of(
        error: &ConnectionError,
        refused: Option<TlsFailure>,
        handshaking: bool,
    ) -> Option<QuicFailure> {
        Some(match error {
            ConnectionError::VersionMismatch => QuicFailure::NoVersion,
            ConnectionError::Reset => QuicFailure::Reset,
            ConnectionError::TimedOut if handshaking => QuicFailure::Unanswered,
            ConnectionError::TimedOut => QuicFailure::Idle,
            ConnectionError::TransportError(error) => {
                let code = u64::from(error.code);
                match refused {
                    Some(failure) => QuicFailure::Tls(failure),
                    None if ALERTS.contains(&code) => QuicFailure::Tls(TlsFailure::of_own_alert(code as u8)),
                    None => QuicFailure::Violated(code),
                }
            }
            ConnectionError::ConnectionClosed(close) => match u64::from(close.error_code) {
                0 => QuicFailure::Closed,
                CONNECTION_REFUSED => QuicFailure::Refused,
                code if ALERTS.contains(&code) => QuicFailure::Tls(TlsFailure::of_alert(code as u8)),
                code => QuicFailure::ClosedWith { code, by_application: false },
            },
            ConnectionError::ApplicationClosed(close) => match close.error_code.into_inner() {
                0 | H3_NO_ERROR => QuicFailure::Closed,
                code => QuicFailure::ClosedWith { code, by_application: true },
            },
            // An end that closes hears no more of it, and identifiers of eight bytes do not run out.
            ConnectionError::LocallyClosed | ConnectionError::CidsExhausted => return None,
        })
    }

    /// The detail of the failure: the code and the words of the end that closed, or why the certificate was
    /// `refused`.
    pub(super) fn detail_of(error: &ConnectionError, refused: Option<&Detail>) -> Option<Detail> {
        Some(match error {
            ConnectionError::TransportError(error) => match refused {
                Some(detail) => detail.clone(),
                None => closed(u64::from(error.code), Sender::Client).with(error.reason.as_bytes()),
            },
            ConnectionError::ConnectionClosed(close) => {
                closed(u64::from(close.error_code), Sender::Server).with(&close.reason)
            }
            ConnectionError::ApplicationClosed(close) => {
                let code = close.error_code.into_inner();
                Detail::sent(Signal::CloseHttp3, code, Sender::Server).with(&close.reason)
            }
            _ => return None,
        })
    }

    /// The outcome that a sample of a request on the connection records.
    pub const fn outcome(self) -> Outcome {
        match self {
            QuicFailure::Tls(failure) => failure.outcome(),
            QuicFailure::NoVersion => Outcome::NoQuicVersion,
            QuicFailure::Reset => Outcome::Reset,
            QuicFailure::Idle => Outcome::QuicIdle,
            QuicFailure::Unanswered => Outcome::ConnectTimedOut,
            QuicFailure::Refused => Outcome::ConnectRefused,
            QuicFailure::Closed => Outcome::ClosedUnanswered,
            QuicFailure::ClosedWith { .. } => Outcome::GoneAway,
            QuicFailure::Violated(_) => Outcome::BadQuic,
        }
    }
}

/// A CONNECTION_CLOSE of QUIC's own, which may carry an alert of TLS.
fn closed(code: u64, by: Sender) -> Detail {
    match ALERTS.contains(&code) {
        true => Detail::sent(Signal::Alert, code - ALERTS.start, by),
        false => Detail::sent(Signal::CloseQuic, code, by),
    }
}
