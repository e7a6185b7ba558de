//! HTTP/2 (RFC 9113) in cleartext out of the two directions of a connection: frames, header blocks and
//! streams, read by a parser of its own, as for HTTP/1.
//!
//! Compression (RFC 7541) has a memory: a header block can be read only if all before it were. Where bytes
//! of frames other than DATA are missing, a direction is therefore lost to its end, and a connection whose
//! beginning was not captured is not read at all.

mod conversation;
mod frames;
mod hpack;
pub(crate) mod huffman;

pub(crate) use conversation::Conversation;
pub(crate) use frames::is_begun;
pub(crate) use hpack::{Head, integer};
