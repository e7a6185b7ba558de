//! The arrivals of one worker, with the one that comes next.

use super::Announcement;
use crate::transport::Wake;
use crate::worker::Worker;
use farfield_base::Instant;
use farfield_base::random::Stream;
use farfield_traffic::arrival::{ArrivalProcess, WorkerArrivals};

#[derive(Debug)]
pub(super) struct Arrivals {
    process: ArrivalProcess,
    own: WorkerArrivals,
    workers: u32,
    /// Number in the whole run and instant.
    next: Option<(u64, Instant)>,
}

impl Arrivals {
    pub fn new(worker: Worker, process: ArrivalProcess, stream: Stream) -> Arrivals {
        let own = process.start(stream).share(worker.number, worker.workers);
        Arrivals { process, own, workers: worker.workers, next: None }
    }

    /// Goes on to the next arrival; returns the wake for it.
    pub fn await_next(&mut self) -> Option<(Instant, Wake)> {
        self.next = self.own.next();
        self.next.map(|(_, at)| (at, Wake::Load { item: 0, turn: 0 }))
    }

    /// The arrival that a wake announces.
    pub fn announced(&self) -> Option<Announcement> {
        self.next.map(|(_, due)| Announcement { due, unanswered: None })
    }

    /// The number of the arrival that was announced last.
    pub fn number(&self) -> u64 {
        self.next.map_or(0, |(number, _)| number)
    }

    /// True once there are no more. Stages last as long as they were asked to, be the last arrival over.
    pub fn are_over(&self) -> bool {
        self.next.is_none() && self.process.stages().is_empty()
    }

    /// Takes the next arrival, if it is due before `end`.
    pub fn next_before(&mut self, end: Instant) -> Option<(u64, Instant)> {
        let missed = self.next.filter(|(_, due)| *due < end)?;
        self.next = self.own.next();
        Some(missed)
    }

    /// The mean number of this worker's arrivals from `from` to `to`, where the process knows it.
    pub fn expected(&self, from: Instant, to: Instant) -> Option<f64> {
        Some(self.process.expected(from, to)? / f64::from(self.workers))
    }
}
