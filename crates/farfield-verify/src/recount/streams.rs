//! Replies that come in pieces, counted from the samples of a part and the events of the run: how many there
//! were, and which of them stalled.

use super::Recount;
use super::expected::Expected;
use super::part::{RunPart, is_whole};
use farfield_base::{ReplyEvent, Sample, Stamp};
use std::collections::BTreeSet;

/// Replies that come in pieces.
#[derive(Debug, Clone, Copy, Default)]
pub struct Streams {
    pub streams: u64,
    left: u64,
    /// The fewest and the most replies that stalled, where it is known how long a stall is.
    pub stalled: Option<[u64; 2]>,
    longest_ns: u64,
}

/// Streams from before a part that a run knows one by one: further ones count as often as they stall.
const KNOWN_MAX: usize = 65_536;

/// A stream: its user, its connection, and its number there.
type StreamKey = (u32, u32, u32);

fn key(own: &Sample) -> StreamKey {
    (own.user, own.connection, own.number)
}

/// The silence of more than `stall` with which a stream ended that its user left or gave up, if it had lasted
/// for so long at an instant of the part.
fn last_silence(own: &Sample, stall: u64, is_in: impl Fn(u64) -> bool) -> Option<(StreamKey, u64)> {
    let events = own.events?;
    let last = { events.last }.instant()?.as_ns();
    let silence = own.done.as_ns().saturating_sub(last);
    let is_cut = events.left || !is_whole(own.outcome);
    (is_cut && silence > stall && is_in(last + stall)).then_some((key(own), silence))
}

impl Streams {
    /// Streams of the `samples` of a part or of a class in it, some of which are `due` in it, and of all of
    /// their `events`, where these were kept.
    pub fn of(
        of: &Recount<'_>,
        samples: &[&Sample],
        due: &[&Sample],
        events: Option<&[&ReplyEvent]>,
        which: RunPart,
    ) -> Streams {
        let (from, to) = match which {
            RunPart::WarmUp => (0, of.from),
            RunPart::Steady => (of.from, of.to),
        };
        let is_last = |ns: u64| of.ended_early && ns == to;
        let is_before = |ns: u64| ns < to || which == RunPart::Steady && is_last(ns);
        let is_in = |own: &Sample| is_before(own.due.as_ns()) && own.done.as_ns() >= from;
        // A message on a WebSocket that nobody answers is marked as one that its user left.
        let has_reply = |own: &Sample| own.first_byte != Stamp::NEVER || !own.is_left();
        let of_replies = samples.iter().filter(|own| has_reply(own) && is_in(own));
        let streams: Vec<&&Sample> = of_replies.filter(|own| own.events.is_some()).collect();
        let left = streams.iter().filter(|own| own.is_left()).count() as u64;
        // Of a stream from before the part its events, and the silence at its end, say if it stalled there:
        // each silence is of the part in which it had lasted for so long, whatever ended it.
        let early: Vec<&&&Sample> = streams.iter().filter(|own| own.due.as_ns() < from).collect();
        let keys: BTreeSet<StreamKey> = early.iter().map(|own| key(own)).collect();
        let mut pauses: Vec<(StreamKey, u64)> = Vec::new();
        if let Some(stall) = of.stall_ns {
            let is_in = |ns: u64| ns >= from && is_before(ns);
            let of_event = |own: &&ReplyEvent| {
                let gap = own.gap?.as_ns();
                let stalled_at = own.at.as_ns().saturating_sub(gap).saturating_add(stall);
                let stream = (own.user, own.connection, own.number);
                let is_known = keys.contains(&stream) && !of.aside.contains(stalled_at);
                (gap > stall && is_in(stalled_at) && is_known).then_some((stream, gap))
            };
            pauses.extend(events.unwrap_or_default().iter().filter_map(of_event));
            pauses.extend(early.iter().filter_map(|own| last_silence(own, stall, is_in)));
        }
        let is_known = events.is_some() || early.is_empty();
        let stalled = of.stall_ns.filter(|_| is_known).map(|stall| {
            // Of streams that were due in the part their samples say it.
            let of_due = due.iter().filter(|own| own.longest_gap.as_ns() > stall).count();
            let of_early = pauses.iter().map(|(key, _)| *key).collect::<BTreeSet<StreamKey>>().len();
            let most = if of_early > KNOWN_MAX { pauses.len() } else { of_early };
            [of_early, most].map(|early| (of_due + early) as u64)
        });
        let gaps = due.iter().map(|own| own.longest_gap.as_ns());
        let longest_ns = gaps.chain(pauses.iter().map(|(_, ns)| *ns)).max().unwrap_or(0);
        Streams { streams: streams.len() as u64, left, stalled, longest_ns }
    }

    /// With so many events in so long a part, where that is known.
    pub fn expected(self, events: Option<u64>, lasted_ns: u64) -> Expected {
        if self.streams == 0 && events.unwrap_or(0) == 0 {
            return Expected::Nothing;
        }
        let per_s = |events: u64| (lasted_ns > 0).then(|| events as f64 / (lasted_ns as f64 / 1e9));
        Expected::record([
            ("streams", Expected::Count(self.streams)),
            ("left", Expected::Count(self.left)),
            ("events", events.map_or(Expected::Open, Expected::Count)),
            (
                "events_per_s",
                events.map_or(Expected::Open, |events| Expected::near_or_nothing(per_s(events))),
            ),
        ])
    }

    pub fn expected_stalls(self, stall_ns: Option<u64>) -> Expected {
        match (stall_ns, self.stalled) {
            (Some(_), Some([0, _])) => Expected::Nothing,
            (Some(limit), Some([fewest, most])) => Expected::record([
                ("limit_ns", Expected::Count(limit)),
                ("replies", Expected::Between { low: fewest as f64, high: most as f64 }),
                ("longest_ns", Expected::Count(self.longest_ns)),
            ]),
            _ => Expected::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::expected::differences;
    use super::*;
    use serde_json::json;

    /// Of more streams than a run knows one by one, its number is between theirs and that of their stalls.
    #[test]
    fn a_number_that_is_not_exact_is_between_two() {
        let said = json!({ "limit_ns": 1, "longest_ns": 0, "replies": 6 });
        let wrong = |stalled: [u64; 2]| {
            let streams = Streams { stalled: Some(stalled), ..Streams::default() };
            differences(&said, &streams.expected_stalls(Some(1))).len()
        };
        assert_eq!([[6, 6], [5, 7], [7, 7], [5, 5]].map(wrong), [0, 0, 1, 1]);
    }
}
