//! The progress of a reply: when something of it came last, the gaps in it, and its events.

use crate::event_policy::EventsBy;
use farfield_base::{Duration, EventStats, Instant, Stamp};
use farfield_http::{EventFormat, EventReader};

/// The progress of one reply from its head on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReplyProgress {
    parts: Parts,
    /// Arrival of what came last and has no gap before it yet; of a stream, of its last event.
    heard: Stamp,
    longest_gap: Duration,
    events: EventStats,
}

/// The parts of a reply between which gaps are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parts {
    /// Bytes of the body, which are no events.
    Bytes,
    /// Bytes of the body, each piece an event.
    Pieces,
    /// Events within the body.
    Events(EventReader),
}

/// Events that came at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventBatch {
    /// The gap before the first of them; `None` if that is the first of its reply.
    pub gap: Option<Duration>,
    /// Number of them, at least one.
    pub events: u32,
}

impl ReplyProgress {
    /// No head yet.
    pub const NONE: ReplyProgress = ReplyProgress {
        parts: Parts::Bytes,
        heard: Stamp::NEVER,
        longest_gap: Duration::ZERO,
        events: EventStats::NONE,
    };

    /// The head came at `at`, with a body of this format, if that is one of events.
    pub fn begin(&mut self, at: Instant, format: Option<EventFormat>, by: EventsBy) {
        let parts = match (by, format) {
            (EventsBy::Type | EventsBy::Pieces, Some(format)) => Parts::Events(EventReader::new(format)),
            (EventsBy::Pieces, None) => Parts::Pieces,
            (EventsBy::None, _) | (EventsBy::Type, None) => Parts::Bytes,
        };
        let heard = if parts == Parts::Bytes { Stamp::at(at) } else { Stamp::NEVER };
        *self = ReplyProgress { parts, heard, ..ReplyProgress::NONE };
    }

    /// Bytes of the body came at `at`; returns the events that they end, if there are any.
    pub fn take(&mut self, at: Instant, body: &[u8]) -> Option<EventBatch> {
        let events = match &mut self.parts {
            Parts::Bytes => {
                self.hear(at);
                return None;
            }
            // What was read together is handed on in several pieces where the framing divides it.
            Parts::Pieces => u32::from(self.heard != Stamp::at(at)),
            Parts::Events(reader) => reader.read(body),
        };
        self.count(at, events)
    }

    /// True if its body is read for events, each of which has an end of its own.
    pub fn is_stream(&self) -> bool {
        matches!(self.parts, Parts::Events(_))
    }

    /// The body ended at `at`; returns the event that this ends, if there is one. What its user has left goes
    /// on: the beginning of an event that had come by then is none.
    pub fn finish(&mut self, at: Instant) -> Option<EventBatch> {
        match &mut self.parts {
            _ if self.events.left => None,
            Parts::Bytes => {
                self.hear(at);
                None
            }
            Parts::Pieces => None,
            Parts::Events(reader) => {
                let events = u32::from(reader.finish());
                self.count(at, events)
            }
        }
    }

    /// The reply is given up at `at`: nothing of it came since its last part.
    pub fn give_up(&mut self, at: Instant) {
        self.hear(at);
    }

    /// The user leaves the reply at `at`, which goes on: nothing of it came since its last part.
    pub fn leave(&mut self, at: Instant) {
        self.hear(at);
        self.events.left = true;
    }

    /// Nothing is awaited: what was sent is not answered, and has no time.
    pub fn leave_unanswered(&mut self) {
        (self.parts, self.events.left) = (Parts::Pieces, true);
    }

    /// Arrival of what came last, if anything did.
    pub fn heard(&self) -> Stamp {
        self.heard
    }

    /// The longest gap so far.
    pub fn longest_gap(&self) -> Duration {
        self.longest_gap
    }

    /// The events so far, of a reply that has any or may have.
    pub fn events(&self) -> Option<EventStats> {
        (self.parts != Parts::Bytes).then_some(self.events)
    }

