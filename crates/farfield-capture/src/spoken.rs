//! The HTTP of a connection, of the version that its first bytes show.

use crate::http::{self, HttpCounts, HttpLimits};
use crate::http2;
use crate::instant::UnixNs;
use crate::stream::{Next, Piece, StreamOffset};
use crate::transaction::Transaction;

/// A conversation of either version.
#[derive(Debug)]
pub(crate) enum Spoken {
    Http1(Box<http::Conversation>),
    Http2(Box<http2::Conversation>),
}

impl Spoken {
    /// The conversation that begins with `piece`, of the client or the server, at the beginning of its
    /// connection or in the middle.
    pub fn begin(from_start: bool, by_client: bool, piece: &Piece<'_>, limits: HttpLimits) -> Spoken {
        match piece.what {
            Next::Bytes(bytes) if from_start && http2::is_begun(bytes, by_client) => {
                Spoken::Http2(Box::new(http2::Conversation::new(limits)))
            }
            _ => Spoken::Http1(Box::new(http::Conversation::new(from_start, limits))),
        }
    }

    /// Takes in what the client sent.
    pub fn handle_request(&mut self, piece: &Piece<'_>) {
        match self {
            Spoken::Http1(http) => http.handle_request(piece),
            Spoken::Http2(http) => http.handle_request(piece),
        }
    }

    /// Takes in what the server sent, in packets that acknowledge the client's direction up to `acked`.
    pub fn handle_reply(&mut self, piece: &Piece<'_>, acked: StreamOffset) {
        match self {
            Spoken::Http1(http) => http.handle_reply(piece, acked),
            Spoken::Http2(http) => http.handle_reply(piece),
        }
    }

    /// Requests so far.
    pub fn requests(&self) -> u32 {
        match self {
            Spoken::Http1(http) => http.requests(),
            Spoken::Http2(http) => http.requests(),
        }
    }

    /// When the server said that it takes no more requests.
    pub fn going_away(&self) -> Option<UnixNs> {
        match self {
            Spoken::Http1(_) => None,
            Spoken::Http2(http) => http.going_away(),
        }
    }

    /// What could not be read.
    pub fn counts(&self) -> HttpCounts {
        match self {
            Spoken::Http1(http) => http.counts(),
            Spoken::Http2(http) => http.counts(),
        }
    }

    /// One direction was not captured at all: what seems not to be over may have been.
    pub fn doubt(&mut self) {
        match self {
            Spoken::Http1(http) => http.doubt(),
            Spoken::Http2(http) => http.doubt(),
        }
    }

    /// The next transaction that is over; if the connection `ended`, the next of all.
    pub fn poll_transaction(&mut self, connection: u32, ended: bool) -> Option<Transaction> {
        match self {
            Spoken::Http1(http) => http.poll_transaction(connection, ended),
            Spoken::Http2(http) => http.poll_transaction(connection, ended),
        }
    }
}
