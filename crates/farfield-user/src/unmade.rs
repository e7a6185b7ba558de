//! Load that was due and that no user has taken: dropped, or missed by a worker that fell behind.

use crate::exchange::Job;
use crate::reaction::Reaction;
use crate::settle::never_begun;
use crate::transport::Transport;
use farfield_base::{Instant, Outcome};

/// Load that a worker never came to has a sample each up to this number; a generator that is further behind
/// has nothing to show.
const MISSED_SAMPLES: u64 = 1_000_000;

impl<T: Transport> Reaction<'_, T> {
    /// Records the load that was due by `now` and that this worker never came to, so that a generator which
    /// falls behind is found out: each is a request that was never begun and is unfinished.
    pub(crate) fn record_missed(&mut self) {
        let end = self.now.min(self.load.end());
        if self.load.requests_ran_out() || self.load.sessions_ran_out() || self.load.given_up().is_some() {
            return;
        }
        while let Some((number, due)) = self.load.model.next_missed(end) {
            if self.counters.load.missed >= MISSED_SAMPLES
                && let Some([missed, scheduled]) = self.expected_between(due, end)
            {
                self.counters.load.missed += missed;
                self.counters.load.missed_without_sample += missed;
                self.counters.load.scheduled += scheduled;
                break;
            }
            self.record_missed_one(due, number as u32);
        }
    }

    /// The mean number of this worker's arrivals from `from` to `end`, and of those in the window: to count
    /// what has no sample one by one takes minutes where a thousand times too much was offered. `None` where
    /// it is not known.
    fn expected_between(&self, from: Instant, end: Instant) -> Option<[u64; 2]> {
        let own = |from: Instant, end: Instant| self.load.model.expected(from, end.max(from));
        let window = self.counters.window();
        let measured = own(from.max(window.measure_from), end.min(window.measure_to))?;
        Some([own(from, end)? as u64, measured as u64])
    }

    fn record_missed_one(&mut self, due: Instant, number: u32) {
        self.counters.load.scheduled += u64::from(self.counters.window().contains(due));
        self.counters.load.missed += 1;
        if self.counters.load.missed > MISSED_SAMPLES {
            self.counters.load.missed_without_sample += 1;
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
        self.counters.load.scheduled += counts;
        self.counters.load.dropped += counts;
        self.record_unmade(due, number, Outcome::Dropped);
    }

    fn record_unmade(&mut self, due: Instant, number: u32, outcome: Outcome) {
        let mut rng = self.load.stream(u64::from(number));
        let request = self.users.itinerary.first_page(number, &mut rng);
        let host = self.users.itinerary.host_of(request, None);
        let job = Job { request, host, pending: None, due, again: false, refusals: 0, first: true };
        self.transport.record(never_begun(job, number, self.now, outcome));
    }
}
