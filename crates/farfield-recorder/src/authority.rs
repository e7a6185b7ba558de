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
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};

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
        // Before anything is written of them: a certificate's names are ASCII.
        for host in &hosts {
            ServerName::try_from(*host).map_err(|error| failed(host, &error))?;
        }
        let wrong = |error: rcgen::Error| failed(first, &error);
        let key = KeyPair::generate().map_err(wrong)?;
        let public_key_info = key.subject_public_key_info();
        let params = params_of_authority(&hosts, now);
        let certificate = params.self_signed(&key).map_err(wrong)?;
        let issuer = Issuer::new(params, key);
        let server_key = KeyPair::generate().map_err(wrong)?;
        let mut acceptors = BTreeMap::new();
        for host in hosts {
            let own = params_of_server(host, now).and_then(|params| params.signed_by(&server_key, &issuer));
            let own = own.map_err(|error| failed(host, &error))?;
            let acceptor = acceptor(&own, &certificate, &server_key).map_err(|error| failed(host, &error))?;
            acceptors.insert(host.to_owned(), acceptor);
        }
        Ok(Some(CertificateAuthority { certificate, public_key_info, acceptors }))
    }

    /// The authority's certificate, in PEM (RFC 7468).
    pub fn certificate_pem(&self) -> String {
        self.certificate.pem()
    }

    /// The authority's public key, as SubjectPublicKeyInfo in DER.
    pub fn public_key_info(&self) -> &[u8] {
        &self.public_key_info
    }

    /// The end of TLS for a host; none for one that it was not made for.
    pub(crate) fn acceptor(&self, host: &str) -> Option<&TlsAcceptor> {
        self.acceptors.get(host)
    }
}

/// The end of TLS with a certificate. The authority's own is sent along: browsers that are to accept its key
/// look for it.
fn acceptor(
    own: &Certificate,
    authority: &Certificate,
    key: &KeyPair,
) -> Result<TlsAcceptor, tokio_rustls::rustls::Error> {
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let chain = vec![own.der().clone(), authority.der().clone()];
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![HTTP2.to_vec(), HTTP11.to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_rustls::rustls::RootCertStore;
    use tokio_rustls::rustls::client::WebPkiServerVerifier;
    use tokio_rustls::rustls::client::danger::ServerCertVerifier;
    use tokio_rustls::rustls::pki_types::UnixTime;

    /// A date on which certificates of these tests are made.
    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
    }

    /// True if whoever trusts an authority for `hosts` takes a certificate that it has signed for `name`, so
    /// long after it was made.
    fn is_taken(hosts: &[&str], name: &'static str, later: Duration) -> bool {
        let (key, server_key) = (KeyPair::generate().expect("a key"), KeyPair::generate().expect("a key"));
        let params = params_of_authority(hosts, now());
        let authority = params.self_signed(&key).expect("a certificate");
        let issuer = Issuer::new(params, key);
        let own = params_of_server(name, now()).expect("a name").signed_by(&server_key, &issuer);
        let mut roots = RootCertStore::empty();
        roots.add(authority.der().clone()).expect("a root");
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), provider).build();
        let server = ServerName::try_from(name).expect("a name");
        let at = UnixTime::since_unix_epoch(Duration::from_secs(1_800_000_000) + later);
        let own = own.expect("a certificate");
        verifier.expect("a root").verify_server_cert(own.der(), &[], &server, &[], at).is_ok()
    }

    /// Names of the other kind are refused too, as none is permitted.
    #[test]
    fn an_authority_signs_for_its_hosts_alone() {
        let (names, addresses) = (["shop.example", "api.example"], ["192.0.2.1", "2001:db8::1"]);
        let both = [names, addresses].concat();
        for (hosts, name, expected) in [
            (&names[..], "shop.example", true),
            (&names, "api.example", true),
            (&names, "evil.example", false),
            (&names, "192.0.2.1", false),
            (&names, "2001:db8::1", false),
            (&addresses, "192.0.2.1", true),
            (&addresses, "2001:db8::1", true),
            (&addresses, "192.0.2.2", false),
            (&addresses, "shop.example", false),
            (&both, "shop.example", true),
            (&both, "2001:db8::1", true),
            (&both, "evil.example", false),
            (&both, "2001:db8::2", false),
        ] {
            assert_eq!(is_taken(hosts, name, Duration::ZERO), expected, "{hosts:?} for {name}");
        }
        assert!(!is_taken(&names, "shop.example", VALID_AFTER * 2), "a certificate of last week");
    }

    #[test]
    fn servers_in_clear_need_no_authority() {
        let origin = |is_secure, host: &str| WebOrigin::new(is_secure, host, 443);
        assert!(CertificateAuthority::of(&[origin(false, "a")], now()).expect("none").is_none());
        let made =
            CertificateAuthority::of(&[origin(true, "a"), origin(true, "a"), origin(false, "b")], now());
        let made = made.expect("a name").expect("an authority");
        assert!(made.acceptor("a").is_some() && made.acceptor("b").is_none());
        let error = CertificateAuthority::of(&[origin(true, "a\u{e4}")], now()).expect_err("no name");
        assert!(error.to_string().contains("no certificate can be made for a\u{e4}"), "{error}");
    }
}
