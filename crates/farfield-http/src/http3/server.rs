//! A server's connection as a state machine over one of QUIC (RFC 9114): what a model of a server needs of
//! HTTP/3. Method and path of each request are read, and replies with bodies of any size are written as far
//! as QUIC has room for them.
//!
//! Concurrent replies take turns by QUIC's packets: each has bytes of one stream, as long as that has any,
//! and then of the next. Bodies are not copied.
//!
//! Deliberately absent: push, priorities, what fields say beside method and path, what a client says on its
//! control stream, and dynamic tables.

use super::error::ErrorCode;
use super::{frame, qpack, varint};
use crate::http2::server::{BodySource, RequestHeads};
use crate::quic::{self, StreamData, StreamId};
use bytes::Bytes;
use farfield_base::Instant;
use smallvec::SmallVec;
use std::collections::VecDeque;

mod requests;

pub use requests::{RequestProgress, RequestStream};

/// Bytes of a body that are handed to QUIC at a time.
const PIECE_BYTES: usize = 64 << 10;
/// Bytes of the longest field section that a request may have.
const SECTION_BYTES_MAX: u64 = 32 << 10;

/// An event on a server's connection. Requests are numbered from 0, in the order of their streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerEvent {
    /// The handshake is over.
    Secured,
    /// The head of a request came: its method and path are in [`RequestHeads`] until the next step.
    Head(u32),
    /// The request is whole: it can be [replied](ServerConnection::reply) to.
    Asked(u32),
    /// The client gave the request up, or it was malformed.
    Reset(u32),
    /// The reply is handed to QUIC to its end.
    Replied(u32),
    /// The connection is over.
    Lost,
}

/// A connection to one client.
#[derive(Debug)]
pub struct ServerConnection {
    /// The transport, which is handed datagrams and timeouts.
    pub quic: quic::Connection,
    /// Requests that are not replied to in full, in the order of their numbers.
    requests: Vec<ServedRequest>,
    /// Streams of requests that there is something to be read on.
    reading: VecDeque<StreamId>,
    /// Replies that were handed over to their end and are still to be reported.
    replied: SmallVec<[u32; 4]>,
    control: Option<StreamId>,
    /// The first request that is not served, once GOAWAY was sent.
    going_away: Option<u32>,
    /// The number of the next request.
    next: u32,
    is_lost: bool,
}

#[derive(Debug)]
struct ServedRequest {
    number: u32,
    stream: RequestStream,
    /// Bytes of the reply that are still to be written before the rest of its body.
    unsent: Bytes,
    body: BodySource,
    is_replied: bool,
}

impl ServerConnection {
    /// A connection over `quic`, whose first datagram came.
    pub fn new(quic: quic::Connection) -> ServerConnection {
        ServerConnection {
            quic,
            requests: Vec::new(),
            reading: VecDeque::new(),
            replied: SmallVec::new(),
            control: None,
            going_away: None,
            next: 0,
            is_lost: false,
        }
    }

    /// Requests that are not replied to in full.
    pub fn requests(&self) -> usize {
        self.requests.len()
    }

    /// True if GOAWAY was sent.
    pub fn is_going_away(&self) -> bool {
        self.going_away.is_some()
    }

    /// Takes no more requests than those that have come, and says so (RFC 9114, 5.2); once.
    pub fn go_away(&mut self) {
        if self.going_away.is_some() {
            return;
        }
        self.going_away = Some(self.next);
        self.say_going_away();
    }

    /// Writes the GOAWAY that is due, once there is a control stream: requests may come within the handshake.
    fn say_going_away(&mut self) {
        let (Some(first), Some(control)) = (self.going_away, self.control) else { return };
        let mut bytes = Vec::with_capacity(16);
        let mut id = Vec::with_capacity(8);
        varint::encode(StreamId::of_request(first).number(), &mut id);
        varint::encode(frame::GOAWAY, &mut bytes);
        varint::encode(id.len() as u64, &mut bytes);
        bytes.extend_from_slice(&id);
        self.quic.write(control, &mut [Bytes::from(bytes)]);
    }

    /// Closes the connection in good order.
    pub fn close(&mut self, now: Instant) {
        if !self.is_lost {
            self.quic.close(now, ErrorCode::NO_ERROR.0);
        }
    }

    /// The next event of what was handed in. After [`ServerEvent::Lost`] there is none.
    pub fn next_event(&mut self, heads: &mut RequestHeads) -> Option<ServerEvent> {
        loop {
            if self.is_lost {
                return None;
            }
            if let Some(number) = self.replied.pop() {
                return Some(ServerEvent::Replied(number));
            }
            if let Some(stream) = self.reading.front() {
                match self.read(*stream, heads) {
                    Some(event) => return Some(event),
                    None => _ = self.reading.pop_front(),
                }
                continue;
            }
            match self.quic.next_event()? {
                quic::Event::Connected => {
                    self.begin();
                    return Some(ServerEvent::Secured);
                }
                quic::Event::Lost(_) => {
                    self.is_lost = true;
                    return Some(ServerEvent::Lost);
                }
                quic::Event::Flooded => {
                    self.quic.close(Instant::ZERO, ErrorCode::EXCESSIVE_LOAD.0);
                    self.is_lost = true;
                    return Some(ServerEvent::Lost);
                }
                quic::Event::Opened => self.accept(),
                quic::Event::Readable(stream) if stream.request().is_some() => self.reading.push_back(stream),
                quic::Event::Readable(stream) => self.pass_over(stream),
                quic::Event::Writable(stream) => {
                    if let Some(place) = stream.request().and_then(|number| self.place_of(number)) {
                        self.write(place);
                    }
                }
                quic::Event::Stopped(stream) => {
                    if let Some(place) = stream.request().and_then(|number| self.place_of(number)) {
                        let number = self.requests.remove(place).number;
                        self.quic.cancel(stream, ErrorCode::REQUEST_CANCELLED.0);
                        return Some(ServerEvent::Reset(number));
                    }
                }
                quic::Event::Room => {}
            }
        }
    }

