//! Servers that break the rules: each mistake has its name and its code, on the stream or on the connection.

use crate::scene::*;
use farfield_http::http2::ConnectionError::*;
use farfield_http::http2::hpack::HpackError;
use farfield_http::http2::{ConnectionError, Limits, RequestHead, Settings, StreamId};

/// The bytes end the connection so, and GOAWAY gives the code.
#[track_caller]
fn ends(bytes: &[Vec<u8>], error: ConnectionError, code: u32) {
    let mut scene = Scene::asking(2);
    assert_eq!(scene.receive(&bytes.concat()), Err(error));
    assert_eq!(error.code().0, code);
    assert_eq!(scene.sent().last(), Some(&format!("goaway {code}")));
}

/// The bytes end stream 1 so and reset it with the code, and stream 3 is still served.
#[track_caller]
fn fails(bytes: &[Vec<u8>], error: &str, code: u32) {
    fails_with(Scene::asking(2), bytes, error, code);
}

#[track_caller]
fn fails_with(mut scene: Scene, bytes: &[Vec<u8>], error: &str, code: u32) {
    scene.to_send.clear();
    let events = scene.receive(&bytes.concat()).expect("the connection goes on");
    let last = events.last().expect("an event");
    assert!(last.starts_with("1 failed") && last.ends_with(error), "{last}");
    assert_eq!(scene.sent(), [format!("1 reset {code}")]);
    let other = scene.receive(&[data(1, 0, b"late"), headers(3, END, &[(":status", "200")])].concat());
    assert_eq!(other.as_deref(), Ok(["3 head 200".to_owned(), "3 done 200 0 bytes".to_owned()].as_slice()));
}

fn ok(stream: u32) -> Vec<u8> {
    headers(stream, 0, &[(":status", "200")])
}

#[test]
fn what_is_not_http2_is_known_by_its_first_byte() {
    for bytes in [
        b"HTTP/1.1 400 Bad Request\r\n".as_slice(),
        b"H",
        b"\x15\x03\x01\x00\x02\x02\x46",
        &frame(PING, 0, 0, &[0; 8]),
        &frame(SETTINGS, END, 0, b""),
        &frame(GOAWAY, 0, 0, &[0; 8]),
    ] {
        let mut scene = Scene::silent(&Settings::default());
        assert_eq!(scene.receive(bytes), Err(NotHttp2), "{bytes:?}");
    }
}

#[test]
fn frames_of_a_wrong_size() {
    let too_large = vec![0x00, 0x40, 0x01, DATA, 0, 0, 0, 0, 1];
    ends(&[too_large], FrameTooLarge, 6);
    for (kind, flags, stream, payload) in [
        (PING, 0, 0, vec![0; 7]),
        (PING, END, 0, vec![0; 9]),
        (SETTINGS, 0, 0, vec![0; 7]),
        (SETTINGS, END, 0, vec![0; 6]),
        (RST_STREAM, 0, 1, vec![0; 3]),
        (WINDOW_UPDATE, 0, 0, vec![0; 5]),
        (WINDOW_UPDATE, 0, 1, vec![]),
        (PRIORITY, 0, 1, vec![0; 4]),
        (GOAWAY, 0, 0, vec![0; 7]),
        (DATA, PADDED, 1, vec![]),
        (HEADERS, PADDED | WITH_PRIORITY | END_HEADERS, 1, vec![0; 5]),
    ] {
        ends(&[frame(kind, flags, stream, &payload)], FrameLength, 6);
    }
}

#[test]
fn frames_on_a_stream_where_they_cannot_be() {
    for kind in [DATA, HEADERS, PRIORITY, RST_STREAM, CONTINUATION, PUSH_PROMISE] {
        ends(&[frame(kind, 0, 0, &[0; 5])], WrongStream, 1);
    }
    for kind in [SETTINGS, PING, GOAWAY] {
        ends(&[frame(kind, 0, 1, &[0; 8])], WrongStream, 1);
    }
    for stream in [5, 2, 0x7fff_ffff] {
        ends(&[ok(stream)], IdleStream, 1);
        ends(&[data(stream, 0, b"")], IdleStream, 1);
        ends(&[rst_stream(stream, 0)], IdleStream, 1);
        ends(&[window_update(stream, 1)], IdleStream, 1);
    }
    let over = headers(1, END, &[(":status", "200")]);
    ends(&[over.clone(), data(1, 0, b"")], ClosedStream, 5);
    ends(&[over.clone(), over], ClosedStream, 5);
    ends(&[rst_stream(1, 0), data(1, 0, b"")], ClosedStream, 5);
    ends(&[frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2])], Pushed, 1);
}

