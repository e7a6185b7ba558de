//! A client's connection of HTTP/3 and a server of QUIC that says what a test wants, with nothing between
//! them but memory, in virtual time.

use bytes::{Bytes, BytesMut};
use farfield_base::{Duration, Instant};
use farfield_http::http2::RequestHead;
use farfield_http::http3::{Answering, Connection, ConnectionLoss, Event, Heads, Limits, encode_request};
use farfield_http::quic;
use farfield_http::tls::{Alpn, TlsSettings, Trust, Version};
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{
    ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig, StreamId, VarInt,
};
use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::net::SocketAddr;
use std::sync::Arc;

/// The middle of the certificates' year 2020.
const UNIX_S: u64 = 1_593_561_600;
/// One way.
const DELAY: Duration = Duration::from_ms(10);

/// The server's terms.
#[derive(Clone)]
pub struct Terms {
    pub name: &'static str,
    pub alpn: &'static [u8],
    pub streams: u32,
    pub versions: Option<Vec<u32>>,
    pub stream_window: Option<u32>,
    /// The server takes early data, of sessions that it keeps.
    pub early: bool,
}

impl Default for Terms {
    fn default() -> Terms {
        Terms {
            name: "shop.test",
            alpn: b"h3",
            streams: 100,
            versions: None,
            stream_window: None,
            early: false,
        }
    }
}

/// A server: its certificate, and its end of QUIC.
pub struct Server {
    endpoint: Endpoint,
    pub certificate: CertificateDer<'static>,
    connection: Option<(ConnectionHandle, quinn_proto::Connection)>,
    /// The error that ended its connection.
    pub lost: Option<quinn_proto::ConnectionError>,
    /// The server takes what comes.
    pub hears: bool,
}

impl Server {
    pub fn new(terms: &Terms) -> Server {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec![terms.name.to_owned()]).expect("a name");
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2021, 1, 1);
        let certificate = params.self_signed(&key).expect("a certificate").der().clone();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut tls = rustls::ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("a version")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)
            .expect("a certificate and its key");
        tls.alpn_protocols = vec![terms.alpn.to_vec()];
        if terms.early {
            tls.max_early_data_size = u32::MAX;
            tls.session_storage = rustls::server::ServerSessionMemoryCache::new(32);
        } else {
            tls.ticketer = aws_lc_rs::Ticketer::new().expect("a ticketer");
        }
        let crypto = QuicServerConfig::try_from(tls).expect("a suite");
        let mut config = quinn_proto::ServerConfig::with_crypto(Arc::new(crypto));
        let mut transport = quinn_proto::TransportConfig::default();
        transport.max_concurrent_bidi_streams(VarInt::from_u32(terms.streams));
        if let Some(window) = terms.stream_window {
            transport.stream_receive_window(VarInt::from_u32(window));
        }
        config.transport_config(Arc::new(transport));
        let mut own = EndpointConfig::default();
        if let Some(versions) = &terms.versions {
            own.supported_versions(versions.clone());
        }
        Server {
            endpoint: Endpoint::new(Arc::new(own), Some(Arc::new(config)), true, None),
            certificate,
            connection: None,
            lost: None,
            hears: true,
        }
    }

    pub fn quic(&mut self) -> &mut quinn_proto::Connection {
        &mut self.connection.as_mut().expect("a connection").1
    }

    /// Opens a unidirectional stream, and says `bytes` on it.
    pub fn say(&mut self, bytes: &[u8]) -> StreamId {
        let stream = self.quic().streams().open(Dir::Uni).expect("a stream");
        self.write(stream, bytes);
        stream
    }

    pub fn write(&mut self, stream: StreamId, bytes: &[u8]) {
        let written = self.quic().send_stream(stream).write(bytes).expect("room");
        assert_eq!(written, bytes.len());
    }

    /// Answers request `number` with `bytes`, and ends its stream.
    pub fn answer(&mut self, number: u32, bytes: &[u8]) {
        self.write(request(number), bytes);
        self.quic().send_stream(request(number)).finish().expect("it is open");
    }

    /// The bytes that came on the stream of request `number`; true if it is over.
    pub fn asked(&mut self, number: u32) -> (Vec<u8>, bool) {
        self.read(request(number))
    }

    pub fn read(&mut self, stream: StreamId) -> (Vec<u8>, bool) {
        let mut bytes = Vec::new();
        let mut receiver = self.quic().recv_stream(stream);
        let Ok(mut chunks) = receiver.read(true) else { return (bytes, true) };
        let is_over = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => bytes.extend_from_slice(&chunk.bytes),
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        let _ = chunks.finalize();
        (bytes, is_over)
    }

    /// The connection is forgotten, as by a server that was started again.
    pub fn forget(&mut self) {
        if let Some((handle, _)) = self.connection.take() {
            self.endpoint.handle_event(handle, quinn_proto::EndpointEvent::drained());
        }
    }
}

