//! HTTP/2 in cleartext on one connection: frames however they are cut, streams, and what is missing or
//! damaged.

mod scene;

use farfield_capture::{Capture, Side, TransactionState};
use farfield_wire::TcpFlags;
use scene::{CLIENT, GET, SERVER, Scene, at, outcomes};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const COMPLETE: TransactionState = TransactionState::Complete;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u32).to_be_bytes();
    let header = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&header, content].concat()
}

/// Fields as literals that are kept (RFC 7541 section 6.2.1), each with its own name.
fn fields(fields: &[(&str, &str)]) -> Vec<u8> {
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    fields.iter().flat_map(|(name, value)| [vec![0x40], text(name), text(value)].concat()).collect()
}

/// A request for `path` without a body.
fn get(stream: u32, path: &str) -> Vec<u8> {
    let block = fields(&[(":method", "GET"), (":path", path)]);
    frame(HEADERS, END_STREAM | END_HEADERS, stream, &block)
}

/// A reply of 200 with so many bytes, in two frames of DATA.
fn reply(stream: u32, bytes: usize) -> Vec<u8> {
    let head = frame(HEADERS, END_HEADERS, stream, &[0x88]);
    let body = |flags, bytes| frame(DATA, flags, stream, &vec![b'x'; bytes]);
    [head, body(0, bytes / 2), body(END_STREAM, bytes - bytes / 2)].concat()
}

/// Bytes of such a reply, with its frames.
fn reply_bytes(bytes: u64) -> u64 {
    3 * 9 + 1 + bytes
}

/// A connection on which both ends have said that they speak HTTP/2.
fn begun() -> Scene {
    let mut scene = Scene::open();
    scene.say(CLIENT, &[PREFACE, &frame(SETTINGS, 0, 0, b"")].concat());
    scene.say(SERVER, &frame(SETTINGS, 0, 0, b""));
    scene
}

fn targets(capture: &Capture) -> Vec<&str> {
    capture.transactions.iter().map(|transaction| transaction.target.as_str()).collect()
}

/// Three streams whose replies come interleaved and out of order, with padding, priority, trailers, interim
/// replies and continued blocks, in packets of any size.
#[test]
fn streams_are_kept_apart_however_they_are_cut() {
    // Priority and padding around a block.
    let block = fields(&[(":method", "GET"), (":path", "/padded")]);
    let padded = [&[3][..], &[0, 0, 0, 0, 9], &block, &[0; 3]].concat();
    let asked = [
        PREFACE.to_vec(),
        frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 100]),
        get(1, "/first"),
        frame(HEADERS, 0x20 | 8 | END_STREAM | END_HEADERS, 3, &padded),
        // The first request's fields are in the table now: 62 is the newest.
        frame(HEADERS, 0, 5, &[0xbf]),
        frame(CONTINUATION, END_HEADERS, 5, &fields(&[(":path", "/body")])),
        frame(DATA, 0, 5, b"hello"),
        frame(HEADERS, END_STREAM | END_HEADERS, 5, &fields(&[("trailer", "x")])),
        frame(8, 0, 0, &[0, 0, 1, 0]),
    ]
    .concat();
    let answered = [
        frame(SETTINGS, 0, 0, b""),
        frame(SETTINGS, 1, 0, b""),
        frame(PUSH_PROMISE, END_HEADERS, 1, &[&[0, 0, 0, 2][..], &fields(&[("a", "b")])].concat()),
        frame(HEADERS, END_HEADERS, 3, &fields(&[(":status", "103")])),
        reply(3, 10),
        frame(HEADERS, END_HEADERS, 1, &fields(&[(":status", "404")])),
        frame(DATA, 8, 5, b""),
        reply(5, 1000),
        frame(DATA, 8 | END_STREAM, 1, &[2, b'n', b'o', 0, 0]),
    ];
    // A padded frame without content breaks the protocol; it is of no matter here.
    let answered = [&answered[..6], &answered[7..]].concat().concat();
    for mss in [1, 2, 3, 7, 100, 100_000] {
        let mut scene = Scene::open();
        // The preface comes in one packet, as it does from clients.
        let (preface, rest) = asked.split_at(PREFACE.len());
        scene.say(CLIENT, preface);
        rest.chunks(mss).for_each(|chunk| _ = scene.say(CLIENT, chunk));
        answered.chunks(mss).for_each(|chunk| _ = scene.say(SERVER, chunk));
        scene.close();
        let capture = scene.rebuilt();
        assert_eq!(targets(&capture), ["/first", "/padded", "/body"], "in packets of {mss}");
        let interim = 9 + fields(&[(":status", "103")]).len() as u64;
        let first = 9 + fields(&[(":status", "404")]).len() as u64 + 9 + 5;
        let expected = [
            (COMPLETE, 404, 2, first),
            (COMPLETE, 200, 10, interim + reply_bytes(10)),
            (COMPLETE, 200, 1000, reply_bytes(1000)),
        ];
        assert_eq!(outcomes(&capture), expected, "in packets of {mss}");
        assert!(capture.transactions.iter().map(|own| own.number).eq(0..3));
        assert!(capture.transactions.iter().all(|own| own.method == "GET"));
        assert_eq!(capture.connections[0].requests, 3);
    }
}

