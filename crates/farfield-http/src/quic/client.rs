//! State that the connections of one worker share.

use super::connection::{Connection, Library};
use super::identifiers::{self, IdentifierSource, SEED_BYTES};
use super::model;
use crate::tls::TlsSettings;
use crate::tls::encrypted::{self, CertificateVerdict, Witness};
use crate::tls::model::Offer;
use bytes::BytesMut;
use farfield_base::Instant;
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{
    ClientConfig, DatagramEvent, EcnCodepoint, Endpoint, EndpointEvent, NoneTokenStore, TransportConfig,
    VarInt,
};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// The server's address, as the library knows it: the transport knows the real one, and each connection has a
/// socket of its own. The address is one of those for documentation (RFC 5737).
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 443);
/// Bytes of received datagrams that are allocated at a time.
const BUFFER_BYTES: usize = 64 * 1024;
/// The longest silence before a connection is given up, if the server does not ask for a shorter one;
/// browsers have 30 s.
const IDLE: Duration = Duration::from_secs(30);
/// Bytes of body that a server may send on a stream, and on all of a connection, before it is allowed more:
/// as over HTTP/2.
const STREAM_WINDOW: u32 = 6 << 20;
pub(super) const CONNECTION_WINDOW: u32 = 15 << 20;
/// Unidirectional streams that a server may have open: three are needed (RFC 9114, 6.2), and extensions and
/// reserved types may come beside them.
const SERVER_STREAMS: u32 = 16;

/// The library's end of all connections of a worker, and their sessions' tickets.
pub struct Client {
    tls: Tls,
    endpoint: Endpoint,
    config: ClientConfig,
    name: String,
    began: std::time::Instant,
    incoming: BytesMut,
    /// The endpoint's answer to a datagram of no connection. It is never sent.
    answer: Vec<u8>,
}

/// The source of sessions, with their tickets.
enum Tls {
    /// With cryptography.
    Encrypted(encrypted::Client, Arc<Witness>),
    /// Without.
    Modelled(Arc<model::ClientSessions>),
}

impl Tls {
    /// Keeps tickets for `user` from now on.
    fn keep_for(&self, user: u32) {
        if let Tls::Encrypted(client, _) = self {
            client.keep_for(user);
        }
    }

    /// Prepares a call of the library: it is `now`, on behalf of `user`.
    fn enter(&self, now: Instant, user: u32) {
        match self {
            Tls::Encrypted(client, _) => client.enter(now, user),
            Tls::Modelled(sessions) => sessions.act_for(user),
        }
    }

    /// Does `work`; returns the processor time that it took as well, zero without a clock.
    fn timed<R>(&self, work: impl FnOnce() -> R) -> (R, farfield_base::Duration) {
        match self {
            Tls::Encrypted(client, _) => client.timed(work),
            Tls::Modelled(_) => (work(), farfield_base::Duration::ZERO),
        }
    }

    /// Takes what is known of certificates that were verified.
    fn take_verified(&self) -> CertificateVerdict {
        match self {
            Tls::Encrypted(_, witness) => witness.take(),
            Tls::Modelled(_) => CertificateVerdict::NotSeen,
        }
    }

    /// Forgets the tickets of `user`.
    fn forget(&self, user: u32) {
        match self {
            Tls::Encrypted(client, _) => client.forget(user),
            Tls::Modelled(sessions) => sessions.forget(user),
        }
    }
}

impl Client {
    /// A client without cryptography, for virtual time, that offers what `offer` says; all numbers follow
    /// from `seed`, which no other client may have.
    pub fn modelled(offer: Arc<Offer>, seed: [u8; SEED_BYTES]) -> Client {
        let name = offer.name.clone().unwrap_or_else(|| "server".to_owned());
        let sessions = Arc::new(model::ClientSessions::new(offer));
        let config = ClientConfig::new(Arc::clone(&sessions) as _);
        Client::with(Tls::Modelled(sessions), config, name, seed, model::beginning())
    }

    /// The client that `settings` describe.
    ///
    /// # Panics
    /// If the settings have no [beginning](TlsSettings::beginning_at), or their cryptography no random
    /// numbers or no TLS_AES_128_GCM_SHA256, which QUIC begins with (RFC 9001 section 5.2).
    pub fn new(settings: &TlsSettings) -> Client {
        let (tls, witness) = encrypted::Client::in_quic(settings);
        let (config, name) = tls.config();
        let mut seed = [0; SEED_BYTES];
        config.crypto_provider().secure_random.fill(&mut seed).expect("the cryptography has random numbers");
        let name = name.to_str().into_owned();
        let crypto = QuicClientConfig::try_from(config).expect("the cryptography has what QUIC begins with");
        let began = settings.began().expect("the settings have a beginning");
        Client::with(Tls::Encrypted(tls, witness), ClientConfig::new(Arc::new(crypto)), name, seed, began)
    }

