//! Connections that fail: each is named.

use super::replies::head;
use super::scene::{Scene, Server, Terms, settings};
use farfield_base::{Duration, Outcome};
use farfield_http::http3::{ConnectionLoss, Event};
use farfield_http::quic::QuicFailure;
use farfield_http::tls::{TlsFailure, Trust};
use quinn_proto::VarInt;

/// The failure by which the client lost the connection.
fn lost(scene: &mut Scene) -> ConnectionLoss {
    let events = scene.take();
    scene.lost.take().unwrap_or_else(|| panic!("it is not lost: {events:?}"))
}

fn handshake_ends(terms: &Terms, name: &str, is_trusted: bool) -> ConnectionLoss {
    let server = Server::new(terms);
    let trusted = if is_trusted { server.certificate.clone() } else { Server::new(terms).certificate };
    let mut scene = Scene::between(&settings(name, Trust::Roots(vec![trusted])), server);
    scene.settle();
    lost(&mut scene)
}

#[test]
fn handshakes_that_fail_say_why() {
    let tls = |failure| ConnectionLoss::Quic(QuicFailure::Tls(failure));
    let terms = Terms::default();
    assert_eq!(handshake_ends(&terms, "shop.test", false), tls(TlsFailure::Untrusted));
    assert_eq!(handshake_ends(&terms, "other.test", true), tls(TlsFailure::NameMismatch));
    let other = Terms { alpn: b"hq-interop", ..terms.clone() };
    assert_eq!(handshake_ends(&other, "shop.test", true), tls(TlsFailure::AlpnRefused));
    // A version that the library reads and does not speak.
    let older = Terms { versions: Some(vec![0x0a1a_2a3a]), ..terms };
    let lost = handshake_ends(&older, "shop.test", true);
    assert_eq!(lost, ConnectionLoss::Quic(QuicFailure::NoVersion));
    assert_eq!(lost.outcome(), Outcome::NoQuicVersion);
}

#[test]
fn a_server_that_keeps_silent_is_given_up() {
    let mut scene = Scene::default();
    scene.server.hears = false;
    scene.pass(Duration::from_secs(29));
    assert_eq!(scene.take(), []);
    scene.pass(Duration::from_secs(60));
    let lost_by = lost(&mut scene);
    assert_eq!(lost_by, ConnectionLoss::Quic(QuicFailure::Unanswered));
    assert_eq!(lost_by.outcome(), Outcome::ConnectTimedOut);
}

#[test]
fn a_connection_that_falls_silent_is_given_up() {
    let mut scene = Scene::secured(&Terms::default());
    scene.server.hears = false;
    scene.pass(Duration::from_secs(29));
    assert_eq!(scene.take(), []);
    scene.pass(Duration::from_secs(2));
    let lost_by = lost(&mut scene);
    assert_eq!((lost_by, lost_by.outcome()), (ConnectionLoss::Quic(QuicFailure::Idle), Outcome::QuicIdle));
    scene.client.release(&mut scene.connection.quic);
    assert_eq!(scene.client.connections(), 0);
}

#[test]
fn a_server_that_forgot_the_connection_resets_it() {
    let mut scene = Scene::secured(&Terms::default());
    // Past the server's pause between resets.
    scene.pass(Duration::from_secs(1));
    scene.server.forget();
    scene.ask("/", b"");
    scene.settle();
    let lost_by = lost(&mut scene);
    assert_eq!((lost_by, lost_by.outcome()), (ConnectionLoss::Quic(QuicFailure::Reset), Outcome::Reset));
}

