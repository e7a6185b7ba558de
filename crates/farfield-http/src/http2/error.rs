//! What can be wrong with a server's HTTP/2, and the codes that say so on the wire.

use super::hpack::HpackError;
use crate::http1::Malformed;

/// An error code of RST_STREAM and GOAWAY (RFC 9113, 7). Codes that the RFC does not name are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// NO_ERROR: the end in good order.
    pub const NO_ERROR: ErrorCode = ErrorCode(0x0);
    /// PROTOCOL_ERROR: what no other code says.
    pub const PROTOCOL_ERROR: ErrorCode = ErrorCode(0x1);
    /// INTERNAL_ERROR: the sender's own fault.
    pub const INTERNAL_ERROR: ErrorCode = ErrorCode(0x2);
    /// FLOW_CONTROL_ERROR: more was sent, or allowed, than windows may have.
    pub const FLOW_CONTROL_ERROR: ErrorCode = ErrorCode(0x3);
    /// STREAM_CLOSED: a frame on a stream that is over.
    pub const STREAM_CLOSED: ErrorCode = ErrorCode(0x5);
    /// FRAME_SIZE_ERROR: a frame too large, or not of its kind's size.
    pub const FRAME_SIZE_ERROR: ErrorCode = ErrorCode(0x6);
    /// REFUSED_STREAM: nothing of the request was processed.
    pub const REFUSED_STREAM: ErrorCode = ErrorCode(0x7);
    /// CANCEL: the stream is no longer needed.
    pub const CANCEL: ErrorCode = ErrorCode(0x8);
    /// COMPRESSION_ERROR: a header block cannot be decoded.
    pub const COMPRESSION_ERROR: ErrorCode = ErrorCode(0x9);
    /// ENHANCE_YOUR_CALM: too much that leads to nothing.
    pub const ENHANCE_YOUR_CALM: ErrorCode = ErrorCode(0xb);
    /// HTTP_1_1_REQUIRED: the request is to be sent by HTTP/1.1.
    pub const HTTP_1_1_REQUIRED: ErrorCode = ErrorCode(0xd);
}

/// Why a request failed on its stream; the connection goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// The reply is malformed or exceeds a limit. A malformed head, a body where there can be none, and one
    /// that is not as long as its head says, are among these (RFC 9113, 8.1.1).
    #[error("{0}")]
    Malformed(Malformed),
    /// The server reset the stream.
    #[error("the server reset the stream (code {})", .0.0)]
    Reset(ErrorCode),
    /// The server has not processed the request, which may be sent again (RFC 9113, 8.7): it said so with
    /// REFUSED_STREAM, or the stream is above the last of its GOAWAY.
    #[error("the server refused the stream without processing the request")]
    Refused,
    /// More came of the body than the stream's window allows (RFC 9113, 5.2.1).
    #[error("the server exceeds the stream's window")]
    WindowExceeded,
    /// The server raises the stream's window above 2^31-1 bytes (RFC 9113, 6.9.1).
    #[error("the server raises the stream's window above the limit")]
    WindowOverflow,
    /// The server raises the stream's window by nothing (RFC 9113, 6.9).
    #[error("the server raises the stream's window by zero bytes")]
    ZeroIncrement,
}

impl StreamError {
    /// The code with which the stream is reset, or was by the server.
    pub const fn code(self) -> ErrorCode {
        match self {
            StreamError::Malformed(Malformed::HeadTooLarge | Malformed::BodyTooLarge) => ErrorCode::CANCEL,
            StreamError::Malformed(_) | StreamError::ZeroIncrement => ErrorCode::PROTOCOL_ERROR,
            StreamError::Reset(code) => code,
            StreamError::Refused => ErrorCode::REFUSED_STREAM,
            StreamError::WindowExceeded | StreamError::WindowOverflow => ErrorCode::FLOW_CONTROL_ERROR,
        }
    }
}

