//! Connections of QUIC between two ends of quinn-proto, whose datagrams are put into packets by hand: the
//! requests of HTTP/3 on them are read with the client's key log.

mod scene;

use bytes::BytesMut;
use farfield_capture::{Capture, Options, Secrets, TransactionState, UnixNs, read};
use farfield_wire::{Addresses, IpRepr, Message, Protocol, UdpRepr, write_packet};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, ServerConfig,
    StreamId,
};
use rustls::KeyLog;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use scene::{file, only, outcomes};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const COMPLETE: TransactionState = TransactionState::Complete;
/// GET of `/` in a frame HEADERS, with entries of the static table.
const GET: &[u8] = &[1, 4, 0, 0, 0xd1, 0xc1];
const CLIENT: usize = 0;
const SERVER: usize = 1;

#[derive(Debug, Default)]
struct Lines(Mutex<String>);

impl KeyLog for Lines {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let line = format!("{label} {} {}\n", hex(client_random), hex(secret));
        self.0.lock().unwrap().push_str(&line);
    }
}

/// A client and a server, and the datagrams between them.
struct Pair {
    config: ClientConfig,
    endpoints: [Endpoint; 2],
    ends: [Option<(ConnectionHandle, Connection)>; 2],
    lines: Arc<Lines>,
    began: Instant,
    now: Instant,
    /// By the capture's clock.
    at: u64,
    /// Datagrams that a kernel gets at once, and does not cut apart before they are captured.
    together: usize,
    packets: Vec<(u64, Vec<u8>)>,
}

fn address(end: usize) -> SocketAddr {
    [SocketAddr::from(([198, 18, 0, 1], 40_000)), SocketAddr::from(([10, 0, 0, 1], 443))][end]
}