#[test]
fn padding_that_is_longer_than_its_frame() {
    ends(&[ok(1), data(1, PADDED, b"\x03ab")], BadPadding, 1);
    ends(&[ok(1), data(1, PADDED, b"\x01")], BadPadding, 1);
    ends(&[frame(HEADERS, PADDED | END_HEADERS, 1, b"\x02\x88")], BadPadding, 1);
}

#[test]
fn header_blocks_that_are_interrupted() {
    let begun = frame(HEADERS, 0, 1, b"\x88");
    ends(&[begun.clone(), frame(PING, 0, 0, &[0; 8])], ContinuationExpected, 1);
    ends(&[begun.clone(), frame(CONTINUATION, END_HEADERS, 3, b"")], ContinuationExpected, 1);
    ends(&[begun.clone(), frame(0xee, 0, 1, b"")], ContinuationExpected, 1);
    ends(&[begun, ok(1)], ContinuationExpected, 1);
    ends(&[frame(CONTINUATION, END_HEADERS, 1, b"\x88")], ContinuationUnexpected, 1);
}

#[test]
fn settings_that_cannot_be() {
    ends(&[settings(&[(2, 1)])], BadSetting, 1);
    ends(&[settings(&[(2, 2)])], BadSetting, 1);
    ends(&[settings(&[(5, 16_383)])], BadSetting, 1);
    ends(&[settings(&[(5, 1 << 24)])], BadSetting, 1);
    ends(&[settings(&[(4, 1 << 31)])], WindowSetting, 3);
    ends(&[window_update(1, 0x7fff_ffff - 65_535), settings(&[(4, 65_536)])], WindowSetting, 3);
    ends(&[frame(SETTINGS, END, 0, b"")], UnaskedAcknowledgement, 1);
    let mut scene = Scene::asking(1);
    assert_eq!(scene.receive(&settings(&[(2, 0), (4, 0x7fff_ffff), (5, 16_384), (6, 0)])), Ok(vec![]));
}

#[test]
fn windows_that_cannot_be() {
    ends(&[window_update(0, 0)], ZeroIncrement, 1);
    ends(&[window_update(0, 0x7fff_ffff)], WindowOverflow, 3);
    // The reserved bit does not count.
    ends(&[window_update(0, 0x8000_0000)], ZeroIncrement, 1);
    fails(&[window_update(1, 0)], "ZeroIncrement", 1);
    fails(&[window_update(1, 0x7fff_ffff)], "WindowOverflow", 3);
    assert_eq!(Scene::asking(1).receive(&window_update(0, 0x7fff_ffff - 65_535)), Ok(vec![]));
}

#[test]
fn more_body_than_windows_allow() {
    let asking = |own: Settings| {
        let mut scene = Scene::with(&own, &[]);
        (0..3).for_each(|_| {
            scene.ask(&get(), b"").expect("room");
        });
        scene
    };
    let own = Settings { stream_window_bytes: 10, ..Settings::default() };
    fails_with(asking(own), &[ok(1), data(1, 0, &[0; 11])], "WindowExceeded", 3);
    let own = Settings {
        stream_window_bytes: 60_000,
        connection_window_bytes: 65_535,
        frame_bytes: 1 << 17,
        ..Settings::default()
    };
    let mut scene = asking(own);
    let bytes = [ok(1), data(1, 0, &[0; 30_000]), ok(3), data(3, 0, &[0; 40_000])].concat();
    // The first half was not allowed again yet.
    assert_eq!(scene.receive(&bytes), Err(WindowExceeded));
}

#[test]
fn header_blocks_that_cannot_be_decoded() {
    let of = |block: &[u8]| frame(HEADERS, END_HEADERS, 1, block);
    ends(&[of(b"\xbe")], Compression(HpackError::UnknownIndex), 9);
    ends(&[of(b"\x88\x00")], Compression(HpackError::Truncated), 9);
    ends(&[of(b"\x3f\xe2\x1f\x88")], Compression(HpackError::TableTooLarge), 9);
    // On a stream that is over for us, too.
    let given_up = data(1, 0, b"no head");
    ends(&[given_up, of(b"\xbe")], Compression(HpackError::UnknownIndex), 9);
}

