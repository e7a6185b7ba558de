//! Requests of clients: which server each is for, whether it is recorded, and its way there and back.

use crate::authority::CertificateAuthority;
use crate::exchange::OpenExchange;
use crate::fields;
use crate::ledger::Ledger;
use crate::tee::{ClientReplyBody, TeeBody};
use crate::tunnel;
use crate::upstream::{HEAD_BYTES_MAX, HEAD_FIELDS_MAX, Upstream};
use crate::web_origin::WebOrigin;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, LOCATION, ORIGIN, REFERER};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Method, Request, Response, StatusCode, Version};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::OwnedSemaphorePermit;

/// Time for which a client may say nothing between its requests.
const IDLE_MAX: Duration = Duration::from_secs(300);

/// Way by which requests come.
#[derive(Debug, Clone)]
pub(crate) enum Entrance {
    /// To a proxy: in absolute form, or CONNECT.
    Proxy,
    /// Inside the tunnel to a recorded server.
    Tunnel(WebOrigin),
    /// To a recorder that stands in this server's place.
    Reverse(WebOrigin),
}

/// Permit of a connection, and of what it becomes by an upgrade or a tunnel: it is given back with the last.
pub(crate) type ConnectionPermit = Arc<OwnedSemaphorePermit>;

/// Service of a recorder.
pub(crate) struct RecordingService {
    pub(crate) own: SocketAddr,
    pub(crate) recorded: Vec<WebOrigin>,
    pub(crate) authority: Option<CertificateAuthority>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) upstream: Arc<Upstream>,
}