/// Why a connection cannot go on, nor any stream on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionError {
    /// What comes first is no SETTINGS frame (RFC 9113, 3.4): another protocol, such as HTTP/1.
    #[error("the server does not speak HTTP/2")]
    NotHttp2,
    /// A frame is larger than was allowed (RFC 9113, 4.2).
    #[error("a frame is larger than SETTINGS_MAX_FRAME_SIZE allows")]
    FrameTooLarge,
    /// A frame does not have its kind's size (RFC 9113, 6).
    #[error("a frame does not have its kind's size")]
    FrameLength,
    /// A frame of a stream on none, or one of the connection on a stream (RFC 9113, 6).
    #[error("a frame is on a stream that its kind cannot be on")]
    WrongStream,
    /// A frame on a stream that nobody has opened (RFC 9113, 5.1).
    #[error("a frame is on a stream that was never opened")]
    IdleStream,
    /// A reply's frame on a stream that is over (RFC 9113, 5.1).
    #[error("a frame is on a stream that is over")]
    ClosedStream,
    /// The padding is as long as its frame, or longer (RFC 9113, 6.1).
    #[error("a frame's padding is longer than the frame")]
    BadPadding,
    /// A header block is interrupted by another frame (RFC 9113, 6.2).
    #[error("a header block is interrupted by another frame")]
    ContinuationExpected,
    /// CONTINUATION behind no header block (RFC 9113, 6.10).
    #[error("CONTINUATION follows no header block")]
    ContinuationUnexpected,
    /// A promise, though push is refused (RFC 9113, 6.6).
    #[error("the server pushes, which was refused")]
    Pushed,
    /// A setting has a value that it cannot have (RFC 9113, 6.5.2).
    #[error("a setting has a value that it cannot have")]
    BadSetting,
    /// The streams' first window is above 2^31-1 bytes (RFC 9113, 6.5.2), or raises one above that (6.9.2).
    #[error("a setting raises the windows of streams above the limit")]
    WindowSetting,
    /// An acknowledgement of SETTINGS that were not sent.
    #[error("the server acknowledges settings that were not sent")]
    UnaskedAcknowledgement,
    /// The connection's window is raised by nothing (RFC 9113, 6.9).
    #[error("the server raises the connection's window by zero bytes")]
    ZeroIncrement,
    /// The connection's window is raised above 2^31-1 bytes (RFC 9113, 6.9.1).
    #[error("the server raises the connection's window above the limit")]
    WindowOverflow,
    /// More came of bodies than the connection's window allows (RFC 9113, 5.2.1).
    #[error("the server exceeds the connection's window")]
    WindowExceeded,
    /// A header block cannot be decoded.
    #[error("{0}")]
    Compression(#[from] HpackError),
    /// A header block is longer than [`Limits::head_bytes`](super::Limits::head_bytes), encoded.
    #[error("a header block exceeds the limit")]
    BlockTooLarge,
    /// Frame upon frame that leads to nothing (RFC 9113, 10.5).
    #[error("the server floods the connection with frames that lead to nothing")]
    Flood,
    /// A later GOAWAY has a greater last stream (RFC 9113, 6.8).
    #[error("a later GOAWAY has a greater last stream than one before")]
    LastStreamRaised,
    /// The server closed in the middle of a frame or of replies.
    #[error("the connection closed in the middle of a frame or of replies")]
    Truncated,
}

impl ConnectionError {
    /// The code that GOAWAY gives the server.
    pub const fn code(self) -> ErrorCode {
        use ConnectionError::*;
        match self {
            FrameTooLarge | FrameLength => ErrorCode::FRAME_SIZE_ERROR,
            ClosedStream => ErrorCode::STREAM_CLOSED,
            WindowSetting | WindowOverflow | WindowExceeded => ErrorCode::FLOW_CONTROL_ERROR,
            Compression(_) => ErrorCode::COMPRESSION_ERROR,
            BlockTooLarge | Flood => ErrorCode::ENHANCE_YOUR_CALM,
            NotHttp2
            | WrongStream
            | IdleStream
            | BadPadding
            | ContinuationExpected
            | ContinuationUnexpected
            | Pushed
            | BadSetting
            | UnaskedAcknowledgement
            | ZeroIncrement
            | LastStreamRaised
            | Truncated => ErrorCode::PROTOCOL_ERROR,
        }
    }
}
