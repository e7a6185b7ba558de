//! Frames: their header (RFC 9113, 4.1), which of them may be where (6), and those that are sent.

use super::error::{ConnectionError, ErrorCode};
use std::fmt;

/// The client's first bytes (RFC 9113, 3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes of a frame's header.
pub(super) const HEADER_BYTES: usize = 9;

/// The least value of SETTINGS_MAX_FRAME_SIZE, and its first one (RFC 9113, 6.5.2).
pub(super) const LEAST_FRAME_BYTES: u32 = 1 << 14;

/// The greatest value of SETTINGS_MAX_FRAME_SIZE.
pub(super) const GREATEST_FRAME_BYTES: u32 = (1 << 24) - 1;

/// SETTINGS and PING: an acknowledgement.
pub(super) const ACK: u8 = 0x1;
/// DATA and HEADERS: the last of the stream.
pub(super) const END_STREAM: u8 = 0x1;
/// HEADERS and CONTINUATION: the last of the header block.
pub(super) const END_HEADERS: u8 = 0x4;
/// DATA and HEADERS: padding, with its length before the payload.
pub(super) const PADDED: u8 = 0x8;
/// HEADERS: five bytes of priority before the block.
pub(super) const PRIORITY: u8 = 0x20;

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameType {
    Data,
    Headers,
    Priority,
    RstStream,
    Settings,
    PushPromise,
    Ping,
    GoAway,
    WindowUpdate,
    Continuation,
    /// An extension, which is passed over (RFC 9113, 5.5).
    Unknown,
}

impl FrameType {
    const ALL: [FrameType; 10] = [
        FrameType::Data,
        FrameType::Headers,
        FrameType::Priority,
        FrameType::RstStream,
        FrameType::Settings,
        FrameType::PushPromise,
        FrameType::Ping,
        FrameType::GoAway,
        FrameType::WindowUpdate,
        FrameType::Continuation,
    ];

    /// The name in the RFC.
    const fn name(self) -> &'static str {
        match self {
            FrameType::Data => "DATA",
            FrameType::Headers => "HEADERS",
            FrameType::Priority => "PRIORITY",
            FrameType::RstStream => "RST_STREAM",
            FrameType::Settings => "SETTINGS",
            FrameType::PushPromise => "PUSH_PROMISE",
            FrameType::Ping => "PING",
            FrameType::GoAway => "GOAWAY",
            FrameType::WindowUpdate => "WINDOW_UPDATE",
            FrameType::Continuation => "CONTINUATION",
            FrameType::Unknown => "a frame of an unknown kind",
        }
    }

    fn of(code: u8) -> FrameType {
        FrameType::ALL.get(usize::from(code)).copied().unwrap_or(FrameType::Unknown)
    }
}

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// Bytes of payload.
    pub length: u32,
    pub kind: FrameType,
    pub flags: u8,
    /// 0 for the connection.
    pub stream: u32,
}

impl Header {
    pub(super) fn parse(bytes: [u8; HEADER_BYTES]) -> Header {
        let [a, b, c, kind, flags, stream @ ..] = bytes;
        Header {
            length: u32::from_be_bytes([0, a, b, c]),
            kind: FrameType::of(kind),
            flags,
            // The highest bit is reserved and ignored.
            stream: u32::from_be_bytes(stream) & 0x7fff_ffff,
        }
    }

    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Checks what the header alone shows: size and stream, by RFC 9113, 4.2 and 6.1 to 6.10.
    pub(super) fn check(&self, frame_bytes_max: u32) -> Result<(), ConnectionError> {
        if self.length > frame_bytes_max {
            return Err(ConnectionError::FrameTooLarge);
        }
        let on_stream = match self.kind {
            FrameType::Data | FrameType::Headers | FrameType::Priority | FrameType::RstStream => Some(true),
            FrameType::PushPromise | FrameType::Continuation => Some(true),
            FrameType::Settings | FrameType::Ping | FrameType::GoAway => Some(false),
            FrameType::WindowUpdate | FrameType::Unknown => None,
        };
        if on_stream.is_some_and(|on_stream| on_stream != (self.stream != 0)) {
            return Err(ConnectionError::WrongStream);
        }
        let padding = u32::from(self.has(PADDED));
        let fits = match self.kind {
            FrameType::Data => self.length >= padding,
            FrameType::Headers => self.length >= padding + if self.has(PRIORITY) { 5 } else { 0 },
            FrameType::Priority => self.length == 5,
            FrameType::RstStream | FrameType::WindowUpdate => self.length == 4,
            FrameType::Settings if self.has(ACK) => self.length == 0,
            FrameType::Settings => self.length.is_multiple_of(6),
            FrameType::Ping => self.length == 8,
            FrameType::GoAway => self.length >= 8,
            FrameType::PushPromise | FrameType::Continuation | FrameType::Unknown => true,
        };
        if fits { Ok(()) } else { Err(ConnectionError::FrameLength) }
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Header { length, kind, flags, stream } = self;
        write!(f, "{} of {length} bytes with flags {flags:#x} on stream {stream}", kind.name())
    }
}

