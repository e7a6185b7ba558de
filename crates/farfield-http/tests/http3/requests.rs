//! Requests on a connection, and their replies.

use super::replies::{data, head};
use super::scene::{Scene, Terms, request};
use bytes::Bytes;
use farfield_http::StreamError as Failed;
use farfield_http::http3::{Answering, Event, StreamError, begin_request_of_http1};

fn reply(body: &[u8]) -> Vec<u8> {
    [head(&[(":status", "200"), ("content-length", &body.len().to_string())]), data(body)].concat()
}

/// The bodies of replies, by the requests' numbers, and the numbers of those that are done.
fn bodies(events: &[Event<'_>]) -> (Vec<(u32, Vec<u8>)>, Vec<u32>) {
    let (mut bodies, mut done): (Vec<(u32, Vec<u8>)>, Vec<u32>) = Default::default();
    for event in events {
        match event {
            Event::Body(number, bytes) => match bodies.iter_mut().find(|(own, _)| own == number) {
                Some((_, body)) => body.extend_from_slice(bytes),
                None => bodies.push((*number, bytes.to_vec())),
            },
            Event::Done(number, _) => done.push(*number),
            _ => {}
        }
    }
    (bodies, done)
}

#[test]
fn requests_and_replies_go_over_streams_in_any_order() {
    let mut scene = Scene::secured(&Terms::default());
    let numbers = [scene.ask("/a", b""), scene.ask("/b", b"form"), scene.ask("/c", b"")];
    assert_eq!(numbers, [0, 1, 2]);
    scene.settle();
    let (asked, is_over) = scene.server.asked(1);
    assert!(asked.ends_with(b"\x00\x04form") && is_over, "{asked:?}");
    let long: Vec<u8> = (0..100_000u32).map(|at| at as u8).collect();
    scene.server.answer(2, &reply(b"third"));
    scene.server.answer(0, &reply(&long));
    scene.server.answer(1, &reply(b""));
    scene.settle();
    let events = scene.take();
    let (bodies, mut done) = bodies(&events);
    assert_eq!(bodies.iter().find(|(number, _)| *number == 0).map(|(_, body)| body), Some(&long));
    assert_eq!(
        bodies.iter().find(|(number, _)| *number == 2).map(|(_, body)| &body[..]),
        Some(&b"third"[..])
    );
    done.sort_unstable();
    assert_eq!(done, [0, 1, 2]);
    for event in &events {
        if let Event::Done(0, reply) = event {
            assert_eq!((reply.status, reply.body_bytes), (200, 100_000));
            assert!(reply.reply_bytes > 100_000);
        }
    }
    assert_eq!(scene.closed_with(), Some(0x100), "H3_NO_ERROR");
}

#[test]
fn the_first_streams_are_the_clients_own() {
    let mut scene = Scene::secured(&Terms::default());
    let mut opened = Vec::new();
    while let Some(stream) = scene.server.quic().streams().accept(quinn_proto::Dir::Uni) {
        opened.push(scene.server.read(stream).0);
    }
    // Control, with SETTINGS_MAX_FIELD_SECTION_SIZE; then both of QPACK.
    assert_eq!(opened.len(), 3);
    assert_eq!((opened[0][..2].to_vec(), opened[0][3]), (vec![0, 4], 6), "{opened:?}");
    assert_eq!(opened[1..], [vec![2], vec![3]]);
}

#[test]
fn the_server_says_how_many_streams_there_may_be() {
    let mut scene = Scene::secured(&Terms { streams: 2, ..Terms::default() });
    scene.ask("/a", b"");
    scene.ask("/b", b"");
    assert!(!scene.connection.has_room());
    scene.settle();
    scene.server.asked(0);
    scene.server.answer(0, &reply(b"x"));
    scene.settle();
    assert!(scene.connection.has_room(), "a stream that is over makes room for another");
    assert_eq!(scene.ask("/c", b""), 2);
}

#[test]
fn a_body_waits_for_the_servers_window() {
    let mut scene = Scene::secured(&Terms { stream_window: Some(5_000), ..Terms::default() });
    let body = vec![b'x'; 20_000];
    scene.ask("/upload", &body);
    scene.settle();
    let mut came = 0;
    for _ in 0..10 {
        let (bytes, is_over) = scene.server.asked(0);
        came += bytes.len();
        scene.settle();
        if is_over {
            break;
        }
        assert!(bytes.len() <= 5_000, "{} bytes at once", bytes.len());
    }
    assert!(came > 20_000, "{came} bytes came");
    scene.server.answer(0, &reply(b"thanks"));
    scene.settle();
    assert_eq!(bodies(&scene.take()).1, [0]);
}

#[test]
fn a_reply_before_the_end_of_its_request_counts() {
    let mut scene = Scene::secured(&Terms { stream_window: Some(1_000), ..Terms::default() });
    scene.ask("/upload", &[b'x'; 20_000]);
    scene.settle();
    scene.server.answer(0, &head(&[(":status", "413")]));
    scene.server.quic().recv_stream(request(0)).stop(quinn_proto::VarInt::from_u32(0x100)).expect("open");
    scene.settle();
    let events = scene.take();
    assert!(
        events.iter().any(|event| matches!(event, Event::Done(0, reply) if reply.status == 413)),
        "{events:?}"
    );
}

#[test]
fn what_is_cancelled_makes_no_event() {
    let mut scene = Scene::secured(&Terms::default());
    scene.ask("/slow", b"");
    scene.ask("/quick", b"");
    scene.settle();
    scene.connection.cancel(0);
    scene.server.answer(0, &reply(b"late"));
    scene.server.answer(1, &reply(b"in time"));
    scene.settle();
    assert_eq!(bodies(&scene.take()), (vec![(1, b"in time".to_vec())], vec![1]));
    assert_eq!(scene.connection.so_far(0), None);
}

#[test]
fn goaway_rejects_what_was_not_processed_and_nothing_else() {
    let mut scene = Scene::secured(&Terms::default());
    for path in ["/a", "/b", "/c"] {
        scene.ask(path, b"");
    }
    scene.settle();
    let control = quinn_proto::StreamId::new(quinn_proto::Side::Server, quinn_proto::Dir::Uni, 0);
    // The stream of the second request.
    scene.server.write(control, &[7, 1, 4]);
    scene.server.answer(0, &reply(b"first"));
    scene.settle();
    let events = scene.take();
    assert!(events.contains(&Event::GoingAway));
    let rejected: Vec<u32> = events
        .iter()
        .filter_map(|event| match event {
            Event::Failed(number, _, error) if error.is_unprocessed() => Some(*number),
            _ => None,
        })
        .collect();
    assert_eq!(rejected, [2, 1]);
    assert_eq!(bodies(&events).1, [0]);
    assert!(
        scene.connection.is_closing() && !scene.connection.has_room() && scene.connection.processed_any()
    );
}

#[test]
fn a_reset_says_whether_the_request_may_be_sent_again() {
    let mut scene = Scene::secured(&Terms::default());
    for (number, code) in [(0, 0x10b), (1, 0x102)] {
        scene.ask("/", b"");
        scene.settle();
        let code = quinn_proto::VarInt::from_u32(code);
        scene.server.quic().send_stream(request(number)).reset(code).expect("it is open");
        scene.settle();
    }
    let errors: Vec<StreamError> = scene
        .take()
        .into_iter()
        .filter_map(
            |event| if let Event::Failed(_, _, Failed::Http3(error)) = event { Some(error) } else { None },
        )
        .collect();
    assert!(
        matches!(errors[..], [StreamError::Rejected, StreamError::Reset(code)] if code.0 == 0x102),
        "{errors:?}"
    );
}

/// A request that a server has begun to answer is processed, whatever the server says behind that.
#[test]
fn what_was_answered_is_not_sent_again() {
    let begun = || {
        let mut scene = Scene::secured(&Terms::default());
        scene.ask("/", b"");
        scene.settle();
        scene.server.write(request(0), &reply(b"body")[..10]);
        scene.settle();
        scene.take();
        scene
    };
    let mut reset = begun();
    let rejected = quinn_proto::VarInt::from_u32(0x10b);
    reset.server.quic().send_stream(request(0)).reset(rejected).expect("it is open");
    let mut gone = begun();
    let control = quinn_proto::StreamId::new(quinn_proto::Side::Server, quinn_proto::Dir::Uni, 0);
    gone.server.write(control, &[7, 1, 0]);
    for mut scene in [reset, gone] {
        scene.settle();
        let events = scene.take();
        let is_reset = |event: &Event<'_>| matches!(event, Event::Failed(0, _, Failed::Http3(StreamError::Reset(code))) if code.0 == 0x10b);
        assert!(events.iter().any(is_reset), "{events:?}");
    }
}

/// RFC 9000 section 9.4: on another path the congestion window begins anew.
#[test]
fn another_path_begins_with_a_small_window() {
    let sent_at_once = |moves: bool| {
        let mut scene = Scene::secured(&Terms::default());
        let body = vec![b'x'; 1_000_000];
        scene.ask("/upload", &body);
        while !scene.server.asked(0).1 {
            scene.settle();
        }
        scene.settle();
        if moves {
            scene.connection.quic.change_path(scene.now);
        }
        // Nobody acknowledges, so that no more is sent than the window has room for.
        scene.server.hears = false;
        let before = scene.sent_bytes;
        scene.ask("/upload", &body);
        scene.pass(farfield_base::Duration::from_ms(300));
        scene.sent_bytes - before
    };
    let (kept, anew) = (sent_at_once(false), sent_at_once(true));
    assert!(kept > 60_000, "{kept} bytes on a path that has carried much");
    // Ten packets of 1200 bytes (RFC 9002 section 7.2), and one that reaches beyond.
    assert!((10_000..=13_200).contains(&anew), "{anew} bytes on a new path");
}

#[test]
fn a_session_is_resumed_with_its_users_ticket_alone() {
    let mut scene = Scene::secured(&Terms::default());
    let resumed = |scene: &Scene| scene.connection.stats(scene.now).resumed;
    assert!(!resumed(&scene));
    for (user, is_resumed) in [(7, true), (8, false), (8, true)] {
        scene.begin_again(user);
        scene.settle();
        assert!(scene.connection.is_secured());
        assert_eq!(resumed(&scene), is_resumed, "user {user}");
    }
    scene.client.forget(8);
    scene.begin_again(8);
    scene.settle();
    assert!(!resumed(&scene), "its tickets are forgotten");
    scene.client.release(&mut scene.connection.quic);
    assert_eq!(scene.client.connections(), 0, "nothing is left of connections that were released");
}

/// A head that was written as HTTP/1 becomes the same request.
#[test]
fn heads_of_http1_are_translated() {
    let mut scene = Scene::secured(&Terms::default());
    let mut bytes = Vec::new();
    let written = b"POST /form HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\nX-Own: yes\r\n";
    begin_request_of_http1(written, "https", 4, &mut bytes);
    let parts = [Bytes::from(bytes), Bytes::from_static(b"form")];
    scene.connection.request(parts, Answering::Other).expect("room");
    scene.settle();
    let (asked, is_over) = scene.server.asked(0);
    assert!(is_over && asked.ends_with(b"\x00\x04form"));
    let length = u32::from_be_bytes(asked[1..5].try_into().expect("four bytes")) & 0x3fff_ffff;
    let mut fields = Vec::new();
    let section = &asked[5..5 + length as usize];
    farfield_http::http3::qpack::decode(section, &mut Default::default(), &mut |name, value| {
        fields.push(format!("{}={}", String::from_utf8_lossy(name), String::from_utf8_lossy(value)));
    })
    .expect("a section");
    assert_eq!(fields, [":method=POST", ":scheme=https", ":authority=shop.test", ":path=/form", "x-own=yes"]);
}
