//! The h2 crate as the server: what it reads is what was asked for, and what comes of its replies is what it
//! sent, with settings of all kinds and a pipe of any width between the two.

use bytes::Bytes;
use farfield_http::http2::{
    CommonFields, Connection, Event, Heads, RequestBlock, RequestHead, Settings, StreamId,
};
use http::{HeaderMap, Method, Response};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeMap;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

/// An exchange, by its number.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Exchange {
    method: &'static str,
    request_body: Vec<u8>,
    status: u16,
    fields: Vec<(String, String)>,
    reply_body: Vec<u8>,
    trailers: bool,
}

/// The settings of server and client, and their exchanges.
#[derive(Debug, Clone)]
struct Scene {
    own: Settings,
    streams_max: u32,
    window: u32,
    connection_window: u32,
    frame_bytes: u32,
    pipe_bytes: usize,
    exchanges: Vec<Exchange>,
}

fn exchange() -> impl Strategy<Value = Exchange> {
    let body = prop_oneof![
        Just(Vec::new()),
        proptest::collection::vec(any::<u8>(), 1..50),
        (1usize..100_000).prop_map(|length| (0..length).map(|at| at as u8).collect()),
    ];
    let field = (
        prop::sample::select(&["x-one", "x-two", "server", "etag", "set-cookie", "x-three"]),
        prop::sample::select(&["a", "", "b c", "Mon, 21 Oct 2013 20:13:21 GMT", "\u{e9}"]),
    );
    (
        prop::sample::select(&["GET", "POST", "HEAD", "PUT"]),
        body.clone(),
        prop::sample::select(&[200u16, 201, 304, 404, 503]),
        proptest::collection::vec(field, 0..6),
        body,
        any::<bool>(),
    )
        .prop_map(|(method, request_body, status, fields, reply_body, trailers)| {
            let may_have_body = method != "HEAD" && status != 304;
            Exchange {
                method,
                request_body: if matches!(method, "POST" | "PUT") { request_body } else { Vec::new() },
                status,
                fields: fields.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
                reply_body: if may_have_body { reply_body } else { Vec::new() },
                trailers: trailers && may_have_body,
            }
        })
}

