//! The protocol of a connection, of those that there are: a line each.

use crate::exchange::Exchange;
use crate::http1::Http1;
use crate::http2::Http2;
use crate::http3::Http3;
use crate::itinerary::Itinerary;
use crate::protocol::{Carriage, Protocol};
use crate::websocket::WebSocket;
use farfield_base::{Instant, SpokenVersion};
use farfield_http::http1::Limits;
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

/// The answer of the protocol that it is, which `$own` stands for: by a choice among them, and not by a table
/// of functions, since every request asks.
macro_rules! answer {
    ($protocol:expr, $own:ident => $answer:expr) => {
        match $protocol {
            AnyProtocol::Http1($own) => $answer,
            AnyProtocol::Http2($own) => $answer,
            AnyProtocol::Http3($own) => $answer,
            AnyProtocol::WebSocket($own) => $answer,
        }
    };
}

/// Questions of [`Protocol`] that each request or connection asks.
impl AnyProtocol {
    pub fn has_streams(&self) -> bool {
        answer!(self, own => own.has_streams())
    }

    pub fn carriage(&self) -> Carriage {
        answer!(self, own => own.carriage())
    }

    pub fn write(&mut self, itinerary: &mut Itinerary, in_flight: &[Exchange]) {
        answer!(self, own => own.write(itinerary, in_flight));
    }

    pub fn write_waiting(&mut self, itinerary: &mut Itinerary, in_flight: &[Exchange]) {
        answer!(self, own => own.write_waiting(itinerary, in_flight));
    }

    pub fn begin_early(&mut self) -> bool {
        answer!(self, own => own.begin_early())
    }

    pub fn unsent(&self) -> &[u8] {
        answer!(self, own => own.unsent())
    }

    pub fn forget_unsent(&mut self) {
        answer!(self, own => own.forget_unsent());
    }

    pub fn end_sending(&mut self) -> usize {
        answer!(self, own => own.end_sending())
    }

    pub fn note_sent(&mut self, in_flight: &mut [Exchange], end: u32, sent: Instant) {
        answer!(self, own => own.note_sent(in_flight, end, sent));
    }

    pub fn say_goodbye(&mut self, ending: bool) -> bool {
        answer!(self, own => own.say_goodbye(ending))
    }
}

impl AnyProtocol {
    /// The protocol of a connection of TCP on which `spoken` is spoken.
    pub fn over_tcp(spoken: SpokenVersion, limits: Limits) -> AnyProtocol {
        match spoken {
            SpokenVersion::Http2 => AnyProtocol::Http2(Box::new(Http2::new(limits))),
            SpokenVersion::Http10 | SpokenVersion::Http11 | SpokenVersion::Http3 => AnyProtocol::default(),
        }
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
