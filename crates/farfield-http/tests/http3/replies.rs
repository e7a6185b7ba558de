//! Replies as a request's stream has them: what each makes, and what is wrong with those that make nothing.

use farfield_http::http3::qpack::{self, Literal};
use farfield_http::http3::{Answering, ConnectionError, Limits, Malformed, Reply, ReplyError, StreamError};
use farfield_testkit::properties::http3_replies::{ReplyRead, read};

/// A frame with a length of one byte or four.
pub fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u32;
    let length = if length < 64 { vec![length as u8] } else { (length | 0x8000_0000).to_be_bytes().to_vec() };
    [&[kind], &*length, payload].concat()
}

/// A HEADERS frame.
pub fn head(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut section = Vec::new();
    qpack::begin(&mut section);
    for (name, value) in fields {
        qpack::encode(Literal::Insertable, name.as_bytes(), value.as_bytes(), &mut section);
    }
    frame(1, &section)
}

pub fn data(body: &[u8]) -> Vec<u8> {
    frame(0, body)
}

/// The reading of the stream, which is equal however it is cut.
fn made_of(stream: &[u8], answering: Answering, limits: &Limits) -> ReplyRead {
    let whole = read(&[stream], answering, limits);
    for cut in 0..=stream.len() {
        assert_eq!(whole, read(&[&stream[..cut], &stream[cut..]], answering, limits), "cut at {cut}");
    }
    assert_eq!(whole, read(&stream.chunks(1).collect::<Vec<_>>(), answering, limits), "byte by byte");
    whole
}

fn made(frames: &[Vec<u8>]) -> ReplyRead {
    made_of(&frames.concat(), Answering::Other, &Limits::default())
}

fn wrong(frames: &[Vec<u8>]) -> ReplyError {
    made(frames).end.expect_err("something is wrong")
}

const OK: (&str, &str) = (":status", "200");

#[test]
fn a_reply_has_a_head_a_body_and_perhaps_trailers() {
    let frames = [
        head(&[(":status", "103"), ("link", "</a.css>")]),
        head(&[OK, ("content-length", "7"), ("x-own", "yes")]),
        data(b"hel"),
        // Reserved frames may come between (RFC 9114, 7.2.8), and empty ones of DATA.
        frame(0x21, b"grease"),
        data(b""),
        data(b"lo, "),
        head(&[("x-checksum", "1")]),
    ];
    let read = made(&frames);
    assert_eq!((&read.statuses[..], &read.body[..]), (&[103, 200][..], &b"hello, "[..]));
    assert!(read.fields.contains(&(b"x-own".to_vec(), b"yes".to_vec())));
    let reply_bytes = frames.concat().len() as u64;
    assert_eq!(read.end, Ok(Reply { status: 200, persistent: true, body_bytes: 7, reply_bytes }));
}

#[test]
fn replies_without_a_body_have_none_whatever_they_say_of_its_length() {
    let stream = head(&[OK, ("content-length", "7")]);
    let read = made_of(&stream, Answering::Head, &Limits::default());
    assert_eq!(read.end.map(|reply| reply.body_bytes), Ok(0));
    for status in ["204", "304"] {
        let read = made(&[head(&[(":status", status), ("content-length", "7")])]);
        assert_eq!(read.end.map(|reply| reply.body_bytes), Ok(0), "{status}");
    }
    let with_body = [stream, data(b"x")].concat();
    let read = made_of(&with_body, Answering::Head, &Limits::default());
    assert_eq!(read.end, Err(ReplyError::Stream(StreamError::Malformed(Malformed::BadLength))));
}

