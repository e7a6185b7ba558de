//! Load that was due and that no user has taken: dropped, or missed by a worker that fell behind.

use crate::exchange::Job;
use crate::population::Population;
use crate::settle::never_begun;
use crate::tally::MISSED_ROWS;
use crate::transport::Transport;
use farfield_base::random::Purpose;
use farfield_base::{Instant, Outcome};

impl Population {
    /// Records the load that was due by `now` and that this worker never came to, so that a generator which
    /// falls behind is found out: each is a request that was never begun and is unfinished.
    pub(crate) fn record_missed<T: Transport>(&mut self, transport: &mut T, now: Instant) {
        let end = now.min(self.window.measure_to);
        if self.requests_ran_out() || self.sessions_ran_out() || self.tally.given_up.is_some() {
            return;
        }
        while let Some((number, due)) = self.model.next_missed(end) {
            if self.tally.missed >= MISSED_ROWS
                && let Some([missed, scheduled]) = self.expected_between(due, end)
            {
                self.tally.missed += missed;
                self.tally.scheduled += scheduled;
                break;
            }
            self.record_missed_one(transport, now, due, number as u32);
        }
    }

    /// The mean number of this worker's arrivals from `from` to `end`, and of those in the window: to count
    /// what has no row one by one takes minutes where a thousand times too much was offered. `None` where it
    /// is not known.
    fn expected_between(&self, from: Instant, end: Instant) -> Option<[u64; 2]> {
        let own = |from: Instant| self.model.expected(from, end);
        Some([own(from)? as u64, own(from.max(self.window.measure_from))? as u64])
    }

    fn record_missed_one<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        due: Instant,
        number: u32,
    ) {
        self.tally.scheduled += u64::from(self.window.contains(due));
        self.tally.missed += 1;
        if self.tally.missed > MISSED_ROWS {
            return;
        }
        // It was due and not over for so long, as Little's law counts.
        self.in_system.enter(now, due);
        self.in_system.leave(now);
        self.record_unmade(transport, now, due, number, Outcome::Unfinished);
    }

    /// Records load for which all users that the scenario allows are busy.
    pub(crate) fn drop_load<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        due: Instant,
        number: u32,
    ) {
        let counts = u64::from(self.window.contains(due));
        self.tally.scheduled += counts;
        self.tally.dropped += counts;
        self.record_unmade(transport, now, due, number, Outcome::Dropped);
    }

    fn record_unmade<T: Transport>(
        &mut self,
        transport: &mut T,
        now: Instant,
        due: Instant,
        number: u32,
        outcome: Outcome,
    ) {
        let mut rng = self.seed.stream(Purpose::User, u64::from(number));
        let request = self.itinerary.first_page(number, &mut rng);
        let job = Job { request, pending: None, due, again: false, refusals: 0, first: true };
        transport.record(never_begun(job, number, now, outcome));
    }
}
