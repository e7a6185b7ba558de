//! Sessions of TLS between rustls' client and server, whose bytes are put into packets by hand: what both
//! said is read with the client's key log, and nothing is where something of that is missing.

mod scene;

use farfield_capture::{Capture, Options, Secrets, Side, TransactionState, UnixNs, read};
use farfield_wire::TcpFlags;
use rustls::client::{ClientConnection, Resumption};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ServerConnection, ServerSessionMemoryCache};
use rustls::{
    ClientConfig, KeyLog, RootCertStore, ServerConfig, SupportedCipherSuite, SupportedProtocolVersion,
};
use scene::{CLIENT, GET, SERVER, Scene, file, only, outcomes, reply};
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};

const COMPLETE: TransactionState = TransactionState::Complete;
const TLS12: &SupportedProtocolVersion = &rustls::version::TLS12;
const TLS13: &SupportedProtocolVersion = &rustls::version::TLS13;

/// Lines of a key log.
#[derive(Debug, Default)]
struct Lines(Mutex<String>);

impl KeyLog for Lines {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let line = format!("{label} {} {}\n", hex(client_random), hex(secret));
        self.0.lock().unwrap().push_str(&line);
    }
}

/// The configurations of both ends of a session, and the client's key log.
struct Ends {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    lines: Arc<Lines>,
}

/// The properties of sessions.
#[derive(Clone, Copy)]
struct Wish {
    version: &'static SupportedProtocolVersion,
    suite: Option<SupportedCipherSuite>,
    alpn: &'static str,
    early_bytes: u32,
    /// The server wants a group of which the client has sent no share.
    retries: bool,
}

const WISH: Wish = Wish { version: TLS13, suite: None, alpn: "http/1.1", early_bytes: 0, retries: false };

impl Ends {
    fn new(wish: Wish) -> Ends {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::new(vec!["a.test".to_owned()]).unwrap();
        let certificate = CertificateDer::from(certificate.self_signed(&key).unwrap());
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let mut provider = aws_lc_rs::default_provider();
        if let Some(suite) = wish.suite {
            provider.cipher_suites = vec![suite];
        }
        let servers = match wish.retries {
            true => CryptoProvider { kx_groups: vec![aws_lc_rs::kx_group::SECP384R1], ..provider.clone() },
            false => provider.clone(),
        };
        let lines = Arc::new(Lines::default());
        let versions = &[wish.version];
        let builder = ClientConfig::builder_with_provider(Arc::new(provider));
        let builder = builder.with_protocol_versions(versions).unwrap();
        let mut client = builder.with_root_certificates(roots).with_no_client_auth();
        client.key_log = Arc::clone(&lines) as Arc<dyn KeyLog>;
        client.alpn_protocols = vec![wish.alpn.into()];
        client.enable_early_data = true;
        client.resumption = Resumption::in_memory_sessions(8);
        let builder = ServerConfig::builder_with_provider(Arc::new(servers));
        let builder = builder.with_protocol_versions(versions).unwrap().with_no_client_auth();
        let mut server = builder.with_single_cert(vec![certificate], key).unwrap();
        server.alpn_protocols = vec![wish.alpn.into()];
        server.max_early_data_size = wish.early_bytes;
        server.session_storage = ServerSessionMemoryCache::new(8);
        Ends { client: Arc::new(client), server: Arc::new(server), lines }
    }

    /// The capture rebuilt of packets with the key log.
    fn rebuilt(&self, packets: &[(u64, Vec<u8>)], snap_len: u32) -> Capture {
        rebuilt_with(packets, snap_len, &self.lines.0.lock().unwrap())
    }
}

fn rebuilt_with(packets: &[(u64, Vec<u8>)], snap_len: u32, lines: &str) -> Capture {
    let secrets = Secrets::read(lines.as_bytes()).unwrap();
    let options = Options { secrets: Some(Arc::new(secrets)), ..Options::default() };
    read(&file(packets, snap_len)[..], &options).expect("a capture")
}

/// A session on a connection whose packets are written down.
struct Pair {
    client: ClientConnection,
    server: ServerConnection,
    scene: Scene,
    /// Bytes of a packet at most.
    mss: usize,
}

impl Pair {
    fn new(ends: &Ends, mss: usize) -> Pair {
        let name = ServerName::try_from("a.test").unwrap();
        let client = ClientConnection::new(Arc::clone(&ends.client), name).unwrap();
        let server = ServerConnection::new(Arc::clone(&ends.server)).unwrap();
        Pair { client, server, scene: Scene::open(), mss }
    }

    /// One that is secured.
    fn secured(ends: &Ends, mss: usize) -> Pair {
        let mut pair = Pair::new(ends, mss);
        pair.exchange();
        assert!(!pair.client.is_handshaking() && !pair.server.is_handshaking());
        pair
    }