pub fn request(number: u32) -> StreamId {
    StreamId::new(quinn_proto::Side::Client, Dir::Bi, u64::from(number))
}

/// The client, the server, and the time.
pub struct Scene {
    pub now: Instant,
    began: std::time::Instant,
    pub client: quic::Client,
    pub connection: Connection,
    pub heads: Heads,
    pub server: Server,
    /// Events of the client, in order.
    pub events: Vec<Event<'static>>,
    /// The failure by which the client lost the connection.
    pub lost: Option<ConnectionLoss>,
    to_client: Vec<Vec<u8>>,
    /// Bytes of the datagrams that the client sent.
    pub sent_bytes: usize,
}

/// The settings of a client that trusts whom `trust` says.
pub fn settings(name: &str, trust: Trust) -> TlsSettings {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let settings = TlsSettings::new(name, trust, &[Version::Tls13], true, provider).expect("settings");
    settings.starting_at(UNIX_S).speaking(Alpn::Http3).beginning_at(now())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the library's times need a beginning, and only differences count"
)]
pub fn now() -> std::time::Instant {
    std::time::Instant::now()
}

impl Default for Scene {
    fn default() -> Scene {
        Scene::new(&Terms::default())
    }
}

impl Scene {
    /// A client that trusts the server, at the beginning of a connection.
    pub fn new(terms: &Terms) -> Scene {
        let server = Server::new(terms);
        let settings = settings("shop.test", Trust::Roots(vec![server.certificate.clone()]));
        Scene::between(&settings, server)
    }

    pub fn between(settings: &TlsSettings, server: Server) -> Scene {
        let mut client = quic::Client::new(settings);
        let connection = Connection::new(client.begin(Instant::ZERO, 7), Limits::default());
        Scene {
            now: Instant::ZERO,
            began: now(),
            client,
            connection,
            heads: Heads::default(),
            server,
            events: Vec::new(),
            lost: None,
            to_client: Vec::new(),
            sent_bytes: 0,
        }
    }

    /// A scene in which requests are possible.
    pub fn secured(terms: &Terms) -> Scene {
        let mut scene = Scene::new(terms);
        scene.settle();
        assert_eq!(scene.take(), [Event::Secured]);
        // The server's control stream, with empty settings.
        scene.server.say(&[0, 4, 0]);
        scene.settle();
        scene
    }

