//! Requests as header blocks, decoded again.

use crate::scene::*;
use farfield_http::http1::RequestError;
use farfield_http::http2::hpack::{Decoder, Scratch};
use farfield_http::http2::{CommonFields, RequestHead, Settings, block_of_http1};

/// A server that decodes what the client sends, with a table of this size.
struct Server {
    scene: Scene,
    decoder: Decoder,
}

impl Server {
    fn new(heads: &[RequestHead<'_>], servers: &[(u16, u32)]) -> Server {
        let mut scene = Scene::with(&Settings::default(), servers);
        scene.common = CommonFields::of(heads).expect("good heads");
        let table = servers.iter().find(|(identifier, _)| *identifier == 1);
        Server { scene, decoder: Decoder::new(table.map_or(4096, |(_, bytes)| *bytes)) }
    }

    /// The length of the request's block, and its fields.
    fn request(&mut self, head: &RequestHead<'_>) -> (usize, Vec<(String, String)>) {
        self.scene.to_send.clear();
        self.scene.ask(head, b"").expect("room");
        let mut block = Vec::new();
        let mut rest = self.scene.to_send.as_slice();
        while !rest.is_empty() {
            let length = u32::from_be_bytes([0, rest[0], rest[1], rest[2]]) as usize;
            block.extend_from_slice(&rest[9..9 + length]);
            rest = &rest[9 + length..];
        }
        let mut fields = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let decoded = self.decoder.decode(&block, &mut Scratch::default(), &mut |name, value| {
            fields.push((text(name), text(value)));
        });
        assert_eq!(decoded, Ok(()));
        (block.len(), fields)
    }
}

fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn sorted(mut fields: Vec<(String, String)>) -> Vec<(String, String)> {
    fields.sort();
    fields
}

#[test]
fn a_request_has_its_fields_on_every_connection() {
    let first =
        headers(&[("X-Run", "a long value that all requests have"), ("Cookie", "a=b"), ("X-Own", "1")]);
    let second = headers(&[
        ("x-own", "2"),
        ("X-OWN", "3"),
        ("cookie", "a=b"),
        ("x-run", &first[0].1),
        ("TE", "trailers"),
    ]);
    let one = RequestHead { target: "/one", headers: &first, ..get() };
    let two = RequestHead { method: "POST", target: "/two", headers: &second, body_length: Some(0), ..get() };
    let other = RequestHead { scheme: "https", authority: "another", ..get() };
    let agent = concat!("farfield/", env!("CARGO_PKG_VERSION"));
    let expected_one = headers(&[
        (":method", "GET"),
        (":scheme", "http"),
        (":authority", "server"),
        (":path", "/one"),
        ("user-agent", agent),
        ("accept", "*/*"),
        ("x-run", &first[0].1),
        ("cookie", "a=b"),
        ("x-own", "1"),
    ]);
    let expected_two = headers(&[
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "server"),
        (":path", "/two"),
        ("user-agent", agent),
        ("accept", "*/*"),
        ("x-own", "2"),
        ("x-own", "3"),
        ("cookie", "a=b"),
        ("x-run", &first[0].1),
        ("te", "trailers"),
        ("content-length", "0"),
    ]);
    for servers in [&[][..], &[(1, 0)], &[(1, 100)], &[(1, 1000)], &[(1, 65_536)], &[(5, 20_000)]] {
        let mut server = Server::new(&[one.clone(), two.clone()], servers);
        let mut lengths = Vec::new();
        for _ in 0..3 {
            for (head, expected) in [(&one, &expected_one), (&two, &expected_two)] {
                let (length, fields) = server.request(head);
                assert!(fields[..4].iter().all(|(name, _)| name.starts_with(':')));
                assert_eq!(sorted(fields), sorted(expected.clone()), "{servers:?}");
                lengths.push(length);
            }
            // A request of another kind neither disturbs the table nor uses it.
            let (_, fields) = server.request(&other);
            assert_eq!(fields[2], (":authority".to_owned(), "another".to_owned()));
            assert_eq!(fields.len(), 6);
        }
        let used_table = lengths[2] + 20 < lengths[0];
        let has_room = servers.iter().all(|setting| setting.0 != 1 || setting.1 >= 1000);
        assert_eq!(used_table, has_room, "{servers:?}: {lengths:?}");
    }
}

