//! Servers that are no servers of TLS, or broken ones: each gets its name, and none a panic.

use crate::scene::{Authority, Scene, Server, VALID_FROM_UNIX_S, VALID_TO_UNIX_S};
use farfield_base::Outcome;
use farfield_http::tls::{Alpn, TlsFailure, Trust, Version, answers_plaintext};
use rustls::ContentType;
use std::ops::RangeInclusive;

/// The client's result for these bytes as the answer to its first message.
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

/// Updates of keys that want an answer, records of a byte, and warnings: each without end.
#[test]
fn floods_have_a_name() {
    let mut ends = Scene::default().begin();
    ends.shake_hands().expect("a sound server");
    let updates = (0..100).try_for_each(|_| {
        ends.server.refresh_traffic_keys().expect("a session of TLS 1.3");
        ends.server_says(b"");
        let bytes = ends.take_from_server();
        ends.receive(&bytes)
    });
    assert_eq!(updates, Err(TlsFailure::Flooded));
    assert_eq!(TlsFailure::Flooded.outcome(), Outcome::Flooded);
    // The answer is one message, whatever was asked.
    let mut sent = Vec::new();
    ends.client.take_to_send(&mut sent);
    assert!(sent.len() < 1000, "{} bytes", sent.len());

    // A message of the handshake, byte by byte, with an end that is far.
    let begun = [22, 3, 3, 0, 4, 2, 0, 0xf0, 0];
    let mut ends = Scene::default().begin();
    ends.receive(&begun).expect("the beginning of a message");
    let records = (0..20_000).try_for_each(|_| ends.receive(&[22, 3, 3, 0, 1, 0]));
    assert_eq!(records, Err(TlsFailure::Flooded));

    let mut ends = Scene { versions: vec![Version::Tls12], ..Scene::default() }.begin();
    let warnings = (0..100).try_for_each(|_| ends.receive(&[21, 3, 3, 0, 2, 1, 100]));
    assert_eq!(warnings, Err(TlsFailure::Flooded));
}

/// Records with no text in them and tickets without end, at a client that was served: RFC 8446 allows any
/// number of either. The library has a bound of its own for the former, between two records with text.
#[test]
fn empty_records_and_tickets_without_end_are_a_flood() {
    let ticket = |number: u32| {
        // NewSessionTicket (RFC 8446 section 4.6.1): lifetime, age_add, nonce, ticket, no extension.
        let nonce = number.to_be_bytes();
        let body = [&[0, 0, 14, 16, 0, 0, 0, 0, 4][..], &nonce, &[0, 4], &nonce, &[0, 0]].concat();
        [&[4, 0, 0, body.len() as u8][..], &body].concat()
    };
    type Flood<'a> = (ContentType, &'a dyn Fn(u32) -> Vec<u8>, RangeInclusive<u32>, &'a str);
    let without_text = "records without text come without end";
    let floods: [Flood<'_>; 2] = [
        (ContentType::ApplicationData, &|_| Vec::new(), 32..=32, ""),
        (ContentType::Handshake, &ticket, 950..=1_000, without_text),
    ];
    for (kind, payload, allowed, cause) in floods {
        let mut server = Server::default();
        server.config_mut().enable_secret_extraction = true;
        let mut ends = Scene { server, ..Scene::default() }.begin();
        ends.shake_hands().expect("a sound server");
        ends.server_says(b"served");
        let (mut sealer, served) = ends.take_over_server();
        ends.receive(&served).expect("text");
        let received = (0..20_000).try_fold(0, |count, number| {
            ends.receive(&sealer.seal(kind, &payload(number)))
                .map(|()| count + 1)
                .map_err(|error| (error, count))
        });
        let (failure, taken) = received.expect_err("a flood");
        assert_eq!(failure, TlsFailure::Flooded, "{kind:?}");
        assert!(allowed.contains(&taken), "{kind:?}: {taken} of them");
        let detail = ends.client.detail().expect("a detail").to_string();
        assert!(detail.contains(cause), "{kind:?}: {detail}");
        assert_eq!(ends.heard, b"served");
        // Beside text they go on: one for each record with a byte.
        let mut server = Server::default();
        server.config_mut().enable_secret_extraction = true;
        let mut ends = Scene { server, ..Scene::default() }.begin();
        ends.shake_hands().expect("a sound server");
        let (mut sealer, _) = ends.take_over_server();
        for number in 0..6_000 {
            ends.receive(&sealer.seal(kind, &payload(number))).expect("no flood");
            ends.receive(&sealer.seal(ContentType::ApplicationData, b"x")).expect("no flood");
        }
    }
}

