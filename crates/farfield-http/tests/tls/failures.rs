//! Servers that are no servers of TLS, or broken ones: each gets its name, and none a panic.

use crate::scene::{Scene, Server};
use farfield_base::Outcome;
use farfield_http::tls::{Alpn, TlsFailure, Version, answers_plaintext};

/// What a client makes of these bytes as the answer to its first message.
fn answered(bytes: &[u8]) -> Result<(), TlsFailure> {
    Scene::default().begin().receive(bytes)
}

#[test]
fn what_is_no_tls_is_recognized() {
    for text in ["HTTP/1.1 400 Bad Request\r\n\r\n", "<html>", "220 mail", "SSH-2.0-x", "\0"] {
        assert_eq!(answered(text.as_bytes()), Err(TlsFailure::NotTls), "{text:?}");
        assert_eq!(answered(&text.as_bytes()[..1]), Err(TlsFailure::NotTls), "{text:?}, its first byte");
    }
}

/// Fatal alerts in the clear, by their numbers (RFC 8446 section 6).
#[test]
fn alerts_have_names() {
    for (number, expected) in [
        (40, TlsFailure::Incompatible),
        (70, TlsFailure::Incompatible),
        (71, TlsFailure::Incompatible),
        (120, TlsFailure::AlpnRefused),
        (42, TlsFailure::CertificateRefused),
        (48, TlsFailure::CertificateRefused),
        (116, TlsFailure::CertificateRefused),
        (80, TlsFailure::Alert),
        (112, TlsFailure::Alert),
        (255, TlsFailure::Alert),
    ] {
        assert_eq!(answered(&[21, 3, 3, 0, 2, 2, number]), Err(expected), "alert {number}");
    }
}

#[test]
fn records_that_say_nothing_are_malformed() {
    for record in [
        &[22, 3, 3, 0, 4, 9, 0, 0, 0][..],
        &[22, 3, 3, 0xff, 0xff, 2],
        &[23, 3, 3, 0, 3, 1, 2, 3],
        &[22, 3, 3, 0, 4, 2, 0, 0, 0],
        &[20, 3, 3, 0, 1, 7],
    ] {
        assert_eq!(answered(record), Err(TlsFailure::BadRecord), "{record:?}");
    }
}

#[test]
fn a_server_without_our_protocol_or_version_is_named() {
    let mut server = Server::default();
    server.config_mut().alpn_protocols = vec![b"h2".to_vec()];
    let refused = Scene { server, ..Scene::default() }.begin().shake_hands();
    assert_eq!(refused, Err(TlsFailure::AlpnRefused));
    // A server that does not know ALPN is one of HTTP/1.1.
    let mut server = Server::default();
    server.config_mut().alpn_protocols.clear();
    assert_eq!(Scene { server, ..Scene::default() }.begin().shake_hands(), Ok(()));
    for (protocols, expected) in [
        (vec![b"h2".to_vec(), b"http/1.1".to_vec()], Ok(())),
        (vec![b"http/1.1".to_vec()], Err(TlsFailure::AlpnRefused)),
        // One that does not know ALPN does not speak HTTP/2.
        (vec![], Err(TlsFailure::AlpnRefused)),
    ] {
        let mut server = Server::default();
        server.config_mut().alpn_protocols = protocols;
        let scene = Scene { server, alpn: Alpn::Http2, ..Scene::default() };
        assert_eq!(scene.begin().shake_hands(), expected);
    }
    for (ours, theirs) in [(Version::Tls12, Version::Tls13), (Version::Tls13, Version::Tls12)] {
        let scene = Scene { server: Server::speaking(theirs), versions: vec![ours], ..Scene::default() };
        assert_eq!(scene.begin().shake_hands(), Err(TlsFailure::Incompatible), "{ours:?} to {theirs:?}");
    }
}

/// One byte of a record is changed, each in turn: nothing but the very plaintext ever comes out.
#[test]
fn a_changed_record_is_found_out() {
    let sealed = |ends: &mut crate::scene::Ends| {
        assert_eq!(ends.shake_hands(), Ok(()));
        ends.exchange().expect("a sound session");
        ends.server_says(b"reply");
        ends.take_from_server()
    };
    for version in [Version::Tls12, Version::Tls13] {
        let scene = Scene { versions: vec![version], ..Scene::default() };
        let length = sealed(&mut scene.begin()).len();
        for place in 0..length {
            let mut ends = scene.begin();
            let mut record = sealed(&mut ends);
            record[place] ^= 0x20;
            let received = ends.receive(&record);
            let waits = received.is_ok() && !ends.client.may_end();
            // The version in a record's header is not looked at behind its first byte.
            let ignored = place == 2 && ends.heard == b"reply";
            assert!(received == Err(TlsFailure::BadRecord) || waits || ignored, "{version:?}, byte {place}");
            assert!(ends.heard.is_empty() || ignored, "{version:?}, byte {place}: {:?}", ends.heard);
        }
    }
}

/// One byte of the server's first answer is changed, each in turn: no session comes of it but where the byte
/// has no meaning.
#[test]
fn a_changed_handshake_does_not_panic() {
    let scene = Scene::default();
    let length = scene.begin().first_answer().len();
    let mut secured = 0;
    for place in 0..length {
        let mut ends = scene.begin();
        let mut answer = ends.first_answer();
        // Another handshake may be a few bytes shorter.
        let place = place.min(answer.len() - 1);
        answer[place] ^= 0x40;
        let received = ends.receive(&answer);
        secured += usize::from(received.is_ok() && ends.client.is_secured());
    }
    assert!(secured <= 5 * 2, "{secured} of {length} changes went unseen");
}

#[test]
fn tls_on_a_plain_connection_is_recognized() {
    for answer in [&[21][..], &[22], &[21, 3, 3, 0, 2, 2, 10], &[22, 3, 1], b"\x15HTTP"] {
        assert!(answers_plaintext(answer));
    }
    for answer in [&b""[..], b"H", b"\n", b"\x14\x03\x03"] {
        assert!(!answers_plaintext(answer));
    }
}

/// Each failure is an outcome of its own, which says that it is of TLS.
#[test]
fn failures_are_outcomes() {
    use TlsFailure::*;
    let all =
        [Untrusted, NameMismatch, AlpnRefused, CertificateRefused, Incompatible, Alert, NotTls, BadRecord];
    let outcomes: std::collections::BTreeSet<Outcome> = all.map(TlsFailure::outcome).into_iter().collect();
    assert_eq!(outcomes.len(), all.len());
    assert!(outcomes.iter().all(|outcome| outcome.is_of_tls()));
    assert!(!Outcome::BadCoding.is_of_tls() && Outcome::TlsExpected.is_of_tls());
}
