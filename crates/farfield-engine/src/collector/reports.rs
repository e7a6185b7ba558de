//! The last reports of workers, and the instant up to which the measurements are whole.
//!
//! That is the earliest of their reports: what ended since may still be on its way. A worker that is stopped
//! or hangs reports nothing, and would hold it for ever, and with it the rate that is shown and the
//! conditions that end a run. It is left out once it has been [away](AWAY_MIN) by an instant at which all
//! that was sent had been received: a collector that is late itself leaves nobody out.

use crate::sample_channel::LiveCounts;
use crate::worker_loop::AWAY_MIN;
use farfield_base::Instant;

pub(crate) struct Reports {
    /// The last report of each worker.
    of_workers: Vec<LiveCounts>,
    /// Workers that were left out at some time.
    left_out: Vec<bool>,
    /// All that was sent before this has been received.
    received_to: Instant,
    /// The measurements are whole up to here, by the last look.
    whole_to: Instant,
}

impl Reports {
    /// None yet, of so many workers.
    pub fn new(workers: usize) -> Reports {
        Reports {
            of_workers: vec![LiveCounts::default(); workers],
            left_out: vec![false; workers],
            received_to: Instant::ZERO,
            whole_to: Instant::ZERO,
        }
    }

    /// Takes the report of a worker.
    pub fn take(&mut self, worker: usize, live: LiveCounts) {
        self.of_workers[worker] = live;
    }

    /// Records that nothing more was on its way at `now`.
    pub fn received_all(&mut self, now: Instant) {
        self.received_to = now;
    }

    /// Looks at `now` up to when the measurements are whole, which never goes back; returns a sentence on
    /// each worker that is left out for the first time.
    pub fn look(&mut self, now: Instant) -> Vec<String> {
        let mut sentences = Vec::new();
        let mut whole_to = now;
        for (number, (last, was_left_out)) in self.of_workers.iter().zip(&mut self.left_out).enumerate() {
            let is_away = self.received_to.since(last.at) > AWAY_MIN;
            whole_to = whole_to.min(if is_away { self.received_to } else { last.at });
            if is_away && !std::mem::replace(was_left_out, true) {
                sentences.push(format!(
                    "worker {number} reported nothing for {AWAY_MIN} after second {:.1}: progress and `aborts` were \
                     judged without it",
                    last.at.as_secs_f64()
                ));
            }
        }
        self.whole_to = self.whole_to.max(whole_to);
        sentences
    }

    /// The counts of all workers, added up; whole up to the last look's instant.
    pub fn sum(&self) -> LiveCounts {
        let none = LiveCounts { at: self.whole_to, ..LiveCounts::default() };
        self.of_workers.iter().fold(none, |sum, worker| LiveCounts {
            connections: sum.connections + worker.connections,
            in_system: sum.in_system + worker.in_system,
            connects: sum.connects + worker.connects,
            at: sum.at,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::Duration;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    /// Two workers, of which the second's last report is of 400 ms; the first reports up to `first_ms`, and
    /// all that was sent is received at `received_ms`.
    fn one_away(first_ms: u64, received_ms: u64) -> Reports {
        let mut reports = Reports::new(2);
        reports.take(0, LiveCounts { at: at(first_ms), ..LiveCounts::default() });
        reports.take(1, LiveCounts { at: at(400), ..LiveCounts::default() });
        reports.received_all(at(received_ms));
        reports
    }

    #[test]
    fn a_worker_that_reports_nothing_is_waited_for_and_then_left_out() {
        let mut waited_for = one_away(3_300, 3_400);
        assert_eq!((waited_for.look(at(3_400)).len(), waited_for.sum().at), (0, at(400)));
        let mut left_out = one_away(3_400, 3_401);
        let sentences = left_out.look(at(3_450));
        assert_eq!(left_out.sum().at, at(3_400));
        assert_eq!(
            sentences,
            [
                "worker 1 reported nothing for 3s after second 0.4: progress and `aborts` were judged without it"
            ]
        );
        // It is said once, and time does not go back when it reports again, late.
        assert!(left_out.look(at(3_500)).is_empty());
        left_out.take(1, LiveCounts { at: at(3_000), ..LiveCounts::default() });
        left_out.look(at(3_500));
        assert_eq!(left_out.sum().at, at(3_400));
    }

    /// A collector that comes to a report ten seconds after it was sent.
    #[test]
    fn a_late_collector_leaves_nobody_out() {
        let mut reports = one_away(500, 600);
        assert!(reports.look(at(10_600)).is_empty());
        assert_eq!(reports.sum().at, at(400));
    }

    /// Workers that have ended have reported all; one that was never heard of is left out as any other.
    #[test]
    fn the_last_worker_may_be_away() {
        let mut reports = Reports::new(2);
        reports.take(0, LiveCounts { at: Instant::MAX, ..LiveCounts::default() });
        reports.received_all(at(2_000));
        assert!(reports.look(at(2_000)).is_empty());
        assert_eq!(reports.sum().at, at(0));
        reports.received_all(at(5_000));
        assert_eq!((reports.look(at(5_100)).len(), reports.sum().at), (1, at(5_000)));
    }
}
