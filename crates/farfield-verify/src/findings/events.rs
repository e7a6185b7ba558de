//! Findings about events of streams: the file of events held against the samples.

use super::{Finding, Judged};
use farfield_base::{Duration, ReplyEvent, Sample};
use std::collections::BTreeMap;

/// The events of one reply, by the file.
#[derive(Default)]
struct EventsRow {
    events: u64,
    first_ns: Option<u64>,
    last_ns: u64,
    longest: Duration,
    /// True if the gaps of the reply's events do not follow from their instants.
    is_odd: bool,
}

impl EventsRow {
    fn take(&mut self, event: &ReplyEvent) {
        let at = event.at.as_ns();
        let gap = self.first_ns.map(|_| at.saturating_sub(self.last_ns));
        self.is_odd |= gap != event.gap.map(Duration::as_ns);
        self.first_ns.get_or_insert(at);
        self.last_ns = at;
        self.events += event.events();
        self.longest = self.longest.max(event.gap.unwrap_or_default());
    }

    /// True if the sample has the same events. Of one whose user left, or that did not end, the longest gap
    /// may be the one behind the last event.
    fn is_of(&self, sample: &Sample) -> bool {
        let Some(own) = sample.events else { return false };
        let at = |stamp: farfield_base::Stamp| stamp.instant().map(|at| at.as_ns());
        let behind = sample.done.as_ns().saturating_sub(self.last_ns);
        let gap = sample.longest_gap;
        !self.is_odd
            && u64::from(own.events) == self.events
            && at(own.first) == self.first_ns
            && at(own.last) == Some(self.last_ns)
            && (gap == self.longest || gap > self.longest && gap.as_ns() == behind)
    }
}

/// Replies of which the file of events and the samples say different things.
pub(super) fn events(judged: Judged<'_>) -> Option<Finding> {
    let sides = judged.sides;
    let events = sides.run.events.as_ref().filter(|_| sides.run.all_kept)?;
    let mut rows: BTreeMap<(u32, u32), EventsRow> = BTreeMap::new();
    events.iter().for_each(|own| rows.entry((own.connection, own.number)).or_default().take(own));
    let mut wrong = 0_u64;
    for sample in sides.samples.iter().filter(|own| own.events.is_some_and(|events| events.events > 0)) {
        let row = rows.remove(&(sample.connection, sample.number));
        wrong += u64::from(!row.is_some_and(|row| row.is_of(sample)));
    }
    // What is left is of requests that were sent again, and of none else.
    let stray = (rows.len() as u64).saturating_sub(sides.run.resent);
    (wrong + stray > 0).then(|| {
        Finding::disagreement(
            "events-wrong",
            format!("events.parquet has other events than the samples of {} replies", wrong + stray),
            "believe the samples where packets agree with them; the file may be of another run",
        )
    })
}
