//! What can be wrong with a server's HTTP/3, and the codes that say so on the wire.

use super::qpack::{InstructionError, QpackError};

/// An error code of streams and connections (RFC 9114, 8.1; RFC 9204, 6). Codes that no RFC names are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorCode(pub u64);

impl ErrorCode {
    /// H3_NO_ERROR: the end in good order.
    pub const NO_ERROR: ErrorCode = ErrorCode(0x100);
    /// H3_STREAM_CREATION_ERROR: a stream that the peer may not open.
    pub const STREAM_CREATION_ERROR: ErrorCode = ErrorCode(0x103);
    /// H3_CLOSED_CRITICAL_STREAM: a stream that the connection needs is over.
    pub const CLOSED_CRITICAL_STREAM: ErrorCode = ErrorCode(0x104);
    /// H3_FRAME_UNEXPECTED: a frame where, or when, it cannot be.
    pub const FRAME_UNEXPECTED: ErrorCode = ErrorCode(0x105);
    /// H3_FRAME_ERROR: a frame with a layout or a size that it cannot have.
    pub const FRAME_ERROR: ErrorCode = ErrorCode(0x106);
    /// H3_ID_ERROR: a stream or a push that cannot be named.
    pub const ID_ERROR: ErrorCode = ErrorCode(0x108);
    /// H3_SETTINGS_ERROR: a setting that cannot be.
    pub const SETTINGS_ERROR: ErrorCode = ErrorCode(0x109);
    /// H3_MISSING_SETTINGS: the control stream does not begin with SETTINGS.
    pub const MISSING_SETTINGS: ErrorCode = ErrorCode(0x10a);
    /// QPACK_DECOMPRESSION_FAILED: a field section cannot be decoded.
    pub const DECOMPRESSION_FAILED: ErrorCode = ErrorCode(0x200);
}

/// Why a connection cannot go on, nor any stream on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionError {
    /// A second stream of a kind that there is once (RFC 9114, 6.2.1; RFC 9204, 4.2).
    #[error("the server opens a second control or QPACK stream")]
    DuplicateStream,
    /// A push stream, or a frame about a push, though none was allowed (RFC 9114, 4.6).
    #[error("the server pushes, which was never allowed")]
    Pushed,
    /// The control stream or one of QPACK is over (RFC 9114, 6.2.1; RFC 9204, 4.2).
    #[error("the server closes its control stream or one of QPACK")]
    CriticalStreamClosed,
    /// The control stream's first frame is another (RFC 9114, 6.2.1).
    #[error("the control stream does not begin with SETTINGS")]
    MissingSettings,
    /// SETTINGS come a second time (RFC 9114, 7.2.4).
    #[error("the server sends SETTINGS a second time")]
    SecondSettings,
    /// A setting comes twice, or is one that HTTP/2 has and HTTP/3 must not (RFC 9114, 7.2.4 and 7.2.4.1).
    #[error("a setting comes twice or is one of HTTP/2")]
    BadSetting,
    /// A frame is on a stream that its kind cannot be on, or is one of HTTP/2 (RFC 9114, 7.2 and 7.2.8).
    #[error("a frame is on a stream that its kind cannot be on")]
    UnexpectedFrame,
    /// A frame is longer or shorter than what it holds (RFC 9114, 7.1).
    #[error("a frame does not have the length of what it holds")]
    FrameLength,
    /// GOAWAY names no stream of the client's (RFC 9114, 7.2.6).
    #[error("GOAWAY names a stream that is no request's")]
    GoAwayStream,
    /// A later GOAWAY names a greater stream (RFC 9114, 5.2).
    #[error("a later GOAWAY names a greater stream than one before")]
    LastStreamRaised,
    /// A field section cannot be decoded.
    #[error("{0}")]
    Compression(#[from] QpackError),
    /// An instruction on one of QPACK's streams cannot be given.
    #[error("{0}")]
    Instruction(#[from] InstructionError),
}

impl ConnectionError {
    /// The code that CONNECTION_CLOSE gives the server.
    pub const fn code(self) -> ErrorCode {
        use ConnectionError::*;
        match self {
            DuplicateStream => ErrorCode::STREAM_CREATION_ERROR,
            Pushed | GoAwayStream | LastStreamRaised => ErrorCode::ID_ERROR,
            CriticalStreamClosed => ErrorCode::CLOSED_CRITICAL_STREAM,
            MissingSettings => ErrorCode::MISSING_SETTINGS,
            SecondSettings | UnexpectedFrame => ErrorCode::FRAME_UNEXPECTED,
            BadSetting => ErrorCode::SETTINGS_ERROR,
            FrameLength => ErrorCode::FRAME_ERROR,
            Compression(_) => ErrorCode::DECOMPRESSION_FAILED,
            Instruction(error) => ErrorCode(error.code()),
        }
    }
}
