//! The ticket of a rendezvous: a token that a part shows, and the digest of the key that the gatherer has to
//! have. Both are made for one run, and pass from the gatherer to the parts by a file, or by the environment.
//!
//! The gatherer's key is raw (RFC 7250): there is no certificate, no name and no authority. A part that meets
//! another key than that of its ticket ends the connection before it sends anything.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::{default_provider, sign::any_ecdsa_type};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, ServerConfig, SignatureScheme};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Bytes of a token.
const TOKEN: usize = 16;
/// Bytes of a digest of a key.
const DIGEST: usize = 32;
/// The longest text of a ticket or a key: several times what either takes.
pub const TEXT_MAX: usize = 2_048;
const TICKET: &str = "farfield-ticket-1";
const KEY: &str = "farfield-key-1";

/// Text that is no ticket, or no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TicketError {
    /// The text is no ticket.
    #[error("this is no ticket of a rendezvous; `farfield gather` prints one, which begins with {TICKET}")]
    Ticket,
    /// The text is no key.
    #[error("this is no key of a rendezvous; `farfield cluster manifest` makes one, which begins with {KEY}")]
    Key,
}

/// The words by which a part knows its gatherer and is known to it.
#[derive(Clone, PartialEq, Eq)]
pub struct Ticket {
    token: [u8; TOKEN],
    digest: [u8; DIGEST],
}

/// The gatherer's key, with the token of its parts.
pub struct GatherKey {
    token: [u8; TOKEN],
    pkcs8: Vec<u8>,
    signing: Arc<CertifiedKey>,
}

impl GatherKey {
    /// A new key, of P-256.
    ///
    /// # Panics
    /// If the machine has no random numbers.
    pub fn generate() -> GatherKey {
        let mut token = [0; TOKEN];
        rand::fill(&mut token).expect("the system has random numbers");
        let random = rand::SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random);
        let pkcs8 = pkcs8.expect("the system has random numbers").as_ref().to_vec();
        GatherKey::of(token, pkcs8).expect("a key that was just made")
    }

    fn of(token: [u8; TOKEN], pkcs8: Vec<u8>) -> Option<GatherKey> {
        let der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(pkcs8.clone()));
        let key = any_ecdsa_type(&der).ok()?;
        let public = CertificateDer::from(key.public_key()?.as_ref().to_vec());
        Some(GatherKey { token, pkcs8, signing: Arc::new(CertifiedKey::new(vec![public], key)) })
    }

    /// The ticket of its parts.
    pub fn ticket(&self) -> Ticket {
        let public = &self.signing.cert[0];
        let digest = digest(&SHA256, public).as_ref().try_into().expect("SHA-256 has 32 bytes");
        Ticket { token: self.token, digest }
    }

    /// The key as text, which is a secret.
    pub fn to_text(&self) -> String {
        format!("{KEY}-{}-{}", hex(&self.token), hex(&self.pkcs8))
    }

    /// The gatherer's end of TLS.
    pub(super) fn server(&self) -> Arc<ServerConfig> {
        let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
        let builder = builder.with_protocol_versions(&[&TLS13]).expect("it has TLS 1.3");
        let keys = AlwaysResolvesServerRawPublicKeys::new(Arc::clone(&self.signing));
        let mut config = builder.with_no_client_auth().with_cert_resolver(Arc::new(keys));
        // A part connects once.
        config.send_tls13_tickets = 0;
        Arc::new(config)
    }

    /// True if `shown` is the token, in a time that does not depend on it.
    pub(super) fn admits(&self, shown: &str) -> bool {
        aws_lc_rs::constant_time::verify_slices_are_equal(hex(&self.token).as_bytes(), shown.as_bytes())
            .is_ok()
    }
}

impl fmt::Debug for GatherKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GatherKey")
    }
}

impl FromStr for GatherKey {
    type Err = TicketError;

    fn from_str(text: &str) -> Result<GatherKey, TicketError> {
        let words = words(text, KEY)
            .and_then(|(token, key)| GatherKey::of(bytes(token)?.try_into().ok()?, bytes(key)?));
        words.ok_or(TicketError::Key)
    }
}

impl Ticket {
    /// The token, as a part shows it.
    pub(super) fn token(&self) -> String {
        hex(&self.token)
    }

    /// A part's end of TLS, which takes the ticket's key and no other.
    pub(super) fn client(&self) -> Arc<ClientConfig> {
        let provider = default_provider();
        let pinned =
            PinnedKeyVerifier { digest: self.digest, algorithms: provider.signature_verification_algorithms };
        let builder = ClientConfig::builder_with_provider(Arc::new(provider));
        let builder = builder.with_protocol_versions(&[&TLS13]).expect("it has TLS 1.3");
        let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(pinned));
        Arc::new(builder.with_no_client_auth())
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{TICKET}-{}-{}", hex(&self.token), hex(&self.digest))
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ticket")
    }
}

impl FromStr for Ticket {
    type Err = TicketError;

    fn from_str(text: &str) -> Result<Ticket, TicketError> {
        let read = words(text, TICKET).and_then(|(token, digest)| {
            Some(Ticket { token: bytes(token)?.try_into().ok()?, digest: bytes(digest)?.try_into().ok()? })
        });
        read.ok_or(TicketError::Ticket)
    }
}

/// The two words after `kind`.
fn words<'a>(text: &'a str, kind: &str) -> Option<(&'a str, &'a str)> {
    let text = Some(text.trim()).filter(|text| text.len() <= TEXT_MAX)?;
    text.strip_prefix(kind)?.strip_prefix('-')?.split_once('-')
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(pair, 16).ok()
    });
    pairs.collect()
}

/// Takes one raw key, by its digest.
#[derive(Debug)]
struct PinnedKeyVerifier {
    digest: [u8; DIGEST],
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for PinnedKeyVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match digest(&SHA256, end_entity).as_ref() == self.digest {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("a rendezvous is over TLS 1.3".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature_with_raw_key(message, &cert.as_ref().into(), dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_and_keys_are_read_as_they_are_written() {
        let key = GatherKey::generate();
        let read: GatherKey = key.to_text().parse().expect("its own text");
        assert_eq!(read.ticket(), key.ticket());
        let ticket = key.ticket();
        assert_eq!(format!(" {ticket}\n").parse(), Ok(ticket.clone()));
        assert!(
            key.admits(&ticket.token())
                && !key.admits("")
                && !key.admits(&GatherKey::generate().ticket().token())
        );
        let long = "a".repeat(TEXT_MAX + 1);
        for wrong in [
            "",
            "farfield-ticket-1",
            "farfield-ticket-1-0a-0b",
            &key.to_text(),
            &long,
            "farfield-ticket-1-é-é",
        ] {
            assert_eq!(wrong.parse::<Ticket>(), Err(TicketError::Ticket), "{wrong}");
        }
        assert!(ticket.to_string().parse::<GatherKey>().is_err());
        assert!(!format!("{ticket:?} {key:?}").contains(&ticket.token()), "secrets do not get into messages");
    }
}
