//! Datagrams that a client of QUIC gets from whoever knows its address, or is its server: the property of the
//! fuzz target `quic_packets`.
//!
//! Without cryptography the adversary's packets are taken, so that any frames reach the library and the
//! client above it, in any order, among datagrams of a model of a server that are cut, changed, repeated
//! and lost. With cryptography it knows the keys of the first packets, as everybody does (RFC 9001, section
//! 5.2).
//!
//! The properties: no panic; a request has one end, and nothing follows the end of a connection; what is sent
//! for a datagram and what is found in it is bounded; no timer spins; the client forgets what is released.

use super::input::Input;
use bytes::Bytes;
use farfield_base::{Duration, Instant};
use farfield_http::http2::RequestHead;
use farfield_http::http3::{Answering, Connection, Event, Heads, Limits, encode_request};
use farfield_http::quic::{Arrival, Client, SEED_BYTES, Server, ServerSettings};
use farfield_http::tls::model::{Offer, Terms};
use farfield_http::tls::{Alpn, Group, TlsSettings, Trust, Version};
use rustls::crypto::aws_lc_rs;
use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::quic::{Keys, Version as QuicVersion};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

/// Steps of an input, at most.
const STEPS_MAX: usize = 400;
/// Datagrams that are sent, or events found, between two that come, at most. The client has a few small
/// requests to send, at its congestion window, and answers to what came.
const AT_ONCE_MAX: usize = 400;
/// Bytes of the identifiers that the client chooses for itself.
const OWN_ID: usize = 8;
/// Bytes of an authentication tag.
const TAG: usize = 16;

/// Fate of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Open,
    Over,
}

/// A model of a server and its end of the connection.
type Modelled = (Server, Option<Box<farfield_http::quic::Connection>>);

struct QuicHarness {
    client: Client,
    connection: Connection,
    heads: Heads,
    /// With cryptography, there is none.
    server: Option<Modelled>,
    now: Instant,
    requests: BTreeMap<u32, Fate>,
    is_lost: bool,
    to_client: Vec<Vec<u8>>,
    /// Identifiers that the client and the server have for themselves, and the one that the server was first
    /// asked by.
    client_id: Vec<u8>,
    server_id: Vec<u8>,
    first_id: Vec<u8>,
    /// The number of the adversary's last packet.
    number: u32,
}

/// A fuzzer's input: a byte that says whether there is cryptography (`e`), or else whether the handshake is
/// still to come (`h`), then steps of a byte and its arguments each.
pub fn of_packets(input: &[u8]) {
    let mut input = Input(input);
    let mode = input.byte();
    let mut harness = if mode == b'e' { QuicHarness::encrypted() } else { QuicHarness::modelled() };
    harness.settle();
    if mode != b'e' && mode != b'h' {
        harness.shake_hands();
    }
    let mut steps = 0;
    while !input.is_over() && steps < STEPS_MAX {
        harness.step(&mut input);
        harness.settle();
        steps += 1;
    }
    harness.end();
}

impl QuicHarness {
    /// Without cryptography, and with a model of a server.
    fn modelled() -> QuicHarness {
        let offer = Offer {
            name: Some("shop.test".to_owned()),
            protocol: Alpn::Http3,
            versions: vec![Version::Tls13],
            groups: Group::ALL.to_vec(),
            resumption: true,
            early_data: true,
        };
        let terms = Terms {
            versions: vec![Version::Tls13],
            groups: Group::ALL.to_vec(),
            certificates: vec![300],
            tickets: 2,
            early_data: true,
            full: Duration::ZERO,
            resumed: Duration::ZERO,
        };
        let settings = ServerSettings { streams_max: 10, send_buffer: 1 << 20 };
        let server = Server::modelled(Arc::new(terms), settings, [2; SEED_BYTES]);
        QuicHarness::new(Client::modelled(Arc::new(offer), [1; SEED_BYTES]), Some((server, None)))
    }

