//! Censored times. Of a request that was given up, or was still open at the end of the run, only its age is
//! known: the time that it had lasted by then, which is a lower bound.
//!
//! A request that failed otherwise (refused, reset, answered with an error) is not censored: it is over. A
//! stream that its user left before its first event came is no failure, and of that event its age is known.

use crate::histogram::Histogram;
use crate::timing::Timing;
use farfield_base::{Duration, Merge, Outcome, Sample, Stamp};
use serde::{Deserialize, Serialize};

/// Ages of censored requests. A histogram is 304 KiB, and most runs have none of these: it is made when the
/// first age comes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CensoredAges(Option<Box<Histogram>>);

impl CensoredAges {
    /// Counts `age`.
    pub fn record(&mut self, age: Duration) {
        self.0.get_or_insert_default().record(age);
    }

    /// Number of ages.
    pub fn count(&self) -> u64 {
        self.0.as_ref().map_or(0, |ages| ages.count())
    }

    /// The histogram of the ages; `None` if there are none.
    pub fn histogram(&self) -> Option<&Histogram> {
        self.0.as_deref()
    }
}

/// Adds all that `other` has recorded.
impl Merge for CensoredAges {
    fn merge(&mut self, other: &CensoredAges) {
        self.0.merge(&other.0);
    }
}

/// True if a request that ended so would have gone on: its times are then known to be longer, and no more.
pub fn is_censored(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Unfinished | Outcome::TimedOut | Outcome::ConnectTimedOut)
}

/// True if it is a message on a WebSocket that nobody answers: it awaits nothing, and none of its times goes
/// on when it has not left by the end of the run.
pub fn awaits_nothing(sample: &Sample) -> bool {
    // It is marked as left, and has no reply.
    sample.is_left() && sample.first_byte == Stamp::NEVER
}

/// True if its user left a stream before its first event came: the time to that is known to be longer, and no
/// more.
pub fn awaits_first_event(sample: &Sample) -> bool {
    sample.is_left() && !awaits_nothing(sample) && sample.first_event_time().is_none()
}

/// The age of a censored `sample` in `timing`: from where that time begins, if it had begun and not ended.
pub fn age(timing: Timing, sample: &Sample) -> Option<Duration> {
    if awaits_nothing(sample) {
        return None;
    }
    let over = sample.done;
    let from = match timing {
        Timing::Response => Some(sample.due),
        Timing::Service => sample.sent.instant(),
        Timing::Connect if sample.connected.instant().is_none() => sample.connect_begun.instant(),
        Timing::Reply if sample.first_byte.instant().is_none() => sample.sent.instant(),
        Timing::Transfer => sample.first_byte.instant(),
        Timing::FirstEvent if sample.first_event_time().is_none() => sample.events.map(|_| sample.due),
        Timing::Connect | Timing::Reply | Timing::FirstEvent | Timing::EventGap => None,
    };
    from.map(|from| over.since(from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::scene::sample;
    use farfield_base::{EventStats, Instant, Stamp};

    /// The progress of a request determines which of its times are still open.
    #[test]
    fn only_what_had_begun_has_an_age() {
        let ages = |sample: &Sample| Timing::ALL.map(|timing| age(timing, sample).map(Duration::as_ns));
        // Due and connecting at 100, established and sent at 110, first byte at 150, open at 200.
        let open = Sample { outcome: Outcome::Unfinished, ..sample(100, 200) };
        assert_eq!(ages(&open), [Some(100), Some(90), None, None, Some(50), None, None]);
        let silent = Sample { first_byte: Stamp::NEVER, ..open };
        assert_eq!(ages(&silent), [Some(100), Some(90), None, Some(90), None, None, None]);
        let connecting = Sample { connected: Stamp::NEVER, sent: Stamp::NEVER, ..silent };
        assert_eq!(ages(&connecting), [Some(100), None, Some(100), None, None, None, None]);
        let stream = Sample { events: Some(EventStats::NONE), ..open };
        assert_eq!(ages(&stream)[5..], [Some(100), None], "its first event is still to come");
        let at = Stamp::at(Instant::from_ns(160));
        let events = Some(EventStats { events: 1, first: at, last: at, left: false });
        assert_eq!(ages(&Sample { events, ..open })[5..], [None, None]);
    }

    #[test]
    fn a_stream_that_was_left_is_awaited_until_its_first_event() {
        let at = Stamp::at(Instant::from_ns(160));
        let none = EventStats { left: true, ..EventStats::NONE };
        let one = EventStats { events: 1, first: at, last: at, left: true };
        let left = |events| Sample { events: Some(events), ..sample(100, 200) };
        assert!(awaits_first_event(&left(none)) && !awaits_first_event(&left(one)));
        assert!(!awaits_first_event(&left(EventStats::NONE)), "it ended without one");
        // A message that is sent and not answered.
        assert!(!awaits_first_event(&Sample { first_byte: Stamp::NEVER, ..left(none) }));
    }

    /// A message that is only sent, and has not left when the run ends: nothing is waited for.
    #[test]
    fn a_message_that_nobody_answers_has_no_age() {
        let events = Some(EventStats { left: true, ..EventStats::NONE });
        let open = Sample { outcome: Outcome::Unfinished, first_byte: Stamp::NEVER, ..sample(100, 200) };
        let ages =
            |sample: &Sample| Timing::ALL.map(|timing| age(timing, sample)).into_iter().flatten().count();
        assert_eq!((ages(&Sample { events, ..open }), ages(&open)), (0, 3));
    }
}
