//! Counters of users: of the load that was due, and of what became of it. Each is defined here alone.
//!
//! Users count, [`Merge`](crate::Merge) adds up workers and shards, and the summary shows what it has a place
//! for. Groups that it shows as a whole ([`AlternativeCounts`], [`ContentCounts`], [`MoveCounts`]) are parts
//! of its document as they are: a counter that is added to one is in `summary.json` and in its schema.

use crate::Duration;
use serde::{Deserialize, Serialize};

crate::mergeable! {
    /// Counters of the load that was scheduled in the measured window, and of what became of it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(default)]
    pub struct LoadCounts {
        /// Arrivals or attempts that were due in the window, including those that were never begun.
        pub scheduled: u64,
        /// Arrivals or attempts due in the window that were begun, be it late.
        pub begun: u64,
        /// Arrivals or attempts due in the window that no user could take.
        pub dropped: u64,
        /// Arrivals or attempts begun in the later half of the window.
        pub begun_later: u64,
        /// Arrivals or attempts begun in the window's later half by a new visitor, with a connection of its
        /// own, since none that keeps one was idle.
        pub newcomers_later: u64,
        /// Requests sent again, on another connection, over the whole run: the connection they were first
        /// sent on closed without a word about them. Each is one sample; the server may have seen it more
        /// often.
        pub resent: u64,
        /// Requests that the server refused without processing them, and that were sent again, over the whole
        /// run; each time counts.
        pub refused: u64,
        /// Arrivals or attempts, over the whole run, that were due and that the worker never came to.
        pub missed: u64,
        /// Missed arrivals or attempts that have no sample: more than are worth one each.
        pub missed_without_sample: u64,
        /// Connections given up because bytes came on them that no request had asked for, over the whole run:
        /// behind a reply after which they were to be kept, or while they were idle.
        pub unasked: u64,
        /// Content that was decoded, over the whole run.
        pub content: ContentCounts,
        /// Objects that were not fetched because their page embeds too many, over the whole run.
        pub objects_left_out: u64,
        /// Replies that were longer than what is kept of them, so that checks and extractions saw their
        /// beginning alone, over the whole run.
        pub bodies_cut: u64,
        /// Forms that were sent with fields or a button that their page does not have, over the whole run.
        pub forms_unlike: u64,
        /// Requests whose content was sent without the server's word (100), which they had asked for, over
        /// the whole run.
        pub unasked_content: u64,
        /// Processor time that handshakes of TLS took in the window.
        pub handshake_cpu: Duration,
        /// Attempts at HTTP/3 that alternatives led to, over the whole run.
        pub alternatives: AlternativeCounts,
        /// Connections of clients that moved, over the whole run.
        pub moves: MoveCounts,
        /// WebSockets and the messages on them, over the whole run.
        pub websockets: WebSocketCounts,
        /// Requests of a load by count that were not begun.
        pub unbegun: u64,
        /// Length of the server's silence when a load by count was given up.
        pub given_up: Option<Duration> => most,
    }
}

crate::mergeable! {
    /// Content that came in a coding such as gzip and was looked at, over the whole run. Codings are taken
    /// off for checks, extractions and embedded objects alone, so nothing is known of the rest.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ContentSummary"))]
    pub struct ContentCounts {
        /// Bytes as they came.
        pub coded_bytes: u64,
        /// Bytes that they stood for.
        pub decoded_bytes: u64,
    }
}

crate::mergeable! {
    /// WebSockets of users (RFC 6455) and the messages on them, over the whole run.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WebSocketsSummary"))]
    #[serde(default)]
    pub struct WebSocketCounts {
        /// WebSockets that were opened.
        pub opened: u64,
        /// WebSockets that the server closed ahead of their user.
        pub closed: u64,
        /// Messages that users sent.
        pub sent: u64,
        /// Messages that came.
        pub received: u64,
        /// Messages that came and were not what a state awaited.
        pub passed_over: u64,
        /// Messages that came while nothing was awaited, and were forgotten for others that came later.
        pub lost: u64,
    }
}

crate::mergeable! {
    /// Attempts at HTTP/3 that a server's Alt-Svc led to (RFC 7838), and how they ended.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "AlternativesSummary"))]
    pub struct AlternativeCounts {
        /// Connections of QUIC that were begun.
        pub tried: u64,
        /// Connections of QUIC whose handshake came to its end.
        pub secured: u64,
        /// Slow attempts, beside which a connection of TCP was opened that had what was asked. Such a one may
        /// be secured later.
        pub overtaken: u64,
        /// Attempts that failed because nothing listened on the port, or there was no way there.
        pub refused: u64,
        /// Attempts that were given up because nothing came in answer.
        pub unanswered: u64,
        /// Attempts that failed in another way: a handshake, a version, an error of the server's.
        pub failed: u64,
        /// Times that a server named HTTP/3 on other hosts alone, which is not taken.
        #[serde(alias = "out_of_reach")]
        pub elsewhere: u64,
    }
}

impl AlternativeCounts {
    /// Attempts that did not lead to HTTP/3.
    pub fn fallbacks(&self) -> u64 {
        self.refused + self.unanswered + self.failed
    }
}

crate::mergeable! {
    /// Connections of clients that moved to another access network, over the whole run.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(default)]
    pub struct MoveCounts {
        /// Connections of QUIC that went on when their client moved to another access network.
        #[serde(rename = "migrated_connections")]
        pub migrated: u64,
        /// Connections that ended when their client moved: those of TCP, and of QUIC in their handshake.
        #[serde(rename = "connections_broken_by_moves")]
        pub broken: u64,
    }
}
