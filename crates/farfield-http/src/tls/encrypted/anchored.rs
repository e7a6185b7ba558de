//! Verification by roots, of which one may be the server's own certificate: `openssl req -x509` makes
//! certificates that are marked as a CA's, and whoever names one as trusted means the server that has it, as
//! curl and browsers do. The library takes a CA's certificate for no server's (RFC 5280 section 4.2.1.9).

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct AnchoredVerifier {
    pub roots: Arc<WebPkiServerVerifier>,
    /// The roots as they were given.
    pub given: Vec<CertificateDer<'static>>,
}

impl AnchoredVerifier {
    /// True if the only fault of `certificate`, which is one of the roots itself, is that it is a CA's. The
    /// library looks at its dates before that.
    fn is_own(&self, certificate: &CertificateDer<'_>, error: &Error) -> bool {
        let is_of_ca = match error {
            Error::InvalidCertificate(CertificateError::Other(other)) => {
                other.0.to_string() == "CaUsedAsEndEntity"
            }
            _ => false,
        };
        is_of_ca && self.given.iter().any(|root| root == certificate)
    }
}

impl ServerCertVerifier for AnchoredVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified =
            self.roots.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            Err(error) if self.is_own(end_entity, &error) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.roots.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.roots.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.roots.supported_verify_schemes()
    }

    fn root_hint_subjects(&self) -> Option<&[DistinguishedName]> {
        self.roots.root_hint_subjects()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
    use rustls::RootCertStore;
    use rustls::crypto::aws_lc_rs;
    use std::time::Duration;

    /// A certificate that signs itself, marked as a CA's, as `openssl req -x509` makes it.
    fn self_signed(name: &str) -> CertificateDer<'static> {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        (params.not_before, params.not_after) =
            (rcgen::date_time_ymd(2020, 1, 1), rcgen::date_time_ymd(2030, 1, 1));
        CertificateDer::from(params.self_signed(&KeyPair::generate().unwrap()).unwrap())
    }

    fn verified(
        given: &[&CertificateDer<'static>],
        certificate: &CertificateDer<'static>,
        name: &str,
        unix_s: u64,
    ) -> Result<(), Error> {
        let given: Vec<_> = given.iter().map(|root| (*root).clone()).collect();
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(given.clone());
        let provider = Arc::new(aws_lc_rs::default_provider());
        let roots = WebPkiServerVerifier::builder_with_provider(roots.into(), provider).build().unwrap();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(unix_s));
        AnchoredVerifier { roots, given }
            .verify_server_cert(certificate, &[], &ServerName::try_from(name).unwrap().to_owned(), &[], now)
            .map(|_| ())
    }

    #[test]
    fn a_root_may_be_the_servers_own_certificate() {
        const IN_2026: u64 = 1_774_744_200;
        let (own, other) = (self_signed("shop.test"), self_signed("shop.test"));
        assert_eq!(verified(&[&other, &own], &own, "shop.test", IN_2026), Ok(()));
        // Of another name, out of its time, or nobody's root.
        assert!(verified(&[&own], &own, "other.test", IN_2026).is_err());
        assert!(verified(&[&own], &own, "shop.test", IN_2026 + 400_000_000).is_err());
        assert!(verified(&[&other], &own, "shop.test", IN_2026).is_err());
    }
}
