//! Bodies that pass, of which a copy is kept. A frame is passed on as it comes: nothing waits for a copy, and
//! what a copy has no room for passes all the same.

use crate::exchange::{OpenExchange, SharedCopy};
use crate::ledger::Ledger;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll};

/// Body that passes.
pub(crate) struct TeeBody {
    /// `None` without a body.
    inner: Option<Incoming>,
    copy: Option<(Arc<Ledger>, SharedCopy)>,
    /// The exchange whose reply it is, which ends with it.
    _exchange: Option<OpenExchange>,
}

impl TeeBody {
    /// A body of which nothing is kept.
    pub(crate) fn unrecorded(inner: Incoming) -> TeeBody {
        TeeBody { inner: Some(inner), copy: None, _exchange: None }
    }

    /// No body.
    pub(crate) fn none() -> TeeBody {
        TeeBody { inner: None, copy: None, _exchange: None }
    }

    /// The body of a request, whose copy is kept.
    pub(crate) fn of_request(inner: Incoming, ledger: &Arc<Ledger>, exchange: &OpenExchange) -> TeeBody {
        let copy = Some((Arc::clone(ledger), exchange.request_copy()));
        TeeBody { inner: Some(inner), copy, _exchange: None }
    }

    /// The content of a reply, with which the exchange ends.
    pub(crate) fn of_reply(inner: Incoming, ledger: &Arc<Ledger>, exchange: OpenExchange) -> TeeBody {
        let copy = exchange.reply_copy();
        let copy = Some((Arc::clone(ledger), copy));
        TeeBody { inner: Some(inner), copy, _exchange: Some(exchange) }
    }

    /// Notes that the end has passed.
    fn close(&mut self) {
        if let Some((_, copy)) = self.copy.take() {
            copy.lock().unwrap_or_else(PoisonError::into_inner).is_whole = true;
        }
    }
}

impl Body for TeeBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(inner) = &mut self.inner else { return Poll::Ready(None) };
        let polled = Pin::new(inner).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                if let (Some(piece), Some((ledger, copy))) = (frame.data_ref(), &self.copy) {
                    ledger.copy(&mut copy.lock().unwrap_or_else(PoisonError::into_inner), piece);
                }
            }
            Poll::Ready(None) => self.close(),
            _ => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or(SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for TeeBody {
    fn drop(&mut self) {
        // A body whose length is known is not asked for more once that has passed.
        if self.is_end_stream() {
            self.close();
        }
    }
}

/// Body of a reply to a client.
pub(crate) enum ClientReplyBody {
    /// A sentence of the recorder's own.
    Sentence(Full<Bytes>),
    /// A server's content.
    Passing(Box<TeeBody>),
}

impl Body for ClientReplyBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut *self {
            ClientReplyBody::Sentence(body) => {
                Pin::new(body).poll_frame(context).map_err(|never| match never {})
            }
            ClientReplyBody::Passing(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            ClientReplyBody::Sentence(body) => body.is_end_stream(),
            ClientReplyBody::Passing(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ClientReplyBody::Sentence(body) => body.size_hint(),
            ClientReplyBody::Passing(body) => body.size_hint(),
        }
    }
}