#[test]
fn heads_that_are_malformed() {
    let status = (":status", "200");
    for fields in [
        &[][..],
        &[("x-a", "b")],
        &[("x-a", "b"), status],
        &[status, status],
        &[status, (":path", "/")],
        &[(":method", "GET")],
        &[(":status", "")],
        &[(":status", "20")],
        &[(":status", "2000")],
        &[(":status", "2000000000")],
        &[(":status", "2xx")],
        &[(":status", "0200")],
        &[(":status", "+20")],
        &[(":status", "099")],
        &[(":status", "101")],
        &[status, ("X-A", "b")],
        &[status, ("", "b")],
        &[status, ("a b", "c")],
        &[status, ("a:", "c")],
        &[status, ("a\u{e9}", "c")],
        &[status, ("x-a", "b\r\nc: d")],
        &[status, ("x-a", "b\0")],
        &[status, ("x-a", " b")],
        &[status, ("x-a", "b\t")],
        &[status, ("connection", "close")],
        &[status, ("keep-alive", "5")],
        &[status, ("proxy-connection", "close")],
        &[status, ("transfer-encoding", "chunked")],
        &[status, ("upgrade", "h2c")],
    ] {
        fails(&[headers(1, 0, fields)], "Malformed(BadHead)", 1);
    }
    fails(&[headers(1, END, &[(":status", "103")])], "Unanswered", 1);
    fails(&[data(1, END, b"")], "DataFirst", 1);
    // Trailers that do not end the stream, and with a field that no trailer has.
    fails(&[ok(1), headers(1, 0, &[("x-a", "b")])], "Malformed(BadHead)", 1);
    fails(&[ok(1), headers(1, END, &[status])], "Malformed(BadHead)", 1);
}

#[test]
fn bodies_that_are_not_as_long_as_their_heads_say() {
    let of = |length| headers(1, 0, &[(":status", "200"), ("content-length", length)]);
    for length in ["x", "-1", "5, 6", "99999999999999999999", ""] {
        fails(&[of(length)], "Malformed(BadLength)", 1);
    }
    fails(&[of("5"), data(1, 0, b"hello!")], "Malformed(BadLength)", 1);
    // As over HTTP/1, what ends before its length is cut.
    fails(&[of("5"), data(1, END, b"hell")], "Malformed(Truncated)", 1);
    fails(&[of("5"), data(1, 0, b"hell"), headers(1, END, &[])], "Malformed(Truncated)", 1);
    fails(&[headers(1, END, &[(":status", "200"), ("content-length", "1")])], "Malformed(Truncated)", 1);
    fails(&[headers(1, 0, &[(":status", "204")]), data(1, 0, b"x")], "Malformed(BadLength)", 1);
    let mut scene = Scene::with(&Settings::default(), &[]);
    scene.ask(&RequestHead { method: "HEAD", ..get() }, b"").expect("room");
    scene.ask(&get(), b"").expect("room");
    fails_with(scene, &[of("5"), data(1, END, b"hello")], "Malformed(BadLength)", 1);
}

/// Two requests of a client with such limits.
fn limited(limits: Limits) -> Scene {
    let mut scene = Scene::with(&Settings { limits, ..Settings::default() }, &[]);
    (0..2).for_each(|_| {
        scene.ask(&get(), b"").expect("room");
    });
    scene
}

