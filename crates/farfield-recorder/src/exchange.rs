//! Exchanges: a request, and the reply to it, as far as they are kept. An [open one](OpenExchange) becomes
//! one of the recording's when the last who holds it lets go, however that comes about: the reply has ended,
//! either side has given up, or the recording ends.

use crate::ledger::Ledger;
use farfield_base::Instant;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version, response};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that an exchange takes in memory beside its texts, and each of its fields.
const EXCHANGE_BYTES: usize = 1_024;
const FIELD_BYTES: usize = 192;

/// Copy of a body, as far as there was room for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BodyCopy {
    /// Bytes as they passed, in their coding; none of a body that is left out.
    pub bytes: Vec<u8>,
    /// Bytes that passed.
    pub length: u64,
    /// The body is longer than one may be, or than there was room for, and is left out.
    pub is_left_out: bool,
    /// The body's end has passed.
    pub is_whole: bool,
}

/// A copy that is written while the body passes.
pub(crate) type SharedCopy = Arc<Mutex<BodyCopy>>;

/// A request that passed, with its reply if there was one.
#[derive(Debug, Clone)]
pub struct RecordedExchange {
    /// Instants since the recording began: the request came, all of it that was sent before the reply had
    /// been sent, the reply's head came, and the end.
    pub began: Instant,
    /// The head of the reply came; `None` without a reply.
    pub answered: Option<Instant>,
    /// The reply ended, or was given up.
    pub ended: Instant,
    /// Method of the request.
    pub method: Method,
    /// URL, without credentials and without a fragment.
    pub url: String,
    /// Version of HTTP that the client spoke.
    pub version: Version,
    /// Fields of the request, without those of the connection.
    pub headers: HeaderMap,
    /// Body of the request.
    pub body: BodyCopy,
    /// Reply, if one came.
    pub reply: Option<RecordedReply>,
    /// Reason why no reply came, if that is known.
    pub failure: Option<String>,
    /// Address of the server, if it was reached.
    pub server: Option<IpAddr>,
}

/// A reply that passed.
#[derive(Debug, Clone)]
pub struct RecordedReply {
    /// Status.
    pub status: StatusCode,
    /// Version of HTTP that the server spoke.
    pub version: Version,
    /// Fields, without those of the connection.
    pub headers: HeaderMap,
    /// Content, in its coding.
    pub body: BodyCopy,
}

impl RecordedExchange {
    /// Bytes that it takes in memory at most, beside the bodies.
    pub(crate) fn head_bytes(&self) -> usize {
        let of_reply = self.reply.as_ref().map_or(0, |reply| bytes_of(&reply.headers));
        let of_failure = self.failure.as_ref().map_or(0, String::len);
        EXCHANGE_BYTES + self.url.len() + bytes_of(&self.headers) + of_reply + of_failure
    }

    /// True if the connection became one of another protocol, such as a WebSocket.
    pub fn is_upgrade(&self) -> bool {
        self.reply.as_ref().is_some_and(|reply| reply.status == StatusCode::SWITCHING_PROTOCOLS)
    }
}

/// Bytes that fields take in memory.
fn bytes_of(headers: &HeaderMap) -> usize {
    let field = |(name, value): (&HeaderName, &HeaderValue)| FIELD_BYTES + name.as_str().len() + value.len();
    headers.iter().map(field).sum()
}

/// A copy of fields. Those of a message are parts of the buffer that it was read into, which a name or a
/// value alone would keep in memory as a whole.
fn copied(headers: &HeaderMap) -> HeaderMap {
    let field = |(name, value): (&HeaderName, &HeaderValue)| {
        let name = HeaderName::from_bytes(name.as_str().as_bytes()).ok()?;
        Some((name, HeaderValue::from_bytes(value.as_bytes()).ok()?))
    };
    headers.iter().filter_map(field).collect()
}

/// An exchange that goes on.
pub(crate) struct OpenExchange {
    ledger: Arc<Ledger>,
    /// `None` once it is closed.
    exchange: Option<RecordedExchange>,
    request: SharedCopy,
    reply: SharedCopy,
}

impl OpenExchange {
    /// An exchange that begins now.
    pub(crate) fn new(
        ledger: &Arc<Ledger>,
        method: &Method,
        url: String,
        version: Version,
        headers: &HeaderMap,
    ) -> OpenExchange {
        let now = ledger.clock.now();
        let exchange = RecordedExchange {
            began: now,
            answered: None,
            ended: now,
            method: method.clone(),
            url,
            version,
            headers: copied(headers),
            body: BodyCopy::default(),
            reply: None,
            failure: None,
            server: None,
        };
        let ledger = Arc::clone(ledger);
        ledger.begin();
        OpenExchange { ledger, exchange: Some(exchange), request: Arc::default(), reply: Arc::default() }
    }

    /// Copy of the request's body.
    pub(crate) fn request_copy(&self) -> SharedCopy {
        Arc::clone(&self.request)
    }

    /// Copy of the reply's content.
    pub(crate) fn reply_copy(&self) -> SharedCopy {
        Arc::clone(&self.reply)
    }

    /// The head of the reply came, from the server at `address`.
    pub(crate) fn answered(&mut self, head: &response::Parts, address: IpAddr) {
        let now = self.ledger.clock.now();
        if let Some(exchange) = &mut self.exchange {
            exchange.answered = Some(now);
            exchange.server = Some(address);
            let (status, version, headers) = (head.status, head.version, copied(&head.headers));
            exchange.reply = Some(RecordedReply { status, version, headers, body: BodyCopy::default() });
        }
    }

    /// There is no reply, for this reason.
    pub(crate) fn failed(mut self, reason: String) {
        if let Some(exchange) = &mut self.exchange {
            exchange.failure = Some(reason);
        }
    }
}

impl Drop for OpenExchange {
    fn drop(&mut self) {
        let Some(mut exchange) = self.exchange.take() else { return };
        exchange.ended = self.ledger.clock.now();
        exchange.body = taken(&self.request);
        if let Some(reply) = &mut exchange.reply {
            reply.body = taken(&self.reply);
        }
        self.ledger.keep(exchange);
    }
}

/// The copy so far; what comes later is not kept.
fn taken(copy: &SharedCopy) -> BodyCopy {
    let rest = BodyCopy { is_left_out: true, ..BodyCopy::default() };
    let mut taken = std::mem::replace(&mut *copy.lock().unwrap_or_else(PoisonError::into_inner), rest);
    taken.bytes.shrink_to_fit();
    taken
}
