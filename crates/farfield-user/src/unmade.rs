//! Load that was due and that no user has taken: dropped, or missed by a worker that fell behind.

use crate::exchange::Job;
use crate::reaction::Reaction;
use crate::settle::never_begun;
use crate::tally::MISSED_ROWS;
use crate::transport::Transport;
use farfield_base::{Instant, Outcome};

impl<T: Transport> Reaction<'_, T> {
    /// Records the load that was due by `now` and that this worker never came to, so that a generator which
    /// falls behind is found out: each is a request that was never begun and is unfinished.
    pub(crate) fn record_missed(&mut self) {
        let end = self.now.min(self.load.end());
        if self.load.requests_ran_out() || self.load.sessions_ran_out() || self.load.given_up().is_some() {
            return;
        }
        while let Some((number, due)) = self.load.model.next_missed(end) {
            if self.counters.tally.missed >= MISSED_ROWS
                && let Some([missed, scheduled]) = self.expected_between(due, end)
            {
                self.counters.tally.missed += missed;
                self.counters.tally.scheduled += scheduled;
                break;
            }
            self.record_missed_one(due, number as u32);
        }
    }

    /// The mean number of this worker's arrivals from `from` to `end`, and of those in the window: to count
    /// what has no row one by one takes minutes where a thousand times too much was offered. `None` where it
    /// is not known.
    fn expected_between(&self, from: Instant, end: Instant) -> Option<[u64; 2]> {
        let own = |from: Instant| self.load.model.expected(from, end);
        Some([own(from)? as u64, own(from.max(self.counters.window().measure_from))? as u64])
    }

    fn record_missed_one(&mut self, due: Instant, number: u32) {
        self.counters.tally.scheduled += u64::from(self.counters.window().contains(due));
        self.counters.tally.missed += 1;
        if self.counters.tally.missed > MISSED_ROWS {
            return;
        }
        // It was due and not over for so long, as Little's law counts.
        self.counters.in_system.enter(self.now, due);
        self.counters.in_system.leave(self.now);
        self.record_unmade(due, number, Outcome::Unfinished);
    }

    /// Records load for which all users that the scenario allows are busy.
    pub(crate) fn drop_load(&mut self, due: Instant, number: u32) {
        let counts = u64::from(self.counters.window().contains(due));
        self.counters.tally.scheduled += counts;
        self.counters.tally.dropped += counts;
        self.record_unmade(due, number, Outcome::Dropped);
    }

    fn record_unmade(&mut self, due: Instant, number: u32, outcome: Outcome) {
        let mut rng = self.load.stream(u64::from(number));
        let request = self.users.itinerary.first_page(number, &mut rng);
        let job = Job { request, pending: None, due, again: false, refusals: 0, first: true };
        self.transport.record(never_begun(job, number, self.now, outcome));
    }
}
