//! Replies that come in pieces: their events, and the gaps in the midst of them in which nothing came.

use farfield_base::{Duration, ReplyEvent, Sample, Stamp, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

farfield_base::mergeable! {
    /// Counts of one part of a run.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct StreamCounts {
        /// Replies that are streams of events, of requests that were on their way at some time in this part.
        pub streams: u64,
        /// Streams that their users left while they went on.
        pub left: u64,
        /// Events that came in this part.
        pub events: u64,
        /// Requests due in this part in the midst of whose reply nothing came for longer than a stall is.
        pub stalled: u64,
        /// The longest time in which nothing came in the midst of a reply.
        pub longest_gap: Duration => most,
        /// The longest such time that is no stall; `None` where none are counted.
        pub stall: Option<Duration> => same,
    }
}

impl StreamCounts {
    /// Counts a request that is due in the part.
    pub(crate) fn record(&mut self, sample: &Sample) {
        self.stalled += u64::from(self.stall.is_some_and(|stall| sample.longest_gap > stall));
        self.longest_gap = self.longest_gap.max(sample.longest_gap);
    }

    /// Counts the sample's reply, if it is a stream that was on its way in the `part`.
    pub(crate) fn count_stream(&mut self, sample: &Sample, part: Window) {
        let Some(events) = sample.events else { return };
        // A message on a WebSocket that nobody answers has no reply.
        let is_unanswered = events.left && sample.first_byte == Stamp::NEVER;
        if is_unanswered || sample.due >= part.measure_to || sample.done < part.measure_from {
            return;
        }
        self.streams += 1;
        self.left += u64::from(events.left);
    }

    /// Counts events that came in the part.
    pub(crate) fn count(&mut self, event: &ReplyEvent) {
        self.events += event.events();
    }
}

/// Streams of events in a part of the run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventsSummary {
    /// Replies that are streams of events, of requests that were on their way at some time in this part.
    pub streams: u64,
    /// Streams that their users left while they went on: their events count, and their length is no response
    /// time.
    pub left: u64,
    /// Events that came in this part.
    pub events: u64,
    /// Events a second; null for a part that took no time.
    pub events_per_s: Option<f64>,
}

/// Replies in the midst of which nothing came for long: no event of a stream of events, no byte of another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StallsSummary {
    /// The longest gap that is no stall: `events.stall`.
    pub limit_ns: u64,
    /// Requests due in this part whose reply stalled.
    pub replies: u64,
    /// The longest gap.
    pub longest_ns: u64,
}

impl EventsSummary {
    /// Summary of a part that lasted for `lasted`; `None` if no reply had events.
    pub(crate) fn of(counts: &StreamCounts, lasted: Duration) -> Option<EventsSummary> {
        let StreamCounts { streams, left, events, .. } = *counts;
        (streams > 0 || events > 0).then(|| EventsSummary {
            streams,
            left,
            events,
            events_per_s: (!lasted.is_zero()).then(|| events as f64 / lasted.as_secs_f64()),
        })
    }
}

impl StallsSummary {
    /// Stalls of a part; `None` if there were none.
    pub(crate) fn of(counts: &StreamCounts) -> Option<StallsSummary> {
        let limit = counts.stall?;
        (counts.stalled > 0).then(|| StallsSummary {
            limit_ns: limit.as_ns(),
            replies: counts.stalled,
            longest_ns: counts.longest_gap.as_ns(),
        })
    }
}
