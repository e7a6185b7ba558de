//! Replies of servers that behave.

use crate::scene::*;
use farfield_http::http2::{Limits, Settings};

#[test]
fn a_reply_is_a_head_a_body_and_its_end() {
    let mut scene = Scene::asking(1);
    let head = headers(1, 0, &[(":status", "200"), ("content-length", "5"), ("x-a", "b")]);
    assert_eq!(scene.receive(&head).as_deref(), Ok(["1 head 200 length=5".to_owned()].as_slice()));
    let fields: Vec<_> = scene.heads.fields().collect();
    assert_eq!(fields, [(b"content-length".as_slice(), b"5".as_slice()), (b"x-a", b"b")]);
    let body = [data(1, 0, b"he"), data(1, 0, b""), data(1, END, b"llo")].concat();
    let events = scene.receive(&body).expect("a sound server");
    assert_eq!(events, ["1 body he", "1 body llo", "1 done 200 5 bytes"]);
    assert_eq!((scene.connection.streams(), scene.sent()), (0, vec![]));
    assert_eq!(scene.connection.finish(), Ok(()));
}

#[test]
fn replies_are_matched_by_stream_in_any_order() {
    let mut scene = Scene::asking(3);
    let bytes = [
        headers(5, 0, &[(":status", "200")]),
        headers(1, END, &[(":status", "304"), ("content-length", "9")]),
        data(5, 0, b"five"),
        headers(3, 0, &[(":status", "404"), ("set-cookie", "a=b")]),
        data(5, END, b""),
        data(3, END, b"three"),
    ];
    let events = scene.receive(&bytes.concat()).expect("a sound server");
    let expected = [
        "5 head 200",
        "1 head 304 length=9",
        "1 done 304 0 bytes",
        "5 body four",
        "3 head 404 cookie",
        "5 done 200 4 bytes",
        "3 body three",
        "3 done 404 5 bytes",
    ];
    assert_eq!(events, expected.map(|line| line.replace("four", "five")));
}

#[test]
fn interim_heads_padding_priority_and_trailers_are_read() {
    let mut scene = Scene::asking(1);
    let mut padded = vec![3, 0x80, 0, 0, 7, 15];
    padded.extend(block(&[(":status", "200")]));
    padded.extend([0, 0, 0]);
    let bytes = [
        headers(1, 0, &[(":status", "103"), ("link", "</a>")]),
        frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 16]),
        frame(PRIORITY, 0, 99, &[0, 0, 0, 0, 16]),
        frame(HEADERS, END_HEADERS | PADDED | WITH_PRIORITY, 1, &padded),
        frame(0xee, 0xff, 1, b"an extension"),
        frame(0xee, 0xff, 0, b""),
        data(1, PADDED, b"\x02hi\0\0"),
        data(1, PADDED, b"\x00"),
        headers(1, END, &[("x-sum", "1")]),
    ];
    let events = scene.receive(&bytes.concat()).expect("a sound server");
    assert_eq!(events, ["1 interim 103", "1 head 200", "1 body hi", "1 done 200 2 bytes"]);
}

#[test]
fn a_head_may_come_in_many_frames() {
    let mut scene = Scene::asking(1);
    let whole = block(&[(":status", "200"), ("x-a", "b")]);
    let (first, rest) = whole.split_at(4);
    let bytes = [
        frame(HEADERS, END, 1, first),
        frame(CONTINUATION, 0, 1, b""),
        frame(CONTINUATION, 0, 1, &rest[..5]),
        frame(CONTINUATION, END_HEADERS, 1, &rest[5..]),
    ];
    let events = scene.receive(&bytes.concat()).expect("a sound server");
    assert_eq!(events, ["1 head 200", "1 done 200 0 bytes"]);
}

#[test]
fn the_reply_to_head_has_no_body_whatever_its_length() {
    let mut scene = Scene::with(&Settings::default(), &[]);
    for _ in 0..2 {
        scene.ask(&farfield_http::http2::RequestHead { method: "HEAD", ..get() }, b"").expect("room");
    }
    let fields = [(":status", "200"), ("content-length", "1000")];
    let bytes = [headers(1, END, &fields), headers(3, 0, &fields), data(3, END, b"")].concat();
    let events = scene.receive(&bytes).expect("a sound server");
    let expected =
        ["1 head 200 length=1000", "1 done 200 0 bytes", "3 head 200 length=1000", "3 done 200 0 bytes"];
    assert_eq!(events, expected);
}

