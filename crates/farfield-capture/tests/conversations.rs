//! HTTP/1 on one connection: framing, pipelining, and what is no HTTP.

mod scene;

use farfield_capture::{Options, TransactionState, UnixNs, read};
use farfield_wire::TcpFlags;
use scene::{CLIENT, GET, SERVER, Scene, at, file, only, outcomes, rebuilt, reply};

const COMPLETE: TransactionState = TransactionState::Complete;

/// Transactions rebuilt of requests and replies that take turns, each in packets of `mss` bytes.
fn exchanged(turns: &[(&[u8], &[u8])], mss: usize) -> Vec<(TransactionState, u16, u64, u64)> {
    let mut scene = Scene::open();
    for (request, reply) in turns {
        request.chunks(mss).for_each(|chunk| _ = scene.say(CLIENT, chunk));
        reply.chunks(mss).for_each(|chunk| _ = scene.say(SERVER, chunk));
    }
    scene.send(SERVER, TcpFlags(0x11), b"").send(CLIENT, TcpFlags(0x11), b"").ack(SERVER);
    let capture = scene.rebuilt();
    assert_eq!(capture.connections[0].requests as usize, capture.transactions.len());
    let numbers = capture.transactions.iter().map(|it| it.number);
    assert!(numbers.eq(0..capture.transactions.len() as u32));
    outcomes(&capture)
}

