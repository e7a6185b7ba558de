//! Client certificates: which user shows which, and what a server that wants another says.

use crate::scene::{Authority, Identity, Scene, Server};
use farfield_base::Outcome;
use farfield_http::tls::TlsFailure::CertificateRefused;
use farfield_http::tls::{Identities, IdentityError, Version};
use rustls::crypto::aws_lc_rs;

fn read(certificates: &str, keys: &str) -> Result<Identities, IdentityError> {
    Identities::of_pem(certificates.as_bytes(), keys.as_bytes(), &aws_lc_rs::default_provider())
}

fn of(identities: &[&Identity]) -> Identities {
    let pem = |part: fn(&Identity) -> &str| identities.iter().map(|one| part(one)).collect::<String>();
    read(&pem(|one| &one.certificate), &pem(|one| &one.key)).expect("certificates and their keys")
}

/// User n has the certificate of number n modulo their count, in full handshakes and in those that resume.
#[test]
fn each_user_shows_its_own_certificate() {
    let authority = Authority::new();
    let [one, two] = [authority.identify("one.test"), authority.identify("two.test")];
    for version in [Version::Tls12, Version::Tls13] {
        let mut server = Server::speaking(version);
        server.ask_for_certificates(&authority, version);
        let scene = Scene { server, identities: Some(of(&[&one, &two])), ..Scene::default() };
        let client = scene.client();
        for (user, shown) in [(0, &one), (1, &two), (2, &one), (0, &one), (1, &two)] {
            let mut ends = scene.begin_of(&client, user);
            assert_eq!(ends.shake_hands(), Ok(()), "{version:?}");
            ends.exchange().expect("a sound session");
            let seen = ends.server.peer_certificates().expect("a certificate");
            assert_eq!(seen, std::slice::from_ref(&shown.der), "{version:?}, user {user}");
        }
    }
}

/// A server that gets none, or a stranger's, refuses the session by name, in TLS 1.3 behind the handshake.
#[test]
fn a_server_refuses_certificates_by_name() {
    let (ours, strangers) = (Authority::new(), Authority::new());
    let stranger = strangers.identify("one.test");
    for version in [Version::Tls12, Version::Tls13] {
        for identities in [None, Some(of(&[&stranger]))] {
            let mut server = Server::speaking(version);
            server.ask_for_certificates(&ours, version);
            let mut ends = Scene { server, identities, ..Scene::default() }.begin();
            assert_eq!(ends.exchange(), Err(CertificateRefused), "{version:?}");
        }
    }
    assert_eq!(CertificateRefused.outcome(), Outcome::TlsCertificateRefused);
    assert!(Outcome::TlsCertificateRefused.is_of_tls());
}

/// A server that does not ask gets none.
#[test]
fn nobody_shows_a_certificate_unasked() {
    let own = Authority::new().identify("one.test");
    let mut ends = Scene { identities: Some(of(&[&own])), ..Scene::default() }.begin();
    assert_eq!(ends.shake_hands(), Ok(()));
    assert_eq!(ends.server.peer_certificates(), None);
}

#[test]
fn files_that_do_not_fit_are_refused() {
    let authority = Authority::new();
    let [one, two] = [authority.identify("one.test"), authority.identify("two.test")];
    let both = format!("{}{}", one.certificate, two.certificate);
    let keys = format!("{}{}", one.key, two.key);
    let refused = |certificates: &str, keys: &str| read(certificates, keys).expect_err("a mistake");
    // The second certificate is taken for the first's chain where there is one key.
    assert_eq!(read(&both, &one.key).expect("a chain").count(), 1);
    assert_eq!(read(&both, &keys).expect("two").count(), 2);
    assert_eq!(refused("", &keys), IdentityError::Certificates);
    assert_eq!(refused(&both, ""), IdentityError::Keys);
    assert_eq!(refused(&both, &two.key), IdentityError::NotOfKey);
    assert_eq!(refused(&one.certificate, &keys), IdentityError::KeyWithoutCertificate(2));
    assert_eq!(refused(&format!("{}{}", two.certificate, one.certificate), &keys), IdentityError::NotOfKey);
    let cut = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert_eq!(refused(cut, &keys), IdentityError::Certificates);
    assert!(refused(&both, "").is_of_keys() && !refused("", &keys).is_of_keys());
}