    /// Both ends send what they have until neither has more.
    fn exchange(&mut self) {
        while self.flush(CLIENT) | self.flush(SERVER) {}
    }

    /// An end sends what it has; whether it had anything.
    fn flush(&mut self, from: Side) -> bool {
        let mut bytes = Vec::new();
        match from {
            Side::Client => {
                while self.client.wants_write() && self.client.write_tls(&mut bytes).unwrap() > 0 {}
            }
            Side::Server => {
                while self.server.wants_write() && self.server.write_tls(&mut bytes).unwrap() > 0 {}
            }
        }
        for packet in bytes.chunks(self.mss) {
            self.scene.say(from, packet);
        }
        let (mut rest, mut heard) = (&bytes[..], vec![0; 1 << 16]);
        while !rest.is_empty() {
            match from {
                Side::Client => {
                    self.server.read_tls(&mut rest).unwrap();
                    self.server.process_new_packets().unwrap();
                }
                Side::Server => {
                    self.client.read_tls(&mut rest).unwrap();
                    self.client.process_new_packets().unwrap();
                }
            }
            while matches!(self.client.reader().read(&mut heard), Ok(1..)) {}
            while matches!(self.server.reader().read(&mut heard), Ok(1..)) {}
        }
        !bytes.is_empty()
    }

    /// An end says something; returns the instants of its first and its last packet.
    fn say(&mut self, from: Side, bytes: &[u8]) -> (UnixNs, UnixNs) {
        match from {
            Side::Client => self.client.writer().write_all(bytes).unwrap(),
            Side::Server => self.server.writer().write_all(bytes).unwrap(),
        }
        let first = self.scene.now + scene::STEP;
        self.flush(from);
        (UnixNs(first), UnixNs(self.scene.now))
    }

    /// Both ends take their leave.
    fn close(&mut self) {
        self.client.send_close_notify();
        self.server.send_close_notify();
        self.exchange();
        self.scene.close();
    }
}

/// Every suite of both versions that rustls has.
fn wishes() -> Vec<Wish> {
    let suites = aws_lc_rs::default_provider().cipher_suites;
    let wish = |suite: &SupportedCipherSuite| match suite.tls13() {
        Some(_) => Some(Wish { suite: Some(*suite), ..WISH }),
        // The certificate's key is one of ECDSA.
        None if format!("{suite:?}").contains("_RSA_") => None,
        None => Some(Wish { version: TLS12, suite: Some(*suite), ..WISH }),
    };
    suites.iter().filter_map(wish).collect()
}

#[test]
fn all_suites_are_read_with_the_instants_of_their_packets() {
    assert_eq!(wishes().len(), 6, "three of each version");
    for wish in wishes() {
        for mss in [100_000, 1_400, 50] {
            let ends = Ends::new(wish);
            let mut pair = Pair::secured(&ends, mss);
            let mut expected = Vec::new();
            for len in [0, 10, 40_000] {
                let (asked, asked_last) = pair.say(CLIENT, GET);
                let (first, last) = pair.say(SERVER, &reply(len));
                expected.push((asked, asked_last, first, last, len as u64));
            }
            pair.close();
            let capture = ends.rebuilt(&pair.scene.ip_packets(), 0);
            assert_eq!(capture.transactions.len(), 3, "{wish:?}, {mss}");
            for (own, (asked, asked_last, first, last, len)) in capture.transactions.iter().zip(expected) {
                assert_eq!((own.state, own.status, own.body_bytes), (COMPLETE, 200, len), "{wish:?}, {mss}");
                assert_eq!((own.method.as_str(), own.target.as_str()), ("GET", "/a"));
                assert_eq!(own.request_first, asked, "{wish:?}, {mss}");
                // The last packet may have no more than the tag.
                assert!(asked_last.since(own.request_last) <= scene::STEP, "{wish:?}, {mss}");
                assert_eq!(own.reply_last, Some(last), "{wish:?}, {mss}");
                // Its first record has 16 KiB, the last of which make the first readable.
                let reply_first = own.reply_first.expect("a reply");
                assert!(first <= reply_first && reply_first <= last);
                assert_eq!(reply_first > first, mss < len as usize + 60, "{wish:?}, {mss}, {len}");
            }
            let (connection, limits) = (only(&capture), &capture.limits);
            assert_eq!(
                (limits.tls_sessions, limits.tls_without_secrets, limits.tls_records_unread),
                (1, 0, 0)
            );
            assert_eq!((connection.client_side.sealed_bytes, connection.server_side.sealed_bytes), (0, 0));
            let secured = connection.secured.expect("a handshake");
            assert!(
                connection.established < Some(secured) && secured < capture.transactions[0].request_first
            );
        }
    }
}