#[test]
fn each_framing_delimits_its_reply_however_it_is_cut() {
    const HEAD: &[u8] = b"HEAD / HTTP/1.1\r\n\r\n";
    const CONTINUED: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n";
    const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                             5\r\nhello\r\n10;x=y\r\n0123456789abcdef\r\n0\r\nTrailer: 1\r\n\r\n";
    let post = b"POST /p HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nGET\r\n0\r\n\r\n";
    let put = b"PUT /p HTTP/1.1\r\nContent-Length: 12\r\n\r\nHTTP/1.1 200";
    let no_body = b"HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n";
    let not_modified = b"HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\n\r\n";
    let no_content = b"HTTP/1.1 204 No Content\r\n\r\n";
    let continued = [CONTINUED, &reply(4)].concat();
    let to_close = b"HTTP/1.0 404 Not Found\r\nContent-Type: x\r\n\r\nnothing here";
    let turns: [(&[u8], &[u8]); 8] = [
        (HEAD, no_body),
        (GET, not_modified),
        (post, CHUNKED),
        (put, no_content),
        (GET, &continued),
        (b"\r\nGET / HTTP/1.1\n\n", b"HTTP/1.1 200\nContent-Length: 0\n\n"),
        (GET, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n0\r\n\r\n"),
        (GET, to_close),
    ];
    let lengths = turns.map(|(_, reply)| reply.len() as u64);
    let expected = [(200, 0), (304, 0), (200, 21), (204, 0), (200, 4), (200, 0), (200, 0), (404, 12)];
    let expected: Vec<_> =
        expected.iter().zip(lengths).map(|(&(status, body), all)| (COMPLETE, status, body, all)).collect();
    for mss in [1, 2, 3, 7, 100, 10_000] {
        assert_eq!(exchanged(&turns, mss), expected, "in packets of {mss}");
    }
}

/// An interim reply is no first byte; a reply that the connection's end delimits ends with the FIN.
#[test]
fn instants_of_interim_replies_and_of_ends_that_delimit() {
    let mut scene = Scene::open();
    scene.say(CLIENT, GET).say(SERVER, b"HTTP/1.1 100 Continue\r\n\r\n");
    scene.say(SERVER, b"HTTP/1.1 200 OK\r\n").say(SERVER, b"\r\nbody").ack(CLIENT);
    scene.pass(1_000_000).send(SERVER, TcpFlags(0x11), b"").ack(CLIENT);
    let capture = scene.rebuilt();
    let transaction = &capture.transactions[0];
    assert_eq!((transaction.reply_first, transaction.reply_last), (Some(at(6)), Some(UnixNs(1_009_000))));
    assert_eq!(outcomes(&capture), [(COMPLETE, 200, 4, 25 + 23)]);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let mut scene = Scene::open();
    let three = b"GET /0 HTTP/1.1\r\n\r\nGET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n";
    scene.say(CLIENT, &three[..30]).say(CLIENT, &three[30..]);
    scene.say(SERVER, &[reply(1), reply(2)].concat()).say(SERVER, &reply(3)).ack(CLIENT);
    scene.say(CLIENT, b"GET /3 HTTP/1.1\r\n\r\n").say(SERVER, &reply(4));
    let capture = scene.rebuilt();
    let of = |it: &farfield_capture::Transaction| (it.target.clone(), it.body_bytes, it.pipelined);
    let expected = [("/0", 1, false), ("/1", 2, true), ("/2", 3, true), ("/3", 4, false)];
    let expected = expected.map(|(target, body, pipelined)| (target.to_owned(), body, pipelined));
    assert_eq!(capture.transactions.iter().map(of).collect::<Vec<_>>(), expected);
    let second = &capture.transactions[1];
    assert_eq!((second.request_first, second.request_last), (at(4), at(5)));
}

#[test]
fn what_is_not_answered_or_not_whole() {
    // The server closes without a word, then inside a head, then inside a body.
    let ended = |said: &[u8]| {
        let mut scene = Scene::open();
        scene.say(CLIENT, GET).say(SERVER, said).send(SERVER, TcpFlags(0x11), b"").ack(CLIENT);
        outcomes(&scene.rebuilt())
    };
    assert_eq!(ended(b""), [(TransactionState::Unanswered, 0, 0, 0)]);
    assert_eq!(ended(b"HTTP/1.1 200"), [(TransactionState::Truncated, 0, 0, 12)]);
    assert_eq!(ended(&reply(9)[..40]), [(TransactionState::Truncated, 200, 2, 40)]);
    assert_eq!(ended(b"HTTP/1.1 100 Continue\r\n\r\n"), [(TransactionState::Unanswered, 0, 0, 25)]);
    // The capture ends inside of the request.
    let mut scene = Scene::open();
    scene.say(CLIENT, &GET[..9]);
    assert_eq!(outcomes(&scene.rebuilt()), [(TransactionState::Truncated, 0, 0, 0)]);
    // An answer before the end of the request, which is then whole.
    let mut scene = Scene::open();
    scene.say(CLIENT, b"POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nab").say(SERVER, &reply(1));
    scene.say(CLIENT, b"cd").say(CLIENT, GET).say(SERVER, &reply(2));
    assert_eq!(outcomes(&scene.rebuilt()), [(COMPLETE, 200, 1, 39), (COMPLETE, 200, 2, 40)]);
}

/// A final status in place of content that waits for the server's word (RFC 9110, section 10.1.1) ends the
/// request; content that has come, in part or whole, is of it.
#[test]
fn a_final_status_takes_the_place_of_content_that_waits() {
    const WAITS: &[u8] = b"POST / HTTP/1.1\r\nexpect:  100-Continue\r\nContent-Length: 4\r\n\r\n";
    const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
    let mut scene = Scene::open();
    scene.say(CLIENT, WAITS).say(SERVER, &reply(1)).ack(CLIENT);
    assert_eq!(outcomes(&scene.rebuilt()), [(COMPLETE, 200, 1, 39)]);
    // The word has come, and so does the content.
    let mut scene = Scene::open();
    scene.say(CLIENT, WAITS).say(SERVER, CONTINUE).say(CLIENT, b"abcd").say(SERVER, &reply(1));
    scene.say(CLIENT, GET).say(SERVER, &reply(2));
    assert_eq!(outcomes(&scene.rebuilt()), [(COMPLETE, 200, 1, 39 + 25), (COMPLETE, 200, 2, 40)]);
    // The client sends its content all the same, and goes on.
    let mut scene = Scene::open();
    scene
        .say(CLIENT, WAITS)
        .say(SERVER, &reply(1))
        .say(CLIENT, b"abcd")
        .say(CLIENT, GET)
        .say(SERVER, &reply(2));
    assert_eq!(outcomes(&scene.rebuilt()), [(COMPLETE, 200, 1, 39), (COMPLETE, 200, 2, 40)]);
    // Part of the content, and nobody who waits, are no whole requests.
    for (head, more) in [(WAITS, &b"ab"[..]), (&b"POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\n"[..], b"")] {
        let mut scene = Scene::open();
        scene.say(CLIENT, head).say(CLIENT, more).say(SERVER, &reply(1)).ack(CLIENT);
        assert_eq!(outcomes(&scene.rebuilt())[0].0, TransactionState::Truncated);
    }
}

#[test]
fn what_is_not_http_is_said_once() {
    let mut scene = Scene::open();
    scene.say(CLIENT, b"\x16\x03\x01\x02\x00\x01\x00").say(SERVER, &[0x16, 3, 3, 0, 7]).say(CLIENT, GET);
    assert_eq!(outcomes(&scene.rebuilt()), [(TransactionState::NotHttp, 0, 0, 0)]);
    let mut scene = Scene::open();
    scene.say(SERVER, b"SSH-2.0-x\r\n").say(CLIENT, b"SSH-2.0-y\r\n");
    assert_eq!(outcomes(&scene.rebuilt()), [(TransactionState::NotHttp, 0, 0, 0)]);
    // A good exchange, then garbage for a reply, to two requests.
    let mut scene = Scene::open();
    scene.say(CLIENT, GET).say(SERVER, &reply(1)).say(CLIENT, &[GET, GET].concat()).say(SERVER, b"what?\r\n");
    scene.say(CLIENT, GET);
    let states: Vec<_> = outcomes(&scene.rebuilt()).iter().map(|it| it.0).collect();
    assert_eq!(states, [COMPLETE, TransactionState::NotHttp, TransactionState::NotHttp]);
    for wrong in ["Content-Length: 5, 6", "Content-Length: five"] {
        let reply = format!("HTTP/1.1 200 OK\r\n{wrong}\r\n\r\nhello");
        assert_eq!(
            exchanged(&[(GET, reply.as_bytes())], 1000),
            [(TransactionState::NotHttp, 200, 0, 0)].map(|mut it| {
                it.3 = (reply.len() - 5) as u64;
                it
            })
        );
    }
}

/// A reply to HEAD with a body: the client takes the body for the next reply, or closes. Here it goes on.
#[test]
fn more_than_was_asked_for_is_no_transaction() {
    let mut scene = Scene::open();
    scene.say(CLIENT, b"HEAD / HTTP/1.1\r\n\r\n").say(SERVER, &reply(9)).ack(CLIENT);
    scene.say(CLIENT, GET).say(SERVER, &reply(5));
    let capture = scene.rebuilt();
    assert_eq!(outcomes(&capture), [(COMPLETE, 200, 0, 38), (COMPLETE, 200, 5, 43)]);
    assert_eq!((capture.limits.replies_unasked, capture.limits.http_resynchronised), (1, 1));
}

#[test]
fn tunnels_are_not_read() {
    let mut scene = Scene::open();
    scene.say(CLIENT, b"CONNECT a:443 HTTP/1.1\r\n\r\n").say(SERVER, b"HTTP/1.1 200 OK\r\n\r\n");
    scene.say(CLIENT, b"\x16\x03\x01").say(SERVER, b"GET garbage").close();
    let capture = scene.rebuilt();
    assert_eq!(outcomes(&capture), [(COMPLETE, 200, 0, 19)]);
    assert_eq!(capture.limits.tunnels, 1);
}

#[test]
fn a_reply_that_nobody_asked_for_is_counted() {
    let mut scene = Scene::open();
    scene.say(CLIENT, GET).say(SERVER, &reply(1)).ack(CLIENT);
    scene.say(SERVER, b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 3\r\n\r\nbye").close();
    let capture = scene.rebuilt();
    assert_eq!(outcomes(&capture), [(COMPLETE, 200, 1, 39)]);
    assert_eq!(capture.limits.replies_unasked, 1);
}

#[test]
fn long_heads_and_targets_are_bounded() {
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(5000));
    let mut scene = Scene::open();
    long.as_bytes().chunks(700).for_each(|chunk| _ = scene.say(CLIENT, chunk));
    scene.say(SERVER, &reply(1));
    let options = |head_bytes_max| Options { head_bytes_max, target_bytes_max: 100, ..Options::default() };
    let capture = read(&scene.file()[..], &options(5000)).unwrap();
    assert_eq!(outcomes(&capture), [(TransactionState::NotHttp, 0, 0, 0)]);
    assert_eq!(capture.limits.heads_too_long, 1);
    let capture = read(&scene.file()[..], &options(long.len())).unwrap();
    assert_eq!(outcomes(&capture), [(COMPLETE, 200, 1, 39)]);
    assert_eq!(capture.transactions[0].target.len(), 100);
}

/// Packets cut behind the heads lose nothing; cut inside the heads they leave instants and counts, as lossy.
#[test]
fn packets_that_were_cut() {
    let mut scene = Scene::open();
    for size in [5000, 6000] {
        scene.say(CLIENT, GET);
        reply(size).chunks(1000).for_each(|chunk| _ = scene.say(SERVER, chunk));
    }
    scene.close();
    let whole = scene.rebuilt();
    let packets = scene.ip_packets();
    assert_eq!(rebuilt(&file(&packets, 40 + 60)).transactions, whole.transactions);
    for snap_len in [40, 50] {
        let cut = rebuilt(&file(&packets, snap_len));
        assert_eq!(only(&cut), only(&whole), "lengths are those of the headers");
        assert_eq!(cut.transactions.len(), 2);
        for (cut, whole) in cut.transactions.iter().zip(&whole.transactions) {
            assert_eq!(cut.state, TransactionState::Lossy);
            assert_eq!((cut.request_first, cut.request_last), (whole.request_first, whole.request_last));
            assert_eq!((cut.reply_first, cut.reply_last), (whole.reply_first, whole.reply_last));
            assert_eq!(cut.reply_bytes, whole.reply_bytes);
        }
    }
    assert_eq!(rebuilt(&file(&packets, 39)).limits.packets_malformed, packets.len() as u64);
}
