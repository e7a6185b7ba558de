//! A server's connection as a state machine (RFC 9113): bytes that came go in, requests and bytes to send
//! come out. It is what a model of a server needs of HTTP/2: method and path of each request, replies with
//! bodies of any size, and flow control at both levels.
//!
//! Concurrent replies take turns: heads go at once, in the order of the replies, and bodies follow one DATA
//! frame at a time, round robin over the streams whose windows allow more. Frames are no larger than
//! [`ServerSettings::data_bytes`], and than what the client allows.
//!
//! Bodies are not copied: a frame is its header and a slice. Once its tables have grown, a request and its
//! reply allocate nothing here.
//!
//! Deliberately absent: push, priorities, what fields say beside method and path, and a dynamic table for
//! replies (their blocks leave the client's table alone). What a client gets wrong ends the connection with
//! the RFC's code, and only what a server needs for its own state is checked.

mod receive;
mod send;

pub use receive::RequestHeads;
pub use send::{BodyFrame, BodySource, put_reply_block};

use super::StreamId;
use super::error::ErrorCode;
use super::flow::{DEFAULT_WINDOW, GREATEST_WINDOW, ReceiveWindow, SendWindow};
use super::frame;
use super::frames::FrameReader;
use super::hpack::{DEFAULT_TABLE_BYTES, Decoder};
use super::peer::{self, Peer};
use crate::allowance::Allowance;
use std::collections::VecDeque;

/// A server's first SETTINGS, and the size of its bodies' frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerSettings {
    /// Streams that a client may have open at once; one more is refused.
    pub streams_max: u32,
    /// Bytes of body that a client may send on each stream before it is allowed more; 1 to 2^31-1.
    pub stream_window_bytes: u32,
    /// Bytes of body on all streams together; from 65,535, which is where each connection begins.
    pub connection_window_bytes: u32,
    /// The longest payload of a DATA frame that it sends.
    pub data_bytes: u32,
    /// The longest header block that it takes, encoded.
    pub head_bytes: u32,
}

impl Default for ServerSettings {
    /// Settings of nginx: 128 streams, DATA of 8 KiB, windows of 64 KiB and of all that there can be.
    fn default() -> ServerSettings {
        ServerSettings {
            streams_max: 128,
            stream_window_bytes: 64 << 10,
            connection_window_bytes: GREATEST_WINDOW,
            data_bytes: 8 << 10,
            head_bytes: 32 << 10,
        }
    }
}

/// An event on a server's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerEvent<'a> {
    /// The head of a request came. Its [end](ServerEvent::Asked) is still to come, be it at once.
    Head {
        /// The stream that the reply is to go on.
        stream: StreamId,
        /// `:method`.
        method: &'a [u8],
        /// `:path`.
        path: &'a [u8],
    },
    /// The request is whole: it can be [replied](ServerConnection::reply) to.
    Asked(StreamId),
    /// The client gave the stream up.
    Reset(StreamId),
}

/// A connection to one client.
#[derive(Debug)]
pub struct ServerConnection {
    settings: ServerSettings,
    /// Bytes of the client's preface that have come.
    preface: u8,
    frames: FrameReader,
    place: RequestPosition,
    decoder: Decoder,
    /// The header block that CONTINUATION frames go on with.
    block: Option<RequestFragments>,
    client: Peer,
    /// The client's first SETTINGS have come.
    is_begun: bool,
    send: SendWindow,
    receive: ReceiveWindow,
    /// Streams that are not over, in the order of their numbers.
    streams: Vec<ServedStream>,
    /// The greatest number of a stream that the client opened.
    last: u32,
    /// Streams that a body is sent on, in the order of their turns.
    turns: VecDeque<u32>,
    /// The last stream that is served, once GOAWAY was sent.
    going_away: Option<u32>,
    /// For frames that lead to nothing.
    allowance: Allowance,
}