#[test]
fn instants_are_those_of_first_and_last_bytes() {
    let mut scene = begun();
    let ask = get(1, "/");
    let answer = reply(1, 100);
    // 6 and 7: the request. 8: the head; 9: the first half of the body, and 10 the rest.
    scene.say(CLIENT, &ask[..4]).say(CLIENT, &ask[4..]);
    scene.say(SERVER, &answer[..10]).say(SERVER, &answer[10..60]).say(SERVER, &answer[60..]);
    scene.say(CLIENT, &get(3, "/next")).say(SERVER, &reply(3, 1));
    let capture = scene.rebuilt();
    let first = &capture.transactions[0];
    assert_eq!((first.request_first, first.request_last), (at(6), at(7)));
    assert_eq!((first.reply_first, first.reply_last), (Some(at(8)), Some(at(10))));
    assert!(!first.pipelined && !capture.transactions[1].pipelined);
}

#[test]
fn what_ends_early() {
    let ended = |said: &[u8]| {
        let mut scene = begun();
        scene.say(CLIENT, &[get(1, "/a"), get(3, "/b")].concat()).say(SERVER, said);
        scene.send(SERVER, TcpFlags(0x11), b"").ack(CLIENT);
        outcomes(&scene.rebuilt())
    };
    let unanswered = (TransactionState::Unanswered, 0, 0, 0);
    assert_eq!(ended(&reply(3, 5)), [unanswered, (COMPLETE, 200, 5, reply_bytes(5))]);
    assert_eq!(ended(&reply(1, 8)[..23]), [(TransactionState::Truncated, 200, 4, 23), unanswered]);
    let refused = frame(RST_STREAM, 0, 3, &[0, 0, 0, 7]);
    assert_eq!(ended(&[refused, reply(1, 2)].concat()), [(COMPLETE, 200, 2, reply_bytes(2)), unanswered]);
    // The server takes no more: the client knows from the packet at 7 on.
    let mut scene = begun();
    scene.say(CLIENT, &get(1, "/a")).say(SERVER, &frame(7, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0]));
    scene.say(SERVER, &reply(1, 3));
    let capture = scene.rebuilt();
    assert_eq!(capture.connections[0].going_away, Some(at(7)));
    assert_eq!(outcomes(&capture), [(COMPLETE, 200, 3, reply_bytes(3))]);
    // The server speaks first, and to a client that gives up.
    let mut scene = Scene::open();
    scene.say(SERVER, &frame(SETTINGS, 0, 0, b"")).say(CLIENT, &[PREFACE, &get(1, "/")].concat());
    scene.say(SERVER, &reply(1, 8)[..20]).say(CLIENT, &frame(RST_STREAM, 0, 1, &[0, 0, 0, 8]));
    assert_eq!(outcomes(&scene.rebuilt()), [(TransactionState::Truncated, 200, 1, 20)]);
}

