//! Tunnels (CONNECT, RFC 9110 section 9.3.6). One to a recorded server ends here: TLS with the certificate
//! that was made for its name, or HTTP/1 in clear. Any other is bytes that pass, and is counted.

use crate::authority::HTTP2;
use crate::service::{ConnectionPermit, Entrance, RecordingService, causes, said};
use crate::tee::ClientReplyBody;
use crate::web_origin::WebOrigin;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use std::io::ErrorKind;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;

/// Time for a client's handshake.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);

/// Opens the tunnel that a request asks for.
pub(crate) async fn open(
    service: &Arc<RecordingService>,
    mut request: Request<Incoming>,
    permit: ConnectionPermit,
) -> Response<ClientReplyBody> {
    let Some(authority) = request.uri().authority().cloned().filter(|own| own.port_u16().is_some()) else {
        return service.refuse(StatusCode::BAD_REQUEST, "CONNECT names a host and a port");
    };
    let of = |is_secure| WebOrigin::of_authority(is_secure, &authority);
    let recorded = [of(true), of(false)].into_iter().find(|origin| service.recorded.contains(origin));
    let own = Arc::clone(service);
    match recorded {
        Some(origin) => {
            tokio::spawn(end_here(own, request, origin, permit));
        }
        None => {
            let WebOrigin { host, port, .. } = of(true);
            let server = match service.upstream.dial(&host, port).await {
                Ok(server) => server,
                Err(error) => return said(StatusCode::BAD_GATEWAY, &causes(&error)),
            };
            service.ledger.pass_tunnel(&format!("{host}:{port}"));
            tokio::spawn(async move {
                if let Ok(upgraded) = hyper::upgrade::on(&mut request).await {
                    pass_bytes(upgraded, server).await;
                }
                drop(permit);
            });
        }
    }
    Response::new(ClientReplyBody::Sentence(Full::new(Bytes::new())))
}

/// Serves the requests in a tunnel to a recorded server. Its type is written out since what is served in a
/// tunnel may be asked for a tunnel, as far as types go.
fn end_here(
    service: Arc<RecordingService>,
    mut request: Request<Incoming>,
    origin: WebOrigin,
    permit: ConnectionPermit,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let Ok(upgraded) = hyper::upgrade::on(&mut request).await else { return };
        let stream = TokioIo::new(upgraded);
        if !origin.is_secure {
            return service.serve_http1(stream, Entrance::Tunnel(origin), permit).await;
        }
        let acceptor = service.authority.as_ref().and_then(|authority| authority.acceptor(&origin.host));
        let Some(acceptor) = acceptor.cloned() else { return };
        let session = match tokio::time::timeout(HANDSHAKE_MAX, acceptor.accept(stream)).await {
            Ok(Ok(session)) => session,
            // An alert, or what is no TLS. Browsers also open tunnels in advance, and close them unused.
            Ok(Err(error)) if error.kind() == ErrorKind::InvalidData => {
                return service.ledger.fail_handshake();
            }
            _ => return,
        };
        let is_http2 = session.get_ref().1.alpn_protocol() == Some(HTTP2);
        match is_http2 {
            true => service.serve_http2(session, Entrance::Tunnel(origin), permit).await,
            false => service.serve_http1(session, Entrance::Tunnel(origin), permit).await,
        }
    })
}

async fn pass_bytes(upgraded: Upgraded, mut server: TcpStream) {
    let mut client = TokioIo::new(upgraded);
    // Either end may break off.
    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
}