/// The place in the bytes that come.
#[derive(Debug, Clone, Copy)]
enum RequestPosition {
    /// In the preface, before a frame, or in its header.
    Between,
    /// In a payload that is handled as a whole.
    Payload(frame::Header),
    /// In a payload that is passed over, with so many bytes left, behind which a request may end.
    Skip { left: u32, ends: Option<u32> },
}

/// A header block whose end has not come.
#[derive(Debug)]
struct RequestFragments {
    stream: u32,
    end_stream: bool,
    bytes: Vec<u8>,
}

/// A stream that is not over.
#[derive(Debug)]
struct ServedStream {
    id: u32,
    /// The request is whole.
    is_asked: bool,
    send: SendWindow,
    receive: ReceiveWindow,
    /// The rest of the reply's body.
    body: BodySource,
}

impl ServerConnection {
    /// A connection at its beginning: appends what the server sends first to `to_send` (RFC 9113, 3.4).
    pub fn new(settings: ServerSettings, to_send: &mut Vec<u8>) -> ServerConnection {
        let connection_window = settings.connection_window_bytes.clamp(DEFAULT_WINDOW, GREATEST_WINDOW);
        let stream_window = settings.stream_window_bytes.clamp(1, GREATEST_WINDOW);
        let said = [
            (peer::MAX_CONCURRENT_STREAMS, settings.streams_max),
            (peer::INITIAL_WINDOW_SIZE, stream_window),
            (peer::MAX_HEADER_LIST_SIZE, settings.head_bytes),
        ];
        frame::write_settings(&said, to_send);
        if connection_window > DEFAULT_WINDOW {
            frame::write_window_update(0, connection_window - DEFAULT_WINDOW, to_send);
        }
        ServerConnection {
            settings: ServerSettings { stream_window_bytes: stream_window, ..settings },
            preface: 0,
            frames: FrameReader::default(),
            place: RequestPosition::Between,
            decoder: Decoder::new(DEFAULT_TABLE_BYTES),
            block: None,
            client: Peer::UNKNOWN,
            is_begun: false,
            send: SendWindow::new(DEFAULT_WINDOW),
            receive: ReceiveWindow::new(connection_window),
            streams: Vec::new(),
            last: 0,
            turns: VecDeque::new(),
            going_away: None,
            allowance: Allowance::FULL,
        }
    }

    /// Streams that are not over: requests that come, are served, or are replied to.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// True if GOAWAY was sent.
    pub fn is_going_away(&self) -> bool {
        self.going_away.is_some()
    }

    /// Takes no more requests than those that have come, and says so (RFC 9113, 6.8); once.
    pub fn go_away(&mut self, to_send: &mut Vec<u8>) {
        if self.going_away.is_none() {
            self.going_away = Some(self.last);
            frame::write_goaway(self.last, ErrorCode::NO_ERROR, to_send);
        }
    }

    fn place_of(&self, id: u32) -> Option<usize> {
        self.streams.binary_search_by_key(&id, |stream| stream.id).ok()
    }

    fn find(&mut self, id: u32) -> Option<&mut ServedStream> {
        let place = self.place_of(id)?;
        self.streams.get_mut(place)
    }

    /// Forgets a stream; false if it is over already.
    fn remove(&mut self, id: u32) -> bool {
        let Some(place) = self.place_of(id) else { return false };
        self.streams.remove(place);
        self.turns.retain(|turn| *turn != id);
        true
    }
}

/// True if bytes that a client begins with may be HTTP/2's: all of the preface's first line that there are.
/// `None` while there are too few to tell it from a request of HTTP/1.
pub fn begins_http2(bytes: &[u8]) -> Option<bool> {
    const LINE: &[u8] = b"PRI * HTTP/2.0\r\n";
    match (LINE.starts_with(bytes), bytes.starts_with(LINE)) {
        (_, true) => Some(true),
        (true, _) => None,
        _ => Some(false),
    }
}
