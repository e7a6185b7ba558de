//! Floods within QUIC. The library shakes hands; the packets of a flood are written here, with the keys that
//! the handshake led to, so that they can hold any frame.

use super::{Kind, tls_config};
use bytes::BytesMut;
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::crypto::{
    CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig, Session,
    UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{
    ConnectionHandle, ConnectionId, DatagramEvent, Dir, Endpoint, EndpointConfig, Side, StreamId,
    TransportError,
};
use std::any::Any;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of a datagram.
const DATAGRAM_BYTES: usize = 1200;
/// Datagrams of a flood that are sent before others are looked for.
const BURST: usize = 16;
/// A client that says nothing for so long has closed.
const SILENCE: Duration = Duration::from_secs(1);
/// Bytes of the identifiers that farfield gives itself.
const ID_BYTES: usize = 8;
/// The number of a flood's first packet, far from the library's.
const FIRST_PACKET: u64 = 1 << 20;

/// The keys with which the server seals what it sends behind the handshake.
type Sealing = (Arc<dyn HeaderKey>, Arc<dyn PacketKey>);
/// The place where a session leaves them.
type Slot = Arc<Mutex<Option<Sealing>>>;

fn take<T>(slot: &Mutex<Option<T>>) -> Option<T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn put<T>(slot: &Mutex<Option<T>>, value: T) {
    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
}

/// Serves clients until `stop` is set.
pub(super) fn serve(socket: &UdpSocket, kind: Kind, stop: &AtomicBool) {
    let _ = socket.set_read_timeout(Some(Duration::from_millis(1)));
    let mut server = Server::new(kind);
    let mut buffer = vec![0; 65_536];
    while !stop.load(Ordering::Relaxed) {
        loop {
            match socket.recv_from(&mut buffer) {
                Ok((length, from)) => server.receive(socket, from, &buffer[..length]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break,
                // What ICMP says of a client that is gone.
                Err(_) => {}
            }
            if server.is_flooding() {
                break;
            }
        }
        server.go_on(socket);
    }
}

struct Server {
    kind: Kind,
    endpoint: Endpoint,
    /// The place of the session that was begun last.
    latest: Arc<Mutex<Option<Slot>>>,
    /// By the number of the handle.
    connections: BTreeMap<usize, Client>,
}

struct Client {
    quic: quinn_proto::Connection,
    address: SocketAddr,
    heard: Instant,
    /// The identifier that the client is reached by.
    id: Vec<u8>,
    has_control: bool,
    keys: Slot,
    flood: Option<Flood>,
}

/// A flood that has begun.
struct Flood {
    keys: Sealing,
    packet: u64,
    /// Frames so far, of a kind that counts.
    count: u64,
}

#[expect(clippy::disallowed_methods, reason = "a server of the machine's own time")]
fn now() -> Instant {
    Instant::now()
}

impl Server {
    fn new(kind: Kind) -> Server {
        let crypto = QuicServerConfig::try_from(tls_config(&["h3"])).expect("a suite of QUIC's");
        let latest: Arc<Mutex<Option<Slot>>> = Arc::default();
        let seen = Witness { inner: Arc::new(crypto), latest: Arc::clone(&latest) };
        let mut config = quinn_proto::ServerConfig::new(Arc::new(seen), Arc::new(NoTokens));
        let mut tokens = quinn_proto::ValidationTokenConfig::default();
        tokens.sent(0);
        config.validation_token_config(tokens);
        let endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), Some(Arc::new(config)), true, None);
        Server { kind, endpoint, latest, connections: BTreeMap::new() }
    }

    fn is_flooding(&self) -> bool {
        self.connections.values().any(|client| client.flood.is_some())
    }

    fn receive(&mut self, socket: &UdpSocket, from: SocketAddr, datagram: &[u8]) {
        let mut answer = Vec::new();
        let at = now();
        match self.endpoint.handle(at, from, None, None, BytesMut::from(datagram), &mut answer) {
            None => {}
            Some(DatagramEvent::Response(sent)) => {
                let _ = socket.send_to(&answer[..sent.size], from);
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                // A long header: flags, version, and the two identifiers with their lengths.
                let own = datagram.get(5).map_or(0, |length| usize::from(*length));
                let theirs = datagram.get(7 + own..7 + own + ID_BYTES).unwrap_or_default().to_vec();
                if let Ok((handle, quic)) = self.endpoint.accept(incoming, at, &mut answer, None) {
                    let keys = take(&self.latest).unwrap_or_default();
                    let (heard, id, has_control, flood) = (at, theirs, false, None);
                    let client = Client { quic, address: from, heard, id, has_control, keys, flood };
                    self.connections.insert(handle.0, client);
                }
            }
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(client) = self.connections.get_mut(&handle.0) {
                    client.heard = at;
                    // The library knows nothing of the packets of a flood, and of what acknowledges them.
                    if client.flood.is_none() {
                        client.quic.handle_event(event);
                    }
                }
            }
        }
    }

    /// Sends what is due to all clients, and forgets those that are gone.
    fn go_on(&mut self, socket: &UdpSocket) {
        let at = now();
        let mut gone = Vec::new();
        for (number, client) in &mut self.connections {
            client.shake_hands(&mut self.endpoint, ConnectionHandle(*number), socket, at);
            client.answer(self.kind);
            if self.kind != Kind::Calm && client.has_control && client.flood.is_none() {
                // What the library still has to say goes first.
                client.send(socket, at);
                client.flood = take(&client.keys).map(|keys| Flood { keys, packet: FIRST_PACKET, count: 0 });
            }
            client.send(socket, at);
            if let Some(flood) = &mut client.flood {
                for _ in 0..BURST {
                    let datagram = flood.datagram(&client.id, self.kind);
                    if socket.send_to(&datagram, client.address).is_err() {
                        break;
                    }
                }
            }
            if at.duration_since(client.heard) > SILENCE || client.quic.is_drained() {
                gone.push(*number);
            }
        }
        for number in gone {
            self.connections.remove(&number);
            self.endpoint.handle_event(ConnectionHandle(number), quinn_proto::EndpointEvent::drained());
        }
    }
}

