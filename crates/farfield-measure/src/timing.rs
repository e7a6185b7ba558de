//! The times of a request and of the events of its reply, under the same names everywhere: fold, summary,
//! thresholds, histogram logs.

use farfield_base::{Duration, Merge, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A time of a request, or of the events of its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// From due to done: what a user who wanted the object then has waited.
    Response,
    /// From sent to done.
    Service,
    /// From begun to established, for requests that opened a connection.
    Connect,
    /// From sent to the first byte of the reply.
    Reply,
    /// From the first byte of the reply to its last.
    Transfer,
    /// From due to the first event, for replies that are streams of events.
    FirstEvent,
    /// From one event of a stream to the next. A request has many of these, or none: they are counted as
    /// they come ([`Fold::note`](crate::fold::Fold::note)).
    EventGap,
}

impl Timing {
    /// All of them, in the order of reports.
    pub const ALL: [Timing; 7] = [
        Timing::Response,
        Timing::Service,
        Timing::Connect,
        Timing::Reply,
        Timing::Transfer,
        Timing::FirstEvent,
        Timing::EventGap,
    ];

    /// Times that a request has if it succeeded. Of the others it has each to which it came.
    pub const OF_SUCCESS: [Timing; 4] = [Timing::Response, Timing::Service, Timing::Reply, Timing::Transfer];

    /// True if only replies with events have it: most runs have none.
    pub const fn is_of_events(self) -> bool {
        matches!(self, Timing::FirstEvent | Timing::EventGap)
    }

    /// The name in every output.
    pub const fn name(self) -> &'static str {
        match self {
            Timing::Response => "response",
            Timing::Service => "service",
            Timing::Connect => "connect",
            Timing::Reply => "reply",
            Timing::Transfer => "transfer",
            Timing::FirstEvent => "first-event",
            Timing::EventGap => "event-gap",
        }
    }

    /// The time of `sample`, as far as it came to it. What lasted until its user left has none.
    pub fn of(self, sample: &Sample) -> Option<Duration> {
        match self {
            Timing::Response | Timing::Service | Timing::Transfer if sample.is_left() => None,
            Timing::Response => Some(sample.response_time()),
            Timing::Service => sample.service_time(),
            Timing::Connect => sample.connect_time(),
            Timing::Reply => sample.reply_time(),
            Timing::Transfer => sample.transfer_time(),
            Timing::FirstEvent => sample.first_event_time(),
            Timing::EventGap => None,
        }
    }
}

/// One `T` for each of the times.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(bound = "T: JsonSchema + Default + Serialize")]
pub struct Timings<T> {
    /// From due to done.
    pub response: T,
    /// From sent to done.
    pub service: T,
    /// From begun to established.
    pub connect: T,
    /// From sent to the first byte of the reply.
    pub reply: T,
    /// From the first byte of the reply to its last.
    pub transfer: T,
    /// From due to the first event, of streams of events.
    #[serde(default)]
    pub first_event: T,
    /// From one event of a stream to the next.
    #[serde(default)]
    pub event_gap: T,
}

impl<T: Merge> Merge for Timings<T> {
    fn merge(&mut self, part: &Timings<T>) {
        Timing::ALL.into_iter().for_each(|timing| self.of_mut(timing).merge(part.of(timing)));
    }
}

impl<T> Timings<T> {
    /// The one of `timing`.
    pub fn of(&self, timing: Timing) -> &T {
        match timing {
            Timing::Response => &self.response,
            Timing::Service => &self.service,
            Timing::Connect => &self.connect,
            Timing::Reply => &self.reply,
            Timing::Transfer => &self.transfer,
            Timing::FirstEvent => &self.first_event,
            Timing::EventGap => &self.event_gap,
        }
    }

    /// The one of `timing`, to change.
    pub fn of_mut(&mut self, timing: Timing) -> &mut T {
        match timing {
            Timing::Response => &mut self.response,
            Timing::Service => &mut self.service,
            Timing::Connect => &mut self.connect,
            Timing::Reply => &mut self.reply,
            Timing::Transfer => &mut self.transfer,
            Timing::FirstEvent => &mut self.first_event,
            Timing::EventGap => &mut self.event_gap,
        }
    }

    /// Each with its timing, in the order of reports.
    pub fn iter(&self) -> impl Iterator<Item = (Timing, &T)> {
        Timing::ALL.into_iter().map(|timing| (timing, self.of(timing)))
    }

    /// Maps each `T` to a `U`.
    pub fn map<U>(&self, mut turn: impl FnMut(&T) -> U) -> Timings<U> {
        self.map_timed(|_, of| turn(of))
    }

    /// Maps each `T`, with its timing, to a `U`.
    pub fn map_timed<U>(&self, mut turn: impl FnMut(Timing, &T) -> U) -> Timings<U> {
        Timings {
            response: turn(Timing::Response, &self.response),
            service: turn(Timing::Service, &self.service),
            connect: turn(Timing::Connect, &self.connect),
            reply: turn(Timing::Reply, &self.reply),
            transfer: turn(Timing::Transfer, &self.transfer),
            first_event: turn(Timing::FirstEvent, &self.first_event),
            event_gap: turn(Timing::EventGap, &self.event_gap),
        }
    }
}
