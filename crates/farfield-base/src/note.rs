//! Notes: what the samples of single requests cannot say of the sessions that they belong to.
//!
//! A user notes each session that it begins, each that ends, and each request of a session that failed, with
//! the check that failed and what came instead. Of a request outside of sessions a failure is noted if more
//! is known of it than its outcome. Notes travel beside samples and are folded like them. Of the first
//! failures alone request and reply are kept; what is kept of one is bounded. Events of streams are noted as
//! they come, since a stream may have no end.

use crate::cause::Detail;
use crate::event_stats::ReplyEvent;
use crate::outcome::Outcome;
use crate::time::Instant;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Something that happened in a session, or in a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A session began.
    Begun(SessionBegin),
    /// A session ended. One that is still open at the end of the run has no such note.
    Ended(SessionEnd),
    /// A request failed: one of a session, or one of whose failure more is known than its outcome.
    Failed(Box<SessionFailure>),
    /// Events of a stream came.
    Event(ReplyEvent),
}

/// The beginning of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionBegin {
    /// Instant at which its first page was due.
    pub due: Instant,
    /// The user that began it.
    pub user: u32,
    /// Number of the session, as in [`Sample::session`](crate::Sample::session).
    pub session: u32,
}

/// The end of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionEnd {
    /// Beginning of the session.
    pub begin: SessionBegin,
    /// End of its last page.
    pub at: Instant,
    /// The number of the state whose failure broke it off; `None` if it went its whole way.
    pub broken_off: Option<u16>,
}

/// A request that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFailure {
    /// Instant at which the failure was known.
    pub at: Instant,
    /// Instant at which the request was due.
    pub due: Instant,
    /// The user.
    pub user: u32,
    /// The session's number, or [`Sample::NO_SESSION`](crate::Sample::NO_SESSION).
    pub session: u32,
    /// The number of the state that the user was in, or [`SessionFailure::NO_STATE`].
    pub state: u16,
    /// Outcome of the request.
    pub outcome: Outcome,
    /// The reply's status; 0 if no head came.
    pub status: u16,
    /// Name of the thing that failed, equal for equal failures: a check as the scenario writes it, the path
    /// of an embedded object; empty where the outcome says all.
    pub what: Arc<str>,
    /// Detail of a failure of the connection or of the reply.
    pub detail: Option<Arc<Detail>>,
    /// Text that came instead, in one line; a worker says it of the first failure of each kind alone.
    pub instead: Option<Box<str>>,
    /// The request and the reply, of the first failures.
    pub exchange: Option<Box<KeptExchange>>,
}

/// The beginning of a request and of its reply, as they were sent and received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptExchange {
    /// The request; empty if none could be written.
    pub request: Box<[u8]>,
    /// Full length of the request, in bytes.
    pub request_bytes: u64,
    /// The head of the reply, as lines; empty if none came.
    pub head: Box<[u8]>,
    /// The body, without content codings where these were taken off.
    pub body: Box<[u8]>,
    /// Length of the part of the body that was received and examined, in bytes.
    pub body_bytes: u64,
}

impl SessionFailure {
    /// The state of users who are in no states: embedded objects of other pages fail there.
    pub const NO_STATE: u16 = u16::MAX;
}

impl KeptExchange {
    /// Failures of which request and reply are kept.
    pub const MOST: usize = 5;
    /// Failures of one kind of which request and reply are kept.
    pub const OF_A_KIND: usize = 2;
    /// Bytes that are kept of a request, of a head and of a body each.
    pub const BYTES: usize = 16 << 10;
}

impl Note {
    /// Instant and maker of the note: notes of several workers in this order are the same however many
    /// workers there are.
    pub fn order(&self) -> (Instant, u32, u32) {
        match self {
            Note::Begun(SessionBegin { due, user, session }) => (*due, *user, *session),
            Note::Ended(SessionEnd { at, begin, .. }) => (*at, begin.user, begin.session),
            Note::Failed(failure) => (failure.at, failure.user, failure.session),
            Note::Event(event) => (event.at, event.user, event.connection),
        }
    }
}
