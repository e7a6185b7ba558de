//! HTTP/3, the client's side (RFC 9114), unfinished: [`qpack`], its compression of header fields (RFC 9204),
//! and what a server's unidirectional streams may say ([`ServerStreams`], [`ControlStream`]).
//!
//! Deliberately absent: server push (no MAX_PUSH_ID is ever sent) and CONNECT.

mod control;
mod error;
pub mod qpack;
mod server_streams;
mod varint;

pub use control::{ControlEvent, ControlStream, PeerSettings};
pub use error::{ConnectionError, ErrorCode};
pub use server_streams::{Role, ServerStream, ServerStreams};