/// As many updates of keys as the library allows before each byte of text: a flood soon, however fast the
/// answers to them are taken.
#[test]
fn updates_of_keys_before_each_byte_are_a_flood() {
    let mut ends = Scene::default().begin();
    ends.shake_hands().expect("a sound server");
    let updates = (0..100).try_for_each(|round| {
        for _ in 0..30 {
            ends.server.refresh_traffic_keys().expect("a session of TLS 1.3");
        }
        ends.server_says(b"x");
        let bytes = ends.take_from_server();
        ends.receive(&bytes).map_err(|failure| (failure, round))
    });
    let (failure, round) = updates.expect_err("a flood");
    assert_eq!(failure, TlsFailure::Flooded);
    assert!((30..40).contains(&round), "after {round} rounds");
}

/// Updates of keys now and then, beside text, are a sound server's.
#[test]
fn updates_of_keys_beside_text_are_no_flood() {
    let mut ends = Scene::default().begin();
    ends.shake_hands().expect("a sound server");
    for _ in 0..2_000 {
        ends.server.refresh_traffic_keys().expect("a session of TLS 1.3");
        ends.server_says(b"text");
        let bytes = ends.take_from_server();
        ends.receive(&bytes).expect("no flood");
    }
    assert_eq!(ends.heard.len(), 8_000);
}

/// An alert in the clear behind each record of the server's first answer. Once something of TLS 1.3 came
/// encrypted, such an alert could be anybody's.
#[test]
fn an_alert_at_every_step_ends_the_session() {
    for version in [Version::Tls12, Version::Tls13] {
        let scene = Scene { versions: vec![version], ..Scene::default() };
        let records = ends_of_records(&scene.begin().first_answer()).len();
        for before in 0..=records {
            let up_to = |ends: &mut crate::scene::Ends| {
                let answer = ends.first_answer();
                let end = ends_of_records(&answer).into_iter().nth(before.wrapping_sub(1)).unwrap_or(0);
                answer[..end].to_vec()
            };
            let mut ends = scene.begin();
            let fatal = [up_to(&mut ends), vec![21, 3, 3, 0, 2, 2, 80]].concat();
            let said = ends.receive(&fatal);
            let may_be_anybodys = version == Version::Tls13 && before > 0;
            let is_named =
                said == Err(TlsFailure::Alert) || may_be_anybodys && said == Err(TlsFailure::BadRecord);
            assert!(is_named, "{version:?}, behind {before} records: {said:?}");
            // That the server sends no more, which anybody could say as well, is no session either: what
            // comes of it is the end of the connection, or of the time limit.
            let mut ends = scene.begin();
            let goodbye = [up_to(&mut ends), vec![21, 3, 3, 0, 2, 1, 0]].concat();
            let said = ends.receive(&goodbye);
            let is_named = matches!(said, Ok(()) | Err(TlsFailure::Alert | TlsFailure::BadRecord));
            assert!(is_named, "{version:?}, behind {before} records: {said:?}");
            let is_agreed = version == Version::Tls13 && before == records;
            assert_eq!(ends.client.is_secured(), is_agreed, "{version:?}, behind {before} records");
            assert!(is_agreed || !ends.client.may_end(), "{version:?}, behind {before} records");
        }
    }
}

/// The ends of the records in `bytes`.
fn ends_of_records(bytes: &[u8]) -> Vec<usize> {
    let mut ends = vec![];
    let mut at = 0;
    while let Some(&[high, low]) = bytes.get(at + 3..at + 5) {
        at += 5 + usize::from(u16::from_be_bytes([high, low]));
        ends.push(at);
    }
    ends
}

