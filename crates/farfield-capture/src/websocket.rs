//! WebSocket (RFC 6455) behind the reply that upgrades a connection: messages of either end, by the packets
//! that carried them. Heads of frames are parsed by tungstenite.
//!
//! The request that asks for one, each message of the client's, and its Close are transactions. Which message
//! of the server's answers one no packet says: all that end before the client's next one are kept beside it.

use crate::http::Body;
use crate::instant::UnixNs;
use std::io::Cursor;
use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{Control, Data, OpCode};

/// Messages of the server that are kept for one of the client's: 3 MiB.
const ANSWERS_MAX: usize = 1 << 16;
/// Bytes of a frame's head at most.
const HEAD_MAX: usize = 14;

/// A message of the server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerMessage {
    /// Packet that made its first byte available in order.
    pub first: UnixNs,
    /// Packet that made its last byte available.
    pub last: UnixNs,
    /// Bytes of its payload.
    pub body_bytes: u64,
    /// Bytes of its frames.
    pub reply_bytes: u64,
    /// True for a Close.
    pub is_close: bool,
}

/// The part of a WebSocket's life that a transaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketStage {
    /// The request that asks for it.
    Opening,
    /// A message of the client's.
    Message,
    /// The client's Close.
    Close,
}

/// A transaction of a WebSocket, and what the server sent behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketMessage {
    /// The part of the WebSocket's life that it is.
    pub stage: SocketStage,
    /// Messages of the server's that came before the client's next, the first 65,536: where there are more,
    /// the transaction is lossy.
    pub answers: Vec<ServerMessage>,
}

/// A message, or a Close, as it is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadMessage {
    pub first: UnixNs,
    pub body_bytes: u64,
    pub wire_bytes: u64,
    pub is_close: bool,
}

/// Something that a direction came to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MessageEvent {
    /// A message begins.
    Begins(ReadMessage),
    /// The message is whole.
    Ends(ReadMessage),
    /// The bounds of frames are not known any more.
    Lost,
}

/// The frames of one direction.
#[derive(Debug, Default)]
pub(crate) struct MessageReader {
    head: Vec<u8>,
    /// The frame whose payload comes: bytes left, whether it is of a message or a Close, and whether it ends
    /// that.
    frame: Option<(u64, MessageKind, bool)>,
    message: Option<ReadMessage>,
    close: Option<ReadMessage>,
    is_lost: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessageKind {
    Message,
    Close,
    Other,
}

impl MessageReader {
    /// Takes what comes next, at `at`.
    pub fn take(&mut self, body: Body<'_>, at: UnixNs, tell: &mut impl FnMut(MessageEvent)) {
        let (mut bytes, mut unknown) = match body {
            Body::Known(bytes) => (bytes, 0),
            Body::Unknown(count) => (&[][..], count),
        };
        while !self.is_lost && (!bytes.is_empty() || unknown > 0) {
            let Some((left, kind, is_final)) = self.frame else {
                let Some((byte, rest)) = bytes.split_first() else {
                    self.is_lost = true;
                    return tell(MessageEvent::Lost);
                };
                bytes = rest;
                self.head.push(*byte);
                self.read_head(at, tell);
                continue;
            };
            let taken = left.min(bytes.len() as u64 + unknown);
            let known = taken.min(bytes.len() as u64);
            bytes = &bytes[known as usize..];
            unknown -= taken - known;
            match left - taken {
                0 => self.end_frame(kind, is_final, tell),
                left => self.frame = Some((left, kind, is_final)),
            }
        }
    }

    fn read_head(&mut self, at: UnixNs, tell: &mut impl FnMut(MessageEvent)) {
        let parsed = FrameHeader::parse(&mut Cursor::new(&self.head[..]));
        let (header, length) = match parsed {
            Ok(Some(found)) => found,
            Ok(None) if self.head.len() < HEAD_MAX => return,
            Ok(None) | Err(_) => {
                self.is_lost = true;
                return tell(MessageEvent::Lost);
            }
        };
        if length >> 63 != 0 {
            self.is_lost = true;
            return tell(MessageEvent::Lost);
        }
        let wire_bytes = self.head.len() as u64 + length;
        self.head.clear();
        let begun = ReadMessage { first: at, body_bytes: length, wire_bytes, is_close: false };
        let kind = match header.opcode {
            OpCode::Data(Data::Continue) => {
                if let Some(message) = &mut self.message {
                    message.body_bytes = message.body_bytes.saturating_add(length);
                    message.wire_bytes = message.wire_bytes.saturating_add(wire_bytes);
                }
                MessageKind::Message
            }
            OpCode::Data(_) => {
                self.message = Some(begun);
                tell(MessageEvent::Begins(begun));
                MessageKind::Message
            }
            OpCode::Control(Control::Close) => {
                let close = ReadMessage { is_close: true, ..begun };
                self.close = Some(close);
                tell(MessageEvent::Begins(close));
                MessageKind::Close
            }
            OpCode::Control(_) => MessageKind::Other,
        };
        match length {
            0 => self.end_frame(kind, header.is_final, tell),
            _ => self.frame = Some((length, kind, header.is_final)),
        }
    }

    fn end_frame(&mut self, kind: MessageKind, is_final: bool, tell: &mut impl FnMut(MessageEvent)) {
        self.frame = None;
        let ended = match kind {
            MessageKind::Message if is_final => self.message.take(),
            MessageKind::Close => self.close.take(),
            MessageKind::Message | MessageKind::Other => None,
        };
        if let Some(message) = ended {
            tell(MessageEvent::Ends(message));
        }
    }
}

impl SocketMessage {
    /// Nothing came yet behind this part of a WebSocket's life.
    pub(crate) fn of(stage: SocketStage) -> Box<SocketMessage> {
        Box::new(SocketMessage { stage, answers: Vec::new() })
    }

    /// Keeps a message of the server's that ended at `last`; false if there is no room.
    pub(crate) fn answer(&mut self, message: ReadMessage, last: UnixNs) -> bool {
        let has_room = self.answers.len() < ANSWERS_MAX;
        if has_room {
            let ReadMessage { first, body_bytes, wire_bytes, is_close } = message;
            self.answers.push(ServerMessage { first, last, body_bytes, reply_bytes: wire_bytes, is_close });
        }
        has_room
    }
}
