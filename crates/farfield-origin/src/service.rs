//! Service of one request: reads its body, waits for its turn in the queue, decides whether it fails, and
//! replies from prepared parts.
//!
//! On this path nothing is formatted (but the count that `/echo-length` answers with) and nothing is locked
//! but the queue, where there is one.

use crate::body::ReplyBody;
use crate::clock::Clock;
use crate::config::OriginConfig;
use crate::events::EventBody;
use crate::failures::Failures;
use crate::fault::Faults;
use crate::queue::ServiceQueue;
use crate::root::{File, Files};
use crate::route::{ObjectKind, PathRefusal, Route};
use crate::site::Site;
use crate::websocket::{self, PendingUpgrade};
use farfield_base::random::Seed;
use farfield_base::{Duration, Instant};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::header::{ALT_SVC, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, UPGRADE};
use hyper::http::request;
use hyper::{Method, Request, Response, StatusCode, Version};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Counters of an origin since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Connections accepted.
    pub connections: u64,
    /// Accepted connections that are still open.
    pub connections_open: u64,
    /// Times that accepting failed, mostly for want of descriptors.
    pub accept_failures: u64,
    /// The system's number of the last such error; 0 if there was none.
    pub accept_error: i32,
    /// Requests whose head was read.
    pub requests: u64,
    /// Requests that were answered: the reply was handed to the connection.
    pub answered: u64,
    /// Requests that were answered with 503 by the error rate.
    pub errors: u64,
}

/// [`Counters`] while they count.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) connections: AtomicU64,
    pub(crate) connections_closed: AtomicU64,
    pub(crate) accept_failures: AtomicU64,
    pub(crate) accept_error: AtomicI32,
    requests: AtomicU64,
    answered: AtomicU64,
    errors: AtomicU64,
}

impl Tally {
    /// The counts now. Each is exact; they may be a moment apart from each other.
    pub(crate) fn counters(&self) -> Counters {
        // Closed before accepted, so that the difference is never below zero.
        let closed = self.connections_closed.load(Relaxed);
        let connections = self.connections.load(Relaxed);
        Counters {
            connections,
            connections_open: connections.saturating_sub(closed),
            accept_failures: self.accept_failures.load(Relaxed),
            accept_error: self.accept_error.load(Relaxed),
            requests: self.requests.load(Relaxed),
            answered: self.answered.load(Relaxed),
            errors: self.errors.load(Relaxed),
        }
    }
}

/// State that all connections of an origin share.
#[derive(Debug)]
pub(crate) struct Service {
    files: Files,
    site: Site,
    clock: Clock,
    service_time: Duration,
    queue: Option<Mutex<ServiceQueue>>,
    failures: Failures,
    faults: Faults,
    /// The instant of the first request, from which the faults count.
    first_request: OnceLock<Instant>,
    keep_alive_requests: Option<NonZeroU32>,
    /// The value of Alt-Svc in replies.
    alt_svc: Option<HeaderValue>,
    pub(crate) tally: Tally,
}

type Reply = Response<ReplyBody>;

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const BINARY: HeaderValue = HeaderValue::from_static("application/octet-stream");
const STYLE_SHEET: HeaderValue = HeaderValue::from_static("text/css");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const SCRIPT: HeaderValue = HeaderValue::from_static("text/javascript");
const IMAGE: HeaderValue = HeaderValue::from_static("image/png");
const CLOSE: HeaderValue = HeaderValue::from_static("close");

impl Service {
    pub(crate) fn new(config: &OriginConfig, files: Files) -> Service {
        let seed = Seed(config.seed);
        Service {
            files,
            site: Site::generate(config.site, seed),
            clock: Clock::start(),
            service_time: config.service_time,
            queue: config.servers.map(|servers| Mutex::new(ServiceQueue::new(servers))),
            failures: Failures::new(seed, config.error_rate),
            faults: Faults::new(config),
            first_request: OnceLock::new(),
            keep_alive_requests: config.keep_alive_requests,
            alt_svc: config
                .alt_svc
                .as_deref()
                .filter(|_| config.is_secure())
                .and_then(|own| own.parse().ok()),
            tally: Tally::default(),
        }
    }

    pub(crate) fn site(&self) -> &Site {
        &self.site
    }

    /// Answers a request of HTTP/1 or HTTP/2, the `nth` of its connection (from 1). An error ends the
    /// connection; over HTTP/2, the stream.
    pub(crate) async fn answer(&self, request: Request<Incoming>, nth: u32) -> hyper::Result<Reply> {
        let number = self.note_request();
        let (head, body) = request.into_parts();
        // All of the body is read on every path: what is left of it would cost the connection.
        let received = read_to_end(body).await?;
        Ok(self.reply(&head, number, received, nth).await)
    }

    /// The reply that opens the WebSocket that a request asks for, and what follows it, if it does.
    pub(crate) async fn open(&self, request: &mut Request<Incoming>) -> Option<(Reply, PendingUpgrade)> {
        let Ok(Route::WebSocket(plan)) = Route::parse(request.uri().path()) else { return None };
        let opened = websocket::open(request, plan, ReplyBody::Empty)?;
        self.serve_message().await;
        Some(opened)
    }

    /// Serves a message of a WebSocket as a request, which counts as one.
    pub(crate) async fn serve_message(&self) {
        let number = self.note_request();
        self.serve(Ok(Route::WebSocket(None)), number).await;
        self.tally.answered.fetch_add(1, Relaxed);
    }

    /// The origin's clock.
    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    /// Counts a request whose head was read, and returns its number.
    pub(crate) fn note_request(&self) -> u64 {
        self.tally.requests.fetch_add(1, Relaxed)
    }