/// RFC 8446 section 4.1.3: who takes TLS 1.3 out of what the client offers does not get TLS 1.2 by it.
#[test]
fn a_downgrade_is_found_out() {
    let mut ends = Scene::default().begin();
    let mut hello = Vec::new();
    ends.client.take_to_send(&mut hello);
    // The extension with the versions becomes one that nobody knows.
    let versions = [0, 43, 0, 5, 4, 3, 4, 3, 3];
    let at = hello.windows(versions.len()).position(|bytes| bytes == versions).expect("both versions");
    hello[at..at + 2].copy_from_slice(&[0xfe, 0x2b]);
    ends.deliver_to_server(&hello);
    let answer = ends.take_from_server();
    assert_eq!((answer[0], &answer[9..11]), (22, &[3, 3][..]), "the server has agreed to TLS 1.2");
    assert_eq!(ends.receive(&answer), Err(TlsFailure::BadRecord));
    assert!(!ends.client.is_secured());
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

/// TLS 1.2 has no alert for a certificate that is lacking: OpenSSL's servers end the handshake with
/// handshake_failure, which before a certificate was asked for has another meaning.
#[test]
fn a_handshake_that_fails_behind_a_request_for_a_certificate_is_about_that() {
    let fails_with = |number: u8, asks: bool| {
        let authority = Authority::new();
        let mut server = Server::speaking(Version::Tls12);
        if asks {
            server.ask_for_certificates(&authority, Version::Tls12);
        }
        let mut ends = Scene { server, ..Scene::default() }.begin();
        let flight = ends.first_answer();
        assert_eq!(ends.receive(&flight), Ok(()));
        let failed = ends.receive(&[21, 3, 3, 0, 2, 2, number]);
        (failed, ends.client.detail().expect("an alert").to_string())
    };
    let alert = "alert 40 (handshake_failure), sent by the server".to_owned();
    assert_eq!(fails_with(40, true), (Err(TlsFailure::CertificateRefused), alert.clone()));
    assert_eq!(fails_with(40, false), (Err(TlsFailure::Incompatible), alert));
    assert_eq!(fails_with(42, true).0, Err(TlsFailure::CertificateRefused));
    assert_eq!(fails_with(70, true).0, Err(TlsFailure::Incompatible));
    assert_eq!(fails_with(80, true).0, Err(TlsFailure::Alert));
}

/// Whatever ends a session, more is known of it than the outcome.
#[test]
fn failures_say_which_alert_or_which_rule() {
    let detail = |bytes: &[u8]| {
        let mut ends = Scene::default().begin();
        ends.receive(bytes).expect_err("a failure");
        ends.client.detail().expect("a detail").to_string()
    };
    assert_eq!(detail(&[21, 3, 3, 0, 2, 2, 112]), "alert 112 (unrecognized_name), sent by the server");
    assert_eq!(detail(&[21, 3, 3, 0, 2, 2, 255]), "an alert without a name, sent by the server: alert 255");
    assert_eq!(
        detail(b"HTTP/1.1 400 Bad\x1b[2J Request\r\nServer: x\r\n\r\n"),
        "what comes is no record of TLS (RFC 8446 §5.1): HTTP/1.1 400 Bad\\u001B[2J Request"
    );
    assert!(detail(&[23, 3, 3, 0, 3, 1, 2, 3]).contains("RFC 8446 §"));
    let certificate = |scene: &Scene| {
        let mut ends = scene.begin();
        ends.shake_hands().expect_err("a certificate that does not do");
        ends.client.detail().expect("a detail").to_string()
    };
    let authority = Authority::new();
    let trust = Trust::Roots(vec![authority.certificate()]);
    let of = |name: &str, unix_s: u64| Scene {
        server: Server::of(&authority, name),
        trust: Some(trust.clone()),
        unix_s,
        ..Scene::default()
    };
    let expired = certificate(&of("shop.test", VALID_TO_UNIX_S + 1000));
    assert!(expired.starts_with("the certificate has expired (RFC 5280 §4.1.2.5): "), "{expired}");
    let early = certificate(&of("shop.test", VALID_FROM_UNIX_S - 1000));
    assert!(early.starts_with("the certificate is not valid yet (RFC 5280 §4.1.2.5): "), "{early}");
    let other = certificate(&of("other.test", VALID_FROM_UNIX_S + 1000));
    assert!(other.starts_with("the certificate is for other names (RFC 9525 §6)"), "{other}");
    assert!(other.contains("other.test"), "{other}");
    let stranger = Scene { trust: Some(trust), ..Scene::default() };
    assert_eq!(certificate(&stranger), "the certificate leads to no trusted root (RFC 5280 §6.1)");
}
