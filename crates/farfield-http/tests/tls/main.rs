//! TLS sessions against a server of the same library, in one process: what comes out, what a client keeps
//! for resumption, and a name for everything that can be wrong with a server.

mod failures;
mod identities;
mod model;
mod scene;

use farfield_base::Instant;
use farfield_http::tls::{Trust, Version};
use farfield_testkit::{corpus, properties::handshakes};
use rustls::crypto::aws_lc_rs::kx_group;
use scene::{Authority, Scene, Server};

const BOTH: [Version; 2] = [Version::Tls12, Version::Tls13];

#[test]
fn the_corpus_has_the_properties() {
    corpus::check(&[("tls_session", handshakes::of_stream, 20)]);
}

/// A server that gives tickets without end: a user keeps the last few.
#[test]
fn resumption_uses_four_tickets_at_most() {
    let (mut generous, mut frugal) = (Server::default(), Server::default());
    generous.config_mut().send_tls13_tickets = 50;
    frugal.share_sessions_of(&generous);
    frugal.config_mut().send_tls13_tickets = 0;
    let scene = |server| Scene { server, versions: vec![Version::Tls13], ..Scene::default() };
    let (first, later) = (scene(generous), scene(frugal));
    let common = first.client();
    first.begin_of(&common, 7).shake_hands().expect("a sound server");
    let resumed = (0..10).filter(|_| {
        let mut ends = later.begin_of(&common, 7);
        ends.shake_hands().expect("a sound server");
        ends.is_resumed()
    });
    assert_eq!(resumed.count(), 4);
}

/// A request goes out whole and its reply comes in whole, whatever pieces the bytes come in.
#[test]
fn plaintext_goes_through_in_pieces_of_any_size() {
    for version in BOTH {
        for piece in [1, 2, 3, 5, 7, 100, 1 << 14, usize::MAX] {
            let mut ends = Scene { versions: vec![version], piece, ..Scene::default() }.begin();
            assert_eq!(ends.shake_hands(), Ok(()));
            ends.client.seal(b"GET / HTTP/1.1\r\n\r\n");
            ends.exchange().expect("a sound session");
            assert_eq!(ends.heard_by_server(), b"GET / HTTP/1.1\r\n\r\n");
            let reply = vec![b'x'; 40_000];
            ends.server_says(&reply);
            ends.exchange().expect("a sound session");
            assert!(ends.heard == reply, "{} bytes in pieces of {piece}", ends.heard.len());
        }
    }
}

/// Each user keeps tickets of its own, and a user that is forgotten has none.
#[test]
fn a_user_resumes_its_own_sessions() {
    for version in BOTH {
        let scene = Scene { versions: vec![version], ..Scene::default() };
        let client = scene.client();
        let resumes = |user| {
            let mut ends = scene.begin_of(&client, user);
            assert_eq!(ends.shake_hands(), Ok(()));
            // Tickets of TLS 1.3 come behind the handshake.
            ends.exchange().expect("a sound session");
            let stats = ends.client.stats(Instant::ZERO);
            assert_eq!((stats.version, stats.resumed), (version, ends.is_resumed()), "both ends agree");
            stats.resumed
        };
        assert!(!resumes(7), "{version:?}: the first session of user 7");
        assert!(resumes(7) && resumes(7), "{version:?}");
        assert!(!resumes(8), "{version:?}: user 8 has no tickets of user 7's");
        client.forget(7);
        assert!(!resumes(7) && resumes(8), "{version:?}: only user 7 is forgotten");
    }
    let scene = Scene { resumption: false, ..Scene::default() };
    let client = scene.client();
    for _ in 0..2 {
        let mut ends = scene.begin_of(&client, 1);
        assert_eq!(ends.shake_hands(), Ok(()));
        ends.exchange().expect("a sound session");
        assert!(!ends.is_resumed());
    }
}

