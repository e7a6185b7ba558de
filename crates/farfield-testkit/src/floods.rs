//! Servers that flood: each sends without end one kind of what a client has to store, to answer or to compute
//! something for, and reads no more than it must. Calm ones beside them answer every request.
//!
//! A server is a thread for each connection, which ends when its client closes. It knows no bounds of its
//! own: those are the client's to have.

mod http3;
mod quic;
mod streams;

use rcgen::KeyPair;
use rustix::net::sockopt::set_socket_recv_buffer_size;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The protocol that a flood is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1 in cleartext.
    Http1,
    /// HTTP/1.1 over TLS.
    Https1,
    /// HTTP/2 in cleartext, by prior knowledge.
    Http2,
    /// HTTP/2 over TLS.
    Https2,
    /// HTTP/3.
    Http3,
}

impl Protocol {
    /// True if its URLs are https.
    pub fn is_secure(self) -> bool {
        !matches!(self, Protocol::Http1 | Protocol::Http2)
    }

    /// The word for `--http`.
    pub fn version(self) -> &'static str {
        match self {
            Protocol::Http1 | Protocol::Https1 => "1.1",
            Protocol::Http2 | Protocol::Https2 => "2",
            Protocol::Http3 => "3",
        }
    }
}

/// Data that a server sends without end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FloodKind {
    /// Nothing: it answers.
    Calm,
    /// Interim heads.
    Interim,
    /// Lines of one head.
    Head,
    /// Lines of one trailer section.
    Trailers,
    /// The extension of one chunk.
    ChunkExtension,
    /// Content that gzip makes a thousand times longer.
    Gzip,
    /// Updates of TLS 1.3's keys that ask for one in return, and a byte of body behind every thirty.
    KeyUpdate,
    /// PING, with a reply to every 9,000.
    Ping,
    /// PING, with a byte of body behind every thirty: as many as are allowed for it. Nothing is read.
    PingAndBody,
    /// SETTINGS, as [`PingAndBody`](FloodKind::PingAndBody).
    SettingsAndBody,
    /// SETTINGS, with a reply to every 9,000.
    Settings,
    /// WINDOW_UPDATE of the connection, with a reply to every 9,000.
    WindowUpdate,
    /// RST_STREAM of a stream that is over, with a reply to every 9,000.
    RstStream,
    /// CONTINUATION without a byte.
    Continuation,
    /// CONTINUATION with a field in each.
    ContinuationWithFields,
    /// DATA without a byte.
    EmptyData,
    /// PING of QUIC.
    QuicPing,
    /// MAX_DATA of QUIC, each a byte more.
    MaxData,
    /// NEW_CONNECTION_ID of QUIC, again and again the same.
    NewConnectionId,
    /// NEW_CONNECTION_ID of QUIC, each of which retires those before.
    RetiredIdentifiers,
    /// PATH_CHALLENGE of QUIC.
    PathChallenge,
    /// HANDSHAKE_DONE of QUIC.
    HandshakeDone,
    /// No flood: each request ends its connection of HTTP/3 with an error code and words.
    Closes,
    /// No flood: each request's stream is reset with an error code of HTTP/3.
    Resets,
    /// No flood: a reply that begins with SETTINGS.
    WrongFrame,
    /// No flood: the connection ends with an error code and words of QUIC's.
    ClosesQuic,
}

/// The words with which [`FloodKind::Closes`] and [`FloodKind::ClosesQuic`] close.
pub const FAREWELL: &str = "out of memory";

