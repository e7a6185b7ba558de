//! HTTP/2 (RFC 9113), the client's side and what a model of a server needs, with HPACK (RFC 7541).
//!
//! A [`RequestHead`] becomes a [`RequestBlock`] once, ahead of time. A [`Connection`] sends requests and
//! reads replies: it is handed the bytes that came, in pieces of any size, appends what is to be sent to a
//! buffer of the caller's, and reports what it finds as [`Event`]s of streams. What a reply consists of
//! looks as it does in [`http1`](crate::http1): heads with their [`Fields`], bytes of body, and a [`Reply`]
//! at the end. A model of a server, which knows of requests no more than their path, has the other end in
//! [`server`].
//!
//! A failure of one stream is a [`StreamError`], one of the connection a [`ConnectionError`]; each has the
//! error code that the RFC gives it, and the server is sent it.
//!
//! Deliberately absent: server push (it is refused), priorities, CONNECT, and the upgrade from HTTP/1.1.

mod connection;
mod error;
mod flow;
mod frame;
mod frames;
mod head;
pub mod hpack;
mod late;
mod peer;
mod request;
pub mod server;
mod stream;

pub use crate::http1::{Answering, Fields, Limits, Malformed, Reply};
pub use crate::{Event, Head};
pub use connection::{Connection, NotSent, Settings};
pub use error::{ConnectionError, ErrorCode, StreamError};
pub use head::Heads;
#[cfg(feature = "http3")]
pub(crate) use head::is_of_http1;
pub(crate) use head::{BlockCoding, Flaw, Section};
pub(crate) use request::fields_of_http1;
pub use request::{CommonFields, RequestBlock, RequestHead, block_of_http1};

/// The number of a stream: odd, and greater than those of all streams that the client opened before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(u32);

impl StreamId {
    /// The number, as frames have it.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The stream of a connection's request `number`, counted from 0 in the order of sending, below 2^30.
    pub const fn of_request(number: u32) -> StreamId {
        StreamId(2 * number + 1)
    }

    /// The number of its request on the connection, from 0.
    pub const fn request(self) -> u32 {
        self.0 / 2
    }
}
