//! The part of a WebSocket's life that a request of a session is: the one that opens it, or a message.

use bytes::{Bytes, BytesMut};
use farfield_http::http1::Fields;
use farfield_http::websocket::{FrameKind, Key, accepts, write_frame};
use farfield_traffic::session::websocket::SocketStep;
use http::Method;

/// The method of a message, which has none: it is as that of a request that must not be sent twice.
pub(super) const MESSAGE_METHOD: Method = Method::POST;

/// The part of a WebSocket's life that a written request is.
#[derive(Debug, Clone)]
pub(super) enum SocketPart {
    /// The request that opens it, with this key.
    Open(Box<Key>),
    /// A message, and how its frame is written.
    Message { step: SocketStep, kind: FrameKind, mask: [u8; 4] },
}

impl SocketPart {
    /// The step of a session that it is.
    pub fn step(&self) -> SocketStep {
        match self {
            SocketPart::Open(_) => SocketStep::Open,
            SocketPart::Message { step, .. } => *step,
        }
    }

    /// Bytes of a frame with this payload; none of what opens a WebSocket, or only awaits a message.
    pub fn frame(&self, payload: &[u8]) -> Option<Bytes> {
        let SocketPart::Message { step, kind, mask } = self else { return None };
        if *step == SocketStep::Await {
            return None;
        }
        let mut frame = Vec::new();
        write_frame(*kind, payload, *mask, &mut frame);
        Some(frame.into())
    }

    /// True if a head with these fields opens the WebSocket.
    pub fn is_accepted(&self, offered: &[u8], fields: Fields<'_>) -> bool {
        if let SocketPart::Open(key) = self { accepts(key, offered, fields) } else { false }
    }
}

/// The fields of a request that opens a WebSocket with `key`.
pub(super) fn upgrade_fields(key: &Key, out: &mut BytesMut) {
    out.extend_from_slice(
        b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ",
    );
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"\r\n");
}