impl std::fmt::Debug for Wish {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} with {:?}", self.suite, self.alpn)
    }
}

fn frame(kind: u8, flags: u8, stream: u32, content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), content].concat()
}

/// HTTP/2 is known by what both ends agreed on, even if the server speaks first, and a byte at a time.
#[test]
fn http2_is_read_where_it_was_agreed_on() {
    for version in [TLS12, TLS13] {
        for mss in [1, 7, 100_000] {
            let ends = Ends::new(Wish { version, alpn: "h2", ..WISH });
            let mut pair = Pair::secured(&ends, mss);
            pair.say(SERVER, &frame(4, 0, 0, b""));
            let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
            let get = frame(1, 5, 1, &[0x82, 0x84]);
            let (asked, _) = pair.say(CLIENT, &[&preface[..], &frame(4, 0, 0, b""), &get].concat());
            pair.say(SERVER, &[frame(1, 4, 1, &[0x88]), frame(0, 1, 1, &[b'x'; 5_000])].concat());
            pair.close();
            let capture = ends.rebuilt(&pair.scene.ip_packets(), 0);
            assert_eq!(outcomes(&capture), [(COMPLETE, 200, 5_000, 5_019)], "in packets of {mss}");
            assert_eq!(capture.transactions[0].target, "/");
            assert!(capture.transactions[0].request_first >= asked);
        }
    }
}

/// Requests within the handshake: those that the server takes count when they were sent; others are sent
/// again.
#[test]
fn early_data_counts_if_it_was_accepted() {
    for (is_accepted, mss) in [(true, 100_000), (true, 60), (false, 100_000), (false, 60)] {
        let ends = Ends::new(Wish { early_bytes: 10_000, ..WISH });
        let mut first = Pair::secured(&ends, mss);
        first.close();
        let mut pair = Pair::new(&ends, mss);
        if !is_accepted {
            // A server that has forgotten all sessions.
            let mut server = (*ends.server).clone();
            server.session_storage = ServerSessionMemoryCache::new(8);
            pair.server = ServerConnection::new(Arc::new(server)).unwrap();
        }
        let early = pair.client.early_data().expect("a ticket").write(GET).unwrap();
        assert_eq!(early, GET.len());
        let begun = UnixNs(pair.scene.now + scene::STEP);
        pair.flush(CLIENT);
        let behind_hello = UnixNs(pair.scene.now);
        pair.exchange();
        assert_eq!(pair.client.is_early_data_accepted(), is_accepted);
        if !is_accepted {
            pair.say(CLIENT, GET);
        }
        pair.say(SERVER, &reply(10));
        pair.close();
        let capture = ends.rebuilt(&pair.scene.ip_packets(), 0);
        assert_eq!(outcomes(&capture), [(COMPLETE, 200, 10, 49)], "{is_accepted}, {mss}");
        let asked = capture.transactions[0].request_first;
        assert_eq!(asked <= behind_hello, is_accepted, "{mss}");
        assert!(asked >= begun);
        assert_eq!(capture.limits.tls_records_unread, 0);
    }
}

/// Keys that both ends replace, and a server that asks for another hello.
#[test]
fn keys_are_followed_as_they_change() {
    let ends = Ends::new(Wish { retries: true, ..WISH });
    let mut pair = Pair::secured(&ends, 300);
    assert_eq!(pair.client.handshake_kind(), Some(rustls::HandshakeKind::FullWithHelloRetryRequest));
    for turn in 0..6 {
        if turn % 2 == 1 {
            pair.client.refresh_traffic_keys().unwrap();
        }
        if turn % 3 == 2 {
            pair.server.refresh_traffic_keys().unwrap();
        }
        pair.exchange();
        pair.say(CLIENT, GET);
        pair.say(SERVER, &reply(turn));
    }
    pair.close();
    let capture = ends.rebuilt(&pair.scene.ip_packets(), 0);
    let expected: Vec<_> = (0..6).map(|body| (COMPLETE, 200, body, 38 + body)).collect();
    assert_eq!(outcomes(&capture), expected);
    assert_eq!(capture.limits.tls_records_unread, 0);
}

