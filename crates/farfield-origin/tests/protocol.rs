//! Replies of the origin on the wire: HTTP/1.0 and 1.1, persistence, pipelining, and every path.

mod client;

use client::{Client, Reply, start};
use farfield_base::random::Seed;
use farfield_origin::{Origin, OriginConfig, Site, SiteConfig};
use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

fn origin() -> (Origin, Client) {
    let origin = start(OriginConfig::default());
    let client = Client::connect(origin.address());
    (origin, client)
}

#[test]
fn a_connection_carries_many_requests() {
    let (origin, mut client) = origin();
    for length in 0..50 {
        assert_eq!(client.get(&format!("/bytes/{length}")).body.len(), length);
    }
    let counters = origin.served();
    assert_eq!((counters.connections, counters.connections_open), (1, 1));
    assert_eq!((counters.requests, counters.answered, counters.errors), (50, 50, 0));
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let (_origin, mut client) = origin();
    let request = |path| format!("GET {path} HTTP/1.1\r\nHost: origin\r\n\r\n");
    client.send(["/delay/20", "/bytes/3", "/status/404"].map(request).concat());
    let replies: Vec<(u16, usize)> = (0..3)
        .map(|_| {
            let reply = client.read_reply();
            (reply.status, reply.body.len())
        })
        .collect();
    assert_eq!(replies, [(200, 0), (200, 3), (404, 0)]);
}

#[test]
fn a_slow_request_does_not_keep_back_the_reply_before_it() {
    let (_origin, mut client) = origin();
    let request = |path| format!("GET {path} HTTP/1.1\r\nHost: origin\r\n\r\n");
    client.send(["/bytes/3", "/delay/1h", "/bytes/3"].map(request).concat());
    assert_eq!(client.read_reply().body.len(), 3);
}

#[test]
fn half_a_request_does_not_keep_back_the_reply_before_it() {
    let (_origin, mut client) = origin();
    client.send("GET /bytes/3 HTTP/1.1\r\nHost: origin\r\n\r\nGET /by");
    assert_eq!(client.read_reply().body.len(), 3);
    client.send("tes/4 HTTP/1.1\r\nHost: origin\r\n\r\n");
    assert_eq!(client.read_reply().body.len(), 4);
}

