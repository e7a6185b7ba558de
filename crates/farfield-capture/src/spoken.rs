//! The HTTP of a connection, of the version that its first bytes show, within TLS or not.

use crate::http::{self, HttpCounts, HttpLimits};
use crate::http2;
use crate::instant::UnixNs;
use crate::secrets::Secrets;
use crate::stream::{StreamContent, StreamOffset, StreamPiece};
use crate::tls::{self, ApplicationData, Session, TlsCounts};
use crate::transaction::Transaction;
use std::sync::Arc;

/// A conversation of either version.
#[derive(Debug)]
pub(crate) enum HttpConversation {
    Http1(Box<http::Conversation>),
    Http2(Box<http2::Conversation>),
    Tls(Box<TlsConversation>),
}

/// A conversation within a session of TLS.
#[derive(Debug)]
pub(crate) struct TlsConversation {
    session: Session,
    /// The conversation inside, once something was said.
    inner: Option<HttpConversation>,
    limits: HttpLimits,
}

impl HttpConversation {
    /// The conversation that begins with `piece`, of the client or the server, at the beginning of its
    /// connection or in the middle. TLS is read where there are `secrets`.
    pub fn begin(
        from_start: bool,
        by_client: bool,
        piece: &StreamPiece<'_>,
        limits: HttpLimits,
        secrets: Option<&Arc<Secrets>>,
    ) -> HttpConversation {
        if let (StreamContent::Bytes(bytes), Some(secrets)) = (piece.what, secrets)
            && from_start
            && by_client
            && tls::begins(bytes)
        {
            let session = Session::new(Arc::clone(secrets));
            return HttpConversation::Tls(Box::new(TlsConversation { session, inner: None, limits }));
        }
        match piece.what {
            StreamContent::Bytes(bytes) if from_start && http2::is_begun(bytes, by_client) => {
                HttpConversation::Http2(Box::new(http2::Conversation::new(limits)))
            }
            _ => HttpConversation::Http1(Box::new(http::Conversation::new(from_start, limits))),
        }
    }

    /// Takes in what the client sent.
    pub fn handle_request(&mut self, piece: &StreamPiece<'_>) {
        match self {
            HttpConversation::Http1(http) => http.handle_request(piece),
            HttpConversation::Http2(http) => http.handle_request(piece),
            HttpConversation::Tls(secured) => secured.handle(true, piece, 0),
        }
    }

    /// Takes in what the server sent, in packets that acknowledge the client's direction up to `acked`.
    pub fn handle_reply(&mut self, piece: &StreamPiece<'_>, acked: StreamOffset) {
        match self {
            HttpConversation::Http1(http) => http.handle_reply(piece, acked),
            HttpConversation::Http2(http) => http.handle_reply(piece),
            HttpConversation::Tls(secured) => secured.handle(false, piece, acked),
        }
    }

    /// Requests so far.
    pub fn requests(&self) -> u32 {
        match self {
            HttpConversation::Http1(http) => http.requests(),
            HttpConversation::Http2(http) => http.requests(),
            HttpConversation::Tls(secured) => secured.inner.as_ref().map_or(0, HttpConversation::requests),
        }
    }

    /// The instant at which the server said that it takes no more requests.
    pub fn going_away(&self) -> Option<UnixNs> {
        match self {
            HttpConversation::Http1(_) => None,
            HttpConversation::Http2(http) => http.going_away(),
            HttpConversation::Tls(secured) => secured.inner.as_ref().and_then(HttpConversation::going_away),
        }
    }

    /// Counts of what could not be read.
    pub fn counts(&self) -> HttpCounts {
        match self {
            HttpConversation::Http1(http) => http.counts(),
            HttpConversation::Http2(http) => http.counts(),
            HttpConversation::Tls(secured) => {
                secured.inner.as_ref().map_or_else(HttpCounts::default, HttpConversation::counts)
            }
        }
    }

    /// Counts of what could not be read of a session of TLS, if it is one, and the instant at which its
    /// handshake was done.
    pub fn tls(&self) -> Option<(TlsCounts, Option<UnixNs>)> {
        match self {
            HttpConversation::Http1(_) | HttpConversation::Http2(_) => None,
            HttpConversation::Tls(secured) => Some((secured.session.counts(), secured.session.secured())),
        }
    }

    /// Notes that one direction was not captured at all: what seems not to be over may have been.
    pub fn doubt(&mut self) {
        match self {
            HttpConversation::Http1(http) => http.doubt(),
            HttpConversation::Http2(http) => http.doubt(),
            HttpConversation::Tls(secured) => secured.inner.iter_mut().for_each(HttpConversation::doubt),
        }
    }

    /// The next transaction that is over; if the connection `ended`, the next of all.
    pub fn poll_transaction(&mut self, connection: u32, ended: bool) -> Option<Transaction> {
        match self {
            HttpConversation::Http1(http) => http.poll_transaction(connection, ended),
            HttpConversation::Http2(http) => http.poll_transaction(connection, ended),
            HttpConversation::Tls(secured) => {
                if ended {
                    secured.finish();
                }
                secured.inner.as_mut()?.poll_transaction(connection, ended)
            }
        }
    }
}

impl TlsConversation {
    /// Takes in what an end sent.
    fn handle(&mut self, by_client: bool, piece: &StreamPiece<'_>, acked: StreamOffset) {
        let TlsConversation { session, inner, limits } = self;
        session.handle(by_client, piece, &mut |said| hear(inner, said, *limits, acked));
    }

    fn finish(&mut self) {
        let TlsConversation { session, inner, limits } = self;
        session.finish(&mut |said| hear(inner, said, *limits, 0));
    }
}

/// Hands what was said to the conversation, which it begins.
fn hear(
    inner: &mut Option<HttpConversation>,
    said: ApplicationData<'_>,
    limits: HttpLimits,
    acked: StreamOffset,
) {
    let ApplicationData { by_client, is_http2, piece } = said;
    let spoken = match inner {
        Some(spoken) => spoken,
        None if piece.what == StreamContent::Fin => return,
        None if is_http2 => inner.insert(HttpConversation::Http2(Box::new(http2::Conversation::new(limits)))),
        None => inner.insert(HttpConversation::begin(true, by_client, &piece, limits, None)),
    };
    match by_client {
        true => spoken.handle_request(&piece),
        false => spoken.handle_reply(&piece, acked),
    }
}
