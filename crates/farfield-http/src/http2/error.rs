//! Faults of a server's HTTP/2, and the codes that say so on the wire.

use super::hpack::HpackError;
use crate::http1::Malformed;
use farfield_base::{Detail, Outcome, Rule, Sender, Signal};
use std::fmt;

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
#[non_exhaustive]
pub enum StreamError {
    /// The reply is malformed or exceeds a limit. A malformed head, a body where there can be none, and one
    /// that is not as long as its head says, are among these (RFC 9113, 8.1.1).
    #[error("{0}")]
    Malformed(Malformed),
    /// The server reset the stream.
    #[error("the server reset the stream (code {})", .0.0)]
    Reset(ErrorCode),
    /// The server ended the stream before the final head: behind an interim one (RFC 9113, 8.1).
    #[error("the server ended the stream without a reply")]
    Unanswered,
    /// DATA came before the final head (RFC 9113, 8.1).
    #[error("DATA comes before the head")]
    DataFirst,
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
            StreamError::Malformed(_)
            | StreamError::Unanswered
            | StreamError::DataFirst
            | StreamError::ZeroIncrement => ErrorCode::PROTOCOL_ERROR,
            StreamError::Reset(code) => code,
            StreamError::Refused => ErrorCode::REFUSED_STREAM,
            StreamError::WindowExceeded | StreamError::WindowOverflow => ErrorCode::FLOW_CONTROL_ERROR,
        }
    }

    /// The outcome that a sample of the request records.
    pub const fn outcome(self) -> Outcome {
        match self {
            StreamError::Malformed(malformed) => malformed.outcome(),
            StreamError::Unanswered => Outcome::ClosedUnanswered,
            StreamError::Reset(_) => Outcome::StreamReset,
            StreamError::Refused => Outcome::StreamRefused,
            StreamError::DataFirst
            | StreamError::WindowExceeded
            | StreamError::WindowOverflow
            | StreamError::ZeroIncrement => Outcome::BadFrame,
        }
    }

    /// The detail beyond the outcome, if there is one. Of a malformed head [`Heads`](super::Heads) know
    /// more.
    pub fn detail(self) -> Option<Detail> {
        Some(Detail::broken(match self {
            StreamError::Malformed(malformed) => malformed.rule_of_http2()?,
            StreamError::Unanswered => {
                Rule::new("an interim head ends the stream, which has no reply", "RFC 9113 §8.1")
            }
            StreamError::DataFirst => Rule::new("DATA comes before the head", "RFC 9113 §8.1"),
            StreamError::Reset(code) => {
                return Some(Detail::sent(Signal::ResetHttp2, u64::from(code.0), Sender::Server));
            }
            StreamError::Refused => return None,
            StreamError::WindowExceeded => {
                Rule::new("more came of a body than the stream's window allows", "RFC 9113 §5.2.1")
            }
            StreamError::WindowOverflow => {
                Rule::new("WINDOW_UPDATE raises the stream's window above 2^31-1 bytes", "RFC 9113 §6.9.1")
            }
            StreamError::ZeroIncrement => {
                Rule::new("WINDOW_UPDATE raises the stream's window by zero bytes", "RFC 9113 §6.9")
            }
        }))
    }
}

