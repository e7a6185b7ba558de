//! Small web servers of farfield's own: the workbench, the page of a run, and the metrics of a run.
//!
//! A [`Server`] answers HTTP/1 on a thread of its own, by a [`Site`] that knows nothing of sockets. Every
//! request first passes the [`guard`]: its Host, its Origin and its token. Nothing is kept of a
//! request, and what a client sends is bounded; a client that takes no more of a stream of events is
//! disconnected. Answers that take their time are made in [lanes](work) of their own.

pub mod events;
pub mod guard;
pub mod work;

use bytes::Bytes;
use events::Events;
use farfield_base::{Backoff, printable};
use farfield_os::IdleThread;
use guard::Guard;
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Frame, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread::{Builder, JoinHandle};
use tokio::sync::{Semaphore, oneshot};
use work::{LaneLimits, Lanes, Work};

/// The longest body of a request.
const BODY_BYTES_MAX: usize = 1 << 20;
/// Connections at once; later ones wait to be accepted.
const CONNECTIONS_MAX: usize = 128;

/// The source of a server's answers.
pub trait Site: Send + Sync + 'static {
    /// True if whoever reaches the server may read this path without the token: files of a page, which are
    /// the same everywhere.
    fn is_public(&self, path: &str) -> bool;

    /// The kind of work that the answer to a request takes.
    fn work(&self, asked: &WebRequest) -> Work;

    /// The answer to a request that has passed the guard. It may read files; it waits for nothing else.
    fn answer(&self, asked: &WebRequest) -> WebReply;
}

/// A request.
#[derive(Debug)]
pub struct WebRequest {
    pub method: Method,
    pub path: String,
    /// The query, percent-decoded.
    pub query: Vec<(String, String)>,
    pub body: Bytes,
}

impl WebRequest {
    /// The first value of a name in the query.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// A reply.
#[derive(Debug)]
pub struct WebReply {
    status: StatusCode,
    kind: &'static str,
    policy: &'static str,
    more: Vec<(HeaderName, HeaderValue)>,
    body: AnswerBody,
}

/// The policy of the workbench's own pages: nothing but the server's own files, no script or style in a
/// page, in no frame of another page.
const OWN_PAGES: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                         connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; \
                         frame-ancestors 'none'";
/// The policy of reports: they are as strange as the runs they are of. Without an origin of its own,
/// nothing in such a page could ask the workbench for anything. The report's own policy in the page applies
/// as well.
const STRANGE_PAGES: &str = "sandbox allow-scripts allow-downloads; default-src 'none'; style-src 'unsafe-inline'; \
                             script-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'; \
                             frame-ancestors 'self'";

impl WebReply {
    fn new(status: StatusCode, kind: &'static str, body: AnswerBody) -> WebReply {
        WebReply { status, kind, policy: OWN_PAGES, more: Vec::new(), body }
    }

    /// A file of this content type.
    pub fn file(kind: &'static str, body: impl Into<Bytes>) -> WebReply {
        WebReply::new(StatusCode::OK, kind, AnswerBody::Whole(Some(body.into())))
    }

    /// A document of JSON.
    pub fn json(value: &serde_json::Value) -> WebReply {
        WebReply::file("application/json", value.to_string())
    }

    /// With another status.
    pub fn of(self, status: StatusCode) -> WebReply {
        WebReply { status, ..self }
    }

    /// A page that was made of a run directory.
    pub fn strange_page(page: String) -> WebReply {
        WebReply { policy: STRANGE_PAGES, ..WebReply::file("text/html; charset=utf-8", page) }
    }

    /// A stream of events.
    pub fn events(events: Events) -> WebReply {
        WebReply::new(StatusCode::OK, "text/event-stream", AnswerBody::Events(events))
    }

    /// A sentence that says what is wrong, as JSON: `{"error": …}`.
    pub fn refusal(status: StatusCode, sentence: &str) -> WebReply {
        let body = serde_json::json!({ "error": sentence }).to_string();
        WebReply::new(status, "application/json", AnswerBody::Whole(Some(body.into())))
    }

    /// A sentence that says what is wrong, for a reader.
    pub fn sentence(status: StatusCode, sentence: &str) -> WebReply {
        let body = Bytes::from(format!("{}\n", printable(sentence, &[])));
        WebReply::new(status, "text/plain; charset=utf-8", AnswerBody::Whole(Some(body)))
    }

    /// There is nothing at this path.
    pub fn nothing() -> WebReply {
        WebReply::refusal(StatusCode::NOT_FOUND, "there is nothing at this path")
    }

    #[cfg(test)]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    #[cfg(test)]
    pub fn policy(&self) -> &'static str {
        self.policy
    }

    /// The body, if it is no stream.
    #[cfg(test)]
    pub fn whole(&self) -> &[u8] {
        match &self.body {
            AnswerBody::Whole(Some(body)) => body,
            _ => &[],
        }
    }

    /// With a field more.
    pub fn with(mut self, name: HeaderName, value: &'static str) -> WebReply {
        self.more.push((name, HeaderValue::from_static(value)));
        self
    }

    fn into_response(self) -> Response<AnswerBody> {
        let mut response = Response::new(self.body);
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        for (name, value) in [
            (header::CONTENT_TYPE, self.kind),
            (header::CONTENT_SECURITY_POLICY, self.policy),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::CACHE_CONTROL, "no-store"),
            (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
            (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers.extend(self.more);
        response
    }
}

#[derive(Debug)]
enum AnswerBody {
    Whole(Option<Bytes>),
    Events(Events),
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            AnswerBody::Whole(body) => Poll::Ready(body.take().map(|body| Ok(Frame::data(body)))),
            AnswerBody::Events(events) => {
                events.poll(context).map(|event| event.map(|it| Ok(Frame::data(it))))
            }
        }
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        match self {
            AnswerBody::Whole(body) => {
                hyper::body::SizeHint::with_exact(body.as_ref().map_or(0, |body| body.len() as u64))
            }
            AnswerBody::Events(_) => hyper::body::SizeHint::default(),
        }
    }
}

