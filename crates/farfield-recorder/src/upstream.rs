//! Connections to servers: dialled, over TLS where the origin is https, and used again where that is safe.
//!
//! The server is asked in the version of HTTP that its client speaks, as far as it agrees: HTTP/2 for a
//! client of HTTP/2, else HTTP/1.1. A connection of HTTP/1 that was used before may have been closed by the
//! server meanwhile, so it carries requests without a body alone, and those that may be repeated are repeated
//! on another (RFC 9112 section 9.3.1), where nothing came back. Over HTTP/2 a request that was reset is
//! repeated in the same way, on another connection.

use crate::authority::{HTTP2, HTTP11};
use crate::fields;
use crate::tee::TeeBody;
use crate::web_origin::WebOrigin;
use http::header::{HOST, HeaderValue};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, Response, Uri, Version};
use hyper::body::{Body, Incoming};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::ServerCertVerifier;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig};

/// Time for a name, a connection and a handshake, each.
const DIAL_MAX: Duration = Duration::from_secs(10);
/// IdleConnections connections of one server that are kept.
const IDLE_MAX: usize = 8;
/// Fields of a head, and its bytes, from either side.
pub(crate) const HEAD_FIELDS_MAX: usize = 256;
pub(crate) const HEAD_BYTES_MAX: usize = 256 << 10;

/// Certificate that the recorder has for servers that ask for one, and its key.
#[derive(Debug)]
pub struct ClientIdentity {
    /// Certificates, the client's own first.
    pub chain: Vec<CertificateDer<'static>>,
    /// Private key of the first.
    pub key: PrivateKeyDer<'static>,
}

impl ClientIdentity {
    /// The identity of PEM files (RFC 7468): certificates, and the first private key of another or the same.
    ///
    /// # Errors
    /// A sentence on the file that lacks what it should have.
    pub fn of_pem(chain: &[u8], key: &[u8]) -> Result<ClientIdentity, &'static str> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
        let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or("it has no certificate in PEM")?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| "it has no private key in PEM")?;
        Ok(ClientIdentity { chain, key })
    }
}

/// Why a server gave no reply.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// No connection came about.
    #[error("{address} cannot be reached: {source}")]
    Connect {
        /// Host and port.
        address: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The server is the recorder.
    #[error("{0} is the recorder itself")]
    Itself(String),
    /// No session of TLS came about.
    #[error("{address} is not trusted, or speaks no TLS: {source}")]
    Tls {
        /// Host and port.
        address: String,
        /// Error of the handshake.
        source: io::Error,
    },
    /// HTTP failed before a reply.
    #[error("{address} sent no reply: {source}")]
    Http {
        /// Host and port.
        address: String,
        /// Error of the connection.
        source: hyper::Error,
    },
}

/// A reply, and the address that it came from.
pub(crate) type UpstreamReply = (Response<Incoming>, IpAddr);

/// Connections to all servers.
pub(crate) struct Upstream {
    own: SocketAddr,
    /// Offers HTTP/1.1 alone, and HTTP/2 before it.
    over_http1: TlsConnector,
    over_either: TlsConnector,
    idle: Mutex<BTreeMap<WebOrigin, IdleConnections>>,
}

/// Connections to a server that take a request.
#[derive(Default)]
struct IdleConnections {
    http1: Vec<(http1::SendRequest<TeeBody>, IpAddr)>,
    http2: Option<(http2::SendRequest<TeeBody>, IpAddr)>,
}

/// A connection that takes a request.
enum RequestSender {
    Http1(http1::SendRequest<TeeBody>),
    Http2(http2::SendRequest<TeeBody>),
}

