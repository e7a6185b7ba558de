//! Floods within QUIC. The library shakes hands; the packets of a flood are written here, with the keys that
//! the handshake led to, so that they can hold any frame. Floods within the replies of HTTP/3 go through the
//! library.

use super::{FAREWELL, FloodKind, http3, tls_config};
use bytes::BytesMut;
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::crypto::{
    CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig, Session,
    UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{
    ConnectionHandle, ConnectionId, DatagramEvent, Dir, Endpoint, EndpointConfig, Side, StreamId,
    TransportError, VarInt, WriteError,
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
/// A flooded client that says nothing for so long is gone without a word.
const SILENCE: Duration = Duration::from_secs(5);
/// Bytes of the identifiers that farfield gives itself, and that the library here does.
const ID_BYTES: usize = 8;
/// H3_INTERNAL_ERROR (RFC 9114, 8.1).
const INTERNAL_ERROR: VarInt = VarInt::from_u32(0x102);
/// The number of a flood's first packet, far from the library's.
const FIRST_PACKET: u64 = 1 << 20;

/// The keys of one direction.
type Sealing = (Arc<dyn HeaderKey>, Arc<dyn PacketKey>);

/// The keys of what is sent behind the handshake.
struct BothKeys {
    server: Sealing,
    client: Sealing,
}

/// The place where a session leaves them.
type Slot = Arc<Mutex<Option<BothKeys>>>;

fn take<T>(slot: &Mutex<Option<T>>) -> Option<T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn put<T>(slot: &Mutex<Option<T>>, value: T) {
    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
}

/// Serves clients until `stop` is set.
pub(super) fn serve(socket: &UdpSocket, kind: &Mutex<FloodKind>, stop: &AtomicBool) {
    let _ = socket.set_read_timeout(Some(Duration::from_millis(1)));
    let mut server = Server::new();
    let mut buffer = vec![0; 65_536];
    while !stop.load(Ordering::Relaxed) {
        server.turn(*kind.lock().unwrap_or_else(PoisonError::into_inner));
        // All that waits is read before more is sent: a server that is deaf to new clients and to
        // acknowledgements floods nobody. While it floods it does not wait for them.
        let _ = socket.set_nonblocking(server.is_flooding());
        loop {
            match socket.recv_from(&mut buffer) {
                Ok((length, from)) => server.receive(socket, from, &buffer[..length]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break,
                // Errors that ICMP reports of a client that is gone.
                Err(_) => {}
            }
        }
        let _ = socket.set_nonblocking(false);
        server.go_on(socket);
    }
}

struct Server {
    kind: FloodKind,
    /// Reply without end.
    reply: Option<http3::Endless>,
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
    /// The identifier that the client is reached by: that of the packet with a short header that was sent
    /// last.
    id: Vec<u8>,
    has_control: bool,
    keys: Slot,
    flood: Option<Flood>,
    /// Replies without end, and how many bytes of each were written.
    endless: Vec<(StreamId, usize)>,
    has_closed: bool,
}

/// A flood that has begun.
struct Flood {
    keys: BothKeys,
    packet: u64,
    /// Frames so far, of a kind that counts.
    count: u64,
    /// The largest number of a client's packet.
    client_packet: u64,
}

#[expect(clippy::disallowed_methods, reason = "a server of the machine's own time")]
fn now() -> Instant {
    Instant::now()
}

impl Server {
    /// A calm one.
    fn new() -> Server {
        let crypto = QuicServerConfig::try_from(tls_config(&["h3"])).expect("a suite of QUIC's");
        let latest: Arc<Mutex<Option<Slot>>> = Arc::default();
        let seen = KeyLogConfig { inner: Arc::new(crypto), latest: Arc::clone(&latest) };
        let mut config = quinn_proto::ServerConfig::new(Arc::new(seen), Arc::new(NoTokens));
        let mut tokens = quinn_proto::ValidationTokenConfig::default();
        tokens.sent(0);
        config.validation_token_config(tokens);
        let endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), Some(Arc::new(config)), true, None);
        Server { kind: FloodKind::Calm, reply: None, endpoint, latest, connections: BTreeMap::new() }
    }

    fn turn(&mut self, kind: FloodKind) {
        if self.kind != kind {
            (self.kind, self.reply) = (kind, http3::Endless::of(kind));
        }
    }

    fn is_flooding(&self) -> bool {
        self.connections.values().any(|client| client.flood.is_some())
    }

    fn receive(&mut self, socket: &UdpSocket, from: SocketAddr, datagram: &[u8]) {
        let mut answer = Vec::new();
        let at = now();
        // The library knows nothing of the packets of a flood, of what acknowledges them, and of the
        // identifiers that they give. A long header begins another connection.
        let mut flooded = self.connections.values_mut().filter(|client| client.flood.is_some());
        if datagram.first().is_some_and(|first| first & 0x80 == 0)
            && let Some(client) = flooded.find(|client| client.address == from)
            && let Some(flood) = &mut client.flood
        {
            client.heard = at;
            client.has_closed |= flood.is_closed_by(datagram).unwrap_or(false);
            return;
        }
        match self.endpoint.handle(at, from, None, None, BytesMut::from(datagram), &mut answer) {
            None => {}
            Some(DatagramEvent::Response(sent)) => {
                let _ = socket.send_to(&answer[..sent.size], from);
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                if let Ok((handle, quic)) = self.endpoint.accept(incoming, at, &mut answer, None) {
                    let keys = take(&self.latest).unwrap_or_default();
                    let client = Client {
                        quic,
                        address: from,
                        heard: at,
                        id: Vec::new(),
                        has_control: false,
                        keys,
                        flood: None,
                        endless: Vec::new(),
                        has_closed: false,
                    };
                    self.connections.insert(handle.0, client);
                }
            }
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(client) = self.connections.get_mut(&handle.0) {
                    client.heard = at;
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
            client.answer(self.kind, self.reply.as_ref(), at);
            let is_of_replies =
                matches!(self.kind, FloodKind::Closes | FloodKind::Resets | FloodKind::WrongFrame);
            let is_of_frames = self.kind != FloodKind::Calm && !is_of_replies && self.reply.is_none();
            if is_of_frames && client.has_control && client.flood.is_none() {
                // Datagrams that the library still has to send go first.
                client.send(socket, at);
                client.flood = take(&client.keys).map(Flood::new);
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
            let is_silent = client.flood.is_some() && at.duration_since(client.heard) > SILENCE;
            if is_silent || client.has_closed || client.quic.is_drained() {
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

    /// Opens the control stream once the handshake is over, and answers requests: with `endless`, as far as
    /// there is room, or else as the kind of server does.
    fn answer(&mut self, kind: FloodKind, endless: Option<&http3::Endless>, at: Instant) {
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
            match (endless, kind) {
                (Some(_), _) => self.endless.push((stream, 0)),
                (None, FloodKind::Closes) => self.quic.close(at, INTERNAL_ERROR, FAREWELL.into()),
                (None, FloodKind::Resets) => {
                    let _ = self.quic.send_stream(stream).reset(INTERNAL_ERROR);
                }
                (None, FloodKind::WrongFrame) => self.reply(stream, &[4, 0]),
                // HEADERS with `:status: 200` of the static table, and DATA.
                (None, FloodKind::Calm) => self.reply(stream, &[1, 3, 0, 0, 0xd9, 0, 2, b'h', b'i']),
                (None, _) => {}
            }
        }
        let Client { quic, endless: streams, .. } = self;
        streams.retain_mut(|(stream, written)| {
            let Some(reply) = endless else { return false };
            loop {
                match quic.send_stream(*stream).write(reply.from(*written)) {
                    Ok(count) => *written += count,
                    Err(error) => return error == WriteError::Blocked,
                }
            }
        });
    }

    fn reply(&mut self, stream: StreamId, frames: &[u8]) {
        let mut sender = self.quic.send_stream(stream);
        let _ = sender.write(frames);
        let _ = sender.finish();
        let _ = self.quic.recv_stream(stream).stop(0u32.into());
    }

    fn send(&mut self, socket: &UdpSocket, at: Instant) {
        let mut bytes = Vec::new();
        while self.flood.is_none()
            && let Some(sent) = self.quic.poll_transmit(at, 1, &mut bytes)
        {
            let _ = socket.send_to(&bytes[..sent.size], sent.destination);
            // The library takes other identifiers than the first, and retires that.
            if bytes[0] & 0x80 == 0 {
                self.id = bytes[1..=ID_BYTES].to_vec();
            }
            bytes.clear();
        }
    }
}

impl Flood {
    fn new(keys: BothKeys) -> Flood {
        Flood { keys, packet: FIRST_PACKET, count: 0, client_packet: 0 }
    }

    /// The next datagram: a packet with a short header that is full of frames.
    fn datagram(&mut self, id: &[u8], kind: FloodKind) -> Vec<u8> {
        let (header_key, key) = &self.keys.server;
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

    /// True if the client closes with this datagram: a packet with a short header that has CONNECTION_CLOSE
    /// behind acknowledgements (RFC 9000 sections 17.3.1 and 19.19). Nothing if it cannot be read.
    fn is_closed_by(&mut self, datagram: &[u8]) -> Option<bool> {
        let (header_key, key) = &self.keys.client;
        let number_at = 1 + ID_BYTES;
        let mut packet = BytesMut::from(datagram);
        let is_long = packet.first()? & 0x80 != 0;
        if is_long || packet.len() < number_at + 4 + header_key.sample_size() {
            return None;
        }
        header_key.decrypt(number_at, &mut packet);
        let number_bytes = usize::from(packet[0] & 3) + 1;
        let mut payload = packet.split_off(number_at + number_bytes);
        let number = packet[number_at..].iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let number = nearest(self.client_packet + 1, number, 1 << (8 * number_bytes));
        key.decrypt(number, &packet, &mut payload).ok()?;
        self.client_packet = self.client_packet.max(number);
        closes(&payload)
    }
}

/// The number nearest to `expected` that is `low` but for multiples of `size` (RFC 9000 appendix A.3).
fn nearest(expected: u64, low: u64, size: u64) -> u64 {
    let near = expected - expected % size + low;
    match () {
        () if near + size / 2 <= expected => near + size,
        () if near > expected + size / 2 && near >= size => near - size,
        () => near,
    }
}

/// True if frames have CONNECTION_CLOSE behind acknowledgements, padding and pings.
fn closes(mut frames: &[u8]) -> Option<bool> {
    loop {
        match varint(&mut frames)? {
            0 | 1 => {}
            // ACK: the largest, a delay, and ranges; with three counts of ECN or without (section 19.3).
            kind @ (2 | 3) => {
                let [_largest, _delay, ranges] =
                    [varint(&mut frames)?, varint(&mut frames)?, varint(&mut frames)?];
                let counts = if kind == 3 { 3 } else { 0 };
                for _ in 0..1 + 2 * ranges + counts {
                    varint(&mut frames)?;
                }
            }
            kind => return Some(matches!(kind, 0x1c | 0x1d)),
        }
    }
}

/// Takes a number of one to eight bytes off the front (RFC 9000 section 16).
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let length = 1 << (bytes.first()? >> 6);
    let (number, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    let first = u64::from(number[0] & 0x3f);
    Some(number[1..].iter().fold(first, |number, byte| number << 8 | u64::from(*byte)))
}

/// Appends the frame of this number (RFC 9000 section 19).
fn put_frame(packet: &mut Vec<u8>, kind: FloodKind, count: u64) {
    let varint = |value: u64| (value | 0xc000_0000_0000_0000).to_be_bytes();
    match kind {
        FloodKind::MaxData => {
            packet.push(0x10);
            packet.extend(varint((1 << 40) + count));
        }
        FloodKind::NewConnectionId | FloodKind::RetiredIdentifiers => {
            // The last that there is room for, or one beyond all that there were.
            let (sequence, retired) =
                if kind == FloodKind::NewConnectionId { (4, 0) } else { (1000 + count, 1000 + count) };
            packet.push(0x18);
            packet.extend(varint(sequence));
            packet.extend(varint(retired));
            packet.push(8);
            packet.extend(sequence.to_be_bytes());
            packet.extend([sequence as u8; 16]);
        }
        FloodKind::PathChallenge => {
            packet.push(0x1a);
            packet.extend(count.to_be_bytes());
        }
        FloodKind::HandshakeDone => packet.push(0x1e),
        // INTERNAL_ERROR, and no frame that it is about.
        FloodKind::ClosesQuic => {
            packet.extend([0x1c, 1, 0, FAREWELL.len() as u8]);
            packet.extend(FAREWELL.as_bytes());
        }
        _ => packet.push(0x01),
    }
}

/// The library's cryptography, which has the keys seen that it arrives at.
struct KeyLogConfig {
    inner: Arc<QuicServerConfig>,
    latest: Arc<Mutex<Option<Slot>>>,
}

impl ServerConfig for KeyLogConfig {
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
        Box::new(KeyLogSession { inner, keys })
    }
}

struct KeyLogSession {
    inner: Box<dyn Session>,
    keys: Slot,
}

impl Session for KeyLogSession {
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
        let server: Sealing = (header.local.into(), packet.local.into());
        let client: Sealing = (header.remote.into(), packet.remote.into());
        let shared = Keys {
            header: KeyPair {
                local: Box::new(SharedHeader(Arc::clone(&server.0))),
                remote: Box::new(SharedHeader(Arc::clone(&client.0))),
            },
            packet: KeyPair {
                local: Box::new(Shared(Arc::clone(&server.1))),
                remote: Box::new(Shared(Arc::clone(&client.1))),
            },
        };
        put(&self.keys, BothKeys { server, client });
        Some(shared)
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
