//! Settings that the sessions of a run share: whom they trust, and what they offer.

use super::anchored::AnchoredVerifier;
use super::identity::Identities;
use super::leaf::LeafVerifier;
use base64::prelude::{BASE64_STANDARD, Engine};
use farfield_base::{Duration, TlsVersion as Version};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, KeyLog, RootCertStore, SupportedProtocolVersion};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The protocol that a session is for (RFC 7301).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Alpn {
    /// HTTP/1.1; a server that does not know ALPN is one of it.
    #[default]
    Http11,
    /// HTTP/2, which the server must agree to (RFC 9113 section 3.2).
    Http2,
    /// HTTP/3, over QUIC alone (RFC 9114, 3.1).
    Http3,
    /// HTTP/2 or HTTP/1.1, as the server chooses; one that does not know ALPN is of the latter.
    Either,
}

const HTTP11: &[u8] = b"http/1.1";
/// The identifier of HTTP/2.
pub(super) const HTTP2: &[u8] = b"h2";

impl Alpn {
    /// The identifier of the protocol; of either, that of the preferred one.
    pub const fn id(self) -> &'static [u8] {
        self.ids()[0]
    }

    /// The identifiers of the protocols that are offered, in order of preference.
    pub const fn ids(self) -> &'static [&'static [u8]] {
        match self {
            Alpn::Http11 => &[HTTP11],
            Alpn::Http2 => &[HTTP2],
            Alpn::Http3 => &[b"h3"],
            Alpn::Either => &[HTTP2, HTTP11],
        }
    }
}

/// Returns the processor time that the calling thread has used.
pub type ProcessorClock = fn() -> Duration;

/// Settings that sessions can be made from.
#[derive(Clone)]
pub struct TlsSettings {
    pub(super) name: ServerName<'static>,
    pub(super) provider: Arc<CryptoProvider>,
    pub(super) verifier: Arc<dyn ServerCertVerifier>,
    pub(super) versions: &'static [&'static SupportedProtocolVersion],
    pub(super) resumption: bool,
    pub(super) early_data: bool,
    pub(super) alpn: Alpn,
    pub(super) started_unix_s: u64,
    pub(super) keys: Option<Arc<dyn KeyLog>>,
    pub(super) identities: Option<Identities>,
    pub(super) clock: Option<ProcessorClock>,
    pub(super) began: Option<std::time::Instant>,
}

/// The certificates that are accepted.
#[derive(Debug, Clone)]
pub enum Trust {
    /// Certificates that lead to one of these roots and name the server.
    Roots(Vec<CertificateDer<'static>>),
    /// Certificates whose public key has one of these pins, whatever they name.
    Pins(Vec<Pin>),
    /// All.
    Anyone,
}

/// The SHA-256 digest of a certificate's SubjectPublicKeyInfo (RFC 7469 section 2.4), written as curl does:
/// `sha256//` and base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pin([u8; 32]);

/// Why no sessions can be made. Closed: a caller that points to the setting at fault matches all of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Neither a DNS name nor an address.
    #[error("`{0}` is neither a DNS name nor an address")]
    Name(String),
    /// None of the roots can be used.
    #[error("none of the {0} root certificates can be used")]
    Roots(usize),
    /// No version is offered.
    #[error("no version of TLS is offered; write \"1.2\", \"1.3\" or both")]
    Versions,
    /// The provider lacks what the versions need.
    #[error("the cryptography has no cipher suite or key exchange for these versions: {0}")]
    Provider(String),
}

impl TlsSettings {
    /// True if TLS 1.3 is among the versions that are offered.
    pub fn offers_tls13(&self) -> bool {
        self.versions.iter().any(|offered| offered.version == rustls::ProtocolVersion::TLSv1_3)
    }

    /// True if users have certificates.
    pub fn has_identities(&self) -> bool {
        self.identities.is_some()
    }

    /// Settings for the server `name`, which is verified as `trust` says, over one of `versions`.
    ///
    /// # Errors
    /// If the name is no name, no root can be used, or the provider lacks what the versions need.
    pub fn new(
        name: &str,
        trust: Trust,
        versions: &[Version],
        resumption: bool,
        provider: Arc<CryptoProvider>,
    ) -> Result<TlsSettings, SettingsError> {
        let refused = || SettingsError::Name(name.to_owned());
        let name = ServerName::try_from(name.to_owned()).map_err(|_| refused())?;
        let verifier = trust.verifier(&provider)?;
        let versions = offered(versions)?;
        ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .map_err(|error| SettingsError::Provider(error.to_string()))?;
        Ok(TlsSettings {
            name,
            provider,
            verifier,
            versions,
            resumption,
            early_data: false,
            alpn: Alpn::default(),
            started_unix_s: 0,
            keys: None,
            identities: None,
            clock: None,
            began: None,
        })
    }