/// All floods and calm servers there are, by name.
pub const ALL: &[(&str, Protocol, FloodKind)] = &[
    ("calm-http1", Protocol::Http1, FloodKind::Calm),
    ("calm-https1", Protocol::Https1, FloodKind::Calm),
    ("calm-http2", Protocol::Http2, FloodKind::Calm),
    ("calm-https2", Protocol::Https2, FloodKind::Calm),
    ("calm-http3", Protocol::Http3, FloodKind::Calm),
    ("interim", Protocol::Http1, FloodKind::Interim),
    ("head", Protocol::Http1, FloodKind::Head),
    ("trailers", Protocol::Http1, FloodKind::Trailers),
    ("chunk-extension", Protocol::Http1, FloodKind::ChunkExtension),
    ("gzip", Protocol::Http1, FloodKind::Gzip),
    ("key-update", Protocol::Https1, FloodKind::KeyUpdate),
    ("key-update-http2", Protocol::Https2, FloodKind::KeyUpdate),
    ("ping", Protocol::Http2, FloodKind::Ping),
    ("ping-and-body", Protocol::Http2, FloodKind::PingAndBody),
    ("ping-and-body-tls", Protocol::Https2, FloodKind::PingAndBody),
    ("settings", Protocol::Http2, FloodKind::Settings),
    ("settings-and-body", Protocol::Http2, FloodKind::SettingsAndBody),
    ("settings-tls", Protocol::Https2, FloodKind::Settings),
    ("window-update", Protocol::Http2, FloodKind::WindowUpdate),
    ("rst-stream", Protocol::Http2, FloodKind::RstStream),
    ("continuation", Protocol::Http2, FloodKind::Continuation),
    ("continuation-tls", Protocol::Https2, FloodKind::Continuation),
    ("continuation-with-fields", Protocol::Http2, FloodKind::ContinuationWithFields),
    ("empty-data", Protocol::Http2, FloodKind::EmptyData),
    ("interim-http2", Protocol::Http2, FloodKind::Interim),
    ("trailers-http2", Protocol::Http2, FloodKind::Trailers),
    ("gzip-http2", Protocol::Http2, FloodKind::Gzip),
    ("quic-ping", Protocol::Http3, FloodKind::QuicPing),
    ("max-data", Protocol::Http3, FloodKind::MaxData),
    ("new-connection-id", Protocol::Http3, FloodKind::NewConnectionId),
    ("retired-identifiers", Protocol::Http3, FloodKind::RetiredIdentifiers),
    ("path-challenge", Protocol::Http3, FloodKind::PathChallenge),
    ("handshake-done", Protocol::Http3, FloodKind::HandshakeDone),
    ("interim-http3", Protocol::Http3, FloodKind::Interim),
    ("head-http3", Protocol::Http3, FloodKind::Head),
    ("trailers-http3", Protocol::Http3, FloodKind::Trailers),
    ("empty-data-http3", Protocol::Http3, FloodKind::EmptyData),
    ("gzip-http3", Protocol::Http3, FloodKind::Gzip),
];

/// Servers that are at fault otherwise, by name.
pub const FAULTS: &[(&str, Protocol, FloodKind)] = &[
    ("closes-http3", Protocol::Http3, FloodKind::Closes),
    ("resets-http3", Protocol::Http3, FloodKind::Resets),
    ("wrong-frame-http3", Protocol::Http3, FloodKind::WrongFrame),
    ("closes-quic", Protocol::Http3, FloodKind::ClosesQuic),
];

