//! The end that a model of a server has: the h2 crate as its client, and what a client may get wrong.

use bytes::Bytes;
use farfield_http::http2::ErrorCode;
use farfield_http::http2::server::{
    BodySource, RequestHeads, ServerConnection, ServerEvent, ServerSettings, begins_http2, put_reply_block,
};
use http::{Method, Request};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeMap;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// SETTINGS without a setting.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

/// A server that replies to `/bytes/N` with N bytes, as soon as it is asked.
struct Server {
    core: ServerConnection,
    heads: RequestHeads,
    paths: BTreeMap<u32, (bool, u64)>,
    to_send: Vec<u8>,
    ended: usize,
    reset: Vec<u32>,
}

impl Server {
    fn new(settings: ServerSettings) -> Server {
        let mut to_send = Vec::new();
        let core = ServerConnection::new(settings, &mut to_send);
        Server {
            core,
            heads: RequestHeads::default(),
            paths: BTreeMap::new(),
            to_send,
            ended: 0,
            reset: Vec::new(),
        }
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(), ErrorCode> {
        let Server { core, heads, paths, to_send, reset, .. } = self;
        let mut asked = Vec::new();
        let received = core.receive(heads, bytes, to_send, &mut |event| match event {
            ServerEvent::Head { stream, method, path } => {
                let path = std::str::from_utf8(path).expect("ASCII");
                let bytes = path.strip_prefix("/bytes/").and_then(|rest| rest.parse().ok()).unwrap_or(0);
                paths.insert(stream.number(), (method == b"HEAD", bytes));
            }
            ServerEvent::Asked(stream) => asked.push(stream),
            ServerEvent::Reset(stream) => reset.push(stream.number()),
        });
        for stream in asked {
            let (head_only, bytes) = self.paths[&stream.number()];
            let mut block = Vec::new();
            let length = bytes.to_string();
            put_reply_block(200, [("Content-Length", length.as_bytes()), ("Server", b"model")], &mut block);
            let body = match bytes {
                0 => BodySource::None,
                _ if head_only => BodySource::None,
                // Shorter than a frame, so that what fills a body is used over and over.
                left => BodySource::Filler { of: Bytes::from_static(&[b'x'; 3000]), left },
            };
            self.ended += usize::from(self.core.reply(stream, &block, body, &mut self.to_send));
        }
        received
    }

    fn take_to_send(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.to_send);
        while let Some(piece) = self.core.next_piece() {
            bytes.extend_from_slice(&piece.header);
            bytes.extend_from_slice(&piece.payload);
            self.ended += usize::from(piece.ends.is_some());
        }
        bytes
    }
}

async fn serve(mut pipe: DuplexStream, settings: ServerSettings) -> Server {
    let mut server = Server::new(settings);
    let mut buffer = vec![0; 65_536];
    loop {
        let bytes = server.take_to_send();
        if pipe.write_all(&bytes).await.is_err() {
            return server;
        }
        match pipe.read(&mut buffer).await {
            Ok(0) | Err(_) => return server,
            Ok(read) => server.receive(&buffer[..read]).expect("the h2 crate makes no mistakes"),
        }
    }
}

