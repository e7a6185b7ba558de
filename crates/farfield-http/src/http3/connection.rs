//! A client's connection as a state machine over one of QUIC: datagrams that came go in by the QUIC client,
//! and events of requests come out.
//!
//! It keeps no body: its bytes are handed on as they came, and are counted as read then, which allows the
//! server more. A server that falls silent is the caller's to give up, but for QUIC's own timers.

mod receive;

use super::control::{ControlStream, PeerSettings};
use super::error::{ConnectionError, ErrorCode};
use super::qpack::{DecoderStream, EncoderStream};
use super::reply::ReplyStream;
use super::server_streams::{ServerStream, ServerStreams};
use super::{frame, varint};
use crate::Event;
use crate::http1::{Answering, Limits, Reply};
use crate::http2::Heads;
use crate::quic::{self, QuicFailure, StreamId};
use bytes::Bytes;
use farfield_base::{Detail, EarlyData, Instant, Outcome, TlsStats};
use smallvec::SmallVec;

/// Types of streams (RFC 9114, 6.2.1; RFC 9204, 4.2).
pub(super) const CONTROL: u64 = 0x0;
pub(super) const QPACK_ENCODER: u64 = 0x2;
pub(super) const QPACK_DECODER: u64 = 0x3;
/// SETTINGS_MAX_FIELD_SECTION_SIZE (RFC 9114, 7.2.4.1).
pub(super) const MAX_FIELD_SECTION_SIZE: u64 = 0x6;

/// Why a connection is over. Closed: by the layer that ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionLoss {
    /// By QUIC.
    #[error("{0}")]
    Quic(QuicFailure),
    /// By what the server's HTTP/3 has wrong; closing the connection says so.
    #[error("{0}")]
    Http3(ConnectionError),
}

impl ConnectionLoss {
    /// The outcome that a sample of a request on the connection records.
    pub const fn outcome(self) -> Outcome {
        match self {
            ConnectionLoss::Quic(failure) => failure.outcome(),
            ConnectionLoss::Http3(ConnectionError::Flood) => Outcome::Flooded,
            ConnectionLoss::Http3(_) => Outcome::BadFrame,
        }
    }
}

impl From<ConnectionError> for ConnectionLoss {
    fn from(error: ConnectionError) -> ConnectionLoss {
        ConnectionLoss::Http3(error)
    }
}

/// A connection to one server.
#[derive(Debug)]
pub struct Connection {
    /// The transport, which is handed datagrams and timeouts.
    pub quic: quic::Connection,
    limits: Limits,
    server_streams: ServerStreams,
    /// The server's unidirectional streams.
    opened: SmallVec<[(StreamId, Reader); 4]>,
    settings: PeerSettings,
    /// Requests whose reply is not over, in the order of their numbers.
    requests: Vec<PendingRequest>,
    /// The stream of the next request, where the server allows one.
    spare: Option<StreamId>,
    is_secured: bool,
    /// The client's own streams were opened, within the handshake or behind it.
    has_own_streams: bool,
    /// The fate of streams that were opened within the handshake.
    early: EarlyData,
    /// Requests whose replies have begun, without an event yet.
    begun: Vec<u32>,
    /// The stream that is being read, and what is left of a piece of it.
    reading: Option<(StreamId, Bytes)>,
    /// The stream of the server's last GOAWAY: requests from there on are not processed.
    going_away: Option<u64>,
    /// True while the server's first GOAWAY is still to be reported.
    goes_away: bool,
    /// Bytes on the server's own streams that led to nothing, less what events of requests earned.
    useless_bytes: u64,
    /// The error that ends the connection behind the event that was reported last.
    error: Option<ConnectionError>,
    /// The failure by which it was lost, or the error that closing it says.
    lost: Option<ConnectionLoss>,
}

/// A request whose reply is not over.
#[derive(Debug)]
struct PendingRequest {
    number: u32,
    /// Bytes of the request that are still to be written.
    unsent: [Bytes; 2],
    /// All of it, of one that went within the handshake, as long as the server may pass over it.
    early: Option<Box<[Bytes; 2]>>,
    reply: ReplyStream,
}