impl Pair {
    fn new(suite: rustls::SupportedCipherSuite, together: usize) -> Pair {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::new(vec!["a.test".to_owned()]).unwrap();
        let certificate = CertificateDer::from(certificate.self_signed(&key).unwrap());
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let mut roots = rustls::RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        // Initial packets are under AES-128 whatever comes after them.
        let mut provider = aws_lc_rs::default_provider();
        provider
            .cipher_suites
            .retain(|own| *own == suite || own.suite() == rustls::CipherSuite::TLS13_AES_128_GCM_SHA256);
        provider.cipher_suites.sort_by_key(|own| *own != suite);
        let provider = Arc::new(provider);
        let lines = Arc::new(Lines::default());
        let versions = &[&rustls::version::TLS13];
        let builder = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_protocol_versions(versions).unwrap();
        let mut client = builder.with_root_certificates(roots).with_no_client_auth();
        client.key_log = Arc::clone(&lines) as Arc<dyn KeyLog>;
        client.alpn_protocols = vec!["h3".into()];
        client.enable_early_data = true;
        let builder = rustls::ServerConfig::builder_with_provider(provider);
        let builder = builder.with_protocol_versions(versions).unwrap().with_no_client_auth();
        let mut server = builder.with_single_cert(vec![certificate], key).unwrap();
        server.alpn_protocols = vec!["h3".into()];
        server.max_early_data_size = u32::MAX;
        let client = Arc::new(QuicClientConfig::try_from(client).unwrap());
        let server = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(server).unwrap()));
        let endpoint =
            |server| Endpoint::new(Arc::new(EndpointConfig::default()), server, true, Some([7; 32]));
        #[expect(
            clippy::disallowed_methods,
            reason = "the library's times need a beginning, and only differences count"
        )]
        let now = Instant::now();
        let mut pair = Pair {
            config: ClientConfig::new(client),
            endpoints: [endpoint(None), endpoint(Some(Arc::new(server)))],
            ends: [None, None],
            lines,
            began: now,
            now,
            at: 0,
            together,
            packets: Vec::new(),
        };
        pair.connect();
        pair
    }

    /// The client begins a connection.
    fn connect(&mut self) {
        let begun = self.endpoints[CLIENT].connect(self.now, self.config.clone(), address(SERVER), "a.test");
        self.ends = [Some(begun.unwrap()), None];
    }

    fn secured(suite: rustls::SupportedCipherSuite, together: usize) -> Pair {
        let mut pair = Pair::new(suite, together);
        pair.exchange();
        assert!(pair.ends.iter().flatten().all(|(_, end)| !end.is_handshaking()));
        pair
    }

    /// Both ends send what they have, and their timers run, until nothing is to be done for a while.
    fn exchange(&mut self) {
        for _ in 0..60 {
            self.now += Duration::from_millis(1);
            for from in [CLIENT, SERVER] {
                if let Some((_, end)) = &mut self.ends[from] {
                    if end.poll_timeout().is_some_and(|due| due <= self.now) {
                        end.handle_timeout(self.now);
                    }
                    while end.poll().is_some() {}
                    while end.streams().accept(Dir::Bi).is_some() {}
                }
                self.send(from);
            }
        }
    }

    fn send(&mut self, from: usize) {
        loop {
            let mut bytes = Vec::new();
            let Some((handle, end)) = &mut self.ends[from] else { return };
            while let Some(event) = end.poll_endpoint_events() {
                if let Some(event) = self.endpoints[from].handle_event(*handle, event) {
                    end.handle_event(event);
                }
            }
            let Some(transmit) = end.poll_transmit(self.now, self.together, &mut bytes) else { return };
            let bytes = &bytes[..transmit.size];
            self.capture(from, bytes);
            for datagram in bytes.chunks(transmit.segment_size.unwrap_or(bytes.len())) {
                self.arrive(1 - from, datagram);
            }
        }
    }

    fn capture(&mut self, from: usize, bytes: &[u8]) {
        self.at = (self.now - self.began).as_nanos() as u64;
        let ends = [address(from), address(1 - from)];
        let SocketAddr::V4(source) = ends[0] else { return };
        let SocketAddr::V4(destination) = ends[1] else { return };
        let ip = IpRepr::new(
            Addresses::V4 { source: *source.ip(), destination: *destination.ip() },
            Protocol::UDP,
        );
        let udp = UdpRepr { source_port: source.port(), destination_port: destination.port() };
        let message = Message::Udp(udp, bytes);
        let mut packet = vec![0; ip.header_len() + message.wire_len()];
        write_packet(&ip, &message, &mut packet);
        self.packets.push((self.at, packet));
    }

    fn arrive(&mut self, to: usize, datagram: &[u8]) {
        let mut reply = Vec::new();
        let endpoint = &mut self.endpoints[to];
        let datagram = BytesMut::from(datagram);
        match endpoint.handle(self.now, address(1 - to), None, None, datagram, &mut reply) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.ends[to] = Some(endpoint.accept(incoming, self.now, &mut reply, None).ok().unwrap());
            }
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((own, end)) = &mut self.ends[to]
                    && *own == handle
                {
                    end.handle_event(event);
                }
            }
            _ => {}
        }
    }

    /// An end says something on a stream, and no more after it; returns when.
    fn say(&mut self, from: usize, stream: StreamId, mut bytes: &[u8]) -> UnixNs {
        self.now += Duration::from_millis(1);
        let said = UnixNs((self.now - self.began).as_nanos() as u64);
        while !bytes.is_empty() {
            let (_, end) = self.ends[from].as_mut().unwrap();
            let written = end.send_stream(stream).write(bytes).unwrap_or(0);
            bytes = &bytes[written..];
            if bytes.is_empty() {
                end.send_stream(stream).finish().unwrap();
            }
            self.send(from);
            if !bytes.is_empty() {
                self.exchange();
            }
        }
        self.exchange();
        said
    }

    fn open(&mut self) -> StreamId {
        let (_, end) = self.ends[CLIENT].as_mut().unwrap();
        end.streams().open(Dir::Bi).expect("a stream")
    }

    fn close(&mut self) {
        let (_, end) = self.ends[CLIENT].as_mut().unwrap();
        end.close(self.now, 0u32.into(), "goodbye".into());
        self.exchange();
    }

    fn rebuilt(&self) -> Capture {
        rebuilt_with(&self.packets, &self.lines.0.lock().unwrap())
    }
}