    /// Arrival of the last event, if one came.
    pub fn last_event(&self) -> Option<Instant> {
        { self.events.last }.instant()
    }

    fn count(&mut self, at: Instant, events: u32) -> Option<EventBatch> {
        (events > 0).then(|| {
            self.hear(at);
            let gap = self.events.count(at, events);
            EventBatch { gap, events }
        })
    }

    /// Measures the gap from what came last to `at`, which may be handed on with an instant before that.
    fn hear(&mut self, at: Instant) {
        let gap = self.heard.instant().map(|heard| at.max(heard).since(heard));
        self.longest_gap = self.longest_gap.max(gap.unwrap_or_default());
        self.heard = Stamp::at(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_ns(ms * 1_000_000)
    }

    #[test]
    fn gaps_of_a_body_are_from_its_head_to_its_end() {
        let mut progress = ReplyProgress::NONE;
        progress.begin(at(10), None, EventsBy::Type);
        assert_eq!(progress.take(at(14), b"data: no event\n\n"), None);
        assert_eq!(progress.take(at(15), b"x"), None);
        assert_eq!(progress.longest_gap(), Duration::from_ms(4));
        assert_eq!(progress.finish(at(20)), None);
        assert_eq!((progress.longest_gap(), progress.events()), (Duration::from_ms(5), None));
    }

    #[test]
    fn gaps_of_a_stream_are_between_its_events() {
        let mut progress = ReplyProgress::NONE;
        progress.begin(at(10), Some(EventFormat::EventStream), EventsBy::Type);
        assert_eq!(progress.take(at(50), b"data: a\n"), None, "it may take long to the first");
        assert_eq!(progress.take(at(60), b"\n"), Some(EventBatch { gap: None, events: 1 }));
        assert_eq!(progress.take(at(65), b": still here\n\n"), None, "and a comment is none");
        let gap = Some(Duration::from_ms(20));
        assert_eq!(progress.take(at(80), b"data: b\n\ndata: c\n\n"), Some(EventBatch { gap, events: 2 }));
        assert_eq!(progress.finish(at(500)), None, "the end is no event");
        assert_eq!(progress.longest_gap(), Duration::from_ms(20));
        let events = progress.events().expect("it is a stream");
        assert_eq!({ events.events }, 3);
        assert_eq!([{ events.first }, { events.last }], [at(60), at(80)].map(Stamp::at));
        progress.give_up(at(300));
        assert_eq!(progress.longest_gap(), Duration::from_ms(220), "nothing came since");
    }

    #[test]
    fn the_beginning_of_an_event_is_none_where_its_user_leaves() {
        let mut progress = ReplyProgress::NONE;
        progress.begin(at(10), Some(EventFormat::Lines), EventsBy::Type);
        assert_eq!(progress.take(at(20), b"{\"a\":1}\n{\"b"), Some(EventBatch { gap: None, events: 1 }));
        let mut left = progress;
        left.leave(at(20));
        assert_eq!(left.finish(at(20)), None);
        assert!(progress.finish(at(30)).is_some(), "the end of the body ends a line");
    }

    #[test]
    fn pieces_are_what_comes_at_one_instant() {
        let mut progress = ReplyProgress::NONE;
        progress.begin(at(10), None, EventsBy::Pieces);
        assert_eq!(progress.take(at(20), b"one"), Some(EventBatch { gap: None, events: 1 }));
        assert_eq!(progress.take(at(20), b" piece"), None);
        let gap = Some(Duration::from_ms(5));
        assert_eq!(progress.take(at(25), b"another"), Some(EventBatch { gap, events: 1 }));
        let mut none = ReplyProgress::NONE;
        none.begin(at(10), Some(EventFormat::Lines), EventsBy::None);
        assert_eq!((none.take(at(20), b"{}\n"), none.events()), (None, None));
    }
}