#[test]
fn requests_of_two_sets_may_meet_on_a_connection() {
    let long = "the first, which is the longer by far".repeat(5);
    let (first, second) = (headers(&[("x-run", &long)]), headers(&[("x-run", "the second")]));
    let heads = [&first, &second].map(|headers| RequestHead { headers, ..get() });
    let mut server = Server::new(&heads[..1], &[]);
    let other = CommonFields::of(&heads[1..]).expect("a good head");
    for _ in 0..2 {
        let (_, fields) = server.request(&heads[0]);
        assert!(fields.contains(&first[0]), "{fields:?}");
        let own = std::mem::replace(&mut server.scene.common, other.clone());
        let (_, fields) = server.request(&heads[1]);
        assert!(fields.contains(&second[0]), "{fields:?}");
        // Enough for what the second would insert, and too little for what the first has.
        server.scene.receive(&settings(&[(1, 250)])).expect("a sound server");
        server.request(&heads[1]);
        server.scene.common = own;
    }
}

#[test]
fn a_table_that_shrinks_in_mid_run_is_given_up_or_kept() {
    let shared = headers(&[("x-run", "a value of some length")]);
    let head = RequestHead { headers: &shared, ..get() };
    for (bytes, is_kept) in [(0, false), (100, false), (1000, true)] {
        let mut server = Server::new(std::slice::from_ref(&head), &[]);
        let (first, fields) = server.request(&head);
        let (later, same) = server.request(&head);
        assert!(later < 10 && first > 40 && fields == same);
        server.scene.receive(&[settings(&[(1, bytes)]), settings(&[(1, 4096)])].concat()).expect("sound");
        let (changed, same) = server.request(&head);
        assert_eq!((changed < 15, &same), (is_kept, &fields), "{bytes}");
        let (again, same) = server.request(&head);
        assert_eq!((again < 10, &same), (is_kept, &fields), "{bytes}");
    }
}

#[test]
fn credentials_are_never_inserted() {
    let secret = headers(&[("Authorization", "Basic YTpi"), ("Proxy-Authorization", "x"), ("Cookie", "k=v")]);
    let head = RequestHead { headers: &secret, ..get() };
    let common = CommonFields::of(std::slice::from_ref(&head)).expect("a good head");
    let mut server = Server::new(std::slice::from_ref(&head), &[]);
    for _ in 0..2 {
        server.request(&head);
        // RFC 7541, 6.2.3: 0001, and the name's index in the static table: 23, 49 and 32.
        for literal in [[0x1f, 23 - 15], [0x1f, 49 - 15], [0x1f, 32 - 15]] {
            assert!(server.scene.to_send.windows(2).any(|bytes| bytes == literal), "{literal:?}");
        }
    }
    assert_ne!(common, CommonFields::default());
}

#[test]
fn a_block_that_is_larger_than_a_frame_goes_in_several() {
    let long = headers(&[("x-long", &"~".repeat(40_000))]);
    let head = RequestHead { headers: &long, ..get() };
    let mut server = Server::new(std::slice::from_ref(&head), &[]);
    let (length, fields) = server.request(&head);
    assert!(length > 40_000 && fields.contains(&long[0]));
    assert_eq!(server.scene.sent(), ["1 headers end more", "1 continuation more", "1 continuation"]);
}

