//! Faults of a server's TLS, grouped by what a user can do about them.

use farfield_base::{Detail, Outcome, Rule, Sender, Signal};
use rustls::{AlertDescription, CertificateError, Error, PeerMisbehaved};

/// Why a session cannot go on. Its connection is of no further use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
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
    /// Records without text, updates of keys or warnings without end.
    #[error("the server floods the session with records that lead to nothing")]
    Flooded,
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
            Error::PeerMisbehaved(
                PeerMisbehaved::TooManyKeyUpdateRequests
                | PeerMisbehaved::TooManyWarningAlertsReceived
                | PeerMisbehaved::TooManyRenegotiationRequests
                | PeerMisbehaved::TooManyEmptyFragments,
            ) => TlsFailure::Flooded,
            _ => TlsFailure::BadRecord,
        }
    }

    /// The failure of a session that the server ended with an alert of this number (RFC 8446 section 6).
    pub(crate) fn of_alert(number: u8) -> TlsFailure {
        TlsFailure::of(&Error::AlertReceived(AlertDescription::from(number)))
    }

    /// The failure of a session that ended within its handshake, where the server has asked for a
    /// certificate of the client's. TLS 1.2 has no alert that says that one is lacking: a server that
    /// requires one, such as OpenSSL's, ends the handshake with handshake_failure (RFC 5246 section 7.4.6),
    /// long after version, suite and group were agreed on.
    pub(crate) fn of_asked(error: &Error) -> TlsFailure {
        match error {
            Error::AlertReceived(AlertDescription::HandshakeFailure) => TlsFailure::CertificateRefused,
            _ => TlsFailure::of(error),
        }
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

    /// The outcome that a sample of a request on the session records.
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
            TlsFailure::Flooded => Outcome::Flooded,
        }
    }
}

/// The detail of a session's failure: the alert that came, or the rule that the server does not keep to.
pub(crate) fn detail_of(error: &Error) -> Detail {
    match error {
        Error::AlertReceived(alert) => {
            Detail::sent(Signal::Alert, u64::from(u8::from(*alert)), Sender::Server)
        }
        Error::InvalidCertificate(error) => {
            let rule = rule_of_certificate(error);
            match error {
                // The library's sentences of these name instants and names.
                CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYetContext { .. }
                | CertificateError::NotValidForNameContext { .. }
                | CertificateError::InvalidPurposeContext { .. } => {
                    Detail::broken(rule).with(error.to_string().as_bytes())
                }
                _ => Detail::broken(rule),
            }
        }
        Error::NoCertificatesPresented => {
            Detail::broken(Rule::new("the server presents no certificate", "RFC 8446 §4.4.2"))
        }
        Error::PeerIncompatible(error) => {
            let wrong = "the server's TLS has nothing in common with what was offered";
            Detail::broken(Rule::new(wrong, "RFC 8446 §4.1.1")).with(format!("{error:?}").as_bytes())
        }
        Error::PeerMisbehaved(error) => {
            let wrong = "a message of the handshake breaks the protocol";
            Detail::broken(Rule::new(wrong, "RFC 8446 §4")).with(format!("{error:?}").as_bytes())
        }
        Error::InappropriateMessage { .. } | Error::InappropriateHandshakeMessage { .. } => {
            let rule = Rule::new("a message is out of place", "RFC 8446 §4");
            Detail::broken(rule).with(error.to_string().as_bytes())
        }
        Error::InvalidMessage(error) => {
            let rule = Rule::new("a message cannot be read", "RFC 8446 §4");
            Detail::broken(rule).with(format!("{error:?}").as_bytes())
        }
        Error::DecryptError => Detail::broken(Rule::new("a record cannot be decrypted", "RFC 8446 §5.2")),
        Error::PeerSentOversizedRecord => {
            Detail::broken(Rule::new("a record is longer than records may be", "RFC 8446 §5.1"))
        }
        Error::NoApplicationProtocol => {
            Detail::broken(Rule::new("the server chose none of the protocols offered", "RFC 7301 §3.2"))
        }
        _ => {
            let rule = Rule::new("the session cannot go on", "RFC 8446 §6.2");
            Detail::broken(rule).with(error.to_string().as_bytes())
        }
    }
}

/// Rule broken by a certificate that was valid until some time ago.
pub const EXPIRED: Rule = Rule::new("the certificate has expired", "RFC 5280 §4.1.2.5");
/// Rule broken by a certificate that will be valid.
pub const NOT_VALID_YET: Rule = Rule::new("the certificate is not valid yet", "RFC 5280 §4.1.2.5");
/// Rule broken by a certificate whose issuers are none that are trusted.
pub const NO_TRUSTED_ROOT: Rule = Rule::new("the certificate leads to no trusted root", "RFC 5280 §6.1");
/// Rule broken by a certificate that was not signed by the issuer of the name that it has.
pub const BAD_SIGNATURE: Rule = Rule::new("a certificate's signature is wrong", "RFC 5280 §6.1.3");
/// Rule broken by a certificate with another key than those that are pinned.
pub const NO_PIN: Rule = Rule::new("the certificate's key is none of `tls.pins`", "");

/// Rule broken by a CA's certificate, as `openssl req -x509` makes one: it has no issuer but itself.
pub const OF_A_CA: Rule = Rule::new("the certificate is that of a CA", "RFC 5280 §4.2.1.9");

/// The rule that a certificate does not keep to.
fn rule_of_certificate(error: &CertificateError) -> Rule {
    let (wrong, section) = match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => return EXPIRED,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => return NOT_VALID_YET,
        CertificateError::UnknownIssuer => return NO_TRUSTED_ROOT,
        CertificateError::BadSignature => return BAD_SIGNATURE,
        CertificateError::ApplicationVerificationFailure => return NO_PIN,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            ("the certificate is for other names", "RFC 9525 §6")
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            ("the certificate is not for servers", "RFC 5280 §4.2.1.12")
        }
        CertificateError::BadEncoding => ("a certificate cannot be read", "RFC 5280 §4.1"),
        CertificateError::Revoked => ("the certificate is revoked", "RFC 5280 §5"),
        CertificateError::UnhandledCriticalExtension => {
            ("the certificate has a critical extension that is not known", "RFC 5280 §4.2")
        }
        CertificateError::Other(other) if other.0.to_string() == "CaUsedAsEndEntity" => return OF_A_CA,
        _ => ("the certificate does not verify", "RFC 5280 §6.1"),
    };
    Rule::new(wrong, section)
}

/// True if `bytes`, the first answer to a request in plain HTTP, are of TLS: an alert, or a handshake. A
/// server of HTTP begins with a letter. The first byte decides alone, since the others may come later.
pub fn answers_plaintext(bytes: &[u8]) -> bool {
    matches!(bytes, [21 | 22, ..])
}
