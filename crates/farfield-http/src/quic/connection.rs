//! One connection: its streams, its timers, and the datagrams that it sends.

use super::failure::QuicFailure;
use super::flood::FloodWatch;
use super::model::QuicAgreement;
use crate::tls::TlsFailure;
use bytes::Bytes;
use farfield_base::{Detail, Duration, EarlyData, Instant, TlsStats, TlsVersion};
use quinn_proto::{ConnectionHandle, Dir, ReadError, Side, StreamEvent, VarInt};
use std::fmt;
use std::net::SocketAddr;

/// Datagrams that are handed out at once, at most.
const AT_ONCE: usize = 10;

/// The number of a stream (RFC 9000 section 2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamId(u64);

impl StreamId {
    /// The number, as frames have it.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The stream of a connection's request `number`, counted from 0: the client's bidirectional streams, in
    /// order.
    pub const fn of_request(number: u32) -> StreamId {
        StreamId(4 * number as u64)
    }

    /// The number of its request on the connection, if it is a request's.
    pub fn request(self) -> Option<u32> {
        if self.0.is_multiple_of(4) { u32::try_from(self.0 / 4).ok() } else { None }
    }

    fn library(self) -> quinn_proto::StreamId {
        let side = if self.0 & 1 == 0 { Side::Client } else { Side::Server };
        let dir = if self.0 & 2 == 0 { Dir::Bi } else { Dir::Uni };
        quinn_proto::StreamId::new(side, dir, self.0 >> 2)
    }
}

impl From<quinn_proto::StreamId> for StreamId {
    fn from(id: quinn_proto::StreamId) -> StreamId {
        StreamId(id.into())
    }
}

/// An event on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// The handshake is over: streams can be opened.
    Connected,
    /// The connection is over.
    Lost(QuicFailure),
    /// The other end sends without end what leads to nothing: the connection is to be closed.
    Flooded,
    /// The server opened unidirectional streams.
    Opened,
    /// There is something to be read on a stream.
    Readable(StreamId),
    /// There is room for more on a stream.
    Writable(StreamId),
    /// The server reads no further on a stream.
    Stopped(StreamId),
    /// The server allows more streams.
    Room,
}

/// The next piece of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StreamData {
    /// Bytes, at least one.
    Bytes(Bytes),
    /// Nothing yet.
    Nothing,
    /// The stream's end.
    End,
    /// The server ended it early with this code.
    Reset(u64),
}

/// Datagrams that are ready to be sent, all of them equally long but the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    /// The codepoint for the ECN field of their headers.
    pub ecn: u8,
    /// Bytes of each.
    pub segment_bytes: usize,
    /// The address that they are for, as far as the end knows addresses: a server does.
    pub destination: SocketAddr,
}

pub(super) struct Library {
    /// By which the endpoint knows it.
    pub handle: ConnectionHandle,
    pub connection: Box<quinn_proto::Connection>,
}

/// A connection, of either end.
pub struct Connection {
    pub(super) library: Library,
    began: std::time::Instant,
    /// The latest time that was handed in: the library's does not go back.
    latest: Instant,
    /// The user on whose behalf it was opened.
    pub(super) user: u32,
    /// A datagram of the server's came.
    pub(super) heard: bool,
    /// The server's certificate was accepted, which one of a resumed session is not looked at for.
    pub(super) verified: bool,
    /// Why the server's certificate was not.
    pub(super) refused: Option<TlsFailure>,
    pub(super) refusal: Option<Detail>,
    /// The detail of the failure by which it was lost.
    detail: Option<Box<Detail>>,
    /// The endpoint has forgotten it.
    pub(super) drained: bool,
    connected: bool,
    /// Processor time of the handshake that was not taken yet.
    pub(super) spent: Duration,
    flood: FloodWatch,
}

impl Connection {
    pub(super) fn new(library: Library, began: std::time::Instant, latest: Instant, user: u32) -> Connection {
        Connection {
            library,
            began,
            latest,
            user,
            heard: false,
            verified: false,
            refused: None,
            refusal: None,
            detail: None,
            drained: false,
            connected: false,
            spent: Duration::ZERO,
            flood: FloodWatch::default(),
        }
    }

    /// A datagram was handed to the library: whether what came so far is a flood is looked at now and then.
    pub(super) fn watch_for_floods(&mut self) {
        if self.flood.is_due() {
            self.flood.check(&self.library.connection.stats());
        }
    }

