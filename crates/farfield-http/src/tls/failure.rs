//! What can be wrong with a server's TLS, grouped by what a user can do about it.

use farfield_base::Outcome;
use rustls::{AlertDescription, CertificateError, Error, PeerMisbehaved};

/// Why a session cannot go on. Its connection is of no further use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TlsFailure {
    /// The certificate does not lead to a trusted root, is not valid at this time, or has no pin's key.
    #[error("the certificate does not verify")]
    Untrusted,
    /// The certificate is for other names.
    #[error("the certificate is for another name")]
    NameMismatch,
    /// The server speaks none of the protocols that were offered (RFC 7301 section 3.2), or chose another.
    #[error("the server refused the protocols that were offered")]
    AlpnRefused,
    /// The server wants a certificate of the client's, or does not accept the one that it has.
    #[error("the server refused the client's certificate, or wants one")]
    CertificateRefused,
    /// No version, cipher suite or key exchange in common.
    #[error("no version or cipher suite in common")]
    Incompatible,
    /// The server ended the session with an alert.
    #[error("the server ended the session with an alert")]
    Alert,
    /// The server answers in another protocol, such as plain HTTP.
    #[error("the server does not speak TLS")]
    NotTls,
    /// A record or message that cannot be read, or that the protocol forbids.
    #[error("a record cannot be read")]
    BadRecord,
}

impl TlsFailure {
    pub(crate) fn of(error: &Error) -> TlsFailure {
        match error {
            Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            ) => TlsFailure::NameMismatch,
            Error::InvalidCertificate(_) | Error::NoCertificatesPresented => TlsFailure::Untrusted,
            Error::PeerMisbehaved(PeerMisbehaved::SelectedUnofferedApplicationProtocol)
            | Error::AlertReceived(AlertDescription::NoApplicationProtocol) => TlsFailure::AlpnRefused,
            Error::PeerIncompatible(_)
            | Error::AlertReceived(
                AlertDescription::ProtocolVersion
                | AlertDescription::HandshakeFailure
                | AlertDescription::InsufficientSecurity,
            ) => TlsFailure::Incompatible,
            Error::AlertReceived(
                AlertDescription::CertificateRequired
                | AlertDescription::BadCertificate
                | AlertDescription::UnsupportedCertificate
                | AlertDescription::CertificateRevoked
                | AlertDescription::CertificateExpired
                | AlertDescription::CertificateUnknown
                | AlertDescription::UnknownCA
                | AlertDescription::AccessDenied,
            ) => TlsFailure::CertificateRefused,
            Error::AlertReceived(_) => TlsFailure::Alert,
            _ => TlsFailure::BadRecord,
        }
    }

    /// The failure of a session that the server ended with an alert of this number (RFC 8446 section 6).
    pub(crate) fn of_alert(number: u8) -> TlsFailure {
        TlsFailure::of(&Error::AlertReceived(AlertDescription::from(number)))
    }

    /// The failure of a session that was ended here with an alert of this number, where no more is known.
    pub(crate) fn of_own_alert(number: u8) -> TlsFailure {
        match AlertDescription::from(number) {
            AlertDescription::NoApplicationProtocol => TlsFailure::AlpnRefused,
            AlertDescription::ProtocolVersion
            | AlertDescription::HandshakeFailure
            | AlertDescription::InsufficientSecurity => TlsFailure::Incompatible,
            AlertDescription::BadCertificate
            | AlertDescription::UnknownCA
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown => TlsFailure::Untrusted,
            _ => TlsFailure::BadRecord,
        }
    }

    /// What a sample of a request on the session records.
    pub const fn outcome(self) -> Outcome {
        match self {
            TlsFailure::Untrusted => Outcome::TlsUntrusted,
            TlsFailure::NameMismatch => Outcome::TlsNameMismatch,
            TlsFailure::AlpnRefused => Outcome::TlsAlpnRefused,
            TlsFailure::CertificateRefused => Outcome::TlsCertificateRefused,
            TlsFailure::Incompatible => Outcome::TlsIncompatible,
            TlsFailure::Alert => Outcome::TlsAlert,
            TlsFailure::NotTls => Outcome::NotTls,
            TlsFailure::BadRecord => Outcome::BadRecord,
        }
    }
}

/// Whether `bytes`, the first answer to a request in plain HTTP, are of TLS: an alert, or a handshake. What a
/// server of HTTP says first is a letter. The first byte decides alone, since the others may come later.
pub fn answers_plaintext(bytes: &[u8]) -> bool {
    matches!(bytes, [21 | 22, ..])
}