#[test]
fn replies_beyond_a_limit() {
    let few = Limits { head_fields: 2, ..Limits::default() };
    let fields = [(":status", "200"), ("a", "1"), ("b", "2"), ("c", "3")];
    fails_with(limited(few), &[headers(1, 0, &fields)], "Malformed(HeadTooLarge)", 8);
    assert_eq!(limited(few).receive(&headers(1, 0, &fields[..3])).map(|all| all.len()), Ok(1));

    let small = Limits { head_bytes: 200, ..Limits::default() };
    // A bomb: a field of 100 bytes goes into the table, and many more of it cost a byte each.
    let mut bomb = block(&[(":status", "200"), ("x", &"y".repeat(100))]);
    assert_eq!(bomb[13..16], *b"\0\x01x");
    bomb[13] = 0x40;
    bomb.extend([0xbe; 50]);
    fails_with(limited(small), &[frame(HEADERS, END_HEADERS, 1, &bomb)], "Malformed(HeadTooLarge)", 8);

    // Interim heads without end, and frames of body without body.
    let interim = headers(1, 0, &[(":status", "103")]);
    fails_with(limited(small), &vec![interim; 10], "Malformed(HeadTooLarge)", 8);
    let mut empty = vec![data(1, 0, b""); 21];
    empty.insert(0, ok(1));
    fails_with(limited(small), &empty, "Malformed(HeadTooLarge)", 8);
    let padding = vec![ok(1), data(1, PADDED, &[&[199][..], &[0; 199]].concat())];
    fails_with(limited(small), &padding, "Malformed(HeadTooLarge)", 8);

    let short = Limits { body_bytes: 4, ..Limits::default() };
    fails_with(limited(short), &[ok(1), data(1, END, b"hello")], "Malformed(BodyTooLarge)", 8);
    let events = limited(short).receive(&[ok(1), data(1, END, b"four")].concat()).expect("within the limit");
    assert_eq!(events, ["1 head 200", "1 body four", "1 done 200 4 bytes"]);
}

/// A head that is too large is the end of its stream alone: its block is decoded all the same, in as many
/// frames as it has, since later blocks refer to what it puts into the table.
#[test]
fn a_head_beyond_the_limit_costs_its_stream_alone() {
    for length in [70_000, 100_000, 130_000] {
        for piece in [999, 16_000] {
            let mut bytes = block(&[(":status", "200"), ("long", &"x".repeat(length))]);
            // Into the table goes `a: b`, which the reply on stream 3 names.
            bytes.extend_from_slice(b"\x40\x01a\x01b");
            let mut pieces = bytes.chunks(piece).peekable();
            let mut frames = frame(HEADERS, 0, 1, pieces.next().expect("a piece"));
            while let Some(piece) = pieces.next() {
                let flags = if pieces.peek().is_none() { END_HEADERS } else { 0 };
                frames.extend(frame(CONTINUATION, flags, 1, piece));
            }
            let mut scene = Scene::asking(2);
            scene.to_send.clear();
            let events = scene.receive(&frames).expect("the connection goes on");
            assert_eq!(events, ["1 failed: Malformed(HeadTooLarge)"], "{length} in pieces of {piece}");
            assert_eq!(scene.sent(), ["1 reset 8"]);
            let other = scene.receive(&frame(HEADERS, END_HEADERS | END, 3, b"\x88\xbe"));
            assert_eq!(
                other.as_deref(),
                Ok(["3 head 200".to_owned(), "3 done 200 0 bytes".to_owned()].as_slice())
            );
            assert_eq!(scene.heads.fields().collect::<Vec<_>>(), [(b"a".as_slice(), b"b".as_slice())]);
        }
    }
}

#[test]
fn header_blocks_without_end() {
    let small = Limits { head_bytes: 200, ..Limits::default() };
    // Twice the limit, or 64 KiB, are decoded; more are not gathered.
    let mut bytes = frame(HEADERS, 0, 1, b"\x88");
    (0..5).for_each(|_| bytes.extend(frame(CONTINUATION, 0, 1, &[0x88; 16_000])));
    assert_eq!(limited(small).receive(&bytes), Err(BlockTooLarge));
    let mut bytes = frame(HEADERS, 0, 1, b"\x88");
    (0..9).for_each(|_| bytes.extend(frame(CONTINUATION, 0, 1, &[0x88; 16_000])));
    assert_eq!(Scene::asking(1).receive(&bytes), Err(BlockTooLarge));
    assert_eq!(BlockTooLarge.code().0, 11);
    // The frame's header is enough, where frames may be large.
    let mut scene = Scene::with(&Settings { frame_bytes: 2 << 20, ..Settings::default() }, &[]);
    scene.ask(&get(), b"").expect("room");
    assert_eq!(scene.receive(&frame(HEADERS, 0, 1, &vec![0x88; 140_000])[..9]), Err(BlockTooLarge));
    let mut scene = Scene::with(&Settings { frame_bytes: 1 << 20, ..Settings::default() }, &[]);
    assert_eq!(scene.receive(&frame(SETTINGS, 0, 0, &[0; 60_000])[..9]), Err(Flood));
    // Empty ones, on a stream that counts no longer.
    let mut bytes = [data(1, 0, b"no head"), frame(HEADERS, 0, 1, b"")].concat();
    (0..10_000).for_each(|_| bytes.extend(frame(CONTINUATION, 0, 1, b"")));
    assert_eq!(limited(small).receive(&bytes), Err(Flood));
}