    /// The reply to a request of this number with `head`, the `nth` of its connection, of whose body so many
    /// bytes were `received`.
    pub(crate) async fn reply(&self, head: &request::Parts, number: u64, received: u64, nth: u32) -> Reply {
        let file = self.files.find(head.uri.path());
        let route = match file {
            Some(_) => Err(PathRefusal::Unknown), // unused: the file is the reply
            None => Route::parse(head.uri.path()),
        };
        let is_http1 = head.version < Version::HTTP_2;
        let head_alone = head.method == Method::HEAD && !is_http1;
        self.serve(route, number).await;
        let mut reply = if self.failures.strikes(number) {
            self.tally.errors.fetch_add(1, Relaxed);
            reply(StatusCode::SERVICE_UNAVAILABLE, TEXT, text("Failed on purpose, by the error rate.\n"))
        } else if let Some(File { content_type, body }) = file {
            reply(StatusCode::OK, content_type, ReplyBody::Whole(body))
        } else {
            route.and_then(|route| self.reply_to(route, received)).unwrap_or_else(refuse)
        };
        // HTTP/2 and HTTP/3 have no such field; the connection itself announces its end there.
        if is_http1 && self.keep_alive_requests.is_some_and(|limit| nth >= limit.get()) {
            reply.headers_mut().insert(CONNECTION, CLOSE);
        }
        if let Some(value) = &self.alt_svc {
            reply.headers_mut().insert(ALT_SVC, value.clone());
        }
        self.tally.answered.fetch_add(1, Relaxed);
        if head_alone { without_body(reply) } else { reply }
    }

    /// Waits until a server has served the request and, on `/delay`, that much longer: the delay holds no
    /// server.
    async fn serve(&self, route: Result<Route, PathRefusal>, number: u64) {
        let delay = match route {
            Ok(Route::Delay(delay)) => delay,
            _ => Duration::ZERO,
        };
        if !self.service_time.is_zero() || !delay.is_zero() || !self.faults.none() {
            self.clock.reach(self.served(number) + delay).await;
        }
    }

    /// Instant at which the `number`-th request, which arrives now, will have been served.
    fn served(&self, number: u64) -> Instant {
        match &self.queue {
            Some(queue) => {
                // The clock is read under the lock, so that requests are taken in the order of their
                // instants.
                let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
                queue.admit_with(self.clock.now(), |start| self.service_end(number, start))
            }
            None => self.service_end(number, self.clock.now()),
        }
    }

    /// The end of a service that begins at `start`.
    fn service_end(&self, number: u64, start: Instant) -> Instant {
        if self.faults.none() {
            return start + self.service_time;
        }
        let first = *self.first_request.get_or_init(|| start);
        let since_first = Instant::ZERO + start.since(first);
        first + self.faults.served(number, since_first, self.service_time).since(Instant::ZERO)
    }

    fn reply_to(&self, route: Route, received: u64) -> Result<Reply, PathRefusal> {
        let found = |content_type, body| Ok(reply(StatusCode::OK, content_type, body));
        match route {
            Route::Index => found(HTML, ReplyBody::Whole(self.site.index().clone())),
            Route::Page(number) => {
                let page = self.site.pages().get(number).ok_or(PathRefusal::Unknown)?;
                found(HTML, ReplyBody::Whole(page.html().clone()))
            }
            Route::Object(number, kind) => {
                let size = self.site.object(number, kind).ok_or(PathRefusal::Unknown)?;
                found(content_type(kind), ReplyBody::filler(size.0))
            }
            Route::Bytes(length) => found(BINARY, ReplyBody::filler(length)),
            Route::Chunked(length) => found(BINARY, ReplyBody::chunked(length)),
            Route::Delay(_) => found(TEXT, ReplyBody::Empty),
            Route::Events(plan) => {
                found(EVENTS, ReplyBody::Events(Box::new(EventBody::begin(plan, self.clock))))
            }
            // Whoever asks as RFC 6455 has it was answered before.
            Route::WebSocket(_) => {
                let mut reply =
                    reply(StatusCode::UPGRADE_REQUIRED, TEXT, text("Ask for a WebSocket (RFC 6455) here.\n"));
                reply.headers_mut().insert(UPGRADE, HeaderValue::from_static("websocket"));
                Ok(reply)
            }
            Route::Status(status) => Ok(reply(status, TEXT, ReplyBody::Empty)),
            Route::EchoLength => found(TEXT, ReplyBody::Whole(format!("{received}\n").into())),
        }
    }
}

/// The answer to HEAD: the length of the body in its place. Over HTTP/1 hyper does this.
fn without_body(mut reply: Reply) -> Reply {
    if let Some(length) = reply.body().size_hint().exact() {
        reply.headers_mut().insert(CONTENT_LENGTH, length.into());
    }
    reply.map(|_| ReplyBody::Empty)
}

/// Reads a body and counts its bytes, keeping none.
async fn read_to_end(mut body: Incoming) -> hyper::Result<u64> {
    let mut received = 0;
    while !body.is_end_stream() {
        match body.frame().await {
            Some(frame) => received += frame?.data_ref().map_or(0, |data| data.len() as u64),
            None => break,
        }
    }
    Ok(received)
}

fn reply(status: StatusCode, content_type: HeaderValue, body: ReplyBody) -> Reply {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, content_type);
    reply
}

fn refuse(refusal: PathRefusal) -> Reply {
    reply(refusal.status(), TEXT, text(refusal.text()))
}

fn text(text: &'static str) -> ReplyBody {
    ReplyBody::Whole(bytes::Bytes::from_static(text.as_bytes()))
}

fn content_type(kind: ObjectKind) -> HeaderValue {
    match kind {
        ObjectKind::StyleSheet => STYLE_SHEET,
        ObjectKind::Script => SCRIPT,
        ObjectKind::Image => IMAGE,
    }
}
