//! The certificate authority of one recording, and the certificates that it signs for the servers that are
//! recorded.
//!
//! Its key is in memory alone and is gone with the recording; its certificate says that it signs for the
//! recorded hosts and no others (name constraints, RFC 5280 section 4.2.1.10), for a week. So whoever trusts
//! it, and forgets that, has not lost much.

use crate::web_origin::WebOrigin;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CidrSubnet, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, GeneralSubtree, IsCa, Issuer, KeyPair, KeyUsagePurpose, NameConstraints,
    PublicKeyData,
};
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// Time for which certificates are valid before and after they are made: clocks of clients differ.
const VALID_BEFORE: Duration = Duration::from_secs(24 * 3_600);
const VALID_AFTER: Duration = Duration::from_secs(7 * 24 * 3_600);

/// The name of the authority, in its certificate.
const NAME: &str = "farfield record, for this recording alone";

/// Identifiers of HTTP/2 and HTTP/1.1 (RFC 7301), in order of preference.
pub(crate) const HTTP2: &[u8] = b"h2";
pub(crate) const HTTP11: &[u8] = b"http/1.1";

/// Certificate authority of a recording.
pub struct CertificateAuthority {
    certificate: Certificate,
    public_key_info: Vec<u8>,
    acceptors: BTreeMap<String, TlsAcceptor>,
}

impl fmt::Debug for CertificateAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<&String> = self.acceptors.keys().collect();
        f.debug_struct("CertificateAuthority").field("hosts", &hosts).finish_non_exhaustive()
    }
}

/// Why there is no authority: a name that no certificate can have, or a fault of the cryptography.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no certificate can be made for {host}: {reason}")]
pub struct AuthorityError {
    host: String,
    reason: String,
}

impl CertificateAuthority {
    /// An authority for the https servers among `origins`, made at the date `now`; none if there are none.
    ///
    /// # Errors
    /// [`AuthorityError`] for a host that is neither a DNS name nor an address.
    pub(crate) fn of(
        origins: &[WebOrigin],
        now: SystemTime,
    ) -> Result<Option<CertificateAuthority>, AuthorityError> {
        let mut hosts: Vec<&str> =
            origins.iter().filter(|origin| origin.is_secure).map(|origin| origin.host.as_str()).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let Some(first) = hosts.first() else { return Ok(None) };
        let failed = |host: &str, error: &dyn fmt::Display| AuthorityError {
            host: host.to_owned(),
            reason: error.to_string(),
        };
        let wrong = |error: rcgen::Error| failed(first, &error);
        let key = KeyPair::generate().map_err(wrong)?;
        let public_key_info = key.subject_public_key_info();
        let params = params_of_authority(&hosts, now);
        let certificate = params.self_signed(&key).map_err(wrong)?;
        let issuer = Issuer::new(params, key);
        let server_key = KeyPair::generate().map_err(wrong)?;
        let mut acceptors = BTreeMap::new();
        for host in hosts {
            let params = params_of_server(host, now).map_err(|error| failed(host, &error))?;
            let own = params.signed_by(&server_key, &issuer).map_err(|error| failed(host, &error))?;
            let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(server_key.serialize_der()));
            let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
                .with_safe_default_protocol_versions()
                .and_then(|config| {
                    // The authority's own is sent along: browsers that are to accept its key look for it.
                    let chain = vec![own.der().clone(), certificate.der().clone()];
                    config.with_no_client_auth().with_single_cert(chain, key)
                })
                .map_err(|error| failed(host, &error))?;
            config.alpn_protocols = vec![HTTP2.to_vec(), HTTP11.to_vec()];
            acceptors.insert(host.to_owned(), TlsAcceptor::from(Arc::new(config)));
        }
        Ok(Some(CertificateAuthority { certificate, public_key_info, acceptors }))
    }

    /// Its certificate, in PEM (RFC 7468).
    pub fn certificate_pem(&self) -> String {
        self.certificate.pem()
    }

    /// Its public key, as SubjectPublicKeyInfo in DER.
    pub fn public_key_info(&self) -> &[u8] {
        &self.public_key_info
    }

    /// The end of TLS for a host; none for one that it was not made for.
    pub(crate) fn acceptor(&self, host: &str) -> Option<&TlsAcceptor> {
        self.acceptors.get(host)
    }
}

fn params_of_authority(hosts: &[&str], now: SystemTime) -> CertificateParams {
    let mut params = named(CertificateParams::default(), NAME, now);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let subtree = |host: &&str| match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => GeneralSubtree::IpAddress(CidrSubnet::V4(address.octets(), [255; 4])),
        Ok(IpAddr::V6(address)) => GeneralSubtree::IpAddress(CidrSubnet::V6(address.octets(), [255; 16])),
        Err(_) => GeneralSubtree::DnsName((*host).to_owned()),
    };
    let permitted_subtrees = hosts.iter().map(subtree).collect();
    // A kind of name of which nothing is permitted would be free (RFC 5280 section 4.2.1.10).
    let is_address = |host: &&str| host.parse::<IpAddr>().is_ok();
    let excluded_subtrees = match (hosts.iter().any(is_address), hosts.iter().all(is_address)) {
        (false, _) => [CidrSubnet::V4([0; 4], [0; 4]), CidrSubnet::V6([0; 16], [0; 16])]
            .map(GeneralSubtree::IpAddress)
            .to_vec(),
        (_, true) => vec![GeneralSubtree::DnsName(String::new())],
        _ => Vec::new(),
    };
    params.name_constraints = Some(NameConstraints { permitted_subtrees, excluded_subtrees });
    params
}

fn params_of_server(host: &str, now: SystemTime) -> Result<CertificateParams, rcgen::Error> {
    let mut params = named(CertificateParams::new(vec![host.to_owned()])?, NAME, now);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.use_authority_key_identifier_extension = true;
    // A server's subject is another than its issuer's; the names that count are beside it.
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, NAME);
    Ok(params)
}

fn named(mut params: CertificateParams, name: &str, now: SystemTime) -> CertificateParams {
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = (now - VALID_BEFORE).into();
    params.not_after = (now + VALID_AFTER).into();
    params
}