    /// The settings of a run whose time begins at `unix_s`, in seconds since 1970: certificates are valid at
    /// dates.
    pub fn starting_at(self, unix_s: u64) -> TlsSettings {
        TlsSettings { started_unix_s: unix_s, ..self }
    }

    /// The settings for sessions of `alpn`; without this, of HTTP/1.1.
    pub fn speaking(self, alpn: Alpn) -> TlsSettings {
        TlsSettings { alpn, ..self }
    }

    /// The settings for sessions that may take a request within the handshake, where a ticket allows it (RFC
    /// 8446 section 2.3).
    pub fn with_early_data(self, early_data: bool) -> TlsSettings {
        TlsSettings { early_data, ..self }
    }

    /// The settings with certificates for users, which they have for servers that ask for one.
    pub fn with_identities(self, identities: Option<Identities>) -> TlsSettings {
        TlsSettings { identities, ..self }
    }

    /// The settings with the processor time of handshakes measured by `clock`.
    pub fn timed_by(self, clock: ProcessorClock) -> TlsSettings {
        TlsSettings { clock: Some(clock), ..self }
    }

    /// Draws a random number. The first of a process takes aws-lc-rs some 30 ms, for which no user should
    /// wait.
    pub fn warm_up(&self) {
        // The error, if there are none, goes to the caller that needs one later.
        let _ = self.provider.secure_random.fill(&mut [0; 1]);
    }

    /// The settings of a run whose time begins at `began` on the library's clock, which QUIC's times are on.
    /// No clock is read: only differences count.
    pub fn beginning_at(self, began: std::time::Instant) -> TlsSettings {
        TlsSettings { began: Some(began), ..self }
    }

    /// The beginning of the run's time on the library's clock.
    pub(crate) fn began(&self) -> Option<std::time::Instant> {
        self.began
    }

    /// The settings with the secrets of all sessions given to `keys`.
    pub fn logging_keys(self, keys: Arc<dyn KeyLog>) -> TlsSettings {
        TlsSettings { keys: Some(keys), ..self }
    }
}

impl fmt::Debug for TlsSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TlsSettings { name, versions, resumption, started_unix_s, .. } = self;
        f.debug_struct("TlsSettings")
            .field("name", name)
            .field("versions", versions)
            .field("resumption", resumption)
            .field("started_unix_s", started_unix_s)
            .finish_non_exhaustive()
    }
}

impl Trust {
    /// The verifier of servers' certificates, for whoever speaks TLS by the library itself.
    ///
    /// # Errors
    /// [`SettingsError::Roots`] if none of the roots can be used.
    pub fn verifier(
        self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, SettingsError> {
        let algorithms = provider.signature_verification_algorithms;
        match self {
            Trust::Roots(given) => {
                let count = given.len();
                let mut roots = RootCertStore::empty();
                // Systems have roots that no verifier reads; the others do.
                roots.add_parsable_certificates(given.iter().cloned());
                let verifier =
                    WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::clone(provider));
                let roots = verifier.build().map_err(|_| SettingsError::Roots(count))?;
                Ok(Arc::new(AnchoredVerifier { roots, given }))
            }
            Trust::Pins(pins) => Ok(Arc::new(LeafVerifier { pins: Some(pins), algorithms })),
            Trust::Anyone => Ok(Arc::new(LeafVerifier { pins: None, algorithms })),
        }
    }
}

fn offered(versions: &[Version]) -> Result<&'static [&'static SupportedProtocolVersion], SettingsError> {
    static BOTH: [&SupportedProtocolVersion; 2] = [&rustls::version::TLS13, &rustls::version::TLS12];
    let has = |version| versions.contains(&version);
    match (has(Version::Tls13), has(Version::Tls12)) {
        (true, true) => Ok(&BOTH),
        (true, false) => Ok(&BOTH[..1]),
        (false, true) => Ok(&BOTH[1..]),
        (false, false) => Err(SettingsError::Versions),
    }
}

/// The certificates of a PEM file (RFC 7468), in order; nothing if one of them cannot be read.
pub fn certificates_of_pem(pem: &[u8]) -> Option<Vec<CertificateDer<'static>>> {
    CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().ok()
}

impl Pin {
    /// The pin of a public key, as SubjectPublicKeyInfo in DER.
    pub fn of(public_key_info: &[u8]) -> Pin {
        Pin(Sha256::digest(public_key_info).into())
    }
}

impl FromStr for Pin {
    type Err = String;

    fn from_str(text: &str) -> Result<Pin, String> {
        let digest = text.strip_prefix("sha256//").and_then(|text| BASE64_STANDARD.decode(text).ok());
        let digest = digest.and_then(|digest| digest.try_into().ok());
        digest.map(Pin).ok_or_else(|| {
            format!(
                "`{text}` is no pin; write `sha256//` and the base64 of the public key's SHA-256, as for curl's \
                 --pinnedpubkey"
            )
        })
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256//{}", BASE64_STANDARD.encode(self.0))
    }
}