fn rebuilt_with(packets: &[(u64, Vec<u8>)], lines: &str) -> Capture {
    rebuilt_under(packets, lines, Options::default())
}

fn rebuilt_under(packets: &[(u64, Vec<u8>)], lines: &str, options: Options) -> Capture {
    let secrets = Secrets::read(lines.as_bytes()).unwrap();
    let options = Options { secrets: Some(Arc::new(secrets)), ..options };
    read(&file(packets, 0)[..], &options).expect("a capture")
}

/// A reply of 200 whose body has `len` bytes.
fn reply(len: usize) -> Vec<u8> {
    let length = (0x8000_0000 | len as u32).to_be_bytes();
    [&[1, 3, 0, 0, 0xd9, 0][..], &length, &vec![b'x'; len]].concat()
}

/// Bytes of such a reply, with its frames.
fn reply_bytes(len: u64) -> u64 {
    5 + 5 + len
}

/// The suites of TLS 1.3, and rows of datagrams that were not cut apart.
#[test]
fn requests_are_read_under_all_suites() {
    for suite in [
        aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256,
        aws_lc_rs::cipher_suite::TLS13_AES_256_GCM_SHA384,
        aws_lc_rs::cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
    ] {
        for together in [1, 10] {
            let mut pair = Pair::secured(suite, together);
            let mut said = Vec::new();
            for len in [0, 1_000, 60_000] {
                let stream = pair.open();
                let asked = pair.say(CLIENT, stream, GET);
                said.push((asked, pair.say(SERVER, stream, &reply(len)), len as u64));
                // The client gives back what it was allowed.
                let (_, end) = pair.ends[CLIENT].as_mut().unwrap();
                if let Ok(mut chunks) = end.recv_stream(stream).read(true) {
                    while let Ok(Some(_)) = chunks.next(usize::MAX) {}
                    let _ = chunks.finalize();
                }
            }
            let longest = pair.packets.iter().map(|(_, bytes)| bytes.len()).max();
            assert_eq!(longest > Some(1_600), together > 1, "rows are as they were to be");
            pair.close();
            let capture = pair.rebuilt();
            let expected: Vec<_> =
                said.iter().map(|(_, _, len)| (COMPLETE, 200, *len, reply_bytes(*len))).collect();
            assert_eq!(outcomes(&capture), expected, "{suite:?}, {together}: {:?}", capture.limits);
            for (own, (asked, answered, _)) in capture.transactions.iter().zip(said) {
                assert_eq!((own.method.as_str(), own.target.as_str()), ("GET", "/"));
                assert_eq!((own.request_first, own.reply_first), (asked, Some(answered)));
            }
            let connection = only(&capture);
            assert!(connection.is_quic && connection.syn_ack <= connection.secured);
            assert!(connection.secured < Some(capture.transactions[0].request_first));
            assert_eq!((capture.limits.tls_sessions, capture.limits.tls_records_unread), (1, 0));
            assert_eq!(connection.client_side.sealed_bytes + connection.server_side.sealed_bytes, 0);
        }
    }
}

const SUITE: rustls::SupportedCipherSuite = aws_lc_rs::cipher_suite::TLS13_AES_256_GCM_SHA384;

