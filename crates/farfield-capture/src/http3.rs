//! HTTP/3 (RFC 9114) out of the streams of a QUIC connection: frames, field sections and requests, read by a
//! parser of its own, as for the other versions.
//!
//! Field sections are read without QPACK's dynamic table (RFC 9204), which farfield's clients allow no
//! server; a section that needs it is not read, and neither is its request.

mod conversation;
mod frames;
mod qpack;

pub(crate) use conversation::{Conversation, OPEN_MAX};
pub(crate) use frames::varint;
