//! The origin's certificate, made when it starts: a key of its own that nobody has signed.

use crate::origin::OriginError;
use rcgen::{CertifiedKey, PublicKeyData};
use std::fmt;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// Names that the certificate is for.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// A certificate, and what serves with it.
pub(crate) struct Certified {
    pub acceptor: TlsAcceptor,
    /// SubjectPublicKeyInfo in DER.
    pub public_key_info: Vec<u8>,
}

impl fmt::Debug for Certified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certified").finish_non_exhaustive()
    }
}

impl Certified {
    /// A new key (ECDSA, P-256) and a certificate for it, served by TLS 1.2 and 1.3 with tickets.
    pub fn make() -> Result<Certified, OriginError> {
        let failed = |error: &dyn fmt::Display| OriginError::Certificate(error.to_string());
        let names = NAMES.map(str::to_owned).to_vec();
        let CertifiedKey { cert, signing_key } =
            rcgen::generate_simple_self_signed(names).map_err(|error| failed(&error))?;
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(vec![cert.der().clone()], key))
            .map_err(|error| failed(&error))?;
        config.ticketer = aws_lc_rs::Ticketer::new().map_err(|error| failed(&error))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let public_key_info = signing_key.subject_public_key_info();
        Ok(Certified { acceptor: TlsAcceptor::from(Arc::new(config)), public_key_info })
    }
}