/// Asks for all of `wanted` at once; returns the length of each body.
async fn ask(pipe: DuplexStream, wanted: &[(Method, u64, usize)], windows: (u32, u32)) -> Vec<u64> {
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(windows.0).initial_connection_window_size(windows.1);
    let (sender, connection) = builder.handshake::<_, Bytes>(pipe).await.expect("a connection");
    let driver = tokio::spawn(async move { connection.await.expect("the server makes no mistakes") });
    let mut replies = Vec::new();
    let mut sender = sender;
    for (method, bytes, body) in wanted {
        sender = sender.ready().await.expect("room for a stream");
        let request = Request::builder()
            .method(method)
            .uri(format!("http://server/bytes/{bytes}"))
            .header("x-long", "a".repeat(200))
            .body(())
            .expect("a request");
        let (reply, mut stream) = sender.send_request(request, *body == 0).expect("a stream");
        let body = *body;
        replies.push(tokio::spawn(async move {
            if body > 0 {
                stream.send_data(vec![b'q'; body].into(), true).expect("a body");
            }
            let reply = reply.await.expect("a reply");
            assert_eq!((reply.status().as_u16(), reply.headers()["server"].as_bytes()), (200, &b"model"[..]));
            let mut body = reply.into_body();
            let mut length = 0;
            while let Some(data) = body.data().await {
                let data = data.expect("a body");
                length += data.len() as u64;
                assert!(data.iter().all(|byte| *byte == b'x'));
                body.flow_control().release_capacity(data.len()).expect("room");
            }
            length
        }));
    }
    let mut lengths = Vec::new();
    for reply in replies {
        lengths.push(reply.await.expect("a task"));
    }
    drop(sender);
    driver.await.expect("a task");
    lengths
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 30,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Default::default()
    })]

    /// Requests of the h2 crate are what the server reads, and each body is as long as it says, with windows
    /// of all sizes and a pipe of any width between the two.
    #[test]
    fn h2_is_answered_in_full(
        wanted in proptest::collection::vec(
            (
                prop::sample::select(&[Method::GET, Method::HEAD, Method::POST]),
                prop::sample::select(&[0u64, 1, 2999, 8192, 8193, 70_000]),
                prop::sample::select(&[0usize, 1, 100_000]),
            ),
            1..40,
        ),
        window in prop::sample::select(&[1000u32, 65_535, 1 << 20]),
        connection_window in prop::sample::select(&[65_535u32, 1 << 20]),
        streams_max in 1u32..12,
        pipe_bytes in prop::sample::select(&[100usize, 4096, 100_000]),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let (client, server) = duplex(pipe_bytes);
        let settings = ServerSettings { streams_max, ..ServerSettings::default() };
        let wanted: Vec<_> = wanted
            .into_iter()
            .map(|(method, bytes, body)| {
                let body = if method == Method::POST { body } else { 0 };
                (method, bytes, body)
            })
            .collect();
        let (lengths, server) = runtime.block_on(async {
            tokio::join!(ask(client, &wanted, (window, connection_window)), serve(server, settings))
        });
        for ((method, bytes, _), length) in wanted.iter().zip(&lengths) {
            prop_assert_eq!(*length, if *method == Method::HEAD { 0 } else { *bytes });
        }
        prop_assert_eq!((server.ended, server.paths.len()), (wanted.len(), wanted.len()));
        prop_assert_eq!((server.core.streams(), server.reset.len()), (0, 0));
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, (payload.len() >> 8) as u8, payload.len() as u8, kind, flags];
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// HEADERS of a GET for `/bytes/N` that ends the request: two entries of the static table and a literal.
fn get(stream: u32, bytes: u32) -> Vec<u8> {
    let path = format!("/bytes/{bytes}");
    let block = [&[0x82, 0x86, 0x04, path.len() as u8][..], path.as_bytes()].concat();
    frame(1, 0x5, stream, &block)
}

/// Kind, flags, stream, and the first bytes of the payload.
type Frame = (u8, u8, u32, Vec<u8>);

/// Kinds, flags and streams of the frames in `bytes`, and the first four bytes of each payload.
fn frames(bytes: &[u8]) -> Vec<Frame> {
    let (mut rest, mut found) = (bytes, Vec::new());
    while let [a, b, c, kind, flags, d, e, f, g, ..] = *rest {
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        let payload = &rest[9..9 + length];
        let stream = u32::from_be_bytes([d, e, f, g]);
        found.push((kind, flags, stream, payload[..length.min(8)].to_vec()));
        rest = &rest[9 + length..];
    }
    assert!(rest.is_empty(), "whole frames");
    found
}

/// The frames that a server sends behind its settings when it is handed `parts`, one after another.
fn answers(settings: ServerSettings, parts: &[&[u8]]) -> (Result<(), ErrorCode>, Vec<Frame>) {
    let mut server = Server::new(settings);
    server.to_send.clear();
    let beginning = [PREFACE, SETTINGS].into_iter();
    let received = beginning.chain(parts.iter().copied()).try_for_each(|part| server.receive(part));
    let bytes = server.take_to_send();
    (received, frames(&bytes))
}