#[test]
fn settings_and_pings_are_acknowledged() {
    let mut scene = Scene::silent(&Settings::default());
    let begin =
        [settings(&[(0x77, 5)]), frame(SETTINGS, END, 0, b""), frame(PING, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 7])];
    assert_eq!(scene.receive(&begin.concat()), Ok(vec![]));
    assert_eq!(
        scene.to_send.split_off(24 + 9 + 30 + 13),
        [frame(SETTINGS, END, 0, b""), frame(PING, END, 0, &[0, 0, 0, 0, 0, 0, 0, 7])].concat()
    );
    assert!(scene.to_send.starts_with(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    assert_eq!(scene.receive(&frame(PING, END, 0, &[0; 8])), Ok(vec![]));
}

#[test]
fn a_server_that_goes_away_finishes_what_it_has_begun() {
    let mut scene = Scene::asking(4);
    let events = scene.receive(&[goaway(0x7fff_ffff, 0), goaway(3, 0)].concat()).expect("a sound server");
    assert_eq!(events, ["going away 0", "going away 0", "7 failed: Refused", "5 failed: Refused"]);
    assert!(scene.connection.is_closing() && scene.connection.room() == 0);
    assert!(scene.ask(&get(), b"").is_err());
    // Frames on the others that it sends nevertheless are let pass.
    let bytes =
        [headers(5, END, &[(":status", "200")]), headers(3, END, &[(":status", "200")]), rst_stream(1, 7)];
    let events = scene.receive(&bytes.concat()).expect("a sound server");
    assert_eq!(events, ["3 head 200", "3 done 200 0 bytes", "1 failed: Refused"]);
    assert_eq!(scene.sent(), [""; 0]);
}

#[test]
fn what_was_answered_is_not_refused_even_by_goaway() {
    let mut scene = Scene::asking(2);
    let bytes = [headers(3, 0, &[(":status", "200")]), goaway(0, 0)].concat();
    let events = scene.receive(&bytes).expect("a sound server");
    let expected =
        ["3 head 200", "going away 0", "3 failed after 200: Reset(ErrorCode(7))", "1 failed: Refused"];
    assert_eq!(events, expected);
}

#[test]
fn streams_that_the_server_resets_fail_alone() {
    let mut scene = Scene::asking(4);
    let bytes = [
        rst_stream(1, 7),
        headers(3, 0, &[(":status", "200")]),
        rst_stream(3, 7),
        rst_stream(3, 2),
        window_update(3, 5),
        rst_stream(5, 13),
        headers(7, END, &[(":status", "200")]),
        rst_stream(7, 0),
    ];
    let events = scene.receive(&bytes.concat()).expect("a sound server");
    let expected = [
        "1 failed: Refused",
        "3 head 200",
        // It has answered, so it has processed the request.
        "3 failed after 200: Reset(ErrorCode(7))",
        "5 failed: Reset(ErrorCode(13))",
        "7 head 200",
        "7 done 200 0 bytes",
    ];
    assert_eq!(events, expected);
    assert_eq!(scene.connection.room(), u32::MAX as usize);
}

#[test]
fn what_comes_on_a_stream_that_was_given_up_is_let_pass() {
    let mut scene = Scene::asking(100);
    // A field that goes into the table must not be missed.
    let insert = frame(HEADERS, END_HEADERS, 1, b"\x88\x40\x01a\x01b");
    let named = |stream| frame(HEADERS, END_HEADERS, stream, b"\x88\xbe");
    let first = scene.receive(&[named(199)].concat());
    assert!(first.is_err(), "there is no such entry yet");

    let mut scene = Scene::asking(100);
    assert_eq!(
        scene.receive(&[insert.as_slice(), &data(1, 0, b"ab")[..10]].concat()).map(|all| all.len()),
        Ok(2)
    );
    let streams: Vec<_> = (0..99).map(|at| 1 + 2 * at).collect();
    let one = scene.connection.reading().expect("a frame of stream 1");
    assert_eq!(one.number(), 1);
    scene.connection.cancel(one, &mut scene.to_send);
    scene.connection.cancel(one, &mut scene.to_send);
    assert_eq!(scene.sent(), ["1 reset 8"]);
    assert_eq!(scene.receive(b"b"), Ok(vec![]));
    assert_eq!(scene.receive(&data(1, END, b"more")), Ok(vec![]));
    // Many are given up because of what came on them, more than are remembered one by one.
    for stream in &streams[1..] {
        let events = scene.receive(&data(*stream, 0, b"no head")).expect("the connection goes on");
        assert_eq!(events, [format!("{stream} failed: DataFirst")]);
    }
    for stream in &streams {
        let late = [named(*stream), data(*stream, 0, b"late"), rst_stream(*stream, 1)].concat();
        assert_eq!(scene.receive(&late), Ok(vec![]), "{stream}");
    }
    assert_eq!(scene.receive(&named(199)), Ok(vec!["199 head 200".to_owned()]));
    assert_eq!(scene.heads.fields().collect::<Vec<_>>(), [(b"a".as_slice(), b"b".as_slice())]);
}

#[test]
fn the_end_of_the_connection_is_known_for_what_it_is() {
    use farfield_http::http2::ConnectionError::{NotHttp2, Truncated};
    assert_eq!(Scene::silent(&Settings::default()).connection.finish(), Err(NotHttp2));
    assert_eq!(Scene::with(&Settings::default(), &[]).connection.finish(), Ok(()));
    assert_eq!(Scene::asking(1).connection.finish(), Err(Truncated));
    let ping = frame(PING, 0, 0, &[0; 8]);
    for cut in 1..ping.len() {
        let mut scene = Scene::asking(0);
        assert_eq!(scene.receive(&ping[..cut]), Ok(vec![]));
        assert_eq!(scene.connection.finish(), Err(Truncated), "{cut}");
    }
}

/// A block's meaning may depend on the table, on the limits, and on where it stands.
#[test]
fn equal_blocks_are_not_taken_for_each_other() {
    let mut scene = Scene::asking(8);
    let named = |stream| frame(HEADERS, END_HEADERS, stream, b"\x88\xbe");
    let insert = |stream, value: u8| frame(HEADERS, END_HEADERS, stream, &[0x88, 0x40, 1, b'a', 1, value]);
    let plain = |stream| headers(stream, 0, &[(":status", "200"), ("a", "plain")]);
    for (bytes, value) in [
        (insert(1, b'1'), "1"),
        (named(3), "1"),
        (plain(5), "plain"),
        (insert(7, b'2'), "2"),
        (named(9), "2"),
        (plain(11), "plain"),
        (plain(13), "plain"),
    ] {
        assert_eq!(scene.receive(&bytes).map(|events| events.len()), Ok(1));
        assert_eq!(scene.heads.fields().collect::<Vec<_>>(), [(b"a".as_slice(), value.as_bytes())]);
    }
    // As trailers, on the stream of the last head, it is malformed.
    let events = scene.receive(&[&plain(13)[..4], &[END | END_HEADERS], &plain(13)[5..]].concat());
    assert_eq!(events, Ok(vec!["13 failed after 200: Malformed(BadHead)".to_owned()]));
    assert_eq!(scene.receive(&plain(15)), Ok(vec!["15 head 200".to_owned()]));
    // Another connection, whose table is to shrink first or whose limits are lower.
    let own = Settings { header_table_bytes: 0, ..Settings::default() };
    let few = Limits { head_fields: 0, ..Limits::default() };
    for own in [own, Settings { limits: few, ..Settings::default() }] {
        let mut other = Scene::with(&own, &[]);
        other.heads = std::mem::take(&mut scene.heads);
        other.ask(&get(), b"").expect("room");
        let events = other.receive(&plain(1));
        match own.header_table_bytes {
            0 => assert!(events.is_err()),
            _ => assert_eq!(events, Ok(vec!["1 failed: Malformed(HeadTooLarge)".to_owned()])),
        }
        // The block is known again for the next.
        let mut warm = Scene { heads: other.heads, ..Scene::asking(1) };
        assert_eq!(warm.receive(&plain(1)), Ok(vec!["1 head 200".to_owned()]));
        scene.heads = warm.heads;
    }
}