#[test]
fn a_server_that_closes_gives_a_code() {
    let closed = |code: u32| {
        let mut scene = Scene::secured(&Terms::default());
        scene.ask("/", b"");
        scene.settle();
        let now = super::scene::now();
        scene.server.quic().close(now, VarInt::from_u32(code), bytes::Bytes::new());
        scene.settle();
        lost(&mut scene)
    };
    assert_eq!(closed(0x100), ConnectionLoss::Quic(QuicFailure::Closed));
    let internal = closed(0x102);
    assert_eq!(internal, ConnectionLoss::Quic(QuicFailure::ClosedWith { code: 0x102, by_application: true }));
    assert_eq!(internal.outcome(), Outcome::GoneAway);
}

/// The server's control stream is over, wrong, or there twice; a push; a frame that cannot be in a reply.
#[expect(clippy::too_many_lines, reason = "a table of cases")]
#[test]
fn what_is_wrong_with_http3_closes_the_connection_with_its_code() {
    let closes = |wrong: &dyn Fn(&mut Scene), code: u64| {
        let mut scene = Scene::secured(&Terms::default());
        scene.ask("/", b"");
        scene.settle();
        wrong(&mut scene);
        scene.settle();
        let lost_by = lost(&mut scene);
        assert!(
            matches!(lost_by, ConnectionLoss::Http3(error) if error.code().0 == code),
            "{lost_by:?} for {code:#x}"
        );
        let outcome = if code == 0x107 { Outcome::Flooded } else { Outcome::BadFrame };
        assert_eq!(lost_by.outcome(), outcome);
        assert_eq!(scene.closed_with(), Some(code));
    };
    let says = |scene: &mut Scene, bytes: &[u8]| {
        scene.server.say(bytes);
    };
    let control = || quinn_proto::StreamId::new(quinn_proto::Side::Server, quinn_proto::Dir::Uni, 0);
    closes(&|scene| says(scene, &[0, 4, 0]), 0x103);
    closes(&|scene| says(scene, &[1, 0]), 0x108);
    closes(&|scene| scene.server.write(control(), &[4, 0]), 0x105);
    closes(&|scene| scene.server.write(control(), &[7, 1, 3]), 0x108);
    closes(&|scene| scene.server.quic().send_stream(control()).finish().expect("open"), 0x104);
    closes(&|scene| scene.server.answer(0, &[4, 0]), 0x105);
    closes(&|scene| scene.server.answer(0, &head(&[(":status", "200")])[..3]), 0x106);
    // An entry for a dynamic table that there is not (RFC 9204, 3.2.2).
    closes(&|scene| says(scene, &[2, 0xc0, 0]), 0x201);
    closes(&|scene| says(scene, &[3, 0x80]), 0x202);
    // Streams and frames that lead to nothing.
    closes(
        &|scene| {
            let stream = scene.server.say(&[0x21]);
            for _ in 0..40 {
                scene.server.write(stream, &[0; 30_000]);
                scene.settle();
            }
        },
        0x107,
    );
    closes(
        &|scene| {
            // Streams without a byte; the client opens none of them again.
            for _ in 0..1_100 {
                let quic = scene.server.quic();
                let Some(stream) = quic.streams().open(quinn_proto::Dir::Uni) else { break };
                quic.send_stream(stream).finish().expect("open");
                scene.settle();
            }
        },
        0x107,
    );
    // A reply between them does not set them back.
    closes(
        &|scene| {
            let stream = scene.server.say(&[0x21]);
            for number in 0..60 {
                (0..4).for_each(|_| {
                    scene.server.write(stream, &[0; 10_000]);
                    scene.settle();
                });
                scene.server.answer(number, &head(&[(":status", "204")]));
                scene.settle();
                if scene.connection.lost().is_some() {
                    break;
                }
                scene.ask("/", b"");
                scene.settle();
            }
        },
        0x107,
    );
    // Packets that lead to nothing, with a reply behind each fifteen hundred of them.
    closes(
        &|scene| {
            for number in 0..12 {
                for _ in 0..1_500 {
                    scene.server.quic().ping();
                    scene.settle();
                }
                scene.server.answer(number, &head(&[(":status", "204")]));
                scene.settle();
                if scene.connection.lost().is_some() {
                    break;
                }
                scene.ask("/", b"");
                scene.settle();
            }
        },
        0x107,
    );
    // The client's control stream is not to be stopped.
    closes(
        &|scene| {
            let own = scene.server.quic().streams().accept(quinn_proto::Dir::Uni).expect("opened");
            scene.server.quic().recv_stream(own).stop(VarInt::from_u32(0)).expect("open");
        },
        0x104,
    );
}

