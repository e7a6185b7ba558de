//! Requests within the handshake (0-RTT), before servers that take them and one that passes over them.

use crate::scene::{Scene, Server, Terms, settings};
use bytes::Bytes;
use farfield_base::{EarlyData, Instant, TlsStats};
use farfield_http::http2::RequestHead;
use farfield_http::http3::{Answering, Event, encode_request};
use farfield_http::tls::Trust;

const TERMS: Terms =
    Terms { name: "shop.test", alpn: b"h3", streams: 100, versions: None, stream_window: None, early: true };

/// A client that sends early data, whose user 7 has tickets of the server.
fn with_tickets(early: bool) -> Scene {
    with_tickets_of(&TERMS, early)
}

fn with_tickets_of(terms: &Terms, early: bool) -> Scene {
    let settings = settings("shop.test", Trust::Anyone).with_early_data(early);
    let mut scene = Scene::between(&settings, Server::new(terms));
    scene.settle();
    assert_eq!(scene.take(), [Event::Secured]);
    assert_eq!(stats(&scene), (false, EarlyData::Unsent));
    scene.begin_again(7);
    scene
}

/// The session's resumption, and the fate of its early data.
fn stats(scene: &Scene) -> (bool, EarlyData) {
    let TlsStats { resumed, early, .. } = scene.connection.stats(Instant::ZERO);
    (resumed, early)
}

fn ask(scene: &mut Scene, path: &str) {
    let head = RequestHead {
        method: "GET",
        scheme: "https",
        authority: "shop.test",
        target: path,
        headers: &[],
        body_length: None,
    };
    let parts = [encode_request(&head, b"").expect("a request"), Bytes::new()];
    assert_eq!(scene.connection.request(parts, Answering::Other), Some(0));
}

#[test]
fn a_request_within_the_handshake_is_taken() {
    let mut scene = with_tickets(true);
    assert!(scene.connection.begin_early() && scene.connection.has_room());
    ask(&mut scene, "/a");
    scene.settle();
    assert_eq!((scene.take(), stats(&scene)), (vec![Event::Secured], (true, EarlyData::Accepted)));
    let (asked, is_over) = scene.server.asked(0);
    assert!(is_over && asked.len() > 10);
    // The connection goes on: a reply, and the next request on the next stream.
    scene.server.say(&[0, 4, 0]);
    scene.server.answer(0, &[1, 3, 0, 0, 0xd9]);
    scene.settle();
    assert!(matches!(scene.take()[..], [Event::Head(0, _), Event::Done(0, _)]));
    assert_eq!(scene.ask("/b", b""), 1);
    scene.settle();
    assert!(scene.server.asked(1).1);
}

/// A server that was started again knows none of its tickets: the request goes once more, as it was.
#[test]
fn a_request_that_is_passed_over_goes_again() {
    let mut scene = with_tickets(true);
    scene.server = Server::new(&TERMS);
    assert!(scene.connection.begin_early());
    ask(&mut scene, "/a");
    scene.settle();
    assert_eq!((scene.take(), stats(&scene)), (vec![Event::Secured], (false, EarlyData::Rejected)));
    let (asked, is_over) = scene.server.asked(0);
    assert!(is_over && asked.len() > 10, "{asked:?}");
    scene.server.say(&[0, 4, 0]);
    scene.server.answer(0, &[1, 3, 0, 0, 0xd9]);
    scene.settle();
    assert!(matches!(scene.take()[..], [Event::Head(0, _), Event::Done(0, _)]));
    assert_eq!(scene.ask("/b", b""), 1);
}

/// Without early data a session is resumed all the same; without a ticket nothing goes early.
#[test]
fn what_may_not_go_early_waits() {
    let mut scene = with_tickets(false);
    assert!(!scene.connection.begin_early());
    scene.settle();
    assert_eq!((scene.take(), stats(&scene)), (vec![Event::Secured], (true, EarlyData::Unsent)));
    let mut scene = with_tickets(true);
    scene.begin_again(8);
    assert!(!scene.connection.begin_early(), "the tickets are another user's");
    scene.settle();
    assert_eq!((scene.take(), stats(&scene)), (vec![Event::Secured], (false, EarlyData::Unsent)));
    // With a ticket and nothing to send, nothing is early.
    let mut scene = with_tickets(true);
    assert!(scene.connection.begin_early());
    scene.settle();
    assert_eq!(stats(&scene), (true, EarlyData::Unsent));
}

/// A server that allows one stream at a time: the client's own streams are opened once all the same.
#[test]
fn a_single_stream_is_room_enough() {
    let mut scene = with_tickets_of(&Terms { streams: 1, ..TERMS }, true);
    assert!(scene.connection.begin_early() && scene.connection.has_room());
    ask(&mut scene, "/a");
    assert!(!scene.connection.has_room());
    scene.settle();
    assert_eq!((scene.take(), stats(&scene)), (vec![Event::Secured], (true, EarlyData::Accepted)));
    let mut opened = 0;
    while scene.server.quic().streams().accept(quinn_proto::Dir::Uni).is_some() {
        opened += 1;
    }
    assert_eq!(opened, 3, "control and both of QPACK");
    assert!(scene.server.asked(0).1);
    scene.server.answer(0, &[1, 3, 0, 0, 0xd9]);
    scene.settle();
    assert!(matches!(scene.take()[..], [Event::Head(0, _), Event::Done(0, _)]));
    assert_eq!(scene.ask("/b", b""), 1);
}
