//! Connections of an origin from their first byte to their end: TLS, the version of HTTP, and the requests.
//!
//! Over TLS the version is what ALPN agreed on, HTTP/1 without; in cleartext HTTP/2 is recognised by its
//! preface (RFC 9113 section 3.3, prior knowledge). Requests of both versions are answered by the same
//! [`Service`], each stream of HTTP/2 by itself, so that service times, queue and faults are those of the
//! origin whatever the version.

use crate::config::OriginConfig;
use crate::keep_alive::KeepAlive;
use crate::service::{Service, Tally};
use crate::tls::{HTTP2, ServerCertificate};
use crate::version::OpenedConnection;
use async_io::Timer;
use farfield_base::Duration;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Streams that clients may have reset before this thread looked at them. A thread that was kept from its
/// processor finds all that came meanwhile, and must not take clients that gave up for an attack.
const RESETS_MAX: usize = 100_000;

/// The time without a request after which a connection of HTTP/2 ends whose end was announced, whether its
/// client has read the announcement or not: longer than a round trip, with packets that are sent again.
const GRACE: Duration = Duration::from_secs(5);

/// Serves connections.
pub(crate) struct Connections {
    http1: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
    service: Arc<Service>,
    tls: Option<TlsAcceptor>,
    keep_alive_timeout: Option<Duration>,
    keep_alive_requests: Option<NonZeroU32>,
    early_data: bool,
}

impl Connections {
    pub(crate) fn new(
        config: &OriginConfig,
        service: Arc<Service>,
        certified: Option<&ServerCertificate>,
    ) -> Connections {
        let mut http1 = http1::Builder::new();
        // Not `pipeline_flush`: it keeps replies back as long as further requests have been received, so
        // that one slow request would hold up those before it, and half a request the whole connection. A
        // client may end its side after the request (HTTP/1.0 tools do) and still wait for the reply.
        http1.half_close(true);
        match config.keep_alive_timeout {
            None => {}
            Some(timeout) if timeout.is_zero() => {
                http1.keep_alive(false);
            }
            Some(timeout) => {
                http1.timer(TokioTimer::new()).header_read_timeout(timeout.to_std());
            }
        }
        let mut http2 = http2::Builder::new(TokioExecutor::new());
        http2.timer(TokioTimer::new()).max_pending_accept_reset_streams(RESETS_MAX);
        Connections {
            http1,
            http2,
            service,
            tls: certified.map(|certified| certified.acceptor.clone()),
            keep_alive_timeout: config.keep_alive_timeout,
            keep_alive_requests: config.keep_alive_requests,
            early_data: config.early_data,
        }
    }

    /// True if clients may send requests within the handshake of HTTP/3.
    pub(crate) fn takes_early_data(&self) -> bool {
        self.early_data
    }

    /// Counters of the origin.
    pub(crate) fn tally(&self) -> &Tally {
        &self.service.tally
    }

    /// Serves a connection on this thread's event loop until either side ends it.
    pub(crate) fn spawn(self: &Arc<Connections>, stream: TcpStream, permit: Option<OwnedSemaphorePermit>) {
        // A socket that refuses the option is dead already, which serving it will find out.
        let _ = stream.set_nodelay(true);
        let connections = Arc::clone(self);
        let closing = self.closing(permit);
        tokio::spawn(async move {
            connections.serve(stream).await;
            drop(closing);
        });
    }

    /// Guard that counts a connection as closed when it is dropped.
    pub(crate) fn closing(&self, permit: Option<OwnedSemaphorePermit>) -> ConnectionGuard {
        ConnectionGuard { service: Arc::clone(&self.service), _permit: permit }
    }

    /// The keep-alive of a new connection with streams.
    pub(crate) fn keep_alive(&self) -> KeepAlive {
        KeepAlive::new(self.keep_alive_timeout, self.keep_alive_requests)
    }

    /// Service that answers requests.
    pub(crate) fn service(&self) -> Arc<Service> {
        Arc::clone(&self.service)
    }

    /// Ends of connections are their clients' affair; requests that were answered have been counted.
    async fn serve(&self, stream: TcpStream) {
        match &self.tls {
            None => match OpenedConnection::read(stream, self.keep_alive_timeout).await {
                Some(opened) if opened.is_http2() => Box::pin(self.speak_http2(opened)).await,
                Some(opened) => self.speak_http1(opened).await,
                None => {}
            },
            Some(tls) => match self.shake_hands(tls, stream).await {
                Some(stream) if stream.get_ref().1.alpn_protocol() == Some(HTTP2) => {
                    Box::pin(self.speak_http2(stream)).await;
                }
                Some(stream) => self.speak_http1(stream).await,
                None => {}
            },
        }
    }

    /// A session on the connection. `None` if the handshake fails, or takes longer than a connection may be
    /// idle.
    async fn shake_hands(&self, tls: &TlsAcceptor, stream: TcpStream) -> Option<TlsStream<TcpStream>> {
        match self.keep_alive_timeout.filter(|timeout| !timeout.is_zero()) {
            None => tls.accept(stream).await.ok(),
            Some(timeout) => tokio::select! {
                session = tls.accept(stream) => session.ok(),
                _ = Timer::after(timeout.to_std()) => None,
            },
        }
    }

    async fn speak_http1<T: AsyncRead + AsyncWrite + Unpin + Send + 'static>(&self, stream: T) {
        let (service, requests, opening) = (&*self.service, AtomicU32::new(0), OnceLock::new());
        let answer = service_fn(|mut request| {
            let (number, opening) = (requests.fetch_add(1, Relaxed).saturating_add(1), &opening);
            async move {
                match service.open(&mut request).await {
                    Some((reply, follows)) => {
                        // A connection is upgraded once.
                        let _ = opening.set(follows);
                        Ok(reply)
                    }
                    None => service.answer(request, number).await,
                }
            }
        });
        let served = self.http1.serve_connection(TokioIo::new(stream), answer).with_upgrades().await;
        if let (Ok(()), Some(opening)) = (served, opening.into_inner()) {
            opening.serve(service).await;
        }
    }

    /// Serves the streams of a connection, each as a task of its own, until keep-alive or the client ends it.
    async fn speak_http2<T: AsyncRead + AsyncWrite + Unpin>(&self, stream: T) {
        let keep_alive = self.keep_alive();
        let answer = service_fn(|request| {
            let (service, asked) = (Arc::clone(&self.service), keep_alive.begin());
            async move { service.answer(request, asked.number()).await }
        });
        let mut connection = pin!(self.http2.serve_connection(TokioIo::new(stream), answer));
        tokio::select! {
            _ = connection.as_mut() => return,
            () = keep_alive.over() => {}
        }
        connection.as_mut().graceful_shutdown();
        // A client that has read the announcement ends the connection, or lets the origin do so.
        tokio::select! {
            _ = connection => {}
            () = keep_alive.idle_for(GRACE) => {}
        }
    }
}

/// Counts a connection as closed and gives its leave back, however it ends.
pub(crate) struct ConnectionGuard {
    service: Arc<Service>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.service.tally.connections_closed.fetch_add(1, Relaxed);
    }
}