/// A frame's header.
pub(super) fn header(length: usize, kind: FrameType, flags: u8, stream: u32) -> [u8; HEADER_BYTES] {
    let ([_, a, b, c], [d, e, f, g]) = ((length as u32).to_be_bytes(), stream.to_be_bytes());
    [a, b, c, kind as u8, flags, d, e, f, g]
}

/// Appends a frame's header.
pub(super) fn begin(length: usize, kind: FrameType, flags: u8, stream: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&header(length, kind, flags, stream));
}

pub(super) fn write_rst_stream(stream: u32, code: ErrorCode, out: &mut Vec<u8>) {
    begin(4, FrameType::RstStream, 0, stream, out);
    out.extend_from_slice(&code.0.to_be_bytes());
}

/// Appends SETTINGS with these identifiers and values (RFC 9113, 6.5.1).
pub(super) fn write_settings(settings: &[(u16, u32)], out: &mut Vec<u8>) {
    begin(6 * settings.len(), FrameType::Settings, 0, 0, out);
    for (identifier, value) in settings {
        out.extend_from_slice(&identifier.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

pub(super) fn write_settings_ack(out: &mut Vec<u8>) {
    begin(0, FrameType::Settings, ACK, 0, out);
}

pub(super) fn write_ping_ack(payload: &[u8], out: &mut Vec<u8>) {
    begin(payload.len(), FrameType::Ping, ACK, 0, out);
    out.extend_from_slice(payload);
}

/// Appends a GOAWAY, where `last` is the last stream of the peer's that was processed: 0 from a client, since
/// no server may push to it.
pub(super) fn write_goaway(last: u32, code: ErrorCode, out: &mut Vec<u8>) {
    begin(8, FrameType::GoAway, 0, 0, out);
    out.extend_from_slice(&last.to_be_bytes());
    out.extend_from_slice(&code.0.to_be_bytes());
}

/// Appends a WINDOW_UPDATE, of the connection if the stream is 0.
pub(super) fn write_window_update(stream: u32, increment: u32, out: &mut Vec<u8>) {
    begin(4, FrameType::WindowUpdate, 0, stream, out);
    out.extend_from_slice(&increment.to_be_bytes());
}

/// Appends a header block as HEADERS and as many CONTINUATION as it takes.
pub(super) fn write_headers(
    stream: u32,
    parts: [&[u8]; 2],
    end_stream: bool,
    frame_bytes_max: u32,
    out: &mut Vec<u8>,
) {
    let end = if end_stream { END_STREAM } else { 0 };
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let most = frame_bytes_max as usize;
    if length <= most {
        begin(length, FrameType::Headers, END_HEADERS | end, stream, out);
        return parts.iter().for_each(|part| out.extend_from_slice(part));
    }
    let block = parts.concat();
    let frames = block.len().div_ceil(most);
    for (number, piece) in block.chunks(most).enumerate() {
        let last = if number + 1 == frames { END_HEADERS } else { 0 };
        let (kind, end) = if number == 0 { (FrameType::Headers, end) } else { (FrameType::Continuation, 0) };
        begin(piece.len(), kind, last | end, stream, out);
        out.extend_from_slice(piece);
    }
}

/// Appends DATA.
pub(super) fn write_data(stream: u32, bytes: &[u8], end_stream: bool, out: &mut Vec<u8>) {
    begin(bytes.len(), FrameType::Data, if end_stream { END_STREAM } else { 0 }, stream, out);
    out.extend_from_slice(bytes);
}
