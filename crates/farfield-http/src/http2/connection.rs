//! A client's connection as a state machine: bytes that came go in, events and bytes to send come out.
//!
//! It keeps no body that comes: its bytes are handed on as slices of what came in, and what they take of the
//! windows is given back at once. It keeps a header block only while the block is split over pieces or
//! frames. However the stream of bytes is cut, the events are the same. Once its tables have grown, a request
//! and its reply allocate nothing, if they come in one piece.
//!
//! It reads no clock: a server that falls silent is the caller's to give up.

mod blocks;
mod receive;
mod send;

pub use send::NotSent;

use super::StreamId;
use super::error::{ConnectionError, ErrorCode};
use super::flow::{DEFAULT_WINDOW, GREATEST_WINDOW, ReceiveWindow, SendWindow};
use super::frame::{self, GREATEST_FRAME_BYTES, Header, LEAST_FRAME_BYTES};
use super::frames::FrameReader;
use super::head::Heads;
use super::hpack::{DEFAULT_TABLE_BYTES, Decoder};
use super::late::Late;
use super::peer::{self, Peer};
use super::stream::Streams;
use crate::Event;
use crate::allowance::Allowance;
use crate::http1::{Limits, Reply};
use farfield_base::{Detail, Sender, Signal};

/// The client's first SETTINGS, and its limits on replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The greatest size of the table for header compression (RFC 7541, 4.2), in bytes.
    pub header_table_bytes: u32,
    /// Bytes of body that a server may send on each stream before it is allowed more; 1 to 2^31-1.
    pub stream_window_bytes: u32,
    /// Bytes of body on all streams together; from 65,535, which is where each connection begins.
    pub connection_window_bytes: u32,
    /// The largest payload of a frame that may come, 2^14 to 2^24-1 bytes.
    pub frame_bytes: u32,
    /// Limits on each reply. A header block may have as many bytes as a head, encoded and decoded.
    pub limits: Limits,
}

impl Default for Settings {
    /// The RFC's table and frames, and windows of 6 MiB and 15 MiB, which no body of usual size fills.
    fn default() -> Settings {
        Settings {
            header_table_bytes: DEFAULT_TABLE_BYTES,
            stream_window_bytes: 6 << 20,
            connection_window_bytes: 15 << 20,
            frame_bytes: LEAST_FRAME_BYTES,
            limits: Limits::default(),
        }
    }
}

/// A connection to one server.
#[derive(Debug)]
pub struct Connection {
    limits: Limits,
    frame_bytes_max: u32,
    stream_window_bytes: u32,
    frames: FrameReader,
    place: ReceivePosition,
    decoder: Decoder,
    /// The header block that CONTINUATION frames go on with.
    block: Option<ReplyFragments>,
    peer: Peer,
    /// The server's first SETTINGS have come.
    is_begun: bool,
    /// Our SETTINGS were acknowledged.
    acknowledged: bool,
    send: SendWindow,
    receive: ReceiveWindow,
    streams: Streams,
    table: send::EncoderTable,
    /// The last stream of the server's GOAWAY.
    going_away: Option<u32>,
    /// The code of that.
    goaway: ErrorCode,
    /// A stream that the server has ended, which is still to be reported.
    ended: Option<u32>,
    /// The frame that is being read, or was read last.
    frame: Header,
    /// The server's words in a GOAWAY with an error, or the setting that is wrong.
    words: Option<Box<[u8]>>,
    /// For frames that lead to nothing.
    allowance: Allowance,
    /// Frames that may still come on streams that were given up.
    late: Late,
    /// Bytes of answers to the server's frames that were written and not [taken](Self::take_answer_bytes).
    answer_bytes: usize,
    /// Bytes of bodies' frames that were written, over the connection's life.
    body_frame_bytes: usize,
}

/// The place in the bytes that come.
#[derive(Debug, Clone, Copy)]
enum ReceivePosition {
    /// Before a frame, or in its header.
    Between,
    /// In a payload that is handled as a whole.
    Payload(Header),
    /// In a payload of DATA.
    Data(receive::Data),
    /// In a payload that is passed over, with so many bytes left.
    Skip(u32),
}

/// A header block whose end has not come.
#[derive(Debug)]
struct ReplyFragments {
    stream: u32,
    end_stream: bool,
    bytes: Vec<u8>,
    /// Bytes of its frames beside the block.
    framing_bytes: u32,
}

impl Connection {
    /// A connection at its beginning: appends what the client sends first to `to_send` (RFC 9113, 3.4).
    /// Requests may follow at once.
    pub fn new(settings: &Settings, to_send: &mut Vec<u8>) -> Connection {
        let connection_window = settings.connection_window_bytes.clamp(DEFAULT_WINDOW, GREATEST_WINDOW);
        let stream_window = settings.stream_window_bytes.clamp(1, GREATEST_WINDOW);
        let frame_bytes_max = settings.frame_bytes.clamp(LEAST_FRAME_BYTES, GREATEST_FRAME_BYTES);
        to_send.extend_from_slice(frame::PREFACE);
        let said = [
            (peer::HEADER_TABLE_SIZE, settings.header_table_bytes),
            (peer::ENABLE_PUSH, 0),
            (peer::INITIAL_WINDOW_SIZE, stream_window),
            (peer::MAX_FRAME_SIZE, frame_bytes_max),
            (peer::MAX_HEADER_LIST_SIZE, settings.limits.head_bytes),
        ];
        frame::write_settings(&said, to_send);
        if connection_window > DEFAULT_WINDOW {
            frame::write_window_update(0, connection_window - DEFAULT_WINDOW, to_send);
        }
        Connection {
            limits: settings.limits,
            frame_bytes_max,
            stream_window_bytes: stream_window,
            frames: FrameReader::default(),
            place: ReceivePosition::Between,
            decoder: Decoder::new(settings.header_table_bytes),
            block: None,
            peer: Peer::UNKNOWN,
            is_begun: false,
            acknowledged: false,
            send: SendWindow::new(DEFAULT_WINDOW),
            receive: ReceiveWindow::new(connection_window),
            streams: Streams::default(),
            table: send::EncoderTable::NEW,
            going_away: None,
            goaway: ErrorCode::NO_ERROR,
            ended: None,
            frame: Header { length: 0, kind: frame::FrameType::Settings, flags: 0, stream: 0 },
            words: None,
            allowance: Allowance::FULL,
            late: Late::new(connection_window),
            answer_bytes: 0,
            body_frame_bytes: 0,
        }
    }

