//! Faults of a server's HTTP/3, and the codes that say so on the wire.

use super::qpack::{InstructionError, QpackError};
use crate::http1::Malformed;
use farfield_base::{Detail, Outcome, Rule, Sender, Signal};
use std::fmt;

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
    /// H3_EXCESSIVE_LOAD: much that leads to nothing.
    pub const EXCESSIVE_LOAD: ErrorCode = ErrorCode(0x107);
    /// H3_ID_ERROR: a stream or a push that cannot be named.
    pub const ID_ERROR: ErrorCode = ErrorCode(0x108);
    /// H3_SETTINGS_ERROR: a setting that cannot be.
    pub const SETTINGS_ERROR: ErrorCode = ErrorCode(0x109);
    /// H3_MISSING_SETTINGS: the control stream does not begin with SETTINGS.
    pub const MISSING_SETTINGS: ErrorCode = ErrorCode(0x10a);
    /// H3_REQUEST_REJECTED: nothing of the request was processed.
    pub const REQUEST_REJECTED: ErrorCode = ErrorCode(0x10b);
    /// H3_REQUEST_CANCELLED: the reply is no longer needed.
    pub const REQUEST_CANCELLED: ErrorCode = ErrorCode(0x10c);
    /// H3_MESSAGE_ERROR: a malformed message.
    pub const MESSAGE_ERROR: ErrorCode = ErrorCode(0x10e);
    /// QPACK_DECOMPRESSION_FAILED: a field section cannot be decoded.
    pub const DECOMPRESSION_FAILED: ErrorCode = ErrorCode(0x200);
}

/// Why a request failed on its stream; the connection goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The reply is malformed or exceeds a limit (RFC 9114, 4.1.2).
    #[error("{0}")]
    Malformed(Malformed),
    /// The server ended the stream before the final head (RFC 9114, 4.1).
    #[error("the server ended the stream without a reply")]
    Unanswered,
    /// The server reset the stream.
    #[error("the server reset the stream (code {:#x})", .0.0)]
    Reset(ErrorCode),
    /// The server has not processed the request, which may be sent again: it said so with
    /// H3_REQUEST_REJECTED (RFC 9114, 4.1.1), or the stream is at or above the one of its GOAWAY (5.2).
    #[error("the server rejected the request without processing it")]
    Rejected,
}

impl StreamError {
    /// The code with which the stream is reset, or was by the server.
    pub const fn code(self) -> ErrorCode {
        match self {
            StreamError::Malformed(Malformed::HeadTooLarge | Malformed::BodyTooLarge) => {
                ErrorCode::REQUEST_CANCELLED
            }
            StreamError::Malformed(_) => ErrorCode::MESSAGE_ERROR,
            StreamError::Unanswered | StreamError::Rejected => ErrorCode::REQUEST_CANCELLED,
            StreamError::Reset(code) => code,
        }
    }

    /// The outcome that a sample of the request records.
    pub const fn outcome(self) -> Outcome {
        match self {
            StreamError::Malformed(malformed) => malformed.outcome(),
            StreamError::Unanswered => Outcome::ClosedUnanswered,
            StreamError::Reset(_) => Outcome::StreamReset,
            StreamError::Rejected => Outcome::StreamRefused,
        }
    }

    /// The detail beyond the outcome, if there is one. Of a malformed head [`Heads`](crate::http2::Heads)
    /// know more.
    pub fn detail(self) -> Option<Detail> {
        match self {
            StreamError::Malformed(malformed) => malformed.rule_of_http3().map(Detail::broken),
            StreamError::Unanswered => {
                let wrong = "the server ended the stream without a final head";
                Some(Detail::broken(Rule::new(wrong, "RFC 9114 §4.1")))
            }
            StreamError::Reset(code) => Some(Detail::sent(Signal::ResetHttp3, code.0, Sender::Server)),
            StreamError::Rejected => None,
        }
    }
}

