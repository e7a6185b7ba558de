//! A transaction of HTTP: a request and its final reply.

use crate::events::ReplyEvents;
use crate::instant::UnixNs;
use crate::websocket::SocketMessage;

/// The end of a transaction, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TransactionState {
    /// Request and reply are complete.
    Complete,
    /// The connection or the capture ended before a byte of the final reply.
    Unanswered,
    /// The connection or the capture ended inside the reply, or inside the request.
    Truncated,
    /// Bytes of it were never captured, or were cut off where its framing needed them. Instants and counts
    /// are those of what was captured.
    Lossy,
    /// One of the two directions is no HTTP that is read, or has a head beyond
    /// [`Options::head_bytes_max`](crate::Options). Nothing after it on the connection is read.
    NotHttp,
}

impl TransactionState {
    /// All of them.
    pub const ALL: [TransactionState; 5] = [
        TransactionState::Complete,
        TransactionState::Unanswered,
        TransactionState::Truncated,
        TransactionState::Lossy,
        TransactionState::NotHttp,
    ];

    /// The name in every output.
    pub const fn name(self) -> &'static str {
        match self {
            TransactionState::Complete => "complete",
            TransactionState::Unanswered => "unanswered",
            TransactionState::Truncated => "truncated",
            TransactionState::Lossy => "lossy",
            TransactionState::NotHttp => "not-http",
        }
    }
}

/// A request and its final reply. The crate's page says which packet each instant is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// The transaction's connection, [`Connection::id`](crate::Connection).
    pub connection: u32,
    /// Index on its connection from 0, as in `Sample::number`; counted from the first captured request where
    /// the connection's beginning is not in the capture. Over HTTP/2 in the order of the streams.
    pub number: u32,
    /// First packet with its first byte.
    pub request_first: UnixNs,
    /// First packet with its last byte.
    pub request_last: UnixNs,
    /// Packet that made the first byte of the final reply available in order; replies 1xx are passed over.
    pub reply_first: Option<UnixNs>,
    /// Packet that made the last byte of the final reply that was captured available in order; the server's
    /// FIN if the end of the connection delimits the reply.
    pub reply_last: Option<UnixNs>,
    /// The request began before the reply to the one before was complete.
    pub pipelined: bool,
    /// Method, empty if it was not captured.
    pub method: String,
    /// Request target as sent, its bytes outside of UTF-8 replaced; at most
    /// [`Options::target_bytes_max`](crate::Options) bytes of it, and empty if it was not captured.
    pub target: String,
    /// [Hash](crate::authority_hash) of its Host field or `:authority`, 0 if it was not captured.
    pub authority: u64,
    /// Status of the final reply, 0 if its head is not complete.
    pub status: u16,
    /// Bytes of the reply's body, transfer codings removed.
    pub body_bytes: u64,
    /// All bytes of the reply: heads (those of replies 1xx too), framing and body; over HTTP/2 those of the
    /// stream's HEADERS, CONTINUATION and DATA.
    pub reply_bytes: u64,
    /// Events of the reply, if it has any and all bytes of its body are known up to the last.
    pub events: Option<ReplyEvents>,
    /// The server's messages after a client's message on a WebSocket; the first of them is the reply.
    pub message: Option<Box<SocketMessage>>,
    /// The transaction's end, as far as it is known.
    pub state: TransactionState,
}
