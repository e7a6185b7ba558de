//! HTTP/3 (RFC 9114), the client's side and what a model of a server needs, over [`quic`](crate::quic), with
//! QPACK (RFC 9204).
//!
//! A request is encoded once, ahead of time ([`encode_request`]). A [`Connection`] sends requests and reads
//! replies, and reports what it finds as [`Event`]s of requests. What a reply consists of looks as it does
//! over [`http2`](crate::http2): heads with their [`Fields`], bytes of body, and a [`Reply`] at the end.
//! A model of a server has the other end in [`server`].
//!
//! A failure of one request is a [`StreamError`], one of the connection a [`ConnectionError`]; each has the
//! error code that the RFC gives it, and the server is sent it.
//!
//! Deliberately absent: server push (no MAX_PUSH_ID is ever sent), priorities, CONNECT, and a dynamic table.

#[cfg(feature = "http3")]
mod connection;
mod control;
mod error;
mod frame;
pub mod qpack;
mod reply;
mod request;
#[cfg(feature = "http3")]
pub mod server;
mod server_streams;
mod varint;

pub use crate::Event;
pub use crate::http1::{Answering, Fields, Limits, Malformed, Reply};
pub use crate::http2::{Head, Heads, RequestHead};
#[cfg(feature = "http3")]
pub use connection::{Connection, ConnectionLoss};
pub use control::{ControlEvent, ControlStream, PeerSettings};
pub use error::{ConnectionError, ErrorCode, StreamError};
pub use reply::{ReplyError, ReplyPart, ReplyStream};
pub use request::{begin_request, begin_request_of_http1, encode_request};
pub use server_streams::{Role, ServerStream, ServerStreams};