fn scene() -> impl Strategy<Value = Scene> {
    let own = (
        prop::sample::select(&[0u32, 64, 256, 4096, 65_536]),
        prop::sample::select(&[1u32, 1000, 65_535, 6 << 20]),
        prop::sample::select(&[65_535u32, 15 << 20]),
        prop::sample::select(&[16_384u32, 100_000]),
    )
        .prop_map(|(header_table_bytes, stream_window_bytes, connection_window_bytes, frame_bytes)| {
            // A window of a byte makes a frame of each: enough for short bodies only.
            let stream_window_bytes = stream_window_bytes.max(500);
            Settings {
                header_table_bytes,
                stream_window_bytes,
                connection_window_bytes,
                frame_bytes,
                ..Settings::default()
            }
        });
    let servers = (
        1u32..12,
        prop::sample::select(&[700u32, 65_535, 1 << 20]),
        prop::sample::select(&[65_535u32, 1 << 20]),
        prop::sample::select(&[16_384u32, 50_000]),
    );
    (
        own,
        servers,
        prop::sample::select(&[1usize, 7, 100, 4096, 100_000]),
        proptest::collection::vec(exchange(), 1..30),
    )
        .prop_map(
            |(own, (streams_max, window, connection_window, frame_bytes), pipe_bytes, exchanges)| Scene {
                own,
                streams_max,
                window,
                connection_window,
                frame_bytes,
                pipe_bytes,
                exchanges,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn h2_reads_what_is_asked_and_is_read_as_it_says(mut scene in scene()) {
        if scene.pipe_bytes < 100 {
            // A byte at a time takes its time.
            scene.exchanges.truncate(4);
            scene.exchanges.iter_mut().for_each(|exchange| {
                exchange.request_body.truncate(3000);
                exchange.reply_body.truncate(3000);
            });
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let (client, server) = duplex(scene.pipe_bytes);
        let expected = scene.exchanges.clone();
        let (seen, asked) = runtime.block_on(async {
            tokio::join!(ask(client, &scene), serve(server, &scene))
        });
        prop_assert_eq!(asked.len(), expected.len());
        for (number, exchange) in expected.iter().enumerate() {
            prop_assert_eq!(&asked[&number], &(exchange.method.to_owned(), exchange.request_body.clone()));
            let mut fields = exchange.fields.clone();
            fields.sort();
            prop_assert_eq!(&seen[&number], &(exchange.status, fields, exchange.reply_body.clone()));
        }
    }
}

/// Method and body of each request, as the server read them.
type Asked = BTreeMap<usize, (String, Vec<u8>)>;
/// Status, sorted fields and body of each reply, as the client read them.
type Read = BTreeMap<usize, (u16, Vec<(String, String)>, Vec<u8>)>;

/// The server: answers requests by the number in their path until the client closes.
async fn serve(pipe: DuplexStream, scene: &Scene) -> Asked {
    let mut builder = h2::server::Builder::new();
    builder
        .max_concurrent_streams(scene.streams_max)
        .initial_window_size(scene.window)
        .initial_connection_window_size(scene.connection_window)
        .max_frame_size(scene.frame_bytes);
    let mut connection = builder.handshake::<_, Bytes>(pipe).await.expect("a handshake");
    let asked = std::sync::Mutex::new(Asked::new());
    let mut running: Vec<std::pin::Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
    std::future::poll_fn(|context| {
        loop {
            match connection.poll_accept(context) {
                std::task::Poll::Ready(Some(request)) => {
                    let (request, respond) = request.expect("the client behaves");
                    running.push(Box::pin(answer(request, respond, scene, &asked)));
                }
                std::task::Poll::Ready(None) => return std::task::Poll::Ready(()),
                std::task::Poll::Pending => break,
            }
        }
        let before = running.len();
        running.retain_mut(|one| one.as_mut().poll(context).is_pending());
        if running.len() < before {
            context.waker().wake_by_ref();
        }
        std::task::Poll::Pending
    })
    .await;
    drop(running);
    asked.into_inner().expect("no panic")
}

async fn answer(
    request: http::Request<h2::RecvStream>,
    mut respond: h2::server::SendResponse<Bytes>,
    scene: &Scene,
    asked: &std::sync::Mutex<Asked>,
) {
    let (head, mut body) = request.into_parts();
    assert_eq!(head.uri.authority().map(|authority| authority.as_str()), Some("server:81"));
    assert_eq!(head.uri.scheme_str(), Some("http"));
    assert_eq!(head.headers["x-run"], "what all requests have");
    let number: usize = head.uri.path()[1..].parse().expect("a number");
    let exchange = &scene.exchanges[number];
    let mut bytes = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece.expect("the client behaves");
        bytes.extend_from_slice(&piece);
        body.flow_control().release_capacity(piece.len()).expect("what was read");
    }
    asked.lock().expect("no panic").insert(number, (Method::to_string(&head.method), bytes));
    let mut response = Response::builder().status(exchange.status);
    for (name, value) in &exchange.fields {
        response = response.header(name, value.as_bytes());
    }
    let response = response.body(()).expect("a good head");
    let is_empty = exchange.reply_body.is_empty() && !exchange.trailers;
    let mut stream = respond.send_response(response, is_empty).expect("an open stream");
    if !is_empty {
        stream
            .send_data(Bytes::from(exchange.reply_body.clone()), !exchange.trailers)
            .expect("an open stream");
        if exchange.trailers {
            let trailers =
                HeaderMap::from_iter([("x-sum".parse().expect("a name"), "1".parse().expect("a value"))]);
            stream.send_trailers(trailers).expect("an open stream");
        }
    }
}

/// The client: asks for everything, as much at once as the server allows, and closes.
#[expect(clippy::too_many_lines, reason = "one scene, step by step")]
async fn ask(pipe: DuplexStream, scene: &Scene) -> Read {
    let (mut from_server, mut to_server) = tokio::io::split(pipe);
    let shared = [("X-Run".to_owned(), "what all requests have".to_owned())];
    let targets: Vec<String> = (0..scene.exchanges.len()).map(|number| format!("/{number}")).collect();
    let heads: Vec<_> = scene
        .exchanges
        .iter()
        .zip(&targets)
        .map(|(exchange, target)| head(exchange, target, &shared))
        .collect();
    let common = CommonFields::of(&heads).expect("good heads");
    let mut waiting: Vec<(usize, RequestBlock)> =
        heads.iter().map(|head| head.encode(&common).expect("a good head")).enumerate().rev().collect();
    let mut to_send = Vec::new();
    let mut connection = Connection::new(&scene.own, &mut to_send);
    let mut buffers = Heads::default();
    let mut numbers: BTreeMap<StreamId, usize> = BTreeMap::new();
    let mut read = Read::new();
    let mut done = 0;
    let mut buffer = vec![0; 10_000];
    // h2 does not allow again what it has read of a body when a smaller window of its takes effect; so where
    // it has one, nothing is asked before it has said so.
    let may_ask = |connection: &Connection| scene.window >= 65_535 || connection.room() < 100;
    while done < scene.exchanges.len() {
        while may_ask(&connection)
            && connection.room() > 0
            && let Some((number, block)) = waiting.pop()
        {
            let body = Bytes::copy_from_slice(&scene.exchanges[number].request_body);
            let stream = connection.request(&block, &body, &mut to_send).expect("room");
            numbers.insert(stream, number);
        }
        // Both directions at once: the pipe is narrow.
        let length = tokio::select! {
            written = to_server.write(&to_send), if !to_send.is_empty() => {
                to_send.drain(..written.expect("an open pipe"));
                continue;
            }
            length = from_server.read(&mut buffer) => length.expect("an open pipe"),
        };
        assert!(length > 0, "the server closed");
        let mut rest = &buffer[..length];
        loop {
            let (taken, event) =
                connection.read(&mut buffers, rest, &mut to_send).expect("a server that behaves");
            rest = &rest[taken..];
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            match event {
                Event::NeedMore => break,
                Event::Head(stream, head) => {
                    let fields = buffers.fields().filter(|(name, _)| name != b"date");
                    let mut fields: Vec<_> = fields.map(|(name, value)| (text(name), text(value))).collect();
                    fields.retain(|(name, _)| name != "content-length");
                    fields.sort();
                    read.insert(numbers[&StreamId::of_request(stream)], (head.status, fields, Vec::new()));
                }
                Event::Body(stream, bytes) => {
                    read.get_mut(&numbers[&StreamId::of_request(stream)])
                        .expect("a head")
                        .2
                        .extend_from_slice(&bytes);
                }
                Event::Done(..) => done += 1,
                // Sent before the server had said how many it takes at once.
                Event::Failed(stream, _, error) if error.is_unprocessed() => {
                    let number = numbers[&StreamId::of_request(stream)];
                    waiting.push((number, heads[number].encode(&common).expect("a good head")));
                }
                other => panic!("{other:?}"),
            }
        }
    }
    connection.close(&mut to_send);
    // The server may have closed already.
    let _ = to_server.write_all(&to_send).await;
    let _ = to_server.shutdown().await;
    assert_eq!(connection.finish(), Ok(()));
    read
}

fn head<'a>(exchange: &'a Exchange, target: &'a str, shared: &'a [(String, String)]) -> RequestHead<'a> {
    let has_body = matches!(exchange.method, "POST" | "PUT");
    RequestHead {
        method: exchange.method,
        scheme: "http",
        authority: "server:81",
        target,
        headers: shared,
        body_length: has_body.then_some(exchange.request_body.len() as u64),
    }
}