    /// Takes the next step through `bytes`: how many of them it took, and the event that they made. Appends
    /// what is to be sent to `to_send`.
    ///
    /// Call again with the rest, be it empty, until the event is [`Event::NeedMore`]; an event may be
    /// reported by a call that takes nothing. After an error, of which the server is sent the code, the
    /// connection is of no further use, but for [`so_far`](Self::so_far).
    pub fn read<'b>(
        &mut self,
        heads: &mut Heads,
        bytes: &'b [u8],
        to_send: &mut Vec<u8>,
    ) -> Result<(usize, Event<'b>), ConnectionError> {
        let mut rest = bytes;
        let (before, bodies) = (to_send.len(), self.body_frame_bytes);
        let event = self.next_event(heads, &mut rest, to_send);
        self.answer_bytes += to_send.len() - before - (self.body_frame_bytes - bodies);
        match event {
            Ok(event) => Ok((bytes.len() - rest.len(), event)),
            Err(error) => {
                frame::write_goaway(0, error.code(), to_send);
                Err(error)
            }
        }
    }

    /// The detail of `error`, which reading `bytes` has led to.
    pub fn detail_of(&mut self, error: ConnectionError, bytes: &[u8]) -> Detail {
        let detail = Detail::broken(error.rule());
        match (error, self.words.take()) {
            (ConnectionError::BadSetting | ConnectionError::WindowSetting, Some(words)) => {
                detail.with(&words)
            }
            (ConnectionError::NotHttp2, _) if bytes.first().is_some_and(|byte| *byte != 0) => {
                detail.with(bytes.split(|byte| *byte == b'\n').next().unwrap_or_default())
            }
            _ => detail.with(self.frame.to_string().as_bytes()),
        }
    }

    /// The code of the server's last GOAWAY; NO_ERROR where there is none.
    pub fn goaway(&self) -> ErrorCode {
        self.goaway
    }

    /// The detail of the server's GOAWAY: the code, and the words behind it (RFC 9113, 6.8). After a code
    /// other than NO_ERROR it may close before replies that go on are over.
    pub fn detail_of_goaway(&mut self) -> Detail {
        let detail = Detail::sent(Signal::GoAway, u64::from(self.goaway.0), Sender::Server);
        detail.with(&self.words.take().unwrap_or_default())
    }

    /// The server closed in good order.
    ///
    /// # Errors
    /// [`ConnectionError::NotHttp2`] if it never sent its SETTINGS, and [`ConnectionError::Truncated`] if a
    /// frame or a reply is not over.
    pub fn finish(&self) -> Result<(), ConnectionError> {
        let between = matches!(self.place, ReceivePosition::Between) && self.frames.is_between();
        match self.is_begun {
            _ if !between || self.block.is_some() || self.streams.len() > 0 => {
                Err(ConnectionError::Truncated)
            }
            false => Err(ConnectionError::NotHttp2),
            true => Ok(()),
        }
    }

    /// Bytes of all that was sent since this was last asked beside requests and their bodies: what the server
    /// asks for by its frames (acknowledgements, windows, resets).
    pub fn take_answer_bytes(&mut self) -> usize {
        std::mem::take(&mut self.answer_bytes)
    }

    /// Streams whose reply is not over.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// True if no further request can be sent: the server said that it takes no more, or all numbers of
    /// streams are used.
    pub fn is_closing(&self) -> bool {
        self.going_away.is_some() || self.streams.next_id().is_none()
    }

    /// The greatest stream that the server may have processed, once it goes away and has processed any (RFC
    /// 9113, 6.8).
    pub fn last_processed(&self) -> Option<StreamId> {
        self.going_away.filter(|last| *last > 0).map(StreamId)
    }

    /// The reply on a stream as far as it came, for a request that fails before it is over.
    pub fn so_far(&self, stream: StreamId) -> Option<Reply> {
        Some(self.streams.get(stream.0)?.reply(!self.is_closing()))
    }

    /// The stream of a reply that the next byte belongs to, in the middle of one of its frames.
    pub fn reading(&self) -> Option<StreamId> {
        match (&self.block, self.place) {
            (Some(block), _) => Some(StreamId(block.stream)),
            (None, ReceivePosition::Data(data)) => Some(StreamId(data.stream)),
            (None, ReceivePosition::Payload(header)) if header.kind == frame::FrameType::Headers => {
                Some(StreamId(header.stream))
            }
            _ => None,
        }
    }

    /// Gives a stream up: the server is asked to send nothing more on it. Does nothing if it is over.
    pub fn cancel(&mut self, stream: StreamId, to_send: &mut Vec<u8>) {
        self.abandon(stream.0, ErrorCode::CANCEL, to_send);
    }

    /// Says to the server that nothing more is asked (RFC 9113, 6.8).
    pub fn close(&mut self, to_send: &mut Vec<u8>) {
        frame::write_goaway(0, ErrorCode::NO_ERROR, to_send);
    }
}