    /// Replies to a request: with the field section of its head, which [`put_reply_section`] wrote, and
    /// `body`. Nothing happens if the client has given the request up.
    pub fn reply(&mut self, number: u32, section: &[u8], body: BodySource) {
        let Some(place) = self.place_of(number) else { return };
        let mut bytes = Vec::with_capacity(section.len() + 16);
        varint::encode(frame::HEADERS, &mut bytes);
        varint::encode(section.len() as u64, &mut bytes);
        bytes.extend_from_slice(section);
        if body.left() > 0 {
            varint::encode(frame::DATA, &mut bytes);
            varint::encode(body.left(), &mut bytes);
        }
        let request = &mut self.requests[place];
        (request.unsent, request.body, request.is_replied) = (bytes.into(), body, true);
        self.write(place);
    }

    fn place_of(&self, number: u32) -> Option<usize> {
        self.requests.binary_search_by_key(&number, |request| request.number).ok()
    }

    /// The handshake is over: opens the server's streams (RFC 9114, 6.2.1; RFC 9204, 4.2).
    fn begin(&mut self) {
        let mut settings = Vec::new();
        varint::encode(super::connection::MAX_FIELD_SECTION_SIZE, &mut settings);
        varint::encode(SECTION_BYTES_MAX, &mut settings);
        let mut control = vec![super::connection::CONTROL as u8, frame::SETTINGS as u8, settings.len() as u8];
        control.extend_from_slice(&settings);
        let others =
            [super::connection::QPACK_ENCODER, super::connection::QPACK_DECODER].map(|kind| vec![kind as u8]);
        self.control = self.open_with(control);
        for bytes in others {
            self.open_with(bytes);
        }
        self.say_going_away();
    }

    fn open_with(&mut self, bytes: Vec<u8>) -> Option<StreamId> {
        let stream = self.quic.open_unidirectional()?;
        self.quic.write(stream, &mut [Bytes::from(bytes)]);
        Some(stream)
    }

    /// Takes the streams that the client has opened; requests behind a GOAWAY are rejected.
    fn accept(&mut self) {
        while let Some(stream) = self.quic.accept() {
            self.pass_over(stream);
        }
        while let Some(stream) = self.quic.accept_request() {
            let Some(number) = stream.request() else { continue };
            if self.going_away.is_some_and(|first| number >= first) {
                self.quic.cancel(stream, ErrorCode::REQUEST_REJECTED.0);
                continue;
            }
            self.next = self.next.max(number + 1);
            self.requests.push(ServedRequest {
                number,
                stream: RequestStream::default(),
                unsent: Bytes::new(),
                body: BodySource::None,
                is_replied: false,
            });
            self.reading.push_back(stream);
        }
    }

    /// Reads all that there is on a stream that says nothing of use.
    fn pass_over(&mut self, stream: StreamId) {
        while matches!(self.quic.read(stream), StreamData::Bytes(_)) {}
    }

    /// Reads on a request's stream, up to the next event; nothing if no more has come.
    fn read(&mut self, stream: StreamId, heads: &mut RequestHeads) -> Option<ServerEvent> {
        let number = stream.request()?;
        let place = self.place_of(number)?;
        let request = &mut self.requests[place];
        loop {
            let step = match request.stream.take_rest() {
                Some(bytes) => request.stream.read(bytes, heads),
                None => match self.quic.read(stream) {
                    StreamData::Nothing => return None,
                    StreamData::Bytes(bytes) => request.stream.read(bytes, heads),
                    StreamData::End => request.stream.finish(),
                    StreamData::Reset(_) => RequestProgress::Wrong(ErrorCode::REQUEST_CANCELLED),
                },
            };
            return Some(match step {
                RequestProgress::Nothing => continue,
                RequestProgress::Head => ServerEvent::Head(number),
                RequestProgress::End => ServerEvent::Asked(number),
                RequestProgress::Wrong(code) => {
                    self.requests.remove(place);
                    self.quic.cancel(stream, code.0);
                    ServerEvent::Reset(number)
                }
            });
        }
    }

    /// Writes what there is room for of a reply, and ends its stream behind it.
    fn write(&mut self, place: usize) {
        let ServedRequest { number, unsent, body, is_replied, .. } = &mut self.requests[place];
        if !*is_replied {
            return;
        }
        let stream = StreamId::of_request(*number);
        loop {
            if unsent.is_empty() {
                *unsent = body.take(PIECE_BYTES);
            }
            if unsent.is_empty() {
                break;
            }
            if !self.quic.write(stream, std::slice::from_mut(unsent)) {
                return;
            }
            // A client that reads no further gets nothing more.
            *unsent = Bytes::new();
        }
        self.quic.finish(stream);
        self.replied.push(*number);
        self.requests.remove(place);
    }
}

/// Appends the field section of a reply: its status, and fields by name and value. Names are written in lower
/// case, and fields of HTTP/1 connections are left out. It may be sent on any connection, any number of
/// times.
pub fn put_reply_section<'a>(
    status: u16,
    fields: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    out: &mut Vec<u8>,
) {
    qpack::begin(out);
    let mut put = |name: &[u8], value: &[u8]| qpack::encode(qpack::Literal::Insertable, name, value, out);
    put(b":status", status.to_string().as_bytes());
    for (name, value) in fields {
        let name = name.to_ascii_lowercase();
        if !crate::http2::is_of_http1(name.as_bytes()) {
            put(name.as_bytes(), value);
        }
    }
}