/// The flood, the calm server, or the one at fault, of this name.
pub fn named(name: &str) -> Option<(Protocol, FloodKind)> {
    ALL.iter().chain(FAULTS).find(|(own, ..)| *own == name).map(|(_, protocol, kind)| (*protocol, *kind))
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct FloodServer {
    protocol: Protocol,
    address: SocketAddr,
    /// The flood that a server of HTTP/3 makes from now on.
    kind: Arc<Mutex<FloodKind>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// Listener of a server of HTTP/3: who looks by TCP whether there is a server finds one.
    _open: Option<TcpListener>,
}

impl FloodServer {
    /// Starts the server of this name at `address`, which may have port 0.
    ///
    /// # Errors
    /// If there is none of this name, or the address cannot be listened at.
    pub fn start(name: &str, address: &str) -> io::Result<FloodServer> {
        let Some((protocol, kind)) = named(name) else {
            let names: Vec<_> = ALL.iter().map(|(name, ..)| *name).collect();
            return Err(io::Error::other(format!(
                "no flood is named {name}; there are {}",
                names.join(", ")
            )));
        };
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let listener = TcpListener::bind(address)?;
        if kind != FloodKind::Calm {
            // Bytes that are not read wait at the client.
            set_socket_recv_buffer_size(&listener, 4096)?;
        }
        let address = listener.local_addr()?;
        let current = Arc::new(Mutex::new(kind));
        let (thread, open) = if protocol == Protocol::Http3 {
            let socket = UdpSocket::bind(address)?;
            let current = Arc::clone(&current);
            (std::thread::spawn(move || quic::serve(&socket, &current, &stopped)), Some(listener))
        } else {
            (std::thread::spawn(move || accept(&listener, protocol, kind, &stopped)), None)
        };
        Ok(FloodServer { protocol, address, kind: current, stop, thread: Some(thread), _open: open })
    }

    /// From now on one of HTTP/3 does this, to new requests.
    pub fn turn(&self, kind: FloodKind) {
        *self.kind.lock().unwrap_or_else(PoisonError::into_inner) = kind;
    }

    /// URL of the server.
    pub fn url(&self) -> String {
        let scheme = if self.protocol.is_secure() { "https" } else { "http" };
        format!("{scheme}://{}/", self.address)
    }

    /// The server's protocol.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }
}

impl Drop for FloodServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // A listener looks at the flag when somebody comes.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A certificate for any name, and what it is served with.
fn certified() -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
    let key = KeyPair::generate().expect("a key");
    let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let certificate = params.self_signed(&key).expect("a certificate").der().clone();
    (certificate, PrivatePkcs8KeyDer::from(key.serialize_der()).into())
}

fn tls_config(protocols: &[&str]) -> ServerConfig {
    let (certificate, key) = certified();
    let builder = ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into());
    let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).expect("a version");
    let made = builder.with_no_client_auth().with_single_cert(vec![certificate], key);
    let mut config = made.expect("a certificate and its key");
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    config
}

/// Serves each connection on a thread of its own.
fn accept(listener: &TcpListener, protocol: Protocol, kind: FloodKind, stop: &AtomicBool) {
    let tls = protocol
        .is_secure()
        .then(|| Arc::new(tls_config(if protocol == Protocol::Https2 { &["h2"] } else { &["http/1.1"] })));
    for stream in listener.incoming() {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let (Ok(stream), tls) = (stream, tls.clone()) else { continue };
        // A client that is gone without a word is not waited for.
        let _ = stream.set_write_timeout(Some(Duration::from_secs(30)));
        let _ = stream.set_read_timeout(Some(Duration::from_secs(30)));
        std::thread::spawn(move || {
            let _ = match tls {
                None => streams::serve(stream, protocol, kind),
                Some(config) if kind == FloodKind::KeyUpdate => update_keys(stream, config, protocol),
                Some(config) => ServerConnection::new(config)
                    .map_err(io::Error::other)
                    .and_then(|session| streams::serve(StreamOwned::new(session, stream), protocol, kind)),
            };
        });
    }
}

/// Answers one request with a body without end, in which each byte comes behind thirty updates of keys.
fn update_keys(stream: TcpStream, config: Arc<ServerConfig>, protocol: Protocol) -> io::Result<()> {
    let session = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(session, stream);
    let byte = streams::begin_body(&mut stream, protocol)?;
    loop {
        for _ in 0..30 {
            stream.conn.refresh_traffic_keys().map_err(io::Error::other)?;
        }
        stream.write_all(&byte)?;
    }
}

/// A connection's bytes in both directions.
pub(crate) trait Bytes: Read + Write {}

impl<T: Read + Write> Bytes for T {}
