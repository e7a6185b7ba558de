//! A server's end of QUIC, without cryptography, for a model of a server in virtual time.
//!
//! It is handed datagrams with the address that they came from, and finds their connections, which the caller
//! keeps. A client that has not shown that it is where it says to be is sent three times as much as came from
//! it at most (RFC 9000 section 8). Neither Retry nor tokens are sent.

use super::connection::{Connection, Library};
use super::identifiers::{self, IdentifierSource, SEED_BYTES};
use super::model;
use crate::tls::model::Terms;
use bytes::BytesMut;
use farfield_base::Instant;
use quinn_proto::{
    AcceptError, ConnectionEvent, DatagramEvent, EcnCodepoint, Endpoint, EndpointEvent, ServerConfig,
    Transmit, TransportConfig, ValidationTokenConfig, VarInt,
};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of received datagrams that are allocated at a time.
const BUFFER_BYTES: usize = 64 * 1024;
/// The longest silence before a connection is given up, if the client does not ask for a shorter one.
const IDLE: Duration = Duration::from_secs(60);
/// Unidirectional streams that a client may have open: three are needed (RFC 9114, 6.2).
const CLIENT_STREAMS: u32 = 8;

/// Settings of a server's connections, beside the library's defaults: CUBIC, and turns of a packet among
/// streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerSettings {
    /// Streams that a client may have open at once.
    pub streams_max: u32,
    /// Bytes that may be on their way, or wait for that, on all streams of a connection.
    pub send_buffer: u32,
}

/// The library's end of all connections of a server.
pub struct Server {
    endpoint: Endpoint,
    began: std::time::Instant,
    incoming: BytesMut,
}

/// The fate of a datagram.
#[expect(
    clippy::large_enum_variant,
    reason = "the largest is nearly every one, and a box of each would cost more"
)]
#[derive(Debug)]
pub enum Arrival {
    /// The first of a connection.
    New(Box<Connection>),
    /// A datagram of the connection with this number, to be [handed over](Server::hand_over).
    Of(usize, Datagram),
    /// A datagram that is answered without a connection: the answer is in the buffer.
    Answered,
    /// Nothing that a server has an answer to.
    Nothing,
}

/// A datagram on its way to its connection.
pub struct Datagram(ConnectionEvent);

impl Server {
    /// A server of which handshakes go as `terms` say; all numbers follow from `seed`.
    pub fn modelled(terms: Arc<Terms>, settings: ServerSettings, seed: [u8; SEED_BYTES]) -> Server {
        let numbers = Arc::new(IdentifierSource::new(seed));
        let mut config =
            ServerConfig::new(Arc::new(model::ServerSessions::new(terms)), Arc::new(model::NoTokens));
        let mut tokens = ValidationTokenConfig::default();
        tokens.sent(0);
        config.transport_config(Arc::new(transport(settings))).validation_token_config(tokens);
        let endpoint = Arc::new(identifiers::endpoint(&numbers));
        Server {
            endpoint: Endpoint::new(endpoint, Some(Arc::new(config)), true, None),
            began: model::beginning(),
            incoming: BytesMut::new(),
        }
    }

    /// A datagram came from `remote`, with `ecn` in its header. What is answered at once is appended to
    /// `answer`.
    pub fn receive(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        ecn: u8,
        datagram: &[u8],
        answer: &mut Vec<u8>,
    ) -> Arrival {
        let at = self.began + Duration::from_nanos(now.as_ns());
        if self.incoming.capacity() < datagram.len() {
            self.incoming.reserve(datagram.len().max(BUFFER_BYTES));
        }
        self.incoming.extend_from_slice(datagram);
        let datagram = self.incoming.split();
        let found = self.endpoint.handle(at, remote, None, EcnCodepoint::from_bits(ecn), datagram, answer);
        match found {
            None => Arrival::Nothing,
            Some(DatagramEvent::ConnectionEvent(handle, event)) => Arrival::Of(handle.0, Datagram(event)),
            Some(DatagramEvent::Response(Transmit { .. })) => Arrival::Answered,
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, at, answer, None) {
                    Ok((handle, connection)) => {
                        let library = Library { handle, connection: connection.into() };
                        let mut connection = Connection::new(library, self.began, now, 0);
                        connection.heard = true;
                        self.exchange(&mut connection);
                        Arrival::New(connection.into())
                    }
                    Err(AcceptError { response: Some(_), .. }) => Arrival::Answered,
                    Err(AcceptError { response: None, .. }) => Arrival::Nothing,
                }
            }
        }
    }

    /// Hands a datagram to its connection.
    pub fn hand_over(&mut self, connection: &mut Connection, now: Instant, datagram: Datagram) {
        connection.advance(now);
        connection.library.connection.handle_event(datagram.0);
        connection.watch_for_floods();
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
}

fn transport(settings: ServerSettings) -> TransportConfig {
    let mut transport = TransportConfig::default();
    let idle = IDLE.try_into().expect("60 s can be written");
    transport
        .max_idle_timeout(Some(idle))
        .send_window(u64::from(settings.send_buffer))
        .max_concurrent_bidi_streams(VarInt::from_u32(settings.streams_max))
        .max_concurrent_uni_streams(VarInt::from_u32(CLIENT_STREAMS))
        .datagram_receive_buffer_size(None);
    transport
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("connections", &self.endpoint.open_connections())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Datagram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Datagram").finish_non_exhaustive()
    }
}