/// The reader of a stream of the server's.
#[derive(Debug)]
enum Reader {
    /// The type of the stream is on its way.
    Unknown(ServerStream),
    Control(Box<ControlStream>),
    Encoder(EncoderStream),
    Decoder(DecoderStream),
    /// The stream's bytes are thrown away.
    Ignored,
}

impl Connection {
    /// A connection over `quic`, which was just begun.
    pub fn new(quic: quic::Connection, limits: Limits) -> Connection {
        Connection {
            quic,
            limits,
            server_streams: ServerStreams::default(),
            opened: SmallVec::new(),
            settings: PeerSettings::default(),
            requests: Vec::new(),
            spare: None,
            is_secured: false,
            has_own_streams: false,
            early: EarlyData::Unsent,
            begun: Vec::new(),
            reading: None,
            going_away: None,
            goes_away: false,
            useless_bytes: 0,
            error: None,
            lost: None,
        }
    }

    /// True if a request can be sent now.
    pub fn has_room(&self) -> bool {
        self.spare.is_some() && !self.is_closing()
    }

    /// True if no further request can be sent.
    pub fn is_closing(&self) -> bool {
        self.going_away.is_some() || self.lost.is_some()
    }

    /// True if the handshake is over.
    pub fn is_secured(&self) -> bool {
        self.is_secured
    }

    /// The failure by which the connection was lost, if it was.
    pub fn lost(&self) -> Option<ConnectionLoss> {
        self.lost
    }

    /// The detail of the failure by which the connection was lost, if there is one.
    pub fn detail(&self) -> Option<Detail> {
        match self.lost? {
            ConnectionLoss::Quic(_) => self.quic.detail().cloned(),
            ConnectionLoss::Http3(error) => Some(Detail::broken(error.rule())),
        }
    }

    /// The greatest number of a request that the server may have processed, once it goes away and has
    /// processed any (RFC 9114, 5.2).
    pub fn processed_any(&self) -> bool {
        self.going_away.is_some_and(|stream| stream > 0)
    }

    /// The server's settings, as far as they came.
    pub fn peer_settings(&self) -> PeerSettings {
        self.settings
    }

    /// The reply to request `number` as far as it came, for a request that fails before it is over.
    pub fn so_far(&self, number: u32) -> Option<Reply> {
        let place = self.place_of(number)?;
        Some(self.requests[place].reply.so_far())
    }

    /// True if some of request `number` waits for the server to allow more: on its stream, or on the
    /// connection.
    pub fn is_stalled(&self, number: u32) -> bool {
        let place = self.place_of(number);
        place.is_some_and(|place| self.requests[place].unsent.iter().any(|part| !part.is_empty()))
    }

    /// A request whose reply has begun in the middle of a head, since this was last asked.
    pub fn take_begun(&mut self) -> Option<u32> {
        self.begun.pop()
    }

    /// Sends the next request: what its stream carries, in up to two pieces. Returns its number, or nothing
    /// if there is no [room](Self::has_room).
    pub fn request(&mut self, parts: [Bytes; 2], answering: Answering) -> Option<u32> {
        if self.is_closing() {
            return None;
        }
        let stream = self.spare.take()?;
        self.spare = self.quic.open();
        let number = stream.request()?;
        let early = (!self.is_secured).then(|| Box::new(parts.clone()));
        self.requests.push(PendingRequest {
            number,
            unsent: parts,
            early,
            reply: ReplyStream::new(answering),
        });
        self.write(self.requests.len() - 1);
        Some(number)
    }

    /// Gives a request up: the server is asked to send nothing more of it. Does nothing if it is over.
    pub fn cancel(&mut self, number: u32) {
        if let Some(place) = self.place_of(number) {
            self.requests.remove(place);
            self.quic.cancel(StreamId::of_request(number), ErrorCode::REQUEST_CANCELLED.0);
        }
    }