impl Upstream {
    /// Connections that verify servers by `verifier`, of a recorder that listens on `own`.
    pub(crate) fn new(
        own: SocketAddr,
        verifier: Arc<dyn ServerCertVerifier>,
        identity: Option<ClientIdentity>,
    ) -> Result<Upstream, rustls::Error> {
        let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut config = match identity {
            Some(ClientIdentity { chain, key }) => builder.with_client_auth_cert(chain, key)?,
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![HTTP11.to_vec()];
        let over_http1 = TlsConnector::from(Arc::new(config.clone()));
        config.alpn_protocols = vec![HTTP2.to_vec(), HTTP11.to_vec()];
        let over_either = TlsConnector::from(Arc::new(config));
        Ok(Upstream { own, over_http1, over_either, idle: Mutex::default() })
    }

    /// Sends a request to a server, over HTTP/2 if the server agrees and `prefers_http2`.
    pub(crate) async fn send(
        self: &Arc<Upstream>,
        origin: &WebOrigin,
        prefers_http2: bool,
        mut request: Request<TeeBody>,
    ) -> Result<UpstreamReply, UpstreamError> {
        let is_plain = request.body().is_end_stream() && !is_upgrade(&request);
        let (head, body) = request.into_parts();
        let repeatable = (is_plain && head.method.is_idempotent()).then(|| head.clone());
        request = Request::from_parts(head, body);
        while let Some((sender, address)) = self.take_idle(origin, prefers_http2, is_plain) {
            request = match self.send_over(origin, (sender, address), request).await {
                Ok(answered) => return Ok(answered),
                Err((_, Some(unsent))) => *unsent,
                Err((error, None)) => match &repeatable {
                    Some(head) => Request::from_parts(head.clone(), TeeBody::none()),
                    None => return Err(error),
                },
            };
            if prefers_http2 {
                self.forget_http2(origin);
            }
        }
        let dialled = self.dial_http(origin, prefers_http2).await?;
        self.send_over(origin, dialled, request).await.map_err(|(error, _)| error)
    }

    /// A connection of TCP to a server.
    pub(crate) async fn dial(&self, host: &str, port: u16) -> Result<TcpStream, UpstreamError> {
        let address = || format!("{host}:{port}");
        let failed = |source: io::Error| UpstreamError::Connect { address: address(), source };
        let connected = tokio::time::timeout(DIAL_MAX, TcpStream::connect((host, port))).await;
        let stream = connected.map_err(|_| failed(io::ErrorKind::TimedOut.into()))?.map_err(failed)?;
        let peer = stream.peer_addr().map_err(failed)?;
        let is_own_address = peer.ip() == self.own.ip()
            || self.own.ip().is_unspecified() && stream.local_addr().is_ok_and(|own| own.ip() == peer.ip());
        if peer.port() == self.own.port() && is_own_address {
            return Err(UpstreamError::Itself(address()));
        }
        // A socket that refuses the option is dead, which its first use finds out.
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }

    async fn dial_http(
        &self,
        origin: &WebOrigin,
        prefers_http2: bool,
    ) -> Result<(RequestSender, IpAddr), UpstreamError> {
        let WebOrigin { is_secure, host, port } = origin;
        let stream = self.dial(host, *port).await?;
        let address = format!("{host}:{port}");
        let peer = stream
            .peer_addr()
            .map_err(|source| UpstreamError::Connect { address: address.clone(), source })?
            .ip();
        let failed = |source: hyper::Error| UpstreamError::Http { address: address.clone(), source };
        if !is_secure {
            let sender = speak_http1(stream).await.map_err(failed)?;
            return Ok((RequestSender::Http1(sender), peer));
        }
        let wrong = |source: io::Error| UpstreamError::Tls { address: address.clone(), source };
        let name = ServerName::try_from(host.clone()).map_err(|error| wrong(io::Error::other(error)))?;
        let connector = if prefers_http2 { &self.over_either } else { &self.over_http1 };
        let session = tokio::time::timeout(DIAL_MAX, connector.connect(name, stream)).await;
        let session = session.map_err(|_| wrong(io::ErrorKind::TimedOut.into()))?.map_err(wrong)?;
        if session.get_ref().1.alpn_protocol() != Some(HTTP2) {
            let sender = speak_http1(session).await.map_err(failed)?;
            return Ok((RequestSender::Http1(sender), peer));
        }
        let mut http = http2::Builder::new(TokioExecutor::new());
        http.timer(TokioTimer::new()).max_header_list_size(HEAD_BYTES_MAX as u32);
        let (sender, connection) = http.handshake(TokioIo::new(session)).await.map_err(failed)?;
        // Its end is found out by who sends the next request.
        tokio::spawn(async move { drop(connection.await) });
        self.idle().entry(origin.clone()).or_default().http2 = Some((sender.clone(), peer));
        Ok((RequestSender::Http2(sender), peer))
    }

    /// A connection that is open already, and fits.
    fn take_idle(
        &self,
        origin: &WebOrigin,
        prefers_http2: bool,
        is_plain: bool,
    ) -> Option<(RequestSender, IpAddr)> {
        let mut idle = self.idle();
        let own = idle.get_mut(origin)?;
        if prefers_http2 && own.http2.as_ref().is_some_and(|(sender, _)| sender.is_closed()) {
            own.http2 = None;
        }
        if let Some((sender, peer)) = own.http2.as_ref().filter(|_| prefers_http2) {
            return Some((RequestSender::Http2(sender.clone()), *peer));
        }
        own.http1.retain(|(sender, _)| !sender.is_closed());
        let (sender, peer) = if is_plain { own.http1.pop()? } else { return None };
        Some((RequestSender::Http1(sender), peer))
    }

    /// Sends a request over a connection; the request comes back where nothing of it was sent.
    async fn send_over(
        self: &Arc<Upstream>,
        origin: &WebOrigin,
        (sender, peer): (RequestSender, IpAddr),
        mut request: Request<TeeBody>,
    ) -> Result<UpstreamReply, (UpstreamError, Option<Box<Request<TeeBody>>>)> {
        let sent = match sender {
            RequestSender::Http1(mut sender) => {
                for_http1(&mut request, origin);
                let sent = sender.try_send_request(request).await;
                if sent.is_ok() {
                    self.keep_idle(origin.clone(), sender, peer);
                }
                sent
            }
            RequestSender::Http2(mut sender) => {
                for_http2(&mut request, origin);
                sender.try_send_request(request).await
            }
        };
        sent.map(|response| (response, peer)).map_err(|mut error| {
            let unsent = error.take_message().map(Box::new);
            let address = format!("{}:{}", origin.host, origin.port);
            (UpstreamError::Http { address, source: error.into_error() }, unsent)
        })
    }

    /// Keeps a connection for further requests once its reply has passed.
    fn keep_idle(
        self: &Arc<Upstream>,
        origin: WebOrigin,
        mut sender: http1::SendRequest<TeeBody>,
        peer: IpAddr,
    ) {
        let upstream = Arc::clone(self);
        tokio::spawn(async move {
            if sender.ready().await.is_ok() {
                let mut idle = upstream.idle();
                let own = &mut idle.entry(origin).or_default().http1;
                if own.len() >= IDLE_MAX {
                    own.remove(0);
                }
                own.push((sender, peer));
            }
        });
    }

    /// Takes the connection of HTTP/2 to a server for no further request. One that resets a stream goes on,
    /// and would be asked the same again without end.
    fn forget_http2(&self, origin: &WebOrigin) {
        if let Some(own) = self.idle().get_mut(origin) {
            own.http2 = None;
        }
    }

    fn idle(&self) -> MutexGuard<'_, BTreeMap<WebOrigin, IdleConnections>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn speak_http1<T>(stream: T) -> hyper::Result<http1::SendRequest<TeeBody>>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut http = http1::Builder::new();
    http.preserve_header_case(true)
        .max_headers(HEAD_FIELDS_MAX)
        .max_header_size(HEAD_BYTES_MAX)
        .max_buf_size(HEAD_BYTES_MAX);
    let (sender, connection) = http.handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move { drop(connection.with_upgrades().await) });
    Ok(sender)
}