/// The priority of a server's threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// The priority of any program.
    Normal,
    /// Only where a processor is idle: beside a run, which must not wait for a reader.
    Idle,
}

/// A server that answers until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<ServingThread>,
}

/// The thread of a server.
#[derive(Debug)]
enum ServingThread {
    Normal(JoinHandle<()>),
    Idle(IdleThread),
}

impl ServingThread {
    fn is_finished(&self) -> bool {
        match self {
            ServingThread::Normal(thread) => thread.is_finished(),
            ServingThread::Idle(thread) => thread.is_finished(),
        }
    }

    /// Waits for its end. A panic was reported by it.
    fn join(self) {
        match self {
            ServingThread::Normal(thread) => drop(thread.join()),
            ServingThread::Idle(thread) => thread.join(),
        }
    }
}

impl Server {
    /// Answers on `listener` by `site`, what has passed `guard`.
    pub fn begin(
        listener: TcpListener,
        priority: Priority,
        guard: Guard,
        site: Arc<dyn Site>,
    ) -> io::Result<Server> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let (stop, stopped) = oneshot::channel();
        let bounds = LaneLimits::default();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(bounds.threads_of_all())
            .build()?;
        // Threads that it starts have its priority.
        let serve = move || {
            let guarded = Arc::new(Guarded { guard, site, lanes: Lanes::new(bounds) });
            runtime.block_on(async {
                tokio::select! {
                    () = accept(listener, guarded) => {}
                    _ = stopped => {}
                }
            });
            // Answers that are still being made are left alone.
            runtime.shutdown_background();
        };
        let thread = match priority {
            Priority::Idle => ServingThread::Idle(IdleThread::spawn("web", serve)?),
            Priority::Normal => ServingThread::Normal(Builder::new().name("web".to_owned()).spawn(serve)?),
        };
        Ok(Server { address, stop: Some(stop), thread: Some(thread) })
    }

    /// True if it has ended by itself, by a defect that its thread has reported on standard error.
    pub fn has_died(&self) -> bool {
        self.thread.as_ref().is_some_and(ServingThread::is_finished)
    }

    /// The address that it answers on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // An error means that it has ended.
        let _ = self.stop.take().map(|stop| stop.send(()));
        if let Some(thread) = self.thread.take() {
            thread.join();
        }
    }
}

/// A site behind its guard.
struct Guarded {
    guard: Guard,
    site: Arc<dyn Site>,
    lanes: Lanes,
}

async fn accept(listener: TcpListener, guarded: Arc<Guarded>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut backoff = Backoff::default();
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // A client that is gone already says nothing of the next; without descriptors the next fails
                // as well, and waits in the queue.
                if error.kind() != io::ErrorKind::ConnectionAborted {
                    tokio::time::sleep(backoff.pause().to_std()).await;
                }
                continue;
            }
        };
        backoff.reset();
        let guarded = Arc::clone(&guarded);
        tokio::spawn(async move {
            let service = service_fn(move |request| answered(request, Arc::clone(&guarded)));
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(std::time::Duration::from_secs(30));
            // The end of a connection is its client's affair.
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
            drop(permit);
        });
    }
}

async fn answered(
    request: Request<Incoming>,
    guarded: Arc<Guarded>,
) -> Result<Response<AnswerBody>, Infallible> {
    let (head, body) = request.into_parts();
    let query = query_of(head.uri.query().unwrap_or_default());
    let path = head.uri.path().to_owned();
    if let Err(refused) = guarded.guard.judge(&head.method, &head.headers, guarded.site.is_public(&path)) {
        return Ok(refused.answer().into_response());
    }
    let Ok(body) = Limited::new(body, BODY_BYTES_MAX).collect().await else {
        let sentence = "the request has a body of more than 1 MiB, or broke off";
        return Ok(WebReply::refusal(StatusCode::PAYLOAD_TOO_LARGE, sentence).into_response());
    };
    let asked = WebRequest { method: head.method, path, query, body: body.to_bytes() };
    let (work, site) = (guarded.site.work(&asked), Arc::clone(&guarded.site));
    Ok(guarded.lanes.answer(work, move || site.answer(&asked)).await.into_response())
}

/// The names and values of a query, percent-decoded (WHATWG URL, `application/x-www-form-urlencoded`).
pub fn query_of(query: &str) -> Vec<(String, String)> {
    let pair = |part: &str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (percent_decoded(&name.replace('+', " ")), percent_decoded(&value.replace('+', " ")))
    };
    query.split('&').filter(|part| !part.is_empty()).map(pair).collect()
}

/// `text` with its percent-encoded bytes decoded; what is no UTF-8 then is replaced.
pub fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut decoded, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 3).and_then(|two| std::str::from_utf8(two).ok());
        match digits.filter(|_| bytes[at] == b'%').and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// The value of a header that a client may send once.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    let first = values.next().map(HeaderValue::to_str).transpose().map_err(|_| ())?;
    if values.next().is_some() { Err(()) } else { Ok(first) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_decoded_once() {
        let found = query_of("a=1%202&b=%2525&c&&d=+x%zz%e4");
        let found: Vec<(&str, &str)> = found.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(found, [("a", "1 2"), ("b", "%25"), ("c", ""), ("d", " x%zz\u{fffd}")]);
    }
}
