//! The policy of users towards replies that come in pieces: what counts as an event, and when a user has seen
//! enough of a stream that goes on.

use farfield_base::Duration;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// Parts of a reply that count as events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventsBy {
    /// The events of an event stream (`text/event-stream`, WHATWG HTML section 9.2) and lines of JSON
    /// (`application/x-ndjson`, `application/json-seq` and their like), if no content coding hides them.
    /// Other replies have no events.
    #[default]
    Type,
    /// Events by type, and the pieces of every other reply's body: bytes of one instant are a piece.
    Pieces,
    /// None of any reply.
    None,
}

/// `[events]`: replies that come in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct EventPolicy {
    /// Parts of a reply that count as events.
    pub by: EventsBy,
    /// The longest gap in the midst of a reply that is no stall.
    pub stall: Duration,
    /// The time from the first byte of a stream after which its user leaves it. If absent, users stay to its
    /// end, or to the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leave_after: Option<Duration>,
    /// Number of events after which a user leaves a stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leave_at: Option<NonZeroU32>,
}

impl Default for EventPolicy {
    fn default() -> EventPolicy {
        EventPolicy {
            by: EventsBy::default(),
            stall: Duration::from_ms(500),
            leave_after: None,
            leave_at: None,
        }
    }
}
