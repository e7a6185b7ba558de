//! A witness of verification, for sessions inside QUIC: its library says of a certificate that was refused no
//! more than an alert, and of a session that was resumed nothing.

use crate::tls::{TlsFailure, failure};
use farfield_base::Detail;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use std::sync::{Arc, Mutex, PoisonError};

/// The verdict on the certificate of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum CertificateVerdict {
    /// None came, as where an earlier session is resumed (RFC 8446 section 2.2).
    #[default]
    NotSeen,
    /// The certificate was accepted.
    Accepted,
    /// The certificate was refused, with what more is known of why.
    Refused(TlsFailure, Box<Detail>),
}

/// A verifier that remembers what it said last.
#[derive(Debug)]
pub(crate) struct Witness {
    verifier: Arc<dyn ServerCertVerifier>,
    last: Mutex<CertificateVerdict>,
}

impl Witness {
    pub(super) fn of(verifier: Arc<dyn ServerCertVerifier>) -> Witness {
        Witness { verifier, last: Mutex::default() }
    }

    /// The last verdict since this was last asked.
    pub(crate) fn take(&self) -> CertificateVerdict {
        std::mem::take(&mut *self.last.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note<T>(&self, said: Result<T, Error>) -> Result<T, Error> {
        let verified = match &said {
            Ok(_) => CertificateVerdict::Accepted,
            Err(error) => {
                CertificateVerdict::Refused(TlsFailure::of(error), Box::new(failure::detail_of(error)))
            }
        };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = verified;
        said
    }
}

impl ServerCertVerifier for Witness {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.note(self.verifier.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        ))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.note(self.verifier.verify_tls12_signature(message, certificate, signature))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.note(self.verifier.verify_tls13_signature(message, certificate, signature))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        self.verifier.requires_raw_public_keys()
    }

    fn root_hint_subjects(&self) -> Option<&[DistinguishedName]> {
        self.verifier.root_hint_subjects()
    }
}
