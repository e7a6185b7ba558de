//! The way of samples out of a simulation while it goes on, and the way of wishes into it.

use super::part::Part;
use farfield_base::{Instant, Sample};
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Samples that are worth handing on.
const BATCH: usize = 16_384;
/// Events between two looks at whether to stop: less than a tenth of a second of work.
pub(crate) const EVENTS_A_LOOK: u64 = 4_096;

/// What a simulation has come to.
#[derive(Debug)]
pub struct Batch {
    /// Everything before this instant has happened.
    pub now: Instant,
    /// What is under way.
    pub standing: Standing,
    /// The requests that ended since the last batch, in order of their end, their user and their number on their
    /// connection. All ended before `now`, or are cut off at the end of the simulation.
    pub samples: Vec<Sample>,
}

/// What is under way in a simulation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Standing {
    /// Connections that clients have open or are opening.
    pub connections: u64,
    /// Requests due and not over.
    pub in_system: u64,
    /// Connections begun so far.
    pub connects: u64,
}

/// Takes batches.
pub trait Sink: Send {
    /// Takes the next one. Meanwhile time stands still.
    fn take(&mut self, batch: Batch);
}

/// Keeps all samples.
impl Sink for Vec<Sample> {
    fn take(&mut self, mut batch: Batch) {
        self.append(&mut batch.samples);
    }
}

/// What is wanted of a simulation that goes on, from another thread.
#[derive(Debug, Default)]
pub struct Remote {
    stop: AtomicBool,
    batch: AtomicBool,
}

impl Remote {
    /// Ends the simulation within some thousand events, with what it has.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Asks for a batch at the end of the window, however small.
    pub fn ask_for_batch(&self) {
        self.batch.store(true, Ordering::Relaxed);
    }

    pub(crate) fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Where batches are made up.
pub(crate) struct Outlet<'a> {
    sink: &'a mut dyn Sink,
    /// When the last batch ended.
    handed_until: Instant,
}

/// Samples that parts hold.
#[derive(Debug, Default)]
pub(crate) struct Pending(AtomicUsize);

impl Pending {
    pub fn add(&self, samples: usize) {
        self.0.fetch_add(samples, Ordering::Relaxed);
    }

    /// Whether a batch is due; if so, it is begun.
    pub fn is_batch(&self, remote: &Remote) -> bool {
        let due = self.0.load(Ordering::Relaxed) >= BATCH || remote.batch.swap(false, Ordering::Relaxed);
        if due {
            self.0.store(0, Ordering::Relaxed);
        }
        due
    }
}

impl<'a> Outlet<'a> {
    pub fn new(sink: &'a mut dyn Sink) -> Outlet<'a> {
        Outlet { sink, handed_until: Instant::ZERO }
    }

    /// Hands on what the parts hold, all of which have come to `now`.
    pub fn hand_on<'p>(&mut self, parts: impl Iterator<Item = MutexGuard<'p, Part>>, now: Instant) {
        let (mut samples, mut standing) = (Vec::with_capacity(BATCH), Standing::default());
        for mut part in parts {
            let population = part.shard.population();
            standing.connections += population.connections() as u64;
            standing.in_system += population.in_system();
            standing.connects += part.shard.connects();
            samples.extend(part.shard.take_samples());
        }
        self.hand_on_samples(samples, standing, now);
    }

    pub fn hand_on_samples(&mut self, mut samples: Vec<Sample>, standing: Standing, now: Instant) {
        let order =
            |sample: &Sample| (sample.done, sample.user, sample.connection, sample.number, sample.due);
        samples.sort_by_key(order);
        let first = samples.first().map_or(now, |sample| sample.done);
        assert!(self.handed_until <= first, "a request ended at {first:?}, before {:?}", self.handed_until);
        self.handed_until = now;
        self.sink.take(Batch { now, standing, samples });
    }
}
