//! HTTP/2 in cleartext, by prior knowledge: every stream is a request like those of HTTP/1, and a
//! connection ends in good order. The client is the crate h2's, which shares nothing with farfield's.

#![expect(clippy::disallowed_methods, reason = "tests of a real server read a real clock")]

mod client;

use bytes::Bytes;
use client::{Client, start};
use farfield_origin::{Origin, OriginConfig};
use h2::client::{ResponseFuture, SendRequest};
use http::Request;
use std::future::poll_fn;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// A connection to an origin, and the task that reads it to its end.
struct Connection {
    streams: SendRequest<Bytes>,
    ended: JoinHandle<Result<(), h2::Error>>,
}

/// A reply as it came.
#[derive(Debug, PartialEq, Eq)]
struct Reply {
    status: u16,
    length: Option<usize>,
    has_connection_field: bool,
    body: Vec<u8>,
}

impl Connection {
    async fn open(origin: &Origin) -> Connection {
        let stream = TcpStream::connect(origin.address()).await.expect("the origin listens");
        let (streams, connection) = h2::client::handshake(stream).await.expect("HTTP/2");
        Connection { streams, ended: tokio::spawn(connection) }
    }

    /// Asks for `path` on a stream of its own; the reply is awaited by [`read`].
    async fn ask(&mut self, method: &str, path: &str, body: &[u8]) -> Result<ResponseFuture, h2::Error> {
        poll_fn(|context| self.streams.poll_ready(context)).await?;
        let request = Request::builder().method(method).uri(format!("http://origin{path}"));
        let request = request.body(()).expect("a valid request");
        let (reply, mut sent) = self.streams.send_request(request, body.is_empty())?;
        if !body.is_empty() {
            sent.send_data(Bytes::copy_from_slice(body), true)?;
        }
        Ok(reply)
    }

    async fn get(&mut self, path: &str) -> Reply {
        read(self.ask("GET", path, b"").await.expect("a stream")).await.expect("a reply")
    }
}

async fn read(reply: ResponseFuture) -> Result<Reply, h2::Error> {
    let (head, mut incoming) = reply.await?.into_parts();
    let mut body = Vec::new();
    while let Some(data) = incoming.data().await {
        let data = data?;
        incoming.flow_control().release_capacity(data.len())?;
        body.extend_from_slice(&data);
    }
    let field = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    Ok(Reply {
        status: head.status.as_u16(),
        length: field("content-length").and_then(|length| length.parse().ok()),
        has_connection_field: field("connection").is_some(),
        body,
    })
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("an event loop").block_on(work)
}

fn configured(text: &str) -> Origin {
    start(toml::from_str::<OriginConfig>(text).expect("valid"))
}

#[test]
fn paths_mean_what_they_mean_over_http1() {
    let origin = configured("");
    let mut http1 = Client::connect(origin.address());
    block_on(async {
        let mut connection = Connection::open(&origin).await;
        for path in ["/", "/page/0.html", "/bytes/0", "/bytes/3MiB", "/status/404", "/delay/1", "/nothing"] {
            let (reply, other) = (connection.get(path).await, http1.get(path));
            assert_eq!((reply.status, &reply.body), (other.status, &other.body), "{path}");
            // An empty reply ends with its head, and needs no length.
            assert_eq!(reply.length.unwrap_or(0), reply.body.len(), "{path}");
        }
        assert_eq!(connection.get("/chunked/20000").await.body, http1.get("/bytes/20000").body);
        let head = connection.ask("HEAD", "/bytes/64KiB", b"").await.expect("a stream");
        let head = read(head).await.expect("a head");
        assert_eq!((head.length, head.body.len()), (Some(65_536), 0));
        // More than any window: the origin gives credit as it reads.
        let sent = connection.ask("POST", "/echo-length", &vec![0; 3_000_000]).await.expect("a stream");
        assert_eq!(read(sent).await.expect("a reply").body, b"3000000\n");
    });
    let counters = origin.served();
    assert_eq!((counters.connections, counters.requests, counters.answered), (2, 18, 18));
}

/// Streams are served at the same time, within what `servers` allows: the one that takes an hour keeps
/// none back.
#[test]
fn streams_are_served_each_by_itself() {
    let origin = configured("");
    block_on(async {
        let mut connection = Connection::open(&origin).await;
        let slow = connection.ask("GET", "/delay/1h", b"").await.expect("a stream");
        assert_eq!(connection.get("/bytes/3").await.body.len(), 3);
        assert_eq!(connection.get("/bytes/4").await.body.len(), 4);
        drop(slow);
        assert_eq!(connection.get("/bytes/5").await.body.len(), 5);
    });
    assert_eq!((origin.served().requests, origin.served().answered), (4, 3));
}

/// Twelve requests on one connection before two servers of 20 ms take six services, as by the queue's
/// formula; the origin answers none early.
#[test]
fn the_capacity_is_that_of_the_servers() {
    let origin = configured("servers = 2\nservice-time = '20ms'\nerror-rate = 1.0");
    let begun = std::time::Instant::now();
    block_on(async {
        let mut connection = Connection::open(&origin).await;
        let mut replies = Vec::new();
        for _ in 0..12 {
            replies.push(connection.ask("GET", "/bytes/1", b"").await.expect("a stream"));
        }
        for (place, reply) in (2u32..).zip(replies) {
            assert_eq!(read(reply).await.expect("a reply").status, 503);
            assert!(begun.elapsed() >= std::time::Duration::from_millis(20) * (place / 2), "{place}");
        }
    });
    assert_eq!((origin.served().answered, origin.served().errors), (12, 12));
}