/// Why a connection cannot go on, nor any stream on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionError {
    /// A second stream of a kind that there is once (RFC 9114, 6.2.1; RFC 9204, 4.2).
    DuplicateStream,
    /// A push stream, or a frame about a push, though none was allowed (RFC 9114, 4.6).
    Pushed,
    /// The control stream or one of QPACK is over (RFC 9114, 6.2.1; RFC 9204, 4.2).
    CriticalStreamClosed,
    /// The control stream's first frame is another (RFC 9114, 6.2.1).
    MissingSettings,
    /// SETTINGS come a second time (RFC 9114, 7.2.4).
    SecondSettings,
    /// A setting comes twice, or is one that HTTP/2 has and HTTP/3 must not (RFC 9114, 7.2.4 and 7.2.4.1).
    BadSetting,
    /// A frame is on a stream that its kind cannot be on, or is one of HTTP/2 (RFC 9114, 7.2 and 7.2.8).
    UnexpectedFrame,
    /// A frame is longer or shorter than what it holds (RFC 9114, 7.1).
    FrameLength,
    /// A stream ends in the middle of a frame (RFC 9114, 7.1).
    FrameCut,
    /// GOAWAY names no stream of the client's (RFC 9114, 7.2.6).
    GoAwayStream,
    /// A later GOAWAY names a greater stream (RFC 9114, 5.2).
    LastStreamRaised,
    /// Frames and streams that lead to nothing (RFC 9114, 10.5).
    Flood,
    /// A field section cannot be decoded.
    Compression(QpackError),
    /// An instruction on one of QPACK's streams cannot be given.
    Instruction(InstructionError),
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
            FrameLength | FrameCut => ErrorCode::FRAME_ERROR,
            Flood => ErrorCode::EXCESSIVE_LOAD,
            Compression(_) => ErrorCode::DECOMPRESSION_FAILED,
            Instruction(error) => ErrorCode(error.code()),
        }
    }

    /// The rule that what came does not keep to.
    pub const fn rule(self) -> Rule {
        use ConnectionError::*;
        let (wrong, section) = match self {
            DuplicateStream => ("the server opens a second control or QPACK stream", "RFC 9114 §6.2.1"),
            Pushed => ("the server pushes, which was never allowed", "RFC 9114 §4.6"),
            CriticalStreamClosed => {
                ("the server closes its control stream or one of QPACK", "RFC 9114 §6.2.1")
            }
            MissingSettings => ("the control stream does not begin with SETTINGS", "RFC 9114 §6.2.1"),
            SecondSettings => ("the server sends SETTINGS a second time", "RFC 9114 §7.2.4"),
            BadSetting => ("a setting comes twice or is one of HTTP/2", "RFC 9114 §7.2.4.1"),
            UnexpectedFrame => ("a frame is where or when its kind cannot be", "RFC 9114 §7.2"),
            FrameLength => ("a frame does not have the length of what it holds", "RFC 9114 §7.1"),
            FrameCut => ("a stream ends in the middle of a frame", "RFC 9114 §7.1"),
            GoAwayStream => ("GOAWAY names a stream that is no request's", "RFC 9114 §7.2.6"),
            LastStreamRaised => ("a later GOAWAY names a greater stream than one before", "RFC 9114 §5.2"),
            Flood => ("frames and streams come without end that lead to nothing", "RFC 9114 §10.5"),
            Compression(error) => return error.rule(),
            Instruction(error) => return error.rule(),
        };
        Rule::new(wrong, section)
    }
}

impl fmt::Display for ConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rule().wrong)
    }
}

impl std::error::Error for ConnectionError {}

impl From<QpackError> for ConnectionError {
    fn from(error: QpackError) -> ConnectionError {
        ConnectionError::Compression(error)
    }
}

impl From<InstructionError> for ConnectionError {
    fn from(error: InstructionError) -> ConnectionError {
        ConnectionError::Instruction(error)
    }
}