impl Client {
    fn shake_hands(
        &mut self,
        endpoint: &mut Endpoint,
        handle: ConnectionHandle,
        socket: &UdpSocket,
        at: Instant,
    ) {
        if self.flood.is_some() {
            return;
        }
        if self.quic.poll_timeout().is_some_and(|due| due <= at) {
            self.quic.handle_timeout(at);
        }
        while let Some(event) = self.quic.poll_endpoint_events() {
            if let Some(event) = endpoint.handle_event(handle, event) {
                self.quic.handle_event(event);
            }
        }
        while self.quic.poll().is_some() {}
        self.send(socket, at);
    }

    /// Opens the control stream once the handshake is over, and answers requests where it is calm.
    fn answer(&mut self, kind: Kind) {
        if self.flood.is_some() || self.quic.is_handshaking() {
            return;
        }
        if !self.has_control
            && let Some(control) = self.quic.streams().open(Dir::Uni)
        {
            self.has_control = self.quic.send_stream(control).write(&[0, 4, 0]).is_ok();
        }
        while self.quic.streams().accept(Dir::Uni).is_some() {}
        while let Some(stream) = self.quic.streams().accept(Dir::Bi) {
            if kind == Kind::Calm {
                self.reply(stream);
            }
        }
    }

    /// HEADERS with `:status: 200` of the static table, and DATA.
    fn reply(&mut self, stream: StreamId) {
        let mut sender = self.quic.send_stream(stream);
        let _ = sender.write(&[1, 3, 0, 0, 0xd9, 0, 2, b'h', b'i']);
        let _ = sender.finish();
        let _ = self.quic.recv_stream(stream).stop(0u32.into());
    }

    fn send(&mut self, socket: &UdpSocket, at: Instant) {
        let mut bytes = Vec::new();
        while self.flood.is_none()
            && let Some(sent) = self.quic.poll_transmit(at, 1, &mut bytes)
        {
            let _ = socket.send_to(&bytes[..sent.size], sent.destination);
            bytes.clear();
        }
    }
}

impl Flood {
    /// The next datagram: a packet with a short header that is full of frames.
    fn datagram(&mut self, id: &[u8], kind: Kind) -> Vec<u8> {
        let (header_key, key) = &self.keys;
        // A number of four bytes behind the identifier (RFC 9000 section 17.3.1).
        let mut packet = [&[0x43][..], id, &(self.packet as u32).to_be_bytes()].concat();
        let (number_at, header) = (1 + id.len(), packet.len());
        while packet.len() + 50 + key.tag_len() < DATAGRAM_BYTES {
            self.count += 1;
            put_frame(&mut packet, kind, self.count);
        }
        packet.resize(packet.len() + key.tag_len(), 0);
        key.encrypt(self.packet, &mut packet, header);
        header_key.encrypt(number_at, &mut packet);
        self.packet += 1;
        packet
    }
}