#[test]
fn what_a_client_gets_wrong_ends_the_connection_with_its_code() {
    let too_long = [&[0, 0x40, 1, 0, 0, 0, 0, 0, 1][..], &[0; 16_385]].concat();
    for (what, bytes, code) in [
        ("DATA on a stream that was never opened", frame(0, 0, 1, b"x"), ErrorCode::PROTOCOL_ERROR),
        ("an even stream", get(2, 1), ErrorCode::PROTOCOL_ERROR),
        ("a frame that is too long", too_long, ErrorCode::FRAME_SIZE_ERROR),
        ("CONTINUATION behind no block", frame(9, 4, 1, &[]), ErrorCode::PROTOCOL_ERROR),
        (
            "a block that is interrupted",
            [frame(1, 0, 1, &[0x82]), get(3, 1)].concat(),
            ErrorCode::PROTOCOL_ERROR,
        ),
        ("an index of no entry", frame(1, 5, 1, &[0xff, 0x7f]), ErrorCode::COMPRESSION_ERROR),
        ("padding without end", frame(1, 0xd, 1, &[9, 0x82]), ErrorCode::PROTOCOL_ERROR),
        ("a promise", frame(5, 4, 1, &[0; 4]), ErrorCode::PROTOCOL_ERROR),
        ("an increment of nothing", frame(8, 0, 0, &[0; 4]), ErrorCode::PROTOCOL_ERROR),
        ("a window above all", frame(8, 0, 0, &[0x7f, 0xff, 0xff, 0xff]), ErrorCode::FLOW_CONTROL_ERROR),
        ("a window that is no window", frame(4, 0, 0, &[0, 4, 0xff, 0, 0, 0]), ErrorCode::FLOW_CONTROL_ERROR),
        ("no settings first", Vec::new(), ErrorCode::NO_ERROR),
    ] {
        let (received, sent) = answers(ServerSettings::default(), &[&bytes]);
        if code == ErrorCode::NO_ERROR {
            assert_eq!(received, Ok(()), "{what}");
            continue;
        }
        assert_eq!(received, Err(code), "{what}");
        let (kind, _, stream, payload) = sent.last().expect("a frame").clone();
        assert_eq!((kind, stream, &payload[4..]), (7, 0, &code.0.to_be_bytes()[..]), "{what}: {sent:?}");
    }
    let mut server = Server::new(ServerSettings::default());
    assert_eq!(server.receive(b"GET / HTTP/1.1\r\n\r\n"), Err(ErrorCode::PROTOCOL_ERROR));
    let mut server = Server::new(ServerSettings::default());
    assert_eq!(server.receive(&[PREFACE, &get(1, 1)].concat()), Err(ErrorCode::PROTOCOL_ERROR));
}

/// One stream more than allowed is refused, and so is what has no path; the others are served.
#[test]
fn single_streams_are_refused() {
    let settings = ServerSettings { streams_max: 1, ..ServerSettings::default() };
    let open = frame(1, 4, 1, &[0x83, 0x86, 0x84]);
    let (received, sent) = answers(settings, &[&open, &get(3, 9), &frame(0, 1, 1, b"end"), &get(5, 9)]);
    assert_eq!(received, Ok(()));
    let resets: Vec<_> = sent.iter().filter(|(kind, ..)| *kind == 3).collect();
    assert_eq!(resets, [&(3, 0, 3, vec![0, 0, 0, 7])]);
    let ended =
        |id| sent.iter().any(|(kind, flags, stream, _)| *kind <= 1 && flags & 1 == 1 && *stream == id);
    assert!(ended(1) && ended(5) && !ended(3), "{sent:?}");
    let (received, sent) = answers(ServerSettings::default(), &[&frame(1, 5, 1, &[0x82, 0x86]), &get(3, 9)]);
    assert_eq!(received, Ok(()));
    assert!(sent.contains(&(3, 0, 1, vec![0, 0, 0, 1])), "{sent:?}");
    assert!(sent.iter().any(|(kind, _, stream, _)| (*kind, *stream) == (0, 3)), "{sent:?}");
}

/// A stream that the client gives up sends no more, and pings are answered.
#[test]
fn what_is_given_up_is_not_sent_on() {
    let small = frame(4, 0, 0, &[0, 4, 0, 0, 0, 100]);
    let (_, sent) = answers(
        ServerSettings::default(),
        &[&small, &get(1, 500), &get(3, 150), &frame(3, 0, 1, &[0, 0, 0, 8]), &frame(6, 0, 0, b"12345678")],
    );
    let data: Vec<u32> = sent.iter().filter(|frame| frame.0 == 0).map(|frame| frame.2).collect();
    assert_eq!(data, [3], "{sent:?}");
    assert!(sent.contains(&(6, 1, 0, b"12345678".to_vec())), "{sent:?}");
}

