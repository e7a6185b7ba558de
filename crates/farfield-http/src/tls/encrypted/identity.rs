//! Client certificates: who users say they are, all the same or each its own.

use super::tickets::Tickets;
use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::ParsedCertificate;
use rustls::sign::{CertifiedKey, SigningKey};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Certificates with their keys: user number n has the one of number n modulo their count.
#[derive(Debug, Clone)]
pub struct Identities(Arc<[Arc<CertifiedKey>]>);

/// Why users cannot have these certificates. Numbers begin at 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// The file of certificates has none, or one that cannot be read.
    #[error("the file has no certificate in PEM (`-----BEGIN CERTIFICATE-----`), or one that cannot be read")]
    Certificates,
    /// The file of keys has none, or one that cannot be read.
    #[error(
        "the file has no private key in PEM (`-----BEGIN PRIVATE KEY-----`), or one that cannot be read; an encrypted key \
         must be decrypted before"
    )]
    Keys,
    /// A key is of a kind that the cryptography does not have.
    #[error("private key {0} cannot sign: {1}")]
    Unusable(usize, String),
    /// The first certificate is not of the first key.
    #[error("the first certificate is not of the first private key in the file of tls.key")]
    NotOfKey,
    /// A key has no certificate behind those of the key before.
    #[error(
        "private key {0} has no certificate here: each certificate, with its chain behind it, must be in the order of the \
         keys in the file of tls.key"
    )]
    KeyWithoutCertificate(usize),
}

impl IdentityError {
    /// True if the file of keys is at fault, and not that of certificates.
    pub fn is_of_keys(&self) -> bool {
        matches!(self, IdentityError::Keys | IdentityError::Unusable(..))
    }
}

impl Identities {
    /// Reads PEM files (RFC 7468): keys in order, and for each its certificate, with the rest of its chain
    /// behind it.
    ///
    /// # Errors
    /// If a certificate or a key cannot be used, or they do not belong together.
    pub fn of_pem(
        certificates: &[u8],
        keys: &[u8],
        provider: &CryptoProvider,
    ) -> Result<Identities, IdentityError> {
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates).collect();
        let certificates =
            certificates.ok().filter(|all| !all.is_empty()).ok_or(IdentityError::Certificates)?;
        let keys: Result<Vec<_>, _> = PrivateKeyDer::pem_slice_iter(keys).collect();
        let keys = keys.ok().filter(|all| !all.is_empty()).ok_or(IdentityError::Keys)?;
        let signing = keys.into_iter().enumerate().map(|(before, key)| {
            let signing = provider.key_provider.load_private_key(key);
            signing.map_err(|error| IdentityError::Unusable(before + 1, error.to_string()))
        });
        let mut signing = signing.collect::<Result<Vec<_>, _>>()?.into_iter().peekable();
        let mut found: Vec<CertifiedKey> = Vec::new();
        for certificate in certificates {
            let parsed =
                ParsedCertificate::try_from(&certificate).map_err(|_| IdentityError::Certificates)?;
            if let Some(key) = signing.next_if(|key| is_of(&parsed, key.as_ref())) {
                found.push(CertifiedKey::new(vec![certificate], key));
            } else {
                found.last_mut().ok_or(IdentityError::NotOfKey)?.cert.push(certificate);
            }
        }
        match signing.next() {
            Some(_) => Err(IdentityError::KeyWithoutCertificate(found.len() + 1)),
            None => Ok(Identities(found.into_iter().map(Arc::new).collect())),
        }
    }

    /// The number of users that have certificates of their own.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Answers servers that ask for the certificate of the user whose session is at work.
    pub(super) fn resolver(&self, tickets: Arc<Tickets>) -> Arc<dyn ResolvesClientCert> {
        Arc::new(OfActingUser { identities: self.clone(), tickets })
    }
}

fn is_of(certificate: &ParsedCertificate<'_>, key: &dyn SigningKey) -> bool {
    key.public_key().is_some_and(|public| public == certificate.subject_public_key_info())
}

/// Notes that a server asks for a certificate, and answers it with one of `own`, or with none.
#[derive(Debug)]
pub(super) struct CertificateRequests {
    own: Option<Arc<dyn ResolvesClientCert>>,
    /// A server has asked since this was last taken.
    asked: AtomicBool,
}

impl CertificateRequests {
    pub(super) fn of(own: Option<Arc<dyn ResolvesClientCert>>) -> CertificateRequests {
        CertificateRequests { own, asked: AtomicBool::new(false) }
    }

    /// True if the session at work was asked since this was last called.
    pub(super) fn take(&self) -> bool {
        self.asked.swap(false, Ordering::Relaxed)
    }
}

impl ResolvesClientCert for CertificateRequests {
    fn resolve(&self, hints: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.asked.store(true, Ordering::Relaxed);
        self.own.as_ref()?.resolve(hints, schemes)
    }

    fn has_certs(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.has_certs())
    }
}

#[derive(Debug)]
struct OfActingUser {
    identities: Identities,
    /// Knows who is at work.
    tickets: Arc<Tickets>,
}

impl ResolvesClientCert for OfActingUser {
    /// Whatever issuers the server names: a client that withheld its certificate would be refused as well,
    /// and less plainly.
    fn resolve(
        &self,
        _root_hint_subjects: &[&[u8]],
        _schemes: &[SignatureScheme],
    ) -> Option<Arc<CertifiedKey>> {
        let own = self.tickets.acting() as usize % self.identities.count();
        Some(Arc::clone(&self.identities.0[own]))
    }

    fn has_certs(&self) -> bool {
        true
    }
}