    /// Advances the connection's time to `now`, and returns it on the library's clock.
    pub(super) fn advance(&mut self, now: Instant) -> std::time::Instant {
        self.latest = self.latest.max(now);
        self.began + std::time::Duration::from_nanos(self.latest.as_ns())
    }

    /// By which number its endpoint knows it, which is used again once it is released.
    pub fn number(&self) -> usize {
        self.library.handle.0
    }

    /// The result of a handshake without cryptography, once both ends have agreed: true if they resume an
    /// earlier session.
    pub fn agreed(&self) -> Option<bool> {
        let data = self.library.connection.crypto_session().handshake_data()?;
        data.downcast::<QuicAgreement>().ok().map(|agreed| agreed.resumes)
    }

    /// Notes whether a session without cryptography is resumed.
    pub(super) fn note_agreed(&mut self) {
        if !self.verified && self.agreed() == Some(false) {
            self.verified = true;
        }
    }

    /// The detail of the failure by which it was lost, if there is one.
    pub fn detail(&self) -> Option<&Detail> {
        self.detail.as_deref()
    }

    /// True if its endpoint has forgotten it.
    pub fn is_drained(&self) -> bool {
        self.drained
    }

    /// True if the server was heard of.
    pub fn is_heard(&self) -> bool {
        self.heard
    }

    /// Processor time that the handshake took since this was last asked.
    pub fn take_spent(&mut self) -> Duration {
        std::mem::take(&mut self.spent)
    }

    /// The session that was agreed on, where the handshake was over at `secured`.
    pub(crate) fn stats(&self, secured: Instant, early: EarlyData) -> TlsStats {
        TlsStats { secured, version: TlsVersion::Tls13, resumed: !self.verified, early }
    }

    /// True if streams can be opened within the handshake (0-RTT, RFC 9001 section 4.6): the settings and
    /// the user's ticket allow it.
    pub(crate) fn has_early_room(&self) -> bool {
        !self.connected && self.library.connection.has_0rtt()
    }

    /// True if the server took what went within the handshake, which is over. If not, all streams are gone.
    pub(crate) fn is_early_accepted(&self) -> bool {
        self.library.connection.accepted_0rtt()
    }

