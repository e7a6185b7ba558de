//! HTTP/3 (RFC 9114), where the origin serves over TLS: on UDP, on the port that it has on TCP.
//!
//! QUIC is by quinn and HTTP/3 by h3, which share nothing with farfield's clients but the library of QUIC's
//! packets. Requests are answered by the same [`Service`] as those of the other versions, each on its own
//! stream. All connections of HTTP/3 are served by the first thread's event loop.

use crate::connections::Connections;
use crate::service::Service;
use bytes::{Buf, Bytes};
use h3::server::RequestResolver;
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::Body;
use hyper::header::CONTENT_LENGTH;
use quinn::{Endpoint, EndpointConfig, Incoming, ServerConfig, TokioRuntime};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::Semaphore;

/// The origin's end of all connections of QUIC.
pub(crate) struct Http3 {
    endpoint: Endpoint,
    /// One permit for every connection that may be open.
    gate: Option<Arc<Semaphore>>,
    connections: Arc<Connections>,
}

impl Http3 {
    /// Binds to `address`; called within an event loop, which [`run`](Self::run) is then to be run in.
    ///
    /// # Errors
    /// The system's, if the address cannot be bound.
    pub(crate) fn bind(
        address: SocketAddr,
        config: ServerConfig,
        gate: Option<Arc<Semaphore>>,
        connections: Arc<Connections>,
    ) -> io::Result<Http3> {
        let socket = UdpSocket::bind(address)?;
        let runtime = Arc::new(TokioRuntime);
        let endpoint = Endpoint::new(EndpointConfig::default(), Some(config), socket, runtime)?;
        Ok(Http3 { endpoint, gate, connections })
    }

    /// Takes connections and serves them.
    pub(crate) async fn run(self) {
        while let Some(incoming) = self.endpoint.accept().await {
            self.connections.tally().connections.fetch_add(1, Relaxed);
            let permit = match &self.gate {
                Some(gate) => Arc::clone(gate).acquire_owned().await.ok(),
                None => None,
            };
            let connections = Arc::clone(&self.connections);
            let closing = connections.closing(permit);
            tokio::spawn(async move {
                // Ends of connections are their clients' affair; requests that were answered have been
                // counted.
                let _ = Box::pin(serve(&connections, incoming)).await;
                drop(closing);
            });
        }
    }
}

/// Serves the streams of a connection, each as a task of its own, until keep-alive or the client ends it.
async fn serve(connections: &Connections, incoming: Incoming) -> Result<(), Box<dyn std::error::Error>> {
    let quic = match connections.takes_early_data() {
        // Requests within the handshake are answered before it is over.
        true => incoming.accept()?.into_0rtt().map_err(|_| "a server can always begin")?.0,
        false => incoming.await?,
    };
    let quic = h3_quinn::Connection::new(quic);
    let mut connection = h3::server::builder().build::<_, Bytes>(quic).await?;
    let keep_alive = connections.keep_alive();
    let mut is_over = false;
    loop {
        let resolver = tokio::select! {
            resolver = connection.accept() => resolver?,
            () = keep_alive.over(), if !is_over => {
                is_over = true;
                connection.shutdown(0).await?;
                continue;
            }
        };
        let Some(resolver) = resolver else { return Ok(()) };
        let (service, asked) = (connections.service(), keep_alive.begin());
        tokio::spawn(async move {
            // A stream that its client gives up is the client's affair, too.
            let _ = answer(&service, resolver, asked.number()).await;
            drop(asked);
        });
    }
}

/// Answers one request, the `nth` of its connection.
async fn answer(
    service: &Service,
    resolver: RequestResolver<h3_quinn::Connection, Bytes>,
    nth: u32,
) -> Result<(), h3::error::StreamError> {
    let (request, mut stream) = resolver.resolve_request().await?;
    let number = service.note_request();
    let mut received = 0;
    while let Some(data) = stream.recv_data().await? {
        received += data.remaining() as u64;
    }
    let (head, ()) = request.into_parts();
    let (mut head, mut body) = service.reply(&head, number, received, nth).await.into_parts();
    // Over the other versions hyper does this.
    if let (Some(length), false) = (body.size_hint().exact(), head.headers.contains_key(CONTENT_LENGTH)) {
        head.headers.insert(CONTENT_LENGTH, length.into());
    }
    stream.send_response(Response::from_parts(head, ())).await?;
    while let Some(Ok(frame)) = body.frame().await {
        if let Ok(data) = frame.into_data() {
            stream.send_data(data).await?;
        }
    }
    stream.finish().await
}
