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
    /// Replies that stalled, where it is known how long a stall is.
    pub stalled: Option<u64>,
    longest_ns: u64,
}

/// A stream: its user, its connection, and its number there.
type StreamKey = (u32, u32, u32);

/// The silence of more than `stall` with which a stream ended that its user left or gave up, if it had lasted
/// for so long at an instant of the part.
fn last_silence(own: &Sample, stall: u64, is_in: impl Fn(u64) -> bool) -> Option<(StreamKey, u64)> {
    let events = own.events?;
    let last = { events.last }.instant()?.as_ns();
    let silence = own.done.as_ns().saturating_sub(last);
    let is_cut = events.left || !is_whole(own.outcome);
    (is_cut && silence > stall && is_in(last + stall))
        .then_some(((own.user, own.connection, own.number), silence))
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
        let mut pauses: Vec<(StreamKey, u64)> = Vec::new();
        if let Some(stall) = of.stall_ns {
            let is_in = |ns: u64| ns >= from && is_before(ns);
            let of_event = |own: &&ReplyEvent| {
                let gap = own.gap?.as_ns();
                let stalled_at = own.at.as_ns().saturating_sub(gap).saturating_add(stall);
                (gap > stall && is_in(stalled_at) && !of.aside.contains(stalled_at))
                    .then_some(((own.user, own.connection, own.number), gap))
            };
            pauses.extend(events.unwrap_or_default().iter().filter_map(of_event));
            pauses.extend(streams.iter().filter_map(|own| last_silence(own, stall, is_in)));
        }
        let is_known = events.is_some() || !streams.iter().any(|own| own.due.as_ns() < from);
        let stalled = of.stall_ns.filter(|_| is_known).map(|stall| {
            let of_due = due.iter().filter(|own| own.longest_gap.as_ns() > stall);
            let (of_streams, others): (Vec<&&Sample>, Vec<&&Sample>) =
                of_due.partition(|own| own.events.is_some());
            let of_pauses = pauses.iter().map(|(key, _)| *key);
            let keys = of_streams.iter().map(|own| (own.user, own.connection, own.number));
            (keys.chain(of_pauses).collect::<BTreeSet<StreamKey>>().len() + others.len()) as u64
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
            (Some(_), Some(0)) => Expected::Nothing,
            (Some(limit), Some(stalled)) => Expected::record([
                ("limit_ns", Expected::Count(limit)),
                ("replies", Expected::Count(stalled)),
                ("longest_ns", Expected::Count(self.longest_ns)),
            ]),
            _ => Expected::Open,
        }
    }
}
