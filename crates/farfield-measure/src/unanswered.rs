//! The latest requests that the server did not answer. They distinguish a server that fell silent from one
//! that nobody asked.
//!
//! Of all requests that had no reply, and not for want of something on this machine, the latest eight due
//! times are kept, and when the last of them ended. Nobody owes a reply to a message on a WebSocket that is
//! only sent. So [`Unanswered::record`] is constant time, and folds
//! merge in any order.

use crate::censored;
use farfield_base::{Fault, Instant, Merge, Outcome, Sample};
use serde::{Deserialize, Serialize};

/// Due times kept.
const KEPT: usize = 8;

/// The latest due times of requests that were not answered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unanswered {
    /// End of the last of all of them; the start of the run if there are none.
    pub until: Instant,
    /// The latest due times, in order.
    latest: Vec<Instant>,
}

impl Unanswered {
    /// Counts the sample, if it is one.
    pub fn record(&mut self, sample: &Sample) {
        if !is_unanswered(sample.outcome) || censored::awaits_nothing(sample) {
            return;
        }
        self.until = self.until.max(sample.done);
        self.keep(sample.due);
    }

    fn keep(&mut self, due: Instant) {
        if self.latest.len() == KEPT {
            if due <= self.latest[0] {
                return;
            }
            self.latest.remove(0);
        }
        let place = self.latest.partition_point(|other| *other <= due);
        self.latest.insert(place, due);
    }

    /// From when on something was due that was not answered, after `instant`: the instant itself, if more
    /// came due since than are kept. `None` if nothing did.
    pub fn first_due_after(&self, instant: Instant) -> Option<Instant> {
        let first = self.latest.iter().copied().find(|due| *due >= instant)?;
        let all_after = self.latest.len() == KEPT && self.latest[0] >= instant;
        Some(if all_after { instant } else { first })
    }
}

/// Adds what `other` counted.
impl Merge for Unanswered {
    fn merge(&mut self, other: &Unanswered) {
        self.until = self.until.max(other.until);
        other.latest.iter().for_each(|due| self.keep(*due));
    }
}

/// True if the server had a request to answer, and neither answered it nor ended its connection.
fn is_unanswered(outcome: Outcome) -> bool {
    use Outcome::*;
    let server_acted = matches!(
        outcome,
        Ok | Status4xx | Status5xx | ClosedUnanswered | Reset | CheckFailed | ExtractFailed
    );
    let own_lack = matches!(outcome, NoDescriptor | NoAddress | Dropped);
    !server_acted && !own_lack && outcome.fault() != Fault::Protocol
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::scene::sample;
    use farfield_base::{EventStats, Stamp};

    fn of(dues: &[u64]) -> Unanswered {
        let mut unanswered = Unanswered::default();
        for due in dues {
            unanswered.record(&Sample { outcome: Outcome::Unfinished, ..sample(*due, due + 5) });
        }
        unanswered
    }

    fn after(unanswered: &Unanswered, at: u64) -> Option<u64> {
        unanswered.first_due_after(Instant::from_ns(at)).map(Instant::as_ns)
    }

    #[test]
    fn the_first_that_was_due_in_the_silence_begins_it() {
        let few = of(&[10, 40, 30]);
        assert_eq!(
            [0, 10, 11, 40, 41].map(|at| after(&few, at)),
            [Some(10), Some(10), Some(30), Some(40), None]
        );
        assert_eq!(few.until.as_ns(), 45);
        // Of twenty only the latest eight are known: the silence is from its beginning on.
        let dues: Vec<u64> = (0..20).map(|n| n * 10).collect();
        let many = of(&dues);
        assert_eq!([5, 115, 125].map(|at| after(&many, at)), [Some(5), Some(115), Some(130)]);
    }

    #[test]
    fn what_was_answered_or_never_asked_is_left_out() {
        let mut unanswered = Unanswered::default();
        for outcome in [
            Outcome::Ok,
            Outcome::Status5xx,
            Outcome::Reset,
            Outcome::NoDescriptor,
            Outcome::NoAddress,
            Outcome::Dropped,
        ] {
            unanswered.record(&Sample { outcome, ..sample(10, 20) });
        }
        assert_eq!(unanswered, Unanswered::default());
    }

    /// A message that is only sent, and has not left when the run ends.
    #[test]
    fn nothing_is_owed_for_a_message_that_nobody_answers() {
        let events = Some(EventStats { left: true, ..EventStats::NONE });
        let open = Sample { outcome: Outcome::Unfinished, first_byte: Stamp::NEVER, ..sample(10, 20) };
        let mut unanswered = Unanswered::default();
        unanswered.record(&Sample { events, ..open });
        assert_eq!(unanswered, Unanswered::default());
        unanswered.record(&open);
        assert_eq!(after(&unanswered, 10), Some(10), "one that is answered is waited for");
    }

    #[test]
    fn any_order_and_grouping_is_the_same() {
        let dues: Vec<u64> = (0..30).map(|n| n * 7 % 31).collect();
        let whole = of(&dues);
        for cut in [0, 1, 9, 30] {
            let mut merged = of(&dues[cut..]);
            merged.merge(&of(&dues[..cut]));
            assert_eq!(merged, whole);
        }
    }
}