    /// The events since this was last asked.
    pub fn take(&mut self) -> Vec<Event<'static>> {
        std::mem::take(&mut self.events)
    }

    /// A new connection of the same client to the same server.
    pub fn begin_again(&mut self, user: u32) {
        self.connection.close(self.now);
        self.settle();
        self.client.release(&mut self.connection.quic);
        self.server.forget();
        self.connection = Connection::new(self.client.begin(self.now, user), Limits::default());
    }

    /// Sends a request for `path`.
    pub fn ask(&mut self, path: &str, body: &[u8]) -> u32 {
        let head = RequestHead {
            method: if body.is_empty() { "GET" } else { "POST" },
            scheme: "https",
            authority: "shop.test",
            target: path,
            headers: &[],
            body_length: (!body.is_empty()).then_some(body.len() as u64),
        };
        let parts = [encode_request(&head, body).expect("a request"), Bytes::new()];
        self.connection.request(parts, Answering::Other).expect("room")
    }

    /// Passes time and datagrams until neither side has anything to send, and no timer runs for less than a
    /// second.
    pub fn settle(&mut self) {
        loop {
            let moved = self.deliver_to_server() | self.deliver_to_client();
            if moved {
                continue;
            }
            let soon = self.now + Duration::from_secs(1);
            match self.next_timer() {
                Some(at) if at <= soon => self.advance_to(at),
                _ => return,
            }
        }
    }

    /// Lets `time` pass, with all timers in it.
    pub fn pass(&mut self, time: Duration) {
        while self.deliver_to_server() | self.deliver_to_client() {}
        let until = self.now + time;
        while let Some(at) = self.next_timer().filter(|at| *at <= until) {
            self.advance_to(at);
            while self.deliver_to_server() | self.deliver_to_client() {}
        }
        self.now = until;
    }

    fn next_timer(&mut self) -> Option<Instant> {
        let began = self.began;
        let of_server = self.server.connection.as_mut().and_then(|(_, connection)| {
            let since = connection.poll_timeout()?.saturating_duration_since(began);
            Some(Instant::from_ns(since.as_nanos() as u64))
        });
        [self.connection.quic.next_timeout(), of_server].into_iter().flatten().min()
    }

    fn advance_to(&mut self, at: Instant) {
        self.now = self.now.max(at);
        self.client.handle_timeout(&mut self.connection.quic, self.now);
        self.poll();
        let now = self.std_now();
        if let Some((_, connection)) = &mut self.server.connection {
            connection.handle_timeout(now);
        }
        self.drive_server();
    }

    /// The time, as the server's library knows it.
    pub fn now_of_library(&self) -> std::time::Instant {
        self.std_now()
    }

    fn std_now(&self) -> std::time::Instant {
        self.began + std::time::Duration::from_nanos(self.now.as_ns())
    }

    fn poll(&mut self) {
        loop {
            match self.connection.next_event(&mut self.heads) {
                Ok(Event::NeedMore) => break,
                Ok(event) => self.events.push(event),
                Err(lost) => self.lost = Some(lost),
            }
        }
    }

    /// Carries what the client sends; false if that is nothing.
    fn deliver_to_server(&mut self) -> bool {
        let (mut bytes, mut datagrams) = (Vec::new(), Vec::new());
        while let Some(sent) = self.connection.quic.next_transmit(self.now, &mut bytes) {
            let ecn = sent.ecn;
            datagrams.extend(bytes.chunks(sent.segment_bytes).map(|datagram| (ecn, datagram.to_vec())));
            bytes.clear();
        }
        if datagrams.is_empty() {
            return false;
        }
        self.now += DELAY;
        for (ecn, datagram) in datagrams {
            self.sent_bytes += datagram.len();
            if self.server.hears {
                self.hand_to_server(ecn, &datagram);
            }
        }
        true
    }

    fn hand_to_server(&mut self, ecn: u8, datagram: &[u8]) {
        let (now, mut answer) = (self.std_now(), Vec::new());
        let from = SocketAddr::from(([127, 0, 0, 1], 4433));
        let ecn = EcnCodepoint::from_bits(ecn);
        let server = &mut self.server;
        match server.endpoint.handle(now, from, None, ecn, BytesMut::from(datagram), &mut answer) {
            None => {}
            Some(DatagramEvent::Response(_)) => self.to_client.push(answer),
            Some(DatagramEvent::NewConnection(incoming)) => {
                match server.endpoint.accept(incoming, now, &mut answer, None) {
                    Ok(accepted) => server.connection = Some(accepted),
                    Err(error) => self.to_client.extend(error.response.map(|_| answer)),
                }
            }
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((_, connection)) = server.connection.as_mut().filter(|(own, _)| *own == handle) {
                    connection.handle_event(event);
                }
            }
        }
        self.drive_server();
    }

    fn drive_server(&mut self) {
        let now = self.std_now();
        let Server { endpoint, connection, lost, .. } = &mut self.server;
        let Some((handle, quic)) = connection else { return };
        while let Some(event) = quic.poll_endpoint_events() {
            if let Some(event) = endpoint.handle_event(*handle, event) {
                quic.handle_event(event);
            }
        }
        // The library counts streams of the other end once they are accepted.
        while quic.streams().accept(Dir::Bi).is_some() {}
        while let Some(event) = quic.poll() {
            if let quinn_proto::Event::ConnectionLost { reason } = event {
                *lost = Some(reason);
            }
        }
        let mut bytes = Vec::new();
        while let Some(sent) = quic.poll_transmit(now, 1, &mut bytes) {
            self.to_client.push(bytes[..sent.size].to_vec());
            bytes.clear();
        }
    }

    /// Carries what the server sends; false if that is nothing.
    fn deliver_to_client(&mut self) -> bool {
        self.drive_server();
        if self.to_client.is_empty() {
            return false;
        }
        self.now += DELAY;
        for datagram in std::mem::take(&mut self.to_client) {
            self.client.receive(&mut self.connection.quic, self.now, 0, &datagram);
            self.poll();
        }
        true
    }

    /// The code that the client closed the connection with.
    pub fn closed_with(&mut self) -> Option<u64> {
        self.connection.close(self.now);
        self.settle();
        match &self.server.lost {
            Some(quinn_proto::ConnectionError::ApplicationClosed(close)) => {
                Some(close.error_code.into_inner())
            }
            _ => None,
        }
    }
}