#[test]
fn floods_of_frames_that_lead_to_nothing() {
    for one in [
        settings(&[]),
        frame(PING, 0, 0, &[0; 8]),
        frame(PING, END, 0, &[0; 8]),
        frame(PRIORITY, 0, 1, &[0; 5]),
        frame(0xee, 0, 0, b""),
        window_update(1, 1),
        goaway(3, 0),
        [rst_stream(1, 8), window_update(1, 0)].concat(),
    ] {
        let mut scene = Scene::asking(2);
        let mut result = Ok(vec![]);
        for _ in 0..10_001 {
            result = result.and_then(|_| scene.receive(&one));
        }
        assert_eq!(result, Err(Flood), "{one:?}");
        // The answers are in proportion.
        assert!(scene.to_send.len() <= 10_001 * 17 + 17, "{}", scene.to_send.len());
    }
    // Between bodies such frames are no flood.
    let mut scene = Scene::asking(1);
    scene.receive(&ok(1)).expect("a sound server");
    for _ in 0..30_000 {
        scene.receive(&[frame(PING, 0, 0, &[0; 8]), data(1, 0, b"x")].concat()).expect("no flood");
        scene.to_send.clear();
    }
}

/// So many of `one` for each reply, and for each byte of a body, on one connection; how it ends within so
/// many turns.
fn ends_with_replies(one: &[u8], each: usize, turns: u32) -> [Result<(), ConnectionError>; 2] {
    let useless = one.repeat(each);
    let mut of_replies = Scene::asking(0);
    let replies = (0..turns).try_for_each(|turn| {
        of_replies.ask(&get(), b"").expect("room");
        let reply = headers(2 * turn + 1, END, &[(":status", "200")]);
        of_replies.receive(&[&useless[..], &reply].concat())?;
        of_replies.to_send.clear();
        Ok(())
    });
    let mut of_body = Scene::asking(1);
    of_body.receive(&ok(1)).expect("a sound server");
    let body = (0..turns).try_for_each(|_| {
        of_body.receive(&[&useless[..], &data(1, 0, b"x")].concat())?;
        of_body.to_send.clear();
        Ok(())
    });
    [replies, body]
}

/// A reply now and then does not set a flood back.
#[test]
fn floods_between_replies() {
    let kinds = [
        settings(&[]),
        settings(&[(3, 100), (0xfefe, 7)]),
        frame(PING, 0, 0, &[0; 8]),
        frame(PING, END, 0, &[0; 8]),
        frame(PRIORITY, 0, 1, &[0; 5]),
        frame(0xee, 0, 0, b"unknown"),
        window_update(0, 1),
    ];
    for one in kinds {
        assert_eq!(ends_with_replies(&one, 9_000, 3), [Err(Flood); 2], "{one:?}");
        assert_eq!(ends_with_replies(&one, 200, 400), [Err(Flood); 2], "{one:?}");
        // Frames that a server sends beside its replies are no flood, for as long as it goes on.
        assert_eq!(ends_with_replies(&one, 10, 1_500), [Ok(()); 2], "{one:?}");
    }
}

/// Requests that are all given up and answered afterwards, each with so many pieces of body.
fn answers_late(requests: u32, pieces: usize) -> Result<(), ConnectionError> {
    let mut scene = Scene::asking(0);
    (0..requests / 100).try_for_each(|turn| {
        let streams: Vec<StreamId> =
            (0..100).map(|number| StreamId::of_request(100 * turn + number)).collect();
        for stream in &streams {
            assert_eq!(scene.ask(&get(), b""), Ok(*stream));
        }
        for stream in &streams {
            scene.connection.cancel(*stream, &mut scene.to_send);
        }
        for stream in streams.iter().map(|stream| stream.number()) {
            let reply = [ok(stream), data(stream, 0, b"piece").repeat(pieces), data(stream, END, b"")];
            assert_eq!(scene.receive(&reply.concat())?, Vec::<String>::new());
        }
        scene.to_send.clear();
        Ok(())
    })
}