/// The end of a connection is announced, and what is on the way is answered.
#[test]
fn keep_alive_requests_end_a_connection_in_good_order() {
    let origin = configured("keep-alive-requests = 3");
    block_on(async {
        let mut connection = Connection::open(&origin).await;
        let mut replies = Vec::new();
        for path in ["/delay/30", "/bytes/2", "/delay/20"] {
            replies.push(connection.ask("GET", path, b"").await.expect("a stream"));
        }
        for reply in replies {
            let reply = read(reply).await.expect("a reply");
            assert_eq!((reply.status, reply.has_connection_field), (200, false));
        }
        // Without the announcement this would wait for ever.
        connection.ended.await.expect("no panic").expect("no error");
        assert!(Connection::open(&origin).await.get("/bytes/2").await.body.len() == 2);
    });
    assert_eq!((origin.served().connections, origin.served().answered), (2, 4));
}

#[test]
fn idle_connections_end_after_their_time() {
    let origin = configured("keep-alive-timeout = '20ms'");
    block_on(async {
        let mut connection = Connection::open(&origin).await;
        // A stream that is open longer than that keeps the connection.
        assert_eq!(connection.get("/delay/200").await.status, 200);
        connection.ended.await.expect("no panic").expect("no error");
        drop(connection.streams);
    });
    // Nor does one wait for ever that says nothing, or half of the preface.
    assert!(Client::connect(origin.address()).is_closed());
    let mut half = Client::connect(origin.address());
    half.send("PRI * HTTP/2.0\r\n");
    assert!(half.is_closed());
    let at_once = configured("keep-alive-timeout = '0ms'");
    block_on(async {
        let mut connection = Connection::open(&at_once).await;
        assert_eq!(connection.get("/bytes/7").await.body.len(), 7);
        connection.ended.await.expect("no panic").expect("no error");
    });
}

/// The end of a connection is announced to a client that reads nothing and closes nothing. It holds its place
/// for some time, and no longer.
#[test]
fn a_client_that_ignores_the_end_does_not_keep_its_place() {
    let origin = configured("keep-alive-requests = 1\naccept-limit = 1");
    let mut silent = Client::connect(origin.address());
    // Preface, settings, and GET / by indexed fields; the authority is a literal (RFC 7541 section 6.2.2).
    silent.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    silent.send(b"\0\0\x06\x01\x05\0\0\0\x01\x82\x86\x84\x01\x01o");
    // Anybody who comes next waits for a place.
    let mut next = Client::connect(origin.address());
    assert_eq!(next.get("/bytes/3").body.len(), 3);
    assert_eq!((origin.served().connections, origin.served().answered), (2, 2));
    drop(silent);
}

/// Handshakes of TLS that stop, before their first byte or within it, hold their places no longer than idle
/// connections do.
#[test]
fn half_handshakes_end_after_the_idle_time() {
    let origin = configured("tls = true\nkeep-alive-timeout = '20ms'");
    for begun in [&b""[..], b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03"] {
        let mut client = Client::connect(origin.address());
        client.send(begun);
        assert!(client.is_closed());
    }
}

#[test]
fn what_begins_like_the_preface_is_http1() {
    let origin = configured("");
    for (first, rest) in [
        ("P", "OST /bytes/3 HTTP/1.1\r\nHost: o\r\nContent-Length: 0\r\n\r\n"),
        ("PRI", " /bytes/3 HTTP/1.1\r\nHost: o\r\n\r\n"),
        ("PRI * HTTP/", "1.1\r\nHost: o\r\n\r\n"),
    ] {
        let mut client = Client::connect(origin.address());
        client.send(first);
        assert!(client.hears_nothing_for(std::time::Duration::from_millis(1)));
        client.send(rest);
        assert_eq!(client.read_reply().version, "HTTP/1.1", "{first}");
    }
    // The preface in pieces, with settings behind it: a server's settings (type 4) come first.
    let mut client = Client::connect(origin.address());
    client.send("PRI * HTTP/2.0\r\n\r\n");
    assert!(client.hears_nothing_for(std::time::Duration::from_millis(1)));
    client.send(b"SM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    assert_eq!(client.read_bytes(4)[3], 4);
}

/// A client that gives up many requests at once is no attack to a server for tests of overload.
#[test]
fn requests_given_up_cost_no_connection() {
    let origin = configured("");
    block_on(async {
        let mut connection = Connection::open(&origin).await;
        for _ in 0..500 {
            drop(connection.ask("GET", "/delay/1h", b"").await.expect("a stream"));
        }
        // The next is answered on the same connection, once what was given up makes room for it.
        let reply = loop {
            match read(connection.ask("GET", "/bytes/1", b"").await.expect("a stream")).await {
                Err(error) if error.reason() == Some(h2::Reason::REFUSED_STREAM) => {}
                reply => break reply.expect("a reply"),
            }
        };
        assert_eq!(reply.body.len(), 1);
        assert!(!connection.ended.is_finished());
    });
    assert_eq!(origin.served().connections, 1);
}