/// A missing part of a record loses that record; what was said after it is read.
#[test]
fn records_behind_a_missing_one_are_read() {
    for version in [TLS12, TLS13] {
        let ends = Ends::new(Wish { version, ..WISH });
        let mut pair = Pair::secured(&ends, 1_000);
        for len in [10, 30_000, 20] {
            pair.say(CLIENT, GET);
            pair.say(SERVER, &reply(len));
        }
        pair.close();
        let packets = pair.scene.ip_packets();
        // A packet within the first of the two records of the long reply, which has no header.
        let long = pair.scene.packets.iter().enumerate().filter(|(_, own)| own.data.len() == 1_000);
        let places: Vec<usize> = long.map(|(place, _)| place).collect();
        let lost = places[places.len() - 20];
        let without: Vec<_> =
            packets.iter().enumerate().filter(|(place, _)| *place != lost).map(|own| own.1.clone()).collect();
        let capture = ends.rebuilt(&without, 0);
        let states: Vec<_> = capture.transactions.iter().map(|own| own.state).collect();
        assert_eq!(states, [COMPLETE, TransactionState::Lossy, COMPLETE], "{:?}", capture.limits);
        assert_eq!(only(&capture).server_side.missing_bytes, 1_000);
        assert_eq!(capture.limits.tls_records_unread, 1);
        // The end of each packet is missing: no record of the long reply, and none of the server's messages.
        let cut = ends.rebuilt(&packets, 140);
        assert!(cut.transactions.iter().all(|own| own.state != COMPLETE), "{:?}", cut.transactions);
        assert!(cut.limits.packets_cut > 30);
    }
}

/// Without its secrets, or with others, nothing of a session is read, and that is counted.
#[test]
fn nothing_is_read_without_the_secrets() {
    for version in [TLS12, TLS13] {
        let ends = Ends::new(Wish { version, ..WISH });
        let mut pair = Pair::secured(&ends, 1_000);
        for _ in 0..40 {
            pair.say(CLIENT, GET);
            pair.say(SERVER, &reply(10));
        }
        pair.close();
        let packets = pair.scene.ip_packets();
        let lines = ends.lines.0.lock().unwrap().clone();
        let none = rebuilt_with(&packets, 0, "");
        assert_eq!((none.transactions.len(), none.limits.tls_without_secrets), (0, 1));
        assert!(only(&none).client_side.sealed_bytes > 40 * GET.len() as u64);
        // Those of the handshake and the alerts are sealed as well, and look like others in TLS 1.3.
        assert!(none.limits.tls_records_unread >= 80, "{:?}", none.limits);
        // Each secret with its last digit changed.
        let wrong: Vec<String> = lines
            .lines()
            .map(|line| format!("{}{}", &line[..line.len() - 1], if line.ends_with('0') { '1' } else { '0' }))
            .collect();
        let wrong = rebuilt_with(&packets, 0, &wrong.join("\n"));
        assert!(wrong.transactions.iter().all(|own| own.state != COMPLETE), "{:?}", wrong.transactions);
        assert!(wrong.limits.tls_records_unread >= 80 && only(&wrong).secured.is_none());
        // Where no secrets are given at all, it is no HTTP.
        let plain = scene::rebuilt(&file(&packets, 0));
        assert_eq!(plain.transactions[0].state, TransactionState::NotHttp);
        // Only what is said after the handshake is secret.
        let some: Vec<&str> = lines.lines().filter(|line| !line.contains("TRAFFIC_SECRET_0")).collect();
        if version == TLS13 {
            let some = rebuilt_with(&packets, 0, &some.join("\n"));
            assert!(only(&some).secured.is_some());
            assert!(some.transactions.iter().all(|own| own.state == TransactionState::Lossy));
        }
    }
}

/// Damage anywhere in the packets is survived, and what is called complete is what was said.
#[test]
fn damaged_sessions_are_survived() {
    let mut state = 7u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for wish in [WISH, Wish { version: TLS12, ..WISH }, Wish { early_bytes: 10_000, ..WISH }] {
        let ends = Ends::new(wish);
        if wish.early_bytes > 0 {
            Pair::secured(&ends, 1_000).close();
        }
        let mut pair = Pair::new(&ends, 700);
        if let Some(mut early) = pair.client.early_data() {
            early.write_all(GET).unwrap();
        }
        pair.exchange();
        for len in [10, 3_000] {
            pair.say(CLIENT, GET);
            pair.say(SERVER, &reply(len));
        }
        pair.close();
        let whole = pair.scene.packets.clone();
        for _ in 0..200 {
            let mut scene = Scene::open();
            scene.packets = whole.clone();
            for _ in 0..1 + random(3) {
                let place = random(scene.packets.len());
                let data = &mut scene.packets[place].data;
                match random(3) {
                    0 if !data.is_empty() => {
                        let at = random(data.len());
                        data[at] ^= 1 << random(8);
                    }
                    1 => _ = scene.packets.remove(place),
                    _ => scene.packets[place].repr.flags = TcpFlags(scene.packets[place].repr.flags.0 | 1),
                }
            }
            let capture = ends.rebuilt(&scene.ip_packets(), 0);
            let complete = capture.transactions.iter().filter(|own| own.state == COMPLETE);
            for own in complete {
                assert!(matches!((own.status, own.body_bytes), (200, 10 | 3_000)), "{own:?}");
            }
        }
    }
}
