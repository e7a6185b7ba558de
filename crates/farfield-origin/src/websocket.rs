//! WebSockets (RFC 6455) on the paths below `/websocket`: every message comes back, or messages are sent at
//! the instants of a plan.
//!
//! Frames are tungstenite's affair. A message that comes back takes the origin's service time, in its queue,
//! as a request does; the next is read once it has left, so that a client which reads nothing is read no
//! further.

use crate::events::EventPlan;
use crate::service::Service;
use farfield_base::Instant;
use futures_util::{SinkExt, StreamExt};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Version};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

/// The largest message that comes back: 16 MiB.
const MESSAGE_MAX: usize = 16 << 20;

/// A connection that is about to become a WebSocket.
pub(crate) struct PendingUpgrade {
    upgrade: OnUpgrade,
    /// The messages that are sent; without, each that comes comes back.
    plan: Option<EventPlan>,
}

/// The reply that opens the WebSocket that a request asks for, and what follows it; `None` where it asks for
/// none as section 4.2.1 has it.
pub(crate) fn open<B>(
    request: &mut Request<Incoming>,
    plan: Option<EventPlan>,
    body: B,
) -> Option<(Response<B>, PendingUpgrade)> {
    let key = request.headers().get(SEC_WEBSOCKET_KEY)?;
    let headers = request.headers();
    let is_asked = request.method() == Method::GET
        && request.version() == Version::HTTP_11
        && lists(headers, CONNECTION.as_str(), "upgrade")
        && lists(headers, UPGRADE.as_str(), "websocket")
        && headers.get(SEC_WEBSOCKET_VERSION).is_some_and(|version| version == "13");
    let accept = derive_accept_key(key.as_bytes());
    if !is_asked {
        return None;
    }
    let reply = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_ACCEPT, accept);
    Some((reply.body(body).ok()?, PendingUpgrade { upgrade: hyper::upgrade::on(request), plan }))
}

fn lists(headers: &HeaderMap, field: &str, word: &str) -> bool {
    let values = headers.get_all(field).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|own| own.trim().eq_ignore_ascii_case(word))
}

impl PendingUpgrade {
    /// Serves the WebSocket until either side ends it.
    pub(crate) async fn serve(self, service: &Service) {
        let Ok(upgraded) = self.upgrade.await else { return };
        let config =
            WebSocketConfig::default().max_message_size(Some(MESSAGE_MAX)).max_frame_size(Some(MESSAGE_MAX));
        let stream = TokioIo::new(upgraded);
        let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
        match self.plan {
            None => echo(socket, service).await,
            Some(plan) => push(socket, plan, service).await,
        }
    }
}

type Socket = WebSocketStream<TokioIo<Upgraded>>;

async fn echo(mut socket: Socket, service: &Service) {
    // Pings are answered, and Close is, as the next message is read.
    while let Some(Ok(message)) = socket.next().await {
        if message.is_text() || message.is_binary() {
            service.serve_message().await;
            if socket.send(message).await.is_err() {
                return;
            }
        }
    }
}

async fn push(mut socket: Socket, plan: EventPlan, service: &Service) {
    let (clock, begun) = (service.clock(), service.clock().now());
    let mut sent = 0;
    while plan.count == 0 || sent < plan.count {
        let due: Instant = begun + plan.at(sent);
        tokio::select! {
            () = clock.reach(due) => {
                let text = format!("{{\"index\": {sent}}}");
                if socket.send(Message::text(text)).await.is_err() {
                    return;
                }
                sent += 1;
            }
            came = socket.next() => match came {
                Some(Ok(message)) if message.is_close() => break,
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return,
            },
        }
    }
    // What the client sends until it leaves is of no matter; its Close is answered.
    while let Some(Ok(_)) = socket.next().await {}
}
