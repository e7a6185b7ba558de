//! Events of QUIC, to events of requests.

use super::{Connection, ConnectionLoss, PendingRequest, Reader};
use crate::http1::Malformed;
use crate::http2::Heads;
use crate::http3::control::ControlEvent;
use crate::http3::error::{ConnectionError, ErrorCode, StreamError};
use crate::http3::reply::{ReplyError, ReplyPart, ReplyStream};
use crate::http3::server_streams::{Role, ServerStream};
use crate::quic::{self, StreamData, StreamId};
use crate::{Body, Event};
use bytes::Bytes;

/// Bytes on a server's own streams that may lead to nothing.
const USELESS_BYTES_MAX: u64 = 1 << 20;
/// Bytes of them that an event of a request earns: a count between two events would be set back by every
/// reply.
const EARNED_BYTES: u64 = 4 << 10;
/// Bytes that the opening of such a stream counts for: one may end before it has a byte.
const OPENING_BYTES: u64 = 1 << 10;

impl Connection {
    /// Goes on up to the next event.
    pub(super) fn step(&mut self, heads: &mut Heads) -> Result<Event<'static>, ConnectionLoss> {
        if let Some(error) = self.error.take() {
            return Err(error.into());
        }
        loop {
            if std::mem::take(&mut self.goes_away) {
                return Ok(Event::GoingAway);
            }
            if let Some(event) = self.next_rejected() {
                return Ok(event);
            }
            if let Some((stream, piece)) = self.reading.take() {
                match self.read_reply(stream, piece, heads)? {
                    None => continue,
                    Some(event) => {
                        self.useless_bytes = self.useless_bytes.saturating_sub(EARNED_BYTES);
                        return Ok(event);
                    }
                }
            }
            let Some(event) = self.quic.next_event() else { return Ok(Event::NeedMore) };
            match event {
                quic::Event::Connected => {
                    self.begin();
                    return Ok(Event::Secured);
                }
                quic::Event::Lost(failure) => return Err(ConnectionLoss::Quic(failure)),
                quic::Event::Flooded => return Err(ConnectionError::Flood.into()),
                quic::Event::Opened => {
                    while let Some(stream) = self.quic.accept() {
                        self.count_useless(OPENING_BYTES)?;
                        self.opened.push((stream, Reader::Unknown(ServerStream::default())));
                        self.read_opened(stream)?;
                    }
                }
                quic::Event::Readable(stream) if stream.request().is_some() => {
                    self.reading = Some((stream, Bytes::new()));
                }
                quic::Event::Readable(stream) => self.read_opened(stream)?,
                quic::Event::Writable(stream) => {
                    if let Some(place) = stream.request().and_then(|number| self.place_of(number)) {
                        self.write(place);
                    }
                }
                // 4.1: the reply counts nevertheless. 6.2.1: the others must not be stopped.
                quic::Event::Stopped(stream) => match stream.request() {
                    Some(number) => {
                        if let Some(place) = self.place_of(number) {
                            self.requests[place].unsent = Default::default();
                        }
                    }
                    None => return Err(ConnectionError::CriticalStreamClosed.into()),
                },
                quic::Event::Room => {
                    if self.is_secured && self.spare.is_none() {
                        self.spare = self.quic.open();
                    }
                }
            }
        }
    }

    /// A request that the server has not processed and never will (RFC 9114, 5.2), the last first.
    fn next_rejected(&mut self) -> Option<Event<'static>> {
        let from = self.going_away?;
        let last = self.requests.last()?;
        let stream = StreamId::of_request(last.number);
        if stream.number() < from {
            return None;
        }
        let request = self.requests.pop()?;
        self.quic.cancel(stream, ErrorCode::REQUEST_CANCELLED.0);
        Some(failed(&request, rejection_of(&request.reply)))
    }

    /// Reads a reply up to its next event: `piece`, and then what the stream has. What is left of a piece is
    /// read on behind the event.
    fn read_reply(
        &mut self,
        stream: StreamId,
        mut piece: Bytes,
        heads: &mut Heads,
    ) -> Result<Option<Event<'static>>, ConnectionError> {
        let Some(place) = stream.request().and_then(|number| self.place_of(number)) else { return Ok(None) };
        loop {
            let Connection { requests, limits, quic, .. } = self;
            let request = &mut requests[place];
            let (number, is_begun) = (request.number, request.reply.is_begun());
            let read = if piece.is_empty() {
                match quic.read(stream) {
                    StreamData::Nothing => return Ok(None),
                    StreamData::Bytes(bytes) => {
                        piece = bytes;
                        continue;
                    }
                    StreamData::End => match request.reply.finish() {
                        Ok(reply) => {
                            self.end(place);
                            return Ok(Some(Event::Done(number, reply)));
                        }
                        // The reply is cut, and the connection ends behind that (RFC 9114, 7.1).
                        Err(ReplyError::Connection(error)) => {
                            self.error = Some(error);
                            Err(ReplyError::Stream(StreamError::Malformed(Malformed::Truncated)))
                        }
                        Err(wrong) => Err(wrong),
                    },
                    StreamData::Reset(code) if code == ErrorCode::REQUEST_REJECTED.0 => {
                        Err(ReplyError::Stream(rejection_of(&request.reply)))
                    }
                    StreamData::Reset(code) => Err(ReplyError::Stream(StreamError::Reset(ErrorCode(code)))),
                }
            } else {
                request.reply.read(heads, &mut piece, limits)
            };
            let event = match read {
                Ok(ReplyPart::Nothing) => {
                    if !is_begun {
                        self.begun.push(number);
                    }
                    continue;
                }
                Ok(ReplyPart::Interim(status)) => Event::Interim(number, status),
                Ok(ReplyPart::Head(head)) => Event::Head(number, head),
                Ok(ReplyPart::Body(body)) => Event::Body(number, Body::Kept(body)),
                Err(ReplyError::Connection(error)) => return Err(error),
                Err(ReplyError::Stream(error)) => {
                    let request = self.requests.remove(place);
                    self.quic.cancel(stream, error.code().0);
                    return Ok(Some(failed(&request, error)));
                }
            };
            self.reading = Some((stream, piece));
            return Ok(Some(event));
        }
    }

    /// A reply is over. Of a request that is not, the rest need not be sent (RFC 9114, 4.1).
    fn end(&mut self, place: usize) {
        let request = self.requests.remove(place);
        if request.unsent.iter().any(|part| !part.is_empty()) {
            self.quic.cancel(StreamId::of_request(request.number), ErrorCode::NO_ERROR.0);
        }
    }

    /// Reads all that there is on a stream that the server opened.
    fn read_opened(&mut self, stream: StreamId) -> Result<(), ConnectionError> {
        let Some(place) = self.opened.iter().position(|(own, _)| *own == stream) else { return Ok(()) };
        loop {
            match self.quic.read(stream) {
                StreamData::Nothing => return Ok(()),
                StreamData::Bytes(bytes) => self.take_opened(place, &bytes)?,
                StreamData::End | StreamData::Reset(_) => {
                    let (_, reader) = self.opened.remove(place);
                    return match reader {
                        Reader::Unknown(_) | Reader::Ignored => Ok(()),
                        _ => Err(ConnectionError::CriticalStreamClosed),
                    };
                }
            }
        }
    }

    fn count_useless(&mut self, bytes: u64) -> Result<(), ConnectionError> {
        self.useless_bytes += bytes;
        if self.useless_bytes > USELESS_BYTES_MAX { Err(ConnectionError::Flood) } else { Ok(()) }
    }

    fn take_opened(&mut self, place: usize, bytes: &[u8]) -> Result<(), ConnectionError> {
        let mut rest = bytes;
        self.count_useless(bytes.len() as u64)?;
        let reader = &mut self.opened[place].1;
        if let Reader::Unknown(stream) = reader {
            let (taken, role) = self.server_streams.read_type(stream, rest)?;
            rest = &rest[taken..];
            *reader = match role {
                None => return Ok(()),
                Some(Role::Control) => Reader::Control(Box::default()),
                Some(Role::QpackEncoder) => Reader::Encoder(Default::default()),
                Some(Role::QpackDecoder) => Reader::Decoder(Default::default()),
                Some(Role::Unknown) => Reader::Ignored,
            };
        }
        match reader {
            Reader::Control(control) => {
                while !rest.is_empty() {
                    let (taken, event) = control.read(rest)?;
                    rest = &rest[taken..];
                    match event {
                        None => {}
                        Some(ControlEvent::Settings(settings)) => self.settings = settings,
                        Some(ControlEvent::GoAway(stream)) => {
                            self.goes_away |= self.going_away.is_none();
                            self.going_away = Some(stream);
                        }
                    }
                }
                Ok(())
            }
            Reader::Encoder(encoder) => Ok(encoder.read(rest)?),
            Reader::Decoder(decoder) => Ok(decoder.read(rest)?),
            Reader::Unknown(_) | Reader::Ignored => Ok(()),
        }
    }
}

/// The event of a request that failed so.
fn failed(request: &PendingRequest, error: StreamError) -> Event<'static> {
    Event::Failed(request.number, request.reply.so_far(), crate::StreamError::Http3(error))
}

/// The failure of a request that the server says it has not processed. If anything came of its reply, it was
/// processed, whatever the server says, and must not be sent again.
fn rejection_of(reply: &ReplyStream) -> StreamError {
    if reply.is_begun() { StreamError::Reset(ErrorCode::REQUEST_REJECTED) } else { StreamError::Rejected }
}