    /// With cryptography, and nobody there but the adversary.
    fn encrypted() -> QuicHarness {
        static SETTINGS: LazyLock<TlsSettings> = LazyLock::new(|| {
            let provider = Arc::new(aws_lc_rs::default_provider());
            let settings = TlsSettings::new("shop.test", Trust::Anyone, &[Version::Tls13], true, provider);
            #[expect(
                clippy::disallowed_methods,
                reason = "the library's times need a beginning, and only differences count"
            )]
            let beginning = std::time::Instant::now();
            settings.expect("settings").speaking(Alpn::Http3).beginning_at(beginning)
        });
        QuicHarness::new(Client::new(&SETTINGS), None)
    }

    fn new(mut client: Client, server: Option<Modelled>) -> QuicHarness {
        let connection = Connection::new(client.begin(Instant::ZERO, 1), Limits::default());
        QuicHarness {
            client,
            connection,
            heads: Heads::default(),
            server,
            now: Instant::ZERO,
            requests: BTreeMap::new(),
            is_lost: false,
            to_client: Vec::new(),
            client_id: vec![0; OWN_ID],
            server_id: vec![7; OWN_ID],
            first_id: Vec::new(),
            number: 100,
        }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        match input.byte() {
            b'd' => self.deliver(),
            b'D' => self.shake_hands(),
            b'm' => self.deliver_changed(input),
            b't' => self.pass(Duration::from_ms(u64::from(input.word()))),
            b'q' => self.request(),
            b'x' => self.connection.cancel(u32::from(input.byte()) % 8),
            b'p' => self.connection.quic.change_path(self.now),
            b'r' => self.receive(input.byte() & 3, input.piece()),
            b'l' => self.receive_long(input),
            _ => self.receive_short(input),
        }
    }

    /// Messages that both ends have to send come, for some turns.
    fn shake_hands(&mut self) {
        for _turn in 0..6 {
            self.deliver();
            self.settle();
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        self.client.handle_timeout(&mut self.connection.quic, self.now);
        if let Some((server, Some(end))) = &mut self.server {
            server.handle_timeout(end, self.now);
        }
    }

    fn request(&mut self) {
        let head = RequestHead {
            method: "GET",
            scheme: "https",
            authority: "shop.test",
            target: "/",
            headers: &[],
            body_length: None,
        };
        let parts = [encode_request(&head, b"").expect("a request"), Bytes::new()];
        if let Some(number) = self.connection.request(parts, Answering::Other) {
            assert_eq!(self.requests.insert(number, Fate::Open), None, "numbers are used once");
        }
    }

    fn receive(&mut self, ecn: u8, datagram: &[u8]) {
        // The owner of a socket passes over what is empty.
        if !datagram.is_empty() {
            self.client.receive(&mut self.connection.quic, self.now, ecn, datagram);
        }
    }

    /// Datagrams that the server has sent come.
    fn deliver(&mut self) {
        self.now += Duration::from_ms(1);
        for datagram in std::mem::take(&mut self.to_client) {
            self.receive(0, &datagram);
            self.poll();
        }
    }

    /// Delivers as [`deliver`](Self::deliver) does, with a datagram lost, cut, repeated or changed.
    fn deliver_changed(&mut self, input: &mut Input<'_>) {
        let (which, at, with) = (usize::from(input.byte()), usize::from(input.word()), input.byte());
        let many = self.to_client.len();
        if many > 0 {
            let datagram = &mut self.to_client[which % many];
            let len = datagram.len();
            match with {
                0 => datagram.clear(),
                1 => datagram.truncate(at % len),
                2 => {
                    let again = datagram.clone();
                    self.to_client.push(again);
                }
                _ => datagram[at % len] ^= with,
            }
        }
        self.deliver();
    }

    /// A packet with a short header, as any but the first of a server's are: its flags, the step of its
    /// number, its frames.
    fn receive_short(&mut self, input: &mut Input<'_>) {
        let (flags, step, frames) = (input.byte(), input.byte(), input.piece());
        self.number = self.number.wrapping_add(u32::from(step));
        let flags = if flags & 0x80 == 0 { 0x43 } else { flags & 0x3f | 0x40 };
        let mut packet = [&[flags][..], &self.client_id, &self.number.to_be_bytes(), frames].concat();
        packet.extend([0; TAG]);
        self.receive(0, &packet);
    }

    /// A packet with a long header: its type, its version, the step of its number, its frames.
    fn receive_long(&mut self, input: &mut Input<'_>) {
        let (kind, step, frames) = (input.byte(), input.byte(), input.piece());
        self.number = self.number.wrapping_add(u32::from(step));
        let version: u32 = if kind & 0xc0 == 0xc0 { 0 } else { 1 };
        let kind = kind & 0x30;
        let mut header = vec![0xc3 | kind];
        header.extend(version.to_be_bytes());
        for id in [&self.client_id, &self.server_id] {
            header.push(id.len() as u8);
            header.extend(id);
        }
        if kind == 0 {
            header.push(0);
        }
        let length = 4 + frames.len() + TAG;
        header.extend((0x4000 | length as u16).to_be_bytes());
        header.extend(self.number.to_be_bytes());
        let packet = match self.server {
            Some(_) => [&header, frames, &[0; TAG]].concat(),
            None => self.protected(&header, frames),
        };
        self.receive(0, &packet);
    }

    /// A first packet of a server's, protected by keys that everybody knows.
    fn protected(&self, header: &[u8], frames: &[u8]) -> Vec<u8> {
        let suite = TLS13_AES_128_GCM_SHA256.tls13().expect("a suite of TLS 1.3");
        let algorithm = suite.quic.expect("a suite of QUIC's");
        let keys = Keys::initial(QuicVersion::V1, suite, algorithm, &self.first_id, rustls::Side::Server);
        let mut payload = frames.to_vec();
        let tag = keys.local.packet.encrypt_in_place(u64::from(self.number), header, &mut payload);
        payload.extend_from_slice(tag.expect("it can be protected").as_ref());
        let mut packet = [header, &payload].concat();
        let (first, rest) = packet.split_at_mut(1);
        let (number, sample) = rest.split_at_mut(header.len() - 1);
        let number = &mut number[header.len() - 5..];
        let sample = &sample[..sample.len().min(keys.local.header.sample_len())];
        // Too short for a sample, it is no packet.
        let _ = keys.local.header.encrypt_in_place(sample, &mut first[0], number);
        packet
    }

    /// Takes what the client found and what it sends, and hands it to the server.
    fn settle(&mut self) {
        self.poll();
        let (mut bytes, mut sent) = (Vec::new(), 0);
        while let Some(transmit) = self.connection.quic.next_transmit(self.now, &mut bytes) {
            assert!(!bytes.is_empty() && transmit.segment_bytes > 0);
            for datagram in bytes.chunks(transmit.segment_bytes) {
                sent += 1;
                self.learn(datagram);
                self.hand_to_server(transmit.ecn, datagram);
            }
            bytes.clear();
            assert!(sent < AT_ONCE_MAX, "sending ends");
        }
        let mut turns = 0;
        while self.connection.quic.next_timeout().is_some_and(|at| at <= self.now) {
            self.client.handle_timeout(&mut self.connection.quic, self.now);
            turns += 1;
            assert!(turns < 20, "no timer spins");
        }
        self.drive_server();
    }

    fn poll(&mut self) {
        let mut found = 0;
        loop {
            let event = match self.connection.next_event(&mut self.heads) {
                Ok(Event::NeedMore) => break,
                Ok(event) => event,
                Err(lost) => {
                    assert!(!self.is_lost, "{lost:?} behind the end of the connection");
                    self.is_lost = true;
                    self.connection.close(self.now);
                    continue;
                }
            };
            assert!(!self.is_lost, "{event:?} behind the end of the connection");
            match event {
                Event::Done(number, _) | Event::Failed(number, ..) => {
                    assert_eq!(self.requests.insert(number, Fate::Over), Some(Fate::Open), "one end each");
                }
                Event::Head(number, _) | Event::Body(number, _) | Event::Interim(number, _) => {
                    assert_eq!(self.requests.get(&number), Some(&Fate::Open), "a reply to what was asked");
                }
                Event::Secured | Event::GoingAway | Event::NeedMore => {}
                _ => panic!("{event:?} over HTTP/3"),
            }
            found += 1;
            assert!(found < 10 * AT_ONCE_MAX, "finding ends");
        }
    }

    /// Learns the identifiers that a datagram of the client's has.
    fn learn(&mut self, datagram: &[u8]) {
        let is_long = datagram[0] & 0x80 != 0;
        if let (true, Some((&len, rest))) = (is_long, datagram.get(5..).and_then(<[u8]>::split_first)) {
            let (to, rest) = rest.split_at(usize::from(len));
            let (from, _) = rest[1..].split_at(usize::from(rest[0]));
            self.client_id = from.to_vec();
            if self.first_id.is_empty() {
                self.first_id = to.to_vec();
            }
            self.server_id = to.to_vec();
        }
    }

    fn hand_to_server(&mut self, ecn: u8, datagram: &[u8]) {
        let Some((server, end)) = &mut self.server else { return };
        let from = SocketAddr::from(([198, 18, 0, 1], 4433));
        let mut answer = Vec::new();
        match server.receive(self.now, from, ecn, datagram, &mut answer) {
            Arrival::New(connection) => *end = Some(connection),
            Arrival::Of(number, datagram) => {
                if let Some(end) = end.as_mut().filter(|end| end.number() == number) {
                    server.hand_over(end, self.now, datagram);
                }
            }
            Arrival::Answered => self.to_client.push(answer),
            Arrival::Nothing => {}
        }
    }

    fn drive_server(&mut self) {
        let Some((_, Some(end))) = &mut self.server else { return };
        let mut bytes = Vec::new();
        while let Some(transmit) = end.next_transmit(self.now, &mut bytes) {
            self.to_client.extend(bytes.chunks(transmit.segment_bytes).map(<[u8]>::to_vec));
            bytes.clear();
        }
    }

    /// Time runs out: the connection ends, if it was not lost, and is forgotten.
    fn end(&mut self) {
        self.pass(Duration::from_secs(100));
        self.settle();
        self.client.release(&mut self.connection.quic);
        assert_eq!(self.client.connections(), 0, "what is released is forgotten");
    }
}