#[test]
fn what_would_be_another_request_is_refused() {
    let error = |head: RequestHead<'_>| head.encode(&CommonFields::default()).expect_err("a bad head");
    assert_eq!(error(RequestHead { method: "CONNECT", ..get() }), RequestError::Method("CONNECT".to_owned()));
    assert_eq!(error(RequestHead { target: "a", ..get() }), RequestError::Target("a".to_owned()));
    assert_eq!(error(RequestHead { authority: "a b", ..get() }), RequestError::Host("a b".to_owned()));
    let of = |name: &str, value: &str| error(RequestHead { headers: &headers(&[(name, value)]), ..get() });
    for name in ["Upgrade", "keep-alive", "Proxy-Connection", "HTTP2-Settings", "te"] {
        assert_eq!(of(name, "x"), RequestError::HeaderOfHttp1(name.to_owned()));
    }
    for name in ["Connection", "Transfer-Encoding", "content-length"] {
        assert_eq!(of(name, "x"), RequestError::HeaderReserved(name.to_owned()));
    }
    assert_eq!(of(":path", "/x"), RequestError::HeaderName(":path".to_owned()));
    assert_eq!(of("x", "a\r\nb"), RequestError::HeaderValue("x".to_owned()));
    let host = headers(&[("Host", "other:81"), ("X", "  blanks ")]);
    let mut server = Server::new(&[], &[]);
    let (_, fields) = server.request(&RequestHead { headers: &host, ..get() });
    assert_eq!(fields[2].1, "other:81");
    assert_eq!(fields.last().map(|(_, value)| value.as_str()), Some("blanks"));
}

/// A head in the form of HTTP/1 is the same request as a block: its fields are those that are encoded ahead
/// of time, without the ones that are about a connection of HTTP/1.
#[test]
fn a_head_of_http1_becomes_a_block() {
    let own = headers(&[
        ("X-Own", " a: b  c "),
        ("Cookie", "a=b; c=d"),
        ("Referer", "http://server/x?y"),
        ("X-Empty", ""),
        ("Keep-Alive-Not", "x"),
    ]);
    for (method, target, persistent, body_length) in
        [("GET", "/a?b=c:d", true, None), ("POST", "/", false, Some(0)), ("OPTIONS", "*", true, None)]
    {
        let written = farfield_http::http1::RequestHead {
            method,
            target,
            host: "server:81",
            version: farfield_http::http1::Version::Http11,
            persistent,
            headers: &own,
            body_length,
        };
        let mut block = Vec::new();
        block_of_http1(&written.encode().expect("a good head"), "https", &mut block);
        let mut found = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut decoder = Decoder::new(4096);
        let decoded = decoder.decode(&block, &mut Scratch::default(), &mut |name, value| {
            found.push((text(name), text(value)));
        });
        assert_eq!(decoded, Ok(()));
        let head = RequestHead {
            method,
            scheme: "https",
            authority: "server:81",
            target,
            headers: &own,
            body_length,
        };
        let mut server = Server::new(&[], &[]);
        assert_eq!(found, server.request(&head).1);
    }
}

/// RFC 9113, 8.2.2: of what is written while the run goes on, fields about a connection are left out, and TE
/// unless it says `trailers`.
#[test]
fn fields_of_a_connection_are_left_out_of_a_block() {
    let named = |head: &str| {
        let (mut block, mut names) = (Vec::new(), Vec::new());
        block_of_http1(head.as_bytes(), "https", &mut block);
        let decoded = Decoder::new(4096).decode(&block, &mut Scratch::default(), &mut |name, _| {
            names.push(String::from_utf8_lossy(name).into_owned());
        });
        assert_eq!(decoded, Ok(()));
        names.split_off(4)
    };
    let head = "GET / HTTP/1.1\r\nHost: a\r\nConnection: te\r\nHTTP2-Settings: x\r\nUpgrade: h2c\r\n";
    assert_eq!(named(&format!("{head}TE: gzip, trailers\r\nX-Own: y\r\n")), ["x-own"]);
    assert_eq!(named(&format!("{head}TE: trailers\r\n")), ["te"]);
}