    /// The instant at which the next timer comes to its end, if one runs.
    pub fn next_timeout(&mut self) -> Option<Instant> {
        let at = self.library.connection.poll_timeout()?;
        let since = at.saturating_duration_since(self.began);
        Some(Instant::from_ns(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// Appends datagrams that are to be sent to `bytes`, which must be empty; nothing if there are none.
    pub fn next_transmit(&mut self, now: Instant, bytes: &mut Vec<u8>) -> Option<Transmit> {
        let at = self.advance(now);
        let sent = self.library.connection.poll_transmit(at, AT_ONCE, bytes)?;
        Some(Transmit {
            ecn: sent.ecn.map_or(0, |ecn| ecn as u8),
            segment_bytes: sent.segment_size.unwrap_or(sent.size),
            destination: sent.destination,
        })
    }

    /// Datagrams take another path from now on, from another address: the server is named the connection by
    /// an identifier that it has not seen (RFC 9000 section 9.5), at once. Congestion control, the estimate
    /// of the round trip and the probes of the MTU begin anew (section 9.4); what is on its way on the old
    /// path counts as in flight until it is acknowledged or lost.
    pub fn change_path(&mut self, now: Instant) {
        let at = self.advance(now);
        self.library.connection.path_changed(at);
        self.library.connection.local_address_changed();
    }

    /// The end of the handshake, once it is reached: for a caller that asks nothing on the connection. Other
    /// events are passed over.
    pub fn handshake(&mut self) -> Option<Result<(), QuicFailure>> {
        loop {
            match self.next_event()? {
                Event::Connected => return Some(Ok(())),
                Event::Lost(failure) => return Some(Err(failure)),
                _ => {}
            }
        }
    }

    /// Closes with an error code of the application's, unless it is over: what is to be sent says so.
    pub fn close(&mut self, now: Instant, code: u64) {
        let at = self.advance(now);
        self.library.connection.close(at, varint(code), Bytes::new());
    }

    /// The next thing that happened.
    pub(crate) fn next_event(&mut self) -> Option<Event> {
        if self.flood.take_found() {
            return Some(Event::Flooded);
        }
        loop {
            let event = match self.library.connection.poll()? {
                quinn_proto::Event::Connected => {
                    self.connected = true;
                    Event::Connected
                }
                quinn_proto::Event::ConnectionLost { reason } => {
                    let failure = QuicFailure::of(&reason, self.refused, !self.connected);
                    let Some(failure) = failure else { continue };
                    self.detail = QuicFailure::detail_of(&reason, self.refusal.as_ref()).map(Box::new);
                    Event::Lost(failure)
                }
                quinn_proto::Event::Stream(event) => match event {
                    StreamEvent::Opened { .. } => Event::Opened,
                    StreamEvent::Readable { id } => Event::Readable(id.into()),
                    StreamEvent::Writable { id } => Event::Writable(id.into()),
                    StreamEvent::Stopped { id, .. } => Event::Stopped(id.into()),
                    StreamEvent::Available { dir: Dir::Bi } => Event::Room,
                    StreamEvent::Available { .. } | StreamEvent::Finished { .. } => continue,
                },
                _ => continue,
            };
            return Some(event);
        }
    }

    /// Opens the next bidirectional stream, if the server allows one more.
    pub(crate) fn open(&mut self) -> Option<StreamId> {
        self.library.connection.streams().open(Dir::Bi).map(StreamId::from)
    }

    /// Opens the next unidirectional stream, if the server allows one more.
    pub(crate) fn open_unidirectional(&mut self) -> Option<StreamId> {
        self.library.connection.streams().open(Dir::Uni).map(StreamId::from)
    }

    /// The next bidirectional stream that the other end, a client, has opened.
    pub(crate) fn accept_request(&mut self) -> Option<StreamId> {
        self.library.connection.streams().accept(Dir::Bi).map(StreamId::from)
    }

    /// The next unidirectional stream that the other end has opened.
    pub(crate) fn accept(&mut self) -> Option<StreamId> {
        self.library.connection.streams().accept(Dir::Uni).map(StreamId::from)
    }

    /// Writes as much of `parts` as there is room for; what was written is taken out of them. True if that is
    /// all, or no more is of use, since the server reads no further.
    pub(crate) fn write(&mut self, stream: StreamId, parts: &mut [Bytes]) -> bool {
        loop {
            let Some(from) = parts.iter().position(|part| !part.is_empty()) else { return true };
            match self.library.connection.send_stream(stream.library()).write_chunks(&mut parts[from..]) {
                Ok(_) => {}
                Err(quinn_proto::WriteError::Blocked) => return false,
                Err(_) => return true,
            }
        }
    }

    /// Ends what is written to a stream.
    pub(crate) fn finish(&mut self, stream: StreamId) {
        // Fails where the server has stopped it, which ends it as well.
        let _ = self.library.connection.send_stream(stream.library()).finish();
    }

    /// Gives a stream up, in both directions as far as they are not over.
    pub(crate) fn cancel(&mut self, stream: StreamId, code: u64) {
        let _ = self.library.connection.send_stream(stream.library()).reset(varint(code));
        self.stop(stream, code);
    }

    /// Reads no further on a stream.
    pub(crate) fn stop(&mut self, stream: StreamId, code: u64) {
        let _ = self.library.connection.recv_stream(stream.library()).stop(varint(code));
    }

    /// The next piece of a stream. What is read makes room for more.
    pub(crate) fn read(&mut self, stream: StreamId) -> StreamData {
        let mut receiver = self.library.connection.recv_stream(stream.library());
        let Ok(mut chunks) = receiver.read(true) else { return StreamData::Nothing };
        let piece = match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => {
                self.flood.read(chunk.bytes.len());
                StreamData::Bytes(chunk.bytes)
            }
            Ok(None) => {
                self.flood.read(0);
                StreamData::End
            }
            Err(ReadError::Blocked) => StreamData::Nothing,
            Err(ReadError::Reset(code)) => StreamData::Reset(code.into_inner()),
        };
        let _ = chunks.finalize();
        piece
    }
}

fn varint(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Connection { latest, user, heard, connected, drained, .. } = self;
        f.debug_struct("Connection")
            .field("latest", latest)
            .field("user", user)
            .field("heard", heard)
            .field("connected", connected)
            .field("drained", drained)
            .finish_non_exhaustive()
    }
}