/// Any bytes as datagrams, and those of another connection, change nothing.
#[test]
fn datagrams_of_others_are_passed_over() {
    let mut scene = Scene::secured(&Terms::default());
    for datagram in [&[][..], &[0; 3], &[0x40; 1200], &[0xff; 1200], &[0xc0, 0, 0, 0, 1, 8, 1, 2, 3]] {
        scene.client.receive(&mut scene.connection.quic, scene.now, 3, datagram);
    }
    scene.ask("/", b"");
    scene.settle();
    scene.server.answer(0, &head(&[(":status", "204")]));
    scene.settle();
    assert!(matches!(scene.take()[..], [Event::Head(0, _), Event::Done(0, _)]));
}

/// The code and the words of the end that closes are kept.
#[test]
fn what_closed_the_connection_is_kept() {
    let detail = |scene: &Scene| scene.connection.detail().expect("a detail").to_string();
    let mut scene = Scene::secured(&Terms::default());
    let now = scene.now_of_library();
    scene.server.quic().close(
        now,
        VarInt::from_u32(0x102),
        bytes::Bytes::from_static(b"out of \x1b[2Jmemory"),
    );
    scene.settle();
    assert_eq!(lost(&mut scene).outcome(), Outcome::GoneAway);
    assert_eq!(
        detail(&scene),
        "CONNECTION_CLOSE of HTTP/3 with H3_INTERNAL_ERROR (0x102), sent by the server: out of \\u001B[2Jmemory"
    );
    // A handshake that the server ends with an alert, and one that this end does.
    let terms = Terms { alpn: b"hq-interop", ..Terms::default() };
    let mut scene = Scene::new(&terms);
    scene.settle();
    assert_eq!(lost(&mut scene), ConnectionLoss::Quic(QuicFailure::Tls(TlsFailure::AlpnRefused)));
    let alert = detail(&scene);
    assert!(alert.starts_with("alert 120 (no_application_protocol), sent by the server"), "{alert}");
    let server = Server::new(&Terms::default());
    let trusted = server.certificate.clone();
    let mut scene = Scene::between(&settings("other.test", Trust::Roots(vec![trusted])), server);
    scene.settle();
    assert_eq!(lost(&mut scene), ConnectionLoss::Quic(QuicFailure::Tls(TlsFailure::NameMismatch)));
    assert!(
        detail(&scene).starts_with("the certificate is for other names (RFC 9525 §6)"),
        "{}",
        detail(&scene)
    );
}

/// A stream that the server resets fails with the code by its name.
#[test]
fn what_reset_a_stream_is_kept() {
    for (code, shown) in [
        (0x102, "RESET_STREAM with H3_INTERNAL_ERROR (0x102), sent by the server"),
        (0x10c, "RESET_STREAM with H3_REQUEST_CANCELLED (0x10c), sent by the server"),
        (0x4242, "RESET_STREAM with a code without a name, sent by the server: code 0x4242"),
    ] {
        let mut scene = Scene::secured(&Terms::default());
        scene.ask("/", b"");
        scene.settle();
        let stream = super::scene::request(0);
        scene.server.quic().send_stream(stream).reset(VarInt::from_u32(code)).expect("open");
        scene.settle();
        let events = scene.take();
        let [Event::Failed(0, _, error)] = &events[..] else { panic!("{events:?}") };
        assert_eq!(error.outcome(), Outcome::StreamReset);
        assert_eq!(error.detail().expect("a code").to_string(), shown);
    }
}
