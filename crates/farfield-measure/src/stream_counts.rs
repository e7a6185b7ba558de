//! Replies that come in pieces: their events, and the gaps in the midst of them in which nothing came.
//!
//! A gap is a stall from the instant on at which it has lasted for longer than `events.stall` allows, and one
//! of the part of the run in which that instant lies. The event that ends it may come in a later part, in the
//! cool-down or in the drain, or never.

use farfield_base::{Duration, Instant, Merge, Outcome, ReplyEvent, Sample, Stamp, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Streams from before a part that are known one by one among those that stalled in it; further ones count as
/// often as they stall. With 35 bytes of JSON for each, the sets of the most stages that a load may have are
/// still less than half of what the reader of a [part](crate::parts) takes.
const STREAMS_MAX: usize = 1 << 16;

/// A stream: its user, its connection, and its number there.
type StreamKey = (u32, u32, u32);

farfield_base::mergeable! {
    /// Counts of one part of a run.
    #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct StreamCounts {
        /// Replies that are streams of events, of requests that were on their way at some time in this part.
        pub streams: u64,
        /// Streams that their users left while they went on.
        pub left: u64,
        /// Streams from before this part that failed in it: their requests are in no share of its errors.
        pub broken: u64,
        /// Streams of requests due in this part that came to their end, with the status 200, without an
        /// event. Not counted where pieces of any reply are events.
        pub empty: u64,
        /// Events that came in this part.
        pub events: u64,
        /// Replies in the midst of which nothing came for longer than a stall is: of requests due in this
        /// part, and of streams from before it that stalled in it.
        pub stalled: StalledReplies,
        /// The longest time in which nothing came in the midst of a reply.
        pub longest_gap: Duration => most,
        /// The longest such time that is no stall; `None` where none are counted.
        pub stall: Option<Duration> => same,
        /// Pieces of any reply are events: one without a body has none, as it should.
        pub by_pieces: bool => same,
    }
}

/// Replies that stalled. A stream may stall again, and in several parts of a run: in each it is one. The
/// sample of one that was due in the part says if it did; one from before, of which there are as many as were
/// open when the part began, is known by itself once it has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StalledReplies {
    /// Replies to requests that were due in the part, and stalls of streams from before it that are not known
    /// one by one.
    counted: u64,
    streams: BTreeSet<StreamKey>,
}

impl StalledReplies {
    /// Number of the replies.
    pub fn count(&self) -> u64 {
        self.counted + self.streams.len() as u64
    }

    /// Counts a stream from before the part, once.
    fn add(&mut self, stream: StreamKey) {
        if self.streams.len() < STREAMS_MAX {
            self.streams.insert(stream);
        } else {
            self.counted += u64::from(!self.streams.contains(&stream));
        }
    }
}

/// The streams of both.
impl Merge for StalledReplies {
    fn merge(&mut self, part: &StalledReplies) {
        self.counted += part.counted;
        self.streams.extend(&part.streams);
    }
}

/// The silence at the end of a stream that its user left or gave up, and the last event before it. No event
/// shows it.
fn last_silence(sample: &Sample) -> Option<(Instant, Duration)> {
    let events = sample.events?;
    let last = { events.last }.instant()?;
    (events.left || !sample.outcome.is_reply()).then(|| (last, sample.done.since(last)))
}

impl StreamCounts {
    /// Counts a request that is due in the part.
    pub(crate) fn record(&mut self, sample: &Sample) {
        let has_ended = sample.outcome == Outcome::Ok && sample.status == 200 && !sample.is_left();
        let is_empty = has_ended && sample.events.is_some_and(|events| events.events == 0);
        self.empty += u64::from(is_empty && !self.by_pieces);
        self.longest_gap = self.longest_gap.max(sample.longest_gap);
        self.stalled.counted += u64::from(self.stall.is_some_and(|stall| sample.longest_gap > stall));
    }

    /// Counts the sample's reply, if it is a stream that was on its way in the `part`. The silence at the end
    /// of a stream from before is a stall of the part in which it had lasted for as long as it may; of one
    /// that was due in the part it is among its gaps.
    pub(crate) fn count_stream(&mut self, sample: &Sample, part: Window) {
        let Some(events) = sample.events else { return };
        // A message on a WebSocket that nobody answers has no reply.
        let is_unanswered = events.left && sample.first_byte == Stamp::NEVER;
        if is_unanswered || sample.due >= part.measure_to || sample.done < part.measure_from {
            return;
        }
        self.streams += 1;
        self.left += u64::from(events.left);
        let has_failed = !matches!(sample.outcome, Outcome::Ok | Outcome::Unfinished);
        let is_broken = has_failed && sample.due < part.measure_from && part.contains(sample.done);
        self.broken += u64::from(is_broken);
        if let (Some(stall), Some((since, silence))) = (self.stall, last_silence(sample))
            && silence > stall
            && sample.due < part.measure_from
            && part.contains(since + stall)
        {
            self.longest_gap = self.longest_gap.max(silence);
            self.stalled.add((sample.user, sample.connection, sample.number));
        }
    }

    /// Counts events that came in the part.
    pub(crate) fn count(&mut self, event: &ReplyEvent) {
        self.events += event.events();
    }

    /// The instant at which the silence before an event had lasted for as long as it may, wherever the event
    /// itself lies; `None` if it was no stall.
    pub(crate) fn stall_before(&self, event: &ReplyEvent) -> Option<Instant> {
        let (stall, gap) = (self.stall?, event.gap?);
        let since = Instant::from_ns(event.at.as_ns().saturating_sub(gap.as_ns()));
        (gap > stall).then(|| since + stall)
    }

    /// Counts the stall before an event of a stream from before the part, which became one in it.
    pub(crate) fn count_stall(&mut self, event: &ReplyEvent) {
        self.longest_gap = self.longest_gap.max(event.gap.unwrap_or_default());
        self.stalled.add((event.user, event.connection, event.number));
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
    /// Replies that stalled: of requests due in this part, and of streams from before it that stalled in it.
    pub replies: u64,
    /// The longest gap.
    pub longest_ns: u64,
}

impl EventsSummary {
    /// Summary of a part that lasted for `lasted`; `None` if no reply had events.
    pub(crate) fn of(counts: &StreamCounts, lasted: Duration) -> Option<EventsSummary> {
        let &StreamCounts { streams, left, events, .. } = counts;
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
        let replies = counts.stalled.count();
        (replies > 0).then(|| StallsSummary {
            limit_ns: limit.as_ns(),
            replies,
            longest_ns: counts.longest_gap.as_ns(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The set has a bound, since a part of a run writes it down.
    #[test]
    fn streams_beyond_the_bound_count_as_often_as_they_stall() {
        let mut stalled = StalledReplies::default();
        let streams = 0..STREAMS_MAX as u32 + 3;
        streams.clone().chain(streams).for_each(|connection| stalled.add((u32::MAX, connection, 0)));
        assert_eq!((stalled.streams.len(), stalled.count()), (STREAMS_MAX, STREAMS_MAX as u64 + 6));
    }
}
