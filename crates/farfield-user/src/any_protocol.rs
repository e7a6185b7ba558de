//! The protocol of a connection, of those that there are: a line each.

use crate::http1::Http1;
use crate::http2::Http2;
use crate::http3::Http3;
use crate::protocol::Protocol;
use crate::websocket::WebSocket;
use std::ops::{Deref, DerefMut};

/// The protocols that users speak. Before its version is known a connection speaks HTTP/1, which is what a
/// proxy answers in.
#[derive(Debug)]
pub(crate) enum AnyProtocol {
    Http1(Http1),
    Http2(Box<Http2>),
    Http3(Box<Http3>),
    WebSocket(Box<WebSocket>),
}

impl AnyProtocol {
    /// The streams of HTTP/2.
    pub fn http2(&mut self) -> Option<&mut Http2> {
        if let AnyProtocol::Http2(own) = self { Some(own) } else { None }
    }

    /// The WebSocket that the connection was upgraded to.
    pub fn websocket(&mut self) -> Option<&mut WebSocket> {
        if let AnyProtocol::WebSocket(own) = self { Some(own) } else { None }
    }

    /// True if it was upgraded to a WebSocket.
    pub fn is_websocket(&self) -> bool {
        matches!(self, AnyProtocol::WebSocket(_))
    }

    /// The streams of HTTP/3, and their connection of QUIC.
    pub fn http3(&mut self) -> Option<&mut Http3> {
        if let AnyProtocol::Http3(own) = self { Some(own) } else { None }
    }
}

impl Default for AnyProtocol {
    fn default() -> AnyProtocol {
        AnyProtocol::Http1(Http1::default())
    }
}

impl Deref for AnyProtocol {
    type Target = dyn Protocol;

    fn deref(&self) -> &Self::Target {
        match self {
            AnyProtocol::Http1(own) => own,
            AnyProtocol::Http2(own) => &**own,
            AnyProtocol::Http3(own) => &**own,
            AnyProtocol::WebSocket(own) => &**own,
        }
    }
}

impl DerefMut for AnyProtocol {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            AnyProtocol::Http1(own) => own,
            AnyProtocol::Http2(own) => &mut **own,
            AnyProtocol::Http3(own) => &mut **own,
            AnyProtocol::WebSocket(own) => &mut **own,
        }
    }
}