/// A server that answers all requests after they were given up is a slow one and no flood.
#[test]
fn replies_that_come_late_are_no_flood() {
    assert_eq!(answers_late(50_000, 2), Ok(()));
    assert_eq!(answers_late(2_000, 60), Ok(()));
}

/// The earnings of a stream that was given up are bounded: a head, an end, and its window.
#[test]
fn a_stream_that_was_given_up_is_no_source_of_frames_without_end() {
    for one in [ok(1), headers(1, END, &[]), data(1, 0, b""), data(1, END, b""), data(1, 0, b"x")] {
        let mut scene = limited(Limits::default());
        scene.connection.cancel(StreamId::of_request(0), &mut scene.to_send);
        let end = (0..20_000).try_for_each(|_| scene.receive(&one).map(|_| ()));
        let has_body = one.len() == 10;
        assert_eq!(end.is_ok(), has_body, "{one:?}");
    }
    // Byte by byte a window is a long way, and ends.
    let own = Settings { stream_window_bytes: 1_000, ..Settings::default() };
    let mut scene = Scene::with(&own, &[]);
    let stream = scene.ask(&get(), b"").expect("room");
    scene.connection.cancel(stream, &mut scene.to_send);
    let sent = (0..20_000).take_while(|_| scene.receive(&data(1, 0, b"x")).is_ok()).count();
    assert!((10_000..=11_100).contains(&sent), "{sent}");
}

/// A server that takes a body byte by byte, and says so each time, is a slow one and no flood.
#[test]
fn windows_that_let_a_body_on_are_no_flood() {
    let mut scene = Scene::with(&Settings::default(), &[(4, 0)]);
    let body = vec![7; 30_000];
    let head = RequestHead { method: "POST", body_length: Some(30_000), ..get() };
    scene.ask(&head, &body).expect("room");
    for _ in 0..30_000 {
        scene.receive(&[window_update(1, 1), window_update(0, 1)].concat()).expect("no flood");
        scene.to_send.clear();
    }
    // With nothing left to send, they are.
    let more = (0..20_000).try_for_each(|_| scene.receive(&window_update(0, 1)).map(|_| ()));
    assert_eq!(more, Err(Flood));
}

/// Answers are counted by their bytes, and requests and bodies are none.
#[test]
fn answers_are_counted_and_requests_are_not() {
    let mut scene = Scene::with(&Settings::default(), &[(4, 10)]);
    assert_eq!(scene.connection.take_answer_bytes(), 9, "the acknowledgement of SETTINGS");
    let head = RequestHead { method: "POST", body_length: Some(100), ..get() };
    scene.ask(&head, &[1; 100]).expect("room");
    scene.receive(&window_update(1, 90)).expect("a sound server");
    assert_eq!((scene.connection.take_answer_bytes(), scene.sent().len()), (0, 3));
    let bytes =
        [frame(PING, 0, 0, &[0; 8]), settings(&[]), window_update(1, 0), frame(PING, END, 0, &[0; 8])];
    scene.receive(&bytes.concat()).expect("a stream's error");
    assert_eq!(scene.connection.take_answer_bytes(), 17 + 9 + 13, "PING, SETTINGS, RST_STREAM");
    assert_eq!(scene.connection.take_answer_bytes(), 0);
    // And the windows that a body makes room in.
    let mut scene = Scene::with(&Settings { stream_window_bytes: 1_000, ..Settings::default() }, &[]);
    scene.ask(&get(), b"").expect("room");
    scene.connection.take_answer_bytes();
    scene.receive(&[ok(1), data(1, 0, &[0; 900])].concat()).expect("within the window");
    assert_eq!(scene.connection.take_answer_bytes(), 13, "WINDOW_UPDATE");
}