    /// Closes the connection: tells the server that nothing more is asked, or what is wrong with what it
    /// sends. Nothing if it is over.
    pub fn close(&mut self, now: Instant) {
        let code = match self.lost {
            None => ErrorCode::NO_ERROR,
            Some(ConnectionLoss::Http3(error)) => error.code(),
            Some(ConnectionLoss::Quic(_)) => return,
        };
        self.quic.close(now, code.0);
    }

    /// The next event of what was handed in.
    ///
    /// # Errors
    /// The connection is over, and so are all requests on it; there is nothing behind that.
    pub fn next_event(&mut self, heads: &mut Heads) -> Result<Event<'static>, ConnectionLoss> {
        if self.lost.is_some() {
            return Ok(Event::NeedMore);
        }
        self.step(heads).inspect_err(|lost| self.lost = Some(*lost))
    }

    fn place_of(&self, number: u32) -> Option<usize> {
        self.requests.binary_search_by_key(&number, |request| request.number).ok()
    }

    /// Opens the client's streams within the handshake, if it allows that (0-RTT, RFC 9114, 7.2.4.2):
    /// requests can be sent, as far as the server allowed streams when it gave the ticket. Whoever records
    /// them can send them to the server once more, so that only safe ones may go.
    pub fn begin_early(&mut self) -> bool {
        let has_room = self.quic.has_early_room();
        if has_room {
            self.open_streams();
        }
        has_room
    }

    /// The session that was agreed on, where the handshake was over at `secured`.
    pub fn stats(&self, secured: Instant) -> TlsStats {
        self.quic.stats(secured, self.early)
    }

    /// The handshake is over. What went within it, and was passed over, goes again on the same streams.
    fn begin(&mut self) {
        self.is_secured = true;
        let is_taken = self.quic.is_early_accepted();
        if !self.requests.is_empty() {
            self.early = if is_taken { EarlyData::Accepted } else { EarlyData::Rejected };
        }
        if is_taken && self.has_own_streams {
            self.requests.iter_mut().for_each(|request| request.early = None);
            // The server may allow more streams than when it gave the ticket.
            self.spare = self.spare.or_else(|| self.quic.open());
            return;
        }
        self.spare = None;
        self.open_streams();
        for place in 0..self.requests.len() {
            if self.spare.take().is_none() {
                // The server allows fewer streams than it did: what is left waits for it, or for its time
                // limit.
                return;
            }
            self.spare = self.quic.open();
            if let Some(parts) = self.requests[place].early.take() {
                self.requests[place].unsent = *parts;
                self.write(place);
            }
        }
    }

    /// Opens the client's streams (RFC 9114, 6.2.1; RFC 9204, 4.2). A server that allows none of QPACK's
    /// goes without: nothing is said on them.
    fn open_streams(&mut self) {
        self.has_own_streams = true;
        let mut settings = Vec::with_capacity(16);
        varint::encode(MAX_FIELD_SECTION_SIZE, &mut settings);
        varint::encode(u64::from(self.limits.head_bytes), &mut settings);
        let mut control = Vec::with_capacity(16);
        varint::encode(CONTROL, &mut control);
        varint::encode(frame::SETTINGS, &mut control);
        varint::encode(settings.len() as u64, &mut control);
        control.extend_from_slice(&settings);
        let streams = [control, vec![QPACK_ENCODER as u8], vec![QPACK_DECODER as u8]];
        for bytes in streams {
            if let Some(stream) = self.quic.open_unidirectional() {
                self.quic.write(stream, &mut [Bytes::from(bytes)]);
            }
        }
        self.spare = self.quic.open();
    }

    /// Writes what there is room for of a request, and ends its stream behind it.
    fn write(&mut self, place: usize) {
        let PendingRequest { number, unsent, .. } = &mut self.requests[place];
        let stream = StreamId::of_request(*number);
        if self.quic.write(stream, unsent) {
            self.quic.finish(stream);
        }
    }
}