#[test]
fn malformed_replies_fail_alone() {
    let malformed = |malformed| ReplyError::Stream(StreamError::Malformed(malformed));
    let cases: [(&[Vec<u8>], Malformed); 8] = [
        (&[head(&[OK, ("content-length", "2")]), data(b"x")], Malformed::Truncated),
        (&[head(&[OK, ("content-length", "2")]), data(b"xyz")], Malformed::BadLength),
        (&[head(&[OK, ("content-length", "many")])], Malformed::BadLength),
        (&[head(&[("x", "y")])], Malformed::BadHead),
        (&[head(&[(":status", "101")])], Malformed::BadHead),
        (&[head(&[OK, ("Upper", "y")])], Malformed::BadHead),
        (&[head(&[OK, ("transfer-encoding", "chunked")])], Malformed::BadHead),
        (&[head(&[OK]), data(b"x"), head(&[OK])], Malformed::BadHead),
    ];
    for (frames, expected) in cases {
        assert_eq!(wrong(frames), malformed(expected), "{frames:?}");
    }
    assert_eq!(StreamError::Malformed(Malformed::BadHead).code().0, 0x10e);
    assert_eq!(wrong(&[]), ReplyError::Stream(StreamError::Unanswered));
    assert_eq!(wrong(&[head(&[(":status", "103")])]), ReplyError::Stream(StreamError::Unanswered));
}

#[test]
fn limits_hold_for_heads_bodies_and_what_is_passed_over() {
    let limits = Limits { head_bytes: 100, body_bytes: 10, ..Limits::default() };
    let end = |frames: &[Vec<u8>]| made_of(&frames.concat(), Answering::Other, &limits).end;
    let too_large = |malformed| Err(ReplyError::Stream(StreamError::Malformed(malformed)));
    let long = "x".repeat(100);
    // By its length alone: nothing of it need come.
    assert_eq!(end(&[vec![1, 0x40, 101]]), too_large(Malformed::HeadTooLarge));
    assert_eq!(end(&[head(&[OK, ("long", &long)])]), too_large(Malformed::HeadTooLarge));
    let interim = || head(&[(":status", "103"), ("x", "0123456789abcdefgh")]);
    assert_eq!(
        end(&[interim(), interim(), interim(), interim(), interim()]),
        too_large(Malformed::HeadTooLarge)
    );
    assert_eq!(end(&[head(&[OK]), data(&[0; 10])]).map(|reply| reply.body_bytes), Ok(10));
    assert_eq!(end(&[head(&[OK]), data(&[0; 11])]), too_large(Malformed::BodyTooLarge));
    assert_eq!(end(&[frame(0x21, &[0; 101])]), Err(ReplyError::Connection(ConnectionError::Flood)));
    assert_eq!(ConnectionError::Flood.code().0, 0x107);
}

#[test]
fn frames_that_lead_to_nothing_are_a_flood() {
    let stream = [head(&[OK]), data(b"").repeat(10_001)].concat();
    let limits = Limits { head_bytes: 1 << 20, ..Limits::default() };
    let end = read(&[&stream], Answering::Other, &limits).end;
    assert_eq!(end, Err(ReplyError::Connection(ConnectionError::Flood)));
}

#[test]
fn errors_of_the_connection_have_their_codes() {
    let cases: [(&[Vec<u8>], u64); 14] = [
        // H3_FRAME_UNEXPECTED: DATA first, anything but unknown frames behind trailers, and others' frames.
        (&[data(b"x")], 0x105),
        (&[head(&[OK]), head(&[("x", "y")]), data(b"x")], 0x105),
        (&[head(&[OK]), head(&[("x", "y")]), head(&[("x", "y")])], 0x105),
        (&[frame(3, &[0])], 0x105),
        (&[frame(4, &[])], 0x105),
        (&[frame(7, &[0])], 0x105),
        (&[frame(13, &[0])], 0x105),
        (&[frame(2, &[0])], 0x105),
        (&[frame(8, &[0])], 0x105),
        // H3_ID_ERROR: a push, none of which was allowed.
        (&[frame(5, &[0, 0, 0])], 0x108),
        // H3_FRAME_ERROR: the stream ends in a frame.
        (&[vec![1]], 0x106),
        (&[head(&[OK]), vec![0, 2, b'x']], 0x106),
        // QPACK_DECOMPRESSION_FAILED: half a section, and a reference to the dynamic table.
        (&[frame(1, &[0])], 0x200),
        (&[frame(1, &[2, 0, 0x80])], 0x200),
    ];
    for (frames, code) in cases {
        match wrong(frames) {
            ReplyError::Connection(error) => assert_eq!(error.code().0, code, "{frames:?}: {error}"),
            ReplyError::Stream(error) => panic!("{frames:?}: {error}"),
        }
    }
}