/// A server that insists on a group without a key share asks again (RFC 8446 section 4.1.4), which costs a
/// round trip. A client with tickets begins with that group from then on, for all users; another is asked
/// each time.
#[test]
fn a_group_that_the_server_asks_for_is_remembered() {
    use rustls::HandshakeKind::{Full, FullWithHelloRetryRequest};
    for (resumption, second) in [(true, Full), (false, FullWithHelloRetryRequest)] {
        let mut server = Server::speaking(Version::Tls13);
        server.only_exchanges_keys_by(kx_group::X25519MLKEM768);
        let scene = Scene { server, resumption, ..Scene::default() };
        let client = scene.client();
        for (user, expected) in [(1, FullWithHelloRetryRequest), (2, second)] {
            let mut ends = scene.begin_of(&client, user);
            assert_eq!(ends.shake_hands(), Ok(()));
            assert_eq!(ends.server.handshake_kind(), Some(expected), "user {user}, {resumption}");
        }
    }
}

/// The end of a connection is distinguished from the end of what is sent (RFC 8446 section 6.1).
#[test]
fn a_session_knows_where_it_may_end() {
    let mut ends = Scene::default().begin();
    assert!(!ends.client.may_end(), "in the handshake");
    assert_eq!(ends.shake_hands(), Ok(()));
    ends.exchange().expect("a sound session");
    assert!(ends.client.may_end() && !ends.client.is_closed_by_peer(), "between records");
    ends.server_says(b"a reply");
    let record = ends.take_from_server();
    for cut in 1..record.len() {
        let mut ends = Scene::default().begin();
        assert_eq!(ends.shake_hands(), Ok(()));
        ends.exchange().expect("a sound session");
        ends.server_says(b"a reply");
        let record = ends.take_from_server();
        ends.receive(&record[..cut]).expect("a part of a record is no mistake");
        assert!(!ends.client.may_end() && ends.heard.is_empty(), "{cut} of {} bytes", record.len());
    }
    ends.receive(&record).expect("a whole record");
    assert!(ends.client.may_end() && ends.heard == b"a reply");
    ends.server.send_close_notify();
    ends.exchange().expect("a sound session");
    assert!(ends.client.is_closed_by_peer() && ends.client.may_end());
}

/// A client says goodbye once a session is agreed on, and not to one who did.
#[test]
fn a_client_says_goodbye() {
    let mut ends = Scene::default().begin();
    ends.client.close();
    assert_eq!(ends.shake_hands(), Ok(()), "nothing is closed that has not begun");
    ends.client.close();
    ends.exchange().expect("a sound session");
    assert!(ends.has_server_seen_goodbye());
}

#[test]
fn only_a_certificate_of_the_authority_for_the_name_will_do() {
    use farfield_http::tls::TlsFailure::{NameMismatch, Untrusted};
    let (ours, others) = (Authority::new(), Authority::new());
    let check = |trust: Trust, server: Server, expected: Result<(), _>| {
        let mut ends = Scene { trust: Some(trust), server, ..Scene::default() }.begin();
        assert_eq!(ends.shake_hands(), expected);
    };
    let roots = || Trust::Roots(vec![ours.certificate()]);
    check(roots(), Server::of(&ours, "shop.test"), Ok(()));
    check(roots(), Server::of(&others, "shop.test"), Err(Untrusted));
    check(roots(), Server::of(&ours, "other.test"), Err(NameMismatch));
    let server = Server::of(&others, "other.test");
    check(Trust::Anyone, server.clone(), Ok(()));
    let pin = server.pin();
    check(Trust::Pins(vec![pin]), server, Ok(()));
    check(Trust::Pins(vec![pin]), Server::of(&ours, "shop.test"), Err(Untrusted));
}

/// The time is the one that is handed in: a certificate ends while the run goes on.
#[test]
fn certificates_end_at_the_time_that_is_handed_in() {
    use farfield_http::tls::TlsFailure::Untrusted;
    let ours = Authority::new();
    let server = Server::of(&ours, "shop.test");
    for (unix_s, expected) in [
        (scene::VALID_FROM_UNIX_S - 2, Err(Untrusted)),
        (scene::VALID_FROM_UNIX_S + 2, Ok(())),
        (scene::VALID_TO_UNIX_S - 2, Ok(())),
        (scene::VALID_TO_UNIX_S + 2, Err(Untrusted)),
    ] {
        let trust = Some(Trust::Roots(vec![ours.certificate()]));
        let scene = Scene { trust, server: server.clone(), unix_s, ..Scene::default() };
        assert_eq!(scene.begin().shake_hands(), expected, "{unix_s}");
    }
}
