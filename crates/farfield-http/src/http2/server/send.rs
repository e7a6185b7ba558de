//! Replies that a server sends: heads at once, bodies as far as windows allow, in turns.

use super::ServerConnection;
use crate::http2::StreamId;
use crate::http2::frame::{self, END_STREAM, FrameType, HEADER_BYTES};
use crate::http2::head::is_of_http1;
use crate::http2::hpack::encoder::{self, Literal};
use bytes::Bytes;

/// The rest of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodySource {
    /// Nothing.
    None,
    /// Bytes as they are.
    Bytes(Bytes),
    /// So many bytes, at least one, which are slices of `of`, over and over.
    Filler {
        /// The bytes that they are slices of, not empty.
        of: Bytes,
        /// Number of bytes that are left.
        left: u64,
    },
}

impl BodySource {
    /// Bytes that are left.
    pub fn left(&self) -> u64 {
        match self {
            BodySource::None => 0,
            BodySource::Bytes(bytes) => bytes.len() as u64,
            BodySource::Filler { left, .. } => *left,
        }
    }

    /// Takes the next bytes, at most so many.
    pub fn take(&mut self, most: usize) -> Bytes {
        match self {
            BodySource::None => Bytes::new(),
            BodySource::Bytes(bytes) => bytes.split_to(bytes.len().min(most)),
            BodySource::Filler { of, left } => {
                let taken = of.len().min(most).min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= taken as u64;
                of.slice(..taken)
            }
        }
    }
}

/// A frame of a body that is to be sent now.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BodyFrame {
    /// The frame's header.
    pub header: [u8; HEADER_BYTES],
    /// Payload of the frame.
    pub payload: Bytes,
    /// The stream, if the reply is over with it.
    pub ends: Option<StreamId>,
}

impl ServerConnection {
    /// Replies to a request: appends the head, whose header block is `block`, to `to_send`; `body` follows in
    /// [pieces](Self::next_piece). True if the reply is over with its head. Nothing happens if the stream is
    /// over.
    pub fn reply(&mut self, stream: StreamId, block: &[u8], body: BodySource, to_send: &mut Vec<u8>) -> bool {
        let (frame_bytes_max, ends) = (self.client.frame_bytes_max, body.left() == 0);
        let Some(own) = self.find(stream.0) else { return false };
        own.body = body;
        frame::write_headers(stream.0, [block, &[]], ends, frame_bytes_max, to_send);
        if ends {
            self.remove(stream.0);
        } else {
            self.turns.push_back(stream.0);
        }
        self.allowance.earn(1);
        ends
    }

    /// The next frame of a body, of the stream whose turn it is among those whose windows allow one; nothing
    /// if none does.
    pub fn next_piece(&mut self) -> Option<BodyFrame> {
        let allowed =
            self.send.bytes().min(self.settings.data_bytes.min(self.client.frame_bytes_max) as usize);
        if allowed == 0 {
            return None;
        }
        for _ in 0..self.turns.len() {
            let id = self.turns.pop_front()?;
            let Some(stream) = self.find(id) else { continue };
            let payload = stream.body.take(allowed.min(stream.send.bytes()));
            if payload.is_empty() {
                self.turns.push_back(id);
                continue;
            }
            stream.send.take(payload.len());
            let ends = stream.body.left() == 0;
            self.send.take(payload.len());
            match ends {
                true => _ = self.remove(id),
                false => self.turns.push_back(id),
            }
            let flags = if ends { END_STREAM } else { 0 };
            let header = frame::header(payload.len(), FrameType::Data, flags, id);
            self.allowance.earn(1);
            return Some(BodyFrame { header, payload, ends: ends.then_some(StreamId(id)) });
        }
        None
    }

    /// True if a body waits for the client's windows, or for its turn.
    pub fn is_sending(&self) -> bool {
        !self.turns.is_empty()
    }
}

/// Appends the header block of a reply: its status, and fields by name and value. Names are written in lower
/// case, and fields of HTTP/1 connections are left out. It leaves the client's table alone, so that it may be
/// sent on any connection and any number of times.
pub fn put_reply_block<'a>(
    status: u16,
    fields: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    out: &mut Vec<u8>,
) {
    encoder::field(Literal::NotInserted, b":status", status.to_string().as_bytes(), out);
    for (name, value) in fields {
        let name = name.to_ascii_lowercase();
        if !is_of_http1(name.as_bytes()) {
            encoder::field(Literal::NotInserted, name.as_bytes(), value, out);
        }
    }
}