fn is_upgrade(request: &Request<TeeBody>) -> bool {
    fields::upgrade(request.headers()).is_some()
}

/// The authority that a request names, in its target or its Host field.
fn named(request: &Request<TeeBody>, origin: &WebOrigin) -> Option<Authority> {
    let host = || request.headers().get(HOST)?.to_str().ok()?.parse().ok();
    let own = request.uri().authority().cloned().or_else(host);
    own.or_else(|| origin.authority().parse().ok())
}

/// Writes a request as HTTP/1.1 has it: target in origin form, and a Host field (RFC 9112 section 3.2.1).
fn for_http1(request: &mut Request<TeeBody>, origin: &WebOrigin) {
    let host = named(request, origin);
    // Whatever a user and a password in it are for, it is no Host field.
    let host = host.and_then(|authority| {
        let own = authority.as_str();
        HeaderValue::from_str(own.rsplit_once('@').map_or(own, |(_, host)| host)).ok()
    });
    if let Some(host) = host {
        request.headers_mut().insert(HOST, host);
    }
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = path.unwrap_or_else(|| PathAndQuery::from_static("/")).into();
    *request.version_mut() = Version::HTTP_11;
}

/// Writes a request as HTTP/2 has it: scheme, authority and path, and no Host field (RFC 9113 section 8.3.1).
fn for_http2(request: &mut Request<TeeBody>, origin: &WebOrigin) {
    let authority = named(request, origin);
    request.headers_mut().remove(HOST);
    let mut parts = request.uri().clone().into_parts();
    parts.scheme = Some(if origin.is_secure { Scheme::HTTPS } else { Scheme::HTTP });
    parts.authority = authority;
    parts.path_and_query.get_or_insert(PathAndQuery::from_static("/"));
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
    *request.version_mut() = Version::HTTP_2;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authority::CertificateAuthority;
    use bytes::Bytes;
    use http_body_util::Full;
    use hyper::service::service_fn;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::SystemTime;
    use tokio::net::TcpListener;
    use tokio_rustls::rustls::RootCertStore;
    use tokio_rustls::rustls::client::WebPkiServerVerifier;

    /// A server of HTTP/2 that answers its first request and resets the stream of each that follows, on any
    /// connection: its port. The requests are counted.
    async fn resetting(authority: &CertificateAuthority, asked: Arc<AtomicUsize>) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("it is bound").port();
        let acceptor = authority.acceptor("127.0.0.1").expect("it was made for it").clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, asked) = (acceptor.clone(), Arc::clone(&asked));
                tokio::spawn(async move {
                    let Ok(session) = acceptor.accept(stream).await else { return };
                    let service = service_fn(move |_: Request<Incoming>| {
                        let nth = asked.fetch_add(1, Ordering::Relaxed);
                        async move {
                            match nth {
                                0 => Ok(Response::new(Full::new(Bytes::new()))),
                                _ => Err(io::Error::other("the stream is reset")),
                            }
                        }
                    });
                    let http = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    drop(http.serve_connection(TokioIo::new(session), service).await);
                });
            }
        });
        port
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a certificate is valid from now on")]
    fn a_request_that_is_reset_is_repeated_once_on_another_connection() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let named = WebOrigin::new(true, "127.0.0.1", 443);
            let authority = CertificateAuthority::of(&[named], SystemTime::now()).expect("an address");
            let authority = authority.expect("a server of https");
            let asked = Arc::new(AtomicUsize::new(0));
            let port = resetting(&authority, Arc::clone(&asked)).await;
            let root = CertificateDer::from_pem_slice(authority.certificate_pem().as_bytes());
            let mut roots = RootCertStore::empty();
            roots.add(root.expect("a certificate")).expect("a root");
            let provider = Arc::new(aws_lc_rs::default_provider());
            let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), provider).build();
            let own = SocketAddr::from(([127, 0, 0, 1], 1));
            let upstream = Upstream::new(own, verifier.expect("a root"), None).expect("cryptography");
            let (upstream, origin) = (Arc::new(upstream), WebOrigin::new(true, "127.0.0.1", port));
            let send = || {
                let request = Request::builder().uri("/").body(TeeBody::none()).expect("a request");
                tokio::time::timeout(DIAL_MAX, upstream.send(&origin, true, request))
            };
            let (reply, _) = send().await.expect("no wait").expect("a reply");
            assert_eq!(reply.status(), 200);
            let failed = send().await.expect("it is not repeated without end");
            assert!(matches!(failed, Err(UpstreamError::Http { .. })), "{failed:?}");
            assert_eq!(asked.load(Ordering::Relaxed), 3);
        });
    }
}