/// Appends the frame of this number (RFC 9000 section 19).
fn put_frame(packet: &mut Vec<u8>, kind: Kind, count: u64) {
    let varint = |value: u64| (value | 0xc000_0000_0000_0000).to_be_bytes();
    match kind {
        Kind::MaxData => {
            packet.push(0x10);
            packet.extend(varint((1 << 40) + count));
        }
        Kind::NewConnectionId => {
            packet.push(0x18);
            packet.extend(varint(1000 + count));
            packet.extend(varint(1000 + count));
            packet.push(8);
            packet.extend(count.to_be_bytes());
            packet.extend([count as u8; 16]);
        }
        Kind::PathChallenge => {
            packet.push(0x1a);
            packet.extend(count.to_be_bytes());
        }
        _ => packet.push(0x01),
    }
}

/// The library's cryptography, which has the keys seen that it arrives at.
struct Witness {
    inner: Arc<QuicServerConfig>,
    latest: Arc<Mutex<Option<Slot>>>,
}

impl ServerConfig for Witness {
    fn initial_keys(&self, version: u32, id: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        self.inner.initial_keys(version, id)
    }

    fn retry_tag(&self, version: u32, id: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.inner.retry_tag(version, id, packet)
    }

    fn start_session(self: Arc<Self>, version: u32, params: &TransportParameters) -> Box<dyn Session> {
        let inner = Arc::clone(&self.inner).start_session(version, params);
        let keys = Slot::default();
        put(&self.latest, Arc::clone(&keys));
        Box::new(Seen { inner, keys })
    }
}

struct Seen {
    inner: Box<dyn Session>,
    keys: Slot,
}

impl Session for Seen {
    fn initial_keys(&self, id: &ConnectionId, side: Side) -> Keys {
        self.inner.initial_keys(id, side)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.inner.early_crypto()
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        self.inner.read_handshake(bytes)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }

    /// The keys that come last are those behind the handshake.
    fn write_handshake(&mut self, bytes: &mut Vec<u8>) -> Option<Keys> {
        let Keys { header, packet } = self.inner.write_handshake(bytes)?;
        let (own_header, own) =
            (Arc::<dyn HeaderKey>::from(header.local), Arc::<dyn PacketKey>::from(packet.local));
        put(&self.keys, (Arc::clone(&own_header), Arc::clone(&own)));
        Some(Keys {
            header: KeyPair { local: Box::new(SharedHeader(own_header)), remote: header.remote },
            packet: KeyPair { local: Box::new(Shared(own)), remote: packet.remote },
        })
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.inner.next_1rtt_keys()
    }

    fn is_valid_retry(&self, id: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(id, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}

/// A key that is used here, too.
struct Shared(Arc<dyn PacketKey>);

impl PacketKey for Shared {
    fn encrypt(&self, packet: u64, bytes: &mut [u8], header: usize) {
        self.0.encrypt(packet, bytes, header);
    }

    fn decrypt(&self, packet: u64, header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        self.0.decrypt(packet, header, payload)
    }

    fn tag_len(&self) -> usize {
        self.0.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.0.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.0.integrity_limit()
    }
}

struct SharedHeader(Arc<dyn HeaderKey>);

impl HeaderKey for SharedHeader {
    fn decrypt(&self, at: usize, packet: &mut [u8]) {
        self.0.decrypt(at, packet);
    }

    fn encrypt(&self, at: usize, packet: &mut [u8]) {
        self.0.encrypt(at, packet);
    }

    fn sample_size(&self) -> usize {
        self.0.sample_size()
    }
}

/// No tokens are given: the key of those that are is needed all the same.
struct NoTokens;

impl quinn_proto::crypto::HandshakeTokenKey for NoTokens {
    fn aead_from_hkdf(&self, _random: &[u8]) -> Box<dyn quinn_proto::crypto::AeadKey> {
        Box::new(NoTokens)
    }
}

impl quinn_proto::crypto::AeadKey for NoTokens {
    fn seal(&self, _data: &mut Vec<u8>, _more: &[u8]) -> Result<(), CryptoError> {
        Err(CryptoError)
    }

    fn open<'a>(&self, _data: &'a mut [u8], _more: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        Err(CryptoError)
    }
}