    fn with(
        tls: Tls,
        mut config: ClientConfig,
        name: String,
        seed: [u8; SEED_BYTES],
        began: std::time::Instant,
    ) -> Client {
        let numbers = Arc::new(IdentifierSource::new(seed));
        let first = Arc::clone(&numbers);
        config
            .transport_config(Arc::new(transport()))
            .token_store(Arc::new(NoneTokenStore))
            .initial_dst_cid_provider(Arc::new(move || first.first()));
        Client {
            tls,
            endpoint: Endpoint::new(Arc::new(identifiers::endpoint(&numbers)), None, true, None),
            config,
            name,
            began,
            incoming: BytesMut::new(),
            answer: Vec::new(),
        }
    }

    /// A connection of `user`'s, whose first datagrams are ready to be sent.
    pub fn begin(&mut self, now: Instant, user: u32) -> Connection {
        self.tls.keep_for(user);
        self.tls.enter(now, user);
        let at = self.began + Duration::from_nanos(now.as_ns());
        let (endpoint, config, name) = (&mut self.endpoint, self.config.clone(), &self.name);
        let (begun, took) = self.tls.timed(|| endpoint.connect(at, config, SERVER, name));
        let (handle, library) = begun.expect("a configuration that was checked begins connections");
        let mut connection =
            Connection::new(Library { handle, connection: library.into() }, self.began, now, user);
        connection.spent = took;
        connection
    }

    /// A datagram came on the connection's socket, with `ecn` in its header.
    pub fn receive(&mut self, connection: &mut Connection, now: Instant, ecn: u8, datagram: &[u8]) {
        let at = connection.advance(now);
        if self.incoming.capacity() < datagram.len() {
            self.incoming.reserve(datagram.len().max(BUFFER_BYTES));
        }
        self.incoming.extend_from_slice(datagram);
        let datagram = self.incoming.split();
        self.tls.enter(now, connection.user);
        self.tls.take_verified();
        let handshaking = connection.library.connection.is_handshaking();
        let (endpoint, answer) = (&mut self.endpoint, &mut self.answer);
        let handle = |library: &mut Library| {
            answer.clear();
            let found = endpoint.handle(at, SERVER, None, EcnCodepoint::from_bits(ecn), datagram, answer);
            match found {
                // A server that mixes up its connections is not believed.
                Some(DatagramEvent::ConnectionEvent(of, event)) if of == library.handle => {
                    library.connection.handle_event(event);
                    true
                }
                _ => false,
            }
        };
        let library = &mut connection.library;
        if handshaking {
            let (heard, took) = self.tls.timed(|| handle(library));
            connection.spent = connection.spent + took;
            connection.heard |= heard;
        } else {
            handle(library);
        }
        connection.watch_for_floods();
        match self.tls.take_verified() {
            CertificateVerdict::NotSeen => connection.note_agreed(),
            CertificateVerdict::Accepted => connection.verified = true,
            CertificateVerdict::Refused(failure, detail) => {
                (connection.refused, connection.refusal) = (Some(failure), Some(*detail));
            }
        }
        self.exchange(connection);
    }

    /// A timer of the connection may have come to its end.
    pub fn handle_timeout(&mut self, connection: &mut Connection, now: Instant) {
        let at = connection.advance(now);
        connection.library.connection.handle_timeout(at);
        self.exchange(connection);
    }

    /// Exchanges the events that the library's two parts have for each other.
    fn exchange(&mut self, connection: &mut Connection) {
        let handle = connection.library.handle;
        while !connection.drained
            && let Some(event) = connection.library.connection.poll_endpoint_events()
        {
            connection.drained = event.is_drained();
            if let Some(answer) = self.endpoint.handle_event(handle, event) {
                connection.library.connection.handle_event(answer);
            }
        }
    }

    /// Forgets a connection that nothing more is sent on.
    pub fn release(&mut self, connection: &mut Connection) {
        self.exchange(connection);
        if !std::mem::replace(&mut connection.drained, true) {
            self.endpoint.handle_event(connection.library.handle, EndpointEvent::drained());
        }
    }

    /// Forgets the tickets of `user`, who is gone or comes back as another.
    pub fn forget(&self, user: u32) {
        self.tls.forget(user);
    }

    /// The connections that are not released.
    pub fn connections(&self) -> usize {
        self.endpoint.open_connections()
    }
}

/// The transport's settings, beside the library's defaults: CUBIC, probes for a greater MTU up to 1452
/// bytes, and ECN.
fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    let idle = IDLE.try_into().expect("30 s can be written");
    transport
        .max_idle_timeout(Some(idle))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .receive_window(VarInt::from_u32(CONNECTION_WINDOW))
        // Bytes to be sent wait for the server's windows alone, so that a wait is the server's.
        .send_window(u64::from(u32::MAX))
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .max_concurrent_uni_streams(VarInt::from_u32(SERVER_STREAMS))
        .datagram_receive_buffer_size(None);
    transport
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("name", &self.name).finish_non_exhaustive()
    }
}
