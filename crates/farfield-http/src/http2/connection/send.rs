//! Requests that a client sends, and their bodies as far as windows allow.

use super::Connection;
use crate::http2::StreamId;
use crate::http2::flow::{ReceiveWindow, SendWindow};
use crate::http2::frame;
use crate::http2::hpack::{DEFAULT_TABLE_BYTES, encoder};
use crate::http2::peer::Peer;
use crate::http2::request::RequestBlock;
use crate::http2::stream::Stream;
use bytes::{Buf, Bytes};

/// Why a request was not sent. Nothing of it was, so it may be sent on another connection, or later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotSent {
    /// The server takes no more requests on this connection.
    #[error("the server takes no more requests on this connection")]
    GoingAway,
    /// As many streams are open as the server allows.
    #[error("as many streams are open as the server allows")]
    Full,
    /// All numbers of streams are used (RFC 9113, 5.1.1).
    #[error("all numbers of streams are used")]
    NumbersUsed,
}

/// The server's dynamic table, as far as we have filled it.
#[derive(Debug, Clone, Copy)]
pub(super) struct EncoderTable {
    holds: TableContent,
    /// The size that the server knows us to use.
    bytes: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TableContent {
    /// Nothing yet.
    Nothing,
    /// The common fields with this mark, which take so many bytes.
    Common { mark: u64, bytes: u32 },
    /// Nothing for good: the table is too small for the common fields.
    Never,
}

impl EncoderTable {
    pub(super) const NEW: EncoderTable =
        EncoderTable { holds: TableContent::Nothing, bytes: DEFAULT_TABLE_BYTES };

    /// The change of size that must begin the next block, if the server's settings call for one (RFC 7541,
    /// 4.2). The table is emptied for good where what it holds has no room.
    fn shrink(&mut self, peer: &Peer) -> Option<u32> {
        if peer.table_bytes_least >= self.bytes {
            return None;
        }
        let fits = match self.holds {
            TableContent::Nothing => true,
            TableContent::Common { bytes, .. } => bytes <= peer.table_bytes_least,
            TableContent::Never => false,
        };
        self.bytes = if fits { peer.table_bytes_least } else { 0 };
        if !fits {
            self.holds = TableContent::Never;
        }
        Some(self.bytes)
    }

    /// The block to send.
    fn block<'r>(&mut self, request: &'r RequestBlock) -> &'r [u8] {
        match self.holds {
            _ if request.common_bytes == 0 => &request.plain,
            TableContent::Nothing if request.common_bytes <= self.bytes => {
                self.holds = TableContent::Common { mark: request.common_mark, bytes: request.common_bytes };
                &request.first
            }
            TableContent::Common { mark, .. } if mark == request.common_mark => &request.later,
            _ => &request.plain,
        }
    }
}

impl Connection {
    /// Requests that may be sent now.
    pub fn room(&self) -> usize {
        if self.is_closing() {
            return 0;
        }
        (self.peer.streams_max as usize).saturating_sub(self.streams.len())
    }

    /// Sends a request: appends it to `to_send`, with as much of its body as the windows allow. The rest
    /// follows as the server allows it. The body must be as long as the request's head says.
    ///
    /// # Errors
    /// [`NotSent`], where there is no [`room`](Self::room).
    pub fn request(
        &mut self,
        request: &RequestBlock,
        body: &Bytes,
        to_send: &mut Vec<u8>,
    ) -> Result<StreamId, NotSent> {
        debug_assert_eq!(request.body_bytes, body.len() as u64, "the length that the head says");
        if self.going_away.is_some() {
            return Err(NotSent::GoingAway);
        }
        let id = self.streams.next_id().ok_or(NotSent::NumbersUsed)?;
        if self.room() == 0 {
            return Err(NotSent::Full);
        }
        let mut change = Vec::new();
        if let Some(bytes) = self.table.shrink(&self.peer) {
            encoder::size_update(bytes, &mut change);
        }
        let parts = [change.as_slice(), self.table.block(request)];
        frame::write_headers(id, parts, body.is_empty(), self.peer.frame_bytes_max, to_send);
        self.streams.open(Stream {
            id,
            answering: request.answering,
            unsent: body.clone(),
            send: SendWindow::new(self.peer.window),
            receive: ReceiveWindow::new(self.stream_window_bytes),
            status: 0,
            in_body: false,
            length: None,
            body_bytes: 0,
            reply_bytes: 0,
            bodiless_bytes: 0,
        });
        // However late it is answered, it is what the connection is for.
        self.allowance.earn(1);
        if !body.is_empty() {
            self.send_bodies(to_send);
        }
        Ok(StreamId(id))
    }

    /// True if a request's body waits for the server to allow more of it.
    pub fn is_stalled(&self, stream: StreamId) -> bool {
        self.streams.get(stream.0).is_some_and(|own| !own.unsent.is_empty())
    }

    /// Appends what the windows allow of bodies, the oldest stream's first.
    pub(super) fn send_bodies(&mut self, to_send: &mut Vec<u8>) {
        for stream in self.streams.iter_mut().filter(|stream| !stream.unsent.is_empty()) {
            while !stream.unsent.is_empty() {
                let allowed =
                    self.send.bytes().min(stream.send.bytes()).min(self.peer.frame_bytes_max as usize);
                let bytes = allowed.min(stream.unsent.len());
                if bytes == 0 {
                    break;
                }
                let last = bytes == stream.unsent.len();
                let before = to_send.len();
                frame::write_data(stream.id, &stream.unsent[..bytes], last, to_send);
                stream.unsent.advance(bytes);
                stream.send.take(bytes);
                self.send.take(bytes);
                self.body_frame_bytes += to_send.len() - before;
                self.allowance.earn(1);
            }
        }
    }
}