/// Why a connection cannot go on, nor any stream on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The first bytes are no SETTINGS frame (RFC 9113, 3.4): another protocol, such as HTTP/1.
    NotHttp2,
    /// A frame is larger than was allowed (RFC 9113, 4.2).
    FrameTooLarge,
    /// A frame does not have its kind's size (RFC 9113, 6).
    FrameLength,
    /// A frame of a stream on none, or one of the connection on a stream (RFC 9113, 6).
    WrongStream,
    /// A frame on a stream that nobody has opened (RFC 9113, 5.1).
    IdleStream,
    /// A reply's frame on a stream that is over (RFC 9113, 5.1).
    ClosedStream,
    /// The padding is as long as its frame, or longer (RFC 9113, 6.1).
    BadPadding,
    /// A header block is interrupted by another frame (RFC 9113, 6.2).
    ContinuationExpected,
    /// CONTINUATION behind no header block (RFC 9113, 6.10).
    ContinuationUnexpected,
    /// A promise, though push is refused (RFC 9113, 6.6).
    Pushed,
    /// A setting has a value that it cannot have (RFC 9113, 6.5.2).
    BadSetting,
    /// The streams' first window is above 2^31-1 bytes (RFC 9113, 6.5.2), or raises one above that (6.9.2).
    WindowSetting,
    /// An acknowledgement of SETTINGS that were not sent.
    UnaskedAcknowledgement,
    /// The connection's window is raised by nothing (RFC 9113, 6.9).
    ZeroIncrement,
    /// The connection's window is raised above 2^31-1 bytes (RFC 9113, 6.9.1).
    WindowOverflow,
    /// More came of bodies than the connection's window allows (RFC 9113, 5.2.1).
    WindowExceeded,
    /// A header block cannot be decoded.
    Compression(HpackError),
    /// A header block is over twice as long as [`Limits::head_bytes`](super::Limits::head_bytes), encoded.
    BlockTooLarge,
    /// Frame upon frame that leads to nothing (RFC 9113, 10.5).
    Flood,
    /// A later GOAWAY has a greater last stream (RFC 9113, 6.8).
    LastStreamRaised,
    /// The server closed in the middle of a frame or of replies.
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

    /// The rule that what came does not keep to.
    pub const fn rule(self) -> Rule {
        use ConnectionError::*;
        let (wrong, section) = match self {
            NotHttp2 => ("what comes first is no SETTINGS frame of HTTP/2", "RFC 9113 §3.4"),
            FrameTooLarge => ("a frame is larger than SETTINGS_MAX_FRAME_SIZE allows", "RFC 9113 §4.2"),
            FrameLength => ("a frame does not have its kind's size", "RFC 9113 §6"),
            WrongStream => ("a frame is on a stream that its kind cannot be on", "RFC 9113 §6"),
            IdleStream => ("a frame is on a stream that was never opened", "RFC 9113 §5.1"),
            ClosedStream => ("a frame is on a stream that is over", "RFC 9113 §5.1"),
            BadPadding => ("a frame's padding is longer than the frame", "RFC 9113 §6.1"),
            ContinuationExpected => ("a header block is interrupted by another frame", "RFC 9113 §6.2"),
            ContinuationUnexpected => ("CONTINUATION follows no header block", "RFC 9113 §6.10"),
            Pushed => ("the server pushes, which was refused", "RFC 9113 §6.6"),
            BadSetting => ("a setting has a value that it cannot have", "RFC 9113 §6.5.2"),
            WindowSetting => {
                ("a setting raises the windows of streams above 2^31-1 bytes", "RFC 9113 §6.5.2")
            }
            UnaskedAcknowledgement => ("settings are acknowledged that were not sent", "RFC 9113 §6.5.3"),
            ZeroIncrement => ("WINDOW_UPDATE raises the connection's window by zero bytes", "RFC 9113 §6.9"),
            WindowOverflow => {
                ("WINDOW_UPDATE raises the connection's window above 2^31-1 bytes", "RFC 9113 §6.9.1")
            }
            WindowExceeded => ("more came of bodies than the connection's window allows", "RFC 9113 §5.2.1"),
            Compression(error) => return error.rule(),
            BlockTooLarge => {
                ("a header block is over twice as long as the limit of a head", "RFC 9113 §10.5.1")
            }
            Flood => ("frames come without end that lead to nothing", "RFC 9113 §10.5"),
            LastStreamRaised => ("a later GOAWAY has a greater last stream", "RFC 9113 §6.8"),
            Truncated => ("the connection closed in the middle of a frame or of replies", "RFC 9113 §9.1"),
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

impl From<HpackError> for ConnectionError {
    fn from(error: HpackError) -> ConnectionError {
        ConnectionError::Compression(error)
    }
}
