//! Events of a client's connection, whatever the version of HTTP: whoever makes something of replies does it
//! once, for all of them.

use crate::events::EventFormat;
use crate::http1::{self, Framing, Reply};
#[cfg(feature = "websocket")]
use crate::websocket::Message;
#[cfg(feature = "http2")]
use crate::{http2, http3};
use bytes::Bytes;
use farfield_base::{Detail, Outcome};
use std::ops::Deref;

/// An event of a connection. Requests are numbered from 0, in the order of their sending on the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<'b> {
    /// All that came is taken and makes no event yet: come back with more.
    NeedMore,
    /// The handshake of a connection that secures itself is over, of QUIC: requests can be sent.
    Secured,
    /// An interim head with this status, 100 to 199; the reply is still to come.
    Interim(u32, u16),
    /// The head of the reply. Its fields are where the protocol keeps them until the next step.
    Head(u32, Head),
    /// Bytes of the body, at least one.
    Body(u32, Body<'b>),
    /// The reply is over.
    Done(u32, Reply),
    /// The request failed, and the others on the connection go on. What came of its reply goes with it.
    Failed(u32, Reply, StreamError),
    /// The server takes no more requests on this connection. Those that it has not processed fail as not
    /// [processed](StreamError::is_unprocessed); the others go on.
    GoingAway,
    /// A message of a WebSocket is whole; its bytes are where the protocol keeps them until the next step.
    #[cfg(feature = "websocket")]
    Message(Message),
    /// The server asks on a WebSocket for a Pong.
    #[cfg(feature = "websocket")]
    Ping,
    /// The server closes a WebSocket, with this code if it says one.
    #[cfg(feature = "websocket")]
    Close(Option<u16>),
}

impl Event<'_> {
    /// The request that it is about, if it is about one.
    pub const fn request(&self) -> Option<u32> {
        match self {
            Event::Interim(number, _)
            | Event::Head(number, _)
            | Event::Body(number, _)
            | Event::Done(number, _)
            | Event::Failed(number, ..) => Some(*number),
            Event::NeedMore | Event::Secured | Event::GoingAway => None,
            #[cfg(feature = "websocket")]
            Event::Message(_) | Event::Ping | Event::Close(_) => None,
        }
    }
}

impl<'b> http1::Event<'b> {
    /// The event, where the reply that is being read answers request `number`.
    pub fn of_request(self, number: u32) -> Event<'b> {
        match self {
            http1::Event::NeedMore => Event::NeedMore,
            http1::Event::Interim(status) => Event::Interim(number, status),
            http1::Event::Head(head) => Event::Head(number, head.into()),
            http1::Event::Body(body) => Event::Body(number, Body::Lent(body)),
            http1::Event::Done(reply) => Event::Done(number, reply),
        }
    }
}

/// The head of a final reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The status, 200 to 999, or 101 over HTTP/1.
    pub status: u16,
    /// Content-Length, if there is one.
    pub length: Option<u64>,
    /// True if the reply sets a cookie: users that keep none, or find none here, skip the fields.
    pub sets_cookie: bool,
    /// The format of its body, if the parts of that are events and no content coding hides them.
    pub events: Option<EventFormat>,
}

impl From<http1::Head> for Head {
    fn from(head: http1::Head) -> Head {
        let length = if let Framing::Length(bytes) = head.framing { Some(bytes) } else { None };
        Head { status: head.status, length, sets_cookie: head.sets_cookie, events: head.events }
    }
}

/// Bytes of a body, transfer codings removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body<'b> {
    /// Some of the bytes that the connection was handed.
    Lent(&'b [u8]),
    /// Bytes that were kept, such as those of a stream of QUIC that came before others.
    Kept(Bytes),
}

impl Deref for Body<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Body::Lent(bytes) => bytes,
            Body::Kept(bytes) => bytes,
        }
    }
}

/// Why a request on a stream failed. HTTP/1 has no streams: without the feature `http2` there is no such
/// error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// Over HTTP/2.
    #[cfg(feature = "http2")]
    #[error("{0}")]
    Http2(http2::StreamError),
    /// Over HTTP/3.
    #[cfg(feature = "http2")]
    #[error("{0}")]
    Http3(http3::StreamError),
}

impl StreamError {
    /// The outcome that a sample of the request records.
    pub const fn outcome(self) -> Outcome {
        match self {
            #[cfg(feature = "http2")]
            StreamError::Http2(error) => error.outcome(),
            #[cfg(feature = "http2")]
            StreamError::Http3(error) => error.outcome(),
        }
    }

    /// The detail beyond the outcome, if there is one. Of a malformed head `http2::Heads` know more.
    pub fn detail(self) -> Option<Detail> {
        match self {
            #[cfg(feature = "http2")]
            StreamError::Http2(error) => error.detail(),
            #[cfg(feature = "http2")]
            StreamError::Http3(error) => error.detail(),
        }
    }

    /// True if the server has not processed the request, so that it may be sent again whatever its method
    /// (RFC 9113 section 8.7, RFC 9114 section 4.1.1).
    pub const fn is_unprocessed(self) -> bool {
        match self {
            #[cfg(feature = "http2")]
            StreamError::Http2(error) => matches!(error, http2::StreamError::Refused),
            #[cfg(feature = "http2")]
            StreamError::Http3(error) => matches!(error, http3::StreamError::Rejected),
        }
    }
}
