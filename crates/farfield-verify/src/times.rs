//! The times of a request, as a sample has them and as packets show them.
//!
//! | time | sample | packets |
//! | --- | --- | --- |
//! | connect | `connected` − `connect_begun` | SYN-ACK − first SYN; of QUIC not compared |
//! | tls | `tls.secured` − `connected` | last message of the server's in the handshake − SYN-ACK |
//! | reply | `first_byte` − `sent` | first packet of the reply − first packet of the request |
//! | transfer | `done` − `first_byte` | last packet of the reply − its first |
//! | service | `done` − `sent` | last packet of the reply − first packet of the request |
//! | response | `done` − `due` | last packet of the reply − `due`, by the run's clock |
//! | first-event | `events.first` − `sent` | packet that completes the first event − first packet of the request |
//! | event-gap | `longest_gap` | the longest time between packets that complete events |
//!
//! The reply and the transfer time are those of Hashemian, Krishnamurthy and Arlitt 2011, figure 2; the sum
//! that the study calls response time is the service time here. `due` is in no packet.

use farfield_base::{Outcome, Sample};
use farfield_capture::{Connection, Transaction, TransactionState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of the times of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimeKind {
    /// Time of the connection's handshake, for the first request of a connection.
    Connect,
    /// Time of the handshake of TLS, for the first request of a connection.
    Tls,
    /// Until the reply begins.
    Reply,
    /// From the reply's beginning to its end.
    Transfer,
    /// From sending to the reply's end.
    Service,
    /// From when the request was due to the reply's end.
    Response,
    /// From sending to the first event of the reply, of streams of events.
    FirstEvent,
    /// The longest time from one event of the reply to the next.
    EventGap,
}

impl TimeKind {
    /// All of them.
    pub const ALL: [TimeKind; 8] = [
        TimeKind::Connect,
        TimeKind::Tls,
        TimeKind::Reply,
        TimeKind::Transfer,
        TimeKind::Service,
        TimeKind::Response,
        TimeKind::FirstEvent,
        TimeKind::EventGap,
    ];

    /// True if it is of a connection, so that only the first request on it has it.
    pub const fn is_of_connection(self) -> bool {
        matches!(self, TimeKind::Connect | TimeKind::Tls)
    }

    /// True if only replies with events have it.
    pub const fn is_of_events(self) -> bool {
        matches!(self, TimeKind::FirstEvent | TimeKind::EventGap)
    }

    /// The name in every output.
    pub const fn name(self) -> &'static str {
        match self {
            TimeKind::Connect => "connect",
            TimeKind::Tls => "tls",
            TimeKind::Reply => "reply",
            TimeKind::Transfer => "transfer",
            TimeKind::Service => "service",
            TimeKind::Response => "response",
            TimeKind::FirstEvent => "first-event",
            TimeKind::EventGap => "event-gap",
        }
    }

    /// The time of a sample, in nanoseconds, if it has one.
    pub fn of_sample(self, sample: &Sample) -> Option<i64> {
        let between = |from: u64, to: u64| Some(to as i64 - from as i64);
        let done = sample.done.as_ns();
        let sent = sample.sent.instant().map(|at| at.as_ns());
        let first_byte = sample.first_byte.instant().map(|at| at.as_ns());
        match self {
            // What lasted until its user left is no time of the reply's.
            TimeKind::Transfer | TimeKind::Service | TimeKind::Response if sample.is_left() => None,
            TimeKind::Connect => {
                between(sample.connect_begun.instant()?.as_ns(), sample.connected.instant()?.as_ns())
            }
            TimeKind::Tls => {
                let secured = sample.tls?.secured;
                between(sample.connected.instant()?.as_ns(), secured.as_ns())
            }
            TimeKind::Reply => between(sent?, first_byte?),
            TimeKind::Transfer => between(first_byte?, done),
            TimeKind::Service => between(sent?, done),
            TimeKind::Response => between(sample.due.as_ns(), done),
            TimeKind::FirstEvent => between(sent?, { sample.events?.first }.instant()?.as_ns()),
            // Of a stream that was left, the gap before that is one, whose end no packet shows.
            TimeKind::EventGap => {
                let events = sample.events.filter(|events| events.events > 1 && !events.left);
                events.map(|_| sample.longest_gap.as_ns() as i64)
            }
        }
    }

    /// The time of packets, in nanoseconds, if they have one; never the response time, which no packet shows.
    pub fn of_packets(self, transaction: &Transaction, connection: &Connection) -> Option<i64> {
        let between = |from: u64, to: u64| Some(to as i64 - from as i64);
        let (first, last) = (transaction.reply_first.map(|at| at.0), transaction.reply_last.map(|at| at.0));
        match self {
            // A client's work before its first datagram of QUIC is in no packet.
            TimeKind::Connect if connection.is_quic => None,
            TimeKind::Connect => between(connection.syn?.0, connection.syn_ack?.0),
            TimeKind::Tls => between(connection.syn_ack?.0, connection.secured?.0),
            TimeKind::Reply => between(transaction.request_first.0, first?),
            TimeKind::Transfer => between(first?, last?),
            TimeKind::Service => between(transaction.request_first.0, last?),
            TimeKind::Response => None,
            TimeKind::FirstEvent => between(transaction.request_first.0, transaction.events?.first.0),
            TimeKind::EventGap => {
                transaction.events.filter(|events| events.count > 1).map(|own| own.longest_gap_ns as i64)
            }
        }
    }
}

/// True if a request of this outcome has a complete reply, whose instants are those of its bytes.
pub fn is_answered(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Ok
            | Outcome::Status4xx
            | Outcome::Status5xx
            | Outcome::CheckFailed
            | Outcome::ExtractFailed
            | Outcome::RedirectLoop
            | Outcome::RedirectElsewhere
            | Outcome::BadCoding
            | Outcome::WebSocketRefused
    )
}

/// True if packets show a complete reply.
pub fn is_complete(transaction: &Transaction) -> bool {
    transaction.state == TransactionState::Complete
}
