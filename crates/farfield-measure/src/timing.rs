//! The five times of a request, under the same names everywhere: fold, summary, thresholds, histogram logs.

use farfield_base::{Duration, Merge, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of the five times.
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
}

impl Timing {
    /// All of them, in the order of reports.
    pub const ALL: [Timing; 5] =
        [Timing::Response, Timing::Service, Timing::Connect, Timing::Reply, Timing::Transfer];

    /// The name in every output.
    pub const fn name(self) -> &'static str {
        match self {
            Timing::Response => "response",
            Timing::Service => "service",
            Timing::Connect => "connect",
            Timing::Reply => "reply",
            Timing::Transfer => "transfer",
        }
    }

    /// The time of `sample`, as far as it came to it.
    pub fn of(self, sample: &Sample) -> Option<Duration> {
        match self {
            Timing::Response => Some(sample.response_time()),
            Timing::Service => sample.service_time(),
            Timing::Connect => sample.connect_time(),
            Timing::Reply => sample.reply_time(),
            Timing::Transfer => sample.transfer_time(),
        }
    }
}

/// One `T` for each of the five times.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
        }
    }
}