/// Keys that an end replaces, and a request within the handshake of a connection that comes after another
/// one between the same addresses.
#[test]
fn keys_are_followed_and_connections_kept_apart() {
    let mut pair = Pair::secured(SUITE, 1);
    for turn in 0..4 {
        let stream = pair.open();
        pair.say(CLIENT, stream, GET);
        pair.say(SERVER, stream, &reply(turn));
        let (_, end) = pair.ends[turn % 2].as_mut().unwrap();
        end.force_key_update();
        pair.exchange();
    }
    pair.close();
    pair.connect();
    let (_, end) = pair.ends[CLIENT].as_mut().unwrap();
    assert!(end.has_0rtt(), "a ticket");
    let stream = pair.open();
    let asked = pair.say(CLIENT, stream, GET);
    assert!(pair.ends[CLIENT].as_ref().unwrap().1.accepted_0rtt());
    pair.say(SERVER, stream, &reply(7));
    pair.close();
    let capture = pair.rebuilt();
    let expected: Vec<_> =
        [0, 1, 2, 3, 7].iter().map(|len| (COMPLETE, 200, *len, reply_bytes(*len))).collect();
    assert_eq!(outcomes(&capture), expected, "{:?}", capture.limits);
    assert_eq!(capture.connections.len(), 2);
    let last = capture.transactions.last().unwrap();
    assert_eq!((last.connection, last.request_first), (1, asked), "within the handshake");
    assert_eq!(capture.limits.tls_records_unread, 0);
}

/// Without the secrets nothing is read, and that is counted.
#[test]
fn nothing_is_read_without_the_secrets() {
    let mut pair = Pair::secured(SUITE, 1);
    let stream = pair.open();
    pair.say(CLIENT, stream, GET);
    pair.say(SERVER, stream, &reply(1_000));
    let none = rebuilt_with(&pair.packets, "");
    assert_eq!((none.transactions.len(), none.limits.tls_without_secrets), (0, 1));
    assert!(only(&none).client_side.sealed_bytes > 0 && only(&none).secured.is_none());
    let plain = scene::rebuilt(&file(&pair.packets, 0));
    assert_eq!((plain.connections.len(), plain.limits.packets_other), (0, plain.limits.packets));
}

/// Datagrams that are missing or damaged are survived, and what is called complete is what was said.
#[test]
fn damaged_connections_are_survived() {
    let mut state = 5u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut pair = Pair::secured(SUITE, 3);
    for len in [10, 5_000] {
        let stream = pair.open();
        pair.say(CLIENT, stream, GET);
        pair.say(SERVER, stream, &reply(len));
    }
    pair.close();
    let lines = pair.lines.0.lock().unwrap().clone();
    for _ in 0..300 {
        let mut packets = pair.packets.clone();
        for _ in 0..1 + random(3) {
            let place = random(packets.len());
            let bytes = &mut packets[place].1;
            match random(3) {
                0 => _ = packets.remove(place),
                1 => {
                    let at = 28 + random(bytes.len() - 28);
                    bytes[at] ^= 1 << random(8);
                }
                _ => packets.swap(place, random(place + 1)),
            }
        }
        let capture = rebuilt_with(&packets, &lines);
        for own in capture.transactions.iter().filter(|own| own.state == COMPLETE) {
            assert!(matches!((own.status, own.body_bytes), (200, 10 | 5_000)), "{own:?}");
        }
        for (place, own) in capture.transactions.iter().enumerate() {
            assert_eq!(own.number as usize, place);
        }
    }
}

/// Data that waits behind holes has a bound over all streams: beyond it, a hole is taken as never captured.
#[test]
fn what_waits_is_bounded_over_all_streams() {
    let mut pair = Pair::secured(SUITE, 1);
    let mut late = Vec::new();
    for _ in 0..2 {
        let stream = pair.open();
        pair.say(CLIENT, stream, GET);
        let first = pair.packets.len();
        pair.say(SERVER, stream, &reply(30_000));
        late.push(pair.packets.remove(first));
    }
    let lines = pair.lines.0.lock().unwrap().clone();
    let mut packets = pair.packets.clone();
    for (_, packet) in late {
        packets.push((packets.last().unwrap().0 + 1_000, packet));
    }
    let states = |waiting_bytes_total_max| {
        let options = Options { waiting_bytes_total_max, ..Options::default() };
        let capture = rebuilt_under(&packets, &lines, options);
        capture.transactions.iter().map(|own| own.state).collect::<Vec<_>>()
    };
    assert_eq!(states(256 << 20), [COMPLETE; 2]);
    assert_eq!(states(40_000), [COMPLETE, TransactionState::Lossy], "the first alone waits");
}