#[test]
fn a_last_stream_that_grows() {
    ends(&[goaway(1, 0), goaway(3, 0)], LastStreamRaised, 1);
    let mut with_words = goaway(1, 2);
    with_words[2] += 5;
    with_words.extend(b"words");
    let events = Scene::asking(2).receive(&[with_words, ok(1)].concat()).expect("a sound server");
    assert_eq!(events, ["going away 2", "3 failed: Refused", "1 head 200"]);
}

/// The detail of a failure is the rule with its section, and what broke it.
#[test]
fn failures_name_the_rule_and_what_broke_it() {
    let lost = |bytes: &[u8]| {
        let mut scene = Scene::asking(1);
        let error = scene.receive(bytes).expect_err("the connection ends");
        scene.connection.detail_of(error, bytes).to_string()
    };
    let setting = "a setting has a value that it cannot have (RFC 9113 §6.5.2): ";
    assert_eq!(lost(&settings(&[(2, 2)])), format!("{setting}SETTINGS_ENABLE_PUSH was 2"));
    assert_eq!(lost(&settings(&[(3, 7), (5, 9)])), format!("{setting}SETTINGS_MAX_FRAME_SIZE was 9"));
    let ping = lost(&frame(PING, 0, 0, &[0; 9]));
    assert_eq!(
        ping,
        "a frame does not have its kind's size (RFC 9113 §6): PING of 9 bytes with flags 0x0 on stream 0"
    );
    let late = lost(&[ok(1), data(1, END, b"x"), data(1, 0, b"y")].concat());
    assert!(late.ends_with("(RFC 9113 §5.1): DATA of 1 bytes with flags 0x0 on stream 1"), "{late}");
    let index = lost(&frame(HEADERS, END_HEADERS, 1, b"\xff\x00"));
    assert!(index.starts_with("a header block refers to an entry that the table does not have (RFC 7541"));
    let mut scene = Scene::silent(&Settings::default());
    let error = scene.receive(b"HTTP/1.1 400 Bad\x1b[2J\r\n").expect_err("no HTTP/2");
    let detail = scene.connection.detail_of(error, b"HTTP/1.1 400 Bad\x1b[2J\r\n").to_string();
    assert!(detail.ends_with("(RFC 9113 §3.4): HTTP/1.1 400 Bad\\u001B[2J"), "{detail}");
}

/// Each error has a section of its RFC, and no two of a connection say the same.
#[test]
fn every_error_has_a_rule() {
    let all = [
        NotHttp2,
        FrameTooLarge,
        FrameLength,
        WrongStream,
        IdleStream,
        ClosedStream,
        BadPadding,
        ContinuationExpected,
        ContinuationUnexpected,
        Pushed,
        BadSetting,
        WindowSetting,
        UnaskedAcknowledgement,
        ZeroIncrement,
        WindowOverflow,
        WindowExceeded,
        Compression(HpackError::BadHuffman),
        BlockTooLarge,
        Flood,
        LastStreamRaised,
        Truncated,
    ];
    let mut rules: Vec<&str> = all.iter().map(|error| error.rule().wrong).collect();
    assert!(all.iter().all(|error| error.rule().section.starts_with("RFC ")));
    rules.sort_unstable();
    rules.dedup();
    assert_eq!(rules.len(), all.len());
}

/// The words of a GOAWAY are kept as far as they fit, in however many pieces they come.
#[test]
fn the_words_of_a_goaway_are_kept() {
    let long = "é".repeat(9000);
    for (words, shown) in [
        ("", String::new()),
        ("too_many_pings", ": too_many_pings".to_owned()),
        (long.as_str(), format!(": {}…", "é".repeat(128))),
    ] {
        let mut payload = vec![0, 0, 0, 1, 0, 0, 0, 11];
        payload.extend_from_slice(words.as_bytes());
        payload.truncate(16_000);
        let bytes = frame(GOAWAY, 0, 0, &payload);
        for piece in [1, 7, bytes.len()] {
            let mut scene = Scene::asking(1);
            for piece in bytes.chunks(piece) {
                scene.receive(piece).expect("the connection goes on");
            }
            let detail = scene.connection.detail_of_goaway().to_string();
            assert_eq!(detail, format!("GOAWAY with ENHANCE_YOUR_CALM (0xb), sent by the server{shown}"));
            // The frame is read to its end.
            assert!(scene.receive(&[ok(1), data(1, END, b"x")].concat()).is_ok());
        }
    }
}
