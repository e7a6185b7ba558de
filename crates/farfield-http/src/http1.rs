//! HTTP/1.0 and HTTP/1.1, the client's side (RFC 9110, RFC 9112).
//!
//! A [`RequestHead`] becomes bytes once, ahead of time. A [`ReplyReader`] reads the replies of one
//! connection, one after another, and reports what it finds as [`Event`]s; what a reply may break is a
//! [`Malformed`].
//!
//! The request that a reply answers is the caller's to know: HTTP/1 matches them by order alone (RFC 9112,
//! 9.3.2), and so is what a CONNECT leads to. Not spoken: the protocols that a 101 switches to.

mod chunked;
mod fields;
mod head;
mod known_head;
mod malformed;
mod reply;
mod request;
mod scan;

pub use fields::Fields;
pub use head::{Answering, Framing, Head};
#[cfg(feature = "http2")]
pub(crate) use head::{Length, Media};
pub use known_head::KnownHead;
pub use malformed::Malformed;
pub use reply::{Event, Limits, Reply, ReplyReader};
pub use request::{RequestError, RequestHead};

/// The protocol's version, as heads name it (RFC 9112, 2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// `HTTP/1.0`: a connection is for one request unless both sides ask to keep it.
    Http10,
    /// `HTTP/1.1`: a connection is kept unless one side says otherwise.
    Http11,
}

impl Version {
    /// The version as it is written in a head.
    pub const fn name(self) -> &'static str {
        match self {
            Version::Http10 => "HTTP/1.0",
            Version::Http11 => "HTTP/1.1",
        }
    }
}