impl RecordingService {
    /// Serves a connection of HTTP/1 to its end, which is its client's affair.
    pub(crate) async fn serve_http1<T>(
        self: Arc<Self>,
        stream: T,
        entrance: Entrance,
        permit: ConnectionPermit,
    ) where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(IDLE_MAX)
            .preserve_header_case(true)
            .auto_date_header(false)
            .max_headers(HEAD_FIELDS_MAX)
            .max_header_size(HEAD_BYTES_MAX)
            .max_buf_size(HEAD_BYTES_MAX);
        let service = service_fn(move |request| {
            let (own, entrance, permit) = (Arc::clone(&self), entrance.clone(), Arc::clone(&permit));
            async move { Ok::<_, Infallible>(own.answer(request, entrance, permit).await) }
        });
        let _ = http.serve_connection(TokioIo::new(stream), service).with_upgrades().await;
    }

    /// Serves a connection of HTTP/2 to its end, inside of a tunnel.
    pub(crate) async fn serve_http2<T>(
        self: Arc<Self>,
        stream: T,
        entrance: Entrance,
        permit: ConnectionPermit,
    ) where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut http = http2::Builder::new(TokioExecutor::new());
        http.timer(TokioTimer::new()).auto_date_header(false).max_header_list_size(HEAD_BYTES_MAX as u32);
        let service = service_fn(move |request| {
            let (own, entrance, permit) = (Arc::clone(&self), entrance.clone(), Arc::clone(&permit));
            async move { Ok::<_, Infallible>(own.answer(request, entrance, permit).await) }
        });
        let _ = http.serve_connection(TokioIo::new(stream), service).await;
    }

    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        entrance: Entrance,
        permit: ConnectionPermit,
    ) -> Response<ClientReplyBody> {
        match entrance {
            Entrance::Tunnel(origin) => self.pass(request, origin, true, permit).await,
            Entrance::Reverse(origin) => match self.is_for_this(request.headers()) {
                true => self.pass_in_reverse(request, origin, permit).await,
                false => self.refuse(
                    StatusCode::MISDIRECTED_REQUEST,
                    "a recorder in reverse mode is asked by its own address",
                ),
            },
            Entrance::Proxy if request.method() == Method::CONNECT => {
                tunnel::open(&self, request, permit).await
            }
            Entrance::Proxy => match WebOrigin::of_uri(request.uri()) {
                Some(origin) => {
                    let is_recorded = self.recorded.contains(&origin);
                    if !is_recorded {
                        self.ledger.pass_request(&origin);
                    }
                    self.pass(request, origin, is_recorded, permit).await
                }
                None => self.refuse(
                    StatusCode::BAD_REQUEST,
                    "this is the proxy of `farfield record`: set it as the proxy of your browser or program; \
                     with --reverse it stands in the place of a server",
                ),
            },
        }
    }

    /// A refusal of the recorder's own.
    pub(crate) fn refuse(&self, status: StatusCode, sentence: &str) -> Response<ClientReplyBody> {
        self.ledger.refuse();
        said(status, sentence)
    }

    /// Passes a request on to a server, and its reply back.
    async fn pass(
        self: Arc<Self>,
        mut request: Request<Incoming>,
        origin: WebOrigin,
        is_recorded: bool,
        permit: ConnectionPermit,
    ) -> Response<ClientReplyBody> {
        let protocol = fields::upgrade(request.headers());
        let of_client = protocol.as_ref().map(|_| hyper::upgrade::on(&mut request));
        let (mut parts, body) = request.into_parts();
        let prefers_http2 = parts.version == Version::HTTP_2;
        fields::remove_hop_by_hop(&mut parts.headers);
        // Of whatever version the client is: archives have one field, too.
        fields::join_cookies(&mut parts.headers);
        let mut exchange = is_recorded.then(|| self.begin(&parts, &origin));
        let body = match &exchange {
            Some(exchange) => TeeBody::of_request(body, &self.ledger, exchange),
            None => TeeBody::unrecorded(body),
        };
        if let Some(protocol) = protocol {
            fields::set_upgrade(&mut parts.headers, protocol);
        }
        let sent = self.upstream.send(&origin, prefers_http2, Request::from_parts(parts, body)).await;
        let (mut response, address) = match sent {
            Ok(answered) => answered,
            Err(error) => {
                let sentence = causes(&error);
                if let Some(exchange) = exchange {
                    exchange.failed(sentence.clone());
                }
                return said(StatusCode::BAD_GATEWAY, &sentence);
            }
        };
        let changed = (response.status() == StatusCode::SWITCHING_PROTOCOLS)
            .then(|| (fields::upgrade(response.headers()), hyper::upgrade::on(&mut response)));
        let (mut parts, body) = response.into_parts();
        fields::remove_hop_by_hop(&mut parts.headers);
        if let Some(exchange) = &mut exchange {
            exchange.answered(&parts, address);
        }
        if let (Some((Some(protocol), of_server)), Some(of_client)) = (changed, of_client) {
            fields::set_upgrade(&mut parts.headers, protocol);
            tokio::spawn(join(of_client, of_server, permit));
        }
        let body = match exchange {
            Some(exchange) => TeeBody::of_reply(body, &self.ledger, exchange),
            None => TeeBody::unrecorded(body),
        };
        Response::from_parts(parts, ClientReplyBody::Passing(Box::new(body)))
    }

    fn begin(&self, parts: &Parts, origin: &WebOrigin) -> OpenExchange {
        let path = parts.uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let url = format!("{origin}{path}");
        OpenExchange::new(&self.ledger, &parts.method, url, parts.version, &parts.headers)
    }

    /// True if a request names this recorder by an address of the machine itself, or if it listens for
    /// others: a page of elsewhere whose name leads here (DNS rebinding) names itself.
    fn is_for_this(&self, headers: &HeaderMap) -> bool {
        if !self.own.ip().is_loopback() {
            return true;
        }
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let name = name.trim_start_matches('[').trim_end_matches(']');
        name.eq_ignore_ascii_case("localhost")
            || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
    }

    /// Passes a request on to the server in whose place the recorder stands: it gets its own name in `Host`,
    /// `Origin` and `Referer`, and its redirects to itself lead back to the recorder.
    async fn pass_in_reverse(
        self: Arc<Self>,
        mut request: Request<Incoming>,
        origin: WebOrigin,
        permit: ConnectionPermit,
    ) -> Response<ClientReplyBody> {
        let asked = request.headers().get(HOST).and_then(|host| host.to_str().ok()).map(str::to_owned);
        let here = format!("http://{}", asked.unwrap_or_else(|| self.own.to_string()));
        let there = origin.to_string();
        let headers = request.headers_mut();
        if let Ok(host) = HeaderValue::from_str(&origin.authority()) {
            headers.insert(HOST, host);
        }
        for name in [ORIGIN, REFERER] {
            rewrite(headers, &name, &here, &there);
        }
        let mut response = self.pass(request, origin, true, permit).await;
        rewrite(response.headers_mut(), &LOCATION, &there, &here);
        response
    }
}

/// Puts the origin `to` in the place of `from` in a field that is a URL.
fn rewrite(headers: &mut HeaderMap, name: &HeaderName, from: &str, to: &str) {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    let rest = value.and_then(|value| value.strip_prefix(from));
    let rest = rest.filter(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#']));
    if let Some(value) = rest.and_then(|rest| HeaderValue::from_str(&format!("{to}{rest}")).ok()) {
        headers.insert(name, value);
    }
}

/// Passes bytes between two connections that have become ones of another protocol.
async fn join(of_client: OnUpgrade, of_server: OnUpgrade, _permit: ConnectionPermit) {
    if let (Ok(client), Ok(server)) = tokio::join!(of_client, of_server) {
        let (mut client, mut server) = (TokioIo::new(client), TokioIo::new(server));
        // Either end may break off.
        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
    }
}

/// A reply of the recorder's own.
pub(crate) fn said(status: StatusCode, sentence: &str) -> Response<ClientReplyBody> {
    let text = Bytes::from(format!("farfield record: {sentence}\n"));
    let mut response = Response::new(ClientReplyBody::Sentence(Full::new(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// An error with its causes, in one line.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let said = cause.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        source = cause.source();
    }
    text
}