#[test]
fn http_1_0_ends_with_the_reply_unless_asked() {
    let (origin, mut client) = origin();
    client.send("GET /bytes/10 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!(client.read_reply().header("connection"), Some("keep-alive"));
    client.send("GET /bytes/10 HTTP/1.0\r\n\r\n");
    let reply = client.read_reply();
    assert_eq!((reply.version.as_str(), reply.body.len()), ("HTTP/1.0", 10));
    assert!(client.is_closed());
    assert_eq!(origin.served().connections, 1);
}

#[test]
fn http_1_1_closes_when_asked() {
    let (_origin, mut client) = origin();
    client.send("GET /bytes/10 HTTP/1.1\r\nHost: origin\r\nConnection: close\r\n\r\n");
    assert_eq!(client.read_reply().header("connection"), Some("close"));
    assert!(client.is_closed());
}

#[test]
fn a_client_may_end_its_side_and_await_the_reply() {
    let (_origin, mut client) = origin();
    client.send("GET /delay/20 HTTP/1.1\r\nHost: origin\r\n\r\n");
    client.shut_down_sending();
    assert_eq!(client.read_reply().status, 200);
    assert!(client.is_closed());
}

#[test]
fn head_has_the_length_and_no_body() {
    let (_origin, mut client) = origin();
    for (path, length) in [("/bytes/64KiB", Some("65536")), ("/chunked/100", None)] {
        client.send(format!("HEAD {path} HTTP/1.1\r\nHost: origin\r\n\r\n"));
        let head = client.read_head();
        assert_eq!((head.status, head.header("content-length")), (200, length), "{path}");
    }
    // A body of either would stand in the way of the next reply.
    assert_eq!(client.get("/bytes/5").body.len(), 5);
}

#[test]
fn bytes_come_as_asked() {
    let (_origin, mut client) = origin();
    for (path, length) in [
        ("/bytes/0", 0),
        ("/bytes/1", 1),
        ("/bytes/64KiB", 65_536),
        ("/bytes/200kB", 200_000),
        ("/bytes/3MiB", 3 << 20),
    ] {
        let reply = client.get(path);
        assert_eq!((reply.status, reply.body.len()), (200, length), "{path}");
        assert_eq!(reply.header("content-length"), Some(length.to_string().as_str()), "{path}");
    }
}

#[test]
fn chunked_bodies_have_several_chunks_and_the_same_bytes() {
    let (_origin, mut client) = origin();
    client.send("GET /chunked/20000 HTTP/1.1\r\nHost: origin\r\n\r\n");
    assert_eq!(client.read_head().header("transfer-encoding"), Some("chunked"));
    let chunks = client.read_chunks();
    assert_eq!(chunks.iter().map(Vec::len).collect::<Vec<_>>(), [8192, 8192, 3616]);
    assert_eq!(chunks.concat(), client.get("/bytes/20000").body);
}

#[test]
fn http_1_0_knows_no_chunks() {
    let (_origin, mut client) = origin();
    client.send("GET /chunked/20000 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    let head = client.read_head();
    assert_eq!((head.header("transfer-encoding"), head.header("content-length")), (None, None));
    assert_eq!(client.read_to_end().len(), 20_000);
}

#[test]
fn statuses_come_as_asked() {
    let (_origin, mut client) = origin();
    for status in [200, 204, 301, 304, 404, 500, 503, 599] {
        client.send(format!("GET /status/{status} HTTP/1.1\r\nHost: origin\r\n\r\n"));
        assert_eq!(client.read_head().status, status);
    }
}

#[test]
fn wrong_paths_are_reported_what_would_do() {
    let (_origin, mut client) = origin();
    let check = |reply: Reply, status, hint| {
        assert_eq!(reply.status, status);
        assert!(reply.text().contains(hint), "{}", reply.text());
    };
    check(client.get("/nothing"), 404, "/ lists");
    check(client.get("/page/9999.html"), 404, "/ lists");
    check(client.get("/bytes/many"), 400, "/bytes/1024");
    check(client.get("/delay/-1"), 400, "/delay/0.5");
    check(client.get("/status/100"), 400, "/status/404");
}

#[test]
fn bodies_are_counted() {
    let (_origin, mut client) = origin();
    assert_eq!(client.post("/echo-length", b"hello").text(), "5\n");
    assert_eq!(client.post("/echo-length/further", &vec![0; 1_000_000]).text(), "1000000\n");
    client.send("PUT /echo-length HTTP/1.1\r\nHost: origin\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.send("3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n");
    assert_eq!(client.read_reply().text(), "7\n");
    assert_eq!(client.get("/echo-length").text(), "0\n");
}

#[test]
fn a_body_where_none_is_wanted_does_not_cost_the_connection() {
    let (origin, mut client) = origin();
    assert_eq!(client.post("/bytes/3", &vec![0; 1_000_000]).body.len(), 3);
    assert_eq!(client.get("/bytes/4").body.len(), 4);
    assert_eq!(origin.served().connections, 1);
}

#[test]
fn a_client_that_expects_to_be_reported_to_continue_is() {
    let (_origin, mut client) = origin();
    client.send("POST /echo-length HTTP/1.1\r\nHost: o\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    assert_eq!(client.read_head().status, 100);
    client.send("hi");
    assert_eq!(client.read_reply().text(), "2\n");
}

#[test]
fn the_site_is_served_as_listed() {
    let (origin, mut client) = origin();
    let config = OriginConfig::default();
    assert_eq!(origin.site().pages(), Site::generate(config.site, Seed(config.seed)).pages());
    assert_eq!(origin.site().pages().len(), usize::from(SiteConfig::default().pages));
    for page in origin.site().pages() {
        let reply = client.get(page.path());
        assert_eq!((reply.status, reply.body.len() as u64), (200, page.size().0), "{}", page.path());
        assert_eq!(reply.header("content-type"), Some("text/html; charset=utf-8"));
        for object in page.objects() {
            let reply = client.get(object.path());
            assert_eq!((reply.status, reply.body.len() as u64), (200, object.size().0), "{}", object.path());
        }
    }
}

/// Every link of the index page leads somewhere, and every page is among them.
#[test]
fn the_index_lists_what_there_is() {
    let (origin, mut client) = origin();
    let index = client.get("/");
    let links: Vec<&str> =
        index.text().split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(origin.site().pages().iter().all(|page| links.contains(&page.path())));
    for link in links.iter().filter(|link| !link.starts_with("/status/")) {
        assert_eq!(client.get(link).status, 200, "{link}");
    }
}

#[test]
fn what_is_not_http_gets_400_and_the_next_client_is_served() {
    let (origin, mut client) = origin();
    client.send("this is not HTTP\r\n\r\n");
    assert_eq!(client.read_head().status, 400);
    assert_eq!(Client::connect(origin.address()).get("/bytes/1").status, 200);
}

/// Sends `first`, and then `more` again and again, until the connection takes no more; how many bytes it
/// took. Nothing is read.
fn pour(origin: &Origin, first: &[u8], more: &[u8]) -> usize {
    let mut stream = TcpStream::connect(origin.address()).expect("the origin listens");
    stream.set_write_timeout(Some(Duration::from_millis(300))).expect("a time that there is");
    stream.write_all(first).expect("the connection takes it");
    let (most, mut sent) = (256 << 20, 0);
    while sent < most
        && let Ok(count) = stream.write(more)
    {
        sent += count;
    }
    sent
}

/// Heads and frames without end: what they take is little more than the kernel's buffers hold, and others are
/// served.
#[test]
fn what_a_client_sends_without_end_is_bounded() {
    let (origin, mut client) = origin();
    let frame = |kind: u8, stream: u8, payload: &[u8]| {
        [&[0, 0, payload.len() as u8, kind, 0, 0, 0, 0, stream][..], payload].concat()
    };
    let preface = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &frame(4, 0, b"")].concat();
    let head = [&preface[..], &frame(1, 1, b"\x82")].concat();
    let field = [&b"\x00\x01x\x64"[..], &[b'a'; 100]].concat();
    let floods: [(&str, &[u8], Vec<u8>); 6] = [
        ("a line", b"GET /", b"x".repeat(10_000)),
        ("fields", b"GET / HTTP/1.1\r\n", b"X-Field: and one more\r\n".repeat(500)),
        ("CONTINUATION", &head, frame(9, 1, &field).repeat(100)),
        ("empty CONTINUATION", &head, frame(9, 1, b"").repeat(1_000)),
        ("PING", &preface, frame(6, 0, &[7; 8]).repeat(1_000)),
        ("SETTINGS", &preface, frame(4, 0, b"").repeat(1_000)),
    ];
    for (name, first, more) in floods {
        let sent = pour(&origin, first, &more);
        assert!(sent < 32 << 20, "{name}: {sent} bytes");
        assert_eq!(client.get("/bytes/1").status, 200, "{name}");
    }
    // 408 KiB are read for a head.
    let before = b"GET /bytes/1 HTTP/1.1\r\nHost: origin\r\nX-Long: ".len() + b"\r\n\r\n".len();
    let almost = "x".repeat((408 << 10) - 1 - before);
    client.send(format!("GET /bytes/1 HTTP/1.1\r\nHost: origin\r\nX-Long: {almost}\r\n\r\n"));
    assert_eq!(client.read_reply().status, 200);
    let mut long = Client::connect(origin.address());
    long.send([&b"GET / HTTP/1.1\r\nX-Long: "[..], &b"x".repeat(408 << 10)].concat());
    assert_eq!(long.read_head().status, 431);
}
