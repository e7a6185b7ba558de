//! The origin's certificate: one from files, or one made when it starts, with a key of its own that nobody
//! has signed.

use crate::config::{EARLY_SESSIONS, OriginConfig};
use crate::origin::OriginError;
use farfield_files::input::KEY_MAX;
use quinn::crypto::rustls::QuicServerConfig;
use rcgen::CertifiedKey;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::{ProducesTickets, ServerSessionMemoryCache};

/// Names that a certificate of its own making is for.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// HTTP/2's name in ALPN (RFC 9113 section 3.2).
pub(crate) const HTTP2: &[u8] = b"h2";

/// HTTP/3's name in ALPN (RFC 9114, 3.1).
const HTTP3: &[u8] = b"h3";

/// A certificate, and what serves with it.
pub(crate) struct ServerCertificate {
    pub acceptor: TlsAcceptor,
    /// Configuration of a server over QUIC with it.
    pub quic: quinn::ServerConfig,
    /// SubjectPublicKeyInfo in DER.
    pub public_key_info: Vec<u8>,
}

/// Certificates, the server's first, and its private key.
type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

impl fmt::Debug for ServerCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerCertificate").finish_non_exhaustive()
    }
}

impl ServerCertificate {
    /// TLS as configured, if it is: 1.2 and 1.3 with tickets, HTTP/2 before HTTP/1.1.
    ///
    /// # Errors
    /// [`OriginError::Certificate`] if files cannot be read, or do not belong together.
    pub fn of(config: &OriginConfig) -> Result<Option<ServerCertificate>, OriginError> {
        let identity = match (&config.certificate, &config.key) {
            (Some(certificate), key) => read(certificate, key.as_deref().unwrap_or(certificate))?,
            (None, Some(_)) => {
                return Err(failed(&"serve with a key alone: name its certificate, too (--cert)"));
            }
            (None, None) if config.tls => make()?,
            (None, None) => return Ok(None),
        };
        serve(identity, config.early_data).map(Some)
    }
}

/// No tickets that hold sessions.
#[derive(Debug)]
struct NoTickets;

impl ProducesTickets for NoTickets {
    fn enabled(&self) -> bool {
        false
    }

    fn lifetime(&self) -> u32 {
        0
    }

    fn encrypt(&self, _plain: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn decrypt(&self, _cipher: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

fn failed(error: &dyn fmt::Display) -> OriginError {
    OriginError::Certificate(error.to_string())
}

/// A new key (ECDSA, P-256) and a certificate for it.
fn make() -> Result<Identity, OriginError> {
    let names = NAMES.map(str::to_owned).to_vec();
    let made = rcgen::generate_simple_self_signed(names);
    let CertifiedKey { cert, signing_key } =
        made.map_err(|error| failed(&format_args!("make a certificate: {error}")))?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    Ok((vec![cert.der().clone()], key))
}

/// The certificates of one file and the first key of another, or the same.
fn read(certificate: &Path, key: &Path) -> Result<Identity, OriginError> {
    let bytes = |path: &Path| {
        farfield_files::read(path, KEY_MAX)
            .map_err(|error| failed(&format_args!("read {}: {error}", path.display())))
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes(certificate)?).collect();
    let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or_else(|| {
        failed(&format_args!("serve with {}: it has no certificate in PEM", certificate.display()))
    })?;
    let key = PrivateKeyDer::from_pem_slice(&bytes(key)?).map_err(|_| {
        failed(&format_args!(
            "serve with {}: it has no private key in PEM (--key names its file)",
            key.display()
        ))
    })?;
    Ok((chain, key))
}

fn serve((chain, key): Identity, early_data: bool) -> Result<ServerCertificate, OriginError> {
    let wrong = |error: &dyn fmt::Display| failed(&format_args!("serve with the certificate: {error}"));
    let provider = Arc::new(aws_lc_rs::default_provider());
    let signing = provider.key_provider.load_private_key(key.clone_key()).map_err(|error| wrong(&error))?;
    let public_key_info = signing.public_key().map(|info| info.to_vec()).unwrap_or_default();
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| wrong(&error))?;
    config.ticketer = aws_lc_rs::Ticketer::new().map_err(|error| wrong(&error))?;
    config.alpn_protocols = vec![HTTP2.to_vec(), b"http/1.1".to_vec()];
    let mut in_quic = config.clone();
    in_quic.alpn_protocols = vec![HTTP3.to_vec()];
    if early_data {
        // The library takes early data of sessions that it keeps, each once, and QUIC knows no other amount.
        in_quic.max_early_data_size = u32::MAX;
        in_quic.ticketer = Arc::new(NoTickets);
        in_quic.session_storage = ServerSessionMemoryCache::new(EARLY_SESSIONS);
    }
    let in_quic = QuicServerConfig::try_from(in_quic).map_err(|error| wrong(&error))?;
    let quic = quinn::ServerConfig::with_crypto(Arc::new(in_quic));
    Ok(ServerCertificate { acceptor: TlsAcceptor::from(Arc::new(config)), quic, public_key_info })
}
