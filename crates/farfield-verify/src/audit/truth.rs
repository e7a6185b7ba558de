//! Figures of a tool's run by its packets: its requests, how they ended, and how long they took.
//!
//! The response time goes from the packet with a request's first byte to the packet with the reply's last
//! byte, both where the capture was taken: at the tool. What the tool itself needs to look at a reply that
//! has come is not in it, nor is what it needs to write one that is due. Beside it stands the time that the
//! tool says that it measures, where that is another ([`Span`]).

use super::reported::Span;
use super::times::Times;
use farfield_capture::{Capture, Connection, End, Side, Transaction, TransactionState};
use serde::Serialize;

/// Figures of a tool's run by its packets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Truth {
    /// Requests with a complete reply.
    pub requests: u64,
    /// Complete replies with a status of 400 and above.
    pub refused: u64,
    /// Requests without a complete reply whose connection the server ended.
    pub broken: u64,
    /// Requests without a complete reply that the tool gave up: by a time limit, or at its end.
    pub given_up: u64,
    /// Requests of which the capture lacks bytes, or that are not HTTP/1; they are in nothing else.
    pub unreadable: u64,
    /// Connections that were not accepted.
    pub unconnected: u64,
    /// Nanoseconds from the first request to the last reply.
    pub duration_ns: u64,
    /// Complete requests per second of that time.
    pub rate_per_s: f64,
    /// Bytes of all replies, heads included.
    pub bytes: u64,
    /// Response times of complete requests.
    pub times: Times,
    /// Response times from the SYN on, for the first requests of connections.
    pub times_with_connect: Times,
    /// Complete requests to which this adds something.
    pub first_requests: u64,
}

/// A request as the audit sees it. Instants are nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exchange {
    pub connection: u32,
    pub number: u32,
    /// The SYN, for the first request of a connection; else as `sent`.
    pub begun: u64,
    pub sent: u64,
    /// The reply's last byte, or the last sign of the connection.
    pub ended: u64,
    pub complete: bool,
}

impl Truth {
    /// Figures of `capture`.
    pub fn of(capture: &Capture) -> Truth {
        let exchanges = exchanges(capture);
        let complete = || exchanges.iter().filter(|exchange| exchange.complete);
        let count = |which: &dyn Fn(&Transaction) -> bool| {
            capture.transactions.iter().filter(|transaction| which(transaction)).count() as u64
        };
        let incomplete = |transaction: &Transaction| {
            matches!(transaction.state, TransactionState::Unanswered | TransactionState::Truncated)
        };
        let by_server =
            |transaction: &Transaction| connection_of(capture, transaction).is_some_and(ended_by_server);
        let first = exchanges.iter().map(|exchange| exchange.sent).min().unwrap_or(0);
        let last = complete().map(|exchange| exchange.ended).max().unwrap_or(first);
        let duration_ns = last.saturating_sub(first);
        let requests = complete().count() as u64;
        Truth {
            requests,
            refused: count(&|transaction| {
                transaction.state == TransactionState::Complete && transaction.status >= 400
            }),
            broken: count(&|transaction| incomplete(transaction) && by_server(transaction)),
            given_up: count(&|transaction| incomplete(transaction) && !by_server(transaction)),
            unreadable: count(&|transaction| {
                matches!(transaction.state, TransactionState::Lossy | TransactionState::NotHttp)
            }),
            unconnected: capture.connections.iter().filter(|connection| is_unconnected(connection)).count()
                as u64,
            duration_ns,
            rate_per_s: if duration_ns == 0 { 0.0 } else { requests as f64 / (duration_ns as f64 / 1e9) },
            bytes: capture.transactions.iter().map(|transaction| transaction.reply_bytes).sum(),
            times: Times::of(
                complete().map(|exchange| exchange.ended.saturating_sub(exchange.sent)).collect(),
            ),
            times_with_connect: Times::of(
                complete().map(|exchange| exchange.ended.saturating_sub(exchange.begun)).collect(),
            ),
            first_requests: complete().filter(|exchange| exchange.begun < exchange.sent).count() as u64,
        }
    }

    /// The times of the span that a tool measures.
    pub fn times_of(&self, span: Span) -> &Times {
        match span {
            Span::Request => &self.times,
            Span::ConnectAndRequest => &self.times_with_connect,
        }
    }

    /// Requests that failed by the server, and connections that were not accepted.
    pub fn errors(&self) -> u64 {
        self.refused + self.broken + self.unconnected
    }
}

/// The requests that can be read, in the order in which they were sent.
pub(super) fn exchanges(capture: &Capture) -> Vec<Exchange> {
    let readable = |transaction: &&Transaction| {
        !matches!(transaction.state, TransactionState::Lossy | TransactionState::NotHttp)
    };
    let mut found: Vec<Exchange> = capture
        .transactions
        .iter()
        .filter(readable)
        .map(|transaction| {
            let connection = connection_of(capture, transaction);
            let sent = transaction.request_first.0;
            let syn = connection.filter(|_| transaction.number == 0).and_then(|connection| connection.syn);
            let complete = transaction.state == TransactionState::Complete;
            let end = transaction.reply_last.filter(|_| complete);
            let end = end.or(connection.map(|connection| connection.last));
            Exchange {
                connection: transaction.connection,
                number: transaction.number,
                begun: syn.map_or(sent, |syn| syn.0.min(sent)),
                sent,
                ended: end.map_or(sent, |end| end.0.max(sent)),
                complete,
            }
        })
        .collect();
    found.sort_by_key(|exchange| (exchange.sent, exchange.connection, exchange.number));
    found
}

fn connection_of<'a>(capture: &'a Capture, transaction: &Transaction) -> Option<&'a Connection> {
    capture.connections.get(transaction.connection as usize)
}

fn ended_by_server(connection: &Connection) -> bool {
    matches!(connection.end, End::Fin { side: Side::Server, .. } | End::Reset { side: Side::Server, .. })
}

/// A SYN that got no SYN-ACK.
fn is_unconnected(connection: &Connection) -> bool {
    connection.seen_from_start && connection.syn_ack.is_none() && connection.established.is_none()
}
