//! Events of a reply that comes in pieces, such as an event stream: what its sample says of them, and what is
//! noted of each.

use crate::host::HostNumber;
use crate::sample::Stamp;
use crate::time::{Duration, Instant};

/// Events of a stream, up to the end of its request. The struct is packed to keep samples small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(Rust, packed(2))]
pub struct EventStats {
    /// Number of events, which saturates.
    pub events: u32,
    /// Arrival of the first event; on the sockets plane as [`first_byte`](crate::Sample::first_byte).
    pub first: Stamp,
    /// Arrival of the last event so far.
    pub last: Stamp,
    /// The user left the stream, which went on.
    pub left: bool,
}

impl EventStats {
    /// No event yet.
    pub const NONE: EventStats =
        EventStats { events: 0, first: Stamp::NEVER, last: Stamp::NEVER, left: false };

    /// Counts events that came at `at`, at least one; returns the gap from the one before, if there was one.
    pub fn count(&mut self, at: Instant, events: u32) -> Option<Duration> {
        let before = { self.last }.instant();
        if before.is_none() {
            self.first = Stamp::at(at);
        }
        // What is handed on with an instant before that of other bytes did not come before them.
        let at = before.map_or(at, |before| at.max(before));
        self.events = self.events.saturating_add(events);
        self.last = Stamp::at(at);
        before.map(|before| at.since(before))
    }
}

/// Events of a stream that ended within one piece of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyEvent {
    /// Arrival of the events.
    pub at: Instant,
    /// The gap from the event before them to the first of them; `None` if that is the first of its stream.
    pub gap: Option<Duration>,
    /// Number of those that came with the first: between them there is no gap.
    pub alongside: u32,
    /// The user.
    pub user: u32,
    /// The connection, counted over the run.
    pub connection: u32,
    /// Index of the request on its connection, from 0.
    pub number: u32,
    /// Index of the request in the scenario's request set, from 0.
    pub request: u32,
    /// The class of client, from 0.
    pub class: u16,
    /// The host.
    pub host: HostNumber,
    /// Instant at which the request was due.
    pub due: Instant,
}

impl ReplyEvent {
    /// Number of the events.
    pub fn events(&self) -> u64 {
        1 + u64::from(self.alongside)
    }
}