/// Bodies take turns of a frame each, heads go before, and a window that is full is passed over.
#[test]
fn bodies_take_turns() {
    let mut server = Server::new(ServerSettings { data_bytes: 1000, ..ServerSettings::default() });
    let asks = [get(1, 2500), get(3, 2500), get(5, 500)].concat();
    server.receive(&[PREFACE, SETTINGS, &asks].concat()).expect("no mistakes");
    let order = |bytes: &[u8], kind: u8| -> Vec<u32> {
        frames(bytes).iter().filter(|frame| frame.0 == kind).map(|frame| frame.2).collect()
    };
    let bytes = server.take_to_send();
    assert_eq!(order(&bytes, 1), [1, 3, 5]);
    assert_eq!(order(&bytes, 0), [1, 3, 5, 1, 3, 1, 3]);
    // A window of 1500 bytes for each stream to come.
    let window = frame(4, 0, 0, &[0, 4, 0, 0, 0x05, 0xdc]);
    server.receive(&[window, get(7, 2500), get(9, 2500)].concat()).expect("no mistakes");
    assert_eq!(order(&server.take_to_send(), 0), [7, 9, 7, 9]);
    server.receive(&frame(8, 0, 9, &[0, 0, 0x10, 0])).expect("no mistakes");
    assert_eq!(order(&server.take_to_send(), 0), [9]);
    assert!(server.core.is_sending());
    assert_eq!(server.core.streams(), 1);
}

/// GOAWAY names the last stream that is served; what comes later is not, and no reply of it is sent.
#[test]
fn a_server_that_goes_away_serves_what_came() {
    let mut server = Server::new(ServerSettings::default());
    server.receive(&[PREFACE, SETTINGS, &get(1, 10)].concat()).expect("no mistakes");
    server.core.go_away(&mut server.to_send);
    server.core.go_away(&mut server.to_send);
    server.receive(&get(3, 10)).expect("no mistakes");
    let sent = frames(&server.take_to_send());
    let away: Vec<_> = sent.iter().filter(|frame| frame.0 == 7).collect();
    assert_eq!(away, [&(7, 0, 0, vec![0, 0, 0, 1, 0, 0, 0, 0])]);
    assert!(sent.iter().all(|frame| frame.2 <= 1), "{sent:?}");
    assert_eq!((server.ended, server.core.streams()), (1, 0));
}

#[test]
fn the_preface_is_known_from_its_first_line() {
    assert_eq!(begins_http2(b""), None);
    for cut in 0..16 {
        assert_eq!(begins_http2(&PREFACE[..cut]), None, "{cut}");
    }
    assert_eq!((begins_http2(&PREFACE[..16]), begins_http2(PREFACE)), (Some(true), Some(true)));
    for other in [&b"GET / HTTP/1.1\r\n"[..], b"P0", b"PRI / HTTP/1.1\r\n"] {
        assert_eq!(begins_http2(other), Some(false));
    }
}

/// A request now and then does not set a flood back.
#[test]
fn floods_of_a_client_end_its_connection() {
    let ping = [&[0, 0, 8, 6, 0, 0, 0, 0, 0][..], &[7; 8]].concat();
    let window = [0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 1].to_vec();
    let unknown = [0, 0, 0, 0xee, 0, 0, 0, 0, 0].to_vec();
    for one in [ping, SETTINGS.to_vec(), window, unknown] {
        let turns = |each: usize, turns: u32| {
            let mut server = Server::new(ServerSettings::default());
            server.receive(&[PREFACE, SETTINGS].concat()).expect("a sound beginning");
            (0..turns).try_for_each(|turn| {
                // GET / of http, all from the static table (RFC 7541, appendix A).
                let stream = (2 * turn + 1).to_be_bytes();
                let request = [&[0, 0, 3, 1, 5][..], &stream, &[0x82, 0x84, 0x86]].concat();
                server.receive(&[one.repeat(each), request].concat())?;
                server.take_to_send();
                Ok(())
            })
        };
        assert_eq!(turns(9_000, 3), Err(ErrorCode::ENHANCE_YOUR_CALM), "{one:?}");
        assert_eq!(turns(200, 200), Err(ErrorCode::ENHANCE_YOUR_CALM), "{one:?}");
        assert_eq!(turns(20, 2_000), Ok(()), "{one:?}");
    }
}