/// Within a body bytes may be missing; elsewhere nothing behind them is read.
#[test]
fn missing_bytes_are_lossy() {
    let behind = |unseen: &[u8], seen: &[u8]| {
        let mut scene = begun();
        scene.say(CLIENT, &[get(1, "/a"), get(3, "/b")].concat());
        scene.unseen(SERVER, unseen).say(SERVER, seen).ack(CLIENT);
        scene.say(CLIENT, &get(5, "/c")).say(SERVER, &reply(5, 1)).close();
        outcomes(&scene.rebuilt()).into_iter().map(|(state, ..)| state).collect::<Vec<_>>()
    };
    let lossy = TransactionState::Lossy;
    let whole = [reply(1, 100), reply(3, 4)].concat();
    assert_eq!(behind(&whole[..0], &whole), [COMPLETE; 3]);
    assert_eq!(behind(&whole[..12], &whole[12..]), [lossy; 3]);
    let mut scene = begun();
    scene.say(CLIENT, &[get(1, "/a"), get(3, "/b")].concat());
    scene.say(SERVER, &whole[..20]).unseen(SERVER, &whole[20..40]).say(SERVER, &whole[40..]).ack(CLIENT);
    scene.close();
    let found = outcomes(&scene.rebuilt());
    assert_eq!(found, [(lossy, 200, 100, reply_bytes(100)), (COMPLETE, 200, 4, reply_bytes(4))]);
    // The client's request is not known behind a hole of its own.
    let mut scene = begun();
    scene.unseen(CLIENT, &get(1, "/a")).say(CLIENT, &get(3, "/b")).say(SERVER, &reply(1, 1)).ack(CLIENT);
    let capture = scene.close().rebuilt();
    assert!(capture.transactions.is_empty() && capture.connections[0].client_side.missing_bytes > 0);
}

#[test]
fn what_is_damaged_is_no_http() {
    let not_http = |asked: &[u8], answered: &[u8]| {
        let mut scene = begun();
        scene.say(CLIENT, asked).say(SERVER, answered).say(CLIENT, &get(9, "/more"));
        outcomes(&scene.rebuilt())
    };
    let expected = [(TransactionState::NotHttp, 0, 0, 0)];
    // A block that refers to nothing; a frame within a block; a reply that cannot be read.
    assert_eq!(not_http(&frame(HEADERS, 5, 1, &[0xff, 0x20]), b""), expected);
    let open = frame(HEADERS, END_STREAM, 1, &fields(&[(":method", "GET")]));
    assert_eq!(not_http(&[open, get(3, "/")].concat(), b""), expected);
    assert_eq!(not_http(&get(1, "/"), &frame(HEADERS, 4, 1, &[0xbe, 0xbe])), expected);
    // A preface that is none.
    let mut scene = Scene::open();
    scene.say(CLIENT, b"PRI * HTTP/2.0\r\n\r\nSM\r\n").say(CLIENT, b"xx").say(CLIENT, GET);
    assert_eq!(outcomes(&scene.rebuilt()), expected);
}

/// Bytes at random, in both directions, behind a beginning that is right.
#[test]
fn anything_may_come() {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    for _ in 0..300 {
        let mut scene = begun();
        for _ in 0..20 {
            let from = if random() & 1 == 0 { Side::Client } else { Side::Server };
            let (kind, flags, stream) = (random() % 10, random(), u32::from(random() % 8));
            let content: Vec<u8> = (0..random() % 40).map(|_| random()).collect();
            let mut bytes = frame(kind, flags, stream, &content);
            let cut = usize::from(random()) % (bytes.len() + 1);
            if random() % 4 == 0 {
                bytes.truncate(cut);
            }
            if random() % 16 == 0 {
                scene.unseen(from, &bytes);
            } else if !bytes.is_empty() {
                scene.say(from, &bytes);
            }
        }
        let capture = scene.close().rebuilt();
        assert_eq!(capture.connections[0].requests as usize, capture.transactions.len());
    }
}
